//! The survey on one screen: the ladder from memory to storage, and the answer.

use crate::closing::closing;
use crate::frame;
use crate::grid::{Cell, Grid, left, right};
use crate::names::Names;
use crate::style::{Paint, Style};
use crate::words::{self, NONE, count, figure};
use crate::writes::{accepted, durable, sync_name};
use assess::Assessment;
use assess::summary::Summary;
use model::case::{Cache, Case, Engine, Kernel, MemoryWork, Op, ReadWork, Sync};
use model::case::{Work, WriteEngine, WriteWork};
use model::host::Storage;
use model::pattern::{Pattern, Share};
use model::units;
use std::collections::HashMap;

/// The rows of a survey by what is below each other on the way to the disk.
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
    /// None for the null engine, which is told of in a line of its own.
    pub(crate) fn of(case: &Case) -> Option<Rung> {
        match &case.work {
            Work::Memory(_) => Some(Rung::Memory),
            Work::Write(work) if work.engine == WriteEngine::Null => None,
            Work::Write(_) => Some(Rung::Writing),
            Work::Read(work) if work.engine == Engine::Null => None,
            Work::Read(work) => Some(match work.io.cache {
                Cache::Warm => Rung::PageCache,
                Cache::Cold => Rung::Cold,
                Cache::Direct => Rung::Direct,
                Cache::AsIs => Rung::AsIs,
            }),
        }
    }

    /// What it is called.
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

    /// The same over a table, where its words are told too.
    fn heading(self) -> &'static str {
        match self {
            Rung::Direct => "storage, past the page cache (direct; d: reads in flight)",
            Rung::Writing => {
                "writing (accepted: the calls returned; durable: the syncs; p50, p99: of either)"
            }
            _ => self.title(),
        }
    }
}

/// The survey: about one screen at 100 columns.
pub fn survey(assessment: &Assessment, style: &Style) -> String {
    let labels = labels(assessment);
    let name = naming(assessment);
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
    out.push('\n');
    out.push_str(&style.wrap("", Paint::Plain, &closing(assessment, &name)));
    out
}

/// The name that a case has in this view, by its id.
pub(crate) fn naming(assessment: &Assessment) -> impl Fn(&str) -> String {
    let (labels, names) = (labels(assessment), Names::of(assessment));
    move |id| labels.get(id).cloned().unwrap_or_else(|| names.short(id))
}

/// The cases on each rung of the ladder, with its title; none where it is empty.
pub(crate) fn rungs(assessment: &Assessment) -> Vec<(&'static str, Vec<&Summary>)> {
    let on = |rung: Rung| {
        let cases = assessment.cases.iter();
        cases.filter(|summary| Rung::of(&summary.case) == Some(rung)).collect::<Vec<_>>()
    };
    let all = RUNGS.into_iter().map(|rung| (rung.heading(), on(rung)));
    all.filter(|(_, cases)| !cases.is_empty()).collect()
}

