//! The heat maps that suit a recipe: by the two axes that it varies, or by its layout.

use super::alike::{
    all_are, asked, axes, axes_but, is_rate, labels, say_value, shared_words, value,
};
use super::table::{Better, HeatCell, HeatMap};
use crate::drawing::Picture;

use crate::group::{distinct, grouped};
use crate::labels::CaseLabels;
use crate::phrases::{Factored, joined};
use crate::pivot::{self, CellContent, Matrix};
use crate::words::{self, NOT_DURABLE, capital, listed, main_estimate};
use assess::Assessment;
use assess::summary::{Latency, Summary};
use model::case::{Case, Op, Sync, Work};
use model::plan::Role;
use model::units;
use model::view::{CellMetric, Layout, View};

/// With more tables, there is no overview.
const TABLES_MOST: usize = 6;
/// A table with a smaller share of filled cells has too many holes.
const FILLED_LEAST: f64 = 0.6;

/// The heat maps of an assessment.
pub(super) fn heat(assessment: &Assessment) -> Vec<Picture> {
    let View { layout, metric, across, group, .. } = &assessment.view();
    let tables = match (layout, across) {
        (Layout::Ladder, _) => Vec::new(),
        (Layout::Pivot, _) if !group.is_empty() => methods(assessment),
        _ if shows_both_rates(assessment.view()) => strategies(assessment).into_iter().collect(),
        (_, Some(axis)) => rows_by(assessment, axis.name, *metric).into_iter().collect(),
        (_, None) => by_two_axes(assessment, *metric),
    };
    tables.iter().filter_map(HeatMap::draw).collect()
}

/// Whether the table shows both the acknowledged and the durable rate of each case.
fn shows_both_rates(view: &View) -> bool {
    ["acknowledged", "durable"].iter().all(|rate| view.columns.iter().any(|name| name == rate))
}

/// The tables of a pivot, for each of its headings.
fn methods(assessment: &Assessment) -> Vec<HeatMap> {
    pivot::matrices(assessment).iter().map(|block| method(block, assessment)).collect()
}

fn method(block: &Matrix, assessment: &Assessment) -> HeatMap {
    let cell = |content: Option<CellContent>| match content {
        None => HeatCell::Empty,
        Some(CellContent::Skipped) => HeatCell::Skipped,
        Some(CellContent::Measured(summary)) => {
            HeatCell::of(summary, said(summary, CellMetric::Main))
        }
    };
    let rows: Vec<(String, Vec<HeatCell>)> = block
        .rows()
        .iter()
        .map(|row| {
            let cells = block.series.iter().map(|series| cell(series.content(row)));
            (row.1.clone(), cells.collect())
        })
        .collect();
    let has_skips =
        rows.iter().flat_map(|(_, cells)| cells).any(|it| matches!(it, HeatCell::Skipped));
    let skips = if has_skips { "skip: not measured" } else { "" };
    let has_idle = block.measured().any(|summary| pivot::idle(summary).is_some());
    let idle = if has_idle { ", and the mean idle share of the threads" } else { "" };
    let is_of_rates = block.measured().all(|summary| is_rate(&summary.case));
    let what = if is_of_rates { "throughput" } else { "throughput or time of an operation" };
    let served = format!("served by {}", pivot::served_by(block, assessment));
    let note =
        [format!("{what}, {}{idle}", words::figures_are(assessment)), served, skips.to_string()];
    let corner = pivot::corner(assessment);
    HeatMap {
        name: format!("heat {}", block.title),
        title: format!("By {corner}: {}", block.title),
        note: note.to_vec(),
        corner,
        columns: block.series.iter().map(|series| series.name.clone()).collect(),
        rows,
        better: Better::High,
    }
}

/// The acknowledged and the durable rate of each way to write.
fn strategies(assessment: &Assessment) -> Option<HeatMap> {
    let names = CaseLabels::of(assessment);
    let writes = |summary: &&Summary| {
        summary.role == Role::Asked && summary.case.write().is_some_and(|work| work.op != Op::Sync)
    };
    let row = |summary: &Summary| {
        let writing = summary.writing.as_ref();
        let rate = |rate: Option<assess::stats::Estimate>| {
            let rate = rate?;
            Some((rate.median, vec![units::rate(rate.median)]))
        };
        let acknowledged = HeatCell::of(summary, rate(writing.and_then(|all| all.acknowledged)));
        let durable = match writing.and_then(|all| all.durable) {
            None if summary.is_not_durable() => HeatCell::Void(vec![NOT_DURABLE.to_string()]),
            durable => HeatCell::of(summary, rate(durable)),
        };
        (names.name(&summary.id), vec![acknowledged, durable])
    };
    let rows: Vec<(String, Vec<HeatCell>)> =
        assessment.cases.iter().filter(writes).map(row).collect();
    (rows.len() > 1).then(|| HeatMap {
        name: "heat ways to write".to_string(),
        title: "Ways to write, acknowledged and durable".to_string(),
        note: vec![
            "acknowledged: until the last write returned".to_string(),
            "durable: until the last sync returned, unless contradicted".to_string(),
        ],
        corner: "way".to_string(),
        columns: vec!["acknowledged".to_string(), "durable".to_string()],
        rows,
        better: Better::High,
    })
}

