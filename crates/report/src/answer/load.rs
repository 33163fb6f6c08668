//! How much load the storage holds.

use crate::labels::Labels;
use crate::sentence::{Paragraphs, Sentence};
use crate::words::{self, listed, per_second};
use assess::Assessment;
use assess::decision::{Decision, Named};
use assess::load::{Bounds, Load, Rate};
use model::units;

/// A paragraph for each load.
pub(super) fn answer(assessment: &Assessment, labels: &Labels) -> Paragraphs {
    let is_only = assessment.loads.len() == 1;
    let of = |load: &Load| {
        let title = load.closed.as_ref().filter(|_| !is_only);
        let title = title.map(|closed| Sentence::plain(format!("{}:", labels.name(&closed.id))));
        let said = [
            title,
            said_closed(load),
            Some(said_kept_up(load)),
            said_responses(assessment, load),
            said_goals(load),
            said_at_least(load),
        ];
        said.into_iter().flatten().collect()
    };
    assessment.loads.iter().map(of).collect()
}

fn said_closed(load: &Load) -> Option<Sentence> {
    let (closed, iops) = (load.closed.as_ref()?, load.closed_iops.as_ref()?);
    let text = format!("A closed loop does {}.", per_second(iops.median));
    Some(Sentence::figures(text, [closed]))
}

/// `64.2 k/s (90 % of the closed loop)`.
fn said_rate(load: &Load, rate: u64) -> String {
    let of_closed = of_rate(load, rate).and_then(|it| it.of_closed);
    let share = of_closed
        .map_or(String::new(), |share| format!(" ({} of the closed loop)", units::percent(share)));
    format!("{}{share}", per_second(rate as f64))
}

fn of_rate(load: &Load, rate: u64) -> Option<&Rate> {
    load.rates.iter().find(|it| it.rate == rate)
}

/// The row of the highest rate that holds: the doubts about one that fails are why it fails.
fn holding<'a>(load: &'a Load, bounds: &Bounds) -> impl Iterator<Item = &'a Named> {
    bounds.holds.and_then(|rate| of_rate(load, rate)).map(|it| &it.case).into_iter()
}

fn said_kept_up(load: &Load) -> Sentence {
    let rate = |rate: u64| said_rate(load, rate);
    let all = &load.kept_up;
    let first = match (all.holds, all.fails) {
        (Some(holds), Some(fails)) => {
            format!("It keeps up with {}, but not with {}.", rate(holds), rate(fails))
        }
        (Some(holds), None) => format!("It keeps up with {}.", rate(holds)),
        (None, Some(fails)) => format!("It does not keep up with {}.", rate(fails)),
        (None, None) => return Sentence::open("which rates it keeps up with", TAKES, []),
    };
    Sentence::figures(first + &said_between(all) + &said_above(all), holding(load, all))
}

/// What decides whether a rate is kept up with, or a goal is met: the share of all trials'
/// operations that exceed a limit has an interval.
const TAKES: &str = "takes more or longer trials";

/// The rates about which nothing can be said.
fn said_between(bounds: &Bounds) -> String {
    let rate = |rate: &u64| per_second(*rate as f64);
    let between: Vec<String> = bounds.undecided.iter().map(rate).collect();
    let is_about_none = bounds.holds.is_none() && bounds.fails.is_none();
    if between.is_empty() || is_about_none {
        return String::new();
    }
    match between.as_slice() {
        [first, _, _, .., last] => {
            format!(" Undecided: {} rates from {first} to {last} ({TAKES}).", between.len())
        }
        few => format!(" Undecided: {} ({TAKES}).", listed(few)),
    }
}

/// That the rates do not fall into two parts.
fn said_above(bounds: &Bounds) -> String {
    let above: Vec<String> =
        bounds.holds_above.iter().map(|rate| per_second(*rate as f64)).collect();
    match (above.as_slice(), bounds.fails) {
        ([_, ..], Some(fails)) => format!(
            " Yet {} did better than {}: this storage is not equally fast at all times.",
            listed(&above),
            per_second(fails as f64)
        ),
        _ => String::new(),
    }
}

/// The response times at the lowest rate, and at the highest that is kept up with.
fn said_responses(assessment: &Assessment, load: &Load) -> Option<Sentence> {
    let mut rates = vec![load.rates.first()?.rate];
    rates.extend(load.kept_up.holds);
    rates.dedup();
    let (mut texts, mut rows) = (Vec::new(), Vec::new());
    for rate in rates {
        let row = &of_rate(load, rate)?.case;
        let summary = assessment.cases.iter().find(|summary| summary.id == row.id)?;
        let response = &summary.open.as_ref()?.response;
        let [p50, p99] = [response.p50, response.p99].map(words::percentile);
        texts.push(format!("{p50} and {p99} at {}", per_second(rate as f64)));
        rows.push(row);
    }
    let text = format!("A response takes (p50 and p99): {}.", texts.join("; "));
    Some(Sentence::figures(text, rows))
}

/// `p99<1ms: holds 41.2 k/s, fails 43.0 k/s.`
fn said_goals(load: &Load) -> Option<Sentence> {
    let held = load.held.as_ref()?;
    let rate = |rate: u64| per_second(rate as f64);
    let said = match (held.holds, held.fails) {
        (Some(holds), Some(fails)) => format!("holds {}, fails {}", rate(holds), rate(fails)),
        (Some(holds), None) => format!("holds {}", rate(holds)),
        (None, Some(fails)) => format!("fails {}", rate(fails)),
        (None, None) => {
            let asks = format!("at which rates {} holds", said_all(load));
            return Some(Sentence::open(&asks, TAKES, []));
        }
    };
    let beside = said_between(held) + &said_above(held);
    let text = format!("{}: {said}.{beside}", said_all(load));
    Some(Sentence::figures(text, holding(load, held)))
}

fn said_all(load: &Load) -> String {
    listed(&load.goals.iter().map(ToString::to_string).collect::<Vec<_>>())
}

fn said_at_least(load: &Load) -> Option<Sentence> {
    let at_least = load.at_least.as_ref()?;
    let (goals, rate) = (said_all(load), per_second(at_least.rate as f64));
    let rows = of_rate(load, at_least.rate).map(|it| &it.case);
    let text = match at_least.met {
        Decision::Yes => format!("At {rate}, as asked, {goals} is met."),
        Decision::No => format!("At {rate}, as asked, {goals} is not met."),
        Decision::Undecided => {
            let asks = format!("whether {goals} is met at {rate}, as asked");
            return Some(Sentence::open(&asks, TAKES, rows));
        }
    };
    Some(Sentence::figures(text, rows))
}
