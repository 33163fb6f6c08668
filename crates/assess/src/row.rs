//! A case with its trials and summary, and its relations to the other cases of the run.

use crate::measured::Measured;
use crate::ratio::Ratio;
use crate::summary::{ServedBy, Summary};
use model::case::{OWN_PEER, ReadWork, WriteWork};
use model::plan::Role;

/// A case with its trials and its judged summary.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    pub(crate) measured: Measured<'a>,
    pub(crate) summary: Summary,
}

impl Row<'_> {
    /// Whether the verdict is sound or doubtful, so that others may be compared with this row. It
    /// has a throughput then.
    pub(crate) fn stands(&self) -> bool {
        self.summary.verdict.stands()
    }

    /// Whether its rate shows how fast it was: it is valid, and no schedule set it.
    pub(crate) fn has_own_rate(&self) -> bool {
        self.stands() && !self.measured.case.is_open()
    }

    /// The work on a file that is read; `None` for the null engine, which reads none.
    pub(crate) fn read(&self) -> Option<&ReadWork> {
        self.measured.read()
    }

    /// The work on a file that is written; `None` for the null engine, which writes none.
    pub(crate) fn write(&self) -> Option<&WriteWork> {
        self.measured.write()
    }

    /// Whether it is valid and `by` served it.
    pub(crate) fn is_served(&self, by: ServedBy) -> bool {
        self.stands() && self.summary.served_by == Some(by)
    }

    /// The median throughput; 0 if there is none.
    pub(crate) fn throughput(&self) -> f64 {
        self.summary.throughput.map_or(0.0, |estimate| estimate.median)
    }

    /// The ratio of this throughput to that of `base`, from paired rounds.
    pub(crate) fn ratio(&self, base: &Row) -> Option<Ratio> {
        Ratio::of(&self.measured.rates(), &base.measured.rates())
    }

    /// The throughput as a share of that of `base`: from paired rounds if there are any, else from
    /// the medians.
    pub(crate) fn share_of(&self, base: &Row) -> Option<Ratio> {
        Ratio::of_any(&self.measured.rates(), &base.measured.rates())
    }

    /// The same for the throughput without loading.
    pub(crate) fn loaded_share_of(&self, base: &Row) -> Option<Ratio> {
        Ratio::of_any(&self.measured.loaded_rates(), &base.measured.rates())
    }

    /// Whether this program's own worker measured it.
    pub(crate) fn is_own(&self) -> bool {
        self.measured.case.peer == OWN_PEER
    }
}

/// The row with the highest throughput.
pub(crate) fn fastest<'a, 'r>(rows: impl Iterator<Item = &'a Row<'r>>) -> Option<&'a Row<'r>>
where
    'r: 'a,
{
    rows.max_by(|a, b| a.throughput().total_cmp(&b.throughput()))
}

/// The row of the program that does nothing, if it was measured beside commands.
pub(crate) fn start<'a, 'r>(rows: &'a [Row<'r>]) -> Option<&'a Row<'r>> {
    let is_start = |row: &&Row| row.measured.role == Role::Baseline && row.stands();
    rows.iter().filter(is_start).find(|row| row.measured.case.command().is_some())
}

/// The rows with a key, grouped by it, in order of first occurrence.
pub(crate) fn grouped<'a, 'r: 'a, K: PartialEq>(
    rows: impl IntoIterator<Item = &'a Row<'r>>,
    key: impl Fn(&Row) -> Option<K>,
) -> Vec<Vec<&'a Row<'r>>> {
    let mut groups: Vec<(K, Vec<&Row>)> = Vec::new();
    for row in rows {
        let Some(key) = key(row) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, members)) => members.push(row),
            None => groups.push((key, vec![row])),
        }
    }
    groups.into_iter().map(|(_, members)| members).collect()
}
