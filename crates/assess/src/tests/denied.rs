//! No finding fires whose own numbers deny it: whatever the counters say, each finding is checked
//! against them, by sums of its own.

use super::writing::{direct, flawless_write, over, unsynced};
use super::*;
use crate::finding::Code;
use crate::summary::{ServedBy, Summary};
use model::host::Medium;
use model::pattern::Pattern;
use model::plan::ROUNDS_MIN;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;

/// The sums over the trials of a record that are done, in bytes, and in nanoseconds.
struct Sums {
    moved: f64,
    task_read: f64,
    device_read: f64,
    holes: f64,
    wall_ns: f64,
    cpu_ns: f64,
    run_delay_ns: f64,
}

impl Sums {
    fn of(record: &Record) -> Sums {
        let done: Vec<(&Evidence, u64)> = done(record).collect();
        let sum = |of: &dyn Fn(&Evidence) -> Option<u64>| {
            done.iter().map(|(evidence, _)| of(evidence).unwrap_or(0) as f64).sum::<f64>()
        };
        let moved = (FILE as usize * done.len()) as f64;
        let layout = record.header.fixtures[0].layout.as_ref().expect("the zoo has a layout");
        Sums {
            moved,
            task_read: sum(&|evidence| evidence.task_read_bytes),
            device_read: sum(&|evidence| evidence.device_read_bytes),
            holes: moved * layout.unwritten as f64 / FILE as f64,
            wall_ns: done.iter().map(|(_, wall_ns)| *wall_ns as f64).sum(),
            cpu_ns: sum(&|evidence| evidence.cpu_ns),
            run_delay_ns: sum(&|evidence| evidence.run_delay_ns),
        }
    }
}

/// The counters of each trial that is done, and how long it took.
fn done(record: &Record) -> impl Iterator<Item = (&Evidence, u64)> {
    record.trials.iter().filter_map(|trial| {
        let span = &trial.sample()?.spans[0];
        Some((&trial.evidence, span.end_ns - span.start_ns))
    })
}

/// Whether some counter is more than this share of another one.
fn is_above(part: Option<u64>, whole: Option<u64>, share: f64) -> bool {
    part.zip(whole).is_some_and(|(part, whole)| part as f64 > share * whole as f64)
}

/// Whether rounds of these lengths differ by more than this factor.
fn differ(lengths_ns: &[u64], factor: f64) -> bool {
    let (least, most) = (lengths_ns.iter().min(), lengths_ns.iter().max());
    least.zip(most).is_some_and(|(least, most)| *most as f64 > factor * *least as f64)
}

