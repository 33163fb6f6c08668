//! Progress of a run: a few lines on a terminal, nothing in a pipe.
//!
//! Only the calling thread draws, and only between trials, so no trial includes the cost of the
//! terminal. The price: the view freezes during a long trial.

use crate::store;
use assess::finding::{Code, Severity};
use assess::stats::Estimate;
use assess::{Assessment, RunFinding};
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use model::case::{Case, Op, Work};
use model::printable::printable;
use model::trial::{Outcome, Trial};
use model::units;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The lines on the terminal. Dropping this removes them.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    began: Instant,
    failed: u64,
    /// The findings so far, in a line; empty if none.
    found: String,
    /// When the record was last judged, and how long that took.
    judged: Option<(Instant, Duration)>,
}

/// The next trial.
#[derive(Debug)]
pub struct NextTrial<'a> {
    /// Number of finished trials.
    pub done: u64,
    /// Maximum number of trials.
    pub planned: u64,
    /// The round, from 0.
    pub round: u32,
    /// What ends the run.
    pub ends: RunEnd,
    /// The case.
    pub case: &'a Case,
    /// The rate in each round of the case so far, from [`assess::rate`].
    pub rates: &'a [f64],
}

/// What ends a run.
#[derive(Debug, Clone, Copy)]
pub enum RunEnd {
    /// At most this many rounds.
    Rounds(u32),
    /// Steady rates of one case after another.
    Steady,
    /// The time that it is given, of which some has passed.
    Time {
        /// The time that has passed.
        passed: Duration,
        /// The time given.
        given: Duration,
    },
}

/// Maximum number of redraws per second: not every short trial is shown.
const DRAWS_A_SECOND: u8 = 5;

/// The record is judged again after this many times as long as it took: judging long records would
/// delay trials.
const JUDGED_AFTER: u32 = 20;

/// Width of the bar.
const BAR_COLUMNS: u64 = 20;

/// Width of a terminal that does not report its own.
const COLUMNS: usize = 80;

impl Progress {
    /// Shows lines on stderr, if that is a terminal.
    pub fn new() -> Progress {
        let terminal = Term::buffered_stderr();
        if !terminal.is_term() {
            return Progress::hidden();
        }
        let target = Box::new(Trimmed { terminal, text: Mutex::default() });
        Progress::on(ProgressDrawTarget::term_like_with_hz(target, DRAWS_A_SECOND))
    }

    /// Never shows anything.
    pub fn hidden() -> Progress {
        Progress::on(ProgressDrawTarget::hidden())
    }

    fn on(target: ProgressDrawTarget) -> Progress {
        // It uses no colors, so NO_COLOR has no effect.
        let style = ProgressStyle::with_template("{msg}")
            .expect("the template is one that the library knows");
        let bar = ProgressBar::with_draw_target(Some(1), target).with_style(style);
        Progress { bar, began: Instant::now(), failed: 0, found: String::new(), judged: None }
    }

    /// Whether nobody sees it.
    pub fn is_hidden(&self) -> bool {
        self.bar.is_hidden()
    }

    /// A peer is being built: `done` of `all` are finished.
    pub fn building(&self, done: usize, all: usize, peer: &str) {
        self.show(done as u64, all as u64, &format!("building the peer {peer}"), &[]);
    }

    /// A test file is being written.
    pub fn writing(&self, done: u64, size: u64) {
        let (of, all) = (units::bytes_rounded(done), units::bytes_rounded(size));
        self.show(done, size, &format!("writing the test file: {of} of {all}"), &[]);
    }

    /// The rounds start: the time so far does not predict theirs.
    pub fn rounds_begin(&mut self) {
        self.began = Instant::now();
        self.failed = 0;
        self.found.clear();
        self.judged = None;
    }

