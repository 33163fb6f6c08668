//! The data to write, in memory that is filled before the clock starts.
//!
//! Stamped content repeats every [`STAMP_PERIOD`] except for the first word of each page. So one
//! buffer holds everything, and preparing a block takes one store per page. A file that others read
//! meanwhile gets another content in each pass; then there are two such buffers, of which each pass
//! uses one.

use crate::buffer::Buffers;
use model::case::{BufferPages, Io};
use model::content::{Content, ContentKind, STAMP_PAGE, STAMP_PERIOD, WORD_BYTES};
use std::io;
use std::ops::Range;

/// Prepares the blocks that one thread writes.
#[derive(Debug)]
pub struct BlockSource {
    content: Content,
    pool: Pool,
    /// Where each slot's block is.
    made: Box<[BuiltSource]>,
    /// The index within [`Source::regions`] of the pool's first region.
    first_region: usize,
    /// What the next pass writes, if that differs.
    next: Option<Box<BlockSource>>,
}

/// The memory that holds the blocks.
#[derive(Debug)]
enum Pool {
    /// The same bytes at every offset, so all slots share them.
    Plain(Buffers),
    /// One period plus one block, for a depth of 1. A block starts at its offset within the period.
    Period(Buffers),
    /// The same for a larger depth. If another block in flight uses the same pages of the period,
    /// the block is assembled in its slot's window.
    Windows {
        period: Buffers,
        /// For each page of the period, whether a block in flight uses it.
        busy: Box<[bool]>,
        windows: Buffers,
        /// For each window, the offset within the period of its first byte.
        places: Box<[usize]>,
    },
}

/// A prepared block: a part of a region.
#[derive(Debug, Clone, Copy, Default)]
struct BuiltSource {
    region: usize,
    start: usize,
    length: usize,
}

impl BuiltSource {
    /// The pages of the region that it covers.
    fn pages(self) -> Range<usize> {
        self.start / PAGE..(self.start + self.length).div_ceil(PAGE)
    }
}

const PERIOD: usize = STAMP_PERIOD as usize;
const PAGE: usize = STAMP_PAGE as usize;

impl BlockSource {
    /// A source of `content` for the blocks of `io`, as many in flight as it has.
    ///
    /// # Panics
    /// If `content` is of a kind that is never written.
    ///
    /// # Errors
    /// If the OS cannot allocate the buffers; the error states the size.
    pub fn new(content: Content, io: &Io) -> io::Result<BlockSource> {
        let (block, depth, pages) = (io.block as usize, io.depth as usize, io.pages);
        let pool = match content.kind {
            ContentKind::Constant | ContentKind::Zero => {
                let mut plain = Buffers::new(1, block, pages)?;
                content.fill(0, plain.slot_mut(0));
                Pool::Plain(plain)
            }
            ContentKind::Stamped if depth == 1 => Pool::Period(period(content, block, pages)?),
            ContentKind::Stamped => {
                let period = period(content, block, pages)?;
                let busy = vec![false; period.slot(0).len() / PAGE].into_boxed_slice();
                let mut windows = Buffers::new(depth, window_bytes(io), pages)?;
                for slot in 0..depth {
                    fill_window(windows.slot_mut(slot), &period.slot(0)[..PERIOD], 0);
                }
                let places = vec![0; depth].into_boxed_slice();
                Pool::Windows { period, busy, windows, places }
            }
            ContentKind::Random | ContentKind::Ints(_) => {
                panic!("what is written has another kind of content")
            }
        };
        let made = vec![BuiltSource::default(); depth].into_boxed_slice();
        Ok(BlockSource { content, pool, made, first_region: 0, next: None })
    }

    /// A source of two contents in turn: the first pass writes the first.
    ///
    /// # Panics
    /// As for [`Source::new`].
    ///
    /// # Errors
    /// As for [`Source::new`].
    pub fn in_turn(contents: [Content; 2], io: &Io) -> io::Result<BlockSource> {
        let [first, second] = contents;
        let first = BlockSource::new(first, io)?;
        let mut source = BlockSource::new(second, io)?;
        source.first_region = first.regions().count();
        source.next = Some(Box::new(first));
        Ok(source)
    }

    /// Begins a pass, with nothing in flight.
    pub fn begin_pass(&mut self) {
        if let Some(mut next) = self.next.take() {
            std::mem::swap(self, &mut *next);
            self.next = Some(next);
        }
    }

