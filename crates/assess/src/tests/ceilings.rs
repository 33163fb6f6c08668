//! Rates compared with their ceilings: the shares, and rates above a ceiling.

use super::writing::{flawless_write, unsynced};
use super::*;
use crate::finding::{Code, Verdict};
use crate::summary::{Ceiling, CeilingKind, ServedBy, Summary};
use model::case::{Advice, BufferPages, Io};

/// A warm file, then two memory ceilings: 10 times as much with one thread, 16 times with two.
/// Tests add their case at the end.
fn base() -> Record {
    let mut record = flawless(work(Cache::Warm));
    for (threads, times) in [(1, 10), (2, 16)] {
        let case = memory_case(Kernel::Read, threads);
        add(&mut record, case, Role::Baseline, times * FILE, 1.0, 0);
    }
    record
}

/// `memory_case` with a changed work and peer.
fn memory_like(
    kernel: Kernel,
    threads: u32,
    change: impl FnOnce(&mut MemoryWork),
    peer: &str,
) -> Case {
    let mut case = memory_case(kernel, threads);
    case.peer = peer.to_string();
    if let Work::Memory(work) = &mut case.work {
        change(work);
    }
    case
}

fn loading(advice: Advice, cache: Cache) -> ReadWork {
    let engine = if advice == Advice::Populate { Engine::Mmap } else { Engine::Load };
    ReadWork { engine, advice, ..work(cache) }
}

fn last_asked(record: &Record) -> Summary {
    let assessment = assess(record);
    let mut asked = assessment.cases.into_iter().filter(|case| case.role == Role::Asked);
    asked.next_back().expect("one was asked for")
}

/// The ceiling share and the findings of the last case that was asked for.
fn held(record: &Record) -> String {
    let case = last_asked(record);
    let share = match case.ceiling {
        Some(Ceiling { kind, share }) => format!("{share:.2} of {kind}"),
        None => "none".to_string(),
    };
    let found: Vec<String> =
        case.findings.iter().map(|f| format!("{} {}", f.code, f.severity)).collect();
    format!("{share}: {}", found.join(", ")).trim_end().to_string()
}

#[test]
fn what_bounds_others_is_a_ceiling_and_has_none() {
    let mut record = base();
    add(&mut record, memory_case(Kernel::Count, 1), Role::Asked, 8 * FILE, 1.0, 0);
    for case in assess(&record).cases {
        let kernel = case.case.memory().map(|work| work.kernel);
        // The two-thread read bounds no other, but nothing bounds it: it is the fastest one.
        assert_eq!(case.is_ceiling, kernel == Some(Kernel::Read), "{}", case.id);
        assert!(!(case.is_ceiling && case.ceiling.is_some()), "{}", case.id);
    }
}

