//! The order in which the blocks of a file are visited, and by which thread.
//!
//! An order is a bijection from step `k` to block `b`: every block comes exactly once per pass. So
//! the bytes and the digest of a pass are known, and no "cold" read is the second one of its block.
//! Only `zipf` draws each block anew. It has no passes, and its bytes are known by drawing again.

use crate::block_sizes::Deck;
use crate::named;
use crate::random::{Rng, mix};
use crate::zipf::{Theta, Zipf};
use std::ops::Range;

named! {
    /// The order in which blocks are visited.
    Pattern "pattern" {
        /// From first to last.
        Sequential "sequential",
        /// A random permutation.
        Random "random",
        /// Every `stride`-th block, then the same starting one block later, until all were visited.
        Strided "strided",
        /// Drawn by Zipf's law, so a few blocks come often.
        Zipf "zipf",
    }
}

impl Pattern {
    /// The names of those in which each block comes once per pass.
    pub const PASSES: &'static [&'static str] =
        &[Pattern::Sequential.name(), Pattern::Random.name(), Pattern::Strided.name()];
}

named! {
    /// How the steps of a pass are divided among threads.
    Share "share" {
        /// Each thread has one contiguous run of steps.
        Contiguous "contiguous",
        /// Thread `t` of `n` has the steps `t`, `t + n`, `t + 2n` …
        Interleaved "interleaved",
    }
}

/// The block of each step: a bijection on `0..blocks`, or draws.
#[derive(Debug, Clone)]
pub struct BlockOrder {
    blocks: u64,
    sequence: Sequence,
}

#[derive(Debug, Clone)]
enum Sequence {
    Sequential,
    Random(Scramble),
    Strided {
        stride: u64,
        long_lanes: u64,
        lane: u64,
    },
    /// The ranks' blocks are as a random order has them: often used ones are not neighbors.
    Zipf {
        zipf: Zipf,
        places: Scramble,
    },
}

impl BlockOrder {
    /// The order of `blocks` blocks in `pattern`. `stride` is in blocks, `theta` is the exponent of
    /// `zipf`, and `seed` determines a random order.
    ///
    /// # Panics
    /// If `stride` is 0.
    pub fn new(pattern: Pattern, blocks: u64, stride: u64, theta: Theta, seed: u64) -> BlockOrder {
        assert!(stride > 0, "a stride of 0 visits one block for ever");
        let sequence = match pattern {
            Pattern::Zipf => Sequence::Zipf {
                zipf: Zipf::new(blocks, theta, seed),
                places: Scramble::new(blocks, seed),
            },
            Pattern::Sequential => Sequence::Sequential,
            Pattern::Random => Sequence::Random(Scramble::new(blocks, seed)),
            Pattern::Strided => {
                Sequence::Strided { stride, long_lanes: blocks % stride, lane: blocks / stride }
            }
        };
        BlockOrder { blocks, sequence }
    }

    /// The number of blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Whether each step draws a block anew.
    pub fn draws(&self) -> bool {
        matches!(self.sequence, Sequence::Zipf { .. })
    }

    /// The block visited at `step`, which must be below [`Order::blocks`] unless blocks are drawn.
    #[inline]
    pub fn block(&self, step: u64) -> u64 {
        debug_assert!(self.draws() || step < self.blocks, "step {step} is past {}", self.blocks);
        match &self.sequence {
            Sequence::Zipf { zipf, places } => places.apply(zipf.rank(step)),
            Sequence::Sequential => step,
            Sequence::Random(scramble) => scramble.apply(step),
            // The first `long_lanes` lanes have one more block than the others.
            Sequence::Strided { stride, long_lanes, lane } => {
                let in_long = long_lanes * (lane + 1);
                let (start, place) = if step < in_long {
                    (step / (lane + 1), step % (lane + 1))
                } else {
                    (long_lanes + (step - in_long) / lane, (step - in_long) % lane)
                };
                start + place * stride
            }
        }
    }
}

