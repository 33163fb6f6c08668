//! The memory levels that latencies show, and the threads that saturate memory.

use crate::sentence::{Paragraphs, Sentence, takes};
use crate::words::{capital, count, listed};
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
    let mut others: Vec<(String, Vec<&Saturation>)> = Vec::new();
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
    let said: Vec<String> = levels.levels.iter().map(said_level).collect();
    let pages = pages_of(levels.pages);
    let knees = count(levels.levels.len().saturating_sub(1), "knee");
    let text = format!("latency in {pages} ({knees}): a load takes {}.", listed(&said));
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
    let all: Vec<String> =
        unnamed.map(|(number, bytes)| format!("an L{number} of {}", units::bytes(bytes))).collect();
    let text = format!("The OS also reports {}, but no level is clearly that.", listed(&all));
    (!all.is_empty()).then(|| Sentence::plain(text))
}

/// Of the working sets that were measured: where a level ends between two of them is not known.
fn said_level(level: &Level) -> String {
    let [ns, least, greatest] =
        [level.ns, level.least_ns, level.greatest_ns].map(units::nanoseconds);
    let ns = if level.is_flat() { ns } else { format!("{least} to {greatest}") };
    let cache = level.cache.map_or(String::new(), |cache| {
        format!(" (the OS reports an L{} of {})", cache.number, units::bytes(cache.bytes))
    });
    format!("{ns} from {} to {}{cache}", units::bytes(level.from), units::bytes(level.to))
}

/// `One thread reads 34.0 GB/s (avx2, huge pages), two 37.0 GB/s: one is nearly enough.`
fn said_reads(saturation: &Saturation) -> Sentence {
    let Saturation { isa, pages, threads, nearly, steps, .. } = saturation;
    let is_told = |index: usize, step: &Step| {
        let is_end = index == 0 || index + 1 == steps.len();
        is_end || Some(step.threads) == *threads || step.threads == *nearly
    };
    let told = steps.iter().enumerate().filter(|(index, step)| is_told(*index, step));
    let mut told = told.map(|(_, step)| (step.threads, units::rate(step.throughput)));
    let first = told.next().map_or(String::new(), |(threads, rate)| {
        let (thread, reads) = if threads == 1 { ("thread", "reads") } else { ("threads", "read") };
        format!("{} {thread} {reads} {rate}", capital(&number(threads)))
    });
    let more: Vec<String> =
        told.map(|(threads, rate)| format!(", {} {rate}", number(threads))).collect();
    let of = match isa {
        Isa::Auto => format!("({})", pages_of(*pages)),
        isa => format!("({isa}, {})", pages_of(*pages)),
    };
    let found = said_threads(saturation);
    let text = format!("{first} {of}{}: {found}.", more.concat());
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
fn said_threads(saturation: &Saturation) -> String {
    let Saturation { decision, threads, nearly, most_threads, open, .. } = saturation;
    let are =
        |threads: u32| format!("{} {}", number(threads), if threads == 1 { "is" } else { "are" });
    match (decision, threads) {
        (Decision::Yes, Some(threads)) => format!("{} enough", are(*threads)),
        (Decision::No, _) if nearly < most_threads => format!("{} nearly enough", are(*nearly)),
        (Decision::No, _) => "more threads may give more".to_string(),
        (_, _) => {
            let fewer = match most_threads {
                2 => are(1),
                more => format!("fewer than {}", are(*more)),
            };
            format!("undecided whether {fewer} enough ({})", takes(*open))
        }
    }
}

/// Loops with the same result in one sentence.
fn said_saturations((found, members): &(String, Vec<&Saturation>)) -> Sentence {
    let said = |one: &&Saturation| {
        let Saturation { kernel, isa, pages, highest, of_reads, .. } = one;
        let isa = if *isa == Isa::Auto { String::new() } else { format!(" {isa}") };
        let of_reads =
            of_reads.map_or(String::new(), |share| format!(" ({})", units::percent(share)));
        format!("{kernel}{isa}, {}, {}{of_reads}", pages_of(*pages), units::rate(*highest))
    };
    let all: Vec<String> = members.iter().map(said).collect();
    let rows = members.iter().flat_map(|saturation| &saturation.rows);
    let shares = members.iter().any(|saturation| saturation.of_reads.is_some());
    let of_reads = if shares { ", with the share of the fastest reads" } else { "" };
    let text = format!("{}; at most{of_reads}: {}.", capital(found), all.join("; "));
    Sentence::figures(text, rows)
}
