//! The memory levels that latencies show, and the threads that saturate memory.

use crate::sentence::{Paragraphs, Sentence, takes};
use crate::words::{count, listed};
use assess::Assessment;
use assess::decision::Decision;
use assess::levels::{Level, Levels};
use assess::saturation::Saturation;
use model::case::Pages;
use model::units;

/// The memory levels that latencies show.
pub(super) fn levels(assessment: &Assessment) -> Paragraphs {
    assessment.levels.iter().map(|levels| vec![said_levels(levels)]).collect()
}

/// The number of threads that saturates memory.
pub(super) fn saturation(assessment: &Assessment) -> Paragraphs {
    let mut saturations: Vec<(String, Vec<&Saturation>)> = Vec::new();
    for saturation in &assessment.saturations {
        let found = said_threads(saturation);
        match saturations.iter_mut().find(|(known, _)| *known == found) {
            Some((_, members)) => members.push(saturation),
            None => saturations.push((found, vec![saturation])),
        }
    }
    saturations.iter().map(|members| vec![said_saturations(members)]).collect()
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

fn said_threads(saturation: &Saturation) -> String {
    let most = count(saturation.most_threads as usize, "thread");
    match (saturation.decision, saturation.threads) {
        (Decision::Yes, Some(1)) => format!("one thread already gets what {most} get"),
        (Decision::Yes, Some(threads)) => format!("{threads} threads get what {most} get"),
        (Decision::No, _) => format!("not saturated by {most}"),
        _ => format!(
            "undecided whether fewer threads than {} do as well ({})",
            saturation.most_threads,
            takes(saturation.open)
        ),
    }
}

/// Loops with the same result in one sentence.
fn said_saturations((found, members): &(String, Vec<&Saturation>)) -> Sentence {
    let name = |saturation: &Saturation| {
        let Saturation { kernel, isa, pages, .. } = saturation;
        format!("{kernel} {isa}, {}", pages_of(*pages))
    };
    let text = match members.as_slice() {
        [one] => format!("{}: {found}, {} at most.", name(one), units::rate(one.highest)),
        all => {
            let said = |one: &&Saturation| format!("{}, {}", name(one), units::rate(one.highest));
            let all: Vec<String> = all.iter().map(said).collect();
            format!("{found}; at most: {}.", all.join("; "))
        }
    };
    Sentence::figures(text, members.iter().flat_map(|saturation| &saturation.rows))
}
