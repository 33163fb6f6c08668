//! An assessment as one HTML file: no network, no script; light and dark, for screen and print.
//!
//! Made with maud, whose templates escape their input and cannot leave a tag open: a record may
//! come from anyone.
//!
//! The modules are listed from lowest to highest; a module uses only those above it here.

mod sheet;
mod answer;
mod cases;
mod compared;
mod found;
mod trials;
mod evidence;
mod origin;
mod records;

pub use records::page_of_records;

use crate::frame;
use crate::picture;
use crate::words::sentence;
use assess::Assessment;
use sheet::{Section, Sheet};

/// If there are more cases, the page shows only the first, and says so.
const CASES_MAX: usize = 400;

/// An assessment as a page: the answer, then pictures, the cases, the findings and the evidence.
///
/// The same assessment gives the same bytes. Texts from a record are always escaped.
pub fn page(assessment: &Assessment) -> String {
    let labels = crate::answer::labels(assessment);
    let name = |id: &str| labels.name(id);
    let anchors = evidence::Anchors::of(assessment);
    let link = |id: &str| anchors.link(id, &name(id));
    let mut sections = vec![Section::new("answer", "Answer", answer::said(assessment))];
    sections.push(Section::new(
        "figures",
        "Figures",
        sheet::pictures(&picture::pictures(assessment)),
    ));
    sections.push(Section::new("cases", "Cases", cases::table(assessment, &link)));
    sections.push(Section::new("compared", "Compared", compared::table(assessment, &labels)));
    sections.push(Section::new("found", "Findings", found::findings(assessment, &link)));
    sections.push(Section::new(
        "failed",
        "Failed or unavailable",
        found::failures(assessment, &link),
    ));
    sections.push(Section::new("skipped", "Not measured", found::skips(assessment, &name)));
    sections.push(Section::new("evidence", "Evidence", evidence::all(assessment, &name)));
    sections.push(Section::new("control", "A/A control", compared::control(assessment, &name)));
    sections.push(Section::new("origin", "Host, storage and method", origin::said(assessment)));
    sections.push(Section::new("command", "Again", origin::again(assessment)));
    Sheet {
        title: format!("{} on {}", assessment.recipe, assessment.host.name),
        when: Some(assessment.began.clone()),
        about: frame::surroundings(assessment),
        warnings: frame::missing(assessment).iter().map(|text| sentence(text)).collect(),
        sections,
    }
    .render()
}
