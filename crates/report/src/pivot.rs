//! Tables with one axis as rows and all others as columns, one for each heading. Cases that would
//! make no column get rows in a table below.

use crate::concerned::marks;
use crate::document::{Block, Remark, Table};
use crate::grid::{Grid, GridCell, left};
use crate::group::grouped;
use crate::labels::{self, CaseLabels};
use crate::metric::Metric;
use crate::phrases::{self, joined};
use crate::style::Paint;
use crate::table;
use crate::words::{self, NONE, listed};
use assess::Assessment;
use assess::finding::{Finding, Severity, Verdict};
use assess::summary::Summary;
use assess::trend::FigureUnit;
use model::axis::{self, Axis};
use model::case::{Case, OWN_PEER};
use model::plan::Role;
use model::units;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The shades from the deepest to the second, each with the minimum share of the table's fastest
/// figure.
pub(crate) const SHADE_SHARES: [(f64, u8); 4] = [(0.9, 4), (0.7, 3), (0.5, 2), (0.3, 1)];

/// Series with fewer rows, or with less than half of the longest, become no column.
const STEPS_LEAST: usize = 2;

/// The content of a cell.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CellContent<'a> {
    Measured(&'a Summary),
    Skipped,
}

/// A row: its value as a number, and as text.
type PivotRow = (u64, String);

/// A column: cases that differ only in the axis of the rows.
#[derive(Debug)]
pub(crate) struct PivotColumn<'a> {
    pub(crate) name: String,
    /// Any of its cases.
    case: &'a Case,
    cells: BTreeMap<PivotRow, CellContent<'a>>,
}

/// A table: the cases below one heading.
#[derive(Debug)]
pub(crate) struct Matrix<'a> {
    pub(crate) title: String,
    pub(crate) series: Vec<PivotColumn<'a>>,
}

impl<'a> PivotColumn<'a> {
    pub(crate) fn content(&self, row: &PivotRow) -> Option<CellContent<'a>> {
        self.cells.get(row).copied()
    }

    fn measured(&self) -> impl Iterator<Item = &'a Summary> {
        self.cells.values().filter_map(|content| match content {
            CellContent::Measured(summary) => Some(*summary),
            CellContent::Skipped => None,
        })
    }
}

impl<'a> Matrix<'a> {
    pub(crate) fn measured(&self) -> impl Iterator<Item = &'a Summary> {
        self.series.iter().flat_map(PivotColumn::measured)
    }

    pub(crate) fn rows(&self) -> Vec<PivotRow> {
        let all = self.series.iter().flat_map(|series| series.cells.keys().cloned());
        all.collect::<BTreeSet<PivotRow>>().into_iter().collect()
    }

    /// Drops columns that another peer only skipped, because the skips list them, and columns with
    /// too few rows, because the table below has them.
    fn keep_columns(&mut self) {
        self.series
            .retain(|series| series.case.peer == OWN_PEER || series.measured().next().is_some());
        let most = self.series.iter().map(|series| series.cells.len()).max().unwrap_or_default();
        let least = STEPS_LEAST.max(most.div_ceil(2));
        self.series.retain(|series| series.cells.len() >= least);
    }

    /// The fastest valid figure.
    fn fastest(&self) -> f64 {
        self.measured().filter(|it| it.verdict.stands()).filter_map(rate).fold(0.0, f64::max)
    }
}

