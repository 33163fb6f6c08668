//! The checks of a gate: which loss exceeds its limit.

use crate::document::{Block, Paragraph, Section};
use crate::findings;
use crate::grid::{Grid, GridCell, LAST, left, right};
use crate::labels::CaseLabels;
use crate::pair::{name, names};
use crate::style::Paint;
use crate::text::{Text, command, figure, text};
use crate::words::{NONE, count, fitted, if_any, listed, or_none, times, times_interval};
use assess::Assessment;
use assess::decision::Decision;
use assess::gate::{self, Check, Gate};
use assess::percentile::ABOVE_MIN;
use assess::records::RecordComparison;
use model::goal::Indicator;
use model::plan::{INVOCATIONS_MAX, Skip};
use model::record::Header;
use model::units;

/// The checks in a table.
pub(crate) fn checks<'a>(versus: &RecordComparison, gate: &Gate) -> Section<'a> {
    Section::new("Checks", [Block::table(table(versus, gate), [])])
}

/// What the checks decide.
pub(crate) fn answer(versus: &RecordComparison, gate: &Gate) -> Paragraph {
    Paragraph { text: closing(versus, gate), paint: paint(gate.within) }
}

/// The color of what a check or all of them decide.
fn paint(within: Decision) -> Paint {
    match within {
        Decision::No | Decision::Undecided => Paint::Doubt,
        Decision::Yes => Paint::Plain,
    }
}

/// What a gate decided, as a title.
pub(crate) fn title(gate: &Gate) -> &'static str {
    match gate.within {
        Decision::No => "The gate fails",
        Decision::Undecided => "The gate cannot tell",
        Decision::Yes => "The gate passes",
    }
}

/// What the time that the sides were given was spent on, and what was pruned, in a line; nothing if
/// neither was asked for.
pub(crate) fn time_and_pruning<'a>(versus: &RecordComparison) -> Section<'a> {
    let labels = names(versus);
    let said = |assessment: &Assessment| {
        let parts = findings::campaign(assessment).into_iter().chain(pruned(assessment, &labels));
        parts.collect::<Vec<_>>().join("; ")
    };
    let (a, b) = (said(&versus.a), said(&versus.b));
    let sides = if a == b { vec![("", b)] } else { vec![("A: ", a), ("B: ", b)] };
    let told = sides.into_iter().filter(|(_, said)| !said.is_empty());
    let told: Vec<String> = told.map(|(side, said)| format!("{side}{said}")).collect();
    let note = (!told.is_empty()).then(|| Block::Findings(vec![findings::note(told.join(". "))]));
    Section::new("Time and pruning", note)
}

/// The pruned cases, if it was asked to prune: measured ones without further rounds.
fn pruned(assessment: &Assessment, names: &CaseLabels) -> Option<String> {
    let is_measured = |skip: &&Skip| {
        assessment.cases.iter().any(|summary| summary.case == skip.case && summary.n > 0)
    };
    let pruned = assessment.skips.iter().filter(is_measured);
    let pruned: Vec<String> = pruned.map(|skip| names.label(&skip.case)).collect();
    assessment.header.plan.prune.then(|| match &pruned[..] {
        [] => "no case was pruned".to_string(),
        some => format!("pruned: {}", listed(some)),
    })
}

/// A row for each check.
fn table(versus: &RecordComparison, gate: &Gate) -> Grid {
    let names = names(versus);
    let mut grid = Grid::new(vec![
        left("case", 0),
        left("metric", 0),
        right("B/A", 0),
        left("95 % CI", LAST),
        left("limit", 0),
        left("gate", 0),
    ]);
    for check in &gate.checks {
        let doubt = if check.is_in_doubt { "?" } else { "" };
        let interval = check.interval.and_then(|(low, high)| times_interval(Some(low), Some(high)));
        let texts = [
            name(versus.of(&versus.pairs[check.pair]), &names),
            check.rule.watched.to_string(),
            check.ratio.map_or(NONE.to_string(), |ratio| times(ratio) + doubt),
            or_none(interval),
            limit(check),
            outcome(check),
        ];
        grid.row(texts.map(|text| GridCell::new(text, paint(check.within))).to_vec());
    }
    grid
}

/// `5 % less`, or `10 % more`.
fn limit(check: &Check) -> String {
    let more = match check.rule.watched {
        Indicator::Throughput => "less",
        _ => "more",
    };
    format!("{} % {more}", (check.rule.limit * 1e4).round() / 1e2)
}

fn outcome(check: &Check) -> String {
    match (check.within, check.needs) {
        (Decision::Undecided, _) if check.unmeasured > 0 => {
            format!("cannot tell: {} without it", count(check.unmeasured, "round"))
        }
        (Decision::Undecided, _) if check.failed > 0 => {
            format!("cannot tell: {} failed in B", count(check.failed, "trial"))
        }
        (Decision::Undecided, Some(needs)) if needs > MOST => {
            format!("cannot tell: needs over {MOST} invocations")
        }
        (Decision::Undecided, Some(needs)) => format!("cannot tell: needs {needs} invocations"),
        (Decision::Undecided, None) if check.runs.is_some() => {
            "cannot tell: earlier runs vary".to_string()
        }
        (within, _) => gate::outcome(within).to_string(),
    }
}

