//! Pictures with a strip for each row, all on one horizontal axis: a note above, the labels, the
//! strips, and a legend below.

use super::Picture;
use super::axis::{Axis, labels_along};
use super::canvas::{Anchor, Canvas, Dash, LINE, WIDTH};
use super::legend::{Legend, Note};
use super::measure::wrapped;
use super::palette::{Colour, FAINT, GRID, INK};

/// The margin of the axis at both sides.
pub(crate) const LEFT: f64 = 12.0;

/// The gap below a strip.
const BELOW: f64 = 9.0;

/// The gap above the legend.
const ABOVE_LEGEND: f64 = 8.0;

/// Draws on an axis, between two heights.
pub(crate) type Draw<'a> = Box<dyn Fn(&Canvas, &Axis, (f64, f64)) + 'a>;

/// A row: its label, a fainter text below it if that is not empty, and what is drawn.
pub(crate) struct Strip<'a> {
    pub(crate) label: String,
    pub(crate) colour: Colour,
    pub(crate) beside: String,
    pub(crate) draw: Draw<'a>,
}

impl<'a> Strip<'a> {
    pub(crate) fn of(
        label: &str,
        beside: String,
        draw: impl Fn(&Canvas, &Axis, (f64, f64)) + 'a,
    ) -> Strip<'a> {
        Strip { label: label.to_string(), colour: INK, beside, draw: Box::new(draw) }
    }
}

/// The whole picture.
pub(crate) struct Strips<'a> {
    pub(crate) name: &'a str,
    pub(crate) title: String,
    pub(crate) alt: String,
    pub(crate) note: String,
    /// From edge to edge: it is moved between the margins.
    pub(crate) axis: Axis,
    /// The value that all are held against, which has a line.
    pub(crate) origin: Option<f64>,
    pub(crate) legend: Legend,
    /// The height of a strip.
    pub(crate) height: f64,
    pub(crate) rows: Vec<Strip<'a>>,
}

impl Strips<'_> {
    pub(crate) fn picture(self) -> Picture {
        let axis = self.axis.clone().between(LEFT, WIDTH - LEFT);
        let note = Note::of(&self.note);
        let labels: Vec<Vec<String>> =
            self.rows.iter().map(|row| wrapped(&row.label, WIDTH - 4.0)).collect();
        let heights: Vec<f64> = self
            .rows
            .iter()
            .zip(&labels)
            .map(|(row, label)| self.above(row, label) + self.height + BELOW)
            .collect();
        let top = note.height() + 4.0 + LINE;
        let bottom = top + heights.iter().sum::<f64>();
        let height = bottom + LINE + ABOVE_LEGEND + self.legend.height;
        Picture::of(self.name, &self.title, self.alt.clone(), height, |canvas| {
            note.draw(canvas, 0.0);
            labels_along(canvas, &axis, top - LINE / 2.0);
            let mut y = top;
            for ((row, label), height) in self.rows.iter().zip(&labels).zip(&heights) {
                self.draw_row(canvas, (row, label), &axis, y);
                y += height;
            }
            labels_along(canvas, &axis, bottom + LINE / 2.0);
            self.legend.draw(canvas, bottom + LINE + ABOVE_LEGEND);
        })
    }

    /// The height of a row's texts.
    fn above(&self, row: &Strip, label: &[String]) -> f64 {
        LINE * (label.len() + usize::from(!row.beside.is_empty())) as f64
    }

    fn draw_row(&self, canvas: &Canvas, (row, label): (&Strip, &[String]), axis: &Axis, top: f64) {
        for (index, line) in label.iter().enumerate() {
            let y = top + LINE * (index as f64 + 0.5);
            canvas.text(line, (0.0, y), Anchor::Start, row.colour);
        }
        let from = top + self.above(row, label);
        canvas.text(&row.beside, (LEFT, from - LINE / 2.0), Anchor::Start, FAINT);
        let to = from + self.height;
        for tick in &axis.ticks {
            let x = axis.at(tick.value);
            canvas.line([(x, from - 1.0), (x, to + 1.0)], Dash::Whole, GRID, 1.0);
        }
        if let Some(origin) = self.origin.map(|origin| axis.at(origin)) {
            canvas.line([(origin, from - 1.0), (origin, to + 1.0)], Dash::Whole, FAINT, 1.2);
        }
        (row.draw)(canvas, axis, (from, to));
    }
}
