//! What is asked of ioassay alone: how long it plans and reports, and what memory it takes.

use super::duels;
use super::figure::{Goal, Question, Row, Unit};
use super::stage::Stage;
use anyhow::{Context, Result, ensure};
use model::random::Rng;
use model::trial::Job;
use std::borrow::Cow;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of the record that is reported.
const RECORD_BYTES: u64 = 100 << 20;

/// Trials, short and long, whose peaks of memory are compared.
const SHORT: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(10);

/// A recipe of 10 000 cases, none of which is refused.
fn recipe_of_10_000_cases() -> String {
    let list = |values: &mut dyn Iterator<Item = u64>| {
        let values: Vec<String> = values.map(|value| value.to_string()).collect();
        values.join(", ")
    };
    format!(
        "name = \"many\"\n\
         question = \"How long does it take to plan 10 000 cases?\"\n\
         size = \"1GiB\"\n\
         rounds = 7\n\
         time = \"1s\"\n\
         [[cases]]\n\
         engine = [\"pread\", \"uring\"]\n\
         pattern = \"random\"\n\
         block = [{}]\n\
         threads = [{}]\n\
         ops = [{}]\n",
        list(&mut (1..=50).map(|block| block * 512)),
        list(&mut (1..=10)),
        list(&mut (1..=10).map(|ops| ops * 1000)),
    )
}

/// A recipe that leaves a small record of real trials.
const SMALL_RECIPE: &str = "\
name = \"small\"
question = \"What does a record look like?\"
size = \"16MiB\"
rounds = 7
time = \"20ms\"
[[cases]]
engine = [\"pread\", \"mmap\"]
pattern = \"random\"
block = [\"4KiB\", \"64KiB\"]
";

/// How long it takes to plan many cases, `times` times.
pub(super) fn plan(stage: &Stage, times: usize) -> Result<Row> {
    let recipe = stage.path("many.toml");
    fs::write(&recipe, recipe_of_10_000_cases())?;
    let arguments = ["plan", &recipe.display().to_string(), &folder(&recipe)];
    let mut seconds = Vec::new();
    for _ in 0..times {
        let (text, took) = timed(stage, &arguments)?;
        ensure!(text.lines().count() > 10_000, "ioassay planned fewer than 10 000 cases");
        seconds.push(took);
    }
    let question = Question {
        name: Cow::Borrowed("planning 10 000 cases: wall time"),
        peer: None,
        unit: Unit::Seconds,
        goal: Goal::AtMost(1.0),
        why: "Each case is parsed, compared with those before it, checked and printed.",
    };
    Ok(Row::measured(question, seconds, Vec::new()))
}

/// How long it takes to report a large record, `times` times.
pub(super) fn report(stage: &Stage, times: usize) -> Result<Row> {
    let (recipe, small) = (stage.path("small.toml"), stage.path("small.jsonl"));
    let large = stage.path("large.jsonl");
    fs::write(&recipe, SMALL_RECIPE)?;
    let [recipe, record] = [&recipe, &small].map(|path| path.display().to_string());
    stage.ioassay(&["run", &recipe, &folder(&small), "--record", &record])?;
    enlarge(
        &fs::read_to_string(&small)?,
        RECORD_BYTES,
        &mut BufWriter::new(fs::File::create(&large)?),
    )?;
    let arguments = ["report", &large.display().to_string()];
    let seconds: Result<_> = (0..times).map(|_| Ok(timed(stage, &arguments)?.1)).collect();
    let question = Question {
        name: Cow::Borrowed("reporting a record of 100 MiB: wall time"),
        peer: None,
        unit: Unit::Seconds,
        goal: Goal::AtMost(2.0),
        why: "Nearly all of it is reading 100 MiB of JSON and building the trials from it.",
    };
    Ok(Row::measured(question, seconds?, Vec::new()))
}

/// Writes `record` with its trials, again and again, until it has `bytes` bytes.
fn enlarge(record: &str, bytes: u64, large: &mut impl Write) -> Result<()> {
    let is_trial = |line: &&str| line.starts_with("{\"trial\"");
    let header = record.lines().next().context("the record is empty")?;
    ensure!(record.lines().any(|line| is_trial(&line)), "the record has no trials");
    writeln!(large, "{header}")?;
    let mut written = header.len() as u64 + 1;
    for trial in record.lines().filter(is_trial).cycle() {
        if written >= bytes {
            break;
        }
        writeln!(large, "{trial}")?;
        written += trial.len() as u64 + 1;
    }
    for line in record.lines().skip(1).filter(|line| !is_trial(line)) {
        writeln!(large, "{line}")?;
    }
    Ok(large.flush()?)
}

/// The peak of a worker's memory after ten times as many operations, beside that after a short
/// trial.
pub(super) fn memory(stage: &Stage, rng: &mut Rng) -> Result<Row> {
    let mut peak = |time| {
        let mut worker = stage.worker(time)?;
        let seed = rng.next_u64();
        worker.trial(&Job { case: duels::null_case(time)?, seed, file: None, source: None })?;
        worker.peak_memory_bytes()
    };
    let (theirs, ours) = (vec![peak(SHORT)?], vec![peak(LONG)?]);
    let question = Question {
        name: Cow::Borrowed(
            "peak of the worker's memory after 10 s of null, beside that after 1 s",
        ),
        peer: Some(Cow::Borrowed("after 1 s")),
        unit: Unit::Bytes,
        goal: Goal::AtMost(1.05),
        why: "The histogram has a fixed size; the list of latencies told at the end has one line \
              for each that occurred, and a longer trial sees more different ones.",
    };
    Ok(Row::measured(question, ours, theirs))
}

fn timed(stage: &Stage, arguments: &[&str]) -> Result<(String, f64)> {
    stage.go_on()?;
    let start = Instant::now();
    let text = stage.ioassay(arguments)?;
    Ok((text, start.elapsed().as_secs_f64()))
}

/// The folder of the file at `path`.
fn folder(path: &Path) -> String {
    path.parent().expect("a file is in a folder").display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_grows_by_its_trials() {
        let record = "{\"header\":1}\n{\"trial\":1}\n{\"trial\":2}\n{\"end\":3}\n";
        let mut large = Vec::new();
        enlarge(record, 40, &mut large).expect("memory takes all");
        let expected = "{\"header\":1}\n{\"trial\":1}\n{\"trial\":2}\n{\"trial\":1}\n{\"end\":3}\n";
        assert_eq!(String::from_utf8_lossy(&large), expected);
        assert!(enlarge("{\"header\":1}\n", 40, &mut Vec::new()).is_err(), "it has no trials");
    }
}
