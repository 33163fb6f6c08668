//! Performs a job that is a command: starts it, waits for it, and tells what it used.
//!
//! This process is the reaper of all that the command starts. So its own counters in `/proc` and
//! those of its children have the sums of the whole tree, also of orphans, of setuid programs and
//! of programs that nobody may read.

use crate::clock::os_now_ns;
use crate::figure::{FigureFinder, OutputEnd, heard};
use crate::reporter::Client;
use crate::streams;
use crate::tree::{STEP, adopt, below, end_all, has_no_children, start};
use crate::usage::{of_children, of_maxrss, peak_bytes};
use model::command::{CommandOutput, Exit, Launch, OutputReading};
use model::sample::{Sample, Span};
use model::trial::Outcome;
use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::thread::{self, Builder, JoinHandle};
use std::time::Duration;
use witness::counters::ended_thread;
use witness::rehearsal::io_beyond_this_thread;

/// How long what a command started may go on after its end before it counts as left running: a
/// process that ends gives its memory back first.
const GRACE: Duration = Duration::from_millis(100);

/// Performs the job that starts `launch`.
pub fn perform_command(launch: Option<&Launch>, client: &mut dyn Client) {
    let Some(launch) = launch else {
        client.outcome(failed("the job names no command to start"));
        return;
    };
    let began_ns = os_now_ns();
    forget_variables();
    let mut prepared = match PreparedCommand::of(launch) {
        Ok(prepared) => prepared,
        Err(reason) => return client.outcome(failed(&reason)),
    };
    if let Err(error) = adopt() {
        return client.outcome(failed(&format!("adopting what the command starts: {error}")));
    }
    let setup_ns = os_now_ns() - began_ns;
    if client.ready() {
        client.outcome(match prepared.run(setup_ns) {
            Ok(sample) => Outcome::Done(sample),
            Err(reason) => failed(&reason),
        });
    }
}

fn failed(reason: &str) -> Outcome {
    Outcome::Failed { reason: reason.to_string() }
}

/// A command that can be started.
struct PreparedCommand<'l> {
    launch: &'l Launch,
    command: Command,
    finder: Option<FigureFinder>,
}

/// Where what nobody needs comes from and goes to.
const NULL: &str = "/dev/null";

/// The variable that marks processes of a worker: it is no business of the command's.
const MARK: &str = "IOASSAY_WORKER";

/// Takes the variables that only concern this process out of its environment, which commands
/// inherit as it is: a copy without them would be made in the time of each. It must be called
/// before this process makes threads that stay.
pub fn forget_variables() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // They are named by one of them.
        streams::kept();
        for variable in [MARK, streams::VARIABLE] {
            if env::var_os(variable).is_some() {
                // SAFETY: only a process that the coordinator started to run commands has them. It
                // has no other thread yet: `adopt` makes the first that stays.
                unsafe { env::remove_var(variable) };
            }
        }
    });
}

impl PreparedCommand<'_> {
    /// The command, with its streams opened.
    fn of(launch: &Launch) -> Result<PreparedCommand<'_>, String> {
        let (program, arguments) =
            launch.arguments.split_first().ok_or("the job names no program")?;
        let finder = launch.figure.as_ref().map(FigureFinder::of).transpose()?;
        let mut command = Command::new(found(program));
        command.arg0(program).args(arguments).process_group(0);
        // All is opened now: what spawning opens would be in the time of the command.
        let opened = |null: &mut OpenOptions| {
            null.open(NULL).map(Stdio::from).map_err(|error| format!("opening {NULL}: {error}"))
        };
        let nowhere = || opened(OpenOptions::new().write(true));
        command.stdin(match &launch.input {
            None => opened(OpenOptions::new().read(true))?,
            Some(path) => Stdio::from(opened_input(path)?),
        });
        let is_heard = finder.is_some();
        let (stdout, stderr) = match &launch.output {
            CommandOutput::Null if !is_heard => (nowhere()?, nowhere()?),
            CommandOutput::Null => (Stdio::piped(), Stdio::piped()),
            CommandOutput::Pipe if !is_heard => (Stdio::piped(), nowhere()?),
            CommandOutput::Pipe => (Stdio::piped(), Stdio::piped()),
            CommandOutput::Inherit => {
                let own = streams::inherited();
                let [stdout, stderr] = own.map_err(|error| format!("the output: {error}"))?;
                (Stdio::from(stdout), Stdio::from(stderr))
            }
            CommandOutput::File(path) => (
                Stdio::from(emptied(path).map_err(|error| {
                    format!("opening the output '{}': {error}", path.display())
                })?),
                nowhere()?,
            ),
        };
        command.stdout(stdout).stderr(stderr);
        Ok(PreparedCommand { launch, command, finder })
    }

    /// Runs it once.
    fn run(&mut self, setup_ns: u64) -> Result<Sample, String> {
        let launch = self.launch;
        let (io_before, before) = (io_beyond_this_thread(), of_children());
        let start_ns = os_now_ns();
        let child =
            start(&mut self.command).map_err(|error| not_started(&launch.arguments[0], &error))?;
        let ended = wait_and_sync(child, launch, start_ns);
        if ended.is_err() {
            end_all();
        }
        let Ended { mut span, status, peak_bytes, first_thread, outputs } = ended?;
        let left_running = reap()?;
        let usage = of_children().since(before);
        span.run_delay_ns = run_delay_ns(first_thread, usage.cpu_ns);
        let [stdout, stderr] = outputs.map(|reader| reader.and_then(|it| it.join().ok()));
        let (status, signal) = split(status);
        let is_piped = launch.output == CommandOutput::Pipe;
        let output_bytes = stdout.as_ref().filter(|_| is_piped).map(|it| it.reading.bytes);
        let readings = [&stdout, &stderr].into_iter().flatten().map(|it| it.reading);
        let reading = readings.reduce(OutputReading::and);
        // Besides, only the threads that read its output did anything.
        let io = io_before.zip(io_beyond_this_thread()).map(|(before, after)| {
            reading.unwrap_or_default().left_out_of(after.zip(before, u64::saturating_sub))
        });
        let exit = Exit { status, signal, peak_bytes, left_running, output_bytes, reading, io };
        if let Some(reason) = why_failed(&exit, launch) {
            return Err(reason);
        }
        let find = |heard: &Option<OutputEnd>| self.finder.as_ref()?.find(&heard.as_ref()?.last);
        Ok(Sample {
            setup_ns,
            spans: vec![span],
            exit: Some(exit),
            figure: find(&stdout).or_else(|| find(&stderr)),
            usage,
            ..Sample::default()
        })
    }
}

