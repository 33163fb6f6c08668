//! One request, its answer, and what was seen around it.

use crate::case::Case;
use crate::evidence::Evidence;
use crate::sample::Sample;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One request to a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What to do.
    pub case: Case,
    /// Decides a random order of blocks.
    pub seed: u64,
    /// The file to read; none for work on memory.
    pub file: Option<PathBuf>,
}

/// How a trial ended. A failure is data: the run goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was done.
    Done(Sample),
    /// This machine cannot do it: an OS without io_uring, or one that forbids it.
    Unavailable {
        /// What was tried and what the OS answered.
        reason: String,
    },
    /// It went wrong: an error, a dead worker, a cache state that could not be proved.
    Failed {
        /// What was tried and what happened.
        reason: String,
    },
}

/// One timed execution of a case, with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Index of the case in the plan.
    pub case: usize,
    /// In which round, from 0.
    pub round: u32,
    /// When it began, in milliseconds since the run began.
    pub at_ms: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// What the OS counted.
    pub evidence: Evidence,
    /// The digest that the bytes read must have; none where nothing was summed.
    pub expected_digest: Option<u64>,
}

impl Trial {
    /// The sample, if the trial was done.
    pub fn sample(&self) -> Option<&Sample> {
        match &self.outcome {
            Outcome::Done(sample) => Some(sample),
            Outcome::Unavailable { .. } | Outcome::Failed { .. } => None,
        }
    }
}
