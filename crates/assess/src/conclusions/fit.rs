//! Whether the storage is good enough: the goals of a run, each in the cases that it is about.
//!
//! The interval decides, not the median. A figure that is doubtful or void never meets a goal, and
//! data that is not durable meets none however fast it was (docs/method).

use super::interference::LatencyKind;
use crate::counted::Counted;
use crate::decision::{Decision, together};
use crate::finding::{Code, Severity, Verdict};
use crate::measured::Measured;
use crate::percentile::{ABOVE_SOLID, Distribution};
use crate::row::Row;
use crate::stats::Estimate;
use crate::summary::Summary;
use model::goal::{Goal, Indicator, Requirement, Tail};
use model::named;
use model::plan::{Plan, Role};
use model::units::NS_PER_SECOND;
use schemars::JsonSchema;
use serde::Serialize;

/// Whether all goals of a run are met.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Fit {
    /// Whether all are: *yes* is *fit*, *no* is *not fit*, else it cannot tell.
    pub fit: Decision,
    /// Each goal.
    pub goals: Vec<MetGoal>,
}

impl Fit {
    /// Whether the case with this id meets all goals that it is about; `None` if there are none.
    pub fn of_case(&self, id: &str) -> Option<Decision> {
        let all = self.goals.iter().flat_map(|goal| &goal.cases).filter(|case| case.id == id);
        let all: Vec<Decision> = all.map(|case| case.fit).collect();
        (!all.is_empty()).then(|| together(all))
    }
}

/// A goal, and whether it is met.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MetGoal {
    /// What was asked for.
    #[serde(flatten)]
    pub goal: Goal,
    /// Whether every case that it is about meets it.
    pub fit: Decision,
    /// Those cases, in the order of the plan.
    pub cases: Vec<CaseFit>,
}

/// Whether a case meets a goal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CaseFit {
    /// Its id.
    pub id: String,
    /// Whether it meets the goal.
    pub fit: Decision,
    /// The figure that the goal is about, in nanoseconds, bytes per second or operations per
    /// second; null if there is none.
    pub value: Option<f64>,
    /// The lower end of its 95 % interval; null if too little is known for one.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
    /// The operations of which the figure is a percentile; null if it is none.
    pub operations: Option<u64>,
    /// How many it takes to decide about that percentile; null if it is none.
    pub operations_needed: Option<u64>,
    /// Why the interval alone does not decide; null if it does.
    pub why: Option<Unfit>,
    /// The finding that is the reason, if one is.
    pub finding: Option<Code>,
}

named! {
    /// Why an interval does not decide whether a goal is met.
    Unfit "reason" {
        /// What was written was not durable.
        NotDurable "not durable",
        /// The figure does not mean what it says.
        Void "void",
        /// There is no such figure: too few operations, or no valid trial.
        NoFigure "no figure",
        /// The figure may not mean what it says.
        Doubtful "doubtful",
        /// Too few rounds or invocations, or operations beyond a percentile.
        TooFew "too few",
        /// Too few operations for the percentile, but surely more take longer than it allows.
        Exceeded "exceeded",
        /// The limit lies within the interval.
        Close "too close",
    }
}

/// The outcome of the goals of a plan; `None` if it has none.
pub(super) fn fit(rows: &[Row], plan: &Plan) -> Option<Fit> {
    if plan.goals.is_empty() {
        return None;
    }
    let goals: Vec<MetGoal> = plan.goals.iter().map(|goal| met_goal(goal, rows, plan)).collect();
    Some(Fit { fit: together(goals.iter().map(|goal| goal.fit)), goals })
}

/// A goal whose cases were not measured is not decided.
fn met_goal(goal: &Goal, rows: &[Row], plan: &Plan) -> MetGoal {
    let is_about =
        |row: &&Row| row.measured.role == Role::Asked && goal.is_about(row.measured.case);
    let cases: Vec<CaseFit> = rows.iter().filter(is_about).map(|row| case_fit(goal, row)).collect();
    let is_skipped = plan.skips.iter().any(|skip| goal.is_about(&skip.case));
    let lacks_any = (cases.is_empty() || is_skipped).then_some(Decision::Undecided);
    let fit = together(cases.iter().map(|case| case.fit).chain(lacks_any));
    MetGoal { goal: goal.clone(), fit, cases }
}

/// A figure with its interval, and whether the interval is one to decide by.
#[derive(Debug, Clone, Copy, Default)]
struct Figure {
    value: Option<f64>,
    interval: Option<(f64, f64)>,
    is_enough: bool,
    /// Whether a goal for a percentile is surely missed, even if too few operations show its value.
    is_exceeded: bool,
    /// The operations of a percentile, and how many it takes to decide.
    operations: Option<(u64, u64)>,
}

impl From<Estimate> for Figure {
    fn from(estimate: Estimate) -> Figure {
        let interval = estimate.low.zip(estimate.high);
        let value = Some(estimate.median);
        Figure { value, interval, is_enough: true, ..Figure::default() }
    }
}

fn case_fit(goal: &Goal, row: &Row) -> CaseFit {
    let found = figure(goal.must, row).unwrap_or_default();
    let (fit, why, finding) = decide(goal, found, &row.summary);
    CaseFit {
        id: row.summary.id.clone(),
        fit,
        value: found.value,
        low: found.interval.map(|(low, _)| low),
        high: found.interval.map(|(_, high)| high),
        operations: found.operations.map(|(timed, _)| timed),
        operations_needed: found.operations.map(|(_, needed)| needed),
        why,
        finding,
    }
}

