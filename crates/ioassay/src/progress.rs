//! Progress of a run: a few lines on a terminal, nothing in a pipe.
//!
//! It is drawn by the threads that measure, and only between trials, so no trial includes the cost
//! of the terminal. The price: the view freezes during a long trial. Hosts that are measured each
//! by itself, at the same time, share the view: only there may it be drawn during another's trial.

mod screen;
mod found;
mod fleet;

use crate::nodelist::some;
use assess::stats::Estimate;
use fleet::FleetSoFar;
use found::FindingsSoFar;
use model::case::{Case, Op, Work};
use model::record::Side;
use model::trial::{Outcome, Trial};
use model::units;
use screen::Screen;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The lines on the terminal. Dropping this removes them. All parts of a crew share them.
#[derive(Debug)]
pub struct Progress {
    screen: Screen,
    run: Mutex<RunSoFar>,
}

/// What is known of a run so far.
#[derive(Debug)]
struct RunSoFar {
    /// The last trial that began.
    latest: Option<ShownTrial>,
    /// When the rounds began.
    began: Instant,
    /// How much was done by then, once a trial starts.
    done_before: Option<u64>,
    failed: u64,
    /// The hosts that were lost, by what the user calls them.
    lost: Vec<String>,
    /// The hosts, if each is measured by itself.
    fleet: Option<FleetSoFar>,
    /// `None` while records are judged.
    findings: Option<FindingsSoFar>,
    /// The findings in a line, if there are any.
    found: Option<String>,
}

/// The next trial.
#[derive(Debug)]
pub struct NextTrial<'a> {
    /// Number of finished trials; of cases, if steady rates end the run.
    pub done: u64,
    /// Maximum number of trials, or of cases.
    pub planned: u64,
    /// The round, from 0; the trial of its case, if steady rates end the run.
    pub round: u32,
    /// What ends the run.
    pub ends: RunEnd,
    /// The case.
    pub case: &'a Case,
    /// The rate in each round of the case so far, from [`assess::rate`], on each side.
    pub rates: &'a [Vec<f64>],
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

/// What is shown of a trial.
#[derive(Debug)]
struct ShownTrial {
    /// How much of the run is done, and of how much.
    filled: (u64, u64),
    /// What is beside the bar.
    beside: String,
    /// The lines below it.
    lines: Vec<String>,
}

/// The part of a crew that does a trial.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CrewPart<'a> {
    /// This host.
    ThisHost,
    /// A side of a gate.
    Side(Side),
    /// So many hosts together.
    Hosts(usize),
    /// One of several hosts that are measured each by itself: its number, and what the user calls
    /// it.
    HostAlone(usize, &'a str),
}

impl Progress {
    /// Shows lines on stderr, if that is a terminal.
    pub(crate) fn new() -> Progress {
        Progress::on(Screen::new())
    }

    /// Never shows anything.
    pub fn hidden() -> Progress {
        Progress::on(Screen::hidden())
    }

    /// Of a run whose user may want nothing on stderr.
    pub fn unless(is_quiet: bool) -> Progress {
        if is_quiet { Progress::hidden() } else { Progress::new() }
    }

    fn on(screen: Screen) -> Progress {
        Progress { screen, run: Mutex::new(RunSoFar::begin(None)) }
    }

    /// The same for so many hosts, each measured by itself.
    pub(crate) fn of_fleet(self, hosts: usize) -> Progress {
        let run = RunSoFar::begin(Some(FleetSoFar::new(hosts)));
        Progress { run: Mutex::new(run), ..self }
    }

    fn run(&self) -> MutexGuard<'_, RunSoFar> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody sees it.
    pub fn is_hidden(&self) -> bool {
        self.screen.is_hidden()
    }

    /// A peer is being built: `done` of `all` are finished.
    pub fn building(&self, done: usize, all: usize, peer: &str) {
        self.screen.show((done as u64, all as u64), &format!("building the peer {peer}"), &[]);
    }

    /// A test file is being written.
    pub fn writing(&self, done: u64, size: u64) {
        let (of, all) = (units::bytes_rounded(done), units::bytes_rounded(size));
        self.screen.show((done, size), &format!("writing the test file: {of} of {all}"), &[]);
    }

    /// Hosts write their files.
    pub(crate) fn making(&self, part: CrewPart) {
        let (said, filled) = match (&self.run().fleet, part) {
            (Some(fleet), CrewPart::HostAlone(number, called)) => {
                (fleet.named(number, called), fleet.filled())
            }
            (_, CrewPart::Hosts(hosts)) => (count(hosts), (0, 1)),
            _ => ("this host".to_owned(), (0, 1)),
        };
        self.screen.show(filled, &format!("{said}: making test files"), &[]);
    }

