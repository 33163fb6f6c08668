//! The sentence about engines: what the data decides, what it does not, and what is missing.

use super::build::*;
use super::made;
use crate::answer;
use assess::Assessment;
use assess::conclusions::Conclusions;
use assess::finding::{Code, Severity, Verdict};
use assess::summary::{ServedBy, Summary};
use model::case::{Cache, Engine};
use model::pattern::Pattern;
use model::plan::Skip;
use model::view::Question;

fn row(engine: Engine, rate: f64) -> Summary {
    measured(file(engine, Cache::Warm, Pattern::Random, 4096), ServedBy::PageCache, rate)
}

/// A survey with pread, mmap and io_uring in the page cache; mmap is so much faster than each of
/// the others.
fn survey(ratios: [f64; 2]) -> Assessment {
    let all = [(Engine::Mmap, 6.5e9), (Engine::Pread, 4.8e9), (Engine::Uring, 4.1e9)];
    let rows = all.map(|(engine, rate)| row(engine, rate));
    of_rows(rows.to_vec(), &ratios)
}

/// The first row, held against as many others as there are ratios.
fn of_rows(rows: Vec<Summary>, ratios: &[f64]) -> Assessment {
    let others: Vec<(&Summary, f64)> = rows[1..].iter().zip(ratios.iter().copied()).collect();
    let engines = vec![lead(rows[0].throughput.expect("it was measured"), &rows[0], &others)];
    let large = file(Engine::Pread, Cache::Warm, Pattern::Sequential, 1 << 20);
    let large = measured(large, ServedBy::PageCache, 7.4e9);
    let memory = made::rich().cases.into_iter().take(5);
    let cases = memory.chain(rows).chain([large]).collect();
    let conclusions = Conclusions { engines, ..Conclusions::default() };
    Assessment { conclusions, ..assessment("survey", cases) }
}

fn said(assessment: &Assessment) -> String {
    let labels = answer::labels(assessment);
    let said = answer::said(Question::DiskOrMemory, assessment, &labels);
    crate::text::joined(&crate::sentence::lines(&said), " ").to_string()
}

fn check(assessment: &Assessment, expected: &str) {
    let said = said(assessment);
    let (_, page_cache) = said.split_once("of a file. ").expect("nothing is compared with a disk");
    assert_eq!(page_cache, expected, "{said}");
}

const MMAP_IS: &str = "Page cache: in warm 4KiB random reads mmap is";

#[test]
fn what_is_decided_is_said_with_its_ratio() {
    check(
        &survey([1.35, 1.01]),
        &format!(
            "{MMAP_IS} 1.35× pread (1.31-1.39). Undecided: whether mmap is faster than uring in \
             warm 4KiB random reads (needs about 24 rounds)."
        ),
    );
    check(
        &survey([1.35, 0.98]),
        &format!("{MMAP_IS} 1.35× pread (1.31-1.39), no faster than uring, 0.98× (0.95-1.01)."),
    );
    check(
        &survey([1.35, 1.20]),
        &format!("{MMAP_IS} fastest: 1.35× pread (1.31-1.39), 1.20× uring (1.16-1.24)."),
    );
}

#[test]
fn an_engine_that_is_missing_is_named() {
    let two = || vec![row(Engine::Mmap, 6.5e9), row(Engine::Pread, 4.8e9)];
    let start = format!("{MMAP_IS} fastest: 1.35× pread (1.31-1.39)");
    check(&of_rows(two(), &[1.35]), &format!("{start}."));
    let uring = || row(Engine::Uring, 4.1e9);
    let skip = Skip { case: uring().case, reason: "io_uring is refused here".to_string() };
    let refused = Assessment { skips: vec![skip], ..of_rows(two(), &[1.35]) };
    check(&refused, &format!("{start}; uring was not measured."));
    let with = |third: Summary| of_rows([two(), vec![third]].concat(), &[1.35]);
    let void = Summary { verdict: Verdict::Void, ..uring() };
    check(&with(void), &format!("{start}; uring has no valid figure."));
    let steal = finding(Code::Steal, Severity::Doubt, "stolen", "wait");
    let doubtful = found(uring(), &steal);
    check(&with(doubtful), &format!("{start}; uring is doubtful, so it is left out."));
}

#[test]
fn a_doubtful_best_decides_nothing() {
    let steal = finding(Code::Steal, Severity::Doubt, "stolen", "wait");
    let rows = vec![found(row(Engine::Mmap, 6.5e9), &steal), row(Engine::Pread, 4.8e9)];
    check(
        &of_rows(rows, &[1.35]),
        "Undecided: whether mmap is faster than pread in warm 4KiB random reads (needs sound \
         figures).",
    );
}

#[test]
fn one_engine_alone_is_compared_with_none() {
    let alone = of_rows(vec![row(Engine::Mmap, 6.5e9)], &[]);
    let said = said(&alone);
    assert!(!said.contains(" reads mmap"), "{said}");
}
