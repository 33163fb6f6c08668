//! The loops in general 64-bit registers.
//!
//! Release builds vectorize a plain loop over words and turn a plain copy into `memcpy`, so a
//! "scalar" figure would measure something else. The loads and stores are therefore volatile: the
//! compiler must perform each as written, 8 bytes wide. Sums and counts pass through a general
//! register in every step. A triad's doubles use the low part of a vector register, one at a time,
//! because there is no other place for them.

use crate::lanes::{Lanes, Unaligned};

// SAFETY: any bytes are a valid word, it has no padding, and a cache line is eight words.
unsafe impl Lanes for u64 {
    #[inline(always)]
    unsafe fn splat(word: u64) -> u64 {
        word
    }

    #[inline(always)]
    unsafe fn load(from: &Unaligned<u64>) -> u64 {
        // SAFETY: a reference is valid, aligned for its type and initialized, and nothing writes to
        // it meanwhile.
        unsafe { std::ptr::from_ref(from).read_volatile() }.0
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn stream([first, second]: &mut [u64; 2], words: [u64; 2]) {
        use std::arch::x86_64::_mm_stream_si64;
        // SAFETY: exclusive references are valid and aligned; an `i64` has the same size and
        // alignment.
        unsafe {
            _mm_stream_si64(std::ptr::from_mut(first).cast(), words[0].cast_signed());
            _mm_stream_si64(std::ptr::from_mut(second).cast(), words[1].cast_signed());
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    unsafe fn stream(_: &mut [u64; 2], _: [u64; 2]) {
        unreachable!("there is no loop that streams words here");
    }

    #[inline(always)]
    unsafe fn add(self, other: u64) -> u64 {
        in_register(self.wrapping_add(other))
    }

    #[inline(always)]
    unsafe fn count(self, integers: u64, value: u64) -> u64 {
        // Counts fit into the lower half: they are at most 2³² - 1.
        let is_low = integers as u32 == value as u32;
        let is_high = (integers >> 32) as u32 == value as u32;
        in_register(self + u64::from(is_low) + u64::from(is_high))
    }

    #[inline(always)]
    unsafe fn triad(b: u64, c: u64, factor: u64) -> u64 {
        let [b, c, factor] = [b, c, factor].map(f64::from_bits);
        (b + factor * c).to_bits()
    }
}

/// Returns `word` in a general register. The compiler cannot know that it is unchanged, so it
/// cannot turn such sums into vector lanes.
#[inline(always)]
fn in_register(word: u64) -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let same;
        // SAFETY: the assembly is only a comment and changes nothing.
        unsafe {
            std::arch::asm!(
                "/* {same} */",
                same = inout(reg) word => same,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        same
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::hint::black_box(word)
}

crate::isa::instructions! { u64, if true, nt if cfg!(target_arch = "x86_64") }
