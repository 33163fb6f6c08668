//! How good the intervals of several invocations are, and how often two such runs are called
//! different.

use super::noise::normal;
use super::record;
use super::rounds::{is_within, share};
use super::table::MarkdownTable;
use assess::comparison::Difference;
use assess::invocations::Round;
use assess::records::Judged;
use assess::stats::{Estimate, Looks};
use model::random::Rng;

/// Numbers of invocations, and of rounds in each.
const SPLITS: [(&str, (usize, usize)); 5] =
    [("3 × 3", (3, 3)), ("4 × 3", (4, 3)), ("5 × 2", (5, 2)), ("6 × 2", (6, 2)), ("5 × 4", (5, 4))];
const CORNER: &str = "between, within";

/// How invocations and rounds vary, as fractions of the figure.
#[derive(Debug, Clone, Copy)]
struct InvocationNoise {
    between: f64,
    within: f64,
    /// The share of rounds that are slower, by up to 40 %.
    slow_rounds: f64,
    /// The share of invocations that are 25 % slower.
    slow_invocations: f64,
    /// The share of an invocation's level that carries over to the next: an AR(1).
    memory: f64,
}

const PLAIN: InvocationNoise = InvocationNoise {
    between: 0.05,
    within: 0.05,
    slow_rounds: 0.0,
    slow_invocations: 0.0,
    memory: 0.0,
};

const ALL: [(&str, InvocationNoise); 8] = [
    ("1 %, 2 %", InvocationNoise { between: 0.01, within: 0.02, ..PLAIN }),
    ("2 %, 15 %", InvocationNoise { between: 0.02, within: 0.15, ..PLAIN }),
    ("5 %, 5 %", PLAIN),
    ("10 %, 5 %", InvocationNoise { between: 0.1, ..PLAIN }),
    ("15 % of rounds slow", InvocationNoise { slow_rounds: 0.15, ..PLAIN }),
    ("15 % of invocations slow", InvocationNoise { slow_invocations: 0.15, ..PLAIN }),
    ("AR(1), φ = .5", InvocationNoise { memory: 0.5, ..PLAIN }),
    ("AR(1), φ = .8", InvocationNoise { memory: 0.8, ..PLAIN }),
];

impl InvocationNoise {
    /// Generates the rounds of a run.
    fn run(&self, rng: &mut Rng, (invocations, rounds): (usize, usize)) -> Vec<Round> {
        let mut state = normal(rng);
        let mut made = Vec::new();
        for invocation in 0..invocations {
            state = self.memory * state + (1.0 - self.memory * self.memory).sqrt() * normal(rng);
            let slow = if rng.unit() < self.slow_invocations { 0.75 } else { 1.0 };
            let level = slow * (self.between * state).exp();
            for _ in 0..rounds {
                let slow = if rng.unit() < self.slow_rounds { 1.0 - 0.4 * rng.unit() } else { 1.0 };
                let value = level * slow * (self.within * normal(rng)).exp();
                let (invocation, round) = (invocation as u32, made.len() as u32);
                made.push(Round { invocation, round, value, ..Round::default() });
            }
        }
        made
    }

    /// The median over a very large number of invocations.
    fn truth(&self, rounds: usize) -> f64 {
        let mut rng = Rng::new(9);
        let one = InvocationNoise { memory: 0.0, ..*self };
        let many: Vec<Round> = one.run(&mut rng, (20_001, rounds));
        let mut medians: Vec<f64> = many
            .chunks(rounds)
            .filter_map(|chunk| {
                let values: Vec<f64> = chunk.iter().map(|round| round.value).collect();
                Some(Estimate::of(&values)?.median)
            })
            .collect();
        medians.sort_by(f64::total_cmp);
        medians[medians.len() / 2]
    }
}

fn holds(run: &[Round], value: f64) -> bool {
    let found = Estimate::of_rounds(run, Looks::None);
    found.is_some_and(|found| is_within(found.low, found.high, value))
}

/// A table with a row for each kind of noise and a column for each split.
fn table(
    sessions: usize,
    of: impl Fn(&InvocationNoise, (usize, usize), &mut Rng, f64) -> bool,
) -> MarkdownTable {
    MarkdownTable::grid(CORNER, &SPLITS, &ALL, |number, noise, split| {
        let truth = noise.truth(split.1);
        share(sessions, 300 + number, |rng| of(noise, *split, rng, truth))
    })
}

/// How often the interval contains the median of all invocations.
pub(super) fn coverage(sessions: usize) -> MarkdownTable {
    table(sessions, |noise, split, rng, truth| holds(&noise.run(rng, split), truth))
}

/// How often it contains the figure of another run.
pub(super) fn later(sessions: usize) -> MarkdownTable {
    table(sessions, |noise, split, rng, _| {
        let later = Estimate::of_rounds(&noise.run(rng, split), Looks::None);
        let earlier = noise.run(rng, split);
        later.is_some_and(|later| holds(&earlier, later.median))
    })
}

/// How often the interval is so wide that it is reported, by how much invocations vary.
pub(super) fn wide(sessions: usize) -> MarkdownTable {
    let rows = [("10 %, 5 %", 0.1), ("30 %, 5 %", 0.3), ("50 %, 5 %", 0.5), ("100 %, 5 %", 1.0)];
    MarkdownTable::grid(CORNER, &SPLITS, &rows, |_, between, split| {
        let noise = InvocationNoise { between: *between, ..PLAIN };
        share(sessions, 400, |rng| {
            let found = Estimate::of_rounds(&noise.run(rng, *split), Looks::None);
            found.is_some_and(|found| found.is_wide())
        })
    })
}

/// How often two equivalent runs are called different.
pub(super) fn alike(sessions: usize) -> MarkdownTable {
    table(sessions, |noise, split, rng, _| {
        let mut made = || {
            let rates: Vec<f64> = noise.run(rng, split).iter().map(|round| round.value).collect();
            record::of_invocations(&[&rates], split.0 as u32)
        };
        let versus = assess::compare(Judged::of(made()), Judged::of(made()), &[]);
        versus.pairs.iter().any(|pair| pair.comparison.difference == Difference::Different)
    })
}
