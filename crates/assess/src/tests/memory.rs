//! Findings across several memory rows: cache levels and saturation.

use super::*;
use crate::finding::Code;
use crate::summary::Summary;

/// Adds a chase for each working set and latency in nanoseconds.
fn chases(record: &mut Record, pages: Pages, threads: u32, points: &[(u64, u64)]) {
    for (working_set, ns) in points {
        let mut case = memory_case(Kernel::Chase, threads);
        if let Work::Memory(work) = &mut case.work {
            (work.working_set, work.pages, work.isa) = (*working_set, pages, Isa::Scalar);
        }
        // 64 bytes per load, and about one second per round.
        let bytes = 64 * 1_000_000_000 / ns * u64::from(threads);
        add(record, case, Role::Asked, bytes, 1.0, 0);
    }
}

fn ladder() -> Vec<(u64, u64)> {
    let ns = [2, 2, 2, 2, 5, 5, 5, 5, 20, 20, 20, 20, 20, 20, 100, 100];
    std::iter::successors(Some(4_096u64), |bytes| Some(bytes * 2)).zip(ns).collect()
}

#[test]
fn levels_are_those_of_one_page_size_and_one_thread() {
    let mut record = flawless(work(Cache::Warm));
    chases(&mut record, Pages::Huge, 1, &ladder());
    let flat: Vec<(u64, u64)> = ladder().iter().map(|(bytes, _)| (*bytes, 7)).collect();
    chases(&mut record, Pages::Base, 1, &flat);
    chases(&mut record, Pages::Base, 2, &ladder());
    let found = assess(&record).levels;
    assert_eq!(found.len(), 2, "{found:#?}");
    let [huge, base] = &found[..] else { unreachable!("there are two") };
    assert_eq!((huge.peer.as_str(), huge.pages, base.pages), ("rust", Pages::Huge, Pages::Base));
    let ends: Vec<u64> = huge.levels.iter().map(|level| level.to).collect();
    assert_eq!(ends, [32 << 10, 512 << 10, 32 << 20, 128 << 20]);
    let caches: Vec<Option<u32>> =
        huge.levels.iter().map(|level| level.cache.map(|cache| cache.number)).collect();
    assert_eq!(caches, [Some(1), Some(2), Some(3), None]);
    let ns: Vec<f64> = huge.levels.iter().map(|level| level.ns.round()).collect();
    assert_eq!(ns, [2.0, 5.0, 21.0, 105.0], "rounds drift by 4.5 % at their median");
    assert_eq!(base.levels.len(), 1);
}

#[test]
fn a_few_chases_are_no_ladder_and_void_ones_are_left_out() {
    let mut record = flawless(work(Cache::Warm));
    chases(&mut record, Pages::Huge, 1, &ladder()[..3]);
    assert_eq!(assess(&record).levels, []);
    chases(&mut record, Pages::Huge, 1, &ladder()[3..]);
    assert_eq!(assess(&record).levels.len(), 1);
    record.trials.retain(|trial| trial.case < 4);
    assert_eq!(assess(&record).levels, []);
}

/// The points are threads and GiB/s; the result is the number of threads that saturate memory.
fn saturates(points: &[(u32, u64)]) -> Option<(Option<u32>, u32)> {
    let mut record = flawless(work(Cache::Warm));
    for (threads, times) in points {
        add(&mut record, memory_case(Kernel::Read, *threads), Role::Asked, times * FILE, 1.0, 0);
    }
    let found = assess(&record).saturations;
    assert!(found.len() <= 1, "{found:#?}");
    found.first().map(|found| (found.threads, found.most_threads))
}

#[test]
fn memory_is_saturated_where_more_threads_give_no_more() {
    assert_eq!(saturates(&[(1, 100), (2, 200), (4, 300), (8, 305)]), Some((Some(4), 8)));
    assert_eq!(saturates(&[(1, 100), (2, 200), (4, 300), (8, 350)]), Some((None, 8)));
    assert_eq!(saturates(&[(1, 100), (2, 99), (4, 98)]), Some((Some(1), 4)));
    // More threads may even be slower.
    assert_eq!(saturates(&[(1, 100), (2, 200), (4, 150)]), Some((Some(2), 4)));
    assert_eq!(saturates(&[(2, 200)]), None);
}

#[test]
fn caches_and_other_loops_are_no_saturation_of_memory() {
    let mut record = flawless(work(Cache::Warm));
    for threads in [1, 2] {
        let mut case = memory_case(Kernel::Read, threads);
        if let Work::Memory(work) = &mut case.work {
            work.working_set = 1 << 20;
        }
        add(&mut record, case, Role::Asked, 100 * FILE, 1.0, 0);
    }
    add(&mut record, memory_case(Kernel::Count, 1), Role::Asked, 10 * FILE, 1.0, 0);
    add(&mut record, memory_case(Kernel::Copy, 2), Role::Asked, 10 * FILE, 1.0, 0);
    assert_eq!(assess(&record).saturations, []);
    add(&mut record, memory_case(Kernel::Count, 2), Role::Asked, 19 * FILE, 1.0, 0);
    let found = assess(&record).saturations;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kernel, found[0].threads), (Kernel::Count, None));
    let rate = |id: &str| case(&assess(&record), id).throughput.map_or(0.0, |t| t.median);
    assert_eq!(found[0].highest, rate("memory count avx2 128MiB t2"));
}

