//! A moment until which something is waited for.

use std::time::{Duration, Instant};

/// A moment that comes, or never: where the clock of the OS does not reach as far.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// So long after now.
    pub fn after(time: Duration) -> Deadline {
        Deadline(Instant::now().checked_add(time))
    }

    /// How long it is until then; zero where it is over.
    pub fn left(&self) -> Duration {
        self.0.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()))
    }

    /// Whether it is over.
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
