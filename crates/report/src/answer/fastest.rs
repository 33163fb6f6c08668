//! The fastest row for each source of the bytes.

use crate::labels::CaseLabels;
use crate::sentence::Sentence;
use crate::words::capital;
use crate::writes::{said_median, said_rate};
use assess::Assessment;
use assess::decision::Lead;
use assess::summary::ServedBy;
use model::view::Layout;

/// The fastest valid row for each source of the bytes, and the rows that may be as fast: a line for
/// two sources.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Vec<Sentence> {
    let name = &|id: &str| labels.name(id);
    // The cells of a pivot have no intervals.
    let rate = if assessment.view().layout == Layout::Pivot { said_rate } else { said_median };
    // A single row cannot be the fastest.
    let several = assessment.conclusions.fastest.iter().filter(|(_, lead)| lead.of_rows() > 1);
    let several: Vec<&(ServedBy, Lead)> = several.collect();
    let line = |pair: &[&(ServedBy, Lead)]| {
        let said = pair.iter().enumerate().map(|(index, (by, lead))| {
            let does = format!("fastest {}:", source(*by));
            let does = if index == 0 { capital(&does) } else { does };
            Sentence::fastest(&does, lead, &rate, name)
        });
        Sentence::joined(said, "; ")
    };
    several.chunks(2).map(line).collect()
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