/// Where the PATH leads to `program`, which is not found in the time of the command then: each
/// folder without it would cost an attempt to execute it. The name itself if there is none, so that
/// starting it says why.
fn found(program: &str) -> PathBuf {
    let path = env::var_os("PATH").filter(|_| !program.contains('/')).unwrap_or_default();
    let is_program = |file: &PathBuf| file.is_file() && access(file, Access::EXEC_OK).is_ok();
    let mut files = env::split_paths(&path).map(|folder| folder.join(program));
    // One that depends on the directory is left to the OS.
    let found = files.find(is_program).filter(|file| file.is_absolute());
    found.unwrap_or_else(|| program.into())
}

/// The input of a command, which each run reads from its beginning.
///
/// # Errors
/// If it cannot be opened, or gives its bytes only once.
pub fn opened_input(path: &Path) -> Result<File, String> {
    let failed = |error: io::Error| format!("opening the input '{}': {error}", path.display());
    // Opening a FIFO would wait until somebody writes to it.
    if fs::metadata(path).map_err(failed)?.file_type().is_fifo() {
        let path = path.display();
        return Err(format!(
            "the input '{path}' is a FIFO, which gives its bytes only once, but every run needs \
             them: write them to a file first"
        ));
    }
    File::open(path).map_err(failed)
}

/// The file that ioassay created for the output, emptied.
///
/// # Errors
/// The OS's, also if a link has taken its place.
pub fn emptied(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).truncate(true).custom_flags(libc::O_NOFOLLOW).open(path)
}

/// A command that has ended.
struct Ended {
    span: Span,
    /// Its status as the OS codes it.
    status: i32,
    peak_bytes: Option<u64>,
    /// How long its first thread ran, and was ready to run without a processor.
    first_thread: Option<(u64, u64)>,
    /// What reads its stdout and its stderr.
    outputs: [Option<JoinHandle<OutputEnd>>; 2],
}

/// Waits for the command, and makes durable what is asked for.
fn wait_and_sync(mut child: Child, launch: &Launch, start_ns: u64) -> Result<Ended, String> {
    let outputs = [
        child.stdout.take().and_then(|stdout| Builder::new().spawn(|| heard(stdout)).ok()),
        child.stderr.take().and_then(|stderr| Builder::new().spawn(|| heard(stderr)).ok()),
    ];
    // Nobody has waited for it yet, so its last counters are still there.
    ended(&child)?;
    let end_ns = os_now_ns();
    let first_thread = ended_thread(child.id());
    let (status, peak_bytes) = waited(&child)?;
    let synced_ns = match launch.syncs.is_empty() {
        true => None,
        false => {
            sync_all(&launch.syncs)?;
            Some(os_now_ns())
        }
    };
    let span = Span { start_ns, end_ns, ops: 1, synced_ns, ..Span::default() };
    Ok(Ended { span, status, peak_bytes, first_thread, outputs })
}

/// The first thread's share of all CPU time from which on the others hardly ran.
const FIRST_SHARE: f64 = 0.95;

