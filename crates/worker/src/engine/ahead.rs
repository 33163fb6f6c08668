//! Touches the pages of a mapping ahead of the reading thread, so that helper threads take the page
//! faults and wait for the device.

use memmap2::Mmap;
use std::hint::black_box;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

/// Number of helper threads.
const HELPERS: usize = 6;

/// Bytes that a helper claims at a time.
const PIECE_BYTES: usize = 2 << 20;

/// The smallest page size of any supported machine, in bytes.
const PAGE_BYTES: usize = 4096;

/// A helper's stack; it needs almost none.
const STACK_BYTES: usize = 64 << 10;

/// Helper threads that touch a range of a mapping in file order. They end when they have touched
/// all of it. Dropping this stops them early and joins them.
#[derive(Debug)]
pub struct Ahead {
    task: Arc<FetchTask>,
    helpers: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct FetchTask {
    map: Arc<Mmap>,
    range: Range<usize>,
    /// The next piece to claim.
    next: AtomicUsize,
    stop: AtomicBool,
}

impl Ahead {
    /// Starts touching the pages of `range`, which must be non-empty and within `map`.
    ///
    /// # Errors
    /// If the OS cannot start another thread.
    pub fn start(map: &Arc<Mmap>, range: Range<usize>) -> io::Result<Ahead> {
        let is_within = range.start < range.end && range.end <= map.len();
        assert!(is_within, "what is touched ahead is a part of the mapping");
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let task = Arc::new(FetchTask { map: Arc::clone(map), range, next, stop });
        let mut ahead = Ahead { task, helpers: Vec::with_capacity(HELPERS) };
        for _ in 0..HELPERS {
            let task = Arc::clone(&ahead.task);
            let helper = thread::Builder::new().stack_size(STACK_BYTES);
            let helper = helper.spawn(move || task.touch()).map_err(|error| {
                let text = format!("starting a thread that touches ahead failed: {error}");
                io::Error::new(error.kind(), text)
            })?;
            ahead.helpers.push(helper);
        }
        Ok(ahead)
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.task.stop.store(true, Ordering::Relaxed);
        for helper in self.helpers.drain(..) {
            if helper.join().is_err() {
                log::error!("a thread that touched ahead panicked");
            }
        }
    }
}

impl FetchTask {
    /// One helper's work: claims and touches pieces until none are left or it is stopped.
    fn touch(&self) {
        loop {
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            let mut places = places(&self.range, piece).peekable();
            if places.peek().is_none() {
                return;
            }
            for place in places {
                if self.stop.load(Ordering::Relaxed) {
                    return;
                }
                black_box(self.map[place]);
            }
        }
    }
}

/// One offset in each page of the `piece`-th piece of `range`; none past its end.
fn places(range: &Range<usize>, piece: usize) -> impl Iterator<Item = usize> + use<> {
    // The range may start inside a page. The start of that page is in the mapping, too.
    let first = range.start / PAGE_BYTES * PAGE_BYTES;
    let start = first.saturating_add(piece.saturating_mul(PIECE_BYTES));
    (start..range.end.min(start.saturating_add(PIECE_BYTES))).step_by(PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_page_of_a_range_is_touched_once(
            start in 0usize..10 << 20, length in 1usize..9 << 20,
        ) {
            let range = start..start + length;
            let pieces = length.div_ceil(PIECE_BYTES) + 1;
            let touched: Vec<usize> = (0..pieces).flat_map(|piece| places(&range, piece)).collect();
            let pages: Vec<usize> = touched.iter().map(|place| place / PAGE_BYTES).collect();
            let naive = start / PAGE_BYTES..=(range.end - 1) / PAGE_BYTES;
            prop_assert!(pages.into_iter().eq(naive));
            prop_assert!(touched.iter().all(|place| *place < range.end));
            prop_assert_eq!(places(&range, pieces).count(), 0, "nothing follows");
        }
    }
}
