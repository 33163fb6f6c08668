//! Comparison of two records: the pairs, the objections, and the findings on the pairs.

use super::*;
use crate::comparison::Difference;
use crate::records::{Basis, Judged, RecordComparison, RecordDifference};
use model::case::{BufferPages, Populated};
use model::random::Rng;

/// Compares two records.
fn compare(a: &Record, b: &Record, kept: &[Record]) -> RecordComparison {
    crate::compare(Judged::of(a.clone()), Judged::of(b.clone()), kept)
}

/// A warm and a direct case of five invocations, `slowness` times as slow as usual.
pub(super) fn record(slowness: f64) -> Record {
    let mut record = flawless(work(Cache::Warm));
    record.trials.clear();
    record.header.plan.cases.clear();
    add(&mut record, file_case(work(Cache::Warm)), Role::Asked, FILE, slowness, 0);
    add(&mut record, file_case(work(Cache::Direct)), Role::Asked, FILE, 3.0 * slowness, FILE);
    add(&mut record, memory_case(Kernel::Read, 1), Role::Baseline, 8 * FILE, 1.0, 0);
    each(&mut record, |trial| {
        let drift = base_ns(trial.round) as f64 / 1e9;
        for span in &mut sample(trial).spans {
            let took_ns = (span.end_ns - span.start_ns) as f64;
            span.end_ns = span.start_ns + (took_ns / drift.powf(0.95)) as u64;
        }
    });
    deal(&mut record, 5);
    record
}

/// Splits the rounds into `invocations`.
pub(super) fn deal(record: &mut Record, invocations: u32) {
    record.header.plan.invocations = invocations;
    let dealt = record.header.plan.rounds_by_invocation().collect::<Vec<_>>();
    let of = |round: u32| dealt.iter().position(|rounds| rounds.contains(&round));
    each(record, |trial| {
        trial.invocation = of(trial.round).expect("each round is of an invocation") as u32;
    });
}

/// Checks the objections to comparing a record with a changed one.
fn check(
    change: impl FnOnce(&mut Record),
    expected: &[(&str, &str, &str, usize)],
) -> RecordComparison {
    let mut other = record(1.0);
    change(&mut other);
    let versus = compare(&record(1.0), &other, &[]);
    let expected: Vec<RecordDifference> = expected
        .iter()
        .map(|(what, a, b, cases)| {
            let text = |text: &str| text.to_string();
            RecordDifference { what: text(what), a: text(a), b: text(b), cases: *cases }
        })
        .collect();
    assert_eq!(versus.obstacles, expected);
    versus
}

fn file(record: &mut Record, index: usize) -> &mut ReadWork {
    match &mut record.header.plan.cases[index].case.work {
        Work::Read(work) => work,
        other => panic!("a file is read, not {other:?}"),
    }
}

fn differences(versus: &RecordComparison) -> Vec<Difference> {
    versus.pairs.iter().map(|pair| pair.comparison.difference).collect()
}

#[test]
fn a_record_is_equivalent_to_itself() {
    let versus = check(|_| {}, &[]);
    assert!(versus.is_same && versus.others.is_empty() && versus.left_out.is_empty());
    assert_eq!(differences(&versus), [Difference::Equivalent; 2]);
    assert!(versus.pairs.iter().all(|pair| pair.comparison.ratio == 1.0 && pair.p == Some(1.0)));
}

#[test]
fn one_that_is_slower_is_different() {
    let versus = compare(&record(1.0), &record(1.25), &[]);
    assert!(!versus.is_same);
    assert_eq!(differences(&versus), [Difference::Different; 2]);
    for pair in &versus.pairs {
        let is_certain = pair.p.is_some_and(|p| p < 1e-4);
        assert!((pair.comparison.ratio - 0.8).abs() < 1e-6 && is_certain, "{pair:#?}");
        assert_eq!((pair.basis, pair.comparison.invocations), (Basis::Invocations(None), 5));
    }
}

/// The ratio is that of the figures beside it, however much invocations and rounds differ.
#[test]
fn a_ratio_is_that_of_the_figures_beside_it() {
    let mut rng = Rng::new(7);
    let mut scattered = |invocations: u32| {
        let mut record = record(1.0);
        each(&mut record, |trial| {
            let slowness = (3.0 * rng.unit()).exp();
            for span in &mut sample(trial).spans {
                let took_ns = (span.end_ns - span.start_ns) as f64;
                span.end_ns = span.start_ns + (took_ns * slowness) as u64;
            }
        });
        deal(&mut record, invocations);
        record
    };
    for invocations in [3, 4, 5] {
        for _ in 0..20 {
            let versus = compare(&scattered(invocations), &scattered(invocations), &[]);
            assert!(!versus.pairs.is_empty());
            for pair in &versus.pairs {
                let [a, b] = versus.of(pair).map(|summary| summary.throughput);
                let shown = b.expect("it has rounds").median / a.expect("it has rounds").median;
                assert!((pair.comparison.ratio / shown - 1.0).abs() < 1e-9, "{pair:#?}");
            }
        }
    }
}

