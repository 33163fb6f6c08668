//! Threads that begin together and stay until all evidence about them has been read.
//!
//! A thread prepares, waits at the gate, runs the timed part, waits for the others, reports its
//! result and waits to be dismissed. No thread reports while others are being timed, because that
//! would take processor time from them. The last wait preserves evidence: once a thread ends, its
//! context switches and the pages of its memory can no longer be read. So everything it prepared
//! lives as long as it does.

use crate::engine::Obstacle;
use crate::gate::{Start, StartGate};
use crate::pins;
use crate::usage::{Counter, Reading};
use model::sample::{Span, Usage};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Barrier, PoisonError, RwLock, mpsc};
use std::thread;

/// What a thread prepared, and how it uses it.
pub trait TeamMember: Sized {
    /// The raw result of the timed part.
    type Timed;
    /// The result that it reports.
    type Report: Send;

    /// The timed part, and nothing else.
    fn perform(&mut self, start: &Start) -> Self::Timed;

    /// Stops its background threads at once.
    fn let_go(&mut self) {}

    /// Turns the result of the timed part into the reported one, after all threads are done.
    /// `counted` was read just before and just after the timed part.
    fn tell(
        &mut self,
        timed: Self::Timed,
        counted: ThreadCounters,
    ) -> Result<Self::Report, Obstacle>;
}

/// A thread's own counters, read just before and just after its timed part.
#[derive(Debug, Clone, Copy)]
pub struct ThreadCounters {
    /// Just before.
    pub begin: Reading,
    /// Just after.
    pub end: Reading,
}

impl ThreadCounters {
    /// Adds the difference to `span`.
    pub fn tell(self, span: Span) -> Span {
        self.begin.tell(self.end, span)
    }
}

/// Decides whether a team begins, and receives its results.
pub trait Conductor<T> {
    /// All threads are ready. Returns whether they begin; if not, [`Conductor::end`] is not called.
    fn begin(&mut self) -> bool;

    /// All threads are done and still exist, or one met an obstacle. `results` has one entry per
    /// thread, in order; `used` is what the process used while they worked.
    fn end(&mut self, results: Result<Vec<T>, Obstacle>, used: Usage);
}

