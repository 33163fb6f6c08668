//! A heat map: cells on two axes, shaded by how close each is to the best in its table.

use crate::drawing::Picture;
use crate::drawing::canvas::{Anchor, Canvas, LINE, WIDTH, Weight};
use crate::drawing::legend::{Key, Legend, Note};
use crate::drawing::measure::{bold_width, round, shortened, width, wrapped};
use crate::drawing::palette::{FAINT, GRID, INK, SHADES, VOID, on_shade};
use crate::pivot::SHADE_SHARES;
use crate::words::count;
use assess::finding::{Finding, Severity, Verdict};
use assess::summary::Summary;
use model::units;

/// Whether high or low figures are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Better {
    High,
    Low,
}

/// The content of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Empty,
    /// A valid figure: its value, and its text.
    Figure(f64, Vec<String>),
    /// No valid figure, with the reason.
    Void(Vec<String>),
    /// Not measured.
    Skipped,
}

/// A heat map, ready to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) title: String,
    /// What a cell shows, and what all cells share.
    pub(super) note: String,
    /// What the rows are: the heading above their labels.
    pub(super) corner: String,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<(String, Vec<Cell>)>,
    pub(super) better: Better,
}

/// The minimum width of a column of cells.
const CELL: f64 = 76.0;
/// Vertical padding of a cell, in total.
const PADDING: f64 = 7.0;

impl Cell {
    /// The cell of a case: its figure as `said`, or why it has no valid one.
    pub(super) fn of(summary: &Summary, said: Option<(f64, Vec<String>)>) -> Cell {
        if summary.n == 0 {
            return Cell::Void(vec![summary.verdict.to_string()]);
        }
        if summary.verdict == Verdict::Void {
            let grave = |finding: &&Finding| finding.severity == Severity::Void;
            let code = summary.findings.iter().find(grave).map(|found| found.code.name());
            let words = code.map(camel_words).unwrap_or_default();
            return Cell::Void([vec!["void".to_string()], words].concat());
        }
        match said {
            None => Cell::Empty,
            Some((value, mut lines)) => {
                if let (Verdict::Doubtful, Some(first)) = (summary.verdict, lines.first_mut()) {
                    first.push('?');
                }
                Cell::Figure(value, lines)
            }
        }
    }
}

/// `CacheLeak` on one line if it fits into a cell, otherwise one word per line.
fn camel_words(code: &str) -> Vec<String> {
    if width(code) < CELL - 4.0 {
        return vec![code.to_string()];
    }
    let mut words: Vec<String> = Vec::new();
    for c in code.chars() {
        match words.last_mut() {
            Some(word) if !c.is_uppercase() => word.push(c),
            _ => words.push(c.to_string()),
        }
    }
    words
}

/// Columns that are drawn side by side, and their width.
struct Part<'a> {
    columns: &'a [String],
    first: usize,
    width: f64,
    label: f64,
    heading: usize,
}

