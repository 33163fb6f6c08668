//! `pread(2)`: one call per block, one block in flight.

use super::{BlockIo, DONT_CACHE, Range, advise, ended_early, io_error};
use crate::buffer::Buffers;
use model::case::{Advice, ReadWork};
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt;

/// Reads at explicit offsets; with `LEAVES_NOTHING`, by `preadv2(2)` with `RWF_DONTCACHE`.
#[derive(Debug)]
pub struct Pread<const LEAVES_NOTHING: bool> {
    file: File,
    buffers: Buffers,
    work: ReadWork,
    range: Range,
    offset: u64,
    length: usize,
}

impl<const LEAVES_NOTHING: bool> Pread<LEAVES_NOTHING> {
    /// An engine for `range` of `file`.
    pub fn new(file: File, work: &ReadWork, range: Range) -> io::Result<Self> {
        let buffers = Buffers::for_reads(&work.io)?;
        Ok(Pread { file, buffers, work: *work, range, offset: 0, length: 0 })
    }
}

/// Reads the `length` bytes at `offset` into `buffer`, which holds what is to be asked for.
///
/// # Errors
/// The OS's error, or that the file ended.
#[inline(always)]
pub fn read_block<'a, const LEAVES_NOTHING: bool>(
    file: &File,
    buffer: &'a mut [u8],
    offset: u64,
    length: usize,
) -> io::Result<&'a [u8]> {
    let mut filled = 0;
    while filled < length {
        let rest = &mut buffer[filled..];
        match read_at::<LEAVES_NOTHING>(file, rest, offset + filled as u64) {
            Ok(0) => return Err(ended_early(offset, length, filled)),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let call = if LEAVES_NOTHING { "preadv2 with RWF_DONTCACHE" } else { "pread" };
                return Err(io_error(call, offset, length, error));
            }
        }
    }
    Ok(&buffer[..length])
}

/// Reads a part of a block.
#[inline(always)]
fn read_at<const LEAVES_NOTHING: bool>(
    file: &File,
    buffer: &mut [u8],
    offset: u64,
) -> io::Result<usize> {
    if LEAVES_NOTHING {
        let mut buffers = [IoSliceMut::new(buffer)];
        return Ok(rustix::io::preadv2(file, &mut buffers, offset, DONT_CACHE)?);
    }
    file.read_at(buffer, offset)
}

impl<const LEAVES_NOTHING: bool> BlockIo for Pread<LEAVES_NOTHING> {
    const LOADS_ARE_IO: bool = false;

    fn begin_pass(&mut self) -> io::Result<()> {
        advise(&self.file, &self.work, self.range)
    }

    fn loads(&self) -> bool {
        self.work.advice != Advice::None
    }

    #[inline]
    fn submit(&mut self, _slot: usize, offset: u64, length: usize) -> io::Result<()> {
        (self.offset, self.length) = (offset, length);
        Ok(())
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        let Pread { file, buffers, offset, length, .. } = self;
        let asked = buffers.asked(*length);
        let buffer = &mut buffers.slot_mut(0)[..asked];
        let block = read_block::<LEAVES_NOTHING>(file, buffer, *offset, *length)?;
        Ok((0, block))
    }
}
