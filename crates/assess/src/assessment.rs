//! The judgement of a whole record.

use crate::arrays::place;
use crate::bus::bus;
use crate::caches::Caches;
use crate::campaign::Campaign;
use crate::ceiling::{Bases, CeilingShare, RowCeilings, bounds};
use crate::comparison::{Comparison, comparisons};
use crate::conclusions::Conclusions;
use crate::control::{Control, control};
use crate::course::end_to_mean;
use crate::disturbance::exclude;
use crate::finding::{Code, Finding};
use crate::found::{RunFinding, findings};
use crate::levels::{all_levels, last_cache_below};
use crate::measured::Measured;
use crate::one_host::OneHost;
use crate::ratio::Ratio;
use crate::repetition::Repetition;
use crate::row::Row;
use crate::rules::{self, Context, Generators, Overhead};
use crate::stats::Estimate;
use crate::summary::Summary;
use crate::tally::Tally;
use model::case::{Case, ReadWork, Work, WriteWork};
use model::plan::{Role, Skip};
use model::record::{End, Header, Record, Resumed};
use model::trial::Trial;
use model::view::View;
use model::vitals::PartVitals;
use model::{advice, axis};
use std::collections::HashSet;
use std::sync::LazyLock;

/// The judgement of a whole record.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// The header of the record: where, when and with which plan it was measured.
    pub header: Header,
    /// The invocations, and the scope of the intervals.
    pub repetition: Repetition,
    /// Each case of the plan, in its order, controls last.
    pub cases: Vec<Summary>,
    /// The second measurements of A/A controls, which are neither answers nor ceilings.
    pub twins: Vec<Summary>,
    /// The outcome of the controls, if any.
    pub control: Option<Control>,
    /// The skipped cases, and the pruned ones, with reasons.
    pub skips: Vec<Skip>,
    /// Comparisons of cases that differ only in engine, peer, advice, submission, populated or
    /// pages.
    pub comparisons: Vec<Comparison>,
    /// What the rows answer.
    pub conclusions: Conclusions,
    /// All findings, one entry for each code and severity, most severe first.
    pub findings: Vec<RunFinding>,
    /// The tool's own overhead in nanoseconds per operation, from the null engine.
    pub overhead_ns: Option<f64>,
    /// What it did with the time that it was given (`--for`), if any.
    pub campaign: Option<Campaign>,
    /// Each time that the run went on after an interruption.
    pub resumed: Vec<Resumed>,
    /// Which host of several it is of; `None` if the run had one.
    pub one_host: Option<OneHost>,
    /// What was seen before and after the parts of the run.
    pub vitals: Vec<PartVitals>,
    /// How the run ended.
    pub end: End,
    /// The parts of the record that could not be read.
    pub damage: Vec<String>,
}

impl Assessment {
    /// How reports show the recipe. Records that do not say it have the plain table.
    pub fn view(&self) -> &View {
        static PLAIN: LazyLock<View> = LazyLock::new(View::default);
        self.header.plan.view.as_ref().unwrap_or(&PLAIN)
    }

    /// All measured cases, with the twins last.
    pub fn measured(&self) -> impl Iterator<Item = &Summary> {
        self.cases.iter().chain(&self.twins)
    }

    /// The requested case or baseline with this id.
    pub fn row(&self, id: &str) -> Option<&Summary> {
        self.cases.iter().find(|summary| summary.id == id)
    }

    /// The codes of the findings, each once, the most severe first.
    pub fn codes(&self) -> Vec<Code> {
        let mut codes = Vec::new();
        for found in &self.findings {
            if !codes.contains(&found.finding.code) {
                codes.push(found.finding.code);
            }
        }
        codes
    }

    /// The number of measured cases by verdict.
    pub fn tally(&self) -> Tally {
        Tally::of(self.measured().map(|summary| summary.verdict))
    }
}

/// Judges a record.
pub fn assess(record: &Record) -> Assessment {
    assessment(record, rows(record))
}

/// Judges a record from its judged [`rows`].
pub(crate) fn assessment(record: &Record, mut rows: Vec<Row>) -> Assessment {
    let mut twins = twins(record, &rows);
    let control = control(&mut rows, &mut twins);
    let header = &record.header;
    let overhead_ns = nulls(&rows).into_iter().find_map(overhead_ns);
    let mut assessment = Assessment {
        header: header.clone(),
        repetition: Repetition::of(record, &rows),
        skips: record.skips(),
        comparisons: comparisons(&rows),
        conclusions: Conclusions::of(&rows, &header.plan),
        findings: findings(rows.iter().chain(&twins), header, &record.vitals),
        control,
        overhead_ns,
        campaign: Campaign::of(record),
        resumed: record.invocations.iter().filter_map(|anew| anew.resumed.clone()).collect(),
        one_host: OneHost::of(header),
        vitals: record.vitals.clone(),
        end: record.end.clone(),
        damage: record.damage.clone(),
        cases: rows.into_iter().map(|row| row.summary).collect(),
        twins: twins.into_iter().map(|twin| twin.summary).collect(),
    };
    fit_advice(&mut assessment);
    assessment
}

