//! How often the interval of a latency percentile contains the true one.

use super::noise::normal;
use super::rounds::{is_within, share};
use super::table::MarkdownTable;
use assess::percentile::Distribution;
use model::random::Rng;
use model::sample::Latencies;

/// Operations per round.
const OPERATIONS: usize = 10_000;
/// Number of latency buckets, each 2 % longer than the last.
const BUCKETS: usize = 400;
const BUCKET: f64 = 0.02;
/// Number of rounds from which the true percentile is computed.
const LONG: usize = 2_000;

/// A model of stalls.
struct Stalls {
    /// Standard deviation between rounds, relative to a round's level.
    between: f64,
    /// The share of slow rounds, in which every operation takes about 65 % longer.
    slow: f64,
    /// Mean number of stalls per round.
    often: f64,
    /// Mean number of operations delayed by a stall.
    many: f64,
}

const NONE: Stalls = Stalls { between: 0.0, slow: 0.0, often: 0.0, many: 0.0 };

const KINDS: [(&str, Stalls); 5] = [
    ("independent operations", NONE),
    ("rounds that differ by 5 %", Stalls { between: 0.05, ..NONE }),
    ("15 % of the rounds slow", Stalls { slow: 0.15, ..NONE }),
    ("eight stalls a round", Stalls { between: 0.05, often: 8.0, many: 10.0, ..NONE }),
    ("two stalls a round", Stalls { between: 0.02, often: 2.0, many: 25.0, ..NONE }),
];

/// Percentiles, by the tail above them in ten thousandths, and numbers of rounds.
const COLUMNS: [(&str, (u64, u64)); 6] = [
    ("p50, 5", (5_000, 5)),
    ("p50, 10", (5_000, 10)),
    ("p99, 5", (100, 5)),
    ("p99, 10", (100, 10)),
    ("p99, 20", (100, 20)),
    ("p99.9, 10", (10, 10)),
];

impl Stalls {
    /// Generates the latencies of a round.
    fn round(&self, rng: &mut Rng) -> Latencies {
        let mut counts = [0u64; BUCKETS];
        let mut count = |log: f64| {
            let bucket = (log / BUCKET).clamp(0.0, (BUCKETS - 1) as f64) as usize;
            counts[bucket] += 1;
        };
        let slow = if rng.unit() < self.slow { 0.5 } else { 0.0 };
        let level = 1.0 + slow + self.between * normal(rng);
        for _ in 0..OPERATIONS {
            // The sum of three uniform numbers is close enough to normal, and fast.
            let noise = (0..3).map(|_| rng.unit()).sum::<f64>() - 1.5;
            count(level + 0.3 * noise);
        }
        for _ in 0..poisson(rng, self.often) {
            let length = 3.0 + 0.5 * normal(rng);
            for _ in 0..(self.many * (0.5 + rng.unit())) as usize {
                count(length + 0.3 * rng.unit());
            }
        }
        let ns = |bucket: usize| ((bucket as f64 * BUCKET).exp() * 1e6) as u64;
        let told = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let counts: Vec<(u64, u64)> = told.map(|(bucket, count)| (ns(bucket), *count)).collect();
        let max_ns = counts.last().map_or(0, |(ns, _)| *ns);
        Latencies { counts, max_ns }
    }
}

fn poisson(rng: &mut Rng, mean: f64) -> usize {
    let least = (-mean).exp();
    let (mut count, mut product) = (0, rng.unit());
    while product > least {
        count += 1;
        product *= rng.unit();
    }
    count
}

pub(super) fn coverage(sessions: usize) -> MarkdownTable {
    let rows = (0..).zip(&KINDS).map(|(number, (name, kind))| {
        let mut rng = Rng::new(1_000 + number);
        let rounds: Vec<Latencies> = (0..LONG).map(|_| kind.round(&mut rng)).collect();
        (*name, (kind, Distribution::of(&[Latencies::sum(rounds.iter())])))
    });
    let rows: Vec<(&str, (&Stalls, Distribution))> = rows.collect();
    MarkdownTable::grid("operations", &COLUMNS, &rows, |number, (kind, all), (tail, n)| {
        let truth = all.percentile(*tail).expect("there are many").ns;
        share(sessions, number + n, |rng| {
            let units: Vec<Latencies> = (0..*n).map(|_| kind.round(rng)).collect();
            let found = Distribution::of(&units).percentile(*tail).expect("there are enough");
            is_within(found.low_ns, found.high_ns, truth)
        })
    })
}
