//! The checks of a gate: which loss exceeds its limit.

use crate::grid::{Cell, Grid, left, right};
use crate::records::{head, left_lines, name, names};
use crate::style::{Paint, Style};
use crate::words::{NONE, count, times, times_interval};
use assess::gate::{Check, Outcome, Watched};
use assess::records::RecordComparison;
use model::plan::INVOCATIONS_MAX;

/// The outcome of a gate as a whole.
pub fn gate_outcome(versus: &RecordComparison, checks: &[Check]) -> Outcome {
    let has = |outcome: Outcome| checks.iter().any(|check| check.outcome == outcome);
    if has(Outcome::Exceeded) || versus.broken() > 0 {
        Outcome::Exceeded
    } else if has(Outcome::Open) || checks.is_empty() || !versus.left_out.is_empty() {
        Outcome::Open
    } else {
        Outcome::Within
    }
}

/// The checks as a table, and what they decide.
pub fn gate(versus: &RecordComparison, checks: &[Check], style: &Style) -> String {
    let table = if checks.is_empty() { String::new() } else { table(versus, checks).render(style) };
    let paint = match gate_outcome(versus, checks) {
        Outcome::Exceeded | Outcome::Open => Paint::Doubt,
        Outcome::Within => Paint::Plain,
    };
    format!("{table}\n{}", style.wrap("", paint, &closing(versus, checks)))
}

/// The same beneath the two records, for a run of both sides.
pub fn gate_of_run(
    versus: &RecordComparison,
    checks: &[Check],
    paths: [&str; 2],
    style: &Style,
) -> String {
    head(versus, paths, style) + &gate(versus, checks, style) + &left_lines(versus, style)
}

/// What a gate decided, as a title.
pub(crate) fn title(versus: &RecordComparison, checks: &[Check]) -> &'static str {
    match gate_outcome(versus, checks) {
        Outcome::Exceeded => "The gate fails",
        Outcome::Open => "The gate cannot tell",
        Outcome::Within => "The gate passes",
    }
}

/// A row for each check.
pub(crate) fn table(versus: &RecordComparison, checks: &[Check]) -> Grid {
    let names = names(versus);
    let mut grid = Grid::new(vec![
        left("case", 0),
        left("metric", 0),
        right("B/A", 0),
        left("95 % CI", 0),
        left("limit", 0),
        left("gate", 0),
    ]);
    for check in checks {
        let paint = match check.outcome {
            Outcome::Exceeded | Outcome::Open => Paint::Doubt,
            Outcome::Within => Paint::Plain,
        };
        let interval = check.interval.and_then(|(low, high)| times_interval(Some(low), Some(high)));
        let texts = [
            name(versus.of(&versus.pairs[check.pair]), &names),
            check.rule.watched.name().to_string(),
            times(check.ratio) + if check.is_in_doubt { "?" } else { "" },
            interval.unwrap_or(NONE.to_string()),
            limit(check),
            outcome(check),
        ];
        grid.row(texts.map(|text| Cell::new(text, paint)).to_vec());
    }
    grid
}

/// `5 % less`, or `10 % more`.
fn limit(check: &Check) -> String {
    let more = match check.rule.watched {
        Watched::Throughput => "less",
        Watched::P99 | Watched::SyncP99 | Watched::Cpu => "more",
    };
    format!("{} % {more}", (check.rule.limit * 1e4).round() / 1e2)
}

fn outcome(check: &Check) -> String {
    match (check.outcome, check.needs) {
        (Outcome::Open, Some(needs)) if needs > MOST => {
            format!("cannot tell: needs over {MOST} invocations")
        }
        (Outcome::Open, Some(needs)) => format!("cannot tell: needs {needs} invocations"),
        (outcome, _) => outcome.to_string(),
    }
}

const NO_CHANCE: &str = "which chance does not explain";

/// More than a run can have decide nothing.
const MOST: usize = INVOCATIONS_MAX as usize;

/// What all checks decide, and what to do.
pub(crate) fn closing(versus: &RecordComparison, checks: &[Check]) -> String {
    let doubts = match checks.iter().filter(|check| check.is_in_doubt).count() {
        0 => String::new(),
        1 => " 1 check rests on a doubtful figure (?): the report of its record says why."
            .to_string(),
        some => format!(
            " {some} checks rest on doubtful figures (?): the reports of their records say why."
        ),
    };
    decision(versus, checks) + &doubts
}

/// The outcome, its reason and what to do.
fn decision(versus: &RecordComparison, checks: &[Check]) -> String {
    let number = |outcome: Outcome| checks.iter().filter(|it| it.outcome == outcome).count();
    let all = count(checks.len(), "check");
    let lost = match versus.left_out.len() {
        0 => String::new(),
        lost => format!(" {} could not be compared.", count(lost, "case")),
    };
    match gate_outcome(versus, checks) {
        Outcome::Exceeded => {
            let slower = match number(Outcome::Exceeded) {
                0 => "none lose more than their limit".to_string(),
                1 => format!("1 loses more than its limit, {NO_CHANCE}"),
                some => format!("{some} lose more than their limit, {NO_CHANCE}"),
            };
            let broken = match versus.broken() {
                0 => String::new(),
                some => format!(" {} that A can do failed in B.", count(some, "case")),
            };
            format!("The gate fails: of {all}, {slower}.{broken}{lost}")
        }
        Outcome::Within => format!("The gate passes: of {all}, none lose more than their limit."),
        Outcome::Open if checks.is_empty() => {
            format!("The gate cannot tell: no case has a figure that it watches.{lost}")
        }
        Outcome::Open => {
            let open = number(Outcome::Open);
            let needs = checks.iter().filter_map(|check| check.needs).max();
            let advice = match needs.filter(|_| open > 0) {
                Some(needs) if needs > MOST => {
                    " The figures vary too much here: use a quieter machine or longer trials."
                        .to_string()
                }
                Some(needs) => format!(" Measure both with --invocations {needs}."),
                None => String::new(),
            };
            let open =
                if open == 0 { String::new() } else { format!(" of {all}, {open} are open.") };
            format!("The gate cannot tell:{open}{lost}{advice}")
        }
    }
}
