//! Limits, neighbors and swapping: each rule with a planted fault, and with a flaw below its
//! threshold. Also excluded rounds.

use super::writing::{direct, flawless_write, over, unsynced};
use super::*;
use crate::disturbance::{Excluded, Exclusion};
use crate::finding::{Code, Finding};
use crate::summary::Summary;
use model::case::{Advice, Allocation, Io, Op, Touch, WriteEngine, WriteWork};
use model::evidence::{Limit, Limited};
use model::layer::{Amplification, Counts, Layer};
use model::path::{Hop, HopKind};
use model::sample::{Seat, Span, Usage};

const MS: u64 = 1_000_000;

fn first(record: &Record) -> Summary {
    assess(record).cases.remove(0)
}

/// The one finding of the first case.
fn finding(record: &Record) -> Finding {
    let mut findings = first(record).findings;
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings.remove(0)
}

fn no_op(_: &mut Record) {}

fn held_back(ms: u64) -> impl Fn(&mut Record) {
    move |record| evidence(record, |evidence| evidence.throttled_ns = Some(ms * MS))
}

#[test]
fn throttled_by_a_quota() {
    check(zoo::record(), held_back(9), "sound device:");
    check(zoo::record(), held_back(15), "sound device: Throttled note");
    check(zoo::record(), held_back(45), "sound device: Throttled note");
    check(zoo::record(), held_back(60), "doubtful device: Throttled doubt");
    check(memory(), held_back(60), "doubtful ram: Throttled doubt");
    // Two threads have twice the time.
    let two = || {
        flawless(ReadWork { io: Io { threads: 2, ..work(Cache::Cold).io }, ..work(Cache::Cold) })
    };
    check(two(), held_back(90), "sound device: Throttled note");
    check(zoo::record(), |r| evidence(r, |e| e.throttled_ns = None), "sound device:");
    // The null engine's rate is not a result, so it is not doubted.
    let mut null = flawless(work(Cache::AsIs));
    null.header.plan.cases[0].case = null_case();
    check(null, held_back(60), "sound no-io:");
    let mut record = zoo::record();
    held_back(800)(&mut record);
    record.header.host.cpu_quota = Some(0.2);
    let message = finding(&record).message;
    let expected = "CPU quota, which allows 0.20 processors, held the worker back for 80";
    assert!(message.contains(expected), "{message}");
}

fn limit(what: Limited, a_second: u64) -> impl Fn(&mut Record) {
    move |record| {
        let (device, group) = ("sda".to_string(), "/sys/fs/cgroup/slow".to_string());
        let storage = record.header.storage.as_mut().expect("the zoo has a storage");
        storage.limits.push(Limit { device, what, a_second, group });
    }
}

/// The zoo reads 1 GiB in 1 024 requests in a second.
#[test]
fn throttled_by_a_limit_of_a_device() {
    let doubt = "doubtful device: Throttled doubt";
    let bytes = |share: f64| limit(Limited::ReadBytes, (FILE as f64 / share) as u64);
    check(zoo::record(), bytes(1.0), doubt);
    check(zoo::record(), bytes(0.83), doubt);
    check(zoo::record(), bytes(0.77), "sound device:");
    check(zoo::record(), bytes(1.3), doubt);
    check(zoo::record(), bytes(1.9), doubt);
    // A rate far above a limit was not throttled by it.
    check(zoo::record(), bytes(2.2), "sound device:");
    check(zoo::record(), limit(Limited::Reads, 1_000), doubt);
    check(zoo::record(), limit(Limited::Reads, 1_350), "sound device:");
    // A write limit does not affect reads, and no device limit affects the page cache.
    check(zoo::record(), limit(Limited::WriteBytes, FILE), "sound device:");
    check(zoo::record(), limit(Limited::Writes, 1_000), "sound device:");
    check(flawless(work(Cache::Warm)), bytes(1.0), "sound page-cache:");
    check(memory(), bytes(1.0), "sound ram:");
    // Each of two devices serves half.
    let two_devices = |r: &mut Record| {
        bytes(1.0)(r);
        let storage = r.header.storage.as_mut().expect("the zoo has a storage");
        storage.devices.push(storage.devices[0].clone());
    };
    check(zoo::record(), two_devices, "sound device:");
}

