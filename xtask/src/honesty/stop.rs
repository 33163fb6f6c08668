//! A stop in the middle of a steady load, as ioassay and fio see it.

use crate::document::{commands, paragraph, table};
use crate::stage::{Circumstances, Experiment};
use crate::waiting::within;
use anyhow::{Context, Result};
use model::plan::Role;
use model::record::Record;
use model::sample::{Latencies, Sample};
use model::trial::Trial;
use model::units::nanoseconds;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
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

/// How long the process that reads may take to do so.
const READING_MOST: Duration = Duration::from_secs(60);

/// Latencies in nanoseconds: p50, p95, p99 and the longest.
type StopRow = [f64; 4];

/// The section, from runs in the stage's folder.
///
/// # Errors
/// If a program is missing or fails, or the one that reads is not found.
pub(super) fn section(stage: &Experiment, circumstances: &Circumstances) -> Result<String> {
    let load = stage.extent.pick(WHOLE, SMALL);
    let record = stage.path("record.jsonl");
    let words = stage.words().and("FILE", stage.path("file")).and("RECORD", &record);
    stage.ioassay("ioassay data create FILE --size 4MiB", &words)?;
    stage.ioassay("ioassay cache warm FILE", &words)?;
    stopped(stage, &stage.split(&load.open(), &words), load)?;
    let record = Record::decode(&fs::read_to_string(&record)?)?;
    let sample = sample(&record).context("the record has no trial")?;
    let printed = stopped(stage, &stage.split(&load.fio(), &words), load)?;
    let printed = serde_json::from_str(&printed)?;
    fs::remove_file(stage.path("file"))?;
    Ok(text(
        circumstances,
        load,
        &[
            ("what the schedule meets", load.truth()),
            ("ioassay, response time", of_counts(&sample.responses).context("no responses")?),
            ("ioassay, service time", of_counts(&sample.latencies).context("no latencies")?),
            ("fio, completion latency", of_fio(&printed).context("fio prints no latencies")?),
        ],
    ))
}

fn text(circumstances: &Circumstances, load: StopLoad, rows: &[(&str, StopRow)]) -> String {
    let StopLoad { seconds, stop_ms } = load;
    let (stop, due, all) = (f64::from(stop_ms) / 1000.0, stop_ms * RATE / 1000, seconds * RATE);
    let rows = rows.iter().map(|(name, row)| {
        let cells = row.map(|ns| if ns > 0.0 { nanoseconds(ns) } else { "–".to_owned() });
        format!("| {name} | {} |", cells.join(" | "))
    });
    circumstances.text()
        + &paragraph(&format!(
            "{RATE} reads a second are asked for, for {seconds} s, of a file in the page cache. In \
             the middle, SIGSTOP stops the process that reads for {stop} s. So {due} of {all} \
             reads fall due while it is stopped, and wait for its end. ioassay's response times \
             begin when a read is due. Its service times, and fio's latencies, begin when a read \
             is submitted: they see the stop in at most one read, or in none.",
        ))
        + &table("| | p50 | p95 | p99 | longest |", rows)
        + "\n"
        + &commands(&[load.open(), load.fio()])
}

/// Runs a command, stops the process of it that reads, and returns what it prints.
fn stopped(stage: &Experiment, words: &[String], load: StopLoad) -> Result<String> {
    let mut command = stage.command(words);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
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
fn reader(stage: &Experiment, child: &Child, least: u64) -> Result<Pid> {
    let first = i32::try_from(child.id())?;
    let has_read = |pid: &i32| reads(*pid).is_some_and(|reads| reads > least);
    let look = || match stage.go_on() {
        Ok(()) => family(first).into_iter().find(has_read).and_then(Pid::from_raw).map(Ok),
        Err(interrupted) => Some(Err(interrupted)),
    };
    let found = within(READING_MOST, look);
    found.with_context(|| format!("no process of {:?} reads", child.id()))?
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
fn sample(record: &Record) -> Option<&Sample> {
    let cases = &record.header.plan.cases;
    let is_asked = |trial: &&Trial| cases[trial.case].role == Role::Asked;
    record.trials.iter().find(is_asked)?.outcome.sample()
}

fn of_counts(latencies: &Latencies) -> Option<StopRow> {
    let all = latencies.count() as f64;
    let at = |share: f64| {
        let mut below = 0;
        let mut reached = latencies.counts.iter().skip_while(|(_, count)| {
            below += count;
            (below as f64) < share * all
        });
        Some(reached.next()?.0 as f64)
    };
    Some([at(0.5)?, at(0.95)?, at(0.99)?, latencies.max_ns as f64])
}

fn of_fio(printed: &Value) -> Option<StopRow> {
    let told = &printed["jobs"][0]["read"]["clat_ns"];
    let at = |percentile: &str| told["percentile"][percentile].as_f64();
    Some([at("50.000000")?, at("95.000000")?, at("99.000000")?, told["max"].as_f64()?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::Planned;
    use model::zoo;
    use serde_json::json;

    #[test]
    fn percentiles_are_those_of_the_counts() {
        let counts = vec![(10, 50), (20, 45), (30, 4), (40, 1)];
        let all = Latencies { counts, max_ns: 41 };
        assert_eq!(of_counts(&all), Some([10.0, 20.0, 30.0, 41.0]));
        assert_eq!(of_counts(&Latencies::default()), None);
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
        let mut record = zoo::record();
        let cases = &mut record.header.plan.cases;
        cases.insert(0, Planned { role: Role::Baseline, ..cases[0].clone() });
        record.trials[3].case = 1;
        let expected = record.trials[3].outcome.sample().expect("it is done");
        assert!(sample(&record).is_some_and(|found| std::ptr::eq(found, expected)));
        record.trials.clear();
        assert_eq!(sample(&record), None);
    }

    #[test]
    fn what_fio_prints_is_read() {
        let told =
            json!({ "percentile": { "50.000000": 1, "95.000000": 2, "99.000000": 3 }, "max": 4 });
        let printed = json!({ "jobs": [{ "read": { "clat_ns": told } }] });
        assert_eq!(of_fio(&printed), Some([1.0, 2.0, 3.0, 4.0]));
    }
}