/// Makes advice follow the command that made the record, which may lack the flags that it names.
fn fit_advice(assessment: &mut Assessment) {
    let Some(command) = advice::command_of(&assessment.header.tool.command) else { return };
    let fit = |text: &mut String| *text = advice::fitted(text, command);
    for summary in assessment.cases.iter_mut().chain(&mut assessment.twins) {
        summary.findings.iter_mut().for_each(|finding| fit(&mut finding.remedy));
        summary.failures.iter_mut().for_each(|(failure, _)| fit(failure.reason_mut()));
    }
    assessment.findings.iter_mut().for_each(|found| fit(&mut found.finding.remedy));
    assessment.skips.iter_mut().for_each(|skip| fit(&mut skip.reason));
}

/// The cases of a record whose role `is_wanted`, in the order of the plan, without a verdict.
fn measured(record: &Record, is_wanted: impl Fn(Role) -> bool) -> Vec<Row<'_>> {
    let mut trials: Vec<Vec<&Trial>> = vec![Vec::new(); record.header.plan.cases.len()];
    for trial in &record.trials {
        trials.get_mut(trial.case).into_iter().for_each(|of_case| of_case.push(trial));
    }
    let planned = &record.header.plan.cases;
    let ids = axis::ids(planned.iter().map(|planned| &planned.case)).into_iter().enumerate();
    let wanted = |index: usize| is_wanted(planned[index].role);
    // Rows are large and may be thousands: there is room for these, and for no more.
    let mut rows = Vec::with_capacity((0..planned.len()).filter(|index| wanted(*index)).count());
    rows.extend(ids.filter(|(index, _)| wanted(*index)).map(|(index, id)| {
        let mut measured = Measured::of(record, index, &trials[index]);
        exclude(&mut measured);
        measured.end_to_mean = end_to_mean(&measured);
        Row { summary: Summary::of(&measured, id), measured }
    }));
    rows
}

/// The findings on a single row.
fn found(row: &Row, nulls: &[&Row]) -> Vec<Finding> {
    let (measured, summary) = (&row.measured, &row.summary);
    // In an open loop, an operation takes as long as the schedule says: see GeneratorBehind.
    let is_open = measured.case.is_open();
    let null = null_of(row, nulls).filter(|_| !is_open);
    let overhead = null.and_then(|null| {
        let share = Ratio::of_any(&null.measured.ns_per_op(), &measured.ns_per_op())?;
        Some(Overhead { ns: overhead_ns(null)?, share })
    });
    rules::find(&Context { measured, summary, overhead })
}

/// The judged twins of a record, which neither are ceilings nor have them.
fn twins<'a>(record: &'a Record, rows: &[Row<'a>]) -> Vec<Row<'a>> {
    let mut twins = measured(record, |role| role == Role::Twin);
    let (nulls, levels) = (nulls(rows), all_levels(rows));
    for twin in &mut twins {
        twin.summary.id.push_str(" again");
        let found = found(twin, &nulls);
        twin.summary.judge(found);
        twin.measured.caches = rows.first().map_or(twin.measured.caches, |row| row.measured.caches);
        place(twin, &levels);
    }
    twins
}

/// The judged cases of a record with their ceilings, requested ones before baseline rows; without
/// twins.
pub(crate) fn rows(record: &Record) -> Vec<Row<'_>> {
    let mut rows = measured(record, |role| !matches!(role, Role::Twin | Role::Elsewhere));
    rows.sort_by_key(|row| row.measured.role);
    let all = nulls(&rows);
    let found: Vec<Vec<Finding>> = rows.iter().map(|row| found(row, &all)).collect();
    for (row, findings) in rows.iter_mut().zip(found) {
        row.summary.judge(findings);
    }
    place_arrays(&mut rows);
    // Ceilings come after the verdicts because a void case is not a ceiling. A ceiling has none
    // itself.
    let bases = Bases::of(&rows);
    let all: Vec<RowCeilings> = rows.iter().map(|row| bounds(row, &bases)).collect();
    let buses: Vec<Option<Estimate>> = rows.iter().map(|row| bus(row, &rows)).collect();
    let held = all.iter().flat_map(|bounds| [&bounds.ceiling, &bounds.loaded_ceiling]).flatten();
    let bases: HashSet<String> = held.map(|held| held.base.clone()).collect();
    let generators = Generators::of(&rows);
    let among = |(row, bounds)| rules::find_among(row, &rows, &generators, bounds);
    let found: Vec<Vec<Finding>> = rows.iter().zip(&all).map(among).collect();
    for (((row, bounds), bus), found) in rows.iter_mut().zip(all).zip(buses).zip(found) {
        row.summary.is_ceiling = bounds.is_fastest_loop || bases.contains(&row.summary.id);
        row.summary.bus = bus;
        hold(&mut row.summary, &bounds);
        row.summary.judge(found);
    }
    let generators = Generators::of(&rows);
    let idle = |row| rules::find_idle(row, &rows, &generators);
    let found: Vec<Option<Finding>> = rows.iter().map(idle).collect();
    for (row, found) in rows.iter_mut().zip(found) {
        row.summary.judge(found.into_iter().collect());
    }
    rows
}

