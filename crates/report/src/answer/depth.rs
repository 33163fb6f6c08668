//! How many operations in flight a device needs.

use crate::labels::CaseLabels;
use crate::sentence::{Sentence, figure_of, needs};
use crate::text::{Text, case, command, text};
use crate::words::per_second;
use assess::Assessment;
use assess::conclusions::depth::{Depth, Depths};
use model::units;
use std::time::Duration;

/// A common limit for the p99 of a request.
const LIMIT: Duration = Duration::from_millis(1);

/// The lines of each group of cases that differ in their depth.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Vec<Sentence> {
    let name = &|id: &str| labels.name(id);
    let is_only = assessment.conclusions.depths.len() == 1;
    let of = |depths: &Depths| {
        let title = depths.depths.first().filter(|_| !is_only);
        let title = title
            .map_or(Text::default(), |first| text!("{} and deeper: ", case(&first.case.id, name)));
        let said = [said_enough(depths, title), said_open(depths), said_latency(depths)];
        said.into_iter().flatten().chain([said_limit(depths)]).collect::<Vec<_>>()
    };
    assessment.conclusions.depths.iter().flat_map(of).collect()
}

fn at(depths: &Depths, wanted: u32) -> Option<&Depth> {
    depths.depths.iter().find(|it| it.depth == wanted)
}

fn said_enough(depths: &Depths, title: Text) -> Option<Sentence> {
    let fastest = at(depths, depths.fastest)?;
    let highest =
        text!("{} at depth {}", figure_of(per_second(fastest.iops), &fastest.case), fastest.depth);
    let enough = depths.enough.and_then(|enough| at(depths, enough));
    Some(match enough {
        Some(enough) if enough.depth == fastest.depth => {
            let text =
                text!("{}The highest rate is {}; no lower depth reaches 90 %.", title, highest);
            Sentence::figures(text, [&fastest.case])
        }
        Some(enough) => {
            let text = text!(
                "{}Depth {} is enough: it reaches 90 % of the highest rate, {}.",
                title,
                enough.depth,
                highest
            );
            Sentence::figures(text, [&enough.case, &fastest.case])
        }
        None => {
            Sentence::figures(text!("{}The highest rate is {}.", title, highest), [&fastest.case])
        }
    })
}

/// That no depth is known to be enough.
fn said_open(depths: &Depths) -> Option<Sentence> {
    let asks = "which depth reaches 90 % of the highest rate";
    depths.enough.is_none().then(|| Sentence::open(asks, needs(depths.open), []))
}

fn said_latency(depths: &Depths) -> Option<Sentence> {
    let (first, fastest) = (depths.depths.first()?, at(depths, depths.fastest)?);
    let figures = |it: &Depth, [of_p50, of_p99]: [&str; 2]| {
        let [p50, p99] =
            [it.p50_ns?, it.p99_ns?].map(|ns| figure_of(units::nanoseconds(ns as f64), &it.case));
        Some(text!("{}{} and {}{} at depth {}", p50, of_p50, p99, of_p99, it.depth))
    };
    let (before, after) = (figures(first, [" (p50)", " (p99)"])?, figures(fastest, ["", ""])?);
    let text = text!("An operation takes {}; {}.", before, after);
    (first.depth != fastest.depth).then(|| Sentence::figures(text, [&first.case, &fastest.case]))
}

fn said_limit(depths: &Depths) -> Sentence {
    let limit = units::time(LIMIT);
    let below = depths.depths.iter().take_while(|it| it.is_below(LIMIT)).last();
    let beyond = text!("{} measures requests on a schedule", command("ioassay run load"));
    match below {
        Some(it) => {
            let text = text!(
                "Up to depth {}, p99 stays below {}, at {}; {}.",
                it.depth,
                limit,
                figure_of(per_second(it.iops), &it.case),
                beyond
            );
            Sentence::figures(text, [&it.case])
        }
        None => {
            Sentence::plain(text!("No depth has a p99 that is surely below {}; {}.", limit, beyond))
        }
    }
}
