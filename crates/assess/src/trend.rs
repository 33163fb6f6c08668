//! Figures from run to run: steady, or with a step.

use crate::assessment::Assessment;
use crate::course::split_by;
use crate::permutation::{RARE, RAREST};
use crate::stats::{Estimate, median};
use crate::summary::Summary;
use model::axis::ids;
use model::case::{Case, Op, Work};
use model::plan::Role;

/// The unit of a case's figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureUnit {
    /// Bytes per second.
    BytesPerSecond,
    /// Nanoseconds per operation.
    NsPerOp,
}

impl FigureUnit {
    /// The unit of a case's figure: the time of an operation for a chase, the null engine, a sync
    /// without data, a call on names and a command, which move no known bytes in bulk.
    pub fn of(case: &Case) -> FigureUnit {
        let is_timed = match &case.work {
            _ if case.is_null() => true,
            Work::Read(_) => false,
            Work::Write(work) => work.op == Op::Sync,
            Work::Memory(work) => !work.kernel.is_bulk(),
            Work::Metadata(_) | Work::Command(_) => true,
        };
        if is_timed { FigureUnit::NsPerOp } else { FigureUnit::BytesPerSecond }
    }
}

/// A case's main figure. It is the time of an operation, or the throughput: for writes, the durable
/// rate if the case claims one, otherwise the acknowledged rate. A mix also reads, so that neither
/// is its throughput, which is that of all operations.
pub fn main_estimate(summary: &Summary) -> Option<(Estimate, FigureUnit)> {
    let quantity = FigureUnit::of(&summary.case);
    let estimate = match (quantity, &summary.case.work) {
        (FigureUnit::NsPerOp, _) => summary.ns_per_op,
        _ if summary.case.is_mixed() => summary.throughput,
        (_, Work::Write(work)) if work.sync.claims_durable() => summary.writing.as_ref()?.durable,
        (_, Work::Write(_)) => summary.writing.as_ref()?.acknowledged,
        (_, Work::Read(_) | Work::Memory(_) | Work::Metadata(_) | Work::Command(_)) => {
            summary.throughput
        }
    };
    Some((estimate?, quantity))
}

/// A step in a case's figures from run to run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrendStep {
    /// The index of the first run after the step.
    pub at: usize,
    /// The median of the runs before.
    pub before: f64,
    /// The median of the runs after.
    pub after: f64,
}

/// A case's figures over the runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    /// Its case id.
    pub id: String,
    /// The case.
    pub case: Case,
    /// The unit of its figures.
    pub quantity: FigureUnit,
    /// The figure of each run; `None` if it has no valid one.
    pub runs: Vec<Option<Estimate>>,
    /// The step, if there is one.
    pub step: Option<TrendStep>,
}

/// Runs of one recipe, in order.
#[derive(Debug, Clone, Default)]
pub struct Trends {
    /// Number of early runs that are no longer kept.
    forgotten: usize,
    /// For each run, the main figure of each case that has one.
    runs: Vec<Vec<RunFigure>>,
}

/// A case's figure in a run.
#[derive(Debug, Clone)]
struct RunFigure {
    case: Case,
    estimate: Estimate,
    quantity: FigureUnit,
}

/// Maximum number of runs to keep: the latest.
const RUNS_MOST: usize = 1_000;
/// Maximum ratio of the lower level to the higher (docs/method).
const LOWER_MOST: f64 = 0.95;

impl Trends {
    /// Adds a run with its assessment.
    pub fn add(&mut self, assessment: &Assessment) {
        let asked = assessment.cases.iter().filter(|summary| summary.role == Role::Asked);
        let stands = asked.filter(|summary| summary.verdict.stands());
        let figure = |summary: &Summary| {
            let (estimate, quantity) = main_estimate(summary)?;
            Some(RunFigure { case: summary.case.clone(), estimate, quantity })
        };
        self.push(stands.filter_map(figure).collect());
    }

    /// Adds a run without results.
    pub fn add_failed(&mut self) {
        self.push(Vec::new());
    }

