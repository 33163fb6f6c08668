//! What `ioassay judge` costs, beside hyperfine: in the time that it tells of a command, and around
//! it.

use super::figure::{BenchRow, RowTarget, RowUnit};
use crate::json::list;
use crate::programs;
use crate::stage::Experiment;
use crate::words::Words;
use anyhow::{Context, Result, ensure};
use assess::stats::Estimate;
use model::random::Rng;
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::time::Instant;

/// The packages with the peer, and with the compiler of the command that reads.
pub(super) const NEEDS: [&str; 2] = ["hyperfine", "gcc"];

const PEER: &str = NEEDS[0];

/// The names of rows.
const NOTHING: &str = "`true`: wall time told";
const AROUND: &str = "`true`: what a run costs beyond its wall time";
const SECOND: &str = "a command that computes for about 1 s: wall time told";
const REHEARSAL: &str = "rehearsal of 1 000 000 calls of pread: wall time beside an untraced run";
const HEARD: &str = "CPU time of reading 64 MiB of output for --figure, beside the command's";

#[cfg(test)]
pub(super) const NAMES: [&str; 5] = [NOTHING, AROUND, SECOND, REHEARSAL, HEARD];

/// Runs of `true` in a turn.
const RUNS: usize = 100;
/// Runs of the command that computes in a turn.
const RUNS_OF_SECOND: usize = 3;
/// How far it counts.
const COUNT: usize = 1_200_000;

/// The programs and where they write.
struct Turn<'s> {
    stage: &'s Experiment,
    words: Words,
}

/// What a turn of one program gives.
struct Told {
    /// Median of the wall times that it tells, in seconds.
    median: f64,
    /// Their sum.
    sum: f64,
    /// How long the program itself took.
    whole: f64,
}

/// A program that times commands.
#[derive(Clone, Copy)]
enum Timer {
    Ioassay,
    Hyperfine,
}

impl Timer {
    /// The name of the file with what it tells.
    fn export(self) -> &'static str {
        match self {
            Timer::Ioassay => "ours.json",
            Timer::Hyperfine => "theirs.json",
        }
    }

    fn line(self, runs: usize, command: &str) -> String {
        let export = self.export();
        match self {
            Timer::Ioassay => format!(
                "ioassay judge --quiet --rounds {runs} --invocations 1 --cache as-is \
                 --no-rehearsal --export-json FOLDER/{export} -- \
                 {command}"
            ),
            Timer::Hyperfine => {
                format!("hyperfine -N --runs {runs} --export-json FOLDER/{export} {command}")
            }
        }
    }
}

impl<'s> Turn<'s> {
    fn new(stage: &'s Experiment) -> Turn<'s> {
        Turn { stage, words: stage.words() }
    }

    /// Lets a program time a command that is one word of `command`.
    fn told(&self, timer: Timer, runs: usize, command: &str) -> Result<Told> {
        let start = Instant::now();
        self.stage.ioassay(&timer.line(runs, command), &self.words)?;
        let whole = start.elapsed().as_secs_f64();
        let exported = fs::read_to_string(self.stage.path(timer.export()))?;
        let exported: Value = serde_json::from_str(&exported)?;
        let times = list(&exported["results"][0]["times"]);
        let seconds: Vec<f64> = times.iter().flat_map(Value::as_f64).collect();
        ensure!(seconds.len() == runs, "{} of {runs} runs of {command}", seconds.len());
        let median = Estimate::of(&seconds).context("no run")?.median;
        Ok(Told { median, sum: seconds.iter().sum(), whole })
    }

    /// Lets both time a command, in random order.
    fn both(&self, rng: &mut Rng, runs: usize, command: &str) -> Result<[Told; 2]> {
        let ours = || self.told(Timer::Ioassay, runs, command);
        let theirs = || self.told(Timer::Hyperfine, runs, command);
        if rng.next_u64().is_multiple_of(2) {
            let theirs = theirs()?;
            return Ok([ours()?, theirs]);
        }
        Ok([ours()?, theirs()?])
    }
}

/// What is measured, and how.
pub(super) fn method(times: usize) -> String {
    format!(
        "`ioassay judge` and `hyperfine -N` time the same commands in turn, {times} times each, in \
         random order: `true` {RUNS} times a turn, and the command that computes {RUNS_OF_SECOND} \
         times. Each ratio is of the medians of one turn of both. What a run costs beyond its \
         wall time is the difference of turns of {RUNS} and of {} runs, and the figure is \
         ioassay's less hyperfine's. In both turns, ioassay also runs a program that does nothing \
         ten times, which is not in the difference. A rehearsal is compared with the timed run \
         that follows it.",
        RUNS / 10
    )
}

/// Measures in `times` turns what judging commands costs.
pub(super) fn rows(stage: &Experiment, rng: &mut Rng, times: usize) -> Result<Vec<BenchRow>> {
    let turn = Turn::new(stage);
    let mut rows = turn.nothing(rng, times)?;
    rows.push(turn.second(rng, times)?);
    rows.push(turn.rehearsal(times)?);
    rows.push(turn.heard(times)?);
    Ok(rows)
}

impl Turn<'_> {
    /// The time that is told of a command that does nothing, and what is around it.
    fn nothing(&self, rng: &mut Rng, times: usize) -> Result<Vec<BenchRow>> {
        let (mut pairs, mut around) = (Vec::new(), Vec::new());
        for _ in 0..times {
            let many = self.both(rng, RUNS, "true")?;
            let few = self.both(rng, RUNS / 10, "true")?;
            // Both start once, so the difference of long and short turns is that of runs.
            let beyond = |index: usize| {
                let (many, few): (&Told, &Told) = (&many[index], &few[index]);
                let runs = (RUNS - RUNS / 10) as f64;
                ((many.whole - few.whole) - (many.sum - few.sum)) / runs
            };
            around.push([beyond(0), beyond(1)]);
            pairs.push(many.map(|told| told.median));
        }
        let why = "Both start the command by posix_spawn and read the clock around it. hyperfine \
                   starts the next run at once; ioassay reads the OS's counters in between, and \
                   then the command finds less of itself in the processor's caches.";
        let told = ratio(NOTHING, RowTarget::at_most(1.0), why, (PEER, &pairs));
        let why = "Around each run, ioassay reads the OS's counters, talks with its worker and \
                   writes a line of the record.";
        let more: Vec<f64> = around.iter().map(|[ours, theirs]| ours - theirs).collect();
        let row = BenchRow::alone(AROUND, RowUnit::Seconds, RowTarget::at_most(0.001), why, &more);
        Ok(vec![
            told,
            BenchRow {
                ours: shown(&around, 0),
                theirs: format!("{PEER}: {}", shown(&around, 1)),
                ..row
            },
        ])
    }

