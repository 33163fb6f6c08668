//! Strips: a row of shapes for each label, all on one horizontal axis.

use super::axis::{DrawnAxis, labels_along};
use super::block::PictureBlock;
use super::canvas::{Anchor, Dash, LINE, WIDTH};
use super::measure::widest;
use super::palette::{Colour, FAINT, GRID, INK};
use super::shape::Shape;

/// The margin of the axis at both sides.
const MARGIN: f64 = 12.0;
/// Between a strip and its figure.
const GAP: f64 = 8.0;
/// The height of the shapes of a row.
const STRIP: f64 = 14.0;
/// The gap below a strip.
const BELOW: f64 = 8.0;

/// A row. Its shapes lie between 0, the upper edge, and 1, the lower one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Strip {
    /// Above the row; empty unless a group begins with it.
    pub(crate) heading: String,
    pub(crate) label: String,
    pub(crate) colour: Colour,
    /// A fainter text below the label; may be empty.
    pub(crate) beside: String,
    /// To the right of the shapes, or after the label if there are none; may be empty.
    pub(crate) figure: String,
    pub(crate) shapes: Vec<Shape>,
}

impl Strip {
    pub(crate) fn of(label: &str, shapes: Vec<Shape>) -> Strip {
        let [heading, beside, figure] = [const { String::new() }; 3];
        Strip { heading, label: label.to_string(), colour: INK, beside, figure, shapes }
    }

    fn block(self, axis: &DrawnAxis, origin: Option<f64>) -> PictureBlock<'static> {
        let is_empty = self.shapes.is_empty();
        let label = match is_empty && !self.figure.is_empty() {
            true => format!("{}: {}", self.label, self.figure),
            false => self.label.clone(),
        };
        let mut blocks = vec![
            PictureBlock::heading(&self.heading),
            PictureBlock::text(&label, 0.0, self.colour),
            PictureBlock::text(&self.beside, MARGIN, FAINT),
        ];
        if !is_empty {
            blocks.push(self.drawn(axis.clone(), origin));
        }
        blocks.push(PictureBlock::gap(BELOW));
        PictureBlock::stack(blocks)
    }

    fn drawn(self, x: DrawnAxis, origin: Option<f64>) -> PictureBlock<'static> {
        PictureBlock::of(STRIP, move |canvas, top| {
            let grid = x.ticks.iter().map(|tick| (tick.value, GRID));
            for (at, colour) in grid.chain(origin.map(|origin| (origin, FAINT))) {
                let at = x.at(at);
                canvas.line(&[(at, top - 1.0), (at, top + STRIP + 1.0)], Dash::Whole, colour, 1.0);
            }
            let y = DrawnAxis::of_ends((0.0, 1.0), |_| String::new()).between(top, top + STRIP);
            for shape in &self.shapes {
                shape.draw(canvas, &x, &y);
            }
            let place = (WIDTH - 1.0, top + STRIP / 2.0);
            canvas.text(&self.figure, place, Anchor::End, self.colour);
        })
    }
}

/// The rows, with the axis above and below them. `origin`: the value that all are held against,
/// which has a line.
pub(crate) fn strips(
    axis: DrawnAxis,
    origin: Option<f64>,
    rows: Vec<Strip>,
) -> PictureBlock<'static> {
    let drawn = rows.iter().filter(|row| !row.shapes.is_empty());
    let right = match widest(drawn.map(|row| row.figure.as_str())) {
        0.0 => MARGIN,
        wide => wide + GAP,
    };
    let axis = axis.between(MARGIN, WIDTH - right);
    let labels = || {
        let axis = axis.clone();
        PictureBlock::of(LINE, move |canvas, top| labels_along(canvas, &axis, top + LINE / 2.0))
    };
    let mut blocks =
        vec![PictureBlock::text(&axis.label(), 0.0, FAINT), PictureBlock::gap(2.0), labels()];
    blocks.extend(rows.into_iter().map(|row| row.block(&axis, origin)));
    blocks.push(labels());
    PictureBlock::stack(blocks)
}
