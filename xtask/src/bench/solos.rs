//! Figures about ioassay alone: how long planning and reporting take, and how much memory it uses.

use super::figure::{BenchRow, RowTarget, RowUnit};
use crate::stage::Experiment;
use anyhow::{Context, Result, ensure};
use assess::stats::Estimate;
use model::random::Rng;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Size of the record to report, in MiB.
pub(super) const RECORD_MIB: u64 = 100;

/// Times of the short and the long trial whose peak memory is compared, in milliseconds.
pub(super) const TRIALS_MS: [u32; 2] = [1000, 10_000];

/// A recipe of 10 000 cases, and one that makes a small record of real trials.
const MANY: &str = include_str!("many.toml");
const SMALL: &str = include_str!("small.toml");

/// The names of rows.
const PLANNING: &str = "planning 10 000 cases: wall time";
const SIZE: &str = "the program's file";
const STARTING: &str = "starting it, to print its version: wall time";

/// Measures `times` times how long planning many cases takes.
pub(super) fn plan(stage: &Experiment, times: usize) -> Result<BenchRow> {
    fs::write(stage.path("many.toml"), MANY)?;
    let mut seconds = Vec::new();
    for _ in 0..times {
        let start = Instant::now();
        let text = stage.ioassay("ioassay plan FOLDER/many.toml FOLDER", &stage.words())?;
        seconds.push(start.elapsed().as_secs_f64());
        ensure!(text.lines().count() > 10_000, "ioassay planned fewer than 10 000 cases");
    }
    let why = "Each case is parsed, compared with those before it, checked and printed.";
    Ok(BenchRow::alone(PLANNING, RowUnit::Seconds, RowTarget::at_most(1.0), why, &seconds))
}

/// Measures the size of the program.
pub(super) fn size(stage: &Experiment) -> Result<BenchRow> {
    let why = "It has all libraries in it but the C library, and the recipes and peers.";
    let bytes = fs::metadata(stage.program())?.len() as f64;
    let most = RowTarget::at_most(10.0 * f64::from(1 << 20));
    Ok(BenchRow::alone(SIZE, RowUnit::Bytes, most, why, &[bytes]))
}

/// Measures `times` times how long printing the version takes, compared with a program that does
/// nothing.
pub(super) fn start(stage: &Experiment, rng: &mut Rng, times: usize) -> Result<BenchRow> {
    let seconds = |program: &Path, arguments: &[&str]| {
        let start = Instant::now();
        let output = Command::new(program).args(arguments).output()?;
        ensure!(output.status.success(), "{} ended with {}", program.display(), output.status);
        Ok(start.elapsed().as_secs_f64())
    };
    let (mut ours, mut nothing) = (Vec::new(), Vec::new());
    for _ in 0..times {
        stage.go_on()?;
        let own = (stage.program(), &["--version"][..], &mut ours);
        let mut turns = [own, (Path::new("true"), &[], &mut nothing)];
        if !rng.next_u64().is_multiple_of(2) {
            turns.reverse();
        }
        for (program, arguments, taken) in turns {
            taken.push(seconds(program, arguments)?);
        }
    }
    let idle = Estimate::of(&nothing).expect("it was started");
    println!("starting `true` takes {}", RowUnit::Seconds.show(idle.median));
    let why = "Most of it is what it takes to start any program: the loader maps and relocates it.";
    Ok(BenchRow::alone(STARTING, RowUnit::Seconds, RowTarget::at_most(0.005), why, &ours))
}

/// The formats for reporting a large record, each with its option and the maximum time in seconds.
pub(super) const FORMS: [(&str, &str, f64); 3] =
    [("text", "", 2.0), ("csv", " --csv", 5.0), ("html", " --html FOLDER/page.html", 5.0)];

/// The maximum memory for reporting.
const REPORT_BYTES_MOST: f64 = 500.0 * (1 << 20) as f64;

