//! Cells in rows and columns, with a heading above each column and a label before each row. Columns
//! that do not fit side by side follow below.

use super::block::PictureBlock;
use super::canvas::{Anchor, Canvas, LINE, WIDTH, Weight};
use super::measure::{BOLD, shortened, widest, wrapped};
use super::palette::{Colour, GRID, INK};

/// The minimum and the maximum width of a column of cells.
pub(crate) const CELL: f64 = 76.0;
const CELL_MOST: f64 = 110.0;
/// Vertical padding of a cell, in total.
const PADDING: f64 = 7.0;

/// What is behind the text of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    Filled(Colour),
    Outlined,
    Hatched,
}

/// The text of a cell, in lines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CellText {
    pub(crate) lines: Vec<String>,
    pub(crate) colour: Colour,
    pub(crate) ground: Ground,
}

/// A row: its label and a cell for each column, of which some are empty.
pub(crate) type CellRow = (String, Vec<Option<CellText>>);

/// How wide the labels and the columns are.
#[derive(Debug, Clone, Copy)]
struct Widths {
    label: f64,
    cell: f64,
}

/// A block for each heading and each row. `corner`: the heading above the labels.
pub(crate) fn cells(
    corner: &str,
    columns: &[String],
    rows: &[CellRow],
) -> Vec<PictureBlock<'static>> {
    let labels = widest(rows.iter().map(|(label, _)| label.as_str()));
    let labels = labels.max(widest([corner]) * BOLD) + 8.0;
    // A figure is whole; other texts are shortened.
    let figures = rows.iter().flat_map(|(_, cells)| cells).flatten();
    let figures = figures.filter(|cell| matches!(cell.ground, Ground::Filled(_)));
    let texts = figures.flat_map(|cell| &cell.lines).map(String::as_str);
    let words = columns.iter().flat_map(|column| column.split_whitespace());
    let least = CELL.max(widest(texts) + 6.0).max(widest(words) * BOLD + 3.0);
    // Cells take precedence: labels can wrap.
    let label = labels.min((WIDTH - (columns.len() as f64).min(4.0) * least).max(64.0));
    let beside = (((WIDTH - label) / least).floor() as usize).max(1);
    let beside = columns.len().div_ceil(columns.len().div_ceil(beside).max(1)).max(1);
    let widths = Widths { label, cell: ((WIDTH - label) / beside as f64).min(CELL_MOST) };
    let mut blocks = Vec::new();
    for (index, columns) in columns.chunks(beside).enumerate() {
        blocks.push(headings(corner, columns, widths));
        blocks.extend(rows.iter().map(|(label, cells)| {
            let cells = cells.iter().skip(index * beside).take(columns.len());
            row(label, cells.cloned().collect(), widths)
        }));
        blocks.push(PictureBlock::gap(8.0));
    }
    blocks
}

fn headings(
    corner: &str,
    columns: &[String],
    Widths { label, cell }: Widths,
) -> PictureBlock<'static> {
    let corner = wrapped(corner, (label - 2.0) / BOLD);
    let of_column = |name: &String| wrapped(name, (cell - 2.0) / BOLD);
    let columns: Vec<Vec<String>> = columns.iter().map(of_column).collect();
    let lines = columns.iter().map(Vec::len).max().unwrap_or(1).max(corner.len());
    PictureBlock::of(LINE * lines as f64 + 6.0, move |canvas, top| {
        canvas.lines(&corner, (0.0, top), Anchor::Start, INK, Weight::Bold);
        for (index, column) in columns.iter().enumerate() {
            let place = (label + cell * (index as f64 + 0.5), top);
            canvas.lines(column, place, Anchor::Middle, INK, Weight::Bold);
        }
    })
}

fn row(label: &str, cells: Vec<Option<CellText>>, widths: Widths) -> PictureBlock<'static> {
    let label = wrapped(label, widths.label - 6.0);
    let lines = cells.iter().flatten().map(|cell| cell.lines.len()).max().unwrap_or(1);
    let height = LINE * lines.max(label.len()) as f64 + PADDING;
    PictureBlock::of(height, move |canvas, top| {
        let middle = top + height / 2.0;
        centered(canvas, &label, (0.0, middle), Anchor::Start, INK);
        for (column, cell) in cells.iter().enumerate() {
            let Some(cell) = cell else { continue };
            let left = widths.label + widths.cell * column as f64;
            let from = (left + 1.0, top + 1.0);
            let to = (left + widths.cell - 1.0, top + height - 1.0);
            match cell.ground {
                Ground::Filled(colour) => canvas.rect(from, to, colour),
                Ground::Outlined => canvas.edge(from, to, GRID),
                Ground::Hatched => canvas.hatch(from, to, GRID),
            }
            let short = |line: &String| shortened(line, widths.cell - 4.0);
            let lines: Vec<String> = cell.lines.iter().map(short).collect();
            let place = (left + widths.cell / 2.0, middle);
            centered(canvas, &lines, place, Anchor::Middle, cell.colour);
        }
    })
}

/// Lines around the height of a place.
fn centered(
    canvas: &Canvas,
    lines: &[String],
    (x, middle): (f64, f64),
    anchor: Anchor,
    colour: Colour,
) {
    let top = middle - LINE * lines.len() as f64 / 2.0;
    canvas.lines(lines, (x, top), anchor, colour, Weight::Normal);
}
