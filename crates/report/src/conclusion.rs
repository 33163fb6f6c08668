//! What follows from a run in plain sentences, and how its cases are called: as the view of its
//! recipe has both.

use crate::labels::Labels;
use crate::sentence::{Sentence, beside_lead, paragraph};
use crate::writes::said_rate;
use crate::{
    closing, compilers, counting, latency, memory, strategies, survey, syncs, touching, versus,
};
use assess::Assessment;
use assess::decision::Lead;
use assess::summary::ServedBy;

/// How the cases of an assessment are called.
pub(crate) fn labels(assessment: &Assessment) -> Labels<'_> {
    match assessment.recipe.as_str() {
        "survey" => survey::labels(assessment),
        "count-tens" => counting::labels(assessment),
        "touch-pages" => touching::labels(assessment),
        _ => Labels::of(assessment),
    }
}

/// The answer, a paragraph each; nothing where the recipe asks for figures only.
pub(crate) fn answer(assessment: &Assessment) -> Vec<String> {
    let labels = labels(assessment);
    let name = |id: &str| labels.name(id);
    match assessment.recipe.as_str() {
        "survey" => vec![closing::closing(assessment, &name)],
        "page-latency" => latency::answer(assessment),
        "count-tens" => counting::answer(assessment),
        "memory" => memory::answer(assessment),
        "write-strategies" => strategies::closing(assessment, &name),
        "touch-pages" => touching::closing(assessment),
        "sync-latency" => syncs::answer(assessment),
        "compilers" => compilers::answer(assessment).into_iter().collect(),
        _ => of_any(assessment, &labels),
    }
}

/// What follows from a run of any recipe: which case is the fastest, and which differ.
pub(crate) fn of_any(assessment: &Assessment, labels: &Labels) -> Vec<String> {
    let name = &|id: &str| labels.name(id);
    let decided = versus::decided(assessment, labels);
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
