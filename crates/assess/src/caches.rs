//! The size of the processor's caches, and which arrays are surely larger.

use model::host::Host;

/// A working set this many times the last-level cache is read from memory (docs/method, after
/// rule (a) of STREAM).
pub(crate) const CACHES_LEAST: u64 = 4;

/// Chases show the size of the last cache only if they went up to this size: no cache on sale holds
/// a quarter of it for one thread (docs/method).
pub(crate) const LADDER_LEAST: u64 = 2 << 30;

/// The last-level caches. Each of the two sizes may be unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Caches {
    /// Bytes of all of them together.
    all: Option<u64>,
    /// Bytes of the largest one: what one thread can use.
    largest: Option<u64>,
}

impl Caches {
    /// The sizes that the OS reports.
    pub(crate) fn of(host: &Host) -> Caches {
        let all = host.last_level_cache.filter(|bytes| *bytes > 0);
        Caches { all, largest: host.largest_cache.filter(|bytes| *bytes > 0) }
    }

    /// The size that chases of one thread show: less than `below` bytes.
    pub(crate) fn measured(below: u64) -> Caches {
        Caches { all: None, largest: Some(below) }
    }

    /// Whether a size is known.
    pub(crate) fn are_known(&self) -> bool {
        self.all.or(self.largest).is_some()
    }

    /// Whether the `bytes` of all `threads` together far exceed those threads' caches; `None` if no
    /// size is known.
    ///
    /// A thread fills only the cache of its own core. Caches of other sockets, or of other parts of
    /// the processor, hold nothing for it. So the working set need not exceed all caches unless
    /// enough threads work.
    pub(crate) fn are_exceeded(&self, bytes: u64, threads: u32) -> Option<bool> {
        Some(bytes >= CACHES_LEAST.saturating_mul(self.of_threads(threads)?))
    }

    /// The share of `bytes` that the caches of `threads` can hold at most, 0 to 1; `None` if no
    /// size is known.
    pub(crate) fn hold(&self, bytes: u64, threads: u32) -> Option<f64> {
        let most = self.of_threads(threads)?;
        Some((most as f64 / bytes.max(1) as f64).min(1.0))
    }

    /// At most the bytes that the caches of `threads` hold; `None` if no size is known.
    fn of_threads(&self, threads: u32) -> Option<u64> {
        let theirs = self.largest.map(|each| each.saturating_mul(threads.max(1).into()));
        [theirs, self.all].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::zoo;

    #[test]
    fn caches_hold_a_share_of_what_is_larger() {
        let host =
            Host { last_level_cache: Some(64 << 20), largest_cache: Some(32 << 20), ..zoo::host() };
        let caches = Caches::of(&host);
        assert_eq!(caches.hold(32 << 20, 1), Some(1.0));
        assert_eq!(caches.hold(64 << 20, 1), Some(0.5));
        assert_eq!(caches.hold(64 << 20, 2), Some(1.0));
        assert_eq!(caches.hold(128 << 20, 8), Some(0.5));
        let unknown = Caches { all: None, largest: None };
        assert_eq!(unknown.hold(1, 1), None);
    }

    #[test]
    fn unknown_caches_are_neither_exceeded_nor_not() {
        let check = |all, largest, bytes, threads, expected| {
            let host = Host { last_level_cache: all, largest_cache: largest, ..zoo::host() };
            let found = Caches::of(&host).are_exceeded(bytes, threads);
            assert_eq!(found, expected, "{all:?} {largest:?} {bytes} t{threads}");
        };
        for bytes in [8 << 10, u64::MAX] {
            check(None, None, bytes, 1, None);
            check(Some(0), Some(0), bytes, 1, None);
        }
        check(Some(32 << 20), None, (128 << 20) - 1, 1, Some(false));
        check(Some(32 << 20), None, 128 << 20, 64, Some(true));
        // Two sockets with eight caches each: one thread uses one of them, sixteen use all.
        let (all, each) = (Some(512 << 20), Some(32 << 20));
        check(all, each, 128 << 20, 1, Some(true));
        check(all, each, 128 << 20, 2, Some(false));
        check(all, each, 2 << 30, 64, Some(true));
        check(all, each, (2 << 30) - 1, 64, Some(false));
    }
}
