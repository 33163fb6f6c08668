//! The file that is written: in the state that a case asks for at the start of a trial, read back
//! after it, and gone.

use crate::fixture::{TestFile, create_new};
use anyhow::{Context, Result};
use model::case::{Allocation, Isa, WriteWork};
use model::content::Content;
use model::evidence::Probe;
use model::sample::Sample;
use model::trial::{Job, ReadBack};
use model::units;
use rustix::fs::FallocateFlags;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use witness::page_cache;

/// Bytes read back at once.
const CHUNK: u64 = 4 << 20;

/// Parts of a file that are less than this from each other are read back together.
const GAP: u64 = 64 << 10;

/// A file to write to in a trial.
#[derive(Debug)]
pub enum Scratch<'a> {
    /// Made for this trial, with no name in any directory: it is gone when this is dropped.
    Own(File),
    /// One that is written over in each trial.
    Kept(&'a TestFile),
}

impl<'a> Scratch<'a> {
    /// A file in the state that `work` asks for; `kept` is the one to write over.
    ///
    /// # Errors
    /// What was tried and what the OS answered.
    pub fn new(
        directory: &Path,
        work: &WriteWork,
        kept: Option<&'a TestFile>,
    ) -> Result<Scratch<'a>> {
        match (work.allocation, kept) {
            (Allocation::Overwrite, Some(kept)) => return Ok(Scratch::Kept(kept)),
            (Allocation::Overwrite, None) => anyhow::bail!("there is no file to write over"),
            (Allocation::None | Allocation::Fallocate | Allocation::Append, _) => {}
        }
        let name = format!("ioassay-write-{}-{}.data", units::bytes(work.size), std::process::id());
        let visible = directory.join(name);
        let file = create_new(&visible)?;
        std::fs::remove_file(&visible)
            .with_context(|| format!("failed to unlink '{}'", visible.display()))?;
        if work.allocation == Allocation::Fallocate {
            rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, work.size)
                .map_err(io::Error::from)
                .and_then(|()| file.sync_all())
                .with_context(|| {
                    let size = units::bytes(work.size);
                    format!("failed to allocate {size} for '{}'", visible.display())
                })?;
        }
        Ok(Scratch::Own(file))
    }

    /// The open file.
    pub fn file(&self) -> &File {
        match self {
            Scratch::Own(file) => file,
            Scratch::Kept(kept) => kept.file(),
        }
    }

    /// The path by which a worker opens it.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file().as_raw_fd()))
    }

    /// Reads what `job` wrote, from below the page cache where `probe` can prove that, and holds
    /// it against `content`. None where nothing was written, or it would take too long to tell
    /// which blocks were.
    ///
    /// # Errors
    /// When it cannot be made durable or read, with what was tried: then it is not there.
    pub fn read_back(
        &self,
        job: &Job,
        sample: &Sample,
        content: Content,
        probe: Option<Probe>,
    ) -> Result<Option<ReadBack>> {
        let Some(parts) = job.written(sample).filter(|parts| !parts.is_empty()) else {
            return Ok(None);
        };
        let file = self.file();
        file.sync_all().context("fsync of what was written failed")?;
        let evicted = probe.map(|probe| page_cache::evict(file, probe));
        let is_past_cache = matches!(evicted, Some(Ok(_)));
        let mut read_back = ReadBack { bytes: 0, digest: 0, expected: 0, is_past_cache };
        let digest = kernel::digest(Isa::Auto).expect("there is a loop for every processor");
        let mut buffer = vec![0; CHUNK as usize];
        for run in runs(&parts) {
            let (first, last) = (run[0].start, run[run.len() - 1].end);
            let mut offset = first;
            while offset < last {
                let length = (last - offset).min(CHUNK) as usize;
                let chunk = &mut buffer[..length];
                file.read_exact_at(chunk, offset).with_context(|| {
                    format!("reading back {length} bytes at offset {offset} failed")
                })?;
                let end = offset + length as u64;
                let reached = run.partition_point(|part| part.end <= offset);
                for part in run[reached..].iter().take_while(|part| part.start < end) {
                    let (from, to) = (part.start.max(offset), part.end.min(end));
                    let bytes = &chunk[(from - offset) as usize..(to - offset) as usize];
                    read_back.bytes += to - from;
                    read_back.digest = read_back.digest.wrapping_add(digest(from, bytes));
                    read_back.expected = read_back.expected.wrapping_add(content.digest(from..to));
                }
                offset = end;
            }
        }
        Ok(Some(read_back))
    }
}

/// Ascending parts in runs of such as are near each other.
fn runs(parts: &[Range<u64>]) -> impl Iterator<Item = &[Range<u64>]> {
    parts.chunk_by(|one, next| next.start - one.end <= GAP)
}
