//! One HTML file that says a whole judgement: no network, no script, light and dark, for screen
//! and paper.
//!
//! Made with maud, whose templates escape what they are given by construction and leave no tag
//! open: a record is somebody else's text.
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

/// Of more cases than this a page shows the first only, and says so.
const CASES_MAX: usize = 400;

/// The judgement of a record as a page: the answer first, then figures, the cases, what was
/// found, and the evidence.
///
/// The same assessment gives the same bytes. Whatever a record holds is shown as text.
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
