//! How many cases have which verdict.

use crate::finding::Verdict;

/// The number of cases by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Sound.
    pub sound: usize,
    /// Doubtful.
    pub doubtful: usize,
    /// Void.
    pub void: usize,
    /// Without a figure, because its trials failed.
    pub failed: usize,
    /// Unavailable: this machine can't run the case.
    pub unavailable: usize,
    /// Not reached before the run ended.
    pub not_run: usize,
}

impl Tally {
    /// Counts cases.
    pub fn of(verdicts: impl Iterator<Item = Verdict>) -> Tally {
        let mut tally = Tally::default();
        for verdict in verdicts {
            *match verdict {
                Verdict::Sound => &mut tally.sound,
                Verdict::Doubtful => &mut tally.doubtful,
                Verdict::Void => &mut tally.void,
                Verdict::Failed => &mut tally.failed,
                Verdict::Unavailable => &mut tally.unavailable,
                Verdict::NotRun => &mut tally.not_run,
            } += 1;
        }
        tally
    }

    /// Whether all are sound or doubtful.
    pub fn stand(&self) -> bool {
        self.void + self.failed + self.unavailable + self.not_run == 0
    }
}
