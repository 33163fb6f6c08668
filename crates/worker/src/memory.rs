//! Anonymous memory with the requested page size.

use memmap2::{Advice, MmapMut};
use model::case::Pages;
use model::memory::huge_span;
use std::io;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// Size of a huge page, in bytes, on machines with 4 KiB pages: x86-64 and 64-bit ARM.
const HUGE_BYTES_USUAL: usize = 2 << 20;

/// Where the OS states the size of a huge page.
const HUGE_BYTES: &str = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";

/// Size of this machine's huge pages, in bytes. Read once, before anything is timed.
fn huge_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let told = std::fs::read_to_string(HUGE_BYTES).ok();
        let told = told.and_then(|text| text.trim().parse().ok());
        told.filter(|bytes: &usize| bytes.is_power_of_two()).unwrap_or(HUGE_BYTES_USUAL)
    })
}

/// The smallest page size of any supported machine, in bytes.
const PAGE_BYTES: usize = 4096;

/// One thread's memory. It starts at a page boundary, or at a huge page's if it uses those.
#[derive(Debug)]
pub struct Memory {
    /// The part of the mapping that is used. So a block in it is found as fast as in a mapping.
    bytes: NonNull<[u8]>,
    // It unmaps the bytes, and nothing else uses it.
    _map: MmapMut,
}

// SAFETY: the bytes belong to the mapping that the value owns, which is `Send` itself.
unsafe impl Send for Memory {}

impl Memory {
    /// Maps `length` zeroed bytes. The OS allocates a page when it is first touched.
    ///
    /// With [`Pages::Huge`], the memory uses huge pages within its [`huge_span`], if the OS has
    /// any. With `None`, the OS decides.
    ///
    /// # Errors
    /// If the OS cannot map that much; the error states the size.
    pub fn map(length: usize, pages: Option<Pages>) -> io::Result<Memory> {
        Memory::try_map(length, pages).map_err(|error| cannot_map(length, &error))
    }

    fn try_map(length: usize, pages: Option<Pages>) -> io::Result<Memory> {
        if pages != Some(Pages::Huge) {
            let map = MmapMut::map_anon(length)?;
            if pages == Some(Pages::Base) {
                advise(&map, Advice::NoHugePage, 0, length);
            }
            return Ok(Memory::within(map, 0, length));
        }
        let overflow = || io::Error::other("no machine can address as many");
        let huge = huge_bytes();
        let span = huge_span(length as u64, huge as u64).map(|span| span.max(1) as usize);
        let span = span.ok_or_else(overflow)?;
        // The mapping before the first huge page and after the last is never touched.
        let mapped = span.checked_add(huge).ok_or_else(overflow)?;
        let map = MmapMut::map_anon(mapped)?;
        let address = map.as_ptr().addr();
        let start = address.next_multiple_of(huge) - address;
        advise(&map, Advice::HugePage, start, span);
        Ok(Memory::within(map, start, length))
    }

    /// The `length` bytes of `map` from `start` on.
    fn within(mut map: MmapMut, start: usize, length: usize) -> Memory {
        let bytes = NonNull::from(&mut map[start..start + length]);
        Memory { bytes, _map: map }
    }

    /// Maps `length` bytes and writes every page twice. The OS places a page near the thread that
    /// first writes it. Under a hypervisor, a page may not be backed by real memory until it is
    /// written.
    ///
    /// # Errors
    /// As for [`Memory::map`].
    pub fn resident(length: usize, pages: Pages) -> io::Result<Memory> {
        let mut memory = Memory::map(length, Some(pages))?;
        for page in memory.bytes_mut().chunks_mut(PAGE_BYTES) {
            // SAFETY: the reference is valid and unique. The write is volatile because the compiler
            // could otherwise drop it: the next line overwrites the same byte.
            unsafe { std::ptr::from_mut(&mut page[0]).write_volatile(0x5A) };
        }
        memory.bytes_mut().fill(0xA5);
        Ok(memory)
    }

