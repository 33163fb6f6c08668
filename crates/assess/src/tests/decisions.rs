//! The gate for conclusions: an interval, an effect of interest and sound rows.

use super::noise::normal;
use super::*;
use crate::comparison::{Comparison, Difference};
use crate::decision::{Decided, Decision, Lead, Named, Open, Repeats};
use crate::finding::{Code, Finding, Severity, Verdict};
use crate::summary::{ServedBy, Summary};
use model::random::Rng;
use proptest::prelude::*;

/// A comparison of two rows of a flawless record, with this ratio and interval.
fn comparison(ratio: f64, low: Option<f64>, high: Option<f64>) -> Comparison {
    let interest = 0.05;
    let is_beyond = |low: f64, high: f64| low > 1.0 || high < 1.0;
    let is_within = |low: f64, high: f64| low >= 1.0 / 1.05 && high <= 1.05;
    let difference = match low.zip(high) {
        Some((low, high)) if is_beyond(low, high) && ratio.max(1.0 / ratio) >= 1.05 => {
            Difference::Different
        }
        Some((low, high)) if is_within(low, high) => Difference::Equivalent,
        _ => Difference::Inconclusive,
    };
    let [case, base] = ["a", "b"].map(str::to_string);
    Comparison {
        case,
        base,
        pairs: 10,
        invocations: 1,
        ratio,
        low,
        high,
        difference,
        interest,
        needs: None,
    }
}

fn summaries() -> [Summary; 2] {
    let summary = assess(&flawless(work(Cache::Warm))).cases.remove(0);
    [summary.clone(), summary]
}

/// A doubt of this kind on a row.
fn doubt(row: &mut Summary, code: Code) {
    let (message, remedy) = (String::new(), String::new());
    row.findings.push(Finding { code, severity: Severity::Doubt, message, remedy, size: None });
    row.verdict = Verdict::Doubtful;
}

#[test]
fn a_question_has_three_outcomes() {
    use Decision::{No, Undecided, Yes};
    let [a, b] = summaries();
    for (ratio, low, high, faster, differs) in [
        (1.10, Some(1.07), Some(1.12), Yes, Yes),
        (0.50, Some(0.40), Some(0.60), No, Yes),
        (1.00, Some(0.98), Some(1.02), No, No),
        // A rise below the effect of interest is none; one that may exceed it is undecided.
        (1.03, Some(1.01), Some(1.04), No, No),
        (1.04, Some(1.01), Some(1.09), Undecided, Undecided),
        // The row may be slower or equally fast, but it is not faster.
        (0.90, Some(0.70), Some(1.03), No, Undecided),
        (0.25, Some(0.10), Some(1.20), Undecided, Undecided),
        (9.00, None, None, Undecided, Undecided),
        (0.10, None, None, Undecided, Undecided),
    ] {
        let found = comparison(ratio, low, high);
        let is_faster = Decided::is_faster(found.clone(), [&a, &b]).expect("both stand");
        let is_different = Decided::differs(found, [&a, &b]).expect("both stand");
        let decided = (is_faster.decision(), is_different.decision());
        assert_eq!(decided, (faster, differs), "{ratio} {low:?} {high:?}");
    }
}

#[test]
fn a_doubt_on_either_row_decides_nothing_and_a_void_row_is_not_named() {
    let found = comparison(9.0, Some(8.0), Some(10.0));
    for doubtful in [0, 1] {
        let mut rows = summaries();
        doubt(&mut rows[doubtful], Code::Foreign);
        let decided = Decided::is_faster(found.clone(), [&rows[0], &rows[1]]).expect("both stand");
        assert_eq!(decided.decision(), Decision::Undecided);
        assert!(decided.rows()[doubtful].is_doubtful());
        assert_eq!(decided.open(), Some(Open::InDoubt));
        assert_eq!(decided.comparison().difference, Difference::InDoubt);
        rows[doubtful].verdict = Verdict::Void;
        assert_eq!(Decided::is_faster(found.clone(), [&rows[0], &rows[1]]), None);
        assert_eq!(Named::of(&rows[doubtful]), None);
    }
}

