//! Simulated machines: rates of rounds with a known kind of noise.

use model::random::Rng;

/// A kind of noise around a rate of 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noise {
    pub(super) name: &'static str,
    /// The standard deviation of the noise added to each round.
    spread: f64,
    /// The share of rounds that run at half the rate.
    slow: f64,
    /// The share of rounds in a second mode, at 80 % of the rate.
    second: f64,
    /// The share of a round's noise that carries over to the next: an AR(1).
    memory: f64,
    /// Whether the noise follows Student's t distribution with three degrees of freedom.
    heavy: bool,
}

const PLAIN: Noise =
    Noise { name: "", spread: 0.05, slow: 0.0, second: 0.0, memory: 0.0, heavy: false };

pub(super) const NORMAL: Noise = Noise { name: "normal, 5 %", ..PLAIN };
pub(super) const SLOW: Noise = Noise { name: "15 % half as fast", slow: 0.15, ..PLAIN };
pub(super) const AR_7: Noise = Noise { name: "AR(1), φ = .7", memory: 0.7, ..PLAIN };

/// All kinds in the table of coverage.
pub(super) const ALL: [Noise; 7] = [
    NORMAL,
    SLOW,
    Noise { name: "two modes", spread: 0.02, second: 0.4, ..PLAIN },
    Noise { name: "heavy tails", heavy: true, ..PLAIN },
    Noise { name: "AR(1), φ = .5", memory: 0.5, ..PLAIN },
    AR_7,
    Noise { name: "AR(1), φ = .9", memory: 0.9, ..PLAIN },
];

impl Noise {
    /// The same kind of noise, `factor` times as large.
    pub(super) fn times(self, factor: f64) -> Noise {
        Noise { spread: self.spread * factor, ..self }
    }

    /// The rates of `rounds` rounds; `level` gives each round's center.
    pub(super) fn rates(
        &self,
        rng: &mut Rng,
        rounds: usize,
        level: impl Fn(usize) -> f64,
    ) -> Vec<f64> {
        let mut state = normal(rng);
        let innovation = (1.0 - self.memory * self.memory).sqrt();
        let mut rate = |round| {
            let fresh = if self.heavy { student_of_three(rng) } else { normal(rng) };
            state = self.memory * state + innovation * fresh;
            let slow = if rng.unit() < self.slow { 0.5 } else { 1.0 };
            let mode = if rng.unit() < self.second { 0.8 } else { 1.0 };
            (level(round) * slow * mode * (1.0 + self.spread * state)).max(1e-3)
        };
        (0..rounds).map(&mut rate).collect()
    }

    /// The machine's long-term median.
    pub(super) fn median(&self) -> f64 {
        let mut many = self.rates(&mut Rng::new(1), 200_001, |_| 1.0);
        // With autocorrelation the median is the same, but takes very long to converge.
        if self.memory > 0.0 {
            return 1.0;
        }
        many.sort_by(f64::total_cmp);
        many[many.len() / 2]
    }
}

/// A value with mean 0 and standard deviation 1, as a sum of 12 uniform numbers.
pub(super) fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

/// A value of Student's t distribution with three degrees of freedom.
pub(super) fn student_of_three(rng: &mut Rng) -> f64 {
    let squares: f64 = (0..3).map(|_| normal(rng).powi(2)).sum();
    normal(rng) / (squares / 3.0).sqrt()
}