    /// The rounds start: the time so far does not predict theirs.
    pub fn rounds_begin(&self) {
        *self.run() = RunSoFar::begin(None);
    }

    /// A trial starts on this part of the crew.
    pub(crate) fn trial(&self, part: CrewPart, next: &NextTrial) {
        if !self.is_hidden() {
            let mut run = self.run();
            run.latest = Some(run.shown(part, next));
            run.draw(&self.screen);
        }
    }

    /// Judges records so far, for the screen only: there are `count`, from that of the host `first`
    /// on, and `record` returns a name of each, empty if there is one only, and its path. While
    /// those of another host are judged, it does not wait.
    pub(crate) fn judge<'r>(
        &self,
        (first, count): (usize, usize),
        record: impl Fn(usize) -> (&'r str, &'r Path),
    ) {
        if self.is_hidden() {
            return;
        }
        let Some(mut findings) = self.run().findings.take() else { return };
        findings.judge((first, count), record);
        let mut run = self.run();
        run.found = findings.line();
        run.findings = Some(findings);
    }

    /// A trial has finished.
    pub fn over(&self, trial: &Trial) {
        if matches!(trial.outcome, Outcome::Failed { .. }) {
            self.fail();
        }
    }

    /// A trial has failed.
    pub(crate) fn fail(&self) {
        self.run().failed += 1;
    }

    /// A host is lost, which is shown at once. It has a number if each is measured by itself.
    pub(crate) fn lose(&self, called: &str, number: Option<usize>) {
        let mut run = self.run();
        if !run.lost.iter().any(|known| known == called) {
            run.lost.push(called.to_owned());
        }
        number.zip(run.fleet.as_mut()).into_iter().for_each(|(number, fleet)| fleet.lose(number));
        run.draw(&self.screen);
    }

    /// A host that is measured by itself has done all of its trials.
    pub(crate) fn host_over(&self, number: usize) {
        self.run().fleet.iter_mut().for_each(|fleet| fleet.end(number));
    }

    /// Writes something else to the terminal, in whose way the lines would be.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.screen.aside(write)
    }

    /// Removes the lines.
    pub fn end(&self) {
        self.screen.end();
    }
}

impl RunSoFar {
    fn begin(fleet: Option<FleetSoFar>) -> RunSoFar {
        RunSoFar {
            latest: None,
            began: Instant::now(),
            done_before: None,
            failed: 0,
            lost: Vec::new(),
            fleet,
            findings: Some(FindingsSoFar::default()),
            found: None,
        }
    }

    /// What is shown of the trial that starts.
    fn shown(&mut self, part: CrewPart, next: &NextTrial) -> ShownTrial {
        self.done_before.get_or_insert(next.done);
        let so_far = |side: usize| next.so_far(&next.rates[side]);
        let mut lines = vec![next.case.id()];
        let (mut filled, mut beside) = (next.filled(), self.whereabouts(next));
        match part {
            CrewPart::ThisHost => lines.push(so_far(0)),
            CrewPart::Side(side) => {
                beside = format!("side {}, {beside}", side.name().to_uppercase());
                lines.extend([format!("A: {}", so_far(0)), format!("B: {}", so_far(1))]);
            }
            CrewPart::Hosts(hosts) => {
                lines[0] += &format!(" on {}", count(hosts));
                lines.push(format!("together {}", so_far(0)));
            }
            CrewPart::HostAlone(number, called) => {
                lines.push(so_far(0));
                if let Some(fleet) = &mut self.fleet {
                    lines.extend(fleet.go_on(number, next));
                    (filled, beside) = (fleet.filled(), fleet.whereabouts(number, called, next));
                }
            }
        }
        ShownTrial { filled, beside, lines }
    }

    /// Draws the last trial, and what is known of all.
    fn draw(&self, screen: &Screen) {
        let Some(ShownTrial { filled, beside, lines }) = &self.latest else { return };
        let failed = match self.failed {
            0 => None,
            1 => Some("1 trial failed".to_string()),
            failed => Some(format!("{failed} trials failed")),
        };
        let lost = (!self.lost.is_empty()).then(|| format!("lost: {}", some(&self.lost)));
        let below = [failed, lost, self.found.clone()].into_iter().flatten();
        let lines: Vec<String> = lines.iter().cloned().chain(below).collect();
        screen.show(*filled, beside, &lines);
    }

