//! Draws texts, lines and shapes as SVG; places are in pixels of the view box.

use super::escaped;
use super::palette::Colour;
use std::cell::RefCell;
use std::fmt::Arguments;

/// The width of every view box: readable on a phone without zooming.
pub(crate) const WIDTH: f64 = 380.0;
/// The size of all texts.
pub(crate) const TEXT: f64 = 12.0;
/// The line height of texts.
pub(crate) const LINE: f64 = 15.0;

/// Pixels from the upper left corner.
pub(crate) type Point = (f64, f64);

/// Which end of a text is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The weight of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Normal,
    Bold,
}

/// The dashes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dash {
    Whole,
    Long,
    Short,
}

/// The shape of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Dot,
    Square,
    Diamond,
    Triangle,
    Ring,
    Cross,
}

/// One mark for each line of a picture.
pub(crate) const MARKS: [Mark; 6] =
    [Mark::Dot, Mark::Square, Mark::Diamond, Mark::Triangle, Mark::Ring, Mark::Cross];

/// The surface to draw on.
pub(crate) struct Canvas {
    /// One element per line.
    elements: RefCell<String>,
}

/// The elements that `draw` draws, without an enclosing `svg`.
pub(crate) fn drawn(draw: impl FnOnce(&Canvas)) -> String {
    let canvas = Canvas { elements: RefCell::default() };
    draw(&canvas);
    format!(
        "<g font-size=\"{TEXT}\" font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, \
         Arial, sans-serif\">\n{}</g>\n",
        canvas.elements.into_inner()
    )
}

/// Rounds to a tenth of a pixel.
fn fine(pixels: f64) -> f64 {
    // Adding zero turns -0 into 0.
    (pixels * 10.0).round() / 10.0 + 0.0
}

fn rgb(colour: Colour) -> String {
    format!("#{:06X}", colour.light)
}

fn points(places: &[Point]) -> String {
    let point = |(x, y): &Point| format!("{},{}", fine(*x), fine(*y));
    places.iter().map(point).collect::<Vec<_>>().join(" ")
}

impl Canvas {
    fn put(&self, element: Arguments) {
        self.elements.borrow_mut().push_str(&format!("{element}\n"));
    }

    /// A line of text, vertically centered on `place`.
    pub(crate) fn text(&self, text: &str, place: Point, anchor: Anchor, colour: Colour) {
        self.weighed(text, place, anchor, colour, Weight::Normal);
    }

    /// Lines of text below one another, from the `place` of the first one's upper edge.
    pub(crate) fn lines(
        &self,
        lines: &[String],
        place: Point,
        anchor: Anchor,
        colour: Colour,
        weight: Weight,
    ) {
        for (index, line) in lines.iter().enumerate() {
            let y = place.1 + LINE * (index as f64 + 0.5);
            self.weighed(line, (place.0, y), anchor, colour, weight);
        }
    }

    fn weighed(&self, text: &str, place: Point, anchor: Anchor, colour: Colour, weight: Weight) {
        if text.is_empty() {
            return;
        }
        let weight = match weight {
            Weight::Normal => "",
            Weight::Bold => " font-weight=\"bold\"",
        };
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y, colour, text) = (fine(place.0), fine(place.1), rgb(colour), escaped(text));
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y}\" dy=\"0.5ex\" text-anchor=\"{anchor}\" \
             fill=\"{colour}\"{weight}>{text}</text>"
        ));
    }

    /// A filled rectangle.
    pub(crate) fn rect(&self, from: Point, to: Point, colour: Colour) {
        let (x, y, colour) = (fine(from.0), fine(from.1), rgb(colour));
        let (width, height) = (fine(fine(to.0) - x), fine(fine(to.1) - y));
        self.put(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\"/>"
        ));
    }

    /// The outline of a rectangle.
    pub(crate) fn edge(&self, from: Point, to: Point, colour: Colour) {
        let corners = [from, (to.0, from.1), to, (from.0, to.1), from];
        self.line(&corners, Dash::Whole, colour, 1.0);
    }

    /// A hatched rectangle with its outline.
    pub(crate) fn hatch(&self, from: Point, to: Point, colour: Colour) {
        const APART: f64 = 6.0;
        let ((x0, y0), (x1, y1)) = (from, to);
        let height = y1 - y0;
        let mut foot = x0 - height + APART / 2.0;
        while foot < x1 {
            // Upward to the right from the bottom, clipped to the rectangle.
            let (low, high) = (foot.max(x0), (foot + height).min(x1));
            if high > low {
                let ends = [(low, y1 - (low - foot)), (high, y1 - (high - foot))];
                self.line(&ends, Dash::Whole, colour, 1.0);
            }
            foot += APART;
        }
        self.edge(from, to, colour);
    }

    /// A line through all `places`.
    pub(crate) fn line(&self, places: &[Point], dash: Dash, colour: Colour, width: f64) {
        let dash = match dash {
            Dash::Whole => "",
            Dash::Long => " stroke-dasharray=\"7 3\"",
            Dash::Short => " stroke-dasharray=\"3\"",
        };
        let (colour, points) = (rgb(colour), points(places));
        self.put(format_args!(
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dash} \
             points=\"{points}\"/>"
        ));
    }

    /// An interval: a line with a bar at each end.
    pub(crate) fn whiskers(&self, ends: [Point; 2], colour: Colour) {
        const HALF: f64 = 3.0;
        let [(x0, y0), (x1, y1)] = ends;
        let (across, along) = if y0 == y1 { (0.0, HALF) } else { (HALF, 0.0) };
        self.line(&ends, Dash::Whole, colour, 1.2);
        for (x, y) in [(x0, y0), (x1, y1)] {
            self.line(
                &[(x - across, y - along), (x + across, y + along)],
                Dash::Whole,
                colour,
                1.2,
            );
        }
    }

    /// A single mark.
    pub(crate) fn mark(&self, mark: Mark, (x, y): Point, colour: Colour) {
        const R: f64 = 3.4;
        let at = |(dx, dy): Point| (x + dx * R, y + dy * R);
        let circle = |paint: &str| {
            let (x, y) = (fine(x), fine(y));
            self.put(format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{R}\" {paint}/>"));
        };
        let filled = |corners: &[Point]| {
            let corners: Vec<Point> = corners.iter().map(|place| at(*place)).collect();
            let (colour, points) = (rgb(colour), points(&corners));
            self.put(format_args!("<polygon fill=\"{colour}\" points=\"{points}\"/>"));
        };
        match mark {
            Mark::Dot => circle(&format!("fill=\"{}\"", rgb(colour))),
            Mark::Ring => {
                circle(&format!("fill=\"none\" stroke=\"{}\" stroke-width=\"1.4\"", rgb(colour)))
            }
            Mark::Square => filled(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            Mark::Diamond => filled(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
            Mark::Triangle => filled(&[(0.0, -1.2), (1.2, 0.9), (-1.2, 0.9)]),
            Mark::Cross => {
                self.line(&[at((-1.0, -1.0)), at((1.0, 1.0))], Dash::Whole, colour, 1.6);
                self.line(&[at((-1.0, 1.0)), at((1.0, -1.0))], Dash::Whole, colour, 1.6);
            }
        }
    }
}
