//! What served the reads of a running program.
//!
//! What devices read for it is counted whatever asked for it. What it asked for is counted only of
//! calls such as `read`: not of rings, asynchronous I/O and mappings (docs/method).

use model::named;
use model::running::{Interval, OpenFile, OpenFiles, OpenMedium, RunningRecord};
use schemars::JsonSchema;
use serde::Serialize;

/// Of so few bytes, nothing is said: a program reads some of its own files now and then.
const NOISE: u64 = 64 << 10;

/// Counters that agree differ by at most this share.
pub(super) const SHARE: f64 = 0.01;

named! {
    /// What served the reads.
    RunningReads "served" {
        /// It read nothing.
        Nothing "nothing",
        /// No device read anything for it.
        NoDevice "no-device",
        /// Devices read some of it.
        SomeDevice "some-device",
        /// Devices read at least as many bytes as it asked for. What they read ahead is among them.
        Device "device",
        /// The counters do not show it.
        Unseen "unseen",
    }
}

/// What served the reads of the program.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ServedReads {
    /// What served them.
    pub by: RunningReads,
    /// Bytes that it read; null if rings, asynchronous I/O or mappings may have read more than its
    /// calls, or if that cannot be seen. Pipes and sockets are in it.
    pub asked_bytes: Option<u64>,
    /// Bytes that devices read for it.
    pub device_bytes: Option<u64>,
    /// At least this share of its reads came from no device: less than all that devices read may be
    /// what it asked for, because they read ahead. Null unless both numbers are known and it reads
    /// only files.
    pub cached_share_least: Option<f64>,
}

/// Whether calls are all that reads data in the program.
pub(super) fn are_calls_all(open: &OpenFiles) -> bool {
    let has_queues = open.rings > 0 || open.aio > 0;
    !has_queues && open.unseen_processes == 0 && !open.files.iter().any(|file| file.mapped)
}

/// Whether devices read at least what they read for the program.
pub(super) fn disks_agree(whole: &Interval) -> Option<bool> {
    let (own, all) = (whole.read_bytes?, whole.disks?.read_bytes);
    Some(all >= own.saturating_sub(share_of(own)).saturating_sub(NOISE))
}

fn share_of(bytes: u64) -> u64 {
    (bytes as f64 * SHARE) as u64
}

/// Whether the counters bear a sentence: nothing is hidden, all that it reads from is on file
/// systems that count, and the devices agree.
fn is_borne(record: &RunningRecord, whole: &Interval) -> bool {
    let Some(end) = &record.end else { return false };
    let is_unseen = |file: &&OpenFile| file.medium == OpenMedium::Unseen && file.reading;
    let is_whole = whole.lost == 0 && whole.hidden == 0 && record.watched.lists_children;
    let is_seen = end.open.unseen_processes == 0 && end.open.unlisted == 0;
    is_whole
        && is_seen
        && !end.open.files.iter().any(|file| is_unseen(&file))
        && disks_agree(whole) == Some(true)
}

pub(super) fn of(record: &RunningRecord, whole: &Interval) -> ServedReads {
    let open = record.end.as_ref().map(|end| &end.open);
    let is_whole = whole.lost == 0 && whole.hidden == 0;
    let asked = whole.read_call_bytes.filter(|_| is_whole && open.is_some_and(are_calls_all));
    let device = if is_whole { whole.read_bytes } else { whole.group_read_bytes };
    let unseen = ServedReads {
        by: RunningReads::Unseen,
        asked_bytes: asked,
        device_bytes: device,
        cached_share_least: None,
    };
    let (Some(read), true) = (whole.read_bytes, is_borne(record, whole)) else { return unseen };
    let by = match asked {
        Some(asked) if asked < NOISE && read < NOISE => RunningReads::Nothing,
        Some(asked) if read <= share_of(asked) => RunningReads::NoDevice,
        Some(asked) if read >= asked.saturating_sub(share_of(asked)) => RunningReads::Device,
        Some(_) => RunningReads::SomeDevice,
        // Without a number of bytes that were asked for, only nothing is nothing.
        None if read == 0 => RunningReads::NoDevice,
        None => RunningReads::SomeDevice,
    };
    let has_sources = open.is_some_and(|open| open.other_sources > 0);
    // Where they read more than it asked for, the share says nothing.
    let known = asked.filter(|asked| *asked >= NOISE && read <= *asked && !has_sources);
    let share = known.map(|asked| 1.0 - read as f64 / asked as f64);
    ServedReads { by, cached_share_least: share, ..unseen }
}