/// Whether the record has what the finding says; `None` for one that no record here can have.
fn is_so(record: &Record, case: &Summary, code: Code) -> Option<bool> {
    let sums = Sums::of(record);
    let storage = record.header.storage.as_ref().expect("the zoo has a storage");
    let work = &record.header.plan.cases[0].case;
    let any = |is: &dyn Fn(&Evidence) -> bool| done(record).any(|(evidence, _)| is(evidence));
    let lengths_ns: Vec<u64> = done(record).map(|(_, wall_ns)| wall_ns).collect();
    let has = |option: &str| storage.mount_options.split(',').any(|known| known == option);
    let pages = |seen: Option<Residency>| seen.map_or(0, |seen| seen.cached);
    let is_so = match code {
        // What neither a device nor a hole gave.
        Code::CacheLeak => {
            let is_early = case.served_by == Some(ServedBy::Device);
            is_early || sums.moved - sums.task_read > sums.holes + 0.01 * sums.moved
        }
        Code::DirectIgnored => {
            let grew = any(&|it| pages(it.residency_after) > pages(it.residency_before));
            let is_leak = sums.moved - sums.task_read > sums.holes + 0.01 * sums.moved;
            let is_kept = any(&|it| it.device_write_bytes.is_some_and(|bytes| bytes < FILE));
            grew || if work.write().is_some() { is_kept } else { is_leak }
        }
        Code::NoIo => sums.holes > 0.0 || sums.task_read + sums.device_read == 0.0,
        Code::PartlyCached => {
            case.hit_share.is_some_and(|least| least < 0.99) && case.hit_share_most > Some(0.01)
        }
        Code::OverRead => sums.task_read > sums.moved,
        Code::NotWarm => {
            let is_part = |seen: Option<Residency>| seen.is_some_and(|seen| seen.cached < PAGES);
            sums.task_read > 0.0
                || any(&|it| is_part(it.residency_before) || is_part(it.residency_after))
        }
        Code::Ram => case.served_by == Some(ServedBy::Ram),
        Code::Unverified => case.served_by == Some(ServedBy::Unverified),
        Code::ThrottledWriteback => {
            let quota = record.header.host.memory_quota.unwrap_or(u64::MAX);
            let is_open = work.write() == Some(&unsynced());
            let is_held = |it: &Evidence| {
                let limit = it.dirty_limit.unwrap_or(u64::MAX).min(quota);
                let before = it.dirty_before.unwrap_or(0);
                let is_filled = is_open && FILE > quota;
                let at_end = it.dirty_after.unwrap_or(0);
                let most = if is_open && !is_filled { at_end } else { before + FILE };
                most >= limit / 2
            };
            !has("sync") && any(&is_held)
        }
        // With `data=journal`, a byte is written twice.
        Code::Foreign if work.write().is_some() => {
            let own = if has("data=journal") { 2 * FILE } else { FILE };
            let is_more = |it: &Evidence| it.device_write_bytes.is_some_and(|bytes| bytes > own);
            any(&is_more) || sums.device_read > sums.task_read
        }
        Code::Foreign => {
            sums.device_read > sums.task_read || any(&|it| it.device_write_bytes > Some(0))
        }
        Code::DirtyStart => any(&|it| it.dirty_before > Some(0)),
        Code::Compressed => any(&|it| it.device_write_bytes.is_some_and(|bytes| bytes < FILE)),
        Code::CacheKept => any(&|it| pages(it.residency_after) > pages(it.residency_before)),
        Code::CacheUnseen => {
            !any(&|it| it.residency_before.is_some() || it.residency_after.is_some())
        }
        Code::DigestMismatch => record.trials.iter().any(|trial| {
            let sample = trial.sample();
            let read = sample.zip(trial.expected_digest);
            read.is_some_and(|(sample, expected)| sample.digest() != Some(expected))
                || trial.read_back.is_some_and(|seen| seen.digest != seen.expected)
        }),
        // Each sync needs a flush, and each trial has one sync or more.
        Code::NotDurable => {
            storage.medium != Medium::Block
                || any(&|it| it.device_flushes == Some(0))
                || any(&|it| it.residency_after.is_some_and(|seen| seen.dirty > Some(0)))
        }
        Code::AcknowledgedOnly => work.write().is_some_and(|it| !it.sync.claims_durable()),
        Code::NearlyFull => is_above(storage.capacity, storage.free, 1.0 / 0.15),
        Code::PageSize => any(&|it| it.huge_bytes.is_some_and(|bytes| bytes < ARRAYS)),
        Code::CpuBound => sums.cpu_ns >= 0.9 * sums.wall_ns,
        Code::Throttled => any(&|it| it.throttled_ns > Some(0)),
        Code::Contended => sums.run_delay_ns > 0.0,
        Code::Swapped => any(&|it| it.swapped_bytes > Some(0)),
        Code::Steal => any(&|it| is_above(it.steal_ns, it.machine_cpu_ns, 0.01)),
        Code::Excluded => {
            any(&|it| is_above(it.steal_ns, it.machine_cpu_ns, 0.10))
                || any(&|it| it.throttled_ns > Some(0))
                || any(&|it| it.device_read_bytes > it.task_read_bytes)
                || any(&|it| pages(it.residency_after) < pages(it.residency_before))
        }
        Code::TooFew => case.n < ROUNDS_MIN as usize,
        Code::WideInterval => differ(&lengths_ns, 2.0),
        Code::FailedTrials => lengths_ns.len() < record.trials.len(),
        Code::TooShort => lengths_ns.iter().any(|ns| *ns < 100_000_000),
        Code::StepChange => differ(&lengths_ns, 1.05),
        Code::Drifting => differ(&lengths_ns, 1.0),
        // What no counter shows has no figure.
        Code::CountersUnseen => true,
        // Other axes, programs, nodes, places or rows make them, a user's own file, or what
        // happens within a trial. If one fires here, it must be checked, too.
        _ => return None,
    };
    Some(is_so)
}