/// How long the command was ready to run without a processor, if its first thread is what ran: the
/// counters of other threads and of its children are gone.
fn run_delay_ns(first_thread: Option<(u64, u64)>, cpu_ns: Option<u64>) -> Option<u64> {
    let ((ran_ns, delay_ns), cpu_ns) = first_thread.zip(cpu_ns)?;
    (ran_ns as f64 >= FIRST_SHARE * cpu_ns as f64).then_some(delay_ns)
}

/// Makes files durable, and their names. They are opened for reading only.
fn sync_all(files: &[PathBuf]) -> Result<(), String> {
    let mut folders: Vec<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    folders.sort_unstable();
    folders.dedup();
    for path in files.iter().map(PathBuf::as_path).chain(folders) {
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let synced = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(file) => file.sync_all(),
            // A run that removed it has nothing to make durable.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        };
        synced.map_err(|error| format!("making '{}' durable: {error}", path.display()))?;
    }
    Ok(())
}

/// Why a program was not started, and what to do.
pub fn not_started(program: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!(
            "there is no program '{program}': give its path or, for a shell's own commands, \
             --shell"
        ),
        io::ErrorKind::PermissionDenied => {
            format!("'{program}' is a directory, or may not be executed: give a program's path")
        }
        _ => format!("starting '{program}' failed: {error}"),
    }
}

/// Why this end is a failure, if it is one.
fn why_failed(exit: &Exit, launch: &Launch) -> Option<String> {
    let program = &launch.arguments[0];
    match (exit.status, exit.signal) {
        (_, Some(signal)) => Some(format!("'{program}' was ended by signal {signal}")),
        (Some(status), None) if launch.counts(status) => None,
        (Some(status), None) => Some(format!(
            "'{program}' ended with status {status}; --ignore-exit lets such runs count"
        )),
        (None, None) => Some(format!("nothing is known of how '{program}' ended")),
    }
}

/// Waits until the command has ended or stopped, without collecting it.
fn ended(child: &Child) -> Result<(), String> {
    let pid = Pid::from_child(child);
    let options = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(pid), options) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(format!("waiting for the command: {error}")),
        }
    }
}

/// Waits for the command itself. Returns its status as the OS codes it, and its peak of memory.
///
/// # Errors
/// If it stopped instead of ending.
fn waited(child: &Child) -> Result<(i32, Option<u64>), String> {
    // A child has the peak of this process too until it becomes another program.
    let own = peak_bytes().unwrap_or(u64::MAX);
    let mut status = 0;
    // SAFETY: all fields are integers, for which zero is valid.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        let pid = child.id().cast_signed();
        // SAFETY: the call writes only to `status` and `used`, which outlive it.
        let ended = unsafe { libc::wait4(pid, &raw mut status, libc::WUNTRACED, &raw mut used) };
        if ended == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(format!("waiting for the command: {error}"));
        }
    }
    if libc::WIFSTOPPED(status) {
        return Err(stopped(libc::WSTOPSIG(status)));
    }
    Ok((status, of_maxrss(&used).filter(|peak| *peak > own)))
}

/// What to say of a command that this signal stopped, and that nobody would let go on.
pub fn stopped(signal: i32) -> String {
    match signal {
        libc::SIGTTIN | libc::SIGTTOU => {
            "the command stopped because it wants the terminal, which \
                                          a measured command does not have: --input gives it a \
                                          file to read"
                .to_string()
        }
        signal => format!("the command was stopped by signal {signal}"),
    }
}

/// The exit status, or the signal that ended a process.
fn split(status: i32) -> (Option<u32>, Option<u32>) {
    let number = |number: i32| u32::try_from(number).ok();
    let exited = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)).and_then(number);
    let signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)).and_then(number);
    (exited, signal)
}

/// Collects all that the command started, and ends what still runs after a while. Returns the
/// number of processes that went on after its end: what they did meanwhile is counted with it.
fn reap() -> Result<u64, String> {
    if has_no_children()? {
        return Ok(0);
    }
    // Some end with it.
    thread::sleep(STEP);
    if has_no_children()? {
        return Ok(0);
    }
    // What a list does not show is there nevertheless.
    let left = (below().len() as u64).max(1);
    for _ in 0..GRACE.as_millis() / STEP.as_millis() {
        if has_no_children()? {
            return Ok(left);
        }
        thread::sleep(STEP);
    }
    end_all();
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_a_processor_is_known_only_of_a_thread_that_did_nearly_all() {
        let of = |ran_ns, cpu_ns| run_delay_ns(Some((ran_ns, 7)), cpu_ns);
        assert_eq!(of(100, Some(100)), Some(7));
        assert_eq!(of(96, Some(100)), Some(7));
        assert_eq!(of(90, Some(100)), None, "others ran as well");
        assert_eq!(of(100, None), None);
        assert_eq!(run_delay_ns(None, Some(100)), None);
    }
}
