//! The axes that reading and writing a file share.

use crate::arrival::{Arrival, Arrivals};
use crate::block_sizes::{BlockSizes, Deck};
use crate::cache::{Cache, Populated};
use crate::content::STAMP_PAGE;
use crate::named;
use crate::part::{Part, Whose};
use crate::pattern::{BlockOrder, Cut, Pattern, Share, ThreadSteps, Visits};
use crate::taking_part::TakingPart;
use crate::units;
use crate::zipf::{Theta, Zipf};
use std::ops::Range;
use std::time::Duration;

named! {
    /// The pages of the buffers that blocks are read into and written from. They decide how many
    /// segments a device's request has, and so how many requests it takes at once.
    BufferPages "pages" {
        /// Base pages, as those of nearly all programs.
        Base "base",
        /// Huge pages: each thread's buffers fill whole ones.
        Huge "huge",
        /// Huge pages where the buffers of a thread happened to fill whole ones: in records made
        /// before there was a choice. Nothing can ask for it.
        Fitting "fitting",
    }
}

impl BufferPages {
    /// The names of those that a case can ask for.
    pub const ASKED: &'static [&'static str] =
        &[BufferPages::Base.name(), BufferPages::Huge.name()];
}

/// How a file is divided into operations, and in which order threads perform them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Io {
    /// The file's cache state at the start. `direct` means `O_DIRECT`, for both files of a copy.
    pub cache: Cache,
    /// How a warm file came into the page cache.
    pub populated: Populated,
    /// The order of blocks.
    pub pattern: Pattern,
    /// The step of a strided pattern, in blocks.
    pub stride: u64,
    /// The exponent of a zipf pattern.
    pub theta: Theta,
    /// Where the bytes that are used begin in the file. Only those of a user's own file begin
    /// elsewhere than at its start.
    pub offset: u64,
    /// Size in bytes of the file, or of the part of it that is used.
    pub size: u64,
    /// Size of an operation in bytes; of several sizes, the largest.
    pub block: u64,
    /// The sizes of operations, if there are several. They belong to the axis of the block.
    pub sizes: Option<BlockSizes>,
    /// Operations in flight per thread.
    pub depth: u32,
    /// The pages of the buffers.
    pub pages: BufferPages,
    /// Number of threads.
    pub threads: u32,
    /// Operations per second over all threads, in an open loop; 0 means a closed loop, in which the
    /// next operation begins when the last one ends.
    pub rate: u64,
    /// When operations of an open loop are due.
    pub arrival: Arrival,
    /// How blocks are divided among the threads.
    pub share: Share,
    /// Which of the hosts of a run measure it.
    pub hosts: TakingPart,
    /// Which files hosts use.
    pub files: Whose,
    /// The host's part of a shared file. It is no axis: it is set in the job of a trial.
    pub part: Part,
    /// The maximum number of operations in a trial, over all threads that divide the
    /// file; 0 means no limit.
    pub ops: u64,
    /// The maximum duration of a trial. It ends sooner once every block of a cold file is read, a
    /// file that is not overwritten is full, or one that is synced only at the end was written.
    /// The final sync is not included.
    pub time: Duration,
}

/// The usual values, and the least where the size, the block and the time decide the work.
impl Default for Io {
    fn default() -> Io {
        Io {
            cache: Cache::AsIs,
            populated: Populated::ReadAhead,
            pattern: Pattern::Sequential,
            stride: 1,
            theta: Theta::USUAL,
            offset: 0,
            size: 0,
            block: 1,
            sizes: None,
            depth: 1,
            pages: BufferPages::Base,
            threads: 1,
            rate: 0,
            arrival: Arrival::Poisson,
            share: Share::Contiguous,
            hosts: TakingPart::All,
            files: Whose::Own,
            part: Part::WHOLE,
            ops: 0,
            time: Duration::ZERO,
        }
    }
}

/// Steps of a pattern that draws blocks: more than any trial takes, so that no draw comes twice.
const DRAWS: u64 = 1 << 60;

impl Io {
    /// Blocks in the file; the last may be short.
    pub fn blocks(&self) -> u64 {
        match self.deck() {
            Some(deck) => deck.blocks(self.size),
            None => self.size.div_ceil(self.block),
        }
    }

    fn deck(&self) -> Option<Deck> {
        self.sizes.as_ref().map(Deck::new)
    }

    /// The size in bytes of the smallest operation, of which all offsets are multiples.
    pub fn least_block(&self) -> u64 {
        self.sizes.map_or(self.block, |sizes| sizes.least())
    }