/// The latency ladder of a processor whose last cache holds 32 MiB, up to `most` bytes.
fn long_ladder(most: u64) -> Vec<(u64, u64)> {
    let sets = std::iter::successors(Some(4_096u64), |bytes| Some(bytes * 2));
    let ends = [(32 << 10, 2), (512 << 10, 5), (32 << 20, 20), (u64::MAX, 100)];
    let ns = |bytes| ends.iter().find(|(end, _)| bytes <= *end).map_or(100, |(_, ns)| *ns);
    sets.take_while(|bytes| *bytes <= most).map(|bytes| (bytes, ns(bytes))).collect()
}

/// A run on a machine with unknown cache sizes: two memory reads, one small and one of `large`
/// bytes. It also has a warm file, and chases up to `chased` bytes.
fn untold(large: u64, chased: Option<u64>) -> Record {
    let mut record = flawless(work(Cache::Warm));
    (record.header.host.last_level_cache, record.header.host.largest_cache) = (None, None);
    for working_set in [8 << 10, large] {
        let mut case = memory_case(Kernel::Read, 1);
        if let Work::Memory(work) = &mut case.work {
            work.working_set = working_set;
        }
        add(&mut record, case, Role::Baseline, 10 * FILE, 1.0, 0);
    }
    chases(&mut record, Pages::Huge, 1, &chased.map_or(Vec::new(), long_ladder));
    record
}

fn doubts_the_caches(record: &Record) -> Vec<String> {
    let judged = assess(record);
    let found = |summary: &&Summary| {
        summary.findings.iter().any(|found| found.code == Code::CacheSizeUnknown)
    };
    judged.cases.iter().filter(found).map(|summary| summary.id.clone()).collect()
}

#[test]
fn untold_caches_make_no_row_a_ceiling_of_memory() {
    let large = 2u64 << 30;
    // A ladder that ends where a cache may still be is not enough either.
    for chased in [None, Some(1 << 30)] {
        let record = untold(large, chased);
        let judged = assess(&record);
        assert!(judged.cases.iter().all(|case| !case.is_ceiling), "{chased:?}");
        assert!(judged.cases.iter().all(|case| case.ceiling.is_none()), "{chased:?}");
        let doubted = doubts_the_caches(&record);
        assert!(doubted.contains(&"memory read avx2 2GiB t1".to_string()), "{doubted:?}");
        // A small array does not claim to be in memory.
        assert!(!doubted.contains(&"memory read avx2 8KiB t1".to_string()), "{doubted:?}");
    }
}

#[test]
fn measured_levels_tell_what_the_os_does_not() {
    let record = untold(2 << 30, Some(4 << 30));
    assert_eq!(doubts_the_caches(&record), [] as [String; 0]);
    let judged = assess(&record);
    let is_ceiling = |id: &str| case(&judged, id).is_ceiling;
    assert!(is_ceiling("memory read avx2 2GiB t1"));
    assert!(!is_ceiling("memory read avx2 8KiB t1"));
    // Four times the smallest working set of the last level, which is memory.
    let is_far = |large| assess(&untold(large, Some(4 << 30))).cases.iter().any(|c| c.is_ceiling);
    assert!(is_far(256 << 20) && !is_far(255 << 20));
}

#[test]
fn told_caches_need_no_ladder() {
    let mut record = untold(2 << 30, None);
    record.header.host.last_level_cache = Some(32 << 20);
    assert_eq!(doubts_the_caches(&record), [] as [String; 0]);
    assert!(assess(&record).cases.iter().any(|case| case.is_ceiling));
}

/// Two sockets with eight caches of 32 MiB each.
#[test]
fn one_thread_has_one_cache_of_many() {
    let mut record = untold(ARRAYS, None);
    let host = &mut record.header.host;
    (host.last_level_cache, host.largest_cache) = (Some(512 << 20), Some(32 << 20));
    assert!(assess(&record).cases.iter().any(|case| case.is_ceiling));
    record.header.host.largest_cache = None;
    assert!(assess(&record).cases.iter().all(|case| !case.is_ceiling));
}

/// ARM with 64 KiB pages, whose huge pages have 512 MiB: no array of 128 MiB contains one.
#[test]
fn large_pages_are_no_fault_of_memory() {
    let sizes = |huge_page, working_set, huge_bytes| {
        let mut record = memory();
        let host = &mut record.header.host;
        (host.page, host.huge_page) = (64 << 10, huge_page);
        host.isas = vec![Isa::Scalar, Isa::Neon];
        if let Work::Memory(work) = &mut record.header.plan.cases[0].case.work {
            (work.working_set, work.isa) = (working_set, Isa::Neon);
        }
        evidence(&mut record, |evidence| evidence.huge_bytes = Some(huge_bytes));
        let found = assess(&record).cases[0].findings.clone();
        found.iter().any(|found| found.code == Code::PageSize)
    };
    let huge = Some(512 << 20);
    assert!(!sizes(huge, ARRAYS, 0), "an array is smaller than a huge page");
    assert!(!sizes(None, ARRAYS, 0), "by the tables of the processor");
    assert!(sizes(huge, 1 << 30, 0), "two would fit");
    assert!(!sizes(huge, 1 << 30, 1 << 30));
    // The remainder does not fill a huge page.
    assert!(!sizes(huge, (512 << 20) + (300 << 20), 512 << 20));
    assert!(sizes(Some(2 << 20), ARRAYS, 0), "where the OS has small ones");
}

#[test]
fn pages_of_an_unknown_size_are_not_judged() {
    let mut record = memory();
    evidence(&mut record, |evidence| evidence.huge_bytes = Some(0));
    let found = |record: &Record| {
        assess(record).cases[0].findings.iter().any(|found| found.code == Code::PageSize)
    };
    assert!(found(&record), "a record of the first version, of an x86");
    record.header.host.isas = vec![Isa::Scalar];
    assert!(!found(&record));
}
