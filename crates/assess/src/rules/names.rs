//! Whether names of files were where the case claims, and whether changes of them last.

use super::context::{Context, Draft, RuleTable, lost, to_flush, unseen_sync};
use crate::counted::Counted;
use crate::finding::{Code, Severity};
use crate::names::{BROUGHT_LEAST, Flushed, NameSources, brought_share, flushed, found, takes_out};
use model::case::{Cache, Call, MetadataWork, NameSync};
use model::host::{Medium, Storage};
use model::list::listed;
use model::units::percent;

/// The rules of this module.
pub(super) const RULES: RuleTable = &[(Code::InodesHeld, inodes_held)];

/// The work, if the case claims that names are in this state.
fn claims<'c>(context: &'c Context, cache: Cache) -> Option<&'c MetadataWork> {
    context.measured.case.metadata().filter(|work| work.cache == cache)
}

/// Claimed warm, but the OS had to bring names into its cache (docs/method).
pub(super) fn not_warm(context: &Context) -> Option<Draft> {
    let work = claims(context, Cache::Warm)?;
    let is_off = |trial: &Counted| found(context.measured, work, trial) == NameSources::Outside;
    let off = context.measured.trials.iter().filter(|trial| is_off(trial));
    let share =
        off.filter_map(|trial| brought_share(context.measured, work, trial)).reduce(f64::max)?;
    let trials = context.how_many(is_off);
    let message = format!(
        "claimed warm, but the OS's cache of names grew by {} of the names used (in \
         {trials}): \
         memory is short, or another program used many names",
        percent(share)
    );
    Draft::sized(share, Severity::Void, message, "use fewer entries, or free memory")
}

/// Claimed cold, but the OS had names in its cache (docs/method).
pub(super) fn not_cold(context: &Context) -> Option<Draft> {
    let work = claims(context, Cache::Cold)?;
    let share = context.summary.names?.brought_share.filter(|share| *share < BROUGHT_LEAST)?;
    let trials = context.how_many(|trial| {
        brought_share(context.measured, work, trial).is_some_and(|share| share < BROUGHT_LEAST)
    });
    let message = format!(
        "claimed cold, but the OS's cache of names grew only by {} of the names used (in \
         {trials}): it had the others already, or gave up as many meanwhile",
        percent(share)
    );
    let remedy = "stop other programs that use many files, or use several hosts that share nothing \
                  but the directory";
    Draft::sized(1.0 - share, Severity::Void, message, remedy)
}

/// A state of names is claimed that no counter shows.
pub(super) fn unseen(context: &Context) -> Option<(Severity, String, &'static str)> {
    let work = context.measured.case.metadata()?;
    let claims = matches!(work.cache, Cache::Warm | Cache::Cold) && work.call.looks_up();
    if let Some(unseen) = claims.then(|| unseen_names(context, work)).flatten() {
        return Some(unseen);
    }
    let is_synced = work.sync == NameSync::Fsync;
    let on_devices = context.measured.storage.is_some_and(|it| it.medium == Medium::Block);
    (is_synced && on_devices && flushed(context.measured) == Flushed::Unseen).then(|| {
        let message = "no counter shows whether the devices flushed their caches after each call";
        let remedy = "measure on Linux 5.5 or later, with a driver that counts flushes";
        (Severity::Doubt, message.to_string(), remedy)
    })
}

/// The part of a claim about the OS's cache that its count of names does not show.
fn unseen_names(
    context: &Context,
    work: &MetadataWork,
) -> Option<(Severity, String, &'static str)> {
    let is_unseen = |trial: &Counted| found(context.measured, work, trial) == NameSources::Unseen;
    let trial = context.measured.trials.iter().find(|trial| is_unseen(trial))?;
    let no_verdict = format!("no verdict says whether they were {}", work.cache);
    if trial.evidence.names_before.and(trial.evidence.names_after).is_none() {
        let message =
            format!("this OS does not tell how many names it has in its cache: {no_verdict}");
        return Some((Severity::Doubt, message, "read /proc/sys/fs/dentry-state: may it be read?"));
    }
    if takes_out(context.measured, work) {
        let message = format!(
            "removing a name takes it out of the OS's cache, and the one below it, too: its count \
             of names does not show where they were, and {no_verdict}"
        );
        return Some((Severity::Doubt, message, "measure this call on the file system below"));
    }
    let shrank = trial.evidence.names_after < trial.evidence.names_before;
    let (what, remedy) = match shrank {
        true => ("shrank, so the OS took names back", "free memory, or use fewer --entries"),
        false => (
            "grew by more names than were used, so other programs brought names into it",
            "stop other programs that use many files",
        ),
    };
    let trials = context.how_many(is_unseen);
    let message = format!("the OS's cache of names {what} meanwhile (in {trials}): {no_verdict}");
    Some((Severity::Doubt, message, remedy))
}

/// Claimed durable, but a power cut may lose it (docs/method).
pub(super) fn not_durable(context: &Context) -> Option<Draft> {
    let work = context.measured.case.metadata().filter(|work| work.sync == NameSync::Fsync)?;
    let storage = context.measured.storage;
    let medium = storage.map(|storage| storage.medium);
    let is_lost = medium == Some(Medium::Ram) || storage.is_some_and(Storage::loses_parts);
    let is_unseen = medium.is_none_or(|medium| medium == Medium::Unseen);
    let unseen = || {
        let (seen, remedy) = unseen_sync(storage, "a change");
        (Severity::Doubt, seen, remedy)
    };
    let (severity, seen, remedy) = match flushed(context.measured) {
        _ if is_lost => (Severity::Doubt, lost(storage), "use a directory on a disk"),
        Flushed::Off => (
            Severity::Void,
            format!("{} flushes nothing", listed(&storage?.barriers_off())),
            to_flush(storage?),
        ),
        _ if is_unseen => unseen(),
        Flushed::Seldom(flushes) => (
            Severity::Void,
            format!(
                "the devices completed {flushes} flushes in a trial, fewer than a thread made \
                 calls: a power cut loses what their caches hold"
            ),
            "check that nothing swallows the sync",
        ),
        Flushed::Each if storage?.has_unseen_parts() => unseen(),
        Flushed::Each | Flushed::Unseen => return None,
    };
    Draft::new(severity, format!("claimed durable by '{}', but {seen}", work.sync), remedy)
}

/// Created on an ext4 without a journal, which does not use an inode again for minutes after it was
/// freed, and looks for another one each time (docs/method). The run itself frees many.
fn inodes_held(context: &Context) -> Option<Draft> {
    context.measured.case.metadata().filter(|work| work.call == Call::Create)?;
    context.measured.storage.filter(|storage| storage.journal == Some(false))?;
    let message = "this ext4 has no journal, so it does not use inodes again for minutes after \
                   files are removed, as trials remove theirs, and each creation searches for \
                   others: a directory where nothing was removed is faster";
    let remedy = "measure on an ext4 with a journal, or read it as the rate after removals";
    Draft::new(Severity::Doubt, message.to_string(), remedy)
}

/// Nothing made the changes durable (docs/method).
pub(super) fn acknowledged_only(context: &Context) -> Option<Draft> {
    let is_open = |work: &&MetadataWork| work.call.changes() && work.sync == NameSync::None;
    context.measured.case.metadata().filter(is_open)?;
    let message = "nothing was synced: the figure is how fast the OS acknowledged the changes";
    Draft::new(Severity::Note, message.to_string(), "ask for sync 'fsync' as well")
}
