//! How far another host's clock is ahead of this one's.
//!
//! Each ping brackets a moment of the other clock between two of ours. If the way there and the way
//! back took equal time, that moment was the middle; whatever they took, the error is at most half
//! of the round trip. So the ping with the shortest round trip is used alone (Cristian 1989;
//! docs/method).

use model::trial::HostClock;

/// A ping: when it was sent, what the other clock said, and when the answer was here, in
/// nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ping {
    /// Our clock before.
    pub sent_ns: u64,
    /// Their clock.
    pub theirs_ns: u64,
    /// Our clock after.
    pub received_ns: u64,
}

/// How far the other clock is ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// Their clock minus ours, in nanoseconds.
    pub ahead_ns: i128,
    /// The most that this may be wrong, in nanoseconds.
    pub error_ns: u64,
}

impl Offset {
    /// The clock of a host during a trial, from before it `until` after it; `None` if it is so far
    /// ahead that a record cannot say it.
    pub fn until(self, after: Offset) -> Option<HostClock> {
        let ns = |ns: i128| i64::try_from(ns).ok();
        Some(HostClock {
            ahead_ns: ns(self.ahead_ns)?,
            drift_ns: ns(after.ahead_ns - self.ahead_ns)?,
            error_ns: self.error_ns.max(after.error_ns),
        })
    }

    /// From the ping with the shortest round trip; `None` without any.
    pub fn of(pings: &[Ping]) -> Option<Offset> {
        let round_trip = |ping: &&Ping| ping.received_ns.saturating_sub(ping.sent_ns);
        let best = pings.iter().min_by_key(round_trip)?;
        let twice = 2 * i128::from(best.theirs_ns)
            - i128::from(best.sent_ns)
            - i128::from(best.received_ns);
        // Half of an odd round trip, and of an odd difference, is rounded.
        let error_ns = round_trip(&best) / 2 + 1;
        Some(Offset { ahead_ns: twice / 2, error_ns })
    }

    /// The moment of the other clock at which ours says `ours_ns`.
    pub fn theirs(self, ours_ns: u64) -> u64 {
        // A damaged clock may say anything.
        u64::try_from((i128::from(ours_ns) + self.ahead_ns).max(0)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_shortest_round_trip_decides() {
        let ping = |sent_ns, theirs_ns, received_ns| Ping { sent_ns, theirs_ns, received_ns };
        let pings = [ping(0, 1_000_000, 900), ping(1000, 1_001_050, 1100), ping(2000, 5, 9000)];
        assert_eq!(Offset::of(&pings), Some(Offset { ahead_ns: 1_000_000, error_ns: 51 }));
        assert_eq!(Offset::of(&[]), None);
    }

    proptest! {
        /// However long the ways took, the true offset is within the error.
        #[test]
        fn the_truth_is_within_the_error(
            ahead in -1_000_000_000_000i64..1_000_000_000_000,
            ways in prop::collection::vec((0u64..1_000_000, 0u64..1_000_000), 1..50),
        ) {
            let mut now = 2_000_000_000_000u64;
            let pings: Vec<Ping> = ways.iter().map(|(there, back)| {
                let sent_ns = now;
                let arrived = sent_ns + there;
                now = arrived + back;
                let theirs_ns = arrived.checked_add_signed(ahead).unwrap();
                Ping { sent_ns, theirs_ns, received_ns: now }
            }).collect();
            let offset = Offset::of(&pings).unwrap();
            let wrong = (offset.ahead_ns - i128::from(ahead)).unsigned_abs();
            prop_assert!(wrong <= u128::from(offset.error_ns), "{offset:?}");
            let theirs = i128::from(offset.theirs(now));
            prop_assert_eq!(theirs - offset.ahead_ns, i128::from(now));
        }

        /// No clock makes it panic.
        #[test]
        fn any_clock_is_taken(sent_ns: u64, theirs_ns: u64, received_ns: u64, ours: u64) {
            let offset = Offset::of(&[Ping { sent_ns, theirs_ns, received_ns }]).unwrap();
            let _ = offset.theirs(ours);
        }
    }
}