/// A keyed bijection on `0..blocks`: three rounds of multiply and shift on the next power of two.
/// Results outside the range go through it again, fewer than twice on average.
#[derive(Debug, Clone)]
struct Scramble {
    blocks: u64,
    mask: u64,
    shift: u32,
    keys: [u64; 3],
}

impl Scramble {
    fn new(blocks: u64, seed: u64) -> Scramble {
        let mask = blocks.next_power_of_two().max(2) - 1;
        let mut rng = Rng::new(mix(seed));
        let keys = std::array::from_fn(|_| rng.next_u64() | 1);
        Scramble { blocks, mask, shift: mask.count_ones().div_ceil(2), keys }
    }

    #[inline]
    fn apply(&self, step: u64) -> u64 {
        let mut block = step;
        loop {
            for key in self.keys {
                // Each operation is invertible modulo the power of two: odd product, sum,
                // xor-shift.
                block = block.wrapping_mul(key).wrapping_add(key >> 32) & self.mask;
                block ^= block >> self.shift;
            }
            if block < self.blocks {
                return block;
            }
        }
    }
}

/// One thread's steps in a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadSteps {
    /// The thread's first step.
    pub first: u64,
    /// The distance between its steps.
    pub stride: u64,
    /// Number of its steps in a pass.
    pub count: u64,
}

impl ThreadSteps {
    /// The steps of `thread`, one of `threads`, in a pass of `blocks` steps.
    ///
    /// # Panics
    /// If `thread` is not below `threads`.
    pub fn of(share: Share, blocks: u64, thread: u64, threads: u64) -> ThreadSteps {
        assert!(thread < threads, "thread {thread} of {threads}");
        match share {
            Share::Contiguous => {
                let border =
                    |t: u64| (u128::from(blocks) * u128::from(t) / u128::from(threads)) as u64;
                let first = border(thread);
                ThreadSteps { first, stride: 1, count: border(thread + 1) - first }
            }
            Share::Interleaved => {
                let count = (blocks + threads - 1 - thread) / threads;
                ThreadSteps { first: thread, stride: threads, count }
            }
        }
    }

    /// The thread's `index`-th step.
    #[inline]
    pub fn step(&self, index: u64) -> u64 {
        self.first + index * self.stride
    }
}

/// How a file is cut into blocks.
#[derive(Debug, Clone)]
pub enum Cut {
    /// Into blocks of so many bytes.
    Even(u64),
    /// Into blocks of several sizes.
    Deck(Deck),
}

impl Cut {
    /// Offset and length of block `number`.
    #[inline(always)]
    fn block(&self, number: u64) -> (u64, u64) {
        match self {
            Cut::Even(block) => (number * block, *block),
            Cut::Deck(deck) => deck.block(number),
        }
    }
}

/// The blocks of a file that one thread visits in a pass, in order.
#[derive(Debug, Clone)]
pub struct Visits {
    order: BlockOrder,
    steps: ThreadSteps,
    cut: Cut,
    start: u64,
    size: u64,
}

impl Visits {
    /// The blocks of a file of `size` bytes that is `cut` into them, at the `steps` of `order`.
    pub fn new(order: BlockOrder, steps: ThreadSteps, cut: Cut, size: u64) -> Visits {
        Visits { order, steps, cut, start: 0, size }
    }

    /// The same blocks in the part of a file that begins at `start`.
    pub fn from(self, start: u64) -> Visits {
        Visits { start, ..self }
    }

    /// Number of visits per pass.
    #[inline(always)]
    pub fn count(&self) -> u64 {
        self.steps.count
    }

    /// Offset in the file and length of visit `index`, which must be below [`Visits::count`]. The
    /// last block may be short.
    #[inline(always)]
    pub fn block(&self, index: u64) -> (u64, u64) {
        let (place, length) = self.cut.block(self.order.block(self.steps.step(index)));
        (self.start + place, length.min(self.size - place))
    }

