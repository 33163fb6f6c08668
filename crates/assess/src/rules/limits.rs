//! Whether the limit of a control group on a device sets the figure.

use super::context::{Context, Draft};
use crate::counted::{Counted, a_second, only_syncs};
use crate::finding::Severity;
use crate::hits::fetched_bytes;
use crate::names;
use crate::served::{INODE_BYTES, SHARE_NOISE};
use crate::stats::median;
use model::case::{Cache, NameSync, Op, Work};
use model::evidence::{Limit, Limited};
use model::host::Storage;
use model::layer::Layer;
use model::units::{NS_PER_SECOND, bytes_rounded, nanoseconds, percent, rate};

/// A rate from this share of an I/O limit on is the limit's (docs/method).
const LIMIT_LEAST: f64 = 0.80;
/// A rate above this many times a limit was not throttled by it. A short trial may exceed a limit
/// by using saved-up allowance, but not by that much (docs/method).
const LIMIT_MOST: f64 = 2.0;

/// A control group that the case is in used up what it may do on a device that the case used: the
/// case itself, what ran beside it, or others in the group.
pub(super) fn reached(context: &Context) -> Option<Draft> {
    let used = |(storage, limit)| {
        let use_of = LimitUse::of(context, storage, limit)?;
        (LIMIT_LEAST..=LIMIT_MOST).contains(&use_of.share).then_some((storage, limit, use_of))
    };
    let found = limits(context).into_iter().filter_map(used);
    let (storage, limit, use_of) = found.max_by(|a, b| a.2.share.total_cmp(&b.2.share))?;
    let Limit { device, what, a_second, group } = limit.clone();
    let allowed = match what {
        Limited::ReadBytes | Limited::WriteBytes => {
            format!("{} ({}/s)", rate(a_second as f64), bytes_rounded(a_second))
        }
        Limited::Reads | Limited::Writes => format!("{a_second} per second"),
    };
    let is_alone = context.measured.case.beside.is_empty();
    let whose = match (use_of.is_counted, is_alone) {
        (false, _) => "the worker",
        (true, true) => "its processes",
        (true, false) => "its processes, with those beside this case,",
    };
    let message = format!(
        "the control group '{group}' limits {what} of {device} to {allowed}{}, and {whose} used {} \
         of that",
        said_change(context, storage, limit),
        percent(use_of.share)
    );
    let remedy = "lift the limit to measure the device, or read the figure as one under it";
    // A schedule that is held sets what a case alone uses, but not what others do.
    if is_alone && context.summary.open.as_ref().is_some_and(|open| open.is_held()) {
        let message = format!(
            "{message}: the schedule sets the rate, but operations may have waited for the limit"
        );
        return Draft::sized(use_of.share, Severity::Note, message, remedy);
    }
    let message = format!(
        "{message}: the figure shows the limit, and an open load above it queues without bound"
    );
    Draft::sized(use_of.share, Severity::Doubt, message, remedy)
}

/// Whether a trial ran under a limit, at its start or its end.
fn is_under(trial: &Counted, storage: &Storage, limit: &Limit) -> bool {
    trial.limits(storage).contains(&limit)
}

/// Since when a limit held or no longer held, if it was set, changed or lifted while the run went
/// on.
fn said_change(context: &Context, storage: &Storage, limit: &Limit) -> String {
    let was_known = storage.limits.contains(limit);
    let is_under = |trial: &Counted| is_under(trial, storage, limit);
    let first_ms = |is: bool| {
        let trials = context.measured.trials.iter().filter(|trial| is_under(trial) == is);
        trials.map(|trial| trial.at_ms).min()
    };
    let Some(ms) = first_ms(!was_known) else { return String::new() };
    let what = if was_known { "no longer seen" } else { "first seen" };
    let after = nanoseconds(ms as f64 * 1e6);
    let how_many = context.how_many(is_under);
    format!(" ({what} {after} after the start of the run; it held in {how_many})")
}

/// The limits on what the case did, in any trial, each with its storage: those of reading if it
/// read from devices, and those of writing if it wrote to them, whatever kind of work it is.
fn limits<'a>(context: &Context<'a>) -> Vec<(&'a Storage, &'a Limit)> {
    let measured = context.measured;
    let copies = context.write().is_some_and(|work| work.op == Op::Copy);
    let read_from = if copies { measured.source } else { measured.storage };
    let of = |storage: Option<&'a Storage>, are_reads: bool| {
        let mut all: Vec<(&'a Storage, &'a Limit)> = Vec::new();
        let Some(storage) = storage else { return all };
        for limit in measured.trials.iter().flat_map(|trial| trial.limits(storage)) {
            let is_new = all.iter().all(|(_, known)| *known != limit);
            if is_new && is_of_reads(limit.what) == are_reads {
                all.push((storage, limit));
            }
        }
        all
    };
    let reads = of(read_from.filter(|_| reads_devices(context)), true);
    let writes = of(measured.storage.filter(|_| writes_devices(context)), false);
    [reads, writes].concat()
}

