//! Relations between the cases of a run.

use super::*;
use crate::RunFinding;
use crate::comparison::Difference;
use crate::conclusions::disk_or_memory::Bottleneck;
use crate::decision::Decision;
use crate::failure::Failure;
use crate::finding::{Code, Severity, Verdict};
use crate::summary::CeilingKind;
use model::axis;
use model::case::{Advice, BufferPages, Io, Populated, Submission};
use model::evidence::{Limit, Limited};
use model::path::{Hop, HopKind, InterfaceHop};
use model::pattern::Pattern;
use proptest::prelude::*;

/// Cold reads run at 1 GiB/s. Memory is ten times as fast with one thread and sixteen with two, the
/// page cache five, direct I/O two at depth 8.
fn ladder() -> Record {
    let mut record = flawless(work(Cache::Cold));
    // The zoo's rounds drift differently from the added ones.
    each(&mut record, |trial| {
        let elapsed_ns = base_ns(trial.round);
        sample(trial).spans[0].end_ns = 5 + elapsed_ns;
    });
    let mut add = |case, role, times: u64, device_bytes| {
        add(&mut record, case, role, times * FILE, 1.0, device_bytes);
    };
    add(null_case(), Role::Baseline, 200, 0);
    add(memory_case(Kernel::Read, 1), Role::Baseline, 10, 0);
    add(memory_case(Kernel::Read, 2), Role::Baseline, 16, 0);
    add(file_case(work(Cache::Warm)), Role::Asked, 5, 0);
    add(file_case(direct(8)), Role::Asked, 2, 2 * FILE);
    add(memory_case(Kernel::Chase, 1), Role::Asked, 1, 0);
    record
}

fn direct(depth: u32) -> ReadWork {
    ReadWork {
        io: Io { depth, ..work(Cache::Direct).io },
        engine: Engine::Uring,
        ..work(Cache::Direct)
    }
}

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-5, "{found} is not {expected}");
}

#[test]
fn asked_cases_come_first_and_all_stand() {
    let assessment = assess(&ladder());
    let roles: Vec<Role> = assessment.cases.iter().map(|case| case.role).collect();
    assert!(roles.is_sorted(), "{roles:?}");
    for case in &assessment.cases {
        assert_eq!(case.verdict, Verdict::Sound, "{}: {:#?}", case.id, case.findings);
    }
    assert_eq!(assessment.overhead_ns.map(f64::round), Some(20.0));
}

#[test]
fn each_case_is_held_against_what_bounds_it() {
    let assessment = assess(&ladder());
    let ceiling = |id| {
        let ceiling = case(&assessment, id).ceiling;
        ceiling.map(|ceiling| (ceiling.kind, (ceiling.share * 1e3).round() / 1e3))
    };
    assert_eq!(ceiling("pread warm"), Some((CeilingKind::Memory, 0.5)));
    assert_eq!(ceiling("pread cold"), Some((CeilingKind::Device, 0.5)));
    for id in ["uring direct", "memory read", "memory chase", "null"] {
        assert_eq!(ceiling(id), None, "{id}");
    }
    let of_memory = |id| case(&assessment, id).of_memory.map(|share| (share * 1e3).round());
    assert_eq!(of_memory("pread cold"), Some(100.0));
    assert_eq!(of_memory("memory read avx2 128MiB t1"), Some(1_000.0));
    assert_eq!(of_memory("memory read avx2 128MiB t2"), Some(1_600.0));
    assert_eq!((of_memory("null"), of_memory("memory chase")), (None, None));
}

/// Cold cases on a device that others read from, too, each time this share of what the case reads.
fn disturbed(shares: &[(Role, f64)]) -> Record {
    let mut record = flawless(work(Cache::Cold));
    record.trials.clear();
    record.header.plan.cases.clear();
    for (index, (role, share)) in shares.iter().enumerate() {
        let threads = index as u32 + 1;
        let io = Io { threads, ..work(Cache::Cold).io };
        let case = file_case(ReadWork { io, ..work(Cache::Cold) });
        add(&mut record, case, *role, FILE, 1.0, FILE);
        let others = (share * FILE as f64) as u64;
        for trial in record.trials.iter_mut().filter(|trial| trial.case == index) {
            trial.evidence.device_read_bytes = Some(FILE + others);
        }
    }
    record
}