fn share() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        Just(None),
        Just(Some(0.0)),
        Just(Some(1.0)),
        (0.0..3.0f64).prop_map(Some),
        (0.0..1.0f64).prop_map(Some),
    ]
}

/// What a record is made from.
#[derive(Debug, Clone)]
struct Given {
    work: Work,
    medium: Medium,
    options: &'static str,
    /// Shares of the file, one for each counter.
    shares: Vec<Option<f64>>,
    /// Per cent of its time for which the worker ran.
    busy: u64,
    /// What happens to the first rounds.
    disturbed: Disturbed,
}

/// What happens to some rounds, and not to the others.
#[derive(Debug, Clone)]
struct Disturbed {
    /// The number of these rounds, which come first.
    rounds: usize,
    /// The number of all rounds.
    all: usize,
    /// Of the undisturbed ones, how many fail.
    failed: usize,
    /// How many times as long a disturbed one takes.
    slow: f64,
    /// Shares of its time, or of the file.
    shares: Vec<Option<f64>>,
    flushes: Option<u64>,
    has_wrong_digest: bool,
    /// How much longer each round takes than the one before.
    drift: f64,
}

fn disturbed() -> impl Strategy<Value = Disturbed> {
    let slow = prop_oneof![Just(1.0), 0.02..1.0f64, 1.0..4.0f64];
    let all = (
        (0usize..=10, 1usize..=10, 0usize..=2),
        slow,
        proptest::collection::vec(share(), 5),
        prop_oneof![Just(None), (0u64..3).prop_map(Some)],
        proptest::bool::weighted(0.1),
        prop_oneof![Just(0.0), 0.0..0.1f64],
    );
    all.prop_map(|(counts, slow, shares, flushes, has_wrong_digest, drift)| {
        let (rounds, all, failed) = counts;
        Disturbed { rounds, all, failed, slow, shares, flushes, has_wrong_digest, drift }
    })
}

/// Makes a trial take so many times as long, with the same share of its time on a CPU.
fn lasts(trial: &mut Trial, times: f64) {
    let span = &mut sample(trial).spans[0];
    let before_ns = span.end_ns - span.start_ns;
    let wall_ns = (before_ns as f64 * times) as u64;
    span.synced_ns = span.synced_ns.map(|ns| ns - before_ns + wall_ns);
    span.end_ns = span.start_ns + wall_ns;
    let cpu_ns = trial.evidence.cpu_ns;
    trial.evidence.cpu_ns = cpu_ns.map(|ns| (ns as f64 * times) as u64);
}

/// Does that to a record.
fn disturb(record: &mut Record, given: &Disturbed) {
    record.trials.truncate(given.all);
    let storage = record.header.storage.as_mut().expect("the zoo has a storage");
    let free = given.shares[0].map(|share| share.min(1.0));
    storage.free = storage.capacity.zip(free).map(|(all, share)| (all as f64 * share) as u64);
    let drift = |round: u32| (1.0 + given.drift).powi(round as i32);
    each(record, |trial| lasts(trial, drift(trial.round)));
    let failed = record.trials.iter_mut().skip(given.rounds).take(given.failed);
    failed.for_each(|trial| trial.outcome = Outcome::Failed { reason: "it hangs".to_string() });
    for trial in record.trials.iter_mut().take(given.rounds) {
        lasts(trial, given.slow);
        let span = &mut sample(trial).spans[0];
        let wall_ns = span.end_ns - span.start_ns;
        if given.has_wrong_digest {
            span.digest = Some(7);
        }
        let of_time = |index: usize| given.shares[index].map(|it| (it * wall_ns as f64) as u64);
        let evidence = &mut trial.evidence;
        (evidence.window_ns, evidence.machine_cpu_ns) = (wall_ns, Some(wall_ns));
        (evidence.steal_ns, evidence.throttled_ns) = (of_time(1), of_time(2));
        evidence.run_delay_ns = of_time(3);
        evidence.swapped_bytes = given.shares[4].map(|share| (share * FILE as f64) as u64);
        evidence.device_flushes = given.flushes;
    }
}

