//! How long a load from memory takes while other threads move some of its bandwidth.

use crate::actors::throughput_beside;
use crate::counted::Counted;
use crate::decision::{Decided, Decision, Named, is_faster, is_faster_by};
use crate::form::As;
use crate::invocations::Round;
use crate::measured::Rounds;
use crate::ratio::Ratio;
use crate::row::{Row, grouped};
use crate::stats::Estimate;
use model::case::{Case, Kernel};
use model::plan::{Actor, Role};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// The latency of memory by the bandwidth that threads of one loop move beside the chase.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LoadedLatency {
    /// The loop of the loading threads.
    pub kernel: Kernel,
    /// The number of loading threads.
    pub threads: u32,
    /// The CPU of the chase in all trials beside loads; null if unknown, or if there were several.
    pub chase_cpu: Option<u32>,
    /// The CPUs of the loading threads in all trials; empty if that of one is unknown.
    pub load_cpus: Vec<u32>,
    /// The chase alone.
    pub unloaded: UnloadedLatency,
    /// The chase beside loads, by the bandwidth that they moved, ascending.
    pub loads: Vec<LatencyUnderLoad>,
    /// The highest bandwidth as a share of what the same threads move without the chase, from
    /// paired rounds; null if that was not measured.
    pub of_alone: Option<Ratio>,
    /// Where the latency begins to grow faster with the bandwidth; null unless paired intervals
    /// show it.
    pub knee: Option<LatencyKnee>,
}

/// The latency of memory without a load.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UnloadedLatency {
    /// The case.
    pub case: Named,
    /// Nanoseconds per load.
    pub latency_ns: Estimate,
}

/// The latency of memory beside a load.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LatencyUnderLoad {
    /// The case.
    pub case: Named,
    /// Bytes per second that the loading threads moved while the chase ran.
    pub bandwidth: Estimate,
    /// Nanoseconds per load of the chase.
    pub latency_ns: Estimate,
    /// How many times as long a load takes as alone, from paired rounds.
    #[serde(with = "As::<Option<Ratio>>")]
    pub longer: Option<Decided>,
}

/// Where the latency begins to grow faster.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LatencyKnee {
    /// Bytes per second of the last load on the lower line.
    pub bandwidth: f64,
    /// Its case.
    pub case: Named,
    /// How many times as long a load takes beside the highest bandwidth as the line up to the knee
    /// foretells, from paired rounds.
    #[serde(with = "As::<Ratio>")]
    pub beyond_line: Decided,
}

/// The smallest excess over the line that counts (docs/method).
const INTEREST: f64 = 0.05;
/// A line up to a knee takes as many points, the unloaded one among them.
const BELOW_LEAST: usize = 3;
/// A knee needs as many points beyond it.
const BEYOND_LEAST: usize = 2;

/// The latencies of chases that were measured alone and beside loads, for each loop that loads.
pub(crate) fn loaded_latencies(rows: &[Row]) -> Vec<LoadedLatency> {
    let asked = || rows.iter().filter(|row| row.measured.role == Role::Asked && row.stands());
    let is_chase = |case: &Case| case.memory().is_some_and(|work| work.kernel == Kernel::Chase);
    let loaded = asked().filter(|row| is_chase(row.measured.case));
    let same = grouped(loaded, |row| Some((row.measured.case.alone(), loads_beside(row)?)));
    let of = |beside: &Vec<&Row>| {
        let alone = beside.first()?.measured.case.alone();
        of_loop(asked().find(|row| *row.measured.case == alone)?, beside, rows)
    };
    same.iter().filter_map(of).collect()
}

/// The cases of the loads beside a chase, whatever their duty; `None` if it is alone, or if work on
/// storage is beside it.
fn loads_beside(row: &Row) -> Option<Vec<Case>> {
    let named = |name: &String| row.measured.actors.iter().find(|actor| actor.name == *name);
    let actors: Option<Vec<&Actor>> = row.measured.case.beside.iter().map(named).collect();
    let cases: Vec<Case> = actors?.into_iter().map(|actor| actor.case.clone()).collect();
    (!cases.is_empty() && cases.iter().all(|case| case.memory().is_some())).then_some(cases)
}

