//! How much load the storage holds.

use crate::labels::CaseLabels;
use crate::sentence::{Sentence, figure_of};
use crate::text::{Text, case, figure, joined, listed, text};
use crate::words::{self, per_second};
use assess::Assessment;
use assess::conclusions::load::{Bounds, Load, Rate};
use assess::decision::{Decision, Named};
use assess::latency::UNSENT_NS;
use assess::percentile::Percentile;
use assess::summary::Summary;
use model::units;

/// The lines of each load: first whether what was asked for is met, or how much it holds.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Vec<Sentence> {
    let is_only = assessment.conclusions.loads.len() == 1;
    let of = |load: &Load| {
        let title = load.closed.as_ref().filter(|_| !is_only);
        let name = |id: &str| labels.name(id);
        let title = title.map(|closed| text!("{}: ", case(&closed.id, &name)));
        let lines: [Vec<Sentence>; 5] = [
            Vec::from_iter(said_at_least(load)),
            said_goals(load),
            said_kept_up(assessment, load),
            Vec::from_iter(said_closed(load)),
            Vec::from_iter(said_responses(assessment, load)),
        ];
        let title = title.unwrap_or_default();
        lines.into_iter().flatten().map(|line| line.after(&title)).collect::<Vec<_>>()
    };
    assessment.conclusions.loads.iter().flat_map(of).collect()
}

/// What the load is of what a closed loop does, which is the most there is.
fn said_closed(load: &Load) -> Option<Sentence> {
    let (closed, iops) = (load.closed.as_ref()?, load.closed_iops.as_ref()?);
    let rate = figure_of(per_second(iops.median), closed);
    let share = load.kept_up.holds.and_then(|holds| of_rate(load, holds)?.of_closed);
    let share = share.map(|share| {
        text!("; the rate that it keeps up with is {} of that", figure(units::percent(share)))
    });
    let text = text!("Without a schedule, it does {}{}.", rate, share.unwrap_or_default());
    Some(Sentence::figures(text, [closed]))
}

fn said_per_second(rate: u64) -> Text {
    figure(per_second(rate as f64))
}

/// A rate that holds, marked if its row is doubtful.
fn said_rate(load: &Load, rate: u64) -> Text {
    let said = per_second(rate as f64);
    of_rate(load, rate).map_or_else(|| figure(said.clone()), |it| figure_of(said.clone(), &it.case))
}

fn of_rate(load: &Load, rate: u64) -> Option<&Rate> {
    load.rates.iter().find(|it| it.rate == rate)
}

/// The row of the highest rate that holds: the doubts about one that fails are why it fails.
fn holding<'a>(load: &'a Load, bounds: &Bounds) -> impl Iterator<Item = &'a Named> {
    bounds.holds.and_then(|rate| of_rate(load, rate)).map(|it| &it.case).into_iter()
}

/// `It keeps up with 89.8 k/s, with 99 % of responses within 33.5 ms; at 112 k/s it falls behind.`
fn said_kept_up(assessment: &Assessment, load: &Load) -> Vec<Sentence> {
    let all = &load.kept_up;
    let within = all.holds.and_then(|rate| {
        let (row, summary) = row_of(assessment, load, rate)?;
        let p99 = summary.open.as_ref()?.response.p99.filter(|p99| p99.ns != UNSENT_NS)?;
        Some(text!(", with 99 % of responses within {}", said_percentile(Some(p99), row)))
    });
    let within = within.unwrap_or_default();
    let said = match (all.holds, all.fails) {
        (Some(holds), Some(fails)) => text!(
            "It keeps up with {}{}; at {} it falls behind.",
            said_rate(load, holds),
            within,
            said_per_second(fails)
        ),
        (Some(holds), None) => {
            text!(
                "It keeps up with {}{}, the highest rate measured.",
                said_rate(load, holds),
                within
            )
        }
        (None, Some(fails)) => text!("It falls behind at {}.", said_per_second(fails)),
        (None, None) => return vec![Sentence::open("which rates it keeps up with", NEEDS, [])],
    };
    let said = Sentence::figures(said, holding(load, all));
    let whether = Text::from("whether it keeps up with");
    [said].into_iter().chain(said_between(all, whether)).chain(said_above(load, all)).collect()
}

fn row_of<'a>(
    assessment: &'a Assessment,
    load: &'a Load,
    rate: u64,
) -> Option<(&'a Named, &'a Summary)> {
    let row = &of_rate(load, rate)?.case;
    Some((row, assessment.row(&row.id)?))
}