    /// A trial starts.
    pub fn trial(&self, next: &NextTrial) {
        if self.bar.is_hidden() {
            return;
        }
        let mut lines = vec![next.case.id(), so_far(next)];
        if self.failed > 0 {
            lines.push(match self.failed {
                1 => "1 trial failed".to_string(),
                failed => format!("{failed} trials failed"),
            });
        }
        lines.extend(Some(self.found.clone()).filter(|found| !found.is_empty()));
        let (done, all) = match next.ends {
            RunEnd::Rounds(_) | RunEnd::Steady => (next.done, next.planned),
            RunEnd::Time { passed, given } => (passed.as_secs(), given.as_secs().max(1)),
        };
        self.show(done, all, &self.whereabouts(next), &lines);
    }

    /// Judges the record so far, between trials, for the screen only.
    pub fn judge(&mut self, record: &Path) {
        let is_soon =
            |(at, took): (Instant, Duration)| at.elapsed() < took.saturating_mul(JUDGED_AFTER);
        if self.bar.is_hidden() || self.judged.is_some_and(is_soon) {
            return;
        }
        let since = Instant::now();
        match store::read(record) {
            Ok(record) => self.found = found_so_far(&assess::assess(&record)),
            // The run does not depend on this.
            Err(error) => log::warn!("the record so far cannot be read: {error:#}"),
        }
        self.judged = Some((Instant::now(), since.elapsed()));
    }

    /// A trial has finished.
    pub fn over(&mut self, trial: &Trial) {
        self.failed += u64::from(matches!(trial.outcome, Outcome::Failed { .. }));
    }

    /// Formats `round 3 of 10, trial 25 of 80, about 1m 20s left`.
    fn whereabouts(&self, next: &NextTrial) -> String {
        let NextTrial { done, planned, round, ends, .. } = *next;
        let (round, trial) = (u64::from(round) + 1, done + 1);
        // It is unknown when a rate becomes steady.
        let (place, about) = match ends {
            RunEnd::Rounds(rounds) => {
                (format!("round {round} of {rounds}, trial {trial} of {planned}"), "about")
            }
            RunEnd::Steady => (format!("case {trial} of {planned}, trial {round}"), "roughly"),
            RunEnd::Time { passed, given } => {
                let left = units::time(Duration::from_secs(given.saturating_sub(passed).as_secs()));
                return format!("round {round}, trial {trial}, {left} left");
            }
        };
        if done == 0 {
            return place;
        }
        let each = self.began.elapsed().as_secs_f64() / done as f64;
        let left = Duration::from_secs((each * planned.saturating_sub(done) as f64) as u64);
        format!("{place}, {about} {} left", units::time(left))
    }

    /// Draws the view: the bar's line and `lines` below it, truncated to the terminal's width.
    fn show(&self, done: u64, all: u64, beside: &str, lines: &[String]) {
        if self.bar.is_hidden() {
            return;
        }
        let columns = columns().saturating_sub(MARGIN);
        let first = format!("{} {beside}", bar(done, all));
        let lines: Vec<String> =
            [&first].into_iter().chain(lines).map(|line| cut(line, columns)).collect();
        // The only call that draws; it draws the whole view at once.
        self.bar.set_message(lines.join("\n"));
    }

    /// Removes the lines.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Default for Progress {
    fn default() -> Progress {
        Progress::new()
    }
}

/// Formats a case's figure: `so far 612 MB/s (598-631 MB/s) in 7 rounds, latest 610 MB/s`.
fn so_far(next: &NextTrial) -> String {
    let counted = match &next.case.work {
        Work::Write(work) if work.op == Op::Sync => Some("syncs"),
        Work::Metadata(_) => Some("names"),
        Work::Read(_) | Work::Write(_) | Work::Memory(_) => None,
    };
    let say = |rate: f64| match counted {
        Some(what) => format!("{}{what}/s", units::scaled(rate)),
        None => units::rate(rate),
    };
    let (Some(estimate), Some(last)) = (Estimate::of(next.rates), next.rates.last()) else {
        return "no figure yet".to_string();
    };
    let interval = match estimate.low.zip(estimate.high) {
        Some((low, high)) => format!(" ({} to {})", say(low), say(high)),
        None => String::new(),
    };
    let trials =
        if estimate.n == 1 { "1 trial".to_string() } else { format!("{} trials", estimate.n) };
    format!("so far {}{interval} in {trials}, latest {}", say(estimate.median), say(*last))
}

