//! The shape of a loop over memory, and which shape is the fastest on a machine.

use crate::memory::{Isa, Kernel, Pages};
use crate::units::{self, ParseError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How a loop over memory is written. Its text is `avx2-8x3`, or `avx2-8x1+2048` with a prefetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Shape")]
pub struct LoopShape {
    /// Its instruction set.
    pub isa: Isa,
    /// Vectors in each turn of the loop.
    pub ways: u32,
    /// Parts of an array that it walks side by side.
    pub streams: u32,
    /// How far ahead of its loads it prefetches, in bytes; 0 if it does not.
    pub ahead: u32,
}

impl LoopShape {
    /// The shape in words: `avx2, 8 ways, 3 streams, no prefetch`.
    pub fn words(&self) -> String {
        let LoopShape { isa, ways, streams, ahead } = self;
        let plural = if *streams == 1 { "" } else { "s" };
        let prefetch = match ahead {
            0 => "no prefetch".to_string(),
            ahead => format!("prefetch {} ahead", units::bytes((*ahead).into())),
        };
        format!("{isa}, {ways} ways, {streams} stream{plural}, {prefetch}")
    }
}

impl fmt::Display for LoopShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}x{}", self.isa, self.ways, self.streams)?;
        if self.ahead > 0 { write!(f, "+{}", self.ahead) } else { Ok(()) }
    }
}

impl FromStr for LoopShape {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<LoopShape, ParseError> {
        let invalid = || ParseError::Shape { given: text.to_string() };
        let (isa, shape) = text.split_once('-').ok_or_else(invalid)?;
        let (shape, ahead) = shape.split_once('+').unwrap_or((shape, "0"));
        let (ways, streams) = shape.split_once('x').ok_or_else(invalid)?;
        let number = |text: &str| text.parse().map_err(|_| invalid());
        let [ways, streams, ahead] = [number(ways)?, number(streams)?, number(ahead)?];
        Ok(LoopShape { isa: isa.parse()?, ways, streams, ahead })
    }
}

/// What a loop runs over, as far as its fastest shape may depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Walk {
    /// The loop.
    pub kernel: Kernel,
    /// The pages of the arrays.
    pub pages: Pages,
    /// Threads that run it at the same time.
    pub threads: u32,
    /// Total size in bytes of the arrays of all threads.
    pub working_set: u64,
}

impl Walk {
    /// In words: `read t1 128MiB huge pages`.
    pub fn words(&self) -> String {
        let Walk { kernel, pages, threads, working_set } = self;
        format!("{kernel} t{threads} {} {pages} pages", units::bytes(*working_set))
    }
}

/// The measured shapes of a loop, and the one that the run uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibrated {
    /// What was measured.
    #[serde(flatten)]
    pub walk: Walk,
    /// The shape that the run uses for loops with `isa auto` like this one.
    pub chosen: LoopShape,
    /// The candidates, in the order of preference.
    pub candidates: Vec<Candidate>,
}

/// A shape that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    /// The shape.
    pub shape: LoopShape,
    /// Its bytes per second, as far as the passes of its rounds show.
    pub throughput: f64,
    /// The number of passes.
    pub passes: u32,
}

/// A candidate this close to the fastest is as fast: the first such one is chosen. So chance
/// decides less often, and a run is like the next.
pub const AS_FAST: f64 = 0.99;

/// A request to a worker: measure the candidates of these loops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calibrate {
    /// The loops.
    pub kernels: Vec<Kernel>,
    /// The pages of the arrays.
    pub pages: Pages,
    /// Threads that run a loop at the same time.
    pub threads: u32,
    /// Size in bytes of one array of all threads.
    pub array: u64,
    /// How long to measure each loop.
    pub time: Duration,
}

impl Calibrate {
    /// What is measured for one of the loops.
    pub fn walk(&self, kernel: Kernel) -> Walk {
        let working_set = self.array.saturating_mul(kernel.arrays());
        Walk { kernel, pages: self.pages, threads: self.threads, working_set }
    }
}

