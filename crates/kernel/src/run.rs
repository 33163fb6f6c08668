//! The shapes of the loops: plain safe functions.

/// A loop that the running processor can run.
///
/// A loop with a target panics if a source is not as long as it.
#[derive(Debug, Clone, Copy)]
pub enum Run {
    /// The wrapping sum of the words.
    Read(fn(words: &[u64]) -> u64),
    /// Writes the word all over the slice, with ordinary or non-temporal stores.
    Write(fn(target: &mut [u64], word: u64)),
    /// Copies the second slice into the first, with ordinary or non-temporal stores.
    Copy(fn(target: &mut [u64], source: &[u64])),
    /// Computes `target = b + factor·c`, with ordinary or non-temporal stores. The product is
    /// rounded, then the sum, in every isa.
    Triad(fn(target: &mut [f64], b: &[f64], c: &[f64], factor: f64)),
    /// Counts a value.
    Count(Count),
    /// Follows links from word `start`, `steps` of them, and returns where it ended: the next
    /// place is `cycle[place]`. Panics if a place is outside `cycle`. See
    /// [`cycle`](crate::cycle).
    Chase(fn(cycle: &[u64], start: u64, steps: u64) -> u64),
    /// Writes the word into the first of every `step` words, counted from the start of the slice.
    /// Panics if that is 0.
    TouchPages(fn(words: &mut [u64], step: usize, word: u64)),
    /// The wrapping sum of the first of every `step` words, counted from the start of the slice.
    /// Panics if that is 0.
    ReadPages(fn(words: &[u64], step: usize) -> u64),
}

/// The digest of bytes that were read from file offset `offset`.
///
/// Equals [`model::content::digest_of`] for every offset and length.
pub type Digest = fn(offset: u64, bytes: &[u8]) -> u64;

/// How many of the 4-byte little-endian integers at offsets 0, 4, 8, … of `bytes` are `value`.
///
/// The slice may lie at any address. A tail shorter than 4 bytes is ignored.
pub type Count = fn(bytes: &[u8], value: u32) -> u64;