#[test]
fn requests_past_the_page_cache_are_operations_at_least() {
    let record = |cache| {
        let mut record = flawless(work(cache));
        evidence(&mut record, |evidence| evidence.device_reads = Some(500));
        record
    };
    let reads = || limit(Limited::Reads, 1_000);
    check(record(Cache::Direct), reads(), "doubtful device: Throttled doubt");
    check(record(Cache::Cold), reads(), "sound device:");
}

/// Each half of a mirror writes everything, each half of a stripe a half, and the array everything.
#[test]
fn a_limit_is_of_the_part_that_a_device_has() {
    let array = |writes: u32, device: &'static str, share: f64| {
        move |r: &mut Record| {
            let layer = |nodes: &[&str], writes| Layer {
                nodes: nodes.iter().map(|node| node.to_string()).collect(),
                reads: Amplification::ONE,
                writes: Amplification::of(writes),
                counts: Counts::default(),
            };
            evidence(r, |e| e.device_write_bytes = Some(FILE * u64::from(writes)));
            limit(Limited::WriteBytes, (FILE as f64 / share) as u64)(r);
            let storage = r.header.storage.as_mut().unwrap();
            storage.layers = vec![layer(&["sda", "sdb"], writes), layer(&["md0"], 1)];
            storage.limits[0].device = device.to_string();
        }
    };
    let throttled = "doubtful device: Throttled doubt";
    // The last sync takes a fifth of the time, so 1.25 is the most the limit allows.
    check(flawless_write(over()), array(2, "sdb", 1.25), throttled);
    check(flawless_write(over()), array(2, "md0", 1.25), throttled);
    check(flawless_write(over()), array(1, "md0", 1.25), throttled);
    check(flawless_write(over()), array(1, "sdb", 2.5), throttled);
    check(flawless_write(over()), array(1, "sdb", 1.25), "sound device:");
    check(flawless_write(over()), array(2, "sdb", 0.75), "sound device:");
}

#[test]
fn writers_are_throttled_by_limits_of_writing() {
    // Writing 1 GiB takes 1.25 s including its sync.
    let bytes = || limit(Limited::WriteBytes, FILE / 5 * 4);
    check(flawless_write(over()), bytes(), "doubtful device: Throttled doubt");
    check(flawless_write(over()), limit(Limited::WriteBytes, FILE / 10 * 11), "sound device:");
    check(flawless_write(over()), limit(Limited::Writes, 800), "doubtful device: Throttled doubt");
    check(
        flawless_write(direct()),
        limit(Limited::Writes, 1_000),
        "doubtful device: Throttled doubt",
    );
    check(flawless_write(direct()), limit(Limited::ReadBytes, FILE), "sound device:");
    check(flawless_write(unsynced()), bytes(), "sound page-cache: AcknowledgedOnly note");
    // A copy reads from another file system, under the limits there.
    let copy = || WriteWork {
        io: Io { cache: Cache::Cold, ..over().io },
        op: Op::Copy,
        engine: WriteEngine::Write,
        allocation: Allocation::None,
        ..over()
    };
    let reads = |r: &mut Record| evidence(r, |e| e.task_read_bytes = Some(FILE));
    let mut record = flawless_write(copy());
    reads(&mut record);
    let mut elsewhere = zoo::storage();
    (elsewhere.limits, elsewhere.file_system) = (Vec::new(), "xfs".to_string());
    record.header.source_storage = Some(elsewhere.clone());
    limit(Limited::ReadBytes, FILE)(&mut record);
    assert_eq!(judge(&record), "sound device:");
    elsewhere.limits = std::mem::take(&mut record.header.storage.as_mut().expect("it has").limits);
    record.header.source_storage = Some(elsewhere);
    assert_eq!(judge(&record), "doubtful device: Throttled doubt");
}

