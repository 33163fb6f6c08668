//! Performs a job on the names of files. To the timed loop, a name is a byte of a file, and a call
//! moves it.

use crate::blocks::{ThreadWork, move_blocks};
use crate::drive::{Consume, LoopState, ThreadPlan};
use crate::engine::{BlockIo, Obstacle};
use crate::reporter::Client;
use model::case::{Call, MetadataWork, NameSync};
use model::metadata::{Letter, NAME_BYTES};
use rustix::fs::{AtFlags, Mode, OFlags, RawDir, SeekFrom};
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Performs `work` in the directories of `folder`.
pub fn perform_names(work: &MetadataWork, seed: u64, folder: &Path, client: &mut dyn Client) {
    let own = |thread| -> Result<ThreadWork<NameCalls>, Obstacle> {
        let plan = ThreadPlan::of_metadata(work, thread, seed);
        let state = LoopState::new(&work.io(), &plan);
        Ok((NameCalls::new(work, thread, seed, folder)?, plan, state))
    };
    move_blocks(&work.call.to_string(), work.threads, own, &FoundSums(work.call), client);
}

/// Bytes of a name with the NUL after it.
const STRIDE: usize = NAME_BYTES + 1;

/// As much as the C library reads of a directory at a time.
const LISTING_BYTES: usize = 32 << 10;

/// One thread's names.
#[derive(Debug)]
struct ThreadNames {
    bytes: Vec<u8>,
}

impl ThreadNames {
    /// `thread`'s names with this letter.
    fn new(work: &MetadataWork, thread: u32, letter: Letter, seed: u64) -> ThreadNames {
        let mut bytes = Vec::with_capacity(work.entries as usize * STRIDE);
        for index in 0..work.entries {
            bytes.extend(MetadataWork::name(thread, index, letter, seed));
            bytes.push(0);
        }
        ThreadNames { bytes }
    }

    #[inline(always)]
    fn get(&self, index: u64) -> io::Result<&CStr> {
        let start = index as usize * STRIDE;
        CStr::from_bytes_with_nul(&self.bytes[start..start + STRIDE]).map_err(io::Error::other)
    }
}

/// Calls on one thread's names, one at a time.
#[derive(Debug)]
struct NameCalls {
    call: Call,
    is_synced: bool,
    directory: OwnedFd,
    /// The names as they are created.
    names: ThreadNames,
    /// The names after a rename; empty for other calls.
    renamed: ThreadNames,
    /// How often each name was renamed before this pass, and once more.
    passes: u64,
    /// The name, or the number of names, of the next call.
    index: u64,
    length: usize,
    listing: Vec<MaybeUninit<u8>>,
    /// What the last call found.
    found: [u8; 8],
}

impl NameCalls {
    fn new(
        work: &MetadataWork,
        thread: u32,
        seed: u64,
        folder: &Path,
    ) -> Result<NameCalls, Obstacle> {
        let path = folder.join(work.directory(thread));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let directory = rustix::fs::open(&path, flags, Mode::empty())
            .map_err(|error| Obstacle::failed("opening", &path, &error.into()))?;
        let (renames, lists) = (work.call == Call::Rename, work.call == Call::Readdir);
        let none = ThreadNames { bytes: Vec::new() };
        let second = || ThreadNames::new(work, thread, Letter::B, seed);
        Ok(NameCalls {
            call: work.call,
            is_synced: work.sync == NameSync::Fsync,
            directory,
            names: ThreadNames::new(work, thread, Letter::A, seed),
            renamed: if renames { second() } else { none },
            passes: 0,
            index: 0,
            length: 0,
            listing: vec![MaybeUninit::uninit(); if lists { LISTING_BYTES } else { 0 }],
            found: [0; 8],
        })
    }

    #[inline(always)]
    fn create(&self) -> io::Result<()> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let name = self.names.get(self.index)?;
        let file = rustix::fs::openat(&self.directory, name, flags, mode)?;
        if self.is_synced {
            rustix::fs::fsync(&file)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn stat(&self) -> io::Result<u64> {
        let name = self.names.get(self.index)?;
        Ok(rustix::fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW)?.st_ino)
    }

    #[inline(always)]
    fn open(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        rustix::fs::openat(&self.directory, self.names.get(self.index)?, flags, Mode::empty())?;
        Ok(())
    }

    #[inline(always)]
    fn rename(&self) -> io::Result<()> {
        let (from, to) = match Letter::after(self.passes) {
            Letter::A => (&self.renamed, &self.names),
            Letter::B => (&self.names, &self.renamed),
        };
        let (from, to) = (from.get(self.index)?, to.get(self.index)?);
        Ok(rustix::fs::renameat(&self.directory, from, &self.directory, to)?)
    }

    #[inline(always)]
    fn unlink(&self) -> io::Result<()> {
        let name = self.names.get(self.index)?;
        Ok(rustix::fs::unlinkat(&self.directory, name, AtFlags::empty())?)
    }

    /// Lists the directory. Returns the digest of its names.
    fn list(&mut self) -> io::Result<u64> {
        rustix::fs::seek(&self.directory, SeekFrom::Start(0))?;
        let mut entries = RawDir::new(&self.directory, &mut self.listing);
        let (mut count, mut digest) = (0usize, 0u64);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                count += 1;
                digest = digest.wrapping_add(MetadataWork::name_digest(name));
            }
        }
        if count != self.length {
            let expected = self.length;
            return Err(io::Error::other(format!("listed {count} names in place of {expected}")));
        }
        Ok(digest)
    }
}

impl BlockIo for NameCalls {
    const LOADS_ARE_IO: bool = false;

    fn begin_pass(&mut self) -> io::Result<()> {
        self.passes += 1;
        Ok(())
    }

    #[inline]
    fn submit(&mut self, _slot: usize, offset: u64, length: usize) -> io::Result<()> {
        (self.index, self.length) = (offset, length);
        Ok(())
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        match self.call {
            Call::Create => self.create()?,
            Call::Stat => self.found = self.stat()?.to_le_bytes(),
            Call::Open => self.open()?,
            Call::Readdir => self.found = self.list()?.to_le_bytes(),
            Call::Rename => self.rename()?,
            Call::Unlink => self.unlink()?,
        }
        if self.is_synced {
            rustix::fs::fsync(&self.directory)?;
        }
        Ok((0, &self.found))
    }
}

/// Adds up what calls found: inodes, and digests of listings.
#[derive(Debug, Clone)]
struct FoundSums(Call);

impl Consume for FoundSums {
    #[inline(always)]
    fn consume(&mut self, index: u64, found: &[u8]) -> u64 {
        let word = || found.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        match self.0 {
            Call::Stat => MetadataWork::inode_digest(index, word()),
            Call::Readdir => word(),
            Call::Create | Call::Open | Call::Rename | Call::Unlink => 0,
        }
    }
}
