//! Makes the files of a trial ready.

use super::{Carryover, Site};
use crate::files::Files;
use crate::fixture::TestFile;
use crate::scratch::Scratch;
use crate::space;
use crate::stage::{Stage, has_file};
use anyhow::{Context, Result};
use model::case::{Allocation, Case, WriteWork};
use model::generation;
use model::trial::Outcome;
use rustix::io::Errno;
use std::io;
use std::time::{Duration, Instant};

/// How long to wait for space: file systems such as XFS may free unlinked files later.
const ROOM_WAIT: Duration = Duration::from_secs(10);

/// Interval between checks for that.
const ROOM_STEP: Duration = Duration::from_millis(50);

/// Interval between stop checks.
const SETTLE_STEP: Duration = Duration::from_secs(1);

impl Site<'_> {
    /// Makes the files of a trial of `case` ready. Returns the one that it writes, if any. `shared`
    /// determines the content of one that is overwritten while others read it.
    #[expect(clippy::result_large_err, reason = "a trial has one outcome")]
    pub(super) fn make_ready<'f>(
        &self,
        case: &Case,
        shared: Option<u64>,
        files: &'f Files,
        left: &mut Carryover,
    ) -> Result<Option<Scratch<'f>>, Outcome> {
        let work = case.write().filter(|_| has_file(case));
        let made = work.map(|work| self.make(work, files, left)).transpose();
        let shared = shared.map_or(Ok(()), |seed| self.make_shared(case, seed, files, left));
        made.and_then(|made| shared.map(|()| made)).map_err(|error| not_made(&error))
    }

    /// Writes the content that a shared file has before a trial with `seed`.
    fn make_shared(
        &self,
        case: &Case,
        seed: u64,
        files: &Files,
        left: &mut Carryover,
    ) -> Result<()> {
        let file = files.overwritten(case).context("there is no file to share")?;
        let [before, ..] = generation::contents(seed, file.fixture().size);
        file.write_anew(before, (self.progress, self.stop))?;
        left.traces.wrote = true;
        if self.memory.is_some() {
            // What this process cached by writing does not count as the workers' memory.
            file.evict_if_possible(self.probe());
        }
        Ok(())
    }

    /// The file for `work`, if enough free space remains for other users.
    fn make<'f>(
        &self,
        work: &WriteWork,
        files: &'f Files,
        left: &mut Carryover,
    ) -> Result<Scratch<'f>> {
        let own = work.allocation != Allocation::Overwrite;
        if let Some(storage) = self.storage.filter(|_| own) {
            let began = Instant::now();
            let may_wait = || began.elapsed() < ROOM_WAIT && !self.stop.is_asked();
            // Only an unlinked file can still free space: a disk that is simply full stays full.
            let was_unlinked = std::mem::take(&mut left.traces.unlinked);
            loop {
                match space::check_free(storage, self.maker.free()?, work.io.size) {
                    Err(_) if was_unlinked && may_wait() => std::thread::sleep(ROOM_STEP),
                    answer => break answer?,
                }
            }
        }
        let made = files.to_write(work)?;
        if let Scratch::Kept(kept) = &made {
            self.make_kept(kept, work)?;
        }
        left.traces.unlinked |= own;
        Ok(made)
    }

    /// Waits until an earlier trial's data is written: otherwise that would disturb this trial.
    pub(super) fn settle(&self, case: &Case, stage: &Stage) {
        let Some(storage) = self.storage else { return };
        let is_quiet = || {
            let settled = witness::settle(storage, stage.to_settle(), SETTLE_STEP);
            log::debug!("before {}: {settled:?}", case.id());
            settled.quiet
        };
        self.calming.wait(is_quiet, || self.stop.is_asked());
    }

    /// Makes a file ready that every trial overwrites.
    fn make_kept(&self, kept: &TestFile, work: &WriteWork) -> Result<()> {
        if work.read_share > 0 {
            // What its reads return is known only then.
            kept.restore((self.progress, self.stop))?;
        } else {
            kept.ready_to_overwrite(work, self.probe());
        }
        Ok(())
    }
}

/// The outcome if no file could be created to write to: some file systems lack `fallocate`.
fn not_made(error: &anyhow::Error) -> Outcome {
    let reason = format!("{error:#}");
    let answer = error.root_cause().downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
    if answer == Some(Errno::OPNOTSUPP.raw_os_error()) {
        Outcome::Unavailable { reason }
    } else {
        Outcome::Failed { reason }
    }
}
