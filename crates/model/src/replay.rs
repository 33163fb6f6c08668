//! What the threads of a mixed case did, replayed from their draws.
//!
//! A thread visits each block once per pass and completes a pass before it begins the next, and no
//! other thread visits its blocks. So what a read returned is known: the block's content before the
//! trial, or what an earlier pass wrote there.

use crate::case::WriteWork;
use crate::content::DigestTable;
use crate::mix::Mix;
use crate::pattern::Visits;
use crate::sample::Span;
use std::ops::Range;

/// The most operations of a thread to replay: minutes of the fastest engine. It takes seconds.
const OPS_MAX: u64 = 1 << 32;

/// The most blocks of a thread to keep in mind, one byte each.
const BLOCKS_MAX: u64 = 1 << 28;

/// One thread's operations.
#[derive(Debug)]
pub struct Replay {
    visits: Visits,
    mix: Mix,
    ops: u64,
}

/// The sums over a thread's operations.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReplaySums {
    /// Bytes of all operations.
    pub bytes: u64,
    /// Operations that read.
    pub read_ops: u64,
    /// Their bytes.
    pub read_bytes: u64,
}

impl Replay {
    /// What the thread of `span` did in a trial of `work` with `seed`. `None` if the case is not
    /// mixed, if the number of operations is impossible, or if it would take too long.
    pub fn of(work: &WriteWork, seed: u64, span: &Span) -> Option<Replay> {
        let mix = work.mix(span.thread, seed)?;
        let visits = work.io.visits(span.thread, seed);
        let ops = span.ops;
        let has_blocks = visits.count() > 0 && visits.count() <= BLOCKS_MAX;
        let is_possible = ops == 0 || (has_blocks && ops <= OPS_MAX);
        is_possible.then_some(Replay { visits, mix, ops })
    }

    /// The place in its pass of each operation, and whether it reads.
    fn operations(&self) -> impl Iterator<Item = (u64, bool)> {
        (0..self.ops).map(|number| (number % self.visits.count(), self.mix.is_read(number)))
    }

    fn block(&self, place: u64) -> Range<u64> {
        let (offset, length) = self.visits.block(place);
        offset..offset + length
    }

    /// Whether a block was written, by its place in a pass: none of them yet.
    fn nothing_written(&self) -> Vec<bool> {
        vec![false; self.visits.count().min(self.ops) as usize]
    }

    /// How many operations read, and the bytes of both kinds.
    pub fn sums(&self) -> ReplaySums {
        let mut sums = ReplaySums::default();
        for (place, is_read) in self.operations() {
            let (_, length) = self.visits.block(place);
            sums.bytes = sums.bytes.saturating_add(length);
            if is_read {
                sums.read_ops += 1;
                sums.read_bytes = sums.read_bytes.saturating_add(length);
            }
        }
        sums
    }

    /// The blocks that it wrote, each once.
    pub fn written(&self) -> Vec<Range<u64>> {
        let mut written = self.nothing_written();
        let writes = self.operations().filter(|(_, is_read)| !is_read);
        writes.for_each(|(place, _)| written[place as usize] = true);
        (0..).zip(written).filter(|(_, it)| *it).map(|(place, _)| self.block(place)).collect()
    }

    /// The digest of what its reads returned, if the file had the content of `before` and each
    /// write left that of `work` with `seed`.
    pub fn digest(&self, work: &WriteWork, seed: u64, before: &DigestTable) -> u64 {
        let after = work.content(seed);
        let mut written = self.nothing_written();
        let mut digest = 0u64;
        for (place, is_read) in self.operations() {
            if !is_read {
                written[place as usize] = true;
                continue;
            }
            let block = self.block(place);
            let is_new = written[place as usize];
            let of_block = if is_new { after.digest(block) } else { before.digest(block) };
            digest = digest.wrapping_add(of_block);
        }
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Io;
    use crate::content::{Content, ContentKind, digest_of};
    use crate::pattern::Pattern;

    fn work(read_share: u8) -> WriteWork {
        let io = Io { size: 64 << 10, block: 4096, pattern: Pattern::Random, ..Io::default() };
        WriteWork { io, read_share, ..WriteWork::default() }
    }

    /// The oracle has a file in memory, and does what the thread did to it.
    #[test]
    fn reads_return_what_was_there_or_what_an_earlier_pass_wrote() {
        let before = Content { seed: 1, size: 64 << 10, kind: ContentKind::Random };
        let table = DigestTable::new(before, Content::digest);
        for (share, total) in [(30, 5), (30, 16), (70, 100), (99, 40), (50, 0)] {
            let (work, seed) = (work(share), 9);
            let (visits, mix) = (work.io.visits(0, seed), work.mix(0, seed).unwrap());
            let mut file = vec![0; 64 << 10];
            before.fill(0, &mut file);
            let (mut sums, mut digest) = (ReplaySums::default(), 0u64);
            for number in 0..total {
                let (offset, length) = visits.block(number % visits.count());
                sums.bytes += length;
                let bytes = &mut file[offset as usize..(offset + length) as usize];
                if mix.is_read(number) {
                    digest = digest.wrapping_add(digest_of(offset, bytes));
                    (sums.read_ops, sums.read_bytes) =
                        (sums.read_ops + 1, sums.read_bytes + length);
                } else {
                    work.content(seed).fill(offset, bytes);
                }
            }
            let span = Span { ops: total, ..Span::default() };
            let replay = Replay::of(&work, seed, &span).unwrap();
            assert_eq!(replay.sums(), sums);
            assert_eq!(replay.digest(&work, seed, &table), digest, "{total} at {share}");
            let mut after = vec![0; 64 << 10];
            before.fill(0, &mut after);
            for part in replay.written() {
                let place = part.start as usize..part.end as usize;
                work.content(seed).fill(part.start, &mut after[place]);
            }
            assert!(after == file, "{total} at {share}");
        }
    }

    #[test]
    fn what_cannot_be_is_not_replayed() {
        let span = |ops| Span { ops, ..Span::default() };
        assert!(Replay::of(&work(0), 1, &span(1)).is_none(), "the case is not mixed");
        assert!(Replay::of(&work(50), 1, &span(u64::MAX)).is_none());
        let empty = WriteWork { io: Io { size: 0, ..work(50).io }, ..work(50) };
        assert!(Replay::of(&empty, 1, &span(1)).is_none());
    }
}
