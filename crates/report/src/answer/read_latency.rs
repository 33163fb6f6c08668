//! The time of a read, and whether it depends on the number of reads.

use crate::labels::CaseLabels;
use crate::phrases;
use crate::sentence::{Paragraphs, Sentence, said_ratio};
use crate::text::{Text, figure, joined, listed, text};
use crate::words::{self, NONE};
use assess::Assessment;
use assess::decision::Decided;
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

/// The time of a read, and for each group, how it changes with the number of iterations.
pub(super) fn answer(assessment: &Assessment, names: &CaseLabels) -> Paragraphs {
    let groups = groups(assessment, names);
    let changes = groups.iter().map(|group| change(group, &assessment.conclusions.iterations));
    typical(&groups).map(|sentence| vec![sentence]).into_iter().chain(changes).collect()
}

/// The time of a read in the row with the most iterations.
fn typical(groups: &[ReadGroup]) -> Option<Sentence> {
    let (mut texts, mut rows) = (Vec::new(), Vec::new());
    for group in groups {
        let longest = group.rows.iter().rev().find(|(_, summary)| stands(summary));
        let Some((_, summary)) = longest else { continue };
        let Some((p50, p99)) = summary.latency.p50.zip(summary.latency.p99) else { continue };
        let [p50, p99] = [p50, p99].map(|percentile| figure(words::percentile(Some(percentile))));
        texts.push(text!("{} {} and {}", &group.title, p50, p99));
        rows.push(*summary);
    }
    let text = text!("A read takes (p50 and p99): {}.", joined(&texts, "; "));
    (!texts.is_empty()).then(|| Sentence::of_summaries(text, rows))
}

/// How the fewest iterations compare with the most: the rows' figures, and whether their throughput
/// differs.
fn change(group: &ReadGroup, questions: &[Decided]) -> Vec<Sentence> {
    let title = &group.title;
    let with_figure: Vec<_> = group.rows.iter().filter(|(_, summary)| stands(summary)).collect();
    // Without a figure, or with only one number of iterations, there is nothing to compare.
    let (Some((few, first)), Some((many, last))) = (with_figure.first(), with_figure.last()) else {
        return Vec::new();
    };
    if group.rows.len() == 1 {
        return Vec::new();
    }
    if with_figure.len() == 1 {
        return vec![Sentence::plain(format!(
            "{title}: only one of {} numbers of iterations has a valid figure, so a change cannot \
             be shown.",
            group.rows.len()
        ))];
    }
    let (few, many) = (iterations(few), iterations(many));
    let mut figures: Vec<Text> = Vec::new();
    for (name, of) in [
        ("p50", (|summary| words::percentile(summary.latency.p50)) as fn(&Summary) -> String),
        ("p99", |summary| words::percentile(summary.latency.p99)),
        ("p99.9", |summary| words::percentile(summary.latency.p99_9)),
        ("throughput", |summary| words::main_figure(summary).0),
    ] {
        let (before, after) = (of(first), of(last));
        figures.push(match (before.as_str(), after.as_str()) {
            (NONE, NONE) => continue,
            (NONE, _) => text!("{} {} ({} reads are too few to say)", name, figure(after), &few),
            (_, NONE) => text!("{} {} (after {} reads only)", name, figure(before), &few),
            _ => text!("{} {} and {}", name, figure(before), figure(after)),
        });
    }
    let text = text!("{}, {} iterations and {}: {}.", title, few, many, listed(&figures));
    let is_it = |decided: &&Decided| {
        let [later, earlier] = decided.rows();
        later.id == last.id && earlier.id == first.id
    };
    let figures = Sentence::of_summaries(text, [*first, *last]);
    [figures].into_iter().chain(questions.iter().find(is_it).map(differs)).collect()
}

/// Whether the throughput depends on the duration.
fn differs(decided: &Decided) -> Sentence {
    let ratio = said_ratio(&decided.ratio());
    Sentence::decided(
        decided,
        "whether the throughput changes with the number of reads",
        |changes| match changes {
            true => text!("The throughput depends on the number of reads: {}.", ratio),
            false => text!("The throughput stays the same: {}.", ratio),
        },
    )
}

fn stands(summary: &Summary) -> bool {
    summary.verdict.stands()
}
