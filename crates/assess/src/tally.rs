//! How many cases have which verdict.

use crate::finding::Verdict;

/// The number of cases by verdict, in the order of [`Verdict::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally([usize; Verdict::ALL.len()]);

impl Tally {
    /// Counts cases.
    pub fn of(verdicts: impl Iterator<Item = Verdict>) -> Tally {
        let mut tally = Tally::default();
        verdicts.for_each(|verdict| tally.0[verdict as usize] += 1);
        tally
    }

    /// Each verdict with its number of cases.
    pub fn counts(&self) -> impl Iterator<Item = (Verdict, usize)> {
        Verdict::ALL.iter().copied().zip(self.0)
    }

    /// The number of cases with this verdict.
    pub fn number(&self, verdict: Verdict) -> usize {
        self.0[verdict as usize]
    }

    /// Whether all are sound or doubtful.
    pub fn stand(&self) -> bool {
        self.counts().all(|(verdict, cases)| verdict.stands() || cases == 0)
    }
}
