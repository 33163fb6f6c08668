//! Quantiles of the binomial distribution, exact for any number of trials.

/// The smallest `k` with `P(X ≤ k) ≥ probability`, for each of `probabilities`. `X` is the number
/// of successes in `n` trials, each with success probability `p`.
///
/// Sums the probabilities, each computed from its neighbor, as far from the mode as they matter:
/// about 17 standard deviations, or 10⁵ terms for 10⁸ trials. Above 10⁹ trials, it uses the normal
/// distribution.
///
/// # Panics
/// If `p` or a probability is not strictly between 0 and 1.
pub(crate) fn quantiles(n: u64, p: f64, probabilities: [f64; 2]) -> [u64; 2] {
    assert!(p > 0.0 && p < 1.0, "{p} is not a probability inside 0 to 1");
    assert!(probabilities.iter().all(|q| *q > 0.0 && *q < 1.0), "a quantile is inside 0 to 1");
    if n > SUMMED_MOST {
        // Use the same number of standard deviations from the mean as for fewer trials: both are
        // very close to normal.
        let at = |n: u64| (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
        let ((mean, sd), (mean_of_fewer, sd_of_fewer)) = (at(n), at(SUMMED_MOST));
        return quantiles(SUMMED_MOST, p, probabilities)
            .map(|k| ((k as f64 - mean_of_fewer) / sd_of_fewer).mul_add(sd, mean).round() as u64)
            .map(|k| k.min(n));
    }
    let odds = p / (1.0 - p);
    let up = |k: u64| (n - k) as f64 / (k + 1) as f64 * odds;
    let mode = ((n as f64 * p) as u64).min(n);
    let (mut least, mut least_weight, mut total) = (mode, 1.0, 1.0);
    while least > 0 && least_weight > NEGLIGIBLE {
        least -= 1;
        least_weight /= up(least);
        total += least_weight;
    }
    let (mut k, mut weight) = (mode, 1.0);
    while k < n && weight > NEGLIGIBLE {
        weight *= up(k);
        k += 1;
        total += weight;
    }
    let greatest = k;
    probabilities.map(|probability| {
        let (mut k, mut weight) = (least, least_weight);
        let mut sum = weight;
        while k < greatest && sum < probability * total {
            weight *= up(k);
            k += 1;
            sum += weight;
        }
        k
    })
}

/// Maximum number of trials whose probabilities are summed.
const SUMMED_MOST: u64 = 1_000_000_000;
/// Probabilities this small, relative to the largest, do not change a sum of doubles.
const NEGLIGIBLE: f64 = 1e-18;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// P(X ≤ k) from Pascal's triangle: the naive version.
    fn naive_cdf(n: u64, p: f64) -> Vec<f64> {
        let mut row = vec![1.0];
        for _ in 0..n {
            let mut next = vec![0.0; row.len() + 1];
            for (k, probability) in row.iter().enumerate() {
                next[k] += probability * (1.0 - p);
                next[k + 1] += probability * p;
            }
            row = next;
        }
        let mut sum = 0.0;
        row.iter()
            .map(|probability| {
                sum += probability;
                sum
            })
            .collect()
    }

    proptest! {
        #[test]
        fn quantiles_match_the_naive_sum(n in 1u64..150, p in 0.02f64..0.98) {
            let cdf = naive_cdf(n, p);
            let probabilities = [0.025, 0.975];
            for (k, probability) in quantiles(n, p, probabilities).into_iter().zip(probabilities) {
                let naive = cdf.iter().position(|sum| *sum >= probability).map(|k| k as u64);
                prop_assert_eq!(Some(k), naive);
            }
        }
    }

    /// Impossibly large numbers that a damaged record may contain.
    #[test]
    fn absurd_samples_have_quantiles() {
        for n in [1_000_000_001, 1 << 50, u64::MAX] {
            for p in [0.5, 0.9, 0.999, 0.9999] {
                let [low, high] = quantiles(n, p, [0.025, 0.975]);
                let share = |k: u64| k as f64 / n as f64;
                assert!(low <= high && (share(low) - p).abs() < 1e-4, "{n} {p}: {low}");
                assert!((share(high) - p).abs() < 1e-4, "{n} {p}: {high}");
            }
        }
    }

    /// The ranks printed in docs/method, and the normal approximation.
    #[test]
    fn large_samples_have_the_known_quantiles() {
        assert_eq!(quantiles(100_000, 0.999, [0.025, 0.975]), [99_880, 99_919]);
        for n in [1_000_000u64, 100_000_000, 2_000_000_000] {
            for p in [0.5, 0.9, 0.99, 0.999] {
                // The normal approximation, corrected for skewness.
                let (mean, sd) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
                let skew = (1.0 - 2.0 * p) * (1.96f64.powi(2) - 1.0) / 6.0;
                let [low, high] = quantiles(n, p, [0.025, 0.975]);
                let near = |got: u64, z: f64| (got as f64 - (mean + z * sd + skew)).abs() < 2.0;
                assert!(near(low, -1.959_964) && near(high, 1.959_964), "{n} {p}: {low} {high}");
            }
        }
    }
}
