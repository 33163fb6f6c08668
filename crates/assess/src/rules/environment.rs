//! Whether the figure shows the worker's surroundings: limits, noisy neighbors, swapping.

use super::context::{Context, Draft, graded};
use crate::counted::{Counted, only_syncs};
use crate::disturbance::{Gate, throttled_parts};
use crate::finding::Severity;
use crate::stats::{Estimate, median};
use model::case::{Cache, Engine, Op, WriteEngine};
use model::host::{Limit, Limited, Storage};
use model::layer::Layer;
use model::units::{NS_PER_SECOND, bytes_rounded, percent, rate};

/// A CPU quota that takes this share of the time is noted (METHODOLOGY.md).
const QUOTA_NOTE: f64 = 0.01;
/// A CPU quota that takes this share makes the figure the quota's (METHODOLOGY.md).
const QUOTA_DOUBT: f64 = 0.05;
/// A rate from this share of an I/O limit on is the limit's (METHODOLOGY.md).
const LIMIT_LEAST: f64 = 0.80;
/// A rate above this many times a limit was not throttled by it. A short trial may exceed a limit
/// by using saved-up allowance, but not by that much (METHODOLOGY.md).
const LIMIT_MOST: f64 = 2.0;
/// The share of waiting for a processor that is noted (METHODOLOGY.md).
const WAIT_NOTE: f64 = 0.10;
/// The share of waiting for a processor that makes figures doubtful (METHODOLOGY.md).
const WAIT_DOUBT: f64 = 0.20;
/// The share of stolen CPU time that is noted (METHODOLOGY.md).
const STEAL_NOTE: f64 = 0.01;
/// The share of stolen CPU time that makes figures doubtful (METHODOLOGY.md).
const STEAL_DOUBT: f64 = 0.05;
/// Swapped bytes, as a share of those moved, that make figures doubtful (METHODOLOGY.md).
const SWAPPED_DOUBT: f64 = 0.01;

/// A control group's limit sets the figure: that of a device, or of the CPU (METHODOLOGY.md).
pub(super) fn throttled(context: &Context) -> Option<Draft> {
    limited(context).or_else(|| held_back(context))
}

/// A CPU quota throttled the worker.
fn held_back(context: &Context) -> Option<Draft> {
    let measured = context.measured;
    let share = context.total_share(|trial| throttled_parts(measured, trial))?;
    let severity = graded(share, [QUOTA_NOTE, QUOTA_DOUBT]).filter(|_| context.moves())?;
    let allowed = match measured.host.cpu_quota {
        Some(quota) => format!(", which allows {quota:.2} processors,"),
        None => String::new(),
    };
    let message = format!(
        "a control group's CPU quota{allowed} held the worker back for {} of its time: the figure \
         shows the quota, and an open load above it queues without bound",
        percent(share)
    );
    let remedy = "run without a quota, or read the figure as one under it";
    Draft::sized(share, severity, message, remedy)
}

/// A limit on a device sets the rate.
fn limited(context: &Context) -> Option<Draft> {
    if !context.crosses_devices() {
        return None;
    }
    let used = |(storage, limit): (&Storage, &Limit)| {
        let share = used_share(context, storage, limit)?;
        (LIMIT_LEAST..=LIMIT_MOST).contains(&share).then(|| (limit.clone(), share))
    };
    let reached = limits(context).into_iter().filter_map(used);
    let (limit, share) = reached.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let Limit { device, what, a_second, group } = limit;
    let allowed = match what {
        Limited::ReadBytes | Limited::WriteBytes => {
            format!("{} ({}/s)", rate(a_second as f64), bytes_rounded(a_second))
        }
        Limited::Reads | Limited::Writes => format!("{a_second} per second"),
    };
    let message = format!(
        "the control group '{group}' limits {what} of {device} to {allowed}, and the worker used \
         {} of that",
        percent(share)
    );
    let remedy = "lift the limit to measure the device, or read the figure as one under it";
    if context.summary.open.as_ref().is_some_and(|open| open.is_held()) {
        let message = format!(
            "{message}: the schedule sets the rate, but operations may have waited for the limit"
        );
        return Draft::sized(share, Severity::Note, message, remedy);
    }
    let message = format!(
        "{message}: the figure shows the limit, and an open load above it queues without bound"
    );
    Draft::sized(share, Severity::Doubt, message, remedy)
}

/// The limits that apply to a case, each with its storage.
fn limits<'a>(context: &Context<'a>) -> Vec<(&'a Storage, &'a Limit)> {
    let measured = context.measured;
    let (reads, writes) = (context.read().is_some(), context.write());
    let copies = writes.is_some_and(|work| work.op == Op::Copy);
    let read_from = if copies { measured.source } else { measured.storage.filter(|_| reads) };
    let written_to = measured.storage.filter(|_| writes.is_some());
    let of = |storage: Option<&'a Storage>, are_reads: bool| {
        let limits = storage.into_iter().flat_map(|s| s.limits.iter().map(move |limit| (s, limit)));
        limits.filter(move |(_, limit)| is_of_reads(limit.what) == are_reads)
    };
    of(read_from, true).chain(of(written_to, false)).collect()
}

fn is_of_reads(what: Limited) -> bool {
    matches!(what, Limited::ReadBytes | Limited::Reads)
}

/// How much of a limit the median trial used, if all devices of a layer move equal parts of its
/// bytes: each half of a stripe moves half, each half of a mirror writes all.
///
/// Requests are those that the devices completed. With direct I/O, each operation is at least one,
/// although the OS may have merged some after counting them against the limit.
fn used_share(context: &Context, storage: &Storage, limit: &Limit) -> Option<f64> {
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
        let a_second = amount(trial)? / trial.wall_ns().max(1) as f64 * NS_PER_SECOND;
        let share = a_second * part / limit.a_second.max(1) as f64;
        share.is_finite().then_some(share)
    };
    median(&context.measured.values(used))
}

