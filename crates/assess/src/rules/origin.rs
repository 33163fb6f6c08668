//! Where the bytes came from, and whether they are right.

use super::context::{Context, Draft, RuleTable, in_memory};
use super::sharing::wrong_pages;
use crate::counted::{Counted, is_actor_right};
use crate::finding::{Code, Severity};
use crate::hits::hole_share;
use crate::served::{SHARE_NOISE, called_share, shared_share};
use crate::summary::ServedBy;
use model::case::{Cache, Case, Kernel, NameSync, OWN_PEER, Op, Touch, Work, WriteWork};
use model::host::{HeldContent, Medium, Storage};
use model::units::percent;

/// The rules of this module.
pub(super) const RULES: RuleTable = &[
    (Code::NoIo, no_io),
    (Code::Ram, ram),
    (Code::DigestMismatch, digest_mismatch),
    (Code::BytesUnchecked, bytes_unchecked),
];

/// The worker's calls returned less than it reports (docs/method): it did not read the rest.
fn not_called(context: &Context) -> Option<Draft> {
    let work = context.read()?;
    let share = called_share(context.measured, work).filter(|share| 1.0 - share > SHARE_NOISE)?;
    let message = format!(
        "{}the read calls returned only {} of the bytes that the worker reports: it did not read \
         the rest",
        whose(context.measured.case),
        percent(share)
    );
    let remedy = "the worker is wrong: test it with 'ioassay peers verify'";
    Draft::sized(1.0 - share, Severity::Void, message, remedy)
}

/// The target of a copy shares blocks of its source: that part of it is a change of metadata.
fn not_copied(context: &Context) -> Option<Draft> {
    let share = shared_share(context.measured).filter(|share| *share > SHARE_NOISE)?;
    let message = format!(
        "the target shares {} of the bytes with its source: nothing copied them, so the figure is \
         that of changing metadata",
        percent(share)
    );
    let remedy = "copy by another engine or to another file system, or read the figure as the rate \
                  of sharing";
    Draft::sized(share, Severity::Void, message, remedy)
}

/// Names the worker, if it is another program than this one's own.
fn whose(case: &Case) -> String {
    match case.peer.as_str() {
        OWN_PEER => String::new(),
        peer => format!("the peer {peer}: "),
    }
}

/// The file has holes or unwritten extents (docs/method), no device read anything, or the worker
/// read less than it reports.
///
/// Holes of up to 1 % move no figure by more than that, and a warm hole is a page like any other:
/// both are only noted.
fn no_io(context: &Context) -> Option<Draft> {
    if let Some(fault) = not_copied(context) {
        return Some(fault);
    }
    let work = context.read()?;
    if let Some(fault) = not_called(context) {
        return Some(fault);
    }
    if let Some(share) = context.measured.fixture.map(hole_share).filter(|share| *share > 0.0) {
        let harmless = share <= SHARE_NOISE || work.io.cache == Cache::Warm;
        let severity = if harmless { Severity::Note } else { Severity::Void };
        let message = format!(
            "{} of the file is holes or was never written: no device reads that",
            percent(share)
        );
        let remedy = "read a file that was completely written, then synced";
        return Draft::sized(share, severity, message, remedy);
    }
    if !context.is_served(&[ServedBy::NoIo]) {
        return None;
    }
    let message = "no device read anything, and the page cache did not hold the file: the bytes \
                   were made up, or came from somewhere without a counter"
        .to_string();
    let remedy = "read a file of random data on a local block device";
    Draft::sized(1.0, Severity::Void, message, remedy)
}

/// What a case on a file claims about where the bytes are, and how severe a wrong claim is.
pub(super) fn claim(context: &Context) -> Option<(&'static str, Severity)> {
    let sync = context.write().map(|work| work.sync).filter(|sync| sync.claims_durable());
    if let Some(sync) = sync {
        return Some((sync.name(), Severity::Doubt));
    }
    let names = context.measured.case.metadata();
    if let Some(work) = names.filter(|work| work.sync == NameSync::Fsync) {
        return Some((work.sync.name(), Severity::Doubt));
    }
    let reads = context.read().map(|work| work.io.cache);
    let cache = reads.or(context.write().map(|work| work.io.cache));
    let cache = cache.or(names.map(|work| work.cache));
    let cache = cache.or(context.measured.case.command().map(|work| work.cache))?;
    let severity = match cache {
        Cache::Direct | Cache::Cold | Cache::DontCache => Severity::Doubt,
        Cache::Warm | Cache::AsIs => Severity::Note,
    };
    Some((cache.name(), severity))
}

/// The file system keeps its files in memory (docs/method).
fn ram(context: &Context) -> Option<Draft> {
    let partly = context.measured.storage.filter(|storage| {
        let is_partly = context.measured.is_partly_in_memory();
        is_partly && storage.has_data_in_memory() && context.crosses_devices()
    });
    let (claim, severity) = claim(context)?;
    if let Some(storage) = partly {
        return partly_ram(claim, severity, storage);
    }
    if !context.is_served(&[ServedBy::Ram]) {
        return None;
    }
    let file_system = in_memory(context.measured.storage);
    if let Some(work) = context.write().filter(|_| is_copied_from_disk(context)) {
        return copied_into_memory(work, &file_system);
    }
    // What claims nothing of a device is what it says.
    let so = match severity {
        Severity::Note => "",
        _ => ", so a claim of direct, cold or durable means nothing here",
    };
    let files = match context.measured.case.command() {
        Some(_) => "its files are",
        None => "the file is",
    };
    let message = format!("{files} in memory ({file_system}): no device took part{so}");
    Draft::new(severity, message, "to measure a disk, use a directory on one")
}

