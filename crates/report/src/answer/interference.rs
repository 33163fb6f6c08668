//! What other work on the same storage does to a case.

use crate::labels::CaseLabels;
use crate::sentence::{Sentence, figure_of, missing, ratio_of};
use crate::text::{Text, case, figure, joined, text};
use crate::words::{self, per_second};
use assess::Assessment;
use assess::actors::ActorFigures;
use assess::conclusions::interference::{Disturbed, Interference, InterferenceSide, LatencyKind};
use assess::latency::UNSENT_NS;
use assess::summary::Summary;
use model::units;

/// For each case, a line on how much longer its operations take beside others, and one for each
/// set of others.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Vec<Sentence> {
    if assessment.conclusions.interferences.is_empty() {
        let is_beside = |case: &Summary| !case.beside.is_empty();
        return missing(match assessment.cases.iter().any(is_beside) {
            true => "No case has a valid figure both alone and beside others.",
            false => "No case was measured both alone and beside others.",
        });
    }
    let of = |found: &Interference| {
        let beside = found.beside.iter().flat_map(|it| said_beside(found, it, labels));
        said_longer(found, labels).into_iter().chain(beside).collect::<Vec<_>>()
    };
    assessment.conclusions.interferences.iter().flat_map(of).collect()
}

/// What an operation is called for whoever waits for it.
fn operation(timed: LatencyKind) -> &'static str {
    match timed {
        LatencyKind::Response => "a response",
        LatencyKind::Sync => "a sync",
        LatencyKind::Service => "an operation",
    }
}

/// `alone: an operation takes 329 µs (p50) and 559 µs (p99); beside writer its p99 is 3.92× as
/// long`.
fn said_longer(found: &Interference, labels: &CaseLabels) -> Vec<Sentence> {
    let alone = &found.alone;
    let start = text!(
        "{}: {} takes {}",
        case(&alone.case.id, &|id| labels.name(id)),
        operation(found.timed),
        said_times(alone),
    );
    let start = Sentence::figures(start, [&alone.case]);
    let longer = found.beside.iter().map(|it| {
        let beside = beside(&it.actors);
        let asks = format!("whether its p99 is longer beside {beside}");
        match (&it.p99, it.side.p99_ns) {
            (Some(longer), _) => Sentence::decided(longer, asks, |is_longer| match is_longer {
                true => text!("beside {} its p99 is {}", beside, ratio_of(longer, "as long")),
                false => text!("beside {} its p99 is no longer", beside),
            }),
            (None, Some(UNSENT_NS)) => {
                Sentence::plain(format!("beside {beside} its p99 is longer than the run"))
            }
            (None, _) => {
                let needs = "needs longer trials: in some, too few operations ended";
                Sentence::open(asks, needs, [&it.side.case])
            }
        }
    });
    let (open, closed): (Vec<Sentence>, Vec<Sentence>) = longer.partition(Sentence::is_open);
    let line = Sentence::joined([start].into_iter().chain(closed), "; ");
    [line].into_iter().chain(open).collect()
}

/// The names of actors.
fn beside(actors: &[ActorFigures]) -> String {
    actors.iter().map(|actor| actor.name.as_str()).collect::<Vec<_>>().join("+")
}

/// The times of an operation, as far as enough of them ended.
fn said_times(side: &InterferenceSide) -> Text {
    let said = |ns: u64| figure_of(words::response(Some(ns)), &side.case);
    match (side.p50_ns, side.p99_ns) {
        (Some(p50), Some(p99)) => text!("{} (p50) and {} (p99)", said(p50), said(p99)),
        (Some(p50), None) => text!("{} (p50)", said(p50)),
        (None, _) => "an unknown time (too few for a median)".into(),
    }
}

/// `beside writer: 31.0 k/s, 0.9 ms (p50) and 4.1 ms (p99); alone it does 2.7× as many a second;
/// writer at 412 MB/s, 393/s.`
fn said_beside(found: &Interference, it: &Disturbed, labels: &CaseLabels) -> Vec<Sentence> {
    let rate = match found.timed {
        LatencyKind::Response => Text::default(),
        LatencyKind::Sync | LatencyKind::Service => {
            text!("{}, ", figure_of(per_second(it.side.iops), &it.side.case))
        }
    };
    let figures = text!(
        "{}: {}{}",
        case(&it.side.case.id, &|id| labels.name(id)),
        rate,
        said_times(&it.side)
    );
    let figures = Sentence::figures(figures, [&it.side.case]);
    let unsent = (it.side.p99_ns == Some(UNSENT_NS)).then(|| {
        Sentence::plain("more than 1 % of its operations had not begun when the time was up")
    });
    let slower = it.rate.as_ref().map(|slower| {
        let asks = format!("whether it does fewer a second beside {}", beside(&it.actors));
        Sentence::decided(slower, asks, |is_more| match is_more {
            true => text!("alone it does {}", ratio_of(slower, "as many a second")),
            false => "alone it does no more a second".into(),
        })
    });
    let actors = it.actors.iter().filter_map(said_actor).map(Sentence::plain);
    let (open, closed): (Vec<Sentence>, Vec<Sentence>) = [figures]
        .into_iter()
        .chain(unsent)
        .chain(slower)
        .chain(actors)
        .partition(Sentence::is_open);
    [Sentence::joined(closed, "; ")].into_iter().chain(open).collect()
}

/// What an actor did: `writer at 412 MB/s, 393/s`. What was not told of the trials alone says so.
fn said_actor(actor: &ActorFigures) -> Option<Text> {
    let rate = actor.throughput.map(units::rate);
    let figures = rate.into_iter().chain(actor.iops.map(per_second)).map(figure);
    let figures: Vec<Text> = figures.collect();
    let over = if actor.of_whole_run { " over its whole run" } else { "" };
    let said = text!("{} at {}{}", &actor.name, joined(&figures, ", "), over);
    (!figures.is_empty()).then_some(said)
}