    fn push(&mut self, run: Vec<RunFigure>) {
        if self.runs.len() == RUNS_MOST {
            self.runs.remove(0);
            self.forgotten += 1;
        }
        self.runs.push(run);
    }

    /// Number of runs before the first one kept.
    pub fn forgotten(&self) -> usize {
        self.forgotten
    }

    /// The trend of each case with a figure in any run, in order of first appearance.
    pub fn all(&self) -> Vec<Trend> {
        let mut cases: Vec<(&Case, FigureUnit)> = Vec::new();
        for figure in self.runs.iter().flatten() {
            if !cases.iter().any(|(case, _)| **case == figure.case) {
                cases.push((&figure.case, figure.quantity));
            }
        }
        let of_run = |case: &Case, run: &[RunFigure]| {
            run.iter().find(|figure| figure.case == *case).map(|figure| figure.estimate)
        };
        let trend = |(id, (case, quantity)): (String, &(&Case, FigureUnit))| {
            let runs: Vec<_> = self.runs.iter().map(|run| of_run(case, run)).collect();
            let step = step(&runs, cases.len());
            Trend { id, case: (*case).clone(), quantity: *quantity, runs, step }
        };
        ids(cases.iter().map(|(case, _)| *case)).into_iter().zip(&cases).map(trend).collect()
    }
}

