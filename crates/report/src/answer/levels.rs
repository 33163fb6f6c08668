//! The memory levels that latencies show.

use crate::labels::CaseLabels;
use crate::sentence::{Paragraphs, Sentence};
use crate::text::{Text, figure, listed, text};
use crate::words::{count, pages};
use assess::Assessment;
use assess::levels::{Level, Levels};
use model::units;

/// The memory levels that latencies show.
pub(super) fn answer(assessment: &Assessment, _: &CaseLabels) -> Paragraphs {
    let caches = &assessment.header.host.caches;
    let said = |levels: &Levels| {
        [said_levels(levels)].into_iter().chain(said_unnamed(levels, caches)).collect()
    };
    assessment.conclusions.levels.iter().map(said).collect()
}

/// `huge pages: a load takes 1.2 ns from 4KiB to 32KiB (L1, 32KiB), 3.9 ns from 64KiB to 512KiB …`.
fn said_levels(levels: &Levels) -> Sentence {
    let said: Vec<Text> = levels.levels.iter().map(said_level).collect();
    let kind = pages(levels.pages);
    let knees = count(levels.levels.len().saturating_sub(1), "knee");
    let text = text!("latency in {} ({}): a load takes {}.", kind, knees, listed(&said));
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