#[test]
fn a_finding_tells_of_the_worst_of_its_rows() {
    let (asked, base) = (Role::Asked, Role::Baseline);
    let check = |shares: &[(Role, f64)], expected: &[usize], baselines: &[usize], much: &str| {
        let record = disturbed(shares);
        let ids = axis::ids(record.header.plan.cases.iter().map(|planned| &planned.case));
        let ids_of = |rows: &[usize]| rows.iter().map(|row| ids[*row].clone()).collect::<Vec<_>>();
        let found = assess(&record).findings;
        let is_foreign = |it: &&RunFinding| it.finding.code == Code::Foreign;
        let found = found.iter().find(is_foreign).expect("others read from the device");
        assert_eq!(found.cases, ids_of(expected));
        assert_eq!(found.baselines, ids_of(baselines));
        assert!(found.finding.message.contains(much), "{}", found.finding.message);
    };
    check(&[(asked, 1.0), (asked, 9.0), (asked, 4.0)], &[1, 0, 2], &[], "9 times");
    check(&[(asked, 3.0), (asked, 3.0), (asked, 3.0)], &[0, 1, 2], &[], "3 times");
    // A requested row comes before any baseline.
    check(&[(asked, 1.0), (base, 9.0), (asked, 4.0)], &[2, 0], &[1], "4 times");
    check(&[(base, 4.0), (base, 9.0)], &[], &[1, 0], "9 times");
}

#[test]
fn threads_are_held_against_as_many_or_fewer() {
    let mut record = ladder();
    for threads in [2, 7] {
        let work = ReadWork { io: Io { threads, ..work(Cache::Warm).io }, ..work(Cache::Warm) };
        add(&mut record, file_case(work), Role::Asked, 7 * 8 * FILE / 7, 1.0, 0);
    }
    let assessment = assess(&record);
    for threads in ["t2", "t7"] {
        let warm = case(&assessment, &format!("pread warm sequential 1MiB d1 {threads}"));
        near(warm.ceiling.expect("memory bounds it").share, 0.5);
    }
}

/// Arrays that fit into the cache say nothing about memory.
#[test]
fn a_cache_is_no_memory() {
    let mut record = ladder();
    for planned in &mut record.header.plan.cases {
        if let Work::Memory(work) = &mut planned.case.work {
            work.working_set = 1 << 20;
        }
    }
    let assessment = assess(&record);
    assert!(assessment.conclusions.disk_or_memory.is_none());
    assert!(assessment.cases.iter().all(|case| case.of_memory.is_none()));
}

#[test]
fn what_is_void_bounds_nothing() {
    let mut record = ladder();
    let direct =
        record.header.plan.cases.iter().position(|planned| {
            planned.case.read().is_some_and(|work| work.io.cache == Cache::Direct)
        });
    for trial in record.trials.iter_mut().filter(|trial| Some(trial.case) == direct) {
        trial.evidence.task_read_bytes = Some(0);
    }
    let assessment = assess(&record);
    assert_eq!(case(&assessment, "uring direct").verdict, Verdict::Void);
    assert_eq!(case(&assessment, "pread cold").ceiling, None);
    let device =
        assessment.conclusions.disk_or_memory.as_ref().and_then(|answer| answer.device.as_ref());
    let id = device.map(|device| &device.lead.best().row.id);
    assert_eq!(id, Some(&case(&assessment, "pread cold").id));
}

#[test]
fn the_answer_tells_memory_from_disk() {
    let answer =
        assess(&ladder()).conclusions.disk_or_memory.expect("memory and files were measured");
    let memory = answer.memory.rate.median;
    near(answer.page_cache.expect("it was measured").rate.median / memory, 0.5);
    let device = answer.device.expect("it was measured");
    let ratio = device.of_memory.ratio();
    near(ratio.median, 0.2);
    near(ratio.low.expect("ten rounds"), 0.2);
    assert_eq!(device.of_memory.decision(), Decision::No);
    let of_most = device.of_most.expect("two threads read memory");
    assert_eq!((of_most.decision(), device.most_threads), (Decision::No, 2));
    near(device.lead.best().rate.median, memory / 5.0);
    assert!(device.lead.best().row.id.starts_with("uring direct"), "{:?}", device.lead);
    assert_eq!(device.lead.decision(), Decision::Yes);
    assert_eq!(device.bound, Bottleneck::Unknown);
    assert_eq!(answer.device_latency, None);
    let chase_ns = answer.memory_latency.expect("it was measured").ns;
    assert!((50.0..70.0).contains(&chase_ns), "{chase_ns}");
}

