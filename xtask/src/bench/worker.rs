//! ioassay's own worker, spoken to by its protocol: no witness stands between, so that its CPU
//! time is that of the trial and of nothing else.

use anyhow::{Context, Result, bail, ensure};
use model::sample::Sample;
use model::trial::{Job, Outcome};
use model::wire::{Gather, PROTOCOL, Reply, Request};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

/// The longest line that is read.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// Lines that may wait to be read.
const LINES_MAX: usize = 1024;

/// Nanoseconds of a tick of /proc/PID/stat: USER_HZ is 100 on every architecture in use (proc(5)).
const TICK_NS: f64 = 1e7;

/// A worker process.
#[derive(Debug)]
pub(super) struct Worker {
    child: Child,
    /// Open until the worker is to end.
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    patience: Duration,
}

/// What a trial came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    /// Operations a second.
    pub(super) iops: f64,
    /// CPU time of the whole process an operation, user and system, in nanoseconds; none where
    /// it was not asked for.
    pub(super) cpu_ns_per_op: Option<f64>,
}

impl Worker {
    /// Starts the worker `command`, and hears its greeting. It is given `patience` for each line
    /// it has to say.
    pub(super) fn start(mut command: Command, patience: Duration) -> Result<Worker> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("starting {command:?}"))?;
        let stdout = child.stdout.take().expect("stdout was asked to be a pipe");
        let stdin = child.stdin.take();
        let lines = lines(stdout);
        let worker = Worker { child, stdin, lines, patience };
        match worker.next()? {
            Reply::Hello { protocol: PROTOCOL, .. } => Ok(worker),
            other => bail!("the worker greets with '{}'", other.encode()),
        }
    }

    /// Has the worker do `job`.
    pub(super) fn trial(&mut self, job: &Job) -> Result<Measured> {
        let (sample, cpu_ns) = self.sample(job)?;
        let iops = sample.ops() as f64 * 1e9 / sample.elapsed_ns() as f64;
        Ok(Measured { iops, cpu_ns_per_op: Some(cpu_ns / sample.ops() as f64) })
    }

    /// Has the worker do `job`: what it timed, of which there is something, and the CPU time that
    /// it took, in nanoseconds.
    pub(super) fn sample(&mut self, job: &Job) -> Result<(Sample, f64)> {
        self.say(&Request::Job(job.clone()))?;
        let mut reply = self.next()?;
        let before = (reply == Reply::Ready).then(|| self.cpu_ns()).transpose()?;
        if before.is_some() {
            self.say(&Request::Go)?;
            reply = self.next()?;
        }
        let mut gather = Gather::default();
        let outcome = loop {
            match gather.take(reply)? {
                Some(outcome) => break outcome,
                None => reply = self.next()?,
            }
        };
        match (outcome, before) {
            (Outcome::Done(sample), Some(before)) => {
                ensure!(sample.ops() > 0 && sample.elapsed_ns() > 0, "the worker did nothing");
                let cpu_ns = self.cpu_ns()? - before;
                Ok((sample, cpu_ns))
            }
            (Outcome::Done(_), None) => bail!("the worker was done before it was ready"),
            (Outcome::Unavailable { reason } | Outcome::Failed { reason }, _) => bail!(reason),
        }
    }

    /// The most memory that the worker ever had, in bytes.
    pub(super) fn peak_memory_bytes(&self) -> Result<f64> {
        let text = self.proc("status")?;
        peak_memory_bytes(&text).context("/proc/PID/status has no VmHWM in kB")
    }

    /// CPU time of all threads of the worker so far, user and system.
    fn cpu_ns(&self) -> Result<f64> {
        cpu_ns(&self.proc("stat")?).context("/proc/PID/stat has no utime and stime")
    }

    fn proc(&self, name: &str) -> Result<String> {
        let path = format!("/proc/{}/{name}", self.child.id());
        fs::read_to_string(&path).with_context(|| format!("reading {path}"))
    }

    fn say(&mut self, request: &Request) -> Result<()> {
        let stdin = self.stdin.as_mut().expect("stdin is open until the worker is dropped");
        writeln!(stdin, "{}", request.encode()).context("the worker hears nothing")
    }

    fn next(&self) -> Result<Reply> {
        let line = self.lines.recv_timeout(self.patience);
        let line = line.map_err(|error| anyhow::anyhow!("the worker says no more: {error}"))?;
        Ok(Reply::decode(&line)?)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // An idle worker ends with its input. One that does not is ended; that it may be gone
        // already is no error.
        self.stdin = None;
        for _ in 0..100 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines that come out of `stdout`, until one is too long or is no text.
fn lines(stdout: ChildStdout) -> Receiver<String> {
    let (say, lines) = sync_channel(LINES_MAX);
    let mut stdout = BufReader::new(stdout);
    thread::spawn(move || {
        let mut line = String::new();
        while let Ok(1..) = stdout.by_ref().take(LINE_BYTES_MAX).read_line(&mut line) {
            if !line.ends_with('\n') || say.send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });
    lines
}

/// `utime` and `stime` of a /proc/PID/stat: fields 14 and 15 (proc(5)).
fn cpu_ns(stat: &str) -> Option<f64> {
    // The second field, a name in brackets, may hold blanks and brackets itself.
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) * TICK_NS)
}

fn peak_memory_bytes(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Case, Work};
    use model::zoo;

    const HELLO: &str = "echo hello protocol=2 name=fake version=1;";

    /// Has a worker that is the shell script `script`, after its greeting, do a job.
    fn check(script: &str) -> Result<Measured, String> {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{HELLO}{script}")]);
        let case = Case::own(Work::Read(zoo::plain()));
        let job = Job { case, seed: 1, file: Some("/tmp/x".into()), source: None };
        let trial = |mut worker: Worker| worker.trial(&job);
        let measured = Worker::start(command, Duration::from_millis(500)).and_then(trial);
        measured.map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_trial_is_measured() {
        let measured = check(
            "read job; echo ready; read go;
             echo span thread=0 start_ns=1000 end_ns=3000 bytes=3 ops=4 digest=5;
             echo latency ns=7 count=4; echo done setup_ns=1 max_ns=8; read next",
        );
        let measured = measured.expect("the worker did what it was told");
        assert_eq!(measured.iops, 2e6);
        assert!(measured.cpu_ns_per_op.is_some());
    }

    #[test]
    fn what_is_no_measurement_is_an_error() {
        for (script, expected) in [
            ("read job; exit 3", "says no more"),
            ("read job; sleep 5", "says no more"),
            ("read job; echo dance", "an unknown verb"),
            ("read job; echo unavailable reason=not%20here", "not here"),
            ("read job; echo done setup_ns=1 max_ns=1; read x", "before it was ready"),
            ("read job; echo ready; read go; echo done setup_ns=1 max_ns=1; read x", "did nothing"),
        ] {
            let error = check(script).expect_err(script);
            assert!(error.contains(expected), "'{script}' gave '{error}'");
        }
    }

    #[test]
    fn cpu_time_is_user_and_system() {
        let stat = "12 (a) (b) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 1 0";
        assert_eq!(cpu_ns(stat), Some(3e9));
        assert_eq!(cpu_ns("12 (a) S 1"), None);
    }

    #[test]
    fn the_peak_of_memory_is_found() {
        assert_eq!(peak_memory_bytes("VmPeak: 9 kB\nVmHWM:\t  2048 kB\n"), Some(2_097_152.0));
        assert_eq!(peak_memory_bytes("VmRSS: 1 kB\n"), None);
    }
}