/// A row for each group of cases that differ in one axis only; its values are the columns.
fn rows_by(assessment: &Assessment, axis: &str, metric: CellMetric) -> Option<HeatMap> {
    let names = CaseLabels::of(assessment);
    let has = |summary: &&Summary| value(&summary.case, axis).is_some();
    let cases: Vec<&Summary> = asked(&assessment.cases).filter(has).collect();
    let columns = values(&cases, axis);
    let groups = grouped(cases, |summary| axes_but(&summary.case, axis));
    let lines: Vec<Vec<&Summary>> = groups.iter().map(|(_, cases)| cases.clone()).collect();
    let labels = if axis == "sync" { before_syncs(&lines, &names) } else { labels(&lines, &names) };
    let cell = |summary: &Summary| match HeatCell::of(summary, said(summary, metric)) {
        HeatCell::Empty => HeatCell::Void(vec!["too few".to_string()]),
        cell => cell,
    };
    let row = |(cases, label): (&Vec<&Summary>, &String)| {
        (label.replace(" ?", ""), cells(cases, axis, &columns, &cell))
    };
    let rows: Vec<(String, Vec<HeatCell>)> = lines.iter().zip(&labels.own).map(row).collect();
    let what = said_of(metric);
    let column = |value: &String| match axis {
        "ops" if value == "0" => "until the time is over".to_string(),
        "ops" if value == "all" => "all reads".to_string(),
        "ops" => format!("{value} reads"),
        _ => say_value(axis, value),
    };
    (rows.len() > 1 && columns.len() > 1).then(|| HeatMap {
        name: format!("heat by {axis}"),
        title: format!(
            "{} by {}",
            capital(what),
            if axis == "ops" { "number of reads" } else { axis }
        ),
        note: vec![
            match metric {
                CellMetric::Main => format!("{what}, {}", words::figures_are(assessment)),
                _ => format!("{what}, and what 99 % did not exceed"),
            },
            all_are(&labels.common),
        ],
        corner: String::new(),
        columns: columns.iter().map(column).collect(),
        rows,
        better: Better::Low,
    })
}

/// The cells of the cases with these values of an axis.
fn cells(
    cases: &[&Summary],
    axis: &str,
    columns: &[String],
    cell: &dyn Fn(&Summary) -> HeatCell,
) -> Vec<HeatCell> {
    let of_column = |column: &String| {
        let found = cases.iter().find(|it| value(&it.case, axis).as_ref() == Some(column));
        found.map_or(HeatCell::Empty, |summary| cell(summary))
    };
    columns.iter().map(of_column).collect()
}

/// The work before each sync, without the sync's name: `1MiB every 16`.
fn before_syncs(lines: &[Vec<&Summary>], names: &CaseLabels) -> Factored {
    let label = |line: &Vec<&Summary>| {
        let phrases = line.first().map_or(Vec::new(), |summary| names.phrases(&summary.case));
        joined(phrases.into_iter().filter(|p| p.axis != "sync").map(|phrase| phrase.said))
    };
    Factored { own: lines.iter().map(label).collect(), common: String::new() }
}

/// The name of a metric.
fn said_of(metric: CellMetric) -> &'static str {
    match metric {
        CellMetric::Main => "figure",
        CellMetric::PerOperation => "time of an operation",
        CellMetric::Latency => "median latency",
        CellMetric::SyncLatency => "median latency of a sync",
    }
}

/// A case's value of a metric, and its text.
fn said(summary: &Summary, metric: CellMetric) -> Option<(f64, Vec<String>)> {
    let of_latency = |latency: &Latency| {
        let p50 = latency.p50?;
        let p99 = latency.p99.map(|_| format!("p99 {}", words::percentile(latency.p99)));
        let first = words::percentile(Some(p50));
        Some((p50.ns as f64, [Some(first), p99].into_iter().flatten().collect()))
    };
    let idle = summary.imbalance_percent.map(|idle| format!("idle {idle:.0} %"));
    match metric {
        CellMetric::Main => {
            let (estimate, say) = main_estimate(summary)?;
            let said = say(estimate.median).replace("/op", "");
            Some((estimate.median, [Some(said), idle].into_iter().flatten().collect()))
        }
        CellMetric::PerOperation => {
            let ns = summary.ns_per_op?.median;
            Some((ns, [Some(units::nanoseconds(ns)), idle].into_iter().flatten().collect()))
        }
        CellMetric::Latency => of_latency(&summary.latency),
        CellMetric::SyncLatency => match summary.case.write()?.sync {
            Sync::Dsync => of_latency(&summary.latency),
            _ => of_latency(&summary.writing.as_ref()?.sync),
        },
    }
}

