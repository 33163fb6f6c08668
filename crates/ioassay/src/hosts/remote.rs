//! An agent on a host, as the coordinator sees it: a process that a launcher started, or one that
//! connected back.

use super::offset::{Offset, Ping};
use crate::clock;
use crate::deadline::Deadline;
use crate::line_process::{LineProcess, LineProtocol};
use crate::stop::Stop;
use crate::version::VERSION;
use anyhow::{Context, Result, bail};
use model::agent::{Answer, Clocks, LINE_BYTES_MAX, Order, PROTOCOL, decode, encode, shown};
use std::fs::File;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::{Mutex, Weak};
use std::time::{Duration, Instant};

/// How long an agent may take to answer. Starting it may include a login.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// How long it may take to remove its files after its input ended.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long it may take to run what is to run after commands, if the run is stopped.
const CLEANING: Duration = Duration::from_secs(60);

/// After this time without a sign of life, a host is lost: agents give one every second.
const SILENCE: Duration = Duration::from_secs(5);

/// Lines that are read of an agent before the next one has its turn.
const LINES_AT_ONCE: usize = 64;

/// Maximum length of a version.
const VERSION_BYTES: usize = 100;

/// Pings for an offset: the shortest round trip of many is close to the shortest possible.
pub const PINGS: usize = 100;

/// A live agent.
#[derive(Debug)]
pub struct Remote {
    process: LineProcess,
    /// Its last sign of life; `None` before its greeting.
    heard: Option<Instant>,
    /// The commit that its program was built from, if known; `None` before its greeting.
    commit: Option<String>,
    /// Bytes that had arrived of its next line: it says nothing else while it sends a long one.
    arrived: usize,
}

/// How far a host's clocks are ahead of this one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offsets {
    /// The clock of all times in a trial.
    pub monotonic: Offset,
    /// The time of day.
    pub utc: Offset,
}

impl Remote {
    /// Starts `command`, which leads to the agent on `host`. [`Remote::greet`] waits for it, so
    /// that many can start at once.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(host: &str, command: Command, stop: &Stop) -> Result<Remote> {
        let process = LineProcess::start(command, protocol(host), stop)?;
        Ok(Remote { process, heard: None, commit: None, arrived: 0 })
    }

    /// The agent on `host` that connected back.
    ///
    /// # Errors
    /// If the OS refuses to listen to it.
    pub fn joined(host: &str, connection: TcpStream, stop: &Stop) -> Result<Remote> {
        let process = LineProcess::connected(connection, protocol(host), stop)?;
        Ok(Remote { process, heard: None, commit: None, arrived: 0 })
    }

    /// Where others may write whole lines to it.
    pub fn input(&self) -> Weak<Mutex<File>> {
        self.process.input()
    }

    /// Tells it that no order will follow, so that it ends while others are told.
    pub fn dismiss(&mut self) {
        self.process.dismiss();
    }

    /// Receives its greeting.
    ///
    /// # Errors
    /// If it sends none, or is of another version than this program: figures of two versions are
    /// not measured alike.
    pub fn greet(&mut self) -> Result<()> {
        match self.hear(PATIENCE).map_err(why_no_greeting)? {
            Answer::Hello { protocol: PROTOCOL, version, commit } if version == VERSION => {
                self.heard = Some(Instant::now());
                self.process.give_farewell(FAREWELL);
                self.commit = commit.filter(|commit| commit.len() <= VERSION_BYTES);
                Ok(())
            }
            Answer::Hello { protocol, version, .. } if version.len() <= VERSION_BYTES => bail!(
                "ioassay {version} is there (protocol {protocol}), and {VERSION} (protocol \
                 {PROTOCOL}) here: install the same version on both, or name it with --program"
            ),
            other => bail!("it sent '{}' instead of a greeting", shown(&other)),
        }
    }

    /// Gives it time to clean up after commands when its input ends.
    pub fn expect_cleaning(&mut self) {
        self.process.give_farewell(CLEANING);
    }

    /// Gives it no more time than others after all: it is lost, unless the run was stopped.
    pub(super) fn expect_nothing(&mut self) {
        if self.check_stop().is_ok() {
            self.process.give_farewell(FAREWELL);
        }
    }

    /// The commit that its program was built from, if known.
    pub fn commit(&self) -> Option<&str> {
        self.commit.as_deref()
    }

    /// Its answer to `order`, which takes no time of its own.
    ///
    /// # Errors
    /// If it cannot carry it out, or does not answer.
    pub fn ask(&mut self, order: &Order) -> Result<Answer> {
        self.tell(order)?;
        self.hear(PATIENCE)
    }

    /// Gives it an order, without waiting for the answer.
    ///
    /// # Errors
    /// If it is gone.
    pub fn tell(&mut self, order: &Order) -> Result<()> {
        self.process.say(&encode(order)).map_err(anyhow::Error::msg)
    }

    /// Its next answer, if it arrives within `patience`.
    ///
    /// # Errors
    /// If it could not carry out its order, or does not answer.
    pub fn hear(&mut self, patience: Duration) -> Result<Answer> {
        let deadline = Deadline::after(patience);
        self.is_listened_to();
        loop {
            if let Some(answer) = self.poll_answer(patience, deadline)? {
                return Ok(answer);
            }
            self.process.wait_for_line(deadline);
        }
    }

    /// Its silence begins now: what it said while nobody listened is in the pipe.
    pub(super) fn is_listened_to(&mut self) {
        self.heard = self.heard.map(|_| Instant::now());
    }

    /// Fails once the run was stopped.
    ///
    /// # Errors
    /// Then.
    pub(super) fn check_stop(&self) -> Result<()> {
        self.process.check_stop().map_err(anyhow::Error::msg)
    }

    /// The pipe from which its answers come.
    pub(super) fn output(&self) -> impl AsFd {
        self.process.output()
    }

    /// Its next answer, if it is there already.
    ///
    /// # Errors
    /// As for [`Remote::hear`], if the answer is not there at the deadline, or if the host gives no
    /// sign of life.
    pub(super) fn poll_answer(
        &mut self,
        patience: Duration,
        deadline: Deadline,
    ) -> Result<Option<Answer>> {
        for _ in 0..LINES_AT_ONCE {
            let Some(line) = self.process.poll_next().map_err(anyhow::Error::msg)? else { break };
            self.heard = self.heard.map(|_| Instant::now());
            match decode::<Answer>(&line)?.with_short_reasons() {
                Answer::Alive => {}
                Answer::Failed { reason } => bail!(reason),
                answer => return Ok(Some(answer)),
            }
        }
        self.check_stop()?;
        let arrived = std::mem::replace(&mut self.arrived, self.process.arriving());
        if self.arrived > arrived {
            self.is_listened_to();
        }
        if self.heard.is_some_and(|heard| heard.elapsed() > SILENCE) {
            bail!(self.process.silent_for(SILENCE));
        }
        if deadline.is_over() {
            if self.heard.is_some() {
                bail!(
                    "it still answers, but has not done within {patience:?} what it was to do: its \
                     storage may hang"
                );
            }
            bail!(self.process.silent_for(patience));
        }
        Ok(None)
    }

    /// How far its clocks are ahead.
    ///
    /// # Errors
    /// As for [`Remote::ask`].
    pub fn offsets(&mut self) -> Result<Offsets> {
        self.offsets_of(PINGS)
    }

    /// The same with another number of pings.
    ///
    /// # Errors
    /// As for [`Remote::ask`].
    pub fn offsets_of(&mut self, count: usize) -> Result<Offsets> {
        let mut pings = [Vec::with_capacity(count), Vec::with_capacity(count)];
        for _ in 0..count {
            let sent = clock::now();
            let theirs = match self.ask(&Order::Ping)? {
                Answer::Clocks(clocks) => clocks,
                other => bail!("it sent '{}' instead of its clocks", shown(&other)),
            };
            let received = clock::now();
            let of: [fn(Clocks) -> u64; 2] = [|it| it.monotonic_ns, |it| it.utc_ns];
            for (pings, of) in pings.iter_mut().zip(of) {
                let [sent_ns, theirs_ns, received_ns] = [sent, theirs, received].map(of);
                pings.push(Ping { sent_ns, theirs_ns, received_ns });
            }
        }
        let [monotonic, utc] = pings.map(|pings| Offset::of(&pings).context("it was not pinged"));
        Ok(Offsets { monotonic: monotonic?, utc: utc? })
    }
}

