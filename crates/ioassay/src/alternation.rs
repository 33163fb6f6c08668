//! Two runs of one question whose rounds alternate, so that whatever disturbs the machine disturbs
//! both: the sides of a gate. They have one agenda.

use crate::agenda::{Agenda, NextRound, lasted};
use crate::clock::RunClock;
use crate::crew::{Crew, PAUSE, RunState, carry_out};
use crate::schedule::Run;
use crate::stop::Stop;
use anyhow::Result;
use model::plan::Plan;
use model::record::{End, Record, RecordLine};
use std::time::Duration;

/// Both runs, that of the reference first.
struct Alternation<'a>([Run<'a>; 2]);

/// Runs all trials of both that are left, each in its own record. Returns how they ended.
///
/// # Errors
/// As for a run alone: either one ends both.
pub fn alternate(sides: [Run<'_>; 2]) -> Result<End> {
    let state = state_of(&sides);
    let progress = sides[0].site.progress;
    let end = carry_out(&mut Alternation(sides), state)?;
    progress.end();
    Ok(end)
}

/// Where both begin, or go on.
fn state_of<'a>(sides: &[Run<'a>; 2]) -> RunState<'a> {
    let before: Vec<&Record> = sides.iter().filter_map(|run| Some(&run.before?.record)).collect();
    let plans: [&Plan; 2] = sides.each_ref().map(|run| run.site.plan);
    let agenda = match &before[..] {
        [] => Agenda::of_sides(&plans),
        records => Agenda::of_records(records),
    };
    let lasted = before.iter().map(|record| lasted(record)).max().unwrap_or(Duration::ZERO);
    RunState { agenda, clock: RunClock::start(lasted) }
}

impl Crew for Alternation<'_> {
    fn stop(&self) -> &Stop {
        self.0[0].site.stop
    }

    fn begin(&mut self, state: &RunState) -> Result<()> {
        self.0.iter_mut().try_for_each(|run| run.begin(state))
    }

    /// Both after one pause.
    fn begin_anew(&mut self, state: &RunState) -> Result<()> {
        let mut each = self.0.iter_mut().zip([PAUSE, Duration::ZERO]);
        each.try_for_each(|(run, pause)| run.begin_after(pause, state))
    }

    /// Each side begins every other round: what the first leaves to the second, such as a warmer
    /// processor, is divided equally.
    fn round(&mut self, next: &NextRound, state: &mut RunState) -> Result<bool> {
        let order = if next.round.is_multiple_of(2) { [0, 1] } else { [1, 0] };
        let planned = state.agenda.trials_planned(next);
        let mut traces = self.0[order[0]].left_over.traces;
        let mut is_whole = true;
        for index in order {
            let run = &mut self.0[index];
            // Whatever one side wrote, the other waits for, too: both may be on one device.
            run.left_over.traces = run.left_over.traces.and(traces);
            is_whole &= run.turns(next, planned, state)?;
            traces = run.left_over.traces;
        }
        if is_whole {
            let [a, b] = self.0.each_ref().map(|run| run.store.path());
            let records = [("A", a), ("B", b)];
            self.0[0].site.progress.judge((0, 2), |side| records[side]);
        }
        Ok(is_whole)
    }

    fn dismiss(&mut self) -> Result<()> {
        self.0.iter_mut().try_for_each(Run::dismiss)
    }

    fn append(&mut self, line: &RecordLine) -> Result<()> {
        let appended = self.0.each_mut().map(|run| run.append(line));
        appended.into_iter().collect()
    }
}