#[test]
fn every_loop_over_memory_is_a_share_of_the_fastest_that_does_the_same() {
    let of = |others: Vec<(Case, u64)>, case: Case, times: u64| {
        let mut record = base();
        for (case, times) in others {
            add(&mut record, case, Role::Asked, times * FILE, 1.0, 0);
        }
        add(&mut record, case, Role::Asked, times * FILE, 1.0, 0);
        held(&record)
    };
    let scalar = |work: &mut MemoryWork| work.isa = Isa::Scalar;
    let base_pages = |work: &mut MemoryWork| work.pages = Pages::Base;
    // Counting is bounded by the fastest loop over those bytes, which may be another count.
    assert_eq!(of(vec![], memory_case(Kernel::Count, 1), 8), "0.80 of memory:");
    let faster = || (memory_case(Kernel::Count, 1), 16);
    let slower = memory_like(Kernel::Count, 1, scalar, "rust");
    assert_eq!(of(vec![faster()], slower, 8), "0.50 of memory:");
    assert_eq!(
        of(vec![faster()], memory_like(Kernel::Read, 1, scalar, "rust"), 4),
        "0.25 of memory:"
    );
    // Copies by the fastest copy, writes by the fastest write, triads by the fastest triad.
    for [one, other] in [
        [Kernel::Write, Kernel::WriteNt],
        [Kernel::Copy, Kernel::CopyNt],
        [Kernel::Triad, Kernel::TriadNt],
    ] {
        assert_eq!(of(vec![], memory_case(one, 1), 40), "none:", "{one}");
        let bounded = of(vec![(memory_case(other, 1), 40)], memory_case(one, 1), 30);
        assert_eq!(bounded, "0.75 of memory:", "{one}");
        let none = of(vec![(memory_case(one, 1), 30)], memory_case(other, 1), 40);
        assert_eq!(none, "none:", "{other}");
    }
    // Base pages by base pages.
    let base_read = || memory_like(Kernel::Read, 1, base_pages, "rust");
    assert_eq!(of(vec![], base_read(), 5), "none:");
    let base_count = memory_like(Kernel::Count, 1, base_pages, "rust");
    assert_eq!(of(vec![(base_read(), 5)], base_count, 4), "0.80 of memory:");
    assert_eq!(
        of(vec![], memory_like(Kernel::Read, 1, |_| {}, "zebra"), 5),
        "0.50 of memory: BytesUnchecked note"
    );
    // A chase has no bulk rate, and small arrays stay in the CPU caches at any rate.
    assert_eq!(of(vec![], memory_case(Kernel::Chase, 1), 1), "none:");
    let small = |work: &mut MemoryWork| work.working_set = ARRAYS - 4096;
    for times in [5, 50] {
        let case = memory_like(Kernel::Count, 1, small, "rust");
        assert_eq!(of(vec![], case, times), "none:");
    }
}

/// Only this program's loops over huge pages beyond the CPU caches bound what is in the page cache.
#[test]
fn nothing_else_bounds_the_page_cache() {
    let small = |work: &mut MemoryWork| work.working_set = ARRAYS - 4096;
    let base_pages = |work: &mut MemoryWork| work.pages = Pages::Base;
    for case in [
        memory_like(Kernel::Read, 1, small, "rust"),
        memory_like(Kernel::Read, 1, base_pages, "rust"),
        memory_like(Kernel::Read, 1, |_| {}, "zebra"),
        memory_case(Kernel::Copy, 1),
        memory_case(Kernel::WriteNt, 1),
    ] {
        let mut record = flawless(work(Cache::Warm));
        add(&mut record, case, Role::Baseline, 10 * FILE, 1.0, 0);
        let warm = &assess(&record).cases[0];
        assert_eq!((warm.ceiling, warm.of_memory), (None, None));
    }
}

#[test]
fn what_is_in_the_caches_is_not_compared_with_memory() {
    let small = |work: &mut MemoryWork| work.working_set = 1 << 20;
    let mut record = base();
    let case = memory_like(Kernel::Read, 1, small, "rust");
    add(&mut record, case, Role::Asked, 40 * FILE, 1.0, 0);
    let case = last_asked(&record);
    assert_eq!((case.ceiling, case.of_memory, case.bus), (None, None, None));
    assert_eq!(case.verdict, Verdict::Sound, "{:#?}", case.findings);
}

/// A ceiling needs at least as many threads as the case, or as many as there are processors.
#[test]
fn a_ceiling_is_of_as_many_threads_or_more() {
    let of = |reads: &[(u32, u64)], threads| {
        let mut record = flawless(work(Cache::Warm));
        for (threads, times) in reads {
            let case = memory_case(Kernel::Read, *threads);
            add(&mut record, case, Role::Baseline, times * FILE, 1.0, 0);
        }
        add(
            &mut record,
            memory_like(Kernel::Count, threads, |_| {}, "zebra"),
            Role::Asked,
            8 * FILE,
            1.0,
            0,
        );
        held(&record)
    };
    assert_eq!(of(&[(1, 10), (2, 16)], 2), "0.50 of memory: BytesUnchecked note");
    assert_eq!(of(&[(1, 10), (4, 16)], 2), "0.50 of memory: BytesUnchecked note");
    assert_eq!(of(&[(1, 10), (2, 16)], 4), "0.50 of memory: BytesUnchecked note");
    // A one-thread ceiling does not bound two threads when there are two processors.
    assert_eq!(of(&[(1, 4)], 2), "none: BytesUnchecked note");
}

