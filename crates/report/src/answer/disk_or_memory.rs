//! The answer of a survey in words: is this disk faster than memory, and what bounds it?

use super::{engines, operations};
use crate::labels::CaseLabels;
use crate::sentence::{Paragraphs, Sentence, beside_lead, said_ratio};
use crate::text::{case, figure, text};
use crate::words::{count, is_virtual, times, times_interval};
use assess::Assessment;
use assess::comparison::{Comparison, Difference};
use assess::conclusions::disk_or_memory::{Bottleneck, DiskOrMemory, FastestOfDevice, RowLatency};
use assess::decision::{Decided, Decision, Lead};
use assess::summary::Summary;
use model::case::{BufferPages, Op, WriteWork};
use model::host::Medium;
use model::units;

/// The answer in a few sentences, as far as it is known: first about the disk and memory, then the
/// figures of each rung.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Paragraphs {
    let name = &|id: &str| labels.name(id);
    let first = match &assessment.conclusions.disk_or_memory {
        None => vec![Sentence::plain(
            "There is no answer: it needs a valid figure for one thread reading memory, and one \
             for a file.",
        )],
        Some(answer) => match &answer.device {
            Some(fastest) => device(assessment, answer, fastest, name),
            None => vec![no_device(assessment)],
        },
    };
    let known = assessment.conclusions.disk_or_memory.as_ref();
    let page_cache = known.and_then(|answer| answer.page_cache.as_ref());
    let page_cache = page_cache.map(|rated| Sentence::page_cache(&rated.row, rated.rate.median));
    let mut figures: Vec<Sentence> = page_cache.into_iter().collect();
    figures.extend(engines::answer(assessment, labels));
    figures.extend(known.and_then(latencies));
    figures.extend(operations::answer(assessment));
    figures.extend(writing(assessment));
    vec![first, figures]
}

fn no_device(assessment: &Assessment) -> Sentence {
    Sentence::plain(match assessment.header.storage.as_ref() {
        Some(storage) if storage.medium == Medium::Ram && storage.is_raw() => {
            "This device is memory, so no disk was measured.".to_string()
        }
        Some(storage) if storage.medium == Medium::Ram => format!(
            "This directory is memory: {} keeps its files there, so no disk was measured.",
            storage.file_system
        ),
        Some(storage) if storage.medium == Medium::Unseen => format!(
            "The storage below {} is not visible from here, so no disk can be judged.",
            storage.noun()
        ),
        _ => "No valid figure was served by a device, so this disk cannot be judged.".to_string(),
    })
}

fn device(
    assessment: &Assessment,
    answer: &DiskOrMemory,
    fastest: &FastestOfDevice,
    name: &dyn Fn(&str) -> String,
) -> Vec<Sentence> {
    let disk = disk(assessment);
    let best = fastest.lead.best();
    let rate = figure(units::rate(best.rate.median));
    let memory = figure(units::rate(answer.memory.rate.median));
    let asks = format!("whether this {disk} is faster than memory");
    let first = Sentence::decided(&fastest.of_memory, asks, |is_faster| {
        let says = match is_faster {
            true => format!("This {disk} is faster than one thread reading memory"),
            false => format!("This {disk} is not faster than memory"),
        };
        text!(
            "{}: it moves {}, {} of the {} at which one thread reads memory.",
            says,
            &rate,
            said_ratio(&fastest.of_memory.ratio()),
            &memory
        )
    });
    let figures = first.is_open().then(|| {
        let text =
            text!("This {} moves {}, and one thread reads memory at {}.", disk, rate, memory);
        Sentence::figures(text, fastest.of_memory.rows())
    });
    let lead = &fastest.lead;
    let (row, beside) = (case(&best.row.id, name), beside_lead(lead, name));
    let row = Sentence::led(lead, text!("Its fastest row is {}{}.", row, beside));
    let all = fastest.of_most.as_ref().filter(|_| fastest.of_memory.decision() != Decision::No);
    let all = all.map(|all| of_most(all, fastest.most_threads));
    let bound = bound(assessment, fastest, disk);
    let bound = match &fastest.bound {
        Bottleneck::Device(shown) => Sentence::figures(bound, shown.rows()),
        _ => Sentence::led(lead, bound),
    };
    let pages = in_base_pages(assessment, &best.row.id);
    [Some(first), figures, all, Some(row), pages, Some(bound)].into_iter().flatten().collect()
}

/// What the same reads give with buffers in base pages, if those of the case `id` are in huge ones
/// and that is a difference: most programs have the former.
fn in_base_pages(assessment: &Assessment, id: &str) -> Option<Sentence> {
    let case = |id: &str| assessment.cases.iter().find(|case| case.id == id);
    let has = |case: &Summary, pages| case.case.io().is_some_and(|io| io.pages == pages);
    let fastest = case(id).filter(|fastest| has(fastest, BufferPages::Huge))?;
    let against = |compared: &&Comparison| {
        let is_of_pages = case(&compared.base).is_some_and(|base| has(base, BufferPages::Base));
        compared.case == id && is_of_pages && compared.difference == Difference::Different
    };
    let compared = assessment.comparisons.iter().find(against)?;
    let base = case(&compared.base)?;
    let interval = times_interval(compared.low, compared.high)?;
    let text = text!(
        "Huge pages make it {} ({}): with buffers in base pages, as those of most programs, it \
         moves {}.",
        figure(times(compared.ratio)),
        interval,
        figure(units::rate(base.throughput?.median))
    );
    Some(Sentence::of_summaries(text, [fastest, base]))
}

