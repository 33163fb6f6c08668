//! How much of what was read came from the page cache or from holes, for which a file stores no
//! data: neither is read from a device.

use crate::counted::Counted;
use crate::measured::{Measured, SHARE_NOISE};
use model::case::{Cache, ReadWork};
use model::host::Fixture;
use model::pattern::Pattern;

/// The bytes that devices read for the worker or, if that was not counted, for any process.
pub(crate) fn fetched_bytes(measured: &Measured, trial: &Counted) -> Option<u64> {
    trial.evidence.task_read_bytes.or(measured.read_once(trial))
}

/// A share of bytes: at least and at most, 0 to 1. Where the counters tell all, both are the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hits {
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// The share of a trial's bytes that the page cache served. It is at least `1 - task/app`, less
/// what holes explain (docs/method), by the worker's own counter, or else by device reads for
/// any process. `None` if neither is known.
///
/// Over a sequential pass, and past the page cache, it is exactly that. In random order, devices
/// may read what nobody asked for, or what was evicted and had to be read again, which hides hits.
/// What was not in the page cache before the trial had to be read at least once, so the share is at
/// most what remains.
pub(crate) fn hit_share(measured: &Measured, work: &ReadWork, trial: &Counted) -> Option<Hits> {
    let fetched = fetched_bytes(measured, trial)?;
    let app = trial.sample.bytes() as f64;
    let without_read = 1.0 - fetched as f64 / app;
    let least = (without_read - holes_at_most(measured, work, trial)).clamp(0.0, 1.0);
    let is_through_cache = work.io.cache != Cache::Direct;
    let before = trial.evidence.residency_before.filter(|_| is_through_cache);
    let most = match before.map(|before| before.share()) {
        Some(before) if work.io.pattern == Pattern::Random => {
            1.0 - (1.0 - before) * touched_bytes(measured, work, trial) / app
        }
        // Fewer holes may have been read than there can have been.
        Some(before) if is_partly_holes(measured, work) => {
            without_read.min(before * work.io.size as f64 / app)
        }
        _ => least,
    };
    Some(Hits { least, most: most.clamp(least, 1.0) })
}

/// The bytes of different blocks that a random case read: each thread reads every block of its part
/// once before it reads one again.
fn touched_bytes(measured: &Measured, work: &ReadWork, trial: &Counted) -> f64 {
    let io = &work.io;
    let pass = match io.operations() {
        all if all >= io.blocks() => io.size as f64,
        some => (some as f64 * io.mean_block()).min(io.size as f64),
    };
    let part = pass / f64::from(io.threads.max(1)) / f64::from(measured.part.of.max(1));
    trial.sample.spans.iter().map(|span| part.min(span.bytes as f64)).sum()
}

/// The share without stored data of what is read of a file; 0 if the file system does not report
/// it.
pub(crate) fn hole_share(fixture: &Fixture) -> f64 {
    let unwritten = fixture.layout.as_ref().map_or(0, |layout| layout.unwritten);
    let read = fixture.range();
    if read.is_empty() { 0.0 } else { unwritten as f64 / (read.end - read.start) as f64 }
}

/// The share of all trials' bytes that came from holes: what neither the page cache, with the share
/// `hit`, nor a device served.
pub(crate) fn hole_reads_share(measured: &Measured, work: &ReadWork, hit: f64) -> f64 {
    let fetched = measured.total_share(|trial| {
        let app = trial.sample.bytes();
        Some((fetched_bytes(measured, trial)?.min(app), app))
    });
    let rest = fetched.filter(|_| is_partly_holes(measured, work)).map(|share| 1.0 - hit - share);
    rest.unwrap_or(0.0)
}

/// Whether holes may have served some of the bytes. Warm holes are pages of zeros, which the page
/// cache serves like any others.
fn is_partly_holes(measured: &Measured, work: &ReadWork) -> bool {
    work.io.cache != Cache::Warm && measured.fixture.is_some_and(|it| hole_share(it) > SHARE_NOISE)
}

/// The share of a trial's bytes that holes explain at most: those of whole passes over the file,
/// and as much of the last pass as there are holes.
///
/// Each thread reads its part of the file, which may be all holes. With a skewed pattern, holes may
/// be what it prefers. A hole that was cached before is a page like any other.
fn holes_at_most(measured: &Measured, work: &ReadWork, trial: &Counted) -> f64 {
    let Some(fixture) = measured.fixture.filter(|_| is_partly_holes(measured, work)) else {
        return 0.0;
    };
    let before = trial.evidence.residency_before.filter(|_| work.io.cache != Cache::Direct);
    let uncached = 1.0 - before.map_or(0.0, |before| before.share());
    if work.io.pattern == Pattern::Zipf {
        return uncached;
    }
    let parts = u64::from(work.io.threads) * u64::from(measured.part.of);
    let part = (work.io.size / parts.max(1)).max(1) as f64;
    let holes = (hole_share(fixture) * work.io.size as f64).min(part);
    let of_thread = |bytes: u64| {
        let passes = (bytes as f64 / part).floor();
        passes * holes + (bytes as f64 - passes * part).min(holes)
    };
    let most: f64 = trial.sample.spans.iter().map(|span| of_thread(span.bytes)).sum();
    (most / trial.sample.bytes() as f64).min(uncached)
}