/// The values of an axis: ascending if they are numbers, otherwise in the order of the cases.
fn values(cases: &[&Summary], axis: &str) -> Vec<String> {
    let mut values = distinct(cases.iter().filter_map(|summary| value(&summary.case, axis)));
    let number = |value: &String| units::parse_bytes(value).ok();
    if values.iter().all(|value| number(value).is_some()) {
        values.sort_by_key(number);
    }
    values
}

/// Cases that differ in these two axes only.
struct Plane<'a> {
    axes: [&'static str; 2],
    cases: Vec<&'a Summary>,
}

/// One table at a time: the pair of axes that covers the most cases not yet shown.
fn by_two_axes(assessment: &Assessment, metric: CellMetric) -> Vec<HeatMap> {
    let names = CaseLabels::of(assessment);
    let mut left: Vec<&Summary> = asked(&assessment.cases).collect();
    let all = left.clone();
    let mut tables = Vec::new();
    while tables.len() < TABLES_MOST {
        let fresh = |plane: &Plane| {
            let is_left = |case: &&&Summary| left.iter().any(|other| std::ptr::eq(**case, *other));
            plane.cases.iter().filter(is_left).count()
        };
        // On a tie, takes the first: `max_by_key` returns the last, so the list is reversed.
        let best = planes(&all).into_iter().rev().max_by_key(fresh);
        let Some(plane) = best.filter(|plane| fresh(plane) > 3) else { break };
        left.retain(|case| !plane.cases.iter().any(|other| std::ptr::eq(*case, *other)));
        tables.push(plane_table(&plane, &names, metric, assessment));
    }
    tables
}

/// All planes with at least two values on both axes and most of their cells filled.
fn planes<'a>(cases: &[&'a Summary]) -> Vec<Plane<'a>> {
    let all = cases.iter().flat_map(|summary| axes(&summary.case));
    let mut known: Vec<&'static str> = distinct(all.map(|(axis, _)| axis));
    known.retain(|axis| values(cases, axis).len() > 1);
    let mut planes = Vec::new();
    for (index, first) in known.iter().enumerate() {
        for second in &known[index + 1..] {
            let key = |case: &Case| {
                let mut rest = axes_but(case, first);
                rest.retain(|(axis, _)| axis != second);
                rest
            };
            let groups =
                grouped(cases.to_vec(), |summary| (is_rate(&summary.case), key(&summary.case)));
            for (_, cases) in groups {
                let [a, b] = [first, second].map(|axis| values(&cases, axis).len());
                let is_filled = cases.len() as f64 >= FILLED_LEAST * (a * b) as f64;
                if a > 1 && b > 1 && is_filled {
                    planes.push(Plane { axes: [first, second], cases });
                }
            }
        }
    }
    planes
}

fn plane_table(
    plane: &Plane,
    names: &CaseLabels,
    metric: CellMetric,
    assessment: &Assessment,
) -> HeatMap {
    let cases = &plane.cases;
    let [first, second] = plane.axes;
    // Fewer columns than rows.
    let is_turned = values(cases, first).len() > values(cases, second).len();
    let [across, down] = if is_turned { [second, first] } else { [first, second] };
    let (columns, lines) = (values(cases, across), values(cases, down));
    let cell = |summary: &Summary| HeatCell::of(summary, said(summary, metric));
    let row = |line: &String| {
        let is_here = |it: &&Summary| value(&it.case, down).as_ref() == Some(line);
        let cases: Vec<&Summary> = cases.iter().copied().filter(is_here).collect();
        (line.clone(), cells(&cases, across, &columns, &cell))
    };
    let metric = match is_rate(&cases[0].case) {
        true => metric,
        false => CellMetric::PerOperation,
    };
    let what = match metric {
        CellMetric::Main => format!("throughput, {}", words::figures_are(assessment)),
        _ if cases[0].case.command().is_some() => "time of a run".to_string(),
        metric => said_of(metric).to_string(),
    };
    let shared = listed(&shared_words(cases, names));
    let kind = match &cases[0].case.work {
        Work::Read(_) => "reading",
        Work::Write(_) => "writing",
        Work::Memory(_) => "memory",
        Work::Metadata(_) => "names",
        Work::Command(_) => "commands",
    };
    // Each size of an array may be served by another cache.
    let served = match plane.axes.contains(&"working_set") {
        true => format!("served by {}", pivot::servers(cases.iter().copied(), assessment)),
        false => String::new(),
    };
    let (of_rows, of_columns) = (down.replace('_', " "), across.replace('_', " "));
    let title = format!("{}: {of_rows} by {of_columns}", capital(kind));
    HeatMap {
        name: format!("heat {kind} {down} by {across}"),
        title,
        note: vec![what, served, all_are(&shared)],
        corner: of_rows,
        columns: columns.iter().map(|value| say_value(across, value)).collect(),
        rows: lines.iter().map(row).collect(),
        better: if metric == CellMetric::Main { Better::High } else { Better::Low },
    }
}
