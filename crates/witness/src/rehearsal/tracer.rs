//! The loop that follows all tasks of a command until the last is gone.

use super::error::RehearsalError;
use super::facts::{Facts, PendingCall, Step};
use super::filter::filter;
use super::io_counts::IoCounts;
use super::programs::{self, Programs};
use super::ptrace::{self, Event, Resume};
use super::start::{Rehearsed, start};
use super::ticker::Ticker;
use crate::processes::descendants;
use model::rehearsal::{Blind, CommandEnd, FactSheet, StopCause, Totals};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long processes may outlive the command before they are killed.
const LINGER: Duration = Duration::from_secs(2);

/// How long killed tasks may take to die. One that waits for a device may never.
const DEATH: Duration = Duration::from_secs(10);

/// A task: a process or a thread of one.
#[derive(Debug)]
struct Task {
    process: i32,
    pending: Option<PendingCall>,
    /// The program that it last tried to execute.
    asked: Option<PathBuf>,
}

struct Tracer<'a> {
    command: &'a Rehearsed<'a>,
    tasks: HashMap<i32, Task>,
    first: i32,
    has_executed: bool,
    end: Option<CommandEnd>,
    /// Whether programs lose rights while they are traced.
    lose_rights: bool,
    /// The command's own program, if it would have run without its rights.
    without_rights: Option<PathBuf>,
    /// The signal that stopped it.
    halted: Option<i32>,
    began: Instant,
    ended: Option<Instant>,
    killed: Option<Instant>,
    processes: u64,
    threads: u64,
    /// CPU time of the thread that used most, among those that have exited.
    busiest_ns: Option<u64>,
    left_behind: u64,
    facts: Facts,
    programs: Programs,
    io: IoCounts,
}

/// Runs a command once and returns what it did with files.
///
/// The calling process must have one thread and no children: this makes it the reaper of all
/// descendants and waits for any. It leaves none, however the command ends. If this process dies,
/// the command is killed.
///
/// # Errors
///
/// If the command cannot be run, or if programs cannot be traced here. Nothing was run then.
pub fn rehearse(command: &Rehearsed<'_>) -> Result<FactSheet, RehearsalError> {
    let refused = |attempt| {
        move |answer: rustix::io::Errno| RehearsalError::NoTracing {
            attempt,
            answer: answer.into(),
        }
    };
    let own = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(own)).map_err(refused("reap orphans"))?;
    let ticker = Ticker::new();
    let ticker =
        ticker.map_err(|answer| RehearsalError::NoTracing { attempt: "set a timer", answer })?;
    // Where it is ignored, children end without a trace. That may be inherited.
    // SAFETY: the default action runs none of this program's code.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    let times = children_times();
    let io = IoCounts::begin();
    let began = Instant::now();
    let started = start(command, filter())?;
    let first = started.process;
    let task = Task { process: first, pending: None, asked: None };
    let mut tracer = Tracer {
        command,
        tasks: HashMap::from([(first, task)]),
        first,
        has_executed: false,
        end: None,
        lose_rights: programs::lose_rights(),
        without_rights: None,
        halted: None,
        began,
        ended: None,
        killed: None,
        processes: 1,
        threads: 1,
        busiest_ns: None,
        left_behind: 0,
        facts: Facts::default(),
        programs: Programs::default(),
        io,
    };
    tracer.follow();
    drop(ticker);
    let no_new_privileges = started.outcome(command)?;
    if let Some(signal) = tracer.halted {
        return Err(RehearsalError::Halted { signal });
    }
    if let Some(program) = tracer.without_rights {
        return Err(RehearsalError::LosesRights { program });
    }
    Ok(tracer.finish(no_new_privileges, times))
}