/// An interval that ends just above 1 refutes a claim about sound rows. A row that varies too much
/// for its own interval takes one that excludes 1, or shows that the two are equal.
#[test]
fn what_may_be_so_is_refuted_for_sound_rows_only() {
    use Decision::{No, Undecided, Yes};
    for (ratio, low, high, sound, doubtful) in [
        (0.64, 0.40, 1.02, No, Undecided),
        (0.64, 0.40, 0.99, No, No),
        (1.00, 0.98, 1.02, No, No),
        (0.64, 0.40, 1.20, Undecided, Undecided),
        (1.50, 1.20, 1.90, Yes, Yes),
    ] {
        let found = comparison(ratio, Some(low), Some(high));
        let [a, b] = summaries();
        let decided = |rows: [&Summary; 2]| {
            Decided::is_faster(found.clone(), rows).expect("both stand").decision()
        };
        assert_eq!(decided([&a, &b]), sound, "{low} to {high}");
        for which in [0, 1] {
            let mut rows = summaries();
            doubt(&mut rows[which], Code::WideInterval);
            let [a, b] = &rows;
            assert_eq!(decided([a, b]), doubtful, "{low} to {high}");
        }
    }
}

/// A record of the same reads by pread and by mmap, which takes a third longer.
fn two_engines() -> Record {
    let mut record = flawless(work(Cache::Warm));
    let mmap = ReadWork { engine: Engine::Mmap, ..work(Cache::Warm) };
    add(&mut record, file_case(mmap), Role::Asked, FILE, 1.33, 0);
    record
}

/// The table of comparisons and the sentences about them ask one question once.
#[test]
fn a_doubtful_figure_leaves_the_comparison_of_the_table_in_doubt_too() {
    let check = |record: &Record, expected: Difference| {
        let assessment = assess(record);
        let [found] = &assessment.comparisons[..] else { panic!("{:#?}", assessment.comparisons) };
        assert_eq!((found.difference, found.needs), (expected, None));
        let of = |id: &String| assessment.cases.iter().find(|case| case.id == *id);
        let rows = [&found.case, &found.base].map(|id| of(id).expect("it is a row"));
        let decided = Decided::differs(found.clone(), rows).expect("both stand");
        let is_decided = decided.decision() != Decision::Undecided;
        assert_eq!(is_decided, expected == Difference::Different);
    };
    let mut record = two_engines();
    check(&record, Difference::Different);
    for trial in record.trials.iter_mut().filter(|trial| trial.case == 1) {
        trial.evidence.throttled_ns = Some(300_000_000);
    }
    check(&record, Difference::InDoubt);
}

/// Ten rounds of warm reads, with one case per entry of `factors`, that many times as fast. Every
/// round of every case has its own noise.
fn contest(rng: &mut Rng, factors: &[f64], noise: f64) -> Lead {
    let mut record = flawless(work(Cache::Warm));
    record.trials.clear();
    record.header.plan.cases.clear();
    for (depth, factor) in (1..).zip(factors) {
        let case = file_case(ReadWork {
            io: Io { depth, ..work(Cache::Warm).io },
            engine: Engine::Uring,
            ..work(Cache::Warm)
        });
        add(&mut record, case, Role::Asked, FILE, 1.0, 0);
        for trial in record.trials.iter_mut().filter(|trial| trial.case as u32 == depth - 1) {
            let slow = (noise * normal(rng)).exp() / factor;
            for span in &mut sample(trial).spans {
                let ns = (span.end_ns - span.start_ns) as f64 * slow;
                span.end_ns = span.start_ns + ns as u64;
            }
        }
    }
    let mut fastest = assess(&record).conclusions.fastest;
    assert_eq!(fastest.len(), 1, "one kind served all");
    let (by, lead) = fastest.remove(0);
    assert_eq!(by, ServedBy::PageCache);
    lead
}

