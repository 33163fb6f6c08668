//! `mmap(2)`: a block is where the page cache has it; touching it is the I/O.
//!
//! The file is mapped anew for each pass, within the timed region. Else the page faults would be
//! paid in the first pass only, and the figure would depend on how long a trial lasts.

use super::ahead::Ahead;
use super::{BlockIo, Range};
use memmap2::{Mmap, MmapOptions};
use model::case::{Advice, ReadWork};
use std::fs::File;
use std::io;
use std::sync::Arc;

/// A mapping of a whole file.
#[derive(Debug)]
pub struct Mapping {
    file: File,
    size: usize,
    advice: Advice,
    range: Range,
    map: Option<Arc<Mmap>>,
    /// Those that touch it ahead of this thread, if that was the advice.
    ahead: Option<Ahead>,
    offset: usize,
    length: usize,
}

impl Mapping {
    /// An engine for the `range` of `file`.
    pub fn new(file: File, work: &ReadWork, range: Range) -> io::Result<Mapping> {
        let held = file.metadata()?.len();
        if held < work.io.size {
            // To touch what lies past the end of a file would kill the worker.
            return Err(io::Error::other(format!(
                "the file has {held} bytes, fewer than the {} to read",
                work.io.size
            )));
        }
        let (size, advice) = (work.io.size as usize, work.advice);
        Ok(Mapping { file, size, advice, range, map: None, ahead: None, offset: 0, length: 0 })
    }
}

/// The error where the OS does not take `advice`. Before Linux 5.14 it cannot populate a mapping on
/// demand, and answers as to advice that it does not know.
fn refusal(advice: Advice, error: &io::Error) -> io::Error {
    let is_unknown = advice == Advice::Populate && error.raw_os_error() == Some(libc::EINVAL);
    let kind = if is_unknown { io::ErrorKind::Unsupported } else { error.kind() };
    io::Error::new(kind, format!("madvise '{advice}' failed: {error}"))
}

impl BlockIo for Mapping {
    const LOADS_ARE_IO: bool = true;

    fn begin_pass(&mut self) -> io::Result<()> {
        self.let_go();
        // SAFETY: the mapping is only read, by this thread and by those that touch it ahead. Nobody
        // who keeps to the rules changes the file: it is a test file of ours, or one that its owner
        // asked us to read and nothing else; the bytes are summed, never trusted.
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
        // Those that touch the mapping hold it too, until they have ended.
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
