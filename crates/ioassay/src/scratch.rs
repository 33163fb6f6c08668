//! A file to write: created in a case's initial state for a trial, read back, and removed.

mod appended;

use crate::directory::{Directory, OwnName};
use crate::fixture::{TestFile, through_proc, with_name};
use crate::stop::Stop;
use anyhow::{Context, Result, bail};
use model::case::{Allocation, Isa, Touch, WriteWork};
use model::content::{Content, DigestTable, STAMP_PAGE};
use model::evidence::Probe;
use model::sample::Sample;
use model::trial::{Job, ReadBack};
use model::units;
use rustix::fs::FallocateFlags;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use witness::page_cache;

/// Size of a read in bytes.
const CHUNK: u64 = 4 << 20;

/// Parts of a file that are less than this apart are read back together.
const GAP: u64 = 64 << 10;

/// A file for a trial to write.
#[derive(Debug)]
pub enum Scratch<'a> {
    /// Created for this trial; its name is removed when this is dropped.
    Own(File, OwnName),
    /// A file that every trial overwrites.
    Kept(&'a TestFile),
}

impl<'a> Scratch<'a> {
    /// A new file in the state that `work` requires.
    ///
    /// # Errors
    /// What was tried, and what the OS answered.
    pub fn new(directory: &Directory, work: &WriteWork) -> Result<Scratch<'a>> {
        let (file, name) = directory.create(&format!("write-{}", units::bytes(work.io.size)))?;
        if work.allocation == Allocation::Fallocate {
            rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, work.io.size)
                .map_err(io::Error::from)
                .and_then(|()| file.sync_all())
                .with_context(|| {
                    let size = units::bytes(work.io.size);
                    format!("failed to allocate {size} for '{}'", name.path().display())
                })?;
        }
        Ok(Scratch::Own(file, name))
    }

    /// The open file.
    pub fn file(&self) -> &File {
        match self {
            Scratch::Own(file, _) => file,
            Scratch::Kept(kept) => kept.file(),
        }
    }

    /// The digests of its content before the trial, if it was written anew.
    pub fn before(&self) -> Option<&DigestTable> {
        match self {
            Scratch::Own(..) => None,
            Scratch::Kept(kept) => kept.answers(Touch::Sum),
        }
    }

    /// The path through which workers open it.
    pub fn path(&self) -> PathBuf {
        through_proc(self.file())
    }

    /// `words` with its name in place of that path.
    pub fn named(&self, words: &str) -> String {
        match self {
            Scratch::Kept(kept) => kept.named(words),
            Scratch::Own(..) => {
                let name = std::fs::read_link(self.path()).unwrap_or_else(|_| self.path());
                with_name(words, &self.path(), &name)
            }
        }
    }

    /// Reads what `job` wrote, from below the page cache if `probe` can verify that, and compares
    /// it with `content`, or with those that it wrote in turn while others read. `None` if nothing
    /// was written, or if listing the written blocks would take too long.
    ///
    /// # Errors
    /// If it cannot be made durable or read, with what was tried: then the data does not exist.
    pub fn read_back(
        &self,
        job: &Job,
        sample: &Sample,
        content: Content,
        probe: Option<Probe>,
        stop: &Stop,
    ) -> Result<Option<ReadBack>> {
        let left = job.left(sample, content).unwrap_or_default();
        if left.iter().all(|(_, parts)| parts.is_empty()) {
            return Ok(None);
        }
        let file = self.file();
        file.sync_all().context("fsync of the written data failed")?;
        if let Scratch::Kept(kept) = self {
            kept.disturbed();
        }
        let evicted = probe.map(|probe| page_cache::evict(file, page_cache::WHOLE, probe));
        let is_past_cache = matches!(evicted, Some(Ok(_)));
        let mut read_back = ReadBack { bytes: 0, digest: 0, expected: 0, is_past_cache };
        if let Some(work) = job.case.write().filter(|work| work.appends_together()) {
            return appended::read(read_back, file, (job, work), sample, content, stop).map(Some);
        }
        let mut buffer = vec![0; CHUNK as usize];
        let runs = left.iter().flat_map(|(content, parts)| runs(parts).map(|run| (*content, run)));
        for (content, run) in runs {
            let (first, last) = (run[0].start, run[run.len() - 1].end);
            let mut offset = first;
            while offset < last {
                if stop.is_asked() {
                    bail!("the run was stopped while it read the data back");
                }
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
                    hold_against(&mut read_back, content, from, bytes);
                }
                offset = end;
            }
        }
        Ok(Some(read_back))
    }
}

