//! The conclusions of a run in sentences, and the labels of its cases, as the view requests.

mod depth;
mod operations;
mod engines;
mod storage;
mod reads;
mod counting;
mod memory;
mod durability;
mod touches;
mod commits;
mod builds;
mod load;
mod interference;

use crate::labels::Labels;
use crate::sentence::{Paragraphs, Sentence, paragraph};
use crate::text::{Text, text};
use crate::words::count;
use crate::{survey, versus};
use assess::Assessment;
use assess::decision::Lead;
use assess::summary::{ServedBy, Summary};
use model::plan::Role;
use model::view::{Answer, Layout};

/// The labels of the cases of an assessment.
pub(crate) fn labels(assessment: &Assessment) -> Labels<'_> {
    match assessment.view.layout {
        Layout::Ladder => survey::labels(assessment),
        _ => Labels::of(assessment),
    }
}

/// The answer: a paragraph for each part that the view requests, or several.
pub(crate) fn answer(assessment: &Assessment) -> Vec<Text> {
    let labels = labels(assessment);
    let said = parts(assessment).flat_map(|part| said(part, assessment, &labels));
    said.chain(with_rate(assessment)).collect()
}

/// The parts that the view requests, and the goals of a run of any recipe: they were asked for.
fn parts(assessment: &Assessment) -> impl Iterator<Item = Answer> {
    let requested = &assessment.view.answer;
    let has_goals = assessment.loads.iter().any(|load| !load.goals.is_empty());
    let goals = (has_goals && !requested.contains(&Answer::Load)).then_some(Answer::Load);
    requested.iter().copied().chain(goals)
}

/// Says which rows take no part in what the answer says of speed.
fn with_rate(assessment: &Assessment) -> Option<Text> {
    let is_of_speed = |part: &Answer| {
        use Answer::{Builds, Counts, Differences, DiskOrMemory, Durability, Fastest, Touches};
        matches!(
            part,
            Fastest | Differences | DiskOrMemory | Counts | Durability | Touches | Builds
        )
    };
    let is_left_out = |summary: &&Summary| {
        summary.role == Role::Asked && summary.case.is_open() && summary.verdict.stands()
    };
    let rows = assessment.cases.iter().filter(is_left_out).count();
    (rows > 0 && assessment.view.answer.iter().any(is_of_speed)).then(|| {
        let (has, asks) = if rows == 1 { ("has", "its") } else { ("have", "their") };
        text!(
            "{} {} a rate: {} schedule sets the throughput, so no statement about speed counts {}.",
            count(rows, "row"),
            has,
            asks,
            if rows == 1 { "it" } else { "them" }
        )
    })
}

/// A part of the answer; `labels` names the cases.
pub(crate) fn said(part: Answer, assessment: &Assessment, labels: &Labels) -> Vec<Text> {
    let name = &|id: &str| labels.name(id);
    let paragraphs = match part {
        Answer::Fastest => fastest(assessment, name),
        Answer::Differences => versus::decided(assessment, labels),
        Answer::DiskOrMemory => storage::answer(assessment, labels),
        Answer::ReadLatency => reads::answer(assessment, labels),
        Answer::Counts => counting::answer(assessment, name),
        Answer::Levels => memory::levels(assessment),
        Answer::Saturation => memory::saturation(assessment),
        Answer::Durability => durability::answer(assessment, name),
        Answer::Touches => touches::answer(assessment, labels),
        Answer::Commits => commits::answer(assessment),
        Answer::Load => load::answer(assessment, labels),
        Answer::Depth => depth::answer(assessment, labels),
        Answer::Interference => interference::answer(assessment, labels),
        Answer::Builds => builds::answer(assessment, name),
    };
    let said = paragraphs.iter().filter(|sentences| !sentences.is_empty());
    said.map(|sentences| paragraph(sentences, name)).collect()
}

/// The fastest valid row for each source of the bytes, and the rows that cannot be told apart from
/// it.
fn fastest(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Paragraphs {
    let said = |(by, lead): &(ServedBy, Lead)| {
        Sentence::fastest(&format!("Fastest {}:", source(*by)), lead, name)
    };
    // A single row cannot be the fastest.
    let several = assessment.fastest.iter().filter(|(_, lead)| lead.of_rows() > 1);
    vec![several.map(said).collect()]
}

/// Where the bytes came from, or went to.
fn source(by: ServedBy) -> &'static str {
    match by {
        ServedBy::CpuCache => "in the processor's caches",
        ServedBy::CpuCacheOrRam => "in the processor's caches or memory",
        ServedBy::Ram => "in memory",
        ServedBy::NameCache => "in the OS's cache of names",
        ServedBy::PageCache => "in the page cache",
        ServedBy::Device => "on the device",
        ServedBy::Mixed => "partly on the device",
        ServedBy::Unverified => "where nothing can be verified",
        ServedBy::NoIo => "without any I/O",
    }
}