fn rows(assessment: &Assessment, labels: &HashMap<String, String>) -> Grid {
    let mut grid = Grid::new(vec![
        left("", 0),
        right("throughput", 0),
        left("95 % CI", 0),
        right("of ceiling", 2),
        right("p50", 1),
        right("p99", 3),
        right("CPU/op", 4),
        left("served by", 0),
        left("verdict", 0),
    ]);
    for rung in RUNGS {
        let on_rung = |summary: &&Summary| Rung::of(&summary.case) == Some(rung);
        let mut summaries = assessment.cases.iter().filter(on_rung).peekable();
        if summaries.peek().is_some() {
            grid.heading(rung.heading());
        }
        for summary in summaries {
            let label = labels.get(&summary.id).map_or(summary.id.as_str(), String::as_str);
            let (storage, label) = (assessment.storage.as_ref(), rung_label(rung, label));
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

/// A row's label, shorter: the title of its rung has said the cache state and what `d` is.
pub(crate) fn rung_label(rung: Rung, label: &str) -> String {
    let said = match rung {
        Rung::Memory => "memory ",
        Rung::PageCache => "warm ",
        Rung::Cold => "cold ",
        Rung::Direct => "direct ",
        Rung::AsIs => "as-is ",
        Rung::Writing => "write ",
    };
    let short = label.strip_prefix(said).unwrap_or(label);
    format!("  {}", short.replace(" sequential", " seq.").replace(" depth ", " d"))
}

fn cells(summary: &Summary, storage: Option<&Storage>, label: String) -> Vec<Cell> {
    let verdict = words::verdict_paint(summary);
    let is_void = !summary.verdict.stands();
    let said = |text: String| Cell::new(figure(summary, text), verdict);
    // Of a void row only the throughput is told, so that its finding has something to refute.
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

/// Which rate of a case that writes a row tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rate {
    Accepted,
    Durable,
    /// Neither: nothing is written.
    OnlySynced,
}

impl Rate {
    /// Of what is synced all the time only the durable rate says something: to accept the next
    /// write is to have waited for the sync before it.
    pub(crate) fn of(work: &WriteWork) -> &'static [Rate] {
        match (work.op, work.sync) {
            (Op::Sync, _) => &[Rate::OnlySynced],
            (_, Sync::None) => &[Rate::Accepted],
            (_, Sync::Dsync) => &[Rate::Durable],
            _ if work.every > 0 => &[Rate::Durable],
            _ => &[Rate::Accepted, Rate::Durable],
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Rate::Accepted => "accepted",
            Rate::Durable => "durable",
            Rate::OnlySynced => "synced",
        }
    }
}

/// A row for one rate of a case that writes, with the latency of what ends it: of the write calls,
/// or of the syncs. What holds for the whole trial stands beside its last rate.
fn written(summary: &Summary, storage: Option<&Storage>, label: String, rate: Rate) -> Vec<Cell> {
    let work = summary.case.write().expect("only what writes has such rows");
    let paint = words::verdict_paint(summary);
    let is_void = !summary.verdict.stands();
    let said = |text: String| Cell::new(figure(summary, text), paint);
    let beside = |text: String| Cell::new(if is_void { NONE.to_string() } else { text }, paint);
    let is_last = Rate::of(work).last() == Some(&rate);
    let at_end = |text: String| if is_last { text } else { NONE.to_string() };
    let writing = summary.writing.as_ref();
    let (median, interval) = match rate {
        Rate::Accepted => accepted(writing),
        Rate::Durable => durable(summary),
        Rate::OnlySynced => words::main_figure(summary),
    };
    let latency = match rate {
        Rate::Accepted => Some(&summary.latency),
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

/// How much a label says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// What a reader of a survey asks for.
    Short,
    /// With the engine or the instruction set.
    Longer,
}

/// A label in plain words for each id: the shortest that no other row has; at last the id.
pub(crate) fn labels(assessment: &Assessment) -> HashMap<String, String> {
    let mut labels = HashMap::new();
    for detail in [Detail::Short, Detail::Longer] {
        let measured = assessment.cases.iter().map(|summary| &summary.case);
        let all: Vec<(String, String)> = measured
            .chain(assessment.skips.iter().map(|skip| &skip.case))
            .filter(|case| Rung::of(case).is_some())
            .map(|case| (case.id(), label(case, detail)))
            .collect();
        let mut times: HashMap<&str, usize> = HashMap::new();
        for (_, label) in &all {
            *times.entry(label).or_default() += 1;
        }
        for (id, label) in &all {
            let is_alone = times[label.as_str()] == 1;
            if is_alone && !labels.contains_key(id) {
                labels.insert(id.clone(), label.clone());
            }
        }
    }
    labels
}

fn label(case: &Case, detail: Detail) -> String {
    match &case.work {
        Work::Memory(work) => memory_label(work, detail),
        Work::Read(work) => file_label(work, detail),
        Work::Write(work) => write_label(work, detail),
    }
}

fn write_label(work: &WriteWork, detail: Detail) -> String {
    let mut words = vec!["write".to_string()];
    if work.op == Op::Copy {
        words.push("copy".to_string());
    }
    if detail == Detail::Longer {
        words.push(work.engine.to_string());
    }
    if work.io.cache != Cache::AsIs {
        words.push(work.io.cache.to_string());
    }
    let block = units::bytes(work.io.block);
    match (work.op, work.every) {
        (Op::Sync, _) => words.push("nothing,".to_string()),
        (_, 0) => words.extend([block, pattern(work.io.pattern, work.io.stride)]),
        (_, 1) => words.push(format!("each {block}")),
        (_, every) => words.push(format!("each {every} of {block}")),
    }
    if work.every > 0 && detail == Detail::Longer {
        words.push(pattern(work.io.pattern, work.io.stride));
    }
    if detail == Detail::Longer || work.sync == Sync::FileRange {
        words.push(sync_name(work.sync).to_string());
    }
    if work.io.depth > 1 {
        words.push(format!("depth {}", work.io.depth));
    }
    if work.io.threads > 1 {
        words.push(count(work.io.threads as usize, "thread"));
    }
    words.join(" ")
}

fn memory_label(work: &MemoryWork, detail: Detail) -> String {
    let kernel = match work.kernel {
        Kernel::Chase => "random load",
        kernel => kernel.name(),
    };
    let threads = count(work.threads as usize, "thread");
    match detail {
        Detail::Short if work.kernel == Kernel::Chase && work.threads == 1 => {
            format!("memory {kernel}")
        }
        Detail::Short => format!("memory {kernel}, {threads}"),
        Detail::Longer => {
            let (isa, working_set) = (work.isa, units::bytes(work.working_set));
            format!("memory {kernel} {isa} {working_set}, {threads}")
        }
    }
}

fn file_label(work: &ReadWork, detail: Detail) -> String {
    let mut words = vec![work.io.cache.to_string()];
    // Past the page cache all engines ask the same device; before it they differ.
    if work.io.cache != Cache::Direct || detail == Detail::Longer {
        words.push(work.engine.to_string());
    }
    words.push(units::bytes(work.io.block));
    words.push(pattern(work.io.pattern, work.io.stride));
    if work.io.share == Share::Interleaved {
        words.push(work.io.share.to_string());
    }
    if work.io.depth > 1 {
        words.push(format!("depth {}", work.io.depth));
    }
    if work.io.threads > 1 {
        words.push(count(work.io.threads as usize, "thread"));
    }
    words.join(" ")
}

fn pattern(pattern: Pattern, stride: u64) -> String {
    match pattern {
        Pattern::Sequential | Pattern::Random => pattern.to_string(),
        Pattern::Strided => format!("stride {stride}"),
    }
}
