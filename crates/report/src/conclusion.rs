//! What follows from a run in plain sentences, and the names of its cases: as the view of its
//! recipe says both.

use crate::names::Names;
use crate::sentence::{Sentence, beside_lead, paragraph};
use crate::writes::{WriteNames, said_rate};
use crate::{
    closing, compilers, counting, latency, memory, strategies, survey, syncs, touching, versus,
};
use assess::Assessment;
use assess::decision::Lead;
use assess::summary::ServedBy;

/// The name that a case has, by its id.
pub(crate) type Naming<'a> = Box<dyn Fn(&str) -> String + 'a>;

/// The names of the cases of an assessment.
pub(crate) fn naming(assessment: &Assessment) -> Naming<'_> {
    match assessment.recipe.as_str() {
        "survey" => Box::new(survey::naming(assessment)),
        "count-tens" => Box::new(|id| counting::name(assessment, id)),
        "touch-pages" => Box::new(touching::naming(assessment)),
        "write-strategies" | "sync-latency" => {
            let names = WriteNames::of(assessment);
            Box::new(move |id| names.name(assessment, id))
        }
        _ => {
            let names = Names::of(assessment);
            Box::new(move |id| names.short(id))
        }
    }
}

/// What those names leave out because it is common to all; nothing where they are whole.
pub(crate) fn left_out_of_names(assessment: &Assessment) -> String {
    match assessment.recipe.as_str() {
        "survey" | "count-tens" | "touch-pages" => String::new(),
        "write-strategies" | "sync-latency" => {
            let size = WriteNames::of(assessment).size();
            size.map(|size| format!("a file of {}", model::units::bytes(size))).unwrap_or_default()
        }
        _ => Names::of(assessment).said_once(),
    }
}

/// The answer, a paragraph each; nothing where the recipe asks for figures only.
pub(crate) fn answer(assessment: &Assessment) -> Vec<String> {
    let name = naming(assessment);
    match assessment.recipe.as_str() {
        "survey" => vec![closing::closing(assessment, &name)],
        "page-latency" => latency::answer(assessment),
        "count-tens" => counting::answer(assessment),
        "memory" => memory::answer(assessment),
        "write-strategies" => strategies::closing(assessment, &name),
        "touch-pages" => touching::closing(assessment),
        "sync-latency" => syncs::answer(assessment),
        "compilers" => compilers::answer(assessment).into_iter().collect(),
        _ => of_any(assessment, &name),
    }
}

/// What follows from a run of any recipe: which case is the fastest, and which differ.
pub(crate) fn of_any(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Vec<String> {
    let decided = versus::decided(assessment, name);
    let all = fastest(assessment, name).into_iter().chain(decided);
    all.map(|sentences| paragraph(&sentences, name)).collect()
}

/// The fastest that stands, of each kind of what served the bytes, and what cannot be told apart
/// from it.
fn fastest(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Option<Vec<Sentence>> {
    let said = |(by, lead): &(ServedBy, Lead)| {
        let rated = lead.best();
        let (name_of, rate) = (name(&rated.row.id), said_rate(&rated.rate));
        let beside = beside_lead(lead, name);
        let text = format!("Fastest {}: {name_of} at {rate}{beside}.", source(*by));
        Sentence::led(lead, text)
    };
    // Of one row nothing is the fastest.
    let several = assessment.fastest.iter().filter(|(_, lead)| lead.of_rows() > 1);
    let all: Vec<Sentence> = several.map(said).collect();
    (!all.is_empty()).then_some(all)
}

/// Where bytes came from, or went to.
fn source(by: ServedBy) -> &'static str {
    match by {
        ServedBy::Ram => "in memory",
        ServedBy::PageCache => "in the page cache",
        ServedBy::Device => "on the device",
        ServedBy::Mixed => "partly on the device",
        ServedBy::Unverified => "where nothing can be verified",
        ServedBy::NoIo => "without any I/O",
    }
}