#[test]
fn above_its_ceiling() {
    let of = |case: Case, tenths: u64| {
        let mut record = base();
        add(&mut record, case, Role::Asked, tenths * FILE / 10, 1.0, 0);
        held(&record)
    };
    let count = || memory_like(Kernel::Count, 1, |_| {}, "zebra");
    assert_eq!(of(count(), 99), "0.99 of memory: BytesUnchecked note");
    assert_eq!(of(count(), 103), "1.03 of memory: BytesUnchecked note, AboveCeiling note");
    assert_eq!(of(count(), 107), "1.07 of memory: AboveCeiling void, BytesUnchecked note");
    // Its own loop that is faster is the ceiling.
    assert_eq!(of(memory_case(Kernel::Count, 1), 107), "none:");
    let lying = memory_like(Kernel::Count, 1, |_| {}, "zebra");
    assert_eq!(of(lying, 200), "2.00 of memory: AboveCeiling void, BytesUnchecked note");
    // The page cache cannot be faster than the memory it is in.
    let warm = |threads| {
        file_case(ReadWork {
            io: Io { threads, ..work(Cache::Warm).io },
            engine: Engine::Mmap,
            ..work(Cache::Warm)
        })
    };
    assert_eq!(of(warm(1), 90), "0.90 of memory:");
    assert_eq!(of(warm(1), 120), "1.20 of memory: AboveCeiling void");
    assert_eq!(of(warm(2), 120), "0.75 of memory:");
}

/// Stores wait for nothing, so what reads bounds them only loosely; what writes does so closely.
#[test]
fn a_file_that_is_written_is_bounded_by_writes() {
    let of = |loops: &[(Kernel, u64)]| {
        let mut record = flawless_write(unsynced());
        for (kernel, tenths) in loops {
            let bytes = tenths * FILE / 10;
            add(&mut record, memory_case(*kernel, 1), Role::Baseline, bytes, 1.0, 0);
        }
        let case = assess(&record).cases.remove(0);
        let above = case.findings.iter().find(|it| it.code == Code::AboveCeiling);
        let above = above.map_or("none".to_string(), |it| it.severity.to_string());
        let share = case.ceiling.map_or(0.0, |ceiling| ceiling.share);
        format!("{share:.0} {above}")
    };
    assert_eq!(of(&[(Kernel::Read, 20)]), "1 none");
    assert_eq!(of(&[(Kernel::Read, 5)]), "2 note");
    assert_eq!(of(&[(Kernel::Read, 2)]), "5 void");
    assert_eq!(of(&[(Kernel::Read, 2), (Kernel::WriteNt, 20)]), "1 none");
    assert_eq!(of(&[(Kernel::Read, 20), (Kernel::Write, 5)]), "2 void");
}

/// Noisy rounds may exceed the ceiling by chance: that is a note, not void.
#[test]
fn above_within_noise_is_noted() {
    let mut record = base();
    let index = record.header.plan.cases.len();
    let warm = file_case(ReadWork { engine: Engine::Mmap, ..work(Cache::Warm) });
    add(&mut record, warm, Role::Asked, 11 * FILE, 1.0, 0);
    for trial in record.trials.iter_mut().filter(|trial| trial.case == index) {
        if trial.round % 4 == 0 {
            let span = &mut sample(trial).spans[0];
            span.end_ns += (span.end_ns - span.start_ns) / 3;
        }
    }
    assert_eq!(held(&record), "1.10 of memory: AboveCeiling note");
    // Too few rounds for an interval.
    record.trials.retain(|trial| trial.case != index || trial.round < 4);
    let found = held(&record);
    assert!(found.ends_with("TooFew doubt, AboveCeiling note"), "{found}");
}

/// The processor's caches serve a file that fits into them.
#[test]
fn a_small_file_is_in_the_caches() {
    let mut record = base();
    let small = ReadWork {
        io: Io { size: ARRAYS / 2, ..work(Cache::Warm).io },
        engine: Engine::Mmap,
        ..work(Cache::Warm)
    };
    add(&mut record, file_case(small), Role::Asked, 20 * FILE, 1.0, 0);
    assert_eq!(held(&record), "2.00 of memory: AboveCeiling doubt");
}

