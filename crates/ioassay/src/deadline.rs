//! The time at which a wait ends.

use std::time::{Duration, Instant};

/// A point in time, or never, if the OS's clock does not reach that far.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// `time` from now.
    pub fn after(time: Duration) -> Deadline {
        Deadline(Instant::now().checked_add(time))
    }

    /// The remaining time; zero if it has passed.
    pub fn left(&self) -> Duration {
        self.0.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()))
    }

    /// Whether it has passed.
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_over_when_its_time_is() {
        assert!(Deadline::after(Duration::ZERO).is_over());
        let later = Deadline::after(Duration::from_secs(60));
        assert!(!later.is_over() && later.left() <= Duration::from_secs(60));
        assert_eq!(Deadline::after(Duration::MAX).left(), Duration::MAX);
    }
}
