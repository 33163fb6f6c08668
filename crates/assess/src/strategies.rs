//! Which way to write is fastest: until it is accepted, and until it is durable.

use crate::ratio::Ratio;
use crate::row::Row;
use crate::stats::Estimate;

/// A case with one of its rates.
#[derive(Debug, Clone, PartialEq)]
pub struct Rated {
    /// Id of the case.
    pub id: String,
    /// Bytes a second.
    pub rate: Estimate,
}

/// The closing answer of a run that writes.
#[derive(Debug, Clone, PartialEq)]
pub struct WritingAnswer {
    /// The highest accepted rate: what a program sees that does not wait.
    pub accepted: Option<Rated>,
    /// The highest durable rate.
    pub durable: Option<Rated>,
    /// What durability costs: the durable rate over the accepted rate of the same trials, of the
    /// case that is `durable`.
    pub cost: Option<Ratio>,
}

/// The answer, where any case writes.
pub(crate) fn writing_answer(_rows: &[Row]) -> Option<WritingAnswer> {
    None
}
