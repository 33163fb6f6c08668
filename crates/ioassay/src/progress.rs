//! Progress of a run: a few lines on a terminal, nothing in a pipe.
//!
//! Only the calling thread draws, and only between trials, so no trial includes the cost of the
//! terminal. The price: the view freezes during a long trial. Hosts that are measured each by
//! itself, at the same time, share the view: only there may it be drawn during another's trial.

mod screen;
mod found;
mod fleet;

use crate::nodelist::some;
use assess::stats::Estimate;
use fleet::FleetSoFar;
use found::FindingsSoFar;
use model::case::{Case, Op, Work};
use model::trial::{Outcome, Trial};
use model::units;
use screen::Screen;
use std::path::Path;
use std::time::{Duration, Instant};

/// The lines on the terminal. Dropping this removes them.
#[derive(Debug)]
pub struct Progress {
    screen: Screen,
    /// The last trial that was shown.
    latest: Option<ShownTrial>,
    /// When the rounds began.
    began: Instant,
    /// The trials that were finished by then, once one starts.
    done_before: Option<u64>,
    failed: u64,
    /// The hosts that were lost, by what the user calls them.
    lost: Vec<String>,
    /// The hosts, if each is measured by itself.
    fleet: Option<FleetSoFar>,
    /// `None` while records are judged.
    findings: Option<FindingsSoFar>,
    /// The findings in a line; empty if there are none.
    found: String,
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

/// Who does a trial.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TrialHosts<'a> {
    /// This host.
    This,
    /// So many hosts together.
    Together(usize),
    /// One of several that are measured each by itself: its number, and what the user calls it.
    Alone(usize, &'a str),
}

impl Progress {
    /// Shows lines on stderr, if that is a terminal.
    pub fn new() -> Progress {
        Progress::on(Screen::new())
    }

    /// Never shows anything.
    pub fn hidden() -> Progress {
        Progress::on(Screen::hidden())
    }

    fn on(screen: Screen) -> Progress {
        Progress {
            screen,
            latest: None,
            began: Instant::now(),
            done_before: None,
            failed: 0,
            lost: Vec::new(),
            fleet: None,
            findings: Some(FindingsSoFar::default()),
            found: String::new(),
        }
    }

