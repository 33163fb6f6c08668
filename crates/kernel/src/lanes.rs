//! The operations that loops need of an instruction set, and their order over an array.
//!
//! A loop is written once, generic over [`Lanes`], and always inlined into a function of one
//! instruction set, which decides how it is compiled: see the macro `instructions`.
//!
//! An array is walked in **turns** of 8 vectors, as three **streams** side by side.

/// A vector as it may lie in memory: at any address.
#[repr(C, packed)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unaligned<L>(pub(crate) L);

/// The vector of an instruction set: some whole 64-bit words, each also two 32-bit integers or
/// one double. A plain `u64` is the vector of one word.
///
/// # Safety
/// Any bytes are a valid vector, it has no padding, and a cache line is whole vectors. Each
/// function may be called only where the processor has the instruction set.
pub(crate) unsafe trait Lanes: Copy {
    /// The vector of which every word is `word`.
    unsafe fn splat(word: u64) -> Self;

    /// Loads one vector, as one vector.
    unsafe fn load(from: &Unaligned<Self>) -> Self;

    /// Stores two vectors past the caches, each as one vector, or both as a pair of them.
    unsafe fn stream(to: &mut [Self; 2], vectors: [Self; 2]);

    /// The wrapping sums of the words.
    unsafe fn add(self, other: Self) -> Self;

    /// These counts, each of 32 bits, and one more where the integer equals that of `value`.
    unsafe fn count(self, integers: Self, value: Self) -> Self;

    /// `b + factor·c` of the doubles: the product is rounded, then the sum.
    unsafe fn triad(b: Self, c: Self, factor: Self) -> Self;
}

/// Stores one vector through the caches, as one vector.
///
/// The store is volatile: else the compiler makes a loop of them one `memcpy` or `memset`, whose
/// way is not that of the loop.
#[inline(always)]
pub(crate) fn store<L: Lanes>(to: &mut L, vector: L) {
    // SAFETY: an exclusive reference is valid, aligned and ours alone to write to.
    unsafe { std::ptr::from_mut(to).write_volatile(vector) }
}

/// Vectors a turn of a loop. An addition waits for the last one into the same sum, so a sum for
/// each vector of a turn keeps the loads, not the latency of an addition, the limit.
pub(crate) const TURN: usize = 8;

/// Parts of an array that are walked side by side: each is a stream of its own to the
/// prefetchers, and a core that walks only one does not reach what its memory gives.
pub(crate) const STREAMS: usize = 3;

/// Bytes between two streams, and the length of each: an array is walked in blocks of 4 MiB less
/// 1 KiB, cut in three. What is left of it is walked as one stream.
///
/// Streams that are a multiple of a power of two apart get in each other's way, as they use the
/// same sets of the caches and banks of the memory; the bits of this distance alternate, and it
/// is no multiple of a page. Were the distance a third of the array, it would be good or bad by
/// the size of the array. Measured on Zen 3 with AVX2, huge pages and one thread: non-temporal
/// copies of 256 and 384 MiB have 1.13 and 0.71 times the rate of glibc's `memcpy` as thirds, and
/// 1.1 and 1.2 times in blocks; reads of 256 MiB in blocks have 1.2 times the rate of one stream.
const STREAM_BYTES: usize = 0x15_5400;

/// Turns in a stream.
#[inline(always)]
pub(crate) fn stream_turns<L>() -> usize {
    STREAM_BYTES / size_of::<[L; TURN]>()
}