/// A row beside a load, with what each round measured.
struct LoadedRow<'a, 'r> {
    row: &'a Row<'r>,
    bandwidth: Rounds,
    median: f64,
}

fn of_loop(alone: &Row, beside: &[&Row], rows: &[Row]) -> Option<LoadedLatency> {
    let loads = loads_beside(beside.first()?)?;
    let work = loads.first()?.memory()?;
    let mut points: Vec<LoadedRow> = beside.iter().filter_map(|row| loaded_row(row)).collect();
    points.sort_by(|a, b| a.median.total_cmp(&b.median));
    let latency = |row: &Row| row.summary.ns_per_op;
    let load = |point: &LoadedRow| {
        Some(LatencyUnderLoad {
            case: Named::of(&point.row.summary)?,
            bandwidth: point.row.measured.estimate_of(&point.bandwidth)?,
            latency_ns: latency(point.row)?,
            // Alone, it follows more pointers a second.
            longer: is_faster(alone, point.row),
        })
    };
    let highest = points.last()?;
    let trials = || points.iter().flat_map(|point| &point.row.measured.trials);
    let of_case: Option<BTreeSet<u32>> =
        trials().map(|trial| trial.sample.cpus()).try_fold(BTreeSet::new(), with);
    let of_loads = trials().flat_map(|trial| trial.beside);
    let of_loads: Option<BTreeSet<u32>> =
        of_loads.map(|beside| beside.outcome.sample()?.cpus()).try_fold(BTreeSet::new(), with);
    // A load has no time of its own: it lasts as long as the chase.
    let is_load = |row: &&Row| {
        let mut load = loads[0].clone();
        load.set_time(row.measured.case.time());
        row.stands() && *row.measured.case == load
    };
    let of_alone = rows.iter().find(is_load).filter(|_| loads.len() == 1);
    Some(LoadedLatency {
        kernel: work.kernel,
        threads: loads.iter().map(Case::threads).sum(),
        chase_cpu: of_case.filter(|cpus| cpus.len() == 1).and_then(|cpus| cpus.first().copied()),
        load_cpus: of_loads.unwrap_or_default().into_iter().collect(),
        unloaded: UnloadedLatency { case: Named::of(&alone.summary)?, latency_ns: latency(alone)? },
        of_alone: of_alone.and_then(|row| Ratio::of(&highest.bandwidth, &row.measured.rates())),
        knee: knee(alone, &points),
        loads: points.iter().filter_map(load).collect(),
    })
}

/// The CPUs with those of one more, if they are known.
fn with(all: BTreeSet<u32>, more: Option<BTreeSet<u32>>) -> Option<BTreeSet<u32>> {
    Some(&all | &more?)
}

/// `None` if what the loading threads moved in the trials is unknown.
fn loaded_row<'a, 'r>(row: &'a Row<'r>) -> Option<LoadedRow<'a, 'r>> {
    let of_trial = |trial: &Counted| Some(trial.at(throughput_beside(trial)?));
    let bandwidth: Rounds = row.measured.trials.iter().filter_map(of_trial).collect();
    let median = row.measured.estimate_of(&bandwidth)?.median;
    Some(LoadedRow { row, bandwidth, median })
}

/// A point of the curve: bytes per second, and nanoseconds per load.
type CurvePoint = (f64, f64);

