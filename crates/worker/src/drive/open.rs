//! The open loop: operations begin when they are due, whatever became of those before.
//!
//! Between the barrier and the end it makes one more system call than the closed loop: the sleep
//! before an operation that is not due for a while. Near that time, it spins.

use super::{Consume, Done, LoopState, ThreadPlan, begin_pass, reap, submit, sync};
use crate::clock::Clock;
use crate::engine::BlockIo;
use crate::meter::Meter;
use crate::progress::ProgressLog;
use model::arrival::{Arrivals, Due};
use model::io::Io;
use model::sample::{Latencies, PROGRESS_NS, Span};
use rustix::thread::{Timespec, nanosleep};
use std::io;

/// A thread sleeps until this long before an operation is due: waking up takes tens of
/// microseconds, and on a virtual machine more.
const SPIN_NS: u64 = 100_000;

/// One thread's schedule and what became of it, allocated before the clock starts.
#[derive(Debug)]
pub(super) struct Schedule {
    /// The schedule from its beginning.
    schedule: Arrivals,
    /// The schedule of operations that no sync has answered so far.
    unanswered: Arrivals,
    answered: u64,
    /// Whether every block was moved, and none may be moved again.
    is_done: bool,
    responses: Meter,
    /// Completed operations in each step.
    completed: ProgressLog,
    /// Slots without an operation in flight.
    free: Vec<usize>,
    /// When the operation in each slot was due.
    due: Box<[u64]>,
    start_ns: u64,
    time_ns: u64,
    spin_ns: u64,
    /// The time in which nothing was in flight, and no operation was due.
    paused_ns: u64,
    /// The part of it by which sleeps were too long.
    overslept_ns: u64,
    /// The sum of the times from when an operation was due until it was submitted.
    lag_ns: u64,
}

impl Schedule {
    pub(super) fn new(schedule: Arrivals, io: &Io) -> Schedule {
        Schedule {
            unanswered: schedule.clone(),
            schedule,
            answered: 0,
            is_done: false,
            responses: Meter::new(),
            completed: ProgressLog::new(io.time, io.threads),
            free: (0..io.depth as usize).rev().collect(),
            due: vec![0; io.depth as usize].into_boxed_slice(),
            start_ns: 0,
            time_ns: 0,
            spin_ns: 0,
            paused_ns: 0,
            overslept_ns: 0,
            lag_ns: 0,
        }
    }

    pub(super) fn responses(&self) -> Latencies {
        self.responses.latencies()
    }

    /// Adds what became of the schedule to a completed `span`.
    pub(super) fn tell(&self, span: Span) -> Span {
        // Both are counted in one pass: a schedule may have a thousand million operations.
        let mut due = self.schedule.clone().due();
        let backlog = self.backlog(&span, &mut due);
        let unsent =
            if self.is_done { 0 } else { due.until(self.time_ns).saturating_sub(span.ops) };
        Span {
            unsent,
            spin_ns: self.spin_ns,
            paused_ns: Some(self.paused_ns),
            overslept_ns: self.overslept_ns,
            lag_ns: Some(self.lag_ns),
            backlog,
            ..span
        }
    }

    /// Operations due but not completed at the end of each whole step.
    fn backlog(&self, span: &Span, due: &mut Due) -> Vec<u64> {
        let mut completed = self.completed.steps(span.end_ns - span.start_ns, span.ops);
        completed.pop();
        let mut done = 0;
        let at_end = |(step, ops): (u64, u64)| {
            done += ops;
            due.until(self.time_ns.min((step + 1) * PROGRESS_NS)).saturating_sub(done)
        };
        (0..).zip(completed).map(at_end).collect()
    }

    /// Waits until `until_ns` and returns the time.
    #[inline(never)]
    fn wait(&mut self, clock: Clock, until_ns: u64) -> u64 {
        let mut now = clock.now_ns();
        let early_ns = until_ns.saturating_sub(now).saturating_sub(SPIN_NS);
        self.paused_ns += until_ns.saturating_sub(now);
        if early_ns > 0 {
            let awake_ns = now + early_ns;
            sleep(early_ns);
            now = clock.now_ns();
            self.overslept_ns += now.min(until_ns).saturating_sub(awake_ns);
        }
        while now < until_ns {
            std::hint::spin_loop();
            let before = std::mem::replace(&mut now, clock.now_ns());
            self.spin_ns += spun_ns(now - before);
        }
        now
    }

    /// The first `ops` operations are durable at `now`: only then has each its answer.
    #[inline(never)]
    pub(super) fn answer(&mut self, now: u64, ops: u64) {
        for _ in self.answered..ops {
            let due_ns = self.start_ns + self.unanswered.next_ns();
            self.responses.record(now.saturating_sub(due_ns));
        }
        self.answered = ops;
    }

