//! The number of threads that saturates memory.

use crate::labels::CaseLabels;
use crate::sentence::{Sentence, figure_in, marked, needs};
use crate::text::{Text, figure, joined, listed, text};
use crate::words;
use assess::Assessment;
use assess::conclusions::saturation::{Saturation, ThreadStep};
use assess::decision::Decision;
use assess::summary::Summary;
use model::case::{Isa, Kernel, Pages};
use model::units;

/// The number of threads that saturates memory: for the fastest reads, then for other loops.
pub(super) fn answer(assessment: &Assessment, _: &CaseLabels) -> Vec<Sentence> {
    let reads = reads(assessment);
    let mut others: Vec<(Text, Pages, Vec<&Saturation>)> = Vec::new();
    let is_other = |it: &&Saturation| reads.is_none_or(|reads| !std::ptr::eq(*it, reads));
    for saturation in assessment.conclusions.saturations.iter().filter(is_other) {
        let (found, pages) = (said_threads(saturation), saturation.pages);
        match others.iter_mut().find(|(known, of, _)| (known, *of) == (&found, pages)) {
            Some((.., members)) => members.push(saturation),
            None => others.push((found, pages, vec![saturation])),
        }
    }
    let said_alone = |reads: &Saturation| {
        let found = said_threads(reads);
        let said = said_reads(reads, &format!(" ({})", of(reads))).capital();
        Sentence::figures(text!("{}: {}.", said, found), &reads.rows)
    };
    let others = others.iter().map(|(found, pages, members)| said_others(found, *pages, members));
    let of_one = reads.is_none().then(|| of_one_thread(assessment)).flatten();
    reads.map(said_alone).into_iter().chain(of_one).chain(others).collect()
}

/// `In memory, one thread reads 47.6 GB/s and copies 46.5 GB/s.`: what there is to say if no other
/// number of threads was measured.
fn of_one_thread(assessment: &Assessment) -> Option<Sentence> {
    let fastest = |kernel: Kernel| {
        let is_of = |summary: &&Summary| {
            let work = summary.case.memory();
            summary.is_ceiling && work.is_some_and(|it| it.kernel == kernel && it.threads == 1)
        };
        let all = assessment.cases.iter().filter(is_of).filter(|it| it.verdict.stands());
        let rated = all.filter_map(|summary| Some((summary, summary.throughput?.median)));
        rated.max_by(|(_, a), (_, b)| a.total_cmp(b))
    };
    let verbs = [(Kernel::Read, "reads"), (Kernel::Write, "writes"), (Kernel::Copy, "copies")];
    let known = verbs.iter().filter_map(|(kernel, does)| Some((does, fastest(*kernel)?)));
    let known: Vec<(&&str, (&Summary, f64))> = known.collect();
    let said = known.iter().map(|(does, (summary, rate))| {
        text!("{} {}", **does, figure_in(units::rate(*rate), summary))
    });
    let text = text!("In memory, one thread {}.", listed(&said.collect::<Vec<_>>()));
    let rows = known.iter().map(|(_, (summary, _))| *summary);
    (!known.is_empty()).then(|| Sentence::of_summaries(text, rows))
}

/// The fastest reads in huge pages.
pub(super) fn reads(assessment: &Assessment) -> Option<&Saturation> {
    let is_reading = |it: &&Saturation| {
        it.of_reads.is_none() && (it.kernel, it.pages) == (Kernel::Read, Pages::Huge)
    };
    let reads = assessment.conclusions.saturations.iter().filter(is_reading);
    reads.max_by(|a, b| a.highest.total_cmp(&b.highest))
}

/// `one thread reads 34.0 GB/s (avx2, huge pages), two 37.0 GB/s`.
pub(super) fn said_reads(saturation: &Saturation, how: &str) -> Text {
    let Saturation { threads, nearly, steps, rows, .. } = saturation;
    let is_told = |index: usize, step: &ThreadStep| {
        let is_end = index == 0 || index + 1 == steps.len();
        is_end || Some(step.threads) == *threads || step.threads == *nearly
    };
    let told = steps.iter().enumerate().filter(|(index, step)| is_told(*index, step));
    let said = told.map(|(index, step)| {
        let rate = marked(figure(units::rate(step.throughput)), rows.get(index));
        let (thread, reads) =
            if step.threads == 1 { ("thread", "reads") } else { ("threads", "read") };
        match index {
            0 => text!("{} {} {} {}{}", number(step.threads), thread, reads, rate, how),
            _ => text!("{} {}", number(step.threads), rate),
        }
    });
    joined(&said.collect::<Vec<_>>(), ", ")
}

/// The instruction set and the pages.
fn of(saturation: &Saturation) -> String {
    match saturation.isa {
        Isa::Auto => words::pages(saturation.pages).to_string(),
        isa => format!("{isa}, {}", words::pages(saturation.pages)),
    }
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
            text!("undecided whether {} enough, which {}", fewer, needs(*open))
        }
    }
}

/// Loops in the same pages with the same result in one line, with the best rate of each.
fn said_others(found: &Text, pages: Pages, members: &[&Saturation]) -> Sentence {
    let said = |one: &&Saturation| {
        let isa = if one.isa == Isa::Auto { String::new() } else { format!(" {}", one.isa) };
        let rate = marked(figure(units::rate(one.highest)), &one.rows);
        text!("{}{} {}", one.kernel.to_string(), isa, rate)
    };
    let all: Vec<Text> = members.iter().map(said).collect();
    let rows = members.iter().flat_map(|saturation| &saturation.rows);
    let text = text!("In {}, {}: {}.", words::pages(pages), found, joined(&all, ", "));
    Sentence::figures(text, rows)
}