#[test]
fn what_decides_a_figure_stands_against_comparing() {
    check(|other| file(other, 0).io.block = 4096, &[("block", "1MiB", "4KiB", 1)]);
    check(
        |other| (0..2).for_each(|index| file(other, index).io.size = 2 * FILE),
        &[("size", "1GiB", "2GiB", 2)],
    );
    check(
        |other| (0..2).for_each(|index| file(other, index).io.threads = 2),
        &[("threads", "1", "2", 2)],
    );
    check(
        |other| {
            let storage = other.header.storage.as_mut().expect("it has storage");
            storage.file_system = "xfs".to_string();
            storage.devices[0].is_virtual = true;
        },
        &[("file system", "ext4", "xfs", 0), ("kind of device", "physical", "virtual", 0)],
    );
    // An as-is case is cached in one record, and read from the device in the other.
    let as_is = |record: &mut Record| file(record, 1).io.cache = Cache::AsIs;
    let (mut one, mut other) = (record(1.0), record(1.0));
    as_is(&mut one);
    as_is(&mut other);
    for trial in other.trials.iter_mut().filter(|trial| trial.case == 1) {
        trial.evidence.residency_before = residency(PAGES);
        trial.evidence.task_read_bytes = Some(0);
        trial.evidence.device_read_bytes = Some(0);
    }
    let versus = compare(&one, &other, &[]);
    let found: Vec<&str> = versus.obstacles.iter().map(|apart| apart.what.as_str()).collect();
    assert_eq!(found, ["served by"], "{:#?}", versus.obstacles);
    // What can be compared is, and what cannot is named.
    assert_eq!(differences(&versus), [Difference::Equivalent]);
    let [left] = &versus.left_out[..] else { panic!("{:#?}", versus.left_out) };
    let expected = "A and B differ (served by device in A, page-cache in B)";
    assert_eq!((left.reason.as_str(), &left.id), (expected, &versus.a.cases[1].id));
    assert!(left.is_apart() && !left.is_alone() && !left.is_broken);
    let [one, other] = [one, other].map(Judged::of);
    assert_eq!(crate::compare_anyway(one, other, &[]).pairs.len(), 2);
}

/// A case of another block, and all files of another file system, are left out; the rest is
/// compared.
#[test]
fn what_differs_leaves_out_only_the_cases_that_it_concerns() {
    let with_memory = |change: &dyn Fn(&mut Record)| {
        let mut record = record(1.0);
        record.header.plan.cases[2].role = Role::Asked;
        change(&mut record);
        record
    };
    let check = |change: &dyn Fn(&mut Record), pairs: usize, reasons: &[&str]| {
        let versus = compare(&with_memory(&|_| {}), &with_memory(change), &[]);
        assert_eq!(versus.pairs.len(), pairs, "{:#?}", versus.left_out);
        let found: Vec<&str> = versus.left_out.iter().map(|left| left.reason.as_str()).collect();
        assert_eq!(found, reasons);
    };
    check(
        &|other| file(other, 0).io.block = 4096,
        2,
        &["A and B differ (block 1MiB in A, 4KiB in B)"],
    );
    check(
        &|other| other.header.storage.as_mut().expect("it has one").file_system = "xfs".into(),
        1,
        &["A and B differ (file system ext4 in A, xfs in B)"; 2],
    );
}

/// A doubtful figure decides nothing, in the table as in the sentence.
#[test]
fn a_doubtful_figure_of_either_record_leaves_the_pair_in_doubt() {
    let mut other = record(1.25);
    for trial in other.trials.iter_mut().filter(|trial| trial.case == 0) {
        trial.evidence.throttled_ns = Some(300_000_000);
    }
    let versus = compare(&record(1.0), &other, &[]);
    assert_eq!(differences(&versus), [Difference::InDoubt, Difference::Different]);
    assert!(versus.pairs[0].p.is_some_and(|p| p < 1e-4));
}

