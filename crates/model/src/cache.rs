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
        /// Through the page cache, of which each call leaves nothing (`RWF_DONTCACHE`).
        DontCache "dontcache",
        /// In whatever state it is; nothing is claimed.
        AsIs "as-is",
    }
}

/// Why an engine cannot leave the page cache empty.
pub(crate) fn dontcache_refusal(engine: &str, others: &str) -> String {
    format!("'dontcache' is a flag of each call, and {engine} has none: use {others}")
}
