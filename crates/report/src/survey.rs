//! The survey on one screen: the ladder from memory to storage, and the answer.

use crate::document::{Block, Remark};
use crate::frame;
use crate::grid::{Grid, GridCell, LAST, left, right};
use crate::labels::CaseLabels;
use crate::metric::Metric;
use crate::phrases::joined;
use crate::style::Paint;
use crate::words::{self, NONE};
use assess::Assessment;
use assess::finding::Verdict;
use assess::summary::Summary;
use model::case::Work;
use model::case::{Cache, Case, Op, Sync};
use model::units;

/// The rungs of a survey: the layers on the way to the disk, from top to bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rung {
    Memory,
    PageCache,
    Cold,
    Direct,
    DontCache,
    AsIs,
    Writing,
    Names,
}

pub(crate) const RUNGS: [Rung; 8] = [
    Rung::Memory,
    Rung::PageCache,
    Rung::Cold,
    Rung::Direct,
    Rung::DontCache,
    Rung::AsIs,
    Rung::Writing,
    Rung::Names,
];

impl Rung {
    /// The rung of a case; `None` for the null engine, which has a line of its own.
    pub(crate) fn of(case: &Case) -> Option<Rung> {
        match &case.work {
            _ if case.is_null() => None,
            // A survey runs none.
            Work::Command(_) => None,
            Work::Memory(_) => Some(Rung::Memory),
            Work::Write(_) => Some(Rung::Writing),
            Work::Metadata(_) => Some(Rung::Names),
            Work::Read(work) => Some(match work.io.cache {
                Cache::Warm => Rung::PageCache,
                Cache::Cold => Rung::Cold,
                Cache::Direct => Rung::Direct,
                Cache::DontCache => Rung::DontCache,
                Cache::AsIs => Rung::AsIs,
            }),
        }
    }

    /// Its word in labels, and its title.
    fn names(self) -> [&'static str; 2] {
        match self {
            Rung::Memory => ["memory", "memory"],
            Rung::PageCache => ["warm", "page cache (warm)"],
            Rung::Cold => ["cold", "storage, through the page cache (cold)"],
            Rung::Direct => ["direct", "storage, past the page cache (direct)"],
            Rung::DontCache => {
                ["dontcache", "storage, through the page cache, which keeps nothing (dontcache)"]
            }
            Rung::AsIs => ["as-is", "file, cached or not as it was found"],
            Rung::Writing => ["write", "writing"],
            Rung::Names => ["names", "names of files (metadata)"],
        }
    }

    fn word(self) -> &'static str {
        self.names()[0]
    }

    pub(crate) fn title(self) -> &'static str {
        self.names()[1]
    }

    /// Its title in a table, with explanations of the words there.
    fn heading(self, summaries: &[&Summary]) -> &'static str {
        let io = || summaries.iter().filter_map(|summary| summary.case.io());
        match self {
            Rung::Memory if summaries.iter().any(|it| it.case.threads() > 1) => {
                "memory (t: threads)"
            }
            Rung::Direct if io().all(|io| io.depth == 1) && io().any(|io| io.threads > 1) => {
                "storage, past the page cache (direct; t: threads with a read in flight each)"
            }
            Rung::Direct => "storage, past the page cache (direct; d: reads in flight)",
            Rung::Writing => {
                "writing (acknowledged: the calls returned; durable: the syncs; p50, p99: of \
                 either)"
            }
            _ => self.title(),
        }
    }
}

/// The column of shares.
const CEILING: &str = "of ceiling";

/// What it is, in fewer words than below other tables.
const CEILING_IS: &str =
    "share, by paired rounds, of the fastest loop over memory (mem) or direct row (dev)";

/// The survey: about one screen at 100 columns.
pub(crate) fn survey(assessment: &Assessment) -> Vec<Block> {
    let overhead = match assessment.overhead_ns {
        Some(ns) => format!(
            "{} itself costs {} an operation (null engine)",
            assessment.header.tool.name,
            units::nanoseconds(ns)
        ),
        None => format!("the overhead of {} itself was not measured", assessment.header.tool.name),
    };
    let has_few = |name: &&&str| {
        let metric = Metric::named(name);
        assessment.cases.iter().any(|it| metric.short_cell(it, assessment).starts_with('~'))
    };
    let few: Vec<&str> = ["p50", "p99"].iter().filter(has_few).copied().collect();
    let few = (!few.is_empty()).then(|| Remark { text: words::FEW.to_string(), columns: few });
    let ceiling = format!("{CEILING}: {CEILING_IS}");
    let legend = [
        Remark { text: words::SERVICE_TIME_SHORT.to_string(), columns: vec!["p50", "p99"] },
        frame::figures_are(assessment),
        Remark { text: ceiling, columns: vec![CEILING] },
        Remark::of_all(overhead),
    ];
    let is_void = |summary: &Summary| summary.n > 0 && summary.verdict == Verdict::Void;
    let void = assessment.cases.iter().any(is_void).then(|| Remark::of_all(words::VOID));
    let grid = rows(assessment, &labels(assessment));
    vec![Block::table(grid, legend.into_iter().chain(few).chain(void))]
}

