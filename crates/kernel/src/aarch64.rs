//! Vectors on 64-bit ARM.

/// 128-bit vectors, which every 64-bit ARM processor has.
pub(crate) mod neon {
    use crate::lanes::{Lanes, Unaligned};
    use std::arch::aarch64::*;
    use std::arch::asm;

    // SAFETY: the vector is two words without padding, any bytes are valid, and a cache line is
    // four vectors.
    unsafe impl Lanes for uint64x2_t {
        #[inline]
        #[target_feature(enable = "neon")]
        unsafe fn splat(word: u64) -> Self {
            vdupq_n_u64(word)
        }

        #[inline]
        #[target_feature(enable = "neon")]
        unsafe fn load(from: &Unaligned<Self>) -> Self {
            from.0
        }

        /// NEON's non-temporal store takes a pair of registers. Bypassing the caches is only a
        /// hint, which a processor may ignore.
        #[inline]
        #[target_feature(enable = "neon")]
        unsafe fn stream(to: &mut [Self; 2], [first, second]: [Self; 2]) {
            // SAFETY: an exclusive reference is valid for the 32 bytes that the instruction stores.
            unsafe {
                asm!(
                    "stnp {first:q}, {second:q}, [{to}]",
                    first = in(vreg) first,
                    second = in(vreg) second,
                    to = in(reg) to.as_mut_ptr(),
                    options(nostack, preserves_flags),
                );
            }
        }

        #[inline]
        #[target_feature(enable = "neon")]
        unsafe fn add(self, other: Self) -> Self {
            vaddq_u64(self, other)
        }

        #[inline]
        #[target_feature(enable = "neon")]
        unsafe fn count(self, integers: Self, value: Self) -> Self {
            // The comparison sets equal lanes to all ones, which is -1.
            let equal = vceqq_u32(vreinterpretq_u32_u64(integers), vreinterpretq_u32_u64(value));
            vreinterpretq_u64_u32(vsubq_u32(vreinterpretq_u32_u64(self), equal))
        }

        #[inline]
        #[target_feature(enable = "neon")]
        unsafe fn triad(b: Self, c: Self, factor: Self) -> Self {
            let product = vmulq_f64(vreinterpretq_f64_u64(factor), vreinterpretq_f64_u64(c));
            vreinterpretq_u64_f64(vaddq_f64(vreinterpretq_f64_u64(b), product))
        }
    }

    crate::isa::instructions! {
        uint64x2_t, if true, nt if true, #[target_feature(enable = "neon")]
    }
}
