//! What several threads appended to one file: the OS decides in which order their blocks follow
//! each other, so each must be there once, wherever it is.

use super::CHUNK;
use crate::stop::Stop;
use anyhow::{Context, Result, bail};
use model::case::{Isa, WriteWork};
use model::content::{Content, WORD_BYTES};
use model::random::mix;
use model::sample::Sample;
use model::trial::{Job, ReadBack};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Reads `file` from its start, and compares its blocks in any order with those that the threads of
/// `sample` appended in a trial of `work`.
pub(super) fn read(
    mut read_back: ReadBack,
    file: &File,
    (job, work): (&Job, &WriteWork),
    sample: &Sample,
    content: Content,
    stop: &Stop,
) -> Result<ReadBack> {
    let digest = kernel::digest(Isa::Auto, None).expect("there is a loop for every processor");
    // As good as unique to a block's bytes, wherever they are.
    let of_block = |block: &[u8]| mix(digest(0, block));
    let block = work.io.block as usize;
    let mut buffer = vec![0; (CHUNK as usize).next_multiple_of(block)];
    let mut offset = 0;
    let end = sample.written_bytes();
    while offset < end {
        if stop.is_asked() {
            bail!("the run was stopped while it read the data back");
        }
        let length = (end - offset).min(buffer.len() as u64);
        let chunk = &mut buffer[..length as usize];
        file.read_exact_at(chunk, offset)
            .with_context(|| format!("reading back {length} bytes at offset {offset} failed"))?;
        read_back.bytes += length;
        for block in chunk.chunks(block) {
            read_back.digest = read_back.digest.wrapping_add(of_block(block));
        }
        offset += length;
    }
    for span in &sample.spans {
        let visits = work.io.visits(span.thread, job.seed);
        for (offset, length) in (0..span.ops).map(|index| visits.block(index)) {
            // Content is known by words, within which a block may begin.
            let skipped = (offset % WORD_BYTES) as usize;
            let bytes = &mut buffer[..skipped + length as usize];
            content.fill(offset - skipped as u64, bytes);
            read_back.expected = read_back.expected.wrapping_add(of_block(&bytes[skipped..]));
        }
    }
    Ok(read_back)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Allocation, Case, Io, Work, WriteEngine};
    use model::sample::Span;
    use model::zoo;

    const BLOCK: u64 = 100;
    const BLOCKS: u64 = 20_000;

    /// Whether the file that `change` makes of the right bytes is right.
    fn is_right(change: impl Fn(&mut Vec<u8>)) -> bool {
        let plain = zoo::plain_write();
        let io = Io { size: BLOCK * BLOCKS, block: BLOCK, threads: 3, ..plain.io };
        let (engine, allocation) = (WriteEngine::Write, Allocation::Append);
        let work = WriteWork { io, engine, allocation, ..plain };
        let content = work.content(7);
        let visits = |thread| work.io.visits(thread, 7);
        let (mut bytes, mut spans) = (Vec::new(), Vec::new());
        for thread in 0..3 {
            // One thread did not come to its end.
            let ops = visits(thread).count() - u64::from(thread == 1) * 100;
            spans.push(Span { thread, ops, bytes: ops * BLOCK, ..Span::default() });
            for (offset, length) in (0..ops).map(|index| visits(thread).block(index)) {
                let mut all = vec![0; (offset % 8 + length) as usize];
                content.fill(offset - offset % 8, &mut all);
                bytes.extend_from_slice(&all[(offset % 8) as usize..]);
            }
        }
        change(&mut bytes);
        let file = tempfile::tempfile().expect("there is room");
        file.write_all_at(&bytes, 0).expect("there is room");
        let job = Job::of(Case::own(Work::Write(work)), 7);
        let sample = Sample { spans, ..Sample::default() };
        let empty = ReadBack { bytes: 0, digest: 0, expected: 0, is_past_cache: false };
        let read = read(empty, &file, (&job, &work), &sample, content, &Stop::default());
        let read = read.expect("it can be read");
        assert_eq!(read.bytes, (BLOCKS - 100) * BLOCK);
        read.digest == read.expected
    }

    #[test]
    fn blocks_in_any_order_are_right_and_lost_or_torn_ones_are_not() {
        let block = BLOCK as usize;
        assert!(is_right(|_| ()));
        assert!(is_right(|bytes| bytes.rotate_left(7 * block)));
        assert!(!is_right(|bytes| bytes.rotate_left(7)));
        assert!(!is_right(|bytes| bytes[1_000_000] ^= 1));
        let lost = |bytes: &mut Vec<u8>| bytes.copy_within(9 * block..10 * block, 0);
        assert!(!is_right(lost));
        let torn = |bytes: &mut Vec<u8>| bytes[block / 2..3 * block / 2].rotate_left(block / 2);
        assert!(!is_right(torn));
    }
}
