//! The loop that carries an agenda out, whoever measures: one host, the two sides of a gate, or
//! several hosts.

use crate::agenda::{Agenda, NextRound};
use crate::clock::RunClock;
use crate::stop::Stop;
use anyhow::Result;
use model::record::{End, RecordLine};
use std::time::Duration;

/// The pause before each invocation except the first (docs/method).
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

/// What is next in a run, and how long it has lasted.
pub(crate) struct RunState<'a> {
    pub(crate) agenda: Agenda<'a>,
    pub(crate) clock: RunClock,
}

impl RunState<'_> {
    /// Whether the time that the run is given is over for a side.
    pub(crate) fn is_over_for(&self, side: usize) -> bool {
        self.agenda.is_over_for(side, self.clock.passed())
    }
}

/// Who carries an agenda out.
pub(crate) trait Crew {
    /// Whether to stop.
    fn stop(&self) -> &Stop;

    /// Begins with the first trials, or goes on in another invocation.
    fn begin(&mut self, state: &RunState) -> Result<()>;

    /// Makes new files for another invocation, after a pause.
    fn begin_anew(&mut self, state: &RunState) -> Result<()>;

    /// Runs the trials of a round. Returns whether all were run; otherwise, the run is stopped, or
    /// its time is over.
    fn round(&mut self, next: &NextRound, state: &mut RunState) -> Result<bool>;

    /// Dismisses the workers of an invocation.
    fn dismiss(&mut self) -> Result<()>;

    /// Appends a line to each record, even if another one cannot be written.
    fn append(&mut self, line: &RecordLine) -> Result<()>;
}

/// Carries the agenda out, and ends the records. Returns how the run ended.
///
/// # Errors
/// As for [`ended`].
pub(crate) fn carry_out(crew: &mut impl Crew, mut state: RunState) -> Result<End> {
    let carried_out = rounds(crew, &mut state);
    ended(crew, carried_out)
}

/// Runs the invocations one after another, and the rounds within each.
fn rounds(crew: &mut impl Crew, state: &mut RunState) -> Result<()> {
    crew.begin(state)?;
    while let Some(next) = state.agenda.next(state.clock.passed()) {
        if next.is_anew && !crew.stop().is_asked() {
            crew.dismiss()?;
            crew.begin_anew(state)?;
        }
        // Making files took some of it.
        let has_time = state.agenda.has_time(state.clock.passed());
        if has_time && crew.round(&next, state)? {
            for pruned in state.agenda.end_round(&next, state.clock.passed()) {
                crew.append(&RecordLine::Pruned(pruned))?;
            }
        }
        if crew.stop().is_asked() {
            break;
        }
    }
    crew.dismiss()
}

/// Ends the records of what was `carried_out`. Returns how it ended.
///
/// # Errors
/// If the records cannot be written, or anything else ended it that a signal does not explain.
pub(crate) fn ended(crew: &mut impl Crew, carried_out: Result<()>) -> Result<End> {
    match carried_out {
        // Even if something stops the run, the completed trials are valid.
        Err(error) if !crew.stop().explains(&error) => {
            // The error says why, and that an end cannot be written is no more than that.
            let _ = crew.append(&RecordLine::End(End::Interrupted));
            return Err(error);
        }
        _ => {}
    }
    let end = if crew.stop().is_asked() { End::Interrupted } else { End::Complete };
    crew.append(&RecordLine::End(end.clone()))?;
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::EvenIfStopped;
    use anyhow::Error;
    use model::zoo;

    /// Where something goes wrong.
    #[derive(Clone, Copy, PartialEq)]
    enum Trouble {
        None,
        Begin,
        Round,
        Dismiss,
    }

    /// A crew that measures nothing, with the ends of its record.
    struct IdleCrew {
        stop: Stop,
        trouble: (Trouble, fn() -> Error),
        ends: Vec<End>,
    }

    impl IdleCrew {
        fn meet(&self, place: Trouble) -> Result<()> {
            let (trouble, error) = &self.trouble;
            if *trouble == place { Err(error()) } else { Ok(()) }
        }
    }

    impl Crew for IdleCrew {
        fn stop(&self) -> &Stop {
            &self.stop
        }

        fn begin(&mut self, _: &RunState) -> Result<()> {
            self.meet(Trouble::Begin)
        }

        fn begin_anew(&mut self, _: &RunState) -> Result<()> {
            Ok(())
        }

        fn round(&mut self, next: &NextRound, state: &mut RunState) -> Result<bool> {
            self.meet(Trouble::Round)?;
            for case in &next.cases {
                let mut trial = zoo::trial(next.round);
                (trial.case, trial.invocation) = (*case, next.invocation);
                state.agenda.add_trials(&[&trial]);
            }
            Ok(true)
        }

        fn dismiss(&mut self) -> Result<()> {
            self.meet(Trouble::Dismiss)
        }

        fn append(&mut self, line: &RecordLine) -> Result<()> {
            self.ends.extend(match line {
                RecordLine::End(end) => Some(end.clone()),
                _ => None,
            });
            Ok(())
        }
    }

    fn unwritten() -> Error {
        Error::msg(EvenIfStopped("failed to write the record".to_string())).context("it ended")
    }

    #[test]
    fn a_record_has_one_end_whatever_goes_wrong() {
        let plan = zoo::record().header.plan;
        let check = |is_stopped: bool, trouble: (Trouble, fn() -> Error), expected: Option<End>| {
            let stop = Stop::default();
            if is_stopped {
                stop.ask();
            }
            let mut crew = IdleCrew { stop, trouble, ends: Vec::new() };
            let (agenda, clock) = (Agenda::new(&plan), RunClock::start(Duration::ZERO));
            let ended = carry_out(&mut crew, RunState { agenda, clock });
            let end = expected.clone().unwrap_or(End::Interrupted);
            assert_eq!((ended.ok(), &crew.ends[..]), (expected, &[end][..]));
        };
        let cut: fn() -> Error = || Error::msg("no worker starts");
        check(false, (Trouble::None, cut), Some(End::Complete));
        check(true, (Trouble::None, cut), Some(End::Interrupted));
        for place in [Trouble::Begin, Trouble::Round, Trouble::Dismiss] {
            check(false, (place, cut), None);
            check(true, (place, cut), Some(End::Interrupted));
            for is_stopped in [false, true] {
                check(is_stopped, (place, unwritten), None);
            }
        }
    }
}
