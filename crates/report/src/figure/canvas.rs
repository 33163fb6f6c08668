//! Where a picture is drawn: texts, lines and shapes at places in pixels of a view box, written as
//! SVG by plotters.

use super::palette::Colour;
use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, Drawable, PathElement, PointCollection, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, RGBColor, ShapeStyle, TextStyle};

/// The width of each view box: a phone shows it without a zoom.
pub(super) const WIDTH: f64 = 380.0;
/// The size of all texts.
pub(super) const TEXT: f64 = 12.0;
/// From a line of text to the next.
pub(super) const LINE: f64 = 15.0;

/// Plotters draws at whole places: in a picture this many times as large they are fine enough.
const FINE: f64 = 10.0;
/// Plotters writes a size of text divided by this.
const PLOTTERS_TEXT: f64 = 1.24;

/// A place in pixels from the upper left corner.
pub(super) type Place = (f64, f64);

/// Which end of a text is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How heavy a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Normal,
    Bold,
}

/// What a line looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dash {
    Whole,
    Long,
    Short,
}

/// What a point looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Dot,
    Square,
    Diamond,
    Triangle,
    Ring,
    Cross,
}

/// The marks of the lines of a picture, one each.
pub(super) const MARKS: [Mark; 6] =
    [Mark::Dot, Mark::Square, Mark::Diamond, Mark::Triangle, Mark::Ring, Mark::Cross];

/// Where a picture is drawn.
pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

/// What `draw` draws within `height` pixels: the elements, without the `svg` around them.
pub(super) fn drawn(height: f64, draw: impl FnOnce(&Canvas)) -> String {
    let mut svg = String::new();
    {
        let size = ((WIDTH * FINE) as u32, (height * FINE) as u32);
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let canvas = Canvas { area };
        draw(&canvas);
        canvas.area.present().expect("a string takes all that is drawn");
    }
    let (_, within) = svg.split_once(">\n").expect("plotters begins with the svg");
    let within = within.trim_end().trim_end_matches("</svg>");
    // What all elements share is said once, around them.
    let within = within
        .replace(" opacity=\"1\"", "")
        .replace(" font-family=\"sans-serif\"", "")
        .replace(&format!(" font-size=\"{}\"", TEXT * FINE), "")
        .replace(" \"/>", "\"/>")
        .replace("\n</text>", "</text>");
    let lines: Vec<&str> = within.lines().collect();
    let mut out = String::with_capacity(within.len());
    for line in lines {
        out.push_str(line);
        // The text of a text is on a line of its own in what plotters writes.
        if !line.starts_with("<text") || line.ends_with("</text>") {
            out.push('\n');
        }
    }
    format!(
        "<g transform=\"scale({})\" font-size=\"{}\" font-family=\"system-ui, -apple-system, \
         'Segoe UI', Helvetica, Arial, sans-serif\">\n{out}</g>\n",
        1.0 / FINE,
        TEXT * FINE
    )
}

fn fine((x, y): Place) -> (i32, i32) {
    ((x * FINE).round() as i32, (y * FINE).round() as i32)
}

fn rgb(colour: Colour) -> RGBColor {
    let [_, red, green, blue] = colour.light.to_be_bytes();
    RGBColor(red, green, blue)
}

fn stroke(colour: Colour, width: f64) -> ShapeStyle {
    ShapeStyle::from(rgb(colour)).stroke_width((width * FINE).round() as u32)
}

impl<'a> Canvas<'a> {
    fn put<E>(&self, element: E)
    where
        for<'e> &'e E: PointCollection<'e, (i32, i32)>,
        E: Drawable<SVGBackend<'a>>,
    {
        self.area.draw(&element).expect("a string takes all that is drawn");
    }

    /// A line of text whose middle height is at `place`.
    pub(super) fn text(&self, text: &str, place: Place, anchor: Anchor, colour: Colour) {
        self.weighed_text(text, place, anchor, colour, Weight::Normal);
    }