/// Other processes ran on the threads' processors (METHODOLOGY.md). If there are more threads than
/// processors, they wait for each other, which is not a fault.
pub(super) fn contended(context: &Context) -> Option<Draft> {
    let measured = context.measured;
    let threads = measured.threads_at_work();
    let is_told = |trial: &Counted| trial.sum_of_spans(|span| span.run_delay_ns).is_some();
    let is_of_spans = measured.trials.iter().all(is_told);
    // Process-wide counters include the OS's own threads in the process, which wait, too.
    if threads > measured.host.cores || (!is_of_spans && has_workers_of_the_os(context)) {
        return None;
    }
    let threads = if is_of_spans { measured.case.threads() } else { threads };
    // A throttled thread is ready to run all the time. In an open loop, a thread that wakes up late
    // has waited, but not for longer than its pause, and no operation was due.
    let waited = |trial: &Counted| {
        let held_back_ns = trial.evidence.throttled_ns.unwrap_or(0);
        let apart_ns = trial.sample.overslept_ns().saturating_add(held_back_ns);
        let waited_ns = trial.run_delay_ns()?.saturating_sub(apart_ns);
        let each_ns = trial.without_pauses(trial.wall_ns())?;
        Some((waited_ns, each_ns.saturating_mul(threads.into())))
    };
    let share = context.total_share(waited)?;
    let severity = graded(share, [WAIT_NOTE, WAIT_DOUBT])?;
    let message = format!(
        "the worker's threads waited for a processor for {} of their time, while others ran on it",
        percent(share)
    );
    Draft::sized(share, severity, message, "stop other programs, or use fewer threads")
}

/// Whether the OS runs its own threads in the worker's process, as for io_uring: they wait for
/// processors, too.
fn has_workers_of_the_os(context: &Context) -> bool {
    let reads = context.read().is_some_and(|work| work.engine == Engine::Uring);
    reads || context.write().is_some_and(|work| work.engine == WriteEngine::Uring)
}

/// The hypervisor took CPU time away (METHODOLOGY.md).
pub(super) fn steal(context: &Context) -> Option<Draft> {
    let share = context
        .total_share(|trial| Some((trial.evidence.steal_ns?, trial.evidence.machine_cpu_ns?)))?;
    let severity = graded(share, [STEAL_NOTE, STEAL_DOUBT])?;
    let message = format!(
        "the hypervisor gave {} of this machine's CPU time to others: CPU-bound figures and long \
         latencies are worse than on a quiet host",
        percent(share)
    );
    let remedy = "run again when the host is quieter, and compare within one run";
    Draft::sized(share, severity, message, remedy)
}

/// The machine swapped while trials ran (METHODOLOGY.md).
pub(super) fn swapped(context: &Context) -> Option<Draft> {
    let bytes = |trial: &Counted| trial.evidence.swapped_bytes;
    let swapped: u64 =
        context.measured.trials.iter().filter_map(bytes).fold(0, u64::saturating_add);
    if swapped == 0 || !context.moves() {
        return None;
    }
    let share = context.total_share(|trial| Some((bytes(trial)?, trial.sample.bytes())));
    let is_much = share.is_some_and(|share| share > SWAPPED_DOUBT);
    let severity = if is_much { Severity::Doubt } else { Severity::Note };
    let message = format!(
        "the machine swapped {} while trials ran (in {}): memory was short, and the devices and \
         processors had extra work",
        bytes_rounded(swapped),
        context.how_many(|trial| bytes(trial).is_some_and(|bytes| bytes > 0))
    );
    let remedy = "free memory, or use a smaller file or working set";
    Draft::sized(swapped as f64, severity, message, remedy)
}

/// Rounds were excluded because of what the machine did to them (METHODOLOGY.md).
pub(super) fn excluded(context: &Context) -> Option<Draft> {
    let excluded = context.summary.excluded.as_ref().filter(|_| context.moves())?;
    let reasons: Vec<String> =
        excluded.reasons.iter().map(|(gate, trials)| format!("{trials}: {}", why(*gate))).collect();
    let told = |estimate: Estimate| {
        let [low, high] = [estimate.low, estimate.high].map(|end| Some(context.rate(end?)));
        let interval = low.zip(high).map(|(low, high)| format!(" [{low}, {high}]"));
        context.rate(estimate.median) + &interval.unwrap_or_default()
    };
    let figure = context.summary.rate()?;
    let (with, without) = (told(excluded.rate_with_them), told(figure));
    let message = format!(
        "{} of {} rounds {} not count ({}): the figure is {without} without them and {with} with \
         them",
        excluded.trials,
        excluded.trials + context.measured.n(),
        if excluded.trials == 1 { "does" } else { "do" },
        reasons.join(", "),
    );
    let remedy = "none needed if both are alike; otherwise run again when the machine is quieter";
    let share = excluded.trials as f64 / (excluded.trials + context.measured.n()) as f64;
    Draft::sized(share, Severity::Note, message, remedy)
}

fn why(gate: Gate) -> &'static str {
    match gate {
        Gate::Steal => "the hypervisor gave more than 10 % of the CPU time to others",
        Gate::Throttled => "a CPU quota held the worker back for more than 5 % of its time",
        Gate::Foreign => "others read from the devices at more than 20 % of the case's usual rate",
        Gate::Reclaimed => "the OS evicted part of the file from the page cache",
    }
}