    /// The size of an operation, or the sizes with their percentages, as the axis has it.
    pub fn block_text(&self) -> String {
        self.sizes.map_or_else(|| units::bytes(self.block), |sizes| sizes.to_string())
    }

    /// Whether every operation has so many bytes.
    pub fn has_block(&self, bytes: u64) -> bool {
        self.sizes.is_none() && self.block == bytes
    }

    /// Whether no operation begins within a page of [`STAMP_PAGE`] and ends in another.
    pub fn is_within_pages(&self) -> bool {
        let divides = self.sizes.is_none() && STAMP_PAGE.is_multiple_of(self.block);
        divides || self.least_block().is_multiple_of(STAMP_PAGE)
    }

    /// Bytes of an operation on average.
    pub fn mean_block(&self) -> f64 {
        self.sizes.map_or(self.block as f64, |sizes| sizes.mean(|size| size))
    }

    /// The same of whole pages of so many bytes.
    pub fn mean_in_pages(&self, page: u64) -> f64 {
        let whole = |size: u64| size.div_ceil(page).saturating_mul(page);
        self.sizes.map_or(whole(self.block) as f64, |sizes| sizes.mean(whole))
    }

    /// The blocks that `thread` visits in a trial with `seed`. They are the same in every pass.
    pub fn visits(&self, thread: u32, seed: u64) -> Visits {
        let order = BlockOrder::new(self.pattern, self.blocks(), self.stride, self.theta, seed);
        let cut = self.deck().map_or(Cut::Even(self.block), Cut::Deck);
        Visits::new(order, self.steps(thread), cut, self.size).from(self.offset)
    }

    /// The bytes of the file that are used.
    pub fn range(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.size)
    }

    /// The largest share of the operations that a cache of `bytes` can serve if it keeps the same
    /// blocks: the most used ones. `None` if all blocks are used equally often.
    pub fn cacheable_share(&self, bytes: u64) -> Option<f64> {
        let zipf = || Zipf::new(self.blocks(), self.theta, 0);
        (self.pattern == Pattern::Zipf).then(|| zipf().share_of(bytes / self.block))
    }

    /// When `thread`'s operations are due in a trial with `seed`; `None` in a closed loop.
    pub fn arrivals(&self, thread: u32, seed: u64) -> Option<Arrivals> {
        let all = || Arrivals::new(self.rate, self.arrival, thread, self.threads, seed);
        (self.rate > 0).then(all)
    }

    /// The operations of a pass, over all threads that divide the file.
    pub fn operations(&self) -> u64 {
        let most = if self.pattern == Pattern::Zipf { DRAWS } else { self.blocks() };
        if self.ops > 0 { self.ops.min(most) } else { most }
    }

    /// `thread`'s steps in a pass.
    pub fn steps(&self, thread: u32) -> ThreadSteps {
        let threads = u64::from(self.threads);
        let first = u64::from(self.part.number) * threads;
        let all = u64::from(self.part.of) * threads;
        ThreadSteps::of(self.share, self.operations(), first + u64::from(thread), all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    proptest! {
        #[test]
        fn a_part_of_a_file_is_visited_and_nothing_outside(
            (pattern, share) in (select(Pattern::ALL), select(Share::ALL)),
            (offset, size) in (0u64..1 << 50, 1u64..300_000),
            (block, stride) in (1u64..5_000, 1u64..40),
            (threads, seed) in (1u32..9, any::<u64>()),
            sizes in select(vec![None, Some("100/50:700/30:5000/20")]),
        ) {
            let sizes = sizes.map(|sizes| sizes.parse::<BlockSizes>().expect("it is right"));
            let block = sizes.map_or(block, |sizes| sizes.most());
            let io = Io { pattern, share, offset, size, block, stride, threads, ..Io::default() };
            let io = Io { sizes: sizes.filter(|_| pattern != Pattern::Zipf), ..io };
            let mut bytes = 0;
            for thread in 0..threads {
                let visits = io.visits(thread, seed);
                for index in 0..visits.count().min(2_000) {
                    let (start, length) = visits.block(index);
                    let end = start + length;
                    prop_assert!(start >= offset && end <= offset + size, "{start}..{end}");
                    bytes += length;
                }
            }
            let is_whole = pattern != Pattern::Zipf && io.blocks() < 2_000;
            prop_assert!(!is_whole || bytes == size, "{bytes} of {size}");
        }
    }
}
