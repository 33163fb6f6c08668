//! Pictures of an assessment, as SVG: bars, heat maps, curves and dots.
//!
//! Every value drawn comes from the assessment; this module computes only positions. Pictures are
//! 380 pixels wide, so that phones show their texts without zooming, and as high as needed.

mod palette;
mod canvas;
mod measure;
mod axis;
mod legend;
mod alike;
mod ladder;
mod table;
mod curves;
mod heat;
mod latencies;
mod loads;
mod courses;
mod rounds;
mod compared;

#[cfg(test)]
pub(crate) use measure::width as text_width;
pub(crate) use palette::scheme_css;

use crate::style::printable;
use assess::Assessment;
use assess::records::RecordComparison;
use canvas::WIDTH;
use model::units::{self, ParseError};
use model::view::Layout;

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Unique kebab-case name, for `--svg`.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Alt text.
    pub alt: String,
    /// The `svg` element, for embedding in a page.
    pub svg: String,
}

/// A picture whose name may not be unique yet.
struct Drawing {
    name: String,
    title: String,
    alt: String,
    height: f64,
    /// The SVG elements.
    body: String,
}

impl Drawing {
    /// A drawing of `height` pixels, drawn by `draw`.
    fn of(
        name: &str,
        title: &str,
        alt: String,
        height: f64,
        draw: impl FnOnce(&canvas::Canvas),
    ) -> Drawing {
        let height = height.ceil();
        let body = canvas::drawn(draw);
        Drawing { name: kebab(name), title: printable(title), alt: printable(&alt), height, body }
    }

    fn picture(self) -> Picture {
        let svg = self.svg([0.0, 0.0, WIDTH, self.height], "");
        let Drawing { name, title, alt, .. } = self;
        Picture { name, title, alt, svg }
    }

    /// The `svg` element, showing the area `view`, with `below` behind the drawing.
    fn svg(&self, view: [f64; 4], below: &str) -> String {
        let id = format!("figure-{}", self.name);
        let (view, title, alt) =
            (view.map(|it| it.to_string()).join(" "), escaped(&self.title), escaped(&self.alt));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" id=\"{id}\" \
             viewBox=\"{view}\" role=\"img\" aria-labelledby=\"{id}-title {id}-alt\">\n\
             {below}<title id=\"{id}-title\">{title}</title>\n\
             <desc id=\"{id}-alt\">{alt}</desc>\n{}</svg>\n",
            self.body
        )
    }
}

/// The lower-case letters, digits and single dashes of a text.
fn kebab(text: &str) -> String {
    let dashed: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect();
    dashed.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

/// A text, escaped for XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Makes the names unique, by adding numbers to duplicates.
fn named(drawings: Vec<Drawing>) -> Vec<Drawing> {
    let mut named: Vec<Drawing> = Vec::new();
    for mut drawing in drawings {
        let is_taken = |name: &str| named.iter().any(|other| other.name == name);
        let mut names = (2..).map(|number| format!("{}-{number}", drawing.name));
        if is_taken(&drawing.name) {
            drawing.name = names.find(|name| !is_taken(name)).expect("the range is infinite");
        }
        named.push(drawing);
    }
    named
}

/// The pictures that suit an assessment, most important first.
pub fn pictures(assessment: &Assessment) -> Vec<Picture> {
    drawings(assessment).into_iter().map(Drawing::picture).collect()
}

fn drawings(assessment: &Assessment) -> Vec<Drawing> {
    let mut drawings: Vec<Drawing> = ladder::ladder(assessment).into_iter().collect();
    let heat = heat::heat(assessment);
    let is_heat_first = assessment.view.layout != Layout::Ladder;
    let place = if is_heat_first { 0 } else { drawings.len() };
    drawings.splice(place..place, heat);
    drawings.extend(loads::loads(assessment));
    drawings.extend(curves::curves(assessment));
    drawings.extend(latencies::latencies(assessment));
    drawings.extend(compared::compared(assessment));
    drawings.extend(courses::courses(assessment));
    drawings.extend(rounds::rounds(assessment));
    named(drawings)
}

/// The pictures that suit a comparison of two records.
pub fn pictures_of_records(versus: &RecordComparison) -> Vec<Picture> {
    compared::compared_records(versus).into_iter().map(Drawing::picture).collect()
}

/// A picture as a separate file: with a background, its title and its source.
///
/// # Errors
/// If the assessment has no picture of that name.
pub fn picture_alone(assessment: &Assessment, name: &str) -> Result<String, ParseError> {
    let drawings = drawings(assessment);
    let Some(drawing) = drawings.iter().find(|drawing| drawing.name == name) else {
        let known: Vec<&str> = drawings.iter().map(|drawing| drawing.name.as_str()).collect();
        return Err(units::unknown_name("figure", name, &known));
    };
    Ok(standalone(drawing, assessment))
}

/// The margin around a picture.
const MARGIN: f64 = 12.0;

fn standalone(drawing: &Drawing, assessment: &Assessment) -> String {
    let Assessment { tool, recipe, began, host, .. } = assessment;
    let from = format!("{} {} · {recipe} · {began} · {}", tool.name, tool.version, host.name);
    let title = measure::wrapped(&drawing.title, WIDTH / 1.12);
    let from = legend::Note::of(&from);
    let above = canvas::LINE * title.len() as f64 + from.height() + 8.0;
    let body = canvas::drawn(|canvas| {
        for (index, line) in title.iter().enumerate() {
            let place = (0.0, canvas::LINE * (index as f64 + 0.5));
            let (anchor, weight) = (canvas::Anchor::Start, canvas::Weight::Bold);
            canvas.weighed_text(line, place, anchor, palette::INK, weight);
        }
        from.draw(canvas, canvas::LINE * title.len() as f64);
    });
    let (width, height) = (WIDTH + 2.0 * MARGIN, above + drawing.height + 2.0 * MARGIN);
    let (x, y) = (-MARGIN, -MARGIN - above);
    let below = format!(
        "<!-- {} {} {} -->\n<style>\n{}</style>\n<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" \
         height=\"{height}\" fill=\"#{:06X}\"/>\n<g transform=\"translate(0 {})\">\n{body}</g>",
        crate::MARK,
        env!("CARGO_PKG_VERSION"),
        drawing.name,
        scheme_css(),
        palette::PAPER.light,
        -above
    );
    drawing.svg([x, y, width, height], &below)
}
