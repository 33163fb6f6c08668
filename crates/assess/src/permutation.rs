//! Permutation test for serial order.
//!
//! Both tests depend only on the values and on how good their order is: the reversed order is
//! exactly as rare.

use model::random::Rng;

/// An order this rare is not due to chance: p < .01 (docs/method).
pub(crate) const RARE: f64 = 0.01;
/// The number of random orders if there are too many to count all.
const ORDERS: u32 = 9_999;
/// The smallest probability that this many random orders can resolve.
pub(crate) const RAREST: f64 = 1.0 / (ORDERS + 1) as f64;
/// The seed of the shuffles, fixed so that the same values give the same findings.
const SEED: u64 = 0x57e9;
/// Up to this many values, all orders are counted: at most two to this power sets.
const COUNTED_MOST: usize = 16;

/// Whether the `statistic` of `values` in their order is positive and rare. At most the share `p`
/// of random orders, including the original one, may reach it.
pub(crate) fn is_rare(values: &[f64], statistic: impl Fn(&[f64]) -> f64, p: f64) -> bool {
    let Some(alike_from) = alike_from(statistic(values)) else { return false };
    let mut rng = Rng::new(SEED);
    let mut shuffled = values.to_vec();
    // Sort first, so that the shuffles do not depend on the measured order.
    shuffled.sort_by(f64::total_cmp);
    let is_alike = |_: &u32| {
        rng.shuffle(&mut shuffled);
        statistic(&shuffled) >= alike_from
    };
    // The measured order counts as one of those that are as good.
    let most = (p / RAREST + 1e-6).floor() as usize;
    (0..ORDERS).filter(is_alike).take(most).count() < most
}

/// The same for the maximum of `of_part` over all splits into a first part and a rest with at least
/// `side_least` values each. `of_part` takes the number of values in the first part, and their sum.
/// Up to 16 values, all orders are counted, so the share is exact.
pub(crate) fn is_rare_split(
    values: &[f64],
    side_least: usize,
    of_part: impl Fn(usize, f64) -> f64,
    p: f64,
) -> bool {
    let n = values.len();
    let places = side_least..(n + 1).saturating_sub(side_least);
    let greatest = |values: &[f64]| {
        let mut sum: f64 = values.iter().take(side_least - 1).sum();
        let at = |at: usize| {
            sum += values[at - 1];
            of_part(at, sum)
        };
        places.clone().map(at).fold(0.0, f64::max)
    };
    if n > COUNTED_MOST {
        return is_rare(values, greatest, p);
    }
    let Some(alike_from) = alike_from(greatest(values)) else { return false };
    let is_alike = |at: usize, sum: f64| places.contains(&at) && of_part(at, sum) >= alike_from;
    share_of_orders(values, is_alike) <= p
}

/// The threshold from which a statistic counts as equal to the measured one, allowing for rounding
/// in another order of summation. `None` if there is nothing to reach.
fn alike_from(measured: f64) -> Option<f64> {
    (measured > 0.0).then_some(measured * (1.0 - 1e-9))
}

/// The share of all orders of the values in which `is_alike` holds for some first part. `is_alike`
/// takes the number of its values and their sum.
///
/// An order is a path from the empty set to all values that adds one at a time. Paths that avoid
/// all such sets are counted set by set, which takes 2ⁿ steps instead of n!.
fn share_of_orders(values: &[f64], is_alike: impl Fn(usize, f64) -> bool) -> f64 {
    let sets = 1usize << values.len();
    let mut sums = vec![0.0; sets];
    // For each set, the share of its orders in which no first part is alike.
    let mut free = vec![1.0; sets];
    for set in 1..sets {
        let last = set.trailing_zeros() as usize;
        sums[set] = sums[set & (set - 1)] + values[last];
        let size = set.count_ones() as usize;
        let without = |at: &usize| set & (1 << at) != 0;
        let ways: f64 = (0..values.len()).filter(without).map(|at| free[set ^ (1 << at)]).sum();
        free[set] = if is_alike(size, sums[set]) { 0.0 } else { ways / size as f64 };
    }
    1.0 - free[sets - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// How far the last value is above the first. Any two orders are equally likely.
    fn rise(values: &[f64]) -> f64 {
        values[values.len() - 1] - values[0]
    }

    #[test]
    fn a_rare_order_is_one_of_a_hundred() {
        let ascending = |n: u32| -> Vec<f64> { (0..n).map(f64::from).collect() };
        // The smallest comes first and the largest last in one of n·(n-1) orders.
        assert!(is_rare(&ascending(20), rise, RARE));
        assert!(!is_rare(&ascending(5), rise, RARE));
        let mut turned = ascending(20);
        turned.reverse();
        assert!(!is_rare(&turned, rise, RARE), "it falls");
        assert!(!is_rare(&[1.0; 20], rise, RARE), "all orders are the same");
    }

    /// Oracle: enumerates every order.
    fn naive_share(values: &[f64], is_alike: &dyn Fn(usize, f64) -> bool) -> f64 {
        fn orders(rest: &[f64], part: &mut Vec<f64>, seen: &mut dyn FnMut(&[f64])) {
            if rest.is_empty() {
                seen(part);
            }
            for at in 0..rest.len() {
                let mut others = rest.to_vec();
                part.push(others.remove(at));
                orders(&others, part, seen);
                part.pop();
            }
        }
        let (mut alike, mut all) = (0u32, 0u32);
        orders(values, &mut Vec::new(), &mut |order| {
            let hit = (1..=order.len()).any(|n| is_alike(n, order[..n].iter().sum()));
            (alike, all) = (alike + u32::from(hit), all + 1);
        });
        f64::from(alike) / f64::from(all)
    }

    proptest! {
        #[test]
        fn counting_sets_counts_orders(
            values in proptest::collection::vec(-50i32..50, 1..7), least in -60i32..60
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let is_alike = |n: usize, sum: f64| n < 5 && sum / n as f64 > f64::from(least);
            let found = share_of_orders(&values, is_alike);
            let naive = naive_share(&values, &is_alike);
            prop_assert!((found - naive).abs() < 1e-9, "{} {}", found, naive);
        }
    }
}