/// Whether a device has the source of a copy. Its cache state is that of its source, which
/// `cache_leak` judges.
fn is_copied_from_disk(context: &Context) -> bool {
    let copies = context.write().is_some_and(|work| work.op == Op::Copy);
    copies && context.measured.source.is_some_and(|source| source.medium == Medium::Block)
}

/// A copy from a device into memory: only what it claims of its target means nothing.
fn copied_into_memory(work: &WriteWork, file_system: &str) -> Option<Draft> {
    let claims = work.sync.claims_durable() || work.io.cache == Cache::Direct;
    let (severity, so) = match claims {
        true => (Severity::Doubt, ", so a claim of direct or durable means nothing there"),
        false => (Severity::Note, ""),
    };
    let message = format!(
        "the target of the copy is in memory ({file_system}): no device took the bytes{so}"
    );
    Draft::new(severity, message, "to measure a disk, copy to a directory on one")
}

/// A part of the storage is in memory, and no counter shows what of the bytes was there.
fn partly_ram(claim: &str, severity: Severity, storage: &Storage) -> Option<Draft> {
    let parts = storage.weak_parts.iter().filter(|part| part.holds == HeldContent::Data);
    let message = format!(
        "claimed '{claim}', but a part of {} is in memory ({}), which may have served or taken the \
         bytes instead of a disk",
        storage.file_system,
        storage.in_words(parts)
    );
    Draft::new(severity, message, "to measure a disk, use a file system on disks alone")
}

/// The bytes read, or read back, are not those written. One such trial is enough.
fn digest_mismatch(context: &Context) -> Option<Draft> {
    if let Some(fault) = wrong_pages(context).or_else(|| actor_mismatch(context)) {
        return Some(fault);
    }
    let differs = |trial: &Counted| trial.is_right() == Some(false);
    let first = context.measured.all().find(|trial| differs(trial))?;
    let case = context.measured.case;
    let whose = whose(case);
    let wrong = context.measured.all().filter(|trial| differs(trial)).count();
    let all = context.measured.all().count();
    let trials = format!("{wrong} of {all} trials");
    let message = match first.expected_digest.filter(|_| counts(case)) {
        Some(expected) => format!(
            "{whose}counted {} instead of {expected} (in {trials}): bytes were skipped, counted \
             twice or changed",
            first.sample.digest().unwrap_or_default()
        ),
        None if case.write().is_some() => format!(
            "{whose}the data read back is not the data written (in {trials}): bytes were skipped, \
             lost or changed"
        ),
        None if case.metadata().is_some() => format!(
            "{whose}the names found, or left in the directories, are not those that the calls make \
             (in {trials})"
        ),
        None => format!(
            "{whose}the digest is wrong in {trials}: bytes were skipped, read or written twice, or \
             changed"
        ),
    };
    let remedy = match case.work {
        Work::Read(_) => {
            "verify the file with 'ioassay data verify'; if it is intact, the worker is wrong"
        }
        Work::Write(_) => "the worker is wrong, or the storage lost or changed the data",
        Work::Metadata(_) => "the worker is wrong, or the file system lost or changed names",
        Work::Memory(_) => "the worker is wrong, or this machine's memory is",
        // Nothing is known of the bytes that a command should find.
        Work::Command(_) => return None,
    };
    Draft::sized(wrong as f64 / all as f64, Severity::Void, message, remedy)
}

/// The bytes that an actor beside the case read, or wrote and were read back, are wrong.
fn actor_mismatch(context: &Context) -> Option<Draft> {
    let wrong =
        |trial: &&Counted| trial.beside.iter().any(|beside| is_actor_right(beside) == Some(false));
    let first = context.measured.all().find(wrong)?;
    let actor = first.beside.iter().find(|beside| is_actor_right(beside) == Some(false))?;
    let (count, all) =
        (context.measured.all().filter(wrong).count(), context.measured.all().count());
    let message = format!(
        "the digest of what the actor '{}' read or wrote is wrong in {count} of {all} trials",
        actor.name,
    );
    let remedy =
        "the storage lost or changed the data while several used it, or the worker is wrong";
    Draft::sized(count as f64 / all as f64, Severity::Void, message, remedy)
}

/// A peer reported no digest in some trial (docs/method). The OS's counters still show what
/// served the bytes.
fn bytes_unchecked(context: &Context) -> Option<Draft> {
    let is_unchecked = |trial: &Counted| trial.sample.digest().is_none();
    let is_other = context.measured.case.peer != OWN_PEER;
    (is_other && context.measured.trials.iter().any(is_unchecked)).then_some(())?;
    let did = if context.write().is_some() { "wrote" } else { "read" };
    let message = format!(
        "the peer {} reports no digest, so the bytes that it {did} were not checked (in {})",
        context.measured.case.peer,
        context.how_many(is_unchecked)
    );
    let unchecked = context.share_of_trials(is_unchecked);
    let remedy = "compare it with a worker whose bytes are checked";
    Draft::sized(unchecked, Severity::Note, message, remedy)
}

/// Whether the case counts.
fn counts(case: &Case) -> bool {
    match &case.work {
        Work::Read(work) => work.touch == Touch::Count,
        Work::Write(_) | Work::Metadata(_) | Work::Command(_) => false,
        Work::Memory(work) => work.kernel == Kernel::Count,
    }
}
