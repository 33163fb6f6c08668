//! How many small reads a second a device does, and how that grows with those in flight.

use crate::sentence::{Sentence, figure_in};
use crate::text::{Text, text};
use crate::words::per_second;
use assess::Assessment;
use assess::conclusions::depth::Depths;
use assess::summary::{ServedBy, Summary};
use model::case::{Cache, Case, ReadWork};
use model::pattern::{Pattern, Share};
use model::plan::Role;
use model::units;
use std::time::Duration;

/// The block whose operations are counted: a page, the smallest that most programs read.
const BLOCK: u64 = 4096;

/// The rates of random reads past the page cache, for the kind with the most rows: `Disk, random
/// 4KiB: 8.10 k/s at depth 1 (p50 121 µs), 41.0 k/s at depth 32, the highest
/// measured.`
pub(super) fn answer(assessment: &Assessment) -> Option<Sentence> {
    let rows = small_reads(assessment);
    let rate = |summary: &Summary| summary.iops.map_or(0.0, |iops| iops.median);
    let (first, most) = (*rows.first()?, *rows.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)))?);
    let has_threads = rows.iter().any(|summary| summary.case.threads() > 1);
    let said = |summary: &Summary| {
        let rate = figure_in(per_second(rate(summary)), summary);
        match has_threads {
            true => text!("{} with {} in flight", rate, in_flight(summary).to_string()),
            false => text!("{} at depth {}", rate, in_flight(summary).to_string()),
        }
    };
    let each = first.latency.p50.map_or(Text::default(), |p50| {
        text!(" (p50 {})", figure_in(units::nanoseconds(p50.ns as f64), first))
    });
    let start = text!("Disk, random {}: {}{}", units::bytes(BLOCK), said(first), each);
    if std::ptr::eq(first, most) {
        return Some(Sentence::of_summaries(start.sentence(), [first]));
    }
    let depths = assessment.conclusions.depths.iter().find(|depths| is_of(depths, &rows));
    let enough = depths.and_then(said_enough);
    let enough = enough.unwrap_or_else(|| "the highest rate measured".to_string());
    let text = text!("{}, {}, {}.", start, said(most), enough);
    Some(Sentence::of_summaries(text, [first, most]))
}

/// The rows of the kind with the most, those with the fewest in flight first.
fn small_reads(assessment: &Assessment) -> Vec<&Summary> {
    let mut kinds: Vec<(Case, Vec<&Summary>)> = Vec::new();
    for summary in assessment.cases.iter().filter(|summary| is_small_read(summary)) {
        let Some(kind) = but_for_flight(&summary.case) else { continue };
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, rows)) => rows.push(summary),
            None => kinds.push((kind, vec![summary])),
        }
    }
    // Of equal ones, the first.
    let most = kinds.into_iter().rev().max_by_key(|(_, rows)| rows.len());
    let mut rows = most.map_or(Vec::new(), |(_, rows)| rows);
    rows.sort_by_key(|summary| in_flight(summary));
    rows
}

fn is_small_read(summary: &Summary) -> bool {
    let is_small = |work: &ReadWork| {
        let io = work.io;
        io.has_block(BLOCK) && io.pattern == Pattern::Random && io.cache == Cache::Direct
    };
    summary.role == Role::Asked
        && summary.verdict.stands()
        && summary.served_by == Some(ServedBy::Device)
        && summary.iops.is_some()
        && !summary.case.is_open()
        && summary.case.read().is_some_and(is_small)
}

/// The case with one read in flight.
fn but_for_flight(case: &Case) -> Option<Case> {
    let mut case = case.clone();
    let io = case.io_mut()?;
    (io.depth, io.threads, io.share, io.time) = (1, 1, Share::Contiguous, Duration::ZERO);
    Some(case)
}

fn in_flight(summary: &Summary) -> u64 {
    summary.case.io().map_or(0, |io| u64::from(io.depth).saturating_mul(io.threads.into()))
}

/// Whether a curve is one of `rows`.
fn is_of(depths: &Depths, rows: &[&Summary]) -> bool {
    let is_row = |id: &str| rows.iter().any(|summary| summary.id == id);
    depths.depths.iter().all(|depth| is_row(&depth.case.id))
}

/// Which depth is enough; `None` if that is undecided.
fn said_enough(depths: &Depths) -> Option<String> {
    Some(match depths.enough? {
        enough if enough == depths.fastest => "and no lower depth reaches 90 % of that".to_string(),
        enough => format!("of which depth {enough} reaches 90 %"),
    })
}
