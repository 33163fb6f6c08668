//! The closing answer of a survey in words: is this disk faster than memory, and what bounds it?

use crate::words::{is_virtual, times, times_interval};
use assess::Assessment;
use assess::answer::{Answer, Bound, Fastest};
use assess::finding::Verdict;
use assess::strategies::Rated;
use assess::summary::Summary;
use model::case::{Op, WriteWork};
use model::host::Medium;
use model::units;

/// The answer in a few sentences, whatever of it is known.
pub(crate) fn closing(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> String {
    let mut sentences = match &assessment.answer {
        None => vec![
            "There is no answer: it takes a figure that stands for one thread reading memory, \
             and one for a file."
                .to_string(),
        ],
        Some(answer) => match &answer.device {
            Some(fastest) => device(assessment, answer, fastest, name),
            None => vec![no_device(assessment)],
        },
    };
    if let Some(answer) = &assessment.answer {
        sentences.extend(
            answer
                .page_cache
                .map(|rate| format!("The page cache gives up to {}.", units::rate(rate))),
        );
        sentences.extend(latencies(answer));
    }
    sentences.extend(writing(assessment));
    sentences.join(" ")
}

fn no_device(assessment: &Assessment) -> String {
    match assessment.storage.as_ref() {
        Some(storage) if storage.medium == Medium::Ram => format!(
            "This directory is memory: {} keeps its files there, so no disk was measured.",
            storage.file_system
        ),
        Some(storage) if storage.medium == Medium::Unseen => format!(
            "What is below {} cannot be seen from here, so nothing can be said of a disk.",
            storage.file_system
        ),
        _ => "No figure stands that a device served, so nothing can be said of this disk."
            .to_string(),
    }
}

fn device(
    assessment: &Assessment,
    answer: &Answer,
    fastest: &Fastest,
    name: &dyn Fn(&str) -> String,
) -> Vec<String> {
    let disk = if is_virtual(assessment.storage.as_ref()) { "virtual disk" } else { "disk" };
    let says = match (fastest.low, fastest.high) {
        (Some(low), _) if low > 1.0 => "is faster than memory",
        (_, Some(high)) if high < 1.0 => "is not faster than memory",
        (Some(_), Some(_)) => "cannot be told apart from memory",
        _ if fastest.of_memory < 1.0 => "does not seem faster than memory",
        _ => "seems as fast as memory",
    };
    let interval = match times_interval(fastest.low, fastest.high) {
        Some(interval) => format!("95 % interval {interval}"),
        None => "too few rounds for an interval".to_string(),
    };
    vec![
        format!(
            "This {disk} {says}: its fastest row, {}, moves {}, {} of the {} at which one thread \
             reads memory ({interval}).",
            name(&fastest.id),
            units::rate(fastest.throughput),
            times(fastest.of_memory),
            units::rate(answer.memory),
        ),
        match fastest.bound {
            Bound::Device => format!("The {disk} bounds it: more in flight gave no more."),
            Bound::Cpu => format!("The CPU bounds it, not the {disk}."),
            Bound::Tool => format!(
                "{}'s own overhead bounds it: the {disk} may be faster.",
                assessment.tool.name
            ),
            Bound::Unknown => "What bounds it is not known: nothing with more in flight was \
                               measured, which may give more."
                .to_string(),
        },
    ]
}

fn latencies(answer: &Answer) -> Option<String> {
    let read = answer.device_latency_ns.map(|ns| {
        format!("a random 4 KiB read from the device takes {}", units::nanoseconds(ns as f64))
    });
    let load = answer
        .memory_latency_ns
        .map(|ns| format!("a load from memory takes {}", units::nanoseconds(ns)));
    let both = match (read, load) {
        (Some(read), Some(load)) => format!("{read}, {load}."),
        (Some(one), None) | (None, Some(one)) => format!("{one}."),
        (None, None) => return None,
    };
    Some(both.replacen('a', "A", 1))
}

/// How fast writes are taken, how fast they are durable, and what a page waits for its sync.
fn writing(assessment: &Assessment) -> Option<String> {
    let answer = assessment.writing.as_ref()?;
    let said = |rated: &Rated| {
        let doubtful = if rated.verdict == Verdict::Sound { "" } else { " (doubtful)" };
        format!("at up to {}{doubtful}", units::rate(rated.rate.median))
    };
    let mut text = match (&answer.accepted, &answer.durable) {
        (Some(accepted), Some(durable)) => {
            format!("Writes are accepted {}, and durable {}", said(accepted), said(durable))
        }
        (Some(accepted), None) => {
            format!("Writes are accepted {}; no durable rate stands", said(accepted))
        }
        (None, Some(durable)) => format!("Writes are durable {}", said(durable)),
        (None, None) => return None,
    };
    if let Some(ns) = page_sync_ns(assessment) {
        let takes = units::nanoseconds(ns as f64);
        text.push_str(&format!("; the sync after a 4 KiB page takes {takes}"));
    }
    Some(format!("{text}."))
}

/// The median of the syncs after each page, of the first row that stands and is durable.
fn page_sync_ns(assessment: &Assessment) -> Option<u64> {
    let is_page = |summary: &&Summary| {
        let is_each = |work: &WriteWork| {
            work.op == Op::Write && work.block == 4096 && work.every == 1 && work.threads == 1
        };
        summary.verdict != Verdict::Void && summary.case.write().is_some_and(is_each)
    };
    let writing = assessment.cases.iter().find(is_page)?.writing.as_ref()?;
    writing.durable?;
    Some(writing.sync.p50?.ns)
}
