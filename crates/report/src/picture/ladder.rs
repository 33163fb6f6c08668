//! The ladder from memory to the medium: a bar for each rate on a logarithmic axis, and the
//! measured bounds.

use super::alike::{asked, is_rate, label_words};
use crate::drawing::Picture;
use crate::drawing::axis::{Axis, labels_along, with_scales};
use crate::drawing::canvas::{Anchor, Canvas, Dash, LINE, WIDTH, Weight};
use crate::drawing::legend::{Key, Legend, Note, void_key};
use crate::drawing::measure::{width, wrapped};
use crate::drawing::palette::{Colour, FAINT, GRID, INK, SERIES, VOID};
use crate::labels::Labels;
use crate::phrases::{Factored, factor_out};
use crate::survey::{RUNGS, Rate, Rung, label_on_rung, labels};
use crate::words::{self, NOT_DURABLE, count, listed};
use assess::Assessment;
use assess::finding::Verdict;
use assess::stats::Estimate;
use assess::summary::{ServedBy, Summary};
use model::case::Kernel;
use model::units;
use model::view::{Layout, Metric};

/// With more bars, it is a list.
const BARS_MOST: usize = 30;

/// The left edge of the bars, their height, the gap between rows, and the gap above a rung's title.
const LEFT: f64 = 8.0;
const BAR: f64 = 12.0;
const BELOW: f64 = 7.0;
const ABOVE_TITLE: f64 = 5.0;
/// Between a bar and its figure.
const GAP: f64 = 8.0;

/// The verdict on a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worth {
    Sound,
    Doubtful,
    Void,
}

