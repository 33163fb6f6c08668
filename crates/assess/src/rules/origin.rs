//! Where the bytes came from, whether they are the right ones, and who else read.

use super::context::{Context, Fault, is_many_times};
use crate::counted::Counted;
use crate::disturbance::share_of_others;
use crate::finding::Severity;
use crate::served::{SHARE_NOISE, called_share, hole_share};
use crate::stats::median;
use crate::summary::ServedBy;
use crate::writing::syncs;
use model::case::{Cache, Case, Kernel, OWN_PEER, Op, Sync, Touch, Work};
use model::host::Device;
use model::units::{bytes_rounded, percent};

/// Others that read this share of what the worker did disturb it (METHODOLOGY.md).
const FOREIGN_DOUBT: f64 = 0.05;
/// Others that read this share make the figure theirs too (METHODOLOGY.md).
const FOREIGN_VOID: f64 = 0.20;

/// What is written may become this many times as many bytes on a device: a file system's own.
const OWN_WRITES_MOST: f64 = 1.25;
/// Bytes of metadata that a sync may write: a journal's commit, a tree's changed nodes.
const METADATA_OF_SYNC: f64 = (256 << 10) as f64;
/// Bytes of metadata, and of other files, that are not told.
const METADATA: f64 = (16 << 20) as f64;

/// The worker's calls returned less than it tells of (METHODOLOGY.md): it did not read the rest.
fn not_called(context: &Context) -> Option<Fault> {
    let work = context.read()?;
    let share = called_share(context.measured, work).filter(|share| 1.0 - share > SHARE_NOISE)?;
    let message = format!(
        "{}the calls to read returned only {} of the bytes that were told of: the others were not \
         read",
        whose(context.measured.case),
        percent(share)
    );
    let remedy = "the worker is wrong: test it with 'ioassay peers verify'";
    Fault::new(Severity::Void, message, remedy)
}

/// Names the worker, if it is another program than this one's own.
fn whose(case: &Case) -> String {
    match case.peer.as_str() {
        OWN_PEER => String::new(),
        peer => format!("the peer {peer}: "),
    }
}

