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
mod courses;
mod rounds;
mod compared;
mod hosts;

use crate::drawing::Picture;
use crate::labels::CaseLabels;
use assess::Assessment;
use assess::fleet::Fleet;
use assess::records::RecordComparison;
use assess::together::Together;
use model::view::Layout;

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

/// The pictures that suit an assessment, most important first.
pub(crate) fn pictures(assessment: &Assessment) -> Vec<Picture> {
    let mut pictures: Vec<Picture> = ladder::ladder(assessment).into_iter().collect();
    let heat = heat::heat(assessment);
    let is_heat_first = assessment.view().layout != Layout::Ladder;
    let place = if is_heat_first { 0 } else { pictures.len() };
    pictures.splice(place..place, heat);
    pictures.extend(loads::loads(assessment));
    pictures.extend(curves::curves(assessment));
    pictures.extend(latencies::latencies(assessment));
    pictures.extend(compared::compared(assessment));
    pictures.extend(courses::courses(assessment));
    pictures.extend(rounds::rounds(assessment));
    named(pictures)
}

/// The picture of what several hosts did together.
pub(crate) fn pictures_of_together(run: &Together, names: &CaseLabels) -> Vec<Picture> {
    hosts::together(run, names).into_iter().collect()
}

/// The picture of hosts that should be alike.
pub(crate) fn pictures_of_fleet(fleet: &Fleet, labels: &CaseLabels) -> Vec<Picture> {
    hosts::fleet(fleet, labels).into_iter().collect()
}

/// The pictures that suit a comparison of two records.
pub(crate) fn pictures_of_records(versus: &RecordComparison) -> Vec<Picture> {
    compared::compared_records(versus).into_iter().collect()
}
