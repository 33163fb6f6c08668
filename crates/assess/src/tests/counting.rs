//! Whether disk is faster than memory: the answer and the claim.

use super::*;
use crate::conclusions::counts::{Claim, CountingAnswer, RowRate};
use crate::decision::{Decided, Decision};
use model::case::{Advice, Io};

fn counting(work: ReadWork) -> ReadWork {
    ReadWork { io: Io { ops: 1_024, ..work.io }, touch: Touch::Count, ..work }
}

fn mmap(cache: Cache, advice: Advice, threads: u32) -> ReadWork {
    counting(ReadWork {
        io: Io { threads, ..work(cache).io },
        engine: Engine::Mmap,
        advice,
        ..work(cache)
    })
}

fn uring(depth: u32, threads: u32) -> ReadWork {
    counting(ReadWork {
        io: Io { depth, threads, ..work(Cache::Direct).io },
        engine: Engine::Uring,
        ..work(Cache::Direct)
    })
}

fn loaded(threads: u32) -> ReadWork {
    let engine = Engine::Load;
    counting(ReadWork {
        io: Io { threads, ..work(Cache::Warm).io },
        engine,
        advice: Advice::HugePage,
        ..work(Cache::Warm)
    })
}

/// Rates in GiB/s: one thread reads memory at 20 and two at 32; they count loaded bytes at 20 and
/// 30. Including the load, that is 2 and 3. The page cache gives 8, cold mmap 1, direct io_uring 4.
fn tens() -> Record {
    let mut record = flawless(counting(work(Cache::Warm)));
    for (threads, times) in [(1, 20), (2, 32)] {
        add(&mut record, memory_case(Kernel::Read, threads), Role::Asked, times * FILE, 1.0, 0);
    }
    load(&mut record, loaded(1), 2, 0);
    load(&mut record, loaded(2), 3, 0);
    for (work, times) in [
        (mmap(Cache::Warm, Advice::None, 1), 3),
        (mmap(Cache::Warm, Advice::Populate, 1), 5),
        (mmap(Cache::Warm, Advice::None, 2), 8),
        (mmap(Cache::Cold, Advice::None, 1), 1),
        (mmap(Cache::Cold, Advice::TouchAhead, 1), 3),
        (uring(8, 1), 5),
        (uring(32, 1), 4),
        (uring(32, 2), 2),
    ] {
        let device_bytes = if work.io.cache == Cache::Warm { 0 } else { times * FILE };
        add(&mut record, file_case(work), Role::Asked, times * FILE, 1.0, device_bytes);
    }
    record
}

fn answer(record: &Record) -> CountingAnswer {
    let mut answers = assess(record).conclusions.counts;
    assert_eq!(answers.len(), 1, "{answers:#?}");
    answers.remove(0)
}

/// The rate in GiB/s, corrected for the drift that all rounds share.
fn gib(figure: &RowRate) -> f64 {
    let drift = 1.045;
    (figure.throughput.median / FILE as f64 * drift * 10.0).round() / 10.0
}

fn ratio(ratio: Option<crate::Ratio>) -> Option<f64> {
    ratio.map(|ratio| (ratio.median * 100.0).round() / 100.0)
}

fn decision(answer: &CountingAnswer) -> Option<Decision> {
    answer.disk_is_faster.as_ref().map(Decided::decision)
}

#[test]
fn the_fastest_of_each_kind_are_told() {
    let found = answer(&tens());
    assert_eq!((found.size, found.fits_caches), (FILE, false));
    let reads: Vec<(u32, f64)> = found.memory_reads.iter().map(|f| (f.threads, gib(f))).collect();
    assert_eq!(reads, [(1, 20.0), (2, 32.0)]);
    let counts: Vec<(u32, f64)> = found.in_memory.iter().map(|f| (f.threads, gib(f))).collect();
    assert_eq!(counts, [(1, 20.0), (2, 30.0)]);
    assert_eq!(ratio(found.in_memory[1].of_read), Some(0.94));
    assert_eq!(decision(&found), Some(Decision::No));
    let page_cache = found.page_cache.expect("it was measured");
    assert_eq!((gib(&page_cache), page_cache.threads), (8.0, 2));
    assert_eq!(ratio(page_cache.of_count), Some(0.27));
    assert_eq!(ratio(page_cache.of_read), Some(0.25));
    let device = found.device.expect("it was measured");
    assert_eq!((gib(&device), device.threads), (5.0, 1));
    assert_eq!(ratio(device.of_count), Some(0.25));
    assert!(device.of_count.is_some_and(|ratio| ratio.pairs == 10 && ratio.low.is_some()));
}

