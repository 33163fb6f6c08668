//! A program that is running already, seen from outside: nothing is traced or stopped, and nothing
//! is written.

mod process;
mod mounted;
mod maps;
mod files;
mod disks;
mod threads;
mod group;
mod tree;

use crate::cgroup;
use crate::machine;
use crate::processes;
use crate::traffic::Traffic;
use disks::Disks;
use files::OpenFileSurvey;
use group::ControlGroup;
use model::running::{Interval, OpenFiles, Subject, ThreadLooks};
use process::ProcessCounts;
use rustix::time::ClockId;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use threads::{States, ThreadTimes};
use tree::{Tree, TreeOrigin};

/// Time between two looks, which take a small share of it.
const PAUSE: Duration = Duration::from_millis(50);
/// A look takes at most one in so many parts of the time.
const SHARE: u32 = 20;
/// Maps are read at the start, each so many intervals, and at the end.
const MAPS_EVERY: u64 = 5;

/// Why a program cannot be watched, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(String);

/// A program that is watched.
#[derive(Debug)]
pub struct RunningProgram {
    subject: Subject,
    tree: Tree,
    group: Option<ControlGroup>,
    disks: Disks,
    survey: OpenFileSurvey,
    cpu_stats: Vec<PathBuf>,
    began_ns: u64,
    /// Ticks from the start of the machine to the last look.
    looked_ticks: u64,
    /// The time that the last look took.
    look_took: Duration,
    looks: ThreadLooks,
    threads_now: u32,
    last: Moment,
    intervals: u64,
    runs: bool,
}

/// What counters said at one moment.
#[derive(Debug, Clone, Default)]
struct Moment {
    at_ns: u64,
    counts: ProcessCounts,
    threads: BTreeMap<u32, ThreadTimes>,
    disks: Option<Traffic>,
    group: Option<(u64, u64)>,
    throttled_ns: Option<u64>,
}

impl RunningProgram {
    /// Begins to watch process `pid` and its descendants.
    ///
    /// # Errors
    /// If there is no such process, or it is not a program's.
    pub fn process(pid: u32) -> Result<RunningProgram, Refusal> {
        let missing = || Refusal(format!("there is no process {pid}: 'ps -e' lists them all"));
        if pid == std::process::id() {
            return Err(Refusal(format!("{pid} is ioassay itself")));
        }
        let (process, user) = process::whose(pid).ok_or_else(missing)?;
        if process != pid {
            return Err(Refusal(format!("{pid} is a thread of process {process}: give that")));
        }
        let seen = process::see(pid).ok_or_else(missing)?;
        if seen.is_of_kernel {
            return Err(Refusal(format!("{pid} ({}) is a thread of the kernel", seen.name)));
        }
        if seen.is_dead() {
            return Err(Refusal(format!("process {pid} ({}) has ended already", seen.name)));
        }
        let is_other = user != rustix::process::geteuid().as_raw();
        let other_user = (seen.is_hidden && is_other).then(|| format!("user {user}"));
        let subject = Subject::Process { pid, name: seen.name, other_user };
        Ok(RunningProgram::begin(subject, TreeOrigin::Process(pid), None, cgroup::cpu_stats(pid)))
    }

    /// Begins to watch a control group: a directory, a path below the root of all groups, or the
    /// name of a unit.
    ///
    /// # Errors
    /// If no group or several have that name, or no process is in it.
    pub fn group(text: &str) -> Result<RunningProgram, Refusal> {
        let group = ControlGroup::find(text)?;
        let subject = Subject::Group { path: format!("/{}", group.path.display()) };
        let origin = TreeOrigin::Group(group.directory().to_path_buf());
        let cpu_stats = group.cpu_stats();
        Ok(RunningProgram::begin(subject, origin, Some(group), cpu_stats))
    }

    fn begin(
        subject: Subject,
        origin: TreeOrigin,
        group: Option<ControlGroup>,
        cpu_stats: Vec<PathBuf>,
    ) -> RunningProgram {
        let mut running = RunningProgram {
            subject,
            tree: Tree::of(origin),
            group,
            disks: Disks::open(),
            survey: OpenFileSurvey::default(),
            cpu_stats,
            began_ns: 0,
            looked_ticks: 0,
            look_took: Duration::ZERO,
            looks: ThreadLooks::default(),
            threads_now: 0,
            last: Moment::default(),
            intervals: 0,
            runs: true,
        };
        running.tree.look(0);
        running.survey.look(running.tree.pids());
        running.survey.look_at_maps(running.tree.pids());
        running.began_ns = now_ns(ClockId::Monotonic);
        running.look();
        running.last = running.moment();
        running.looks = ThreadLooks::default();
        running
    }

