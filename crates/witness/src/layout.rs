//! How a file is stored: which parts were never written, and which are stored in another form.

use model::host::FileLayout;
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, opcode};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;

/// `struct fiemap` of `linux/fiemap.h`, without the trailing extents.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapHeader {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    capacity: u32,
    reserved: u32,
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_flags: [u32; 3],
}

/// Extents per request, which take 28 KiB.
const EXTENTS: usize = 512;

/// A header with space for the answer.
#[repr(C)]
struct FiemapRequest {
    header: FiemapHeader,
    extents: [FiemapExtent; EXTENTS],
}

const FS_IOC_FIEMAP: Opcode = opcode::read_write::<FiemapHeader>(b'f', 11);
/// Write dirty pages back first. Until then, even ext4 reports their data as unwritten
/// (docs/method).
const FLAG_SYNC: u32 = 0x1;
const EXTENT_LAST: u32 = 0x1;
const EXTENT_ENCODED: u32 = 0x8;
const EXTENT_ENCRYPTED: u32 = 0x80;
const EXTENT_INLINE: u32 = 0x200;
const EXTENT_TAIL: u32 = 0x400;
const EXTENT_UNWRITTEN: u32 = 0x800;
const EXTENT_SHARED: u32 = 0x2000;

/// The layout of `range` of `file` on its storage: others may add to it. Writes its dirty pages
/// back first.
///
/// `None` if the file system does not report it.
///
/// # Errors
/// Any error of the OS except for missing support.
pub fn layout(file: &File, range: Range<u64>) -> io::Result<Option<FileLayout>> {
    match by_extents(file, range.clone(), FLAG_SYNC) {
        Ok(tally) => Ok(Some(tally.layout())),
        Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL | Errno::BADR | Errno::NOSYS) => {
            by_seeking(file, range)
        }
        Err(error) => Err(error.into()),
    }
}

/// The bytes of `file` that it shares with other files: a copy of them moved nothing. Leaves dirty
/// pages alone, which are shared with nobody. `None` if the file system does not report it.
pub fn shared_bytes(file: &File) -> Option<u64> {
    let size = file.metadata().ok()?.len();
    by_extents(file, 0..size, 0).ok().map(|tally| tally.shared)
}

/// The extents of `file`, asked for with these flags.
fn by_extents(file: &File, range: Range<u64>, flags: u32) -> Result<ExtentSums, Errno> {
    let mut request = Box::new(FiemapRequest {
        header: FiemapHeader::default(),
        extents: [FiemapExtent::default(); EXTENTS],
    });
    let mut tally = ExtentSums::new(range);
    loop {
        request.header = FiemapHeader {
            start: tally.end,
            length: u64::MAX - tally.end,
            flags,
            capacity: EXTENTS as u32,
            ..FiemapHeader::default()
        };
        // SAFETY: for this request, the kernel takes a `struct fiemap` followed by as many extents
        // as its capacity states. That is the layout of `Request`, which is borrowed for the call
        // only.
        unsafe {
            let call = Updater::<FS_IOC_FIEMAP, FiemapRequest>::new(&mut *request);
            rustix::ioctl::ioctl(file, call)
        }?;
        let mapped = (request.header.mapped as usize).min(EXTENTS);
        request.extents[..mapped].iter().for_each(|extent| tally.add(extent));
        let is_last = request.extents[..mapped].last().is_none_or(|e| e.flags & EXTENT_LAST != 0);
        // An answer without progress would repeat forever.
        if is_last || tally.end >= tally.limit || tally.end == request.header.start {
            return Ok(tally);
        }
    }
}

/// Sums up the extents of a range, which come in file order.
struct ExtentSums {
    /// End of the range.
    limit: u64,
    /// End of the last extent.
    end: u64,
    unwritten: u64,
    encoded: u64,
    shared: u64,
    extents: u64,
}

impl ExtentSums {
    fn new(range: Range<u64>) -> ExtentSums {
        let Range { start: end, end: limit } = range;
        ExtentSums { limit, end, unwritten: 0, encoded: 0, shared: 0, extents: 0 }
    }

    fn add(&mut self, extent: &FiemapExtent) {
        // Blocks allocated past the end of the file are not part of it, nor those before the range.
        let start = extent.logical.clamp(self.end.min(self.limit), self.limit);
        let end = extent.logical.saturating_add(extent.length);
        let length = end.clamp(start, self.limit) - start;
        self.unwritten += start.saturating_sub(self.end);
        self.end = self.end.max(end);
        if length == 0 {
            return;
        }
        self.extents += 1;
        if extent.flags & EXTENT_UNWRITTEN != 0 {
            self.unwritten += length;
        }
        if extent.flags & EXTENT_SHARED != 0 {
            self.shared += length;
        }
        // Encrypted extents count as encoded, too, but are stored byte for byte.
        let is_encoded = extent.flags & EXTENT_ENCODED != 0 && extent.flags & EXTENT_ENCRYPTED == 0;
        if is_encoded || extent.flags & (EXTENT_INLINE | EXTENT_TAIL) != 0 {
            self.encoded += length;
        }
    }

    fn layout(&self) -> FileLayout {
        FileLayout {
            unwritten: self.unwritten + self.limit.saturating_sub(self.end),
            encoded: self.encoded,
            extents: Some(self.extents),
        }
    }
}

