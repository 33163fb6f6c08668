//! How often a rule reports an effect that exists, and one that does not.

use super::noise::{AR_7, NORMAL, Noise, SLOW, normal};
use super::record;
use super::rounds::share;
use super::table::MarkdownTable;
use assess::comparison::Difference;
use assess::records::Judged;
use assess::series::{drift, is_steady_window, step};
use assess::stats::Estimate;
use assess::trend;
use model::random::Rng;

fn flat(_: usize) -> f64 {
    1.0
}

/// A step to `after` halfway through the rounds.
fn fall(rounds: usize, after: f64) -> impl Fn(usize) -> f64 {
    move |round| if round < rounds / 2 { 1.0 } else { after }
}

/// Whether something is reported in a session of so many rounds.
type Holds<'a> = &'a dyn Fn(&mut Rng, usize) -> bool;

/// Steps and drifts within a time series or from round to round.
pub(super) fn series(sessions: usize) -> MarkdownTable {
    let steps = |noise: Noise| move |rng: &mut Rng, n| step(&noise.rates(rng, n, flat)).is_some();
    let drifts = |noise: Noise| move |rng: &mut Rng, n| drift(&noise.rates(rng, n, flat)).is_some();
    let rows: [(&str, Holds<'_>); 8] = [
        ("a false step: normal, 10 %", &steps(NORMAL.times(2.0))),
        ("a false step: 15 % half as fast", &steps(SLOW)),
        ("a false step: AR(1), φ = .7, 10 %", &steps(AR_7.times(2.0))),
        ("a false step: AR(1), φ = .7, 20 %", &steps(AR_7.times(4.0))),
        ("a step, falling by 30 %: normal, 5 %", &|rng, n| {
            step(&NORMAL.rates(rng, n, fall(n, 0.7))).is_some()
        }),
        ("a false drift: normal, 5 %", &drifts(NORMAL)),
        ("a false drift: 15 % half as fast", &drifts(SLOW)),
        ("a drift: AR(1), φ = .7, 5 %", &drifts(AR_7)),
    ];
    let columns = [("10", 10), ("20", 20), ("30", 30), ("60", 60)];
    MarkdownTable::grid("reported", &columns, &rows, |_, holds, n| {
        share(sessions, *n as u64, |rng| holds(rng, *n))
    })
}

/// Which windows count as steady.
pub(super) fn steady(sessions: usize) -> MarkdownTable {
    let rows = [
        ("no drift, noise of 3 %", (0.0, 0.6)),
        ("no drift, noise of 5 %", (0.0, 1.0)),
        ("no drift, noise of 10 %", (0.0, 2.0)),
        ("a fall by 1 % a step, noise of 1 %", (0.01, 0.2)),
        ("a fall by 2 % a step, noise of 1 %", (0.02, 0.2)),
    ];
    let columns = [("5 steps", 5), ("10 steps", 10)];
    MarkdownTable::grid("called steady", &columns, &rows, |_, (a_step, times), n| {
        share(sessions, *n as u64, |rng| {
            let level = |at: usize| (1.0_f64 - a_step).powf(at as f64);
            is_steady_window(&NORMAL.times(*times).rates(rng, *n, level))
        })
    })
}

/// Two cases of one run, and the same case in two runs.
pub(super) fn compared(sessions: usize) -> MarkdownTable {
    let of_one_run = |factor, memory, slow| {
        move |rng: &mut Rng, n: usize| {
            let [base, other] = pair(rng, n, factor, memory, slow);
            let found = assess::assess(&record::of(&[&base, &other])).comparisons;
            found.iter().any(|found| found.difference == Difference::Different)
        }
    };
    let of_two_runs = |after: f64, off: f64| {
        move |rng: &mut Rng, n: usize| {
            let mut of_run = |level: f64| {
                let level = level * (1.0 + off * normal(rng));
                record::of_invocations(&[&NORMAL.rates(rng, n, |_| level)], 5)
            };
            let versus = assess::compare(Judged::of(of_run(1.0)), Judged::of(of_run(after)), &[]);
            versus.pairs.iter().any(|pair| pair.comparison.difference == Difference::Different)
        }
    };
    let rows: [(&str, Holds<'_>); 7] = [
        ("the same, in one run", &of_one_run(1.0, 0.9, 0.0)),
        ("the same, in one run, 15 % slow", &of_one_run(1.0, 0.9, 0.15)),
        ("a tenth more, in one run", &of_one_run(1.1, 0.9, 0.0)),
        ("a tenth more, in one run, 15 % slow", &of_one_run(1.1, 0.9, 0.15)),
        ("the same, in two runs", &of_two_runs(1.0, 0.0)),
        ("the same, in two runs, each off by 2.5 %", &of_two_runs(1.0, 0.025)),
        ("a tenth more, in two runs", &of_two_runs(1.1, 0.0)),
    ];
    let columns = [("7", 7), ("10", 10), ("20", 20)];
    MarkdownTable::grid("called different", &columns, &rows, |_, holds, n| {
        share(sessions, *n as u64, |rng| holds(rng, *n))
    })
}

/// The fastest of many equal cases.
pub(super) fn fastest(sessions: usize) -> MarkdownTable {
    let rows = [("in one run", 1), ("in 5 invocations", 5)];
    let columns = [("7", 7), ("10", 10), ("20", 20)];
    MarkdownTable::grid("one of 24 is called slower", &columns, &rows, |_, invocations, n| {
        share(sessions, *n as u64, |rng| {
            let cases: Vec<Vec<f64>> = (0..24).map(|_| NORMAL.rates(rng, *n, flat)).collect();
            let cases: Vec<&[f64]> = cases.iter().map(Vec::as_slice).collect();
            let assessment = assess::assess(&record::of_invocations(&cases, *invocations));
            let found = assessment.conclusions.fastest;
            let (_, lead) = found.first().expect("the device served all");
            lead.alike().len() + 1 < lead.of_rows()
        })
    })
}

/// Rounds of two cases on a machine whose drift affects both.
fn pair(rng: &mut Rng, rounds: usize, factor: f64, memory: f64, slow: f64) -> [Vec<f64>; 2] {
    let mut state = normal(rng);
    let mut both = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        state = memory * state + (1.0 - memory * memory).sqrt() * normal(rng);
        for (rates, factor) in both.iter_mut().zip([1.0, factor]) {
            let slow = if rng.unit() < slow { 1.0 - 0.4 * rng.unit() } else { 1.0 };
            rates.push((0.1 * state).exp() * factor * slow * (0.03 * normal(rng)).exp());
        }
    }
    both
}

/// Steps from run to run.
pub(super) fn trends(sessions: usize) -> MarkdownTable {
    let rows = [
        ("a case that does not change", (1.0, 1)),
        ("any of 20 such cases", (1.0, 20)),
        ("a case that falls by a fifth", (0.8, 1)),
    ];
    let columns = [("10 runs", 10), ("20 runs", 20), ("40 runs", 40)];
    MarkdownTable::grid("a step between runs, of", &columns, &rows, |_, (after, cases), n| {
        let is_told = |rng: &mut Rng| {
            let rates = NORMAL.rates(rng, *n, fall(*n, *after));
            let runs: Vec<Option<Estimate>> =
                rates.iter().map(|median| Estimate::of(&[*median; 10])).collect();
            trend::step(&runs, *cases).is_some()
        };
        share(sessions, *n as u64, |rng| (0..*cases).filter(|_| is_told(rng)).count() > 0)
    })
}
