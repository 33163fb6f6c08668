//! `ioassay judge --pid` and `--cgroup`: watches a program that is running already.

use super::form;
use super::{command_line, say, tell};
use crate::args::form::FormArgs;
use crate::args::judge::JudgeArgs;
use crate::machine::this_host;
use crate::status::Status;
use crate::stop::Stop;
use crate::store;
use crate::version;
use anyhow::{Context, Result, bail};
use model::record::Tool;
use model::running::{
    INTERVALS_MAX, Interval, RunningLine, RunningRecord, Subject, WatchEnd, WatchEnding,
    WatchedProgram,
};
use model::units::parse_time;
use report::Style;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use witness::running::RunningProgram;

/// How long a program is watched unless asked otherwise.
const USUAL: Duration = Duration::from_secs(10);
/// The length of an interval, unless there would be too many.
const INTERVAL: Duration = Duration::from_secs(1);
/// A shorter time shows nothing.
const TIME_LEAST: Duration = Duration::from_millis(100);

/// Watches the program that `args` names, and reports what it did.
///
/// # Errors
/// If there is no such program, or what was seen cannot be written.
pub fn execute(args: &JudgeArgs, style: &Style) -> Result<Status> {
    check_form(&args.form)?;
    let time = match &args.budget {
        Some(text) => parse_time(text).context("--for")?,
        None => USUAL,
    };
    if time < TIME_LEAST {
        bail!("--for {}: watch for at least 100ms", args.budget.as_deref().unwrap_or_default());
    }
    let stop = Stop::on_signals().context("failed to listen for signals")?;
    let running = match (args.pid, &args.cgroup) {
        (Some(pid), _) => RunningProgram::process(pid)?,
        (None, Some(group)) => RunningProgram::group(group)?,
        (None, None) => bail!("--pid or --cgroup names the program"),
    };
    let mut kept = args.record.as_deref().map(KeptWatch::create).transpose()?;
    let shows = !args.quiet && io::stderr().is_terminal();
    let record = watch(running, time, &stop, kept.as_mut(), shows)?;
    let reported = report(&record, &args.form, style)?;
    if let (Some(kept), false) = (&kept, args.quiet) {
        tell(&format!("record: {}", kept.path.display()))?;
    }
    // A signal only ends the watching earlier, and what was seen is told.
    Ok(stop.exit_status().unwrap_or(reported))
}

/// Watches for `time`, or until the program ends or a signal arrives.
fn watch(
    mut running: RunningProgram,
    time: Duration,
    stop: &Stop,
    mut kept: Option<&mut KeptWatch>,
    shows: bool,
) -> Result<RunningRecord> {
    let watched = header(&running)?;
    let mut keep = |line: RunningLine| kept.as_mut().map_or(Ok(()), |kept| kept.append(&line));
    keep(RunningLine::Running(watched.clone()))?;
    let mut intervals: Vec<Interval> = Vec::new();
    let length = length_of(time);
    let mut next = length.min(time);
    while running.runs() && !stop.is_asked() && running.elapsed() < time {
        let left = next.saturating_sub(running.elapsed());
        stop.wait(running.pause().min(left));
        running.look();
        let is_due = running.elapsed() >= next;
        if is_due || !running.runs() || stop.is_asked() {
            let interval = running.interval();
            if shows {
                tell(&report::running_line(&interval))?;
            }
            keep(RunningLine::Interval(interval.clone()))?;
            intervals.push(interval);
            while next <= running.elapsed() {
                next = next.saturating_add(length);
            }
            next = next.min(time.max(running.elapsed()));
        }
    }
    let ending = match (running.runs(), stop.is_asked()) {
        (false, _) => WatchEnding::Ended,
        (true, true) => WatchEnding::Stopped,
        (true, false) => WatchEnding::Time,
    };
    let open = running.end();
    let end = WatchEnd { ending, open, own_cpu_ns: Some(witness::running::own_cpu_ns()) };
    keep(RunningLine::End(end.clone()))?;
    Ok(RunningRecord { watched, intervals, end: Some(end) })
}

