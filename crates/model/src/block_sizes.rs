//! Blocks of several sizes in one case, as fio's `bssplit` has them.
//!
//! A deck of 100 blocks has each size as often as its percentage says, in one shuffled order. The
//! file is divided by one such deck after another. So the number of a block determines its offset
//! and length, every byte belongs to one block, and orders, threads and digests stay as they are
//! for blocks of one size.

use crate::random::Rng;
use crate::units::{ParseError, bytes, parse_bytes};
use std::fmt;
use std::str::FromStr;

/// Blocks in a deck.
pub const DECK: u64 = 100;

/// The most sizes of a case.
pub const MOST: usize = 8;

/// Shuffles every deck alike, so that the blocks of a file are the same in each trial.
const SEED: u64 = 0x0b10_c5e5;

/// The sizes of a case's blocks, ascending, each with how many of 100 blocks have it. Written
/// `4KiB/60:64KiB/40`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockSizes {
    /// The size in bytes and the percentage; both are 0 past the last size.
    parts: [(u64, u8); MOST],
}

impl BlockSizes {
    fn parts(&self) -> impl Iterator<Item = (u64, u8)> {
        self.parts.into_iter().filter(|(size, _)| *size > 0)
    }

    /// The smallest block in bytes. All others, and so all offsets, are multiples of it.
    pub fn least(&self) -> u64 {
        self.parts[0].0
    }

    /// The largest block in bytes.
    pub fn most(&self) -> u64 {
        self.parts().last().map_or(0, |(size, _)| size)
    }

    /// The mean of what `of` makes of the size of each block of a deck.
    pub fn mean(&self, of: impl Fn(u64) -> u64) -> f64 {
        let sum: f64 = self.parts().map(|(size, share)| of(size) as f64 * f64::from(share)).sum();
        sum / DECK as f64
    }

    /// These sizes in bytes, each with its percentage.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn of(mut parts: Vec<(u64, u8)>) -> Result<BlockSizes, &'static str> {
        parts.sort_unstable();
        let least = parts.first().map_or(1, |(size, _)| *size);
        let total: u64 = parts.iter().map(|(_, share)| u64::from(*share)).sum();
        Err(match () {
            () if !(2..=MOST).contains(&parts.len()) => "name 2 to 8 sizes",
            () if parts.windows(2).any(|pair| pair[0].0 == pair[1].0) => "name each size once",
            () if parts.iter().any(|(_, share)| *share == 0) => "leave sizes of 0 % out",
            () if total != DECK => "the percentages must add up to 100",
            () if parts.iter().any(|(size, _)| !size.is_multiple_of(least)) => {
                "each size must be a multiple of the smallest"
            }
            () => {
                let mut all = [(0, 0); MOST];
                all[..parts.len()].copy_from_slice(&parts);
                return Ok(BlockSizes { parts: all });
            }
        })
    }
}

impl fmt::Display for BlockSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (size, share)) in self.parts().enumerate() {
            let colon = if index == 0 { "" } else { ":" };
            write!(f, "{colon}{}/{share}", bytes(size))?;
        }
        Ok(())
    }
}

impl FromStr for BlockSizes {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<BlockSizes, ParseError> {
        let part = |part: &str| {
            let (size, share) = part.split_once('/')?;
            Some((parse_bytes(size).ok()?, share.trim().parse().ok()?))
        };
        let parts: Option<Vec<(u64, u8)>> = text.split(':').map(part).collect();
        parts
            .ok_or("write sizes and whole percentages")
            .and_then(BlockSizes::of)
            .map_err(|why| ParseError::BlockSizes { given: text.trim().to_string(), why })
    }
}

/// Where the blocks of a deck are.
#[derive(Debug, Clone)]
pub struct Deck {
    /// Offset within the deck and length of each block.
    places: Box<[(u64, u64)]>,
    bytes: u64,
}

impl Deck {
    /// The deck of blocks of these `sizes`.
    pub fn new(sizes: &BlockSizes) -> Deck {
        let mut lengths: Vec<u64> =
            sizes.parts().flat_map(|(size, share)| vec![size; share.into()]).collect();
        Rng::new(SEED).shuffle(&mut lengths);
        let mut bytes = 0;
        let place = |length| {
            let offset = bytes;
            bytes += length;
            (offset, length)
        };
        let places = lengths.into_iter().map(place).collect();
        Deck { places, bytes }
    }

    /// Offset and length of block `number` of a file.
    #[inline]
    pub fn block(&self, number: u64) -> (u64, u64) {
        let (offset, length) = self.places[(number % DECK) as usize];
        (number / DECK * self.bytes + offset, length)
    }

    /// Blocks in a file of `size` bytes; the last may be short.
    pub fn blocks(&self, size: u64) -> u64 {
        let rest = size % self.bytes;
        let begun = self.places.partition_point(|(offset, _)| *offset < rest);
        size / self.bytes * DECK + begun as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_read_and_written() {
        let read = |text: &str| text.parse::<BlockSizes>().map(|sizes| sizes.to_string());
        assert_eq!(read("64k/40:4k/60").unwrap(), "4KiB/60:64KiB/40");
        assert_eq!(read("512/1:1MiB/98:8k/1").unwrap(), "512B/1:8KiB/1:1MiB/98");
        for (text, why) in [
            ("4k/60", "name 2 to 8 sizes"),
            ("4k/50:8k/40", "must add up to 100"),
            ("4k/50:8k/50:64k/0", "leave sizes of 0 % out"),
            ("4k/50:4096/50", "name each size once"),
            ("4k/50:6k/50", "a multiple of the smallest"),
            ("0/50:6k/50", "write sizes and whole percentages"),
            ("4k:8k", "write sizes and whole percentages"),
            ("4k/33.3:8k/66.7", "write sizes and whole percentages"),
            ("4k/156:8k/200", "must add up to 100"),
            ("4k/156:8k/300", "write sizes and whole percentages"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(text) && error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_deck_has_each_size_as_often_as_asked_for_and_not_in_a_row() {
        let sizes: BlockSizes = "4k/60:64k/40".parse().unwrap();
        let deck = Deck::new(&sizes);
        let lengths: Vec<u64> = (0..DECK).map(|number| deck.block(number).1).collect();
        assert_eq!(lengths.iter().filter(|length| **length == 4096).count(), 60);
        assert_eq!(lengths.iter().sum::<u64>() as f64 / 100.0, sizes.mean(|size| size));
        assert_eq!(sizes.mean(|size| size), 0.6 * 4096.0 + 0.4 * 65536.0);
        let changes = lengths.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((30..70).contains(&changes), "{changes}");
    }

    proptest! {
        /// Blocks follow each other without a gap, to the end of the file.
        #[test]
        fn blocks_cover_a_file_once(size in 1u64..3_000_000, share in 1u8..100, times in 2u64..40) {
            let text = format!("512/{share}:{}/{}", 512 * times, 100 - share);
            let sizes: BlockSizes = text.parse().unwrap();
            let deck = Deck::new(&sizes);
            let mut next = 0;
            for number in 0..deck.blocks(size) {
                let (offset, length) = deck.block(number);
                prop_assert_eq!(offset, next);
                prop_assert!(offset < size && offset.is_multiple_of(sizes.least()));
                next = offset + length;
            }
            prop_assert!(next >= size && next - size < sizes.most(), "{next} of {size}");
        }
    }
}
