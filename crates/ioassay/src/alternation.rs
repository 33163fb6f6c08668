//! Two runs of one question whose rounds alternate, so that whatever disturbs the machine disturbs
//! both: the sides of a gate.

use crate::files::Files;
use crate::schedule::Run;
use crate::site::Left;
use crate::so_far::SoFar;
use crate::turns::PAUSE;
use anyhow::Result;
use model::record::{End, Line};
use std::ops::Range;
use std::time::Duration;

/// One of the two runs.
struct Side<'a> {
    run: Run<'a>,
    /// The files of its invocation.
    files: Files,
    so_far: SoFar,
    left_over: Left,
}

/// Runs all trials of both, each in its own record. Returns how they ended.
///
/// # Errors
/// As for a run alone: either one ends both.
pub fn alternate<'a>(runs: [Run<'a>; 2], files: [Files; 2]) -> Result<End> {
    let [one, other] = runs;
    let [of_one, of_other] = files;
    let mut sides = [Side::new(one, of_one), Side::new(other, of_other)];
    let mut is_first = true;
    while let Some(rounds) = next_rounds(&mut sides) {
        let is_stopped = |sides: &[Side; 2]| sides[0].run.site.stop.is_asked();
        let begun = match std::mem::take(&mut is_first) {
            true => Ok(()),
            false => begin_anew(&mut sides),
        };
        match begun.and_then(|()| invocation(&mut sides, rounds)) {
            Ok(()) => {}
            // Even if something stops the run, the completed trials are valid.
            Err(_) if is_stopped(&sides) => break,
            Err(error) => {
                // The error says why, and that an end cannot be written is no more than that.
                let _ = append_end(&mut sides, &End::Interrupted);
                return Err(error);
            }
        }
        if is_stopped(&sides) {
            break;
        }
    }
    let end = if sides[0].run.site.stop.is_asked() { End::Interrupted } else { End::Complete };
    append_end(&mut sides, &end)?;
    sides.iter().for_each(|side| side.run.site.progress.end());
    Ok(end)
}

/// The rounds of the next invocation; none if either run has no more.
fn next_rounds(sides: &mut [Side; 2]) -> Option<Range<u32>> {
    let [one, other] = sides.each_mut().map(|side| side.run.next_rounds(&mut side.so_far));
    one.filter(|_| other.is_some())
}

/// New files and workers for both, after one pause.
fn begin_anew(sides: &mut [Side; 2]) -> Result<()> {
    for (side, pause) in sides.iter_mut().zip([PAUSE, Duration::ZERO]) {
        let old = std::mem::take(&mut side.files);
        side.files = side.run.begin_anew(old, pause, &mut side.so_far)?;
        side.left_over = Left::of_invocation_before();
    }
    Ok(())
}

/// The rounds of an invocation. Each side begins every other one: what the first leaves to the
/// second, such as a warmer processor, is divided equally.
fn invocation(sides: &mut [Side; 2], rounds: Range<u32>) -> Result<()> {
    let mut traces = sides[0].left_over.traces;
    for round in rounds {
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for index in order {
            let Side { run, files, so_far, left_over } = &mut sides[index];
            // Whatever one side wrote, the other waits for, too: both may be on one device.
            left_over.traces = left_over.traces.and(traces);
            if run.round(files, round, left_over, so_far)?.is_none() {
                return Ok(());
            }
            traces = left_over.traces;
        }
    }
    let mut all = sides.iter_mut();
    all.try_for_each(|Side { run, files, left_over, .. }| run.dismiss(files, left_over))
}

/// Ends both records, even if one of them cannot be written.
fn append_end(sides: &mut [Side; 2], end: &End) -> Result<()> {
    let ends = sides.each_mut().map(|side| side.run.store.append(&Line::End(end.clone())));
    ends.into_iter().collect()
}

impl<'a> Side<'a> {
    fn new(run: Run<'a>, files: Files) -> Side<'a> {
        let so_far = SoFar::new(run.site.plan);
        run.site.progress.rounds_begin();
        Side { run, files, so_far, left_over: Left::default() }
    }
}
