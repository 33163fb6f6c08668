//! What this program is: its version, the commit that it was built from, and what it can do here.

use crate::machine::this_host;
use model::case::{Engine, WriteEngine};
use model::record::VERSION as RECORD_VERSION;
use serde::Serialize;
use std::sync::LazyLock;

/// The version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit; empty if unknown.
const COMMIT: &str = env!("IOASSAY_COMMIT");

/// The commit that it was built from, if known.
pub fn commit() -> Option<String> {
    (!COMMIT.is_empty()).then(|| COMMIT.to_string())
}

/// The commit's date; empty if unknown.
const DATE: &str = env!("IOASSAY_DATE");

/// The version with what is known of its source: `0.1.0 (6f64d8208 2026-11-24)`.
pub static FULL: LazyLock<String> = LazyLock::new(|| full(COMMIT, DATE));

fn full(commit: &str, date: &str) -> String {
    match format!("{commit} {date}").trim() {
        "" => VERSION.to_string(),
        source => format!("{VERSION} ({source})"),
    }
}

/// What `--version --json` prints. Unknown values are left out.
#[derive(Serialize)]
struct VersionInfo {
    name: &'static str,
    version: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    commit: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    date: &'static str,
    target: &'static str,
    /// The version of Rust that compiled it.
    #[serde(skip_serializing_if = "str::is_empty")]
    rust: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    libc: Option<String>,
    /// The OS that runs it now.
    os: String,
    /// The newest format of records that it reads; it writes this one.
    record_version: u32,
    engines: Vec<&'static str>,
    write_engines: Vec<&'static str>,
    /// Why io_uring is refused here.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_io_uring: Option<String>,
    /// The instruction sets that its loops over memory can use on this processor.
    isas: Vec<&'static str>,
}

/// This build and what it can do here, as JSON.
pub fn json() -> String {
    let host = this_host();
    let build = VersionInfo {
        name: "ioassay",
        version: VERSION,
        commit: COMMIT,
        date: DATE,
        target: env!("IOASSAY_TARGET"),
        rust: env!("IOASSAY_RUST"),
        libc: host.setup.libc,
        os: host.os,
        record_version: RECORD_VERSION,
        engines: Engine::ALL.iter().map(|engine| engine.name()).collect(),
        write_engines: WriteEngine::ALL.iter().map(|engine| engine.name()).collect(),
        no_io_uring: host.no_io_uring,
        isas: host.isas.iter().map(|isa| isa.name()).collect(),
    };
    serde_json::to_string_pretty(&build).expect("text and numbers become JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_is_left_out() {
        for (commit, date, expected) in [
            ("6f64d8208", "2026-11-24", " (6f64d8208 2026-11-24)"),
            ("6f64d8208", "", " (6f64d8208)"),
            ("", "2026-11-24", " (2026-11-24)"),
            ("", "", ""),
        ] {
            assert_eq!(full(commit, date), format!("{VERSION}{expected}"));
        }
    }
}
