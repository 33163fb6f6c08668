//! What is drawn between axes. Places are values of the horizontal and of the vertical axis.

use super::axis::DrawnAxis;
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
    pub(crate) fn draw(&self, canvas: &Canvas, x: &DrawnAxis, y: &DrawnAxis) {
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

/// A value of both axes, and the ends of its vertical interval.
pub(crate) type MeasuredPoint = (Values, Option<(f64, f64)>);

/// A line with marks, and its text in the legend.
pub(crate) struct Series {
    pub(crate) label: String,
    pub(crate) dash: Dash,
    pub(crate) line: Vec<Values>,
    pub(crate) marks: Vec<MeasuredPoint>,
}

impl Series {
    /// A line through its marks.
    pub(crate) fn through(label: &str, dash: Dash, marks: Vec<MeasuredPoint>) -> Series {
        let line = marks.iter().map(|(at, _)| *at).collect();
        Series { label: label.to_string(), dash, line, marks }
    }
}

/// The shapes of these lines, each in its own color and with its own mark, and their entries in the
/// legend.
pub(crate) fn drawn(all: Vec<Series>) -> (Vec<Shape>, Vec<(Key, String)>) {
    let (mut shapes, mut entries) = (Vec::new(), Vec::new());
    for (index, Series { label, dash, line, marks }) in all.into_iter().enumerate() {
        let (colour, mark) = (SERIES[index % SERIES.len()], MARKS[index % MARKS.len()]);
        entries.push((Key::Line(colour, dash, Some(mark)), label));
        shapes.push(Shape::Line(line, dash, colour));
        for (at, interval) in marks {
            let interval = interval.map(|(low, high)| [(at.0, low), (at.0, high)]);
            shapes.extend(interval.map(|ends| Shape::Interval(ends, colour)));
            shapes.push(Shape::Mark(at, mark, colour));
        }
    }
    (shapes, entries)
}