#[test]
fn what_may_be_what_is_asked_about_is_told() {
    let versus = check(
        |other| {
            other.header.host.cores = 64;
            file(other, 0).io.time = Duration::from_secs(2);
        },
        &[],
    );
    let told: Vec<(&str, &str, &str)> = (versus.others.iter())
        .map(|apart| (apart.what.as_str(), apart.a.as_str(), apart.b.as_str()))
        .collect();
    assert_eq!(told, [("cores", "2", "64"), ("time", "1m", "2s")]);
    assert_eq!(versus.pairs.len(), 2);
}

#[test]
fn cases_of_one_record_alone_are_left_out() {
    let versus = check(
        |other| {
            let others = ReadWork { engine: Engine::Mmap, ..work(Cache::Warm) };
            add(other, file_case(others), Role::Asked, FILE, 1.0, 0);
            file(other, 1).engine = Engine::Uring;
        },
        &[],
    );
    assert_eq!(versus.pairs.len(), 1);
    let reasons: Vec<&str> = versus.left_out.iter().map(|out| out.reason.as_str()).collect();
    assert_eq!(reasons, ["only A has it", "only B has it", "only B has it"]);
}

#[test]
fn a_case_whose_file_was_cached_in_another_way_is_compared_only_if_one_insists() {
    let by = |populated| move |other: &mut Record| file(other, 0).io.populated = populated;
    check(by(Populated::ReadAhead), &[]);
    for way in [Populated::Unknown, Populated::Others, Populated::Written] {
        let versus = check(by(way), &[("populated", "readahead", way.name(), 1)]);
        assert_eq!((versus.pairs.len(), versus.left_out.len()), (1, 1));
    }
    // A file that is not warm was cached in no way, which is no further difference.
    let versus =
        check(|other| file(other, 0).io.cache = Cache::AsIs, &[("cache", "warm", "as-is", 1)]);
    assert_eq!((versus.pairs.len(), versus.left_out.len()), (1, 1));
}

/// An older record's buffers were in huge pages where they filled whole ones.
#[test]
fn a_case_whose_buffers_were_in_other_pages_is_compared_only_if_one_insists() {
    let by = |pages| move |other: &mut Record| file(other, 0).io.pages = pages;
    check(by(BufferPages::Base), &[]);
    for pages in [BufferPages::Huge, BufferPages::Fitting] {
        let versus = check(by(pages), &[("pages", "base", pages.name(), 1)]);
        assert_eq!((versus.pairs.len(), versus.left_out.len()), (1, 1));
    }
}

#[test]
fn a_void_figure_is_not_compared() {
    let versus = check(
        |other| {
            for trial in other.trials.iter_mut().filter(|trial| trial.case < 2) {
                match trial.case {
                    0 => trial.outcome = Outcome::Failed { reason: "it died".to_string() },
                    _ => {
                        trial.evidence.task_read_bytes = Some(0);
                        trial.evidence.device_read_bytes = Some(0);
                    }
                }
            }
        },
        &[],
    );
    assert!(versus.pairs.is_empty());
    let reasons: Vec<&str> = versus.left_out.iter().map(|out| out.reason.as_str()).collect();
    assert_eq!(reasons[0], "it failed in B: it died");
    assert!(reasons[1].starts_with("it is void in B: "), "{reasons:?}");
    // Counters are no failure: another run may have better ones.
    let broken: Vec<bool> = versus.left_out.iter().map(|out| out.is_broken).collect();
    assert_eq!(broken, [true, false]);
}

/// Records of `cases` equal warm cases, with 5 % noise in each round.
fn noisy(rng: &mut Rng, cases: u64, slowness: f64) -> Record {
    let mut record = record(1.0);
    record.trials.clear();
    record.header.plan.cases.clear();
    for case in 0..cases {
        let work = ReadWork {
            io: Io { block: 4096 << case, ..work(Cache::Warm).io },
            ..work(Cache::Warm)
        };
        add(&mut record, file_case(work), Role::Asked, FILE, slowness, 0);
    }
    each(&mut record, |trial| {
        let noise = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
        for span in &mut sample(trial).spans {
            span.end_ns = span.start_ns + (1e9 * slowness * (0.05 * noise).exp()) as u64;
        }
    });
    deal(&mut record, 5);
    record
}

/// Kept runs with these figures, all older than the two compared runs.
fn kept(slownesses: &[f64]) -> Vec<Record> {
    let of_day = |(day, slowness): (usize, &f64)| {
        let mut kept = record(*slowness);
        kept.header.began = format!("2025-12-{day:02}T00:00:00Z");
        kept
    };
    (1..).zip(slownesses).map(of_day).collect()
}

