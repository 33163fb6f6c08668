//! A stop in the middle of a steady load, as ioassay and fio see it.

use crate::document::{commands, paragraph};
use crate::extent::Extent;
use crate::stage::{Circumstances, ProgramFolder};
use anyhow::{Context, Result, bail};
use model::units::nanoseconds;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Reads a second that are asked for, and how long.
#[derive(Debug, Clone, Copy)]
struct StopLoad {
    seconds: u32,
    stop_ms: u32,
}

const WHOLE: StopLoad = StopLoad { seconds: 6, stop_ms: 1000 };
const SMALL: StopLoad = StopLoad { seconds: 1, stop_ms: 100 };

/// Reads asked for per second.
const RATE: u32 = 1000;

impl StopLoad {
    /// The reads of a process before it is stopped: it is then in the middle.
    fn reads(self) -> u64 {
        u64::from(self.seconds * RATE) * 5 / 12
    }

    /// The command of ioassay.
    fn open(self) -> String {
        let StopLoad { seconds, .. } = self;
        format!(
            "ioassay run read-methods --file FILE --engine pread --cache as-is --pattern random \
             --block 4KiB --threads 1 --rounds 1 --invocations 1 --time {seconds}s --no-ceilings \
             --rate {RATE} --arrival even --record RECORD"
        )
    }

    /// The command of fio.
    fn fio(self) -> String {
        let StopLoad { seconds, .. } = self;
        format!(
            "fio --name=read --filename=FILE --rw=randread --bs=4k --invalidate=0 --time_based \
             --runtime={seconds} --rate_iops={RATE} --percentile_list=50:95:99 \
             --output-format=json"
        )
    }

    /// The operations that fall due in the stop wait for its end, the first of them for all of it.
    fn truth(self) -> StopRow {
        let stop_ns = f64::from(self.stop_ms) * 1e6;
        let operations_each = f64::from(self.seconds) * 1000.0 / f64::from(self.stop_ms);
        let above = |share: f64| (1.0 - operations_each * share).max(0.0) * stop_ns;
        [above(0.5), above(0.05), above(0.01), above(0.0)]
    }
}

/// Looks for the process that reads, 10 ms apart.
const LOOKS: u32 = 6000;

/// Latencies in nanoseconds: p50, p95, p99 and the longest.
type StopRow = [f64; 4];

/// The section, from runs in the stage's folder.
///
/// # Errors
/// If a program is missing or fails, or the one that reads is not found.
pub(super) fn section(
    stage: &ProgramFolder,
    circumstances: &Circumstances,
    extent: Extent,
) -> Result<String> {
    let load = extent.pick(WHOLE, SMALL);
    let (file, record) = (stage.path("file"), stage.path("record.jsonl"));
    let file = file.display().to_string();
    stage.ioassay(&["data", "create", &file, "--size", "4MiB"])?;
    stage.ioassay(&["cache", "warm", &file])?;
    let words = load.open().replace("FILE", &file).replace("RECORD", &record.display().to_string());
    let words = words.strip_prefix("ioassay ").context("it runs ioassay")?.to_owned();
    stopped(stage, stage.program(), &words, load)?;
    let sample = sample(&fs::read_to_string(&record)?).context("the record has no trial")?;
    let words = load.fio().replace("FILE", &file);
    let words = words.strip_prefix("fio ").context("it runs fio")?;
    let printed: Value = serde_json::from_str(&stopped(stage, Path::new("fio"), words, load)?)?;
    fs::remove_file(&file)?;
    Ok(text(
        circumstances,
        load,
        &[
            ("what the schedule meets", load.truth()),
            ("ioassay, response time", of_counts(&sample["responses"]).context("no responses")?),
            ("ioassay, service time", of_counts(&sample["latencies"]).context("no latencies")?),
            ("fio, completion latency", of_fio(&printed).context("fio prints no latencies")?),
        ],
    ))
}

