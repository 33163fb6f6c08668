//! Vectors on x86-64.
//!
//! A function that needs AVX2 or AVX-512 is unsafe to call. Each module returns its loops only on a
//! processor that has the instruction set.

/// 128-bit vectors, which every x86-64 processor has.
pub(crate) mod sse2 {
    use crate::lanes::{Lanes, Unaligned};
    use std::arch::x86_64::*;

    // SAFETY: the vector is two words without padding, any bytes are valid, and a cache line is
    // four vectors.
    unsafe impl Lanes for __m128i {
        #[inline]
        #[target_feature(enable = "sse2")]
        unsafe fn splat(word: u64) -> Self {
            _mm_set1_epi64x(word.cast_signed())
        }

        #[inline]
        #[target_feature(enable = "sse2")]
        unsafe fn load(from: &Unaligned<Self>) -> Self {
            from.0
        }

        #[inline]
        #[target_feature(enable = "sse2")]
        unsafe fn stream([first, second]: &mut [Self; 2], vectors: [Self; 2]) {
            // SAFETY: exclusive references are valid and aligned.
            unsafe {
                _mm_stream_si128(first, vectors[0]);
                _mm_stream_si128(second, vectors[1]);
            }
        }

        #[inline]
        #[target_feature(enable = "sse2")]
        unsafe fn add(self, other: Self) -> Self {
            _mm_add_epi64(self, other)
        }

        #[inline]
        #[target_feature(enable = "sse2")]
        unsafe fn count(self, integers: Self, value: Self) -> Self {
            // The comparison sets equal lanes to -1.
            _mm_sub_epi32(self, _mm_cmpeq_epi32(integers, value))
        }

        #[inline]
        #[target_feature(enable = "sse2")]
        unsafe fn triad(b: Self, c: Self, factor: Self) -> Self {
            let product = _mm_mul_pd(_mm_castsi128_pd(factor), _mm_castsi128_pd(c));
            _mm_castpd_si128(_mm_add_pd(_mm_castsi128_pd(b), product))
        }
    }

    crate::isa::instructions! { __m128i, if true, nt if true, #[target_feature(enable = "sse2")] }
}

/// 256-bit vectors.
pub(crate) mod avx2 {
    use crate::lanes::{Lanes, Unaligned};
    use std::arch::x86_64::*;

    // SAFETY: the vector is four words without padding, any bytes are valid, and a cache line is
    // two vectors.
    unsafe impl Lanes for __m256i {
        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn splat(word: u64) -> Self {
            _mm256_set1_epi64x(word.cast_signed())
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn load(from: &Unaligned<Self>) -> Self {
            from.0
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn stream([first, second]: &mut [Self; 2], vectors: [Self; 2]) {
            // SAFETY: exclusive references are valid and aligned.
            unsafe {
                _mm256_stream_si256(first, vectors[0]);
                _mm256_stream_si256(second, vectors[1]);
            }
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn add(self, other: Self) -> Self {
            _mm256_add_epi64(self, other)
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn count(self, integers: Self, value: Self) -> Self {
            // The comparison sets equal lanes to -1.
            _mm256_sub_epi32(self, _mm256_cmpeq_epi32(integers, value))
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn triad(b: Self, c: Self, factor: Self) -> Self {
            let product = _mm256_mul_pd(_mm256_castsi256_pd(factor), _mm256_castsi256_pd(c));
            _mm256_castpd_si256(_mm256_add_pd(_mm256_castsi256_pd(b), product))
        }
    }

    crate::isa::instructions! {
        __m256i, if is_x86_feature_detected!("avx2"), nt if true,
        #[target_feature(enable = "avx2")]
    }
}

/// 512-bit vectors: AVX-512 F and BW.
pub(crate) mod avx512 {
    use crate::lanes::{Lanes, Unaligned};
    use std::arch::x86_64::*;

    // SAFETY: the vector is eight words without padding, any bytes are valid, and it is one cache
    // line.
    unsafe impl Lanes for __m512i {
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn splat(word: u64) -> Self {
            _mm512_set1_epi64(word.cast_signed())
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn load(from: &Unaligned<Self>) -> Self {
            from.0
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn stream([first, second]: &mut [Self; 2], vectors: [Self; 2]) {
            // SAFETY: exclusive references are valid and aligned.
            unsafe {
                _mm512_stream_si512(first, vectors[0]);
                _mm512_stream_si512(second, vectors[1]);
            }
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn add(self, other: Self) -> Self {
            _mm512_add_epi64(self, other)
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn count(self, integers: Self, value: Self) -> Self {
            // Counts of unequal integers stay unchanged.
            let equal = _mm512_cmpeq_epi32_mask(integers, value);
            _mm512_mask_add_epi32(self, equal, self, _mm512_set1_epi32(1))
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn triad(b: Self, c: Self, factor: Self) -> Self {
            let product = _mm512_mul_pd(_mm512_castsi512_pd(factor), _mm512_castsi512_pd(c));
            _mm512_castpd_si512(_mm512_add_pd(_mm512_castsi512_pd(b), product))
        }
    }

    crate::isa::instructions! {
        __m512i,
        if (is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")),
        nt if true,
        #[target_feature(enable = "avx512f,avx512bw")]
    }
}
