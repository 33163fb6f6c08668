//! Read methods side by side: for each cache state and block size a table of threads × engines.

use crate::frame;
use crate::grid::{Cell, Grid, left};
use crate::labels::{Labels, common_line};
use crate::phrases::joined;
use crate::style::{Paint, Style};
use crate::versus;
use crate::words::{self, listed};
use assess::Assessment;
use assess::finding::{Finding, Severity, Verdict};
use assess::summary::Summary;
use model::case::{Case, Engine, Io, OWN_PEER, ReadWork, Work};
use model::plan::Role;
use model::units;

/// Least shares of the fastest in a table for the shades from the second to the deepest.
pub(crate) const SHADE_SHARES: [(f64, u8); 4] = [(0.9, 4), (0.7, 3), (0.5, 2), (0.3, 1)];

const LEGEND: &str = "each cell: throughput as the median of the rounds, ? if in doubt, and the \
                      mean idle share of its threads; below it min/mean/max of the rounds";

/// The width of the column of threads, and of a cell with the gap before it.
const THREADS_WIDTH: usize = 7;
const CELL_WIDTH: usize = 18;

/// What is in a cell of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'a> {
    Measured(&'a Summary),
    Skipped,
}

/// A column: a program, and the way it moves blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Way {
    engine: Engine,
    peer: String,
}

/// A table: all cases that differ in their peer, engine and number of threads only.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    alike: ReadWork,
    cells: Vec<(Way, u32, Content<'a>)>,
}

impl Way {
    /// `pread`; of another program than this one's own worker `zebra pread`.
    pub(crate) fn name(&self) -> String {
        if self.peer == OWN_PEER {
            return self.engine.to_string();
        }
        format!("{} {}", self.peer, self.engine)
    }
}

/// Throughput of engines by threads, with the idle share of threads beside it and the least,
/// mean and greatest round below it.
pub(crate) fn heatmap(assessment: &Assessment, style: &Style) -> String {
    let names = Labels::of(assessment);
    let blocks = blocks(assessment);
    let mut out = frame::head(assessment, style);
    out.push_str(&common_line(&names, style));
    out.push_str(&style.wrap("", Paint::Faint, LEGEND));
    out.push_str(&shades(style));
    for block in &blocks {
        out.push_str(&format!("\n{}", table(block, assessment, &names, style)));
    }
    if blocks.is_empty() {
        out.push_str("\nno case was measured\n");
    }
    let versus = versus::list(assessment, &names, style);
    if !versus.is_empty() {
        out.push_str(&format!("\n{versus}"));
    }
    out.push_str(&frame::below(assessment, style, &|id| names.name(id)));
    out
}

/// What the colours mean; nothing without colours.
fn shades(style: &Style) -> String {
    if !style.colour {
        return String::new();
    }
    let mut out = String::from("share of a table's fastest: ");
    for (share, shade) in SHADE_SHARES {
        let text = format!(" ≥ {} ", units::percent(share));
        out.push_str(&style.paint(&text, Paint::Shade(shade)));
    }
    out.push_str(&style.paint(" less ", Paint::Shade(0)));
    out.push('\n');
    out
}

pub(crate) fn blocks(assessment: &Assessment) -> Vec<Block<'_>> {
    let asked = assessment.cases.iter().filter(|summary| summary.role == Role::Asked);
    let measured = asked.map(|summary| (&summary.case, Content::Measured(summary)));
    let skipped = assessment.skips.iter().map(|skip| (&skip.case, Content::Skipped));
    let mut blocks: Vec<Block> = Vec::new();
    for (case, content) in measured.chain(skipped) {
        let Some(work) = case.read() else { continue };
        let alike = ReadWork { io: Io { threads: 1, ..work.io }, engine: Engine::Null, ..*work };
        let way = Way { engine: work.engine, peer: case.peer.clone() };
        let cell = (way, work.io.threads, content);
        match blocks.iter_mut().find(|block| block.alike == alike) {
            Some(block) => block.cells.push(cell),
            None => blocks.push(Block { alike, cells: vec![cell] }),
        }
    }
    // A table of skips only says nothing that the skips below do not say.
    blocks.retain(|block| block.measured().next().is_some());
    blocks
}

impl<'a> Block<'a> {
    fn measured(&self) -> impl Iterator<Item = &'a Summary> {
        self.cells.iter().filter_map(|(.., content)| match content {
            Content::Measured(summary) => Some(*summary),
            Content::Skipped => None,
        })
    }

    /// Each engine, of each peer in turn, this program's own worker first. What another peer does
    /// not have at all is told below.
    pub(crate) fn ways(&self) -> Vec<Way> {
        let measured = self.measured().map(|summary| summary.case.peer.as_str());
        let peers: Vec<&str> = [OWN_PEER].into_iter().chain(measured).collect();
        let has = |way: &Way| {
            let of_way = self.cells.iter().filter(|(known, ..)| known == way);
            of_way.clone().any(|(.., content)| matches!(content, Content::Measured(_)))
                || way.peer == OWN_PEER
        };
        let place = |way: &Way| (way.engine, peers.iter().position(|peer| *peer == way.peer));
        let mut ways: Vec<Way> =
            self.cells.iter().map(|(way, ..)| way.clone()).filter(has).collect();
        ways.sort_by_key(place);
        ways.dedup();
        ways
    }

    pub(crate) fn threads(&self) -> Vec<u32> {
        let mut threads: Vec<u32> = self.cells.iter().map(|(_, threads, _)| *threads).collect();
        threads.sort();
        threads.dedup();
        threads
    }

    pub(crate) fn content(&self, way: &Way, threads: u32) -> Option<Content<'a>> {
        let is_it = |cell: &&(Way, u32, Content)| cell.0 == *way && cell.1 == threads;
        self.cells.iter().find(is_it).map(|(.., content)| *content)
    }

    /// The fastest figure that stands.
    fn fastest(&self) -> f64 {
        let stands = self.measured().filter(|summary| summary.verdict.stands());
        stands.filter_map(|summary| Some(summary.throughput?.median)).fold(0.0, f64::max)
    }
}

