//! The fastest row for each source of the bytes.

use crate::labels::CaseLabels;
use crate::sentence::{Paragraphs, Sentence};
use assess::Assessment;
use assess::decision::Lead;
use assess::summary::ServedBy;

/// The fastest valid row for each source of the bytes, and the rows that cannot be told apart from
/// it.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Paragraphs {
    let name = &|id: &str| labels.name(id);
    let said = |(by, lead): &(ServedBy, Lead)| {
        Sentence::fastest(&format!("Fastest {}:", source(*by)), lead, name)
    };
    // A single row cannot be the fastest.
    let several = assessment.conclusions.fastest.iter().filter(|(_, lead)| lead.of_rows() > 1);
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
