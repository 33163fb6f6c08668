//! How many small reads a second a device does, and how that grows with those in flight.

use super::depth;
use crate::sentence::Sentence;
use crate::text::{Text, figure, listed, text};
use crate::words::per_second;
use assess::Assessment;
use assess::conclusions::depth::Depths;
use assess::summary::{ServedBy, Summary};
use model::case::{Cache, Case, ReadWork};
use model::pattern::{Pattern, Share};
use model::plan::Role;
use std::time::Duration;

/// The block whose operations are counted: a page, the smallest that most programs read.
const BLOCK: u64 = 4096;

/// The rates of random reads past the page cache, for the kind with the most rows: `Random 4 KiB
/// reads past the page cache: 8.10 k/s at depth 1 and 41.0 k/s at 32.`
pub(super) fn answer(assessment: &Assessment) -> Vec<Sentence> {
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
    let Some((_, mut rows)) = most else { return Vec::new() };
    rows.sort_by_key(|summary| in_flight(summary));
    let has_threads = rows.iter().any(|summary| summary.case.threads() > 1);
    let rates: Vec<Text> = rows
        .iter()
        .enumerate()
        .filter_map(|(index, summary)| {
            let rate = figure(per_second(summary.iops?.median));
            let number = in_flight(summary).to_string();
            Some(match (has_threads, index) {
                (true, 0) => text!("{} with {} in flight", rate, number),
                (true, _) => text!("{} with {}", rate, number),
                (false, 0) => text!("{} at depth {}", rate, number),
                (false, _) => text!("{} at {}", rate, number),
            })
        })
        .collect();
    let depths = assessment.conclusions.depths.iter().find(|depths| is_of(depths, &rows));
    let enough = depths.map_or(String::new(), said_enough);
    let text = text!("Random 4 KiB reads past the page cache: {}{}.", listed(&rates), enough);
    if rates.is_empty() {
        return Vec::new();
    }
    let open = depths.and_then(depth::said_open);
    [Sentence::of_summaries(text, rows)].into_iter().chain(open).collect()
}

fn is_small_read(summary: &Summary) -> bool {
    let is_small = |work: &ReadWork| {
        let io = work.io;
        io.block == BLOCK && io.pattern == Pattern::Random && io.cache == Cache::Direct
    };
    summary.role == Role::Asked
        && summary.verdict.stands()
        && summary.served_by == Some(ServedBy::Device)
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

fn said_enough(depths: &Depths) -> String {
    match depths.enough {
        Some(enough) if enough == depths.fastest => {
            format!("; no depth below {enough} reaches 90 % of that")
        }
        Some(enough) => format!("; depth {enough} reaches at least 90 % of the highest"),
        None => String::new(),
    }
}