/// A doubtful ceiling never makes a case void.
#[test]
fn a_doubtful_ceiling_doubts() {
    let mut record = base();
    let warm = file_case(ReadWork { engine: Engine::Mmap, ..work(Cache::Warm) });
    add(&mut record, warm, Role::Asked, 12 * FILE, 1.0, 0);
    assert_eq!(held(&record), "1.20 of memory: AboveCeiling void");
    for trial in record.trials.iter_mut().filter(|trial| trial.case == 1) {
        trial.evidence.huge_bytes = Some(0);
    }
    assert_eq!(held(&record), "1.20 of memory: AboveCeiling doubt");
}

#[test]
fn above_what_the_device_gives() {
    let direct = |depth| ReadWork {
        io: Io { depth, ..work(Cache::Direct).io },
        engine: Engine::Uring,
        ..work(Cache::Direct)
    };
    let of = |deeper: u64, tenths: u64| {
        let mut record = flawless(work(Cache::Warm));
        for (depth, tenths) in [(8, 20), (32, deeper)] {
            let bytes = tenths * FILE / 10;
            add(&mut record, file_case(direct(depth)), Role::Baseline, bytes, 1.0, bytes);
        }
        let bytes = tenths * FILE / 10;
        add(&mut record, file_case(work(Cache::Cold)), Role::Asked, bytes, 1.0, bytes);
        held(&record)
    };
    assert_eq!(of(20, 10), "0.50 of device:");
    assert_eq!(of(19, 30), "1.50 of device: AboveCeiling void");
    assert_eq!(of(20, 40), "2.00 of device: AboveCeiling void");
    // More I/Os in flight gave more, so the device's maximum is unknown.
    assert_eq!(of(40, 60), "1.50 of device: AboveCeiling doubt");
    assert_eq!(of(40, 41), "1.02 of device: AboveCeiling note");
}

/// A device can do more of what is in huge pages, so each direct row is bounded by its like, and
/// what goes through the page cache by the fastest. In older records, buffers were in huge pages
/// where they fitted: one ceiling bounds all.
#[test]
fn a_devices_ceiling_has_the_pages_of_what_it_bounds() {
    let uring = |depth, pages| {
        let io = Io { depth, pages, ..work(Cache::Direct).io };
        file_case(ReadWork { io, engine: Engine::Uring, ..work(Cache::Direct) })
    };
    let cold = || file_case(work(Cache::Cold));
    let held_against = |ceilings: &[(BufferPages, u64)], asked: Case| {
        let mut record = flawless(work(Cache::Warm));
        for (pages, times) in ceilings {
            for depth in [8, 32] {
                let (case, bytes) = (uring(depth, *pages), times * FILE);
                add(&mut record, case, Role::Baseline, bytes, 1.0, bytes);
            }
        }
        add(&mut record, asked, Role::Asked, FILE, 1.0, FILE);
        evidence(&mut record, |evidence| evidence.huge_bytes = Some(1 << 30));
        held(&record)
    };
    let of = |ceilings: &[(BufferPages, u64)], pages| held_against(ceilings, uring(1, pages));
    let both = [(BufferPages::Base, 2), (BufferPages::Huge, 4)];
    assert_eq!(of(&both, BufferPages::Base), "0.50 of device:");
    assert_eq!(of(&both, BufferPages::Huge), "0.25 of device:");
    assert_eq!(of(&both[1..], BufferPages::Base), "none:");
    assert_eq!(held_against(&both, cold()), "0.25 of device:");
    assert_eq!(held_against(&both[..1], cold()), "0.50 of device:");
    let old = [(BufferPages::Fitting, 4)];
    for pages in [BufferPages::Base, BufferPages::Fitting] {
        assert_eq!(of(&old, pages), "0.25 of device:");
    }
}

