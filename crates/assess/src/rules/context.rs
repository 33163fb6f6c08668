//! What a rule looks at, and what it may say.

use crate::counted::Counted;
use crate::finding::{Code, Finding, Severity};
use crate::measured::Measured;
use crate::ratio::Ratio;
use crate::summary::{ServedBy, Summary};
use model::case::{Cache, ReadWork, WriteWork};

/// A case before its rules: its trials, at least one, and what they come to.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) measured: &'a Measured<'a>,
    pub(crate) summary: &'a Summary,
    /// What the tool itself takes, if that was measured.
    pub(crate) overhead: Option<Overhead>,
}

/// What the null engine takes for an operation, beside a case that does something.
#[derive(Debug)]
pub(crate) struct Overhead {
    /// Nanoseconds: the median of its rounds.
    pub(crate) ns: f64,
    /// As a share of an operation of the case, by rounds in which both were measured.
    pub(crate) share: Ratio,
}

/// What a rule found; the table of rules adds the code.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) severity: Severity,
    pub(crate) message: String,
    pub(crate) remedy: String,
}

impl Fault {
    pub(crate) fn new(severity: Severity, message: String, remedy: &str) -> Option<Fault> {
        Some(Fault { severity, message, remedy: remedy.to_string() })
    }

    /// The finding that it is.
    pub(crate) fn named(self, code: Code) -> Finding {
        let Fault { severity, message, remedy } = self;
        Finding { code, severity, message, remedy }
    }
}

/// Whether a share is better told as so many times, not as so many per cent.
pub(super) fn is_many_times(share: f64) -> bool {
    share >= 3.0
}

impl Context<'_> {
    /// The work on a file, unless the null engine does it, which reads none.
    pub(crate) fn read(&self) -> Option<&ReadWork> {
        self.measured.read()
    }

    /// The work that writes a file, unless the null engine does it, which writes none.
    pub(crate) fn write(&self) -> Option<&WriteWork> {
        self.measured.write()
    }

    /// Whether anything is moved: the null engine moves nothing.
    pub(crate) fn moves(&self) -> bool {
        let in_memory = self.measured.case.memory().is_some();
        in_memory || self.read().is_some() || self.write().is_some()
    }

    /// The work that reads a file, where this cache state is claimed.
    pub(crate) fn claims(&self, cache: Cache) -> Option<&ReadWork> {
        self.read().filter(|work| work.io.cache == cache)
    }

    pub(crate) fn is_served(&self, by: &[ServedBy]) -> bool {
        self.summary.served_by.is_some_and(|served_by| by.contains(&served_by))
    }

    /// The sum of a part over all trials divided by the sum of a whole, over the trials that
    /// tell both. Sums, not medians: one trial that went wrong counts by its weight, and one
    /// page more or less in a hundred trials does not.
    pub(crate) fn total_share(
        &self,
        part_and_whole: impl Fn(&Counted) -> Option<(u64, u64)>,
    ) -> Option<f64> {
        let pairs = self.measured.trials.iter().filter_map(part_and_whole);
        let (part, whole) = pairs.fold((0u128, 0u128), |sum, (part, whole)| {
            (sum.0 + u128::from(part), sum.1 + u128::from(whole))
        });
        (whole > 0).then(|| part as f64 / whole as f64)
    }

    /// `3 of 10 trials`: how many of the trials are `seen`.
    pub(crate) fn how_many(&self, seen: impl Fn(&Counted) -> bool) -> String {
        let count = self.measured.trials.iter().filter(|trial| seen(trial)).count();
        format!("{count} of {} trials", self.measured.n())
    }
}
