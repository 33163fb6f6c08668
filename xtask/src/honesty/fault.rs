//! The description of a fault.

use super::limit::Limit;
use super::said::Sign;

/// A known way to be misled, and how each tool is tested with it.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) name: &'static str,
    /// What is planted, as text.
    pub(super) planted: &'static str,
    /// The true figure, or what really serves the bytes.
    pub(super) truth: &'static str,
    /// What a user of fio or dd could do instead, and other remarks.
    pub(super) aside: &'static str,
    /// The tools whose defaults avoid the fault; `aside` explains why.
    pub(super) avoided: &'static [&'static str],
    pub(super) place: Place,
    pub(super) content: Content,
    /// Size of the file in bytes.
    pub(super) size: u64,
    pub(super) before: Before,
    pub(super) limit: Option<Limit>,
    pub(super) meanwhile: Meanwhile,
    /// What strace injects into reads of the file.
    pub(super) inject: Option<&'static str>,
    /// Command lines. `FILE` stands for the file, `DIR` for its directory, and `WRITE` for the
    /// recipe that writes.
    pub(super) ioassay: &'static str,
    pub(super) fio: &'static str,
    pub(super) dd: &'static str,
    /// What counts as a warning by ioassay.
    pub(super) signs: &'static [Sign],
}

/// Where the file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A new file system on a loop device; `below` is a losetup option for access to the image.
    Loop { kind: &'static str, mount: &'static str, below: &'static str },
    /// An overlay with its layers on a loop device.
    Overlay,
    /// A directory on a loop device, mirrored by bindfs.
    Fuse,
    /// A compressed RAM disk.
    Zram,
    /// An in-memory file system.
    Memory,
}

/// A plain file system on a loop device with direct I/O. Without `noinit_itable`, ext4 would
/// initialize tables in the background.
pub(super) const PLAIN: Place =
    Place::Loop { kind: "ext4", mount: "rw,noinit_itable", below: PAST_CACHE };

/// The losetup option for direct I/O to the image.
pub(super) const PAST_CACHE: &str = "--direct-io=on";

/// The file's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Random,
    Zeros,
    /// None: only the size is set.
    Sparse,
    /// None: the blocks are only allocated.
    Allocated,
    /// There is no file: the tool writes it.
    Absent,
}

/// What happens before each tool starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// The file is evicted from the page cache.
    Evict,
    /// The file is read into the page cache.
    Warm,
    /// The file is read into the page cache, and its second half evicted.
    HalfWarm,
    /// The file is evicted, and its first half read with 8 MiB of readahead.
    ReadAhead,
    /// The file is removed.
    Remove,
}

/// What happens while a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meanwhile {
    Nothing,
    /// Other processes use the CPUs.
    Busy,
    /// Other processes read from the same device.
    Readers,
    /// After the device has moved this many bytes (for ioassay, fio and dd), the limit becomes
    /// `limit`.
    Change {
        bytes: [u64; 3],
        limit: Limit,
    },
}
