//! Whether values come in an order that chance would seldom give them.

use model::random::Rng;

/// How often the order of the values is shuffled.
const ORDERS: usize = 1_000;
/// Of as many orders the measured one and those that are as good may be at most this many: p < .01.
pub(crate) const ALIKE_MOST: usize = 10;
/// Decides the shuffles: the same record has the same findings.
const SEED: u64 = 0x57e9;

/// Whether the `statistic` of the `values` in their order is above 0 and reached in fewer than 10
/// of 1 000 random orders of the same values: p < .01, whatever their distribution is.
pub(crate) fn is_rare(values: &[f64], statistic: impl Fn(&[f64]) -> f64) -> bool {
    is_rarer(values, statistic, ALIKE_MOST)
}

/// The same, reached in at most `alike_most` of 1 000 orders, the one of the values among them.
pub(crate) fn is_rarer(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    alike_most: usize,
) -> bool {
    let measured = statistic(values);
    if measured <= 0.0 {
        return false;
    }
    // What is the same in another order is as good, however its sums are rounded.
    let alike_from = measured * (1.0 - 1e-9);
    let mut rng = Rng::new(SEED);
    let mut shuffled = values.to_vec();
    let is_alike = |_: &usize| {
        rng.shuffle(&mut shuffled);
        statistic(&shuffled) >= alike_from
    };
    // One of the orders that are as good is the one that was measured.
    let alike = 1 + (0..ORDERS).filter(is_alike).take(alike_most).count();
    alike <= alike_most
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How far the last value is above the first: any two orders are equally likely.
    fn rise(values: &[f64]) -> f64 {
        values[values.len() - 1] - values[0]
    }

    #[test]
    fn a_rare_order_is_one_of_a_hundred() {
        let ascending = |n: u32| -> Vec<f64> { (0..n).map(f64::from).collect() };
        // The least comes first and the greatest last in one of n·(n-1) orders.
        assert!(is_rare(&ascending(20), rise));
        assert!(!is_rare(&ascending(5), rise));
        let mut turned = ascending(20);
        turned.reverse();
        assert!(!is_rare(&turned, rise), "it falls");
        assert!(!is_rare(&[1.0; 20], rise), "all orders are the same");
    }
}
