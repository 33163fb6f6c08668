//! Noisy neighbors: others that used the devices while trials ran.

use super::context::{Context, Draft, RuleTable, is_many_times};
use crate::counted::Counted;
use crate::disturbance::share_of_others;
use crate::finding::{Code, Severity};
use crate::stats::median;
use crate::summary::ServedBy;
use crate::writing::syncs;
use model::case::{Op, Sync};
use model::host::Storage;
use model::units::{bytes_rounded, percent};

/// The rules of this module.
pub(super) const RULES: RuleTable =
    &[(Code::Foreign, foreign), (Code::SharedDevice, shared_device)];

/// Foreign reads of this share of the worker's bytes are a disturbance (docs/method).
const FOREIGN_DOUBT: f64 = 0.05;
/// Foreign reads of this share void the figure (docs/method).
const FOREIGN_VOID: f64 = 0.20;

/// The remedy for noisy neighbors.
const STOP_OTHERS: &str = "stop the other processes that use the device, and run again";

/// A file system may turn a written byte into this many on a device.
const OWN_WRITES_MOST: f64 = 1.25;
/// Bytes of metadata that a sync may write: a journal's commit, a tree's changed nodes.
const METADATA_OF_SYNC: f64 = (256 << 10) as f64;
/// Bytes of metadata, and of other files, that are ignored.
const METADATA: f64 = (16 << 20) as f64;
/// What the OS may read ahead of a read of a loop device's file, where it says less.
const READ_AHEAD: u64 = 1 << 20;

/// Noisy neighbors used the device (docs/method).
fn foreign(context: &Context) -> Option<Draft> {
    traffic_of_others(context).filter(|_| !context.measured.shares_device)
}

/// Other hosts of the run are on this machine and used the device, as they were asked to: no
/// counter tells their traffic from that of a neighbor (docs/method).
fn shared_device(context: &Context) -> Option<Draft> {
    let Draft { size, message, .. } =
        traffic_of_others(context).filter(|_| context.measured.shares_device)?;
    let remedy = "read it as the figure of a host that shares its device, or measure each on a \
                  machine of its own";
    Draft::sized(size, Severity::Note, message, remedy)
}

/// Bytes of others as a share of a case's own. So few as metadata takes are none.
fn beside(others: f64, own: u64) -> f64 {
    if others <= METADATA { 0.0 } else { others / own.max(1) as f64 }
}

fn traffic_of_others(context: &Context) -> Option<Draft> {
    foreign_reads(context)
        .or_else(|| foreign_writes(context))
        .or_else(|| crossing(context))
        .or_else(|| beside_names(context))
        .or_else(|| beside_command(context))
        .or_else(|| below_loops(context))
}

/// Who used the device as well.
fn others(context: &Context) -> &'static str {
    match context.measured.shares_device {
        false => "other processes",
        true => "the others of this run on this machine, and other processes if any,",
    }
}

/// Others used the disk below a loop device, whose own counters show only what passes it. A copy's
/// source may be on that disk.
fn below_loops(context: &Context) -> Option<Draft> {
    let is_copy = context.write().is_some_and(|work| work.op == Op::Copy);
    let is_served = context.is_served(&[ServedBy::Device, ServedBy::Mixed]);
    let works = context.read().is_some() || context.write().is_some();
    let storage = context.measured.storage.filter(|_| is_served && works && !is_copy)?;
    let disk = storage.below_loops()?;
    let page = context.measured.host.page;
    let own = |trial: &Counted| trial.sample.bytes();
    let read = |trial: &Counted| Some(beside(read_below(storage, trial, page)?, own(trial)));
    let written = |trial: &Counted| Some(beside(written_below(storage, trial)?, own(trial)));
    let (who, on) = (others(context), format!("{disk}, below the loop device,"));
    let reads = |most| format!("{who} read up to {most} as much from {on} as this case moved");
    let writes = |most| format!("{who} wrote up to {most} as much to {on} as this case moved");
    sharing(context, read, Severity::Doubt, reads)
        .or_else(|| sharing(context, written, Severity::Doubt, writes))
}