/// The tables of the view; empty if it names no axis for the rows.
pub(crate) fn matrices(assessment: &Assessment) -> Vec<Matrix<'_>> {
    let view = &assessment.view();
    let Some(rows) = view.rows else { return Vec::new() };
    let labels = CaseLabels::below_axes(assessment, &view.group);
    let asked = assessment.cases.iter().filter(|summary| summary.role == Role::Asked);
    let measured = asked.map(|summary| (&summary.case, CellContent::Measured(summary)));
    let skipped = assessment.skips.iter().map(|skip| (&skip.case, CellContent::Skipped));
    let mut blocks: Vec<Matrix> = Vec::new();
    let (mut of_title, mut of_alike) = (HashMap::new(), HashMap::new());
    for (case, content) in measured.chain(skipped) {
        let Some(row) = row(rows, case) else { continue };
        let title = labels::heading(&view.group, case);
        let block = *of_title.entry(title.clone()).or_insert_with(|| {
            blocks.push(Matrix { title, series: Vec::new() });
            blocks.len() - 1
        });
        let others = axis::AXES.iter().filter(|axis| axis.name != rows.name && axis.name != "time");
        let alike: Vec<Option<String>> = others.map(|axis| axis.value(case)).collect();
        let all = &mut blocks[block].series;
        let series = *of_alike.entry((block, alike)).or_insert_with(|| {
            all.push(PivotColumn { name: String::new(), case, cells: BTreeMap::new() });
            all.len() - 1
        });
        // The figure of a pruned case stands.
        let cells = &mut all[series].cells;
        match content {
            CellContent::Measured(_) => drop(cells.insert(row, content)),
            CellContent::Skipped => drop(cells.entry(row).or_insert(content)),
        }
    }
    blocks.iter_mut().for_each(Matrix::keep_columns);
    // A table with only skips would repeat the list of skips.
    blocks.retain(|block| block.measured().next().is_some());
    for series in blocks.iter_mut().flat_map(|block| &mut block.series) {
        series.name = name(&labels, rows, series.case);
    }
    blocks
}

fn row(axis: &Axis, case: &Case) -> Option<PivotRow> {
    match axis.quantity(case)? {
        axis::Quantity::Whole(number) => Some((number, axis.value(case)?)),
        _ => Some((0, axis.value(case)?)),
    }
}

/// The name of a column: the label of any of its cases, without the axis of the rows. Where all
/// cases are alike in the rest, it is their engine.
fn name(labels: &CaseLabels, rows: &Axis, case: &Case) -> String {
    let phrases = labels.phrases(case).into_iter().filter(|phrase| phrase.axis != rows.name);
    match joined(phrases.map(|phrase| phrase.short)) {
        name if name.is_empty() => {
            let engine = Axis::named("engine").and_then(|engine| engine.value(case));
            engine.unwrap_or_else(|| case.kind().name().to_string())
        }
        name => name,
    }
}

/// The tables, and a row for each case that is in none of them.
pub(crate) fn pivot(assessment: &Assessment) -> Vec<Block> {
    let matrices = matrices(assessment);
    let lines: Vec<&Metric> =
        assessment.view().cells.iter().filter_map(|name| Metric::known(name)).collect();
    let mut all = Vec::new();
    if !matrices.is_empty() {
        all.push(Block::aside(legend(&matrices, &lines, assessment)));
        all.push(Block::Shades { what: SHADES_ARE, all: shades() });
    }
    if assessment.view().rows.is_some_and(|rows| rows.name == "working_set") {
        all.push(Block::aside(caches(assessment)));
    }
    for matrix in &matrices {
        let title = match matrix.title.as_str() {
            "" => format!("by {}", corner(assessment)),
            title => title.to_string(),
        };
        let title = match served_rows(matrix, assessment) {
            Some(_) => title,
            None => format!("{title}, served by {}", served_by(matrix, assessment)),
        };
        let is_void = |summary: &Summary| summary.n > 0 && summary.verdict == Verdict::Void;
        let void = matrix.measured().any(is_void).then(|| Remark::of_all(words::VOID));
        let legend = void.into_iter().collect();
        let grid = grid(matrix, &lines, assessment);
        all.push(Block::Table(Table { title, grid, legend }));
    }
    let measured = matrices.iter().flat_map(Matrix::measured);
    let with_cell: HashSet<&str> = measured.map(|summary| summary.id.as_str()).collect();
    let is_rest = |summary: &Summary| !with_cell.contains(summary.id.as_str());
    all.extend(table::parts(assessment, &is_rest));
    all
}

