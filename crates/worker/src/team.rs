//! Threads that begin together and stay until everything about them has been read.
//!
//! A thread's life: prepare, wait at the barrier, do the timed part, wait until it is dismissed.
//! The last wait is there for the evidence: the context switches of a thread that has ended can
//! no longer be read, nor what pages its memory had. So what it prepared stays as long as it does.

use crate::engine::Obstacle;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;

/// Whoever tells a team when to begin and hears what came of it.
pub trait Conductor<T> {
    /// All threads are ready: shall they begin? If not, nothing more is heard of them.
    fn begin(&mut self) -> bool;

    /// All threads are done, and still there; or one met an obstacle. One result a thread, in
    /// their order.
    fn end(&mut self, results: Result<Vec<T>, Obstacle>);
}

/// Runs `count` threads. Each makes its own things with `prepare` and, when all have and the
/// conductor says so, does its timed part with `perform`.
///
/// A panic of a thread leaves the others waiting for ever: a worker process aborts on panic.
pub fn run<P, T: Send>(
    count: u32,
    prepare: impl Fn(u32) -> Result<P, Obstacle> + Sync,
    perform: impl Fn(u32, &mut P) -> Result<T, Obstacle> + Sync,
    conductor: &mut impl Conductor<T>,
) {
    let barrier = Barrier::new(count as usize + 1);
    let dismissed = Barrier::new(count as usize + 1);
    let go = AtomicBool::new(false);
    let (tell_ready, hear_ready) = mpsc::channel::<Result<(), Obstacle>>();
    let (tell_result, hear_result) = mpsc::channel::<(u32, Result<T, Obstacle>)>();
    thread::scope(|scope| {
        for thread in 0..count {
            let (tell_ready, tell_result) = (tell_ready.clone(), tell_result.clone());
            let (barrier, dismissed, go) = (&barrier, &dismissed, &go);
            let (prepare, perform) = (&prepare, &perform);
            scope.spawn(move || {
                let (mut own, told) = match prepare(thread) {
                    Ok(own) => (Some(own), Ok(())),
                    Err(obstacle) => (None, Err(obstacle)),
                };
                tell_ready.send(told).expect("the conductor hears until all are dismissed");
                barrier.wait();
                if let (true, Some(own)) = (go.load(Ordering::Acquire), &mut own) {
                    let result = (thread, perform(thread, own));
                    tell_result.send(result).expect("the conductor hears until all are dismissed");
                }
                drop(tell_result);
                dismissed.wait();
                drop(own);
            });
        }
        drop(tell_result);
        let ready = hear_ready.iter().take(count as usize).collect::<Result<(), Obstacle>>();
        let begins = ready.is_ok() && conductor.begin();
        go.store(begins, Ordering::Release);
        barrier.wait();
        let mut results: Vec<_> = hear_result.iter().collect();
        results.sort_by_key(|(thread, _)| *thread);
        match ready {
            Ok(()) if begins => conductor.end(results.into_iter().map(|(_, r)| r).collect()),
            Ok(()) => {}
            Err(obstacle) => conductor.end(Err(obstacle)),
        }
        dismissed.wait();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

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

        fn end(&mut self, results: Result<Vec<u32>, Obstacle>) {
            self.heard.push(results);
        }
    }

    fn check(script: Script, prepare: impl Fn(u32) -> Result<u32, Obstacle> + Sync) -> Script {
        let mut script = script;
        run(4, prepare, |thread, own| Ok(thread * 10 + *own), &mut script);
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

    /// Counts those that are there.
    struct Present<'a>(&'a AtomicU32);

    impl Drop for Present<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    struct Audience<'a>(&'a AtomicU32);

    impl Conductor<()> for Audience<'_> {
        fn begin(&mut self) -> bool {
            true
        }

        fn end(&mut self, results: Result<Vec<()>, Obstacle>) {
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
        run(4, prepare, |_, _| Ok(()), &mut Audience(&present));
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
}
