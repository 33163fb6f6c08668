//! The conclusions of a run in sentences, and the labels of its cases, as the view requests.

mod depth;
mod steady;
mod operations;
mod engines;
mod fastest;
mod loading;
mod levels;
mod saturation;
mod bottleneck;
mod disk_or_memory;
mod read_latency;
mod counts;
mod durability;
mod touches;
mod commits;
mod builds;
mod load;
mod interference;
mod loaded_latency;
mod names;
mod command_names;
mod undecided_commands;
mod bounded_commands;
mod commands;
mod control;

use crate::labels::CaseLabels;
use crate::sentence::{Sentence, lines};
use crate::text::{Text, text};
use crate::words::count;
use crate::{goals, survey, versus};
use assess::Assessment;
use assess::summary::Summary;
use model::plan::Role;
use model::view::{Layout, Question};
use std::collections::HashSet;

/// The labels of the cases of an assessment.
pub(crate) fn labels(assessment: &Assessment) -> CaseLabels<'_> {
    match assessment.view().layout {
        Layout::Ladder => survey::labels(assessment),
        _ => CaseLabels::of(assessment),
    }
}

/// What a run answers.
pub(crate) struct Answer {
    pub(crate) lines: Vec<Text>,
    /// What the lines are made of.
    pub(crate) sentences: Vec<Sentence>,
    /// The ids of the rows that bear it.
    pub(crate) rows: HashSet<String>,
}

/// How a question is answered.
struct QuestionRow {
    /// What the run says to it, in lines: the first answers it, the others say what else was found.
    answer: fn(&Assessment, &CaseLabels) -> Vec<Sentence>,
    /// Whether the answer is about speed, in which rows with a rate take no part.
    is_of_speed: bool,
}

/// The table of questions.
fn row(question: Question) -> QuestionRow {
    let speed = |answer| QuestionRow { answer, is_of_speed: true };
    let other = |answer| QuestionRow { answer, is_of_speed: false };
    match question {
        Question::Fastest => speed(fastest::answer),
        Question::Loading => speed(loading::answer),
        Question::Differences => speed(versus::decided),
        Question::DiskOrMemory => speed(disk_or_memory::answer),
        Question::ReadLatency => other(read_latency::answer),
        Question::Counts => speed(counts::answer),
        Question::Levels => other(levels::answer),
        Question::Saturation => other(saturation::answer),
        Question::Durability => speed(durability::answer),
        Question::Touches => speed(touches::answer),
        Question::Commits => other(commits::answer),
        Question::Load => other(load::answer),
        Question::Depth => other(depth::answer),
        Question::Steady => other(steady::answer),
        Question::Interference => other(interference::answer),
        Question::LoadedLatency => other(loaded_latency::answer),
        Question::Builds => speed(builds::answer),
        Question::Names => other(names::answer),
        Question::Commands => other(commands::answer),
    }
}

/// The answers to the questions of the view, in lines; then what a control says, which was asked
/// for, too.
pub(crate) fn answer(assessment: &Assessment) -> Answer {
    let labels = labels(assessment);
    let fit = goals::answer(assessment, &labels).into_iter();
    let answers = questions(assessment).flat_map(|question| said(question, assessment, &labels));
    let answers = fit.chain(answers).chain(with_rate(assessment));
    let answers: Vec<Sentence> = answers.chain(control::answer(assessment, &labels)).collect();
    let rows = answers.iter().flat_map(Sentence::rows).map(|row| row.id.clone());
    let rows = rows.collect();
    Answer { lines: lines(&answers), sentences: answers, rows }
}

/// The questions of the view, and the goals of a run of any recipe: they were asked for.
fn questions(assessment: &Assessment) -> impl Iterator<Item = Question> {
    let asked = &assessment.view().answer;
    let has_goals = assessment.conclusions.loads.iter().any(|load| !load.goals.is_empty());
    let goals = (has_goals && !asked.contains(&Question::Load)).then_some(Question::Load);
    asked.iter().copied().chain(goals)
}

/// Says which rows take no part in what the answer says of speed.
fn with_rate(assessment: &Assessment) -> Option<Sentence> {
    let is_left_out = |summary: &&Summary| {
        summary.role == Role::Asked && summary.case.is_open() && summary.verdict.stands()
    };
    let rows = assessment.cases.iter().filter(is_left_out).count();
    let asks_speed = assessment.view().answer.iter().any(|question| row(*question).is_of_speed);
    (rows > 0 && asks_speed).then(|| {
        let (has, asks) = if rows == 1 { ("has", "its") } else { ("have", "their") };
        Sentence::plain(text!(
            "{} {} a rate: {} schedule sets the throughput, so no statement about speed counts {}.",
            count(rows, "row"),
            has,
            asks,
            if rows == 1 { "it" } else { "them" }
        ))
    })
}

/// The answer to a question; `labels` names the cases.
pub(crate) fn said(
    question: Question,
    assessment: &Assessment,
    labels: &CaseLabels,
) -> Vec<Sentence> {
    (row(question).answer)(assessment, labels)
}
