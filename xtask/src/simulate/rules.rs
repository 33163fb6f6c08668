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

/// Steps and drifts within a time series or from round to round.
pub(super) fn series(sessions: usize) -> MarkdownTable {
    let mut table = MarkdownTable::new(&["reported", "10", "20", "30", "60"]);
    let mut row = |name: &str, holds: &dyn Fn(&mut Rng, usize) -> bool| {
        let of = |n: usize| share(sessions, n as u64, |rng| holds(rng, n));
        table.row(name, &[10, 20, 30, 60].map(of));
    };
    let wide = NORMAL.times(2.0);
    let steps = |noise: Noise| move |rng: &mut Rng, n| step(&noise.rates(rng, n, flat)).is_some();
    row("a false step: normal, 10 %", &steps(wide));
    row("a false step: 15 % of the rounds half as fast", &steps(SLOW));
    row("a false step: AR(1), φ = .7, 10 %", &steps(AR_7.times(2.0)));
    row("a false step: AR(1), φ = .7, 20 %", &steps(AR_7.times(4.0)));
    row("a step, after a fall by 30 % in the middle: normal, 5 %", &|rng, n| {
        step(&NORMAL.rates(rng, n, fall(n, 0.7))).is_some()
    });
    let drifts = |noise: Noise| move |rng: &mut Rng, n| drift(&noise.rates(rng, n, flat)).is_some();
    row("a false drift: normal, 5 %", &drifts(NORMAL));
    row("a false drift: 15 % of the rounds half as fast", &drifts(SLOW));
    row("a drift, with rounds that depend on each other: AR(1), φ = .7, 5 %", &drifts(AR_7));
    table
}

/// Which windows count as steady.
pub(super) fn steady(sessions: usize) -> MarkdownTable {
    let mut table = MarkdownTable::new(&["called steady", "5 steps", "10 steps"]);
    for (name, a_step, times) in [
        ("no drift, noise of 3 %", 0.0, 0.6),
        ("no drift, noise of 5 %", 0.0, 1.0),
        ("no drift, noise of 10 %", 0.0, 2.0),
        ("a fall by 1 % a step, noise of 1 %", 0.01, 0.2),
        ("a fall by 2 % a step, noise of 1 %", 0.02, 0.2),
    ] {
        let of = |n: usize| {
            share(sessions, n as u64, |rng| {
                let level = |at: usize| (1.0_f64 - a_step).powf(at as f64);
                is_steady_window(&NORMAL.times(times).rates(rng, n, level))
            })
        };
        table.row(name, &[5, 10].map(of));
    }
    table
}

/// Two cases of one run, and the same case in two runs.
pub(super) fn compared(sessions: usize) -> MarkdownTable {
    let mut table = MarkdownTable::new(&["called different", "7", "10", "20"]);
    let mut row = |name: &str, holds: &dyn Fn(&mut Rng, usize) -> bool| {
        let of = |n: usize| share(sessions, n as u64, |rng| holds(rng, n));
        table.row(name, &[7, 10, 20].map(of));
    };
    for (name, factor, memory, slow) in [
        ("the same, in one run: a shared drift of 10 %, φ = .9", 1.0, 0.9, 0.0),
        ("the same, in one run: a shared drift of 10 %, φ = .5", 1.0, 0.5, 0.0),
        ("the same, in one run: that, and 15 % of slow rounds", 1.0, 0.9, 0.15),
        ("a tenth more, in one run: a shared drift of 10 %, φ = .9", 1.1, 0.9, 0.0),
        ("a tenth more, in one run: that, and 15 % of slow rounds", 1.1, 0.9, 0.15),
    ] {
        row(name, &|rng, n| {
            let [base, other] = pair(rng, n, factor, memory, slow);
            let found = assess::assess(&record::of(&[&base, &other])).comparisons;
            found.iter().any(|found| found.difference == Difference::Different)
        });
    }
    for (name, after, off) in [
        ("the same, in two runs of 5 invocations: normal, 5 %", 1.0, 0.0),
        ("the same, in two runs of 5 invocations, each off by 2.5 %", 1.0, 0.025),
        ("a tenth more, in two runs of 5 invocations: normal, 5 %", 1.1, 0.0),
    ] {
        row(name, &|rng, n| {
            let mut of_run = |level: f64| {
                let level = level * (1.0 + off * normal(rng));
                record::of_invocations(&[&NORMAL.rates(rng, n, |_| level)], 5)
            };
            let versus = assess::compare(Judged::of(of_run(1.0)), Judged::of(of_run(after)), &[]);
            versus.pairs.iter().any(|pair| pair.comparison.difference == Difference::Different)
        });
    }
    table
}

/// The fastest of many equal cases.
pub(super) fn fastest(sessions: usize) -> MarkdownTable {
    let mut table = MarkdownTable::new(&["one of 24 is called slower", "7", "10", "20"]);
    for (name, invocations) in
        [("the same, in one run: normal, 5 %", 1), ("the same, in 5 invocations: normal, 5 %", 5)]
    {
        let of = |n: usize| {
            share(sessions, n as u64, |rng| {
                let cases: Vec<Vec<f64>> = (0..24).map(|_| NORMAL.rates(rng, n, |_| 1.0)).collect();
                let cases: Vec<&[f64]> = cases.iter().map(Vec::as_slice).collect();
                let found = assess::assess(&record::of_invocations(&cases, invocations))
                    .conclusions
                    .fastest;
                let (_, lead) = found.first().expect("the device served all");
                lead.alike().len() + 1 < lead.of_rows()
            })
        };
        table.row(name, &[7, 10, 20].map(of));
    }
    table
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
    let mut table =
        MarkdownTable::new(&["a step between runs, of", "10 runs", "20 runs", "40 runs"]);
    let mut row = |name: &str, after: f64, cases: usize, noise: Noise| {
        let of = |n: usize| {
            share(sessions, n as u64, |rng| {
                let is_told = |rng: &mut Rng| {
                    let run = |median: &f64| Estimate::of(&[*median; 10]);
                    let runs: Vec<Option<Estimate>> =
                        noise.rates(rng, n, fall(n, after)).iter().map(run).collect();
                    trend::step(&runs, cases).is_some()
                };
                (0..cases).filter(|_| is_told(rng)).count() > 0
            })
        };
        table.row(name, &[10, 20, 40].map(of));
    };
    row("a case that does not change: normal, 5 %", 1.0, 1, NORMAL);
    row("any of 20 cases that do not change: normal, 5 %", 1.0, 20, NORMAL);
    row("a case that falls by a fifth: normal, 5 %", 0.8, 1, NORMAL);
    table
}
