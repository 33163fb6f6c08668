//! The answer of a survey in lines, from memory to durable writes: how fast each is, how the disk
//! compares with memory, and what bounds it.

use super::{bottleneck, engines, operations, saturation};
use crate::labels::CaseLabels;
use crate::sentence::{Sentence, figure_in, figure_of, marked, ratio_of, said_ratio_of};
use crate::text::{Text, text};
use crate::words::{self, count, listed};
use crate::writes::said_median;
use assess::Assessment;
use assess::comparison::{Comparison, Difference};
use assess::conclusions::disk_or_memory::{DiskOrMemory, FastestOfDevice, RowLatency};
use assess::decision::{Decided, Decision, Lead, Named};
use assess::finding::{Code, Finding, Severity};
use assess::ratio::Ratio;
use assess::summary::{ServedBy, Summary};
use model::case::{BufferPages, Cache, Io, Op, WriteWork};
use model::host::Medium;
use model::plan::Role;
use model::units;
use std::collections::BTreeSet;

/// A line each for memory, the page cache, large and small reads of the disk, writes, a commit and
/// what bounds the disk, as far as they were measured.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Vec<Sentence> {
    let known = assessment.conclusions.disk_or_memory.as_ref();
    let device = known.and_then(|answer| answer.device.as_ref());
    let mut lines = match known {
        Some(answer) => vec![memory(assessment, answer)],
        None => vec![Sentence::plain(
            "Memory and the disk are not compared: that needs valid figures of one thread reading \
             memory, and of a file.",
        )],
    };
    lines.extend(page_cache(assessment, known, labels));
    match (known, device) {
        (_, Some(fastest)) => lines.extend(disk(assessment, fastest)),
        (Some(_), None) => lines.push(no_device(assessment)),
        (None, _) => lines.extend(without_memory(assessment)),
    }
    lines.extend(operations::answer(assessment));
    lines.extend(writes(assessment));
    lines.extend(commit(assessment));
    lines.extend(device.map(|fastest| bottleneck::answer(assessment, fastest)));
    lines
}

/// `Memory: one thread reads 23.3 GB/s, two 31.9 GB/s; a random load takes 158 ns.`
fn memory(assessment: &Assessment, answer: &DiskOrMemory) -> Sentence {
    let (reads, mut rows) = match saturation::reads(assessment) {
        Some(reads) => {
            let enough = match (reads.decision, reads.threads) {
                (Decision::Yes, Some(1)) => ", so one is enough",
                _ => "",
            };
            (text!("{}{}", saturation::said_reads(reads, ""), enough), reads.rows.clone())
        }
        None => {
            let one = &answer.memory;
            let rate = marked(said_median(&one.rate), [&one.row]);
            (text!("one thread reads {}", rate), vec![one.row.clone()])
        }
    };
    let load = answer.memory_latency.as_ref().map_or(Text::default(), |RowLatency { row, ns }| {
        rows.push(row.clone());
        text!("; a random load takes {}", figure_of(units::nanoseconds(*ns), row))
    });
    Sentence::figures(text!("Memory: {}{}.", reads, load), &rows)
}

/// `Page cache: pread 10.3 GB/s in blocks of 1MiB; in 4KiB random reads mmap is fastest: 2.16×
/// pread (1.56-2.98).`, and a line for each further kind of read that several engines did.
fn page_cache(
    assessment: &Assessment,
    known: Option<&DiskOrMemory>,
    labels: &CaseLabels,
) -> Vec<Sentence> {
    let fastest = known.and_then(|answer| answer.page_cache.as_ref());
    let fastest = fastest.and_then(|rated| {
        let work = assessment.row(&rated.row.id)?.case.read()?;
        let rate = marked(said_median(&rated.rate), [&rated.row]);
        let block = work.io.block_text();
        let text = text!("{} {} in blocks of {}", work.engine.to_string(), rate, block);
        Some(Sentence::figures(text, [&rated.row]))
    });
    let (mut clauses, mut others, mut open) = (Vec::from_iter(fastest), Vec::new(), Vec::new());
    for lead in engines::leads(assessment, labels) {
        let is_first = clauses.len() < 2 && lead.served_by == Some(ServedBy::PageCache);
        if is_first {
            clauses.extend(lead.line)
        } else {
            let labeled = |line| Sentence::joined([Sentence::plain("Engines: "), line], "");
            others.extend(lead.line.map(labeled))
        }
        open.extend(lead.open);
    }
    let line = (!clauses.is_empty()).then(|| {
        let said = Sentence::joined(clauses, "; ");
        Sentence::joined([Sentence::plain("Page cache: "), said], "")
    });
    line.into_iter().chain(others).chain(open).collect()
}

