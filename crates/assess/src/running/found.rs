//! What is wrong with a running program's figures, or not known of it.

use super::reads::{are_calls_all, disks_agree};
use crate::finding::Severity;
use model::named;
use model::running::{Interval, OpenFile, OpenMedium, RunningRecord};
use schemars::JsonSchema;
use serde::Serialize;

/// Fewer bytes than this are of no weight.
const BYTES_LEAST: u64 = 1 << 20;
/// Others read as many times as much.
const OTHERS_TIMES: u64 = 2;
/// A quota that stops the program for less than this share of the time is of no weight.
const THROTTLED_LEAST: f64 = 0.05;

named! {
    /// The kinds of findings on running programs (docs/method/running.md).
    RunningCode "finding" {
        /// Devices read less than was counted for the program.
        CountersDisagree "CountersDisagree",
        /// This user may not see the bytes of some processes.
        BytesHidden "BytesHidden",
        /// Processes ended and no counter kept their last bytes.
        BytesLost "BytesLost",
        /// A CPU quota stopped the program.
        Throttled "Throttled",
        /// Its open files have bytes that are not on a device yet.
        DirtyFiles "DirtyFiles",
        /// Other programs had most of the devices' reads.
        OtherReads "OtherReads",
        /// Rings, asynchronous I/O or mappings read without calls that are counted.
        AskedUnknown "AskedUnknown",
        /// Its calls also read pipes, sockets, terminals or devices.
        OtherSources "OtherSources",
        /// Open files whose cached pages cannot be seen.
        FilesUnseen "FilesUnseen",
    }
}

/// A finding on a running program.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunningFinding {
    /// Its kind.
    pub code: RunningCode,
    /// How grave it is.
    pub severity: Severity,
    /// The number that it is about: bytes, processes, files, or nanoseconds of a quota.
    pub amount: u64,
}

/// Dirty bytes of all open files at the end; `None` unless that is seen of all that are written.
pub(super) fn dirty_bytes(record: &RunningRecord) -> Option<u64> {
    let open = &record.end.as_ref()?.open;
    let page = record.watched.page_bytes;
    let of_file = |file: &OpenFile| match file.after {
        Some(pages) => Some(pages.dirty?.saturating_mul(page)),
        None => (!file.writing || file.medium == OpenMedium::Memory).then_some(0),
    };
    let is_all = open.unseen_processes == 0 && open.unlisted == 0;
    let on_devices = open.files.iter().filter(|file| file.medium != OpenMedium::Memory);
    let mut all = on_devices.map(of_file);
    is_all.then(|| all.try_fold(0u64, |sum, bytes| Some(sum.saturating_add(bytes?))))?
}

/// All findings, doubts first.
pub(super) fn all(record: &RunningRecord, whole: &Interval) -> Vec<RunningFinding> {
    let doubt = |(code, amount)| RunningFinding { code, severity: Severity::Doubt, amount };
    let note = |(code, amount)| RunningFinding { code, severity: Severity::Note, amount };
    let doubts = [
        (RunningCode::CountersDisagree, disagree(whole)),
        (RunningCode::BytesHidden, u64::from(whole.hidden)),
        (RunningCode::BytesLost, u64::from(whole.lost)),
        (RunningCode::Throttled, throttled(whole)),
        (RunningCode::DirtyFiles, dirty(record)),
    ];
    let notes = [
        (RunningCode::OtherReads, other_reads(whole)),
        (RunningCode::AskedUnknown, asked_unknown(record)),
        (RunningCode::OtherSources, other_sources(record, whole)),
        (RunningCode::FilesUnseen, files_unseen(record)),
    ];
    let there = |(_, amount): &(RunningCode, u64)| *amount > 0;
    let doubts = doubts.into_iter().filter(there).map(doubt);
    doubts.chain(notes.into_iter().filter(there).map(note)).collect()
}

fn disagree(whole: &Interval) -> u64 {
    match disks_agree(whole) {
        Some(false) => whole.read_bytes.unwrap_or(0),
        _ => 0,
    }
}

fn throttled(whole: &Interval) -> u64 {
    let ns = whole.throttled_ns.unwrap_or(0);
    if ns as f64 >= whole.length_ns as f64 * THROTTLED_LEAST { ns } else { 0 }
}

fn dirty(record: &RunningRecord) -> u64 {
    let page = record.watched.page_bytes;
    let files = record.end.iter().flat_map(|end| &end.open.files);
    let on_devices = files.filter(|file| file.medium == OpenMedium::Device);
    let dirty = on_devices.filter_map(|file| file.after?.dirty).fold(0, u64::saturating_add);
    Some(dirty.saturating_mul(page)).filter(|bytes| *bytes >= BYTES_LEAST).unwrap_or(0)
}

fn other_reads(whole: &Interval) -> u64 {
    let Some((own, disks)) = whole.read_bytes.zip(whole.disks) else { return 0 };
    let others = disks.read_bytes.saturating_sub(own);
    let is_most = own >= BYTES_LEAST && others >= own.saturating_mul(OTHERS_TIMES);
    if is_most { others } else { 0 }
}

fn asked_unknown(record: &RunningRecord) -> u64 {
    let Some(open) = record.end.as_ref().map(|end| &end.open) else { return 0 };
    if are_calls_all(open) || open.unseen_processes > 0 {
        return 0;
    }
    let mapped = open.files.iter().filter(|file| file.mapped).count() as u64;
    mapped.saturating_add(open.rings).saturating_add(open.aio)
}

fn other_sources(record: &RunningRecord, whole: &Interval) -> u64 {
    let has_read = whole.read_call_bytes.is_some_and(|bytes| bytes >= BYTES_LEAST);
    record.end.as_ref().filter(|_| has_read).map_or(0, |end| end.open.other_sources)
}

fn files_unseen(record: &RunningRecord) -> u64 {
    let Some(open) = record.end.as_ref().map(|end| &end.open) else { return 0 };
    let is_unseen = |file: &&OpenFile| file.medium != OpenMedium::Memory && file.after.is_none();
    let files = open.files.iter().filter(is_unseen).count() as u64;
    files.saturating_add(open.unlisted).saturating_add(open.unseen_processes)
}