#[test]
fn the_claim_is_measured_again() {
    let found = answer(&tens());
    let [cold, warm] = &found.claims[..] else { panic!("two states: {:#?}", found.claims) };
    let say =
        |claim: &Claim| (claim.cache, gib(&claim.mmap), gib(&claim.uring), claim.holds.decision());
    // The row with the most I/Os in flight counts, not the fastest row.
    assert_eq!(say(cold), (Cache::Cold, 1.0, 4.0, Decision::Yes));
    assert_eq!(ratio(Some(cold.holds.ratio())), Some(4.0));
    assert_eq!(say(warm), (Cache::Warm, 3.0, 4.0, Decision::Yes));
    let fair = |claim: &Claim| -> Vec<(f64, Option<f64>, Decision)> {
        let say = |f: &crate::conclusions::counts::Fair| {
            (gib(&f.figure), ratio(Some(f.holds.ratio())), f.holds.decision())
        };
        claim.fair.iter().map(say).collect()
    };
    assert_eq!(fair(cold), [(3.0, Some(1.33), Decision::Yes)]);
    let expected = [
        (2.0, Some(2.0), Decision::Yes),
        (3.0, Some(1.33), Decision::Yes),
        (5.0, Some(0.8), Decision::No),
        (8.0, Some(0.5), Decision::No),
    ];
    assert_eq!(fair(warm), expected, "loaded by one, by two, populated, two threads");
}

/// Sets the rate of a case to `times` GiB/s in every round.
fn set_rate(record: &mut Record, is_case: impl Fn(&ReadWork) -> bool, times: f64) {
    let cases = &record.header.plan.cases;
    let index = cases.iter().position(|planned| planned.case.read().is_some_and(&is_case));
    for trial in record.trials.iter_mut().filter(|trial| Some(trial.case) == index) {
        let round = trial.round;
        for span in &mut sample(trial).spans {
            let ns = span.bytes as f64 / (times * FILE as f64) * base_ns(round) as f64;
            span.end_ns = span.start_ns + ns as u64;
        }
    }
}

#[test]
fn the_data_decides_whether_disk_is_faster() {
    let decide = |times: f64| {
        let mut record = tens();
        set_rate(&mut record, |work| work.engine == Engine::Uring && work.io.depth == 8, times);
        decision(&answer(&record))
    };
    assert_eq!(decide(19.0), Some(Decision::No));
    assert_eq!(decide(21.5), Some(Decision::Yes));
    // Seven rounds above and three below are undecided.
    let mut record = tens();
    set_rate(&mut record, |work| work.engine == Engine::Uring && work.io.depth == 8, 21.0);
    let index = record.header.plan.cases.iter().position(|planned| {
        planned.case.read().is_some_and(|w| w.engine == Engine::Uring && w.io.depth == 8)
    });
    let slow = |trial: &&mut Trial| Some(trial.case) == index && trial.round < 3;
    for trial in record.trials.iter_mut().filter(slow) {
        let span = &mut sample(trial).spans[0];
        span.end_ns += span.end_ns / 5;
    }
    assert_eq!(decision(&answer(&record)), Some(Decision::Undecided));
}