/// The knee of the curve through the chase alone and beside `points`.
///
/// The medians only choose the place: where two lines fit them best. Whether there is a knee, each
/// round decides by itself: a line through its points up to there foretells the latency of the
/// highest bandwidth, and the interval of the paired ratios must lie above that.
fn knee(alone: &Row, points: &[LoadedRow]) -> Option<LatencyKnee> {
    let medians = |row: &Row| Some(row.summary.ns_per_op?.median);
    let unloaded = Some((0.0, medians(alone)?));
    let loaded = points.iter().map(|point| Some((point.median, medians(point.row)?)));
    let curve: Option<Vec<CurvePoint>> = [unloaded].into_iter().chain(loaded).collect();
    let at = bend(&curve?)?;
    // The first point of the curve is unloaded.
    let (below, last, highest) = (&points[..at], &points[at - 1], points.last()?);
    let actual = highest.row.measured.ns_per_op();
    let foretold = |round: &Round| {
        let of =
            |rounds: &Rounds| rounds.iter().find(|it| it.round == round.round).map(|it| it.value);
        let unloaded = Some((0.0, of(&alone.measured.ns_per_op())?));
        let others = below
            .iter()
            .map(|point| Some((of(&point.bandwidth)?, of(&point.row.measured.ns_per_op())?)));
        let line: Option<Vec<CurvePoint>> = [unloaded].into_iter().chain(others).collect();
        let ns = Line::through(&line?)?.at(of(&highest.bandwidth)?);
        (ns > 0.0).then(|| round.with(1.0 / ns))
    };
    let foretold: Rounds = actual.iter().filter_map(foretold).collect();
    let actual: Rounds = actual.iter().map(|round| round.with(1.0 / round.value)).collect();
    let rows = [last.row, highest.row];
    let beyond_line = is_faster_by(rows, [&foretold, &actual], Some(INTEREST))?;
    let case = Named::of(&last.row.summary)?;
    (beyond_line.decision() == Decision::Yes).then_some(LatencyKnee {
        bandwidth: last.median,
        case,
        beyond_line,
    })
}

/// The last point of the lower of the two lines that fit a curve best; `None` with too few points.
fn bend(curve: &[CurvePoint]) -> Option<usize> {
    let last = curve.len().checked_sub(1 + BEYOND_LEAST)?;
    let misfit = |at: usize| {
        let lower = Line::through(&curve[..=at])?;
        let upper = Line::through(&curve[at..])?;
        Some(lower.misfit(&curve[..=at]) + upper.misfit(&curve[at..]))
    };
    let places = (BELOW_LEAST - 1..=last).filter_map(|at| Some((at, misfit(at)?)));
    places.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(at, _)| at)
}

/// A straight line.
#[derive(Debug, Clone, Copy)]
struct Line {
    start: f64,
    slope: f64,
}

impl Line {
    /// The line of least squares; `None` if all points have one bandwidth.
    fn through(points: &[CurvePoint]) -> Option<Line> {
        let n = points.len() as f64;
        let (x, y) = points.iter().fold((0.0, 0.0), |sum, at| (sum.0 + at.0, sum.1 + at.1));
        let (x, y) = (x / n, y / n);
        let squares: f64 = points.iter().map(|at| (at.0 - x).powi(2)).sum();
        let products: f64 = points.iter().map(|at| (at.0 - x) * (at.1 - y)).sum();
        let slope = products / squares;
        slope.is_finite().then_some(Line { start: y - slope * x, slope })
    }

    fn at(self, bandwidth: f64) -> f64 {
        self.start + self.slope * bandwidth
    }

    /// The sum of the squares by which it misses the points.
    fn misfit(self, points: &[CurvePoint]) -> f64 {
        points.iter().map(|at| (self.at(at.0) - at.1).powi(2)).sum()
    }
}

impl LatencyUnderLoad {
    /// Whether a load takes longer than alone.
    pub fn is_longer(&self) -> Decision {
        self.longer.as_ref().map_or(Decision::Undecided, Decided::decision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_bends_where_two_lines_fit_best() {
        let curve = |ns: &[f64]| -> Vec<CurvePoint> {
            (0u32..).map(f64::from).zip(ns.iter().copied()).collect()
        };
        assert_eq!(bend(&curve(&[100.0, 101.0, 102.0, 103.0, 113.0, 123.0])), Some(3));
        assert_eq!(bend(&curve(&[100.0, 100.0, 100.0, 100.0, 100.0, 300.0, 500.0])), Some(4));
        // At least three points make the lower line, and three the upper one with its start.
        assert_eq!(bend(&curve(&[100.0, 200.0, 300.0, 400.0])), None);
        assert_eq!(bend(&curve(&[100.0, 200.0, 300.0, 400.0, 900.0])), Some(2));
        assert_eq!(bend(&[]), None);
    }

    #[test]
    fn points_of_one_bandwidth_have_no_line() {
        assert!(Line::through(&[(1.0, 5.0), (1.0, 9.0)]).is_none());
        assert!(Line::through(&[]).is_none());
    }
}
