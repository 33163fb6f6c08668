//! The cost of touching a page of a file instead of a page of memory.

use crate::labels::CaseLabels;
use crate::phrases;
use crate::sentence::{Sentence, figure_in, marked, missing};
use crate::text::{Text, figure, joined, text};
use crate::words::{times, times_interval};
use assess::Assessment;
use assess::conclusions::touches::{Phase, Touching};
use assess::summary::Summary;
use model::case::{Cache, Case, Kernel, MemoryWork};
use model::units;

/// The cost of a page of a file, compared with a page of memory: from the cheapest way to the
/// dearest, then a line for each phase and state of the file.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Vec<Sentence> {
    if assessment.conclusions.touches.is_empty() {
        return missing(
            "There is no answer: it needs valid figures for pages of a file and of memory, \
             touched in the same way.",
        );
    }
    let range = range(assessment, labels);
    let phases = Phase::ALL.iter().flat_map(|phase| said(assessment, *phase, labels));
    range.into_iter().chain(phases).chain(first_touch(assessment)).collect()
}

/// `Touching a page of a file costs from 5.15× (read, warm, by mmap) to 9610× (write, cold, by …)
/// as much as the same in memory.`
fn range(assessment: &Assessment, labels: &CaseLabels) -> Option<Sentence> {
    let of = |held: &Touching| {
        let file = assessment.row(&held.file.id)?;
        let state = file_cache(&file.case).to_string();
        Some(text!("{} ({}, {}, {})", costs(held), held.phase.name(), state, by(file, labels)))
    };
    let mut all: Vec<&Touching> = assessment.conclusions.touches.iter().collect();
    all.sort_by(|a, b| a.ratio.median.total_cmp(&b.ratio.median));
    let [least, .., most] = all.as_slice() else { return None };
    let text = text!(
        "Touching a page of a file costs from {} to {} as much as the same in memory.",
        of(least)?,
        of(most)?
    );
    let rows = [least, most].into_iter().flat_map(|held| [&held.file, &held.memory]);
    Some(Sentence::figures(text, rows))
}

/// The cost of a phase for each way, a line for each state of the file.
fn said(assessment: &Assessment, phase: Phase, labels: &CaseLabels) -> Vec<Sentence> {
    let mut caches: Vec<(Cache, Vec<Text>, Vec<&Touching>)> = Vec::new();
    for held in assessment.conclusions.touches.iter().filter(|held| held.phase == phase) {
        let Some(file) = assessment.row(&held.file.id) else { continue };
        let cache = file_cache(&file.case);
        let interval = times_interval(held.ratio.low, held.ratio.high);
        let interval = interval.map_or(String::new(), |interval| format!(" ({interval})"));
        let text = text!("{}{} {}", costs(held), interval, by(file, labels));
        match caches.iter_mut().find(|(known, ..)| *known == cache) {
            Some((_, ways, of)) => {
                ways.push(text);
                of.push(held);
            }
            None => caches.push((cache, vec![text], vec![held])),
        }
    }
    // The names of the rows of memory that it is compared with.
    let does = match phase {
        Phase::Write => "Writing until acknowledged, against 'second touch'",
        Phase::Read => "Reading, against 'page reads'",
    };
    let line = |(state, ways, held): &(Cache, Vec<Text>, Vec<&Touching>)| {
        let state = match state {
            Cache::AsIs => "as it was found".to_string(),
            state => state.to_string(),
        };
        let text = text!("{}, {}: {}.", does, state, joined(ways, ", "));
        Sentence::figures(text, held.iter().flat_map(|held| [&held.file, &held.memory]))
    };
    caches.iter().map(line).collect()
}

fn file_cache(case: &Case) -> Cache {
    case.io().map_or(Cache::AsIs, |io| io.cache)
}

fn costs(held: &Touching) -> Text {
    marked(figure(times(held.ratio.median)), [&held.file, &held.memory])
}

/// The way to touch a file: its label without words that the sentence has already.
fn by(file: &Summary, labels: &CaseLabels) -> Text {
    let phrases = labels.phrases(&file.case).into_iter();
    let said = phrases.filter(|phrase| !["kind", "cache", "block"].contains(&phrase.axis));
    text!("by {}", phrases::joined(said.map(|phrase| phrase.said)))
}

/// First and second touches, which are easily confused. Both write.
fn first_touch(assessment: &Assessment) -> Option<Sentence> {
    let row = |kernel: Kernel| {
        let is_it = |summary: &&Summary| {
            let is_it = |work: &MemoryWork| work.kernel == kernel && work.threads == 1;
            summary.case.memory().is_some_and(is_it) && summary.verdict.stands()
        };
        assessment.cases.iter().find(is_it)
    };
    let (first, second) = (row(Kernel::FirstTouch)?, row(Kernel::TouchPages)?);
    let text = text!(
        "A first touch of a page of memory, which the OS must find and clear, takes {}; a \
         second {}.",
        figure_in(units::nanoseconds(first.ns_per_op?.median), first),
        figure_in(units::nanoseconds(second.ns_per_op?.median), second)
    );
    Some(Sentence::of_summaries(text, [first, second]))
}
