//! How many operations in flight a device needs.

use crate::labels::Labels;
use crate::sentence::{Paragraphs, Sentence, takes};
use crate::words::per_second;
use assess::Assessment;
use assess::depths::{Depth, Depths};
use model::units;
use std::time::Duration;

/// A common limit for the p99 of a request.
const LIMIT: Duration = Duration::from_millis(1);

/// A paragraph for each group of cases that differ in their depth.
pub(super) fn answer(assessment: &Assessment, labels: &Labels) -> Paragraphs {
    let is_only = assessment.depths.len() == 1;
    let of = |depths: &Depths| {
        let title = depths.depths.first().filter(|_| !is_only);
        let title = title
            .map(|first| Sentence::plain(format!("{} and deeper:", labels.name(&first.case.id))));
        let said = [title, said_enough(depths), said_open(depths), said_latency(depths)];
        said.into_iter().flatten().chain([said_limit(depths)]).collect()
    };
    assessment.depths.iter().map(of).collect()
}

fn at(depths: &Depths, wanted: u32) -> Option<&Depth> {
    depths.depths.iter().find(|it| it.depth == wanted)
}

fn said_enough(depths: &Depths) -> Option<Sentence> {
    let fastest = at(depths, depths.fastest)?;
    let highest = format!("{} at depth {}", per_second(fastest.iops), fastest.depth);
    let enough = depths.enough.and_then(|enough| at(depths, enough));
    Some(match enough {
        Some(enough) if enough.depth == fastest.depth => {
            let text = format!("The highest rate is {highest}, and no lower depth reaches 90 %.");
            Sentence::figures(text, [&fastest.case])
        }
        Some(enough) => {
            let text = format!(
                "Depth {} reaches at least 90 % of the highest rate, {highest}.",
                enough.depth
            );
            Sentence::figures(text, [&enough.case, &fastest.case])
        }
        None => Sentence::figures(format!("The highest rate is {highest}."), [&fastest.case]),
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
        let [p50, p99] = [it.p50_ns?, it.p99_ns?].map(|ns| units::nanoseconds(ns as f64));
        Some(format!("{p50} and {p99} at depth {}", it.depth))
    };
    let text =
        format!("An operation takes (p50 and p99): {}; {}.", figures(first)?, figures(fastest)?);
    (first.depth != fastest.depth).then(|| Sentence::figures(text, [&first.case, &fastest.case]))
}

fn said_limit(depths: &Depths) -> Sentence {
    let limit = units::time(LIMIT);
    let below = depths.depths.iter().take_while(|it| it.is_below(LIMIT)).last();
    let beyond = "'ioassay run load' shows what requests meet that arrive on a schedule";
    match below {
        Some(it) => {
            let rate = per_second(it.iops);
            let text = format!(
                "In a closed loop, p99 stays below {limit} up to depth {}, at {rate}; {beyond}.",
                it.depth
            );
            Sentence::figures(text, [&it.case])
        }
        None => {
            Sentence::plain(format!("No depth has a p99 that is surely below {limit}; {beyond}."))
        }
    }
}
