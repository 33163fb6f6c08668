//! The goals of a run: a sentence that answers whether they are met, and a table with what shows
//! it.

use crate::document::Block;
use crate::grid::{Grid, GridCell, GridColumn, LAST, left, right};
use crate::labels::CaseLabels;
use crate::sentence::{Sentence, figure_in};
use crate::style::Paint;
use crate::text::{Text, case, joined, text};
use crate::words::{self, FigureFormat, NONE, UNSENT, count, per_second};
use assess::Assessment;
use assess::conclusions::fit::{CaseFit, Fit, MetGoal, Unfit};
use assess::decision::Decision;
use assess::latency::UNSENT_NS;
use assess::summary::Summary;
use model::goal::Indicator;
use model::units;

/// The word for whether goals are met.
pub(crate) fn outcome(fit: Decision) -> &'static str {
    match fit {
        Decision::Yes => "fit",
        Decision::No => "not fit",
        Decision::Undecided => "cannot tell",
    }
}

/// Whether all goals are met, in one line: which are missed, or what leaves it open.
pub(crate) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Option<Sentence> {
    let fit = assessment.conclusions.fit.as_ref()?;
    let row = |goal| worst(goal).and_then(|it| assessment.row(&it.id));
    let told = telling(fit).map(|goal| said_goal(goal, row(goal), labels));
    let told = joined(&told.collect::<Vec<_>>(), "; ");
    let text = match (fit.fit, fit.goals.len()) {
        (Decision::Yes, 1) => text!("Fit: {}.", told),
        (Decision::Yes, 2) => text!("Fit: both goals are met: {}.", told),
        (Decision::Yes, goals) => text!("Fit: all {} goals are met: {}.", goals, told),
        (Decision::No, _) => text!("Not fit: {}.", told),
        (Decision::Undecided, _) => text!("It cannot tell whether this is fit: {}.", told),
    };
    Some(Sentence::of_summaries(text, telling(fit).filter_map(row)))
}

/// The goals that make the outcome what it is.
fn telling(fit: &Fit) -> impl Iterator<Item = &MetGoal> {
    fit.goals.iter().filter(|goal| goal.fit == fit.fit)
}

/// The cases that make the outcome of a goal what it is.
fn telling_cases(goal: &MetGoal) -> impl Iterator<Item = &CaseFit> {
    goal.cases.iter().filter(|case| case.fit == goal.fit)
}

/// The worst of them.
fn worst(goal: &MetGoal) -> Option<&CaseFit> {
    telling_cases(goal).max_by(|a, b| badness(goal, a).total_cmp(&badness(goal, b)))
}

/// What decides a goal in its worst case: `etcd's log: sync p99 is 2.31 ms (2.20-2.44), below
/// 10ms`.
fn said_goal(goal: &MetGoal, summary: Option<&Summary>, labels: &CaseLabels) -> Text {
    let title = goal.goal.says.as_ref().map(|says| format!("{says}: ")).unwrap_or_default();
    let (Some(worst), Some(summary)) = (worst(goal), summary) else {
        let why = if goal.cases.is_empty() { "its case was" } else { "a case was" };
        return text!("{}{} {} not measured", title, goal.goal.must.to_string(), why);
    };
    let name = |id: &str| labels.name(id);
    let others = telling_cases(goal).count() - 1;
    let of = match goal.cases.len() {
        1 => Text::default(),
        _ => text!(" of {}", case(&worst.id, &name)),
    };
    let others = match (others, goal.fit) {
        (0, _) => String::new(),
        (others, Decision::Yes) => format!(", as {} better", is_or_are(others)),
        (others, Decision::No) => format!(", and {} not met too", is_or_are(others)),
        (others, Decision::Undecided) => format!(", and {} open too", is_or_are(others)),
    };
    let indicator = goal.goal.must.indicator.to_string();
    text!("{}{}{}{}{}", title, indicator, of, said_case(goal, worst, summary), others)
}

fn is_or_are(others: usize) -> String {
    let verb = if others == 1 { "is" } else { "are" };
    format!("{} {verb}", count(others, "other case"))
}

/// How bad the figure of a case is, where more is worse; a missing one is the worst.
fn badness(goal: &MetGoal, case: &CaseFit) -> f64 {
    let value = case.value.unwrap_or(f64::INFINITY);
    if goal.goal.must.indicator.is_rate() && case.value.is_some() { -value } else { value }
}

/// ` is 2.31 ms (2.20-2.44), below 10ms`
fn said_case(goal: &MetGoal, case: &CaseFit, summary: &Summary) -> Text {
    let must = &goal.goal.must;
    let limit = must.said();
    let [kept, missed] = match must.indicator.is_rate() {
        true => ["above", "not above"],
        false => ["below", "not below"],
    };
    let with = |words: String| {
        let said = case.value.map(|value| figure_in(format_of(goal)(value), summary));
        text!(" is {}{}, {}", said.unwrap_or_default(), said_interval(goal, case), words)
    };
    let named = case.finding.map(|code| format!(" ({code})")).unwrap_or_default();
    match (case.fit, case.why) {
        (_, Some(Unfit::NotDurable)) => {
            text!(" counts for nothing: what was written was not durable{}", named)
        }
        (_, Some(Unfit::Void)) => text!(" has no valid figure{}", named),
        (_, Some(Unfit::NoFigure)) => text!(" has no figure: {}", why_none(case, summary)),
        (_, Some(Unfit::Doubtful)) => with(format!("which is doubtful{named}")),
        (_, Some(Unfit::TooFew)) => with(too_few(case, &limit)),
        (_, Some(Unfit::Exceeded)) => text!(
            " is not below {}: few were timed, but surely more take longer than {} allows",
            limit,
            must.indicator.to_string()
        ),
        (_, Some(Unfit::Close)) => with(format!("too close to {limit}: it needs more invocations")),
        (Decision::Yes, None) => with(format!("{kept} {limit}")),
        (Decision::No, None) => with(format!("{missed} {limit}")),
        (Decision::Undecided, None) => with(format!("undecided against {limit}")),
    }
}