/// Why nothing is said of the disk's speed and bound, if it was to be read and memory's speed is
/// unknown.
fn without_memory(assessment: &Assessment) -> Option<Sentence> {
    let is_read = |summary: &&Summary| summary.verdict.stands() && claims_device(summary);
    let mut reads = assessment.cases.iter().filter(is_read).peekable();
    reads.peek()?;
    Some(if reads.any(|summary| summary.served_by == Some(ServedBy::Device)) {
        Sentence::plain(
            "What bounds the disk: unknown; that needs a valid figure of one thread reading \
             memory.",
        )
    } else {
        no_device(assessment)
    })
}

fn no_device(assessment: &Assessment) -> Sentence {
    Sentence::plain(match assessment.header.storage.as_ref() {
        Some(storage) if storage.medium == Medium::Ram && storage.is_raw() => {
            "Disk: not measured, because this device is memory.".to_string()
        }
        Some(storage) if storage.medium == Medium::Ram => match &storage.devices[..] {
            [] => format!(
                "Disk: not measured, because this directory is memory: {} keeps its files there.",
                storage.file_system
            ),
            devices => {
                let names: Vec<&str> = devices.iter().map(|device| &*device.name).collect();
                let are = if names.len() == 1 { "is" } else { "are" };
                let below = &storage.file_system;
                format!(
                    "Disk: not measured, because {}, below {below}, {are} memory.",
                    listed(&names)
                )
            }
        },
        Some(storage) if storage.medium == Medium::Unseen => format!(
            "Disk: unknown, because the storage below {} is not visible.{}",
            storage.noun(),
            bottleneck::of_unseen(assessment)
        ),
        _ => {
            let codes = against_device(assessment);
            let codes =
                if codes.is_empty() { String::new() } else { format!(" ({})", listed(&codes)) };
            format!("Disk: unknown, because no valid figure was served by a device{codes}.")
        }
    })
}

/// Whether it was to read from a device.
fn claims_device(summary: &Summary) -> bool {
    let read = summary.case.read().filter(|_| summary.role == Role::Asked);
    read.is_some_and(|work| matches!(work.io.cache, Cache::Cold | Cache::Direct))
}

/// The findings that deny a device's figures to reads that claim them.
fn against_device(assessment: &Assessment) -> Vec<&'static str> {
    let denies =
        |found: &&Finding| found.severity == Severity::Void || found.code == Code::Unverified;
    let found = assessment
        .cases
        .iter()
        .filter(|it| claims_device(it))
        .flat_map(|summary| &summary.findings);
    let codes: BTreeSet<&str> = found.filter(denies).map(|found| found.code.name()).collect();
    codes.into_iter().collect()
}

/// `Disk, sequential 1MiB: 1.91 GB/s at depth 8, only 0.082× (0.069-0.098) of a thread's
/// memory reads.`, and what huge pages make of that.
fn disk(assessment: &Assessment, fastest: &FastestOfDevice) -> Vec<Sentence> {
    let best = fastest.lead.best();
    let io = assessment.row(&best.row.id).and_then(|summary| summary.case.io());
    let kind =
        io.map_or(Text::default(), |io| text!(", {} {}", io.pattern.to_string(), io.block_text()));
    let rate = marked(said_median(&best.rate), [&best.row]);
    let way = io.map_or(String::new(), way);
    let figures = text!("Disk{}: {}{}", kind, rate, way);
    let of_memory =
        Sentence::decided(&fastest.of_memory, "whether the disk is faster than memory", |is| {
            let but = if is { "" } else { "only " };
            text!("{}{} of a thread's memory reads", but, ratio_of(&fastest.of_memory, ""))
        });
    let is_more = fastest.of_memory.decision() != Decision::No;
    let all = fastest.of_most.as_ref().filter(|_| is_more);
    let all = all.map(|all| of_most(all, fastest.most_threads));
    let figures = Sentence::figures(figures, [&best.row]);
    let (open, closed): (Vec<Sentence>, Vec<Sentence>) =
        [figures, of_memory].into_iter().chain(all).partition(Sentence::is_open);
    let line = Sentence::joined(closed, ", ");
    [line].into_iter().chain(in_base_pages(assessment, &best.row)).chain(open).collect()
}