#[test]
fn a_limit_is_named_in_its_unit() {
    let message = |what, a_second| {
        let mut record = zoo::record();
        limit(what, a_second)(&mut record);
        finding(&record).message
    };
    let of_bytes = message(Limited::ReadBytes, FILE);
    let expected = "the control group '/sys/fs/cgroup/slow' limits read bytes of sda to 1.07 GB/s \
                    (1.00 GiB/s), and the worker used 100 % of that";
    assert!(of_bytes.starts_with(expected), "{of_bytes}");
    let of_requests = message(Limited::Reads, 1_000);
    let expected = "limits reads of sda to 1000 per second, and the worker used 102 % of that";
    assert!(of_requests.contains(expected), "{of_requests}");
}

fn waited(ms: u64) -> impl Fn(&mut Record) {
    move |record| evidence(record, |evidence| evidence.run_delay_ns = Some(ms * MS))
}

#[test]
fn contended() {
    check(zoo::record(), waited(90), "sound device:");
    check(zoo::record(), waited(150), "sound device: Contended note");
    check(zoo::record(), waited(190), "sound device: Contended note");
    check(zoo::record(), waited(250), "doubtful device: Contended doubt");
    check(memory(), waited(250), "doubtful ram: Contended doubt");
    check(zoo::record(), |r| evidence(r, |e| e.run_delay_ns = None), "sound device:");
    // A thread throttled by a quota is ready to run, but no other thread takes its place.
    let held_back = |r: &mut Record| {
        evidence(r, |e| (e.run_delay_ns, e.throttled_ns) = (Some(250 * MS), Some(200 * MS)));
    };
    check(zoo::record(), held_back, "doubtful device: Throttled doubt");
    // Two threads have twice the time; three compete for two processors.
    let threads = |threads| {
        flawless(ReadWork { io: Io { threads, ..work(Cache::Cold).io }, ..work(Cache::Cold) })
    };
    check(threads(2), waited(250), "sound device: Contended note");
    check(threads(3), waited(2_500), "sound device:");
    // The kernel threads of io_uring count for the process too.
    let uring = ReadWork { engine: Engine::Uring, ..work(Cache::Cold) };
    check(flawless(uring), waited(900), "sound device:");
    check(flawless_write(direct()), waited(250), "doubtful device: Contended doubt");
    let uring = WriteWork { engine: WriteEngine::Uring, ..direct() };
    check(flawless_write(uring), waited(900), "sound device:");
    let (engine, advice) = (Engine::Mmap, Advice::TouchAhead);
    check(flawless(ReadWork { engine, advice, ..work(Cache::Cold) }), waited(900), "sound device:");
}

/// Plants the run delay that each thread reports for its own span.
fn told(waited_ms: u64) -> impl Fn(&mut Record) {
    move |record| each_span(record, |span| span.run_delay_ns = Some(waited_ms * MS))
}

fn each_span(record: &mut Record, plant: impl Fn(&mut Span)) {
    each(record, |trial| sample(trial).spans.iter_mut().for_each(&plant));
}

/// A thread's report covers only itself, so kernel threads need no exception.
#[test]
fn contended_as_threads_tell_themselves() {
    let uring = || flawless(ReadWork { engine: Engine::Uring, ..work(Cache::Cold) });
    check(uring(), told(250), "doubtful device: Contended doubt");
    check(uring(), told(50), "sound device:");
    let (engine, touch) = (Engine::Null, Touch::None);
    let null = || flawless(ReadWork { engine, touch, ..work(Cache::AsIs) });
    check(null(), told(250), "doubtful no-io: Contended doubt");
    check(null(), told(50), "sound no-io:");
    // Waiting outside the spans is in the evidence, but not in the figure.
    check(zoo::record(), |r| (waited(600)(r), told(0)(r)).0, "sound device:");
}

/// Plants work after the spans, such as verification of an array, that takes as long as they do.
fn verified_for_long(record: &mut Record) {
    each(record, |trial| {
        trial.evidence.window_ns *= 2;
        let evidence = &mut trial.evidence;
        for counter in
            [&mut evidence.cpu_ns, &mut evidence.run_delay_ns, &mut evidence.minor_faults]
        {
            *counter = Some(counter.expect("the zoo has it") + 900 * MS);
        }
    });
}

