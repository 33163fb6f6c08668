//! How much slower it is to touch a page of a file than one of memory.

use crate::ratio::Ratio;
use crate::row::Row;
use model::named;

named! {
    /// What is done to a byte of each page.
    Phase "phase" {
        /// It is written.
        Write "write",
        /// It is read.
        Read "read",
    }
}

/// A case that touches a byte of each page of a file, held against one that does so in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Touching {
    /// What is done.
    pub phase: Phase,
    /// Id of the case on a file.
    pub file: String,
    /// Id of the case in memory: second touch, with as many threads.
    pub memory: String,
    /// Operations a second in memory over those on the file, from paired rounds.
    pub ratio: Ratio,
}

/// Every case on a file that touches pages, where the same was done in memory.
pub(crate) fn touchings(_rows: &[Row]) -> Vec<Touching> {
    Vec::new()
}
