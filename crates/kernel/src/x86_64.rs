//! The loops in the 256-bit vectors of AVX2.
//!
//! A function that needs AVX2 is unsafe to call. The functions without `avx2` in their name ask
//! the processor and give out a safe pointer to one only if it has AVX2.
//!
//! That the loops are what they claim was seen in the disassembly of a release build, to be
//! repeated when the compiler changes: `objdump -d -C BINARY | awk '/_avx2>:$/,/^$/'` shows
//! `vpaddq` from memory into eight `ymm` registers in `read_avx2` (three streams) and
//! `digest_avx2` (one), and eight pairs of `vmovups` and `vmovaps` with `ymm` in `copy_avx2`.

use crate::run::{Digest, Run};
use crate::scalar::{self, STREAMS, Word};
use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m256i, _mm256_add_epi64, _mm256_loadu_si256, _mm256_setzero_si256, _mm256_storeu_si256,
};

/// Vectors a turn of a loop, each added into a sum of its own: the loads, not the latency of an
/// addition, are then the limit.
const TURN_VECTORS: usize = 8;
const VECTOR_WORDS: usize = size_of::<__m256i>() / size_of::<u64>();
const TURN_WORDS: usize = TURN_VECTORS * VECTOR_WORDS;

/// The sum of words, if the processor has AVX2.
pub(crate) fn read() -> Option<Run> {
    // SAFETY: this function gives the closure out only if the processor has AVX2.
    let run = Run::Read(|words| unsafe { read_avx2(words) });
    is_x86_feature_detected!("avx2").then_some(run)
}

/// The copy of words, if the processor has AVX2.
pub(crate) fn copy() -> Option<Run> {
    // SAFETY: this function gives the closure out only if the processor has AVX2.
    let run = Run::Copy(|target, source| unsafe { copy_avx2(target, source) });
    is_x86_feature_detected!("avx2").then_some(run)
}

/// The digest of bytes, if the processor has AVX2.
pub(crate) fn digest() -> Option<Digest> {
    // SAFETY: this function gives the closure out only if the processor has AVX2.
    let run: Digest = |offset, bytes| unsafe { digest_avx2(offset, bytes) };
    is_x86_feature_detected!("avx2").then_some(run)
}

/// See [`scalar::read`].
#[target_feature(enable = "avx2")]
fn read_avx2(words: &[u64]) -> u64 {
    sum_avx2::<STREAMS>(as_bytes(words))
}

/// See [`scalar::digest`].
#[target_feature(enable = "avx2")]
fn digest_avx2(offset: u64, bytes: &[u8]) -> u64 {
    // A block is short and was just copied, so it comes from a cache: one stream will do.
    scalar::digest_with(offset, bytes, |words| sum_avx2::<1>(words))
}

/// The wrapping sum of `words`, read as `N` streams.
#[target_feature(enable = "avx2")]
fn sum_avx2<const N: usize>(words: &[Word]) -> u64 {
    let mut sums = [_mm256_setzero_si256(); TURN_VECTORS];
    let (turns, rest) = words.as_chunks::<TURN_WORDS>();
    let (streams, turns_left) = scalar::split::<N, _>(turns);
    for index in 0..streams[0].len() {
        for stream in streams {
            add_avx2(&mut sums, &stream[index]);
        }
    }
    for turn in turns_left {
        add_avx2(&mut sums, turn);
    }
    let sum = sums.into_iter().fold(_mm256_setzero_si256(), |a, b| _mm256_add_epi64(a, b));
    let mut lanes = [0u64; VECTOR_WORDS];
    // SAFETY: the lanes are as long as a vector; the store asks for no alignment.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sum) };
    let rest = rest.iter().map(|word| u64::from_le_bytes(*word));
    rest.chain(lanes).fold(0, u64::wrapping_add)
}

/// Adds each vector of `turn` to its sum.
#[inline]
#[target_feature(enable = "avx2")]
fn add_avx2(sums: &mut [__m256i; TURN_VECTORS], turn: &[Word; TURN_WORDS]) {
    let (vectors, _) = turn.as_chunks::<VECTOR_WORDS>();
    for (sum, words) in sums.iter_mut().zip(vectors) {
        *sum = _mm256_add_epi64(*sum, load(words));
    }
}

/// See [`scalar::copy`]. The stores go through the caches, as those of a plain program do.
///
/// They are volatile, and therefore aligned: else the compiler makes all of it one `memcpy`.
#[target_feature(enable = "avx2")]
fn copy_avx2(target: &mut [u64], source: &[u64]) {
    assert_eq!(target.len(), source.len(), "a copy is as long as its source");
    // SAFETY: any four words are a valid vector, and any vector is four valid words.
    let (target_head, target_vectors, target_tail) = unsafe { target.align_to_mut::<__m256i>() };
    let (source_head, source) = source.split_at(target_head.len());
    let (source_vectors, source_tail) = as_bytes(source).as_chunks::<VECTOR_WORDS>();
    target_head.copy_from_slice(source_head);
    for (target, word) in target_tail.iter_mut().zip(source_tail) {
        *target = u64::from_le_bytes(*word);
    }
    let (target_turns, target_rest) = target_vectors.as_chunks_mut::<TURN_VECTORS>();
    let (source_turns, source_rest) = source_vectors.as_chunks::<TURN_VECTORS>();
    for (target, source) in target_turns.iter_mut().zip(source_turns) {
        for (target, source) in target.iter_mut().zip(source) {
            store(target, load(source));
        }
    }
    for (target, source) in target_rest.iter_mut().zip(source_rest) {
        store(target, load(source));
    }
}

/// Loads four words, aligned or not.
#[inline]
#[target_feature(enable = "avx2")]
fn load(words: &[Word; VECTOR_WORDS]) -> __m256i {
    // SAFETY: the words are as long as a vector; the load asks for no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

/// Stores one vector, as one vector.
#[inline]
#[target_feature(enable = "avx2")]
fn store(target: &mut __m256i, vector: __m256i) {
    // SAFETY: an exclusive reference is valid, aligned and ours alone to write to.
    unsafe { std::ptr::from_mut(target).write_volatile(vector) }
}

/// Words as they lie in memory: this processor is little-endian.
fn as_bytes(words: &[u64]) -> &[Word] {
    // SAFETY: the same memory seen as as many arrays of 8 bytes, which need no alignment and for
    // which any byte is valid.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}
