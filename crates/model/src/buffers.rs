//! The buffers that ioassay's own worker allocates for blocks.

use crate::content::{STAMP_PAGE, STAMP_PERIOD};
use crate::io::Io;
use crate::reading::{BlockPlace, ReadWork};
use crate::writing::{Fill, Op, WriteEngine, WriteWork};

/// Buffers are aligned to this, as O_DIRECT requires: a device's logical block has at most 4 KiB.
const ALIGN: u64 = 4096;

/// The sizes in bytes of a thread's buffers.
pub(crate) fn of_read(work: &ReadWork) -> Vec<u64> {
    match work.engine.place() {
        BlockPlace::Buffer => vec![slots(&work.io)],
        BlockPlace::Nowhere | BlockPlace::Mapping | BlockPlace::Memory => Vec::new(),
    }
}

/// The same: the data to write, which is made before the clock starts, and room for what is read.
pub(crate) fn of_write(work: &WriteWork) -> Vec<u64> {
    match (work.op, work.engine) {
        (Op::Copy, WriteEngine::Write | WriteEngine::Uring) => vec![slots(&work.io)],
        (Op::Copy | Op::Sync, _) => Vec::new(),
        (Op::Write, _) => {
            let mut all = data(work);
            all.extend((work.read_share > 0).then(|| slots(&work.io)));
            all
        }
    }
}

/// Whether a buffer of a thread may fill a huge page of `huge` bytes, by any engine. One answer for
/// all, because older cases that differ in nothing but the engine are compared.
pub(crate) fn may_fill(io: &Io, writes: bool, huge: u64) -> bool {
    let more = ALIGN.saturating_mul(io.depth.into());
    let windows = slots(io).saturating_add(more);
    let largest =
        if writes { windows.max(STAMP_PERIOD.saturating_add(io.block)) } else { slots(io) };
    largest >= huge
}

/// The blocks in flight.
fn slots(io: &Io) -> u64 {
    whole(io.block, ALIGN).saturating_mul(io.depth.into())
}

/// One period of the data and one block; with several blocks in flight, also the pages that each
/// can cover. Data without a period is one block.
fn data(work: &WriteWork) -> Vec<u64> {
    let Io { block, depth, .. } = work.io;
    if work.fill != Fill::Random {
        return vec![whole(block, ALIGN)];
    }
    let more = if work.io.is_within_pages() { 0 } else { STAMP_PAGE };
    let window = whole(block, STAMP_PAGE).saturating_add(more);
    let mut all = vec![whole(STAMP_PERIOD.saturating_add(block), STAMP_PAGE)];
    all.extend((depth > 1).then(|| window.saturating_mul(depth.into())));
    all
}

fn whole(bytes: u64, unit: u64) -> u64 {
    bytes.checked_next_multiple_of(unit).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{BufferPages, Case, Engine, Work};
    use crate::zoo;

    const MIB: u64 = 1 << 20;

    fn read(engine: Engine, block: u64, depth: u32) -> Vec<u64> {
        let io = Io { block, depth, ..zoo::plain().io };
        of_read(&ReadWork { io, engine, ..zoo::plain() })
    }

    fn write(change: impl FnOnce(&mut WriteWork)) -> Vec<u64> {
        let mut work = zoo::plain_write();
        change(&mut work);
        of_write(&work)
    }

    #[test]
    fn a_thread_has_a_buffer_for_each_block_in_flight() {
        assert_eq!(read(Engine::Pread, 4096, 1), [4096]);
        assert_eq!(read(Engine::Uring, 4097, 3), [3 * 8192]);
        assert_eq!(read(Engine::Uring, u64::MAX, 3), [u64::MAX]);
        for engine in [Engine::Null, Engine::Mmap, Engine::Load] {
            assert_eq!(read(engine, 4096, 1), [0; 0], "{engine}");
        }
    }

    #[test]
    fn what_is_written_is_made_beforehand() {
        assert_eq!(write(|_| ()), [MIB + 4096]);
        assert_eq!(write(|work| work.fill = Fill::Zero), [4096]);
        assert_eq!(write(|work| work.io.depth = 4), [MIB + 4096, 4 * 4096]);
        let odd = |work: &mut WriteWork| (work.io.block, work.io.depth) = (5000, 2);
        assert_eq!(write(odd), [MIB + 8192, 2 * (8192 + 4096)]);
        assert_eq!(write(|work| work.read_share = 70), [MIB + 4096, 4096]);
        assert_eq!(write(|work| work.op = Op::Sync), [0; 0]);
        let copy = |engine| write(|work| (work.op, work.engine) = (Op::Copy, engine));
        assert_eq!(copy(WriteEngine::Write), [4096]);
        assert_eq!(copy(WriteEngine::Sendfile), [0; 0]);
    }

    #[test]
    fn huge_pages_are_filled_by_each_thread() {
        let bytes = |pages, huge| {
            let io = Io { block: 4096, depth: 3, threads: 2, pages, ..zoo::plain().io };
            Case::own(Work::Read(ReadWork { io, ..zoo::plain() })).buffer_bytes(huge)
        };
        assert_eq!(bytes(BufferPages::Base, Some(2 * MIB)), 2 * 3 * 4096);
        assert_eq!(bytes(BufferPages::Huge, None), 2 * 3 * 4096);
        assert_eq!(bytes(BufferPages::Huge, Some(2 * MIB)), 2 * 2 * MIB);
        // Large ones are never filled up.
        assert_eq!(bytes(BufferPages::Huge, Some(512 * MIB)), 2 * 3 * 4096);
    }
}