/// What is missing to decide, and how to get it.
fn too_few(case: &CaseFit, limit: &str) -> String {
    match case.operations.zip(case.operations_needed) {
        Some((timed, needed)) if timed < needed => format!(
            "from {timed} of the {needed} operations that it takes to hold it against {limit}: it \
             needs more time or more rounds"
        ),
        _ => format!("from too few invocations to hold against {limit}"),
    }
}

/// Why a case has no figure that a goal is about.
fn why_none(case: &CaseFit, summary: &Summary) -> String {
    match case.operations.zip(case.operations_needed) {
        _ if !summary.verdict.stands() => "the case was not measured".to_string(),
        Some((timed, needed)) => format!("{timed} operations were timed, and it takes {needed}"),
        None => "it is unknown here".to_string(),
    }
}

/// How values of the goal are written.
fn format_of(goal: &MetGoal) -> FigureFormat {
    match goal.goal.must.indicator {
        Indicator::Throughput => units::rate,
        Indicator::Iops => per_second,
        Indicator::Time
        | Indicator::Cpu
        | Indicator::Gap
        | Indicator::Latency(_)
        | Indicator::Sync(_) => said_time,
    }
}

fn said_time(ns: f64) -> String {
    if ns >= UNSENT_NS as f64 { UNSENT.to_string() } else { units::nanoseconds(ns) }
}

fn said_interval(goal: &MetGoal, case: &CaseFit) -> String {
    match case.low {
        Some(_) => format!(" ({})", interval(goal, case)),
        None => String::new(),
    }
}

fn interval(goal: &MetGoal, case: &CaseFit) -> String {
    let say = match goal.goal.must.indicator {
        Indicator::Iops => units::scaled,
        _ => format_of(goal),
    };
    words::interval(case.low, case.high, say)
}

/// For each case a row for each goal that is about it: figure, interval, limit, outcome and who set
/// it. The cases are headings, because the names of some are as wide as a terminal.
pub(crate) fn table(assessment: &Assessment, labels: &CaseLabels) -> Option<Block> {
    let fit = assessment.conclusions.fit.as_ref()?;
    let mut grid = Grid::new(columns(0).to_vec());
    for summary in &assessment.cases {
        let all = fit.goals.iter().flat_map(|goal| goal.cases.iter().map(move |case| (goal, case)));
        let mut of_case = all.filter(|(_, case)| case.id == summary.id).peekable();
        if of_case.peek().is_some() {
            grid.heading(&labels.name(&summary.id));
        }
        for (goal, case) in of_case {
            let paint = paint(case);
            grid.row(texts(goal, case).map(|text| GridCell::new(text, paint)).to_vec());
        }
    }
    Some(Block::table(grid, []))
}

/// The columns of a table of goals; a narrow one omits the name of the goal by its `rank`.
pub(crate) fn columns(rank: u8) -> [GridColumn; 7] {
    [
        left("goal", rank),
        right("figure", 0),
        left("95 % CI", LAST),
        left("must be", 0),
        left("outcome", 0),
        left("why", 1),
        left("source", 2),
    ]
}

/// Their texts for a case.
pub(crate) fn texts(goal: &MetGoal, case: &CaseFit) -> [String; 7] {
    [
        goal.goal.name(),
        case.value.map_or(NONE.to_string(), format_of(goal)),
        interval(goal, case),
        goal.goal.must.to_string(),
        outcome(case.fit).to_string(),
        why(case),
        goal.goal.source.clone().unwrap_or_else(|| "typed".to_string()),
    ]
}

/// How they look.
pub(crate) fn paint(case: &CaseFit) -> Paint {
    if case.fit == Decision::Yes { Paint::Plain } else { Paint::Doubt }
}

/// Why an interval does not decide.
fn why(case: &CaseFit) -> String {
    let finding = case.finding.map(|code| format!(" ({code})")).unwrap_or_default();
    case.why.map_or(String::new(), |why| format!("{why}{finding}"))
}

/// The goals that are missed, for an exit status; `None` if none is.
pub(crate) fn missed(assessment: &Assessment) -> Option<String> {
    said_plainly(assessment, Decision::No)
}

/// The goals that are neither met nor missed; `None` if there are none.
pub fn goals_open(assessment: &Assessment) -> Option<String> {
    said_plainly(assessment, Decision::Undecided)
}

fn said_plainly(assessment: &Assessment, fit: Decision) -> Option<String> {
    let found = assessment.conclusions.fit.as_ref().filter(|found| found.fit == fit)?;
    let goals: Vec<String> = telling(found).map(|goal| goal.goal.must.to_string()).collect();
    Some(match fit {
        Decision::No => format!("not fit: {} missed", are(&goals)),
        _ => format!("cannot tell whether {} met", are(&goals)),
    })
}

/// `p99<1ms is`, `p99<1ms and iops>5k are`.
fn are(goals: &[String]) -> String {
    let verb = if goals.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", words::listed(goals))
}
