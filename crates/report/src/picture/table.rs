//! A heat map: cells on two axes, shaded by how close each is to the best in its table.

use crate::drawing::{
    CELL, CellRow, CellText, FAINT, GRID, Ground, Key, Picture, PictureBlock, SHADES, VOID, cells,
    legend, on_shade, round, width,
};
use crate::pivot::SHADE_SHARES;
use crate::words::{count, if_any};
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
pub(super) enum HeatCell {
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
pub(super) struct HeatMap {
    pub(super) name: String,
    pub(super) title: String,
    /// What a cell shows, and what all cells share.
    pub(super) note: Vec<String>,
    /// What the rows are: the heading above their labels.
    pub(super) corner: String,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<(String, Vec<HeatCell>)>,
    pub(super) better: Better,
}

impl HeatCell {
    /// The cell of a case: its figure as `said`, or why it has no valid one.
    pub(super) fn of(summary: &Summary, said: Option<(f64, Vec<String>)>) -> HeatCell {
        if summary.n == 0 {
            return HeatCell::Void(vec![summary.verdict.to_string()]);
        }
        if summary.verdict == Verdict::Void {
            let grave = |finding: &&Finding| finding.severity == Severity::Void;
            let code = summary.findings.iter().find(grave).map(|found| found.code.name());
            let words = code.map(camel_words).unwrap_or_default();
            return HeatCell::Void([vec!["void".to_string()], words].concat());
        }
        match said {
            None => HeatCell::Empty,
            Some((value, mut lines)) => {
                if let (Verdict::Doubtful, Some(first)) = (summary.verdict, lines.first_mut()) {
                    first.push('?');
                }
                HeatCell::Figure(value, lines)
            }
        }
    }

    /// `best`: the best figure of the table.
    fn drawn(&self, best: f64, better: Better) -> Option<CellText> {
        let (lines, colour, ground) = match self {
            HeatCell::Empty => return None,
            HeatCell::Skipped => (vec!["skip".to_string()], FAINT, Ground::Outlined),
            HeatCell::Void(lines) => (lines.clone(), VOID, Ground::Hatched),
            HeatCell::Figure(value, lines) => {
                let share = match better {
                    Better::High => value / best,
                    Better::Low => best / value,
                };
                let found = SHADE_SHARES.iter().find(|(least, _)| share >= *least);
                let shade = found.map_or(0, |(_, shade)| usize::from(*shade));
                (lines.clone(), on_shade(shade), Ground::Filled(SHADES[shade]))
            }
        };
        Some(CellText { lines, colour, ground })
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

impl HeatMap {
    /// Row by row: the label of the row, the name of the column, and the cell.
    fn cells(&self) -> impl Iterator<Item = (&str, &str, &HeatCell)> {
        self.rows.iter().flat_map(|(row, cells)| {
            let of_columns = cells.iter().zip(&self.columns);
            of_columns.map(move |(cell, column)| (row.as_str(), column.as_str(), cell))
        })
    }

    fn voids(&self) -> usize {
        self.cells().filter(|(.., cell)| matches!(cell, HeatCell::Void(_))).count()
    }

    /// Draws the table; `None` with fewer than two figures, which nothing could be compared with.
    pub(super) fn draw(&self) -> Option<Picture> {
        let figures = self.cells().filter_map(|(.., cell)| match cell {
            HeatCell::Figure(value, _) => Some(*value),
            _ => None,
        });
        let figures: Vec<f64> = figures.collect();
        let best = figures.iter().copied().reduce(match self.better {
            Better::High => f64::max,
            Better::Low => f64::min,
        });
        let best = best.filter(|_| figures.len() > 1)?;
        let drawn = |(label, cells): &(String, Vec<HeatCell>)| {
            let cells = cells.iter().map(|cell| cell.drawn(best, self.better));
            (label.clone(), cells.collect())
        };
        let rows: Vec<CellRow> = self.rows.iter().map(drawn).collect();
        let shade = match self.better {
            Better::High => "shade: share of the highest",
            Better::Low => "shade: how near to the lowest",
        };
        let note: Vec<&str> = self.note.iter().map(String::as_str).collect();
        let mut blocks = vec![PictureBlock::note(&note), PictureBlock::gap(6.0)];
        blocks.extend(cells(&self.corner, &self.columns, &rows));
        blocks.extend([PictureBlock::note(&[shade]), legend(self.entries())]);
        Some(Picture::of(&self.name, &self.title, self.alt(best), blocks))
    }

    fn entries(&self) -> impl Iterator<Item = (Key, String)> {
        let shares = SHADE_SHARES.iter().map(|(share, shade)| {
            let least = format!("≥ {}", round(&units::percent(*share)));
            (Key::Fill(SHADES[usize::from(*shade)]), least)
        });
        let less = (Key::Fill(SHADES[0]), "less".to_string());
        let void = (Key::Hatched(GRID), "no valid figure".to_string());
        shares.chain([less]).chain((self.voids() > 0).then_some(void))
    }

    fn alt(&self, best: f64) -> String {
        let first = self.cells().find_map(|(row, column, cell)| match cell {
            HeatCell::Figure(value, lines) if *value == best => {
                Some(format!("{column}, {row}: {}", lines.first()?))
            }
            _ => None,
        });
        let end = if self.better == Better::High { "highest" } else { "lowest" };
        let best = first.map_or(String::new(), |first| format!(" The {end} is {first}."));
        let void = if_any(self.voids(), |void| {
            format!(" {} without a valid figure.", count(void, "cell"))
        });
        let (rows, columns) = (count(self.rows.len(), "row"), count(self.columns.len(), "column"));
        format!("A heat map of {rows} and {columns}.{best}{void}")
    }
}
