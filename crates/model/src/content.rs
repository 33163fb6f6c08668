//! The content of a test file, and the digest that proves it was read.
//!
//! Word `i` of a file (8 bytes, little-endian) is a pure function of `i` and the seed. So the data
//! neither compresses nor repeats, and any part can be verified without keeping a copy.
//!
//! The **sum** of some bytes is the wrapping sum of each byte shifted to its place in its word:
//! `Σ byte(o) << 8·(o mod 8)` over file offsets `o`. For whole words, that is the sum of the words.
//! Their **digest** is the same sum with each byte multiplied by the [`weight`] of its page. It
//! therefore detects a page read in place of another. Neither depends on the order, so threads,
//! blocks and passes can finish in any order.

use crate::random::{GOLDEN, mix};
use crate::units::ParseError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Bytes in a word.
pub const WORD_BYTES: u64 = 8;

/// The value to count, from the "counting 10s" benchmark.
pub const COUNTED: u32 = 10;

/// The words that a file consists of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum ContentKind {
    /// Uniformly random words, which do not compress. Written `random`.
    #[default]
    Random,
    /// Integers of 4 bytes, uniformly random in `0..n`. Written `ints:20`.
    Ints(u32),
    /// Random words that repeat every [`STAMP_PERIOD`], except for the first word of every
    /// [`STAMP_PAGE`], which is unique to the page and the seed. It needs only a constant buffer
    /// and one store per page. Compression that looks back less than a period finds no pattern.
    /// Written `stamped`.
    Stamped,
    /// The byte 0xAB everywhere. Written `constant`.
    Constant,
    /// The byte 0 everywhere. Written `zero`.
    Zero,
}

/// The period of stamped content, in bytes.
pub const STAMP_PERIOD: u64 = 1 << 20;

/// The distance between stamps, in bytes.
pub const STAMP_PAGE: u64 = 4096;

/// The byte of constant content, repeated to fill a word.
const CONSTANT: u64 = 0xABAB_ABAB_ABAB_ABAB;

/// The content of a test file: `size` bytes determined by `seed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// Determines every word.
    pub seed: u64,
    /// Size of the file in bytes; need not be a multiple of a word.
    pub size: u64,
    /// The kind of words.
    pub kind: ContentKind,
}

impl fmt::Display for ContentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ContentKind::Random => f.write_str("random"),
            ContentKind::Ints(bound) => write!(f, "ints:{bound}"),
            ContentKind::Stamped => f.write_str("stamped"),
            ContentKind::Constant => f.write_str("constant"),
            ContentKind::Zero => f.write_str("zero"),
        }
    }
}

impl FromStr for ContentKind {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<ContentKind, ParseError> {
        let bound = text.trim().strip_prefix("ints:").and_then(|bound| bound.parse().ok());
        match (text.trim(), bound) {
            ("random", _) => Ok(ContentKind::Random),
            ("stamped", _) => Ok(ContentKind::Stamped),
            ("constant", _) => Ok(ContentKind::Constant),
            ("zero", _) => Ok(ContentKind::Zero),
            (_, Some(bound @ 1..)) => Ok(ContentKind::Ints(bound)),
            _ => Err(ParseError::Content { given: text.trim().to_string() }),
        }
    }
}

impl From<ContentKind> for String {
    fn from(kind: ContentKind) -> String {
        kind.to_string()
    }
}

impl TryFrom<String> for ContentKind {
    type Error = ParseError;

    fn try_from(text: String) -> Result<ContentKind, ParseError> {
        text.parse()
    }
}

impl Content {
    /// Word `index` of the file.
    #[inline]
    pub const fn word(&self, index: u64) -> u64 {
        match self.kind {
            ContentKind::Random => self.random(index),
            // Each half is scaled down, with a bias below `bound`/2³².
            ContentKind::Ints(bound) => {
                let word = self.random(index);
                let (low, high, bound) = (word & 0xffff_ffff, word >> 32, bound as u64);
                ((low * bound) >> 32) | ((high * bound) >> 32) << 32
            }
            ContentKind::Stamped if index.is_multiple_of(STAMP_PAGE / WORD_BYTES) => {
                self.random(index)
            }
            ContentKind::Stamped => self.random(index % (STAMP_PERIOD / WORD_BYTES)),
            ContentKind::Constant => CONSTANT,
            ContentKind::Zero => 0,
        }
    }

