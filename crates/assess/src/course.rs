//! How a rate goes over time: steady, or with a step.

/// How the rate of a case went over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// Nanoseconds of a step.
    pub step_ns: u64,
    /// Bytes a second in each step: medians over the trials, or of all trials one after another
    /// where they followed each other without a pause.
    pub rates: Vec<f64>,
    /// Whether a window of five steps met the limits of the SNIA (METHODOLOGY.md), and at which
    /// step the first did; none below five steps.
    pub snia: Option<Option<usize>>,
    /// Whether the last ten steps meet them too; none below ten steps.
    pub is_steady: Option<bool>,
    /// The step in the rate, if there is one.
    pub change: Option<Change>,
}

/// A step in a rate: so much until then, and so much from then on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Bytes a second before.
    pub before: f64,
    /// Bytes a second after.
    pub after: f64,
    /// Bytes that were written when it came.
    pub at_bytes: u64,
    /// Nanoseconds from the start until it came.
    pub at_ns: u64,
}
