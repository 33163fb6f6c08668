//! No finding fires whose own numbers deny it: whatever the counters say, each finding is checked
//! against them, by sums of its own.

use super::writing::{direct, flawless_write, over, unsynced};
use super::*;
use crate::finding::Code;
use crate::summary::{ServedBy, Summary};
use model::host::Medium;
use model::pattern::Pattern;
use proptest::prelude::*;

/// The sums over the trials of a record, in bytes.
struct Sums {
    moved: f64,
    task_read: f64,
    device_read: f64,
    holes: f64,
}

impl Sums {
    fn of(record: &Record) -> Sums {
        let sum = |of: &dyn Fn(&Evidence) -> Option<u64>| {
            record.trials.iter().map(|trial| of(&trial.evidence).unwrap_or(0) as f64).sum::<f64>()
        };
        let moved = (FILE as usize * record.trials.len()) as f64;
        let layout = record.header.fixtures[0].layout.as_ref().expect("the zoo has a layout");
        Sums {
            moved,
            task_read: sum(&|evidence| evidence.task_read_bytes),
            device_read: sum(&|evidence| evidence.device_read_bytes),
            holes: moved * layout.unwritten as f64 / FILE as f64,
        }
    }
}

/// Whether the record has what the finding says; true for those that no number here can deny.
fn is_so(record: &Record, case: &Summary, code: Code) -> bool {
    let sums = Sums::of(record);
    let storage = record.header.storage.as_ref().expect("the zoo has a storage");
    let any = |is: &dyn Fn(&Evidence) -> bool| record.trials.iter().any(|it| is(&it.evidence));
    let has = |option: &str| storage.mount_options.split(',').any(|known| known == option);
    let pages = |seen: Option<Residency>| seen.map_or(0, |seen| seen.cached);
    match code {
        // What neither a device nor a hole gave.
        Code::CacheLeak => {
            let is_early = case.served_by == Some(ServedBy::Device);
            is_early || sums.moved - sums.task_read > sums.holes + 0.01 * sums.moved
        }
        Code::DirectIgnored => {
            let grew = any(&|it| pages(it.residency_after) > pages(it.residency_before));
            let is_leak = sums.moved - sums.task_read > sums.holes + 0.01 * sums.moved;
            let is_kept = any(&|it| it.device_write_bytes.is_some_and(|bytes| bytes < FILE));
            grew || if record.header.plan.cases[0].case.write().is_some() {
                is_kept
            } else {
                is_leak
            }
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
            let is_open = record.header.plan.cases[0].case.write() == Some(&unsynced());
            let is_held = |it: &Evidence| {
                let limit = it.dirty_limit.unwrap_or(u64::MAX).min(quota);
                let before = it.dirty_before.unwrap_or(0);
                let most = if is_open { it.dirty_after.unwrap_or(0) } else { before + FILE };
                most >= limit / 2
            };
            !has("sync") && any(&is_held)
        }
        // With `data=journal`, a byte is written twice.
        Code::Foreign if record.header.plan.cases[0].case.write().is_some() => {
            let own = if has("data=journal") { 2 * FILE } else { FILE };
            let is_more = |it: &Evidence| it.device_write_bytes.is_some_and(|bytes| bytes > own);
            any(&is_more) || sums.device_read > sums.task_read
        }
        Code::Foreign => {
            sums.device_read > sums.task_read || any(&|it| it.device_write_bytes > Some(0))
        }
        Code::DirtyStart => any(&|it| it.dirty_before > Some(0)),
        Code::Compressed => any(&|it| it.device_write_bytes.is_some_and(|bytes| bytes < FILE)),
        _ => true,
    }
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
}

fn given() -> impl Strategy<Value = Given> {
    let caches = vec![Cache::Cold, Cache::Direct, Cache::Warm, Cache::AsIs];
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
        prop_oneof![of_read, of_write],
        proptest::sample::select(media),
        proptest::sample::select(options),
        proptest::collection::vec(share(), 9),
        0u64..=100,
    );
    all.prop_map(|(work, medium, options, shares, busy)| Given {
        work,
        medium,
        options,
        shares,
        busy,
    })
}

fn record_of(given: &Given) -> Record {
    let mut record = match given.work {
        Work::Read(work) => flawless(work),
        Work::Write(work) => flawless_write(work),
        Work::Metadata(_) | Work::Memory(_) => panic!("no such work is given"),
    };
    let bytes = |index: usize| given.shares[index].map(|share| (share * FILE as f64) as u64);
    let storage = record.header.storage.as_mut().expect("the zoo has a storage");
    (storage.medium, storage.mount_options) = (given.medium, given.options.to_string());
    let layout = record.header.fixtures[0].layout.as_mut().expect("the zoo has a layout");
    layout.unwritten = bytes(0).unwrap_or(0).min(FILE);
    record.header.host.memory_quota = bytes(1);
    let cached = bytes(8).and_then(|bytes| residency(PAGES.min(bytes / 4096)));
    // Before a cold trial, it is proved that nothing is cached.
    let is_cold = record.header.plan.cases[0].case.cache() == Some(Cache::Cold);
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
    });
    record
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn no_finding_fires_whose_own_numbers_deny_it(given in given()) {
        let record = record_of(&given);
        let case = assess(&record).cases.remove(0);
        for found in &case.findings {
            prop_assert!(is_so(&record, &case, found.code), "{}: {}", found.code, found.message);
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