#[test]
fn what_comes_after_the_spans_is_no_part_of_them() {
    let tell = |record: &mut Record| {
        each(record, |trial| {
            let usage = Usage { cpu_ns: Some(200 * MS), minor_faults: Some(3), ..Usage::default() };
            sample(trial).usage = usage;
        });
        each_span(record, |span| (span.cpu_ns, span.run_delay_ns) = (Some(200 * MS), Some(MS)));
    };
    let figures = |plant: &dyn Fn(&mut Record)| {
        let mut record = zoo::record();
        plant(&mut record);
        let case = assess(&record).cases.remove(0);
        assert!(case.findings.is_empty(), "{:#?}", case.findings);
        let blocked = case.spent.and_then(|spent| spent.blocked_share);
        assert!(blocked.is_none_or(|share| (0.79..0.81).contains(&share)), "{blocked:?}");
        let cpu_ns = case.cpu_ns_per_op.map(f64::round);
        (cpu_ns, case.counters.minor_faults, blocked.is_some())
    };
    let known = (Some((200e6_f64 / 1024.0).round()), Some(3), true);
    assert_eq!(figures(&|_| {}), known, "the window is hardly longer than the span");
    assert_eq!(figures(&|r| (tell(r), verified_for_long(r)).0), known);
    assert_eq!(figures(&verified_for_long), (None, None, false), "unknown is not zero");
}

/// Plants the share of pages on node 1, in per cent per round, for a thread on node 0. Rounds with
/// more than half are slower.
fn pages_lie(remote: [u64; 10], slowness: f64) -> impl Fn(&mut Record) {
    move |record| {
        each(record, |trial| {
            let far = remote[trial.round as usize];
            let span = &mut sample(trial).spans[0];
            let seat = Some(Seat { cpu: 1, node: 0 });
            (span.start_seat, span.end_seat) = (seat, seat);
            if far > 50 {
                let span_ns = (span.end_ns - span.start_ns) as f64;
                span.end_ns = span.start_ns + (span_ns * slowness) as u64;
                trial.evidence.window_ns = (span_ns * slowness) as u64;
            }
            trial.evidence.node_bytes = Some([(0, 100 - far), (1, far)].into());
        });
    }
}

#[test]
fn remote_pages() {
    let mixed = [0, 90, 5, 95, 0, 80, 3, 90, 70, 1];
    check(memory(), pages_lie(mixed, 2.0), "doubtful ram: RemotePages doubt");
    check(memory(), pages_lie(mixed, 1.05), "sound ram: RemotePages note");
    check(memory(), pages_lie([90; 10], 2.0), "sound ram: RemotePages note");
    check(memory(), pages_lie([4; 10], 2.0), "sound ram:");
    let mut record = memory();
    pages_lie(mixed, 2.0)(&mut record);
    let found = finding(&record).message;
    assert!(
        found.starts_with("0 % to 95.0 % of the pages lay, depending on the trial, on another"),
        "{found}"
    );
    // No report of where the pages were, or where the thread ran.
    let untold = |record: &mut Record| {
        pages_lie(mixed, 1.0)(record);
        record.trials[3].evidence.node_bytes = None;
    };
    check(memory(), untold, "sound ram:");
    let nowhere = |record: &mut Record| {
        pages_lie(mixed, 1.0)(record);
        each_span(record, |span| span.end_seat = None);
    };
    check(memory(), nowhere, "sound ram:");
    // The buffers of a program that reads a file are too small to distinguish from its own memory.
    check(zoo::record(), pages_lie([90; 10], 1.0), "sound device:");
}

