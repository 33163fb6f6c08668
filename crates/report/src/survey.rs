//! The survey on one screen: the ladder from memory to storage, and the answer.

use crate::frame;
use crate::grid::{Cell, Grid, LAST, left, right};
use crate::labels::Labels;
use crate::phrases::joined;
use crate::style::{Paint, Style};
use crate::words::{self, NONE, figure};
use crate::writes::{acknowledged, durable};
use assess::Assessment;
use assess::summary::Summary;
use model::case::{Cache, Case, Op, Sync};
use model::case::{Work, WriteWork};
use model::host::Storage;
use model::units;

/// The rungs of a survey: the layers on the way to the disk, from top to bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rung {
    Memory,
    PageCache,
    Cold,
    Direct,
    AsIs,
    Writing,
}

pub(crate) const RUNGS: [Rung; 6] =
    [Rung::Memory, Rung::PageCache, Rung::Cold, Rung::Direct, Rung::AsIs, Rung::Writing];

impl Rung {
    /// The rung of a case; `None` for the null engine, which has a line of its own.
    pub(crate) fn of(case: &Case) -> Option<Rung> {
        match &case.work {
            _ if case.is_null() => None,
            Work::Memory(_) => Some(Rung::Memory),
            Work::Write(_) => Some(Rung::Writing),
            Work::Read(work) => Some(match work.io.cache {
                Cache::Warm => Rung::PageCache,
                Cache::Cold => Rung::Cold,
                Cache::Direct => Rung::Direct,
                Cache::AsIs => Rung::AsIs,
            }),
        }
    }

    /// Its word in labels.
    fn word(self) -> &'static str {
        match self {
            Rung::Memory => "memory",
            Rung::PageCache => "warm",
            Rung::Cold => "cold",
            Rung::Direct => "direct",
            Rung::AsIs => "as-is",
            Rung::Writing => "write",
        }
    }

    /// Its title.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Rung::Memory => "memory",
            Rung::PageCache => "page cache (warm)",
            Rung::Cold => "storage, through the page cache (cold)",
            Rung::Direct => "storage, past the page cache (direct)",
            Rung::AsIs => "file, cached or not as it was found",
            Rung::Writing => "writing",
        }
    }

    /// Its title in a table, with explanations of the words there.
    fn heading(self) -> &'static str {
        match self {
            Rung::Direct => "storage, past the page cache (direct; d: reads in flight)",
            Rung::Writing => {
                "writing (acknowledged: the calls returned; durable: the syncs; p50, p99: of \
                 either)"
            }
            _ => self.title(),
        }
    }
}

/// The survey: about one screen at 100 columns.
pub(crate) fn survey(assessment: &Assessment, style: &Style) -> String {
    let labels = labels(assessment);
    let name = |id: &str| labels.name(id);
    let mut out = frame::head(assessment, style);
    out.push('\n');
    out.push_str(&rows(assessment, &labels).render(style));
    let overhead = match assessment.overhead_ns {
        Some(ns) => format!(
            "{} itself costs {} an operation (null engine)",
            assessment.tool.name,
            units::nanoseconds(ns)
        ),
        None => format!("what {} itself costs was not measured", assessment.tool.name),
    };
    let legend = format!("{}; {overhead}", words::SERVICE_TIME_SHORT);
    out.push_str(&style.wrap("", Paint::Faint, &legend));
    out.push_str(&frame::below(assessment, style, &name));
    out
}

/// The labels of this view: below the heading of a rung, a row names only the differences there.
pub(crate) fn labels(assessment: &Assessment) -> Labels<'_> {
    Labels::by(assessment, |case| Rung::of(case).map_or("", Rung::word).to_string())
}

/// The cases on each rung with its title, without empty rungs.
pub(crate) fn rungs(assessment: &Assessment) -> Vec<(&'static str, Vec<&Summary>)> {
    let on = |rung: Rung| {
        let cases = assessment.cases.iter();
        cases.filter(|summary| Rung::of(&summary.case) == Some(rung)).collect::<Vec<_>>()
    };
    let all = RUNGS.into_iter().map(|rung| (rung.title(), on(rung)));
    all.filter(|(_, cases)| !cases.is_empty()).collect()
}