/// Formats the findings: `findings so far: CacheLeak (3 cases), Steal`.
fn found_so_far(assessment: &Assessment) -> String {
    // Before the last round, too few rounds are expected.
    let is_told = |found: &&RunFinding| {
        found.finding.severity > Severity::Note && found.finding.code != Code::TooFew
    };
    let say = |found: &RunFinding| match found.cases.len() + found.baselines.len() {
        0 => found.finding.code.to_string(),
        1 => format!("{} (1 case)", found.finding.code),
        cases => format!("{} ({cases} cases)", found.finding.code),
    };
    let found: Vec<String> = assessment.findings.iter().filter(is_told).map(say).collect();
    if found.is_empty() { String::new() } else { format!("findings so far: {}", found.join(", ")) }
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
    use assess::finding::Finding;
    use model::case::Work;
    use model::zoo;

    fn next<'a>(case: &'a Case, rates: &'a [f64]) -> NextTrial<'a> {
        NextTrial { done: 0, planned: 20, round: 2, ends: RunEnd::Rounds(10), case, rates }
    }

    #[test]
    fn what_is_known_so_far_is_told() {
        let case = Case::own(Work::Read(zoo::plain()));
        let told = |rates: &[f64]| so_far(&next(&case, rates));
        assert_eq!(told(&[]), "no figure yet");
        assert_eq!(told(&[2e9]), "so far 2.00 GB/s in 1 trial, latest 2.00 GB/s");
        let seven: Vec<f64> = (1..=7).map(|n| f64::from(n) * 1e8).collect();
        let expected = "so far 400 MB/s (100 MB/s to 700 MB/s) in 7 trials, latest 700 MB/s";
        assert_eq!(told(&seven), expected);
    }

    #[test]
    fn the_whereabouts_have_the_round_and_the_trial() {
        let case = Case::own(Work::Read(zoo::plain()));
        let progress = Progress::hidden();
        let told = |next: &NextTrial| progress.whereabouts(next);
        assert_eq!(told(&next(&case, &[])), "round 3 of 10, trial 1 of 20");
        let sustained = NextTrial { ends: RunEnd::Steady, planned: 4, ..next(&case, &[]) };
        assert_eq!(told(&sustained), "case 1 of 4, trial 3");
        let later = NextTrial { done: 10, ..next(&case, &[]) };
        assert!(told(&later).ends_with(", about 0s left"), "{}", told(&later));
        let [passed, given] = [25, 90].map(Duration::from_secs);
        let campaign =
            NextTrial { done: 7, ends: RunEnd::Time { passed, given }, ..next(&case, &[]) };
        assert_eq!(told(&campaign), "round 3, trial 8, 1m 5s left");
    }

    #[test]
    fn what_gives_reason_to_doubt_is_told() {
        let mut assessment = assess::assess(&zoo::record());
        let found = |code, severity, cases: &[&str]| RunFinding {
            finding: Finding {
                code,
                severity,
                size: None,
                message: String::new(),
                remedy: String::new(),
            },
            cases: cases.iter().map(|case| case.to_string()).collect(),
            baselines: Vec::new(),
        };
        assessment.findings = vec![
            found(Code::VirtualDevice, Severity::Note, &[]),
            found(Code::TooFew, Severity::Doubt, &["a", "b"]),
        ];
        assert_eq!(found_so_far(&assessment), "");
        assessment.findings.extend([
            found(Code::CacheLeak, Severity::Void, &["a", "b"]),
            found(Code::Stalled, Severity::Doubt, &["b"]),
            found(Code::Steal, Severity::Doubt, &[]),
        ]);
        let expected = "findings so far: CacheLeak (2 cases), Stalled (1 case), Steal";
        assert_eq!(found_so_far(&assessment), expected);
    }

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
