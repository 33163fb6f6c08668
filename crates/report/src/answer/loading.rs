//! How long a file takes to load, by the fastest way: from the device, and while it is cached.

use crate::labels::CaseLabels;
use crate::sentence::Sentence;
use crate::text::{Text, figure, text};
use assess::Assessment;
use assess::decision::Lead;
use assess::stats::Estimate;
use assess::summary::ServedBy;
use model::units::{self, NS_PER_SECOND};

/// Where a file is loaded from, with the words for it.
const FROM: [(ServedBy, &str); 2] =
    [(ServedBy::Device, "from the device"), (ServedBy::PageCache, "from the page cache")];

/// A line for each of these.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Vec<Sentence> {
    let lead = |by: ServedBy| {
        assessment.conclusions.fastest.iter().find(|(found, _)| *found == by).map(|(_, lead)| lead)
    };
    FROM.iter().filter_map(|(by, from)| said(assessment, lead(*by)?, from, labels)).collect()
}

/// `Fastest way to load 1.00 GiB from the device: direct uring 4MiB d16 at 551 ms (95 % CI
/// 530 ms to 570 ms), 1.95 GB/s`
fn said(assessment: &Assessment, lead: &Lead, from: &str, labels: &CaseLabels) -> Option<Sentence> {
    let size = assessment.row(&lead.best().row.id)?.case.file_size()?;
    let size_shown = units::bytes_rounded(size);
    let does = match lead.of_rows() {
        1 => format!("To load {size_shown} {from}:"),
        _ => format!("Fastest way to load {size_shown} {from}:"),
    };
    let name = |id: &str| labels.name(id);
    let sentence = Sentence::fastest(&does, lead, &|rate| said_time(size, rate), &name);
    Some(Sentence::joined([sentence, Sentence::plain(".")], ""))
}

/// The time for so many bytes at a rate, with its interval, and the rate.
fn said_time(bytes: u64, rate: &Estimate) -> Text {
    let time = |rate: f64| units::nanoseconds(bytes as f64 * NS_PER_SECOND / rate);
    let shown = figure(time(rate.median));
    let at = units::rate(rate.median);
    match rate.high.zip(rate.low) {
        Some((high, low)) => text!("{} (95 % CI {} to {}), {}", shown, time(high), time(low), at),
        None => text!("{}, {}", shown, at),
    }
}