/// The name of the rows' axis, for readers.
pub(crate) fn corner(assessment: &Assessment) -> String {
    assessment.view().rows.map_or(String::new(), |rows| rows.name.replace('_', " "))
}

fn legend(blocks: &[Matrix], lines: &[&Metric], assessment: &Assessment) -> String {
    let figures = words::figures_are(assessment);
    let has_idle = blocks.iter().flat_map(Matrix::measured).any(|it| idle(it).is_some());
    let idle = if has_idle {
        ", and the mean idle share of its threads, which wait for the slowest"
    } else {
        ""
    };
    let said = format!("figures: {figures}{idle}");
    let has_marks =
        blocks.iter().flat_map(Matrix::measured).any(|it| !marks(it, assessment).is_empty());
    let letters = if has_marks { "; a letter marks the rows of a finding" } else { "" };
    let columns = blocks.iter().flat_map(|block| &block.series).map(|series| series.name.as_str());
    let short: String = phrases::letters(columns).iter().map(|said| format!("; {said}")).collect();
    let doubtful = format!("? marks a doubtful row{letters}{short}");
    let below = |line: &&Metric| match line.name {
        "spread" => format!("{} of the rounds", line.title),
        _ => line.title.to_string(),
    };
    let below: Vec<String> = lines.iter().skip(1).map(below).collect();
    match below.is_empty() {
        true => format!("{said}; {doubtful}"),
        false => format!("{said}; below it {}; {doubtful}", listed(&below)),
    }
}

/// What the colors of a table tell.
const SHADES_ARE: &str = "share of a table's fastest";

/// The colors, deepest first, each with its shares.
fn shades() -> Vec<(String, u8)> {
    let all = SHADE_SHARES.map(|(share, shade)| (format!("≥ {}", units::percent(share)), shade));
    all.into_iter().chain([("less".to_string(), 0)]).collect()
}

fn caches(assessment: &Assessment) -> String {
    let sizes: Vec<String> =
        assessment.header.host.caches.iter().map(|bytes| units::bytes(*bytes)).collect();
    match sizes.is_empty() {
        true => "the OS reports no caches".to_string(),
        false => format!("data caches, as the OS reports them: {}", listed(&sizes)),
    }
}

/// The table, with all its columns.
fn grid(block: &Matrix, lines: &[&Metric], assessment: &Assessment) -> Grid {
    let (rows, fastest) = (block.rows(), block.fastest());
    let served = served_rows(block, assessment);
    let names = block.series.iter().map(|series| series.name.as_str());
    let names = [corner(assessment)].into_iter().chain(names.map(str::to_string));
    let names = names.chain(served.iter().map(|_| "served by".to_string()));
    let mut grid = Grid::split(names.map(|name| left(&name, 0)).collect());
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<Vec<GridCell>> = (block.series.iter())
            .map(|series| cell(series.content(row), lines, assessment, fastest))
            .collect();
        for line in 0..lines.len() {
            let once = |text: &str| GridCell::new(if line == 0 { text } else { "" }, Paint::Plain);
            let served = served.iter().map(|served| once(&served[index]));
            let cells = cells.iter().map(|lines| lines[line].clone());
            grid.row([once(&row.1)].into_iter().chain(cells).chain(served).collect());
        }
    }
    grid
}

