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
    let found = assess(&record).conclusions.levels;
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
    assert_eq!(assess(&record).conclusions.levels, []);
    chases(&mut record, Pages::Huge, 1, &ladder()[3..]);
    assert_eq!(assess(&record).conclusions.levels.len(), 1);
    record.trials.retain(|trial| trial.case < 4);
    assert_eq!(assess(&record).conclusions.levels, []);
}

/// What serves the arrays of a `kernel`, and the cache's level, on a machine with `change`d caches
/// of 32 KiB, 512 KiB and 32 MiB.
fn serves(
    (kernel, working_set, threads): (Kernel, u64, u32),
    change: impl FnOnce(&mut Record),
) -> (&'static str, Option<u32>) {
    let mut record = flawless(work(Cache::Warm));
    let mut case = memory_case(kernel, threads);
    if let Work::Memory(work) = &mut case.work {
        work.working_set = working_set;
    }
    let id = case.id();
    add(&mut record, case, Role::Asked, FILE, 1.0, 0);
    change(&mut record);
    let judged = assess(&record);
    let summary = super::case(&judged, &id);
    (summary.served_by.expect("it was measured").name(), summary.level)
}

const CPU_CACHE: &str = "cpu-cache";
const EITHER: &str = "cpu-cache-or-ram";

#[test]
fn arrays_are_served_by_the_cache_that_holds_them() {
    let check = |kernel, bytes, threads, expected| {
        let found = serves((kernel, bytes, threads), |_| {});
        assert_eq!(found, expected, "{kernel} {bytes} t{threads}");
    };
    for (bytes, expected) in [
        (8 << 10, (CPU_CACHE, Some(1))),
        (32 << 10, (CPU_CACHE, Some(1))),
        // Partly in the first level.
        (64 << 10, (CPU_CACHE, None)),
        (128 << 10, (CPU_CACHE, Some(2))),
        (512 << 10, (CPU_CACHE, Some(2))),
        (1 << 20, (CPU_CACHE, None)),
        (2 << 20, (CPU_CACHE, Some(3))),
        (32 << 20, (CPU_CACHE, Some(3))),
        // Partly in the last cache: neither is claimed.
        ((32 << 20) + 4_096, (EITHER, None)),
        ((128 << 20) - 4_096, (EITHER, None)),
        (128 << 20, ("ram", None)),
    ] {
        check(Kernel::Read, bytes, 1, expected);
        check(Kernel::Chase, bytes, 1, expected);
        check(Kernel::Copy, bytes, 1, expected);
    }
    // Each of two threads may have a first level of its own.
    check(Kernel::Read, 32 << 10, 2, (CPU_CACHE, Some(1)));
    check(Kernel::Read, 128 << 10, 2, (CPU_CACHE, None));
    check(Kernel::Read, 256 << 10, 2, (CPU_CACHE, Some(2)));
    // Three arrays of whole pages are more than was asked for.
    check(Kernel::Triad, 24 << 10, 1, (CPU_CACHE, Some(1)));
    check(Kernel::Triad, 32 << 10, 1, (CPU_CACHE, None));
}

#[test]
fn what_bypasses_the_caches_is_not_served_by_them() {
    let check = |kernel, bytes, expected| {
        assert_eq!(serves((kernel, bytes, 1), |_| {}), (expected, None), "{kernel} {bytes}");
    };
    for kernel in [Kernel::WriteNt, Kernel::CopyNt, Kernel::TriadNt, Kernel::FirstTouch] {
        check(kernel, 8 << 10, EITHER);
        check(kernel, 128 << 20, "ram");
    }
    // A line of each page is 2 MiB of these, and 128 MiB of those.
    check(Kernel::TouchPages, 128 << 20, EITHER);
    check(Kernel::ReadPages, 8 << 30, "ram");
}

#[test]
fn where_sizes_are_unknown_arrays_are_served_by_either() {
    let untold = |record: &mut Record| {
        let host = &mut record.header.host;
        (host.last_level_cache, host.largest_cache) = (None, None);
        host.caches.clear();
    };
    for bytes in [8 << 10, 1 << 20, 128 << 20, 2 << 30] {
        assert_eq!(serves((Kernel::Read, bytes, 1), untold), (EITHER, None), "{bytes}");
    }
    let chased = |record: &mut Record| {
        untold(record);
        chases(record, Pages::Huge, 1, &long_ladder(4 << 30));
    };
    assert_eq!(serves((Kernel::Read, 8 << 10, 1), chased), (EITHER, None));
    assert_eq!(serves((Kernel::Read, 2 << 30, 1), chased), ("ram", None));
    // A server with private caches alone may have one more that is in no table.
    let private = |record: &mut Record| {
        untold(record);
        record.header.host.caches = vec![64 << 10, 1 << 20];
    };
    assert_eq!(serves((Kernel::Read, 64 << 10, 1), private), (CPU_CACHE, Some(1)));
    assert_eq!(serves((Kernel::Read, 128 << 20, 1), private), (EITHER, None));
}