    /// What is watched.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The disks whose counters are read.
    pub fn disks(&self) -> Vec<String> {
        self.disks.names()
    }

    /// Whether the program had not ended in the last look.
    pub fn runs(&self) -> bool {
        self.runs
    }

    /// How long to wait until the next look.
    pub fn pause(&self) -> Duration {
        PAUSE.max(self.look_took.saturating_mul(SHARE))
    }

    /// Time since the beginning.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(now_ns(ClockId::Monotonic).saturating_sub(self.began_ns))
    }

    /// Looks at the processes and at the states of their threads. Does nothing once the program has
    /// ended.
    pub fn look(&mut self) {
        if !self.runs {
            return;
        }
        let began_ns = now_ns(ClockId::Monotonic);
        let ticks = ticks_since_boot();
        self.runs = self.tree.look(self.looked_ticks);
        self.looked_ticks = ticks.saturating_sub(1);
        if self.runs {
            let states = States::of(self.tree.pids());
            self.threads_now = states.threads;
            self.count(states);
        }
        let took_ns = now_ns(ClockId::Monotonic).saturating_sub(began_ns);
        self.look_took = Duration::from_nanos(took_ns);
    }

    fn count(&mut self, states: States) {
        let looks = &mut self.looks;
        looks.count += 1;
        match states {
            States { running, .. } if running > 0 => looks.running += 1,
            States { blocked, .. } if blocked > 0 => looks.blocked += 1,
            States { threads, stopped, .. } if threads > 0 && stopped == threads => {
                looks.stopped += 1;
            }
            _ => {}
        }
    }

    /// What was counted since the last interval, or since the beginning.
    pub fn interval(&mut self) -> Interval {
        self.look();
        if self.runs {
            self.intervals += 1;
            self.survey.look(self.tree.pids());
            if self.intervals.is_multiple_of(MAPS_EVERY) {
                self.survey.look_at_maps(self.tree.pids());
            }
        }
        let now = self.moment();
        let before = std::mem::replace(&mut self.last, now);
        let lost = self.tree.take_lost();
        let looks = std::mem::take(&mut self.looks);
        Interval { lost, looks, ..self.since(&before) }
    }

    /// What was seen of open files.
    pub fn end(mut self) -> OpenFiles {
        if self.runs {
            self.survey.look(self.tree.pids());
            self.survey.look_at_maps(self.tree.pids());
        }
        self.survey.end()
    }

    fn moment(&self) -> Moment {
        let texts = self.cpu_stats.iter().filter_map(|path| std::fs::read_to_string(path).ok());
        Moment {
            at_ns: now_ns(ClockId::Monotonic),
            counts: self.tree.sum(),
            threads: threads::all(self.tree.pids()),
            disks: self.disks.read(),
            group: self.group.as_ref().and_then(|group| group.moved(&self.disks)),
            throttled_ns: texts
                .filter_map(|text| cgroup::parse_throttled(&text))
                .reduce(u64::saturating_add),
        }
    }

    /// What changed from `before` to the last moment.
    fn since(&self, before: &Moment) -> Interval {
        let now = &self.last;
        let processes = self.tree.pids().count();
        let hidden = self.tree.hidden();
        let counts = now.counts.since(before.counts);
        // The sum of none is not 0.
        let seen = |bytes: u64| Some(bytes).filter(|_| hidden < processes || processes == 0);
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let group = now.group.zip(before.group);
        let threads = ThreadsBetween::between(&before.threads, &now.threads);
        let [processes, hidden] = [processes, hidden].map(|count| count as u32);
        Interval {
            at_ns: now.at_ns.saturating_sub(self.began_ns),
            length_ns: now.at_ns.saturating_sub(before.at_ns),
            processes,
            threads: self.threads_now,
            hidden,
            lost: 0,
            read_bytes: seen(counts.read_bytes),
            write_bytes: seen(counts.write_bytes),
            cancelled_bytes: seen(counts.cancelled_bytes),
            read_call_bytes: seen(counts.read_call_bytes),
            write_call_bytes: seen(counts.write_call_bytes),
            read_calls: seen(counts.read_calls),
            write_calls: seen(counts.write_calls),
            user_ns: Some(counts.user_ticks.saturating_mul(tick_ns)),
            system_ns: Some(counts.system_ticks.saturating_mul(tick_ns)),
            busiest_thread_ns: threads.map(|threads| threads.busiest_ns),
            threads_cpu_ns: threads.map(|threads| threads.ran_ns),
            run_delay_ns: threads.map(|threads| threads.delay_ns),
            device_wait_ns: threads
                .filter(|_| counts_device_waits())
                .and_then(|threads| Some(threads.device_ticks?.saturating_mul(tick_ns))),
            major_faults: Some(counts.major_faults),
            throttled_ns: now
                .throttled_ns
                .zip(before.throttled_ns)
                .and_then(|(now, before)| now.checked_sub(before)),
            group_read_bytes: group.and_then(|(now, before)| now.0.checked_sub(before.0)),
            group_write_bytes: group.and_then(|(now, before)| now.1.checked_sub(before.1)),
            group_dirty_bytes: self.group.as_ref().and_then(ControlGroup::dirty),
            looks: ThreadLooks::default(),
            disks: now.disks.zip(before.disks).and_then(|(now, then)| disks::between(then, now)),
            machine_dirty_bytes: std::fs::read_to_string(machine::MEMINFO)
                .ok()
                .and_then(|text| machine::parse_dirty(&text)),
        }
    }
}