    /// Prepares the `length` bytes at `offset`, a multiple of the smallest block, in `slot`, whose
    /// previous block must be out of use. A block's bytes stay unchanged until the next one is
    /// prepared in its slot.
    #[inline]
    pub fn make(&mut self, slot: usize, offset: u64, length: usize) {
        let first = (offset % STAMP_PAGE) as usize;
        let place = (offset % STAMP_PERIOD) as usize;
        let in_period = BuiltSource { region: 0, start: place, length };
        self.made[slot] = match &mut self.pool {
            Pool::Plain(_) => BuiltSource { region: 0, start: 0, length },
            Pool::Period(period) => {
                stamp(self.content, &mut period.slot_mut(0)[place - first..], offset, length);
                in_period
            }
            Pool::Windows { period, busy, windows, places } => {
                let last = self.made[slot];
                if last.region == 0 {
                    busy[last.pages()].fill(false);
                }
                if !busy[in_period.pages()].contains(&true) {
                    busy[in_period.pages()].fill(true);
                    let pages = &mut period.slot_mut(0)[place - first..];
                    stamp(self.content, pages, offset, length);
                    in_period
                } else {
                    let window = windows.slot_mut(slot);
                    if places[slot] != place - first {
                        places[slot] = place - first;
                        fill_window(window, &period.slot(0)[..PERIOD], place - first);
                    }
                    stamp(self.content, window, offset, length);
                    BuiltSource { region: 1 + slot, start: first, length }
                }
            }
        };
    }

    /// The block last prepared in `slot`.
    #[inline]
    pub fn block(&self, slot: usize) -> &[u8] {
        let BuiltSource { region, start, length } = self.made[slot];
        &self.region_bytes(region)[start..start + length]
    }

    /// The index within [`Source::regions`] of the block last prepared in `slot`.
    #[inline]
    pub fn region(&self, slot: usize) -> usize {
        self.first_region + self.made[slot].region
    }

    /// The memory that holds the blocks. It does not move during the source's lifetime.
    pub fn regions(&self) -> impl Iterator<Item = &[u8]> {
        let next = self.next.as_deref();
        let mut all: Vec<&BlockSource> = std::iter::once(self).chain(next).collect();
        all.sort_by_key(|source| source.first_region);
        all.into_iter()
            .flat_map(|source| (0..source.region_count()).map(|region| source.region_bytes(region)))
    }

    fn region_count(&self) -> usize {
        match &self.pool {
            Pool::Plain(_) | Pool::Period(_) => 1,
            Pool::Windows { places, .. } => 1 + places.len(),
        }
    }

    #[inline]
    fn region_bytes(&self, region: usize) -> &[u8] {
        match &self.pool {
            Pool::Plain(buffers) | Pool::Period(buffers) => buffers.slot(0),
            Pool::Windows { period, .. } if region == 0 => period.slot(0),
            Pool::Windows { windows, .. } => windows.slot(region - 1),
        }
    }
}

/// One period of `content`, and as much of the next as a block of `more` bytes can reach into.
fn period(content: Content, more: usize, pages: BufferPages) -> io::Result<Buffers> {
    let bytes = PERIOD.checked_add(more).and_then(|bytes| bytes.checked_next_multiple_of(PAGE));
    let mut period = Buffers::new(1, bytes.unwrap_or(usize::MAX), pages)?;
    let (first, rest) = period.slot_mut(0).split_at_mut(PERIOD);
    content.fill(0, first);
    for again in rest.chunks_mut(PERIOD) {
        again.copy_from_slice(&first[..again.len()]);
    }
    Ok(period)
}

/// Size of the pages that a block can cover: one page more if a block can start within a page and
/// end in another.
fn window_bytes(io: &Io) -> usize {
    let block = io.block as usize;
    let more = if io.is_within_pages() { 0 } else { PAGE };
    block.checked_next_multiple_of(PAGE).and_then(|bytes| bytes.checked_add(more)).unwrap_or(block)
}

/// Fills `window` with the repeating `period`, starting at byte `place` of it.
fn fill_window(window: &mut [u8], period: &[u8], place: usize) {
    let (first, rest) = window.split_at_mut(window.len().min(PERIOD - place));
    first.copy_from_slice(&period[place..place + first.len()]);
    for again in rest.chunks_mut(PERIOD) {
        again.copy_from_slice(&period[..again.len()]);
    }
}