fn text(circumstances: &Circumstances, load: StopLoad, rows: &[(&str, StopRow)]) -> String {
    let StopLoad { seconds, stop_ms } = load;
    let (stop, due, all) = (f64::from(stop_ms) / 1000.0, stop_ms * RATE / 1000, seconds * RATE);
    let mut text = circumstances.text()
        + &paragraph(&format!(
            "{RATE} reads a second are asked for, for {seconds} s, of a file in the page cache. In \
             the middle, SIGSTOP stops the process that reads for {stop} s. So {due} of {all} \
             reads fall due while it is stopped, and wait for its end. ioassay's response times \
             begin when a read is due. Its service times, and fio's latencies, begin when a read \
             is submitted: they see the stop in at most one read, or in none.",
        ))
        + "| | p50 | p95 | p99 | longest |\n|---|---|---|---|---|\n";
    for (name, row) in rows {
        let cells = row.map(|ns| if ns > 0.0 { nanoseconds(ns) } else { "–".to_owned() });
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    text + "\n" + &commands(&[load.open(), load.fio()])
}

/// Runs a program with `words`, stops the process of it that reads, and returns what it prints.
fn stopped(stage: &ProgramFolder, program: &Path, words: &str, load: StopLoad) -> Result<String> {
    let mut command = stage.command(program);
    command.args(words.split(' ')).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = command.spawn().with_context(|| format!("starting {command:?}"))?;
    let found = reader(stage, &child, load.reads());
    if let Ok(reader) = &found {
        kill_process(*reader, Signal::STOP)?;
        sleep(Duration::from_millis(load.stop_ms.into()));
        kill_process(*reader, Signal::CONT)?;
    }
    let output = child.wait_with_output()?;
    found?;
    stage.go_on()?;
    Ok(String::from_utf8(output.stdout)?)
}

/// Waits for a process of `child`, or itself, to have called read more than `least` times.
fn reader(stage: &ProgramFolder, child: &Child, least: u64) -> Result<Pid> {
    let first = i32::try_from(child.id())?;
    for _ in 0..LOOKS {
        stage.go_on()?;
        let has_read = |pid: &i32| reads(*pid).is_some_and(|reads| reads > least);
        let found = family(first).into_iter().find(has_read).and_then(Pid::from_raw);
        if let Some(found) = found {
            return Ok(found);
        }
        sleep(Duration::from_millis(10));
    }
    bail!("no process of {:?} reads", child.id())
}

/// A process and all below it.
fn family(pid: i32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let children = fs::read_to_string(path).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    children.flat_map(family).chain([pid]).collect()
}

fn reads(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("syscr: "))?.parse().ok()
}

/// The sample of the record's trial with responses and reads; the null engine reads nothing.
fn sample(record: &str) -> Option<Value> {
    let lines: Vec<Value> =
        record.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let cases = lines.first()?["header"]["plan"]["cases"].as_array()?;
    let is_asked = |trial: &Value| {
        let case = trial["case"].as_u64().and_then(|at| cases.get(at as usize));
        case.is_some_and(|case| case["role"] == "asked")
    };
    let mut trials = lines.iter().map(|line| &line["trial"]);
    Some(trials.find(|trial| is_asked(trial))?["outcome"]["done"].clone())
}

/// From a record's list of latencies and their counts.
fn of_counts(latencies: &Value) -> Option<StopRow> {
    let pairs = latencies["counts"].as_array()?.iter();
    let pairs: Option<Vec<(f64, u64)>> =
        pairs.map(|pair| Some((pair[0].as_f64()?, pair[1].as_u64()?))).collect();
    let pairs = pairs?;
    let all: u64 = pairs.iter().map(|(_, count)| count).sum();
    let at = |share: f64| {
        let mut below = 0;
        let mut reached = pairs.iter().skip_while(|(_, count)| {
            below += count;
            (below as f64) < share * all as f64
        });
        Some(reached.next()?.0)
    };
    Some([at(0.5)?, at(0.95)?, at(0.99)?, latencies["max_ns"].as_f64()?])
}

fn of_fio(printed: &Value) -> Option<StopRow> {
    let told = &printed["jobs"][0]["read"]["clat_ns"];
    let at = |percentile: &str| told["percentile"][percentile].as_f64();
    Some([at("50.000000")?, at("95.000000")?, at("99.000000")?, told["max"].as_f64()?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn percentiles_are_those_of_the_counts() {
        let counts = json!({ "counts": [[10, 50], [20, 45], [30, 4], [40, 1]], "max_ns": 41 });
        assert_eq!(of_counts(&counts), Some([10.0, 20.0, 30.0, 41.0]));
        assert_eq!(of_counts(&json!({})), None);
    }

    #[test]
    fn one_read_in_six_waits_for_the_end_of_the_stop() {
        let [p50, p95, p99, longest] = WHOLE.truth();
        assert_eq!(p50, 0.0);
        assert!((p95 / 0.70e9 - 1.0).abs() < 0.001 && (p99 / 0.94e9 - 1.0).abs() < 0.001);
        assert_eq!(longest, 1e9);
    }

    #[test]
    fn the_trial_is_the_one_that_was_asked_for() {
        let cases = json!([{ "role": "asked" }, { "role": "baseline" }]);
        let record = [
            json!({ "header": { "plan": { "cases": cases } } }),
            json!({ "trial": { "case": 1, "outcome": { "done": { "n": 1 } } } }),
            json!({ "trial": { "case": 0, "outcome": { "done": { "n": 2 } } } }),
        ];
        let record: Vec<String> = record.iter().map(Value::to_string).collect();
        assert_eq!(sample(&record.join("\n")), Some(json!({ "n": 2 })));
        assert_eq!(sample(""), None);
    }

    #[test]
    fn what_fio_prints_is_read() {
        let told =
            json!({ "percentile": { "50.000000": 1, "95.000000": 2, "99.000000": 3 }, "max": 4 });
        let printed = json!({ "jobs": [{ "read": { "clat_ns": told } }] });
        assert_eq!(of_fio(&printed), Some([1.0, 2.0, 3.0, 4.0]));
    }
}