    /// The same of some weight.
    pub(super) fn weighed_text(
        &self,
        text: &str,
        place: Place,
        anchor: Anchor,
        colour: Colour,
        weight: Weight,
    ) {
        if text.is_empty() {
            return;
        }
        let style = match weight {
            Weight::Normal => FontStyle::Normal,
            Weight::Bold => FontStyle::Bold,
        };
        let size = TEXT * FINE * PLOTTERS_TEXT;
        let font = FontDesc::new(FontFamily::SansSerif, size, style);
        let across = match anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let colour = rgb(colour);
        let style = TextStyle::from(font).color(&colour).pos(Pos::new(across, VPos::Center));
        self.put(Text::new(text.to_string(), fine(place), style));
    }

    /// A filled rectangle.
    pub(super) fn rect(&self, from: Place, to: Place, colour: Colour) {
        self.put(Rectangle::new([fine(from), fine(to)], rgb(colour).filled()));
    }

    /// The edge of a rectangle.
    pub(super) fn edge(&self, from: Place, to: Place, colour: Colour, width: f64) {
        let corners = [from, (to.0, from.1), to, (from.0, to.1), from];
        self.path(&corners, colour, width);
    }

    /// A rectangle of slanting lines.
    pub(super) fn hatch(&self, from: Place, to: Place, colour: Colour) {
        const APART: f64 = 6.0;
        let ((x0, y0), (x1, y1)) = (from, to);
        let height = y1 - y0;
        let mut foot = x0 - height + APART / 2.0;
        while foot < x1 {
            // From the foot upward to the right, as far as it is within the rectangle.
            let (low, high) = (foot.max(x0), (foot + height).min(x1));
            if high > low {
                self.path(&[(low, y1 - (low - foot)), (high, y1 - (high - foot))], colour, 1.0);
            }
            foot += APART;
        }
    }

    /// A line through all of `points`.
    pub(super) fn path(&self, points: &[Place], colour: Colour, width: f64) {
        let points: Vec<(i32, i32)> = points.iter().copied().map(fine).collect();
        self.put(PathElement::new(points, stroke(colour, width)));
    }

    /// A straight line.
    pub(super) fn line(&self, ends: [Place; 2], dash: Dash, colour: Colour, width: f64) {
        let (on, off) = match dash {
            Dash::Whole => return self.path(&ends, colour, width),
            Dash::Long => (7.0, 3.0),
            Dash::Short => (3.0, 3.0),
        };
        let [(x0, y0), (x1, y1)] = ends;
        let length = (x1 - x0).hypot(y1 - y0);
        let at = |along: f64| {
            let share = along.min(length) / length;
            (x0 + (x1 - x0) * share, y0 + (y1 - y0) * share)
        };
        let mut along = 0.0;
        while along < length {
            self.path(&[at(along), at(along + on)], colour, width);
            along += on + off;
        }
    }

    /// An interval: a line with a bar at each end.
    pub(super) fn whiskers(&self, ends: [Place; 2], colour: Colour) {
        const HALF: f64 = 3.0;
        let [(x0, y0), (x1, y1)] = ends;
        let (across, along) = if y0 == y1 { (0.0, HALF) } else { (HALF, 0.0) };
        self.path(&ends, colour, 1.2);
        for (x, y) in [(x0, y0), (x1, y1)] {
            self.path(&[(x - across, y - along), (x + across, y + along)], colour, 1.2);
        }
    }

    /// A point.
    pub(super) fn mark(&self, mark: Mark, (x, y): Place, colour: Colour) {
        const R: f64 = 3.4;
        let at = |(dx, dy): Place| (x + dx * R, y + dy * R);
        let filled = |corners: &[Place]| {
            let corners: Vec<(i32, i32)> = corners.iter().map(|place| fine(at(*place))).collect();
            self.put(Polygon::new(corners, rgb(colour).filled()));
        };
        match mark {
            Mark::Dot => {
                let radius = (R * FINE) as i32;
                self.put(Circle::new(fine((x, y)), radius, rgb(colour).filled()));
            }
            Mark::Ring => {
                let radius = (R * FINE) as i32;
                self.put(Circle::new(fine((x, y)), radius, stroke(colour, 1.4)));
            }
            Mark::Square => filled(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            Mark::Diamond => filled(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
            Mark::Triangle => filled(&[(0.0, -1.2), (1.2, 0.9), (-1.2, 0.9)]),
            Mark::Cross => {
                self.path(&[at((-1.0, -1.0)), at((1.0, 1.0))], colour, 1.6);
                self.path(&[at((-1.0, 1.0)), at((1.0, -1.0))], colour, 1.6);
            }
        }
    }
}
