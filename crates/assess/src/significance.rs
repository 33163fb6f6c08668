//! An exact test for two unpaired samples, and its correction for multiple tests.

/// The error rate of intervals and the false positive rate of tests. It applies to a single one, or
/// to all those behind a sentence or table (docs/method).
pub(crate) const LEVEL: f64 = 0.05;

/// Mood's median test with the exact hypergeometric distribution. Returns the two-sided probability
/// that this many or fewer of `ours` are above the joint median. It assumes that both samples have
/// the same distribution, whatever it is.
///
/// With two samples of seven, it can be as small as .0006. The sign test of seven pairs cannot be
/// below .016, so it could not separate any of four of them from chance.
pub(crate) fn median_test(ours: &[f64], others: &[f64]) -> f64 {
    let mut all: Vec<f64> = ours.iter().chain(others).copied().collect();
    all.sort_by(f64::total_cmp);
    let Some(&below_middle) = all.get(all.len().saturating_sub(1) / 2) else { return 1.0 };
    let above = |values: &[f64]| values.iter().filter(|value| **value > below_middle).count();
    let (of_ours, of_others) = (above(ours), above(others));
    let drawn = of_ours + of_others;
    let ln_all = ln_choose(all.len(), drawn);
    let chance =
        |k: usize| (ln_choose(ours.len(), k) + ln_choose(others.len(), drawn - k) - ln_all).exp();
    let (least, most) = (drawn.saturating_sub(others.len()), drawn.min(ours.len()));
    let at_most: f64 = (least..=of_ours).map(chance).sum();
    let at_least: f64 = (of_ours..=most).map(chance).sum();
    (2.0 * at_most.min(at_least)).min(1.0)
}

/// The result of [`median_test`] if all of ours are above all others: the smallest possible for
/// these sizes.
pub(crate) fn wholly_apart(ours: usize, others: usize) -> f64 {
    let values = |range: std::ops::Range<usize>| range.map(|value| value as f64).collect();
    let (above, below): (Vec<f64>, Vec<f64>) = (values(others..others + ours), values(0..others));
    median_test(&above, &below)
}

/// The logarithm of the number of ways to choose `k` of `n`.
fn ln_choose(n: usize, k: usize) -> f64 {
    let k = k.min(n - k);
    (0..k).map(|i| ((n - i) as f64 / (i + 1) as f64).ln()).sum()
}

/// Holm's correction of the probabilities of several tests, in the same order. Compare each result
/// with the error rate of all tests together.
pub(crate) fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut corrected = vec![1.0; p.len()];
    let mut least = 0.0f64;
    for (rank, index) in order.into_iter().enumerate() {
        least = least.max((p.len() - rank) as f64 * p[index]).min(1.0);
        corrected[index] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::random::Rng;
    use proptest::prelude::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }

    #[test]
    fn samples_apart_are_as_improbable_as_can_be() {
        let sample =
            |first: i32, n: i32| -> Vec<f64> { (first..first + n).map(f64::from).collect() };
        near(median_test(&sample(0, 7), &sample(10, 7)), 2.0 / 3_432.0);
        near(median_test(&sample(10, 7), &sample(0, 7)), 2.0 / 3_432.0);
        near(median_test(&sample(0, 5), &sample(10, 5)), 2.0 / 252.0);
        assert!(median_test(&sample(0, 1_000), &sample(2_000, 1_000)) < 1e-300);
        near(median_test(&[1.0; 10], &[1.0; 10]), 1.0);
        near(median_test(&[], &[]), 1.0);
        near(median_test(&[], &[1.0]), 1.0);
    }

    /// For samples of one distribution, the test rejects at most as often as the level allows.
    #[test]
    fn it_keeps_its_level() {
        let mut rng = Rng::new(5);
        for (n, m) in [(7, 7), (10, 7), (10, 10), (20, 20)] {
            let mut sample = |n: usize| (0..n).map(|_| rng.unit()).collect::<Vec<f64>>();
            let p: Vec<f64> = (0..2_000).map(|_| median_test(&sample(n), &sample(m))).collect();
            for level in [0.2, 0.05, 0.01] {
                let below = p.iter().filter(|p| **p <= level).count() as f64 / 2_000.0;
                assert!(below <= level + 0.015, "{n} {m}: {below} are below {level}");
            }
        }
    }

    #[test]
    fn holm_corrects_the_smallest_most() {
        let corrected = holm(&[0.04, 0.01, 0.9, 0.02]);
        for (found, expected) in corrected.iter().zip([0.08, 0.04, 0.9, 0.06]) {
            near(*found, expected);
        }
        assert_eq!(holm(&[]), [0.0; 0]);
        near(holm(&[0.03])[0], 0.03);
    }

    proptest! {
        /// The correction makes no test more certain, keeps probabilities valid, and preserves
        /// their order.
        #[test]
        fn holm_keeps_the_order(p in proptest::collection::vec(0.0f64..=1.0, 1..20)) {
            let corrected = holm(&p);
            for (i, before) in p.iter().enumerate() {
                prop_assert!(corrected[i] >= *before && corrected[i] <= 1.0);
                for (j, other) in p.iter().enumerate() {
                    prop_assert!(before > other || corrected[i] <= corrected[j]);
                }
            }
        }
    }
}
