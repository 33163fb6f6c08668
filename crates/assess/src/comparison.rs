//! Whether two cases differ, by their paired rounds.

use model::named;

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
