//! What a command asked for, and what served it.
//!
//! Only the OS counts its bytes. Calls like `read` are counted whatever serves them; reads through
//! rings, mappings and copies by the OS are not, but what devices read for them is. They are also
//! counted if they read a pipe, a socket, or a program's own files.

use crate::counted::Counted;
use crate::measured::{Measured, SHARE_NOISE};
use model::evidence::Residency;
use model::host::Medium;
use model::rehearsal::{Blind, FactSheet, FileRole, FileUse, OtherSources};

/// Bytes that devices read for a command at most if they read none of its data: parts of programs
/// and directories that nobody evicted, but the OS may have.
const READ_NOISE: u64 = 64 << 10;

/// The size of the pages in which residency is counted.
const PAGE_BYTES: u64 = 4096;

/// A sum of counts, which a damaged record may have of any size.
pub(crate) fn total(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
}

/// The sum of a size of these files.
pub(crate) fn sum<'a>(
    files: impl Iterator<Item = &'a FileUse>,
    of: fn(&FileUse) -> Option<u64>,
) -> u64 {
    files.filter_map(of).fold(0, u64::saturating_add)
}

/// The size of all data files that a command read; `None` without a rehearsal, or if it read none.
pub(crate) fn read_size(measured: &Measured) -> Option<u64> {
    let facts = measured.facts.filter(|facts| facts.unlisted_files == 0)?;
    Some(sum(facts.read_files(), |file| file.bytes_before)).filter(|bytes| *bytes > 0)
}

/// The bytes of the files that a run wrote which were not on a device when it had ended.
pub(crate) fn dirty_bytes(measured: &Measured, trial: &Counted) -> Option<u64> {
    // Its files were synced before anybody looked.
    if trial.sample.synced_ns().is_some() {
        return None;
    }
    Some(trial.evidence.written_after?.dirty?.saturating_mul(measured.host.page))
}

/// The bytes of the files that a run wrote.
pub(crate) fn written_bytes(measured: &Measured, trial: &Counted) -> Option<u64> {
    let Residency { pages, .. } = trial.evidence.written_after?;
    Some(pages.saturating_mul(measured.host.page))
}

/// The processes that went on when a run had ended.
pub(crate) fn left_running(trial: &Counted) -> u64 {
    trial.sample.exit.map_or(0, |exit| exit.left_running)
}

/// The share of a run in which no processor ran it, at least: its processes may have run at once.
pub(crate) fn waited_share(trial: &Counted) -> Option<f64> {
    let wall_ns = trial.wall_ns() as f64;
    let ran = trial.cpu_ns()? as f64 / wall_ns;
    (wall_ns > 0.0).then(|| (1.0 - ran).max(0.0))
}

/// Whether one thread computed all. The OS computes for a ring in threads of its own.
pub(crate) fn computes_alone(facts: &FactSheet) -> bool {
    !facts.sampled && facts.threads == 1 && facts.queues.uring == 0
}

/// A file of `/proc`, `/sys` and the like returns about so many bytes at most.
const KERNEL_FILE_BYTES: u64 = 4096;

/// Whether these calls, which returned `all` bytes, read files alone, but for noise. Several
/// processes may pass data to one another, whose reads are counted too; older records tell only
/// how many processes there were.
fn are_calls_of_files(facts: &FactSheet, all: u64) -> bool {
    let Some(sources) = facts.other_sources else { return facts.processes <= 1 };
    let few = sources.kernel_files.saturating_mul(KERNEL_FILE_BYTES);
    let others = OtherSources { kernel_files: 0, ..sources };
    others.is_none() && few <= noise(all).max(READ_NOISE)
}

/// Bytes that a run asked for, if its calls tell: with a ring, a mapping or a copy by the OS,
/// nothing does, and with pipes, sockets and the like, calls return more than that.
pub(crate) fn asked_bytes(measured: &Measured, trial: &Counted) -> Option<u64> {
    let facts = measured.facts.filter(|facts| facts.are_reads_calls())?;
    let all = trial.evidence.task_rchar_bytes.filter(|all| are_calls_of_files(facts, *all))?;
    // Programs read their libraries' headers, settings and the like with the same calls.
    facts.read_files().next().map(|_| all)
}

/// Bytes that the calls of a run read and wrote, from and to anything; `None` unless calls move all
/// that it moves, and none of it twice, as through a pipe.
pub(crate) fn moved_bytes(measured: &Measured, trial: &Counted) -> Option<(u64, u64)> {
    let facts = measured.facts.filter(|facts| facts.are_reads_calls())?;
    let sources = facts.other_sources?;
    let is_silent = |file: &FileUse| file.mappings.writable == 0 && file.copies.target == 0;
    let by_calls = total(&[sources.pipes, sources.sockets, sources.memory_files]) == 0
        && facts.written_files().all(is_silent);
    trial.evidence.task_rchar_bytes.zip(trial.evidence.task_wchar_bytes).filter(|_| by_calls)
}

