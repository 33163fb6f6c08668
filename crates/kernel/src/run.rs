//! The signatures of the loops: plain safe functions.

/// A loop that this processor can run.
///
/// A loop with a target panics if a source has another length.
#[derive(Debug, Clone, Copy)]
pub enum Loop {
    /// The wrapping sum of the words.
    Read(fn(words: &[u64]) -> u64),
    /// Fills the slice with the word, using ordinary or non-temporal stores.
    Write(fn(target: &mut [u64], word: u64)),
    /// Copies the second slice into the first, using ordinary or non-temporal stores.
    Copy(fn(target: &mut [u64], source: &[u64])),
    /// Computes `target = b + factor·c`, using ordinary or non-temporal stores. Every isa rounds
    /// the product, then the sum.
    Triad(fn(target: &mut [f64], b: &[f64], c: &[f64], factor: f64)),
    /// Counts the occurrences of a value.
    Count(Count),
    /// Follows `steps` links from word `start` and returns the final place. The link at a place is
    /// `cycle[place]`. Panics if a link leads outside `cycle`. See [`cycle`](crate::cycle).
    Chase(fn(cycle: &[u64], start: u64, steps: u64) -> u64),
    /// Writes the word to the first of every `step` words, counted from the start of the slice.
    /// Panics if `step` is 0.
    TouchPages(fn(words: &mut [u64], step: usize, word: u64)),
    /// The wrapping sum of the first of every `step` words, counted from the start of the slice.
    /// Panics if `step` is 0.
    ReadPages(fn(words: &[u64], step: usize) -> u64),
}

/// The digest of bytes that a file has at `offset`.
///
/// Equals [`model::content::digest_of`] for every offset and length.
pub type Digest = fn(offset: u64, bytes: &[u8]) -> u64;

/// How many of the 4-byte little-endian integers at offsets 0, 4, 8, … of `bytes` equal `value`.
///
/// The slice may be unaligned. A tail shorter than 4 bytes is ignored.
pub type Count = fn(bytes: &[u8], value: u32) -> u64;