/// Two records of one invocation each, the second `slowness` times as slow.
fn single(slowness: f64) -> [Record; 2] {
    let (mut a, mut b) = (record(1.0), record(slowness));
    b.header.began = "2026-01-02T00:00:00Z".to_string();
    deal(&mut a, 1);
    deal(&mut b, 1);
    [a, b]
}

/// Variation within a run says nothing about other runs, however large the difference is.
#[test]
fn records_of_one_invocation_decide_nothing() {
    for slowness in [1.0, 1.25, 4.0] {
        let [a, b] = single(slowness);
        for other in [&b, &record(slowness)] {
            let versus = compare(&a, other, &[]);
            assert_eq!(differences(&versus), [Difference::Inconclusive; 2]);
            for pair in &versus.pairs {
                assert_eq!(
                    (pair.basis, pair.p, pair.comparison.needs),
                    (Basis::Nothing, None, None)
                );
                assert_eq!((pair.comparison.low, pair.comparison.invocations), (None, 1));
            }
        }
    }
}

/// Kept runs of the same recipe show how much runs differ: larger differences are decided.
#[test]
fn kept_runs_tell_what_records_of_one_invocation_can_decide() {
    let steady = kept(&[1.0, 1.002, 0.999, 1.001, 1.0, 0.998]);
    let wide = kept(&[1.0, 1.2, 0.9, 1.1, 0.8, 1.15]);
    let [a, b] = single(1.25);
    let decided = |kept: &[Record]| differences(&compare(&a, &b, kept));
    assert_eq!(decided(&steady), [Difference::Different; 2]);
    assert_eq!(decided(&wide), [Difference::Inconclusive; 2]);
    assert_eq!(decided(&steady[..3]), [Difference::Inconclusive; 2], "three tell too little");
    let [a, same] = single(1.0);
    assert_eq!(differences(&compare(&a, &same, &steady)), [Difference::Equivalent; 2]);
    // Kept runs of another recipe, on another machine, or of a later date.
    let mut others = steady.clone();
    others[0].header.plan.recipe = "other".to_string();
    others[1].header.host.name = "other".to_string();
    others[2].header.began = "2027-01-01T00:00:00Z".to_string();
    assert_eq!(decided(&others), [Difference::Inconclusive; 2]);
}

/// Variation from run to run appears in no single record: the kept runs show it.
#[test]
fn invocations_do_not_decide_below_the_spread_of_kept_runs() {
    let wide = kept(&[1.0, 1.2, 0.9, 1.1, 0.8, 1.15]);
    let mut later = record(1.25);
    later.header.began = "2026-01-02T00:00:00Z".to_string();
    let versus = compare(&record(1.0), &later, &wide);
    assert_eq!(differences(&versus), [Difference::Inconclusive; 2]);
    for pair in &versus.pairs {
        assert!(matches!(pair.basis, Basis::RunToRun(spread) if spread.runs == 6), "{pair:#?}");
    }
}

/// In tables of many equal cases, at most one in twenty has a difference. A real difference of all
/// cases is found with the usual number of invocations.
#[test]
fn many_comparisons_keep_one_level() {
    let mut rng = Rng::new(8);
    let mut differ = 0;
    const TABLES: usize = 200;
    for _ in 0..TABLES {
        let (a, b) = (noisy(&mut rng, 8, 1.0), noisy(&mut rng, 8, 1.0));
        differ += usize::from(differences(&compare(&a, &b, &[])).contains(&Difference::Different));
    }
    assert!(differ <= TABLES * 6 / 100, "{differ} of {TABLES} tables found a difference");

    let (mut a, mut b) = (noisy(&mut rng, 16, 1.0), noisy(&mut rng, 16, 2.0));
    assert_eq!(differences(&compare(&a, &b, &[])), [Difference::Different; 16]);
    for record in [&mut a, &mut b] {
        record.trials.retain(|trial| trial.invocation < 2);
    }
    // Two invocations make a figure doubtful, and give no interval.
    let versus = compare(&a, &b, &[]);
    assert_eq!(differences(&versus), [Difference::InDoubt; 16]);
    assert!(versus.pairs.iter().all(|pair| pair.comparison.low.is_none()));
}

