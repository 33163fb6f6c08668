//! What served the arrays of memory kernels: the processor's caches or memory, by their sizes.
//!
//! No counter of the OS shows it. Measured latencies can deny what the sizes suggest.

use crate::caches::CACHES_LEAST;
use crate::ceiling::is_beyond_caches;
use crate::levels::Levels;
use crate::row::Row;
use crate::summary::ServedBy;
use model::case::{Kernel, LINE, MemoryWork, OWN_PEER, Pages};

/// Stores what served the arrays of `row`, if it has any; `levels` are those that chases show.
pub(crate) fn place(row: &mut Row, levels: &[Levels]) {
    let Some(work) = row.measured.case.memory().filter(|_| row.summary.served_by.is_some()) else {
        return;
    };
    let (by, level) = if is_beyond_caches(reach(work), &row.measured) {
        (ServedBy::Ram, None)
    } else if let Some(level) = cached(work, &row.measured.host.caches, levels) {
        (ServedBy::CpuCache, level)
    } else {
        (ServedBy::CpuCacheOrRam, None)
    };
    (row.summary.served_by, row.summary.level) = (Some(by), level);
    if let Some(loaded) = &mut row.summary.loaded {
        loaded.served_by = by;
    }
}

/// The bytes that a pass brings into the caches: of a page that was touched before, one line.
fn reach(work: &MemoryWork) -> u64 {
    match work.kernel {
        Kernel::TouchPages | Kernel::ReadPages => work.working_set / work.step.max(LINE) * LINE,
        _ => work.working_set,
    }
}

/// Whether all arrays together fit into one of the `caches` (sizes from the first level on): the
/// level, if it is known. `None` if they do not, or if something else denies that it serves them.
///
/// What fits into one cache fits wherever the threads run, and whichever of them share it. An array
/// up to four times as large as the cache before may partly be in that one.
fn cached(work: &MemoryWork, caches: &[u64], levels: &[Levels]) -> Option<Option<u32>> {
    // Non-temporal stores bypass the caches, and fresh pages may come from anywhere.
    if work.kernel.is_non_temporal() || work.kernel == Kernel::FirstTouch {
        return None;
    }
    let bytes = work.footprint(1, None);
    let caches: Vec<u64> = caches.iter().copied().filter(|bytes| *bytes > 0).collect();
    let at = caches.iter().position(|cache| *cache >= bytes)?;
    let denies = |cache: &u64| are_as_slow_beyond(levels, bytes, *cache);
    if caches.last().is_some_and(denies) {
        return None;
    }
    let threads = u64::from(work.threads);
    let is_past = |smaller: &u64| bytes >= CACHES_LEAST.saturating_mul(*smaller * threads.max(1));
    let is_known = caches[..at].last().is_none_or(is_past) && !denies(&caches[at]);
    let number = (1..).zip(&caches).nth(at).map(|(number, _)| number);
    Some(number.filter(|_| is_known))
}

/// Whether loads from `bytes` take as long as loads from what far exceeds the `cache`: our own
/// worker's chases show one level for both. Base pages also show the page tables, so huge pages
/// decide, if both were measured.
fn are_as_slow_beyond(levels: &[Levels], bytes: u64, cache: u64) -> bool {
    let own = levels.iter().filter(|levels| levels.peer == OWN_PEER);
    let found = own.min_by_key(|levels| levels.pages == Pages::Base);
    let of_both = |levels: &Levels| {
        let holds = |bytes| levels.levels.iter().find(|it| it.from <= bytes && bytes <= it.to);
        holds(bytes).is_some_and(|level| level.to >= cache.saturating_mul(CACHES_LEAST))
    };
    found.is_some_and(of_both)
}
