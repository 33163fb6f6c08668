//! Whether two cases differ, by their paired rounds.

use crate::row::{Row, fastest, grouped};
use crate::summary::ServedBy;
use model::case::{Engine, FileWork, Work, WriteEngine, WriteWork};
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

/// The least effect of interest on what a device served (METHODOLOGY.md).
const INTEREST_DEVICE: f64 = 0.05;
/// The least effect of interest on what memory or the page cache served (METHODOLOGY.md).
const INTEREST_MEMORY: f64 = 0.02;

/// Asked cases that differ in their engine only, and those that differ in their peer only.
///
/// What is void is left out, and so is a case that something else served than the base: that
/// would compare a cache with a disk.
pub(crate) fn comparisons(rows: &[Row]) -> Vec<Comparison> {
    let asked = || rows.iter().filter(|row| row.stands() && row.measured.role == Role::Asked);
    // Engines of other peers are held against this program's own, one by one; against each other
    // only where it has none.
    let is_own =
        |work: &Work| asked().any(|row| row.is_own() && usual_engine(row).as_ref() == Some(work));
    let engines = grouped(asked(), |row| {
        let work = usual_engine(row)?;
        (row.is_own() || !is_own(&work)).then(|| (work, row.measured.case.peer.clone()))
    });
    let is_usual = |row: &&&Row| usual_engine(row).as_ref() == Some(&row.measured.case.work);
    let of_engines = engines
        .iter()
        .flat_map(|group| compare_with(group, group.iter().find(is_usual).unwrap_or(&group[0])));
    let peers = grouped(asked(), |row| usual_engine(row).map(|_| row.measured.case.work.clone()));
    let of_peers = peers.iter().flat_map(|group| {
        compare_with(group, group.iter().find(|row| row.is_own()).unwrap_or(&group[0]))
    });
    of_engines.chain(of_peers).chain(loops(asked())).collect()
}

/// What a row does to a file, if it were done by the engine that others are held against: pread,
/// and pwrite.
fn usual_engine(row: &Row) -> Option<Work> {
    let read = |work: &FileWork| Work::File(FileWork { engine: Engine::Pread, ..work.clone() });
    let write =
        |work: &WriteWork| Work::Write(WriteWork { engine: WriteEngine::Pwrite, ..work.clone() });
    row.file().map(read).or_else(|| row.write().map(write))
}

/// Loops of other peers, whose instructions their compilers decide about, against the fastest of
/// this program's own for any instruction set.
fn loops<'a, 'r: 'a>(asked: impl Iterator<Item = &'a Row<'r>>) -> Vec<Comparison> {
    let groups = grouped(asked, |row| {
        let work = row.measured.case.memory()?;
        Some((work.kernel, work.working_set, work.pages, work.threads))
    });
    let compare_group = |group: &Vec<&Row>| {
        let (own, others): (Vec<&Row>, Vec<&Row>) = group.iter().partition(|row| row.is_own());
        let Some(base) = fastest(own.into_iter()).or(others.first().copied()) else {
            return Vec::new();
        };
        compare_with(&others, base)
    };
    groups.iter().flat_map(compare_group).collect()
}

/// Each of `members` but the `base` itself, compared with it.
fn compare_with(members: &[&Row], base: &Row) -> Vec<Comparison> {
    let others = members.iter().filter(|row| !std::ptr::eq(**row, base));
    let alike = others.filter(|row| row.summary.served_by == base.summary.served_by);
    alike.filter_map(|row| compare(row, base)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::Rounds;
    use crate::ratio::Ratio;
    use model::random::Rng;

    /// Of many sessions of `n` rounds in which one case is `factor` times as fast as the other,
    /// the share that say they differ. The machine drifts by an AR(1) with φ = .9 that both
    /// share; each round of each has a noise of 3 % of its own.
    fn share_that_differs(n: u32, factor: f64) -> f64 {
        const SESSIONS: u32 = 2_000;
        let mut rng = Rng::new(u64::from(n));
        // A sum of 12 uniform numbers is normal enough here.
        let mut normal = move || (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
        let mut differs = || {
            let mut drift = normal();
            let (mut base, mut other) = (Rounds::new(), Rounds::new());
            for round in 0..n {
                drift = 0.9 * drift + 0.19f64.sqrt() * normal();
                let level = (0.1 * drift).exp();
                base.push((round, level * (0.03 * normal()).exp()));
                other.push((round, level * factor * (0.03 * normal()).exp()));
            }
            let ratio = Ratio::of(&other, &base).expect("all rounds are common");
            let found = difference(ratio.median, ratio.low.zip(ratio.high), INTEREST_MEMORY);
            u32::from(found == Difference::Different)
        };
        f64::from((0..SESSIONS).map(|_| differs()).sum::<u32>()) / f64::from(SESSIONS)
    }

    /// A case compared with itself differs in at most 5 of 100 sessions, whatever the drift, and
    /// a tenth more is mostly found (METHODOLOGY.md).
    #[test]
    fn a_drift_is_no_difference_and_a_tenth_is() {
        for n in [10, 20] {
            let same = share_that_differs(n, 1.0);
            assert!(same < 0.05, "{n} rounds: {same} of the sessions found a difference");
            let tenth = share_that_differs(n, 1.1);
            assert!(tenth > 0.9, "{n} rounds: only {tenth} of the sessions found the tenth");
        }
    }

    #[test]
    fn a_difference_needs_an_interval_and_a_size() {
        use Difference::{Different, Equivalent, Inconclusive};
        for (ratio, low, high, expected) in [
            (1.10, 1.07, 1.12, Different),
            (0.90, 0.85, 0.94, Different),
            (1.10, 0.99, 1.20, Inconclusive),
            (1.03, 1.02, 1.04, Equivalent),
            (1.00, 0.96, 1.04, Equivalent),
            (1.04, 1.01, 1.08, Inconclusive),
            (1.00, 0.90, 1.04, Inconclusive),
        ] {
            let found = difference(ratio, Some((low, high)), 0.05);
            assert_eq!(found, expected, "{ratio} [{low}, {high}]");
        }
        assert_eq!(difference(9.0, None, 0.05), Inconclusive);
    }
}
