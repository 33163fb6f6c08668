//! How many operations in flight a device needs.

use crate::labels::CaseLabels;
use crate::sentence::{Paragraphs, Sentence, takes};
use crate::text::{case, command, figure, text};
use crate::words::per_second;
use assess::Assessment;
use assess::conclusions::depth::{Depth, Depths};
use model::units;
use std::time::Duration;

/// A common limit for the p99 of a request.
const LIMIT: Duration = Duration::from_millis(1);

/// A paragraph for each group of cases that differ in their depth.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Paragraphs {
    let name = &|id: &str| labels.name(id);
    let is_only = assessment.conclusions.depths.len() == 1;
    let of = |depths: &Depths| {
        let title = depths.depths.first().filter(|_| !is_only);
        let title =
            title.map(|first| Sentence::plain(text!("{} and deeper:", case(&first.case.id, name))));
        let said = [title, said_enough(depths), said_open(depths), said_latency(depths)];
        said.into_iter().flatten().chain([said_limit(depths)]).collect()
    };
    assessment.conclusions.depths.iter().map(of).collect()
}

fn at(depths: &Depths, wanted: u32) -> Option<&Depth> {
    depths.depths.iter().find(|it| it.depth == wanted)
}

fn said_enough(depths: &Depths) -> Option<Sentence> {
    let fastest = at(depths, depths.fastest)?;
    let highest = text!("{} at depth {}", figure(per_second(fastest.iops)), fastest.depth);
    let enough = depths.enough.and_then(|enough| at(depths, enough));
    Some(match enough {
        Some(enough) if enough.depth == fastest.depth => {
            let text = text!("The highest rate is {}, and no lower depth reaches 90 %.", highest);
            Sentence::figures(text, [&fastest.case])
        }
        Some(enough) => {
            let text = text!(
                "Depth {} reaches at least 90 % of the highest rate, {}.",
                enough.depth,
                highest
            );
            Sentence::figures(text, [&enough.case, &fastest.case])
        }
        None => Sentence::figures(text!("The highest rate is {}.", highest), [&fastest.case]),
    })
}

/// That no depth is known to be enough.
pub(super) fn said_open(depths: &Depths) -> Option<Sentence> {
    let asks = "which depth reaches 90 % of the highest rate";
    depths.enough.is_none().then(|| Sentence::open(asks, takes(depths.open), []))
}

fn said_latency(depths: &Depths) -> Option<Sentence> {
    let (first, fastest) = (depths.depths.first()?, at(depths, depths.fastest)?);
    let figures = |it: &Depth| {
        let [p50, p99] = [it.p50_ns?, it.p99_ns?].map(|ns| figure(units::nanoseconds(ns as f64)));
        Some(text!("{} and {} at depth {}", p50, p99, it.depth))
    };
    let (before, after) = (figures(first)?, figures(fastest)?);
    let text = text!("An operation takes (p50 and p99): {}; {}.", before, after);
    (first.depth != fastest.depth).then(|| Sentence::figures(text, [&first.case, &fastest.case]))
}

fn said_limit(depths: &Depths) -> Sentence {
    let limit = units::time(LIMIT);
    let below = depths.depths.iter().take_while(|it| it.is_below(LIMIT)).last();
    let beyond =
        text!("{} shows what requests meet that arrive on a schedule", command("ioassay run load"));
    match below {
        Some(it) => {
            let text = text!(
                "In a closed loop, p99 stays below {} up to depth {}, at {}; {}.",
                limit,
                it.depth,
                figure(per_second(it.iops)),
                beyond
            );
            Sentence::figures(text, [&it.case])
        }
        None => {
            Sentence::plain(text!("No depth has a p99 that is surely below {}; {}.", limit, beyond))
        }
    }
}
