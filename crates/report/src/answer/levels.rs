//! The memory levels that latencies show.

use crate::labels::CaseLabels;
use crate::sentence::{Sentence, marked};
use crate::text::{Text, figure, joined, listed, text};
use crate::words::pages;
use assess::Assessment;
use assess::decision::Named;
use assess::levels::{Level, Levels};
use model::units;

/// The memory levels that latencies show.
pub(super) fn answer(assessment: &Assessment, _: &CaseLabels) -> Vec<Sentence> {
    let caches = &assessment.header.host.caches;
    let said = |levels: &Levels| {
        [said_levels(assessment, levels)].into_iter().chain(said_unnamed(levels, caches))
    };
    assessment.conclusions.levels.iter().flat_map(said).collect()
}

/// `In huge pages, a load takes 1.2 ns from 4KiB to 32KiB (L1), 3.9 ns from 64KiB to 512KiB …`.
fn said_levels(assessment: &Assessment, levels: &Levels) -> Sentence {
    let is_within = |row: &Named, level: &Level| {
        let summary = assessment.row(&row.id);
        let work = summary.and_then(|summary| summary.case.memory());
        work.is_some_and(|work| (level.from..=level.to).contains(&work.working_set))
    };
    let said = levels
        .levels
        .iter()
        .map(|level| said_level(level, levels.doubtful.iter().filter(|row| is_within(row, level))));
    let said: Vec<Text> = said.collect();
    let text = text!("In {}, a load takes {}.", pages(levels.pages), joined(&said, ", "));
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
fn said_level<'a>(level: &Level, doubtful: impl Iterator<Item = &'a Named>) -> Text {
    let [ns, least, greatest] =
        [level.ns, level.least_ns, level.greatest_ns].map(units::nanoseconds).map(figure);
    let ns = if level.is_flat() { ns } else { text!("{} to {}", least, greatest) };
    let ns = marked(ns, doubtful);
    let cache = level.cache.map_or(Text::default(), |cache| text!(" (L{})", cache.number));
    text!("{} from {} to {}{}", ns, units::bytes(level.from), units::bytes(level.to), cache)
}
