//! The file of integers that are counted in a mapping of it.

use super::stage::Stage;
use super::worker::Worker;
use anyhow::{Result, ensure};
use model::case::{Advice, Cache, Case, Engine, Io, Isa, ReadWork, Submission, Touch, Work};
use model::content::{Content, Kind};
use model::pattern::{Pattern, Share};
use model::sample::Sample;
use model::trial::Job;
use model::units;
use std::path::PathBuf;
use std::time::Duration;

/// Bytes of a block: four of the 4 MiB that ioassay's kernel walks as streams side by side, so
/// that neither a call nor a look at the clock counts, on either side.
pub(super) const BLOCK_BYTES: u64 = 16 << 20;

/// The content of the file; `ioassay data create` has this seed too where none is given.
const SEED: u64 = 1;
const INTS: Kind = Kind::Ints(20);

/// Each trial is one pass, however long it takes; but not for ever.
pub(super) const TIME_MAX: Duration = Duration::from_secs(600);

/// A file of integers.
#[derive(Debug)]
pub(super) struct Numbers {
    path: PathBuf,
    pub(super) size: u64,
    /// How many of its integers are 10.
    tens: u64,
}

impl Numbers {
    /// Writes a file of `size` bytes in the folder of `stage`. It leaves as much room as it takes,
    /// of the `disk_bytes` that are free and of the `memory_bytes`, in which it is to stay.
    pub(super) fn create(
        stage: &Stage,
        size: u64,
        disk_bytes: u64,
        memory_bytes: u64,
    ) -> Result<Numbers> {
        for (free, place) in [(disk_bytes, "on the disk"), (memory_bytes, "in memory")] {
            let [asked, free_text] = [size, free].map(units::bytes_rounded);
            ensure!(
                size <= free / 2,
                "a file of {asked} is more than half of the {free_text} that are free {place}: \
                 give a smaller --count-size"
            );
        }
        let path = stage.path("ints");
        stage.create(&path, size, INTS)?;
        let tens = Content { seed: SEED, size, kind: INTS }.count(0..size);
        Ok(Numbers { path, size, tens })
    }

    /// Brings all of it into the page cache, with ioassay's proof.
    pub(super) fn warm(&self, stage: &Stage) -> Result<()> {
        stage.warm(&self.path)
    }

    /// Has `worker` map the file and count it, once.
    pub(super) fn count(&self, worker: &mut Worker, advice: Advice) -> Result<Sample> {
        let case = Case::own(Work::Read(self.work(advice)));
        let job = Job { case, seed: SEED, file: Some(self.path.clone()), source: None };
        let (sample, _) = worker.sample(&job)?;
        let (counted, tens) = (sample.digest().unwrap_or_default(), self.tens);
        ensure!(counted == tens, "the worker counted {counted} tens where there are {tens}");
        Ok(sample)
    }

    fn work(&self, advice: Advice) -> ReadWork {
        ReadWork {
            io: Io {
                cache: Cache::Warm,
                pattern: Pattern::Sequential,
                stride: 1,
                size: self.size,
                block: BLOCK_BYTES,
                depth: 1,
                threads: 1,
                share: Share::Contiguous,
                ops: self.size.div_ceil(BLOCK_BYTES),
                time: TIME_MAX,
            },
            engine: Engine::Mmap,
            touch: Touch::Count,
            isa: Isa::Auto,
            advice,
            submission: Submission::Enter,
        }
    }
}