    const fn random(&self, index: u64) -> u64 {
        mix(self.seed.wrapping_add(index.wrapping_mul(GOLDEN)))
    }

    /// Fills `buffer` with the file's bytes from `offset` on, which must be a multiple of 8.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 8.
    pub fn fill(&self, offset: u64, buffer: &mut [u8]) {
        assert!(offset.is_multiple_of(WORD_BYTES), "content is filled from a word's border");
        let first = offset / WORD_BYTES;
        let (words, tail) = buffer.as_chunks_mut::<8>();
        for (index, word) in (first..).zip(&mut *words) {
            *word = self.word(index).to_le_bytes();
        }
        let last = self.word(first + words.len() as u64).to_le_bytes();
        tail.copy_from_slice(&last[..tail.len()]);
    }

    /// The digest of the bytes in `range`, computed page by page.
    ///
    /// # Panics
    /// If the range is not within the file.
    pub fn digest(&self, range: Range<u64>) -> u64 {
        let (mut digest, mut start) = (0u64, range.start);
        loop {
            let end = (start / DIGEST_PAGE + 1).saturating_mul(DIGEST_PAGE).min(range.end);
            digest = digest.wrapping_add(self.sum(start..end).wrapping_mul(weight(start)));
            if end >= range.end {
                return digest;
            }
            start = end;
        }
    }

    /// The sum of the bytes in `range`, computed word by word.
    ///
    /// # Panics
    /// If the range is not within the file.
    pub fn sum(&self, range: Range<u64>) -> u64 {
        assert!(range.start <= range.end && range.end <= self.size, "{range:?} leaves the file");
        let (first, last) = (range.start.div_ceil(WORD_BYTES), range.end / WORD_BYTES);
        if first > last {
            // The range is within one word.
            let word = self.word(last);
            return word & below(range.end % WORD_BYTES) & !below(range.start % WORD_BYTES);
        }
        let mut sum = (first..last).fold(0, |sum: u64, i| sum.wrapping_add(self.word(i)));
        if !range.start.is_multiple_of(WORD_BYTES) {
            sum = sum.wrapping_add(self.word(first - 1) & !below(range.start % WORD_BYTES));
        }
        if !range.end.is_multiple_of(WORD_BYTES) {
            sum = sum.wrapping_add(self.word(last) & below(range.end % WORD_BYTES));
        }
        sum
    }

    /// How many of the 4-byte integers at multiples of 4 that are entirely in `range` equal
    /// [`COUNTED`].
    ///
    /// # Panics
    /// If the range is not within the file.
    pub fn count(&self, range: Range<u64>) -> u64 {
        assert!(range.start <= range.end && range.end <= self.size, "{range:?} leaves the file");
        let is_counted = |int: u64| (self.word(int / 2) >> (32 * (int % 2))) as u32 == COUNTED;
        let (mut first, mut last) = (range.start.div_ceil(4), range.end / 4);
        let mut count = 0;
        if first < last && first % 2 == 1 {
            count += u64::from(is_counted(first));
            first += 1;
        }
        if first < last && last % 2 == 1 {
            last -= 1;
            count += u64::from(is_counted(last));
        }
        (first / 2..last / 2).fold(count, |count, index| {
            let word = self.word(index);
            let halves = [word as u32, (word >> 32) as u32];
            count + halves.into_iter().filter(|half| *half == COUNTED).count() as u64
        })
    }
}

/// Size in bytes of the pages that the digest distinguishes: a constant of the format, regardless
/// of the machine's pages.
pub const DIGEST_PAGE: u64 = 4096;

/// The digest's factor for the bytes of the page at `offset`. It is odd, so that no bit is lost,
/// and different for each page.
#[inline]
pub const fn weight(offset: u64) -> u64 {
    (offset / DIGEST_PAGE).wrapping_mul(2).wrapping_add(1)
}

/// A mask for the lowest `bytes` bytes of a word; `bytes` must be below 8.
const fn below(bytes: u64) -> u64 {
    (1 << (8 * bytes)) - 1
}

