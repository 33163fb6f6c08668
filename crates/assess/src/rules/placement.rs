//! Whether the figure depends on where the threads ran.

use super::context::{Context, Draft, RuleTable, graded};
use crate::counted::Counted;
use crate::finding::Code;
use crate::stats::median;
use model::sample::Seat;
use model::units::percent;
use std::collections::{BTreeMap, BTreeSet};

/// The rules of this module.
pub(super) const RULES: RuleTable = &[(Code::CpuLevels, cpu_levels)];

/// Levels this far apart are noted (docs/method).
const APART_NOTE: f64 = 0.05;
/// Levels this far apart make the median a lottery (docs/method).
const APART_DOUBT: f64 = 0.20;
/// Fewer rounds than this are not a level (docs/method).
const LEVEL_LEAST: usize = 3;
/// Levels that fit the CPUs by chance more often than this are not reported (docs/method).
const CHANCE_MOST: f64 = 0.01;

/// Where a trial ran: the CPUs, or the nodes, that its threads began and ended on.
type RanOn = BTreeSet<u32>;

/// Rounds in two levels, each with its own nodes or CPUs (docs/method).
fn cpu_levels(context: &Context) -> Option<Draft> {
    // With several threads, each place is a combination of CPUs that hardly comes again.
    let is_alone = context.measured.case.threads() == 1;
    let by_node = levels(context, |seat| seat.node).map(|levels| ("node", levels));
    let by_cpu = || Some(("CPU", levels(context, |seat| seat.cpu).filter(|_| is_alone)?));
    let (what, CpuLevels { slow, fast }) = by_node.or_else(by_cpu)?;
    let apart = fast.rate / slow.rate - 1.0;
    let severity = graded(apart, [APART_NOTE, APART_DOUBT])?;
    let units = if context.measured.is_one_invocation() { "rounds" } else { "invocations" };
    let told = |level: &CpuLevel| {
        let numbers: Vec<String> = level.place.iter().map(u32::to_string).collect();
        let figure = context.rate(level.rate);
        format!("{what} {}: {figure} in {} {units}", numbers.join(","), level.rounds)
    };
    let message = format!(
        "the figure depends on where the threads ran ({}; {}): they are {} apart, so the median \
         depends on the OS's choices",
        told(&fast),
        told(&slow),
        percent(apart)
    );
    let remedy = if what == "node" {
        "choose one with --node, and measure the other separately"
    } else {
        "choose CPUs with --pin, and measure the others separately"
    };
    Draft::sized(apart, severity, message, remedy)
}

/// Some rounds and where they ran.
struct CpuLevel {
    rate: f64,
    rounds: usize,
    place: RanOn,
}

struct CpuLevels {
    slow: CpuLevel,
    fast: CpuLevel,
}

/// The two levels of the rounds, cut at the widest gap between their rates, if no place is in both
/// and chance is unlikely.
fn levels(context: &Context, of: fn(Seat) -> u32) -> Option<CpuLevels> {
    let mut rounds = units(context, of)?;
    rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let cuts = LEVEL_LEAST..rounds.len().checked_sub(LEVEL_LEAST)? + 1;
    let gap = |cut: &usize| rounds[*cut].0 / rounds[*cut - 1].0;
    let cut = cuts.filter(|cut| *cut < rounds.len()).max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
    let (slow, fast) = rounds.split_at(cut);
    let [slow, fast] = [slow, fast].map(|part| {
        let rates: Vec<f64> = part.iter().map(|(rate, _)| *rate).collect();
        let place = part.iter().flat_map(|(_, place)| place.iter().copied()).collect();
        Some(CpuLevel { rate: median(&rates)?, rounds: part.len(), place })
    });
    let (slow, fast) = (slow?, fast?);
    let mut sizes: BTreeMap<&RanOn, usize> = BTreeMap::new();
    rounds.iter().for_each(|(_, place)| *sizes.entry(place).or_default() += 1);
    let sizes: Vec<usize> = sizes.into_values().collect();
    let is_apart = slow.place.is_disjoint(&fast.place);
    (is_apart && chance(&sizes, fast.rounds) <= CHANCE_MOST).then_some(CpuLevels { slow, fast })
}

/// The rate of each unit and where it ran, if each trial reports it. Rounds of one invocation share
/// more than where they ran, so each of several invocations is one unit.
fn units(context: &Context, of: fn(Seat) -> u32) -> Option<Vec<(f64, RanOn)>> {
    let place = |trial: &Counted| {
        let seats = trial.sample.spans.iter().flat_map(|span| [span.start_seat, span.end_seat]);
        seats.map(|seat| Some(of(seat?))).collect::<Option<RanOn>>()
    };
    let unit = |trials: Vec<&Counted>| {
        let rates: Vec<f64> = trials.iter().map(|trial| trial.rate).collect();
        let places: Vec<RanOn> = trials.into_iter().map(place).collect::<Option<_>>()?;
        Some((median(&rates)?, places.into_iter().flatten().collect()))
    };
    context.measured.trials_by_unit().into_iter().map(unit).collect()
}

/// How often the `upper` fastest rounds are all the rounds of some places, if the rates do not
/// depend on the place: of all ways to choose as many rounds, the share that consists of whole
/// places. `sizes` are the rounds at each place.
fn chance(sizes: &[usize], upper: usize) -> f64 {
    let all: usize = sizes.iter().sum();
    // The number of sets of places for each sum of their rounds.
    let mut sets = vec![0.0; all + 1];
    sets[0] = 1.0;
    for size in sizes {
        for sum in (*size..=all).rev() {
            sets[sum] += sets[sum - size];
        }
    }
    let ways = (1..=upper).fold(1.0, |ways, i| ways * (all - upper + i) as f64 / i as f64);
    sets[upper] / ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_exact() {
        assert!((chance(&[5, 5], 5) - 2.0 / 252.0).abs() < 1e-12);
        assert!((chance(&[4, 6], 6) - 1.0 / 210.0).abs() < 1e-12);
        assert!((chance(&[1; 10], 5) - 1.0).abs() < 1e-12, "each round at a place of its own");
    }
}
