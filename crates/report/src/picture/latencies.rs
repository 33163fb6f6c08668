//! Latency distributions: the share of operations that took longer than each latency. Both axes are
//! logarithmic, so a tail of one in a thousand is as wide as one in ten.

use super::alike::{PictureGroup, all_are, asked, bounded, fewest, labels, parted};
use crate::drawing::{
    Dash, DrawnAxis, Key, Picture, PictureBlock, Plot, Series, drawn, legend, range,
};
use crate::group::grouped;
use crate::labels::CaseLabels;
use crate::phrases::Factored;
use crate::words::{capital, count, if_any, listed};
use assess::Assessment;
use assess::summary::{Latency, Summary};
use model::case::{Case, Op};
use model::units;

/// The operations that were timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Operations,
    Syncs,
}

const PLOT: f64 = 210.0;

/// The marked shares, with their percentiles.
const SHARES: [(f64, &str, &str); 7] = [
    (0.5, "50 %", "p50"),
    (0.1, "10 %", "p90"),
    (1e-2, "1 %", "p99"),
    (1e-3, "0.1 %", "p99.9"),
    (1e-4, "0.01 %", "p99.99"),
    (1e-5, "0.001 %", "p99.999"),
    (1e-6, "10⁻⁴ %", "1 - 10⁻⁶"),
];
/// Splits in this order, so that a picture compares cache states of the same way to read.
const PARTED_BY: [&str; 11] =
    ["op", "sync", "size", "threads", "peer", "depth", "engine", "isa", "advice", "every", "cache"];
/// Fewer operations have no tail.
const COUNT_LEAST: u64 = 20;

/// A picture for each block and pattern with individually timed operations, and one for syncs.
pub(super) fn latencies<'a>(assessment: &'a Assessment) -> Vec<Picture> {
    let names = CaseLabels::of(assessment);
    let mut pictures = Vec::new();
    for of in [Of::Operations, Of::Syncs] {
        let is_timed = |summary: &&Summary| {
            latency(of, summary).is_some_and(|latency| {
                latency.count >= COUNT_LEAST
                    && latency.longer.iter().any(|(ns, share)| *ns > 0 && *share > 0.0)
            })
        };
        let timed: Vec<&'a Summary> = asked(&assessment.cases).filter(is_timed).collect();
        // Different blocks and patterns answer different questions, even if few.
        let kind = |summary: &&'a Summary| match of {
            Of::Operations => kind(&summary.case),
            Of::Syncs => "sync".to_string(),
        };
        let parts = |timed: Vec<&'a Summary>| -> Vec<(String, PictureGroup<&'a Summary>)> {
            let of_kind = |(kind, cases): (String, Vec<&'a Summary>)| {
                let parts = parted(cases, |summary| &summary.case, &PARTED_BY);
                parts.into_iter().map(move |part| (kind.clone(), part))
            };
            grouped(timed, kind).into_iter().flat_map(of_kind).collect()
        };
        let all = bounded(timed, fewest, parts);
        pictures.extend(all.iter().filter_map(|(kind, part)| draw(part, kind, of, &names)));
    }
    pictures
}

fn latency(of: Of, summary: &Summary) -> Option<&Latency> {
    match of {
        // If a case writes nothing, each of its operations is a sync.
        Of::Operations if summary.case.write().is_some_and(|work| work.op == Op::Sync) => None,
        Of::Operations => Some(&summary.latency),
        Of::Syncs => Some(&summary.writing.as_ref()?.sync),
    }
}

