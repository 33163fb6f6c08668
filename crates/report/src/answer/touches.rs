//! The cost of touching a page of a file instead of a page of memory.

use crate::labels::CaseLabels;
use crate::phrases;
use crate::sentence::{Paragraphs, Sentence, missing};
use crate::text::{Text, figure, joined, listed, text};
use crate::words::{times, times_interval};
use assess::Assessment;
use assess::conclusions::touches::{Phase, Touching};
use assess::summary::Summary;
use model::case::{Cache, Case, Kernel, MemoryWork};
use model::units;

fn find<'a>(assessment: &'a Assessment, id: &str) -> Option<&'a Summary> {
    assessment.cases.iter().find(|summary| summary.id == id)
}

/// The cost of a page of a file, compared with a page of memory.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Paragraphs {
    if assessment.conclusions.touching.is_empty() {
        return missing(
            "There is no answer: it needs valid figures for pages of a file and of memory, \
             touched in the same way.",
        );
    }
    let phases = Phase::ALL.iter().filter_map(|phase| said(assessment, *phase, labels));
    let all = phases.chain([intervals(assessment)]).chain(first_touch(assessment));
    all.map(|sentence| vec![sentence]).collect()
}

/// The cost of a phase for each way, grouped by the file's cache state.
fn said(assessment: &Assessment, phase: Phase, labels: &CaseLabels) -> Option<Sentence> {
    let mut caches: Vec<(Cache, Vec<Text>)> = Vec::new();
    let of_phase = || assessment.conclusions.touching.iter().filter(|held| held.phase == phase);
    for held in of_phase() {
        let Some(file) = find(assessment, &held.file.id) else { continue };
        let cache = file_cache(&file.case);
        let text = text!("{} {}", costs(held), by(file, labels));
        match caches.iter_mut().find(|(known, _)| *known == cache) {
            Some((_, ways)) => ways.push(text),
            None => caches.push((cache, vec![text])),
        }
    }
    if caches.is_empty() {
        return None;
    }
    let say = |(state, ways): &(Cache, Vec<Text>)| match state {
        Cache::AsIs => text!("as it was found, {}", listed(ways)),
        _ => text!("{}, {}", state.to_string(), listed(ways)),
    };
    let does = match phase {
        Phase::Write => {
            "Writing a byte in each page of the file, until the OS has acknowledged it,"
        }
        Phase::Read => "Reading a byte of each page of the file",
    };
    let all: Vec<Text> = caches.iter().map(say).collect();
    let text = text!(
        "{} costs this multiple of a second touch of the page in memory: {}.",
        does,
        joined(&all, "; ")
    );
    Some(Sentence::figures(text, of_phase().flat_map(|held| [&held.file, &held.memory])))
}

fn file_cache(case: &Case) -> Cache {
    case.io().map_or(Cache::AsIs, |io| io.cache)
}

/// `132× (123-143)`, with a note if either row is doubtful.
fn costs(held: &Touching) -> Text {
    let interval = times_interval(held.ratio.low, held.ratio.high);
    let is_doubtful = held.file.is_doubtful() || held.memory.is_doubtful();
    let doubtful = is_doubtful.then(|| "doubtful".to_string());
    let beside: Vec<String> = interval.into_iter().chain(doubtful).collect();
    let beside = if beside.is_empty() { "".into() } else { format!(" ({})", beside.join(", ")) };
    text!("{}{}", figure(times(held.ratio.median)), beside)
}

/// The way to touch a file: its label without words that the sentence has already.
fn by(file: &Summary, labels: &CaseLabels) -> Text {
    let phrases = labels.phrases(&file.case).into_iter();
    let said = phrases.filter(|phrase| !["kind", "cache", "block"].contains(&phrase.axis));
    text!("by {}", phrases::joined(said.map(|phrase| phrase.said)))
}

/// Explains the brackets, once for all sentences.
fn intervals(assessment: &Assessment) -> Sentence {
    let has_one = |held: &Touching| held.ratio.low.is_some();
    let with = assessment.conclusions.touching.iter().filter(|held| has_one(held)).count();
    Sentence::plain(match with {
        0 => "There were too few rounds for intervals.",
        _ if with == assessment.conclusions.touching.len() => {
            "In brackets: the 95 % intervals of these ratios."
        }
        _ => "In brackets: 95 % intervals; where there is none, there were too few rounds for it.",
    })
}

/// First and second touches, which are easily confused.
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
        "A first touch of a page of memory, for which the OS finds and clears it, takes {}; a \
         second one takes {}.",
        figure(units::nanoseconds(first.ns_per_op?.median)),
        figure(units::nanoseconds(second.ns_per_op?.median))
    );
    Some(Sentence::of_summaries(text, [first, second]))
}