fn disk(assessment: &Assessment) -> &'static str {
    if is_virtual(assessment.header.storage.as_ref()) { "virtual disk" } else { "disk" }
}

/// The same, compared with all threads that read memory.
fn of_most(all: &Decided, threads: u32) -> Sentence {
    let threads = count(threads as usize, "thread");
    let ratio = said_ratio(&all.ratio());
    let asks = format!("whether it is faster than {threads} reading memory");
    Sentence::decided(all, asks, |is_faster| match is_faster {
        true => text!("It is faster than {} reading memory too: {}.", threads, ratio),
        false => text!("It is not faster than {} reading memory: {}.", threads, ratio),
    })
}

fn bound(assessment: &Assessment, fastest: &FastestOfDevice, disk: &str) -> String {
    match fastest.bound {
        Bottleneck::Limit => format!(
            "A limit of a control group bounds it (Throttled): without it, the {disk} may be \
             faster."
        ),
        Bottleneck::Tool => {
            format!(
                "{}'s own overhead bounds it: the {disk} may be faster.",
                assessment.header.tool.name
            )
        }
        Bottleneck::Cpu => {
            format!("The CPU bounds it (CpuBound): with more processors the {disk} may give more.")
        }
        Bottleneck::Device(_) => {
            format!("More in flight gave no more: the {disk} or its path bounds it.")
        }
        Bottleneck::LimitOfPart => {
            "Its bottleneck is unknown: a control group limits a part of the array, and the share \
             of that part is unknown too."
                .to_string()
        }
        Bottleneck::Unknown => {
            "Its bottleneck is unknown: no sound row shows that more in flight gives no more."
                .to_string()
        }
    }
}

/// The median latencies of the device and of memory.
fn latencies(answer: &DiskOrMemory) -> Option<Sentence> {
    let takes = |waited: &RowLatency| figure(units::nanoseconds(waited.ns));
    let read = answer.device_latency.as_ref().map(|waited| {
        let takes = takes(waited);
        text!("A random 4 KiB read from the device takes {} (service time)", takes)
    });
    let text = match (read, answer.memory_latency.as_ref().map(takes)) {
        (Some(read), Some(load)) => text!("{}, a load from memory {}.", read, load),
        (Some(read), None) => text!("{}.", read),
        (None, Some(load)) => text!("A load from memory takes {}.", load),
        (None, None) => return None,
    };
    let rows = answer.device_latency.iter().chain(&answer.memory_latency);
    Some(Sentence::figures(text, rows.map(|waited| &waited.row)))
}

/// The highest acknowledged and durable rates, and the latency of a sync after one page.
fn writing(assessment: &Assessment) -> Option<Sentence> {
    let answer = assessment.conclusions.writing.as_ref()?;
    let said = |lead: &Lead| text!("at up to {}", figure(units::rate(lead.best().rate.median)));
    let mut text = match (&answer.acknowledged, &answer.durable) {
        (Some(acknowledged), Some(durable)) => {
            text!("Writes are acknowledged {} and durable {}", said(acknowledged), said(durable))
        }
        (Some(acknowledged), None) => {
            text!("Writes are acknowledged {}; no durable rate is valid", said(acknowledged))
        }
        (None, Some(durable)) => text!("Writes are durable {}", said(durable)),
        (None, None) => return None,
    };
    let page = page_sync(assessment);
    if let Some((_, ns)) = page {
        text.push(text!("; a sync after 4 KiB takes {}", figure(units::nanoseconds(ns as f64))));
    }
    let leads = answer.acknowledged.iter().chain(&answer.durable);
    let page = page.and_then(|(summary, _)| assess::decision::Named::of(summary));
    let rows = leads.map(|lead| &lead.best().row).chain(&page);
    Some(Sentence::figures(text.sentence(), rows))
}

/// The first valid and durable row that syncs after each page, and the median latency of its syncs.
fn page_sync(assessment: &Assessment) -> Option<(&Summary, u64)> {
    let is_page = |summary: &&Summary| {
        let is_each = |work: &WriteWork| {
            work.op == Op::Write && work.io.block == 4096 && work.every == 1 && work.io.threads == 1
        };
        summary.verdict.stands() && summary.case.write().is_some_and(is_each)
    };
    let summary = assessment.cases.iter().find(is_page)?;
    let writing = summary.writing.as_ref()?;
    writing.durable?;
    Some((summary, writing.sync.p50?.ns))
}
