//! The loops in plain 64-bit registers, and what needs no vectors at all.
//!
//! A release build turns a plain loop over words into one over vectors, and a plain copy into a
//! call of `memcpy`: a figure called scalar would then be about something else. The loads and
//! stores of the kernels here are therefore volatile. The compiler must do each of them as
//! written, 8 bytes wide. That the sum is then in general registers too was seen in the
//! disassembly of a release build for x86-64, to be repeated when the compiler changes:
//! `objdump -d -C BINARY | awk '/kernel::scalar::.*>:$/,/^$/'` shows `add` into eight 64-bit
//! registers in `read`, `mov` in `copy`, and no `xmm` in either.

use model::content::WORD_BYTES;
use model::random::Rng;

/// A word as it lies in a file: little-endian, in memory not aligned.
pub(crate) type Word = [u8; WORD_BYTES as usize];

/// Words a turn of a loop. An addition depends on the last one into the same sum, so several sums
/// keep the loads, not the latency of `add`, the limit.
const TURN_WORDS: usize = 8;

/// Parts of an array that a read walks side by side, in every isa: each is a stream of its own to
/// the prefetchers, and a core that walks only one does not reach what its memory gives.
///
/// Measured on Zen 3 with AVX2, 256 MiB, one thread, median GB/s of one to six streams: 20.3,
/// 20.8, 24.7, 21.8, 25.3, 24.6; with 4 KiB pages 18.0, 20.7, 24.4, 22.3, 25.9, 25.4. Prefetch
/// instructions made one stream slower.
pub(crate) const STREAMS: usize = 3;

/// The wrapping sum of `words`.
pub(crate) fn read(words: &[u64]) -> u64 {
    let mut sums = [0u64; TURN_WORDS];
    let mut add = |turn: &[u64; TURN_WORDS]| {
        for (sum, word) in sums.iter_mut().zip(turn) {
            *sum = sum.wrapping_add(load(word));
        }
    };
    let (turns, rest) = words.as_chunks::<TURN_WORDS>();
    let (streams, turns_left) = split::<STREAMS, _>(turns);
    for index in 0..streams[0].len() {
        for stream in streams {
            add(&stream[index]);
        }
    }
    turns_left.iter().for_each(add);
    let whole = sums.into_iter().fold(0, u64::wrapping_add);
    rest.iter().fold(whole, |sum, word| sum.wrapping_add(load(word)))
}

/// Splits `turns` into `N` streams of one length, and the turns left over: fewer than `N`.
#[inline(always)]
pub(crate) fn split<const N: usize, T>(turns: &[T]) -> ([&[T]; N], &[T]) {
    let length = turns.len() / N;
    let streams = std::array::from_fn(|stream| &turns[stream * length..][..length]);
    (streams, &turns[N * length..])
}

/// Copies `source` into `target`, which is as long.
pub(crate) fn copy(target: &mut [u64], source: &[u64]) {
    assert_eq!(target.len(), source.len(), "a copy is as long as its source");
    let (target_turns, target_rest) = target.as_chunks_mut::<TURN_WORDS>();
    let (source_turns, source_rest) = source.as_chunks::<TURN_WORDS>();
    for (target, source) in target_turns.iter_mut().zip(source_turns) {
        for (target, word) in target.iter_mut().zip(source) {
            store(target, load(word));
        }
    }
    for (target, word) in target_rest.iter_mut().zip(source_rest) {
        store(target, load(word));
    }
}

/// Follows `steps` links of `cycle` from word `start`; returns where it ended.
///
/// Each load waits for the one before, so a step costs the latency of a load. The check of the
/// index does not: the processor predicts it and goes on.
pub(crate) fn chase(cycle: &[u64], start: u64, steps: u64) -> u64 {
    (0..steps).fold(start, |place, _| cycle[place as usize])
}

/// Writes into `words` one random cycle through the words 0, `stride_words`, 2·`stride_words`, …:
/// each holds the index of the next, and the last leads back to the first. `seed` decides the
/// order. Other words stay as they are.
///
/// A stride of one cache line (8 words of 64 bytes) makes every step of a chase a new line; two
/// lines also defeat a prefetcher that fetches lines in pairs.
///
/// The cycle is made by the algorithm of Sattolo ("An algorithm to generate a random cyclic
/// permutation", Information Processing Letters 22, 1986): every cycle is equally likely.
///
/// # Panics
/// If `stride_words` is 0.
pub fn cycle(words: &mut [u64], stride_words: usize, seed: u64) {
    assert!(stride_words > 0, "the words of a cycle are apart");
    let slots = words.len().div_ceil(stride_words);
    for place in (0..words.len()).step_by(stride_words) {
        words[place] = place as u64;
    }
    let mut rng = Rng::new(seed);
    for last in (1..slots).rev() {
        let other = rng.below(last as u64) as usize;
        words.swap(last * stride_words, other * stride_words);
    }
}

/// The digest of `bytes` read from file offset `offset`.
pub(crate) fn digest(offset: u64, bytes: &[u8]) -> u64 {
    digest_with(offset, bytes, |words| {
        words.iter().fold(0, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
    })
}

/// The digest of `bytes` read from file offset `offset`, where `sum` adds up the whole words of
/// the file among them.
#[inline(always)]
pub(crate) fn digest_with(offset: u64, bytes: &[u8], sum: impl FnOnce(&[Word]) -> u64) -> u64 {
    let place = (offset % WORD_BYTES) as usize;
    let head_bytes = (WORD_BYTES as usize - place) % WORD_BYTES as usize;
    let (head, body) = bytes.split_at(head_bytes.min(bytes.len()));
    let (words, tail) = body.as_chunks();
    sum(words).wrapping_add(part(head, place)).wrapping_add(part(tail, 0))
}

/// A part of a word, whose first byte is byte `place` of it. Most parts are empty.
#[inline(always)]
fn part(bytes: &[u8], place: usize) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)) << (8 * place)
}

/// Loads one word, as one word.
#[inline(always)]
fn load(word: &u64) -> u64 {
    // SAFETY: a reference is valid, aligned and initialised, and nobody writes to it meanwhile.
    unsafe { std::ptr::from_ref(word).read_volatile() }
}

/// Stores one word, as one word.
#[inline(always)]
fn store(target: &mut u64, word: u64) {
    // SAFETY: an exclusive reference is valid, aligned and ours alone to write to.
    unsafe { std::ptr::from_mut(target).write_volatile(word) }
}
