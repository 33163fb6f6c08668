//! The memory levels that latencies show, and the threads that saturate memory.

use crate::sentence::{Paragraphs, Sentence, takes};
use crate::text::{Text, figure, joined, listed, text};
use crate::words::{capital, count};
use assess::Assessment;
use assess::decision::Decision;
use assess::levels::{Level, Levels};
use assess::saturation::{Saturation, Step};
use model::case::{Isa, Kernel, Pages};
use model::units;

/// The memory levels that latencies show.
pub(super) fn levels(assessment: &Assessment) -> Paragraphs {
    let caches = &assessment.host.caches;
    let said = |levels: &Levels| {
        [said_levels(levels)].into_iter().chain(said_unnamed(levels, caches)).collect()
    };
    assessment.levels.iter().map(said).collect()
}

/// The number of threads that saturates memory: for the fastest reads, then for other loops, beside
/// those reads.
pub(super) fn saturation(assessment: &Assessment) -> Paragraphs {
    let is_reading = |it: &&Saturation| {
        it.of_reads.is_none() && (it.kernel, it.pages) == (Kernel::Read, Pages::Huge)
    };
    let reads = assessment.saturations.iter().filter(is_reading);
    let reads = reads.max_by(|a, b| a.highest.total_cmp(&b.highest));
    let mut others: Vec<(Text, Vec<&Saturation>)> = Vec::new();
    let is_other = |it: &&Saturation| reads.is_none_or(|reads| !std::ptr::eq(*it, reads));
    for saturation in assessment.saturations.iter().filter(is_other) {
        let found = said_threads(saturation);
        match others.iter_mut().find(|(known, _)| *known == found) {
            Some((_, members)) => members.push(saturation),
            None => others.push((found, vec![saturation])),
        }
    }
    let reads = reads.map(|reads| vec![said_reads(reads)]);
    reads.into_iter().chain(others.iter().map(|members| vec![said_saturations(members)])).collect()
}

fn pages_of(pages: Pages) -> &'static str {
    match pages {
        Pages::Base => "base pages",
        Pages::Huge => "huge pages",
    }
}

/// `huge pages: a load takes 1.2 ns from 4KiB to 32KiB (L1, 32KiB), 3.9 ns from 64KiB to 512KiB …`.
fn said_levels(levels: &Levels) -> Sentence {
    let said: Vec<Text> = levels.levels.iter().map(said_level).collect();
    let pages = pages_of(levels.pages);
    let knees = count(levels.levels.len().saturating_sub(1), "knee");
    let text = text!("latency in {} ({}): a load takes {}.", pages, knees, listed(&said));
    Sentence::figures(text, &levels.doubtful)
}

/// The caches that the OS reports and that the working sets go far beyond, but that no level shows.
fn said_unnamed(levels: &Levels, caches: &[u64]) -> Option<Sentence> {
    let (first, last) = (levels.levels.first()?, levels.levels.last()?);
    let is_shown = |number: u32| {
        levels.levels.iter().any(|level| level.cache.is_some_and(|cache| cache.number == number))
    };
    let is_within = |bytes: u64| first.from <= bytes / 2 && bytes.saturating_mul(4) <= last.to;
    let sizes = (1..).zip(caches.iter().copied().filter(|bytes| *bytes > 0));
    let unnamed = sizes.filter(|(number, bytes)| is_within(*bytes) && !is_shown(*number));
    let all: Vec<Text> =
        unnamed.map(|(number, bytes)| text!("an L{} of {}", number, units::bytes(bytes))).collect();
    let text = text!("The OS also reports {}, but no level is clearly that.", listed(&all));
    (!all.is_empty()).then(|| Sentence::plain(text))
}

/// Of the working sets that were measured: where a level ends between two of them is not known.
fn said_level(level: &Level) -> Text {
    let [ns, least, greatest] =
        [level.ns, level.least_ns, level.greatest_ns].map(units::nanoseconds).map(figure);
    let ns = if level.is_flat() { ns } else { text!("{} to {}", least, greatest) };
    let cache = level.cache.map_or(Text::default(), |cache| {
        text!(" (the OS reports an L{} of {})", cache.number, units::bytes(cache.bytes))
    });
    text!("{} from {} to {}{}", ns, units::bytes(level.from), units::bytes(level.to), cache)
}

/// `One thread reads 34.0 GB/s (avx2, huge pages), two 37.0 GB/s: one is nearly enough.`
fn said_reads(saturation: &Saturation) -> Sentence {
    let Saturation { isa, pages, threads, nearly, steps, .. } = saturation;
    let is_told = |index: usize, step: &Step| {
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
        Isa::Auto => format!("({})", pages_of(*pages)),
        isa => format!("({isa}, {})", pages_of(*pages)),
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
        text!("{}{}, {}, {}{}", kernel, isa, pages_of(*pages), rate, of_reads)
    };
    let all: Vec<Text> = members.iter().map(said).collect();
    let rows = members.iter().flat_map(|saturation| &saturation.rows);
    let shares = members.iter().any(|saturation| saturation.of_reads.is_some());
    let of_reads = if shares { ", with the share of the fastest reads" } else { "" };
    let text = text!("{}; at most{}: {}.", found.clone().capital(), of_reads, joined(&all, "; "));
    Sentence::figures(text, rows)
}
