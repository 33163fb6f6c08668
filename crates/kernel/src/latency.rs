//! Loops that measure the time of an operation. They use no vectors.

use crate::lanes::store;
use crate::run::Loop;
use model::memory::Kernel;
use model::random::Rng;

/// The loop of `kernel`; `None` if it is a bulk kernel.
pub(crate) fn run(kernel: Kernel) -> Option<Loop> {
    match kernel {
        Kernel::Chase => Some(Loop::Chase(chase)),
        // The loop is the same; the caller decides whether the memory is fresh.
        Kernel::TouchPages | Kernel::FirstTouch => Some(Loop::TouchPages(touch_pages)),
        Kernel::ReadPages => Some(Loop::ReadPages(read_pages)),
        _ => None,
    }
}

/// Follows `steps` links of `cycle` from word `start` and returns the final place.
///
/// Each load depends on the previous one, so a step costs the latency of a load. The bounds check
/// does not add to it: the processor predicts its branch.
fn chase(cycle: &[u64], start: u64, steps: u64) -> u64 {
    (0..steps).fold(start, |place, _| cycle[place as usize])
}

/// Writes `word` into the first of every `step` words.
fn touch_pages(words: &mut [u64], step: usize, word: u64) {
    for first in words.iter_mut().step_by(step) {
        store(first, word);
    }
}

/// The wrapping sum of the first of every `step` words. The loads are independent of each other.
fn read_pages(words: &[u64], step: usize) -> u64 {
    words.iter().step_by(step).fold(0, |sum: u64, first| {
        // SAFETY: a reference is valid, aligned and initialized, and nothing writes to it
        // meanwhile. The load is volatile because every pass must perform it, although the value is
        // the same.
        sum.wrapping_add(unsafe { std::ptr::from_ref(first).read_volatile() })
    })
}

/// Writes a random cycle through the words 0, `stride_words`, 2·`stride_words`, … of `words`. Each
/// holds the index of the next, and the last points to the first. `seed` determines the order.
/// Other words stay unchanged.
///
/// With a stride of one cache line (8 words of 64 bits), every step of a chase loads a new line.
/// With two lines, prefetchers that fetch pairs of lines do not help, either.
///
/// Uses Sattolo's algorithm ("An algorithm to generate a random cyclic permutation", Information
/// Processing Letters 22, 1986): all cycles are equally likely.
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
