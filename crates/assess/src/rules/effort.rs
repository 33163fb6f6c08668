//! Whether the figure shows the tool, the CPU or the trials themselves.

use super::context::{Context, Draft, Overhead, RuleTable, graded};
use crate::commands::computes_alone;
use crate::finding::{Code, Severity};
use crate::invocations::INVOCATIONS_LEAST;
use crate::stats::median;
use crate::summary::ServedBy;
use model::case::{OWN_PEER, Work};
use model::plan::ROUNDS_MIN;
use model::trial::NOT_TRIED;
use model::units::{nanoseconds, percent};

/// The rules of this module.
pub(super) const RULES: RuleTable = &[
    (Code::OverheadBound, overhead_bound),
    (Code::CpuBound, cpu_bound),
    (Code::TooFew, too_few),
    (Code::WideInterval, wide_interval),
    (Code::FailedTrials, failed_trials),
    (Code::TooShort, too_short),
    (Code::Imbalanced, imbalanced),
];

/// From this share of an operation on, the tool's overhead is noted.
const OVERHEAD_NOTE: f64 = 0.05;
/// From this share of an operation on, the tool's overhead makes the figure doubtful.
const OVERHEAD_DOUBT: f64 = 0.10;
/// Threads this busy limit the figure (docs/method).
const CPU_BUSY: f64 = 0.90;
/// A pass over memory this short is not trusted (docs/method, after STREAM).
const MEMORY_NS_LEAST: f64 = 10e6;
/// A scheduler's time slice is 3 to 4 ms, a fifth of a trial this short.
const FILE_NS_DOUBT: f64 = 20e6;
/// A trial of a file this short shows the start more than the steady state (a tenth of the least
/// round of docs/method).
const FILE_NS_NOTE: f64 = 100e6;
/// Threads that start during this share of a trial are noted (docs/method).
const SKEW_NOTE: f64 = 0.05;
/// Threads that start during this share of a trial make it doubtful (docs/method).
const SKEW_DOUBT: f64 = 0.20;
/// Idle time of threads, in percent, that is noted.
const IMBALANCE_NOTE: f64 = 10.0;
/// Idle time of threads, in percent, that makes the figure the slowest thread's.
const IMBALANCE_DOUBT: f64 = 25.0;

/// The null engine's time is a large part of an operation, by the median of the paired ratios,
/// which a drift of the machine does not move (docs/method). Both are the time of one thread, so
/// depth and threads need no correction: a thread spends the loop's own time on each operation in
/// flight.
fn overhead_bound(context: &Context) -> Option<Draft> {
    // A peer has its own loop, whose overhead was not measured.
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
        "the tool itself takes {} of the {} of an operation ({}), as the null engine shows",
        nanoseconds(*overhead),
        nanoseconds(ns),
        percent(share)
    );
    let remedy = "use larger blocks; compare such rows only with each other";
    Draft::sized(share, severity, message, remedy)
}

/// A device served, but the threads, or all processors, were busy nearly all the time.
fn cpu_bound(context: &Context) -> Option<Draft> {
    if !context.is_served(&[ServedBy::Device]) {
        return None;
    }
    if context.measured.case.command().is_some() {
        return command_cpu_bound(context);
    }
    let threads = context.measured.threads_at_work();
    let busiest = threads.min(context.measured.host.parallelism());
    let busy = context.total_share(|trial| {
        let each_ns = trial.without_pauses(trial.timed_ns)?;
        Some((trial.working_cpu_ns()?, each_ns.saturating_mul(busiest.into())))
    })?;
    if busy < CPU_BUSY {
        return None;
    }
    // Whoever polls is always busy, also while the device is slow.
    let polls = context.read().is_some_and(|work| work.submission.polls());
    let message = format!(
        "{threads} {} used {} of {busiest} {}: {}",
        if threads == 1 { "thread" } else { "threads" },
        percent(busy),
        if busiest == 1 { "processor" } else { "processors" },
        match polls {
            true => "polling keeps them busy, so it is unknown whether the CPU limits this figure",
            false => "the CPU limits this figure, not the device",
        },
    );
    let remedy = if polls {
        "compare it with submission 'enter', which sleeps while the device works"
    } else if context.write().is_some() {
        "use larger blocks, or more threads if there are processors for them"
    } else {
        "use larger blocks, more threads if there are processors for them, or touch 'none' to see \
         the device"
    };
    Draft::sized(busy, Severity::Note, message, remedy)
}

