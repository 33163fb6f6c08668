//! A plot: shapes between a horizontal and a vertical axis, with a grid and the labels of both.

use super::axis::{DrawnAxis, labels_along};
use super::block::PictureBlock;
use super::canvas::{Anchor, Canvas, Dash, LINE, WIDTH};
use super::measure::widest;
use super::palette::{FAINT, GRID};
use super::shape::Shape;

/// Space on the right for the last label below, if nothing else is there.
const RIGHT: f64 = 14.0;
/// Between a label and its edge.
const GAP: f64 = 6.0;

pub(crate) struct Plot {
    pub(crate) x: DrawnAxis,
    pub(crate) y: DrawnAxis,
    /// The height of the area between the axes.
    pub(crate) height: f64,
    /// Other names of values of the vertical axis, on the right.
    pub(crate) right: Vec<(f64, &'static str)>,
    pub(crate) shapes: Vec<Shape>,
}

impl Plot {
    /// The width of the labels on the left.
    pub(crate) fn left(&self) -> f64 {
        widest(self.y.ticks.iter().map(|tick| tick.label.as_str())) + GAP + 2.0
    }

    /// The only plot of a picture.
    pub(crate) fn alone(self) -> PictureBlock<'static> {
        let left = self.left();
        self.block(left)
    }

    /// The plot with its vertical axis at `left`, which plots below one another share.
    pub(crate) fn block(self, left: f64) -> PictureBlock<'static> {
        let right = match widest(self.right.iter().map(|(_, name)| *name)) {
            0.0 => RIGHT,
            wide => wide + GAP,
        };
        let x = self.x.between(left, WIDTH - right);
        let line = |label: &str| if label.is_empty() { 0.0 } else { LINE };
        let (over, under) = (self.y.label(), x.label());
        let above = line(&over) + 9.0;
        let height = above + self.height + LINE * 1.6 + line(&under);
        PictureBlock::of(height, move |canvas, top| {
            canvas.text(&over, (0.0, top + 2.0 + LINE / 2.0), Anchor::Start, FAINT);
            let (from, to) = (top + above, top + above + self.height);
            let y = self.y.between(to, from);
            frame(canvas, &x, &y);
            for (value, name) in &self.right {
                canvas.text(name, (WIDTH - right + GAP, y.at(*value)), Anchor::Start, FAINT);
            }
            let middle = ((left + WIDTH - right) / 2.0, to + LINE * 1.9);
            canvas.text(&under, middle, Anchor::Middle, FAINT);
            for shape in &self.shapes {
                shape.draw(canvas, &x, &y);
            }
        })
    }
}

/// The grid, and the ticks of both axes.
fn frame(canvas: &Canvas, x: &DrawnAxis, y: &DrawnAxis) {
    let ((left, right), (bottom, top)) = (x.ends(), y.ends());
    for tick in &y.ticks {
        let at = y.at(tick.value);
        canvas.line(&[(left, at), (right, at)], Dash::Whole, GRID, 1.0);
        canvas.text(&tick.label, (left - GAP, at), Anchor::End, FAINT);
    }
    for (tick, _) in x.fitting() {
        let at = x.at(tick.value);
        canvas.line(&[(at, top), (at, bottom)], Dash::Whole, GRID, 1.0);
    }
    canvas.line(&[(left, bottom), (right, bottom)], Dash::Whole, FAINT, 1.0);
    labels_along(canvas, x, bottom + LINE * 0.8);
}