/// The file has holes or unwritten extents (METHODOLOGY.md), or nothing was read from anywhere, or
/// not all of what was told of.
///
/// A hole of up to 1 % moves no figure by more than that, and a warm hole is a page of zeros like
/// any other page: both are noted only.
pub(super) fn no_io(context: &Context) -> Option<Fault> {
    let work = context.read()?;
    if let Some(fault) = not_called(context) {
        return Some(fault);
    }
    if let Some(share) = context.measured.fixture.map(hole_share).filter(|share| *share > 0.0) {
        let harmless = share <= SHARE_NOISE || work.io.cache == Cache::Warm;
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

/// What a case on a file claims of where the bytes are, and how grave it is where that cannot be.
pub(super) fn claim(context: &Context) -> Option<(&'static str, Severity)> {
    let sync = context.write().map(|work| work.sync).filter(|sync| sync.claims_durable());
    if let Some(sync) = sync {
        return Some((sync.name(), Severity::Doubt));
    }
    let reads = context.read().map(|work| work.io.cache);
    let cache = reads.or(context.write().map(|work| work.io.cache))?;
    let severity = match cache {
        Cache::Direct | Cache::Cold => Severity::Doubt,
        Cache::Warm | Cache::AsIs => Severity::Note,
    };
    Some((cache.name(), severity))
}

/// The file system keeps its files in memory (METHODOLOGY.md).
pub(super) fn ram(context: &Context) -> Option<Fault> {
    let (claim, severity) = claim(context).filter(|_| context.is_served(&[ServedBy::Ram]))?;
    let file_system = context.measured.storage.map_or("it", |s| s.file_system.as_str());
    let message = format!(
        "the file is in memory ({file_system}): no device took part, and '{claim}' means nothing \
         here"
    );
    Fault::new(severity, message, "to measure a disk, give a directory that is on one")
}

/// A loop device that does not go past the page cache served or took it (METHODOLOGY.md).
pub(super) fn loop_cached(context: &Context) -> Option<Fault> {
    let (claim, severity) = claim(context).filter(|(_, severity)| *severity == Severity::Doubt)?;
    if !context.is_served(&[ServedBy::Device, ServedBy::Mixed]) {
        return None;
    }
    // A copy that claims where its bytes are claims it of its source.
    let measured = context.measured;
    let copies = context.write().is_some_and(|work| work.op == Op::Copy);
    let storages = measured.storage.into_iter().chain(measured.source.filter(|_| copies));
    let cached = |device: &&Device| device.loop_direct == Some(false);
    let device = storages.flat_map(|storage| &storage.devices).find(cached)?;
    let message = format!(
        "claimed '{claim}', but {} is a file on another file system, read and written through the \
         page cache of this machine: that cache may have served or taken the bytes",
        device.name
    );
    let remedy = "attach it with 'losetup --direct-io=on', or measure the file system below";
    Fault::new(severity, message, remedy)
}

/// Bytes that were read, or read back, are not those that were written. One such trial is enough.
pub(super) fn digest_mismatch(context: &Context) -> Option<Fault> {
    let differs = |trial: &Counted| trial.is_right() == Some(false);
    let first = context.measured.all().find(|trial| differs(trial))?;
    let case = context.measured.case;
    let whose = whose(case);
    let wrong = context.measured.all().filter(|trial| differs(trial)).count();
    let trials = format!("{wrong} of {} trials", context.measured.all().count());
    let message = match first.expected_digest.filter(|_| counts(case)) {
        Some(expected) => format!(
            "{whose}counted {} where {expected} are (in {trials}): bytes were skipped, counted \
             twice or changed",
            first.sample.digest().unwrap_or_default()
        ),
        None if case.write().is_some() => format!(
            "{whose}what was read back is not what was written (in {trials}): bytes were skipped, \
             lost or changed"
        ),
        None => format!(
            "{whose}the digest of what was read or written is wrong in {trials}: bytes were \
             skipped, taken twice or changed"
        ),
    };
    let remedy = match case.work {
        Work::Read(_) => {
            "verify the file with 'ioassay data verify'; if it is whole, the worker is wrong"
        }
        Work::Write(_) => "the worker is wrong, or the storage lost or changed what it was given",
        Work::Memory(_) => "the worker is wrong, or this machine's memory is",
    };
    Fault::new(Severity::Void, message, remedy)
}

/// A peer reported no digest in some trial (METHODOLOGY.md). What the OS counted still says what
/// served the bytes.
pub(super) fn bytes_unchecked(context: &Context) -> Option<Fault> {
    let is_unchecked = |trial: &Counted| trial.sample.digest().is_none();
    let is_other = context.measured.case.peer != OWN_PEER;
    (is_other && context.measured.trials.iter().any(is_unchecked)).then_some(())?;
    let did = if context.write().is_some() { "wrote" } else { "read" };
    let message = format!(
        "the peer {} reports no digest, so nobody checked which bytes it {did} (in {})",
        context.measured.case.peer,
        context.how_many(is_unchecked)
    );
    Fault::new(Severity::Note, message, "compare it with a worker whose bytes are checked")
}

/// Whether what is made of the bytes is a count.
fn counts(case: &Case) -> bool {
    match &case.work {
        Work::Read(work) => work.touch == Touch::Count,
        Work::Write(_) => false,
        Work::Memory(work) => work.kernel == Kernel::Count,
    }
}

/// Others used the device in the same time (METHODOLOGY.md).
pub(super) fn foreign(context: &Context) -> Option<Fault> {
    foreign_reads(context).or_else(|| foreign_writes(context)).or_else(|| crossing(context))
}

/// Others wrote to the device while this read from it, or read from it while this wrote. Neither is
/// this one's own, but for metadata.
fn crossing(context: &Context) -> Option<Fault> {
    if !context.is_served(&[ServedBy::Device, ServedBy::Mixed]) {
        return None;
    }
    let reads = context.read().is_some();
    if !reads && context.write().is_none_or(|work| work.op == Op::Copy) {
        return None;
    }
    let measured = context.measured;
    let share_of_others = |trial: &Counted| {
        let evidence = trial.evidence;
        let others = match reads {
            true => {
                let own = evidence.task_write_bytes?.saturating_mul(measured.writes().most?.into());
                evidence.device_write_bytes?.saturating_sub(own)
            }
            false => measured.read_once(trial)?.saturating_sub(evidence.task_read_bytes?),
        };
        let is_metadata = others as f64 <= METADATA;
        let share = others as f64 / trial.sample.bytes().max(1) as f64;
        Some(if is_metadata { 0.0 } else { share })
    };
    let others = |most| match reads {
        true => format!("others wrote up to {most} as much to the device as this read"),
        false => format!("others read up to {most} as much from the device as this wrote"),
    };
    sharing(context, share_of_others, Severity::Doubt, others)
}

/// Others read from the device while this did.
///
/// The severity is that of the median trial: a figure is a median, which a disturbance in one
/// round of ten does not move. That one is noted, for it does show in the longest latencies.
fn foreign_reads(context: &Context) -> Option<Fault> {
    context.read().filter(|_| context.is_served(&[ServedBy::Device]))?;
    let others = |most| format!("others read up to {most} as much from the device as this did");
    let share = |trial: &Counted| share_of_others(context.measured, trial);
    sharing(context, share, Severity::Void, others)
}

/// Others had as large a part of the device's time, as a share of what a trial did; `most` is how
/// grave that can be, and `seen` says it of the trial in which it was largest.
fn sharing(
    context: &Context,
    share_of_others: impl Fn(&Counted) -> Option<f64>,
    most: Severity,
    seen: impl Fn(String) -> String,
) -> Option<Fault> {
    let is_disturbed = |trial: &Counted| share_of_others(trial).is_some_and(|s| s > FOREIGN_DOUBT);
    if !context.measured.trials.iter().any(is_disturbed) {
        return None;
    }
    let shares = context.measured.values(&share_of_others);
    let severity = match median(&shares)? {
        share if share > FOREIGN_VOID => most,
        share if share > FOREIGN_DOUBT => Severity::Doubt,
        _ => Severity::Note,
    };
    let much = match shares.into_iter().fold(0.0, f64::max) {
        share if is_many_times(share) => format!("{share:.0} times"),
        share => percent(share),
    };
    let message =
        format!("{} (in {}): they shared its time", seen(much), context.how_many(is_disturbed));
    Fault::new(severity, message, "stop what else uses the device, and run again")
}

/// The devices wrote far more than this did while it wrote. What a file system writes besides the
/// data is not told apart from what others write, so a wide margin is left to it, and nothing of
/// this is void.
fn foreign_writes(context: &Context) -> Option<Fault> {
    let work = context.write()?;
    if !context.is_served(&[ServedBy::Device, ServedBy::Mixed]) {
        return None;
    }
    let page = context.measured.host.page.max(1);
    // Where nothing bounds how often devices write a byte, none of what they wrote is another's.
    let times = f64::from(context.measured.writes().most?);
    let own = |trial: &Counted| {
        let syncs = match work.sync {
            Sync::Dsync => trial.sample.ops(),
            _ => syncs(work, trial),
        };
        // A block that is a part of a page has the whole page written.
        let pages = work.io.block.div_ceil(page) as f64 * page as f64 * trial.sample.ops() as f64;
        let data = if work.op == Op::Sync { 0.0 } else { pages.max(trial.sample.bytes() as f64) };
        times * (OWN_WRITES_MOST * data + METADATA_OF_SYNC * syncs as f64 + METADATA)
    };
    let beyond = |trial: &Counted| {
        let written = trial.evidence.device_write_bytes? as f64;
        Some(written - own(trial))
    };
    let is_disturbed = |trial: &Counted| beyond(trial).is_some_and(|bytes| bytes > 0.0);
    if !context.measured.trials.iter().any(is_disturbed) {
        return None;
    }
    let is_usual = median(&context.measured.values(beyond))? > 0.0;
    let severity = if is_usual { Severity::Doubt } else { Severity::Note };
    let written = context.measured.values(|t| Some(t.evidence.device_write_bytes? as f64));
    let message = format!(
        "the devices wrote up to {} while a trial wrote {} (in {}): others wrote to them, or much \
         metadata was written",
        bytes_rounded(written.into_iter().fold(0.0, f64::max) as u64),
        bytes_rounded(context.summary.bytes_per_trial?),
        context.how_many(is_disturbed)
    );
    Fault::new(severity, message, "stop what else uses the device, and run again")
}