fn table(block: &Block, assessment: &Assessment, names: &Labels, style: &Style) -> String {
    let (title, served_by) = (title(block, names), served_by(block, assessment));
    let mut out = style.wrap("", Paint::Plain, &format!("{title}, served by {served_by}"));
    let beside = style.width.saturating_sub(THREADS_WIDTH) / CELL_WIDTH;
    for ways in block.ways().chunks(beside.max(1)) {
        out.push_str(&part(block, ways).render(style));
    }
    out
}

/// The part of a table that has these columns.
fn part(block: &Block, ways: &[Way]) -> Grid {
    let fastest = block.fastest();
    let mut columns = vec![left("threads", 0)];
    columns.extend(ways.iter().map(|way| left(&way.name(), 0)));
    let mut grid = Grid::new(columns);
    for threads in block.threads() {
        let mut above = vec![Cell::new(threads.to_string(), Paint::Plain)];
        let mut below = vec![Cell::new("", Paint::Plain)];
        for way in ways {
            let (figure, spread) = cell(block.content(way, threads), fastest);
            above.push(figure);
            below.push(spread);
        }
        grid.row(above);
        grid.row(below);
    }
    grid
}

/// What all cells of the table share: `cold random 4KiB`, and what else tells it from others.
pub(crate) fn title(block: &Block, names: &Labels) -> String {
    let work = ReadWork {
        io: Io { threads: block.threads()[0], ..block.alike.io },
        engine: block.ways().first().map_or(Engine::Pread, |way| way.engine),
        ..block.alike
    };
    let phrases = names.phrases(&Case::own(Work::Read(work)));
    let is_shared = |axis: &str| !["peer", "engine", "threads"].contains(&axis);
    let alike = &block.alike;
    let first =
        [alike.io.cache.to_string(), alike.io.pattern.to_string(), units::bytes(alike.io.block)];
    let others = phrases.into_iter().filter(|phrase| {
        is_shared(phrase.axis) && !["cache", "pattern", "block"].contains(&phrase.axis)
    });
    joined(first.into_iter().chain(others.map(|phrase| phrase.said)))
}

/// A figure and the line below it.
fn cell(content: Option<Content>, fastest: f64) -> (Cell, Cell) {
    let empty = Cell::new("", Paint::Plain);
    let summary = match content {
        None => return (empty.clone(), empty),
        Some(Content::Skipped) => return (Cell::new("skip", Paint::Faint), empty),
        Some(Content::Measured(summary)) => summary,
    };
    let Some(throughput) = summary.throughput else {
        return (Cell::new(words::verdict(summary), Paint::Void), empty);
    };
    if summary.verdict == Verdict::Void {
        let grave = |finding: &&Finding| finding.severity == Severity::Void;
        let why = summary.findings.iter().find(grave).map_or("", |found| found.code.name());
        return (Cell::new("void", Paint::Void), Cell::new(why, Paint::Faint));
    }
    let mut text = units::rate(throughput.median);
    if summary.verdict == Verdict::Doubtful {
        text.push('?');
    }
    if let Some(idle) = summary.imbalance_percent {
        text.push_str(&format!(" {idle:.0}%"));
    }
    let shade = SHADE_SHARES
        .iter()
        .find(|(share, _)| throughput.median >= share * fastest)
        .map_or(0, |(_, shade)| *shade);
    let spread = words::min_mean_max(&throughput, units::rate);
    (Cell::new(text, Paint::Shade(shade)), Cell::new(spread, Paint::Faint))
}

/// What served the cells, the most first: `device`; `device in 5 and mixed in 1`.
pub(crate) fn served_by(block: &Block, assessment: &Assessment) -> String {
    let mut served: Vec<(String, usize)> = Vec::new();
    for summary in block.measured().filter(|summary| summary.n > 0) {
        let by = words::server(summary, assessment.storage.as_ref());
        match served.iter_mut().find(|(known, _)| *known == by) {
            Some((_, count)) => *count += 1,
            None => served.push((by, 1)),
        }
    }
    match served.as_slice() {
        [] => "nothing: no case has a figure".to_string(),
        [(by, _)] => by.clone(),
        _ => {
            served.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            let each = |(by, count): &(String, usize)| format!("{by} in {count}");
            listed(&served.iter().map(each).collect::<Vec<_>>())
        }
    }
}
