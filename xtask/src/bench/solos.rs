//! What is asked of ioassay alone: how long it plans and reports, and what memory it takes.

use super::duels;
use super::figure::{Goal, Question, Row, Unit, estimate};
use super::stage::Stage;
use anyhow::{Context, Result, ensure};
use model::random::Rng;
use model::trial::Job;
use std::borrow::Cow;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
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

/// How many times the program is started.
pub(super) const STARTS: usize = 100;

/// How large the program is.
pub(super) fn size(stage: &Stage) -> Result<Row> {
    let question = Question {
        name: Cow::Borrowed("the program's file"),
        peer: None,
        unit: Unit::Bytes,
        goal: Goal::AtMost(10.0 * f64::from(1 << 20)),
        why: "It has all libraries in it but the C library, and the recipes and peers.",
    };
    let bytes = fs::metadata(stage.program())?.len();
    Ok(Row::measured(question, vec![bytes as f64], Vec::new()))
}

/// How long it takes to say the version, beside a program that does nothing.
pub(super) fn start(stage: &Stage, rng: &mut Rng) -> Result<Row> {
    let seconds = |program: &Path, arguments: &[&str]| {
        let start = Instant::now();
        let output = Command::new(program).args(arguments).output()?;
        ensure!(output.status.success(), "{} ended with {}", program.display(), output.status);
        Ok(start.elapsed().as_secs_f64())
    };
    let (mut ours, mut nothing) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        stage.go_on()?;
        let own = || seconds(stage.program(), &["--version"]);
        let idle = || seconds(Path::new("true"), &[]);
        let (own, idle) = if rng.next_u64().is_multiple_of(2) {
            let own = own()?;
            (own, idle()?)
        } else {
            let idle = idle()?;
            (own()?, idle)
        };
        ours.push(own);
        nothing.push(idle);
    }
    println!("starting `true` takes {}", Unit::Seconds.show(estimate(&nothing).median));
    let question = Question {
        name: Cow::Borrowed("starting it, to say its version: wall time"),
        peer: None,
        unit: Unit::Seconds,
        goal: Goal::AtMost(0.005),
        why: "Most of it is what it takes to start any program: the loader maps and relocates it.",
    };
    Ok(Row::measured(question, ours, Vec::new()))
}

/// The forms in which a large record is reported, and the most seconds that may take.
pub(super) const FORMS: [(&str, f64); 3] = [("text", 2.0), ("csv", 5.0), ("html", 5.0)];

/// The most memory that may take.
const REPORT_BYTES_MOST: f64 = 500.0 * (1 << 20) as f64;

/// How long it takes to report a large record in a form, `times` times, and how much memory.
pub(super) fn report(
    stage: &Stage,
    (form, seconds_most): (&'static str, f64),
    times: usize,
) -> Result<Vec<Row>> {
    let (recipe, small) = (stage.path("small.toml"), stage.path("small.jsonl"));
    let (large, page) = (stage.path("large.jsonl"), stage.path("page.html"));
    if !large.exists() {
        fs::write(&recipe, SMALL_RECIPE)?;
        let [recipe, record] = [&recipe, &small].map(|path| path.display().to_string());
        stage.ioassay(&["run", &recipe, &folder(&small), "--record", &record])?;
        let mut whole = BufWriter::new(fs::File::create(&large)?);
        enlarge(&fs::read_to_string(&small)?, RECORD_BYTES, &mut whole)?;
    }
    let (large, page) = (large.display().to_string(), page.display().to_string());
    let mut arguments = vec!["report", &large];
    match form {
        "csv" => arguments.push("--csv"),
        "html" => arguments.extend(["--html", &page]),
        _ => {}
    }
    let (mut seconds, mut bytes) = (Vec::new(), Vec::new());
    for _ in 0..times {
        stage.go_on()?;
        let (took, peak) = watched(Command::new(stage.program()).args(&arguments))?;
        seconds.push(took);
        bytes.push(peak as f64);
    }
    let question = |quantity, unit, goal| Question {
        name: Cow::Owned(format!("reporting a record of 100 MiB as {form}: {quantity}")),
        peer: None,
        unit,
        goal,
        why: "Nearly all of it is reading 100 MiB of JSON and building the trials from it.",
    };
    let time = question("wall time", Unit::Seconds, Goal::AtMost(seconds_most));
    let memory = question("memory", Unit::Bytes, Goal::AtMost(REPORT_BYTES_MOST));
    Ok(vec![Row::measured(time, seconds, Vec::new()), Row::measured(memory, bytes, Vec::new())])
}

/// Runs a command to its end: the seconds that it took, and the most bytes that it had resident.
fn watched(command: &mut Command) -> Result<(f64, u64)> {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let end = loop {
        // Of a program that has just ended it cannot be read: what was seen before counts.
        let said = fs::read_to_string(&status).unwrap_or_default();
        let line = said.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) << 10);
        if let Some(end) = child.try_wait()? {
            break end;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    ensure!(matches!(end.code(), Some(0 | 1)), "{command:?} ended with {end}");
    Ok((start.elapsed().as_secs_f64(), peak))
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
