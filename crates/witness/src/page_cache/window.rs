//! A part of a file, mapped to ask what of it is cached.

use rustix::mm::{MapFlags, ProtFlags};
use std::ffi::c_void;
use std::fs::File;
use std::io;

/// A part of a file that is mapped only for queries.
pub(crate) struct Window {
    address: *mut c_void,
    length: usize,
}

impl Window {
    pub(crate) fn map(
        file: &File,
        offset: u64,
        length: usize,
        rights: ProtFlags,
    ) -> io::Result<Window> {
        // SAFETY: this creates a new private mapping at an address that the OS chooses, so it
        // touches no memory of this program. Nothing here accesses memory through it.
        let address = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), length, rights, MapFlags::PRIVATE, file, offset)
        }?;
        Ok(Window { address, length })
    }

    /// Where it is in this process.
    pub(crate) fn address(&self) -> u64 {
        self.address as u64
    }

    /// Advises the OS about it.
    pub(crate) fn advise(&self, advice: rustix::mm::Advice) -> io::Result<()> {
        // SAFETY: `map` mapped the range, and it stays mapped while `self` lives. The advice that
        // this crate gives fills the mapping, and changes no content.
        Ok(unsafe { rustix::mm::madvise(self.address, self.length, advice) }?)
    }

    /// `answer` must have one byte per page of the window.
    pub(super) fn cached_pages(&self, answer: &mut [u8]) -> io::Result<u64> {
        let pages = self.length.div_ceil(rustix::param::page_size());
        assert_eq!(answer.len(), pages, "mincore answers one byte for each page of the window");
        // SAFETY: `map` mapped the range, and it stays mapped while `self` lives. The OS writes one
        // byte per page, and the assertion above guarantees that they fit.
        let outcome = unsafe { libc::mincore(self.address, self.length, answer.as_mut_ptr()) };
        if outcome != 0 {
            return Err(io::Error::last_os_error());
        }
        // Only the lowest bit is defined.
        Ok(answer.iter().filter(|&&byte| byte & 1 == 1).count() as u64)
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: `map` mapped the range, nothing else refers to it, and it is unmapped only here.
        let outcome = unsafe { rustix::mm::munmap(self.address, self.length) };
        debug_assert!(outcome.is_ok(), "a mapping of this program can be unmapped");
    }
}
