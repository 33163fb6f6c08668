//! The time of a read, and whether it depends on the number of reads.

use crate::labels::CaseLabels;
use crate::phrases;
use crate::sentence::{Sentence, figure_in, ratio_of};
use crate::text::{listed, text};
use crate::words;
use assess::Assessment;
use assess::decision::Decided;
use assess::percentile::Percentile;
use assess::summary::Summary;
use model::case::{Io, ReadWork};
use model::plan::Role;

/// Rows that differ in their number of iterations only, fewest first, and unlimited last.
struct ReadGroup<'a> {
    title: String,
    rows: Vec<(&'a ReadWork, &'a Summary)>,
}

fn groups<'a>(assessment: &'a Assessment, labels: &CaseLabels) -> Vec<ReadGroup<'a>> {
    let mut groups: Vec<(ReadWork, ReadGroup)> = Vec::new();
    for summary in assessment.cases.iter().filter(|summary| summary.role == Role::Asked) {
        let Some(work) = summary.case.read() else { continue };
        let alike = ReadWork { io: Io { ops: 0, ..work.io }, ..*work };
        match groups.iter_mut().find(|(known, _)| *known == alike) {
            Some((_, group)) => group.rows.push((work, summary)),
            None => {
                let group =
                    ReadGroup { title: title(labels, summary), rows: vec![(work, summary)] };
                groups.push((alike, group));
            }
        }
    }
    let mut groups: Vec<ReadGroup> = groups.into_iter().map(|(_, group)| group).collect();
    for group in &mut groups {
        // 0 means unlimited, so it must come last.
        group.rows.sort_by_key(|(work, _)| work.io.ops.wrapping_sub(1));
    }
    groups
}

/// The title of a group: the label of one of its rows, without the number of operations.
fn title(labels: &CaseLabels, summary: &Summary) -> String {
    let phrases = labels.phrases(&summary.case).into_iter().filter(|phrase| phrase.axis != "ops");
    match phrases::joined(phrases.map(|phrase| phrase.said)) {
        title if title.is_empty() => "reads".to_string(),
        title => title,
    }
}

/// The number of reads in a trial: the limit, or all blocks of a file that is read once.
fn iterations(work: &ReadWork) -> String {
    match (work.io.ops, work.repeats()) {
        (0, false) => format!("all {}", work.io.blocks()),
        (0, true) => "no limit".to_string(),
        (ops, _) => ops.to_string(),
    }
}

/// The time of a read, and for each group, whether its rate depends on the number of reads.
pub(super) fn answer(assessment: &Assessment, names: &CaseLabels) -> Vec<Sentence> {
    let groups = groups(assessment, names);
    let changes =
        groups.iter().filter_map(|group| change(group, &assessment.conclusions.read_latency));
    typical(&groups).into_iter().chain(changes).collect()
}

/// The time of a read in the row with the most iterations: at the median, and at p99.
fn typical(groups: &[ReadGroup]) -> Vec<Sentence> {
    let longest = groups.iter().filter_map(|group| {
        let (_, summary) = group.rows.iter().rev().find(|(_, summary)| stands(summary))?;
        Some((&group.title, *summary, summary.latency.p50?, summary.latency.p99?))
    });
    let longest: Vec<_> = longest.collect();
    let line = |start: &str, of: fn(Percentile, Percentile) -> Percentile| {
        let said = longest.iter().map(|(title, summary, p50, p99)| {
            let ns = words::percentile(Some(of(*p50, *p99)));
            text!("{} ({})", figure_in(ns, summary), *title)
        });
        let text = text!("{} {}.", start, listed(&said.collect::<Vec<_>>()));
        Sentence::of_summaries(text, longest.iter().map(|(_, summary, ..)| *summary))
    };
    match longest.is_empty() {
        true => Vec::new(),
        false => vec![
            line("A read takes", |p50, _| p50),
            line("1 in 100 takes longer than", |_, p99| p99),
        ],
    }
}

/// Whether the throughput of the most iterations differs from that of the fewest.
fn change(group: &ReadGroup, questions: &[Decided]) -> Option<Sentence> {
    let title = &group.title;
    let with_figure: Vec<_> = group.rows.iter().filter(|(_, summary)| stands(summary)).collect();
    // Without a figure, or with only one number of iterations, there is nothing to compare.
    let (few, first) = with_figure.first()?;
    let (many, last) = with_figure.last()?;
    if group.rows.len() == 1 {
        return None;
    }
    if with_figure.len() == 1 {
        return Some(Sentence::plain(format!(
            "{title}: only one of {} numbers of reads has a valid figure, so a change cannot be \
             shown.",
            group.rows.len()
        )));
    }
    let (few, many) = (iterations(few), iterations(many));
    let is_it = |decided: &&Decided| {
        let [later, earlier] = decided.rows();
        later.id == last.id && earlier.id == first.id
    };
    let decided = questions.iter().find(is_it)?;
    let asks = format!("whether {few} reads are as fast as {many}, {title}");
    Some(Sentence::decided(decided, asks, |changes| match changes {
        true => text!(
            "The number of reads matters, {}: with {} the rate is {} of that with {}.",
            title,
            many,
            ratio_of(decided, ""),
            few
        ),
        false => text!(
            "The number of reads does not matter, {}: {} give {} of the rate of {}.",
            title,
            many,
            ratio_of(decided, ""),
            few
        ),
    }))
}

fn stands(summary: &Summary) -> bool {
    summary.verdict.stands()
}
