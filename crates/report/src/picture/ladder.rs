//! The ladder from memory to the medium: a bar for each rate on a logarithmic axis, and the
//! measured bounds.

use super::alike::{all_are, asked, is_rate, label_words};
use crate::drawing::{
    Colour, Dash, DrawnAxis, INK, Key, Picture, PictureBlock, SERIES, Shape, Strip, VOID, legend,
    range, strips, void_key,
};
use crate::labels::CaseLabels;
use crate::phrases::{Factored, factor_out};
use crate::survey::{RUNGS, RowRate, Rung, label_on_rung, labels};
use crate::words::{self, NOT_DURABLE, count, if_any, listed};
use crate::writes;
use assess::Assessment;
use assess::finding::Verdict;
use assess::stats::Estimate;
use assess::summary::{ServedBy, Summary};
use model::case::Kernel;
use model::units;
use model::view::{CellMetric, Layout};

/// With more bars, it is a list.
const BARS_MOST: usize = 30;

/// A figure of a case.
#[derive(Debug)]
struct Bar {
    /// The title of its rung; empty unless it is the first there.
    heading: &'static str,
    label: String,
    /// Bytes per second; `None` if unknown, or if the figure is a time.
    rate: Option<Estimate>,
    is_void: bool,
    /// The figure as text.
    said: String,
    by: By,
}

/// What the color of a bar means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// The calls returned; nothing shows that the data is durable.
    Acknowledged,
    Served(Option<ServedBy>),
}

/// A measured bound.
#[derive(Debug)]
struct Bound {
    name: String,
    rate: f64,
    colour: Colour,
    dash: Dash,
}

/// The ladder of a survey, or of any run with a few figures; `None` unless at least two rates are
/// valid.
pub(super) fn ladder(assessment: &Assessment) -> Option<Picture> {
    let (bars, common) = bars(assessment);
    let rates = || bars.iter().filter_map(|bar| bar.rate.map(|rate| (bar, rate)));
    let standing = rates().filter(|(bar, _)| !bar.is_void).count();
    let is_survey = assessment.view().layout == Layout::Ladder;
    // When one byte per page is touched, bytes per second mean nothing.
    let is_of_bytes = assessment.view().metric != CellMetric::PerOperation;
    if !is_of_bytes || standing < 2 || (standing > BARS_MOST && !is_survey) {
        return None;
    }
    let bounds = bounds(assessment);
    let values = rates().flat_map(|(_, rate)| [rate.median, rate.min]);
    let (least, most) = range(values.chain(bounds.iter().map(|bound| bound.rate)))?;
    let least = 10f64.powf((least * 0.7).log10().floor());
    let axis = DrawnAxis::log(least, most * 1.02, units::rate).of_what("bytes a second");
    let rows = bars.iter().map(|bar| strip(bar, least, &bounds)).collect();
    let title = if is_survey { "From memory to storage" } else { "Throughput of each case" };
    let blocks = vec![
        PictureBlock::note(&[&all_are(&common)]),
        strips(axis, Some(least), rows),
        legend(entries(&bars, &bounds)),
    ];
    Some(Picture::of("ladder", title, alt(&bars, &bounds), blocks))
}

/// The bars of all requested cases, rung by rung, and the words their names share.
fn bars(assessment: &Assessment) -> (Vec<Bar>, String) {
    let on_rungs: Vec<(Rung, &Summary)> = RUNGS
        .into_iter()
        .flat_map(|rung| {
            let on_rung = move |summary: &&Summary| Rung::of(&summary.case) == Some(rung);
            asked(&assessment.cases).filter(on_rung).map(move |summary| (rung, summary))
        })
        .collect();
    let Factored { own, common } = names(assessment, &on_rungs);
    let (mut bars, mut last) = (Vec::new(), None);
    for ((rung, summary), label) in on_rungs.into_iter().zip(own) {
        let first = bars.len();
        bars.extend(bars_of(summary, &label));
        if last.replace(rung) != Some(rung) {
            bars[first].heading = rung.title();
        }
    }
    (bars, common)
}