    /// Formats `round 3 of 10, trial 25 of 80, about 1m 20s left`.
    fn whereabouts(&self, next: &NextTrial) -> String {
        let place = next.place();
        let about = match next.ends {
            RunEnd::Rounds(_) => "about",
            // It is unknown when a rate becomes steady.
            RunEnd::Steady => "roughly",
            RunEnd::Time { passed, given } => {
                let left = Duration::from_secs(given.saturating_sub(passed).as_secs());
                return format!("{place}, {} left", units::time(left));
            }
        };
        let here = next.done.saturating_sub(self.done_before.unwrap_or(0));
        if here == 0 {
            return place;
        }
        let each = self.began.elapsed().as_secs_f64() / here as f64;
        let left = (each * next.planned.saturating_sub(next.done) as f64) as u64;
        format!("{place}, {about} {} left", units::time(Duration::from_secs(left)))
    }
}

impl NextTrial<'_> {
    /// How much of the run is done, and of how much: trials or seconds.
    fn filled(&self) -> (u64, u64) {
        match self.ends {
            RunEnd::Rounds(_) | RunEnd::Steady => (self.done, self.planned),
            RunEnd::Time { passed, given } => (passed.as_secs(), given.as_secs().max(1)),
        }
    }

    /// Formats `round 3 of 10, trial 25 of 80`.
    fn place(&self) -> String {
        let NextTrial { done, planned, round, ends, .. } = *self;
        let (round, trial) = (u64::from(round) + 1, done + 1);
        match ends {
            RunEnd::Rounds(rounds) => {
                format!("round {round} of {rounds}, trial {trial} of {planned}")
            }
            RunEnd::Steady => format!("case {trial} of {planned}, trial {round}"),
            RunEnd::Time { .. } => format!("round {round}, trial {trial}"),
        }
    }

    /// Formats a rate of the case.
    fn rate(&self, rate: f64) -> String {
        let counted = match &self.case.work {
            Work::Write(work) if work.op == Op::Sync => "syncs",
            Work::Metadata(_) => "names",
            Work::Command(_) => "runs",
            Work::Read(_) | Work::Write(_) | Work::Memory(_) => return units::rate(rate),
        };
        format!("{}{counted}/s", units::scaled(rate))
    }

    /// Formats the case's figure: `so far 612 MB/s (598 MB/s to 631 MB/s) in 7 trials, latest 610
    /// MB/s`.
    fn so_far(&self, rates: &[f64]) -> String {
        let (Some(estimate), Some(last)) = (Estimate::of(rates), rates.last()) else {
            return "no figure yet".to_string();
        };
        let interval = match estimate.low.zip(estimate.high) {
            Some((low, high)) => format!(" ({} to {})", self.rate(low), self.rate(high)),
            None => String::new(),
        };
        let trials =
            if estimate.n == 1 { "1 trial".to_string() } else { format!("{} trials", estimate.n) };
        let median = self.rate(estimate.median);
        format!("so far {median}{interval} in {trials}, latest {}", self.rate(*last))
    }
}

/// Formats a number of hosts.
fn count(hosts: usize) -> String {
    if hosts == 1 { "1 host".to_owned() } else { format!("{hosts} hosts") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::Work;
    use model::zoo;

    fn next<'a>(case: &'a Case, rates: &'a [Vec<f64>]) -> NextTrial<'a> {
        NextTrial { done: 0, planned: 20, round: 2, ends: RunEnd::Rounds(10), case, rates }
    }

    #[test]
    fn what_is_known_so_far_is_told() {
        let case = Case::own(Work::Read(zoo::plain()));
        let told = |rates: &[f64]| next(&case, &[]).so_far(rates);
        assert_eq!(told(&[]), "no figure yet");
        assert_eq!(told(&[2e9]), "so far 2.00 GB/s in 1 trial, latest 2.00 GB/s");
        let seven: Vec<f64> = (1..=7).map(|n| f64::from(n) * 1e8).collect();
        let expected = "so far 400 MB/s (100 MB/s to 700 MB/s) in 7 trials, latest 700 MB/s";
        assert_eq!(told(&seven), expected);
    }

    #[test]
    fn the_whereabouts_have_the_round_and_the_trial() {
        let case = Case::own(Work::Read(zoo::plain()));
        let run = RunSoFar::begin(None);
        let told = |next: &NextTrial| run.whereabouts(next);
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
    fn both_sides_of_a_gate_are_shown_whichever_is_measured() {
        let case = Case::own(Work::Read(zoo::plain()));
        let mut run = RunSoFar::begin(None);
        let rates = [vec![2e9, 3e9], vec![1e9]];
        for (side, name) in [(Side::A, "A"), (Side::B, "B")] {
            let shown = run.shown(CrewPart::Side(side), &next(&case, &rates));
            assert_eq!(shown.beside, format!("side {name}, round 3 of 10, trial 1 of 20"));
            let of_a = "A: so far 2.50 GB/s in 2 trials, latest 3.00 GB/s";
            let of_b = "B: so far 1.00 GB/s in 1 trial, latest 1.00 GB/s";
            assert_eq!(shown.lines, [&*case.id(), of_a, of_b]);
        }
    }
}