/// Measures `times` times how long reporting a record of this size takes in a format, and how much
/// memory.
pub(super) fn report(
    stage: &Experiment,
    (form, option, seconds_most): (&str, &str, f64),
    times: usize,
    mib: u64,
) -> Result<Vec<BenchRow>> {
    let (words, large) = (stage.words(), stage.path("large.jsonl"));
    if !large.exists() {
        fs::write(stage.path("small.toml"), SMALL)?;
        let line = "ioassay run FOLDER/small.toml FOLDER --record FOLDER/small.jsonl";
        stage.ioassay(line, &words)?;
        let mut whole = BufWriter::new(fs::File::create(&large)?);
        enlarge(&fs::read_to_string(stage.path("small.jsonl"))?, mib << 20, &mut whole)?;
    }
    let line = format!("ioassay report FOLDER/large.jsonl{option}");
    let (mut seconds, mut bytes) = (Vec::new(), Vec::new());
    for _ in 0..times {
        stage.go_on()?;
        let (took, peak) = watched(&mut stage.command(&stage.split(&line, &words)))?;
        seconds.push(took);
        bytes.push(peak as f64);
    }
    let row = |quantity, unit, most, figures: &[f64]| {
        let why = "Nearly all of it is reading 100 MiB of JSON and building the trials from it.";
        BenchRow::alone(
            &reporting(mib, form, quantity),
            unit,
            RowTarget::at_most(most),
            why,
            figures,
        )
    };
    let time = row("wall time", RowUnit::Seconds, seconds_most, &seconds);
    Ok(vec![time, row("memory", RowUnit::Bytes, REPORT_BYTES_MOST, &bytes)])
}

/// The name of a row about a report.
fn reporting(mib: u64, form: &str, quantity: &str) -> String {
    format!("reporting a record of {mib} MiB as {form}: {quantity}")
}

/// Runs a command. Returns its duration in seconds and its peak resident memory in bytes.
fn watched(command: &mut Command) -> Result<(f64, u64)> {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let end = loop {
        // This cannot be read once the program has ended; the last value read counts.
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

/// Writes `record` and repeats its trials until it has `bytes` bytes.
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

/// The job of a worker that moves no data; the time is appended.
const NULL_JOB: &str = "job seed=1 peer=rust engine=null cache=as-is pattern=random stride=1 \
    size=1GiB block=4KiB depth=1 threads=1 share=contiguous touch=none isa=auto advice=none \
    submission=enter ops=0 time=";

/// Compares a worker's peak memory in a long trial with that in a short one, of as many
/// milliseconds.
pub(super) fn memory(stage: &Experiment, [short_ms, long_ms]: [u32; 2]) -> Result<BenchRow> {
    let peak = |time_ms: u32| {
        stage.go_on()?;
        let job = stage.path("job");
        fs::write(&job, format!("{NULL_JOB}{time_ms}ms\ngo\n"))?;
        let mut command = Command::new(stage.program());
        let (_, bytes) = watched(command.arg("worker").stdin(fs::File::open(job)?))?;
        Ok::<f64, anyhow::Error>(bytes as f64)
    };
    let (short, long) = (peak(short_ms)?, peak(long_ms)?);
    let why = "The histogram has a fixed size; the list of latencies told at the end has one line \
               for each that occurred, and a longer trial sees more different ones.";
    let name = remembering([short_ms, long_ms]);
    let row =
        BenchRow::alone(&name, RowUnit::Ratio, RowTarget::at_most(1.05), why, &[long / short]);
    let theirs = format!("in {} s: {}", seconds(short_ms), RowUnit::Bytes.show(short));
    Ok(BenchRow { ours: RowUnit::Bytes.show(long), theirs, ..row })
}

/// The name of the row about memory.
fn remembering(times_ms: [u32; 2]) -> String {
    let [short, long] = times_ms.map(seconds);
    format!("peak memory of a worker in {long} s of null, beside that in {short} s")
}

fn seconds(ms: u32) -> f64 {
    f64::from(ms) / 1000.0
}

#[cfg(test)]
pub(super) use tests::names;

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of all rows, in order.
    pub(in crate::bench) fn names() -> Vec<String> {
        let mut names = [SIZE, STARTING, PLANNING].map(str::to_owned).to_vec();
        for (form, ..) in FORMS {
            names.extend(["wall time", "memory"].map(|of| reporting(RECORD_MIB, form, of)));
        }
        names.push(remembering(TRIALS_MS));
        names
    }

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
