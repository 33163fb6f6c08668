//! What several rows of memory show together: levels and saturation.

use super::*;

/// Chases by one thread, each with its working set and the nanoseconds of a load.
fn chases(record: &mut Record, pages: Pages, threads: u32, points: &[(u64, u64)]) {
    for (working_set, ns) in points {
        let mut case = memory_case(Kernel::Chase, threads);
        if let Work::Memory(work) = &mut case.work {
            (work.working_set, work.pages, work.isa) = (*working_set, pages, Isa::Scalar);
        }
        // 64 bytes a load, and a round lasts about a second.
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

/// Threads and their throughput in GiB a second; what is found is the threads that are enough.
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
    // More threads may even give less.
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