    /// The memory as bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: they are in the mapping, which lives as long as `self` and does not move.
        unsafe { self.bytes.as_ref() }
    }

    /// The memory as mutable bytes.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { self.bytes.as_mut() }
    }

    /// The memory as words.
    pub fn words(&self) -> &[u64] {
        // SAFETY: any 8 bytes are a valid word.
        whole(unsafe { self.bytes().align_to::<u64>() })
    }

    /// The memory as mutable words.
    pub fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: any 8 bytes are a valid word, and any word is 8 valid bytes.
        let (before, words, _) = unsafe { self.bytes_mut().align_to_mut::<u64>() };
        assert!(before.is_empty(), "memory begins at a page");
        words
    }

    /// The memory as doubles.
    pub fn doubles(&self) -> &[f64] {
        // SAFETY: any 8 bytes are a valid double.
        whole(unsafe { self.bytes().align_to::<f64>() })
    }

    /// The memory as mutable doubles.
    pub fn doubles_mut(&mut self) -> &mut [f64] {
        // SAFETY: any 8 bytes are a valid double, and any double is 8 valid bytes.
        let (before, doubles, _) = unsafe { self.bytes_mut().align_to_mut::<f64>() };
        assert!(before.is_empty(), "memory begins at a page");
        doubles
    }
}

/// The aligned middle of a slice: all of it except an odd tail.
fn whole<'a, T>((before, whole, _): (&[u8], &'a [T], &[u8])) -> &'a [T] {
    assert!(before.is_empty(), "memory begins at a page");
    whole
}

/// Advises the OS about huge pages. An OS without huge pages rejects that, which is not an error:
/// the evidence shows which pages were used.
fn advise(map: &MmapMut, advice: Advice, offset: usize, length: usize) {
    if let Err(error) = map.advise_range(advice, offset, length) {
        log::debug!("madvise '{advice:?}' of {length} bytes failed: {error}");
    }
}

/// The error when memory cannot be mapped.
fn cannot_map(length: usize, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("mapping {length} bytes of memory failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(length: usize, pages: Pages) {
        let mut memory = Memory::resident(length, pages).expect("there is room for little");
        assert_eq!(memory.bytes(), vec![0xA5; length], "{length} bytes, {pages}");
        let align = if pages == Pages::Huge { huge_bytes() } else { PAGE_BYTES };
        assert!(memory.bytes().as_ptr().addr().is_multiple_of(align), "{length} bytes, {pages}");
        let words = length / 8;
        memory.words_mut().fill(7);
        assert_eq!(memory.words(), vec![7; words]);
        memory.doubles_mut().fill(3.0);
        assert_eq!(memory.doubles(), vec![3.0; words]);
        assert!(memory.bytes()[8 * words..].iter().all(|byte| *byte == 0xA5));
    }

    #[test]
    fn memory_of_any_length_is_written_and_begins_at_its_page() {
        for pages in Pages::ALL.iter().copied() {
            for length in [0, 1, 13, 4096, 4097, 20 << 10, 2 << 20, (2 << 20) + 8] {
                check(length, pages);
            }
        }
    }

    #[test]
    fn fresh_memory_is_zero() {
        for pages in [None, Some(Pages::Base), Some(Pages::Huge)] {
            let memory = Memory::map(10_000, pages).expect("there is room for little");
            assert_eq!(memory.bytes(), [0; 10_000]);
        }
    }

    #[test]
    fn memory_that_cannot_be_had_is_an_error_with_its_size() {
        for length in [1 << 62, usize::MAX - 5] {
            for pages in [None, Some(Pages::Base), Some(Pages::Huge)] {
                let error = Memory::map(length, pages).map(|_| ()).expect_err("too much");
                let expected = format!("mapping {length} bytes of memory failed: ");
                assert!(error.to_string().starts_with(&expected), "{error}");
            }
        }
    }
}
