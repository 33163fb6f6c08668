//! Reads among writes: which operations of a mixed case read.

use crate::random::{GOLDEN, mix};

/// The most operations in a hundred that can read: the rest writes, as a write case must.
pub const MOST: u8 = 99;

/// One thread's draws. Each operation is drawn by its own number, so that a trial can be replayed
/// from any point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mix {
    seed: u64,
    /// An operation reads if its draw is below this.
    below: u64,
}

impl Mix {
    /// The draws of `thread` in a trial with `seed`, of which `share` in a hundred read.
    pub fn new(share: u8, thread: u32, seed: u64) -> Mix {
        // Not the seed of the order of blocks, so that neither tells of the other.
        let seed = mix(mix(seed ^ GOLDEN).wrapping_add(u64::from(thread)));
        Mix { seed, below: (u64::MAX / 100).saturating_mul(u64::from(share)) }
    }

    /// Whether the thread's operation `number`, counted over all passes, reads.
    #[inline]
    pub const fn is_read(&self, number: u64) -> bool {
        mix(self.seed.wrapping_add(number.wrapping_mul(GOLDEN))) < self.below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four standard deviations of a binomial count around the share that was asked for.
    #[test]
    fn the_share_is_as_asked_for_and_each_operation_is_drawn_alone() {
        const DRAWS: u64 = 100_000;
        for (share, thread) in [(1, 0), (30, 0), (50, 3), (70, 1), (99, 0)] {
            let mix = Mix::new(share, thread, 7);
            let drawn: Vec<bool> = (0..DRAWS).map(|number| mix.is_read(number)).collect();
            let p = f64::from(share) / 100.0;
            let off = |count: usize, p: f64, n: u64| {
                let (mean, deviation) = (p * n as f64, (p * (1.0 - p) * n as f64).sqrt());
                (count as f64 - mean).abs() / deviation
            };
            let reads = drawn.iter().filter(|is_read| **is_read).count();
            assert!(off(reads, p, DRAWS) < 4.0, "{reads} of {DRAWS} at {share}");
            // A read after a read is as likely as any.
            let pairs = drawn.windows(2).filter(|pair| pair[0] && pair[1]).count();
            assert!(off(pairs, p * p, DRAWS - 1) < 6.0, "{pairs} pairs at {share}");
        }
        assert!((0..DRAWS).all(|number| !Mix::new(0, 0, 7).is_read(number)));
    }

    #[test]
    fn threads_and_trials_draw_apart() {
        let draws = |thread, seed| {
            let mix = Mix::new(50, thread, seed);
            (0..64).map(|number| mix.is_read(number)).collect::<Vec<_>>()
        };
        assert_eq!(draws(0, 7), draws(0, 7));
        assert_ne!(draws(0, 7), draws(1, 7));
        assert_ne!(draws(0, 7), draws(0, 8));
    }
}