const NO_CHANCE: &str = "which chance does not explain";

/// More than a run can have decide nothing.
const MOST: usize = INVOCATIONS_MAX as usize;

/// What all checks decide, and what to do.
pub(crate) fn closing(versus: &RecordComparison, gate: &Gate) -> Text {
    let doubts = match gate.checks.iter().filter(|check| check.is_in_doubt).count() {
        0 => String::new(),
        1 => " 1 check rests on a doubtful figure (?): the report of its record says why."
            .to_string(),
        some => format!(
            " {some} checks rest on doubtful figures (?): the reports of their records say why."
        ),
    };
    text!("{}{}", decision(versus, gate), doubts)
}

/// The outcome, its reason and what to do.
fn decision(versus: &RecordComparison, gate: &Gate) -> Text {
    let checks = &gate.checks;
    let all = count(checks.len(), "check");
    let lost = if_any(versus.left_out.len(), |lost| {
        format!(" {} could not be compared.", count(lost, "case"))
    });
    match gate.within {
        Decision::No => {
            let slower = match number(checks, Decision::No) {
                0 => String::new(),
                1 => format!(" Of {all}, 1 loses more than its limit, {NO_CHANCE}."),
                some => format!(" Of {all}, {some} lose more than their limit, {NO_CHANCE}."),
            };
            let broken = match versus.broken() {
                0 => String::new(),
                1 => " 1 case works in A and fails in B.".to_string(),
                some => format!(" {some} cases work in A and fail in B."),
            };
            text!("The gate fails.{}{}{}", slower, broken, lost)
        }
        Decision::Yes => {
            text!("The gate passes: of {}, none loses more than its limit.", all)
        }
        Decision::Undecided => {
            let open = match number(checks, Decision::Undecided) {
                0 => String::new(),
                1 => format!(" Of {all}, 1 is open."),
                open => format!(" Of {all}, {open} are open."),
            };
            text!(
                "The gate cannot tell.{}{}{}{}",
                open,
                idle(gate),
                lost,
                advice(gate, &versus.b.header)
            )
        }
    }
}

fn number(checks: &[Check], within: Decision) -> usize {
    checks.iter().filter(|check| check.within == within).count()
}

/// The limits that watch nothing.
fn idle(gate: &Gate) -> String {
    let names: Vec<String> = gate.idle.iter().map(|rule| rule.watched.to_string()).collect();
    if names.is_empty() { String::new() } else { format!(" No case has a {}.", listed(&names)) }
}

/// What would decide the open checks.
fn advice(gate: &Gate, header: &Header) -> Text {
    let (tool, commands) = (&header.tool, !header.plan.commands.is_empty());
    let mut advice = Text::default();
    let checks = || gate.checks.iter().filter(|check| check.within == Decision::Undecided);
    let lacking = |watched: Indicator| {
        checks().any(|check| check.rule.watched == watched && check.unmeasured > 0)
    };
    if checks().any(|check| check.unmeasured > 0) {
        advice.push(
            " Rounds without a figure are often the slow ones, so the others decide nothing.",
        );
    }
    let tails = checks().filter(|check| check.unmeasured > 0).filter_map(|check| {
        match check.rule.watched {
            Indicator::Latency(tail) | Indicator::Sync(tail) => Some(tail),
            _ => None,
        }
    });
    if let Some(tail) = tails.min_by_key(|tail| tail.parts()) {
        let (longer, least) = (fitted("use a longer --time", tool), tail.operations_for(ABOVE_MIN));
        advice.push(format!(
            " A {tail} takes {least} operations or syncs in each round: {longer}. With a rate, \
             those must have begun: ask for fewer operations a second."
        ));
    }
    if lacking(Indicator::Cpu) && !commands {
        let longer = fitted("use a longer --time", tool);
        advice.push(format!(
            " The start and end of a peer that does not report its CPU time weigh less in a longer \
             trial: {longer}."
        ));
    }
    if checks().any(|check| check.failed > 0) {
        advice.push(
            " Trials that fail are often the slow ones: see the report of B, and mend what fails.",
        );
    }
    let is_measured = |check: &&Check| check.unmeasured + check.failed == 0;
    let runs = checks().filter(is_measured).filter_map(|check| check.runs);
    if let Some(runs) = runs.max_by(|a, b| a.deviation.total_cmp(&b.deviation)) {
        let instead = match commands {
            true => "judge both commands in one run".into(),
            false => text!(
                "measure both sides in one run, with a directory or a program as {}",
                command("ioassay gate --against")
            ),
        };
        advice.push(text!(
            " {} kept runs of this recipe vary by up to {}, which is too much for this limit: {}.",
            runs.runs,
            figure(units::percent(runs.deviation)),
            instead
        ));
    }
    if checks().filter(is_measured).any(|check| check.rule.limit == 0.0) {
        advice.push(" Only a gain is within a limit of 0 %: give a larger one.");
    }
    match checks().filter_map(|check| check.needs).max() {
        Some(needs) if needs > MOST => {
            advice.push(" The figures vary too much here: use a quieter machine or longer trials.")
        }
        Some(needs) => {
            let more = fitted(&format!("measure both with --invocations {needs}"), tool);
            advice.push(format!(" To decide, {more}."));
        }
        None => {}
    }
    advice
}
