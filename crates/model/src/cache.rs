//! Where the bytes of a file are at the start of a trial.

use crate::named;

named! {
    /// Where the data is to be at the start.
    Cache "cache" {
        /// All of it in the page cache, proved before and after.
        Warm "warm",
        /// None of it in the page cache, proved before; each block is read once.
        Cold "cold",
        /// Past the page cache: `O_DIRECT`.
        Direct "direct",
        /// As it was found; nothing is claimed.
        AsIs "as-is",
    }
}