#[test]
fn the_answer_tells_what_bounds_the_device() {
    let bound = |plant: &dyn Fn(&mut Record)| {
        let mut record = ladder();
        plant(&mut record);
        let device = assess(&record).conclusions.disk_or_memory.and_then(|answer| answer.device);
        device.map(|device| device.bound.name())
    };
    let with_depth = |depth, bytes| {
        move |record: &mut Record| {
            add(record, file_case(direct(depth)), Role::Asked, bytes, 1.0, bytes);
        }
    };
    // Another access order says nothing.
    let random = |record: &mut Record| {
        let work = ReadWork { io: Io { pattern: Pattern::Random, ..direct(16).io }, ..direct(16) };
        add(record, file_case(work), Role::Asked, FILE, 1.0, FILE);
    };
    assert_eq!(bound(&random), Some("unknown"));
    // A deeper queue gave no more, or a shallower one gave as much.
    assert_eq!(bound(&with_depth(16, 2 * FILE - FILE / 10)), Some("device"));
    assert_eq!(bound(&with_depth(4, 2 * FILE - FILE / 50)), Some("device"));
    // The rate still grows with depth.
    assert_eq!(bound(&with_depth(16, 3 * FILE)), Some("unknown"));
    assert_eq!(bound(&with_depth(4, FILE)), Some("unknown"));
    // The evidence must be sound, and have an interval.
    let disturbed = |record: &mut Record| {
        with_depth(16, 2 * FILE - FILE / 10)(record);
        for trial in record.trials.iter_mut().rev().take(10) {
            trial.evidence.device_read_bytes =
                trial.evidence.device_read_bytes.map(|b| b / 10 * 11);
        }
    };
    assert_eq!(bound(&disturbed), Some("unknown"));
    let few = |record: &mut Record| {
        with_depth(16, 2 * FILE - FILE / 10)(record);
        record.trials.retain(|trial| trial.round < 5);
    };
    assert_eq!(bound(&few), Some("unknown"));
    let busy = |record: &mut Record| evidence(record, |e| e.cpu_ns = Some(1_100_000_000));
    assert_eq!(bound(&busy), Some("cpu"));
    // Whoever polls is busy in any case; one that polls and is not busy is like any other.
    let polls = |record: &mut Record| {
        with_depth(16, 2 * FILE - FILE / 10)(record);
        for case in &mut record.header.plan.cases {
            if let Work::Read(work) = &mut case.case.work {
                work.submission = Submission::Iopoll;
            }
        }
    };
    assert_eq!(bound(&polls), Some("device"));
    let busy_polls = |record: &mut Record| {
        polls(record);
        busy(record);
    };
    assert_eq!(bound(&busy_polls), Some("unknown"));
    let slow_tool = |record: &mut Record| {
        let slow =
            ReadWork { io: Io { pattern: Pattern::Random, ..null_work().io }, ..null_work() };
        record.header.plan.cases.remove(1);
        record.trials.retain(|trial| trial.case != 1);
        for trial in record.trials.iter_mut().filter(|trial| trial.case > 1) {
            trial.case -= 1;
        }
        add(record, file_case(slow), Role::Baseline, FILE, 20.0, 0);
    };
    assert_eq!(bound(&slow_tool), Some("tool"));
    // The fastest row gets 2.06 GB/s: a network of 19 Gb/s is its bound, one of 40 is not.
    let behind = |megabits: u64| {
        move |record: &mut Record| {
            let speed = Some(megabits);
            let kind = HopKind::Interface(InterfaceHop { speed, ..InterfaceHop::default() });
            let storage = record.header.storage.as_mut().expect("the zoo has a storage");
            storage.path = Some(Box::new(Hop::new("eth0", kind, Vec::new())));
        }
    };
    assert_eq!(bound(&behind(19_000)), Some("link"));
    assert_eq!(bound(&behind(40_000)), Some("unknown"));
}

/// A deeper queue gives no more, but a control group limits the rate: the limit is the bound.
#[test]
fn a_limit_of_a_control_group_is_the_bound_and_not_the_device() {
    let device = |limited: bool| {
        let mut record = ladder();
        add(&mut record, file_case(direct(16)), Role::Asked, 2 * FILE, 1.0, 2 * FILE);
        if limited {
            let (device, group) = ("sda".to_string(), "/sys/fs/cgroup/slow".to_string());
            let (what, a_second) = (Limited::ReadBytes, 2 * FILE);
            let storage = record.header.storage.as_mut().expect("the zoo has a storage");
            storage.limits.push(Limit { device, what, a_second, group });
        }
        let answer =
            assess(&record).conclusions.disk_or_memory.expect("memory and files were measured");
        answer.device.expect("it was measured")
    };
    let free = device(false);
    assert_eq!((free.bound.name(), free.of_memory.decision()), ("device", Decision::No));
    // A throttled rate says nothing about the disk.
    let limited = device(true);
    let best = limited.lead.best();
    assert_eq!(best.row.doubts, [Code::Throttled]);
    let decision = limited.of_memory.decision();
    assert_eq!((limited.bound, decision), (Bottleneck::Limit, Decision::Undecided));
}

