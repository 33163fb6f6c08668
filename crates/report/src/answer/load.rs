//! How much load the storage holds.

use crate::labels::CaseLabels;
use crate::sentence::{Paragraphs, Sentence};
use crate::text::{Text, case, figure, joined, listed, text};
use crate::words::{self, per_second};
use assess::Assessment;
use assess::conclusions::load::{Bounds, Load, Rate};
use assess::decision::{Decision, Named};
use model::units;

/// A paragraph for each load.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Paragraphs {
    let is_only = assessment.conclusions.loads.len() == 1;
    let of = |load: &Load| {
        let title = load.closed.as_ref().filter(|_| !is_only);
        let name = |id: &str| labels.name(id);
        let title = title.map(|closed| Sentence::plain(text!("{}:", case(&closed.id, &name))));
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
    assessment.conclusions.loads.iter().map(of).collect()
}

fn said_closed(load: &Load) -> Option<Sentence> {
    let (closed, iops) = (load.closed.as_ref()?, load.closed_iops.as_ref()?);
    let text = text!("A closed loop does {}.", figure(per_second(iops.median)));
    Some(Sentence::figures(text, [closed]))
}

fn said_per_second(rate: u64) -> Text {
    figure(per_second(rate as f64))
}

/// `64.2 k/s (90 % of the closed loop)`.
fn said_rate(load: &Load, rate: u64) -> Text {
    let of_closed = of_rate(load, rate).and_then(|it| it.of_closed);
    let share = of_closed.map_or(Text::default(), |share| {
        text!(" ({} of the closed loop)", figure(units::percent(share)))
    });
    text!("{}{}", said_per_second(rate), share)
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
            text!("It keeps up with {}, but not with {}.", rate(holds), rate(fails))
        }
        (Some(holds), None) => text!("It keeps up with {}.", rate(holds)),
        (None, Some(fails)) => text!("It does not keep up with {}.", rate(fails)),
        (None, None) => return Sentence::open("which rates it keeps up with", TAKES, []),
    };
    let text = text!("{}{}{}", first, said_between(all), said_above(all));
    Sentence::figures(text, holding(load, all))
}

/// What decides whether a rate is kept up with, or a goal is met: the share of all trials'
/// operations that exceed a limit has an interval.
const TAKES: &str = "takes more or longer trials";

/// The rates about which nothing can be said.
fn said_between(bounds: &Bounds) -> Text {
    let rates = bounds.undecided.iter().copied();
    let between: Vec<Text> = rates.map(said_per_second).collect();
    let is_about_none = bounds.holds.is_none() && bounds.fails.is_none();
    if between.is_empty() || is_about_none {
        return Text::default();
    }
    match between.as_slice() {
        [first, _, _, .., last] => {
            let rates = between.len();
            text!(" Undecided: {} rates from {} to {} ({}).", rates, first, last, TAKES)
        }
        few => text!(" Undecided: {} ({}).", listed(few), TAKES),
    }
}

/// That the rates do not fall into two parts.
fn said_above(bounds: &Bounds) -> Text {
    let above: Vec<Text> = bounds.holds_above.iter().copied().map(said_per_second).collect();
    match (above.as_slice(), bounds.fails) {
        ([_, ..], Some(fails)) => text!(
            " Yet {} did better than {}: this storage is not equally fast at all times.",
            listed(&above),
            said_per_second(fails)
        ),
        _ => Text::default(),
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
        let [p50, p99] = [response.p50, response.p99].map(words::percentile).map(figure);
        texts.push(text!("{} and {} at {}", p50, p99, said_per_second(rate)));
        rows.push(row);
    }
    let text = text!("A response takes (p50 and p99): {}.", joined(&texts, "; "));
    Some(Sentence::figures(text, rows))
}

/// `p99<1ms: holds 41.2 k/s, fails 43.0 k/s.`
fn said_goals(load: &Load) -> Option<Sentence> {
    let held = load.held.as_ref()?;
    let rate = said_per_second;
    let said = match (held.holds, held.fails) {
        (Some(holds), Some(fails)) => text!("holds {}, fails {}", rate(holds), rate(fails)),
        (Some(holds), None) => text!("holds {}", rate(holds)),
        (None, Some(fails)) => text!("fails {}", rate(fails)),
        (None, None) => {
            let asks = text!("at which rates {} holds", said_all(load));
            return Some(Sentence::open(asks, TAKES, []));
        }
    };
    let goals = said_all(load);
    let text = text!("{}: {}.{}{}", goals, said, said_between(held), said_above(held));
    Some(Sentence::figures(text, holding(load, held)))
}

fn said_all(load: &Load) -> Text {
    let goals = load.goals.iter().map(|goal| Text::from(goal.to_string()));
    listed(&goals.collect::<Vec<_>>())
}

fn said_at_least(load: &Load) -> Option<Sentence> {
    let at_least = load.at_least.as_ref()?;
    let (goals, rate) = (said_all(load), said_per_second(at_least.rate));
    let rows = of_rate(load, at_least.rate).map(|it| &it.case);
    let text = match at_least.met {
        Decision::Yes => text!("At {}, as asked, {} is met.", rate, goals),
        Decision::No => text!("At {}, as asked, {} is not met.", rate, goals),
        Decision::Undecided => {
            let asks = text!("whether {} is met at {}, as asked", goals, rate);
            return Some(Sentence::open(asks, TAKES, rows));
        }
    };
    Some(Sentence::figures(text, rows))
}
