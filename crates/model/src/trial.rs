//! One request, its answer, and what was seen around it.

use crate::case::{Case, FileWork, Touch, Work};
use crate::content::DigestTable;
use crate::evidence::Evidence;
use crate::sample::{Sample, Span};
use serde::{Deserialize, Serialize};
use std::ops::Range;
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

impl Job {
    /// The digest that `sample` must have if all its blocks were read rightly, or what it must
    /// have counted: computed from what the file holds (`table`, of the same question) and the
    /// order of its blocks, whatever the engine. None where nothing was summed.
    pub fn expected_digest(&self, table: &DigestTable, sample: &Sample) -> Option<u64> {
        match &self.case.work {
            Work::Memory(work) => work.expected_digest(self.seed, sample),
            Work::File(work) if matches!(work.touch, Touch::None | Touch::Page) => None,
            Work::File(work) => {
                let spans = sample.spans.iter();
                let digests = spans.map(|span| self.digest_of_steps(work, table, span));
                Some(digests.fold(0, u64::wrapping_add))
            }
        }
    }

    /// The bytes that a thread must tell of which has done so many operations: those of its first
    /// blocks, taken round and round, or of whole passes over arrays. None where that many
    /// operations cannot be.
    pub fn expected_bytes(&self, span: &Span) -> Option<u64> {
        let work = match &self.case.work {
            Work::Memory(work) => return work.expected_bytes(span),
            Work::File(work) => work,
        };
        let (order, steps) = (work.order(self.seed), work.steps(span.thread));
        if steps.count == 0 {
            return (span.ops == 0).then_some(0);
        }
        let short = work.blocks() * work.block - work.size;
        let (passes, rest) = (span.ops / steps.count, span.ops % steps.count);
        // Only the file's last block may be short.
        let visits = |mut indexes: Range<u64>| {
            let is_last = |index| order.block(steps.step(index)) == work.blocks() - 1;
            u64::from(short > 0 && indexes.any(is_last))
        };
        let shorts = passes
            .checked_mul(visits(0..steps.count))?
            .checked_add(visits(0..rest))?
            .checked_mul(short)?;
        span.ops.checked_mul(work.block)?.checked_sub(shorts)
    }

    /// The digest of the first `span.ops` blocks of a thread's steps, taken round and round.
    fn digest_of_steps(&self, work: &FileWork, table: &DigestTable, span: &Span) -> u64 {
        let (order, steps) = (work.order(self.seed), work.steps(span.thread));
        if steps.count == 0 {
            return 0;
        }
        let digest = |index| {
            let offset = order.block(steps.step(index)) * work.block;
            table.digest(offset..(offset + work.block).min(work.size))
        };
        let (passes, rest) = (span.ops / steps.count, span.ops % steps.count);
        let part: u64 = (0..rest).map(digest).fold(0, u64::wrapping_add);
        if passes == 0 {
            return part;
        }
        let whole = (rest..steps.count).map(digest).fold(part, u64::wrapping_add);
        whole.wrapping_mul(passes).wrapping_add(part)
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zoo;

    #[test]
    fn bytes_are_those_of_the_blocks_that_were_read() {
        for work in zoo::shapes() {
            let job = Job { case: Case::own(Work::File(work.clone())), seed: 3, file: None };
            let (order, steps) = (work.order(3), work.steps(0));
            if steps.count == 0 {
                assert_eq!(job.expected_bytes(&Span::default()), Some(0));
                continue;
            }
            let mut bytes = 0;
            for ops in 0..=(2 * steps.count + 1) {
                let span = Span { ops, bytes, ..Span::default() };
                assert_eq!(job.expected_bytes(&span), Some(bytes), "{ops} of {}", job.case.id());
                let offset = order.block(steps.step(ops % steps.count)) * work.block;
                bytes += work.block.min(work.size - offset);
            }
        }
    }

    #[test]
    fn operations_that_cannot_be_have_no_bytes() {
        let job = Job { case: Case::own(Work::File(zoo::plain())), seed: 3, file: None };
        let span = Span { ops: u64::MAX, ..Span::default() };
        assert_eq!(job.expected_bytes(&span), None);
    }
}