/// The same of a command: its processors were busy nearly all the time, one or all of them.
fn command_cpu_bound(context: &Context) -> Option<Draft> {
    let processors = context.summary.spent?.processors;
    let all = f64::from(context.measured.host.parallelism());
    let is_alone = context.measured.facts.is_some_and(computes_alone);
    let (busy, of) = match processors {
        used if used >= CPU_BUSY * all => (used / all, "all processors"),
        used if used >= CPU_BUSY && is_alone => (used, "one processor"),
        _ => return None,
    };
    let message = format!(
        "it kept {of} busy for {} of its time: the CPU limits this figure, not the device",
        percent(busy.min(1.0))
    );
    let remedy = "read it as the time of computing; a faster device changes little";
    Draft::sized(busy, Severity::Note, message, remedy)
}

/// Fewer rounds than a usable interval needs (docs/method). With `--sustain`, trials are pieces
/// of one and no rounds: rule Transient judges their number.
fn too_few(context: &Context) -> Option<Draft> {
    let n = context.measured.n();
    let estimate = context.summary.rate()?;
    if estimate.invocations > 1 {
        return too_few_invocations(estimate.invocations);
    }
    if n >= ROUNDS_MIN as usize || context.measured.sustain.is_some() {
        return None;
    }
    let interval = match estimate.low {
        Some(_) => "its 95 % interval is the whole range",
        None => "too few for a 95 % interval",
    };
    let failed = context.measured.failed.iter().filter(|it| it.failure.is_of_a_try()).count();
    let others = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    let rounds = if n == 1 { "1 round counts".into() } else { format!("{n} rounds count") };
    let message = format!("only {rounds}{others}: {interval}");
    let remedy = "ask for at least 7 rounds, or 10 if time allows";
    Draft::sized(-(n as f64), Severity::Doubt, message, remedy)
}

/// The interval of a rate is so wide that it is known to no better than a factor of two
/// (docs/method). With `--sustain`, trials are not rounds.
fn wide_interval(context: &Context) -> Option<Draft> {
    if context.measured.sustain.is_some() {
        return None;
    }
    let acknowledged = context.summary.writing.as_ref().and_then(|it| it.acknowledged);
    let rates = [("the", context.summary.rate()), ("the acknowledged rate's", acknowledged)];
    let rates = rates.into_iter().filter_map(|(whose, rate)| Some((whose, rate?)));
    let (whose, estimate) = rates.into_iter().find(|(_, rate)| rate.is_wide())?;
    let (low, high) = estimate.low.zip(estimate.high)?;
    let (units, more) = match estimate.invocations {
        1 => ("rounds", "more rounds"),
        _ => ("invocations", "more invocations"),
    };
    let message = format!(
        "the {units} differ so much that the upper end of {whose} interval is {} times the lower",
        times(high / low)
    );
    let remedy = format!("find what changes between {units}, or ask for {more}");
    Draft::sized(high / low, Severity::Doubt, message, &remedy)
}

/// A ratio in words; of a few units that differ widely, it has no meaning.
fn times(ratio: f64) -> String {
    const MANY: f64 = 1000.0;
    if ratio < MANY { format!("{ratio:.1}") } else { format!("more than {MANY}") }
}

/// With this share of failed trials, the others no longer represent the case.
const FAILED_VOID: f64 = 0.50;

/// Trials failed. The failed ones may have been the slow ones, so the others are a biased choice.
/// Those that were not tried say nothing.
fn failed_trials(context: &Context) -> Option<Draft> {
    let failures = context.measured.failures();
    let failed = || failures.iter().filter(|(failure, _)| failure.is_of_a_try());
    let reason = failed().next()?.0.reason();
    let count = failed().map(|(_, trials)| trials).sum::<usize>();
    let all = count + context.measured.all().count();
    let severity =
        if count as f64 >= FAILED_VOID * all as f64 { Severity::Void } else { Severity::Doubt };
    let untried = failures.iter().filter(|(failure, _)| failure.reason().starts_with(NOT_TRIED));
    let untried = match untried.map(|(_, trials)| trials).sum::<usize>() {
        0 => String::new(),
        1 => ", and another one was not tried".to_string(),
        more => format!(", and {more} more were not tried"),
    };
    let message = format!(
        "{count} of {all} trials failed ({reason}){untried}: the figure is that of the others"
    );
    let share = count as f64 / all as f64;
    Draft::sized(share, severity, message, "find out why they failed, and run again")
}

