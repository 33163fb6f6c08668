//! A program that was running already: what served its reads, what it spent its time on, and what
//! bounds it.

mod say;
mod answer;
mod table;
mod found;
mod picture;
mod form;

use crate::document::{Document, Section};
use crate::text::Text;
use assess::running::RunningAssessment;
use model::running::{RunningRecord, Subject};
use model::units;

pub use answer::running_line;
pub use form::{json_of_running, json_schema_of_running};

/// The report of a program that was running already.
pub fn running<'a>(record: &'a RunningRecord, judged: &'a RunningAssessment) -> Document<'a> {
    let watched = &record.watched;
    let title = format!("{}, {}", say::subject(&watched.subject), time(judged.whole.at_ns));
    let mut document = Document {
        origin: format!("{title} · {} · {}", watched.host, watched.began),
        title,
        about: vec![Text::from(format!("{} · on {}", watched.began, watched.host))],
        warnings: warnings(record),
        answer: answer::answer(record, judged),
        ..Document::default()
    };
    document.part(Section::new("Over time", table::over_time(record, judged)));
    document.part(Section::new("What may bound it", table::bounds(judged)));
    document.part(Section::new("Open data files", table::files(record)));
    document.part(Section::new("Findings", found::findings(record, judged)));
    document.draw(picture::is_there(record), || picture::pictures(record));
    document
}

fn time(ns: u64) -> String {
    units::nanoseconds(ns as f64)
}

/// What a reader must know before any figure.
fn warnings(record: &RunningRecord) -> Vec<Text> {
    let mut warnings = Vec::new();
    if let Subject::Process { other_user: Some(user), .. } = &record.watched.subject {
        warnings.push(Text::from(format!(
            "It runs as {user}: only that user and root see its bytes and files. CPU time, states \
             and disks are seen."
        )));
    }
    if record.end.is_none() {
        warnings.push(Text::from("The record was cut off, so its open files are not known."));
    }
    if !record.watched.lists_children {
        warnings.push(Text::from(
            "This kernel does not list the children of processes: only the process itself is seen.",
        ));
    }
    warnings
}