/// How many reads are in flight, and whether they go through the page cache: ` at depth 8`.
fn way(io: &Io) -> String {
    let depth = if io.depth > 1 { format!(" at depth {}", io.depth) } else { String::new() };
    let threads =
        if io.threads > 1 { format!(" by {} threads", io.threads) } else { String::new() };
    let one = if io.depth == 1 && io.threads == 1 { " one at a time" } else { "" };
    let cached = if io.cache == Cache::Cold { " through the page cache" } else { "" };
    format!("{depth}{threads}{one}{cached}")
}

/// The same, compared with all threads that read memory.
fn of_most(all: &Decided, threads: u32) -> Sentence {
    let threads = count(threads as usize, "thread");
    let asks = format!("whether the disk is faster than {threads} reading memory");
    Sentence::decided(all, asks, |is_faster| {
        let is = if is_faster { "and" } else { "but only" };
        text!("{} {} of {}'", is, ratio_of(all, ""), threads)
    })
}

/// What the same reads give with buffers in base pages, if those of this row are in huge ones and
/// that is a difference: most programs have the former.
fn in_base_pages(assessment: &Assessment, row: &Named) -> Option<Sentence> {
    let has = |case: &Summary, pages| case.case.io().is_some_and(|io| io.pages == pages);
    let fastest = assessment.row(&row.id).filter(|fastest| has(fastest, BufferPages::Huge))?;
    let against = |compared: &&Comparison| {
        let is_of_pages =
            assessment.row(&compared.base).is_some_and(|base| has(base, BufferPages::Base));
        compared.case == row.id && is_of_pages && compared.difference == Difference::Different
    };
    let compared = assessment.comparisons.iter().find(against)?;
    let base = assessment.row(&compared.base)?;
    let Comparison { pairs, invocations, ratio: median, low, high, .. } = *compared;
    let ratio = Ratio { pairs, invocations, median, low, high };
    let rows: Vec<Named> = [fastest, base].into_iter().filter_map(Named::of).collect();
    let text = text!(
        "Without huge pages for its buffers, as in most programs, it moves {}; with them {}.",
        figure_in(units::rate(base.throughput?.median), base),
        said_ratio_of(&ratio, "that", &rows)
    );
    Some(Sentence::figures(text, &rows))
}

/// `Writes: 1.08 GB/s acknowledged, 665 MB/s durable.`
fn writes(assessment: &Assessment) -> Option<Sentence> {
    let answer = assessment.conclusions.durability.as_ref()?;
    let said = |lead: &Lead| marked(said_median(&lead.best().rate), [&lead.best().row]);
    let text = match (&answer.acknowledged, &answer.durable) {
        (Some(acknowledged), Some(durable)) => {
            text!("{} acknowledged, {} durable", said(acknowledged), said(durable))
        }
        (Some(acknowledged), None) => {
            text!("{} acknowledged; no durable rate is valid", said(acknowledged))
        }
        (None, Some(durable)) => text!("{} durable", said(durable)),
        (None, None) => return None,
    };
    let leads = answer.acknowledged.iter().chain(&answer.durable);
    let rows = leads.map(|lead| &lead.best().row);
    Some(Sentence::figures(text!("Writes: {}.", text), rows))
}

/// `A commit: 216 µs (p50) and 563 µs (p99) for the sync after 4KiB.`, of the first valid and
/// durable row that syncs after each page.
fn commit(assessment: &Assessment) -> Option<Sentence> {
    let is_page = |summary: &&Summary| {
        let is_each = |work: &WriteWork| {
            let is_page = work.op == Op::Write && work.io.has_block(4096);
            is_page && work.every == 1 && work.io.threads == 1
        };
        summary.verdict.stands() && summary.case.write().is_some_and(is_each)
    };
    let summary = assessment.cases.iter().find(is_page)?;
    let writing = summary.writing.as_ref()?;
    writing.durable?;
    let said = |percentile| figure_in(words::percentile(Some(percentile)), summary);
    let p99 = writing.sync.p99.map(|p99| text!(" and {} (p99)", said(p99)));
    let text = text!(
        "A commit: a sync after 4KiB takes {} (p50){}.",
        said(writing.sync.p50?),
        p99.unwrap_or_default()
    );
    Some(Sentence::of_summaries(text, [summary]))
}
