//! What other work on the same storage does to a case.

use crate::labels::CaseLabels;
use crate::sentence::{Paragraphs, Sentence, missing, said_ratio};
use crate::text::{Text, case, figure, joined, text};
use crate::words::{self, per_second};
use assess::Assessment;
use assess::actors::ActorFigures;
use assess::conclusions::interference::{Disturbed, Interference, InterferenceSide, LatencyKind};
use assess::latency::UNSENT_NS;
use assess::summary::Summary;
use model::units;

/// A paragraph for each case alone, and one for each set of others beside it.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Paragraphs {
    if assessment.conclusions.interferences.is_empty() {
        let is_beside = |case: &Summary| !case.beside.is_empty();
        return missing(match assessment.cases.iter().any(is_beside) {
            true => "No case has a valid figure both alone and beside others.",
            false => "No case was measured both alone and beside others.",
        });
    }
    let of = |found: &Interference| {
        let beside = found.beside.iter().map(|it| said_beside(found, it, labels));
        std::iter::once(vec![said_alone(found, labels)]).chain(beside).collect::<Vec<_>>()
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

fn said_alone(found: &Interference, labels: &CaseLabels) -> Sentence {
    let alone = &found.alone;
    let text = text!(
        "{}: {}, and {} takes {}.",
        case(&alone.case.id, &|id| labels.name(id)),
        figure(per_second(alone.iops)),
        operation(found.timed),
        said_times(alone, " (p50 and p99)")
    );
    Sentence::figures(text, [&alone.case])
}

/// The times of an operation, with the `names` of both percentiles.
fn said_times(side: &InterferenceSide, names: &str) -> Text {
    let [p50, p99] = [side.p50_ns, side.p99_ns].map(words::response).map(figure);
    match side.p99_ns {
        Some(_) => text!("{} and {}{}", p50, p99, names),
        None => text!("{} (p50: too few operations for p99)", p50),
    }
}

/// The question about its p99.
const IS_LONGER: &str = "whether its p99 is longer";

/// `beside writer (412 MB/s, 393/s): 31.0 k/s, 0.9 ms and 4.1 ms. Alone it does 2.7× as many …`
fn said_beside(found: &Interference, it: &Disturbed, labels: &CaseLabels) -> Vec<Sentence> {
    let is_open = found.timed == LatencyKind::Response;
    let rate = match is_open {
        true => Text::default(),
        false => text!("{}, ", figure(per_second(it.side.iops))),
    };
    let figures = text!(
        "{} ({}): {}{}.",
        case(&it.side.case.id, &|id| labels.name(id)),
        said_actors(&it.actors),
        rate,
        said_times(&it.side, "")
    );
    let slower = it.rate.as_ref().map(|slower| {
        let asks = "whether alone it does more operations";
        Sentence::decided(slower, asks, |is_more| match is_more {
            true => text!("Alone it does {} as many operations.", said_ratio(&slower.ratio())),
            false => "Alone it does no more operations.".into(),
        })
    });
    let longer = it.p99.as_ref().map(|longer| {
        Sentence::decided(longer, IS_LONGER, |is_longer| match is_longer {
            true => text!("Its p99 is {} as long.", said_ratio(&longer.ratio())),
            false => "Its p99 is no longer.".into(),
        })
    });
    let none = it.p99.is_none().then(|| match it.side.p99_ns {
        Some(UNSENT_NS) => {
            let text = "More than 1 % of its operations had not begun when the time was up.";
            Sentence::figures(text, [&it.side.case])
        }
        _ => {
            let takes = "takes longer trials: in some, too few operations ended";
            Sentence::open(IS_LONGER, takes, [&it.side.case])
        }
    });
    let figures = Sentence::figures(figures, [&it.side.case]);
    std::iter::once(figures).chain(slower).chain(longer).chain(none).collect()
}

/// What actors did: `412 MB/s, 393/s`, each with its name if there are several. What was not told
/// of the trials alone says so.
fn said_actors(actors: &[ActorFigures]) -> Text {
    let said = |actor: &ActorFigures| {
        let rate = actor.throughput.map(units::rate);
        let figures = rate.into_iter().chain(actor.iops.map(per_second)).map(figure);
        let figures: Vec<Text> = figures.collect();
        let name = if actors.len() > 1 { format!("{} ", actor.name) } else { String::new() };
        let of = if actor.of_whole_run && !figures.is_empty() { " of its whole run" } else { "" };
        text!("{}{}{}", name, joined(&figures, ", "), of)
    };
    joined(&actors.iter().map(said).collect::<Vec<_>>(), "; ")
}
