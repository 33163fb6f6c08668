//! The meaning of the marks, below a picture.

use super::block::PictureBlock;
use super::canvas::{Anchor, Canvas, Dash, LINE, Mark, Point, WIDTH, Weight};
use super::measure::{widest, wrapped};
use super::palette::{Colour, INK, VOID};

/// The mark that an entry explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// A filled area.
    Fill(Colour),
    /// A hatched area.
    Hatched(Colour),
    /// A line with its mark.
    Line(Colour, Dash, Option<Mark>),
    /// A mark.
    Point(Colour, Mark),
}

/// A key with the lines of its text, and where it is.
type Entry = (Key, Vec<String>, Point);

/// The width of a key, and the gap before its text.
const KEY: f64 = 18.0;
const GAP: f64 = 5.0;
/// The gap between two entries.
const APART: f64 = 11.0;
/// The gap above all.
const ABOVE: f64 = 8.0;

/// The meaning of the marks, side by side while they fit, as the last part of a picture. A mark
/// without a text needs no explanation.
pub(crate) fn legend(entries: impl IntoIterator<Item = (Key, String)>) -> PictureBlock<'static> {
    let (mut placed, mut x, mut y): (Vec<Entry>, f64, f64) = (Vec::new(), 0.0, ABOVE);
    let mut height = 0.0f64;
    for (key, text) in entries.into_iter().filter(|(_, text)| !text.is_empty()) {
        let lines = wrapped(&text, WIDTH - KEY - GAP - 2.0);
        let taken = KEY + GAP + widest(lines.iter().map(String::as_str));
        if x > 0.0 && x + taken > WIDTH - 1.0 {
            (x, y) = (0.0, height);
        }
        height = height.max(y + LINE * lines.len() as f64);
        placed.push((key, lines, (x, y)));
        x += taken + APART;
    }
    PictureBlock::of(height, move |canvas, top| {
        for (key, lines, (x, y)) in &placed {
            draw_key(canvas, *key, (*x, top + y + LINE / 2.0));
            let place = (x + KEY + GAP, top + y);
            canvas.lines(lines, place, Anchor::Start, INK, Weight::Normal);
        }
    })
}

fn draw_key(canvas: &Canvas, key: Key, (x, y): (f64, f64)) {
    let (from, to) = ((x + 2.0, y - 5.0), (x + KEY - 2.0, y + 5.0));
    match key {
        Key::Fill(colour) => canvas.rect(from, to, colour),
        Key::Hatched(colour) => canvas.hatch(from, to, colour),
        Key::Line(colour, dash, mark) => {
            canvas.line(&[(x + 1.0, y), (x + KEY - 1.0, y)], dash, colour, 1.8);
            if let Some(mark) = mark {
                canvas.mark(mark, (x + KEY / 2.0, y), colour);
            }
        }
        Key::Point(colour, mark) => canvas.mark(mark, (x + KEY / 2.0, y), colour),
    }
}

/// The entry for void figures.
pub(crate) fn void_key() -> (Key, String) {
    (Key::Hatched(VOID), "void: not what it claims to be".to_string())
}