impl Table {
    fn parts(&self) -> Vec<Part<'_>> {
        let labels = self.rows.iter().map(|(label, _)| width(label));
        let widest = labels.fold(bold_width(&self.corner), f64::max) + 8.0;
        let texts = self.rows.iter().flat_map(|(_, cells)| cells).flat_map(|cell| match cell {
            Cell::Figure(_, lines) => lines.as_slice(),
            _ => &[],
        });
        let least = texts.map(|text| width(text) + 6.0).fold(CELL, f64::max);
        let count = self.columns.len() as f64;
        // Cells take precedence: labels can wrap.
        let label = widest.min((WIDTH - count.min(4.0) * least).max(64.0));
        let beside = (((WIDTH - label) / least).floor() as usize).max(1);
        let parts = self.columns.len().div_ceil(beside).max(1);
        let beside = self.columns.len().div_ceil(parts).max(1);
        let cell = ((WIDTH - label) / beside as f64).min(110.0);
        let part = |(index, columns)| {
            let headings = |name: &String| wrapped(name, (cell - 2.0) / 1.12).len();
            let heading = <[String]>::iter(columns).map(headings).max().unwrap_or(1);
            let corner = wrapped(&self.corner, (label - 2.0) / 1.12).len();
            let heading = heading.max(corner);
            Part { columns, first: index * beside, width: cell, label, heading }
        };
        self.columns.chunks(beside).enumerate().map(part).collect()
    }

    /// The best valid figure, if any.
    fn best(&self) -> Option<f64> {
        let cells = self.rows.iter().flat_map(|(_, cells)| cells);
        let values = cells.filter_map(|cell| match cell {
            Cell::Figure(value, _) => Some(*value),
            _ => None,
        });
        values.reduce(match self.better {
            Better::High => f64::max,
            Better::Low => f64::min,
        })
    }

    fn shade(&self, value: f64) -> usize {
        let best = self.best().unwrap_or(value);
        let share = match self.better {
            Better::High => value / best,
            Better::Low => best / value,
        };
        let found = SHADE_SHARES.iter().find(|(least, _)| share >= *least);
        found.map_or(0, |(_, shade)| usize::from(*shade))
    }

    fn row_height(&self, index: usize, part: &Part) -> f64 {
        let (label, cells) = &self.rows[index];
        let of_cell = |cell: &Cell| match cell {
            Cell::Figure(_, lines) | Cell::Void(lines) => lines.len(),
            Cell::Empty | Cell::Skipped => 1,
        };
        let lines = cells.iter().map(of_cell).max().unwrap_or(1);
        let lines = lines.max(wrapped(label, part.label - 6.0).len());
        LINE * lines as f64 + PADDING
    }

    fn legend(&self) -> Legend {
        let shares = SHADE_SHARES.iter().map(|(share, shade)| {
            (
                Key::Fill(SHADES[usize::from(*shade)]),
                format!("≥ {}", round(&units::percent(*share))),
            )
        });
        let less = (Key::Fill(SHADES[0]), "less".to_string());
        let has_void =
            self.rows.iter().flat_map(|(_, cells)| cells).any(|cell| matches!(cell, Cell::Void(_)));
        let void = has_void.then(|| (Key::Hatched(GRID), "no valid figure".to_string()));
        Legend::of(shares.chain([less]).chain(void))
    }

    /// Draws the table; `None` with fewer than two figures, which nothing could be compared with.
    pub(super) fn draw(&self) -> Option<Picture> {
        let cells = self.rows.iter().flat_map(|(_, cells)| cells);
        if cells.filter(|cell| matches!(cell, Cell::Figure(..))).count() < 2 {
            return None;
        }
        let parts = self.parts();
        let note = Note::of(&self.note);
        let best = match self.better {
            Better::High => "shade: share of the highest",
            Better::Low => "shade: how near to the lowest",
        };
        let (shade, legend) = (Note::of(best), self.legend());
        let heading = |part: &Part| LINE * part.heading as f64 + 6.0;
        let rows = |part: &Part| -> f64 {
            (0..self.rows.len()).map(|index| self.row_height(index, part)).sum()
        };
        let tables: f64 = parts.iter().map(|part| heading(part) + rows(part) + 8.0).sum();
        let height = note.height() + 6.0 + tables + shade.height() + legend.height;
        let draw = |canvas: &Canvas| {
            note.draw(canvas, 0.0);
            let mut top = note.height() + 6.0;
            for part in &parts {
                self.draw_heading(canvas, part, top);
                top += heading(part);
                for index in 0..self.rows.len() {
                    self.draw_row(canvas, index, part, top);
                    top += self.row_height(index, part);
                }
                top += 8.0;
            }
            shade.draw(canvas, top);
            legend.draw(canvas, top + shade.height());
        };
        Some(Picture::of(&self.name, &self.title, self.alt(), height, draw))
    }

    fn draw_heading(&self, canvas: &Canvas, part: &Part, top: f64) {
        let lines = |text: &str, room: f64, x: f64, anchor: Anchor| {
            for (index, line) in wrapped(text, (room - 2.0) / 1.12).iter().enumerate() {
                let place = (x, top + LINE * (index as f64 + 0.5));
                canvas.weighed_text(line, place, anchor, INK, Weight::Bold);
            }
        };
        lines(&self.corner, part.label, 0.0, Anchor::Start);
        for (index, column) in part.columns.iter().enumerate() {
            let middle = part.label + part.width * (index as f64 + 0.5);
            lines(column, part.width, middle, Anchor::Middle);
        }
    }

    fn draw_row(&self, canvas: &Canvas, index: usize, part: &Part, top: f64) {
        let (label, cells) = &self.rows[index];
        let height = self.row_height(index, part);
        let middle = top + height / 2.0;
        let label = wrapped(label, part.label - 6.0);
        let at =
            |lines: usize, line: usize| middle + LINE * (line as f64 - (lines as f64 - 1.0) / 2.0);
        for (line, text) in label.iter().enumerate() {
            canvas.text(text, (0.0, at(label.len(), line)), Anchor::Start, INK);
        }
        for (column, cell) in cells[part.first..].iter().take(part.columns.len()).enumerate() {
            let left = part.label + part.width * column as f64;
            let (from, to) =
                ((left + 1.0, top + 1.0), (left + part.width - 1.0, top + height - 1.0));
            let (lines, colour) = match cell {
                Cell::Empty => continue,
                Cell::Skipped => (&["skip".to_string()][..], FAINT),
                Cell::Void(lines) => {
                    canvas.hatch(from, to, GRID);
                    (lines.as_slice(), VOID)
                }
                Cell::Figure(value, lines) => {
                    let shade = self.shade(*value);
                    canvas.rect(from, to, SHADES[shade]);
                    (lines.as_slice(), on_shade(shade))
                }
            };
            if !matches!(cell, Cell::Figure(..)) {
                canvas.edge(from, to, GRID, 1.0);
            }
            for (line, text) in lines.iter().enumerate() {
                let place = (left + part.width / 2.0, at(lines.len(), line));
                canvas.text(&shortened(text, part.width - 4.0), place, Anchor::Middle, colour);
            }
        }
    }

    fn alt(&self) -> String {
        let cells = || {
            self.rows.iter().flat_map(|(row, cells)| {
                cells.iter().zip(&self.columns).map(move |(cell, column)| (row, column, cell))
            })
        };
        let best = self.best();
        let first = cells().find_map(|(row, column, cell)| match cell {
            Cell::Figure(value, lines) if Some(*value) == best => {
                Some(format!("{column}, {row}: {}", lines.first()?))
            }
            _ => None,
        });
        let (rows, columns) = (count(self.rows.len(), "row"), count(self.columns.len(), "column"));
        let best = first.map_or("None has a valid figure.".to_string(), |first| {
            let end = if self.better == Better::High { "highest" } else { "lowest" };
            format!("The {end} is {first}.")
        });
        let void = cells().filter(|(.., cell)| matches!(cell, Cell::Void(_))).count();
        let void = match void {
            0 => String::new(),
            void => format!(" {} without a valid figure.", count(void, "cell")),
        };
        format!("A heat map of {rows} and {columns}. {best}{void}")
    }
}
