//! Pictures of an assessment: bars, heat maps, curves and dots.
//!
//! Every value drawn comes from the assessment; this module computes only positions.

mod alike;
mod ladder;
mod table;
mod curves;
mod heat;
mod latencies;
mod loads;
mod loaded_latency;
mod courses;
mod rounds;
pub(crate) mod chain;
pub(crate) mod compared;
pub(crate) mod hosts;

use crate::drawing::Picture;
use assess::Assessment;
use assess::path::JudgedPath;
use model::path::MediumPath;

/// Makes the names unique, by adding numbers to duplicates.
fn named(pictures: Vec<Picture>) -> Vec<Picture> {
    let mut named: Vec<Picture> = Vec::new();
    for mut picture in pictures {
        let is_taken = |name: &str| named.iter().any(|other| other.name == name);
        let mut names = (2..).map(|number| format!("{}-{number}", picture.name));
        if is_taken(&picture.name) {
            picture.name = names.find(|name| !is_taken(name)).expect("the range is infinite");
        }
        named.push(picture);
    }
    named
}

/// The kinds of pictures of an assessment, most important first. A run has few of them.
const KINDS: [fn(&Assessment) -> Vec<Picture>; 10] = [
    heat::heat,
    |run| Vec::from_iter(ladder::ladder(run)),
    loads::loads,
    |run| Vec::from_iter(loaded_latency::loaded_latencies(run)),
    curves::curves,
    latencies::latencies,
    |run| Vec::from_iter(compared::compared(run)),
    courses::courses,
    |run| Vec::from_iter(rounds::rounds(run)),
    |run| Vec::from_iter(chain::of_run(run)),
];

/// The pictures of paths, each with what was judged of it.
pub(crate) fn of_paths(all: &[(MediumPath, JudgedPath)]) -> Vec<Picture> {
    let drawn = |(path, judged): &(MediumPath, JudgedPath)| {
        chain::chain(&path.asked, &path.top, judged, None)
    };
    named(all.iter().filter_map(drawn).collect())
}

/// The pictures that suit an assessment, most important first.
pub(crate) fn pictures(assessment: &Assessment) -> Vec<Picture> {
    named(KINDS.iter().flat_map(|kind| kind(assessment)).collect())
}

/// Whether an assessment has pictures. Nearly all have rounds, which tells it without drawing.
pub(crate) fn has_pictures(assessment: &Assessment) -> bool {
    rounds::rows(assessment).len() > 1 || KINDS.iter().any(|kind| !kind(assessment).is_empty())
}
