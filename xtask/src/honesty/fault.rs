//! What a fault is made of.

use super::limit::Limit;
use super::said::Sign;

/// A known way to be fooled, and who is asked what about it.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) name: &'static str,
    /// What is planted, in words.
    pub(super) planted: &'static str,
    /// What the figure should be, or what serves the bytes.
    pub(super) truth: &'static str,
    /// What a user of fio or dd could have asked for instead, or what else is to be known.
    pub(super) aside: &'static str,
    /// The tools that are not fooled because of what they do by default; `aside` says what.
    pub(super) avoided: &'static [&'static str],
    pub(super) place: Place,
    pub(super) content: Content,
    /// Bytes of the file.
    pub(super) size: u64,
    pub(super) before: Before,
    pub(super) limit: Option<Limit>,
    pub(super) meanwhile: Meanwhile,
    /// What strace does to reads of the file.
    pub(super) inject: Option<&'static str>,
    /// Command lines; `FILE` stands for the file, `DIR` for its directory, `WRITE` for the recipe
    /// that writes.
    pub(super) ioassay: &'static str,
    pub(super) fio: &'static str,
    pub(super) dd: &'static str,
    /// By what ioassay tells of it.
    pub(super) signs: &'static [Sign],
}

/// Where the file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A new file system on a loop device. How that reads its image is an option of losetup.
    Loop { kind: &'static str, mount: &'static str, below: &'static str },
    /// An overlay, whose layers are on a loop device.
    Overlay,
    /// A directory on a loop device that bindfs shows elsewhere.
    Fuse,
    /// A disk in compressed memory.
    Zram,
    /// A file system in memory.
    Memory,
}

/// A plain file system on a loop device that reads its image past the page cache. Nothing is
/// written there but what is asked for: ext4 would fill in its tables in the background.
pub(super) const PLAIN: Place =
    Place::Loop { kind: "ext4", mount: "rw,noinit_itable", below: PAST_CACHE };

/// The option of losetup for direct I/O below.
pub(super) const PAST_CACHE: &str = "--direct-io=on";

/// What the file is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Random,
    Zeros,
    /// Nothing: its size was set.
    Sparse,
    /// Nothing: its blocks were allocated.
    Allocated,
    /// There is none: it is written.
    Absent,
}

/// What is done before each tool is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// The file is taken out of the page cache.
    Evict,
    /// It is read into the page cache.
    Warm,
    /// It is read into the page cache, and its second half taken out again.
    HalfWarm,
    /// It is taken out, and its first half read again, where the device reads 8 MiB ahead.
    ReadAhead,
    /// It is removed.
    Remove,
}

/// What goes on while a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meanwhile {
    Nothing,
    /// Others need the CPUs.
    Busy,
    /// Others read from the same device.
    Readers,
    /// Once the device has moved so many bytes for ioassay, fio or dd, the limit becomes `limit`.
    Change {
        bytes: [u64; 3],
        limit: Limit,
    },
}
