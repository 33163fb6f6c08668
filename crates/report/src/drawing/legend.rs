//! The meaning of the marks, in lines above or below a picture.

use super::block::Block;
use super::canvas::{Anchor, Canvas, Dash, LINE, Mark, WIDTH};
use super::measure::{width, wrapped};
use super::palette::{Colour, FAINT, INK, VOID};

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

/// Keys with their texts, laid out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Legend {
    entries: Vec<Entry>,
    /// Its height in pixels.
    pub(crate) height: f64,
}

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    key: Key,
    lines: Vec<String>,
    x: f64,
    y: f64,
}

/// The width of a key, and the gap before its text.
const KEY: f64 = 18.0;
const GAP: f64 = 5.0;
/// The gap between two entries.
const APART: f64 = 11.0;

impl Legend {
    /// Lays out entries side by side while they fit. A mark without a text needs no explanation.
    pub(crate) fn of(entries: impl IntoIterator<Item = (Key, String)>) -> Legend {
        let (mut placed, mut x, mut y): (Vec<Entry>, f64, f64) = (Vec::new(), 0.0, 0.0);
        let mut height = 0.0f64;
        for (key, text) in entries.into_iter().filter(|(_, text)| !text.is_empty()) {
            let lines = wrapped(&text, WIDTH - KEY - GAP - 2.0);
            let wide = lines.iter().map(|line| width(line)).fold(0.0, f64::max);
            let taken = KEY + GAP + wide;
            if x > 0.0 && x + taken > WIDTH - 1.0 {
                (x, y) = (0.0, height);
            }
            height = height.max(y + LINE * lines.len() as f64);
            placed.push(Entry { key, lines, x, y });
            x += taken + APART;
        }
        Legend { entries: placed, height }
    }

    /// Draws it below `top`.
    pub(crate) fn draw(&self, canvas: &Canvas, top: f64) {
        for Entry { key, lines, x, y } in &self.entries {
            let middle = top + y + LINE / 2.0;
            draw_key(canvas, *key, (*x, middle));
            for (index, line) in lines.iter().enumerate() {
                let at = (x + KEY + GAP, middle + LINE * index as f64);
                canvas.text(line, at, Anchor::Start, INK);
            }
        }
    }
}

fn draw_key(canvas: &Canvas, key: Key, (x, y): (f64, f64)) {
    let (from, to) = ((x + 2.0, y - 5.0), (x + KEY - 2.0, y + 5.0));
    match key {
        Key::Fill(colour) => canvas.rect(from, to, colour),
        Key::Hatched(colour) => {
            canvas.hatch(from, to, colour);
            canvas.edge(from, to, colour, 1.0);
        }
        Key::Line(colour, dash, mark) => {
            canvas.line(&[(x + 1.0, y), (x + KEY - 1.0, y)], dash, colour, 1.8);
            if let Some(mark) = mark {
                canvas.mark(mark, (x + KEY / 2.0, y), colour);
            }
        }
        Key::Point(colour, mark) => canvas.mark(mark, (x + KEY / 2.0, y), colour),
    }
}

/// The meaning of the marks, as the last part of a picture; nothing without entries.
pub(crate) fn legend(entries: impl IntoIterator<Item = (Key, String)>) -> Block<'static> {
    const ABOVE: f64 = 8.0;
    let legend = Legend::of(entries);
    let height = if legend.entries.is_empty() { 0.0 } else { legend.height + ABOVE };
    Block::of(height, move |canvas, top| legend.draw(canvas, top + ABOVE))
}

/// The entry for void figures.
pub(crate) fn void_key() -> (Key, String) {
    (Key::Hatched(VOID), "void: not what it claims to be".to_string())
}

/// A note about the whole picture, in lines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Note {
    lines: Vec<String>,
}

impl Note {
    pub(crate) fn of(text: &str) -> Note {
        Note { lines: wrapped(text, WIDTH - 4.0) }
    }

    /// Its height in pixels.
    pub(crate) fn height(&self) -> f64 {
        LINE * self.lines.len() as f64
    }

    /// Draws it below `top`.
    pub(crate) fn draw(&self, canvas: &Canvas, top: f64) {
        for (index, line) in self.lines.iter().enumerate() {
            let y = top + LINE * (index as f64 + 0.5);
            canvas.text(line, (0.0, y), Anchor::Start, FAINT);
        }
    }
}