/// The digest of `bytes` at file offset `offset`: the naive definition.
///
/// The timed loops use a vectorized sum, which tests compare with this oracle.
pub fn digest_of(offset: u64, bytes: &[u8]) -> u64 {
    (offset..).zip(bytes).fold(0, |sum, (offset, &byte)| {
        let in_word = u64::from(byte) << (8 * (offset % WORD_BYTES));
        sum.wrapping_add(in_word.wrapping_mul(weight(offset)))
    })
}

/// A function of a part of a file: [`Content::digest`] or [`Content::count`].
pub type PartFunction = fn(&Content, Range<u64>) -> u64;

/// Evaluates a function on any part of a file in constant time, using a table of prefix sums.
///
/// Random trials read millions of blocks, each trial in its own order. To verify them, the digest
/// of each block is looked up here.
#[derive(Debug)]
pub struct DigestTable {
    content: Content,
    function: PartFunction,
    granule: u64,
    prefix: Vec<u64>,
}

/// The maximum number of entries (8 MiB), regardless of the file's size.
const GRANULES_MAX: u64 = 1 << 20;

impl DigestTable {
    /// Computes the table in one pass over the content: about 1 s for 4 GiB.
    pub fn new(content: Content, function: PartFunction) -> DigestTable {
        // An empty file has no granules, but a granule has bytes: its size is a divisor.
        let granule = content.size.div_ceil(GRANULES_MAX).max(1).next_multiple_of(DIGEST_PAGE);
        let mut sum = 0u64;
        let mut prefix = vec![0];
        for start in (0..content.size / granule).map(|index| index * granule) {
            sum = sum.wrapping_add(function(&content, start..start + granule));
            prefix.push(sum);
        }
        DigestTable { content, function, granule, prefix }
    }

    /// The content that the table describes.
    pub fn content(&self) -> Content {
        self.content
    }

