//! The loops that only read: the sum and the count.

use crate::lanes::{Lanes, STREAMS, TURN, Unaligned, stream_turns};
use model::content::{DIGEST_PAGE, WORD_BYTES, weight};

/// A word as it lies in a file: little-endian, in memory not aligned.
pub(crate) type Word = [u8; WORD_BYTES as usize];

/// A loop's operation on each vector.
pub(crate) trait Fold {
    /// `sum` and `vector` together.
    ///
    /// # Safety
    /// The processor has the instruction set.
    unsafe fn step<L: Lanes>(&self, sum: L, vector: L) -> L;
}

/// Adds up the words.
struct Sum;

/// Counts the 32-bit integers that are the value.
struct Equal(u32);

impl Fold for Sum {
    #[inline(always)]
    unsafe fn step<L: Lanes>(&self, sum: L, vector: L) -> L {
        // SAFETY: the caller vouches for the instruction set.
        unsafe { sum.add(vector) }
    }
}

impl Fold for Equal {
    #[inline(always)]
    unsafe fn step<L: Lanes>(&self, counts: L, integers: L) -> L {
        let twice = u64::from(self.0.to_le()) * 0x1_0000_0001;
        // SAFETY: the caller vouches for the instruction set.
        unsafe { counts.count(integers, L::splat(twice)) }
    }
}

/// The wrapping sum of `words`.
///
/// # Safety
/// The processor has the instruction set of `L`.
#[inline(always)]
pub(crate) unsafe fn read<L: Lanes>(words: &[u64]) -> u64 {
    // SAFETY: the same memory seen as as many arrays of 8 bytes, which need no alignment and for
    // which any byte is valid.
    let words = unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) };
    // SAFETY: the caller vouches for the instruction set.
    unsafe { sum::<L>(words) }
}

/// Bytes of a page of a file.
const PAGE: usize = DIGEST_PAGE as usize;

/// See [`Digest`](crate::Digest).
///
/// # Safety
/// The processor has the instruction set of `L`.
#[inline(always)]
pub(crate) unsafe fn digest<L: Lanes>(offset: u64, bytes: &[u8]) -> u64 {
    let before = (PAGE - offset as usize % PAGE) % PAGE;
    let (head, rest) = bytes.split_at(before.min(bytes.len()));
    let (pages, tail) = rest.as_chunks::<PAGE>();
    let first = offset.wrapping_add(head.len() as u64);
    let last = first.wrapping_add((pages.len() * PAGE) as u64);
    // SAFETY: the caller vouches for the instruction set.
    unsafe {
        let part = |offset, bytes: &[u8]| match bytes {
            [] => 0,
            bytes => sum_in_page::<L>(offset, bytes).wrapping_mul(weight(offset)),
        };
        let whole = match pages {
            [] => 0,
            pages if cfg!(target_endian = "little") => sum_of_pages::<L>(first, pages),
            pages => (first..)
                .step_by(PAGE)
                .zip(pages)
                .fold(0, |sum: u64, (offset, page)| sum.wrapping_add(part(offset, page))),
        };
        whole.wrapping_add(part(offset, head)).wrapping_add(part(last, tail))
    }
}

/// The digest of whole `pages`, of which the first is at `offset`.
///
/// No page is summed up by itself, for that would cost as much as a quarter of it: the sums go on,
/// and after each page what they have come to is added up. A page is in as many of those as there
/// are pages from it on, so twice their sum tells by how much the weights rise.
///
/// # Safety
/// The processor has the instruction set of `L`.
#[inline(always)]
unsafe fn sum_of_pages<L: Lanes>(offset: u64, pages: &[[u8; PAGE]]) -> u64 {
    // SAFETY: the caller vouches for the instruction set.
    unsafe {
        let (mut sums, mut so_far) = ([L::splat(0); TURN], L::splat(0));
        for page in pages {
            let (words, _) = page.as_chunks();
            let (turns, _) = vectors::<L>(words).0.as_chunks::<TURN>();
            for turn in turns {
                for (sum, vector) in sums.iter_mut().zip(turn) {
                    *sum = sum.add(L::load(vector));
                }
            }
            so_far = so_far.add(total(sums));
        }
        let [sum, so_far] = [total(sums), so_far].map(|vector| sum_of_words(&vector));
        let behind = weight(offset).wrapping_add(2 * pages.len() as u64);
        behind.wrapping_mul(sum).wrapping_sub(so_far.wrapping_mul(2))
    }
}