/// Runs `count` threads. Each prepares with `prepare`; when all have and the conductor agrees, each
/// runs its timed part.
///
/// If a thread panics, the others wait forever, so a worker process aborts on panic.
pub fn run<M: TeamMember>(
    count: u32,
    prepare: impl Fn(u32) -> Result<M, Obstacle> + Sync,
    conductor: &mut impl Conductor<M::Report>,
) {
    let gate = StartGate::new(count);
    let at_work = AtomicU32::new(count);
    let all_done = Barrier::new(count as usize);
    // Releasing this lock dismisses any number of threads at once.
    let dismissed = RwLock::new(());
    let until_dismissed = dismissed.write().unwrap_or_else(PoisonError::into_inner);
    let (tell_ready, hear_ready) = mpsc::channel::<Result<(), Obstacle>>();
    let (tell_result, hear_result) = mpsc::channel::<(u32, Result<M::Report, Obstacle>)>();
    thread::scope(|scope| {
        let mut start = |thread| {
            let (tell_ready, tell_result) = (tell_ready.clone(), tell_result.clone());
            let (gate, at_work, all_done, dismissed) = (&gate, &at_work, &all_done, &dismissed);
            let prepare = &prepare;
            let body = move || {
                let counter = Counter::of_this_thread();
                let (mut own, told) = match pins::take(thread).and_then(|()| prepare(thread)) {
                    Ok(own) => (Some(own), Ok(())),
                    Err(obstacle) => (None, Err(obstacle)),
                };
                tell_ready.send(told).expect("the conductor listens until all are dismissed");
                if let (true, Some(own)) = (gate.pass(), &mut own) {
                    let begin = counter.read();
                    let timed = own.perform(gate.start());
                    let end = counter.read();
                    if at_work.fetch_sub(1, Ordering::AcqRel) == 1 {
                        gate.used().end();
                    }
                    own.let_go();
                    all_done.wait();
                    let result = (thread, own.tell(timed, ThreadCounters { begin, end }));
                    tell_result
                        .send(result)
                        .expect("the conductor listens until all are dismissed");
                }
                drop(tell_result);
                drop(dismissed.read());
                drop(own);
            };
            thread::Builder::new().spawn_scoped(scope, body).map(drop).map_err(|error| {
                let all = "raise 'ulimit -u' or the control group's limit";
                let text =
                    format!("starting thread {} of {count} failed: {error}: {all}", thread + 1);
                Obstacle::Failed(text)
            })
        };
        let started = (0..count).try_for_each(&mut start);
        drop(tell_result);
        let ready = started.and_then(|()| hear_ready.iter().take(count as usize).collect());
        let begins = ready.is_ok() && conductor.begin();
        gate.decide(begins);
        let mut results: Vec<_> = hear_result.iter().collect();
        results.sort_by_key(|(thread, _)| *thread);
        let used = gate.used().usage();
        match ready {
            Ok(()) if begins => conductor.end(results.into_iter().map(|(_, r)| r).collect(), used),
            Ok(()) => {}
            Err(obstacle) => conductor.end(Err(obstacle), used),
        }
        drop(until_dismissed);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Script {
        begins: bool,
        began: bool,
        heard: Vec<Result<Vec<u32>, Obstacle>>,
    }

    impl Conductor<u32> for Script {
        fn begin(&mut self) -> bool {
            self.began = true;
            self.begins
        }

        fn end(&mut self, results: Result<Vec<u32>, Obstacle>, _: Usage) {
            self.heard.push(results);
        }
    }

    impl TeamMember for u32 {
        type Timed = u32;
        type Report = u32;

        fn perform(&mut self, _: &Start) -> u32 {
            *self * 11
        }

        fn tell(&mut self, timed: u32, _: ThreadCounters) -> Result<u32, Obstacle> {
            Ok(timed)
        }
    }

    fn check(script: Script, prepare: impl Fn(u32) -> Result<u32, Obstacle> + Sync) -> Script {
        let mut script = script;
        run(4, prepare, &mut script);
        script
    }

    #[test]
    fn results_come_in_the_order_of_threads() {
        let script = check(Script { begins: true, ..Script::default() }, Ok);
        assert_eq!(script.heard, [Ok(vec![0, 11, 22, 33])]);
    }

    #[test]
    fn nobody_begins_when_the_conductor_says_no() {
        let script = check(Script::default(), Ok);
        assert!(script.began && script.heard.is_empty());
    }

    /// Counts the instances that exist.
    struct Present<'a>(&'a AtomicU32);

    impl Drop for Present<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    impl TeamMember for Present<'_> {
        type Timed = ();
        type Report = ();

        fn perform(&mut self, _: &Start) {}

        fn tell(&mut self, (): (), _: ThreadCounters) -> Result<(), Obstacle> {
            Ok(())
        }
    }

    struct Audience<'a>(&'a AtomicU32);

    impl Conductor<()> for Audience<'_> {
        fn begin(&mut self) -> bool {
            true
        }

        fn end(&mut self, results: Result<Vec<()>, Obstacle>, _: Usage) {
            assert!(results.is_ok());
            assert_eq!(self.0.load(Ordering::SeqCst), 4);
        }
    }

    #[test]
    fn what_was_prepared_is_there_until_all_was_heard() {
        let present = AtomicU32::new(0);
        let prepare = |_| {
            present.fetch_add(1, Ordering::SeqCst);
            Ok(Present(&present))
        };
        run(4, prepare, &mut Audience(&present));
        assert_eq!(present.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn one_that_cannot_prepare_stops_all() {
        let obstacle = || Obstacle::Unavailable("thread 2 has no hands".to_string());
        let script = check(Script { begins: true, ..Script::default() }, |thread| {
            if thread == 2 { Err(obstacle()) } else { Ok(thread) }
        });
        assert!(!script.began);
        assert_eq!(script.heard, [Err(obstacle())]);
    }

    /// Has an instant timed part, but takes long to report.
    struct Talker;

    impl TeamMember for Talker {
        type Timed = ();
        type Report = Reading;

        fn perform(&mut self, _: &Start) {}

        fn tell(&mut self, (): (), counted: ThreadCounters) -> Result<Reading, Obstacle> {
            let counter = Counter::of_this_thread();
            let spent = |begin: Reading| begin.tell(counter.read(), Span::default()).cpu_ns;
            let begin = counter.read();
            while spent(begin) < Some(TALK_NS) {}
            Ok(counted.begin)
        }
    }

    const TALK_NS: u64 = 30_000_000;

    #[derive(Default)]
    struct Patient {
        used: Usage,
        told: Vec<Reading>,
    }

    impl Conductor<Reading> for Patient {
        fn begin(&mut self) -> bool {
            true
        }

        fn end(&mut self, results: Result<Vec<Reading>, Obstacle>, used: Usage) {
            (self.used, self.told) = (used, results.expect("nobody meets an obstacle"));
        }
    }

    #[test]
    fn what_is_told_afterwards_is_not_counted() {
        let mut patient = Patient::default();
        run(3, |_| Ok(Talker), &mut patient);
        assert_eq!(patient.told.len(), 3);
        // The threads report for 90 ms in total. What remains is the time spent passing the gate.
        assert!(patient.used.cpu_ns.is_some_and(|ns| ns < TALK_NS), "{:?}", patient.used);
    }
}
