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

named! {
    /// How the pages of a warm file came into the page cache. It decides the size of the OS's units
    /// of memory there (folios), and so the speed of a mapping.
    Populated "populated" {
        /// Evicted, then read in order, with readahead.
        ReadAhead "readahead",
        /// Evicted, then read one page at a time in random order, without readahead.
        Random "random",
        /// Evicted, then written and synced.
        Written "written",
        /// By others: pages that were cached stay, and missing ones are read in order.
        Others "others",
        /// Unknown: in records made before this was told. Nothing can ask for it.
        Unknown "unknown",
    }
}

impl Populated {
    /// The names of those that a case can ask for.
    pub const ASKED: &'static [&'static str] = &[
        Populated::ReadAhead.name(),
        Populated::Random.name(),
        Populated::Written.name(),
        Populated::Others.name(),
    ];
}

/// Why an engine cannot leave the page cache empty.
pub(crate) fn dontcache_refusal(engine: &str, others: &str) -> String {
    format!("'dontcache' is a flag of each call, and {engine} has none: use {others}")
}
