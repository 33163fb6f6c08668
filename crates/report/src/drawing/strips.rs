//! Pictures with a strip for each row, all on one horizontal axis: a note above, the labels, the
//! strips, and a legend below.

use super::Picture;
use super::axis::{Axis, labels_along};
use super::canvas::{Anchor, Canvas, Dash, LINE, WIDTH};
use super::legend::{Legend, Note};
use super::measure::wrapped;
use super::palette::{Colour, FAINT, GRID, INK};

/// The margin of the axis at both sides.
pub(crate) const MARGIN: f64 = 12.0;

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

/// The texts of a row, in lines.
struct Texts {
    label: Vec<String>,
    beside: Vec<String>,
}

impl Texts {
    fn of(row: &Strip) -> Texts {
        let lines = |text: &str, room| match text {
            "" => Vec::new(),
            text => wrapped(text, room),
        };
        let (label, beside) = (lines(&row.label, WIDTH - 4.0), lines(&row.beside, WIDTH - 16.0));
        Texts { label, beside }
    }

    fn height(&self) -> f64 {
        LINE * (self.label.len() + self.beside.len()) as f64
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
    /// `None` with fewer than two rows: nothing would be beside the only one.
    pub(crate) fn picture(self) -> Option<Picture> {
        if self.rows.len() < 2 {
            return None;
        }
        let axis = self.axis.clone().between(MARGIN, WIDTH - MARGIN);
        let note = Note::of(&self.note);
        let texts: Vec<Texts> = self.rows.iter().map(Texts::of).collect();
        let heights: Vec<f64> =
            texts.iter().map(|texts| texts.height() + self.height + BELOW).collect();
        let top = note.height() + 4.0 + LINE;
        let bottom = top + heights.iter().sum::<f64>();
        let height = bottom + LINE + ABOVE_LEGEND + self.legend.height;
        let draw = |canvas: &Canvas| {
            note.draw(canvas, 0.0);
            labels_along(canvas, &axis, top - LINE / 2.0);
            let mut y = top;
            for ((row, texts), height) in self.rows.iter().zip(&texts).zip(&heights) {
                self.draw_row(canvas, (row, texts), &axis, y);
                y += height;
            }
            labels_along(canvas, &axis, bottom + LINE / 2.0);
            self.legend.draw(canvas, bottom + LINE + ABOVE_LEGEND);
        };
        Some(Picture::of(self.name, &self.title, self.alt.clone(), height, draw))
    }

    fn draw_row(&self, canvas: &Canvas, (row, texts): (&Strip, &Texts), axis: &Axis, top: f64) {
        let lines = texts.label.iter().map(|line| (line, 0.0, row.colour));
        let lines = lines.chain(texts.beside.iter().map(|line| (line, MARGIN, FAINT)));
        for (index, (line, x, colour)) in lines.enumerate() {
            canvas.text(line, (x, top + LINE * (index as f64 + 0.5)), Anchor::Start, colour);
        }
        let from = top + texts.height();
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