/// The passes of one shape, in nanoseconds each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapePasses {
    /// The shape.
    pub shape: LoopShape,
    /// Bytes that all threads moved in a pass.
    pub bytes: u64,
    /// The time of each pass.
    pub pass_ns: Vec<u64>,
}

impl Calibrated {
    /// Chooses among the measured shapes, which are in the order of preference; `None` if there is
    /// none.
    ///
    /// The median of a candidate's rates among those of the same round decides, because what
    /// disturbs a machine disturbs neighboring passes. Its throughput is that ratio times the rate
    /// of a quiet round, the upper quartile: what disturbs a round makes it slower.
    pub fn of(walk: Walk, timed: &[ShapePasses]) -> Option<Calibrated> {
        let timed: Vec<&ShapePasses> = timed.iter().filter(|it| !it.pass_ns.is_empty()).collect();
        let passes = timed.iter().map(|it| it.pass_ns.len()).min()?;
        let round = |index| timed.iter().map(move |it| it.rate(index)).collect::<Vec<f64>>();
        let rounds: Vec<Vec<f64>> = (0..passes).map(round).collect();
        let middles: Vec<f64> = rounds.iter().map(|rates| at(rates.clone(), 1, 2)).collect();
        let quiet = at(middles.clone(), 3, 4);
        let candidate = |(index, it): (usize, &&ShapePasses)| {
            let pairs = rounds.iter().zip(&middles);
            let ratio = at(pairs.map(|(rates, middle)| rates[index] / middle).collect(), 1, 2);
            let passes = u32::try_from(passes).unwrap_or(u32::MAX);
            Candidate { shape: it.shape, throughput: ratio * quiet, passes }
        };
        let candidates: Vec<Candidate> = timed.iter().enumerate().map(candidate).collect();
        let fastest = candidates.iter().map(|it| it.throughput).max_by(f64::total_cmp)?;
        let is_as_fast = |it: &&Candidate| it.throughput >= AS_FAST * fastest;
        let chosen = candidates.iter().find(is_as_fast)?.shape;
        Some(Calibrated { walk, chosen, candidates })
    }
}

impl ShapePasses {
    /// The bytes per second of a pass.
    fn rate(&self, pass: usize) -> f64 {
        self.bytes as f64 / self.pass_ns[pass].max(1) as f64 * 1e9
    }
}

/// The value at a share of the way from the least to the greatest, the nearest one below.
fn at(mut values: Vec<f64>, parts: usize, of: usize) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[(values.len() - 1) * parts / of]
}

/// What was measured for a loop like `walk`: the same kernel in the same pages; then the nearest
/// size of a thread's arrays, as a ratio; then the nearest number of threads.
pub fn calibrated(all: &[Calibrated], walk: Walk) -> Option<&Calibrated> {
    let is_like = |it: &&Calibrated| (it.walk.kernel, it.walk.pages) == (walk.kernel, walk.pages);
    let bits = |walk: Walk| (walk.working_set / u64::from(walk.threads.max(1))).max(1).ilog2();
    let distance = |it: &&Calibrated| {
        let threads = it.walk.threads.abs_diff(walk.threads);
        (bits(it.walk).abs_diff(bits(walk)), threads)
    };
    all.iter().filter(is_like).min_by_key(distance)
}