/// Plants the CPU that the thread ran on in each round; rounds on CPU 8 and above are slower.
fn runs_on(cpus: [u32; 10], slowness: f64) -> impl Fn(&mut Record) {
    move |record| {
        each(record, |trial| {
            let cpu = cpus[trial.round as usize];
            let span = &mut sample(trial).spans[0];
            let seat = Some(Seat { cpu, node: cpu / 16 });
            (span.start_seat, span.end_seat) = (seat, seat);
            if cpu >= 8 {
                let span_ns = (span.end_ns - span.start_ns) as f64;
                span.end_ns = span.start_ns + (span_ns * slowness) as u64;
                trial.evidence.window_ns = (span_ns * slowness) as u64;
            }
        });
    }
}

#[test]
fn cpu_levels() {
    let mixed = [0, 9, 0, 9, 9, 0, 9, 0, 0, 9];
    check(zoo::record(), runs_on(mixed, 1.0), "sound device:");
    check(zoo::record(), runs_on(mixed, 1.1), "sound device: CpuLevels note");
    check(zoo::record(), runs_on(mixed, 1.5), "doubtful device: CpuLevels doubt");
    // The node explains it for any number of threads.
    let nodes = [0, 17, 3, 20, 16, 1, 31, 2, 5, 18];
    check(zoo::record(), runs_on(nodes, 1.5), "doubtful device: CpuLevels doubt");
    let mut record = zoo::record();
    runs_on(nodes, 1.5)(&mut record);
    let found = finding(&record).message;
    assert!(found.contains("(node 0: 1.07 GB/s in 5 rounds; node 1: 718 MB/s in 5"), "{found}");
    // Each round ran on its own CPU, so any two levels would correlate with CPUs.
    check(zoo::record(), runs_on([0, 9, 2, 10, 11, 3, 12, 4, 5, 13], 1.5), "sound device:");
    // No report of the CPU: unknown CPUs are not equal CPUs.
    let untold = |record: &mut Record| {
        runs_on(mixed, 1.5)(record);
        each_span(record, |span| span.end_seat = None);
    };
    check(zoo::record(), untold, "sound device:");
}

#[test]
fn swapped() {
    let swapped = |bytes: u64| move |r: &mut Record| evidence(r, |e| e.swapped_bytes = Some(bytes));
    check(zoo::record(), swapped(0), "sound device:");
    check(zoo::record(), swapped(FILE / 101), "sound device: Swapped note");
    check(zoo::record(), swapped(FILE / 99), "doubtful device: Swapped doubt");
    check(memory(), swapped(FILE / 99), "doubtful ram: Swapped doubt");
    check(zoo::record(), |r| evidence(r, |e| e.swapped_bytes = None), "sound device:");
    let one = |r: &mut Record| r.trials[2].evidence.swapped_bytes = Some(4096);
    check(zoo::record(), one, "sound device: Swapped note");
}

/// Plants a disturbance in some rounds, and doubles their time.
fn disturb(record: &mut Record, rounds: &[usize], mut plant: impl FnMut(&mut Evidence)) {
    for round in rounds {
        let trial = &mut record.trials[*round];
        plant(&mut trial.evidence);
        for span in &mut sample(trial).spans {
            span.end_ns = span.start_ns + 2 * (span.end_ns - span.start_ns);
        }
    }
}

/// The zoo's machine has 2 s of CPU time in a trial.
fn stolen(ms: u64) -> impl Fn(&mut Evidence) {
    move |evidence| evidence.steal_ns = Some(ms * MS)
}

#[test]
fn rounds_that_others_disturbed_are_left_out() {
    let held = |ms: u64| move |e: &mut Evidence| e.throttled_ns = Some(ms * MS);
    let others = |share: u64| {
        move |e: &mut Evidence| {
            e.device_read_bytes = Some(FILE + FILE / 100 * share);
        }
    };
    let plant = |plant: &dyn Fn(&mut Evidence)| {
        let mut record = zoo::record();
        disturb(&mut record, &[4], plant);
        judge(&record)
    };
    assert_eq!(plant(&stolen(220)), "sound device: Excluded note");
    assert_eq!(plant(&stolen(180)), "sound device:");
    assert_eq!(plant(&held(55)), "sound device: Excluded note");
    assert_eq!(plant(&held(45)), "sound device:");
    assert_eq!(plant(&others(21)), "sound device: Excluded note");
    assert_eq!(plant(&others(19)), "sound device: Foreign note");
    // A slow round without a known cause stays.
    assert_eq!(plant(&|_| {}), "sound device:");
    // Foreign reads only disturb rows that a device serves.
    let mut record = flawless(work(Cache::Warm));
    let read =
        |e: &mut Evidence| (e.task_read_bytes, e.device_read_bytes) = (Some(4096), Some(FILE));
    disturb(&mut record, &[4], read);
    assert_eq!(judge(&record), "sound page-cache:");
}

