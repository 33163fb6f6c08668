//! Zipf's law: a few blocks are asked for often and most of them rarely, as by the users of a
//! database.

use crate::random::{Rng, mix};
use crate::units::ParseError;
use std::fmt;
use std::str::FromStr;

/// The exponent θ of Zipf's law, in thousandths: the block of rank `k` is asked for `k^-θ` times as
/// often as the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Theta(u32);

/// Thousandths of the largest exponent: with it, almost all operations are of one block.
const THETA_MOST: u32 = 10_000;

impl Theta {
    /// That of the Yahoo! Cloud Serving Benchmark (Cooper et al. 2010).
    pub const USUAL: Theta = Theta(990);

    /// The smallest: nearly all blocks are asked for equally often.
    pub const LEAST: Theta = Theta(1);

    /// The exponent.
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

impl fmt::Display for Theta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value())
    }
}

impl FromStr for Theta {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Theta, ParseError> {
        let text = text.trim();
        let thousandths = text.parse().map(|value: f64| value * 1000.0);
        match thousandths {
            Ok(value)
                if (f64::from(Theta::LEAST.0)..=f64::from(THETA_MOST)).contains(&value.round()) =>
            {
                Ok(Theta(value.round() as u32))
            }
            _ => Err(ParseError::Theta { given: text.to_string() }),
        }
    }
}

/// Ranks `0..count` drawn by Zipf's law, with the method of Hörmann and Derflinger
/// ("Rejection-inversion to generate variates from monotone discrete distributions", 1996). It
/// needs no table, and θ may be 1.
///
/// Draw `step` depends on the seed and on `step` alone, so any part of the sequence can be drawn
/// again. The functions are those of `libm`, which are the same on every machine.
#[derive(Debug, Clone)]
pub struct Zipf {
    count: u64,
    theta: f64,
    seed: u64,
    /// The integral up to the first rank, whose part is exactly its probability.
    first: f64,
    /// The integral up to the last rank.
    last: f64,
    /// A result that is no further below the rank than this is always accepted.
    near: f64,
}

impl Zipf {
    /// The draws of ranks below `count` for `seed`.
    pub fn new(count: u64, theta: Theta, seed: u64) -> Zipf {
        // Not the numbers that determine the order of blocks.
        let seed = mix(seed ^ mix(0x21bf));
        let zipf = Zipf { count, theta: theta.value(), seed, first: 0.0, last: 0.0, near: 0.0 };
        let near = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        let (first, last) = (zipf.integral(1.5) - 1.0, zipf.integral(count as f64 + 0.5));
        Zipf { first, last, near, ..zipf }
    }

    /// The rank of draw `step`. It is never inlined: a draw takes 0.1 µs anyway, and its code would
    /// keep the other orders from being a part of the timed loop.
    #[inline(never)]
    pub fn rank(&self, step: u64) -> u64 {
        let mut rng = Rng::new(mix(self.seed ^ step));
        loop {
            let area = self.last + rng.unit() * (self.first - self.last);
            let place = self.inverse(area);
            let rank = (place + 0.5).floor().clamp(1.0, self.count as f64);
            let is_near = rank - place <= self.near;
            if is_near || area >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64 - 1;
            }
        }
    }

    /// The share of the draws that have one of the `most` lowest ranks: what a cache that always
    /// holds these serves.
    pub fn share_of(&self, most: u64) -> f64 {
        let most = most.min(self.count);
        if most == 0 { 0.0 } else { self.sum(most) / self.sum(self.count) }
    }

    /// The sum of the densities of the first `count` ranks. Beyond [`SUMMED`], by the formula of
    /// Euler and Maclaurin, with an error below 1e-9.
    fn sum(&self, count: u64) -> f64 {
        let summed = count.min(SUMMED);
        let sum: f64 = (1..=summed).rev().map(|rank| self.density(rank as f64)).sum();
        if count <= SUMMED {
            return sum;
        }
        let (low, high) = (summed as f64, count as f64);
        let slope = |rank: f64| -self.theta * self.density(rank) / rank;
        let ends = (self.density(high) - self.density(low)) / 2.0;
        let slopes = (slope(high) - slope(low)) / 12.0;
        sum + self.integral(high) - self.integral(low) + ends + slopes
    }

    fn density(&self, rank: f64) -> f64 {
        libm::exp(-self.theta * libm::log(rank))
    }

    /// The integral of the density from 1 to `rank`.
    fn integral(&self, rank: f64) -> f64 {
        let log = libm::log(rank);
        let power = (1.0 - self.theta) * log;
        // Near 0, `expm1(power) / power` is its limit.
        if power.abs() < 1e-12 { log } else { libm::expm1(power) / power * log }
    }

    /// The rank up to which the integral is `area`.
    fn inverse(&self, area: f64) -> f64 {
        let part = (area * (1.0 - self.theta)).max(-1.0);
        libm::exp(if part.abs() < 1e-12 { area } else { libm::log1p(part) / part * area })
    }
}