/// Bytes that the disk below a loop device read for others, at least. If the page cache is between
/// the two, the OS may read ahead of each read, and read what a write leaves of a page.
fn read_below(storage: &Storage, trial: &Counted, page: u64) -> Option<f64> {
    let evidence = &trial.evidence;
    let through = evidence.device_read_bytes?;
    let around = match storage.cached_loop() {
        None => 0,
        Some(_) => {
            let known = storage.disks().into_iter().filter_map(|disk| disk.read_ahead).max();
            let ahead = known.unwrap_or(0).max(READ_AHEAD).saturating_mul(4);
            let of_reads = evidence.device_reads?.saturating_mul(ahead);
            of_reads.saturating_add(evidence.device_writes?.saturating_mul(page))
        }
    };
    Some(evidence.disk_read_bytes? as f64 - through as f64 - around as f64)
}

/// Bytes that it wrote for others, at least: beyond what passed the loop device, with what the file
/// system of the loop device's file adds to it, and what was dirty in the page cache before.
fn written_below(storage: &Storage, trial: &Counted) -> Option<f64> {
    let evidence = &trial.evidence;
    let data = OWN_WRITES_MOST * evidence.device_write_bytes? as f64;
    let syncs = METADATA_OF_SYNC * evidence.device_flushes? as f64;
    let dirty = if storage.cached_loop().is_some() { evidence.dirty_before? } else { 0 };
    let own = f64::from(storage.disk_writes_most()?) * (data + syncs + dirty as f64);
    Some(evidence.disk_write_bytes? as f64 - own)
}

/// Foreign writes while this case read from the device, or foreign reads while it wrote. Apart from
/// metadata, neither is the case's own. A case that does both is held against what it read.
fn crossing(context: &Context) -> Option<Draft> {
    if !context.is_served(&[ServedBy::Device, ServedBy::Mixed]) {
        return None;
    }
    let reads = context.read().is_some();
    if !reads && context.write().is_none_or(|work| work.op == Op::Copy) {
        return None;
    }
    let mixes = context.write().is_some_and(|work| work.read_share > 0);
    let measured = context.measured;
    let share_of_others = |trial: &Counted| {
        let evidence = &trial.evidence;
        let others = match reads {
            true => {
                let most = measured.own_writes_most()?;
                let own = evidence.task_write_bytes?.saturating_mul(most.into());
                evidence.device_write_bytes?.saturating_sub(own)
            }
            false => measured.read_by_others(trial)?,
        };
        Some(beside(others as f64, trial.sample.bytes()))
    };
    let who = others(context);
    let seen = |most| match (reads, mixes) {
        (true, _) => format!("{who} wrote up to {most} as much to the device as this case read"),
        (false, _) => {
            let does = if mixes { "moved" } else { "wrote" };
            format!("{who} read up to {most} as much from the device as this case {does}")
        }
    };
    sharing(context, share_of_others, Severity::Doubt, seen)
}

/// Others read from the device while names were brought in from it, or changed and synced. Names
/// have no bytes of their own: what others read is held against all that the device read for the
/// worker, and all that it wrote.
fn beside_names(context: &Context) -> Option<Draft> {
    let is_served = context.is_served(&[ServedBy::Device, ServedBy::Mixed]);
    context.measured.case.metadata().filter(|_| is_served)?;
    let share_of_others = |trial: &Counted| {
        let others = context.measured.read_by_others(trial)?;
        let evidence = &trial.evidence;
        let own = evidence.task_read_bytes?.saturating_add(evidence.device_write_bytes?);
        Some(beside(others as f64, own))
    };
    let who = others(context);
    let seen = |most| {
        format!("{who} read up to {most} as much from the device as was moved for this case")
    };
    sharing(context, share_of_others, Severity::Doubt, seen)
}

/// Others read from the device while a command did. What was written belongs to anyone: the OS
/// writes what was dirty before.
fn beside_command(context: &Context) -> Option<Draft> {
    let is_served = context.is_served(&[ServedBy::Device, ServedBy::Mixed]);
    context.measured.case.command().filter(|_| is_served)?;
    let share_of_others = |trial: &Counted| {
        let others = context.measured.read_by_others(trial)?;
        Some(beside(others as f64, trial.evidence.task_read_bytes?))
    };
    let who = others(context);
    let seen = |most| format!("{who} read up to {most} as much from the device as this command");
    sharing(context, share_of_others, Severity::Doubt, seen)
}

