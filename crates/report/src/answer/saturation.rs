//! The number of threads that saturates memory.

use crate::labels::CaseLabels;
use crate::sentence::{Paragraphs, Sentence, takes};
use crate::text::{Text, figure, joined, text};
use crate::words::{self, capital};
use assess::Assessment;
use assess::conclusions::saturation::{Saturation, ThreadStep};
use assess::decision::Decision;
use model::case::{Isa, Kernel, Pages};
use model::units;

/// The number of threads that saturates memory: for the fastest reads, then for other loops, beside
/// those reads.
pub(super) fn answer(assessment: &Assessment, _: &CaseLabels) -> Paragraphs {
    let is_reading = |it: &&Saturation| {
        it.of_reads.is_none() && (it.kernel, it.pages) == (Kernel::Read, Pages::Huge)
    };
    let reads = assessment.conclusions.saturations.iter().filter(is_reading);
    let reads = reads.max_by(|a, b| a.highest.total_cmp(&b.highest));
    let mut others: Vec<(Text, Vec<&Saturation>)> = Vec::new();
    let is_other = |it: &&Saturation| reads.is_none_or(|reads| !std::ptr::eq(*it, reads));
    for saturation in assessment.conclusions.saturations.iter().filter(is_other) {
        let found = said_threads(saturation);
        match others.iter_mut().find(|(known, _)| *known == found) {
            Some((_, members)) => members.push(saturation),
            None => others.push((found, vec![saturation])),
        }
    }
    let reads = reads.map(|reads| vec![said_reads(reads)]);
    reads.into_iter().chain(others.iter().map(|members| vec![said_saturations(members)])).collect()
}

/// `One thread reads 34.0 GB/s (avx2, huge pages), two 37.0 GB/s: one is nearly enough.`
fn said_reads(saturation: &Saturation) -> Sentence {
    let Saturation { isa, pages, threads, nearly, steps, .. } = saturation;
    let is_told = |index: usize, step: &ThreadStep| {
        let is_end = index == 0 || index + 1 == steps.len();
        is_end || Some(step.threads) == *threads || step.threads == *nearly
    };
    let told = steps.iter().enumerate().filter(|(index, step)| is_told(*index, step));
    let mut told = told.map(|(_, step)| (step.threads, figure(units::rate(step.throughput))));
    let first = told.next().map_or(Text::default(), |(threads, rate)| {
        let (thread, reads) = if threads == 1 { ("thread", "reads") } else { ("threads", "read") };
        text!("{} {} {} {}", capital(&number(threads)), thread, reads, rate)
    });
    let more: Vec<Text> =
        told.map(|(threads, rate)| text!(", {} {}", number(threads), rate)).collect();
    let of = match isa {
        Isa::Auto => format!("({})", words::pages(*pages)),
        isa => format!("({isa}, {})", words::pages(*pages)),
    };
    let found = said_threads(saturation);
    let text = text!("{} {}{}: {}.", first, of, joined(&more, ""), found);
    Sentence::figures(text, &saturation.rows)
}

/// A number of threads.
fn number(threads: u32) -> String {
    match threads {
        1 => "one".to_string(),
        2 => "two".to_string(),
        more => more.to_string(),
    }
}

/// How many threads are enough: `one is nearly enough`.
fn said_threads(saturation: &Saturation) -> Text {
    let Saturation { decision, threads, nearly, most_threads, open, .. } = saturation;
    let are =
        |threads: u32| format!("{} {}", number(threads), if threads == 1 { "is" } else { "are" });
    match (decision, threads) {
        (Decision::Yes, Some(threads)) => text!("{} enough", are(*threads)),
        (Decision::No, _) if nearly < most_threads => text!("{} nearly enough", are(*nearly)),
        (Decision::No, _) => "more threads may give more".into(),
        (_, _) => {
            let fewer = match most_threads {
                2 => are(1),
                more => format!("fewer than {}", are(*more)),
            };
            text!("undecided whether {} enough ({})", fewer, takes(*open))
        }
    }
}

/// Loops with the same result in one sentence.
fn said_saturations((found, members): &(Text, Vec<&Saturation>)) -> Sentence {
    let said = |one: &&Saturation| {
        let Saturation { kernel, isa, pages, highest, of_reads, .. } = one;
        let isa = if *isa == Isa::Auto { String::new() } else { format!(" {isa}") };
        let of_reads =
            of_reads.map_or(Text::default(), |share| text!(" ({})", figure(units::percent(share))));
        let (kernel, rate) = (kernel.to_string(), figure(units::rate(*highest)));
        text!("{}{}, {}, {}{}", kernel, isa, words::pages(*pages), rate, of_reads)
    };
    let all: Vec<Text> = members.iter().map(said).collect();
    let rows = members.iter().flat_map(|saturation| &saturation.rows);
    let shares = members.iter().any(|saturation| saturation.of_reads.is_some());
    let of_reads = if shares { ", with the share of the fastest reads" } else { "" };
    let text = text!("{}; at most{}: {}.", found.clone().capital(), of_reads, joined(&all, "; "));
    Sentence::figures(text, rows)
}