/// Adds to the reason why no greeting came what most often is behind it, and what to do.
fn why_no_greeting(error: anyhow::Error) -> anyhow::Error {
    let text = format!("{error:#}").to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    // A shell's status for a command that it does not find. Files of the login may be missing too.
    let is_missing = says(&["exit status: 127"])
        || says(&["ioassay: no such file or directory", "ioassay: not found"])
        || says(&["ioassay: command not found"]);
    let remedy = match () {
        () if is_missing => {
            "ioassay is not in the PATH of a login there that is not interactive: name it with \
             --program"
        }
        () if says(&["unrecognized subcommand"]) => {
            "the ioassay there is older: install this version, or name it with --program"
        }
        () if says(&["is no line of the protocol"]) => {
            "a start-up file of the login shell there (such as .bashrc or .profile) may print: let \
             it do so only if its output is a terminal ([ -t 1 ])"
        }
        () => return error,
    };
    error.context(remedy)
}

/// What is expected of the agent on `host`.
fn protocol(host: &str) -> LineProtocol {
    LineProtocol {
        name: format!("the agent on {host}"),
        silence: "the host may be down, or not let you in",
        line_bytes_max: LINE_BYTES_MAX,
        patience: PATIENCE,
        // Before its greeting, it has no files. A login that hangs ends at once.
        farewell: Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A remedy is for what was said: files of a login may be missing, too.
    #[test]
    fn a_program_that_is_missing_is_told_from_other_files() {
        let why = |said: &str| why_no_greeting(anyhow::anyhow!("{said}")).to_string();
        for said in [
            "the agent on a died (exit status: 127); its stderr: sh: exec: /x/y: not found",
            "its stderr: bash: line 1: ioassay: command not found",
            "its stderr: srun: error: execve(): ioassay: No such file or directory",
        ] {
            assert!(why(said).starts_with("ioassay is not in the PATH"), "{said}");
        }
        let refused = "the agent on a died (exit status: 255); its stderr: Warning: Identity file \
                       k not accessible: No such file or directory. Connection refused";
        assert_eq!(why(refused), refused);
    }
}