    /// The time that is told of a command that computes.
    fn second(&self, rng: &mut Rng, times: usize) -> Result<BenchRow> {
        let count = self.stage.extent.pick(COUNT, 1000);
        let script = format!("i=0; while [ $i -lt {count} ]; do i=$((i+1)); done");
        self.stage.script("second", &script)?;
        let mut pairs = Vec::new();
        for _ in 0..times {
            let both = self.both(rng, RUNS_OF_SECOND, "FOLDER/second")?;
            pairs.push(both.map(|told| told.median));
        }
        let why = "Runs of one command differ by some percent on a shared machine.";
        let goal = RowTarget { least: Some(0.99), most: Some(1.01) };
        Ok(ratio(SECOND, goal, why, (PEER, &pairs)))
    }

    /// The header and the first trial of a run of `command` with `options`.
    fn judged(&self, options: &str, command: &str) -> Result<[Value; 2]> {
        let record = self.stage.path("judged.jsonl");
        fs::write(&record, "")?;
        fs::remove_file(&record)?;
        let line = format!(
            "ioassay judge --quiet --rounds 1 --invocations 1 --cache as-is{options} --record \
             FOLDER/judged.jsonl -- {command}"
        );
        self.stage.ioassay(&line, &self.words)?;
        let text = fs::read_to_string(&record)?;
        let lines = text.lines().map(serde_json::from_str::<Value>);
        let lines = lines.collect::<serde_json::Result<Vec<Value>>>()?;
        let header = lines.iter().find_map(|line| line.get("header")).cloned();
        // Others are of the program that does nothing.
        let mut trials = lines.iter().filter_map(|line| line.get("trial"));
        let trial = trials.find(|trial| trial["case"] == 0).context("no trial")?;
        Ok([header.context("no header")?, trial["outcome"]["done"].clone()])
    }

    /// What a rehearsal takes.
    fn rehearsal(&self, times: usize) -> Result<BenchRow> {
        let program = self.stage.path("preads");
        let mut compiler = Command::new("gcc");
        compiler.arg("-O2").arg("-o").arg(&program).arg(crate::root().join(SOURCE));
        programs::read(compiler, 0..=0)?;
        fs::write(self.stage.path("block"), [7; 4096])?;
        let mut pairs = Vec::new();
        for _ in 0..times {
            let [header, trial] = self.judged("", "FOLDER/preads FOLDER/block")?;
            let traced = header["rehearsals"][0]["totals"]["wall_ns"].as_f64();
            let span = &trial["spans"][0];
            let [start, end] = ["start_ns", "end_ns"].map(|key| span[key].as_f64());
            let plain = end.context("no end")? - start.context("no start")?;
            pairs.push([traced.context("no rehearsal")? / 1e9, plain / 1e9]);
        }
        let why = "The kernel does more for each call of a process that has a filter of calls: \
                   about 40 ns here, a ninth of this pread. A filter of one instruction, which \
                   lets all pass, costs as much.";
        Ok(ratio(REHEARSAL, RowTarget::at_most(1.1), why, ("not traced", &pairs)))
    }

    /// What reading the output takes of a processor while the command runs.
    fn heard(&self, times: usize) -> Result<BenchRow> {
        let mut pairs = Vec::new();
        for _ in 0..times {
            let options = " --no-rehearsal --figure (7)";
            let [_, trial] = self.judged(options, "head -c 64M /dev/zero")?;
            let reading = trial["exit"]["reading"]["cpu_ns"].as_f64();
            let own = trial["usage"]["cpu_ns"].as_f64();
            let both = reading.zip(own).context("CPU time is unknown")?;
            pairs.push([both.0 / 1e9, both.1 / 1e9]);
        }
        Ok(ratio(HEARD, RowTarget { least: None, most: None }, "", ("the command", &pairs)))
    }
}

/// The source of the command that reads, relative to the workspace.
const SOURCE: &str = "xtask/src/bench/preads.c";

/// The median of one column of pairs.
fn shown(pairs: &[[f64; 2]], index: usize) -> String {
    let column: Vec<f64> = pairs.iter().map(|pair| pair[index]).collect();
    RowUnit::Seconds.show(Estimate::of(&column).expect("there is a turn").median)
}

/// A row about ratios of pairs of seconds.
fn ratio(name: &str, goal: RowTarget, why: &str, (other, pairs): (&str, &[[f64; 2]])) -> BenchRow {
    let ratios: Vec<f64> = pairs.iter().map(|[ours, theirs]| ours / theirs).collect();
    let row = BenchRow::alone(name, RowUnit::Ratio, goal, why, &ratios);
    BenchRow { ours: shown(pairs, 0), theirs: format!("{other}: {}", shown(pairs, 1)), ..row }
}