/// The length of an interval, of which a record has a limited number.
fn length_of(time: Duration) -> Duration {
    let seconds = time.as_secs().div_ceil(INTERVALS_MAX).max(INTERVAL.as_secs());
    Duration::from_secs(seconds)
}

fn header(running: &RunningProgram) -> Result<WatchedProgram> {
    let mut subject = running.subject().clone();
    if let Subject::Process { name, .. } = &mut subject {
        *name = model::printable::printable(name).into_owned();
    }
    Ok(WatchedProgram {
        tool: Tool {
            name: "ioassay".to_string(),
            version: version::VERSION.to_string(),
            commit: version::commit(),
            command: command_line(),
        },
        began: store::date(SystemTime::now())?,
        host: this_host().name,
        processors: witness::running::processors(&subject),
        subject,
        page_bytes: witness::running::page_bytes(),
        counts_device_waits: witness::running::counts_device_waits(),
        lists_children: witness::running::lists_children(),
        disks: running.disks(),
    })
}

/// Refuses forms that only runs have.
fn check_form(form: &FormArgs) -> Result<()> {
    if form.csv {
        bail!("--csv has a row for each trial, and a running program has none: use --json");
    }
    if form.openmetrics.is_some() {
        bail!("--openmetrics is for runs: use --json");
    }
    form::check_files(&form.document)
}

/// Prints the report of a program that was watched.
///
/// # Errors
/// If stdout or a file cannot be written, or the form is one that only runs have.
pub fn report(record: &RunningRecord, form: &FormArgs, style: &Style) -> Result<Status> {
    check_form(form)?;
    let judged = assess::running::running(record);
    let json = || say(report::json_of_running(record, &judged).trim_end());
    let document = || report::running(record, &judged);
    form::hand_out(document, &form.document, style, form.json.then_some(json))?;
    form::tell_document(&form.document)?;
    Ok(match judged.whole.hidden {
        0 => Status::DONE,
        hidden => Status::not_all(format!("processes whose bytes are hidden: {hidden}")),
    })
}

/// The record of a running program, if that is what is asked for: the only path leads to one.
///
/// # Errors
/// If it begins like one and cannot be read.
pub fn record_at(paths: &[PathBuf]) -> Result<Option<RunningRecord>> {
    let [path] = paths else { return Ok(None) };
    if !path.is_file() || !begins_so(path) {
        return Ok(None);
    }
    let read = || format!("failed to read '{}'", path.display());
    let text = std::fs::read_to_string(path).with_context(read)?;
    RunningRecord::parse(&text).map(Some).with_context(read)
}

fn begins_so(path: &Path) -> bool {
    let mut first = [0; 16];
    let read = File::open(path).and_then(|mut file| file.read(&mut first));
    read.is_ok_and(|count| RunningRecord::is_one(&String::from_utf8_lossy(&first[..count])))
}

/// The file of a record.
struct KeptWatch {
    path: PathBuf,
    file: File,
}

impl KeptWatch {
    /// Creates the file, which must not exist.
    fn create(path: &Path) -> Result<KeptWatch> {
        let is_text = path.extension().is_some_and(|extension| extension == "jsonl");
        if path.is_dir() || !is_text {
            bail!(
                "--record '{}': name a new file that ends in .jsonl for a running program",
                path.display()
            );
        }
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.with_context(|| format!("failed to create '{}'", path.display()))?;
        Ok(KeptWatch { path: path.to_path_buf(), file })
    }

    /// Adds a line.
    fn append(&mut self, line: &RunningLine) -> Result<()> {
        let text = serde_json::to_string(line)? + "\n";
        let written = self.file.write_all(text.as_bytes());
        written.with_context(|| format!("failed to write to '{}'", self.path.display()))
    }
}