/// The sum of `bytes`, of which the first is at `offset`.
///
/// # Safety
/// The processor has the instruction set of `L`.
#[inline(always)]
unsafe fn sum_in_page<L: Lanes>(offset: u64, bytes: &[u8]) -> u64 {
    let place = (offset % WORD_BYTES) as usize;
    let head_bytes = (WORD_BYTES as usize - place) % WORD_BYTES as usize;
    let (head, body) = bytes.split_at(head_bytes.min(bytes.len()));
    let (words, tail) = body.as_chunks();
    let whole = if cfg!(target_endian = "little") {
        // SAFETY: the caller vouches for the instruction set.
        unsafe { sum::<L>(words) }
    } else {
        words.iter().fold(0, |sum: u64, word| sum.wrapping_add(u64::from_le_bytes(*word)))
    };
    whole.wrapping_add(part(head, place)).wrapping_add(part(tail, 0))
}

/// A part of a word, whose first byte is byte `place` of it. Most parts are empty.
#[inline(always)]
fn part(bytes: &[u8], place: usize) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)) << (8 * place)
}

/// The wrapping sum of `words`, each in the byte order of the processor.
///
/// # Safety
/// The processor has the instruction set of `L`.
#[inline(always)]
unsafe fn sum<L: Lanes>(words: &[Word]) -> u64 {
    // SAFETY: the caller vouches for the instruction set.
    unsafe { fold::<L>(words, &Sum) }
}

/// The most words that are counted before the counts, each of 32 bits, are added to one of 64:
/// 64 MiB hold 2²⁴ integers, so no count, nor all together, reaches 2³².
const COUNT_WORDS: usize = 1 << 23;

/// See [`Count`](crate::Count).
///
/// # Safety
/// The processor has the instruction set of `L`.
#[inline(always)]
pub(crate) unsafe fn count<L: Lanes>(bytes: &[u8], value: u32) -> u64 {
    let (words, tail) = bytes.as_chunks();
    let last = tail.first_chunk::<4>().is_some_and(|last| u32::from_le_bytes(*last) == value);
    let mut count = u64::from(last);
    for words in words.chunks(COUNT_WORDS) {
        // SAFETY: the caller vouches for the instruction set.
        let counts = unsafe { fold::<L>(words, &Equal(value)) };
        // The words of counts were added up; no lower half carried into an upper one.
        count += (counts & u64::from(u32::MAX)) + (counts >> 32);
    }
    count
}

/// The wrapping sum of the words of what `fold` makes of `words`.
///
/// # Safety
/// The processor has the instruction set of `L`.
#[inline(always)]
unsafe fn fold<L: Lanes>(words: &[Word], fold: &impl Fold) -> u64 {
    let (vectors, words_left) = vectors::<L>(words);
    let (turns, vectors_left) = vectors.as_chunks::<TURN>();
    let length = stream_turns::<L>();
    let blocks = turns.chunks_exact(STREAMS * length);
    let turns_left = blocks.remainder();
    let mut last = 0u64;
    // SAFETY: the caller vouches for the instruction set.
    unsafe {
        let mut sums = [L::splat(0); TURN];
        for block in blocks {
            for place in 0..length {
                for stream in 0..STREAMS {
                    for (sum, vector) in sums.iter_mut().zip(&block[stream * length + place]) {
                        *sum = fold.step(*sum, L::load(vector));
                    }
                }
            }
        }
        for turn in turns_left {
            for (sum, vector) in sums.iter_mut().zip(turn) {
                *sum = fold.step(*sum, L::load(vector));
            }
        }
        for vector in vectors_left {
            sums[0] = fold.step(sums[0], L::load(vector));
        }
        for word in self::vectors(words_left).0 {
            last = fold.step(last, u64::load(word));
        }
        last.wrapping_add(sum_of_words(&total(sums)))
    }
}

/// All sums in one.
///
/// # Safety
/// The processor has the instruction set of `L`.
#[inline(always)]
unsafe fn total<L: Lanes>([a, b, c, d, e, f, g, h]: [L; TURN]) -> L {
    // SAFETY: the caller vouches for the instruction set.
    unsafe { (a.add(b).add(c.add(d))).add(e.add(f).add(g.add(h))) }
}

/// The wrapping sum of the words of a vector.
#[inline(always)]
fn sum_of_words<L: Lanes>(vector: &L) -> u64 {
    words_of(vector).iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

/// `words` as vectors, and the words left over: fewer than a vector.
#[inline(always)]
fn vectors<L: Lanes>(words: &[Word]) -> (&[Unaligned<L>], &[Word]) {
    let count = size_of_val(words) / size_of::<L>();
    let (whole, rest) = words.split_at(count * size_of::<L>() / size_of::<Word>());
    // SAFETY: the same memory seen as vectors at any address; any bytes are a valid vector (a
    // promise of `Lanes`), and the whole ones are that long.
    (unsafe { std::slice::from_raw_parts(whole.as_ptr().cast(), count) }, rest)
}

/// The words of a vector.
#[inline(always)]
fn words_of<L: Lanes>(vector: &L) -> &[u64] {
    let count = size_of::<L>() / size_of::<u64>();
    // SAFETY: a vector is whole words without padding (a promise of `Lanes`), and is aligned for
    // them.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(vector).cast(), count) }
}
