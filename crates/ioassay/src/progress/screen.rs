//! The lines of the view on a terminal.

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use model::printable::printable;
use std::io;
use std::sync::Mutex;

/// Maximum number of redraws per second: not every short trial is shown.
const DRAWS_A_SECOND: u8 = 5;

/// Width of the bar.
const BAR_COLUMNS: u64 = 20;

/// Width of a terminal that does not report its own.
const COLUMNS: usize = 80;

/// A bar and lines below it. Dropping this removes them.
#[derive(Debug)]
pub(super) struct Screen {
    bar: ProgressBar,
}

impl Screen {
    /// On stderr, if that is a terminal.
    pub(super) fn new() -> Screen {
        let terminal = Term::buffered_stderr();
        if !terminal.is_term() {
            return Screen::hidden();
        }
        let target = Box::new(Trimmed { terminal, text: Mutex::default() });
        Screen::on(ProgressDrawTarget::term_like_with_hz(target, DRAWS_A_SECOND))
    }

    /// Never shows anything.
    pub(super) fn hidden() -> Screen {
        Screen::on(ProgressDrawTarget::hidden())
    }

    fn on(target: ProgressDrawTarget) -> Screen {
        // It uses no colors, so NO_COLOR has no effect.
        let style = ProgressStyle::with_template("{msg}")
            .expect("the template is one that the library knows");
        Screen { bar: ProgressBar::with_draw_target(Some(1), target).with_style(style) }
    }

    /// Whether nobody sees it.
    pub(super) fn is_hidden(&self) -> bool {
        self.bar.is_hidden()
    }

    /// Draws the bar's line and `lines` below it, truncated to the terminal's width.
    pub(super) fn show(&self, (done, all): (u64, u64), beside: &str, lines: &[String]) {
        if self.is_hidden() {
            return;
        }
        let columns = columns().saturating_sub(MARGIN);
        let first = format!("{} {beside}", bar(done, all));
        let lines: Vec<String> =
            [&first].into_iter().chain(lines).map(|line| cut(line, columns)).collect();
        // The only call that draws; it draws the whole view at once.
        self.bar.set_message(lines.join("\n"));
    }

    /// Writes something else to the terminal, in whose way the lines would be.
    pub(super) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    /// Removes the lines.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// Formats the bar: `█████░░░░░░░░░░░░░░░`.
fn bar(done: u64, all: u64) -> String {
    let full = (u128::from(BAR_COLUMNS) * u128::from(done) / u128::from(all.max(1))) as u64;
    (0..BAR_COLUMNS).map(|column| if column < full { '█' } else { '░' }).collect()
}

/// A terminal whose cursor stays at the end of the text. The library fills the last line with
/// spaces, and a terminal shows `^C` behind them: that would begin another line, and the view would
/// be removed from the wrong place.
#[derive(Debug)]
struct Trimmed {
    terminal: Term,
    /// What was written since the last flush.
    text: Mutex<String>,
}

/// Room behind each line for `^C`, pressed twice.
const MARGIN: usize = 4;

impl Trimmed {
    fn write(&self, text: &str) -> io::Result<()> {
        self.text.lock().map_err(|_| io::Error::other("a drawing thread panicked"))?.push_str(text);
        Ok(())
    }
}

impl TermLike for Trimmed {
    fn width(&self) -> u16 {
        TermLike::width(&self.terminal)
    }

    fn height(&self) -> u16 {
        TermLike::height(&self.terminal)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.terminal.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.terminal.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.terminal.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.terminal.move_cursor_left(n)
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write(text).and_then(|()| self.write("\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.write(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.terminal.clear_line()
    }

    /// The library moves the cursor and clears lines before it writes, and then flushes.
    fn flush(&self) -> io::Result<()> {
        let text = self.text.lock().map(|mut text| std::mem::take(&mut *text)).unwrap_or_default();
        self.terminal.write_str(text.trim_end_matches(' '))?;
        self.terminal.flush()
    }
}

/// Truncates a line to the view's width: a wrapped line could not be removed.
fn cut(line: &str, columns: usize) -> String {
    let line = &*printable(line);
    if line.chars().count() < columns {
        return line.to_string();
    }
    let mut cut: String = line.chars().take(columns.saturating_sub(2)).collect();
    cut.push('…');
    cut
}

/// The terminal's width.
fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr()).map(|size| usize::from(size.ws_col));
    size.ok().filter(|columns| *columns > 0).unwrap_or(COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_full_as_the_share_that_is_done() {
        for (done, all, full) in [(0, 10, 0), (5, 10, 10), (10, 10, 20), (0, 0, 0), (30, 10, 20)] {
            let bar = bar(done, all);
            assert_eq!(bar.chars().count(), 20);
            assert_eq!(bar.chars().filter(|c| *c == '█').count(), full, "{done} of {all}");
        }
    }

    #[test]
    fn a_line_is_cut_before_it_wraps() {
        assert_eq!(cut("abcdef", 7), "abcdef");
        assert_eq!(cut("abcdef", 6), "abcd…");
        assert_eq!(cut("äöü", 3), "ä…");
        assert_eq!(cut("abc", 0), "…");
    }
}
