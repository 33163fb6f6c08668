//! Performs a job that writes a file.

use crate::blocks::{DigestBlocks, Ignore, ThreadWork, move_blocks, range_of};
use crate::drive::{Consume, LoopState, ThreadPlan};
use crate::engine::{BlockIo, Obstacle, Range, flags_of_write};
use crate::reporter::Client;
use crate::source::BlockSource;
use crate::writer::buffered::Buffered;
use crate::writer::copy::Copy;
use crate::writer::copy_file_range::CopyFileRange;
use crate::writer::idle::Idle;
use crate::writer::journal::JournaledPwrite;
use crate::writer::mixed_pwrite::MixedPwrite;
use crate::writer::mixed_uring::MixedUring;
use crate::writer::mmap::MappingWriter;
use crate::writer::null::NullWriter;
use crate::writer::pwrite::Pwrite;
use crate::writer::sendfile::Sendfile;
use crate::writer::splice::Splice;
use crate::writer::uring::UringWriter;
use crate::writer::uring_copy::UringCopy;
use crate::writer::write::Write;
use crate::writer::{WriteTarget, open_source};
use model::case::{Isa, Op, Sync, WriteEngine, WriteWork};
use model::generation;
use model::trial::{Job, Outcome};
use std::fs::File;
use std::io;
use std::marker;
use std::path::Path;

/// Performs `job`, whose work is `work`.
pub fn perform_write(job: &Job, work: &WriteWork, client: &mut dyn Client) {
    let (file, copied) = (job.file.as_deref(), job.source.as_deref());
    let nowhere = Path::new("");
    let missing = match work.op {
        _ if file.is_none() && work.engine != WriteEngine::Null => "write",
        Op::Copy if copied.is_none() => "copy",
        op => {
            let (file, copied) = (file.unwrap_or(nowhere), copied.unwrap_or(nowhere));
            let (seed, shared) = (job.seed, job.shared);
            let writing = WriteJob { work, seed, shared, file, copied };
            return match op {
                _ if work.sync == Sync::Msync && work.engine != WriteEngine::Mmap => {
                    writing.refuse(client);
                }
                Op::Write if work.read_share > 0 => writing.mix(client),
                Op::Write if work.atomic.journal().is_some() => writing.journal(job, client),
                Op::Write => writing.write(client),
                Op::Copy => writing.copy(client),
                Op::Sync => writing.run(|_| Ok(Idle::new(writing.target()?)), client),
            };
        }
    };
    client.outcome(Outcome::Failed { reason: format!("the job names no file to {missing}") });
}

/// A job that writes.
struct WriteJob<'a> {
    work: &'a WriteWork,
    seed: u64,
    /// Determines the contents, if others read the file meanwhile.
    shared: Option<u64>,
    /// The file to write.
    file: &'a Path,
    /// The file to copy.
    copied: &'a Path,
}

