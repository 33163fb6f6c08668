//! Work that is done at the same time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Does `work` for all `items`, for at most `most` at the same time, and returns the results in the
/// order of the items.
pub(crate) fn at_once<T: Sync, R: Send>(
    items: &[T],
    most: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let take = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place) else { return };
            let result = work(item);
            locked(&done).push((place, result));
        }
    };
    thread::scope(|scope| (0..most.min(items.len())).for_each(|_| drop(scope.spawn(take))));
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

/// What is in `mutex`, also if a thread panicked while it had it.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_the_items() {
        for most in [1, 3, 9] {
            assert_eq!(at_once(&[3, 1, 2, 5], most, |item| item * 2), [6, 2, 4, 10]);
        }
        assert_eq!(at_once(&[0; 0], 2, |item| *item), [0; 0]);
    }
}