/// Of many equal cases, one is the fastest by chance: it differs from none (docs/method).
#[test]
fn the_fastest_of_equal_cases_is_told_apart_from_none() {
    let mut rng = Rng::new(11);
    let runs = 60;
    let mut excluded = 0;
    for _ in 0..runs {
        let lead = contest(&mut rng, &[1.0; 24], 0.05);
        assert_ne!(lead.decision(), Decision::Yes);
        // One or two look as if they drift, and are excluded.
        assert_eq!(lead.of_rows() + lead.left_out(), 24);
        excluded += u32::from(lead.alike().len() + 1 < lead.of_rows());
    }
    assert!(f64::from(excluded) / f64::from(runs) <= 0.1, "{excluded} of {runs} exclude one");
}

#[test]
fn the_fastest_is_told_apart_from_what_is_slower() {
    let mut rng = Rng::new(12);
    let alone = contest(&mut rng, &[1.0, 1.5, 1.0], 0.01);
    assert_eq!((alone.decision(), alone.alike().len()), (Decision::Yes, 0));
    assert!(alone.best().row.id.contains("d2"), "{alone:?}");
    let two = contest(&mut rng, &[1.0, 1.5, 1.501], 0.001);
    assert_eq!((two.decision(), two.alike().len()), (Decision::No, 1));
    let open = contest(&mut rng, &[1.0, 1.5, 1.52], 0.05);
    assert_eq!((open.decision(), open.alike().len()), (Decision::Undecided, 1));
}

/// Three invocations whose medians of the ratio differ by a few percent show that one row is faster
/// than another, but not that it is the fastest of many.
#[test]
fn too_few_invocations_for_many_rows_are_named() {
    let of = |rivals: u32| {
        let mut record = flawless(work(Cache::Warm));
        record.trials.clear();
        record.header.plan.cases.clear();
        for depth in 1..=rivals + 1 {
            let io = Io { depth, ..work(Cache::Warm).io };
            let case = file_case(ReadWork { io, engine: Engine::Uring, ..work(Cache::Warm) });
            add(&mut record, case, Role::Asked, FILE, if depth == 1 { 1.0 } else { 1.8 }, 0);
        }
        records::deal(&mut record, 3);
        for trial in record.trials.iter_mut().filter(|trial| trial.case > 0) {
            let slow = [0.95, 1.0, 1.06][trial.invocation as usize];
            for span in &mut sample(trial).spans {
                let ns = (span.end_ns - span.start_ns) as f64 * slow;
                span.end_ns = span.start_ns + ns as u64;
            }
        }
        assess(&record).conclusions.fastest.remove(0).1
    };
    assert_eq!(of(1).decision(), Decision::Yes);
    let many = of(15);
    assert_eq!((many.decision(), many.alike().len()), (Decision::Undecided, 15));
    for decided in many.against() {
        let Some(Open::Rivals { repeats, rows, needs }) = decided.open() else {
            panic!("{decided:#?}")
        };
        assert_eq!((repeats, rows), (Repeats::Invocations(3), 15));
        assert!(needs.is_some_and(|needs| (4..10).contains(&needs)), "{needs:?}");
    }
}

#[test]
fn a_doubtful_row_is_no_sound_rival_and_no_decided_leader() {
    let mut record = flawless(work(Cache::Warm));
    let deep = |depth| {
        file_case(ReadWork {
            io: Io { depth, ..work(Cache::Warm).io },
            engine: Engine::Uring,
            ..work(Cache::Warm)
        })
    };
    for (depth, times) in [(1, 2), (2, 4)] {
        add(&mut record, deep(depth), Role::Asked, times * FILE, 1.0, 0);
    }
    let doubt = |record: &mut Record, case: usize| {
        for trial in record.trials.iter_mut().filter(|trial| trial.case == case) {
            trial.evidence.throttled_ns = Some(60_000_000);
        }
    };
    let lead = |record: &Record| assess(record).conclusions.fastest.remove(0).1;
    assert_eq!(lead(&record).decision(), Decision::Yes);
    let mut of_rival = record.clone();
    doubt(&mut of_rival, 1);
    let found = lead(&of_rival);
    assert_eq!((found.decision(), found.of_rows(), found.left_out()), (Decision::Yes, 2, 1));
    doubt(&mut record, 2);
    let found = lead(&record);
    assert_eq!(found.decision(), Decision::Undecided);
    assert_eq!(found.best().row.doubts, [Code::Throttled]);
}