#[test]
fn the_answer_has_the_latency_of_one_random_page() {
    let mut record = ladder();
    let random =
        ReadWork { io: Io { pattern: Pattern::Random, block: 4096, ..direct(1).io }, ..direct(1) };
    add(&mut record, file_case(random), Role::Asked, FILE, 30.0, FILE);
    let deep = ReadWork { io: Io { depth: 32, ..random.io }, ..random };
    add(&mut record, file_case(deep), Role::Asked, FILE, 3.0, FILE);
    let answer =
        assess(&record).conclusions.disk_or_memory.expect("memory and files were measured");
    assert_eq!(answer.device_latency.map(|waited| waited.ns), Some(1_000.0));
}

#[test]
fn engines_are_compared_with_pread() {
    let mut record = flawless(work(Cache::Cold));
    each(&mut record, |trial| {
        let elapsed_ns = base_ns(trial.round);
        sample(trial).spans[0].end_ns = 5 + elapsed_ns;
    });
    let with = |engine, cache| file_case(ReadWork { engine, ..work(cache) });
    add(&mut record, with(Engine::Mmap, Cache::Cold), Role::Asked, FILE, 1.25, FILE);
    add(&mut record, with(Engine::Read, Cache::Cold), Role::Asked, FILE, 1.001, FILE);
    // A different cache state, a control, and a leak are not comparable.
    add(&mut record, with(Engine::Uring, Cache::Warm), Role::Asked, FILE, 0.1, 0);
    add(&mut record, with(Engine::Null, Cache::Cold), Role::Asked, FILE, 0.01, FILE);
    add(&mut record, with(Engine::Uring, Cache::Cold), Role::Baseline, FILE, 0.5, FILE);
    let comparisons = assess(&record).comparisons;
    let base = "pread cold sequential 1MiB d1 t1 sum of 1GiB";
    let found: Vec<_> = comparisons.iter().map(|c| (c.case.as_str(), c.difference)).collect();
    assert_eq!(
        found,
        [
            (base.replace("pread", "mmap").as_str(), Difference::Different),
            (base.replace("pread", "read").as_str(), Difference::Equivalent),
        ]
    );
    assert!(comparisons.iter().all(|c| c.base == base && c.pairs == 10));
    near(comparisons[0].ratio, 0.8);
}

#[test]
fn where_there_is_no_pread_the_first_engine_is_the_base() {
    let mut record = flawless(ReadWork { engine: Engine::Read, ..work(Cache::Cold) });
    for engine in [Engine::Mmap, Engine::Uring] {
        let case = file_case(ReadWork { engine, ..work(Cache::Cold) });
        add(&mut record, case, Role::Asked, FILE, 1.0, FILE);
    }
    let bases: Vec<String> = assess(&record).comparisons.into_iter().map(|c| c.base).collect();
    let read = record.header.plan.cases[0].case.id();
    assert_eq!(bases, [read.clone(), read]);
}

/// The ids of the compared cases, each with its baseline.
fn compared(record: &Record) -> Vec<(String, String)> {
    let head = |id: String| id.split(" of ").next().unwrap_or_default().to_string();
    let pair = |c: crate::comparison::Comparison| (head(c.case), head(c.base));
    assess(record).comparisons.into_iter().map(pair).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(case, base)| (case.to_string(), base.to_string())).collect()
}

#[test]
fn peers_are_compared_with_this_program_method_by_method() {
    let with = |peer: &str, engine| {
        let mut case = file_case(ReadWork { engine, ..work(Cache::Cold) });
        case.peer = peer.to_string();
        case
    };
    let mut record = flawless(work(Cache::Cold));
    for (peer, engine, times) in [
        ("zebra", Engine::Pread, 2),
        ("rust", Engine::Mmap, 3),
        ("zebra", Engine::Mmap, 6),
        ("gnu", Engine::Mmap, 3),
    ] {
        add(&mut record, with(peer, engine), Role::Asked, times * FILE, 1.0, times * FILE);
    }
    let [pread, mmap] = ["pread", "mmap"].map(|e| format!("{e} cold sequential 1MiB d1 t1 sum"));
    let [zebra_pread, zebra_mmap] = [&pread, &mmap].map(|id| format!("zebra {id}"));
    let expected = [
        (mmap.as_str(), pread.as_str()),
        (&zebra_pread, &pread),
        (&zebra_mmap, &mmap),
        (&format!("gnu {mmap}"), &mmap),
    ];
    assert_eq!(compared(&record), pairs(&expected));
    near(assess(&record).comparisons[2].ratio, 2.0);
    // When this program is absent, the others are compared with each other.
    record.trials.retain(|trial| ![0, 2].contains(&trial.case));
    let gnu = format!("gnu {mmap}");
    let expected = [(zebra_mmap.as_str(), zebra_pread.as_str()), (&gnu, &zebra_mmap)];
    assert_eq!(compared(&record), pairs(&expected));
}