/// Foreign reads at a constant rate disturb a slow round no more than the others, even though it
/// sees more of them.
#[test]
fn a_slow_round_does_not_leave_itself_out() {
    let left_out = |percent: u64| {
        let mut record = zoo::record();
        disturb(&mut record, &[4], |e| e.window_ns *= 2);
        evidence(&mut record, |e| {
            let others = u128::from(FILE) * u128::from(percent * e.window_ns) / 100_000_000_000;
            e.device_read_bytes = Some(FILE + others as u64);
        });
        first(&record).excluded.map_or(0, |excluded| excluded.trials)
    };
    assert_eq!(left_out(15), 0);
    assert_eq!(left_out(25), 0, "all of them are too many to leave out");
    // The same reads in one round only exclude that round.
    let mut record = zoo::record();
    disturb(&mut record, &[4], |e| {
        e.window_ns *= 2;
        e.device_read_bytes = Some(FILE + FILE / 2);
    });
    assert_eq!(first(&record).excluded.map(|excluded| excluded.trials), Some(1));
}

/// The OS counts stolen time in ticks of 10 ms: one or two are negligible even in a short trial.
#[test]
fn a_tick_leaves_no_round_out() {
    let of_ms = |ms: u64| {
        let mut record = zoo::record();
        last_ns(&mut record, 150 * MS);
        evidence(&mut record, |e| e.machine_cpu_ns = Some(150 * MS));
        disturb(&mut record, &[4], stolen(ms));
        first(&record).excluded.map(|excluded| excluded.trials)
    };
    assert_eq!(of_ms(20), None);
    assert_eq!(of_ms(30), Some(1));
}

#[test]
fn a_fifth_of_the_rounds_is_left_out_at_most() {
    let excluded = |rounds: u32, disturbed: &[usize]| {
        let mut record = zoo::record_of(work(Cache::Cold), rounds);
        disturb(&mut record, disturbed, stolen(300));
        let found = first(&record);
        (found.excluded.map_or(0, |excluded| excluded.trials), found.n)
    };
    assert_eq!(excluded(10, &[1]), (1, 9));
    assert_eq!(excluded(10, &[1, 7]), (2, 8));
    assert_eq!(excluded(10, &[1, 5, 7]), (0, 10));
    assert_eq!(excluded(15, &[1, 5, 7]), (3, 12));
    // At least seven trials must remain.
    assert_eq!(excluded(8, &[1]), (1, 7));
    assert_eq!(excluded(7, &[1]), (0, 7));
    let mut all = zoo::record();
    disturb(&mut all, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], stolen(300));
    assert_eq!(judge(&all), "doubtful device: Steal doubt");
    // Consecutive trials of a sustained run are one series.
    let mut sustained = zoo::record();
    disturb(&mut sustained, &[1], stolen(300));
    sustained.header.plan.sustain = Some(Duration::from_secs(60));
    assert_eq!(first(&sustained).excluded, None);
}