/// The other differences between a record and a changed one: the property and both values.
fn told(change: impl Fn(&mut Record)) -> Vec<String> {
    let with_setup = || {
        let mut record = record(1.0);
        let setup = &mut record.header.host.setup;
        setup.governor = Some("performance".to_string());
        setup.load = Some(0.4);
        setup.vulnerabilities.insert("retbleed".to_string(), "Vulnerable".to_string());
        let storage = record.header.storage.as_mut().expect("the zoo has storage");
        storage.devices[0].scheduler = Some("none".to_string());
        storage.devices.push(storage.devices[0].clone());
        storage.devices[1].name = "sdb".to_string();
        record
    };
    let mut other = with_setup();
    change(&mut other);
    let others = compare(&with_setup(), &other, &[]).others;
    others.iter().map(|apart| format!("{}: {} vs {}", apart.what, apart.a, apart.b)).collect()
}

#[test]
fn what_is_set_up_otherwise_is_named() {
    let none: [String; 0] = [];
    assert_eq!(told(|_| {}), none);
    let devices = |record: &mut Record, change: fn(&mut model::host::Device)| {
        let storage = record.header.storage.as_mut().expect("the zoo has storage");
        storage.devices.iter_mut().for_each(change);
    };
    let scheduler = |device: &mut model::host::Device| {
        device.scheduler = Some("mq-deadline".to_string());
    };
    assert_eq!(told(|r| devices(r, scheduler)), ["scheduler: none vs mq-deadline"]);
    let one = |device: &mut model::host::Device| {
        if device.name == "sdb" {
            device.scheduler = Some("bfq".to_string());
        }
    };
    assert_eq!(told(|r| devices(r, one)), ["scheduler: none vs none (sda), bfq (sdb)"]);
    let governor = |record: &mut Record| {
        record.header.host.setup.governor = Some("powersave".to_string());
    };
    assert_eq!(told(governor), ["CPU governor: performance vs powersave"]);
    let mitigated = |record: &mut Record| {
        let state = "Mitigation: untrained return thunk".to_string();
        record.header.host.setup.vulnerabilities.insert("retbleed".to_string(), state);
    };
    let expected = ["retbleed: Vulnerable vs Mitigation: untrained return thunk"];
    assert_eq!(told(mitigated), expected);
    let loaded = |load| move |record: &mut Record| record.header.host.setup.load = Some(load);
    assert_eq!(told(loaded(1.2)), none);
    assert_eq!(told(loaded(9.7)), ["load average: 0.4 vs 9.7"]);
    let pinned = |record: &mut Record| record.header.plan.bound.pin = Some(vec![0, 1, 4]);
    assert_eq!(told(pinned), ["pinned to CPUs: none vs 0-1,4"]);
    let on_node = |record: &mut Record| record.header.plan.bound.node = Some(1);
    assert_eq!(told(on_node), ["NUMA node: all vs 1"]);
}

#[test]
fn what_one_record_does_not_tell_is_no_difference() {
    let none: [String; 0] = [];
    assert_eq!(told(|record| record.header.host.setup = Default::default()), none);
    let untold = |record: &mut Record| {
        let storage = record.header.storage.as_mut().expect("the zoo has storage");
        storage.devices.iter_mut().for_each(|device| device.scheduler = None);
    };
    assert_eq!(told(untold), none);
}

/// A narrower link is told among what differs. Names of devices are not, nor what one record lacks.
#[test]
fn links_of_two_records_are_compared_by_what_they_carry() {
    use model::path::{Hop, HopKind, InterfaceHop};
    let differ = |a: Option<(&str, u64)>, b: Option<(&str, u64)>| {
        let behind = |link: Option<(&str, u64)>| {
            let mut record = record(1.0);
            let storage = record.header.storage.as_mut().expect("the zoo has a storage");
            storage.path = link.map(|(name, speed)| {
                let kind = InterfaceHop { speed: Some(speed), ..InterfaceHop::default() };
                Box::new(Hop::new(name, HopKind::Interface(kind), Vec::new()))
            });
            record
        };
        let apart = crate::records::apart(&behind(a).header, &behind(b).header);
        let links = apart.into_iter().filter(|it| it.what == "narrowest link");
        links.map(|it| format!("{} vs {}", it.a, it.b)).collect::<Vec<_>>()
    };
    assert_eq!(differ(Some(("eth0", 25_000)), Some(("eth1", 25_000))), [""; 0]);
    assert_eq!(differ(Some(("eth0", 25_000)), None), [""; 0]);
    let other = "network at 25.0 Gb/s (3.12 GB/s) vs network at 10.0 Gb/s (1.25 GB/s)";
    assert_eq!(differ(Some(("eth0", 25_000)), Some(("eth0", 10_000))), [other]);
}
