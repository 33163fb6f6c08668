//! The cache state of a file at the start of a trial.

use crate::named;

named! {
    /// Where the data must be at the start.
    Cache "cache" {
        /// All of it in the page cache, verified before and after.
        Warm "warm",
        /// None of it in the page cache, verified before; each block is read once.
        Cold "cold",
        /// Bypassing the page cache, with `O_DIRECT`.
        Direct "direct",
        /// In whatever state it is; nothing is claimed.
        AsIs "as-is",
    }
}