/// Where the data that a command read came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandReads {
    /// It read no data file.
    None,
    /// The page cache had all of it.
    Cached,
    /// Devices read all of it.
    FromDevices,
    /// Devices read a part of it, or it is unknown whether it was all.
    FromBoth,
    /// No counter shows it.
    Unseen,
}

/// Where the data that a command read came from, if its files are on devices.
pub(crate) fn reads(measured: &Measured) -> CommandReads {
    let reads_none = measured.facts.is_some_and(|facts| {
        !facts.sampled && facts.unseen.is_empty() && facts.read_files().next().is_none()
    });
    // What children of a program that ignores SIGCHLD moved is in no counter.
    let is_lost = |facts: &FactSheet| facts.unseen.iter().any(|it| it.what == Blind::Unreaped);
    if measured.facts.is_some_and(is_lost) {
        return CommandReads::Unseen;
    }
    let read = |trial: &Counted| trial.evidence.task_read_bytes;
    if reads_none && all(measured, |trial| Some(read(trial)? <= READ_NOISE)) {
        return CommandReads::None;
    }
    let is_other = |trial: &Counted| !devices_agree(measured, trial) || is_less(measured, trial);
    if measured.trials.iter().any(is_other) {
        return CommandReads::Unseen;
    }
    // The counters of devices are of the storages that were watched.
    if is_partly_unwatched(measured) {
        let is_cached = all(measured, |trial| {
            Some(cached_throughout(measured, trial).is_some() && is_nothing(measured, trial)?)
        });
        return if is_cached { CommandReads::Cached } else { CommandReads::Unseen };
    }
    // What was in no cache and came from no device are holes, or data that devices have compressed.
    let is_elsewhere = |trial: &Counted| loaded(measured, trial).is_some();
    match () {
        () if all(measured, |trial| is_nothing(measured, trial)) => {
            match measured.trials.iter().any(is_elsewhere) {
                true => CommandReads::Unseen,
                false => CommandReads::Cached,
            }
        }
        () if all(measured, |trial| is_all(measured, trial)) => CommandReads::FromDevices,
        () if measured.trials.iter().any(|trial| lacks_loaded(measured, trial)) => {
            CommandReads::Unseen
        }
        () => CommandReads::FromBoth,
    }
}

/// Whether a part of the files that a command read, beyond noise, is on no storage with devices
/// that was watched.
fn is_partly_unwatched(measured: &Measured) -> bool {
    let Some(facts) = measured.facts else { return false };
    let is_on_devices = |number: usize| {
        let storage = measured.places.storage(number);
        storage.is_some_and(|storage| storage.medium == Medium::Block)
    };
    let is_watched = |file: &&FileUse| measured.places.number(file).is_some_and(is_on_devices);
    let bytes = |file: &FileUse| file.bytes_before;
    let elsewhere = facts.read_files().filter(|file| !is_watched(file));
    sum(elsewhere, bytes) > noise(sum(facts.read_files(), bytes))
}

/// The medium of the files that a command read: that of all of them or, of several, devices. If it
/// read none, and without a rehearsal, that of its storage.
pub(crate) fn medium(measured: &Measured) -> Option<Medium> {
    let own = measured.storage.map(|storage| storage.medium);
    let Some(facts) = measured.facts else { return own };
    let of = |file: &FileUse| Some(measured.places.storage(measured.places.number(file)?)?.medium);
    let mut media = facts.read_files().filter(|file| file.bytes_before > Some(0)).map(of);
    let Some(first) = media.next() else { return own };
    if media.all(|medium| medium == first) { first.or(own) } else { own.and(Some(Medium::Block)) }
}

/// Whether a run read far less by calls than the rehearsal did: its result was there already, as
/// that of a copy that leaves out what has not changed. Then the files of the rehearsal are not
/// those of the run.
fn is_less(measured: &Measured, trial: &Counted) -> bool {
    let rehearsed = measured.facts.and_then(|facts| Some(facts.totals?.io?.rchar));
    let both = rehearsed.zip(trial.evidence.task_rchar_bytes);
    both.is_some_and(|(rehearsed, bytes)| bytes < rehearsed / 2 && rehearsed - bytes > READ_NOISE)
}

fn noise(bytes: u64) -> u64 {
    (bytes as f64 * SHARE_NOISE) as u64
}

