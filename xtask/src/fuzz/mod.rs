//! Feeds millions of implausible inputs to everything that parses. Each must be rejected or
//! understood, within a time limit.
//!
//! The seed, kind and number determine an input, so each can be recreated. Failing inputs are kept
//! in `xtask/fuzz/corpus/`, and an ordinary test replays all of them.

mod input;
mod machine;
mod kinds;

use crate::at_once::locked;
use crate::suite::Scope;
use anyhow::{Context, Result, bail};
use clap::Args;
use kinds::{InputKind, KINDS};
use model::random::{Rng, mix};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// The folder of inputs that once failed, relative to the workspace.
const CORPUS: &str = "xtask/fuzz/corpus";

/// The time limit for an input.
const INPUT_MOST: Duration = Duration::from_secs(10);

/// The default duration in seconds.
const SECONDS: u64 = 60;

/// The duration as a step of the test command. The inputs are the same each time, so a longer run
/// finds what a change broke in more of them, and nothing else.
const SECONDS_USUAL: u64 = 20;

/// The command's options.
#[derive(Args)]
pub(crate) struct Options {
    /// Recreates the inputs of an earlier run
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Stop after this time
    #[arg(long, value_name = "N", default_value_t = SECONDS)]
    seconds: u64,
    /// Stop after this many inputs instead
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    inputs: Option<u64>,
    /// Test only kinds of input with TEXT in their names
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    only: String,
}

impl Options {
    /// Those of the test command.
    pub(crate) fn of(scope: Scope) -> Options {
        let seconds = if scope.is_all { SECONDS } else { SECONDS_USUAL };
        Options { seed: 1, seconds, inputs: None, only: String::new() }
    }
}

/// The results for a kind.
#[derive(Clone, Default)]
struct FuzzTally {
    inputs: u64,
    spent: Duration,
    longest: Duration,
}

/// Tests inputs until the time is up or the requested number is reached.
///
/// # Errors
/// If an input fails; it is then in the corpus.
pub(crate) fn run(options: &Options) -> Result<()> {
    let (seconds, inputs) = match options.inputs {
        Some(inputs) => (u64::MAX, inputs),
        None => (options.seconds, u64::MAX),
    };
    let kinds: Vec<&InputKind> =
        KINDS.iter().filter(|kind| kind.name.contains(&options.only)).collect();
    if kinds.is_empty() {
        bail!("no kind of input has '{}' in its name", options.only);
    }
    let seeds: Vec<Vec<String>> = kinds.iter().map(|kind| (kind.seeds)(crate::root())).collect();
    let tallies = Mutex::new(vec![FuzzTally::default(); kinds.len()]);
    let failures = Mutex::new(Vec::new());
    let began = Instant::now();
    let work = || {
        while began.elapsed().as_secs() < seconds {
            let mut all = locked(&tallies);
            // Time is divided by share, so slow kinds get fewer inputs.
            let spent = |index: &usize| all[*index].spent.as_nanos() / kinds[*index].share;
            let index = (0..kinds.len()).min_by_key(spent).expect("there is a kind");
            if all.iter().map(|tally| tally.inputs).sum::<u64>() >= inputs {
                return;
            }
            let number = all[index].inputs;
            all[index].inputs += 1;
            drop(all);
            let text = make(options, kinds[index], &seeds[index], number);
            let started = Instant::now();
            if let Err(problem) = check(kinds[index], &text) {
                let mut failures = locked(&failures);
                failures.push((kinds[index].name, number, text, problem));
                if failures.len() >= 20 {
                    return;
                }
            }
            let took = started.elapsed();
            let tally = &mut locked(&tallies)[index];
            tally.spent = tally.spent.saturating_add(took);
            tally.longest = tally.longest.max(took);
        }
    };
    // Failures are reported with their input instead of a panic message.
    let usual = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    panic::set_hook(usual);
    for (kind, tally) in kinds.iter().zip(locked(&tallies).iter()) {
        let FuzzTally { inputs, spent, longest } = tally;
        let (spent, longest) = (spent.as_secs_f64(), longest.as_secs_f64());
        println!("{:<10}{inputs:>12} inputs {spent:>8.1} s, the longest {longest:.3} s", kind.name);
    }
    keep(failures.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Writes failing inputs to the corpus, one for each problem.
fn keep(mut failures: Vec<(&str, u64, String, String)>) -> Result<()> {
    failures.sort_by_key(|(kind, _, text, problem)| (*kind, problem.clone(), text.len()));
    failures.dedup_by_key(|(kind, _, _, problem)| (*kind, problem.clone()));
    for (kind, number, text, problem) in &failures {
        let path = crate::root().join(CORPUS).join(format!("{kind}-{:016x}.json", hash(text)));
        let case = serde_json::json!({"kind": kind, "input": text});
        fs::write(&path, case.to_string() + "\n").with_context(|| path.display().to_string())?;
        println!("{kind} {number}: {problem}\n  kept in {}", path.display());
    }
    if failures.is_empty() { Ok(()) } else { bail!("{} kinds of failures", failures.len()) }
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0, |sum, byte| mix(sum ^ u64::from(byte)))
}

/// The input with this number.
fn make(options: &Options, kind: &InputKind, seeds: &[String], number: u64) -> String {
    let rng = &mut Rng::new(mix(options.seed ^ hash(kind.name)) ^ mix(number));
    input::mutated(seeds, rng)
}

/// Returns what went wrong with an input, if anything.
fn check(kind: &InputKind, text: &str) -> Result<(), String> {
    let started = Instant::now();
    let checked = panic::catch_unwind(AssertUnwindSafe(|| (kind.check)(text)));
    let said = |panic: Box<dyn std::any::Any + Send>| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()))
            .unwrap_or_else(|| "a panic".to_owned())
    };
    checked.unwrap_or_else(|panic| Err(format!("panicked: {}", said(panic))))?;
    match started.elapsed() {
        took if took > INPUT_MOST => Err("took more than 10 s".to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_once_passes_for_ever() {
        let mut all = 0;
        for entry in fs::read_dir(crate::root().join(CORPUS)).unwrap() {
            let path = entry.unwrap().path();
            let case = fs::read_to_string(&path).unwrap();
            let case: serde_json::Value = serde_json::from_str(&case).unwrap();
            let kind = KINDS.iter().find(|kind| case["kind"] == kind.name).unwrap();
            let answer = check(kind, case["input"].as_str().unwrap());
            assert_eq!(answer, Ok(()), "{}", path.display());
            all += 1;
        }
        assert!(all > 0, "the corpus is there");
    }

    #[test]
    fn inputs_can_be_made_again() {
        let options = Options { seed: 7, ..Options::of(Scope::default()) };
        for kind in &KINDS {
            let seeds = (kind.seeds)(crate::root());
            assert!(!seeds.is_empty(), "{}", kind.name);
            let made: Vec<_> = (0..4).map(|n| make(&options, kind, &seeds, n)).collect();
            let again: Vec<_> = (0..4).map(|n| make(&options, kind, &seeds, n)).collect();
            assert_eq!(made, again);
            made.iter().for_each(|text| assert_eq!(check(kind, text), Ok(()), "{}", kind.name));
        }
    }

    #[test]
    fn a_panic_is_a_failure() {
        let kind = InputKind {
            name: "bad",
            share: 1,
            seeds: |_| Vec::new(),
            check: |_| panic!("as planned"),
        };
        assert_eq!(check(&kind, ""), Err("panicked: as planned".to_owned()));
    }
}
