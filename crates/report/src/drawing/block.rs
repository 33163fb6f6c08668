//! The one layout of pictures: blocks below one another, each as wide as the picture.

use super::canvas::{Anchor, Canvas, LINE, WIDTH, Weight};
use super::measure::{BOLD, wrapped};
use super::palette::{Colour, FAINT, INK};

type Draw<'a> = Box<dyn Fn(&Canvas, f64) + 'a>;

/// A part of a picture: its height in pixels, and what is drawn below its top.
pub(crate) struct PictureBlock<'a> {
    pub(crate) height: f64,
    draw: Draw<'a>,
}

impl<'a> PictureBlock<'a> {
    pub(crate) fn of(height: f64, draw: impl Fn(&Canvas, f64) + 'a) -> PictureBlock<'a> {
        PictureBlock { height, draw: Box::new(draw) }
    }

    /// A text in as many lines as it needs, `left` of which is free; nothing if it is empty.
    pub(crate) fn text(text: &str, left: f64, colour: Colour) -> PictureBlock<'a> {
        let lines = wrapped(text, WIDTH - left - 4.0);
        PictureBlock::of(LINE * lines.len() as f64, move |canvas, top| {
            canvas.lines(&lines, (left, top), Anchor::Start, colour, Weight::Normal);
        })
    }

    /// The title of the blocks below; nothing if it is empty.
    pub(crate) fn heading(text: &str) -> PictureBlock<'a> {
        const ABOVE: f64 = 5.0;
        let lines = wrapped(text, WIDTH / BOLD);
        let above = if lines.is_empty() { 0.0 } else { ABOVE };
        PictureBlock::of(LINE * lines.len() as f64 + above, move |canvas, top| {
            canvas.lines(&lines, (0.0, top + above), Anchor::Start, INK, Weight::Bold);
        })
    }

    /// What a reader must know about the whole picture; what is empty is left out.
    pub(crate) fn note(said: &[&str]) -> PictureBlock<'a> {
        let said: Vec<&str> = said.iter().copied().filter(|text| !text.is_empty()).collect();
        PictureBlock::text(&said.join("; "), 0.0, FAINT)
    }

    /// Free space.
    pub(crate) fn gap(height: f64) -> PictureBlock<'a> {
        PictureBlock::of(height, |_, _| ())
    }

    /// Blocks as one.
    pub(crate) fn stack(blocks: Vec<PictureBlock<'a>>) -> PictureBlock<'a> {
        let height = blocks.iter().map(|block| block.height).sum();
        PictureBlock::of(height, move |canvas, top| {
            let mut top = top;
            for block in &blocks {
                block.draw(canvas, top);
                top += block.height;
            }
        })
    }

    pub(crate) fn draw(&self, canvas: &Canvas, top: f64) {
        (self.draw)(canvas, top);
    }
}
