//! Whether two cases differ, by their paired rounds.

use crate::row::Row;
use crate::summary::ServedBy;
use model::case::{Engine, FileWork};
use model::named;
use model::plan::Role;

named! {
    /// Whether two cases differ.
    Difference "difference" {
        /// The interval excludes 1 and the ratio is at least the least one of interest.
        Different "different",
        /// The interval lies within the least ratio of interest.
        Equivalent "equivalent",
        /// Neither can be said.
        Inconclusive "inconclusive",
    }
}

/// The ratio of the throughput of two cases.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Id of the case that is compared.
    pub case: String,
    /// Id of the case it is compared with.
    pub base: String,
    /// Rounds in which both were measured.
    pub pairs: usize,
    /// Median of the paired ratios: case over base.
    pub ratio: f64,
    /// Lower end of its 95 % interval; none below 6 pairs.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// What can be said.
    pub difference: Difference,
}

/// The least effect of interest on what a device served (method.md §5.5).
const INTEREST_DEVICE: f64 = 0.05;
/// The least effect of interest on what memory or the page cache served (method.md §5.5).
const INTEREST_MEMORY: f64 = 0.02;

/// Each group of asked file cases that differ in their engine only, every other case of it
/// compared with pread, or with the first where there is no pread.
///
/// What is void is left out, and so is a case that something else served than the base: that
/// would compare a cache with a disk.
pub(crate) fn comparisons(rows: &[Row]) -> Vec<Comparison> {
    let mut groups: Vec<(FileWork, Vec<&Row>)> = Vec::new();
    for row in rows.iter().filter(|row| row.stands() && row.measured.role == Role::Asked) {
        let Some(work) = row.file() else { continue };
        let alike = FileWork { engine: Engine::Pread, ..work.clone() };
        match groups.iter_mut().find(|(group, _)| *group == alike) {
            Some((_, members)) => members.push(row),
            None => groups.push((alike, vec![row])),
        }
    }
    groups.iter().flat_map(|(_, members)| compare_group(members)).collect()
}

fn compare_group(members: &[&Row]) -> Vec<Comparison> {
    let is_pread = |row: &&&Row| row.file().is_some_and(|work| work.engine == Engine::Pread);
    let base: &Row = members.iter().find(is_pread).unwrap_or(&members[0]);
    members
        .iter()
        .filter(|row| !std::ptr::eq(**row, base))
        .filter(|row| row.summary.served_by == base.summary.served_by)
        .filter_map(|row| compare(row, base))
        .collect()
}

fn compare(row: &Row, base: &Row) -> Option<Comparison> {
    let ratio = row.ratio(base)?;
    let interest = match base.summary.served_by {
        Some(ServedBy::Device) => INTEREST_DEVICE,
        _ => INTEREST_MEMORY,
    };
    Some(Comparison {
        case: row.summary.id.clone(),
        base: base.summary.id.clone(),
        pairs: ratio.pairs,
        ratio: ratio.median,
        low: ratio.low,
        high: ratio.high,
        difference: difference(ratio.median, ratio.low.zip(ratio.high), interest),
    })
}

/// What can be said of a ratio with its interval, where `interest` is the least effect of
/// interest as a share; half as fast is as large an effect as twice as fast.
fn difference(ratio: f64, interval: Option<(f64, f64)>, interest: f64) -> Difference {
    let Some((low, high)) = interval else { return Difference::Inconclusive };
    let effect = |ratio: f64| ratio.max(1.0 / ratio) - 1.0;
    let is_excluded = low > 1.0 || high < 1.0;
    if is_excluded && effect(ratio) >= interest {
        Difference::Different
    } else if effect(low) <= interest && effect(high) <= interest {
        Difference::Equivalent
    } else {
        Difference::Inconclusive
    }
}