/// The labels of bars: in a survey, the same as in its table.
fn names(assessment: &Assessment, on_rungs: &[(Rung, &Summary)]) -> Factored {
    if assessment.view().layout != Layout::Ladder {
        let names = CaseLabels::of(assessment);
        return factor_out(
            on_rungs.iter().map(|(_, summary)| label_words(summary, &names)).collect(),
        );
    }
    let labels = labels(assessment);
    let own = on_rungs.iter().map(|(_, summary)| label_on_rung(&labels, summary));
    Factored { own: own.collect(), common: String::new() }
}

/// At least one.
fn bars_of(summary: &Summary, label: &str) -> Vec<Bar> {
    let writing = summary.writing.as_deref();
    let of_rate = |rate: &RowRate| {
        let (found, said) = match rate {
            RowRate::Only => {
                let rate = summary.throughput.filter(|_| is_rate(&summary.case));
                (rate, words::main_figure(summary).0)
            }
            RowRate::Acknowledged => {
                let rate = writing.and_then(|all| all.acknowledged);
                (rate, writes::acknowledged(writing).0)
            }
            RowRate::Durable => (writing.and_then(|all| all.durable), writes::durable(summary).0),
            RowRate::OnlySynced => (None, words::main_figure(summary).0),
            RowRate::Mixed => {
                (summary.throughput, words::with_interval(summary.throughput, units::rate).0)
            }
        };
        let by = match rate {
            RowRate::Acknowledged => By::Acknowledged,
            _ => By::Served(summary.served_by),
        };
        bar(summary, &rate.label(label.to_string()), found, said, by)
    };
    RowRate::of(&summary.case).iter().map(of_rate).collect()
}

fn bar(summary: &Summary, label: &str, rate: Option<Estimate>, said: String, by: By) -> Bar {
    let said = match (summary.n, summary.verdict) {
        (0, _) => summary.verdict.to_string(),
        (_, Verdict::Sound) => said,
        (_, Verdict::Doubtful) if said == NOT_DURABLE => said,
        (_, Verdict::Doubtful) => format!("{said} ?"),
        _ => format!("{} void", words::figure(summary, said)),
    };
    let (rate, is_void) = (rate.filter(|rate| rate.median > 0.0), !summary.verdict.stands());
    Bar { heading: "", label: label.to_string(), rate, is_void, said, by }
}