/// A figure, and the lines below it.
fn cell(
    content: Option<CellContent>,
    lines: &[&Metric],
    assessment: &Assessment,
    fastest: f64,
) -> Vec<GridCell> {
    let with = |first: GridCell| {
        let below = lines.iter().skip(1).map(|_| GridCell::new("", Paint::Plain));
        [first].into_iter().chain(below).collect()
    };
    let summary = match content {
        None => return with(GridCell::new("", Paint::Plain)),
        Some(CellContent::Skipped) => return with(GridCell::new("skip", Paint::Faint)),
        Some(CellContent::Measured(summary)) => summary,
    };
    let texts: Vec<String> = lines.iter().map(|line| line.cell(summary, assessment)).collect();
    let Some(figure) = texts.first().filter(|text| *text != NONE) else {
        return with(GridCell::new(summary.verdict.name(), Paint::Void));
    };
    let (mark, paint) = match summary.verdict {
        Verdict::Void => ("", Paint::Void),
        Verdict::Doubtful => ("?", shade(summary, fastest)),
        _ => ("", shade(summary, fastest)),
    };
    let idle = idle(summary).map_or(String::new(), |idle| format!(" {idle:.0}%"));
    let grave = |finding: &&Finding| finding.severity == Severity::Void;
    let void = summary.findings.iter().find(grave).map(|found| found.code.name());
    let below = texts.iter().skip(1).enumerate().map(|(index, text)| {
        let why = void.filter(|_| index == 0).map(str::to_string);
        GridCell::new(why.unwrap_or_else(|| text.clone()), Paint::Faint)
    });
    let marks = marks(summary, assessment);
    let apart = if marks.is_empty() { "" } else { " " };
    let figure = format!("{figure}{mark}{idle}{apart}{marks}");
    let figure = GridCell::of_case(&summary.id, figure, paint);
    [figure].into_iter().chain(below).collect()
}

/// The mean idle share of the threads in per cent, which follows the figure of a valid cell.
pub(crate) fn idle(summary: &Summary) -> Option<f64> {
    summary.imbalance_percent.filter(|_| summary.verdict.stands())
}

/// The throughput; `None` if the main figure is a time.
fn rate(summary: &Summary) -> Option<f64> {
    let is_of_bytes = FigureUnit::of(&summary.case) == FigureUnit::BytesPerSecond;
    Some(summary.throughput.filter(|_| is_of_bytes)?.median)
}

fn shade(summary: &Summary, fastest: f64) -> Paint {
    let Some(rate) = rate(summary) else { return words::verdict_paint(summary.verdict) };
    let shade = SHADE_SHARES.iter().find(|(share, _)| rate >= share * fastest);
    Paint::Shade(shade.map_or(0, |(_, shade)| *shade))
}

/// What served each row; `None` if the cells of one differ, or if it is the same for all rows.
fn served_rows(block: &Matrix, assessment: &Assessment) -> Option<Vec<String>> {
    let of_row = |row: &PivotRow| {
        let cells = block.series.iter().filter_map(|series| match series.content(row)? {
            CellContent::Measured(summary) => Some(summary).filter(|summary| summary.n > 0),
            CellContent::Skipped => None,
        });
        let by = cells.map(|summary| words::server(summary, assessment.header.storage.as_ref()));
        by.collect::<BTreeSet<String>>()
    };
    let rows: Vec<BTreeSet<String>> = block.rows().iter().map(of_row).collect();
    let differ = rows.iter().flatten().collect::<BTreeSet<_>>().len() > 1;
    let is_clear = differ && rows.iter().all(|by| by.len() <= 1);
    let named = |by: BTreeSet<String>| by.into_iter().next().unwrap_or_default();
    is_clear.then(|| rows.into_iter().map(named).collect())
}

/// What served the cells, most frequent first: `device`; `device in 5 and mixed in 1`.
pub(crate) fn served_by(block: &Matrix, assessment: &Assessment) -> String {
    servers(block.measured(), assessment)
}

/// The same for any cases.
pub(crate) fn servers<'a>(
    cases: impl Iterator<Item = &'a Summary>,
    assessment: &Assessment,
) -> String {
    let by = |summary: &&Summary| words::server(summary, assessment.header.storage.as_ref());
    let mut served = grouped(cases.filter(|summary| summary.n > 0), by);
    match served.as_slice() {
        [] => "nothing: no case has a figure".to_string(),
        [(by, _)] => by.clone(),
        _ => {
            served.sort_by_key(|(_, cases)| std::cmp::Reverse(cases.len()));
            let each = |(by, cases): &(String, Vec<_>)| format!("{by} in {}", cases.len());
            listed(&served.iter().map(each).collect::<Vec<_>>())
        }
    }
}