fn said_percentile(percentile: Option<Percentile>, row: &Named) -> Text {
    figure_of(words::percentile(percentile), row)
}

/// What decides whether a rate is kept up with, or a goal is met: the share of all trials'
/// operations that exceed a limit has an interval.
const NEEDS: &str = "needs more or longer trials";

/// The rates about which nothing can be said.
fn said_between(bounds: &Bounds, whether: Text) -> Option<Sentence> {
    let between: Vec<Text> = bounds.undecided.iter().copied().map(said_per_second).collect();
    let is_about_none = bounds.holds.is_none() && bounds.fails.is_none();
    let rates = match between.as_slice() {
        _ if is_about_none => return None,
        [] => return None,
        [first, _, _, .., last] => {
            text!("{} rates from {} to {}", between.len(), first, last)
        }
        few => listed(few),
    };
    Some(Sentence::open(text!("{} {}", whether, rates), NEEDS, []))
}

/// That the rates do not fall into two parts.
fn said_above(load: &Load, bounds: &Bounds) -> Option<Sentence> {
    let above = || bounds.holds_above.iter().copied();
    let said: Vec<Text> = above().map(|rate| said_rate(load, rate)).collect();
    let fails = bounds.fails.filter(|_| !said.is_empty())?;
    let text = text!(
        "It is not equally fast at all times: {} did better than {}.",
        listed(&said),
        said_per_second(fails)
    );
    Some(Sentence::figures(text, above().filter_map(|rate| Some(&of_rate(load, rate)?.case))))
}

/// The response times at the lowest rate, and at the highest that is kept up with.
fn said_responses(assessment: &Assessment, load: &Load) -> Option<Sentence> {
    let mut rates = vec![load.rates.first()?.rate];
    rates.extend(load.kept_up.holds);
    rates.dedup();
    let (mut texts, mut rows) = (Vec::new(), Vec::new());
    for rate in rates {
        let (row, summary) = row_of(assessment, load, rate)?;
        let response = &summary.open.as_ref()?.response;
        let [p50, p99] = [response.p50, response.p99].map(|it| said_percentile(it, row));
        texts.push(match texts.is_empty() {
            true => text!("{} (p50) and {} (p99) at {}", p50, p99, said_per_second(rate)),
            false => text!("{} and {} at {}", p50, p99, said_per_second(rate)),
        });
        rows.push(row);
    }
    let text = text!("A response takes {}.", joined(&texts, "; "));
    Some(Sentence::figures(text, rows))
}

/// `It holds p99<1ms up to 41.2 k/s, but not at 43.0 k/s.`
fn said_goals(load: &Load) -> Vec<Sentence> {
    let Some(held) = &load.held else { return Vec::new() };
    let goals = said_all(load);
    let text = match (held.holds, held.fails) {
        (Some(holds), Some(fails)) => text!(
            "It holds {} up to {}, but not at {}.",
            &goals,
            said_rate(load, holds),
            said_per_second(fails)
        ),
        (Some(holds), None) => text!(
            "It holds {} up to {}, the highest rate measured.",
            &goals,
            said_rate(load, holds)
        ),
        (None, Some(fails)) => text!("It does not hold {} at {}.", &goals, said_per_second(fails)),
        (None, None) => {
            return vec![Sentence::open(text!("at which rates it holds {}", goals), NEEDS, [])];
        }
    };
    let said = Sentence::figures(text, holding(load, held));
    let whether = text!("whether {} holds at", goals);
    [said].into_iter().chain(said_between(held, whether)).chain(said_above(load, held)).collect()
}

fn said_all(load: &Load) -> Text {
    let goals = load.goals.iter().map(|goal| Text::from(goal.to_string()));
    listed(&goals.collect::<Vec<_>>())
}

fn said_at_least(load: &Load) -> Option<Sentence> {
    let at_least = load.at_least.as_ref()?;
    let goals = said_all(load);
    let rate = match at_least.met {
        Decision::Yes | Decision::No => said_rate(load, at_least.rate),
        Decision::Undecided => said_per_second(at_least.rate),
    };
    let rows = of_rate(load, at_least.rate).map(|it| &it.case);
    let text = match at_least.met {
        Decision::Yes => text!("At {}, as asked, {} is met.", rate, goals),
        Decision::No => text!("At {}, as asked, {} is not met.", rate, goals),
        Decision::Undecided => {
            let asks = text!("whether {} is met at {}, as asked", goals, rate);
            return Some(Sentence::open(asks, NEEDS, rows));
        }
    };
    Some(Sentence::figures(text, rows))
}
