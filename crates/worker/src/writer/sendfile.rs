//! `sendfile(2)`: the OS moves pages from one file to the other, at the target's offset.

use super::{WriteCall, WriteTarget, stand};
use crate::engine::BlockIo;
use rustix::fs::sendfile;
use std::fs::File;
use std::io;

/// EINVAL: the call does not support this kind of file.
const SENDFILE: WriteCall =
    WriteCall::new("sendfile", &[libc::ENOSYS, libc::EOPNOTSUPP, libc::EXDEV, libc::EINVAL]);

/// Copies to the target's file offset.
#[derive(Debug)]
pub struct Sendfile {
    source: File,
    target: WriteTarget,
    position: u64,
    offset: u64,
    length: usize,
}

impl Sendfile {
    /// An engine that copies from `source` to `target`, whose offset must be 0 and not shared.
    pub fn new(source: File, target: WriteTarget) -> Sendfile {
        Sendfile { source, target, position: 0, offset: 0, length: 0 }
    }
}

impl BlockIo for Sendfile {
    const LOADS_ARE_IO: bool = false;
    const WRITES: bool = true;

    #[inline]
    fn submit(&mut self, _slot: usize, offset: u64, length: usize) -> io::Result<()> {
        (self.offset, self.length) = (offset, length);
        Ok(())
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        let (offset, length) = (self.offset, self.length);
        stand(&self.target.file, &mut self.position, offset)?;
        let (source, target) = (&self.source, &self.target.file);
        SENDFILE.whole(offset, length, |moved| {
            let mut from = offset + moved as u64;
            Ok(sendfile(target, source, Some(&mut from), length - moved)?)
        })?;
        self.position += length as u64;
        Ok((0, &[]))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.target.sync()
    }
}
