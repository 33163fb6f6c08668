//! `pwrite(2)`: one call per block, one block in flight.

use super::{WriteCall, WriteTarget};
use crate::engine::BlockIo;
use crate::source::BlockSource;
use rustix::io::ReadWriteFlags;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;

/// The errors of a kernel or a file system that does not know a flag.
const UNKNOWN: &[i32] = &[libc::ENOSYS, libc::EOPNOTSUPP];
/// The same, and that of a file which does not promise to keep such a block whole.
const NOT_ATOMIC: &[i32] = &[libc::ENOSYS, libc::EOPNOTSUPP, libc::EINVAL];

/// Writes at explicit offsets; with `FLAGS`, by `pwritev2(2)`.
#[derive(Debug)]
pub struct Pwrite<const FLAGS: i32> {
    target: WriteTarget,
    source: BlockSource,
    offset: u64,
}

impl<const FLAGS: i32> Pwrite<FLAGS> {
    const CALL: WriteCall = match FLAGS {
        0 => WriteCall::new("pwrite", &[]),
        libc::RWF_DONTCACHE => WriteCall::new("pwritev2 with RWF_DONTCACHE", UNKNOWN),
        libc::RWF_ATOMIC => WriteCall::new("pwritev2 with RWF_ATOMIC", NOT_ATOMIC),
        _ => WriteCall::new("pwritev2", UNKNOWN),
    };

    /// An engine that writes the blocks of `source` to `target`.
    pub fn new(target: WriteTarget, source: BlockSource) -> Self {
        Pwrite { target, source, offset: 0 }
    }
}

/// Writes a part of a block.
#[inline(always)]
fn write_at<const FLAGS: i32>(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    if FLAGS == 0 {
        return file.write_at(bytes, offset);
    }
    let flags = ReadWriteFlags::from_bits_retain(FLAGS as libc::c_uint);
    Ok(rustix::io::pwritev2(file, &[IoSlice::new(bytes)], offset, flags)?)
}

impl<const FLAGS: i32> BlockIo for Pwrite<FLAGS> {
    const LOADS_ARE_IO: bool = false;
    const WRITES: bool = true;

    fn begin_pass(&mut self) -> io::Result<()> {
        self.source.begin_pass();
        Ok(())
    }

    #[inline]
    fn submit(&mut self, slot: usize, offset: u64, length: usize) -> io::Result<()> {
        self.source.make(slot, offset, length);
        self.offset = offset;
        Ok(())
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        let (file, block) = (&self.target.file, self.source.block(0));
        let offset = self.offset;
        Self::CALL.whole(offset, block.len(), |moved| {
            write_at::<FLAGS>(file, &block[moved..], offset + moved as u64)
        })?;
        Ok((0, &[]))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.target.sync()
    }
}