#[test]
fn loops_of_other_compilers_are_compared_with_the_fastest_of_ours() {
    let count = |peer: &str, isa| {
        let mut case = memory_case(Kernel::Count, 1);
        case.peer = peer.to_string();
        if let Work::Memory(work) = &mut case.work {
            work.isa = isa;
        }
        case
    };
    let mut record = flawless(work(Cache::Warm));
    let add = |record: &mut Record, case, times: u64| {
        add(record, case, Role::Asked, times * FILE, 1.0, 0);
    };
    add(&mut record, count("rust", Isa::Scalar), 2);
    add(&mut record, count("rust", Isa::Avx2), 8);
    add(&mut record, count("zebra", Isa::Auto), 4);
    add(&mut record, count("gnu", Isa::Auto), 2);
    // Another loop, or another number of threads, is not comparable.
    add(&mut record, memory_case(Kernel::Read, 1), 8);
    let comparisons = assess(&record).comparisons;
    let found: Vec<(&str, &str, f64)> =
        comparisons.iter().map(|c| (c.case.as_str(), c.base.as_str(), c.ratio)).collect();
    let base = "memory count avx2 128MiB t1";
    let expected =
        [("zebra memory count auto 128MiB t1", 0.5), ("gnu memory count auto 128MiB t1", 0.25)];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for ((case, its_base, ratio), (expected, share)) in found.into_iter().zip(expected) {
        assert_eq!((case, its_base), (expected, base));
        near(ratio, share);
    }
}

/// A version 1 record has no peer, pages, loading or content.
#[test]
fn a_record_of_the_first_version_is_judged_the_same() {
    use model::record::{RecordLine, VERSION};
    let record = ladder();
    let mut lines = vec![RecordLine::Header { version: VERSION, header: record.header.clone() }];
    lines.extend(record.trials.iter().cloned().map(RecordLine::Trial));
    lines.push(RecordLine::End(record.end.clone()));
    let text: String = lines.iter().map(|line| line.encode() + "\n").collect();
    let mut old = text.clone();
    for newer in [
        r#"["peer","rust"],"#,
        r#",["isa","auto"]"#,
        r#",["pages","huge"]"#,
        r#",["pages","base"]"#,
        r#","load_ns":0"#,
        r#","warm_up_ns":0"#,
        r#","huge_bytes":null"#,
        r#","huge_bytes":0"#,
        r#""huge_pages":null,"huge_pages_defrag":null,"#,
        r#""warm_up_ns":0,"#,
        r#","peers":[]"#,
        r#","content":"random""#,
        r#""content":"random","#,
        r#""caches":[32768,524288,33554432],"#,
    ] {
        old = old.replace(newer, "");
    }
    let pages = r#"["pages","#;
    for gone in ["peer", pages, "isa\",\"auto", "load_ns", "warm_up", "huge", "content", "caches\""]
    {
        assert!(!old.contains(gone), "{gone} is still there");
    }
    let old = Record::decode(&old).expect("it was a record");
    assert_eq!(old.damage, [""; 0]);
    let (old, mut new) = (assess(&old), assess(&record));
    // Only the values that version 1 does not record differ.
    for trial in new.cases.iter_mut().flat_map(|case| &mut case.trials) {
        let figures = trial.figures.as_mut().expect("each was done");
        figures.evidence.huge_bytes = None;
    }
    for (new, old) in new.cases.iter_mut().zip(&old.cases) {
        if let (Some(new), Some(old)) = (new.case.io_mut(), old.case.io()) {
            assert_eq!(old.pages == BufferPages::Fitting, old.depth == 8, "{}", new.block);
            new.pages = old.pages;
        }
    }
    assert!(old.cases == new.cases);
    assert_eq!(
        (old.findings, old.conclusions.disk_or_memory),
        (new.findings, new.conclusions.disk_or_memory)
    );
}

/// An advice is compared with no advice, and only where both were measured.
#[test]
fn cases_that_differ_in_their_advice_only_are_compared() {
    let told = |advice| file_case(ReadWork { advice, ..work(Cache::Cold) });
    let mut record = flawless(work(Cache::Cold));
    add(&mut record, told(Advice::Random), Role::Asked, 2 * FILE, 1.0, 2 * FILE);
    let comparisons = assess(&record).comparisons;
    let found: Vec<_> = comparisons.iter().map(|c| (c.base.as_str(), c.difference)).collect();
    assert_eq!(found, [("pread cold sequential 1MiB d1 t1 sum of 1GiB", Difference::Different)]);
    assert!(comparisons[0].case.contains("advice:random"), "{comparisons:?}");
    let mut without = flawless(ReadWork { advice: Advice::WillNeed, ..work(Cache::Cold) });
    add(&mut without, told(Advice::Random), Role::Asked, FILE, 1.0, FILE);
    assert_eq!(assess(&without).comparisons, []);
}

