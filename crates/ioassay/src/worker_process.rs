//! A live worker: sends it jobs and receives outcomes, with a time limit on every wait.

use crate::deadline::Deadline;
use crate::launch::TOKEN_VARIABLE;
use crate::line_process::{LineProcess, LineProtocol};
use crate::stop::Stop;
use anyhow::Result;
use model::case::Kernel;
use model::shape::{Calibrate, Calibrated, ShapePasses};
use model::trial::{Job, Outcome};
use model::wire::{Gather, PROTOCOL, Reply, Request};
use rustix::io::dup;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// Maximum length of a worker's line.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// How long a worker may take beyond the trial's time, to open files, allocate and fill memory.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How long a worker may take to exit after its input ends, before it gets a signal.
const FAREWELL: Duration = Duration::from_millis(500);

/// The command that starts this program's own worker.
///
/// # Errors
/// If this program's own file is not known.
pub fn own_command() -> Result<Command, String> {
    let mut command = own_program()?;
    command.arg("worker");
    Ok(command)
}

/// The command that starts this program again.
///
/// # Errors
/// If its own file is not known.
pub fn own_program() -> Result<Command, String> {
    let program = std::env::current_exe()
        .map_err(|error| format!("finding this program's own file failed: {error}"))?;
    let mut command = Command::new(program);
    // What a user's command inherits is none of ours.
    command.env_remove(TOKEN_VARIABLE);
    if let Some([stdout, stderr]) = PASSED_ON.get() {
        let numbers = format!("{},{}", stdout.as_raw_fd(), stderr.as_raw_fd());
        command.env(worker::streams::VARIABLE, numbers);
    }
    Ok(command)
}

/// Copies of stdout and stderr that programs inherit.
static PASSED_ON: OnceLock<[OwnedFd; 2]> = OnceLock::new();

/// Passes stdout and stderr on to this program's processes, for commands whose output is theirs.
///
/// # Errors
/// If one of them is closed.
pub fn pass_on_streams() -> std::io::Result<()> {
    let copies = [dup(std::io::stdout())?, dup(std::io::stderr())?];
    PASSED_ON.get_or_init(|| copies);
    Ok(())
}

/// A worker process.
#[derive(Debug)]
pub struct WorkerProcess {
    process: LineProcess,
}

impl WorkerProcess {
    /// Starts the worker `command` and receives its handshake.
    ///
    /// # Errors
    /// If it cannot be started, says nothing or speaks another protocol.
    pub fn start(command: Command, stop: &Stop, patience: Duration) -> Result<WorkerProcess> {
        let protocol = LineProtocol {
            name: "the worker".to_string(),
            silence: "it hangs, or the device is too slow for this --size",
            line_bytes_max: LINE_BYTES_MAX,
            patience,
            farewell: FAREWELL,
        };
        let mut worker = WorkerProcess { process: LineProcess::start(command, protocol, stop)? };
        match worker.next(patience) {
            Ok(Reply::Hello { protocol: PROTOCOL, .. }) => Ok(worker),
            Ok(other) => {
                anyhow::bail!("unexpected handshake from the worker: '{}'", other.encode())
            }
            Err(reason) => anyhow::bail!("the worker sent no handshake: {reason}"),
        }
    }

    /// The worker's PID.
    pub fn pid(&self) -> u32 {
        self.process.pid().expect("a worker is a child of this program")
    }

    /// Sends `job` to the worker and waits until it is ready, or until an outcome, if the worker
    /// cannot begin.
    ///
    /// # Errors
    /// Why the worker is unusable: it died, sent nothing in time or flooded us.
    pub fn prepare(&mut self, job: &Job) -> Result<Option<Outcome>, String> {
        self.say(&Request::Job(job.clone()))?;
        match self.next(self.process.patience())? {
            Reply::Ready => Ok(None),
            Reply::Unavailable { reason } => Ok(Some(Outcome::Unavailable { reason })),
            Reply::Failed { reason } => Ok(Some(Outcome::Failed { reason })),
            other => Err(format!("the worker sent '{}' instead of 'ready'", other.encode())),
        }
    }

    /// Starts the prepared trial and waits for the outcome.
    ///
    /// # Errors
    /// As for [`WorkerProcess::prepare`].
    pub fn perform(&mut self, time: Duration) -> Result<Outcome, String> {
        self.begin()?;
        self.finish(time)
    }

    /// Starts the prepared trial.
    ///
    /// # Errors
    /// As for [`WorkerProcess::prepare`].
    pub fn begin(&mut self) -> Result<(), String> {
        self.say(&Request::Go)
    }

