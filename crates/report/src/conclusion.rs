//! What follows from a run in plain sentences, and the names of its cases: as the view of its
//! recipe says both.

use crate::names::Names;
use crate::words::main_estimate;
use crate::writes::WriteNames;
use crate::{
    closing, compilers, counting, latency, memory, strategies, survey, syncs, touching, versus,
};
use assess::Assessment;
use assess::finding::Verdict;
use assess::summary::{ServedBy, Summary};
use model::plan::Role;

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
        _ => [fastest(assessment, &name), versus::decided(assessment, &name)]
            .into_iter()
            .flatten()
            .collect(),
    }
}

/// The fastest that stands, of each kind of what served the bytes.
fn fastest(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Option<String> {
    let rate = |summary: &Summary| summary.throughput.map_or(0.0, |rate| rate.median);
    let stands = |summary: &&Summary| {
        let is_asked = summary.role == Role::Asked && summary.n > 0;
        is_asked && summary.verdict != Verdict::Void && rate(summary) > 0.0
    };
    let of = |by: &ServedBy| {
        let served = assessment.cases.iter().filter(stands).filter(|s| s.served_by == Some(*by));
        let summary = served.max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
        let (estimate, say) = main_estimate(summary)?;
        let doubtful = if summary.verdict == Verdict::Sound { "" } else { " (doubtful)" };
        let (name, rate) = (name(&summary.id), say(estimate.median));
        Some(format!("{}, {name} at {rate}{doubtful}", source(*by)))
    };
    let all: Vec<String> = ServedBy::ALL.iter().filter_map(of).collect();
    (!all.is_empty()).then(|| format!("Fastest: {}.", all.join("; ")))
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
