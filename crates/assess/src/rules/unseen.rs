//! What is not judged, for no counter tells it.

use super::context::{Context, Fault};
use super::origin::claim;
use crate::finding::Severity;
use crate::summary::ServedBy;
use crate::writing::Durability;
use model::host::{Medium, Storage};

/// What lets a device count that was told not to.
const LET_IT_COUNT: &str =
    "let the devices count ('echo 1' into /sys/block/X/queue/iostats), and run again";

/// What served the bytes cannot be seen from here (METHODOLOGY.md).
pub(super) fn unverified(context: &Context) -> Option<Fault> {
    let (_, severity) = claim(context).filter(|_| context.is_served(&[ServedBy::Unverified]))?;
    let storage = context.measured.storage;
    let file_system = storage.map_or("unknown", |storage| storage.file_system.as_str());
    let (because, remedy) = match storage.filter(|storage| storage.medium == Medium::Block) {
        Some(storage) if !storage.counts_bytes() => {
            (format!("those of {} stand still", watched(storage)), LET_IT_COUNT)
        }
        Some(storage) if storage.writes().exact().is_none() && context.write().is_some() => (
            format!("how often {} write a byte is unknown", watched(storage)),
            "read what was accepted and what was durable, and nothing of where the bytes are",
        ),
        _ => (
            "a cache on the other side may have".to_string(),
            "measure on the machine that has the disk, or move far more than its memory holds",
        ),
    };
    let message = format!(
        "this machine's counters do not see what served or took the bytes (file system: \
         {file_system}): {because}"
    );
    Fault::new(severity, message, remedy)
}

/// A counter stands still, or does not tell what would have to be known (METHODOLOGY.md).
pub(super) fn counters_unseen(context: &Context) -> Option<Fault> {
    let storage = context.measured.storage.filter(|storage| storage.medium == Medium::Block)?;
    let is_on_a_file = context.read().is_some() || context.write().is_some();
    let bytes = (is_on_a_file && !storage.counts_bytes()).then(|| {
        let message = format!(
            "the counters of {} stand still while a file is read and written: what devices moved \
             is not judged",
            watched(storage)
        );
        (Severity::Note, message, LET_IT_COUNT)
    });
    let found = || bytes.iter().cloned().chain(unseen_sync(context, storage));
    let severity = found().map(|(severity, ..)| severity).max()?;
    let messages: Vec<String> = found().map(|(_, message, _)| message).collect();
    let (.., remedy) = found().last()?;
    Fault::new(severity, messages.join("; "), remedy)
}

/// What is not seen of a claim that what was written is durable.
fn unseen_sync(context: &Context, storage: &Storage) -> Option<(Severity, String, &'static str)> {
    let sync = context.write()?.sync.name();
    let devices = storage.flushed_nodes().join(" and ");
    match Durability::of(context.measured) {
        Durability::Uncounted => Some((
            Severity::Doubt,
            format!(
                "flushes of {devices} are not counted: that '{sync}' reached a medium is claimed, \
                 not seen"
            ),
            "measure on Linux 5.5 or later, on a device whose driver counts flushes",
        )),
        Durability::CacheUnknown => Some((
            Severity::Doubt,
            format!(
                "the OS does not say whether {devices} have a write cache, and fewer flushes of \
                 them are counted than there were syncs: that '{sync}' reached a medium is \
                 claimed, not seen"
            ),
            "find out whether the device has a write cache: one without needs no flush",
        )),
        Durability::Through { is_counted: false, .. } => Some((
            Severity::Doubt,
            format!(
                "fewer flushes of {devices} are counted than there were writes that sync, and \
                 writes are not counted: whether the OS sent them through the cache to the medium \
                 (FUA) is not seen"
            ),
            LET_IT_COUNT,
        )),
        Durability::Through { is_sure, .. } => Some((
            if is_sure { Severity::Note } else { Severity::Doubt },
            format!(
                "fewer flushes of {devices} are counted than there were writes that sync: the OS \
                 may have sent writes through the cache to the medium (FUA), which it counts like \
                 any other{}",
                if is_sure { "" } else { ", and does not say whether the device can" }
            ),
            "take it for durable as far as the OS can tell, or sync by a call such as 'fdatasync'",
        )),
        _ => None,
    }
}

fn watched(storage: &Storage) -> String {
    storage.watched_nodes().join(" and ")
}
