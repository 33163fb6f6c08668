//! How long to wait for devices to become quiet.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long devices may take to become quiet before a trial (docs/method).
const LIMIT: Duration = Duration::from_secs(30);

/// What is waited for even where nothing becomes quiet.
const LEAST: Duration = Duration::from_secs(1);

/// The time that devices may take to become quiet. It halves with each wait in vain: then it is
/// not the last trial's data that keeps them busy, but others, who do not stop for a measurement.
/// It returns to the limit when a wait succeeds.
#[derive(Debug, Default)]
pub struct Calming {
    in_vain: Cell<u32>,
}

impl Calming {
    /// How long the next wait may take.
    fn limit(&self) -> Duration {
        LIMIT.checked_div(1 << self.in_vain.get().min(16)).unwrap_or_default().max(LEAST)
    }

    /// Calls `is_quiet` until it is so, the time is up or `is_stopped`.
    pub(crate) fn wait(&self, mut is_quiet: impl FnMut() -> bool, is_stopped: impl Fn() -> bool) {
        let (began, limit) = (Instant::now(), self.limit());
        while !is_stopped() {
            if is_quiet() {
                return self.in_vain.set(0);
            }
            if began.elapsed() >= limit {
                return self.in_vain.set(self.in_vain.get().saturating_add(1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_keep_busy_is_waited_for_less_and_less() {
        let calming = Calming::default();
        let limits: Vec<u64> = (0..8)
            .map(|vain| {
                calming.in_vain.set(vain);
                calming.limit().as_secs()
            })
            .collect();
        assert_eq!(limits, [30, 15, 7, 3, 1, 1, 1, 1]);
        calming.in_vain.set(u32::MAX);
        calming.wait(|| true, || false);
        assert_eq!(calming.limit(), LIMIT);
        calming.in_vain.set(6);
        calming.wait(|| false, || false);
        assert_eq!(calming.in_vain.get(), 7);
        calming.wait(|| panic!("a stopped run looks no more"), || true);
        assert_eq!(calming.in_vain.get(), 7);
    }
}