impl Tracer<'_> {
    /// Until no child is left.
    fn follow(&mut self) {
        loop {
            match ptrace::next_event() {
                Ok(Some((task, event))) => self.handle(task, event),
                Ok(None) => {}
                Err(_) => return,
            }
            if let Some(killed) = self.killed {
                if killed.elapsed() > DEATH {
                    let text = "a killed process did not end".to_string();
                    self.facts.miss(Blind::Unreadable, text);
                    return;
                }
            } else if let Some(stop) = self.stop() {
                self.end.get_or_insert(CommandEnd::Stopped(stop));
                self.kill_all();
            } else if self.ended.is_some_and(|ended| ended.elapsed() > LINGER) {
                let left: HashSet<i32> = self.tasks.values().map(|task| task.process).collect();
                self.left_behind = left.len() as u64;
                self.kill_all();
            }
        }
    }

    /// Why the command must not go on.
    fn stop(&self) -> Option<StopCause> {
        if self.command.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Some(StopCause::Asked);
        }
        if self.command.time_limit.is_some_and(|limit| self.began.elapsed() > limit) {
            return Some(StopCause::TimeLimit);
        }
        (self.tasks.len() > self.command.tasks_max).then_some(StopCause::TaskLimit)
    }

    fn kill_all(&mut self) {
        self.killed = Some(Instant::now());
        self.tasks.values().for_each(|task| ptrace::kill(task.process));
        // Nothing escapes the tracer; but if anything did, it would be here.
        let all = descendants(std::process::id()).unwrap_or_default();
        all.into_iter().for_each(|process| ptrace::kill(process as i32));
    }

    fn handle(&mut self, task: i32, event: Event) {
        match event {
            Event::Exited(status) => return self.gone(task, CommandEnd::Exited(status)),
            Event::Signaled(signal) => return self.gone(task, CommandEnd::Signaled(signal)),
            _ if self.killed.is_some() => {
                // One that was made after the others were killed.
                ptrace::kill(task);
                if event == Event::Exits {
                    self.exits(task);
                }
                return ptrace::resume(task, Resume::Run, 0);
            }
            _ => {}
        }
        let known = self.tasks.entry(task);
        known.or_insert(Task { process: task, pending: None, asked: None });
        let mut signal = 0;
        match event {
            Event::Enters => self.enters(task),
            Event::Returned => self.returned(task),
            Event::Made(new) => self.made(task, new),
            Event::Executed(former) => self.executed(task, former),
            Event::Exits => self.exits(task),
            Event::Halted(signal) => {
                // One of its children may stop until it lets that go on.
                if self.process_of(task) == self.first {
                    self.halted = Some(signal);
                    self.kill_all();
                }
                return ptrace::resume(task, Resume::Halted, 0);
            }
            Event::Signal(number) => signal = number,
            Event::Started | Event::Exited(_) | Event::Signaled(_) => {}
        }
        let is_awaited = self.tasks.get(&task).is_some_and(|task| task.pending.is_some());
        let how = if is_awaited { Resume::ToReturn } else { Resume::Run };
        ptrace::resume(task, how, signal);
    }

    fn process_of(&self, task: i32) -> i32 {
        self.tasks.get(&task).map_or(task, |task| task.process)
    }

    /// A task is about to exit: the OS still has its counters.
    fn exits(&mut self, task: i32) {
        self.io.exits(task);
        self.busiest_ns = self.busiest_ns.max(thread_time(task));
    }

    fn gone(&mut self, task: i32, end: CommandEnd) {
        self.tasks.remove(&task);
        if task == self.first && self.ended.is_none() {
            self.ended = Some(Instant::now());
            self.end.get_or_insert(end);
        }
    }

    fn enters(&mut self, number: i32) {
        let entry = match ptrace::entry(number) {
            Ok(entry) => entry,
            Err(answer) => {
                // A task that was killed meanwhile cannot be asked, and does no more calls.
                if answer.raw_os_error() != Some(libc::ESRCH) {
                    let text = format!("a call (Linux before 5.3 does not tell them): {answer}");
                    self.facts.miss(Blind::Unreadable, text);
                }
                return;
            }
        };
        let step = self.facts.enter(number, entry);
        let Some(task) = self.tasks.get_mut(&number) else { return };
        match step {
            Step::Done => {}
            Step::Awaits(pending) => task.pending = Some(pending),
            Step::Executes(asked) => task.asked = asked,
        }
    }

    fn returned(&mut self, number: i32) {
        let pending = self.tasks.get_mut(&number).and_then(|task| task.pending.take());
        if let (Some(pending), Ok(value)) = (pending, ptrace::returned(number)) {
            self.facts.leave(number, pending, value);
        }
    }

    /// A task made another one, which may have stopped before this is known.
    fn made(&mut self, by: i32, new: i32) {
        let process = self.process_of(by);
        let is_thread = Path::new(&format!("/proc/{process}/task/{new}")).exists();
        self.threads += 1;
        self.processes += u64::from(!is_thread);
        if new > 0 {
            let process = if is_thread { process } else { new };
            let task = Task { process, pending: None, asked: None };
            self.tasks.entry(new).or_insert(task).process = process;
        }
    }

    /// A thread that executes a program takes the place of its process's first.
    fn executed(&mut self, process: i32, former: i32) {
        let asked = self.tasks.get_mut(&former).and_then(|task| task.asked.take());
        self.tasks.retain(|_, task| task.process != process);
        self.tasks.insert(process, Task { process, pending: None, asked: None });
        self.programs.executed(process, asked.as_deref(), &mut self.facts);
        if process == self.first && !self.has_executed {
            self.has_executed = true;
            programs::inherits(process, &mut self.facts);
            // It has done nothing yet.
            let own = self.programs.privileged().first().filter(|_| self.lose_rights);
            self.without_rights = own.cloned();
            if self.without_rights.is_some() {
                self.kill_all();
            }
        }
    }

    fn finish(self, no_new_privileges: bool, times: (u64, u64)) -> FactSheet {
        let Tracer { mut facts, programs, .. } = self;
        let (user_ns, system_ns) = children_times();
        let (io, lost) = self.io.finish();
        if let Some(lost) = lost {
            let text = format!("a program ignores SIGCHLD: {lost} bytes of its children's I/O");
            facts.miss(Blind::Unreaped, text);
        }
        let (privileged, programs, unlisted_programs, places) = programs.finish();
        for program in privileged.iter().filter(|_| self.lose_rights) {
            let text = format!("{} ran without its rights", program.display());
            facts.miss(Blind::SetUid, text);
        }
        let (files, unlisted_files) = facts.files.finish(&places);
        let ended = self.ended.unwrap_or_else(Instant::now);
        let wall = ended.saturating_duration_since(self.began);
        FactSheet {
            sampled: false,
            files,
            unlisted_files,
            other_opens: facts.other_opens,
            other_sources: Some(facts.other_sources),
            syncs: facts.syncs,
            queues: facts.queues,
            processes: self.processes,
            threads: self.threads,
            busiest_thread_ns: self.busiest_ns,
            programs,
            unlisted_programs,
            end: self.end,
            left_behind: self.left_behind,
            no_new_privileges,
            totals: Some(Totals {
                wall_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
                user_ns: user_ns.saturating_sub(times.0),
                system_ns: system_ns.saturating_sub(times.1),
                io,
            }),
            unseen: facts.unseen,
        }
    }
}

/// CPU time of a thread in nanoseconds; `None` where the OS does not count it.
fn thread_time(task: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{task}/task/{task}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// CPU time of all descendants that were waited for: in user mode and in the kernel, in
/// nanoseconds.
fn children_times() -> (u64, u64) {
    // SAFETY: a usage is plain numbers, and the call writes only to it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    (ns(usage.ru_utime), ns(usage.ru_stime))
}