#[test]
fn several_last_caches_are_not_one() {
    let sockets = |record: &mut Record| {
        let host = &mut record.header.host;
        (host.last_level_cache, host.largest_cache) = (Some(512 << 20), Some(32 << 20));
    };
    assert_eq!(serves((Kernel::Read, 32 << 20, 16), sockets), (CPU_CACHE, Some(3)));
    // It depends on where the threads run.
    assert_eq!(serves((Kernel::Read, 64 << 20, 16), sockets), (EITHER, None));
    assert_eq!(serves((Kernel::Read, 128 << 20, 1), sockets), ("ram", None));
    assert_eq!(serves((Kernel::Read, 128 << 20, 2), sockets), (EITHER, None));
}

#[test]
fn latencies_deny_a_cache_that_only_its_size_suggests() {
    let chased = |ends: [(u64, u64); 3]| {
        move |record: &mut Record| {
            let sets = std::iter::successors(Some(4_096u64), |bytes| Some(bytes * 2));
            let ns = |bytes| ends.iter().find(|(end, _)| bytes <= *end).map_or(100, |(_, ns)| *ns);
            let points: Vec<(u64, u64)> =
                sets.take_while(|bytes| *bytes <= 128 << 20).map(|it| (it, ns(it))).collect();
            chases(record, Pages::Huge, 1, &points);
        }
    };
    let of = |bytes, ends| serves((Kernel::Read, bytes, 1), chased(ends));
    let all = [(32 << 10, 2), (512 << 10, 5), (32 << 20, 20)];
    assert_eq!(of(8 << 20, all), (CPU_CACHE, Some(3)));
    // Others use most of the last cache: from 8 MiB on, loads take as long as from memory.
    let little = [(32 << 10, 2), (512 << 10, 5), (4 << 20, 20)];
    assert_eq!(of(8 << 20, little), (EITHER, None));
    assert_eq!(of(4 << 20, little), (CPU_CACHE, Some(3)));
    // No first level is seen, but some cache is.
    let unclear = [(16 << 10, 5), (512 << 10, 5), (32 << 20, 20)];
    assert_eq!(of(8 << 10, unclear), (CPU_CACHE, None));
}

#[test]
fn a_twin_is_served_by_the_same() {
    let mut record = flawless(work(Cache::Warm));
    let mut case = memory_case(Kernel::Read, 1);
    if let Work::Memory(work) = &mut case.work {
        work.working_set = 8 << 10;
    }
    for role in [Role::Asked, Role::Twin] {
        add(&mut record, case.clone(), role, FILE, 1.0, 0);
    }
    let twins = assess(&record).twins;
    let served = twins.iter().map(|twin| (twin.served_by.map(|by| by.name()), twin.level));
    assert_eq!(served.collect::<Vec<_>>(), [(Some(CPU_CACHE), Some(1))]);
}

/// A cache that names a level whose loads take nearly as long as those from memory would join its
/// name to memory's latency.
#[test]
fn the_latency_of_memory_has_no_name_of_a_cache() {
    let named = |last_ns: u64| {
        let mut record = flawless(work(Cache::Warm));
        let ends = [(32 << 10, 2), (512 << 10, 5), (32 << 20, 60), (128 << 20, last_ns)];
        let sets = std::iter::successors(Some(4_096u64), |bytes| Some(bytes * 2));
        let ns = |bytes| ends.iter().find(|(end, _)| bytes <= *end).map_or(0, |(_, ns)| *ns);
        let points: Vec<(u64, u64)> =
            sets.map(|it| (it, ns(it))).take_while(|(_, ns)| *ns > 0).collect();
        chases(&mut record, Pages::Huge, 1, &points);
        let found = assess(&record).conclusions.levels.remove(0).levels;
        found.iter().map(|level| level.cache.map(|cache| cache.number)).collect::<Vec<_>>()
    };
    assert_eq!(named(130), [Some(1), Some(2), Some(3), None]);
    assert_eq!(named(110), [Some(1), Some(2), None, None]);
}

