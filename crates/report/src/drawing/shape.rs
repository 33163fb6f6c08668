//! What is drawn between axes. Places are values of the horizontal and of the vertical axis.

use super::axis::Axis;
use super::canvas::{Canvas, Dash, MARKS, Mark, Point};
use super::legend::Key;
use super::palette::{Colour, SERIES};

/// The width of lines that show something measured.
const LINE_WIDTH: f64 = 1.7;

/// Values of the horizontal and of the vertical axis.
pub(crate) type Values = (f64, f64);

/// A line, an area or a mark.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    Line(Vec<Values>, Dash, Colour),
    /// A line across the whole height, at a value of the horizontal axis.
    Upright(f64, Dash, Colour),
    /// A line with a bar at each end.
    Interval([Values; 2], Colour),
    Mark(Values, Mark, Colour),
    /// A filled rectangle between two corners.
    Area([Values; 2], Colour),
    /// A hatched rectangle between two corners.
    Hatched([Values; 2], Colour),
}

impl Shape {
    pub(crate) fn draw(&self, canvas: &Canvas, x: &Axis, y: &Axis) {
        let place = |(a, b): Values| -> Point { (x.at(a), y.at(b)) };
        match self {
            Shape::Line(through, dash, colour) => {
                let places: Vec<Point> = through.iter().copied().map(place).collect();
                canvas.line(&places, *dash, *colour, LINE_WIDTH);
            }
            Shape::Upright(at, dash, colour) => {
                let (at, (from, to)) = (x.at(*at), y.ends());
                canvas.line(&[(at, from), (at, to)], *dash, *colour, LINE_WIDTH);
            }
            Shape::Interval(ends, colour) => canvas.whiskers(ends.map(place), *colour),
            Shape::Mark(at, mark, colour) => canvas.mark(*mark, place(*at), *colour),
            Shape::Area([from, to], colour) => canvas.rect(place(*from), place(*to), *colour),
            Shape::Hatched([from, to], colour) => canvas.hatch(place(*from), place(*to), *colour),
        }
    }
}

/// A value of the horizontal axis with its interval, at half the height.
pub(crate) fn in_strip(
    at: f64,
    interval: Option<(f64, f64)>,
    mark: Mark,
    colour: Colour,
) -> Vec<Shape> {
    let interval = interval.map(|(low, high)| Shape::Interval([(low, 0.5), (high, 0.5)], colour));
    interval.into_iter().chain([Shape::Mark((at, 0.5), mark, colour)]).collect()
}

/// A value along an axis, with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measured {
    pub(crate) at: Values,
    /// The ends of the interval of the vertical value.
    pub(crate) interval: Option<(f64, f64)>,
}

/// A line through values, with a mark at each.
pub(crate) fn joined(index: usize, dash: Dash, points: &[Measured]) -> Vec<Shape> {
    series(index, dash, points.iter().map(|point| point.at).collect(), points)
}

/// The line of this index, with marks at some values.
pub(crate) fn series(
    index: usize,
    dash: Dash,
    line: Vec<Values>,
    points: &[Measured],
) -> Vec<Shape> {
    let (colour, mark) = looks(index);
    let mut shapes = vec![Shape::Line(line, dash, colour)];
    for Measured { at, interval } in points {
        let interval = interval.map(|(low, high)| [(at.0, low), (at.0, high)]);
        shapes.extend(interval.map(|ends| Shape::Interval(ends, colour)));
        shapes.push(Shape::Mark(*at, mark, colour));
    }
    shapes
}

/// How the legend shows the line of this index.
pub(crate) fn key(index: usize, dash: Dash) -> Key {
    let (colour, mark) = looks(index);
    Key::Line(colour, dash, Some(mark))
}

fn looks(index: usize) -> (Colour, Mark) {
    (SERIES[index % SERIES.len()], MARKS[index % MARKS.len()])
}