#[test]
fn one_thread_is_not_enough_by_a_doubtful_row() {
    let mut record = flawless(work(Cache::Warm));
    for threads in [1, 2] {
        add(&mut record, memory_case(Kernel::Read, threads), Role::Asked, 100 * FILE, 1.0, 0);
    }
    let found = |record: &Record| assess(record).conclusions.saturations.remove(0);
    assert_eq!((found(&record).decision, found(&record).threads), (Decision::Yes, Some(1)));
    for trial in record.trials.iter_mut().filter(|trial| trial.case == 2) {
        trial.evidence.throttled_ns = Some(200_000_000);
    }
    let doubted = found(&record);
    assert_eq!((doubted.decision, doubted.threads), (Decision::Undecided, None));
    assert_eq!(doubted.rows.iter().filter(|row| row.is_doubtful()).count(), 1);
    // Too few rounds are undecided too.
    record.trials.retain(|trial| trial.round < 5);
    assert_eq!(found(&record).decision, Decision::Undecided);
}

/// A noisy fall to a quarter is not evidence of no change.
#[test]
fn a_wide_fall_to_a_quarter_is_open() {
    let of = |noise: f64, factor: f64| {
        let few = ReadWork { io: Io { ops: 100, ..work(Cache::Warm).io }, ..work(Cache::Warm) };
        let many = ReadWork { io: Io { ops: 1_000, ..work(Cache::Warm).io }, ..work(Cache::Warm) };
        let mut record = flawless(few);
        add(&mut record, file_case(many), Role::Asked, FILE, factor, 0);
        let mut rng = Rng::new(3);
        for trial in record.trials.iter_mut().filter(|trial| trial.case == 1) {
            let slow = (noise * normal(&mut rng)).exp();
            let span = &mut sample(trial).spans[0];
            span.end_ns = span.start_ns + ((span.end_ns - span.start_ns) as f64 * slow) as u64;
        }
        let found = assess(&record).conclusions.read_latency.remove(0);
        (found.decision(), found.comparison().case.contains("ops:1000"))
    };
    assert_eq!(of(2.5, 4.0), (Decision::Undecided, true));
    assert_eq!(of(0.01, 4.0), (Decision::Yes, true));
}

proptest! {
    /// For any interval and verdicts: a decision names rows that are sound, or doubtful because
    /// they vary from round to round, and has an interval. It never contradicts that interval.
    #[test]
    fn what_is_decided_is_sound_and_has_an_interval(
        ratio in 0.01f64..100.0, below in 0.0f64..2.0, above in 0.0f64..2.0,
        has_interval: bool, verdicts in proptest::collection::vec(0usize..4, 2),
    ) {
        let (low, high) = (ratio * (-below).exp(), ratio * above.exp());
        let [low, high] = [low, high].map(|end| has_interval.then_some(end));
        let mut rows = summaries();
        for (row, verdict) in rows.iter_mut().zip(&verdicts) {
            match verdict {
                0 => {}
                1 => doubt(row, Code::Drifting),
                2 => doubt(row, Code::Foreign),
                _ => row.verdict = Verdict::Void,
            }
        }
        let found = comparison(ratio, low, high);
        let both = [&rows[0], &rows[1]];
        let all = [Decided::is_faster, Decided::differs].map(|ask| ask(found.clone(), both));
        for decided in all {
            let has_void = rows.iter().any(|row| row.verdict == Verdict::Void);
            prop_assert_eq!(decided.is_none(), has_void);
            let Some(decided) = decided else { continue };
            if decided.decision() != Decision::Undecided {
                prop_assert!(verdicts.iter().all(|verdict| *verdict < 2));
                prop_assert!(has_interval);
            }
        }
        if let Some(decided) = Decided::is_faster(found, [&rows[0], &rows[1]]) {
            match decided.decision() {
                Decision::Yes => prop_assert!(low > Some(1.0)),
                Decision::No => prop_assert!(high <= Some(1.05)),
                Decision::Undecided => {}
            }
        }
    }
}
