//! Whether the tool, the CPU or the trials themselves are what the figure shows.

use super::context::{Context, Fault, Overhead};
use crate::counted::UNAVAILABLE;
use crate::finding::Severity;
use crate::invocations::INVOCATIONS_LEAST;
use crate::stats::median;
use crate::summary::ServedBy;
use model::case::{OWN_PEER, Work};
use model::plan::ROUNDS_MIN;
use model::units::{nanoseconds, percent};

/// The tool's own part of an operation, from which it is told.
const OVERHEAD_NOTE: f64 = 0.05;
/// The tool's own part of an operation, from which the figure is doubted.
const OVERHEAD_DOUBT: f64 = 0.10;
/// Threads this busy are what bounds the figure (METHODOLOGY.md).
const CPU_BUSY: f64 = 0.90;
/// A pass over memory this short is not trusted (METHODOLOGY.md, after STREAM).
const MEMORY_NS_LEAST: f64 = 10e6;
/// One time slice of a scheduler is 3 to 4 ms: it may be a fifth of a trial this short.
const FILE_NS_DOUBT: f64 = 20e6;
/// A trial of a file this short shows the start more than the steady state (a tenth of the least
/// round of METHODOLOGY.md).
const FILE_NS_NOTE: f64 = 100e6;
/// The share of a trial in which threads still started that is told (METHODOLOGY.md).
const SKEW_NOTE: f64 = 0.05;
/// The share of a trial in which threads still started that makes it one of their start
/// (METHODOLOGY.md).
const SKEW_DOUBT: f64 = 0.20;
/// Idle time of threads in per cent that is told.
const IMBALANCE_NOTE: f64 = 10.0;
/// Idle time of threads in per cent that makes a figure one of the slowest thread.
const IMBALANCE_DOUBT: f64 = 25.0;

/// What the null engine takes is a large part of an operation: the median of the ratios of rounds
/// in which both were measured, so that a drift of the machine is in neither (METHODOLOGY.md). Both
/// are the time of one thread, so depth and threads need no correction: with operations in flight a
/// thread still spends the loop's own time on each.
pub(super) fn overhead_bound(context: &Context) -> Option<Fault> {
    // Another program has a loop of its own, whose overhead was not measured.
    let is_own = context.measured.case.peer == OWN_PEER;
    if !is_own || (context.read().is_none() && context.write().is_none()) {
        return None;
    }
    let Overhead { ns: overhead, share } = context.overhead.as_ref()?;
    let (share, ns) = (share.median, context.summary.ns_per_op?.median);
    let severity = match share {
        share if share >= OVERHEAD_DOUBT => Severity::Doubt,
        share if share >= OVERHEAD_NOTE => Severity::Note,
        _ => return None,
    };
    let message = format!(
        "the tool itself takes {} of the {} of an operation ({}): the null engine shows it",
        nanoseconds(*overhead),
        nanoseconds(ns),
        percent(share)
    );
    Fault::new(severity, message, "use larger blocks; compare such figures only with each other")
}

/// The device served, but the threads, or all processors, were busy nearly all the time.
pub(super) fn cpu_bound(context: &Context) -> Option<Fault> {
    if !context.is_served(&[ServedBy::Device]) {
        return None;
    }
    let threads = context.measured.threads_at_work();
    let busiest = threads.min(context.measured.host.parallelism());
    let busy = context.total_share(|trial| {
        Some((trial.cpu_ns()?, trial.timed_ns.saturating_mul(busiest.into())))
    })?;
    if busy < CPU_BUSY {
        return None;
    }
    let message = format!(
        "{threads} {} used {} of {busiest} {}: the CPU bounds this figure, not the device",
        if threads == 1 { "thread" } else { "threads" },
        percent(busy),
        if busiest == 1 { "processor" } else { "processors" },
    );
    let remedy = if context.write().is_some() {
        "use larger blocks, or more threads if there are processors for them"
    } else {
        "use larger blocks, more threads if there are processors for them, or touch 'none' to see \
         the device"
    };
    Fault::new(Severity::Note, message, remedy)
}