/// Stores the stamp of each page that the `length` bytes at `offset` cover. `pages` starts with the
/// first of these pages.
#[inline]
fn stamp(content: Content, pages: &mut [u8], offset: u64, length: usize) {
    const PAGE_WORDS: u64 = STAMP_PAGE / WORD_BYTES;
    let (first, last) = (offset / STAMP_PAGE, (offset + length as u64).div_ceil(STAMP_PAGE));
    for (page, at) in (first..last).zip((0..).step_by(PAGE)) {
        let word = content.word(page * PAGE_WORDS).to_le_bytes();
        pages[at..at + word.len()].copy_from_slice(&word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn io(block: usize, depth: usize) -> Io {
        Io { block: block as u64, depth: depth as u32, ..Io::default() }
    }

    fn content(kind: ContentKind) -> Content {
        Content { seed: 9, size: u64::MAX, kind }
    }

    /// Every block equals the content at its offset, whatever was prepared before, and stays so
    /// while others are prepared.
    fn check(kind: ContentKind, depth: usize, block: usize, offsets: &[u64]) {
        let content = content(kind);
        let mut source =
            BlockSource::new(content, &io(block, depth)).expect("there is room for little");
        let mut in_flight = vec![None; depth];
        for (index, offset) in offsets.iter().enumerate() {
            let slot = index % depth;
            let length = block - index % block.min(3);
            source.make(slot, *offset, length);
            in_flight[slot] = Some((*offset, length));
            for (slot, (offset, length)) in
                (0..).zip(&in_flight).filter_map(|(slot, made)| Some((slot, (*made)?)))
            {
                let lead = offset % 8;
                let mut expected = vec![0; length + lead as usize];
                content.fill(offset - lead, &mut expected);
                let is_right = source.block(slot) == &expected[lead as usize..];
                assert!(is_right, "{kind}: {length} bytes at {offset}, depth {depth}");
            }
            let region = source.regions().nth(source.region(slot)).expect("it is one of them");
            assert!(region.as_ptr_range().contains(&source.block(slot).as_ptr()));
        }
    }

    #[test]
    fn blocks_of_any_size_are_the_content() {
        for kind in [ContentKind::Stamped, ContentKind::Constant, ContentKind::Zero] {
            for depth in [1, 3] {
                for block in [1, 7, 512, 4096, 4097, 65_536, PERIOD - 1, PERIOD, PERIOD + 4096] {
                    let offsets: Vec<u64> =
                        (0..12).chain([255, 256, 257, 511]).map(|i| i * block as u64).collect();
                    check(kind, depth, block, &offsets);
                }
                check(kind, depth, 64 << 20, &[0, 64 << 20, 192 << 20]);
            }
        }
    }

    proptest! {
        #[test]
        fn blocks_in_any_order_are_the_content(
            block in 1usize..20_000,
            depth in 1usize..5,
            indexes in proptest::collection::vec(0u64..1000, 1..20),
            // Whether blocks are a period apart, so that they share the same place within it.
            twins: bool,
        ) {
            let step = if twins { STAMP_PERIOD } else { 1 };
            let offset = |index| index * step * block as u64;
            let offsets: Vec<u64> = indexes.into_iter().map(offset).collect();
            check(ContentKind::Stamped, depth, block, &offsets);
        }
    }

    #[test]
    fn passes_write_the_contents_in_turn() {
        for depth in [1, 3] {
            let [_, contents @ ..] = model::generation::contents(7, 4 << 20);
            let mut source =
                BlockSource::in_turn(contents, &io(8192, depth)).expect("room for little");
            let regions: Vec<_> = source.regions().map(<[u8]>::as_ptr_range).collect();
            for pass in 0..4 {
                source.begin_pass();
                assert!(source.regions().map(<[u8]>::as_ptr_range).eq(regions.iter().cloned()));
                for (slot, offset) in (0..depth).zip((0..).step_by(STAMP_PERIOD as usize)) {
                    source.make(slot, offset, 8192);
                }
                for (slot, offset) in (0..depth).zip((0..).step_by(STAMP_PERIOD as usize)) {
                    let mut expected = vec![0; 8192];
                    contents[pass % 2].fill(offset, &mut expected);
                    assert!(source.block(slot) == expected, "slot {slot} in pass {pass}");
                    let block = source.block(slot).as_ptr();
                    assert!(regions[source.region(slot)].contains(&block));
                }
            }
        }
    }

    #[test]
    fn blocks_are_aligned_as_their_offsets_are() {
        for (depth, block) in [(1, 512), (1, 4096), (4, 512), (4, 1536), (4, 4096)] {
            let mut source =
                BlockSource::new(content(ContentKind::Stamped), &io(block, depth)).expect("room");
            for index in 0..20u64 {
                let (slot, offset) = (index as usize % depth, index * block as u64);
                source.make(slot, offset, block);
                let address = source.block(slot).as_ptr().addr();
                assert_eq!(address % 4096, (offset % 4096) as usize);
            }
        }
    }

    #[test]
    fn a_block_that_no_machine_can_hold_is_an_error() {
        for kind in [ContentKind::Stamped, ContentKind::Zero] {
            for depth in [1, 2] {
                for block in [1 << 62, usize::MAX - 5] {
                    let error =
                        BlockSource::new(content(kind), &io(block, depth)).expect_err("too much");
                    assert!(!error.to_string().is_empty());
                }
            }
        }
    }
}
