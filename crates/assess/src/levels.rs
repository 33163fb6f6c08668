//! The levels of memory: plateaus of the time a load takes, over ascending working sets.

use crate::caches::LADDER_LEAST;
use crate::decision::Named;
use crate::measured::Measured;
use crate::row::{Row, grouped};
use crate::stats::median;
use model::case::{Kernel, OWN_PEER, Pages};

/// The levels that one thread sees through pages of one size.
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    /// Which program chased.
    pub peer: String,
    /// What its array was mapped by.
    pub pages: Pages,
    /// From the smallest working set to the largest, at least one. Each but the last ends in a
    /// knee.
    pub levels: Vec<Level>,
    /// The doubtful ones of the rows that they are made of.
    pub doubtful: Vec<Named>,
}

/// Working sets whose loads take about as long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Bytes of its smallest working set.
    pub from: u64,
    /// Bytes of its largest: the knee is between this one and the next.
    pub to: u64,
    /// Nanoseconds a load: median of its working sets.
    pub ns: f64,
    /// The least of them.
    pub least_ns: f64,
    /// The greatest.
    pub greatest_ns: f64,
    /// The cache that the OS reports with about that size, if any.
    pub cache: Option<Nominal>,
}

/// A data cache, as the OS reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nominal {
    /// 1 for the first level.
    pub number: u32,
    /// Its bytes.
    pub bytes: u64,
}

/// Medians of neighboring levels differ by at least this factor (METHODOLOGY.md).
const RISE_LEAST: f64 = 1.25;
/// Fewer working sets are no level: a single one may be a disturbance.
const POINTS_LEAST: usize = 2;
/// The reduction of the sum of logarithmic distances that justifies one more level: less than `2·ln
/// 1.25`, that of the smallest rise over the fewest points.
const LEVEL_COST: f64 = 0.2;
/// A knee belongs to a cache if within this factor of its reported size.
const NOMINAL_NEAR: f64 = 2.0;

/// The levels of each peer and page size whose chase was measured by one thread over at least as
/// many working sets as two levels need.
pub(crate) fn all_levels(rows: &[Row]) -> Vec<Levels> {
    let chases = grouped(rows.iter().filter(|row| row.stands()), |row| {
        let work = row.measured.case.memory()?;
        let is_chase = work.kernel == Kernel::Chase && work.threads == 1;
        is_chase.then(|| (row.measured.case.peer.clone(), work.isa, work.pages))
    });
    chases.iter().filter_map(|chases| levels_of(chases)).collect()
}

/// The size that the last cache is below, by the levels that the own worker's chases show: the
/// least working set of the last level, which is memory's. None where the chases end before it is
/// sure that there is no cache behind them. Huge pages show caches alone; base pages show the
/// tables of pages too.
pub(crate) fn last_cache_below(rows: &[Row]) -> Option<u64> {
    let all = all_levels(rows);
    let own = all.iter().filter(|levels| levels.peer == OWN_PEER);
    let ends = own.filter_map(|levels| match levels.levels.as_slice() {
        [_, .., last] if last.to >= LADDER_LEAST => Some((levels.pages == Pages::Base, last.from)),
        _ => None,
    });
    ends.min().map(|(_, from)| from)
}

/// The levels that chases of one peer through pages of one size show.
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

/// The levels of `points`: working sets in bytes, ascending, and positive nanoseconds a load.
///
/// All is done on logarithms. Single points that are off from both their neighbors are drawn to
/// the nearer one. Then the points are cut into runs of at least two so that the sum of their
/// distances to the median of their run is least, where each run costs something too. Last, runs
/// are joined that differ by less than 25 % upward, the nearest two first. A slope without a
/// plateau is cut as well: least and greatest of a level tell how flat it is.
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

/// Draws single points that are off from both their neighbors to the nearer one: the farthest
/// first, for what is left of a spike may look like one in its neighbor, and high ones before low
/// ones, for what disturbs makes loads slower.
fn flatten_spikes(logs: &mut [f64]) {
    let inner = 1..logs.len().saturating_sub(1);
    for sign in [1.0, -1.0] {
        // Each turn flattens one, and there cannot be more than there are points.
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

/// Where the runs of `logs` begin, and the end of the last: the cheapest way to cut, found for
/// each prefix from those of shorter ones.
fn cuts(logs: &[f64]) -> Vec<usize> {
    let cost = |run: &[f64]| {
        let centre = centre(run);
        LEVEL_COST + run.iter().map(|log| (log - centre).abs()).sum::<f64>()
    };
    // The cost of each prefix, and where its last run begins.
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

/// Gives each cache to the knee that is nearest to its size, if one is near.
fn name_caches(levels: &mut [Level], caches: &[u64]) {
    let knees = levels.len().saturating_sub(1);
    let distance = |level: &Level, bytes: u64| (bytes as f64 / level.to as f64).ln().abs();
    for (number, bytes) in (1..).zip(caches.iter().copied().filter(|bytes| *bytes > 0)) {
        let nearest = levels[..knees]
            .iter_mut()
            .min_by(|a, b| distance(a, bytes).total_cmp(&distance(b, bytes)));
        let Some(level) = nearest.filter(|l| distance(l, bytes) <= NOMINAL_NEAR.ln()) else {
            continue;
        };
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

    /// Doubling working sets from 4 KiB on, each taking the given time.
    fn ladder(ns: impl IntoIterator<Item = f64>) -> Vec<(u64, f64)> {
        std::iter::successors(Some(4_096u64), |bytes| Some(bytes * 2)).zip(ns).collect()
    }

    /// Knees as the index of the last point before each.
    fn knees(points: &[(u64, f64)]) -> Vec<usize> {
        let found = levels(points);
        let index = |to: u64| points.iter().position(|(bytes, _)| *bytes == to);
        let knees = found.iter().map(|level| index(level.to).expect("a level ends at a point"));
        let mut knees: Vec<usize> = knees.collect();
        knees.pop();
        knees
    }

    /// Two levels to a handful, each of some points, each higher than the one before.
    fn staircase(points_least: usize) -> impl Strategy<Value = Vec<(usize, f64)>> {
        proptest::collection::vec((points_least..7, 1.5f64..6.0), 2..5)
    }

    /// The points of a staircase, each off by at most 5 % as `noise` says, and its true knees.
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

        /// A spike in the midst of a level is no level, if it is none of the next level's height.
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

        /// Whatever the points, levels cover them all in order, and each is 25 % above the last.
        #[test]
        fn levels_cover_and_rise(ns in proptest::collection::vec(0.1f64..1e3, 1..30)) {
            let points = ladder(ns);
            let found = levels(&points);
            prop_assert_eq!(found[0].from, points[0].0);
            prop_assert_eq!(found.last().map(|level| level.to), points.last().map(|p| p.0));
            for pair in found.windows(2) {
                prop_assert_eq!(pair[0].to * 2, pair[1].from);
                // Medians of logarithms and of their values differ where there is an even number.
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
        assert_eq!(rise(0.5), [0usize; 0], "a fall is no knee");
    }

    /// A ladder as it was measured once on a virtual machine whose caches are 32 KiB, 512 KiB and
    /// 32 MiB that others use too: there the last cache is a slope, and is cut in two.
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