/// A case above its ceiling is neither a baseline nor an answer.
#[test]
fn what_is_above_its_ceiling_bounds_and_answers_nothing() {
    let mut record = base();
    let mmap = ReadWork { engine: Engine::Mmap, ..work(Cache::Warm) };
    add(&mut record, file_case(mmap), Role::Asked, 20 * FILE, 1.0, 0);
    let assessment = assess(&record);
    assert_eq!(case(&assessment, "mmap").verdict, Verdict::Void);
    assert_eq!(assessment.comparisons, []);
    let page_cache = assessment.conclusions.disk_or_memory.and_then(|answer| answer.page_cache);
    assert_eq!(page_cache.map(|rated| rated.rate), assessment.cases[0].throughput);
}

/// Touching moves one word of each page, so its bytes per second are not memory traffic.
#[test]
fn a_touched_page_is_not_read() {
    let touch = |engine, cache, device: bool| {
        let mut record = base();
        let work = ReadWork { touch: Touch::Page, engine, ..work(cache) };
        add(&mut record, file_case(work), Role::Asked, 5 * FILE, 1.0, u64::from(device) * 5 * FILE);
        let case = last_asked(&record);
        (case.ceiling.is_some(), case.of_memory.is_some())
    };
    assert_eq!(touch(Engine::Mmap, Cache::Warm, false), (false, false));
    assert_eq!(touch(Engine::Pread, Cache::Warm, false), (true, true));
    assert_eq!(touch(Engine::Mmap, Cache::Cold, true), (false, true));
}

#[test]
fn what_is_loaded_is_told_apart() {
    let mut record = base();
    load(&mut record, loading(Advice::HugePage, Cache::Cold), 1, FILE);
    let direct = ReadWork {
        io: Io { depth: 8, ..work(Cache::Direct).io },
        engine: Engine::Uring,
        ..work(Cache::Direct)
    };
    add(&mut record, file_case(direct), Role::Baseline, 2 * FILE, 1.0, 2 * FILE);
    let case = last_asked(&record);
    let (whole, loaded) = (case.throughput.expect("rounds"), case.loaded.expect("it loads"));
    let share = |ceiling: Option<Ceiling>| ceiling.map(|c| (c.kind, (c.share * 1e3).round()));
    assert_eq!(case.served_by, Some(ServedBy::Device));
    assert_eq!(share(case.ceiling), Some((CeilingKind::Device, 500.0)));
    assert_eq!(loaded.served_by, ServedBy::Ram);
    assert_eq!(share(loaded.ceiling), Some((CeilingKind::Memory, 1_000.0)));
    assert!((loaded.throughput.median / whole.median / 10.0 - 1.0).abs() < 1e-6);
    assert!((loaded.of_memory.expect("memory was read") - 1.0).abs() < 1e-3);
    assert!((loaded.load_ns.median / 9.4e8 - 1.0).abs() < 0.01, "{:?}", loaded.load_ns);
    assert_eq!(assess(&record).cases[0].loaded, None, "pread loads nothing");
}

#[test]
fn the_thread_that_takes_longest_after_loading_decides() {
    let mut record = flawless(ReadWork {
        io: Io { threads: 2, ..work(Cache::Warm).io },
        engine: Engine::Load,
        ..work(Cache::Warm)
    });
    each(&mut record, |trial| {
        let span = |thread, load_ms: u64, end_ms: u64| Span {
            thread,
            start_ns: 0,
            end_ns: end_ms * 1_000_000,
            bytes: FILE / 2,
            ops: 512,
            digest: Some(u64::from(thread) * 77),
            load_ns: load_ms * 1_000_000,
            ..Span::default()
        };
        sample(trial).spans = vec![span(0, 900, 1_000), span(1, 600, 1_100)];
    });
    let loaded = assess(&record).cases[0].loaded.expect("it loads");
    assert!((loaded.throughput.median / (FILE as f64 * 2.0) - 1.0).abs() < 1e-9);
    assert!((loaded.load_ns.median - 9e8).abs() < 1.0);
}