/// What huge pages for buffers gain is the ratio to base pages.
#[test]
fn cases_that_differ_in_the_pages_of_their_buffers_only_are_compared() {
    let in_pages = |pages| {
        let io = Io { pages, depth: 2, ..work(Cache::Direct).io };
        ReadWork { io, engine: Engine::Uring, ..work(Cache::Direct) }
    };
    let mut record = flawless(in_pages(BufferPages::Base));
    let huge = file_case(in_pages(BufferPages::Huge));
    add(&mut record, huge, Role::Asked, 2 * FILE, 1.0, 2 * FILE);
    evidence(&mut record, |evidence| evidence.huge_bytes = Some(4 << 20));
    let found = assess(&record).comparisons.remove(0);
    let [base, huge] =
        ["", "pages:huge "].map(|p| format!("uring direct sequential 1MiB d2 {p}t1 sum of 1GiB"));
    assert_eq!((found.base, found.case, found.difference), (base, huge, Difference::Different));
}

#[test]
fn a_cache_is_not_compared_with_a_disk() {
    let as_is = |engine| file_case(ReadWork { engine, ..work(Cache::AsIs) });
    let mut record = flawless(work(Cache::AsIs));
    add(&mut record, as_is(Engine::Read), Role::Asked, FILE, 1.0, FILE);
    assert_eq!(assess(&record).comparisons, []);
    add(&mut record, as_is(Engine::Mmap), Role::Asked, FILE, 1.0, 0);
    assert_eq!(assess(&record).comparisons.len(), 1);
}

#[test]
fn what_is_void_is_not_compared() {
    let mut record = flawless(work(Cache::Cold));
    let mmap = ReadWork { engine: Engine::Mmap, ..work(Cache::Cold) };
    add(&mut record, file_case(mmap), Role::Asked, FILE, 1.0, FILE);
    assert_eq!(assess(&record).comparisons.len(), 1);
    each(&mut record, |trial| trial.expected_digest = Some(1));
    assert_eq!(assess(&record).comparisons, []);
}

/// The rounds of a run drift, so a share is computed within common rounds, if there are any.
#[test]
fn shares_are_of_paired_rounds() {
    let mut record = ladder();
    let of_memory = |record: &Record| {
        case(&assess(record), "pread cold").of_memory.expect("memory was measured")
    };
    let memory = 2;
    assert!(record.header.plan.cases[memory].case.memory().is_some());
    // Memory has only the first seven rounds, and they are not typical.
    record.trials.retain(|trial| trial.case != memory || trial.round < 7);
    near(of_memory(&record), 0.1);
    // Without common rounds, the medians are used.
    for trial in record.trials.iter_mut().filter(|trial| trial.case == memory) {
        trial.round += 100;
    }
    let share = of_memory(&record);
    assert!((share / 0.1 - 1.0).abs() > 1e-4 && (share / 0.1 - 1.0).abs() < 0.1, "{share}");
}

#[test]
fn a_case_whose_trials_failed_says_why() {
    let mut record = zoo::record();
    each(&mut record, |trial| {
        let reason = "no io_uring here".to_string();
        trial.outcome = match trial.round {
            0 => Outcome::Failed { reason: "the worker died".to_string() },
            _ => Outcome::Unavailable { reason },
        };
    });
    let assessment = assess(&record);
    let case = &assessment.cases[0];
    assert_eq!((case.verdict, case.n, &case.findings[..]), (Verdict::Failed, 0, &[][..]));
    assert_eq!((case.throughput, case.served_by, case.of_memory), (None, None, None));
    let failures = [
        (Failure::Failed("the worker died".to_string()), 1),
        (Failure::Unavailable("no io_uring here".to_string()), 9),
    ];
    assert_eq!(case.failures, failures);
}

#[test]
fn failures_that_differ_only_in_their_offset_are_told_once() {
    let mut record = zoo::record();
    let said = |offset: u32, why: &str| format!("a read at offset {offset} failed: {why}");
    each(&mut record, |trial| {
        let why = if trial.round < 8 { "not supported" } else { "input/output error" };
        trial.outcome = Outcome::Unavailable { reason: said(4096 * trial.round, why) };
    });
    let failures = [
        (Failure::Unavailable(said(0, "not supported")), 8),
        (Failure::Unavailable(said(8 * 4096, "input/output error")), 2),
    ];
    assert_eq!(assess(&record).cases[0].failures, failures);
}

