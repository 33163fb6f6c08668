//! When the fast part of writing ends, and whether the rate is steady.

use crate::labels::CaseLabels;
use crate::sentence::{Sentence, figure_of};
use crate::text::{Text, case, figure, text};
use assess::Assessment;
use assess::cliff::Cliff;
use assess::conclusions::steady::{SteadySince, SteadyState};
use assess::decision::Decision;
use model::units;

/// The lines of each case: whether it is steady, and where its fast part ended.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Vec<Sentence> {
    let all = &assessment.conclusions.steady;
    let of = |state: &SteadyState| {
        let name = |id: &str| labels.name(id);
        let is_only = all.len() == 1;
        let title =
            if is_only { Text::default() } else { text!("{}: ", case(&state.case.id, &name)) };
        let block = assessment.row(&state.case.id).and_then(|row| Some(row.case.io()?.block));
        let lines = said_state(state).into_iter().chain(said_saved(state, block));
        lines.map(|line| line.after(&title)).collect::<Vec<_>>()
    };
    all.iter().flat_map(of).collect()
}

/// Whether it is steady, and the cliff: `Steady since round 7 of 60 (after 3.50 GiB): 412 MB/s; the
/// first 2.10 GiB (1.90 s) ran at 1.20 GB/s, then it fell to 412 MB/s (34.3 % of that) within 512
/// MiB.`
fn said_state(state: &SteadyState) -> Vec<Sentence> {
    let bytes = units::bytes_rounded(state.bytes);
    let cliff = state.cliff.as_ref().map(|cliff| said_cliff(state, cliff));
    let text = match (state.steady, state.since) {
        (Decision::Yes, Some(since)) => {
            let none = || text!("no cliff in {}, but --for 1h may find one", bytes);
            text!("{}; {}", said_since(state, since), cliff.unwrap_or_else(none))
        }
        (Decision::No, _) => {
            let cliff = cliff.map_or(Text::default(), |cliff| text!("; {}", cliff));
            text!(
                "Not steady after {}: {}; go on with --for 1h{}",
                bytes,
                said_excess(state),
                cliff
            )
        }
        (Decision::Undecided, _) | (Decision::Yes, None) => {
            let open = Sentence::open("whether it is steady", said_lack(state), [&state.case]);
            let cliff = cliff.map(|cliff| Sentence::figures(cliff.capital(), [&state.case]));
            return cliff.into_iter().chain([open]).collect();
        }
    };
    vec![Sentence::figures(text, [&state.case])]
}

fn said_since(state: &SteadyState, since: SteadySince) -> Text {
    let rate = figure_of(units::rate(since.rate), &state.case);
    let bytes = units::bytes_rounded(since.at_bytes);
    text!("Steady since round {} of {} (after {}): {}", since.round, state.rounds, bytes, rate)
}

/// Where the rate fell or rose.
fn said_cliff(state: &SteadyState, cliff: &Cliff) -> Text {
    let change = cliff.change;
    let [before, after] =
        [change.before, change.after].map(|rate| figure_of(units::rate(rate), &state.case));
    let [at, within] = [change.at_bytes, cliff.within_bytes].map(units::bytes_rounded);
    let time = units::nanoseconds(change.at_ns as f64);
    if change.is_rise() {
        return text!(
            "it became faster: {} for the first {} ({}), then {}",
            before,
            at,
            time,
            after
        );
    }
    text!(
        "the first {} ({}) ran at {}, then it fell to {} ({} of that) within {}",
        at,
        time,
        before,
        after,
        figure(units::percent(change.after / change.before)),
        within
    )
}

/// By how much the last rounds miss the limits.
fn said_excess(state: &SteadyState) -> Text {
    let (range, slope) = (state.range.unwrap_or(0.0), state.slope.unwrap_or(0.0));
    let goes = if slope < 0.0 { "falls" } else { "rises" };
    text!(
        "the last five rounds differ by {} of their mean, and their line {} by {}",
        figure(units::percent(range)),
        goes,
        figure(units::percent(slope.abs()))
    )
}

/// What is missing to tell whether it is steady.
fn said_lack(state: &SteadyState) -> String {
    let needed = units::bytes_rounded(state.preconditioning_bytes);
    let bytes = units::bytes_rounded(state.bytes);
    if state.rounds == 0 {
        return format!(
            "{bytes} were too few operations for a time series: give it more time with --for"
        );
    }
    format!(
        "needs five rounds after the first {needed}, which precondition the file, and {bytes} were \
         written: give it more time with --for, or a smaller file with run --size"
    )
}

/// Blocks up to this size are one operation for credits of cloud volumes; larger ones are several.
const OPERATION_MOST: u64 = 256 << 10;

/// What was written beyond the later rate, as long as the rate was high.
fn said_saved(state: &SteadyState, block: Option<u64>) -> Option<Sentence> {
    let saved = state.cliff.as_ref()?.saved_bytes.filter(|bytes| *bytes > 0)?;
    let operations = block.filter(|block| (1..=OPERATION_MOST).contains(block)).map(|block| {
        let operations = units::scaled((saved / block) as f64);
        text!(", {} operations,", operations.trim_end())
    });
    let bytes = figure_of(units::bytes_rounded(saved), &state.case);
    let text = text!(
        "Until then it wrote about {}{} more than it would have at the later rate: what a cache or \
         credits had saved up, as an estimate",
        bytes,
        operations.unwrap_or_default()
    );
    Some(Sentence::figures(text, [&state.case]))
}