/// Adds `bytes`, read at `offset`, and the expected digest.
fn hold_against(read_back: &mut ReadBack, content: Content, offset: u64, bytes: &[u8]) {
    let digest = kernel::digest(Isa::Auto, None).expect("there is a loop for every processor");
    let (mut offset, mut rest) = (offset, bytes);
    while !rest.is_empty() {
        let left = STAMP_PAGE - offset % STAMP_PAGE;
        let (page, others) = rest.split_at(rest.len().min(left as usize));
        let length = page.len() as u64;
        read_back.bytes += length;
        let expected = content.digest(offset..offset + length);
        for (sum, digest) in
            [(&mut read_back.digest, digest(offset, page)), (&mut read_back.expected, expected)]
        {
            *sum = sum.wrapping_add(ReadBack::in_place(offset, digest));
        }
        (offset, rest) = (offset + length, others);
    }
}

/// Groups ascending parts that are close together.
fn runs(parts: &[Range<u64>]) -> impl Iterator<Item = &[Range<u64>]> {
    parts.chunk_by(|one, next| next.start - one.end <= GAP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Case, Io, Work};
    use model::sample::Span;
    use model::zoo;

    /// The result of reading back a file that `writer` wrote.
    fn check(writer: impl Fn(&File, Content)) -> ReadBack {
        let work = WriteWork {
            io: Io { size: (1 << 20) + 8, ..zoo::plain_write().io },
            ..zoo::plain_write()
        };
        let content = work.content(7);
        let directory = Directory::open(&std::env::temp_dir()).expect("it is there");
        let scratch = Scratch::new(&directory, &work).expect("there is room");
        writer(scratch.file(), content);
        let visits = work.io.visits(0, 7);
        let span = Span { ops: visits.count(), ..Span::default() };
        let sample = Sample { spans: vec![span], ..Sample::default() };
        let job = Job::of(Case::own(Work::Write(work)), 7);
        let read_back = scratch.read_back(&job, &sample, content, None, &Stop::default());
        read_back.expect("it can be read").expect("all was written")
    }

    fn bytes_of(content: Content) -> Vec<u8> {
        let mut bytes = vec![0; content.size as usize];
        content.fill(0, &mut bytes);
        bytes
    }

    #[test]
    fn what_was_written_is_right() {
        let read_back = check(|file, content| {
            file.write_all_at(&bytes_of(content), 0).expect("there is room");
        });
        assert_eq!((read_back.bytes, read_back.digest), ((1 << 20) + 8, read_back.expected));
    }

    #[test]
    fn pages_in_the_place_of_each_other_are_found() {
        let read_back = check(|file, content| {
            let mut bytes = bytes_of(content);
            let (head, rest) = bytes.split_at_mut(4096);
            head.swap_with_slice(&mut rest[8192..8192 + 4096]);
            file.write_all_at(&bytes, 0).expect("there is room");
        });
        assert_ne!(read_back.digest, read_back.expected);
    }

    #[test]
    fn a_byte_that_is_wrong_is_found() {
        let read_back = check(|file, content| {
            let mut bytes = bytes_of(content);
            bytes[70_000] ^= 1;
            file.write_all_at(&bytes, 0).expect("there is room");
        });
        assert_ne!(read_back.digest, read_back.expected);
    }

    #[test]
    fn a_file_that_is_shorter_is_an_error() {
        let work = zoo::plain_write();
        let directory = Directory::open(&std::env::temp_dir()).expect("it is there");
        let scratch = Scratch::new(&directory, &work).expect("there is room");
        let sample =
            Sample { spans: vec![Span { ops: 3, ..Span::default() }], ..Sample::default() };
        let content = work.content(1);
        let job = Job::of(Case::own(Work::Write(work)), 1);
        let read_back = scratch.read_back(&job, &sample, content, None, &Stop::default());
        assert!(read_back.is_err(), "{read_back:?}");
    }
}