/// `read random 4KiB`, `write random 4KiB`, `calls on names`.
fn kind(case: &Case) -> String {
    if case.metadata().is_some() {
        return "calls on names".to_string();
    }
    let said = |axis| super::alike::value(case, axis);
    let op = said("op").unwrap_or_else(|| "read".to_string());
    let words = [Some(op), said("pattern"), said("block"), said("kernel")];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The plural for a title: `reads, random 4KiB`.
fn plural(kind: &str) -> String {
    match kind.split_once(' ') {
        Some(("read", rest)) => format!("reads, {rest}"),
        Some(("write", rest)) => format!("writes, {rest}"),
        Some(("copy", rest)) => format!("copies, {rest}"),
        _ => kind.to_string(),
    }
}

fn draw(part: &PictureGroup<&Summary>, kind: &str, of: Of, names: &CaseLabels) -> Option<Picture> {
    let stands = |summary: &&&Summary| summary.verdict.stands();
    let cases: Vec<&Summary> = part.things.iter().filter(stands).copied().collect();
    if cases.is_empty() {
        return None;
    }
    let lines: Vec<Vec<&Summary>> = cases.iter().map(|summary| vec![*summary]).collect();
    let Factored { own, common } = labels(&lines, names);
    let what = if of == Of::Syncs { "syncs" } else { "operations" };
    let (plot, entries) = plot(&cases, &own, of, what);
    let void = if_any(part.things.len() - cases.len(), |void| {
        format!("left out as void: {}", count(void, "case"))
    });
    let shared = part.shared.iter().map(|word| match (of, word.as_str()) {
        (Of::Syncs, "write") => "after writes",
        (Of::Syncs, "sync") => "after nothing",
        (_, word) => word,
    });
    let of_part: String = shared.map(|word| format!(", {word}")).collect();
    let title = match of {
        Of::Operations => format!("Latency of {}{of_part}", plural(kind)),
        Of::Syncs => format!("Latency of syncs{of_part}"),
    };
    let name = format!("latency {kind} {}", part.shared.join(" "));
    let note = PictureBlock::note(&[&all_are(&common), &void]);
    let blocks = vec![note, plot.alone(), legend(entries)];
    Some(Picture::of(&name, &title, alt(&cases, &own, of, what), blocks))
}

/// A curve for each case, with marks at its percentiles, and its entry in the legend.
fn plot(cases: &[&Summary], own: &[String], of: Of, what: &str) -> (Plot, Vec<(Key, String)>) {
    let all: Vec<&Latency> = cases.iter().filter_map(|summary| latency(of, summary)).collect();
    let curves: Vec<Vec<(f64, f64)>> = all.iter().map(|latency| curve(latency)).collect();
    let points = || curves.iter().flatten();
    let (least_ns, most_ns) = range(points().map(|(ns, _)| *ns)).unwrap_or((1.0, 1.0));
    let floor = points().map(|(_, share)| *share).fold(1.0, f64::min).min(0.05) * 0.7;
    let y = DrawnAxis::of_marks((floor, 1.0), &SHARES.map(|(share, label, _)| (share, label)));
    let right = SHARES.into_iter().filter(|(share, ..)| y.holds(*share));
    let x =
        DrawnAxis::log(least_ns * 0.9, most_ns * 1.1, units::nanoseconds).of_what(service(cases));
    let series = curves.iter().zip(all).zip(own).map(|((curve, all), label)| {
        let marks = [(all.p50, 0.5), (all.p90, 0.1), (all.p99, 1e-2), (all.p99_9, 1e-3)];
        let marks = marks.into_iter();
        let marks = marks.filter_map(|(it, share)| Some(((it?.ns as f64, share), None)));
        let (label, line, marks) = (label.clone(), curve.clone(), marks.collect());
        Series { label, dash: Dash::Whole, line, marks }
    });
    let (shapes, entries) = drawn(series.collect());
    let right = right.map(|(share, _, percentile)| (share, percentile)).collect();
    let y = y.of_what(&format!("share of {what} that took longer"));
    (Plot { x, y, height: PLOT, right, shapes }, entries)
}

/// From the shortest latency, which every operation takes at least, to the longest.
fn curve(latency: &Latency) -> Vec<(f64, f64)> {
    let told = latency.longer.iter().map(|(ns, share)| ((*ns).max(1) as f64, *share));
    let points: Vec<(f64, f64)> = told.filter(|(_, share)| *share > 0.0).collect();
    let first = points.first().map(|(ns, _)| (*ns, 1.0));
    let last = points.last().map(|(_, share)| *share).zip(latency.max_ns);
    let last = last.map(|(share, ns)| (ns.max(1) as f64, share));
    first.into_iter().chain(points).chain(last).collect()
}

fn alt(cases: &[&Summary], own: &[String], of: Of, what: &str) -> String {
    let said = |(summary, label): (&&Summary, &String)| {
        let latency = latency(of, summary)?;
        let p50 = units::nanoseconds(latency.p50?.ns as f64);
        let p99 = latency.p99.map(|p99| format!(", p99 {}", units::nanoseconds(p99.ns as f64)));
        Some(format!("{label}: p50 {p50}{}", p99.unwrap_or_default()))
    };
    let all: Vec<String> = cases.iter().zip(own).filter_map(said).collect();
    let said = if all.is_empty() { listed(own) } else { all.join("; ") };
    let service = service(cases);
    capital(&format!("share of {what} that took longer than each {service}. {said}."))
}

/// What is drawn along the axis.
fn service(cases: &[&Summary]) -> &'static str {
    let are_closed = cases.iter().all(|summary| !summary.case.is_open());
    if are_closed { "service time (closed loop)" } else { "service time" }
}