/// What a figure says, and then what its findings leave of that.
fn decide(
    goal: &Goal,
    figure: Figure,
    summary: &Summary,
) -> (Decision, Option<Unfit>, Option<Code>) {
    let open = |why, finding| (Decision::Undecided, Some(why), finding);
    let worst = |severity| {
        let of = summary.findings.iter().filter(move |finding| finding.severity == severity);
        of.map(|finding| finding.code)
    };
    if worst(Severity::Void).any(|code| code == Code::NotDurable) {
        return (Decision::No, Some(Unfit::NotDurable), Some(Code::NotDurable));
    }
    if summary.verdict == Verdict::Void {
        return open(Unfit::Void, worst(Severity::Void).next());
    }
    if !summary.verdict.stands() {
        return open(Unfit::NoFigure, None);
    }
    let limit = goal.must.value as f64;
    let [is_met, is_missed] = match figure.interval.filter(|_| figure.is_enough) {
        Some((low, high)) if goal.must.indicator.is_rate() => [low > limit, high <= limit],
        Some((low, high)) => [high < limit, low >= limit],
        None if figure.is_exceeded => [false, true],
        None if figure.value.is_none() => return open(Unfit::NoFigure, None),
        None => return open(Unfit::TooFew, None),
    };
    // A stall is what a gap is about, so it is no reason to doubt one.
    let is_asked = |code: &Code| *code == Code::Stalled && goal.must.indicator == Indicator::Gap;
    let doubts = || worst(Severity::Doubt).filter(|code| !is_asked(code));
    let may_be_better = doubts().find(|code| !can_only_flatter(*code));
    match (is_met, is_missed, doubts().next()) {
        (_, true, _) if may_be_better.is_none() => {
            (Decision::No, (!figure.is_enough).then_some(Unfit::Exceeded), None)
        }
        (.., Some(doubt)) => open(Unfit::Doubtful, Some(may_be_better.unwrap_or(doubt))),
        (true, ..) => (Decision::Yes, None, None),
        _ => open(Unfit::Close, None),
    }
}

/// Whether the doubt is only that the figure may be better than the truth, or that it varies: if it
/// misses its goal even so, that is certain. A limit that is set on purpose is part of what was
/// measured.
fn can_only_flatter(code: Code) -> bool {
    matches!(
        code,
        Code::AcknowledgedOnly
            | Code::CacheLeak
            | Code::CacheUnseen
            | Code::Compressed
            | Code::CountersUnseen
            | Code::HostCache
            | Code::PartlyCached
            | Code::Throttled
            | Code::TooFew
            | Code::Unverified
            | Code::WideInterval
    )
}

/// The figure of a row that a goal is about.
fn figure(must: Requirement, row: &Row) -> Option<Figure> {
    let (measured, summary) = (&row.measured, &row.summary);
    match must.indicator {
        Indicator::Throughput => summary.throughput.map(Figure::from),
        Indicator::Iops => summary.iops.map(Figure::from),
        Indicator::Time => Some(time_of(summary.iops?)),
        Indicator::Cpu => measured.estimate(|trial| trial.cpu_ns_per_op()).map(Figure::from),
        Indicator::Gap => gap(must.value, row),
        Indicator::Latency(tail) => {
            Some(percentile(tail, must.value, measured, LatencyKind::of_operations(measured.case)))
        }
        Indicator::Sync(tail) => Some(percentile(tail, must.value, measured, LatencyKind::Sync)),
    }
}

/// The time of a run: one of a rate of runs.
fn time_of(rate: Estimate) -> Figure {
    let time = |rate: f64| NS_PER_SECOND / rate;
    let interval = rate.high.zip(rate.low).map(|(high, low)| (time(high), time(low)));
    let value = Some(time(rate.median));
    Figure { value, interval, is_enough: true, ..Figure::default() }
}

/// The longest gap is as long as the longest that was seen, or longer: as long as the interval of
/// the trials' longest ones leaves open.
fn gap(limit_ns: u64, row: &Row) -> Option<Figure> {
    let measured = &row.measured;
    let timed = LatencyKind::of_operations(measured.case);
    let longest = |trial: &Counted| {
        let times = timed.times(trial);
        (times.count() > 0).then_some(times.max_ns as f64)
    };
    let seen = measured.values(longest).into_iter().reduce(f64::max)?;
    let high = measured.estimate(longest).and_then(|estimate| estimate.high);
    Some(Figure {
        value: Some(seen),
        interval: high.map(|high| (seen, high.max(seen))),
        is_enough: high.is_some(),
        is_exceeded: seen >= limit_ns as f64,
        operations: None,
    })
}

fn percentile(tail: Tail, limit_ns: u64, measured: &Measured, timed: LatencyKind) -> Figure {
    let distribution = Distribution::of(&measured.latencies(|trial| timed.times(trial)));
    let found = distribution.percentile(tail.parts().into());
    let interval = found.and_then(|found| found.low_ns.zip(found.high_ns));
    let is_solid = found.is_some_and(|found| found.solid);
    Figure {
        value: found.map(|found| found.ns as f64),
        interval: interval.map(|(low, high)| (low as f64, high as f64)),
        is_enough: is_solid && distribution.is_enough_to_decide(),
        is_exceeded: distribution.is_exceeded(limit_ns, tail.parts()),
        operations: Some((distribution.operations(), tail.operations_for(ABOVE_SOLID))),
    }
}