fn is_of_reads(what: Limited) -> bool {
    matches!(what, Limited::ReadBytes | Limited::Reads)
}

/// Whether the case read more than noise from devices.
fn reads_devices(context: &Context) -> bool {
    let measured = context.measured;
    let asked = |trial: &Counted| match &measured.case.work {
        Work::Memory(_) => None,
        Work::Command(_) => trial.evidence.task_read_bytes,
        Work::Metadata(work) => Some(names::used(work, trial).saturating_mul(INODE_BYTES)),
        Work::Write(work) if work.read_share > 0 => Some(trial.sample.read_bytes()),
        Work::Read(_) | Work::Write(_) => Some(trial.sample.bytes()),
    };
    let share = context.total_share(|trial| Some((fetched_bytes(measured, trial)?, asked(trial)?)));
    !measured.case.is_null() && share.is_some_and(|share| share > SHARE_NOISE)
}

/// Whether what the case wrote, or changed, reached devices while its time ran.
fn writes_devices(context: &Context) -> bool {
    let names = context.measured.case.metadata();
    let is_durable = names.is_some_and(|it| it.call.changes() && it.sync == NameSync::Fsync);
    let of_command = || {
        let evidence = |trial: &Counted| {
            Some((trial.evidence.device_write_bytes?, trial.evidence.task_write_bytes?))
        };
        let share = context.total_share(evidence);
        context.measured.case.command().is_some() && share.is_some_and(|it| it > SHARE_NOISE)
    };
    is_durable || (context.write().is_some() && context.crosses_devices()) || of_command()
}

/// How much of a limit was used, in the median of the trials under it.
struct LimitUse {
    share: f64,
    /// Whether the control group counted it, for all its processes.
    is_counted: bool,
}

impl LimitUse {
    fn of(context: &Context, storage: &Storage, limit: &Limit) -> Option<LimitUse> {
        let allowed = limit.a_second.max(1) as f64;
        let by_group = |trial: &Counted| {
            is_under(trial, storage, limit).then_some(())?;
            let used = limit.used(&trial.evidence)?;
            Some(a_second(used, trial.evidence.window_ns)? / allowed)
        };
        match median(&context.measured.values(by_group)) {
            Some(share) => Some(LimitUse { share, is_counted: true }),
            None => {
                Some(LimitUse { share: used_by_case(context, storage, limit)?, is_counted: false })
            }
        }
    }
}

/// How much of a limit the median trial used, in records whose groups did not count: if all devices
/// of a layer move equal parts of its bytes, each half of a stripe moves half, each half of a
/// mirror writes all.
///
/// Requests are those that the devices completed. With direct I/O, each operation is at least one,
/// although the OS may have merged some after counting them against the limit.
fn used_by_case(context: &Context, storage: &Storage, limit: &Limit) -> Option<f64> {
    let is_direct = context.measured.case.cache() == Some(Cache::Direct);
    let is_alike = context.write().is_none_or(|work| work.read_share == 0);
    let is_told = is_direct && is_alike && !only_syncs(context.measured.case);
    let times = |layer: &Layer| match is_of_reads(limit.what) {
        true => f64::from(layer.reads.least),
        false => f64::from(layer.writes.least),
    };
    // The counting layer moves each requested byte this many times.
    let counted = storage.watched().map_or(1.0, times);
    let once = |count: Option<u64>| Some(count? as f64 / counted);
    let operations = |trial: &Counted, count: Option<u64>| {
        let asked = is_told.then(|| trial.sample.ops() as f64);
        [once(count), asked].into_iter().flatten().reduce(f64::max)
    };
    let amount = |trial: &Counted| match limit.what {
        Limited::ReadBytes => match trial.evidence.task_read_bytes {
            Some(bytes) => Some(bytes as f64),
            None => once(trial.evidence.device_read_bytes),
        },
        Limited::WriteBytes => once(trial.evidence.device_write_bytes),
        Limited::Reads => operations(trial, trial.evidence.device_reads),
        Limited::Writes => operations(trial, trial.evidence.device_writes),
    };
    let part = match storage.layers.iter().find(|layer| layer.nodes.contains(&limit.device)) {
        Some(layer) => times(layer) / layer.nodes.len() as f64,
        None => 1.0 / storage.devices.len().max(1) as f64,
    };
    let used = |trial: &Counted| {
        is_under(trial, storage, limit).then_some(())?;
        let a_second = amount(trial)? / trial.wall_ns().max(1) as f64 * NS_PER_SECOND;
        let share = a_second * part / limit.a_second.max(1) as f64;
        share.is_finite().then_some(share)
    };
    median(&context.measured.values(used))
}
