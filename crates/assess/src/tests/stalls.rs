//! Operations that take far longer than the others.

use super::writing::{direct, flawless_write, over};
use super::*;
use model::case::{Advice, Io};
use model::pattern::Pattern;

const MS: u64 = 1_000_000;

/// Operations of 1 ms in every trial, plus `count` of `ms` each.
fn stalls(count: u64, ms: u64) -> impl Fn(&mut Record) {
    move |record| {
        each(record, |trial| {
            let counts = vec![(MS, 1_000), (ms * MS, count)];
            sample(trial).latencies = Latencies { counts, max_ns: ms * MS };
        });
    }
}

/// A direct case has 1 000 operations of 1 ms: a stall takes at least 100 ms.
#[test]
fn stalled() {
    let record = || flawless(work(Cache::Direct));
    check(record(), stalls(1, 99), "sound device:");
    check(record(), stalls(1, 101), "sound device: Stalled note");
    check(record(), stalls(1, 110), "sound device: Stalled note");
    check(record(), stalls(1, 112), "doubtful device: Stalled doubt");
    check(record(), stalls(3, 200), "doubtful device: Stalled doubt");
    // One operation in ten is not exceptional.
    check(record(), stalls(110, 200), "doubtful device: Stalled doubt");
    check(record(), stalls(112, 200), "sound device:");
    // In one trial of ten, it is a hundredth of the total time.
    let once = |ms: u64| {
        move |record: &mut Record| {
            stalls(0, 100)(record);
            let counts = vec![(MS, 1_000), (ms * MS, 1)];
            sample(&mut record.trials[3]).latencies = Latencies { counts, max_ns: ms * MS };
        }
    };
    check(record(), once(100), "sound device:");
    check(record(), once(103), "sound device: Stalled note");
    let mut record = record();
    once(250)(&mut record);
    let message = assess(&record).cases[0].findings[0].message.clone();
    let expected = "1 of 10001 operations took 100 ms or more, up to 250 ms, and together 2.44 % \
                    of all operations' time (in 1 of 10 trials)";
    assert!(message.starts_with(expected), "{message}");
}

/// The effect of a stall on a steady load, by hand. 2 % of the requests arrive during a 200 ms
/// stall in ten seconds, and wait 100 ms on average. 1 % arrive in its first half, and wait longer
/// than that.
#[test]
fn stalls_tell_what_an_arriving_load_would_wait() {
    let mut record = flawless(work(Cache::Direct));
    each(&mut record, |trial| {
        let counts = vec![(MS, 9_800), (200 * MS, 1)];
        sample(trial).latencies = Latencies { counts, max_ns: 200 * MS };
    });
    let message = assess(&record).cases[0].findings[0].message.clone();
    let expected = "If requests arrived steadily, 2.00 % of them would meet such a stall and wait \
                    100 ms for its end on average; 1 in 100 of all would wait 100 ms or longer";
    assert!(message.contains(expected), "{message}");
}

/// Other processes interrupt short operations: below 10 ms, that is not a stall.
#[test]
fn a_stall_is_ten_milliseconds_at_least() {
    let of_micros = |stall_ns: u64| {
        move |record: &mut Record| {
            each(record, |trial| {
                let counts = vec![(1_000, 200_000), (stall_ns, 1)];
                sample(trial).latencies = Latencies { counts, max_ns: stall_ns };
            });
        }
    };
    check(flawless(work(Cache::Warm)), of_micros(9_900_000), "sound page-cache:");
    check(flawless(work(Cache::Warm)), of_micros(10_100_000), "sound page-cache: Stalled note");
    check(flawless(work(Cache::Warm)), of_micros(30_000_000), "doubtful page-cache: Stalled doubt");
}

/// With readahead, one operation waits for many: that is not a stall.
#[test]
fn waiting_for_readahead_is_no_stall() {
    let cold = |pattern| {
        flawless(ReadWork { io: Io { pattern, ..work(Cache::Cold).io }, ..work(Cache::Cold) })
    };
    check(cold(Pattern::Sequential), stalls(3, 900), "sound device:");
    check(cold(Pattern::Strided), stalls(3, 900), "sound device:");
    check(cold(Pattern::Random), stalls(3, 900), "doubtful device: Stalled doubt");
    check(flawless(work(Cache::Direct)), stalls(3, 900), "doubtful device: Stalled doubt");
    // Page cache hits do not wait for readahead, whatever the case claims.
    check(flawless(work(Cache::AsIs)), stalls(3, 900), "doubtful page-cache: Stalled doubt");
    // With WillNeed, the first operation may wait for the data of many.
    let (pattern, advice) = (Pattern::Random, Advice::WillNeed);
    let asked =
        ReadWork { io: Io { pattern, ..work(Cache::Cold).io }, advice, ..work(Cache::Cold) };
    check(flawless(asked), stalls(3, 900), "sound device:");
}

#[test]
fn stalls_of_writers() {
    check(flawless_write(direct()), stalls(3, 900), "doubtful device: Stalled doubt");
    check(flawless_write(direct()), stalls(3, 90), "sound device:");
    // The OS throttles buffered writers on purpose.
    check(flawless_write(over()), stalls(3, 900), "sound device:");
}

/// Operations without latencies cannot stall.
#[test]
fn no_latencies_no_stalls() {
    let untold = |r: &mut Record| each(r, |trial| sample(trial).latencies = Latencies::default());
    check(flawless(work(Cache::Direct)), untold, "sound device:");
    check(memory(), stalls(3, 900), "sound ram:");
    let mut null = flawless(work(Cache::AsIs));
    null.header.plan.cases[0].case = null_case();
    check(null, stalls(3, 900), "sound no-io:");
}
