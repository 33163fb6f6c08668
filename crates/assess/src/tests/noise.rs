//! Simulated series of rates with a known kind of noise.

use model::random::Rng;

/// One value around 0 with a standard deviation of 1: a sum of 12 uniform numbers.
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

/// Rates around the `level` of each step, with this coefficient of variation. Each value depends on
/// the previous one by `memory`: an AR(1) process.
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
