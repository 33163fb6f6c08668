//! The files of a trial.

use crate::data_files::DataFiles;
use crate::fixture::TestFile;
use crate::names::NamesInUse;
use crate::scratch::Scratch;
use model::case::{Case, Work};
use model::command::JudgedCommand;
use model::part::Part;
use model::sample::Sample;
use model::trial::Job;
use std::fs::File;
use std::ops::Range;
use witness::page_cache;

/// The files of a trial.
#[derive(Debug, Default)]
pub struct Stage<'s> {
    /// The written file.
    pub target: Option<&'s Scratch<'s>>,
    /// The file that is read or copied.
    pub read: Option<&'s TestFile>,
    /// The names that it uses.
    pub names: Option<&'s NamesInUse>,
    /// Determines the contents of the file, if it is overwritten while others read it.
    pub shared: Option<u64>,
    /// Whether the trials of the case continue on this file without a pause.
    pub goes_on: bool,
    /// The files of a command, and what that is.
    pub command: Option<(&'s JudgedCommand, &'s DataFiles<'s>)>,
}

impl Stage<'_> {
    /// The job for a trial of `case` with `seed`, or for a host's `part` of it.
    pub fn job(&self, case: &Case, seed: u64, part: Part) -> Job {
        let read = self.read.map(|file| file.path().to_path_buf());
        let target = self.target.map(Scratch::path);
        let (file, source) = match target {
            Some(target) => (Some(target), read),
            None => (read, None),
        };
        let file = file.or(self.names.map(|names| names.folder().to_path_buf()));
        // What runs beside it does not concern its worker.
        let mut case = case.alone();
        case.part_mut().into_iter().for_each(|own| *own = part);
        let launch = self.command.map(|(command, _)| Box::new(command.launch()));
        Job { file, source, shared: self.shared, launch, ..Job::of(case, seed) }
    }

    /// A worker's words, with the names of the files in place of the paths through which it opened
    /// them: those lead nowhere once the run has ended.
    pub fn named(&self, words: &str) -> String {
        let target = self.target.map(|target| target.named(words));
        let words = target.as_deref().unwrap_or(words);
        self.read.map_or_else(|| words.to_string(), |read| read.named(words))
    }

    /// The file that the actors of the case can share: one that lasts for the run.
    pub fn lasting(&self) -> Option<&TestFile> {
        match self.target {
            Some(Scratch::Kept(file)) => Some(file),
            Some(Scratch::Own(..)) => None,
            None => self.read,
        }
    }

    /// The digest that a trial with this `sample` must have; `None` if nothing says what it read.
    pub fn expected_digest(&self, job: &Job, sample: &Sample) -> Option<u64> {
        match &job.case.work {
            Work::Memory(work) => work.expected_digest(job.seed, sample),
            Work::Metadata(_) => self.names.and_then(|names| names.expected_digest(sample)),
            // What was read then depends on when.
            Work::Read(_) if self.shared.is_some() => None,
            Work::Read(work) => {
                let answers = self.read.and_then(|file| file.answers(work.touch));
                answers.and_then(|table| job.expected_digest(table, sample))
            }
            Work::Write(work) if work.read_share > 0 && !self.goes_on => {
                let answers = self.target.and_then(|target| target.before());
                answers.and_then(|table| job.expected_digest(table, sample))
            }
            Work::Write(_) | Work::Command(_) => None,
        }
    }

    /// The file to which the cache state of the case applies: of a copy, its source.
    pub fn cached(&self) -> Option<&TestFile> {
        self.read.or_else(|| self.lasting())
    }

    /// What to sync so that nothing of an earlier trial is left to write.
    pub fn to_settle(&self) -> Option<&File> {
        self.file().map(|(file, _)| file).or(self.names.map(NamesInUse::directory))
    }

    /// The file whose page cache state is inspected, and how much of it: others may add to a
    /// user's own file.
    pub fn file(&self) -> Option<(&File, Range<u64>)> {
        let written = self.target.map(|scratch| (scratch.file(), page_cache::WHOLE));
        written.or(self.read.map(|read| (read.file(), read.range())))
    }
}

/// Whether a case needs a file to write to.
pub fn has_file(case: &Case) -> bool {
    case.write().is_some() && !case.is_null()
}