/// Few invocations say little about their variation.
fn too_few_invocations(invocations: usize) -> Option<Draft> {
    if invocations >= INVOCATIONS_LEAST {
        return None;
    }
    let message =
        format!("only {invocations} invocations count: too few to know how much they vary");
    let remedy = "ask for at least 3 invocations, or 5 if time allows";
    Draft::sized(-(invocations as f64), Severity::Doubt, message, remedy)
}

/// The trials are so short that the threads' start, or one interruption, is a large part.
///
/// The time counts, not the number of operations: a whole file read in 250 ms is sound whatever its
/// block size, and percentiles with too few operations are not shown. Reading 1 000 warm blocks of
/// 4 KiB takes a millisecond and is doubtful.
fn too_short(context: &Context) -> Option<Draft> {
    let elapsed = median(&context.measured.values(|trial| Some(trial.timed_ns as f64)))?;
    let (doubt, note) = match context.measured.case.work {
        Work::Read(_) | Work::Write(_) | Work::Metadata(_) => (FILE_NS_DOUBT, FILE_NS_NOTE),
        Work::Memory(_) => (MEMORY_NS_LEAST, MEMORY_NS_LEAST),
        // How long it takes is what a command is judged for.
        Work::Command(_) => return None,
    };
    let severity = match elapsed {
        ns if ns < doubt => Severity::Doubt,
        ns if ns < note => Severity::Note,
        _ => return starts_late(context, elapsed),
    };
    let message = format!(
        "a trial lasts {}: the threads' start, or one interruption, is a large part of that",
        nanoseconds(elapsed)
    );
    let remedy = "give it more time, more operations or a larger file";
    // How many times too short it is: above 1, as no share of the threads' start is.
    Draft::sized(note / elapsed, severity, message, remedy)
}

/// Threads started during a large part of the trials: until then fewer worked.
fn starts_late(context: &Context, elapsed: f64) -> Option<Draft> {
    let skew_ns = context.summary.start_skew_ns?;
    let severity = graded(skew_ns / elapsed, [SKEW_NOTE, SKEW_DOUBT])?;
    let message = format!(
        "the last of {} threads started {} after the first, which is {} of a trial",
        context.measured.case.threads(),
        nanoseconds(skew_ns),
        percent(skew_ns / elapsed)
    );
    let remedy = "give it more time, or use no more threads than processors";
    Draft::sized(skew_ns / elapsed, severity, message, remedy)
}

/// A thread of a command that used this share of its CPU time did all the work (docs/method).
const ONE_THREAD: f64 = 0.90;
/// With less CPU time than this, the start of the process is a large part of it.
const CPU_NS_LEAST: f64 = 10e6;

/// Of a command's threads, one computed and the others were idle (docs/method).
fn command_imbalanced(context: &Context) -> Option<Draft> {
    let facts = context.measured.facts.filter(|it| it.processes == 1 && it.threads > 1)?;
    let totals = facts.totals?;
    let all_ns = totals.user_ns.saturating_add(totals.system_ns) as f64;
    let share = facts.busiest_thread_ns? as f64 / all_ns;
    if all_ns < CPU_NS_LEAST || share < ONE_THREAD {
        return None;
    }
    let message = format!(
        "of its {} threads, one used {} of the CPU time in its rehearsal: the others hardly ran",
        facts.threads,
        percent(share.min(1.0))
    );
    let remedy = "see how it divides its work, unless the others are only to wait";
    Draft::sized(share, Severity::Note, message, remedy)
}

/// Threads waited for others (docs/method).
fn imbalanced(context: &Context) -> Option<Draft> {
    if context.measured.case.command().is_some() {
        return command_imbalanced(context);
    }
    let percent = context.summary.imbalance_percent?;
    let severity = graded(percent, [IMBALANCE_NOTE, IMBALANCE_DOUBT])?;
    let message = format!(
        "some threads were idle while others worked (imbalance {percent:.0} %): the slowest of {} \
         decides",
        context.measured.case.threads()
    );
    let remedy = if context.measured.case.io().is_some() {
        "use share 'interleaved', smaller blocks, or no more threads than processors"
    } else {
        "use no more threads than processors, and pin them (--pin all)"
    };
    Draft::sized(percent, severity, message, remedy)
}