#[test]
fn what_was_left_out_is_told_with_the_figure_that_it_would_make() {
    let mut record = zoo::record();
    disturb(&mut record, &[2], stolen(300));
    disturb(&mut record, &[6], |e| e.throttled_ns = Some(400 * MS));
    let found = first(&record);
    let Excluded { trials, reasons, rate_with_them } = found.excluded.expect("two are left out");
    assert_eq!((trials, reasons), (2, vec![(Exclusion::Steal, 1), (Exclusion::Throttled, 1)]));
    let throughput = found.throughput.expect("there is a figure");
    assert_eq!((throughput.n, rate_with_them.n), (8, 10));
    assert!(rate_with_them.min < 0.6 * throughput.min, "{rate_with_them:?}");
    let message = finding(&record).message;
    assert!(
        message.starts_with("2 of 10 rounds do not count (1: the hypervisor gave"),
        "{message}"
    );
    let ends = "the figure is 1.07 GB/s [1.06 GB/s, 1.08 GB/s] without them and 1.07 GB/s [540 \
                MB/s, 1.08 GB/s] with them";
    assert!(message.ends_with(ends), "{message}");
    // Five rounds have half the rate, and two of them are excluded. With them, the median is the
    // mean of both rates.
    let mut record = zoo::record();
    disturb(&mut record, &[1, 3, 5], |_| ());
    disturb(&mut record, &[7, 9], stolen(300));
    let found = first(&record).findings;
    let message = &found.iter().find(|found| found.code == Code::Excluded).expect("two").message;
    assert!(message.contains("without them and 803 MB/s ["), "{message}");
}

/// The interval of two invocations that differ much says nothing.
#[test]
fn what_was_left_out_is_told_without_an_interval_that_says_nothing() {
    let mut record = zoo::record();
    disturb(&mut record, &[2], stolen(300));
    disturb(&mut record, &[5, 6, 7, 8, 9], |_| ());
    record.trials.iter_mut().skip(5).for_each(|trial| trial.invocation = 1);
    let found = first(&record).findings;
    assert!(found.iter().any(|it| it.code == Code::WideInterval), "{found:?}");
    let message = &found.iter().find(|it| it.code == Code::Excluded).expect("one is").message;
    assert!(!message.contains('['), "{message}");
    assert!(message.ends_with(" with them"), "{message}");
}

/// Wrong bytes are reported even from an excluded round.
#[test]
fn wrong_bytes_of_a_round_that_is_left_out_are_told() {
    let mut record = zoo::record();
    disturb(&mut record, &[2], stolen(300));
    sample(&mut record.trials[2]).spans[0].digest = Some(76);
    assert_eq!(judge(&record), "void device: DigestMismatch void, Excluded note");
    assert_eq!(first(&record).digest_verified, Some(false));
    check(zoo::record(), no_op, "sound device:");
}

/// Plants a disk at `disk`, if that is known, and the thread at `thread`.
fn nodes_apart(disk: Option<u32>, thread: Option<u32>) -> impl Fn(&mut Record) {
    move |record| {
        let node = disk.map(|node| Hop::new(format!("node {node}"), HopKind::Node, Vec::new()));
        let disk = Hop::new("sda", HopKind::Disk(Box::default()), node.into_iter().collect());
        record.header.storage.as_mut().expect("it has one").path = Some(Box::new(disk));
        each_span(record, |span| {
            let seat = thread.map(|node| Seat { cpu: 1, node });
            (span.start_seat, span.end_seat) = (seat, seat);
        });
    }
}

#[test]
fn threads_on_another_node_than_the_disk() {
    check(zoo::record(), nodes_apart(Some(0), Some(1)), "sound device: CrossNode note");
    check(zoo::record(), nodes_apart(Some(1), Some(1)), "sound device:");
    check(zoo::record(), nodes_apart(None, Some(1)), "sound device:");
    check(zoo::record(), nodes_apart(Some(0), None), "sound device:");
    // What the page cache serves does not come from the disk.
    check(flawless(work(Cache::Warm)), nodes_apart(Some(0), Some(1)), "sound page-cache:");
    // A hypervisor makes nodes up.
    let in_guest = |record: &mut Record| {
        nodes_apart(Some(0), Some(1))(record);
        record.header.host.hypervisor = Some("kvm".to_string());
    };
    check(zoo::record(), in_guest, "sound device:");
    let moved = |record: &mut Record| {
        nodes_apart(Some(0), Some(1))(record);
        each_span(record, |span| span.end_seat = Some(Seat { cpu: 0, node: 0 }));
    };
    check(zoo::record(), moved, "sound device:");
}