/// Other processes read from the device while this case did.
///
/// The median trial decides the severity: a disturbance in one round of ten does not move a median.
/// It is still noted, because it shows in the longest latencies.
fn foreign_reads(context: &Context) -> Option<Draft> {
    context.read().filter(|_| context.is_served(&[ServedBy::Device]))?;
    let who = others(context);
    let seen = |most| format!("{who} read up to {most} as much from the device as this case");
    let share = |trial: &Counted| share_of_others(context.measured, trial);
    sharing(context, share, Severity::Void, seen)
}

/// The finding for foreign device traffic, relative to a trial's own bytes. `most` is the maximum
/// severity, and `seen` describes the largest share.
fn sharing(
    context: &Context,
    share_of_others: impl Fn(&Counted) -> Option<f64>,
    most: Severity,
    seen: impl Fn(String) -> String,
) -> Option<Draft> {
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
    let largest = shares.into_iter().fold(0.0, f64::max);
    let much = match largest {
        share if is_many_times(share) => format!("{share:.0} times"),
        share => percent(share),
    };
    let message =
        format!("{} (in {}): they shared its time", seen(much), context.how_many(is_disturbed));
    Draft::sized(largest, severity, message, STOP_OTHERS)
}

/// The devices wrote far more than this case. A file system's own writes are indistinguishable from
/// foreign ones, so they get a wide margin, and this is at most a doubt.
fn foreign_writes(context: &Context) -> Option<Draft> {
    let work = context.write()?;
    if !context.is_served(&[ServedBy::Device, ServedBy::Mixed]) {
        return None;
    }
    let page = context.measured.host.page.max(1);
    // If nothing bounds how often devices write a byte, everything they wrote may be the case's.
    let times = f64::from(context.measured.own_writes_most()?);
    let is_mounted_so = context.measured.storage.is_some_and(|it| it.syncs_each_write(work));
    let is_each = is_mounted_so || work.sync == Sync::Dsync;
    let own = |trial: &Counted| {
        let syncs = if is_each { trial.sample.written_ops() } else { syncs(work, trial) };
        // For a part of a page, the whole page is written.
        let pages = work.io.mean_in_pages(page) * trial.sample.written_ops() as f64;
        let written = trial.sample.written_bytes() as f64;
        let data = if work.op == Op::Sync { 0.0 } else { pages.max(written) };
        times * (OWN_WRITES_MOST * data + METADATA_OF_SYNC * syncs as f64 + METADATA)
    };
    let beyond = |trial: &Counted| {
        // What actors surely wrote is subtracted; this is the most that they may have.
        let of_actors = 2.0 * trial.unsure.written as f64;
        let written = trial.evidence.device_write_bytes? as f64;
        Some(written - of_actors - own(trial))
    };
    let is_disturbed = |trial: &Counted| beyond(trial).is_some_and(|bytes| bytes > 0.0);
    if !context.measured.trials.iter().any(is_disturbed) {
        return None;
    }
    let is_usual = median(&context.measured.values(beyond))? > 0.0;
    let severity = if is_usual { Severity::Doubt } else { Severity::Note };
    // The trial with the most.
    let all = context.measured.trials.iter().filter_map(|trial| Some((beyond(trial)?, trial)));
    let (_, worst) = all.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let written = worst.evidence.device_write_bytes? as f64;
    let own = worst.sample.written_bytes() as f64;
    let message = format!(
        "the devices wrote up to {} while a trial wrote {} (in {}): {} wrote to them, or the file \
         system wrote much metadata",
        bytes_rounded(written as u64),
        bytes_rounded(own as u64),
        context.how_many(is_disturbed),
        others(context)
    );
    let share = (written - own) / own.max(1.0);
    Draft::sized(share, severity, message, STOP_OTHERS)
}