/// The shape that was chosen for a loop like `walk`, if one was.
pub fn chosen(all: &[Calibrated], walk: Option<Walk>) -> Option<LoopShape> {
    calibrated(all, walk?).map(|it| it.chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> LoopShape {
        text.parse().expect(text)
    }

    const WALK: Walk =
        Walk { kernel: Kernel::Read, pages: Pages::Huge, threads: 1, working_set: 128 << 20 };

    /// The choice among shapes whose passes take these times.
    fn choice(passes: &[(&str, &[u64])]) -> Option<String> {
        let timed = |(text, pass_ns): &(&str, &[u64])| ShapePasses {
            shape: shape(text),
            bytes: 1_000,
            pass_ns: pass_ns.to_vec(),
        };
        let timed: Vec<ShapePasses> = passes.iter().map(timed).collect();
        Calibrated::of(WALK, &timed).map(|it| it.chosen.to_string())
    }

    #[test]
    fn a_shape_has_a_text_and_words() {
        for (text, words) in [
            ("avx2-8x3", "avx2, 8 ways, 3 streams, no prefetch"),
            ("avx512-16x1+2048", "avx512, 16 ways, 1 stream, prefetch 2KiB ahead"),
        ] {
            assert_eq!((shape(text).to_string(), shape(text).words()), (text.into(), words.into()));
        }
        for text in ["", "avx2", "avx2-8", "avx2-8x", "mmx-8x1", "avx2-8x1+", "avx2-8x-1"] {
            assert!(text.parse::<LoopShape>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_fastest_is_chosen_by_most_passes() {
        let planted: (&str, &[u64]) = ("avx2-16x1", &[90, 91, 90, 92, 90, 91, 90, 90]);
        let check = |other: &[u64], expected: &str| {
            assert_eq!(choice(&[("avx512-8x3", other), planted]).as_deref(), Some(expected));
        };
        check(&[100; 8], "avx2-16x1");
        // One lucky pass is not enough, nor is one that was disturbed.
        check(&[50, 100, 100, 100, 100, 100, 100, 100], "avx2-16x1");
        check(&[80, 80, 80, 300, 80, 80, 300, 80], "avx512-8x3");
        // One that is as fast and comes first is kept.
        check(&[90, 91, 91, 91, 90, 91, 91, 91], "avx512-8x3");
        assert_eq!(choice(&[]), None);
        assert_eq!(choice(&[("avx2-8x3", &[]), planted]).as_deref(), Some("avx2-16x1"));
    }

    #[test]
    fn what_slows_whole_rounds_does_not_decide() {
        // Most rounds take three times as long, and no two the same time.
        let noise = [3.0, 1.0, 3.3, 1.1, 2.9, 3.6, 1.0, 3.1];
        let pass_ns = |base: f64| noise.map(|times| (base * times) as u64).to_vec();
        let timed =
            |(text, base)| ShapePasses { shape: shape(text), bytes: 1_000, pass_ns: pass_ns(base) };
        let timed =
            [("avx512-8x3", 1_000.0), ("avx2-16x1", 950.0), ("sse2-8x1", 1_200.0)].map(timed);
        let calibrated = Calibrated::of(WALK, &timed).expect("there are passes");
        assert_eq!(calibrated.chosen, shape("avx2-16x1"));
        let rates: Vec<f64> = calibrated.candidates.iter().map(|it| it.throughput / 1e9).collect();
        // The rates of a quiet round, of which there are three in eight.
        for (rate, expected) in rates.into_iter().zip([1.0, 1.0 / 0.95, 1.0 / 1.2]) {
            let expected = expected / 1.1;
            assert!((rate / expected - 1.0).abs() < 0.01, "{rate} GB/s, expected {expected}");
        }
    }

    #[test]
    fn a_loop_has_the_shape_of_the_nearest_one_that_was_measured() {
        let at = |threads, working_set, text: &str| {
            let walk = Walk { threads, working_set, ..WALK };
            Calibrated { walk, chosen: shape(text), candidates: Vec::new() }
        };
        let all = [
            at(1, 128 << 20, "avx2-8x1"),
            at(8, 1 << 30, "avx2-8x2"),
            at(1, 64 << 10, "avx2-8x3"),
            at(8, 512 << 10, "avx2-8x4"),
        ];
        let of = |walk: Walk| calibrated(&all, walk).map(|it| it.chosen.streams);
        let sized = |threads, working_set| of(Walk { threads, working_set, ..WALK });
        assert_eq!((sized(1, 4 << 30), sized(8, 4 << 30)), (Some(1), Some(2)));
        assert_eq!((sized(2, 4 << 30), sized(64, 64 << 30)), (Some(1), Some(2)));
        assert_eq!((sized(1, 8 << 10), sized(8, 64 << 10)), (Some(3), Some(4)));
        assert_eq!(of(Walk { pages: Pages::Base, ..WALK }), None);
        assert_eq!(of(Walk { kernel: Kernel::Count, ..WALK }), None);
    }
}