#[test]
fn a_case_that_no_trial_could_do_is_unavailable_unless_one_failed_otherwise() {
    let mut record = zoo::record();
    let reason = "io_uring_setup: Operation not permitted".to_string();
    each(&mut record, |trial| trial.outcome = Outcome::Unavailable { reason: reason.clone() });
    let assessment = assess(&record);
    let case = &assessment.cases[0];
    let nothing = (None, None);
    assert_eq!((case.verdict, case.n), (Verdict::Unavailable, 0));
    assert_eq!((case.throughput.map(|rate| rate.median), case.served_by), nothing);
    assert_eq!(assessment.tally().number(Verdict::Unavailable), 1);
    assert!(!case.verdict.stands());
    record.trials[0].outcome = Outcome::Failed { reason: "the worker died".to_string() };
    assert_eq!(assess(&record).cases[0].verdict, Verdict::Failed);
    record.trials.clear();
    assert_eq!(assess(&record).cases[0].verdict, Verdict::NotRun);
}

#[test]
fn some_failures_among_good_trials_are_told() {
    let mut record = zoo::record();
    for trial in &mut record.trials[..3] {
        trial.outcome = Outcome::Failed { reason: "it hung".to_string() };
    }
    let ended_at_once = |record: &mut Record, round: usize| {
        let span = &mut sample(&mut record.trials[round]).spans[0];
        span.end_ns = span.start_ns;
    };
    assert_eq!(judge(&record), "doubtful device: FailedTrials doubt");
    assert_eq!(assess(&record).cases[0].failures, [(Failure::Failed("it hung".to_string()), 3)]);
    ended_at_once(&mut record, 3);
    assert_eq!(judge(&record), "doubtful device: TooFew doubt, FailedTrials doubt");
    assert_eq!(assess(&record).cases[0].n, 6);
    sample(&mut record.trials[4]).spans[0].bytes = 0;
    assert_eq!(assess(&record).cases[0].n, 5);
}

#[test]
fn findings_of_the_run_are_one_a_code_and_severity_gravest_first() {
    let mut record = zoo::record();
    evidence(&mut record, |evidence| evidence.steal_ns = Some(50_000_000));
    let direct = file_case(work(Cache::Direct));
    add(&mut record, direct, Role::Asked, FILE, 1.0, FILE / 2);
    for trial in record.trials.iter_mut().filter(|trial| trial.case == 1) {
        trial.evidence.steal_ns = Some(900_000_000);
        trial.evidence.machine_cpu_ns = Some(2_000_000_000);
    }
    let assessment = assess(&record);
    let found: Vec<_> = assessment
        .findings
        .iter()
        .map(|f| (f.finding.code.name(), f.finding.severity, f.cases.len()))
        .collect();
    let expected = [
        ("DirectIgnored", Severity::Void, 1),
        ("Steal", Severity::Doubt, 1),
        ("Steal", Severity::Note, 1),
    ];
    assert_eq!(found, expected);
    assert!(assessment.findings[1].finding.message.contains("45.0 %"));
}

#[test]
fn what_a_record_says_is_handed_on() {
    let mut record = zoo::record();
    record.damage.push("line 17 is cut off".to_string());
    let assessment = assess(&record);
    assert_eq!(assessment.damage, record.damage);
    assert_eq!(
        (assessment.header.plan.recipe.as_str(), assessment.header.plan.rounds),
        ("zoo", 10)
    );
    let case = &assessment.cases[0];
    assert_eq!((case.bytes_per_trial, case.device_bytes), (Some(FILE), Some(FILE)));
    near(case.throughput.expect("ten rounds").median, FILE as f64);
    near(case.iops.expect("ten rounds").median, 1_024.0);
    near(case.ns_per_op.expect("ten rounds").median, 1e9 / 1_024.0);
    near(case.cpu_ns_per_op.expect("ten rounds"), 2e8 / 1_024.0);
    assert_eq!((case.latency.count, case.latency.max_ns), (10_240, Some(961_000)));
    assert!(case.latency.p99_9.is_some_and(|p| !p.solid) && case.latency.p99_99.is_none());
}

