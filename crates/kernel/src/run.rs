//! The shapes of the loops: plain safe functions.

/// A loop that the running processor can run.
#[derive(Debug, Clone, Copy)]
pub enum Run {
    /// The wrapping sum of the words.
    Read(fn(words: &[u64]) -> u64),
    /// Copies the second slice into the first. Panics if their lengths differ.
    Copy(fn(target: &mut [u64], source: &[u64])),
    /// Follows links from word `start`, `steps` of them, and returns where it ended: the next
    /// place is `cycle[place]`. Panics if a place is outside `cycle`. See
    /// [`cycle`](crate::cycle).
    Chase(fn(cycle: &[u64], start: u64, steps: u64) -> u64),
}

/// The digest of bytes that were read from file offset `offset`.
///
/// Equals [`model::content::digest_of`] for every offset and length.
pub type Digest = fn(offset: u64, bytes: &[u8]) -> u64;