/// A figure of a case.
#[derive(Debug)]
struct Bar {
    label: Vec<String>,
    /// Bytes per second; `None` if unknown, or if the figure is a time.
    rate: Option<Estimate>,
    worth: Worth,
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

/// A row of the picture.
#[derive(Debug)]
enum Row {
    Title(Vec<String>),
    Bar(Bar),
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
    let (rows, common) = rows(assessment);
    let bars = || {
        rows.iter().filter_map(|row| match row {
            Row::Bar(bar) => Some(bar),
            Row::Title(_) => None,
        })
    };
    let stands = |bar: &&Bar| bar.rate.is_some() && bar.worth != Worth::Void;
    let standing = bars().filter(stands).count();
    let is_survey = assessment.view().layout == Layout::Ladder;
    // When one byte per page is touched, bytes per second mean nothing.
    let is_of_bytes = assessment.view().metric != Metric::PerOperation;
    if !is_of_bytes || standing < 2 || (standing > BARS_MOST && !is_survey) {
        return None;
    }
    let bounds = bounds(assessment);
    let legend = legend(&bars().collect::<Vec<_>>(), &bounds);
    let values = bars().filter_map(|bar| bar.rate).flat_map(|rate| [rate.median, rate.min]);
    let values: Vec<f64> = values.chain(bounds.iter().map(|bound| bound.rate)).collect();
    let least = values.iter().copied().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    let least = 10f64.powf((least * 0.7).log10().floor());
    let said = bars().filter(|bar| bar.rate.is_some()).map(|bar| width(&bar.said));
    let beside = said.fold(0.0, f64::max) + GAP;
    let axis = Axis::log(least, most * 1.02, units::rate).between(LEFT, WIDTH - beside - 2.0);
    let note = Note::of(&with_scales(&common, &axis, None));
    let height =
        note.height() + LINE * 2.0 + rows.iter().map(row_height).sum::<f64>() + 8.0 + legend.height;
    let title = if is_survey { "From memory to storage" } else { "Throughput of each case" };
    Some(Picture::of("ladder", title, alt(&rows, &bounds), height, |canvas| {
        note.draw(canvas, 0.0);
        let mut y = note.height() + LINE;
        labels_along(canvas, &axis, y - LINE / 2.0);
        for row in &rows {
            draw_row(canvas, row, &axis, &bounds, y);
            y += row_height(row);
        }
        labels_along(canvas, &axis, y + LINE / 2.0);
        legend.draw(canvas, y + LINE + 8.0);
    }))
}

/// The rates of all requested cases, rung by rung, and the words their names share.
fn rows(assessment: &Assessment) -> (Vec<Row>, String) {
    let on_rungs: Vec<(Rung, &Summary)> = RUNGS
        .into_iter()
        .flat_map(|rung| {
            let on_rung = move |summary: &&Summary| Rung::of(&summary.case) == Some(rung);
            asked(&assessment.cases).filter(on_rung).map(move |summary| (rung, summary))
        })
        .collect();
    let Factored { own, common } = names(assessment, &on_rungs);
    let (mut rows, mut last) = (Vec::new(), None);
    for ((rung, summary), label) in on_rungs.into_iter().zip(own) {
        if last.replace(rung) != Some(rung) {
            rows.push(Row::Title(wrapped(rung.title(), WIDTH * 0.9)));
        }
        rows.extend(bars(summary, &label).into_iter().map(Row::Bar));
    }
    (rows, if common.is_empty() { common } else { format!("all: {common}") })
}

/// The labels of bars: in a survey, the same as in its table.
fn names(assessment: &Assessment, on_rungs: &[(Rung, &Summary)]) -> Factored {
    if assessment.view().layout != Layout::Ladder {
        let names = Labels::of(assessment);
        return factor_out(
            on_rungs.iter().map(|(_, summary)| label_words(summary, &names)).collect(),
        );
    }
    let labels = labels(assessment);
    let own = on_rungs.iter().map(|(_, summary)| label_on_rung(&labels, summary));
    Factored { own: own.collect(), common: String::new() }
}

fn bars(summary: &Summary, label: &str) -> Vec<Bar> {
    let rates = summary.case.write().map_or(&[][..], Rate::of);
    if rates.is_empty() {
        let rate = summary.throughput.filter(|_| is_rate(&summary.case));
        let (said, _) = words::main_figure(summary);
        return vec![bar(summary, label, rate, said, By::Served(summary.served_by))];
    }
    let of_rate = |rate: &Rate| {
        let label = format!("{label} {}", rate.name());
        let writing = summary.writing.as_ref();
        let (found, by) = match rate {
            Rate::Acknowledged => (writing.and_then(|all| all.acknowledged), By::Acknowledged),
            Rate::Durable => (writing.and_then(|all| all.durable), By::Served(summary.served_by)),
            Rate::OnlySynced => (None, By::Served(summary.served_by)),
            Rate::Mixed => (summary.throughput, By::Served(summary.served_by)),
        };
        let said = match (rate, found) {
            (Rate::OnlySynced, _) => words::main_figure(summary).0,
            (_, Some(found)) => units::rate(found.median),
            (Rate::Durable, None) if words::is_not_durable(summary) => NOT_DURABLE.to_string(),
            (_, None) => words::NONE.to_string(),
        };
        bar(summary, &label, found, said, by)
    };
    rates.iter().map(of_rate).collect()
}

fn bar(summary: &Summary, label: &str, rate: Option<Estimate>, said: String, by: By) -> Bar {
    let worth = match summary.verdict {
        Verdict::Sound => Worth::Sound,
        Verdict::Doubtful => Worth::Doubtful,
        _ => Worth::Void,
    };
    let said = match (summary.n, worth) {
        (0, _) => summary.verdict.to_string(),
        (_, Worth::Sound) => said,
        (_, Worth::Doubtful) if said == NOT_DURABLE => said,
        (_, Worth::Doubtful) => format!("{said} ?"),
        (_, Worth::Void) => format!("{} void", words::figure(summary, said)),
    };
    let rate = rate.filter(|rate| rate.median > 0.0);
    // Without a bar, the text goes beside the label.
    let beside = if rate.is_none() { GAP + width(&said) } else { 0.0 };
    let label = wrapped(label, WIDTH - LEFT - 2.0 - beside);
    Bar { label, rate, worth, said, by }
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

fn colour(by: By) -> Colour {
    match by {
        By::Acknowledged | By::Served(None | Some(ServedBy::NoIo)) => SERIES[6],
        By::Served(Some(ServedBy::Ram | ServedBy::NameCache)) => SERIES[3],
        By::Served(Some(ServedBy::PageCache)) => SERIES[2],
        By::Served(Some(ServedBy::CpuCache)) => SERIES[1],
        By::Served(Some(ServedBy::Mixed | ServedBy::CpuCacheOrRam)) => SERIES[4],
        By::Served(Some(ServedBy::Device)) => SERIES[0],
        By::Served(Some(ServedBy::Unverified)) => SERIES[5],
    }
}

fn legend(bars: &[&Bar], bounds: &[Bound]) -> Legend {
    let mut entries: Vec<(Key, String)> = Vec::new();
    for bar in bars.iter().filter(|bar| bar.rate.is_some() && bar.worth != Worth::Void) {
        let text = match bar.by {
            By::Acknowledged => "acknowledged, not durable yet".to_string(),
            By::Served(Some(ServedBy::PageCache)) => "served by the page cache".to_string(),
            By::Served(Some(ServedBy::NameCache)) => "served by the cache of names".to_string(),
            By::Served(Some(ServedBy::NoIo)) => "no I/O".to_string(),
            By::Served(Some(ServedBy::Unverified)) => "unverified".to_string(),
            By::Served(Some(ServedBy::CpuCache)) => "served by the processor's caches".to_string(),
            By::Served(Some(ServedBy::CpuCacheOrRam)) => {
                "served by the processor's caches or memory".to_string()
            }
            By::Served(Some(ServedBy::Ram)) => "served by memory".to_string(),
            By::Served(Some(ServedBy::Mixed)) => "page cache and device".to_string(),
            By::Served(Some(ServedBy::Device)) => "a device took part".to_string(),
            By::Served(None) => "not known".to_string(),
        };
        if !entries.iter().any(|(_, known)| *known == text) {
            entries.push((Key::Fill(colour(bar.by)), text));
        }
    }
    if bars.iter().any(|bar| bar.rate.is_some() && bar.worth == Worth::Void) {
        entries.push(void_key());
    }
    let lines = bounds.iter().map(|bound| {
        let text = format!("{}: {}", bound.name, units::rate(bound.rate));
        (Key::Line(bound.colour, bound.dash, None), text)
    });
    Legend::of(entries.into_iter().chain(lines))
}

fn row_height(row: &Row) -> f64 {
    match row {
        Row::Title(lines) => ABOVE_TITLE + LINE * lines.len() as f64,
        Row::Bar(bar) => {
            let thick = if bar.rate.is_some() { BAR } else { 0.0 };
            LINE * bar.label.len() as f64 + thick + BELOW
        }
    }
}

fn draw_row(canvas: &Canvas, row: &Row, axis: &Axis, bounds: &[Bound], top: f64) {
    let bar = match row {
        Row::Title(lines) => {
            for (index, line) in lines.iter().enumerate() {
                let y = top + ABOVE_TITLE + LINE * (index as f64 + 0.5);
                canvas.weighed_text(line, (0.0, y), Anchor::Start, INK, Weight::Bold);
            }
            return;
        }
        Row::Bar(bar) => bar,
    };
    for (index, line) in bar.label.iter().enumerate() {
        let y = top + LINE * (index as f64 + 0.5);
        canvas.text(line, (LEFT, y), Anchor::Start, INK);
    }
    let said_in = if bar.worth == Worth::Void { VOID } else { INK };
    let Some(rate) = bar.rate else {
        let after = bar.label.last().map_or(0.0, |line| width(line));
        let y = top + LINE * (bar.label.len() as f64 - 0.5);
        return canvas.text(&bar.said, (LEFT + after + GAP, y), Anchor::Start, said_in);
    };
    let (from, to) = (top + LINE * bar.label.len() as f64, top + row_height(row) - BELOW);
    draw_bar(canvas, bar, &rate, axis, (from, to));
    for bound in bounds {
        let x = axis.at(bound.rate);
        canvas.line([(x, from - 2.0), (x, to + 2.0)], bound.dash, bound.colour, 1.4);
    }
    let place = (WIDTH - 1.0, (from + to) / 2.0);
    canvas.text(&bar.said, place, Anchor::End, said_in);
}

/// Draws a bar with its interval between two heights.
fn draw_bar(canvas: &Canvas, bar: &Bar, rate: &Estimate, axis: &Axis, (from, to): (f64, f64)) {
    let end = axis.at(rate.median);
    for tick in axis.ticks.iter().filter(|tick| axis.at(tick.value) > end) {
        let x = axis.at(tick.value);
        canvas.line([(x, from), (x, to)], Dash::Whole, GRID, 1.0);
    }
    let corners = ((LEFT, from), (end, to));
    if bar.worth == Worth::Void {
        canvas.hatch(corners.0, corners.1, VOID);
        canvas.edge(corners.0, corners.1, VOID, 1.0);
    } else {
        canvas.rect(corners.0, corners.1, colour(bar.by));
    }
    if let (Some(low), Some(high)) = (rate.low, rate.high) {
        let y = (from + to) / 2.0;
        canvas.whiskers([(axis.at(low), y), (axis.at(high), y)], INK);
    }
    canvas.path(&[(LEFT, from - 1.0), (LEFT, to + 1.0)], FAINT, 1.0);
}

fn alt(rows: &[Row], bounds: &[Bound]) -> String {
    let stands = |row: &Row| match row {
        Row::Bar(bar) if bar.worth != Worth::Void => Some((bar.label.join(" "), bar.rate?.median)),
        _ => None,
    };
    let all: Vec<(String, f64)> = rows.iter().filter_map(stands).collect();
    let said = |(label, rate): &(String, f64)| format!("{label} at {}", units::rate(*rate));
    let fastest = all.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(said);
    let slowest = all.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(said);
    let ends = fastest.zip(slowest).map(|(fastest, slowest)| {
        format!(
            "A bar for each rate on an axis of logarithms: the highest is {fastest}, the \
                 lowest {slowest}."
        )
    });
    let held: Vec<String> = bounds
        .iter()
        .map(|bound| format!("{} ({})", bound.name, units::rate(bound.rate)))
        .collect();
    let held = (!held.is_empty()).then(|| format!(" Lines show {}.", listed(&held)));
    let hollow = rows.iter().filter(|row| matches!(row, Row::Bar(bar) if bar.worth == Worth::Void));
    let hollow = match hollow.count() {
        0 => String::new(),
        hollow => format!(" {} void and hatched, or without a figure.", count(hollow, "bar")),
    };
    ends.unwrap_or_default() + &held.unwrap_or_default() + &hollow
}