    /// The answer for the bytes in `range`. For a count, both ends must be multiples of 4.
    ///
    /// # Panics
    /// If the range is not within the file.
    pub fn digest(&self, range: Range<u64>) -> u64 {
        let ask = |range| (self.function)(&self.content, range);
        let first = range.start.div_ceil(self.granule);
        let last = range.end / self.granule;
        if first >= last {
            return ask(range);
        }
        let middle = self.prefix[last as usize].wrapping_sub(self.prefix[first as usize]);
        let head = ask(range.start..first * self.granule);
        let tail = ask(last * self.granule..range.end);
        middle.wrapping_add(head).wrapping_add(tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes_of(content: Content) -> Vec<u8> {
        let mut bytes = vec![0; content.size as usize];
        content.fill(0, &mut bytes);
        bytes
    }

    #[test]
    fn kinds_have_a_text() {
        for kind in [
            ContentKind::Random,
            ContentKind::Ints(20),
            ContentKind::Stamped,
            ContentKind::Constant,
            ContentKind::Zero,
        ] {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        for text in ["", "ints", "ints:0", "ints:-1", "ones"] {
            let error = text.parse::<ContentKind>().unwrap_err().to_string();
            assert!(error.contains("write random, or ints:20"), "{error}");
        }
    }

    #[test]
    fn pages_in_the_place_of_each_other_have_another_digest() {
        let content = Content { seed: 5, size: 64 << 10, kind: ContentKind::Random };
        let page = |index: usize| index * 4096..(index + 1) * 4096;
        let right = bytes_of(content);
        let mut swapped = right.clone();
        let (head, rest) = swapped.split_at_mut(9 * 4096);
        head[page(2)].swap_with_slice(&mut rest[..4096]);
        let mut repeated = right.clone();
        repeated.copy_within(page(3), 7 * 4096);
        for (bytes, is_right) in [(right, true), (swapped, false), (repeated, false)] {
            assert_eq!(digest_of(0, &bytes) == content.digest(0..content.size), is_right);
        }
    }

    #[test]
    fn ints_are_uniform() {
        let content = Content { seed: 3, size: 4 << 20, kind: ContentKind::Ints(20) };
        let mut seen = [0u64; 20];
        for index in 0..content.size / 8 {
            let word = content.word(index);
            seen[(word & 0xffff_ffff) as usize] += 1;
            seen[(word >> 32) as usize] += 1;
        }
        // The expected count is 52 429 each; six standard deviations are 1 340.
        assert!(seen.iter().all(|count| count.abs_diff(52_429) < 1_340), "{seen:?}");
        assert_eq!(content.count(0..content.size), seen[COUNTED as usize]);
    }

    fn kinds() -> impl Strategy<Value = ContentKind> {
        let plain =
            [ContentKind::Random, ContentKind::Stamped, ContentKind::Constant, ContentKind::Zero];
        prop_oneof![
            proptest::sample::select(plain.to_vec()),
            (1u32..100).prop_map(ContentKind::Ints)
        ]
    }

    /// Peers in other languages must produce exactly these words: see `peers/README.md`.
    #[test]
    fn golden_words() {
        let content = Content { seed: 42, size: 64, kind: ContentKind::Random };
        let words: Vec<u64> = (0..3).map(|index| content.word(index)).collect();
        assert_eq!(words, [mix(42), mix(42u64.wrapping_add(GOLDEN)), content.word(2)]);
        assert_eq!(words[0], 0xa759_ea27_d472_7622);
        assert_eq!(words[1], 0xbdd7_3226_2feb_6e95);
    }

    #[test]
    fn the_content_does_not_repeat() {
        let content = Content { seed: 1, size: 1 << 20, kind: ContentKind::Random };
        let mut words: Vec<u64> = (0..content.size / 8).map(|index| content.word(index)).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len() as u64, content.size / 8);
    }

    #[test]
    fn stamped_content_differs_in_every_page_and_seed() {
        let content = |seed| Content { seed, size: 4 << 20, kind: ContentKind::Stamped };
        let bytes = bytes_of(content(1));
        let mut pages: Vec<&[u8]> = bytes.chunks(STAMP_PAGE as usize).collect();
        pages.sort_unstable();
        pages.dedup();
        assert_eq!(pages.len(), 1024);
        let period = STAMP_PERIOD as usize;
        assert_eq!(bytes[8..4096], bytes[period + 8..period + 4096]);
        let others = bytes_of(content(2));
        let is_alike = |(a, b): (&[u8], &[u8])| a == b;
        assert!(!bytes.chunks(8).zip(others.chunks(8)).any(is_alike));
    }

    proptest! {
        #[test]
        fn any_part_has_the_digest_of_its_bytes(
            seed: u64, size in 0u64..40_000, a in 0u64..40_000, b in 0u64..40_000, kind in kinds(),
        ) {
            let content = Content { seed, size, kind };
            let range = a.min(b).min(size)..a.max(b).min(size);
            let bytes = &bytes_of(content)[range.start as usize..range.end as usize];
            let naive = digest_of(range.start, bytes);
            prop_assert_eq!(content.digest(range.clone()), naive);
            let pages = range.clone().step_by(4096).zip(bytes.chunks(4096));
            let cut = pages.fold(0, |sum: u64, (at, page)| sum.wrapping_add(digest_of(at, page)));
            prop_assert_eq!(cut, naive, "however it is cut and put in order");
            prop_assert_eq!(DigestTable::new(content, Content::digest).digest(range), naive);
        }

        #[test]
        fn any_part_has_the_count_of_its_ints(
            seed: u64, size in 0u64..40_000,
            a in 0u64..40_000, b in 0u64..40_000, bound in 11u32..30,
        ) {
            let content = Content { seed, size, kind: ContentKind::Ints(bound) };
            let size = size / 4 * 4;
            let range = (a.min(b) * 4).min(size)..(a.max(b) * 4).min(size);
            let bytes = &bytes_of(content)[range.start as usize..range.end as usize];
            let ints: Vec<u32> =
                bytes.as_chunks::<4>().0.iter().map(|int| u32::from_le_bytes(*int)).collect();
            prop_assert!(ints.iter().all(|int| *int < bound));
            let naive = ints.iter().filter(|int| **int == COUNTED).count() as u64;
            prop_assert_eq!(content.count(range.clone()), naive);
            prop_assert_eq!(DigestTable::new(content, Content::count).digest(range), naive);
        }

        #[test]
        fn parts_are_filled_alike(seed: u64, size in 0u64..5_000, start in 0u64..600) {
            let content = Content { seed, size, kind: ContentKind::Random };
            let start = (start * 8).min(size / 8 * 8);
            let mut part = vec![0; (size - start) as usize];
            content.fill(start, &mut part);
            prop_assert_eq!(&part[..], &bytes_of(content)[start as usize..]);
        }
    }
}
