//! What follows from a run in plain sentences, and the names of its cases: as the view of its
//! recipe says both.

use crate::names::Names;
use crate::writes::WriteNames;
use crate::{closing, counting, latency, memory, strategies, survey, syncs, touching};
use assess::Assessment;

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
        _ => Vec::new(),
    }
}
