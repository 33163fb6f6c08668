//! Two runs of one question whose rounds alternate, so that whatever disturbs the machine disturbs
//! both: the sides of a gate.

use crate::agenda::{Agenda, Turns};
use crate::files::Files;
use crate::schedule::{Run, RunState};
use crate::turns::PAUSE;
use anyhow::Result;
use model::record::{End, RecordLine};
use std::time::Duration;

/// One of the two runs.
struct GateSide<'a> {
    run: Run<'a>,
    /// The files of its invocation.
    files: Files,
    state: RunState<'a>,
}

/// Runs all trials of both, each in its own record. Returns how they ended.
///
/// # Errors
/// As for a run alone: either one ends both.
pub fn alternate<'a>(runs: [Run<'a>; 2], files: [Files; 2]) -> Result<End> {
    let [one, other] = runs;
    let [of_one, of_other] = files;
    let mut sides = [GateSide::new(one, of_one), GateSide::new(other, of_other)];
    let is_stopped = |sides: &[GateSide; 2]| sides[0].run.site.stop.is_asked();
    let carried_out = take_turns(&mut sides);
    match carried_out {
        Ok(()) => {}
        // Even if something stops the run, the completed trials are valid.
        Err(_) if is_stopped(&sides) => {}
        Err(error) => {
            // The error says why, and that an end cannot be written is no more than that.
            let _ = append_end(&mut sides, &End::Interrupted);
            return Err(error);
        }
    }
    let end = if is_stopped(&sides) { End::Interrupted } else { End::Complete };
    append_end(&mut sides, &end)?;
    sides.iter().for_each(|side| side.run.site.progress.end());
    Ok(end)
}

/// Runs the rounds of both, until either has no more.
fn take_turns(sides: &mut [GateSide; 2]) -> Result<()> {
    while let [Some(one), Some(other)] = sides.each_mut().map(GateSide::next) {
        if one.is_anew {
            dismiss(sides)?;
            begin_anew(sides)?;
        }
        if !round(sides, [&one, &other])? || sides[0].run.site.stop.is_asked() {
            break;
        }
    }
    dismiss(sides)
}

/// New files and workers for both, after one pause.
fn begin_anew(sides: &mut [GateSide; 2]) -> Result<()> {
    for (side, pause) in sides.iter_mut().zip([PAUSE, Duration::ZERO]) {
        let old = std::mem::take(&mut side.files);
        side.files = side.run.begin_anew(old, pause, &mut side.state)?;
    }
    Ok(())
}

/// A round of both. Each side begins every other one: what the first leaves to the second, such as
/// a warmer processor, is divided equally. Returns whether it was completed.
fn round(sides: &mut [GateSide; 2], turns: [&Turns; 2]) -> Result<bool> {
    let order = if turns[0].round.is_multiple_of(2) { [0, 1] } else { [1, 0] };
    let mut traces = sides[order[0]].state.left_over.traces;
    for index in order {
        let GateSide { run, files, state } = &mut sides[index];
        // Whatever one side wrote, the other waits for, too: both may be on one device.
        state.left_over.traces = state.left_over.traces.and(traces);
        if !run.round(files, turns[index], state)? {
            return Ok(false);
        }
        run.end_round(turns[index], state)?;
        traces = state.left_over.traces;
    }
    sides.iter_mut().for_each(|side| side.run.show_findings());
    Ok(true)
}

/// Dismisses the workers of both.
fn dismiss(sides: &mut [GateSide; 2]) -> Result<()> {
    let mut all = sides.iter_mut();
    all.try_for_each(|GateSide { run, files, state }| run.dismiss(files, &mut state.left_over))
}

/// Ends both records, even if one of them cannot be written.
fn append_end(sides: &mut [GateSide; 2], end: &End) -> Result<()> {
    let ends = sides.each_mut().map(|side| side.run.store.append(&RecordLine::End(end.clone())));
    ends.into_iter().collect()
}

impl<'a> GateSide<'a> {
    fn new(run: Run<'a>, files: Files) -> GateSide<'a> {
        let state = RunState::begin(Agenda::new(run.site.plan), Duration::ZERO);
        run.site.progress.rounds_begin();
        GateSide { run, files, state }
    }

    /// Its next round.
    fn next(&mut self) -> Option<Turns> {
        self.state.agenda.next(self.state.clock.passed())
    }
}
