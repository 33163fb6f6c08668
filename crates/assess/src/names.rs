//! The figures of a case on names of files.

use crate::counted::Counted;
use crate::measured::Measured;
use crate::stats::median;
use model::case::{Call, MetadataWork, NameSync};
use model::host::{Medium, Storage};
use model::path::WriteCache;
use model::units::NS_PER_SECOND;
use schemars::JsonSchema;
use serde::Serialize;

/// With more than this share of the names missing in the OS's cache, they were not warm
/// (docs/method).
const BROUGHT_MOST: f64 = 0.05;

/// With less than this share missing, they were not cold (docs/method).
pub(crate) const BROUGHT_LEAST: f64 = 0.90;

/// Threads that waited for at most this share of the calls waited for no server (docs/method).
const WAITS_MOST: f64 = 0.01;

/// With fewer flushes per call of a thread than this, not every call was flushed.
const FLUSHES_LEAST: f64 = 0.90;

/// What a case on names brought into the OS's caches, and what its devices did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct NameFigures {
    /// Names that the OS's cache grew by, for each name that was used: 0 if it had all of them, 1
    /// if it had none. Median of the rounds; null if not counted, or if the call brings none.
    pub brought_share: Option<f64>,
    /// Read requests that the devices completed per trial: median of the rounds.
    pub device_reads: Option<u64>,
    /// Cache flushes that the devices completed per trial: median of the rounds.
    pub flushes_per_trial: Option<u64>,
    /// Calls of `fsync` per trial: one of the directory for each change, and one before it of each
    /// file that was created. Median of the rounds; null without syncs.
    pub syncs_per_trial: Option<u64>,
}

impl NameFigures {
    /// The figures of a case, if it works on names and a trial counts.
    pub(crate) fn of(measured: &Measured) -> Option<NameFigures> {
        let work = measured.case.metadata().filter(|_| measured.n() > 0)?;
        Some(NameFigures {
            brought_share: median(&measured.values(|trial| brought_share(measured, work, trial))),
            device_reads: measured.median_count(|trial| trial.evidence.device_reads),
            flushes_per_trial: measured.median_count(|trial| trial.evidence.device_flushes),
            syncs_per_trial: measured.median_count(|trial| {
                let syncs = trial.sample.ops().saturating_mul(work.syncs_of_a_call());
                (work.sync == NameSync::Fsync).then_some(syncs)
            }),
        })
    }
}

/// The names that a trial used.
pub(crate) fn used(work: &MetadataWork, trial: &Counted) -> u64 {
    let of_thread = |ops: u64| ops.min(work.entries);
    trial.sample.spans.iter().map(|span| of_thread(span.ops)).sum()
}

/// File systems that have a name of their own, and one below, for each that is looked up.
const TWICE: [&str; 2] = ["overlay", "ecryptfs"];

/// How many names the OS's cache has for one that is used: at least and at most. A process of this
/// machine that serves a file system may look the same name up below.
fn cached_for_one(measured: &Measured) -> [u64; 2] {
    match measured.storage {
        Some(storage) if TWICE.contains(&storage.file_system.as_str()) => [2, 2],
        Some(storage) if storage.medium == Medium::Unseen => [1, 2],
        _ => [1, 1],
    }
}

/// Whether the call takes the names that it uses out of the OS's cache, where there are two for
/// each: then the cache's growth says nothing of where they were.
pub(crate) fn takes_out(measured: &Measured, work: &MetadataWork) -> bool {
    work.call == Call::Unlink && cached_for_one(measured) == [2, 2]
}

/// The names that the OS's cache grew by in a trial, for each that it used. `None` if not counted,
/// if the call creates or lists names, or if the cache shrank by more than what other programs may
/// bring: then it gave others up, and nobody knows how many.
pub(crate) fn brought_share(
    measured: &Measured,
    work: &MetadataWork,
    trial: &Counted,
) -> Option<f64> {
    let evidence = &trial.evidence;
    let (before, after) = (evidence.names_before?, evidence.names_after?);
    if takes_out(measured, work) {
        return None;
    }
    let used = used(work, trial) as f64;
    let brought = (after as f64 - before as f64) / cached_for_one(measured)[0] as f64;
    let is_known = work.call.looks_up() && used > 0.0 && brought >= -unsure(used, trial);
    is_known.then(|| brought.max(0.0) / used)
}

