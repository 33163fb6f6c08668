//! What a command asked for, and what served it.
//!
//! Only the OS counts its bytes. Calls like `read` are counted whatever serves them; reads through
//! rings, mappings and copies by the OS are not, but what devices read for them is.

use crate::counted::Counted;
use crate::measured::{Measured, SHARE_NOISE};
use model::rehearsal::{FactSheet, FileUse, Role};

/// Bytes that devices read for a command at most if they read none of its data: parts of programs
/// and directories that nobody evicted, but the OS may have.
const READ_NOISE: u64 = 64 << 10;

/// The data files that a command read.
pub(crate) fn read_files(facts: &FactSheet) -> impl Iterator<Item = &FileUse> {
    facts.files.iter().filter(|file| file.role == Role::Data && is_read(file))
}

fn is_read(file: &FileUse) -> bool {
    let copied = file.copies.source + file.copies.cloned_source;
    let mapped = file.mappings.shared + file.mappings.private;
    file.bytes_before.is_some() && file.opens.reading + mapped + copied > 0
}

/// Whether calls like `read` are all that read data: no ring, no mapping, no copy by the OS, and
/// nothing that the rehearsal could not see.
pub(crate) fn are_reads_counted(facts: &FactSheet) -> bool {
    let is_silent = |file: &FileUse| {
        file.mappings.is_none() && file.copies.source == 0 && file.copies.cloned_source == 0
    };
    let has_queues = facts.queues.uring + facts.queues.aio > 0;
    !facts.sampled && facts.unseen.is_empty() && !has_queues && read_files(facts).all(is_silent)
}

/// Bytes that a run asked for, if its calls tell: with a ring, a mapping or a copy by the OS,
/// nothing does.
pub(crate) fn asked_bytes(measured: &Measured, trial: &Counted) -> Option<u64> {
    let facts = measured.facts.filter(|facts| are_reads_counted(facts))?;
    let all = trial.evidence.task_rchar_bytes?;
    // Programs read their libraries' headers, settings and the like with the same calls.
    read_files(facts).next().map(|_| all)
}

/// Where the data that a command read came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
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
pub(crate) fn reads(measured: &Measured) -> Reads {
    let reads_none = measured.facts.is_some_and(|facts| {
        !facts.sampled && facts.unseen.is_empty() && read_files(facts).next().is_none()
    });
    let read = |trial: &Counted| trial.evidence.task_read_bytes;
    if reads_none && all(measured, |trial| Some(read(trial)? <= READ_NOISE)) {
        return Reads::None;
    }
    if measured.trials.iter().any(|trial| !devices_agree(measured, trial)) {
        return Reads::Unseen;
    }
    let noise = |bytes: u64| (bytes as f64 * SHARE_NOISE) as u64;
    let is_nothing = |trial: &Counted| {
        // Without a number of bytes that were asked for, only nothing is nothing.
        let most = asked_bytes(measured, trial).map_or(0, noise);
        Some(read(trial)? <= most)
    };
    let is_all = |trial: &Counted| {
        let whole = || {
            let before = trial.evidence.residency_before?;
            (before.cached == 0).then_some(before.pages.saturating_mul(4096))
        };
        let asked = asked_bytes(measured, trial).or_else(whole)?;
        Some(read(trial)? >= asked.saturating_sub(noise(asked)))
    };
    match () {
        () if all(measured, is_nothing) => Reads::Cached,
        () if all(measured, is_all) => Reads::FromDevices,
        () => Reads::FromBoth,
    }
}

/// Whether the devices read what they read for the command: a file system that reads something else
/// (compressed, on a network) has other numbers.
fn devices_agree(measured: &Measured, trial: &Counted) -> bool {
    let (Some(own), Some(all)) = (trial.evidence.task_read_bytes, measured.read_once(trial)) else {
        return false;
    };
    all >= own.saturating_sub((own as f64 * SHARE_NOISE) as u64)
}

/// Whether it holds of every trial that counts.
fn all(measured: &Measured, holds: impl Fn(&Counted) -> Option<bool>) -> bool {
    measured.n() > 0 && measured.trials.iter().all(|trial| holds(trial) == Some(true))
}