    /// Total bytes of the first `ops` visits, over as many passes as necessary; `None` on overflow,
    /// without blocks, or if blocks are drawn and the last one is short.
    pub fn bytes(&self, ops: u64) -> Option<u64> {
        if self.count() == 0 {
            return (ops == 0).then_some(0);
        }
        let (passes, rest) = (ops / self.count(), ops % self.count());
        let Cut::Even(block) = self.cut else {
            let bytes = |indexes: Range<u64>| indexes.map(|index| self.block(index).1).sum::<u64>();
            let all = passes.checked_mul(bytes(0..self.count()))?.checked_add(bytes(0..rest));
            return all.filter(|_| !self.order.draws());
        };
        let short = self.order.blocks() * block - self.size;
        if self.order.draws() {
            return ops.checked_mul(block).filter(|_| short == 0);
        }
        // Only the file's last block can be short.
        let visits_last = |mut indexes: Range<u64>| {
            let is_last =
                |index| self.order.block(self.steps.step(index)) == self.order.blocks() - 1;
            u64::from(short > 0 && indexes.any(is_last))
        };
        let shorts = passes
            .checked_mul(visits_last(0..self.count()))?
            .checked_add(visits_last(0..rest))?
            .checked_mul(short)?;
        ops.checked_mul(block)?.checked_sub(shorts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn patterns() -> impl Strategy<Value = Pattern> {
        let passes = |pattern: &Pattern| *pattern != Pattern::Zipf;
        proptest::sample::select(Pattern::ALL.iter().copied().filter(passes).collect::<Vec<_>>())
    }

    proptest! {
        #[test]
        fn every_block_comes_exactly_once(
            pattern in patterns(), blocks in 1u64..5_000, stride in 1u64..200, seed: u64,
        ) {
            let order = BlockOrder::new(pattern, blocks, stride, Theta::USUAL, seed);
            let mut seen: Vec<u64> = (0..blocks).map(|step| order.block(step)).collect();
            seen.sort_unstable();
            prop_assert!(seen.into_iter().eq(0..blocks));
        }

        #[test]
        fn shares_partition_the_steps(blocks in 0u64..2_000, threads in 1u64..20) {
            for share in Share::ALL.iter().copied() {
                let mut seen = Vec::new();
                for thread in 0..threads {
                    let steps = ThreadSteps::of(share, blocks, thread, threads);
                    seen.extend((0..steps.count).map(|index| steps.step(index)));
                }
                seen.sort_unstable();
                prop_assert!(seen.into_iter().eq(0..blocks));
            }
        }
    }

    #[test]
    fn a_strided_order_steps_by_the_stride() {
        let order = BlockOrder::new(Pattern::Strided, 7, 3, Theta::USUAL, 0);
        let blocks: Vec<u64> = (0..7).map(|step| order.block(step)).collect();
        assert_eq!(blocks, [0, 3, 6, 1, 4, 2, 5]);
    }

    /// Readahead detects adjacent blocks: a random order must have almost none, and no trend.
    #[test]
    fn a_random_order_has_no_neighbours() {
        let blocks = 65_536;
        for seed in 0..20 {
            let order = BlockOrder::new(Pattern::Random, blocks, 1, Theta::USUAL, seed);
            let near = (1..blocks)
                .filter(|&step| order.block(step).abs_diff(order.block(step - 1)) <= 16)
                .count();
            // About 33 steps are this short by chance.
            assert!(near < 500, "seed {seed}: {near} steps go to a near block");
        }
    }

    #[test]
    fn seeds_give_different_orders() {
        let order = |seed| -> Vec<u64> {
            let order = BlockOrder::new(Pattern::Random, 1000, 1, Theta::USUAL, seed);
            (0..1000).map(|step| order.block(step)).collect()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }
}
