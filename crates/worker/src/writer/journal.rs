//! Transactions with a rollback journal, by the calls that SQLite makes for one (strace, 3.40).
//!
//! A write appends a block's old content to the journal. The sync after the last block of a
//! transaction makes the journal durable, then overwrites the blocks, makes these durable, and ends
//! the journal. A journal that is there after a power cut is played back, so what is left is all of
//! the transaction or nothing.

use super::{WriteCall, WriteTarget};
use crate::engine::{BlockIo, Obstacle};
use crate::source::BlockSource;
use model::case::{Io, JournalEnd, WriteWork};
use model::random::mix;
use rustix::fs::{AtFlags, Mode, OFlags};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The name of the journal: the run removes what ends so.
const NAME: &str = "journal.data";
/// Bytes of the header, which has a sector of its own.
const HEADER: usize = 512;
/// Bytes of the header that tell how many blocks there are.
const COUNT: usize = 12;
/// Bytes of the header that are zero in a journal that has ended.
const ENDED: usize = 28;
/// Bytes of a block's number, before it, and of its checksum, after it.
const WORD: usize = 4;

const CALL: WriteCall = WriteCall::new("pwrite", &[]);

/// Writes blocks in transactions.
#[derive(Debug)]
pub struct JournaledPwrite {
    target: WriteTarget,
    end: JournalEnd,
    journal: Journal,
    /// New contents: each block of a transaction has a slot until it is written.
    new: BlockSource,
    /// Old contents. What the journal has is never read, so they need not be what the file has, but
    /// must not be the new ones: a device may store equal blocks once.
    old: BlockSource,
    /// Where the blocks of the transaction are in the file.
    offsets: Box<[u64]>,
    /// How many of them are in the journal.
    count: usize,
}

/// A rollback journal in the run's folder.
#[derive(Debug)]
struct Journal {
    folder: OwnedFd,
    name: CString,
    /// Its file during a transaction.
    file: Option<File>,
    /// Where the next block goes.
    place: u64,
    header: [u8; HEADER],
}

impl JournaledPwrite {
    /// An engine that does `work` on `target` with a journal in `folder`.
    ///
    /// # Errors
    /// If the folder cannot be opened, or the OS cannot allocate the buffers.
    pub fn new(
        target: WriteTarget,
        work: &WriteWork,
        seed: u64,
        folder: &Path,
    ) -> Result<JournaledPwrite, Obstacle> {
        let Some(end) = work.atomic.journal() else {
            return Err(Obstacle::Failed(format!("atomic {} has no journal", work.atomic)));
        };
        let transaction = Io { depth: work.every as u32, ..work.io };
        let source = |seed, io: &Io| {
            BlockSource::new(work.content(seed), io).map_err(|error| {
                Obstacle::Failed(format!("preparing the data to write failed: {error}"))
            })
        };
        Ok(JournaledPwrite {
            target,
            end,
            journal: Journal::new(folder)?,
            new: source(seed, &transaction)?,
            old: source(mix(!seed), &work.io)?,
            offsets: vec![0; work.every as usize].into_boxed_slice(),
            count: 0,
        })
    }

    /// Makes the journal durable, then the blocks, and ends the journal.
    fn commit(&mut self) -> io::Result<()> {
        let sync = |file: &File| self.target.sync_file(file);
        let journal = &self.journal;
        let Some(file) = &journal.file else { return Ok(()) };
        sync(file)?;
        // A name that a power cut takes away protects nothing.
        sync(&journal.directory()?)?;
        write_at(file, &journal.header[..COUNT], 0)?;
        sync(file)?;
        for (slot, offset) in self.offsets[..self.count].iter().enumerate() {
            write_at(&self.target.file, self.new.block(slot), *offset)?;
        }
        sync(&self.target.file)?;
        match self.end {
            JournalEnd::Delete => {}
            JournalEnd::Truncate => {
                file.set_len(0)?;
                sync(file)?;
            }
            JournalEnd::Persist => {
                write_at(file, &[0; ENDED], 0)?;
                sync(file)?;
            }
        }
        self.count = 0;
        self.journal.file = None;
        if self.end == JournalEnd::Delete { self.journal.remove() } else { Ok(()) }
    }
}

impl Journal {
    fn new(folder: &Path) -> Result<Journal, Obstacle> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let opened = rustix::fs::open(folder, flags, Mode::empty())
            .map_err(|error| Obstacle::failed("opening", folder, &error.into()))?;
        let name = CString::new(NAME).expect("the name has no NUL");
        Ok(Journal { folder: opened, name, file: None, place: 0, header: [0xD9; HEADER] })
    }

    /// Opens it, and writes a header that counts no blocks yet.
    fn begin(&mut self) -> io::Result<()> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = File::from(rustix::fs::openat(&self.folder, &self.name, flags, mode)?);
        write_at(&file, &self.header, 0)?;
        self.place = HEADER as u64;
        self.file = Some(file);
        Ok(())
    }

    /// Appends a block: its number, its old content and a checksum.
    fn append(&mut self, block: &[u8]) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        for part in [&self.header[..WORD], block, &self.header[..WORD]] {
            write_at(file, part, self.place)?;
            self.place += part.len() as u64;
        }
        Ok(())
    }

    /// The directory of its name.
    fn directory(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.folder, c".", flags, Mode::empty())?))
    }

    fn remove(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty())?)
    }
}

#[inline]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    CALL.whole(offset, bytes.len(), |moved| file.write_at(&bytes[moved..], offset + moved as u64))
}

impl BlockIo for JournaledPwrite {
    const LOADS_ARE_IO: bool = false;
    const WRITES: bool = true;

    #[inline]
    fn submit(&mut self, _slot: usize, offset: u64, length: usize) -> io::Result<()> {
        self.new.make(self.count, offset, length);
        self.old.make(0, offset, length);
        self.offsets[self.count] = offset;
        Ok(())
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        if self.count == 0 {
            self.journal.begin()?;
        }
        self.journal.append(self.old.block(0))?;
        self.count += 1;
        Ok((0, &[]))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.commit()
    }

    fn let_go(&mut self) {
        self.journal.file = None;
        // It is not there after a transaction that deleted it.
        drop(self.journal.remove());
    }
}