    /// Waits for the outcome of a trial that was started.
    ///
    /// # Errors
    /// As for [`WorkerProcess::prepare`].
    pub fn finish(&mut self, time: Duration) -> Result<Outcome, String> {
        let mut gather = Gather::default();
        let deadline = Deadline::after(time.saturating_add(self.process.patience()));
        loop {
            let reply = self.next(deadline.left())?;
            if let Some(outcome) = gather.take(reply).map_err(|error| error.to_string())? {
                return Ok(outcome);
            }
            if deadline.is_over() {
                return Err("the worker sent an outcome without an end".to_string());
            }
        }
    }

    /// Tells the worker to release the finished job, whose threads and arrays were kept as
    /// evidence.
    ///
    /// # Errors
    /// As for [`WorkerProcess::prepare`].
    pub fn dismiss(&mut self) -> Result<(), String> {
        self.say(&Request::Go)
    }

    /// Lets the worker measure the candidates of loops. Returns the choice for each.
    ///
    /// # Errors
    /// As for [`WorkerProcess::prepare`], and if it cannot measure them.
    pub fn calibrate(&mut self, asked: &Calibrate) -> Result<Vec<Calibrated>, String> {
        self.say(&Request::Calibrate(asked.clone()))?;
        let deadline = Deadline::after(self.process.patience());
        let mut measured: Vec<(Kernel, Vec<ShapePasses>)> = Vec::new();
        loop {
            match self.next(deadline.left())? {
                Reply::Timed { kernel, timed } => match measured.last_mut() {
                    Some((last, all)) if *last == kernel => all.push(timed),
                    _ => measured.push((kernel, vec![timed])),
                },
                Reply::Calibrated => break,
                Reply::Failed { reason } => return Err(reason),
                other => return Err(format!("the worker sent '{}' unasked", other.encode())),
            }
            if measured.len() > Kernel::ALL.len() || deadline.is_over() {
                return Err("the worker sent a calibration without an end".to_string());
            }
        }
        let choice = |(kernel, timed): &(Kernel, Vec<ShapePasses>)| {
            Calibrated::of(asked.walk(*kernel), timed)
        };
        Ok(measured.iter().filter_map(choice).collect())
    }

    fn say(&mut self, request: &Request) -> Result<(), String> {
        self.process.say(&request.encode())
    }

    /// The next reply, if it arrives in time and before the run is stopped.
    fn next(&mut self, patience: Duration) -> Result<Reply, String> {
        Reply::decode(&self.process.next(patience)?).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Case, Work};
    use model::zoo;

    const HELLO: &str = "echo hello protocol=2 name=fake version=1; ";

    /// The patience for scripts that never end.
    const SHORT: Duration = Duration::from_millis(300);

    /// The outcome of a job given to a shell script.
    fn check(script: &str) -> Result<Outcome, String> {
        check_with(script, Duration::from_secs(60))
    }

    fn job() -> Job {
        Job { file: Some("/tmp/x".into()), ..Job::of(Case::own(Work::Read(zoo::plain())), 1) }
    }

    fn check_with(script: &str, patience: Duration) -> Result<Outcome, String> {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{HELLO}{script}")]);
        let mut worker = WorkerProcess::start(command, &Stop::default(), patience)
            .map_err(|error| format!("{error:#}"))?;
        match worker.prepare(&job())? {
            Some(outcome) => Ok(outcome),
            None => worker.perform(Duration::from_millis(1)),
        }
    }

    #[test]
    fn an_outcome_is_brought_back() {
        let done = check(
            "read job; echo ready; read go;
             echo span thread=0 start_ns=1 end_ns=2 bytes=3 ops=4 digest=5;
             echo latency ns=7 count=4; echo done setup_ns=1 max_ns=8; read next",
        );
        let Ok(Outcome::Done(sample)) = done else { panic!("{done:?}") };
        assert_eq!((sample.bytes(), sample.ops(), sample.latencies.max_ns), (3, 4, 8));
        let reason = "not%20here";
        let unavailable = check(&format!("read job; echo unavailable reason={reason}"));
        let reason = "not here".to_string();
        assert_eq!(unavailable, Ok(Outcome::Unavailable { reason }));
    }