/// Whether `bytes` are `asked` or more.
pub(crate) fn has(bytes: u64, asked: u64) -> bool {
    bytes >= asked.saturating_sub(noise(asked))
}

/// Whether devices read none of the data in a trial.
fn is_nothing(measured: &Measured, trial: &Counted) -> Option<bool> {
    let of_asked = asked_bytes(measured, trial).map_or(0, noise);
    // A little beside files that were cached throughout is of programs.
    let of_cached = cached_throughout(measured, trial);
    let of_cached = of_cached.map_or(0, |bytes| noise(bytes).max(READ_NOISE));
    Some(trial.evidence.task_read_bytes? <= of_asked.max(of_cached))
}

/// Whether devices read all of the data in a trial.
fn is_all(measured: &Measured, trial: &Counted) -> Option<bool> {
    let bytes = trial.evidence.task_read_bytes?;
    let has_loaded = || loaded(measured, trial).map(|loaded| has(bytes, loaded));
    match asked_bytes(measured, trial) {
        Some(asked) if has(bytes, asked) => Some(true),
        Some(asked) => {
            // What more was asked for may be of programs, but no more than they have.
            let least = asked.saturating_sub(program_bytes(measured));
            Some(has_loaded() == Some(true) && has(bytes, least))
        }
        None => has_loaded().or_else(|| Some(has(bytes, past_cache(measured)?))),
    }
}

/// The bytes of the files that a command read, if it went past the page cache for all but noise.
fn past_cache(measured: &Measured) -> Option<u64> {
    let is_direct = |file: &&FileUse| {
        let is_plain = file.mappings.is_none() && file.copies.source == 0;
        is_plain && file.opens.direct >= file.opens.reading
    };
    let facts = measured.facts.filter(|facts| !facts.sampled)?;
    let all = sum(facts.read_files(), |file| file.bytes_before);
    let direct = sum(facts.read_files().filter(is_direct), |file| file.bytes_before);
    (all > 0 && has(direct, all)).then_some(all)
}

/// Whether devices read less, for anyone, than what came into the page cache, of which it had
/// nothing.
fn lacks_loaded(measured: &Measured, trial: &Counted) -> bool {
    let (bytes, loaded) = (measured.read_once(trial), loaded(measured, trial));
    bytes.zip(loaded).is_some_and(|(bytes, loaded)| !has(bytes, loaded))
}

/// The bytes that came into the page cache, of files of which it had nothing before. If nothing is
/// there afterwards either, or the command evicted some, all bytes of the files.
fn loaded(measured: &Measured, trial: &Counted) -> Option<u64> {
    let (before, after) = (trial.evidence.residency_before?, trial.evidence.residency_after?);
    let evicts = measured.facts.is_none_or(|facts| {
        facts.sampled || facts.files.iter().any(|file| file.hints.dont_need > 0)
    });
    let pages = if after.cached == 0 || evicts { before.pages } else { after.cached };
    (before.cached == 0 && before.pages > 0).then_some(pages.saturating_mul(PAGE_BYTES))
}

/// The bytes of the files that a command read, if they were in the page cache before and after, and
/// it neither went past the cache nor evicted any.
fn cached_throughout(measured: &Measured, trial: &Counted) -> Option<u64> {
    let is_kept = |file: &FileUse| total(&[file.opens.direct, file.hints.dont_need]) == 0;
    let facts = measured.facts.filter(|facts| !facts.sampled && facts.files.iter().all(is_kept));
    facts?;
    let (before, after) = (trial.evidence.residency_before?, trial.evidence.residency_after?);
    let is_cached = before.cached == before.pages && after.cached == after.pages;
    is_cached.then_some(before.pages.saturating_mul(PAGE_BYTES))
}

/// The bytes of the files that a command read with calls although they are not its data: of
/// programs and the system. Those that it only executed are not among them.
fn program_bytes(measured: &Measured) -> u64 {
    let files = measured.facts.iter().flat_map(|facts| &facts.files);
    let is_own = |file: &&FileUse| file.role != FileRole::Data && file.opens.reading > 0;
    sum(files.filter(is_own), |file| file.bytes_before)
}

/// Whether the devices read what they read for the command: a file system that reads something else
/// (compressed, on a network) has other numbers.
pub(crate) fn devices_agree(measured: &Measured, trial: &Counted) -> bool {
    let (Some(own), Some(all)) = (trial.evidence.task_read_bytes, measured.read_once(trial)) else {
        return false;
    };
    has(all, own)
}

/// Whether it holds of every trial that counts.
fn all(measured: &Measured, holds: impl Fn(&Counted) -> Option<bool>) -> bool {
    measured.n() > 0 && measured.trials.iter().all(|trial| holds(trial) == Some(true))
}