    /// The same for so many hosts, each measured by itself.
    pub(crate) fn of_fleet(self, hosts: usize) -> Progress {
        Progress { fleet: Some(FleetSoFar::new(hosts)), ..self }
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
    pub(crate) fn making(&self, hosts: TrialHosts) {
        let said = match (&self.fleet, hosts) {
            (Some(fleet), TrialHosts::Alone(number, called)) => fleet.named(number, called),
            (_, TrialHosts::Together(hosts)) => count(hosts),
            _ => "this host".to_owned(),
        };
        let filled = self.fleet.as_ref().map_or((0, 1), FleetSoFar::filled);
        self.screen.show(filled, &format!("{said}: making test files"), &[]);
    }

    /// The rounds start: the time so far does not predict theirs.
    pub fn rounds_begin(&mut self) {
        let screen = std::mem::replace(&mut self.screen, Screen::hidden());
        *self = Progress::on(screen);
    }

    /// A trial starts.
    pub fn trial(&mut self, next: &NextTrial) {
        self.trial_of(TrialHosts::This, next);
    }

    /// A trial of these hosts starts.
    pub(crate) fn trial_of(&mut self, hosts: TrialHosts, next: &NextTrial) {
        if self.is_hidden() {
            return;
        }
        self.done_before.get_or_insert(next.done);
        let (mut case, mut figure, mut others) = (next.case.id(), next.so_far(), None);
        match hosts {
            TrialHosts::This => {}
            TrialHosts::Together(hosts) => {
                figure.insert_str(0, "together ");
                case += &format!(" on {}", count(hosts));
            }
            TrialHosts::Alone(number, _) => {
                others = self.fleet.as_mut().and_then(|fleet| fleet.go_on(number, next));
            }
        }
        let (filled, beside) = match (&self.fleet, hosts) {
            (Some(fleet), TrialHosts::Alone(number, called)) => {
                (fleet.filled(), fleet.whereabouts(number, called, next))
            }
            _ => (next.filled(), self.whereabouts(next)),
        };
        let lines = [case, figure].into_iter().chain(others).collect();
        self.latest = Some(ShownTrial { filled, beside, lines });
        self.draw();
    }

    /// Draws the last trial, and what is known of all.
    fn draw(&self) {
        let Some(ShownTrial { filled, beside, lines }) = &self.latest else { return };
        let failed = match self.failed {
            0 => None,
            1 => Some("1 trial failed".to_string()),
            failed => Some(format!("{failed} trials failed")),
        };
        let lost = (!self.lost.is_empty()).then(|| format!("lost: {}", some(&self.lost)));
        let found = Some(self.found.clone()).filter(|found| !found.is_empty());
        let below = [failed, lost, found].into_iter().flatten();
        let lines: Vec<String> = lines.iter().cloned().chain(below).collect();
        self.screen.show(*filled, beside, &lines);
    }

    /// Judges the record so far, between trials, for the screen only.
    pub fn judge(&mut self, record: &Path) {
        let Some(mut findings) = self.take_findings() else { return };
        findings.judge((0, 1), |_| ("", record));
        self.put_findings(findings);
    }

    /// The findings, to judge records for them; [`Progress::put_findings`] shows what was found.
    /// `None` if nobody sees them, or they are taken.
    pub(crate) fn take_findings(&mut self) -> Option<FindingsSoFar> {
        if self.is_hidden() { None } else { self.findings.take() }
    }

    /// The other half.
    pub(crate) fn put_findings(&mut self, findings: FindingsSoFar) {
        self.found = findings.line();
        self.findings = Some(findings);
    }

    /// A trial has finished.
    pub fn over(&mut self, trial: &Trial) {
        self.failed += u64::from(matches!(trial.outcome, Outcome::Failed { .. }));
    }

    /// A trial has failed on hosts.
    pub(crate) fn fail(&mut self) {
        self.failed += 1;
    }

    /// A host is lost, which is told at once. It has a number if each is measured by itself.
    pub(crate) fn lose(&mut self, called: &str, number: Option<usize>) {
        if !self.lost.iter().any(|known| known == called) {
            self.lost.push(called.to_owned());
        }
        number.zip(self.fleet.as_mut()).into_iter().for_each(|(number, fleet)| fleet.lose(number));
        self.draw();
    }

    /// A host that is measured by itself has done all of its trials.
    pub(crate) fn host_over(&mut self, number: usize) {
        self.fleet.iter_mut().for_each(|fleet| fleet.end(number));
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

    /// Writes something else to the terminal, in whose way the lines would be.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.screen.aside(write)
    }

    /// Removes the lines.
    pub fn end(&self) {
        self.screen.end();
    }
}

impl Default for Progress {
    fn default() -> Progress {
        Progress::new()
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
            Work::Read(_) | Work::Write(_) | Work::Memory(_) => return units::rate(rate),
        };
        format!("{}{counted}/s", units::scaled(rate))
    }

    /// Formats the case's figure: `so far 612 MB/s (598-631 MB/s) in 7 rounds, latest 610 MB/s`.
    fn so_far(&self) -> String {
        let (Some(estimate), Some(last)) = (Estimate::of(self.rates), self.rates.last()) else {
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

    fn next<'a>(case: &'a Case, rates: &'a [f64]) -> NextTrial<'a> {
        NextTrial { done: 0, planned: 20, round: 2, ends: RunEnd::Rounds(10), case, rates }
    }

    #[test]
    fn what_is_known_so_far_is_told() {
        let case = Case::own(Work::Read(zoo::plain()));
        let told = |rates: &[f64]| next(&case, rates).so_far();
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
}