/// Ranks whose densities are added one by one: few, because a record may have thousands of cases.
const SUMMED: u64 = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    const THETAS: [&str; 6] = ["0.001", "0.5", "0.99", "1", "1.2", "3"];

    fn theta(text: &str) -> Theta {
        text.parse().expect("it is a theta")
    }

    /// The draws' counts of each rank are those of the naive definition, by a test of χ².
    #[test]
    fn ranks_are_drawn_as_often_as_zipf_says() {
        const COUNT: u64 = 50;
        const DRAWS: u64 = 1_000_000;
        for text in THETAS {
            let (zipf, exponent) = (Zipf::new(COUNT, theta(text), 7), theta(text).value());
            let mut seen = [0u64; COUNT as usize];
            (0..DRAWS).for_each(|step| seen[zipf.rank(step) as usize] += 1);
            let weight = |rank: u64| (rank as f64 + 1.0).powf(-exponent);
            let all: f64 = (0..COUNT).map(weight).sum();
            let chi: f64 = (0..COUNT)
                .map(|rank| {
                    let expected = DRAWS as f64 * weight(rank) / all;
                    (seen[rank as usize] as f64 - expected).powi(2) / expected.max(1.0)
                })
                .sum();
            // 49 degrees of freedom: above 98 once in 50 000 seeds.
            assert!(chi < 98.0, "{text}: {chi}");
        }
    }

    #[test]
    fn the_share_of_the_hottest_is_what_draws_have() {
        for text in THETAS {
            for count in [1, 10, 1000, 1 << 18] {
                let zipf = Zipf::new(count, theta(text), 3);
                for most in [0, 1, count / 10, count / 2, count, count + 1] {
                    let hits = (0..100_000).filter(|step| zipf.rank(*step) < most).count();
                    let off = (zipf.share_of(most) - hits as f64 / 100_000.0).abs();
                    assert!(off < 0.008, "{text}: {most} of {count}: {off}");
                }
            }
        }
    }

    /// The sum beyond [`SUMMED`] against one by one.
    #[test]
    fn long_sums_are_exact() {
        for text in THETAS {
            let zipf = Zipf::new(1 << 20, theta(text), 3);
            let naive: f64 = (1..=1u64 << 20).rev().map(|rank| zipf.density(rank as f64)).sum();
            let off = (zipf.sum(1 << 20) / naive - 1.0).abs();
            assert!(off < 1e-9, "{text}: {off}");
        }
    }

    #[test]
    fn an_exponent_is_written_as_it_is_read() {
        for text in THETAS {
            assert_eq!(theta(text).to_string(), text);
        }
        for text in ["0", "-1", "0.0001", "10.1", "nan", "inf", "", "x", "1e9"] {
            let error = text.parse::<Theta>().expect_err(text).to_string();
            assert!(error.contains("is not an exponent"), "{error}");
        }
    }
}
