//! The loops that only read: sum and count.

use crate::lanes::{Lanes, SUMS, Unaligned, prefetch, stream_turns};
use model::content::{DIGEST_PAGE, WORD_BYTES, weight};

/// A word as stored in a file: little-endian and unaligned.
pub(crate) type FileWord = [u8; WORD_BYTES as usize];

/// A loop's operation on each vector.
pub(crate) trait Fold {
    /// Combines `sum` with `vector`.
    ///
    /// # Safety
    /// The processor must support the instruction set.
    unsafe fn step<L: Lanes>(&self, sum: L, vector: L) -> L;
}

/// Adds up the words.
struct Sum;

/// Counts the 32-bit integers equal to the value.
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
/// The processor must support the instruction set of `L`.
#[inline(always)]
pub(crate) unsafe fn read<L: Lanes, const WAYS: usize, const STREAMS: usize, const AHEAD: usize>(
    words: &[u64],
) -> u64 {
    // SAFETY: this is the same memory, viewed as the same number of 8-byte arrays. They need no
    // alignment, and any byte is valid.
    let words = unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) };
    // SAFETY: the caller vouches for the instruction set.
    unsafe { sum::<L, WAYS, STREAMS, AHEAD>(words) }
}

/// Size of a digest page in bytes.
const PAGE: usize = DIGEST_PAGE as usize;

/// See [`Digest`](crate::Digest).
///
/// # Safety
/// The processor must support the instruction set of `L`.
#[inline(always)]
pub(crate) unsafe fn digest<
    L: Lanes,
    const WAYS: usize,
    const STREAMS: usize,
    const AHEAD: usize,
>(
    offset: u64,
    bytes: &[u8],
) -> u64 {
    let before = (PAGE - offset as usize % PAGE) % PAGE;
    let (head, rest) = bytes.split_at(before.min(bytes.len()));
    let (pages, tail) = rest.as_chunks::<PAGE>();
    let first = offset.wrapping_add(head.len() as u64);
    let last = first.wrapping_add((pages.len() * PAGE) as u64);
    // SAFETY: the caller vouches for the instruction set.
    unsafe {
        let part = |offset, bytes: &[u8]| match bytes {
            [] => 0,
            bytes => {
                sum_in_page::<L, WAYS, STREAMS, AHEAD>(offset, bytes).wrapping_mul(weight(offset))
            }
        };
        let whole = match pages {
            [] => 0,
            pages if cfg!(target_endian = "little") => {
                sum_of_pages::<L, WAYS, STREAMS, AHEAD>(first, pages)
            }
            pages => (first..)
                .step_by(PAGE)
                .zip(pages)
                .fold(0, |sum: u64, (offset, page)| sum.wrapping_add(part(offset, page))),
        };
        whole.wrapping_add(part(offset, head)).wrapping_add(part(last, tail))
    }
}

/// The digest of whole `pages`, starting at `offset`.
///
/// Summing each page separately would cost as much as a quarter of a page. So the sums keep
/// running, and the running total is added up after each page. That total includes a page once for
/// itself and once for each page after it. Twice the total accounts for the pages'
/// rising weights.
///
/// # Safety
/// The processor must support the instruction set of `L`.
#[inline(always)]
unsafe fn sum_of_pages<L: Lanes, const WAYS: usize, const STREAMS: usize, const AHEAD: usize>(
    offset: u64,
    pages: &[[u8; PAGE]],
) -> u64 {
    // SAFETY: the caller vouches for the instruction set.
    unsafe {
        let (mut sums, mut so_far) = ([L::splat(0); SUMS], L::splat(0));
        for page in pages {
            let (words, _) = page.as_chunks();
            let (turns, _) = vectors::<L>(words).0.as_chunks::<WAYS>();
            turns.iter().for_each(|turn| fold_turn::<L, WAYS, AHEAD>(&mut sums, turn, &Sum));
            so_far = so_far.add(total(sums));
        }
        let [sum, so_far] = [total(sums), so_far].map(|vector| sum_of_words(&vector));
        let behind = weight(offset).wrapping_add(2 * pages.len() as u64);
        behind.wrapping_mul(sum).wrapping_sub(so_far.wrapping_mul(2))
    }
}

/// The sum of `bytes`, starting at `offset`.
///
/// # Safety
/// The processor must support the instruction set of `L`.
#[inline(always)]
unsafe fn sum_in_page<L: Lanes, const WAYS: usize, const STREAMS: usize, const AHEAD: usize>(
    offset: u64,
    bytes: &[u8],
) -> u64 {
    let place = (offset % WORD_BYTES) as usize;
    let head_bytes = (WORD_BYTES as usize - place) % WORD_BYTES as usize;
    let (head, body) = bytes.split_at(head_bytes.min(bytes.len()));
    let (words, tail) = body.as_chunks();
    let whole = if cfg!(target_endian = "little") {
        // SAFETY: the caller vouches for the instruction set.
        unsafe { sum::<L, WAYS, STREAMS, AHEAD>(words) }
    } else {
        words.iter().fold(0, |sum: u64, word| sum.wrapping_add(u64::from_le_bytes(*word)))
    };
    whole.wrapping_add(part(head, place)).wrapping_add(part(tail, 0))
}