proptest! {
    /// Any numbers from a broken worker or OS can be judged.
    #[test]
    fn any_numbers_are_judged(
        numbers in proptest::collection::vec(0u64..1 << 50, 12),
        cache in proptest::sample::select(Cache::ALL),
        known in proptest::collection::vec(any::<bool>(), 6),
    ) {
        let mut record = flawless(work(cache));
        let given = |index: usize| known[index].then_some(numbers[index]);
        let trial = &mut record.trials[3];
        let span = &mut sample(trial).spans[0];
        (span.start_ns, span.end_ns) = (numbers[6], numbers[7]);
        (span.bytes, span.ops) = (numbers[8], numbers[9]);
        trial.evidence = Evidence {
            task_read_bytes: given(0),
            device_read_bytes: given(1),
            cpu_ns: given(2),
            steal_ns: given(3),
            machine_cpu_ns: given(4),
            residency_after: given(5).map(|cached| Residency {
                probe: Probe::Mincore, pages: numbers[10], cached, dirty: None,
            }),
            ..Evidence::default()
        };
        let case = &assess(&record).cases[0];
        prop_assert!(case.n == 9 || case.n == 10);
        prop_assert!(case.hit_share.is_none_or(|hit| (0.0..=1.0).contains(&hit)));
        let most = case.hit_share_most.unwrap_or(1.0);
        prop_assert!(most <= 1.0 && case.hit_share.is_none_or(|least| least <= most));
        let gravest = case.findings.iter().map(|finding| finding.severity).max();
        prop_assert_eq!(case.verdict == Verdict::Void, gravest == Some(Severity::Void));
    }
}

/// With eight operations in flight, each takes eight times the thread's time per operation.
#[test]
fn an_operation_of_a_thread_is_a_part_of_its_latency() {
    let mut record = flawless(ReadWork {
        io: Io { depth: 8, ..work(Cache::Direct).io },
        engine: Engine::Uring,
        ..work(Cache::Direct)
    });
    each(&mut record, |trial| {
        let sample = sample(trial);
        let elapsed_ns = sample.spans[0].end_ns - sample.spans[0].start_ns;
        let latency_ns = 8 * elapsed_ns / sample.spans[0].ops;
        let counts = vec![(latency_ns, sample.spans[0].ops)];
        sample.latencies = Latencies { counts, max_ns: latency_ns };
    });
    let case = assess(&record).cases.remove(0);
    let (ns, iops) = (case.ns_per_op.expect("it has one"), case.iops.expect("it has some"));
    let p50 = case.latency.p50.expect("there are enough").ns as f64;
    assert!((8.0 * ns.median / p50 - 1.0).abs() < 0.05, "{ns:?} {p50}");
    assert!((ns.median * iops.median / 1e9 - 1.0).abs() < 0.05, "{ns:?} {iops:?}");
}

/// For the same work done twice, once in half the time, the mean rate is total work over total
/// time.
#[test]
fn a_mean_rate_is_all_work_by_all_time() {
    let mut record = zoo::record_of(work(Cache::Cold), 10);
    each(&mut record, |trial| {
        let ns = if trial.round < 5 { 1_000_000_000 } else { 2_000_000_000 };
        for span in &mut sample(trial).spans {
            span.end_ns = span.start_ns + ns;
        }
    });
    let case = assess(&record).cases.remove(0);
    let mean = |estimate: Option<crate::stats::Estimate>| estimate.expect("there is one").mean;
    assert!((mean(case.throughput) / FILE as f64 - 10.0 / 15.0).abs() < 1e-9);
    let ops = sample(&mut record.trials[0]).ops() as f64;
    assert!((mean(case.iops) / ops - 10.0 / 15.0).abs() < 1e-9);
    assert!((mean(case.ns_per_op) * ops / 1e9 - 1.5).abs() < 1e-9);
}

#[test]
fn how_a_warm_file_was_cached_is_compared_with_readahead() {
    let cached = |populated| {
        let io = Io { populated, ..work(Cache::Warm).io };
        file_case(ReadWork { io, ..work(Cache::Warm) })
    };
    let check = |usual: Populated| {
        let mut record = flawless(work(Cache::Warm));
        record.trials.clear();
        record.header.plan.cases.clear();
        add(&mut record, cached(usual), Role::Asked, FILE, 1.0, 0);
        add(&mut record, cached(Populated::Random), Role::Asked, FILE, 2.0, 0);
        evidence(&mut record, |evidence| evidence.folio_bytes = Some(4096));
        assess(&record)
    };
    let assessment = check(Populated::ReadAhead);
    let [found] = &assessment.comparisons[..] else { panic!("{:?}", assessment.comparisons) };
    assert_eq!(found.case, cached(Populated::Random).id());
    assert_eq!(found.base, cached(Populated::ReadAhead).id());
    near(found.ratio, 0.5);
    assert!(assessment.cases.iter().all(|case| case.folio_bytes == Some(4096)));
    // Nobody knows how others cached it.
    assert_eq!(check(Populated::Others).comparisons, []);
}
