//! The loops in plain 64-bit registers.
//!
//! A release build turns a plain loop over words into one over vectors, and a plain copy into a
//! call of `memcpy`: a figure called scalar would then be about something else. The loads and
//! stores of words are therefore volatile: the compiler must do each of them as written, 8 bytes
//! wide. The sums and counts pass through a general register in every step. The doubles of a
//! triad are computed one by one in the low part of a vector register, as there is no other.

use crate::lanes::{Lanes, Unaligned};

// SAFETY: any bytes are a valid word, and a line is eight of them.
unsafe impl Lanes for u64 {
    #[inline(always)]
    unsafe fn splat(word: u64) -> u64 {
        word
    }

    #[inline(always)]
    unsafe fn load(from: &Unaligned<u64>) -> u64 {
        // SAFETY: a reference is valid, aligned as its type requires, and initialised, and nothing
        // writes to it meanwhile.
        unsafe { std::ptr::from_ref(from).read_volatile() }.0
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn stream([first, second]: &mut [u64; 2], words: [u64; 2]) {
        use std::arch::x86_64::_mm_stream_si64;
        // SAFETY: exclusive references are valid and aligned; an `i64` is as large and aligned.
        unsafe {
            _mm_stream_si64(std::ptr::from_mut(first).cast(), words[0].cast_signed());
            _mm_stream_si64(std::ptr::from_mut(second).cast(), words[1].cast_signed());
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    unsafe fn stream(_: &mut [u64; 2], _: [u64; 2]) {
        unreachable!("the table has no row that streams words here");
    }

    #[inline(always)]
    unsafe fn add(self, other: u64) -> u64 {
        in_register(self.wrapping_add(other))
    }

    #[inline(always)]
    unsafe fn count(self, integers: u64, value: u64) -> u64 {
        // All counts fit into the lower half: at most 2³² - 1.
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

/// The word itself, which the compiler cannot know to be the same: it has to be in a general
/// register. Sums that pass through here do not become lanes of a vector.
#[inline(always)]
fn in_register(word: u64) -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let same;
        // SAFETY: the assembly is a comment: it changes nothing.
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

crate::isa::instructions! { u64, if true }
