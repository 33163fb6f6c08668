//! Series of rates with noise of a known kind, for simulations.

use model::random::Rng;

/// One value around 0 with a standard deviation of 1: a sum of 12 uniform numbers.
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

/// Rates around `level` of the step, with noise of this coefficient of variation, of which each
/// depends on the one before by `memory`: an AR(1).
pub(crate) fn noisy(
    rng: &mut Rng,
    steps: usize,
    level: impl Fn(usize) -> f64,
    variation: f64,
    memory: f64,
) -> Vec<f64> {
    let mut noise = normal(rng);
    let mut rate = |step| {
        noise = memory * noise + (1.0 - memory * memory).sqrt() * normal(rng);
        (level(step) * (1.0 + variation * noise)).max(0.0)
    };
    (0..steps).map(&mut rate).collect()
}
