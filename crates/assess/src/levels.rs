//! The levels of memory: plateaus of load latency over increasing working sets.

use crate::caches::LADDER_LEAST;
use crate::decision::Named;
use crate::form::{As, FormOf};
use crate::measured::Measured;
use crate::row::{Row, grouped};
use crate::stats::median;
use model::case::{Kernel, OWN_PEER, Pages};
use schemars::JsonSchema;
use serde::Serialize;

/// The levels that one thread sees with pages of one size.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Levels {
    /// The program that ran the chases.
    pub peer: String,
    /// The pages of its array.
    pub pages: Pages,
    /// From the smallest working set to the largest; at least one. Each but the last ends at a
    /// knee.
    pub levels: Vec<Level>,
    /// The doubtful rows among those used.
    #[serde(skip)]
    pub doubtful: Vec<Named>,
}

/// Working sets with about the same load latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Level {
    /// Its smallest working set in bytes.
    pub from: u64,
    /// Its largest working set in bytes; the knee is between this one and the next.
    pub to: u64,
    /// Load latency in nanoseconds: the median over its working sets.
    pub ns: f64,
    /// The minimum of these latencies.
    pub least_ns: f64,
    /// The maximum of these latencies.
    pub greatest_ns: f64,
    /// The reported cache of about that size, if any, and if its loads are far faster than those of
    /// the last level.
    #[serde(flatten, with = "As::<KnownCache>")]
    pub cache: Option<Nominal>,
}

impl Level {
    /// Whether its working sets differ by less than two levels would.
    pub fn is_flat(&self) -> bool {
        self.greatest_ns < self.least_ns * RISE_LEAST
    }
}

/// A data cache, as reported by the OS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nominal {
    /// The level, from 1.
    pub number: u32,
    /// Size in bytes.
    pub bytes: u64,
}

/// The published form of a level's cache.
#[derive(Serialize, JsonSchema)]
struct KnownCache {
    /// The level of the reported cache of about that size, from 1; null if there is none, or if
    /// loads take more than half as long as those of the last level.
    cache_level: Option<u32>,
    /// The reported size of that cache in bytes.
    cache_bytes: Option<u64>,
}

impl FormOf<Option<Nominal>> for KnownCache {
    fn of(cache: &Option<Nominal>) -> KnownCache {
        KnownCache {
            cache_level: cache.map(|cache| cache.number),
            cache_bytes: cache.map(|cache| cache.bytes),
        }
    }
}

/// Medians of neighboring levels differ by at least this factor (docs/method).
const RISE_LEAST: f64 = 1.25;
/// Minimum number of working sets per level: a single one may be a disturbance.
const POINTS_LEAST: usize = 2;
/// The reduction in the sum of logarithmic distances that justifies another level. It is less than
/// `2·ln 1.25`, that of the smallest rise over the fewest points.
const LEVEL_COST: f64 = 0.2;
/// A knee belongs to a cache within this factor of its reported size.
const NOMINAL_NEAR: f64 = 2.0;
/// Loads from a level that a cache serves take at most this share of the time of those from the
/// last level (docs/method).
const CACHED_MOST: f64 = 0.5;

/// The levels for each peer and page size whose chase one thread ran over enough working sets for
/// two levels.
pub(crate) fn all_levels(rows: &[Row]) -> Vec<Levels> {
    let chases = grouped(rows.iter().filter(|row| row.stands()), |row| {
        let work = row.measured.case.memory().filter(|_| row.measured.case.beside.is_empty())?;
        let is_chase = work.kernel == Kernel::Chase && work.threads == 1;
        is_chase.then(|| (row.measured.case.peer.clone(), work.isa, work.pages))
    });
    chases.iter().filter_map(|chases| levels_of(chases)).collect()
}

/// An upper bound for the size of the last cache, from the levels in our own worker's chases: the
/// smallest working set of the last level, which is memory. `None` if the chases end before it is
/// certain that no further cache follows. Huge pages show only caches; base pages also show page
/// tables.
pub(crate) fn last_cache_below(rows: &[Row]) -> Option<u64> {
    let all = all_levels(rows);
    let own = all.iter().filter(|levels| levels.peer == OWN_PEER);
    let ends = own.filter_map(|levels| match levels.levels.as_slice() {
        [_, .., last] if last.to >= LADDER_LEAST => Some((levels.pages == Pages::Base, last.from)),
        _ => None,
    });
    ends.min().map(|(_, from)| from)
}

