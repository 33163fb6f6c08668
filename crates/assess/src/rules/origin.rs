//! Where the bytes came from, whether they are the right ones, and who else read.

use super::context::{Context, Fault};
use crate::finding::Severity;
use crate::measured::Counted;
use crate::served::{SHARE_NOISE, hole_share};
use crate::stats::median;
use crate::summary::ServedBy;
use model::case::{Cache, Case, Kernel, OWN_PEER, Touch, Work};
use model::units::percent;

/// Others that read this share of what the worker did disturb it (METHODOLOGY.md).
const FOREIGN_DOUBT: f64 = 0.05;
/// Others that read this share make the figure theirs too (METHODOLOGY.md).
const FOREIGN_VOID: f64 = 0.20;

/// The file has holes or unwritten extents (METHODOLOGY.md), or nothing was read from anywhere.
///
/// A hole of up to 1 % moves no figure by more than that, and a warm hole is a page of zeros like
/// any other page: both are noted only.
pub(super) fn no_io(context: &Context) -> Option<Fault> {
    let work = context.file()?;
    if let Some(share) = context.measured.fixture.map(hole_share).filter(|share| *share > 0.0) {
        let harmless = share <= SHARE_NOISE || work.cache == Cache::Warm;
        let severity = if harmless { Severity::Note } else { Severity::Void };
        let message = format!(
            "{} of the file is holes or was never written: reading that needs no device",
            percent(share)
        );
        return Fault::new(severity, message, "read a file that was wholly written, then synced");
    }
    if !context.is_served(&[ServedBy::NoIo]) {
        return None;
    }
    let message = "no device read anything, and the page cache did not hold the file: the bytes \
                   were made up, or came from where no counter is"
        .to_string();
    Fault::new(Severity::Void, message, "read a file of random data on a local block device")
}

/// The file system keeps its files in memory (METHODOLOGY.md).
pub(super) fn ram(context: &Context) -> Option<Fault> {
    let work = context.file().filter(|_| context.is_served(&[ServedBy::Ram]))?;
    let severity = match work.cache {
        Cache::Direct | Cache::Cold => Severity::Doubt,
        Cache::Warm | Cache::AsIs => Severity::Note,
    };
    let file_system = context.measured.storage.map_or("it", |s| s.file_system.as_str());
    let message = format!(
        "the file is in memory ({file_system}): no device took part, and '{}' means nothing here",
        work.cache
    );
    Fault::new(severity, message, "to measure a disk, give a directory that is on one")
}

/// What served the bytes cannot be seen from here (METHODOLOGY.md).
pub(super) fn unverified(context: &Context) -> Option<Fault> {
    let work = context.file().filter(|_| context.is_served(&[ServedBy::Unverified]))?;
    let severity = match work.cache {
        Cache::Direct | Cache::Cold => Severity::Doubt,
        Cache::Warm | Cache::AsIs => Severity::Note,
    };
    let file_system = context.measured.storage.map_or("unknown", |s| s.file_system.as_str());
    let message = format!(
        "this machine's counters do not see what served the bytes (file system: {file_system}): \
         a cache on the other side may have"
    );
    let remedy = "measure on the machine that has the disk, or read far more than its memory";
    Fault::new(severity, message, remedy)
}

/// Bytes that were read are not those that were written. One such trial is enough.
pub(super) fn digest_mismatch(context: &Context) -> Option<Fault> {
    let differs = |trial: &Counted| {
        trial.expected_digest.is_some_and(|expected| trial.sample.digest() != expected)
    };
    if !context.measured.trials.iter().any(differs) {
        return None;
    }
    let case = context.measured.case;
    let whose = match case.peer.as_str() {
        OWN_PEER => String::new(),
        peer => format!("the peer {peer}: "),
    };
    let trials = context.how_many(differs);
    let first = context.measured.trials.iter().find(|trial| differs(trial));
    let message = match first.filter(|_| counts(case)).and_then(|t| Some((t, t.expected_digest?))) {
        Some((trial, expected)) => format!(
            "{whose}counted {} where {expected} are (in {trials}): bytes were skipped, counted \
             twice or changed",
            trial.sample.digest()
        ),
        None => format!(
            "{whose}the digest of what was read or written is wrong in {trials}: bytes were \
             skipped, taken twice or changed"
        ),
    };
    let remedy = match case.work {
        Work::File(_) => {
            "verify the file with 'ioassay data verify'; if it is whole, the worker is wrong"
        }
        Work::Write(_) => "the worker is wrong, or the storage lost or changed what it was given",
        Work::Memory(_) => "the worker is wrong, or this machine's memory is",
    };
    Fault::new(Severity::Void, message, remedy)
}

/// Whether what is made of the bytes is a count.
fn counts(case: &Case) -> bool {
    match &case.work {
        Work::File(work) => work.touch == Touch::Count,
        Work::Write(_) => false,
        Work::Memory(work) => work.kernel == Kernel::Count,
    }
}

/// Others read from the device in the same time (METHODOLOGY.md).
///
/// The severity is that of the median trial: a figure is a median, which a disturbance in one
/// round of ten does not move. That one is noted, for it does show in the longest latencies.
pub(super) fn foreign(context: &Context) -> Option<Fault> {
    context.file().filter(|_| context.is_served(&[ServedBy::Device]))?;
    let share_of_others = |trial: &Counted| {
        let (all, own) = (trial.evidence.device_read_bytes?, trial.evidence.task_read_bytes?);
        (own > 0).then(|| all.saturating_sub(own) as f64 / own as f64)
    };
    let is_disturbed = |trial: &Counted| share_of_others(trial).is_some_and(|s| s > FOREIGN_DOUBT);
    if !context.measured.trials.iter().any(is_disturbed) {
        return None;
    }
    let shares = context.measured.values(share_of_others);
    let severity = match median(&shares)? {
        share if share > FOREIGN_VOID => Severity::Void,
        share if share > FOREIGN_DOUBT => Severity::Doubt,
        _ => Severity::Note,
    };
    let message = format!(
        "others read up to {} as much from the device as this did (in {}): they shared its time",
        percent(shares.into_iter().fold(0.0, f64::max)),
        context.how_many(is_disturbed)
    );
    Fault::new(severity, message, "stop what else uses the device, and run again")
}