#[test]
fn what_is_loaded_may_be_above_its_ceiling() {
    let of = |work: ReadWork, times: u64, device_bytes: u64| {
        let mut record = base();
        load(&mut record, work, times, device_bytes);
        let case = last_asked(&record);
        let found: Vec<String> =
            case.findings.iter().map(|f| format!("{} {}", f.code, f.severity)).collect();
        found.join(", ")
    };
    let anonymous = || loading(Advice::HugePage, Cache::Warm);
    assert_eq!(of(ReadWork { io: Io { threads: 2, ..anonymous().io }, ..anonymous() }, 1, 0), "");
    assert_eq!(of(anonymous(), 2, 0), "AboveCeiling void");
    let populated = |cache| loading(Advice::Populate, cache);
    assert_eq!(of(populated(Cache::Warm), 2, 0), "AboveCeiling void");
    assert_eq!(of(populated(Cache::Cold), 2, 2 * FILE), "AboveCeiling void");
    // Memory does not serve a file in the CPU caches; neither source serves a file that is still
    // loading.
    let small = ReadWork { io: Io { size: ARRAYS / 2, ..anonymous().io }, ..anonymous() };
    assert_eq!(of(small, 2, 0), "");
    let on_its_way = ReadWork { advice: Advice::WillNeed, ..populated(Cache::Cold) };
    assert_eq!(of(on_its_way, 2, 2 * FILE), "");
}

#[test]
fn the_bus_carries_what_stores_fetch() {
    for (kernel, factor) in [
        (Kernel::Read, 1.0),
        (Kernel::Write, 2.0),
        (Kernel::WriteNt, 1.0),
        (Kernel::Copy, 1.5),
        (Kernel::CopyNt, 1.0),
        (Kernel::Triad, 4.0 / 3.0),
        (Kernel::TriadNt, 1.0),
    ] {
        let mut record = base();
        add(&mut record, memory_case(kernel, 1), Role::Asked, 5 * FILE, 1.0, 0);
        let case = last_asked(&record);
        let (bus, rate) = (case.bus.expect("it is bulk"), case.throughput.expect("rounds"));
        assert!((bus.median / rate.median - factor).abs() < 1e-9, "{kernel}");
        assert_eq!(bus.low.map(|low| low / factor), rate.low);
    }
    assert_eq!(assess(&base()).cases[0].bus, None, "a file is not a kernel");
}

#[test]
fn what_came_before_the_clock_is_told() {
    let mut record = flawless(work(Cache::Warm));
    assert_eq!(assess(&record).cases[0].setup_ns, Some(100_000.0));
    assert_eq!(assess(&record).cases[0].warm_up_ns, None);
    each(&mut record, |trial| sample(trial).warm_up_ns = 70_000 + u64::from(trial.round));
    assert_eq!(assess(&record).cases[0].warm_up_ns, Some(70_009));
}

#[test]
fn a_count_is_told_if_all_trials_agree() {
    let counted = |touch, plant: &dyn Fn(&mut Record)| {
        let mut record = flawless(ReadWork {
            io: Io { ops: 1_024, ..work(Cache::Warm).io },
            touch,
            ..work(Cache::Warm)
        });
        plant(&mut record);
        assess(&record).cases[0].counted
    };
    assert_eq!(counted(Touch::Count, &|_| {}), Some(77));
    assert_eq!(counted(Touch::Sum, &|_| {}), None);
    let another = |r: &mut Record| sample(&mut r.trials[5]).spans[0].digest = Some(78);
    assert_eq!(counted(Touch::Count, &another), None);
    let twice = |r: &mut Record| each(r, |trial| sample(trial).spans[0].bytes = 2 * FILE);
    assert_eq!(counted(Touch::Count, &twice), None);
}

#[test]
fn what_a_schedule_limits_bounds_no_other() {
    let beside = |rate| {
        let mut record = flawless(work(Cache::Cold));
        for depth in [8, 16] {
            let plain = work(Cache::Direct);
            let io = Io { rate, depth, block: 1 << 20, ..plain.io };
            let case = file_case(ReadWork { io, engine: Engine::Uring, ..plain });
            add(&mut record, case, Role::Asked, FILE, 10.0, FILE);
        }
        assess(&record).cases.swap_remove(0)
    };
    let found = beside(0);
    assert!(found.ceiling.is_some_and(|ceiling| ceiling.kind == CeilingKind::Device), "{found:?}");
    let found = beside(1_000);
    assert_eq!(found.ceiling, None, "{found:?}");
}