/// Reading memory with one thread and with the most threads, and the device without the page cache.
fn bounds(assessment: &Assessment) -> Vec<Bound> {
    let rate = |summary: &Summary| Some(summary.throughput?.median);
    let is_bound = |summary: &&Summary| summary.is_ceiling && summary.verdict.stands();
    let all = || assessment.cases.iter().filter(is_bound);
    let fastest = |is_it: &dyn Fn(&Summary) -> bool| {
        let rates = all().filter(|summary| is_it(summary)).filter_map(rate);
        rates.reduce(f64::max)
    };
    let reads =
        |summary: &Summary| summary.case.memory().is_some_and(|work| work.kernel == Kernel::Read);
    let most = all().filter(|s| reads(s)).map(|s| s.case.threads()).max().unwrap_or(0);
    let memory =
        |threads: u32| fastest(&|summary| reads(summary) && summary.case.threads() == threads);
    let of_threads =
        |threads: u32| format!("reading memory, {}", count(threads as usize, "thread"));
    let dashed =
        |name, rate: Option<f64>, colour, dash| rate.map(|rate| Bound { name, rate, colour, dash });
    let read = fastest(&|summary| summary.case.read().is_some());
    let written = fastest(&|summary| summary.case.write().is_some());
    [
        dashed(of_threads(1), memory(1), INK, Dash::Short),
        dashed(of_threads(most), memory(most).filter(|_| most > 1), INK, Dash::Long),
        dashed("the device, read past the cache".to_string(), read, SERIES[1], Dash::Long),
        dashed("the device, written past the cache".to_string(), written, SERIES[1], Dash::Short),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The color of a bar, and what it means.
fn looks(by: By) -> (Colour, &'static str) {
    let By::Served(by) = by else {
        return (SERIES[6], "acknowledged, not durable yet");
    };
    match by {
        None => (SERIES[6], "not known"),
        Some(ServedBy::NoIo) => (SERIES[6], "no I/O"),
        Some(ServedBy::Ram) => (SERIES[3], "served by memory"),
        Some(ServedBy::NameCache) => (SERIES[3], "served by the cache of names"),
        Some(ServedBy::PageCache) => (SERIES[2], "served by the page cache"),
        Some(ServedBy::CpuCache) => (SERIES[1], "served by the processor's caches"),
        Some(ServedBy::CpuCacheOrRam) => (SERIES[4], "served by the processor's caches or memory"),
        Some(ServedBy::Mixed) => (SERIES[4], "page cache and device"),
        Some(ServedBy::Device) => (SERIES[0], "a device took part"),
        Some(ServedBy::Unverified) => (SERIES[5], "unverified"),
    }
}

/// Each color that is drawn, in the order of the bars, and the bounds.
fn entries(bars: &[Bar], bounds: &[Bound]) -> Vec<(Key, String)> {
    let mut entries: Vec<(Key, String)> = Vec::new();
    for bar in bars.iter().filter(|bar| bar.rate.is_some() && !bar.is_void) {
        let (colour, text) = looks(bar.by);
        if !entries.iter().any(|(_, known)| known == text) {
            entries.push((Key::Fill(colour), text.to_string()));
        }
    }
    let has_void = bars.iter().any(|bar| bar.rate.is_some() && bar.is_void);
    entries.extend(has_void.then(void_key));
    entries.extend(bounds.iter().map(|bound| {
        let text = format!("{}: {}", bound.name, units::rate(bound.rate));
        (Key::Line(bound.colour, bound.dash, None), text)
    }));
    entries
}

/// A bar from `least` to the rate with its interval, and the bounds across it.
fn strip(bar: &Bar, least: f64, bounds: &[Bound]) -> Strip {
    let shapes = bar.rate.map_or(Vec::new(), |rate| {
        let corners = [(least, 0.0), (rate.median, 1.0)];
        let area = match bar.is_void {
            true => Shape::Hatched(corners, VOID),
            false => Shape::Area(corners, looks(bar.by).0),
        };
        let interval = rate.low.zip(rate.high);
        let interval = interval.map(|(low, high)| Shape::Interval([(low, 0.5), (high, 0.5)], INK));
        let bounds =
            bounds.iter().map(|bound| Shape::Upright(bound.rate, bound.dash, bound.colour));
        [area].into_iter().chain(interval).chain(bounds).collect()
    });
    let colour = if bar.is_void { VOID } else { INK };
    let (heading, figure) = (bar.heading.to_string(), bar.said.clone());
    Strip { heading, colour, figure, ..Strip::of(&bar.label, shapes) }
}

fn alt(bars: &[Bar], bounds: &[Bound]) -> String {
    let standing = bars.iter().filter(|bar| !bar.is_void);
    let all: Vec<(&str, f64)> =
        standing.filter_map(|bar| Some((bar.label.as_str(), bar.rate?.median))).collect();
    let said = |(label, rate): &(&str, f64)| format!("{label} at {}", units::rate(*rate));
    let fastest = all.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(String::new(), said);
    let slowest = all.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(String::new(), said);
    let held = bounds.iter().map(|bound| format!("{} ({})", bound.name, units::rate(bound.rate)));
    let held = match bounds {
        [] => String::new(),
        _ => format!(" Lines show {}.", listed(&held.collect::<Vec<_>>())),
    };
    let void = if_any(bars.iter().filter(|bar| bar.is_void).count(), |void| {
        format!(" {} void and hatched, or without a figure.", count(void, "bar"))
    });
    format!(
        "A bar for each rate on an axis of logarithms: the highest is {fastest}, the lowest \
         {slowest}.{held}{void}"
    )
}