/// What threads did from one moment to another.
#[derive(Debug, Clone, Copy, Default)]
struct ThreadsBetween {
    busiest_ns: u64,
    ran_ns: u64,
    delay_ns: u64,
    /// `None` if none of them ever waited: the OS counts no waits of threads that began before it
    /// was told to count, and says 0 of them.
    device_ticks: Option<u64>,
}

impl ThreadsBetween {
    /// Of those that are there now; a new one counts from 0. `None` if the OS counts nothing.
    fn between(
        before: &BTreeMap<u32, ThreadTimes>,
        now: &BTreeMap<u32, ThreadTimes>,
    ) -> Option<ThreadsBetween> {
        now.values().find(|thread| thread.ran_ns > 0)?;
        let mut sum = ThreadsBetween::default();
        for (id, thread) in now {
            // A number that is used again has counted less.
            let same = before.get(id).filter(|then| then.ran_ns <= thread.ran_ns);
            let then = same.copied().unwrap_or_default();
            let ran_ns = thread.ran_ns.saturating_sub(then.ran_ns);
            sum.busiest_ns = sum.busiest_ns.max(ran_ns);
            sum.ran_ns = sum.ran_ns.saturating_add(ran_ns);
            sum.delay_ns =
                sum.delay_ns.saturating_add(thread.delay_ns.saturating_sub(then.delay_ns));
            let ticks = thread.device_ticks.saturating_sub(then.device_ticks);
            if thread.device_ticks > 0 {
                sum.device_ticks = Some(sum.device_ticks.unwrap_or(0).saturating_add(ticks));
            }
        }
        Some(sum)
    }
}

/// Whether the OS counts how long threads wait for devices. Without it, their counter stays 0.
pub fn counts_device_waits() -> bool {
    let text = std::fs::read_to_string("/proc/sys/kernel/task_delayacct").unwrap_or_default();
    text.trim() == "1"
}

/// Whether the OS lists the children of processes.
pub fn lists_children() -> bool {
    processes::descendants(std::process::id()).is_some()
}

/// How many processors the process or group may use.
pub fn processors(subject: &Subject) -> u32 {
    let allowed = match subject {
        Subject::Process { pid, .. } => cpus_of(*pid),
        Subject::Group { .. } => None,
    };
    let of_machine = || crate::placement::allowed().map_or(1, |cpus| cpus.len());
    u32::try_from(allowed.unwrap_or_else(of_machine)).unwrap_or(1).max(1)
}

fn cpus_of(pid: u32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let allowed = crate::placement::parse_cpus(list.trim())?;
    // Some kernels list processors that are not there.
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?;
    let online = crate::placement::parse_cpus(online.trim())?;
    Some(allowed.iter().filter(|cpu| online.contains(cpu)).count()).filter(|count| *count > 0)
}

/// Bytes of a page.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// CPU time of this program itself, in nanoseconds.
pub fn own_cpu_ns() -> u64 {
    now_ns(ClockId::ProcessCPUTime)
}

fn now_ns(clock: ClockId) -> u64 {
    let now = rustix::time::clock_gettime(clock);
    (now.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec as u64)
}

/// Ticks since the machine started, as start times of processes are told.
fn ticks_since_boot() -> u64 {
    let ns = now_ns(ClockId::Boottime);
    ns / (1_000_000_000 / rustix::param::clock_ticks_per_second())
}