fn rows(assessment: &Assessment, labels: &Labels) -> Grid {
    let mut grid = Grid::new(vec![
        left("", 0),
        right("throughput", 0),
        left("95 % CI", LAST),
        right("of ceiling", 2),
        right("p50", 1),
        right("p99", 3),
        right("CPU/op", 4),
        left("served by", 0),
        left("verdict", 0),
    ]);
    for rung in RUNGS {
        let on_rung = |summary: &&Summary| Rung::of(&summary.case) == Some(rung);
        let summaries: Vec<&Summary> = assessment.cases.iter().filter(on_rung).collect();
        if !summaries.is_empty() {
            let common = labels.said_of_group(rung.word(), &summaries);
            let common = if common.is_empty() { common } else { format!(": {common}") };
            grid.heading(&format!("{}{common}", rung.heading()));
        }
        for summary in summaries {
            let storage = assessment.storage.as_ref();
            let label = format!("  {}", label_on_rung(labels, summary));
            match summary.case.write() {
                None => grid.row(cells(summary, storage, label)),
                Some(work) => {
                    for rate in Rate::of(work) {
                        grid.row(written(
                            summary,
                            storage,
                            format!("{label} {}", rate.name()),
                            *rate,
                        ));
                    }
                }
            }
        }
    }
    grid
}

/// The label of a row below the heading of its rung.
pub(crate) fn label_on_rung(labels: &Labels, summary: &Summary) -> String {
    let short = |short: String| match short.as_str() {
        "sequential" => "seq.".to_string(),
        "random" => "rand.".to_string(),
        "overwritten" => "over".to_string(),
        _ => short,
    };
    let phrases = labels.phrases(&summary.case);
    let said = joined(phrases.into_iter().map(|phrase| short(phrase.short)));
    if said.is_empty() { labels.short(&summary.id) } else { said }
}

fn cells(summary: &Summary, storage: Option<&Storage>, label: String) -> Vec<Cell> {
    let verdict = words::verdict_paint(summary);
    let is_void = !summary.verdict.stands();
    let said = |text: String| Cell::new(figure(summary, text), verdict);
    // A void row shows only the throughput, because its finding refers to it.
    let beside = |text: String| Cell::new(if is_void { NONE.to_string() } else { text }, verdict);
    let (median, interval) = words::main_figure(summary);
    vec![
        Cell::new(label, Paint::Plain),
        said(median),
        said(interval),
        beside(words::ceiling_short(summary)),
        beside(words::percentile(summary.latency.p50)),
        beside(words::percentile(summary.latency.p99)),
        beside(words::ns(summary.cpu_ns_per_op)),
        Cell::new(words::served_by(summary, storage), Paint::Plain),
        Cell::new(words::verdict(summary), verdict),
    ]
}

/// The rate that a row of a writing case shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rate {
    Acknowledged,
    Durable,
    /// Neither: the case only syncs.
    OnlySynced,
}

impl Rate {
    /// If every write is synced, or syncs come between writes, accepting a write includes waiting
    /// for syncs. Then only the durable rate means something.
    pub(crate) fn of(work: &WriteWork) -> &'static [Rate] {
        match (work.op, work.sync) {
            (Op::Sync, _) => &[Rate::OnlySynced],
            (_, Sync::None) => &[Rate::Acknowledged],
            (_, Sync::Dsync) => &[Rate::Durable],
            _ if work.every > 0 => &[Rate::Durable],
            _ => &[Rate::Acknowledged, Rate::Durable],
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Rate::Acknowledged => "acknowledged",
            Rate::Durable => "durable",
            Rate::OnlySynced => "synced",
        }
    }
}

/// A row for one rate of a writing case, with the latency of its writes or of its syncs. Values of
/// the whole trial go into the row of its last rate.
fn written(summary: &Summary, storage: Option<&Storage>, label: String, rate: Rate) -> Vec<Cell> {
    let work = summary.case.write().expect("only writing cases have rates");
    let paint = words::verdict_paint(summary);
    let is_void = !summary.verdict.stands();
    let said = |text: String| Cell::new(figure(summary, text), paint);
    let beside = |text: String| Cell::new(if is_void { NONE.to_string() } else { text }, paint);
    let is_last = Rate::of(work).last() == Some(&rate);
    let at_end = |text: String| if is_last { text } else { NONE.to_string() };
    let writing = summary.writing.as_ref();
    let (median, interval) = match rate {
        Rate::Acknowledged => acknowledged(writing),
        Rate::Durable => durable(summary),
        Rate::OnlySynced => words::main_figure(summary),
    };
    let latency = match rate {
        Rate::Acknowledged => Some(&summary.latency),
        Rate::Durable if work.sync == Sync::Dsync => Some(&summary.latency),
        Rate::Durable | Rate::OnlySynced => writing.map(|writing| &writing.sync),
    };
    vec![
        Cell::new(label, Paint::Plain),
        said(median),
        said(interval),
        beside(at_end(words::ceiling_short(summary))),
        beside(words::percentile(latency.and_then(|latency| latency.p50))),
        beside(words::percentile(latency.and_then(|latency| latency.p99))),
        beside(at_end(words::ns(summary.cpu_ns_per_op))),
        Cell::new(at_end(words::served_by(summary, storage)), Paint::Plain),
        Cell::new(words::verdict(summary), paint),
    ]
}