/// Names per second that other programs may use beside a trial (docs/method). Bringing as many
/// into the cache takes about a fiftieth of the time.
const OTHERS_A_SECOND: f64 = 2_000.0;

/// The names that a trial which uses `used` may seem to bring, or not to bring, because of other
/// programs.
fn unsure(used: f64, trial: &Counted) -> f64 {
    let others = OTHERS_A_SECOND * trial.evidence.window_ns as f64 / NS_PER_SECOND;
    BROUGHT_MOST * used + others
}

/// Where the OS found the names of a trial, as far as its count of cached names shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum NameSources {
    /// It had them: the cache grew by a few of them, or by no more than other programs may add.
    InCache,
    /// It had not all of them.
    Outside,
    /// Not counted, or the cache grew by more names than the trial used, or shrank: those of other
    /// programs hide its own.
    Unseen,
}

/// Where the OS found the names of a trial whose call looks names up.
pub(crate) fn found(measured: &Measured, work: &MetadataWork, trial: &Counted) -> NameSources {
    let Some(share) = brought_share(measured, work, trial) else { return NameSources::Unseen };
    let [least, most] = cached_for_one(measured);
    let used = used(work, trial) as f64;
    let (brought, unsure) = (share * used, unsure(used, trial));
    if brought <= unsure {
        NameSources::InCache
    } else if brought <= used * (most / least) as f64 + unsure {
        NameSources::Outside
    } else {
        NameSources::Unseen
    }
}

/// Whether the OS answered the calls of all trials from its own caches, though another program or
/// machine serves the file system: it had the names, and the threads waited for nobody. A server's
/// answer makes a thread wait.
pub(crate) fn are_answered_here(measured: &Measured, work: &MetadataWork) -> bool {
    let are_here = |trial: &Counted| {
        let told = trial.sample.usage.switches_voluntary;
        let waits = trial.in_span(told, trial.evidence.switches_voluntary);
        let most = WAITS_MOST * trial.sample.ops() as f64;
        let waits_for_nobody = waits.is_some_and(|waits| waits as f64 <= most);
        found(measured, work, trial) == NameSources::InCache && waits_for_nobody
    };
    !work.call.changes() && measured.trials.iter().all(are_here)
}

/// Whether the devices flushed their caches for each call that was to be durable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Flushed {
    /// As often as necessary, or they have no caches.
    Each,
    /// Too seldom: the flushes of a trial.
    Seldom(f64),
    /// The file system is mounted without barriers, or a device stops flushes.
    Off,
    /// No counter shows it.
    Unseen,
}

/// Whether the devices flushed for each call. Threads that sync at the same time may share a
/// flush, so only one thread's calls count. So may the two syncs of a creation: the journal that
/// has the file has its name, too.
pub(crate) fn flushed(measured: &Measured) -> Flushed {
    if measured.storage.is_some_and(Storage::drops_syncs) {
        return Flushed::Off;
    }
    let Some(storage) = measured.storage.filter(|storage| storage.medium == Medium::Block) else {
        return Flushed::Unseen;
    };
    if storage.are_barriers_off() {
        return Flushed::Off;
    }
    let caches = storage.devices.iter().map(|device| device.write_cache);
    if caches.clone().all(|cache| cache == Some(WriteCache::Through)) {
        return Flushed::Each;
    }
    let threads = f64::from(measured.case.threads());
    let all = f64::from(storage.flushes_of_a_sync().max(1));
    let share = |trial: &Counted| {
        let due = trial.sample.ops() as f64 / threads;
        let flushes = trial.evidence.device_flushes? as f64 / all;
        Some((flushes / due.max(1.0), flushes))
    };
    let told: Option<Vec<(f64, f64)>> = measured.trials.iter().map(share).collect();
    let least = told.and_then(|told| told.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)));
    match least {
        None => Flushed::Unseen,
        Some((share, _)) if share >= FLUSHES_LEAST => Flushed::Each,
        // It may need none.
        Some(_) if caches.clone().any(|cache| cache.is_none()) => Flushed::Unseen,
        Some((_, flushes)) => Flushed::Seldom(flushes),
    }
}
