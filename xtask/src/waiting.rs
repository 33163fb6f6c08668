//! Waiting for what happens soon.

use std::thread;
use std::time::{Duration, Instant};

/// Between attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// The first result of an attempt; none if there was none until `most` was over.
pub(crate) fn within<T>(most: Duration, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        let found = attempt();
        if found.is_some() || began.elapsed() > most {
            return found;
        }
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_end_with_a_result_or_when_the_time_is_over() {
        let mut attempts = 0..3;
        let third = || attempts.next().is_none().then_some("at last");
        assert_eq!(within(Duration::from_secs(60), third), Some("at last"));
        assert_eq!(within(Duration::ZERO, || None::<()>), None);
    }
}
