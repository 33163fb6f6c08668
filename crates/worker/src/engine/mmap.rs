//! `mmap(2)`: a block is accessed in place in the page cache, so touching it is the I/O.
//!
//! Each pass maps the file again, within the timed region. Otherwise only the first pass would take
//! page faults, and the figure would depend on the trial's length.

use super::ahead::Ahead;
use super::{BlockIo, Range};
use memmap2::{Mmap, MmapOptions};
use model::case::{Advice, ReadWork};
use rustix::fs::SeekFrom;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// A mapping of a file, up to the last byte that is read.
#[derive(Debug)]
pub struct Mapping {
    file: File,
    size: usize,
    advice: Advice,
    range: Range,
    map: Option<Arc<Mmap>>,
    /// The helpers that touch it ahead of this thread, if the advice asks for them.
    ahead: Option<Ahead>,
    offset: usize,
    length: usize,
}

impl Mapping {
    /// An engine for `range` of `file`.
    pub fn new(file: File, work: &ReadWork, range: Range) -> io::Result<Mapping> {
        // The metadata of a device lacks it.
        let held = rustix::fs::seek(&file, SeekFrom::End(0))?;
        let end = work.io.range().end;
        if held < end {
            // Touching a page past the end of the file would raise SIGBUS and kill the worker.
            return Err(io::Error::other(format!(
                "the file has {held} bytes, fewer than the {end} to read"
            )));
        }
        let (size, advice) = (end as usize, work.advice);
        Ok(Mapping { file, size, advice, range, map: None, ahead: None, offset: 0, length: 0 })
    }
}

/// The error when the OS rejects `advice`. Linux before 5.14 cannot populate a mapping on demand
/// and answers EINVAL, as it does for unknown advice.
fn refusal(advice: Advice, error: &io::Error) -> io::Error {
    let is_unknown = advice == Advice::Populate && error.raw_os_error() == Some(libc::EINVAL);
    let kind = if is_unknown { io::ErrorKind::Unsupported } else { error.kind() };
    io::Error::new(kind, format!("madvise '{advice}' failed: {error}"))
}

impl BlockIo for Mapping {
    const LOADS_ARE_IO: bool = true;

    fn begin_pass(&mut self) -> io::Result<()> {
        self.let_go();
        // SAFETY: this thread and its helpers only read the mapping. The file should not change
        // meanwhile: it is our own test file or one that the user asked us to read. If it does,
        // only the sum is wrong, because the bytes are summed and never interpreted.
        let map = unsafe { MmapOptions::new().len(self.size).map(&self.file)? };
        let advice = match self.advice {
            Advice::None | Advice::TouchAhead => None,
            Advice::Sequential => Some(memmap2::Advice::Sequential),
            Advice::Random => Some(memmap2::Advice::Random),
            Advice::WillNeed => Some(memmap2::Advice::WillNeed),
            Advice::Populate => Some(memmap2::Advice::PopulateRead),
            Advice::HugePage => Some(memmap2::Advice::HugePage),
        };
        let (offset, length) = (self.range.offset as usize, self.range.length as usize);
        if let Some(advice) = advice {
            map.advise_range(advice, offset, length)
                .map_err(|error| refusal(self.advice, &error))?;
        }
        let map = self.map.insert(Arc::new(map));
        if self.advice == Advice::TouchAhead && length > 0 {
            self.ahead = Some(Ahead::start(map, offset..offset + length)?);
        }
        Ok(())
    }

    fn loads(&self) -> bool {
        true
    }

    #[inline]
    fn submit(&mut self, _slot: usize, offset: u64, length: usize) -> io::Result<()> {
        (self.offset, self.length) = (offset as usize, length);
        Ok(())
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        let map = self.map.as_ref().expect("a pass was begun before its blocks are reaped");
        Ok((0, &map[self.offset..self.offset + self.length]))
    }

    fn let_go(&mut self) {
        // Stop the helpers first: they hold references to the mapping.
        self.ahead = None;
        self.map = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_that_the_os_does_not_know_is_unsupported() {
        let kind = |advice, code| refusal(advice, &io::Error::from_raw_os_error(code)).kind();
        assert_eq!(kind(Advice::Populate, libc::EINVAL), io::ErrorKind::Unsupported);
        assert_ne!(kind(Advice::Populate, libc::EIO), io::ErrorKind::Unsupported);
        assert_ne!(kind(Advice::Sequential, libc::EINVAL), io::ErrorKind::Unsupported);
    }
}