/// The levels in one peer's chases with pages of one size.
fn levels_of(chases: &[&Row]) -> Option<Levels> {
    let point = |row: &&Row| {
        let work = row.measured.case.memory()?;
        Some((work.working_set, row.summary.ns_per_op?.median))
    };
    let mut points: Vec<(u64, f64)> = chases.iter().filter_map(point).collect();
    points.sort_by_key(|(bytes, _)| *bytes);
    points.dedup_by_key(|(bytes, _)| *bytes);
    if points.len() < 2 * POINTS_LEAST {
        return None;
    }
    let mut levels = levels(&points);
    let Measured { case, host, .. } = &chases[0].measured;
    name_caches(&mut levels, &host.caches);
    let named = chases.iter().filter_map(|row| Named::of(&row.summary));
    let doubtful = named.filter(Named::is_doubtful).collect();
    Some(Levels { peer: case.peer.clone(), pages: case.memory()?.pages, levels, doubtful })
}

/// The levels of `points`: ascending working sets in bytes, with positive load latencies in
/// nanoseconds.
///
/// Works on logarithms. First, single points that differ from both neighbors move to the nearer
/// one. Then the points are divided into runs of at least two, minimizing the sum of distances to
/// each run's median plus a cost per run. Last, runs that rise by less than 25 % are merged, the
/// closest two first. A slope without a plateau is divided, too: a level's minimum and maximum show
/// how flat it is.
pub fn levels(points: &[(u64, f64)]) -> Vec<Level> {
    if points.is_empty() {
        return Vec::new();
    }
    let mut logs: Vec<f64> = points.iter().map(|(_, ns)| ns.ln()).collect();
    flatten_spikes(&mut logs);
    let mut cuts = cuts(&logs);
    loop {
        let centres: Vec<f64> =
            cuts.windows(2).map(|ends| centre(&logs[ends[0]..ends[1]])).collect();
        let rises = centres.windows(2).map(|pair| pair[1] - pair[0]);
        let least = rises.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        match least {
            Some((index, rise)) if rise < RISE_LEAST.ln() => cuts.remove(index + 1),
            _ => break,
        };
    }
    cuts.windows(2).map(|ends| level(&points[ends[0]..ends[1]])).collect()
}

/// Moves single points that differ from both neighbors to the nearer one. The farthest goes first,
/// because what remains of a spike can look like one in its neighbor. High points go before low
/// ones, because disturbances slow loads down.
fn flatten_spikes(logs: &mut [f64]) {
    let inner = 1..logs.len().saturating_sub(1);
    for sign in [1.0, -1.0] {
        // Each iteration flattens one, and there are no more of them than points.
        for _ in inner.clone() {
            let heights = inner.clone().map(|index| {
                let [before, this, after] = [index - 1, index, index + 1].map(|i| sign * logs[i]);
                (index, this - before.max(after))
            });
            match heights.max_by(|a, b| a.1.total_cmp(&b.1)) {
                Some((index, height)) if height >= RISE_LEAST.ln() => logs[index] -= sign * height,
                _ => break,
            }
        }
    }
}

fn level(points: &[(u64, f64)]) -> Level {
    let ns: Vec<f64> = points.iter().map(|(_, ns)| *ns).collect();
    Level {
        from: points[0].0,
        to: points[points.len() - 1].0,
        ns: centre(&ns),
        least_ns: ns.iter().copied().fold(f64::INFINITY, f64::min),
        greatest_ns: ns.iter().copied().fold(0.0, f64::max),
        cache: None,
    }
}

fn centre(values: &[f64]) -> f64 {
    median(values).expect("a level has points")
}

