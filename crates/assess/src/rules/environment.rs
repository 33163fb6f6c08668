//! Whether the figure shows the worker's surroundings: quotas, noisy neighbors, swapping.

use super::context::{Context, Draft, RuleTable, graded};
use super::limits;
use crate::counted::Counted;
use crate::disturbance::{Exclusion, throttled_parts};
use crate::finding::{Code, Severity};
use crate::stats::Estimate;
use model::units::{bytes_rounded, percent};

/// The rules of this module.
pub(super) const RULES: RuleTable = &[
    (Code::Throttled, throttled),
    (Code::Contended, contended),
    (Code::Swapped, swapped),
    (Code::Steal, steal),
    (Code::Excluded, excluded),
];

/// A CPU quota that takes this share of the time is noted (docs/method).
const QUOTA_NOTE: f64 = 0.01;
/// A CPU quota that takes this share makes the figure the quota's (docs/method).
const QUOTA_DOUBT: f64 = 0.05;
/// The share of waiting for a processor that is noted (docs/method).
const WAIT_NOTE: f64 = 0.10;
/// The share of waiting for a processor that makes figures doubtful (docs/method).
const WAIT_DOUBT: f64 = 0.20;
/// The share of stolen CPU time that is noted (docs/method).
const STEAL_NOTE: f64 = 0.01;
/// The share of stolen CPU time that makes figures doubtful (docs/method).
const STEAL_DOUBT: f64 = 0.05;
/// Swapped bytes, as a share of those moved, that make figures doubtful (docs/method).
const SWAPPED_DOUBT: f64 = 0.01;

/// A control group's limit sets the figure: that of a device, or of the CPU (docs/method).
fn throttled(context: &Context) -> Option<Draft> {
    limits::reached(context).or_else(|| held_back(context))
}

/// A CPU quota throttled the worker.
fn held_back(context: &Context) -> Option<Draft> {
    let measured = context.measured;
    let share = context.total_share(|trial| throttled_parts(measured, trial))?;
    let severity = graded(share, [QUOTA_NOTE, QUOTA_DOUBT]).filter(|_| context.moves())?;
    let is_command = measured.case.command().is_some();
    let allowed = match measured.host.cpu_quota {
        Some(quota) => format!(", which allows {quota:.2} processors,"),
        None => String::new(),
    };
    let message = format!(
        "a control group's CPU quota{allowed} held {} back for {} of its time: the figure shows \
         the quota{}",
        if is_command { "the command" } else { "the worker" },
        percent(share),
        if is_command { "" } else { ", and an open load above it queues without bound" }
    );
    let remedy = "run without a quota, or read the figure as one under it";
    Draft::sized(share, severity, message, remedy)
}

/// Other processes ran on the threads' processors (docs/method). If there are more threads than
/// processors, they wait for each other, which is not a fault.
fn contended(context: &Context) -> Option<Draft> {
    let measured = context.measured;
    let threads = measured.threads_at_work();
    let is_told = |trial: &Counted| trial.sum_of_spans(|span| span.run_delay_ns).is_some();
    let is_of_spans = measured.trials.iter().all(is_told);
    let is_command = measured.case.command().is_some();
    if is_command && !is_of_spans {
        // How long its processes waited is unseen: the worker's own threads only wait for them.
        return None;
    }
    // Process-wide counters include the OS's own threads for io_uring, which wait, too.
    if threads > measured.host.cores || (!is_of_spans && measured.case.is_queued()) {
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
    let (who, whose) = match is_command {
        true => ("its first thread, which did nearly all,", "its"),
        false => ("the worker's threads", "their"),
    };
    let message = format!(
        "{who} waited for a processor for {} of {whose} time, while others ran on it",
        percent(share)
    );
    let remedy = "stop other programs, or use fewer threads. Threads of the OS that encrypt, \
                  compress or check data for the storage (kworker) cannot be stopped: they are a \
                  part of what it costs";
    Draft::sized(share, severity, message, remedy)
}

/// The hypervisor took CPU time away (docs/method).
fn steal(context: &Context) -> Option<Draft> {
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

/// The machine swapped while trials ran (docs/method).
fn swapped(context: &Context) -> Option<Draft> {
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

/// Rounds were excluded because of what the machine did to them (docs/method).
fn excluded(context: &Context) -> Option<Draft> {
    let excluded = context.summary.excluded.as_ref().filter(|_| context.moves())?;
    let reasons: Vec<String> =
        excluded.reasons.iter().map(|(gate, trials)| format!("{trials}: {}", why(*gate))).collect();
    // Of a wide interval, as of two invocations that differ, rule WideInterval says more.
    let told = |estimate: Estimate| {
        if estimate.is_wide() {
            return context.rate(estimate.median);
        }
        let mut ends = [estimate.low, estimate.high];
        if context.measured.case.command().is_some() {
            // The time is short where the rate is high.
            ends.reverse();
        }
        let [low, high] = ends.map(|end| Some(context.rate(end?)));
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

fn why(gate: Exclusion) -> &'static str {
    match gate {
        Exclusion::Steal => "the hypervisor gave more than 10 % of the CPU time to others",
        Exclusion::Throttled => "a CPU quota held the worker back for more than 5 % of its time",
        Exclusion::Foreign => {
            "others read from the devices at more than 20 % of the case's usual rate"
        }
        Exclusion::Reclaimed => "the OS evicted part of the file from the page cache",
    }
}
