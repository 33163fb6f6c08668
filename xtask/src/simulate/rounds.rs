//! How often the interval of a figure contains the true median.

use super::noise::{ALL, NORMAL, Noise, SLOW, normal};
use super::record;
use super::table::MarkdownTable;
use assess::stats::{Estimate, Looks};
use model::random::Rng;

/// Numbers of rounds: the minimum, those after which ioassay checks whether a case is done, and the
/// maximum.
const ROUNDS: [usize; 5] = [7, 10, 14, 20, 28];
/// The precision at which a case is done.
const PRECISION: f64 = 0.025;

/// The share of sessions for which `holds` returns true.
pub(super) fn share(sessions: usize, seed: u64, mut holds: impl FnMut(&mut Rng) -> bool) -> f64 {
    let mut rng = Rng::new(seed);
    (0..sessions).filter(|_| holds(&mut rng)).count() as f64 / sessions as f64
}

/// Whether an interval contains the truth.
pub(super) fn is_within<T: PartialOrd>(low: Option<T>, high: Option<T>, truth: T) -> bool {
    low.zip(high).is_some_and(|(low, high)| low <= truth && truth <= high)
}

fn covers(rates: &[f64], truth: f64) -> bool {
    covers_after(Looks::None, rates, truth)
}

fn covers_after(looks: Looks, rates: &[f64], truth: f64) -> bool {
    let found = Estimate::of_one(rates, looks);
    found.is_some_and(|found| is_within(found.low, found.high, truth))
}

/// Coverage by kind of noise and by number of rounds, and if rounds end once the figure is precise.
pub(super) fn coverage(sessions: usize) -> MarkdownTable {
    let mut table = MarkdownTable::new(&["noise", "7", "10", "14", "20", "28", "until precise"]);
    for (seed, noise) in (0..).zip(ALL) {
        let truth = noise.median();
        let of = |n: usize| {
            share(sessions, seed + n as u64, |rng| covers(&noise.rates(rng, n, |_| 1.0), truth))
        };
        let mut shares: Vec<f64> = ROUNDS.into_iter().map(of).collect();
        shares.push(share(sessions, 100 + seed, |rng| {
            covers_after(Looks::Taken, &until_precise(&noise, rng), truth)
        }));
        table.row(noise.name, &shares);
    }
    for noise in [NORMAL, SLOW] {
        let truth = noise.median();
        let of = |n: usize| share(sessions / 4, n as u64, |rng| disturbed(&noise, rng, n, truth));
        let shares: Vec<f64> = ROUNDS.into_iter().map(of).collect();
        let name = format!("{}, a tenth left out", noise.name);
        table.row(&name, &[shares.as_slice(), &[f64::NAN]].concat());
    }
    table
}

/// The rates of a case that runs until it is precise.
fn until_precise(noise: &Noise, rng: &mut Rng) -> Vec<f64> {
    let rates = noise.rates(rng, ROUNDS[ROUNDS.len() - 1], |_| 1.0);
    let is_done = |n: &usize| assess::is_settled(&rates[..*n], PRECISION);
    let n = (1..rates.len()).find(is_done).unwrap_or(rates.len());
    rates[..n].to_vec()
}

/// Whether the interval contains the undisturbed median if other processes take the CPUs in a tenth
/// of the rounds.
fn disturbed(noise: &Noise, rng: &mut Rng, rounds: usize, truth: f64) -> bool {
    let rates = noise.rates(rng, rounds, |_| 1.0);
    let is_stolen: Vec<bool> = rates.iter().map(|_| rng.unit() < 0.1).collect();
    let slowed = |(rate, stolen): (&f64, &bool)| if *stolen { rate * 0.6 } else { *rate };
    let rates: Vec<f64> = rates.iter().zip(&is_stolen).map(slowed).collect();
    let mut record = record::of(&[&rates]);
    for (trial, stolen) in record.trials.iter_mut().zip(is_stolen) {
        let machine_ns = trial.evidence.machine_cpu_ns.unwrap_or_default();
        trial.evidence.steal_ns = Some(if stolen { machine_ns * 3 / 10 } else { 0 });
    }
    let assessment = assess::assess(&record);
    let found = assessment.cases[0].throughput.expect("there are rounds");
    let scale = record::RATE;
    is_within(found.low.map(|low| low / scale), found.high.map(|high| high / scale), truth)
}

/// Coverage of the machine's median when a run sees only one level: all its rounds are off by the
/// same amount.
pub(super) fn runs(sessions: usize) -> MarkdownTable {
    let mut table = MarkdownTable::new(&["deviation of runs", "7", "10", "14", "20", "28"]);
    for (seed, off) in (0..).zip([0.0, 0.01, 0.025, 0.05, 0.1]) {
        let of = |n: usize| {
            share(sessions, 200 + seed + n as u64, |rng| {
                let level = 1.0 + off * normal(rng);
                covers(&NORMAL.rates(rng, n, |_| level), 1.0)
            })
        };
        let shares: Vec<f64> = ROUNDS.into_iter().map(of).collect();
        table.row(&format!("{} %", off * 100.0), &shares);
    }
    table
}
