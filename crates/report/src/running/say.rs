//! The words of single figures.

use crate::words::NONE;
use model::running::Subject;
use model::units;

/// What was watched.
pub(super) fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Process { pid, name, .. } => format!("{name} (process {pid})"),
        Subject::Group { path } => format!("control group {path}"),
    }
}

/// Bytes by time.
pub(super) fn rate(bytes: Option<u64>, length_ns: u64) -> String {
    match bytes {
        Some(bytes) if length_ns > 0 => units::rate(per_second(bytes, length_ns)),
        _ => NONE.to_string(),
    }
}

pub(super) fn per_second(count: u64, length_ns: u64) -> f64 {
    count as f64 * 1e9 / length_ns.max(1) as f64
}

/// A share of the time.
pub(super) fn share(share: Option<f64>) -> String {
    share.map_or(NONE.to_string(), |share| format!("{:.0} %", share * 100.0))
}

/// A share of a number of nanoseconds.
pub(super) fn share_of(part: Option<u64>, whole: u64) -> String {
    share(part.filter(|_| whole > 0).map(|part| part as f64 / whole as f64))
}

/// A share of looks.
pub(super) fn share_of_looks(part: u32, looks: u32) -> String {
    share((looks > 0).then(|| f64::from(part) / f64::from(looks)))
}

/// Bytes.
pub(super) fn bytes(bytes: Option<u64>) -> String {
    bytes.map_or(NONE.to_string(), units::bytes_rounded)
}