fn given() -> impl Strategy<Value = Given> {
    let caches = vec![Cache::Cold, Cache::Direct, Cache::Warm, Cache::AsIs, Cache::DontCache];
    let of_read =
        (proptest::sample::select(caches), any::<bool>()).prop_map(|(cache, is_random)| {
            let pattern = if is_random { Pattern::Random } else { Pattern::Sequential };
            Work::Read(ReadWork { io: Io { pattern, ..work(cache).io }, ..work(cache) })
        });
    let writes = vec![over(), unsynced(), direct()];
    let of_write = proptest::sample::select(writes).prop_map(Work::Write);
    let media = vec![Medium::Block, Medium::Block, Medium::Ram, Medium::Unseen];
    let options = vec!["rw", "rw,sync", "rw,data=journal"];
    let all = (
        prop_oneof![4 => of_read, 3 => of_write, 1 => Just(memory_case(Kernel::Read, 1).work)],
        proptest::sample::select(media),
        proptest::sample::select(options),
        proptest::collection::vec(share(), 9),
        0u64..=100,
        disturbed(),
    );
    all.prop_map(|(work, medium, options, shares, busy, disturbed)| Given {
        work,
        medium,
        options,
        shares,
        busy,
        disturbed,
    })
}

fn record_of(given: &Given) -> Record {
    let mut record = match given.work {
        Work::Read(work) => flawless(work),
        Work::Write(work) => flawless_write(work),
        Work::Memory(_) => memory(),
        Work::Metadata(_) | Work::Command(_) => panic!("no such work is given"),
    };
    let bytes = |index: usize| given.shares[index].map(|share| (share * FILE as f64) as u64);
    let storage = record.header.storage.as_mut().expect("the zoo has a storage");
    (storage.medium, storage.mount_options) = (given.medium, given.options.to_string());
    let layout = record.header.fixtures[0].layout.as_mut().expect("the zoo has a layout");
    layout.unwritten = bytes(0).unwrap_or(0).min(FILE);
    record.header.host.memory_quota = bytes(1);
    let cached = bytes(8).and_then(|bytes| residency(PAGES.min(bytes / 4096)));
    // Before a cold trial, it is proved that nothing is cached.
    let cache = record.header.plan.cases[0].case.cache();
    let is_cold = matches!(cache, Some(Cache::Cold | Cache::DontCache));
    each(&mut record, |trial| {
        let span = &sample(trial).spans[0];
        let cpu_ns = (span.end_ns - span.start_ns) / 100 * given.busy;
        let evidence = &mut trial.evidence;
        evidence.cpu_ns = Some(cpu_ns);
        evidence.task_read_bytes = bytes(2);
        evidence.device_read_bytes = bytes(2).zip(bytes(3)).map(|(own, other)| own + other);
        evidence.device_write_bytes = bytes(4);
        (evidence.dirty_before, evidence.dirty_after) = (bytes(5), bytes(6));
        evidence.dirty_limit = bytes(7).map(|limit| 2 * limit);
        evidence.residency_before = if is_cold { residency(0) } else { cached };
        evidence.residency_after = cached;
        evidence.huge_bytes = bytes(8);
    });
    disturb(&mut record, &given.disturbed);
    record
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn no_finding_fires_whose_own_numbers_deny_it(given in given()) {
        let record = record_of(&given);
        let case = assess(&record).cases.remove(0);
        for found in &case.findings {
            let is_so = is_so(&record, &case, found.code);
            prop_assert_eq!(is_so, Some(true), "{}: {}", found.code, &found.message);
        }
        // The label says nothing that its share denies.
        let (least, most) = (case.hit_share, case.hit_share_most);
        match case.served_by {
            Some(ServedBy::Device | ServedBy::NoIo) => prop_assert!(most.unwrap_or(0.0) <= 0.01),
            Some(ServedBy::PageCache) => prop_assert!(least.unwrap_or(1.0) >= 0.99),
            _ => {}
        }
    }
}

/// Otherwise the property above would say nothing about some finding.
#[test]
fn each_finding_that_is_checked_is_in_some_of_these_records() {
    let mut runner = TestRunner::deterministic();
    let mut fired: BTreeSet<Code> = BTreeSet::new();
    let mut checked: BTreeSet<Code> = BTreeSet::new();
    for _ in 0..2_000 {
        let given = given().new_tree(&mut runner).expect("it has no filter").current();
        let record = record_of(&given);
        let case = assess(&record).cases.remove(0);
        fired.extend(case.findings.iter().map(|found| found.code));
        checked.extend(Code::ALL.iter().filter(|code| is_so(&record, &case, **code).is_some()));
    }
    assert_eq!(fired, checked);
}
