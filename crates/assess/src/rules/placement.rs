//! Whether the figure is two, and which one it is depends on where the threads ran.

use super::context::{Context, Fault};
use crate::counted::{Counted, only_syncs};
use crate::finding::Severity;
use crate::stats::median;
use model::sample::Seat;
use model::units::{percent, rate, scaled};
use std::collections::{BTreeMap, BTreeSet};

/// Levels that are this far apart are told (METHODOLOGY.md).
const APART_NOTE: f64 = 0.05;
/// Levels that are this far apart make the median one of a lottery (METHODOLOGY.md).
const APART_DOUBT: f64 = 0.20;
/// Fewer rounds than this are no level (METHODOLOGY.md).
const LEVEL_LEAST: usize = 3;
/// Levels that go with the CPUs by chance more often than this are not told (METHODOLOGY.md).
const CHANCE_MOST: f64 = 0.01;

/// Where a trial ran: the CPUs, or the nodes, that its threads began and ended on.
type Place = BTreeSet<u32>;

/// Rounds in two levels that go with the places they ran at (METHODOLOGY.md).
pub(super) fn cpu_levels(context: &Context) -> Option<Fault> {
    // Of more threads each place is a combination of CPUs that hardly comes again.
    let is_alone = context.measured.case.threads() == 1;
    let by_node = levels(context, |seat| seat.node).map(|levels| ("node", levels));
    let by_cpu = || Some(("CPU", levels(context, |seat| seat.cpu).filter(|_| is_alone)?));
    let (what, Levels { slow, fast }) = by_node.or_else(by_cpu)?;
    let apart = fast.rate / slow.rate - 1.0;
    let severity = match apart {
        apart if apart > APART_DOUBT => Severity::Doubt,
        apart if apart > APART_NOTE => Severity::Note,
        _ => return None,
    };
    let units = if context.measured.is_one_invocation() { "rounds" } else { "invocations" };
    let told = |level: &Level| {
        let figure = match only_syncs(context.measured.case) {
            true => format!("{}IOPS", scaled(level.rate)),
            false => rate(level.rate),
        };
        let numbers: Vec<String> = level.place.iter().map(u32::to_string).collect();
        format!("{what} {}: {figure} in {} {units}", numbers.join(","), level.rounds)
    };
    let message = format!(
        "which figure it is depends on where the threads ran ({}; {}): the median is that of a \
         lottery, {} apart",
        told(&fast),
        told(&slow),
        percent(apart)
    );
    let remedy = if what == "node" {
        "choose one with --node, and measure the other by itself"
    } else {
        "choose CPUs with --pin, and measure the others by themselves"
    };
    Fault::new(severity, message, remedy)
}

/// Some rounds and where they ran.
struct Level {
    rate: f64,
    rounds: usize,
    place: Place,
}

struct Levels {
    slow: Level,
    fast: Level,
}

/// The two levels of the rounds, cut at the widest gap between their rates, where no place is in
/// both and chance would not make it so.
fn levels(context: &Context, of: fn(Seat) -> u32) -> Option<Levels> {
    let mut rounds = units(context, of)?;
    rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let cuts = LEVEL_LEAST..rounds.len().checked_sub(LEVEL_LEAST)? + 1;
    let gap = |cut: &usize| rounds[*cut].0 / rounds[*cut - 1].0;
    let cut = cuts.filter(|cut| *cut < rounds.len()).max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
    let (slow, fast) = rounds.split_at(cut);
    let [slow, fast] = [slow, fast].map(|part| {
        let rates: Vec<f64> = part.iter().map(|(rate, _)| *rate).collect();
        let place = part.iter().flat_map(|(_, place)| place.iter().copied()).collect();
        Some(Level { rate: median(&rates)?, rounds: part.len(), place })
    });
    let (slow, fast) = (slow?, fast?);
    let mut sizes: BTreeMap<&Place, usize> = BTreeMap::new();
    rounds.iter().for_each(|(_, place)| *sizes.entry(place).or_default() += 1);
    let sizes: Vec<usize> = sizes.into_values().collect();
    let is_apart = slow.place.is_disjoint(&fast.place);
    (is_apart && chance(&sizes, fast.rounds) <= CHANCE_MOST).then_some(Levels { slow, fast })
}

/// The rate of each unit with where it ran, if each trial tells that. Rounds of one invocation
/// share more than where they ran, so of several invocations each is one unit.
fn units(context: &Context, of: fn(Seat) -> u32) -> Option<Vec<(f64, Place)>> {
    let place = |trial: &Counted| {
        let seats = trial.sample.spans.iter().flat_map(|span| [span.start_seat, span.end_seat]);
        seats.map(|seat| Some(of(seat?))).collect::<Option<Place>>()
    };
    let unit = |trials: Vec<&Counted>| {
        let rates: Vec<f64> = trials.iter().map(|trial| trial.rate).collect();
        let places: Vec<Place> = trials.into_iter().map(place).collect::<Option<_>>()?;
        Some((median(&rates)?, places.into_iter().flatten().collect()))
    };
    context.measured.trials_by_unit().into_iter().map(unit).collect()
}

/// How often the `upper` fastest rounds are all the rounds of some places, if the rates do not
/// depend on the place: of all ways to choose so many rounds, those that are whole places. `sizes`
/// are the rounds at each place.
fn chance(sizes: &[usize], upper: usize) -> f64 {
    let all: usize = sizes.iter().sum();
    // How many sets of places have so many rounds together.
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
