//! `mmap(2)`: stores each block directly into the page cache; the OS writes it back from there.
//!
//! Each pass maps the file again, within the timed region, as the reading engine does.

use super::WriteTarget;
use crate::engine::{BlockIo, Range};
use crate::source::BlockSource;
use memmap2::{MmapMut, MmapOptions};
use model::case::Sync;
use std::io;

/// A mapping of a whole file.
#[derive(Debug)]
pub struct MappingWriter {
    target: WriteTarget,
    source: BlockSource,
    size: usize,
    range: Range,
    map: Option<MmapMut>,
    offset: usize,
}

impl MappingWriter {
    /// An engine that stores the blocks of `source` into `range` of `target`, a file of `size`
    /// bytes.
    pub fn new(
        target: WriteTarget,
        source: BlockSource,
        size: u64,
        range: Range,
    ) -> io::Result<MappingWriter> {
        let held = target.file.metadata()?.len();
        if held < size {
            // Touching a page past the end of the file would raise SIGBUS and kill the worker.
            return Err(io::Error::other(format!(
                "the file has {held} bytes, fewer than the {size} to write"
            )));
        }
        Ok(MappingWriter { target, source, size: size as usize, range, map: None, offset: 0 })
    }
}

impl BlockIo for MappingWriter {
    const LOADS_ARE_IO: bool = true;
    const WRITES: bool = true;

    fn begin_pass(&mut self) -> io::Result<()> {
        self.let_go();
        self.source.begin_pass();
        // SAFETY: the file is our own test file. Only this program's threads write it, each its own
        // blocks through its own mapping, and nobody truncates it during a trial.
        let map = unsafe { MmapOptions::new().len(self.size).map_mut(&self.target.file)? };
        self.map = Some(map);
        Ok(())
    }

    fn loads(&self) -> bool {
        true
    }

    #[inline]
    fn submit(&mut self, slot: usize, offset: u64, length: usize) -> io::Result<()> {
        self.source.make(slot, offset, length);
        self.offset = offset as usize;
        Ok(())
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        let map = self.map.as_mut().expect("a pass was begun before its blocks are reaped");
        let block = self.source.block(0);
        map[self.offset..self.offset + block.len()].copy_from_slice(block);
        Ok((0, &[]))
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.target.sync != Sync::Msync {
            return self.target.sync();
        }
        let map = self.map.as_ref().expect("a pass was begun before it is synced");
        let (offset, length) = (self.range.offset as usize, self.range.length as usize);
        map.flush_range(offset, length).map_err(|error| {
            let text = format!("msync of {length} bytes at offset {offset} failed: {error}");
            io::Error::new(error.kind(), text)
        })
    }

    fn let_go(&mut self) {
        self.map = None;
    }
}
