//! The files of a trial.

use crate::fixture::TestFile;
use crate::scratch::Scratch;
use model::case::Case;
use model::trial::Job;
use std::fs::File;

/// The files of a trial.
#[derive(Debug)]
pub struct Stage<'s> {
    /// The written file.
    pub target: Option<&'s Scratch<'s>>,
    /// The file that is read or copied.
    pub read: Option<&'s TestFile>,
    /// Whether the trials of the case continue on this file without a pause.
    pub goes_on: bool,
}

impl Stage<'_> {
    /// The job for a trial of `case` with `seed`.
    pub fn job(&self, case: &Case, seed: u64) -> Job {
        let read = self.read.map(|file| file.path().to_path_buf());
        let target = self.target.map(Scratch::path);
        let (file, source) = match target {
            Some(target) => (Some(target), read),
            None => (read, None),
        };
        // What runs beside it does not concern its worker.
        Job { case: Case { beside: Vec::new(), ..case.clone() }, seed, file, source }
    }

    /// The file whose page cache state is inspected.
    pub fn file(&self) -> Option<&File> {
        self.target.map(Scratch::file).or(self.read.map(TestFile::file))
    }
}

/// Whether a case needs a file to write to.
pub fn has_file(case: &Case) -> bool {
    case.write().is_some() && !case.is_null()
}