/// Stores the ceilings of a case.
fn hold(summary: &mut Summary, bounds: &RowCeilings) {
    summary.ceiling = bounds.ceiling.as_ref().map(CeilingShare::ceiling);
    summary.of_memory = bounds.of_memory;
    if let Some(loaded) = &mut summary.loaded {
        loaded.ceiling = bounds.loaded_ceiling.as_ref().map(CeilingShare::ceiling);
        loaded.of_memory = bounds.loaded_of_memory;
    }
}

/// Finds what served the arrays of all rows.
fn place_arrays(rows: &mut [Row]) {
    // If the OS reports no cache size, the measured levels may show it. Void cases do not count.
    if rows.first().is_some_and(|row| !row.measured.caches.are_known())
        && let Some(below) = last_cache_below(rows)
    {
        rows.iter_mut().for_each(|row| row.measured.caches = Caches::measured(below));
    }
    let levels = all_levels(rows);
    rows.iter_mut().for_each(|row| place(row, &levels));
}

/// The null rows of a closed loop, reading ones first. Others may be thousands, but these are few.
fn nulls<'a, 'r>(rows: &'a [Row<'r>]) -> Vec<&'a Row<'r>> {
    let reads = rows.iter().filter(|row| null_read(row).is_some());
    reads.chain(rows.iter().filter(|row| null_write(row).is_some())).collect()
}

/// The work of a reading null row.
fn null_read<'r>(row: &Row<'r>) -> Option<&'r ReadWork> {
    closed_null(row)?.read()
}

/// The work of a writing null row.
fn null_write<'r>(row: &Row<'r>) -> Option<&'r WriteWork> {
    closed_null(row)?.write()
}

fn closed_null<'r>(row: &Row<'r>) -> Option<&'r Case> {
    Some(row.measured.case).filter(|case| case.is_null() && !case.is_open())
}

fn overhead_ns(null: &Row) -> Option<f64> {
    Some(null.summary.ns_per_op?.median)
}

/// The null row that measures the tool's own cost for an operation of `row`. One with the same
/// pattern is preferred, because computing an order costs time. A writing null stamps its blocks,
/// so one with larger blocks does not apply to smaller ones. Without a writing null, a reading one
/// gives a lower bound.
fn null_of<'a, 'r>(row: &Row, nulls: &[&'a Row<'r>]) -> Option<&'a Row<'r>> {
    let pattern = match &row.measured.case.work {
        Work::Read(work) => work.io.pattern,
        Work::Write(work) => {
            let null = nulls
                .iter()
                .filter_map(|row| Some((*row, null_write(row)?)))
                .filter(|(row, null)| row.measured.n() > 0 && null.io.block <= work.io.block)
                .max_by_key(|(_, null)| (null.io.pattern == work.io.pattern, null.io.block));
            if let Some((row, _)) = null {
                return Some(row);
            }
            work.io.pattern
        }
        Work::Memory(_) | Work::Metadata(_) | Work::Command(_) => return None,
    };
    let is_measured = |row: &&'a Row<'r>| null_read(row).is_some() && row.measured.n() > 0;
    let measured = || nulls.iter().copied().filter(is_measured);
    let same_order = |row: &&Row| null_read(row).is_some_and(|null| null.io.pattern == pattern);
    measured().find(same_order).or_else(|| measured().next())
}