impl WriteJob<'_> {
    /// Selects the engine that writes.
    fn write(&self, client: &mut dyn Client) {
        let WriteJob { work, file, .. } = *self;
        let failed = |error| Obstacle::failed("preparing to write", file, &error);
        match work.engine {
            WriteEngine::Null => {
                self.run(
                    |_| Ok(NullWriter::<false>::new(self.source()?, work.io.depth as usize)),
                    client,
                );
            }
            WriteEngine::Write => {
                self.run(|_| Ok(Write::new(self.target()?, self.source()?)), client);
            }
            WriteEngine::Pwrite => match flags_of_write(work) {
                0 => self.pwrite::<0>(client),
                libc::RWF_DONTCACHE => self.pwrite::<{ libc::RWF_DONTCACHE }>(client),
                libc::RWF_ATOMIC => self.pwrite::<{ libc::RWF_ATOMIC }>(client),
                _ => self.refuse(client),
            },
            WriteEngine::Buffered => {
                self.run(|_| Ok(Buffered::new(self.target()?, self.source()?)), client);
            }
            WriteEngine::Mmap => {
                let make = |thread| {
                    let (target, source) = (self.target()?, self.source()?);
                    MappingWriter::new(target, source, work.io.size, self.range(thread))
                        .map_err(failed)
                };
                self.run(make, client);
            }
            WriteEngine::Uring => {
                let make = |_| UringWriter::new(self.target()?, self.source()?, work);
                self.run(make, client);
            }
            WriteEngine::CopyFileRange | WriteEngine::Sendfile | WriteEngine::Splice => {
                self.refuse(client);
            }
        }
    }

    fn pwrite<const FLAGS: i32>(&self, client: &mut dyn Client) {
        self.run(|_| Ok(Pwrite::<FLAGS>::new(self.target()?, self.source()?)), client);
    }

    /// Selects the engine that writes some blocks and reads the others.
    fn mix(&self, client: &mut dyn Client) {
        let WriteJob { work, file, .. } = *self;
        let depth = work.io.depth as usize;
        let Some(digest) = kernel::digest(Isa::Auto, None).map(DigestBlocks) else {
            return self.refuse(client);
        };
        let failed = |error| Obstacle::failed("preparing to read and write", file, &error);
        match work.engine {
            WriteEngine::Null => {
                self.run(|_| Ok(NullWriter::<true>::new(self.source()?, depth)), client);
            }
            WriteEngine::Pwrite => {
                let make =
                    |_| MixedPwrite::new(self.target()?, self.source()?, &work.io).map_err(failed);
                self.run_with(make, &digest, client);
            }
            WriteEngine::Uring => {
                let make = |_| MixedUring::new(self.target()?, self.source()?, work);
                self.run_with(make, &digest, client);
            }
            _ => self.refuse(client),
        }
    }

    /// Writes transactions with a rollback journal in the job's folder.
    fn journal(&self, job: &Job, client: &mut dyn Client) {
        let Some(folder) = &job.folder else {
            let reason = "the job names no folder for a rollback journal".to_string();
            return client.outcome(Outcome::Failed { reason });
        };
        self.run(|_| JournaledPwrite::new(self.target()?, self.work, self.seed, folder), client);
    }

    /// Selects the engine that copies.
    fn copy(&self, client: &mut dyn Client) {
        let WriteJob { work, copied, .. } = *self;
        let block = work.io.block as usize;
        let failed = |error: io::Error| Obstacle::failed("preparing to copy", copied, &error);
        match work.engine {
            WriteEngine::Write => {
                let make = |_| Copy::new(self.copied()?, self.target()?, &work.io).map_err(failed);
                self.run(make, client);
            }
            WriteEngine::Uring => {
                let make = |_| UringCopy::new(&self.copied()?, self.target()?, &work.io);
                self.run(make, client);
            }
            WriteEngine::CopyFileRange => {
                self.run(|_| Ok(CopyFileRange::new(self.copied()?, self.target()?)), client);
            }
            WriteEngine::Sendfile => {
                self.run(|_| Ok(Sendfile::new(self.copied()?, self.target()?)), client);
            }
            WriteEngine::Splice => {
                let make = |_| Splice::new(self.copied()?, self.target()?, block).map_err(failed);
                self.run(make, client);
            }
            WriteEngine::Null | WriteEngine::Pwrite | WriteEngine::Buffered | WriteEngine::Mmap => {
                self.refuse(client)
            }
        }
    }

    fn refuse(&self, client: &mut dyn Client) {
        let WriteWork { op, engine, sync, .. } = self.work;
        let reason = format!("engine {engine} cannot do op {op} with sync {sync}");
        client.outcome(Outcome::Failed { reason });
    }

    /// Runs a team that writes; `make` creates each thread's engine.
    fn run<E: BlockIo>(
        &self,
        make: impl Fn(u32) -> Result<E, Obstacle> + marker::Sync,
        client: &mut dyn Client,
    ) {
        self.run_with(make, &Ignore, client);
    }

    /// The same with a `consumer` of what is read.
    fn run_with<E: BlockIo, L: Consume + marker::Sync>(
        &self,
        make: impl Fn(u32) -> Result<E, Obstacle> + marker::Sync,
        consumer: &L,
        client: &mut dyn Client,
    ) {
        let work = self.work;
        let own = |thread| -> Result<ThreadWork<E>, Obstacle> {
            let plan = ThreadPlan::of_write(work, thread, self.seed);
            let state = LoopState::new(&work.io, &plan);
            Ok((make(thread)?, plan, state))
        };
        let name = format!("{} {}", work.op, work.engine);
        move_blocks(&name, work.io.threads, own, consumer, client);
    }

    fn target(&self) -> Result<WriteTarget, Obstacle> {
        WriteTarget::open(self.file, self.work)
    }

    fn copied(&self) -> Result<File, Obstacle> {
        open_source(self.copied, self.work)
    }

    fn source(&self) -> Result<BlockSource, Obstacle> {
        let io = &self.work.io;
        let source = match self.shared {
            None => BlockSource::new(self.work.content(self.seed), io),
            Some(shared) => {
                let [_, contents @ ..] = generation::contents(shared, io.size);
                BlockSource::in_turn(contents, io)
            }
        };
        source.map_err(|error| {
            Obstacle::Failed(format!("preparing the data to write failed: {error}"))
        })
    }

    /// The bytes that `thread` writes.
    fn range(&self, thread: u32) -> Range {
        range_of(&self.work.io, thread)
    }
}