/// The labels of this view: below the heading of a rung, a row names only the differences there.
pub(crate) fn labels(assessment: &Assessment) -> CaseLabels<'_> {
    CaseLabels::by(assessment, |case| Rung::of(case).map_or("", Rung::word).to_string())
}

fn rows(assessment: &Assessment, labels: &CaseLabels) -> Grid {
    let mut grid = Grid::new(vec![
        left("", 0),
        right("throughput", 0),
        left("95 % CI", LAST),
        right("op/s", 4),
        right(CEILING, 2),
        right("p50", 1),
        right("p99", 3),
        right("CPU/op", 5),
        left("served by", 0),
        left("verdict", 0),
    ]);
    for rung in RUNGS {
        let on_rung = |summary: &&Summary| Rung::of(&summary.case) == Some(rung);
        let summaries: Vec<&Summary> = assessment.cases.iter().filter(on_rung).collect();
        if !summaries.is_empty() {
            let common = labels.said_of_group(rung.word(), &summaries);
            let common = if common.is_empty() { common } else { format!(": {common}") };
            grid.heading(&format!("{}{common}", rung.heading(&summaries)));
        }
        for summary in summaries {
            let rates = RowRate::of(&summary.case);
            for (index, rate) in rates.iter().enumerate() {
                let label = format!("  {}", rate.label(label_on_rung(labels, summary)));
                let is_last = index + 1 == rates.len();
                grid.row(row(assessment, summary, label, rate.metrics(), is_last));
            }
        }
    }
    grid
}

/// A row of a case, or of one rate of a writing case: `shown` names the rate, its interval, and two
/// latencies. Values of the whole trial go into the row of its last rate.
fn row(
    assessment: &Assessment,
    summary: &Summary,
    label: String,
    shown: [&str; 4],
    is_last: bool,
) -> Vec<GridCell> {
    let none = || GridCell::new(NONE, words::verdict_paint(summary.verdict));
    let cell = |name: &str| {
        let metric = Metric::named(name);
        match metric.short_cell(summary, assessment) {
            // A bound in place of a median would push out a column at 120 columns.
            text if text.starts_with('≤') => none(),
            text => GridCell::new(text, metric.paint(summary)),
        }
    };
    // The title has the unit, which leaves room for other columns.
    let operations = || {
        let metric = Metric::named("iops");
        let text = metric.short_cell(summary, assessment);
        GridCell::new(text.trim_end_matches("/s"), metric.paint(summary))
    };
    let once = |name: &str| if is_last { cell(name) } else { none() };
    // A void row shows only the throughput, because its finding refers to it.
    let beside = |cell: GridCell| if summary.verdict.stands() { cell } else { none() };
    let [rate, interval, p50, p99] = shown;
    vec![
        GridCell::of_case(&summary.id, label, Paint::Plain),
        cell(rate),
        cell(interval),
        beside(if is_last { operations() } else { none() }),
        beside(once("ceiling")),
        beside(cell(p50)),
        beside(cell(p99)),
        beside(once("cpu_per_op")),
        once("served_by"),
        cell("verdict"),
    ]
}

/// The label of a row below the heading of its rung.
pub(crate) fn label_on_rung(labels: &CaseLabels, summary: &Summary) -> String {
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

/// The rate that a row shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowRate {
    /// The only one of a case that does not write.
    Only,
    Acknowledged,
    Durable,
    /// Neither: the case only syncs.
    OnlySynced,
    /// That of all operations, of which some read.
    Mixed,
}

impl RowRate {
    /// If every write is synced, or syncs come between writes, accepting a write includes waiting
    /// for syncs. Then only the durable rate means something.
    pub(crate) fn of(case: &Case) -> &'static [RowRate] {
        let Some(work) = case.write() else { return &[RowRate::Only] };
        match (work.op, work.sync) {
            (Op::Sync, _) => &[RowRate::OnlySynced],
            _ if work.read_share > 0 => &[RowRate::Mixed],
            (_, Sync::None) => &[RowRate::Acknowledged],
            (_, Sync::Dsync) => &[RowRate::Durable],
            _ if work.every > 0 => &[RowRate::Durable],
            _ => &[RowRate::Acknowledged, RowRate::Durable],
        }
    }

    /// The label of a case with the name of this rate.
    pub(crate) fn label(self, case: String) -> String {
        match self {
            RowRate::Only => case,
            RowRate::Acknowledged => case + " acknowledged",
            RowRate::Durable => case + " durable",
            RowRate::OnlySynced => case + " synced",
            RowRate::Mixed => case + " reads and writes",
        }
    }

    /// The metrics of this rate: with the latency of its writes or of its syncs.
    pub(crate) fn metrics(self) -> [&'static str; 4] {
        match self {
            RowRate::Only | RowRate::Mixed => ["throughput", "interval", "p50", "p99"],
            RowRate::Acknowledged => ["acknowledged", "acknowledged_interval", "p50", "p99"],
            RowRate::Durable => ["durable", "durable_interval", "sync_p50", "sync_p99"],
            RowRate::OnlySynced => ["throughput", "interval", "sync_p50", "sync_p99"],
        }
    }
}
