//! Whether a device had as many operations at once as the case asks for.

use super::context::{Context, Draft, RuleTable};
use crate::counted::Counted;
use crate::finding::{Code, Severity};
use crate::stats::median;
use crate::summary::ServedBy;
use model::case::{Cache, Io, Op, Sync};
use model::pattern::Pattern;
use model::units::{percent, scaled};

/// The rules of this module.
pub(super) const RULES: RuleTable = &[(Code::DepthNotReached, depth_not_reached)];

/// With a smaller share of the asked operations in flight, this is noted (docs/method).
const REACHED_LEAST: f64 = 0.50;

/// By Little's law, the devices had far fewer operations in flight than the case asks for
/// (docs/method).
///
/// The program's own latencies cannot show that: in a closed loop, a completion ends one operation
/// and begins the next, so they always add up to the depth. The devices' times can.
fn depth_not_reached(context: &Context) -> Option<Draft> {
    let io = judged(context)?;
    let asked = u64::from(io.depth) * u64::from(io.threads);
    let mean = median(&context.measured.values(|trial| in_flight(context, trial)))?;
    let share = mean / asked as f64;
    if share >= REACHED_LEAST {
        return None;
    }
    let message = format!(
        "the devices had {}operations at once on average, {} of the {asked} that the case asks \
         for, by Little's law: operations a second times the time of a request",
        scaled(mean),
        percent(share)
    );
    let remedy = "do not read it as a figure of that depth; a busy processor, a sync that waits \
                  for all in flight, a short queue (queue/nr_requests) or a limit may be why";
    Draft::sized(1.0 - share, Severity::Note, message, remedy)
}

/// The case's axes, if its operations are requests to a device, and several at once are asked for.
/// What `O_DSYNC` adds to a write is not counted with it.
fn judged<'a>(context: &'a Context) -> Option<&'a Io> {
    let case = context.measured.case;
    let is_asked = |io: &&Io| !case.is_open() && (io.depth > 1 || io.threads > 1);
    let io = case.io().filter(is_asked).filter(|_| context.is_served(&[ServedBy::Device]))?;
    let is_direct = io.cache == Cache::Direct;
    let is_one_to_one = match context.write() {
        Some(work) => is_direct && work.op == Op::Write && work.sync != Sync::Dsync,
        None => context.read().is_some() && (is_direct || io.pattern == Pattern::Random),
    };
    is_one_to_one.then_some(io)
}

/// Operations that the devices had at once, on average: for reads, for writes, or for both added.
fn in_flight(context: &Context, trial: &Counted) -> Option<f64> {
    let (evidence, sample) = (&trial.evidence, trial.sample);
    let of_reads = |ops| at_once(trial, ops, evidence.device_reads?, evidence.device_read_ns?);
    let of_writes = |ops| at_once(trial, ops, evidence.device_writes?, evidence.device_write_ns?);
    match context.write() {
        None => of_reads(sample.ops()),
        Some(work) if work.read_share == 0 => of_writes(sample.ops()),
        Some(_) => Some(of_reads(sample.read_ops())? + of_writes(sample.written_ops())?),
    }
}

/// By Little's law: operations a second, or requests if those are more, times the mean time of a
/// request.
fn at_once(trial: &Counted, ops: u64, requests: u64, ns: u64) -> Option<f64> {
    let elapsed_ns = trial.sample.elapsed_ns();
    if requests == 0 || elapsed_ns == 0 {
        return None;
    }
    let mean_ns = ns as f64 / requests as f64;
    Some(ops.max(requests) as f64 / elapsed_ns as f64 * mean_ns)
}