/// A partial word that starts at its byte `place`. Most are empty.
#[inline(always)]
fn part(bytes: &[u8], place: usize) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)) << (8 * place)
}

/// The wrapping sum of `words`, in the processor's byte order.
///
/// # Safety
/// The processor must support the instruction set of `L`.
#[inline(always)]
unsafe fn sum<L: Lanes, const WAYS: usize, const STREAMS: usize, const AHEAD: usize>(
    words: &[FileWord],
) -> u64 {
    // SAFETY: the caller vouches for the instruction set.
    unsafe { fold::<L, WAYS, STREAMS, AHEAD>(words, &Sum) }
}

/// Words counted before the 32-bit counts are added to a 64-bit one. 64 MiB hold 2²⁴ integers, so
/// neither a count nor their sum reaches 2³².
const COUNT_WORDS: usize = 1 << 23;

/// See [`Count`](crate::Count).
///
/// # Safety
/// The processor must support the instruction set of `L`.
#[inline(always)]
pub(crate) unsafe fn count<
    L: Lanes,
    const WAYS: usize,
    const STREAMS: usize,
    const AHEAD: usize,
>(
    bytes: &[u8],
    value: u32,
) -> u64 {
    let (words, tail) = bytes.as_chunks();
    let last = tail.first_chunk::<4>().is_some_and(|last| u32::from_le_bytes(*last) == value);
    let mut count = u64::from(last);
    for words in words.chunks(COUNT_WORDS) {
        // SAFETY: the caller vouches for the instruction set.
        let counts = unsafe { fold::<L, WAYS, STREAMS, AHEAD>(words, &Equal(value)) };
        // `fold` added up words that hold two counts each; no lower half overflowed into an upper
        // one.
        count += (counts & u64::from(u32::MAX)) + (counts >> 32);
    }
    count
}

/// Folds `words` with `fold` and returns the wrapping sum of the resulting words.
///
/// # Safety
/// The processor must support the instruction set of `L`.
#[inline(always)]
unsafe fn fold<L: Lanes, const WAYS: usize, const STREAMS: usize, const AHEAD: usize>(
    words: &[FileWord],
    fold: &impl Fold,
) -> u64 {
    let (vectors, words_left) = vectors::<L>(words);
    let (turns, vectors_left) = vectors.as_chunks::<WAYS>();
    let length = stream_turns::<L, WAYS>();
    let blocks = turns.chunks_exact(STREAMS * length);
    let turns_left = blocks.remainder();
    let mut last = 0u64;
    // SAFETY: the caller vouches for the instruction set.
    unsafe {
        let mut sums = [L::splat(0); SUMS];
        for block in blocks {
            for place in 0..length {
                for stream in 0..STREAMS {
                    let turn = &block[stream * length + place];
                    fold_turn::<L, WAYS, AHEAD>(&mut sums, turn, fold);
                }
            }
        }
        for turn in turns_left {
            fold_turn::<L, WAYS, AHEAD>(&mut sums, turn, fold);
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

/// Folds the vectors of a turn, each into its sum.
///
/// # Safety
/// The processor must support the instruction set of `L`.
#[inline(always)]
unsafe fn fold_turn<L: Lanes, const WAYS: usize, const AHEAD: usize>(
    sums: &mut [L; SUMS],
    turn: &[Unaligned<L>; WAYS],
    fold: &impl Fold,
) {
    prefetch::<L, WAYS, AHEAD>(turn);
    for (place, vector) in turn.iter().enumerate() {
        // SAFETY: the caller vouches for the instruction set.
        unsafe {
            sums[place % SUMS] = fold.step(sums[place % SUMS], L::load(vector));
        }
    }
}

/// Adds up all sums.
///
/// # Safety
/// The processor must support the instruction set of `L`.
#[inline(always)]
unsafe fn total<L: Lanes>([a, b, c, d, e, f, g, h]: [L; SUMS]) -> L {
    // SAFETY: the caller vouches for the instruction set.
    unsafe { (a.add(b).add(c.add(d))).add(e.add(f).add(g.add(h))) }
}

/// The wrapping sum of the words of a vector.
#[inline(always)]
fn sum_of_words<L: Lanes>(vector: &L) -> u64 {
    words_of(vector).iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

/// `words` as vectors, and the remaining words: fewer than a vector.
#[inline(always)]
fn vectors<L: Lanes>(words: &[FileWord]) -> (&[Unaligned<L>], &[FileWord]) {
    let count = size_of_val(words) / size_of::<L>();
    let (whole, rest) = words.split_at(count * size_of::<L>() / size_of::<FileWord>());
    // SAFETY: this is the same memory, viewed as unaligned vectors. Any bytes are a valid vector
    // (guaranteed by `Lanes`), and `whole` is `count` vectors long.
    (unsafe { std::slice::from_raw_parts(whole.as_ptr().cast(), count) }, rest)
}

/// The words of a vector.
#[inline(always)]
fn words_of<L: Lanes>(vector: &L) -> &[u64] {
    let count = size_of::<L>() / size_of::<u64>();
    // SAFETY: a vector consists of whole words without padding (guaranteed by `Lanes`), and it is
    // at least as aligned as they are.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(vector).cast(), count) }
}