/// Fewer rounds than a usable interval needs (METHODOLOGY.md). Trials that follow each other are
/// one, cut into pieces, and no rounds: rule Transient tells whether they are enough.
pub(super) fn too_few(context: &Context) -> Option<Fault> {
    let n = context.measured.n();
    let invocations = context.summary.throughput.or(context.summary.iops)?.invocations;
    if invocations > 1 {
        return too_few_invocations(invocations);
    }
    if n >= ROUNDS_MIN as usize || context.measured.sustain.is_some() {
        return None;
    }
    let interval = if context.summary.throughput.or(context.summary.iops)?.low.is_some() {
        "its 95 % interval is the whole range"
    } else {
        "there is no 95 % interval of fewer than 6"
    };
    let failed: usize = context.measured.failed.len();
    let others = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    let message = format!("only {n} rounds count{others}: {interval}");
    Fault::new(Severity::Doubt, message, "ask for at least 7 rounds, and 10 if time allows")
}

/// From this share of failed trials the others are no longer what the case is.
const FAILED_VOID: f64 = 0.50;

/// Trials failed. What failed may be what was slow, or hard: the others are a choice of the trials.
/// What this machine cannot do is no failure.
pub(super) fn failed_trials(context: &Context) -> Option<Fault> {
    let failures = context.measured.failures();
    let failed = || failures.iter().filter(|(reason, _)| !reason.starts_with(UNAVAILABLE));
    // The first: later ones may only say that the case was not tried again.
    let (reason, _) = failed().next()?;
    let count = failed().map(|(_, trials)| trials).sum::<usize>();
    let all = count + context.measured.all().count();
    let severity =
        if count as f64 >= FAILED_VOID * all as f64 { Severity::Void } else { Severity::Doubt };
    let message = format!(
        "{count} of {all} trials failed ({}): the figure is that of the others",
        reason.strip_prefix("failed: ").unwrap_or(reason)
    );
    Fault::new(severity, message, "find out why they failed, and run again")
}

/// What few invocations vary by hardly anybody can tell.
fn too_few_invocations(invocations: usize) -> Option<Fault> {
    if invocations >= INVOCATIONS_LEAST {
        return None;
    }
    let message = format!("only {invocations} invocations count: their interval tells little");
    let remedy = "ask for at least 3 invocations, and 5 if time allows";
    Fault::new(Severity::Doubt, message, remedy)
}

/// The trials are so short that starting threads and being interrupted once are a large part.
///
/// What counts is the time, not the number of operations: a whole file read in 250 ms is sound
/// however large its blocks are, and percentiles are not shown where operations are too few for
/// them. Reading 1 000 warm blocks of 4 KiB takes a millisecond, and is doubted.
pub(super) fn too_short(context: &Context) -> Option<Fault> {
    let elapsed = median(&context.measured.values(|trial| Some(trial.timed_ns as f64)))?;
    let (doubt, note) = match context.measured.case.work {
        Work::Read(_) | Work::Write(_) => (FILE_NS_DOUBT, FILE_NS_NOTE),
        Work::Memory(_) => (MEMORY_NS_LEAST, MEMORY_NS_LEAST),
    };
    let severity = match elapsed {
        ns if ns < doubt => Severity::Doubt,
        ns if ns < note => Severity::Note,
        _ => return starts_late(context, elapsed),
    };
    let message = format!(
        "a trial lasts {}: how threads start, and one interruption, are a large part of that",
        nanoseconds(elapsed)
    );
    let remedy = "give it more time, more operations or a larger file";
    Fault::new(severity, message, remedy)
}

/// Threads still started during a large part of the trials: until then fewer were at work.
fn starts_late(context: &Context, elapsed: f64) -> Option<Fault> {
    let skew_ns = context.summary.start_skew_ns?;
    let severity = match skew_ns / elapsed {
        share if share > SKEW_DOUBT => Severity::Doubt,
        share if share > SKEW_NOTE => Severity::Note,
        _ => return None,
    };
    let message = format!(
        "the last of {} threads started {} after the first, which is {} of a trial",
        context.measured.case.threads(),
        nanoseconds(skew_ns),
        percent(skew_ns / elapsed)
    );
    let remedy = "give it more time, or use no more threads than processors";
    Fault::new(severity, message, remedy)
}

/// Threads waited for others (METHODOLOGY.md).
pub(super) fn imbalanced(context: &Context) -> Option<Fault> {
    let percent = context.summary.imbalance_percent.filter(|idle| *idle > IMBALANCE_NOTE)?;
    let severity = if percent > IMBALANCE_DOUBT { Severity::Doubt } else { Severity::Note };
    let message = format!(
        "the threads had uneven parts (imbalance {percent:.0} %): the slowest of {} decides when \
         all is read",
        context.measured.case.threads()
    );
    let remedy = "use share 'interleaved', smaller blocks, or no more threads than processors";
    Fault::new(severity, message, remedy)
}