/// Where the runs of `logs` start, and the end of the last one. Finds the cheapest division for
/// each prefix from those of shorter prefixes.
fn cuts(logs: &[f64]) -> Vec<usize> {
    let cost = |run: &[f64]| {
        let centre = centre(run);
        LEVEL_COST + run.iter().map(|log| (log - centre).abs()).sum::<f64>()
    };
    // The cost of each prefix, and where its last run starts.
    let mut best: Vec<(f64, usize)> = vec![(0.0, 0)];
    for end in 1..=logs.len() {
        let starts =
            (0..=end.saturating_sub(POINTS_LEAST)).filter(|s| *s == 0 || *s >= POINTS_LEAST);
        let costs = starts.map(|start| (best[start].0 + cost(&logs[start..end]), start));
        best.push(costs.min_by(|a, b| a.0.total_cmp(&b.0)).expect("a run may begin at 0"));
    }
    let mut cuts = vec![logs.len()];
    while let Some(end) = cuts.last().filter(|end| **end > 0) {
        cuts.push(best[*end].1);
    }
    cuts.reverse();
    cuts
}

/// Assigns each cache to the knee closest to its size, if one is close enough. Below that knee, the
/// slowest loads must be far faster than those of the last level: where a machine shares a cache
/// with others, or translates addresses slowly, the latency near its size is that of memory.
fn name_caches(levels: &mut [Level], caches: &[u64]) {
    let knees = levels.len().saturating_sub(1);
    let last_ns = levels.last().map_or(0.0, |level| level.ns);
    let distance = |level: &Level, bytes: u64| (bytes as f64 / level.to as f64).ln().abs();
    for (number, bytes) in (1..).zip(caches.iter().copied().filter(|bytes| *bytes > 0)) {
        let nearest = levels[..knees]
            .iter_mut()
            .min_by(|a, b| distance(a, bytes).total_cmp(&distance(b, bytes)));
        let is_cached = |level: &Level| level.greatest_ns <= CACHED_MOST * last_ns;
        let is_its =
            |level: &&mut Level| distance(level, bytes) <= NOMINAL_NEAR.ln() && is_cached(level);
        let Some(level) = nearest.filter(is_its) else { continue };
        let is_nearer =
            level.cache.is_none_or(|known| distance(level, bytes) < distance(level, known.bytes));
        if is_nearer {
            level.cache = Some(Nominal { number, bytes });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Doubling working sets from 4 KiB on, with the given latencies.
    fn ladder(ns: impl IntoIterator<Item = f64>) -> Vec<(u64, f64)> {
        std::iter::successors(Some(4_096u64), |bytes| Some(bytes * 2)).zip(ns).collect()
    }

    /// The index of the last point before each knee.
    fn knees(points: &[(u64, f64)]) -> Vec<usize> {
        let found = levels(points);
        let index = |to: u64| points.iter().position(|(bytes, _)| *bytes == to);
        let knees = found.iter().map(|level| index(level.to).expect("a level ends at a point"));
        let mut knees: Vec<usize> = knees.collect();
        knees.pop();
        knees
    }

    /// Two to four levels with several points, each higher than the last.
    fn staircase(points_least: usize) -> impl Strategy<Value = Vec<(usize, f64)>> {
        proptest::collection::vec((points_least..7, 1.5f64..6.0), 2..5)
    }

    /// The points of a staircase with up to 5 % of noise, and its true knees.
    fn climb(steps: &[(usize, f64)], noise: &[f64]) -> (Vec<(u64, f64)>, Vec<usize>) {
        let (mut ns, mut values, mut knees) = (1.0, Vec::new(), Vec::new());
        for (points, rise) in steps {
            ns *= rise;
            values.extend(std::iter::repeat_n(ns, *points));
            knees.push(values.len() - 1);
        }
        knees.pop();
        (ladder(values.iter().zip(noise.iter().cycle()).map(|(ns, noise)| ns * noise)), knees)
    }

    fn noise() -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec(0.95f64..1.05, 30)
    }

    proptest! {
        #[test]
        fn a_staircase_has_its_knees(steps in staircase(2), noise in noise()) {
            let (points, expected) = climb(&steps, &noise);
            prop_assert_eq!(knees(&points), expected);
        }

        #[test]
        fn what_is_flat_has_none(points in 1usize..25, noise in noise()) {
            let (points, _) = climb(&[(points, 7.0)], &noise);
            let found = levels(&points);
            prop_assert_eq!(found.len(), 1);
            prop_assert!((found[0].ns / 7.0 - 1.0).abs() <= 0.05);
        }

        /// A spike within a level is not a level, unless it has the height of the next one.
        #[test]
        fn an_isolated_spike_is_ignored(
            steps in staircase(4), noise in noise(), which in 0usize..5,
            factor in prop_oneof![0.2f64..0.5, 0.9f64..1.1, 2.0f64..5.0],
        ) {
            let (mut points, expected) = climb(&steps, &noise);
            let which = which % steps.len();
            let before: usize = steps[..which].iter().map(|(points, _)| points).sum();
            points[before + steps[which].0 / 2].1 *= factor;
            prop_assert_eq!(knees(&points), expected);
        }

        /// For any points, the levels cover all of them in order, and each is 25 % above the last.
        #[test]
        fn levels_cover_and_rise(ns in proptest::collection::vec(0.1f64..1e3, 1..30)) {
            let points = ladder(ns);
            let found = levels(&points);
            prop_assert_eq!(found[0].from, points[0].0);
            prop_assert_eq!(found.last().map(|level| level.to), points.last().map(|p| p.0));
            for pair in found.windows(2) {
                prop_assert_eq!(pair[0].to * 2, pair[1].from);
                // With an even number, medians of logarithms and of values differ.
                prop_assert!(pair[1].greatest_ns > pair[0].least_ns);
            }
            for level in found {
                prop_assert!(level.least_ns <= level.ns && level.ns <= level.greatest_ns);
            }
        }
    }

    #[test]
    fn a_rise_of_a_fifth_is_no_knee_and_of_a_third_is() {
        let rise = |factor: f64| {
            let step = |i: u32| if i < 5 { 2.0 } else { 2.0 * factor };
            knees(&ladder((0..10).map(step)))
        };
        assert_eq!(rise(1.2), [0usize; 0]);
        assert_eq!(rise(1.33), [4]);
        assert_eq!(rise(0.5), [0usize; 0], "a fall is not a knee");
    }

    /// A real ladder from a virtual machine with caches of 32 KiB, 512 KiB and a shared 32 MiB.
    /// There, the last cache is a slope, which is divided in two.
    #[test]
    fn a_real_ladder_has_its_levels() {
        let mut found = levels(&ladder([
            1.78, 1.70, 1.45, 1.77, 5.62, 5.71, 7.09, 13.85, 21.94, 33.24, 51.32, 169.81, 258.45,
            229.16, 279.11, 281.07,
        ]));
        name_caches(&mut found, &[32 << 10, 512 << 10, 32 << 20]);
        let ends: Vec<(u64, u64)> = found.iter().map(|level| (level.from, level.to)).collect();
        let expected = [
            (4 << 10, 32 << 10),
            (64 << 10, 256 << 10),
            (512 << 10, 1 << 20),
            (2 << 20, 4 << 20),
            (8 << 20, 128 << 20),
        ];
        assert_eq!(ends, expected, "{found:#?}");
        let caches: Vec<Option<u32>> =
            found.iter().map(|level| level.cache.map(|cache| cache.number)).collect();
        assert_eq!(caches, [Some(1), Some(2), None, None, None]);
    }

    /// Of few working sets, those on a slope have to share a level: it is not flat.
    #[test]
    fn a_slope_is_not_flat() {
        let [sloping, flat] = &levels(&ladder([22.8, 110.0, 300.0, 301.0]))[..] else { panic!() };
        assert_eq!((sloping.least_ns, sloping.greatest_ns), (22.8, 110.0));
        assert_eq!([sloping, flat].map(Level::is_flat), [false, true]);
    }

    #[test]
    fn a_cache_is_named_once_and_the_last_level_is_none() {
        let steps = [(4, 1.0), (4, 4.0), (6, 3.0), (2, 6.0)];
        let (points, _) = climb(&steps, &[1.0]);
        let mut found = levels(&points);
        name_caches(&mut found, &[48 << 10, 32 << 10, 512 << 10, 64 << 20]);
        let caches: Vec<Option<u64>> =
            found.iter().map(|level| level.cache.map(|cache| cache.bytes)).collect();
        assert_eq!(caches, [Some(32 << 10), Some(512 << 10), Some(64 << 20), None]);
        assert_eq!(levels(&[]), []);
    }
}
