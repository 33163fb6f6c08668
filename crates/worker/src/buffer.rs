//! Memory for the blocks that an engine reads or writes.

use crate::memory::Memory;
use model::case::{BufferPages, Io, Pages};
use std::io;

/// One page-aligned buffer per slot. Each is written once in advance, so no page fault is timed.
#[derive(Debug)]
pub struct Buffers {
    memory: Memory,
    block: usize,
    /// The smallest block, if there are several sizes.
    least: Option<usize>,
    stride: usize,
}

/// O_DIRECT requires buffers aligned to the device's logical block, which is at most 4 KiB.
const ALIGN: usize = 4096;

impl Buffers {
    /// Allocates `slots` buffers of `block` bytes in these pages, whatever their size: a device's
    /// request has fewer segments in huge pages, so figures of different blocks and depths could
    /// not be compared otherwise.
    ///
    /// # Errors
    /// If the OS cannot allocate them; the error states the size.
    pub fn new(slots: usize, block: usize, pages: BufferPages) -> io::Result<Buffers> {
        let stride = block.checked_next_multiple_of(ALIGN);
        let bytes = stride.and_then(|stride| stride.checked_mul(slots));
        let (Some(stride), Some(bytes)) = (stride, bytes) else {
            let text = format!("no machine can address {slots} buffers of {block} bytes");
            return Err(io::Error::other(text));
        };
        let pages = if pages == BufferPages::Huge { Pages::Huge } else { Pages::Base };
        Ok(Buffers { memory: Memory::resident(bytes, pages)?, block, least: None, stride })
    }

    /// Buffers for the reads of `io`.
    ///
    /// # Errors
    /// As for [`Buffers::new`].
    pub fn for_reads(io: &Io) -> io::Result<Buffers> {
        let least = io.sizes.map(|sizes| sizes.least() as usize);
        Ok(Buffers { least, ..Buffers::new(io.depth as usize, io.block as usize, io.pages)? })
    }

    /// The bytes to ask for to read `length` of them: whole blocks, even if the file ends within
    /// one, because O_DIRECT requires that.
    #[inline(always)]
    pub fn asked(&self, length: usize) -> usize {
        self.least.map_or(self.block, |least| length.next_multiple_of(least))
    }

    /// The buffer of `slot`.
    #[inline]
    pub fn slot(&self, slot: usize) -> &[u8] {
        let start = slot * self.stride;
        &self.memory.bytes()[start..start + self.block]
    }

    /// The buffer of `slot`, to write to.
    #[inline]
    pub fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        let start = slot * self.stride;
        &mut self.memory.bytes_mut()[start..start + self.block]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of `/proc/self/smaps` about the mapping of the first buffer.
    fn smaps(buffers: &Buffers) -> String {
        let address = buffers.slot(0).as_ptr().addr();
        let all = std::fs::read_to_string("/proc/self/smaps").expect("every Linux has it");
        let mut found = String::new();
        let mut is_it = false;
        for line in all.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let number = |text| usize::from_str_radix(text, 16).ok();
            if let Some((from, to)) =
                range.and_then(|(from, to)| Some((number(from)?, number(to)?)))
            {
                is_it = (from..to).contains(&address);
            }
            if is_it {
                found += line;
                found += "\n";
            }
        }
        found
    }

    /// Bytes of that mapping in huge pages, and whether the OS was told to use them or to avoid
    /// them.
    fn seen(buffers: &Buffers) -> (u64, bool, bool) {
        let text = smaps(buffers);
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let huge =
            line("AnonHugePages:").and_then(|it| it.trim().strip_suffix(" kB")?.parse().ok());
        let flags: Vec<&str> = line("VmFlags:").unwrap_or_default().split_whitespace().collect();
        let huge: u64 = huge.expect("smaps has it");
        (huge << 10, flags.contains(&"hg"), flags.contains(&"nh"))
    }

    const MIB: usize = 1 << 20;
    const SHAPES: [(usize, usize); 6] =
        [(1, 512), (1, 4096), (1, MIB / 2), (2, MIB), (4, MIB), (3, 3 * MIB + 1)];

    #[test]
    fn buffers_are_in_base_pages_whatever_their_size() {
        for (slots, block) in SHAPES {
            let buffers = Buffers::new(slots, block, BufferPages::Base).expect("there is room");
            let (bytes, is_told, is_forbidden) = seen(&buffers);
            assert_eq!((bytes, is_told), (0, false), "{slots} × {block}");
            // A kernel without huge pages has no such flag.
            assert!(is_forbidden || !has_huge_pages(), "{slots} × {block}");
        }
    }

    fn has_huge_pages() -> bool {
        std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists()
    }

    #[test]
    fn huge_pages_are_asked_for_whatever_the_size() {
        for (slots, block) in SHAPES {
            let buffers = Buffers::new(slots, block, BufferPages::Huge).expect("there is room");
            let (_, is_told, is_forbidden) = seen(&buffers);
            assert_eq!((is_told, is_forbidden), (has_huge_pages(), false), "{slots} × {block}");
            let (first, last) = (buffers.slot(0), buffers.slot(slots - 1));
            assert_eq!((first.len(), last.len()), (block, block));
            assert!(last.as_ptr().addr().is_multiple_of(ALIGN));
            assert!(last.iter().all(|byte| *byte == 0xA5));
        }
    }
}
