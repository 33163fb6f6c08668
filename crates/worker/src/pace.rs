//! A loop over memory that runs for a share of its time: work in small blocks, and a pause after
//! each. A pause spins on the clock: a sleep takes far longer than a block.

use model::actor::Duty;

/// Bytes of each array between two pauses: short beside what a cache holds, so that others meet a
/// steady stream, and long beside two readings of the clock.
pub const PACED_BYTES: u64 = 4096;

/// A block takes less than this, at 40 MB/s. If it took more, the thread was interrupted, and a
/// longer pause would make up for what it did not do.
const BLOCK_NS_MOST: u64 = 100_000;

/// How long a thread pauses.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    works: u64,
    rests: u64,
}

impl Pace {
    /// The pace of a thread with this duty; `None` if it never pauses.
    pub fn of(duty: Duty) -> Option<Pace> {
        let works = u64::from(duty.percent());
        (works < 100).then_some(Pace { works, rests: 100 - works })
    }

    /// How long to pause after a block that took `took_ns`.
    #[inline(always)]
    pub fn pause_ns(self, took_ns: u64) -> u64 {
        took_ns.min(BLOCK_NS_MOST) * self.rests / self.works
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pace(percent: u8) -> Option<Pace> {
        Pace::of(Duty::try_from(percent).expect("it is a percentage"))
    }

    #[test]
    fn a_whole_duty_has_no_pauses() {
        assert!(pace(100).is_none());
        assert!(pace(99).is_some());
    }

    proptest! {
        #[test]
        fn blocks_take_their_share_of_the_time(percent in 1u8..100, took_ns in 1_000u64..100_000) {
            let pause_ns = pace(percent).expect("it pauses").pause_ns(took_ns);
            let share = took_ns as f64 / (took_ns + pause_ns) as f64;
            prop_assert!((share - f64::from(percent) / 100.0).abs() < 0.001, "{share}");
        }

        #[test]
        fn nothing_makes_a_pause_endless(percent in 1u8..100, took_ns: u64) {
            let pause_ns = pace(percent).expect("it pauses").pause_ns(took_ns);
            prop_assert!(pause_ns <= 99 * BLOCK_NS_MOST);
        }
    }
}