/// The layout without a list of extents, found by seeking holes. File systems without support
/// report no holes, which is credible only if the file has enough blocks.
fn by_seeking(file: &File, range: Range<u64>) -> io::Result<Option<FileLayout>> {
    let position = rustix::fs::tell(file)?;
    let holes = holes(file, range.clone());
    rustix::fs::seek(file, SeekFrom::Start(position))?;
    let unwritten = match holes {
        Ok(unwritten) => unwritten,
        Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let metadata = file.metadata()?;
    let size = if range.start == 0 { range.end } else { metadata.len() };
    let is_believed = unwritten > 0 || metadata.blocks().saturating_mul(512) >= size;
    Ok(is_believed.then_some(FileLayout { unwritten, encoded: 0, extents: None }))
}

/// The bytes of holes in a range.
fn holes(file: &File, Range { start, end: limit }: Range<u64>) -> Result<u64, Errno> {
    let (mut unwritten, mut end) = (0, start);
    while end < limit {
        let data = match rustix::fs::seek(file, SeekFrom::Data(end)) {
            Ok(data) => data.min(limit),
            // No more data follows.
            Err(Errno::NXIO) => limit,
            Err(error) => return Err(error),
        };
        unwritten += data - end;
        if data == limit {
            break;
        }
        end = rustix::fs::seek(file, SeekFrom::Hole(data))?;
    }
    Ok(unwritten)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    fn check(size: u64, extents: &[(u64, u64, u32)], (unwritten, encoded): (u64, u64)) {
        let mut tally = ExtentSums::new(0..size);
        for &(logical, length, flags) in extents {
            tally.add(&FiemapExtent { logical, length, flags, ..FiemapExtent::default() });
        }
        let layout = tally.layout();
        assert_eq!((layout.unwritten, layout.encoded), (unwritten, encoded), "{extents:?}");
    }

    #[test]
    fn gaps_and_unwritten_extents_are_unwritten() {
        check(0, &[], (0, 0));
        check(100, &[], (100, 0));
        check(100, &[(0, 100, EXTENT_LAST)], (0, 0));
        check(100, &[(10, 20, 0), (50, 50, 0)], (30, 0));
        check(100, &[(0, 40, 0), (40, 60, EXTENT_UNWRITTEN)], (60, 0));
        check(100, &[(0, 40, 0)], (60, 0));
    }

    #[test]
    fn what_lies_behind_the_end_does_not_count() {
        check(100, &[(0, 128, 0)], (0, 0));
        check(100, &[(0, 128, EXTENT_UNWRITTEN)], (100, 0));
        check(100, &[(0, 50, 0), (200, 50, EXTENT_UNWRITTEN)], (50, 0));
        check(100, &[(0, u64::MAX, EXTENT_ENCODED)], (0, 100));
    }

    #[test]
    fn compressed_and_inline_extents_are_encoded_and_encrypted_ones_are_not() {
        check(100, &[(0, 60, EXTENT_ENCODED), (60, 40, 0)], (0, 60));
        check(100, &[(0, 100, EXTENT_INLINE)], (0, 100));
        check(100, &[(0, 100, EXTENT_ENCODED | EXTENT_ENCRYPTED)], (0, 0));
    }

    #[test]
    fn what_is_shared_is_counted_up_to_the_end_of_the_file() {
        let shared = |size, extents: &[(u64, u64, u32)]| {
            let mut tally = ExtentSums::new(0..size);
            for &(logical, length, flags) in extents {
                tally.add(&FiemapExtent { logical, length, flags, ..FiemapExtent::default() });
            }
            tally.shared
        };
        assert_eq!(shared(100, &[(0, 100, 0)]), 0);
        assert_eq!(shared(100, &[(0, 128, EXTENT_SHARED)]), 100);
        assert_eq!(shared(100, &[(0, 40, EXTENT_SHARED), (40, 60, 0)]), 40);
    }

    /// Both ways of asking give the same answer.
    #[test]
    fn extents_and_holes_agree() {
        let directory = tempfile::tempdir().unwrap();
        let size = 600 * 4096;
        let file = File::create(directory.path().join("file")).unwrap();
        file.set_len(size).unwrap();
        let mut rng = model::random::Rng::new(7);
        for _ in 0..150 {
            let block = rng.next_u64() % 600;
            file.write_all_at(&[1; 4096], block * 4096).unwrap();
        }
        let parts = [0..size, 4096..size - 8192, 100 * 4096..101 * 4096, size - 4096..size];
        for range in parts {
            let Ok(tally) = by_extents(&file, range.clone(), FLAG_SYNC) else { return };
            let layout = tally.layout();
            assert_eq!(layout.unwritten, holes(&file, range.clone()).unwrap(), "{range:?}");
            let whole = layout.unwritten > 0 && layout.unwritten < size;
            assert!(whole || range != (0..size), "{layout:?}");
        }
        // What is in none of the parts that a range has is in none of it.
        let sum = |step: u64| -> u64 {
            let parts = (0..size / step).map(|part| part * step..(part + 1) * step);
            parts.map(|part| holes(&file, part).unwrap()).sum()
        };
        assert_eq!(sum(4096), sum(size));
    }
}