/// The estimate of the bus for ordinary stores of a `kernel`, beside non-temporal ones.
fn bus_of(kernel: Kernel, rate: u64, non_temporal: Option<u64>) -> (Option<f64>, bool) {
    let mut record = flawless(work(Cache::Warm));
    add(&mut record, memory_case(kernel, 1), Role::Asked, rate * FILE, 1.0, 0);
    if let Some(rate) = non_temporal {
        let kernel = kernel.non_temporal().expect("it stores");
        add(&mut record, memory_case(kernel, 1), Role::Asked, rate * FILE, 1.0, 0);
    }
    let judged = assess(&record);
    let summary = case(&judged, &memory_case(kernel, 1).id());
    let rate = summary.throughput.expect("it is sound").median;
    (summary.bus.map(|bus| (bus.median / rate * 100.0).round() / 100.0), summary.lacks_bus())
}

#[test]
fn stores_that_are_as_fast_as_non_temporal_ones_have_no_estimate_of_the_bus() {
    for (kernel, factor) in [(Kernel::Write, 2.0), (Kernel::Copy, 1.5), (Kernel::Triad, 1.33)] {
        assert_eq!(bus_of(kernel, 100, None), (Some(factor), false), "{kernel}");
        assert_eq!(bus_of(kernel, 100, Some(150)), (Some(factor), false), "{kernel}");
        assert_eq!(bus_of(kernel, 100, Some(107)), (Some(factor), false), "{kernel}");
        for as_fast in [104, 100, 80] {
            assert_eq!(bus_of(kernel, 100, Some(as_fast)), (None, true), "{kernel} {as_fast}");
        }
    }
    // Another loop, or other pages, contradict nothing.
    let mut record = flawless(work(Cache::Warm));
    add(&mut record, memory_case(Kernel::Write, 1), Role::Asked, FILE, 1.0, 0);
    add(&mut record, memory_case(Kernel::CopyNt, 1), Role::Asked, FILE, 1.0, 0);
    add(&mut record, memory_case(Kernel::WriteNt, 2), Role::Asked, FILE, 1.0, 0);
    let judged = assess(&record);
    assert!(judged.cases.iter().all(|case| case.bus.is_some() == case.case.memory().is_some()));
}

/// The points are threads and GiB/s; the result is the number of threads that saturate memory.
fn saturates(points: &[(u32, u64)]) -> Option<(Option<u32>, u32)> {
    let mut record = flawless(work(Cache::Warm));
    for (threads, times) in points {
        add(&mut record, memory_case(Kernel::Read, *threads), Role::Asked, times * FILE, 1.0, 0);
    }
    let found = assess(&record).conclusions.saturations;
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
fn threads_that_give_most_of_it_nearly_saturate_memory() {
    let mut record = flawless(work(Cache::Warm));
    for (kernel, points) in
        [(Kernel::Read, [(1, 340), (2, 370)]), (Kernel::Count, [(1, 100), (2, 185)])]
    {
        for (threads, times) in points {
            add(&mut record, memory_case(kernel, threads), Role::Asked, times * FILE, 1.0, 0);
        }
    }
    let found = assess(&record).conclusions.saturations;
    let told: Vec<_> = found.iter().map(|it| (it.kernel, it.threads, it.nearly)).collect();
    assert_eq!(told, [(Kernel::Read, None, 1), (Kernel::Count, None, 2)]);
    let [reads, counts] = &found[..] else { unreachable!("there are two") };
    assert_eq!(reads.of_reads, None, "they are the fastest reads");
    assert_eq!(counts.of_reads.map(|share| (share * 100.0).round()), Some(50.0));
    let rates = reads.steps.iter().map(|step| (step.threads, step.throughput));
    let expected = [1, 2].map(|threads| {
        let id = memory_case(Kernel::Read, threads).id();
        (threads, case(&assess(&record), &id).throughput.expect("it is sound").median)
    });
    assert_eq!(rates.collect::<Vec<_>>(), expected);
    // Another instruction set reads faster with one thread: reads still have no yardstick.
    let mut case = memory_case(Kernel::Read, 1);
    if let Work::Memory(work) = &mut case.work {
        work.isa = Isa::Sse2;
    }
    add(&mut record, case, Role::Asked, 400 * FILE, 1.0, 0);
    let of_reads: Vec<bool> =
        assess(&record).conclusions.saturations.iter().map(|it| it.of_reads.is_some()).collect();
    assert_eq!(of_reads, [false, true]);
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
    assert_eq!(assess(&record).conclusions.saturations, []);
    add(&mut record, memory_case(Kernel::Count, 2), Role::Asked, 19 * FILE, 1.0, 0);
    let found = assess(&record).conclusions.saturations;
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
