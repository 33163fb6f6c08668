//! Says which hosts the others wait for.

use super::meeting::MAKING;
use crate::nodelist::some;
use crate::progress::{NextTrial, RunEnd};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

/// A host that others wait for so long is named, and again each time that this doubles.
const LATE: Duration = Duration::from_secs(5);

/// The same if no host has answered: what they do may take that long.
const ALL_LATE: Duration = Duration::from_secs(30);

/// How often progress is told.
const MINUTE: Duration = Duration::from_secs(60);

/// What hosts are to do, and how long that takes.
#[derive(Clone, Copy)]
pub(super) struct ExpectedWork {
    /// What they do.
    pub(super) what: &'static str,
    /// How long it takes where nothing is wrong, besides what is short.
    pub(super) time: Duration,
    /// After this time, a host is lost.
    pub(super) patience: Duration,
}

/// New files of all hosts.
pub(super) const MAKE: ExpectedWork =
    ExpectedWork { what: "make its files", time: Duration::ZERO, patience: MAKING };

/// Says how far a run is, and which hosts the others wait for. A disk that hangs keeps a host busy
/// that still gives signs of life, so it is not lost until its time is over (docs/hosts.md).
pub struct LateHosts<'a> {
    say: Box<dyn Fn(&str) + Sync + 'a>,
    /// After this time, hosts are named next.
    after: Mutex<Duration>,
    progress: Mutex<ToldProgress>,
}

/// What is known of a run that is told once a minute.
struct ToldProgress {
    /// After this time, it is told next.
    next: Duration,
    /// The trials that were finished before, once one starts.
    done_before: Option<u64>,
}

impl<'a> LateHosts<'a> {
    /// With `say` to say so.
    pub fn new(say: impl Fn(&str) + Sync + 'a) -> LateHosts<'a> {
        LateHosts {
            say: Box::new(say),
            after: Mutex::new(LATE),
            progress: Mutex::new(ToldProgress { next: MINUTE, done_before: None }),
        }
    }

    /// Says how far a run is, once a minute, when its next trial begins and so much time has
    /// `elapsed` since the first: how many are done here, or how much is left of its time.
    pub(super) fn tell_progress(&self, next: &NextTrial, elapsed: Duration) {
        let mut told = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *told.done_before.get_or_insert(next.done);
        let (done, all) = (next.done - before, next.planned.saturating_sub(before));
        let is_timed = matches!(next.ends, RunEnd::Time { .. });
        if elapsed < told.next || done == 0 || (done >= all && !is_timed) {
            return;
        }
        told.next = elapsed.saturating_add(MINUTE);
        drop(told);
        if let RunEnd::Time { passed, given } = next.ends {
            let left = report::about(given.saturating_sub(passed));
            return (self.say)(&format!("{done} trials are done, {left} left"));
        }
        let left = elapsed.as_secs_f64() * (all - done) as f64 / done as f64;
        let left = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
        (self.say)(&format!("{done} of {all} trials are done, {} left", report::about(left)));
    }

    /// Says something else of hosts.
    pub fn note(&self, text: &str) {
        (self.say)(text);
    }

    /// Another host may be the next.
    pub(super) fn begin_anew(&self) {
        *self.after.lock().unwrap_or_else(PoisonError::into_inner) = LATE;
    }

    /// Names those that are waited for, if that takes `since` and others have answered.
    pub fn tell<'n>(
        &self,
        (since, answered): (Duration, usize),
        names: impl Iterator<Item = &'n str>,
        what: &str,
    ) {
        let mut after = self.after.lock().unwrap_or_else(PoisonError::into_inner);
        let least = if answered > 0 { LATE } else { ALL_LATE };
        if since < least.max(*after) {
            return;
        }
        *after = since.saturating_mul(2);
        drop(after);
        let names: Vec<&str> = names.collect();
        (self.say)(&format!(
            "waiting for {} to {what}, for {} s so far",
            some(&names),
            since.as_secs()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Case, Work};
    use model::zoo;
    use std::sync::Arc;

    #[test]
    fn progress_is_told_once_a_minute() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let says = said.clone();
        let late = LateHosts::new(move |text| says.lock().unwrap().push(text.to_owned()));
        let case = Case::own(Work::Read(zoo::plain()));
        for (done, seconds) in [(0, 0), (1, 5), (9, 59), (10, 61), (11, 100), (20, 122), (40, 300)]
        {
            // Before it was resumed, it had done 3.
            let (done, planned, ends) = (done + 3, 43, RunEnd::Rounds(10));
            let next = NextTrial { done, planned, round: 0, ends, case: &case, rates: &[] };
            late.tell_progress(&next, Duration::from_secs(seconds));
        }
        let expected = [
            "10 of 40 trials are done, about 3m 10s left",
            "20 of 40 trials are done, about 2m 10s left",
        ];
        assert_eq!(*said.lock().unwrap(), expected);
    }

    #[test]
    fn a_run_that_is_given_a_time_tells_how_much_is_left_of_it() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let says = said.clone();
        let late = LateHosts::new(move |text| says.lock().unwrap().push(text.to_owned()));
        let [minute, hour] = [60, 3600].map(Duration::from_secs);
        // The planned rounds are over, and it is resumed: an hour had passed before.
        let passed = hour.saturating_add(minute);
        let ends = RunEnd::Time { passed, given: hour.saturating_mul(3) };
        let case = Case::own(Work::Read(zoo::plain()));
        for done in [40, 80] {
            let next = NextTrial { done, planned: 80, round: 0, ends, case: &case, rates: &[] };
            late.tell_progress(&next, minute);
        }
        assert_eq!(*said.lock().unwrap(), ["40 trials are done, about 1h 59m left"]);
    }

    #[test]
    fn hosts_are_named_after_a_while_and_each_time_it_doubles() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let says = said.clone();
        let late = LateHosts::new(move |text| says.lock().unwrap().push(text.to_owned()));
        let tell = |seconds: u64, answered: usize| {
            let since = Duration::from_secs(seconds);
            late.tell((since, answered), ["b", "c"].into_iter(), "prepare");
        };
        [1, 4, 5, 6, 9, 10, 15].into_iter().for_each(|seconds| tell(seconds, 1));
        let lines = ["5 s so far", "10 s so far"]
            .map(|end| format!("waiting for b, c to prepare, for {end}"));
        assert_eq!(*said.lock().unwrap(), lines);
        late.begin_anew();
        // Where all take long, there is none that the others wait for.
        tell(20, 0);
        assert_eq!(said.lock().unwrap().len(), 2);
        tell(30, 0);
        tell(30, 1);
        assert_eq!(said.lock().unwrap().len(), 3);
        let many: Vec<String> = (0..10).map(|number| format!("n{number}")).collect();
        late.begin_anew();
        late.tell((LATE, 1), many.iter().map(String::as_str), "prepare");
        assert!(said.lock().unwrap()[3].contains("n4, n5 and 4 more to"), "{said:?}");
    }
}