    #[test]
    fn what_is_wrong_with_a_worker_is_said() {
        for (script, expected) in [
            ("read job; echo 'on fire' >&2; exit 3", "exit status: 3); its stderr: on fire"),
            (r"read job; printf '\033[31mred' >&2; exit 3", "its stderr: \u{FFFD}[31mred"),
            ("read job; kill -9 $$", "signal: 9"),
            ("read job; echo ready; read go; while :; do echo span; done", "no 'thread'"),
            ("read job; head -c 100000 /dev/zero", "a line longer than 65536 bytes"),
            ("read job; echo dance", "an unknown verb"),
            ("read job; echo done setup_ns=1 max_ns=1", "instead of 'ready'"),
        ] {
            let error = check(script).expect_err(script);
            assert!(error.contains(expected), "'{script}' gave '{error}'");
        }
        for script in ["read job; sleep 600", "read job; echo ready; read go; sleep 600"] {
            let error = check_with(script, SHORT).expect_err(script);
            assert!(error.contains("sent nothing for"), "'{script}' gave '{error}'");
        }
    }

    #[test]
    fn what_a_worker_leaves_behind_keeps_nobody() {
        let began = std::time::Instant::now();
        let error = check("read job; sleep 600 & echo 'on fire' >&2; exit 3").unwrap_err();
        assert!(error.contains("exit status: 3); its stderr: on fire"), "{error}");
        let error = check("read job; exec >&- ; sleep 600").unwrap_err();
        assert!(error.contains("the worker died"), "{error}");
        assert!(began.elapsed() < Duration::from_secs(60));
    }

    /// The choice comes from what the worker measured, planted here.
    #[test]
    fn the_fastest_of_the_measured_shapes_is_chosen() {
        let asked = Calibrate {
            kernels: vec![Kernel::Read, Kernel::Copy],
            pages: model::case::Pages::Huge,
            threads: 1,
            array: 1 << 27,
            time: Duration::ZERO,
        };
        let ask = |script: &str| {
            let mut worker = worker(script, Duration::from_secs(60)).expect("it says hello");
            worker.calibrate(&asked)
        };
        let told = ask("read line
             echo timed kernel=read shape=avx512-8x3 bytes=64 ns=20,21,20,22
             echo timed kernel=read shape=avx2-16x1 bytes=64 ns=10,11,10,12
             echo timed kernel=copy shape=avx512-8x3 bytes=64 ns=10,10
             echo timed kernel=copy shape=sse2-8x1 bytes=64 ns=30,30
             echo calibrated; read next");
        let told = told.expect("it was measured");
        let chosen: Vec<_> = told.iter().map(|it| (it.walk, it.chosen.to_string())).collect();
        let expected = [(Kernel::Read, "avx2-16x1"), (Kernel::Copy, "avx512-8x3")];
        let expected = expected.map(|(kernel, shape)| (asked.walk(kernel), shape.to_string()));
        assert_eq!(chosen, expected);
        assert_eq!((told[0].candidates.len(), told[0].candidates[1].passes), (2, 4));
        let failed = ask("read line; echo failed reason=no%20memory; read next");
        assert_eq!(failed, Err("no memory".to_string()));
        let unasked = ask("read line; echo ready; read next").unwrap_err();
        assert!(unasked.contains("sent 'ready' unasked"), "{unasked}");
        let endless = "read line; while :; do for kernel in read copy; do
             echo timed kernel=$kernel shape=avx2-8x3 bytes=1 ns=1; done; done";
        assert!(ask(endless).unwrap_err().contains("without an end"));
    }

    /// A worker that sends the handshake and then runs `script`.
    fn worker(script: &str, patience: Duration) -> Result<WorkerProcess> {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{HELLO}{script}")]);
        WorkerProcess::start(command, &Stop::default(), patience)
    }

    #[test]
    fn a_worker_that_does_not_read_is_given_up() {
        // On a busy machine, a handshake may come too late.
        let mut worker = (0..20).find_map(|_| worker("sleep 600", SHORT).ok()).unwrap();
        let error = (0..1_000_000).find_map(|_| worker.dismiss().err()).unwrap();
        assert_eq!(error, "the worker did not read its stdin for 300ms");
    }

    #[test]
    fn a_worker_that_floods_stderr_is_heard() {
        let script = "yes >&2 & read job; echo unavailable reason=no; sleep 600";
        let mut worker = worker(script, Duration::from_secs(60)).unwrap();
        let reason = "no".to_string();
        assert_eq!(worker.prepare(&job()), Ok(Some(Outcome::Unavailable { reason })));
    }

    #[test]
    fn a_stranger_is_not_listened_to() {
        let start = |script: &str, patience: Duration| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let worker = WorkerProcess::start(command, &Stop::default(), patience);
            format!("{:#}", worker.expect_err("it is no worker"))
        };
        let long = Duration::from_secs(60);
        let other = "echo hello protocol=1 name=x version=1";
        assert!(start(other, long).contains("unexpected handshake"));
        assert!(start("sleep 600", SHORT).contains("sent nothing"));
        assert!(start("exit 1", long).contains("the worker died"));
    }
}
