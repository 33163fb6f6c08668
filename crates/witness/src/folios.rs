//! The units of memory in which the OS holds the cached pages of a file (folios): single pages, or
//! powers of two of them. A mapping of large ones is faster.

use crate::page_cache::{Window, length};
use rustix::mm::{Advice, ProtFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of a part that is looked at: on most machines, no folio of a page cache is larger.
const PART: u64 = 2 << 20;
/// The most parts of a file that are looked at, which takes about 10 ms.
const PARTS_MOST: u64 = 32;
/// Bytes of an entry of `/proc/PID/pagemap` and of `/proc/kpageflags`.
const ENTRY: u64 = 8;
/// In a pagemap: the page is in memory. The lowest 55 bits are its frame then.
const PRESENT: u64 = 1 << 63;
const FRAME: u64 = (1 << 55) - 1;
/// `KPF_COMPOUND_TAIL`: not the first page of a folio.
const TAIL: u64 = 1 << 16;

/// The mean size in bytes of the folios of the cached `file`; `None` if this process may not see
/// them, which takes root.
pub fn folio_bytes(file: &File) -> Option<u64> {
    let flags = File::open("/proc/kpageflags").ok()?;
    let map = File::open("/proc/self/pagemap").ok()?;
    let page = rustix::param::page_size() as u64;
    let size = length(file).ok()?;
    let parts = size.div_ceil(PART);
    let looked_at = parts.min(PARTS_MOST);
    let (mut bytes, mut folios) = (0, 0);
    for number in 0..looked_at {
        let start = number * parts / looked_at * PART;
        let length = PART.min(size - start).next_multiple_of(page);
        let window = Window::map(file, start, length as usize, ProtFlags::READ).ok()?;
        window.advise(Advice::LinuxPopulateRead).ok()?;
        let mut heads = 0;
        for run in runs(&frames(&map, window.address() / page, length / page).ok()??) {
            heads += heads_of(&flags, &run).ok()?;
        }
        bytes += length;
        // One that is larger than a part begins before it.
        folios += heads.max(1);
    }
    bytes.checked_div(folios)
}

/// The frames of the pages from `first` on in this process; `None` if they are hidden.
fn frames(map: &File, first: u64, pages: u64) -> io::Result<Option<Vec<u64>>> {
    let entries = entries(map, first, pages)?;
    let frames: Vec<u64> = entries.iter().map(|entry| entry & FRAME).collect();
    let is_seen =
        entries.iter().zip(&frames).all(|(entry, frame)| entry & PRESENT != 0 && *frame > 0);
    Ok(is_seen.then_some(frames))
}

/// The frames in runs without gaps, so that few calls read their flags.
fn runs(frames: &[u64]) -> Vec<std::ops::Range<u64>> {
    frames
        .chunk_by(|one, next| one + 1 == *next)
        .map(|run| run[0]..run[run.len() - 1] + 1)
        .collect()
}

/// How many of the frames begin a folio.
fn heads_of(flags: &File, run: &std::ops::Range<u64>) -> io::Result<u64> {
    let flags = entries(flags, run.start, run.end - run.start)?;
    Ok(flags.iter().filter(|flags| **flags & TAIL == 0).count() as u64)
}

fn entries(file: &File, first: u64, count: u64) -> io::Result<Vec<u64>> {
    let mut bytes = vec![0; (count * ENTRY) as usize];
    file.read_exact_at(&mut bytes, first * ENTRY)?;
    let entry = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("a chunk has 8 bytes"));
    Ok(bytes.chunks_exact(ENTRY as usize).map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_in_a_row_are_one_run() {
        assert_eq!(runs(&[7, 8, 9, 3, 5, 6]), [7..10, 3..4, 5..7]);
        assert!(runs(&[]).is_empty());
    }
}