    /// Moves blocks as they fall due, until the time is up, or once each if the plan does not
    /// repeat. Operations in flight at the end are completed and counted.
    #[inline(always)]
    pub(super) fn drive<E: BlockIo, L: Consume>(
        &mut self,
        io: &mut E,
        plan: &ThreadPlan,
        consumer: &mut L,
        clock: Clock,
        state: &mut LoopState,
        done: &mut Done,
    ) -> io::Result<()> {
        let count = plan.visits.count();
        let mut agenda = OpenClock::new(self.schedule.clone(), clock.now_ns(), done.time_ns);
        (self.start_ns, self.time_ns) = (agenda.start, done.time_ns);
        state.progress.start(agenda.start);
        self.completed.start(agenda.start);
        loop {
            agenda.now = begin_pass(io, clock, agenda.now, done)?;
            let (mut submitted, mut reaped, before) = (0u64, 0u64, done.ops);
            loop {
                let stop =
                    if E::WRITES { count.min(state.syncs.due(plan) - before) } else { count };
                let has_room = |in_flight: u64| in_flight < plan.depth as u64;
                while submitted < stop && has_room(submitted - reaped) && agenda.is_due() {
                    let slot = self.free.pop().expect("fewer are in flight than there are slots");
                    self.due[slot] = agenda.due;
                    self.lag_ns += agenda.now - agenda.due;
                    submit(io, plan, state, slot, submitted, agenda.now)?;
                    submitted += 1;
                    agenda.next();
                }
                if submitted == reaped {
                    if E::WRITES && done.ops == state.syncs.due(plan) {
                        agenda.now = sync(io, clock, state, done.ops)?;
                        self.answer(agenda.now, done.ops);
                    } else if reaped == count {
                        break;
                    } else if agenda.is_over() {
                        self.wait(clock, agenda.end);
                        return Ok(());
                    } else {
                        agenda.now = self.wait(clock, agenda.due);
                    }
                    continue;
                }
                let may_begin =
                    submitted < stop && has_room(submitted - reaped) && !agenda.is_over();
                if may_begin && !self.is_ready(io, clock, &mut agenda)? {
                    continue;
                }
                let slot;
                (slot, agenda.now) = reap(io, consumer, clock, state, done)?;
                if !plan.is_answered_by_sync() {
                    self.responses.record(agenda.now.saturating_sub(self.due[slot]));
                }
                self.completed.reach(agenda.now, done.ops);
                self.free.push(slot);
                reaped += 1;
                done.ops = before + reaped;
            }
            if !plan.repeats || count == 0 {
                self.is_done = true;
                return Ok(());
            }
        }
    }

    /// Waits for a completion until about the time at which the next operation is due. Returns
    /// whether there is one.
    #[inline(always)]
    fn is_ready<E: BlockIo>(
        &mut self,
        io: &mut E,
        clock: Clock,
        agenda: &mut OpenClock,
    ) -> io::Result<bool> {
        let early_ns = agenda.due.saturating_sub(agenda.now).saturating_sub(SPIN_NS);
        if io.is_ready(early_ns)? {
            return Ok(true);
        }
        let since = std::mem::replace(&mut agenda.now, clock.now_ns());
        self.spin_ns += if early_ns == 0 { spun_ns(agenda.now - since) } else { 0 };
        Ok(false)
    }
}

/// The longest time between two readings of the clock while spinning. In a longer one, the thread
/// did not run.
const SPUN_MOST_NS: u64 = 10_000;

/// The CPU time of spinning between two readings of the clock.
#[inline(always)]
fn spun_ns(gap_ns: u64) -> u64 {
    if gap_ns <= SPUN_MOST_NS { gap_ns } else { 0 }
}

/// The clock and the schedule of a running loop.
struct OpenClock {
    schedule: Arrivals,
    now: u64,
    /// When the next operation is due.
    due: u64,
    start: u64,
    end: u64,
}

impl OpenClock {
    fn new(schedule: Arrivals, start: u64, time_ns: u64) -> OpenClock {
        let end = start.saturating_add(time_ns);
        let mut agenda = OpenClock { schedule, now: start, due: start, start, end };
        agenda.next();
        agenda
    }

    /// Goes on to the next operation.
    #[inline(always)]
    fn next(&mut self) {
        self.due = self.start.saturating_add(self.schedule.next_ns());
    }

    /// Whether the next operation is due, in time.
    #[inline(always)]
    fn is_due(&self) -> bool {
        self.due <= self.now && self.now < self.end
    }

    /// Whether nothing more may begin.
    #[inline(always)]
    fn is_over(&self) -> bool {
        self.due >= self.end || self.now >= self.end
    }
}

fn sleep(ns: u64) {
    let time =
        Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
    // A signal ends it sooner; then the loop spins.
    let _ = nanosleep(&time);
}
