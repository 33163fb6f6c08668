//! Two runs of one question whose rounds alternate, so that whatever disturbs the machine disturbs
//! both: the sides of a gate. They have one agenda.

use crate::agenda::{Agenda, Turns, lasted};
use crate::files::Files;
use crate::schedule::{Run, RunState};
use crate::turns::PAUSE;
use anyhow::Result;
use model::plan::Plan;
use model::record::{End, Record, RecordLine};
use std::time::Duration;

/// One of the two runs.
struct GateSide<'a> {
    run: Run<'a>,
    /// The files of its invocation.
    files: Files,
}

/// Runs all trials of both that are left, each in its own record. Returns how they ended.
///
/// # Errors
/// As for a run alone: either one ends both.
pub fn alternate<'a>(runs: [Run<'a>; 2], files: [Files; 2]) -> Result<End> {
    let [one, other] = runs;
    let [of_one, of_other] = files;
    let mut sides =
        [GateSide { run: one, files: of_one }, GateSide { run: other, files: of_other }];
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

/// Runs the rounds of both.
fn take_turns(sides: &mut [GateSide; 2]) -> Result<()> {
    let mut state = state_of(sides);
    for GateSide { run, files } in sides.iter_mut() {
        run.begin(files, &state)?;
    }
    while let Some(turns) = state.agenda.next(state.clock.passed()) {
        if turns.is_anew {
            dismiss(sides)?;
            begin_anew(sides, &state)?;
        }
        if state.has_time() && round(sides, &turns, &mut state)? {
            for pruned in state.agenda.end_round(&turns, state.clock.passed()) {
                let line = RecordLine::Pruned(pruned);
                sides.iter_mut().try_for_each(|side| side.run.store.append(&line))?;
            }
            sides.iter_mut().for_each(|side| side.run.show_findings());
        }
        if sides[0].run.site.stop.is_asked() {
            break;
        }
    }
    dismiss(sides)
}

/// Where both begin, or go on.
fn state_of<'a>(sides: &[GateSide<'a>; 2]) -> RunState<'a> {
    let before: Vec<&Record> =
        sides.iter().filter_map(|side| Some(&side.run.before?.record)).collect();
    let plans: [&Plan; 2] = sides.each_ref().map(|side| side.run.site.plan);
    let agenda = match &before[..] {
        [] => Agenda::of_sides(&plans),
        records => Agenda::of_records(records),
    };
    let lasted = before.iter().map(|record| lasted(record)).max().unwrap_or(Duration::ZERO);
    RunState::begin(agenda, lasted)
}

/// New files and workers for both, after one pause.
fn begin_anew(sides: &mut [GateSide; 2], state: &RunState) -> Result<()> {
    for (side, pause) in sides.iter_mut().zip([PAUSE, Duration::ZERO]) {
        let old = std::mem::take(&mut side.files);
        side.files = side.run.begin_anew(old, pause, state)?;
    }
    Ok(())
}

/// A round of both. Each side begins every other one: what the first leaves to the second, such as
/// a warmer processor, is divided equally. Returns whether it was completed.
fn round(sides: &mut [GateSide; 2], turns: &Turns, state: &mut RunState) -> Result<bool> {
    let order = if turns.round.is_multiple_of(2) { [0, 1] } else { [1, 0] };
    let mut traces = sides[order[0]].run.left_over.traces;
    let mut is_whole = true;
    for index in order {
        let GateSide { run, files } = &mut sides[index];
        // Whatever one side wrote, the other waits for, too: both may be on one device.
        run.left_over.traces = run.left_over.traces.and(traces);
        is_whole &= run.round(files, turns, state)?;
        traces = run.left_over.traces;
    }
    Ok(is_whole)
}

/// Dismisses the workers of both.
fn dismiss(sides: &mut [GateSide; 2]) -> Result<()> {
    sides.iter_mut().try_for_each(|GateSide { run, files }| run.dismiss(files))
}

/// Ends both records, even if one of them cannot be written.
fn append_end(sides: &mut [GateSide; 2], end: &End) -> Result<()> {
    let ends = sides.each_mut().map(|side| side.run.store.append(&RecordLine::End(end.clone())));
    ends.into_iter().collect()
}
