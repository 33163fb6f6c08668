//! The loops whose figure is the time of an operation: they have no vectors.

use crate::lanes::store;
use crate::run::Run;
use model::memory::Kernel;
use model::random::Rng;

/// The loop of `kernel`; none if it is bulk.
pub(crate) fn run(kernel: Kernel) -> Option<Run> {
    match kernel {
        Kernel::Chase => Some(Run::Chase(chase)),
        // The same loop: whose memory it is, fresh or not, is the business of the caller.
        Kernel::TouchPages | Kernel::FirstTouch => Some(Run::TouchPages(touch_pages)),
        Kernel::ReadPages => Some(Run::ReadPages(read_pages)),
        _ => None,
    }
}

/// Follows `steps` links of `cycle` from word `start`; returns where it ended.
///
/// Each load waits for the one before, so a step costs the latency of a load. The check of the
/// index does not: the processor predicts it and goes on.
fn chase(cycle: &[u64], start: u64, steps: u64) -> u64 {
    (0..steps).fold(start, |place, _| cycle[place as usize])
}

/// Writes `word` into the first of every `step` words.
fn touch_pages(words: &mut [u64], step: usize, word: u64) {
    for first in words.iter_mut().step_by(step) {
        store(first, word);
    }
}

/// The wrapping sum of the first of every `step` words. No load waits for another.
fn read_pages(words: &[u64], step: usize) -> u64 {
    words.iter().step_by(step).fold(0, |sum: u64, first| {
        // SAFETY: a reference is valid, aligned and initialised, and nothing writes to it
        // meanwhile. The load is volatile: each pass must do it, though it reads the same.
        sum.wrapping_add(unsafe { std::ptr::from_ref(first).read_volatile() })
    })
}

/// Writes into `words` one random cycle through the words 0, `stride_words`, 2·`stride_words`, …:
/// each holds the index of the next, and the last leads back to the first. `seed` decides the
/// order. Other words stay as they are.
///
/// A stride of one cache line (8 words of 64 bytes) makes every step of a chase a new line; two
/// lines also defeat a prefetcher that fetches lines in pairs.
///
/// The cycle is made by the algorithm of Sattolo ("An algorithm to generate a random cyclic
/// permutation", Information Processing Letters 22, 1986): every cycle is equally likely.
///
/// # Panics
/// If `stride_words` is 0.
pub fn cycle(words: &mut [u64], stride_words: usize, seed: u64) {
    assert!(stride_words > 0, "the words of a cycle are apart");
    let slots = words.len().div_ceil(stride_words);
    for place in (0..words.len()).step_by(stride_words) {
        words[place] = place as u64;
    }
    let mut rng = Rng::new(seed);
    for last in (1..slots).rev() {
        let other = rng.below(last as u64) as usize;
        words.swap(last * stride_words, other * stride_words);
    }
}
