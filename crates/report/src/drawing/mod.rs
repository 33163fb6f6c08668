//! What pictures are drawn with, as SVG. They are 380 pixels wide, so that phones show their texts
//! without zooming, and as high as needed.

mod palette;
mod canvas;
mod measure;
mod axis;
mod block;
mod legend;
mod shape;
mod plot;
mod strips;
mod cells;

pub(crate) use axis::{DrawnAxis, range};
pub(crate) use block::PictureBlock;
pub(crate) use canvas::{Dash, Mark, WIDTH};
pub(crate) use cells::{CELL, CellRow, CellText, Ground, cells};
pub(crate) use legend::{Key, legend, void_key};
pub(crate) use measure::{round, shortened, width};
pub(crate) use palette::{Colour, FAINT, GRID, INK, SERIES, SHADES, VOID, on_shade, scheme_css};
pub(crate) use plot::Plot;
pub(crate) use shape::{Series, Shape, drawn, in_strip};
pub(crate) use strips::{Strip, strips};

use crate::style::printable;

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Unique kebab-case name, for `--svg`.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Alt text.
    pub alt: String,
    height: f64,
    /// The SVG elements.
    body: String,
}

/// The margin around a picture in a file of its own.
const MARGIN: f64 = 12.0;

impl Picture {
    /// A picture of blocks below one another. Its name may not be unique yet.
    pub(crate) fn of(name: &str, title: &str, alt: String, blocks: Vec<PictureBlock>) -> Picture {
        let all = PictureBlock::stack(blocks);
        let (height, body) = (all.height.ceil(), canvas::drawn(|canvas| all.draw(canvas, 0.0)));
        Picture { name: kebab(name), title: printable(title), alt: printable(&alt), height, body }
    }

    /// The `svg` element, for embedding in a page.
    pub fn svg(&self) -> String {
        self.showing([0.0, 0.0, WIDTH, self.height], "")
    }

    /// About how large its element is.
    pub(crate) fn bytes(&self) -> usize {
        self.body.len() + self.alt.len()
    }

    /// The `svg` element, showing the area `view`, with `below` behind the picture.
    fn showing(&self, view: [f64; 4], below: &str) -> String {
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

    /// A file of its own: with a background, its title, and where it is from.
    pub(crate) fn alone(&self, origin: &str) -> String {
        let head = PictureBlock::stack(vec![
            PictureBlock::heading(&self.title),
            PictureBlock::note(&[origin]),
            PictureBlock::gap(8.0),
        ]);
        let (above, body) = (head.height, canvas::drawn(|canvas| head.draw(canvas, 0.0)));
        let (width, height) = (WIDTH + 2.0 * MARGIN, above + self.height + 2.0 * MARGIN);
        let (x, y) = (-MARGIN, -MARGIN - above);
        let below = format!(
            "<!-- {} {} {} -->\n<style>\n{}</style>\n<rect x=\"{x}\" y=\"{y}\" \
             width=\"{width}\" height=\"{height}\" fill=\"#{:06X}\"/>\n\
             <g transform=\"translate(0 {})\">\n{body}</g>",
            crate::MARK,
            env!("CARGO_PKG_VERSION"),
            self.name,
            scheme_css(),
            palette::PAPER.light,
            -above
        );
        self.showing([x, y, width, height], &below)
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
