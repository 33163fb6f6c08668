//! Claims that cannot be judged because no counter shows the facts.

use super::context::{Context, Draft, RuleTable, to_see_below};
use super::names;
use super::origin::claim;
use crate::counted::Counted;
use crate::finding::{Code, Severity};
use crate::summary::ServedBy;
use crate::writing::Durability;
use model::host::{Medium, Storage};
use model::list::listed;
use model::rehearsal::{Blind, FactSheet};

/// The rules of this module.
pub(super) const RULES: RuleTable =
    &[(Code::Unverified, unverified), (Code::CountersUnseen, counters_unseen)];

/// The remedy for a device whose counters are off.
const LET_IT_COUNT: &str =
    "enable the devices' counters (write 1 to /sys/block/X/queue/iostats), and run again";

/// This machine's counters cannot see what served the bytes (docs/method).
fn unverified(context: &Context) -> Option<Draft> {
    answered_here(context).or_else(|| served_unseen(context))
}

/// Calls on names that the OS answered from its own caches: whatever serves the file system never
/// saw them.
fn answered_here(context: &Context) -> Option<Draft> {
    let storage = context.measured.storage.filter(|storage| storage.medium == Medium::Unseen)?;
    context.measured.case.metadata().filter(|_| context.is_served(&[ServedBy::NameCache]))?;
    let message = format!(
        "the OS answered from its own caches of names and attributes: the server of {} never saw \
         these calls, so nothing here says how fast it is",
        storage.file_system
    );
    let remedy = "measure cold, or mount it so that the OS caches no attributes, to see the server";
    Draft::new(Severity::Note, message, remedy)
}

/// The share of reads of a mix that drew no write in any trial.
fn share_of_only_reads(context: &Context) -> Option<u8> {
    let work = context.write().filter(|work| work.read_share > 0)?;
    let drew_none = |trial: &Counted| trial.sample.written_ops() == 0;
    context.measured.trials.iter().all(drew_none).then_some(work.read_share)
}

fn served_unseen(context: &Context) -> Option<Draft> {
    let (_, severity) = claim(context).filter(|_| context.is_served(&[ServedBy::Unverified]))?;
    let storage = context.measured.storage;
    if context.measured.case.metadata().is_some() && storage?.medium == Medium::Block {
        let message = "no counter shows what served the calls".to_string();
        return Draft::new(
            severity,
            message,
            "see what CountersUnseen says, or claim a cache state",
        );
    }
    if let Some(share) = share_of_only_reads(context) {
        let message = format!(
            "no operation was a write, in no trial: with {share} % reads, so few operations had \
             none, and the figure is that of reads alone"
        );
        let remedy = "use a larger file, smaller blocks or a longer --time";
        return Draft::new(severity, message, remedy);
    }
    if let Some(storage) = storage.filter(|storage| storage.medium == Medium::Block)
        && context.measured.case.command().is_some()
        && storage.counts_bytes()
    {
        let (message, remedy) = command_unseen(context);
        return Draft::new(severity, message.to_string(), remedy);
    }
    let file_system = storage.map_or("unknown", |storage| storage.file_system.as_str());
    let (because, remedy) = match storage.filter(|storage| storage.medium == Medium::Block) {
        Some(storage) if !storage.counts_bytes() => {
            (format!("the counters of {} stand still", watched(storage)), LET_IT_COUNT)
        }
        Some(storage) if context.write().is_some() && !context.measured.is_written_once() => (
            format!("how often {} write a byte is unknown", watched(storage)),
            "use the acknowledged and the durable rate, but conclude nothing about where the bytes \
             are",
        ),
        _ if storage.is_some_and(|storage| storage.lacks_sys) => {
            ("no /sys shows its devices".to_string(), to_see_below(storage))
        }
        _ => (
            "a cache on the other side may have".to_string(),
            "measure on the machine with the disk, or move far more than its memory holds",
        ),
    };
    let message = format!(
        "this machine's counters cannot see what served or took the bytes (file system: \
         {file_system}): {because}"
    );
    Draft::new(severity, message, remedy)
}