/// The claim with these ratios of io_uring to a warm mapping, one for each round.
fn claim_with(ratios: [f64; 10]) -> (crate::finding::Verdict, Decision) {
    let mut record = tens();
    let is_uring = |work: &ReadWork| work.engine == Engine::Uring && work.io.depth == 32;
    let cases = &record.header.plan.cases;
    let index = cases.iter().position(|planned| planned.case.read().is_some_and(&is_uring));
    let faster = cases.iter().rposition(|planned| planned.case.read().is_some_and(&is_uring));
    record.trials.retain(|trial| Some(trial.case) != faster);
    for trial in record.trials.iter_mut().filter(|trial| Some(trial.case) == index) {
        let round = trial.round;
        for span in &mut sample(trial).spans {
            let rate = 3.0 * FILE as f64 * ratios[round as usize];
            span.end_ns = span.start_ns + (span.bytes as f64 / rate * base_ns(round) as f64) as u64;
        }
    }
    let found = answer(&record);
    let claim = found.claims.iter().find(|claim| claim.cache == Cache::Warm).expect("it is there");
    (claim.uring.row.verdict, claim.holds.decision())
}

/// Both intervals end just above 1.
#[test]
fn a_claim_that_may_hold_is_refuted_by_sound_figures_only() {
    use crate::finding::Verdict;
    let narrow = [0.97, 1.005, 0.94, 0.99, 0.96, 1.01, 0.95, 1.0, 0.93, 0.98];
    assert_eq!(claim_with(narrow), (Verdict::Sound, Decision::No));
    let wide = [0.50, 1.005, 0.11, 0.60, 0.40, 1.01, 0.30, 0.90, 0.10, 0.45];
    assert_eq!(claim_with(wide), (Verdict::Doubtful, Decision::Undecided));
}

#[test]
fn without_a_count_in_memory_reading_it_stands_in() {
    let mut record = tens();
    record.trials.retain(|trial| trial.case != 3 && trial.case != 4);
    let found = answer(&record);
    assert_eq!((found.in_memory.len(), decision(&found)), (0, Some(Decision::No)));
    assert_eq!(found.device.and_then(|device| device.of_count), None);
    record.trials.retain(|trial| trial.case != 1 && trial.case != 2);
    assert_eq!(decision(&answer(&record)), None);
}

#[test]
fn what_is_void_or_of_another_peer_answers_nothing() {
    let mut record = tens();
    for trial in record.trials.iter_mut().filter(|trial| trial.case > 0) {
        trial.expected_digest = Some(1);
    }
    assert_eq!(assess(&record).conclusions.counts, []);
    let mut record = tens();
    for planned in &mut record.header.plan.cases {
        planned.case.peer = "zebra".to_string();
    }
    assert_eq!(assess(&record).conclusions.counts, []);
    // A run without a count has no answer.
    assert_eq!(assess(&flawless(work(Cache::Warm))).conclusions.counts, []);
}

#[test]
fn each_size_has_its_answer() {
    let mut record = tens();
    let small = ReadWork { io: Io { size: ARRAYS / 2, ..loaded(1).io }, ..loaded(1) };
    load(&mut record, small, 9, 0);
    let answers = assess(&record).conclusions.counts;
    // Arrays are four times as large as the caches.
    let held = answers.iter().map(|a| (a.size, a.fits_caches, a.caches_hold));
    let small = (ARRAYS / 2, false, Some(0.5));
    let share = ARRAYS as f64 / 4.0 / FILE as f64;
    assert_eq!(held.collect::<Vec<_>>(), [small, (FILE, false, Some(share))]);
    assert_eq!((answers[0].in_memory.len(), answers[0].claims.len()), (1, 0));
    assert!(answers.iter().all(|answer| answer.memory_reads.len() == 2));
}

#[test]
fn arrays_that_are_counted_are_memory_too() {
    let mut record = tens();
    add(&mut record, memory_case(Kernel::Count, 2), Role::Asked, 31 * FILE, 1.0, 0);
    let found = answer(&record);
    assert_eq!(found.in_memory[1].row.id, "memory count avx2 128MiB t2");
    assert_eq!(gib(&found.in_memory[1]), 31.0);
}

#[test]
fn peers_are_handed_on() {
    let mut record = tens();
    record.header.peers = vec![zoo::peer()];
    assert_eq!(assess(&record).header.peers, [zoo::peer()]);
}
