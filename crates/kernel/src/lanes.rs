//! The vector operations that loops need, and the order in which loops walk an array.
//!
//! Each loop is written once, generic over [`Lanes`]. It is always inlined into a function of one
//! instruction set, which determines how it is compiled: see the macro `instructions`.
//!
//! A loop's shape has three numbers. It walks an array in **turns** of `WAYS` vectors, as `STREAMS`
//! **streams** side by side, and prefetches `AHEAD` bytes before it loads; 0 leaves that to the
//! processor. Which shape is the fastest depends on the processor, so it is measured.

/// A vector in memory at any address.
#[repr(C, packed)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unaligned<L>(pub(crate) L);

/// The vector of an instruction set: whole 64-bit words, each also usable as two 32-bit integers or
/// one double. A plain `u64` is a vector of one word.
///
/// # Safety
/// Any bytes must be a valid vector. It must have no padding, and a cache line must be a whole
/// number of vectors. A function may be called only if the processor has the instruction set.
pub(crate) unsafe trait Lanes: Copy {
    /// A vector with `word` in every position.
    unsafe fn splat(word: u64) -> Self;

    /// Loads a vector with one load.
    unsafe fn load(from: &Unaligned<Self>) -> Self;

    /// Stores two vectors past the caches, with one store each or one paired store.
    unsafe fn stream(to: &mut [Self; 2], vectors: [Self; 2]);

    /// Wrapping sums of the words.
    unsafe fn add(self, other: Self) -> Self;

    /// Adds 1 to each 32-bit count whose integer equals that of `value`.
    unsafe fn count(self, integers: Self, value: Self) -> Self;

    /// `b + factor·c` on doubles; rounds the product, then the sum.
    unsafe fn triad(b: Self, c: Self, factor: Self) -> Self;
}

/// Stores a vector through the caches with one store.
///
/// The store is volatile. Otherwise the compiler would turn a loop of them into `memcpy` or
/// `memset`, which use a different access pattern.
#[inline(always)]
pub(crate) fn store<L: Lanes>(to: &mut L, vector: L) {
    // SAFETY: an exclusive reference is valid, aligned and ours alone to write to.
    unsafe { std::ptr::from_mut(to).write_volatile(vector) }
}

/// Sums of a loop that only reads. An addition depends on the previous one into the same sum. With
/// eight sums, the loads are the bottleneck, not the latency of an addition.
pub(crate) const SUMS: usize = 8;

/// A cache line of most processors, in bytes.
pub(crate) const LINE_BYTES: usize = 64;

/// Asks for the cache lines of a turn that begins `AHEAD` bytes after `turn`.
#[inline(always)]
pub(crate) fn prefetch<L: Lanes, const WAYS: usize, const AHEAD: usize>(
    turn: &[Unaligned<L>; WAYS],
) {
    if AHEAD > 0 {
        for line in 0..size_of::<[L; WAYS]>().div_ceil(LINE_BYTES) {
            fetch(turn.as_ptr().cast::<u8>().wrapping_add(AHEAD + line * LINE_BYTES));
        }
    }
}

/// Asks for the cache line at `address`, which need not exist: then nothing happens.
#[inline(always)]
fn fetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, and it never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: every 64-bit ARM processor has the instruction, and it never faults.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{address}]",
            address = in(reg) address,
            options(nostack, preserves_flags, readonly),
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

/// Length of a stream in bytes, and the distance between two. Loops of three streams walk an array
/// in blocks of 4 MiB less 1 KiB, cut in three; the remainder is one stream.
///
/// Streams a multiple of a power of two apart compete for cache sets and memory banks. This
/// distance has alternating bits and is not a multiple of a page. A third of the array would be a
/// good or bad distance depending on the array's size. Measured on Zen 3 with AVX2, huge pages and
/// one thread, compared with glibc's `memcpy`: non-temporal copies of 256 and 384 MiB are 1.13 and
/// 0.71 times as fast in thirds, and 1.1 and 1.2 times in blocks. Reads of 256 MiB in blocks are
/// 1.2 times as fast as one stream.
const STREAM_BYTES: usize = 0x15_5400;

/// Turns per stream.
#[inline(always)]
pub(crate) fn stream_turns<L, const WAYS: usize>() -> usize {
    STREAM_BYTES / size_of::<[L; WAYS]>()
}