/// Why the counters of a device that counts do not show what served a command's reads, and what to
/// do.
fn command_unseen(context: &Context) -> (&'static str, &'static str) {
    let is_unreaped = |facts: &FactSheet| facts.unseen.iter().any(|it| it.what == Blind::Unreaped);
    match context.measured.facts.is_some_and(is_unreaped) {
        true => (
            "nobody waited for some of its children, and the OS drops the counters of those: what \
             they read is unseen",
            "let it wait for them: it ignores SIGCHLD",
        ),
        false => (
            "it got bytes that no device read for it, and that were not in the page cache before: \
             holes of a sparse file, compressed data, its own writes, files on another file \
             system, or fewer bytes than in its rehearsal",
            "read 'from devices' for what they did; judge files without holes, on one file system",
        ),
    }
}

/// A counter does not move, or does not show enough (docs/method).
fn counters_unseen(context: &Context) -> Option<Draft> {
    let storage = context.measured.storage.filter(|storage| storage.medium == Medium::Block)?;
    let is_on_a_file = context.measured.case.uses_storage();
    let bytes = (is_on_a_file && !storage.counts_bytes()).then(|| {
        let message = format!(
            "the counters of {} stand still while a file is read and written: no verdict considers \
             what the devices moved",
            watched(storage)
        );
        (Severity::Note, message, LET_IT_COUNT)
    });
    let found =
        || bytes.iter().cloned().chain(unseen_sync(context, storage)).chain(names::unseen(context));
    let severity = found().map(|(severity, ..)| severity).max()?;
    let messages: Vec<String> = found().map(|(_, message, _)| message).collect();
    let (.., remedy) = found().last()?;
    Draft::new(severity, messages.join("; "), remedy)
}

/// The part of a durability claim that no counter shows.
fn unseen_sync(context: &Context, storage: &Storage) -> Option<(Severity, String, &'static str)> {
    let sync = context.write()?.sync.name();
    let devices = listed(&storage.flushed_nodes());
    match Durability::of(context.measured) {
        Durability::Uncounted if !context.measured.case.beside.is_empty() => Some((
            Severity::Note,
            format!(
                "actors beside it sync as well, and a flush belongs to all data before it: no \
                 counter shows that '{sync}' of this case reached a medium"
            ),
            "see the same case alone, whose flushes are its own",
        )),
        Durability::Uncounted => Some((
            Severity::Doubt,
            format!(
                "flushes of {devices} are not counted: '{sync}' claims to reach a medium, but no \
                 counter shows it"
            ),
            "measure on Linux 5.5 or later, with a driver that counts flushes",
        )),
        Durability::CacheUnknown => Some((
            Severity::Doubt,
            format!(
                "the OS does not say whether {devices} have a write cache, and they completed \
                 fewer flushes than there were syncs: '{sync}' claims to reach a medium, but no \
                 counter shows it"
            ),
            "find out whether the device has a write cache; without one it needs no flush",
        )),
        Durability::Through { is_counted: false, .. } => Some((
            Severity::Doubt,
            format!(
                "{devices} completed fewer flushes than there were '{sync}' writes, and writes are \
                 not counted: the OS may have sent them through the cache to the medium (FUA), but \
                 no counter shows it"
            ),
            LET_IT_COUNT,
        )),
        Durability::Through { is_sure, .. } => Some((
            if is_sure { Severity::Note } else { Severity::Doubt },
            format!(
                "{devices} completed fewer flushes than there were '{sync}' writes: the OS may \
                 have sent writes through the cache to the medium (FUA), which it counts like any \
                 other write{}",
                if is_sure { "" } else { "; it does not say whether the device supports that" }
            ),
            "treat the data as durable as far as the OS can see, or sync with a call such as \
             'fdatasync'",
        )),
        _ => None,
    }
}

fn watched(storage: &Storage) -> String {
    listed(&storage.watched_nodes())
}