/// The step in the figures of runs, if there is one: the least-squares split into two levels. There
/// must be at least three runs on each side, and the lower level must be at most 95 % of the
/// higher. Neither side may drift. If runs have intervals, those of typical runs on both sides must
/// not overlap. At most one in a hundred random orders may be as good.
///
/// `cases` are tested together, so each must be that much rarer (Bonferroni). For many unchanged
/// cases, about one look in a hundred finds a step. A step in the middle of ten runs can be that
/// rare; in seven, none can.
pub fn step(runs: &[Option<Estimate>], cases: usize) -> Option<TrendStep> {
    let told: Vec<(usize, Estimate)> =
        runs.iter().enumerate().filter_map(|(at, run)| Some((at, (*run)?))).collect();
    let medians: Vec<f64> = told.iter().map(|(_, run)| run.median).collect();
    let split = split_by(&medians, LOWER_MOST, (RARE / cases.max(1) as f64).max(RAREST))?;
    let (before, after) = told.split_at(split);
    let of = |side: &[(usize, Estimate)], value: fn(&Estimate) -> Option<f64>| {
        let values: Option<Vec<f64>> = side.iter().map(|(_, run)| value(run)).collect();
        values.and_then(|values| median(&values))
    };
    let usual = |side: &[(usize, Estimate)]| of(side, |run| Some(run.median));
    let (level_before, level_after) = (usual(before)?, usual(after)?);
    let (low, high) = if level_before < level_after { (before, after) } else { (after, before) };
    let overlap = of(low, |run| run.high).zip(of(high, |run| run.low));
    if overlap.is_some_and(|(low_high, high_low)| low_high >= high_low) {
        return None;
    }
    Some(TrendStep { at: after.first()?.0, before: level_before, after: level_after })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::noise::{noisy, normal};
    use model::random::Rng;

    /// Runs with these medians, each with an interval of ±`half`, relative.
    fn runs(medians: &[f64], half: f64) -> Vec<Option<Estimate>> {
        let run = |median: &f64| {
            let (low, high) = (median * (1.0 - half), median * (1.0 + half));
            let (min, max, mean) = (low, high, *median);
            let (low, high) = (Some(low), Some(high));
            let (n, invocations, median, spread) = (10, 1, *median, None);
            Some(Estimate { n, invocations, median, low, high, mean, min, max, spread })
        };
        medians.iter().map(run).collect()
    }

    /// Ten runs at 100 and ten at `after`, each within 1 %.
    fn planted(after: f64) -> Vec<f64> {
        let mut rng = Rng::new(7);
        let level = |at| if at < 10 { 100.0 } else { after };
        (0..20).map(|at| level(at) + normal(&mut rng)).collect()
    }

    #[test]
    fn a_planted_step_is_found_where_it_is() {
        for after in [50.0, 80.0, 120.0] {
            let found = step(&runs(&planted(after), 0.02), 1).expect("there is a step");
            assert_eq!(found.at, 10);
            assert!((found.before - 100.0).abs() < 1.0 && (found.after - after).abs() < 1.0);
        }
    }

    #[test]
    fn a_run_without_a_figure_moves_no_step() {
        let mut with_gaps = runs(&planted(80.0), 0.02);
        with_gaps.insert(3, None);
        with_gaps.insert(15, None);
        assert_eq!(step(&with_gaps, 1).map(|found| found.at), Some(11));
    }

    #[test]
    fn a_step_is_as_large_as_the_intervals_of_runs_and_as_5_percent() {
        assert_eq!(step(&runs(&planted(80.0), 0.15), 1), None, "the intervals overlap");
        assert_eq!(step(&runs(&planted(96.5), 0.001), 1), None, "it is too small");
        assert!(step(&runs(&planted(94.0), 0.001), 1).is_some());
    }

    #[test]
    fn few_runs_have_no_step() {
        let of = |n: usize| {
            let medians: Vec<f64> =
                (0..n).map(|at| if at < n / 2 { 100.0 } else { 50.0 }).collect();
            step(&runs(&medians, 0.01), 1)
        };
        assert!((0..8).all(|n| of(n).is_none()));
        assert!((10..30).all(|n| of(n).is_some()));
    }

    #[test]
    fn a_drift_is_no_step() {
        let medians: Vec<f64> = (0..30).map(|at| 100.0 + 3.0 * f64::from(at)).collect();
        assert_eq!(step(&runs(&medians, 0.01), 1), None);
    }

    /// The share of unchanging series of independent runs in which any look finds a step.
    fn false_alarms(length: usize, variation: f64, cases: usize) -> f64 {
        const SERIES: u32 = 200;
        let mut rng = Rng::new(length as u64 + cases as u64);
        let mut alarms = 0;
        for _ in 0..SERIES {
            let all: Vec<Vec<Option<Estimate>>> = (0..cases)
                .map(|_| runs(&noisy(&mut rng, length, |_| 100.0, variation, 0.0), 0.001))
                .collect();
            let is_alarm = |case: &Vec<Option<Estimate>>| step(case, cases).is_some();
            alarms += u32::from(all.iter().any(is_alarm));
        }
        f64::from(alarms) / f64::from(SERIES)
    }

    /// Also for noise much wider than the runs' own intervals.
    #[test]
    fn noise_has_a_step_in_at_most_5_percent_of_looks() {
        for (length, variation, cases) in
            [(10, 0.02, 1), (20, 0.1, 1), (40, 0.3, 1), (20, 0.1, 5), (20, 0.1, 20)]
        {
            let share = false_alarms(length, variation, cases);
            assert!(share <= 0.05, "{length} runs of {cases} cases: {share}");
        }
    }

    #[test]
    fn a_step_stays_rare_where_one_looks_after_each_run() {
        let mut rng = Rng::new(3);
        let mut alarms = 0;
        for _ in 0..200 {
            let series = runs(&noisy(&mut rng, 30, |_| 100.0, 0.1, 0.0), 0.1);
            alarms += u32::from((6..=30).any(|n| step(&series[..n], 1).is_some()));
        }
        assert!(alarms <= 10, "{alarms} of 200");
    }

    #[test]
    fn trends_keep_the_order_and_forget_the_oldest() {
        let assessment = crate::assess(&model::zoo::record());
        let mut trends = Trends::default();
        trends.add(&assessment);
        trends.add_failed();
        let all = trends.all();
        let asked = assessment.cases.iter().filter(|case| case.role == Role::Asked);
        let ids: Vec<&String> = asked.map(|case| &case.id).collect();
        assert_eq!(all.iter().map(|trend| &trend.id).collect::<Vec<_>>(), ids);
        assert!(all.iter().all(|trend| trend.runs.len() == 2 && trend.runs[1].is_none()));
        (0..RUNS_MOST).for_each(|_| trends.add_failed());
        assert_eq!(trends.forgotten(), 2);
        assert!(trends.all().is_empty());
    }
}
