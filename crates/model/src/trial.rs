//! A request, its answer, and the evidence around it.

use crate::actor::Duty;
use crate::case::{Case, Op, ReadWork, Touch, Work, WriteWork};
use crate::command::Launch;
use crate::content::{Content, DigestTable, STAMP_PAGE};
use crate::evidence::Evidence;
use crate::generation;
use crate::pattern::{Pattern, Share, Visits};
use crate::random::mix;
use crate::replay::Replay;
use crate::sample::{Sample, Span};
use crate::shape::LoopShape;
use serde::{Deserialize, Serialize};
use std::iter;
use std::ops::Range;
use std::path::PathBuf;

/// A request to a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The case to run.
    pub case: Case,
    /// Determines a random order of blocks.
    pub seed: u64,
    /// The file to read or write, or the folder with the directories of names; `None` for work on
    /// memory.
    pub file: Option<PathBuf>,
    /// The source of a copy.
    pub source: Option<PathBuf>,
    /// The run's folder, if the case has a rollback journal: that is created there. Only this
    /// program's own worker is given one.
    pub folder: Option<PathBuf>,
    /// Determines the contents of a file that one worker overwrites while others read it (see
    /// [`generation`]). Only this program's own worker is given one.
    pub shared: Option<u64>,
    /// The shape of the loop over memory that is the fastest for the case. Only this program's own
    /// worker is given one.
    pub shape: Option<LoopShape>,
    /// What to start, if the case is a command.
    pub launch: Option<Box<Launch>>,
    /// The CPUs that the threads of a loop over memory run on, in turn; empty if the OS places
    /// them. Only this program's own worker is given any.
    pub cpus: Vec<u32>,
    /// How much of the time such a loop runs. Only this program's own worker is given less than
    /// all.
    pub duty: Duty,
}

impl Job {
    /// A job on no file, with nothing that only some cases need.
    pub fn of(case: Case, seed: u64) -> Job {
        let (file, source, folder) = (None, None, None);
        let (shared, shape, launch) = (None, None, None);
        let (cpus, duty) = (Vec::new(), Duty::WHOLE);
        Job { case, seed, file, source, folder, shared, shape, launch, cpus, duty }
    }

    /// The digest or count that `sample` must have if all its blocks were read correctly. It
    /// depends on the file's content before the trial (`table`, for the same question) and the
    /// order of blocks, but not on the engine. `None` if nothing was summed.
    pub fn expected_digest(&self, table: &DigestTable, sample: &Sample) -> Option<u64> {
        match &self.case.work {
            Work::Memory(work) => work.expected_digest(self.seed, sample),
            // Only who made the names knows their inodes.
            Work::Metadata(_) | Work::Command(_) => None,
            Work::Read(work) if matches!(work.touch, Touch::None | Touch::Page) => None,
            Work::Read(work) => {
                let spans = sample.spans.iter();
                let digests = spans.map(|span| self.digest_of_steps(work, table, span));
                Some(digests.fold(0, u64::wrapping_add))
            }
            Work::Write(work) => {
                let digest =
                    |span| Some(Replay::of(work, self.seed, span)?.digest(work, self.seed, table));
                sample
                    .spans
                    .iter()
                    .try_fold(0u64, |sum, span| Some(sum.wrapping_add(digest(span)?)))
            }
        }
    }

    /// The bytes that a thread must report after `span.ops` operations: those of its first blocks,
    /// over as many passes as necessary, or of whole passes over arrays. `None` if that number of
    /// operations is impossible.
    pub fn expected_bytes(&self, span: &Span) -> Option<u64> {
        match &self.case.work {
            Work::Memory(work) => work.expected_bytes(span),
            Work::Metadata(work) => work.expected_bytes(span),
            Work::Command(_) => Some(0),
            Work::Write(work) if work.op == Op::Sync => Some(0),
            Work::Write(work) if work.read_share > 0 => {
                let sums = Replay::of(work, self.seed, span)?.sums();
                let told = (span.read_ops, span.read_bytes);
                ((sums.read_ops, sums.read_bytes) == told).then_some(sums.bytes)
            }
            Work::Read(ReadWork { io, .. }) | Work::Write(WriteWork { io, .. }) => {
                io.visits(span.thread, self.seed).bytes(span.ops)
            }
        }
    }

    /// The parts of the file that a trial with this `sample` wrote: ascending and disjoint, with
    /// gaps between them. `None` if it wrote nothing, or if listing them would take too long.
    pub fn written(&self, sample: &Sample) -> Option<Vec<Range<u64>>> {
        let work = self.case.write().filter(|work| work.op != Op::Sync)?;
        if work.appends_together() {
            // Whatever their order is, blocks follow each other from the start on.
            return Some(joined(iter::once(0..sample.written_bytes()).collect()));
        }
        let visits = |span: &Span| {
            let visits = work.io.visits(span.thread, self.seed);
            let count = span.ops.min(visits.count());
            (visits, count)
        };
        if work.read_share > 0 {
            let written = |span| Some(Replay::of(work, self.seed, span)?.written());
            let parts: Option<Vec<Vec<Range<u64>>>> = sample.spans.iter().map(written).collect();
            let parts = parts?.into_iter().flatten().collect::<Vec<_>>();
            return (parts.len() as u64 <= WRITTEN_MAX).then(|| joined(parts));
        }
        let is_whole = |span: &Span| {
            let (visits, count) = visits(span);
            count == visits.count()
        };
        let is_limited = work.io.ops > 0 && work.io.ops < work.io.blocks();
        if !is_limited && work.io.part.is_whole() && sample.spans.iter().all(is_whole) {
            return Some(joined(iter::once(0..work.io.size).collect()));
        }
        let mut parts = Vec::new();
        for span in &sample.spans {
            let (visits, count) = visits(span);
            list(work, &visits, 0..count, &mut parts)?;
        }
        Some(joined(parts))
    }

    /// What a trial with this `sample` left in the file: each content with the parts that have it.
    /// `content` is that of a file which nobody reads meanwhile. `None` as for [`Job::written`].
    pub fn left(
        &self,
        sample: &Sample,
        content: Content,
    ) -> Option<Vec<(Content, Vec<Range<u64>>)>> {
        let Some(seed) = self.shared else {
            return Some(vec![(content, self.written(sample)?)]);
        };
        let work = self.case.write()?;
        let [_, contents @ ..] = generation::contents(seed, work.io.size);
        let mut parts = [Vec::new(), Vec::new()];
        for span in &sample.spans {
            let visits = work.io.visits(span.thread, self.seed);
            let count = visits.count().max(1);
            let (pass, reached) = (span.ops / count, span.ops % count);
            list(work, &visits, 0..reached, &mut parts[generation::turn(pass)])?;
            if let Some(before) = pass.checked_sub(1) {
                let rest = reached..visits.count();
                list(work, &visits, rest, &mut parts[generation::turn(before)])?;
            }
        }
        Some(contents.into_iter().zip(parts.map(joined)).collect())
    }

    /// The digest of the first `span.ops` blocks of a thread's steps, over as many passes as
    /// necessary.
    fn digest_of_steps(&self, work: &ReadWork, table: &DigestTable, span: &Span) -> u64 {
        let visits = work.io.visits(span.thread, self.seed);
        if visits.count() == 0 {
            return 0;
        }
        let digest = |index| {
            let (offset, length) = visits.block(index);
            table.digest(offset..offset + length)
        };
        let (passes, rest) = (span.ops / visits.count(), span.ops % visits.count());
        let part: u64 = (0..rest).map(digest).fold(0, u64::wrapping_add);
        if passes == 0 {
            return part;
        }
        let whole = (rest..visits.count()).map(digest).fold(part, u64::wrapping_add);
        whole.wrapping_mul(passes).wrapping_add(part)
    }
}

/// Maximum number of scattered blocks to list one by one; more would take over 64 MiB.
const WRITTEN_MAX: u64 = 1 << 22;

/// Adds the blocks with these `indexes` among a thread's `visits` to `parts`; `None` if that would
/// take too long.
fn list(
    work: &WriteWork,
    visits: &Visits,
    indexes: Range<u64>,
    parts: &mut Vec<Range<u64>>,
) -> Option<()> {
    let range = |index| {
        let (offset, length) = visits.block(index);
        offset..offset + length
    };
    let in_runs = work.io.pattern == Pattern::Sequential && work.io.share == Share::Contiguous;
    if indexes.is_empty() {
        return Some(());
    }
    if in_runs {
        parts.push(range(indexes.start).start..range(indexes.end - 1).end);
    } else {
        let count = indexes.end - indexes.start;
        if (parts.len() as u64).saturating_add(count) > WRITTEN_MAX {
            return None;
        }
        parts.extend(indexes.map(range));
    }
    Some(())
}

/// Merges ranges that overlap or touch, in ascending order.
fn joined(mut parts: Vec<Range<u64>>) -> Vec<Range<u64>> {
    parts.sort_unstable_by_key(|part| part.start);
    parts.dedup_by(|next, kept| {
        let touches = next.start <= kept.end;
        if touches {
            kept.end = kept.end.max(next.end);
        }
        touches
    });
    parts
}

impl ReadBack {
    /// Binds the `digest` of bytes at `offset`, all within one 4 KiB page, to that page.
    pub fn in_place(offset: u64, digest: u64) -> u64 {
        mix(digest.wrapping_add(mix(offset / STAMP_PAGE)))
    }
}

/// The result of a trial. A failure is data: the run continues.
#[expect(clippy::large_enum_variant, reason = "almost all outcomes are samples")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It succeeded.
    Done(Sample),
    /// This machine does not support it: the OS lacks io_uring, for example, or forbids it.
    Unavailable {
        /// What was tried, and what the OS answered.
        reason: String,
    },
    /// It failed: an error, a dead worker, a cache state that could not be verified.
    Failed {
        /// What was tried, and what happened.
        reason: String,
    },
}

/// How the reason begins of a trial that is recorded as failed and was not tried, because its case
/// had failed too often in a row.
pub const NOT_TRIED: &str = "not tried: ";

impl Outcome {
    /// The sample, if it succeeded.
    pub fn sample(&self) -> Option<&Sample> {
        match self {
            Outcome::Done(sample) => Some(sample),
            Outcome::Unavailable { .. } | Outcome::Failed { .. } => None,
        }
    }

    /// The approximate size of what it refers to in memory, in bytes.
    fn bytes(&self) -> usize {
        match self {
            Outcome::Done(sample) => {
                let spans = sample.spans.iter();
                let of_span = |span: &Span| {
                    size_of::<Span>()
                        + size_of_val(&span.progress[..])
                        + size_of_val(&span.backlog[..])
                };
                let latencies = sample.histograms().map(|(_, all)| size_of_val(&all.counts[..]));
                spans.map(of_span).sum::<usize>() + latencies.iter().sum::<usize>()
            }
            Outcome::Unavailable { reason } | Outcome::Failed { reason } => reason.len(),
        }
    }
}

/// One timed execution of a case, with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The case's index in the plan.
    pub case: usize,
    /// The invocation, from 0.
    #[serde(default)]
    pub invocation: u32,
    /// The round, numbered from 0 over all invocations.
    pub round: u32,
    /// When it started, in milliseconds since the start of the run, without the time between an
    /// interruption and its resumption.
    pub at_ms: u64,
    /// Its result.
    pub outcome: Outcome,
    /// The OS's counters.
    pub evidence: Evidence,
    /// The digest that the bytes must have; `None` if nothing was summed.
    pub expected_digest: Option<u64>,
    /// What was written, read back after the evidence was collected; `None` if nothing was written.
    pub read_back: Option<ReadBack>,
    /// What the actors beside the case did meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
    /// The clock of its host, if it ran in lockstep with those of other hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<HostClock>,
}

/// How far a host's clock, which timed a trial, was ahead of the coordinator's. It was measured
/// just before the trial and just after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostClock {
    /// Nanoseconds ahead, before.
    pub ahead_ns: i64,
    /// How much further ahead it was after the trial, in nanoseconds.
    pub drift_ns: i64,
    /// The most that either may be wrong, in nanoseconds.
    pub error_ns: u64,
}

/// What an actor did beside a trial. It began before the trial and ended after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The actor's name.
    pub name: String,
    /// Its result, from its own start to its own end.
    pub outcome: Outcome,
    /// Its counters in the trial's window, which has no counters of devices or of its file.
    pub evidence: Evidence,
    /// The digest that the bytes it read must have; `None` if nothing was summed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_digest: Option<u64>,
    /// What it wrote, read back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<ReadBack>,
}

/// The result of reading back what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadBack {
    /// Number of bytes read.
    pub bytes: u64,
    /// The sum of [`ReadBack::in_place`] over all parts of pages, which detects blocks in the wrong
    /// place.
    pub digest: u64,
    /// What the digest must be.
    pub expected: u64,
    /// Whether the bytes were verified to be absent from the page cache before reading, so that
    /// they came from below it.
    pub is_past_cache: bool,
}

impl Trial {
    /// A trial of a case, in an invocation and a round, with this outcome and no other data.
    pub fn without_data(
        (case, invocation, round): (usize, u32, u32),
        at_ms: u64,
        outcome: Outcome,
    ) -> Trial {
        Trial {
            case,
            invocation,
            round,
            at_ms,
            outcome,
            evidence: Evidence::default(),
            expected_digest: None,
            read_back: None,
            beside: Vec::new(),
            clock: None,
        }
    }

    /// Its approximate size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        let beside = self.beside.iter().map(|it| size_of::<Beside>() + it.outcome.bytes());
        size_of::<Trial>() + self.outcome.bytes() + beside.sum::<usize>()
    }

    /// The sample, if the trial succeeded.
    pub fn sample(&self) -> Option<&Sample> {
        self.outcome.sample()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Allocation, Io};
    use crate::content::ContentKind;
    use crate::generation::PAGE;
    use crate::part::Part;
    use crate::zoo;

    fn job(work: Work) -> Job {
        Job::of(Case::own(work), 3)
    }

    #[test]
    fn bytes_are_those_of_the_blocks_that_were_read() {
        for work in zoo::shapes() {
            let visits = work.io.visits(0, 3);
            let job = job(Work::Read(work));
            if visits.count() == 0 {
                assert_eq!(job.expected_bytes(&Span::default()), Some(0));
                continue;
            }
            let mut bytes = 0;
            for ops in 0..=(2 * visits.count() + 1) {
                let span = Span { ops, bytes, ..Span::default() };
                assert_eq!(job.expected_bytes(&span), Some(bytes), "{ops} of {}", job.case.id());
                bytes += visits.block(ops % visits.count()).1;
            }
        }
    }

    /// Hosts divide a file as threads of one host do: each byte comes once, and what they read adds
    /// up to the whole.
    #[test]
    fn parts_of_hosts_add_up_to_the_file() {
        let content = Content { seed: 5, size: 100_001, kind: ContentKind::Random };
        let table = DigestTable::new(content, Content::digest);
        for pattern in [Pattern::Sequential, Pattern::Random, Pattern::Strided] {
            for (share, of, threads) in
                [(Share::Contiguous, 4, 1), (Share::Interleaved, 3, 2), (Share::Contiguous, 2, 3)]
            {
                let (mut bytes, mut digest, mut written) = (0, 0u64, Vec::new());
                for number in 0..of {
                    let part = Part { number, of };
                    let stride = if pattern == Pattern::Strided { 3 } else { 1 };
                    let io = Io { size: 100_001, block: 470, ..zoo::plain().io };
                    let io = Io { pattern, stride, share, threads, part, ..io };
                    let span = |thread| Span {
                        thread,
                        ops: io.visits(thread, 3).count(),
                        ..Span::default()
                    };
                    let spans: Vec<Span> = (0..threads).map(span).collect();
                    let sample = Sample { spans, ..Sample::default() };
                    let read = job(Work::Read(ReadWork { io, ..zoo::plain() }));
                    let told = sample.spans.iter().map(|span| read.expected_bytes(span));
                    bytes += told.map(|bytes| bytes.expect("it is possible")).sum::<u64>();
                    let own = read.expected_digest(&table, &sample).expect("it sums");
                    digest = digest.wrapping_add(own);
                    let write = job(Work::Write(WriteWork { io, ..zoo::plain_write() }));
                    written.extend(write.written(&sample).expect("few blocks are told"));
                }
                assert_eq!((bytes, digest), (100_001, content.digest(0..100_001)), "{pattern}");
                let each: u64 = written.iter().map(|part| part.end - part.start).sum();
                let whole = 0..100_001u64;
                assert_eq!(
                    (joined(written).as_slice(), each),
                    (&[whole][..], 100_001),
                    "{pattern}"
                );
            }
        }
    }

    /// The result is a list of ranges; the oracle marks each byte.
    #[test]
    fn what_was_written_is_every_block_that_was_visited() {
        for work in zoo::write_shapes() {
            let (threads, size) = (work.io.threads, work.io.size as usize);
            let all: Vec<_> = (0..threads).map(|thread| work.io.visits(thread, 3)).collect();
            let job = job(Work::Write(work));
            for done in [0, 1, 2, 7, 300] {
                let mut marked = vec![false; size];
                let mut spans = Vec::new();
                for (thread, visits) in (0..threads).zip(&all) {
                    let ops = visits.count().min(done + u64::from(thread));
                    for (offset, length) in (0..ops).map(|index| visits.block(index)) {
                        marked[offset as usize..(offset + length) as usize].fill(true);
                    }
                    spans.push(Span { thread, ops, ..Span::default() });
                }
                let written = job.written(&Sample { spans, ..Sample::default() });
                let written = written.expect("few blocks are told");
                assert!(written.windows(2).all(|pair| pair[0].end < pair[1].start));
                let mut told = vec![false; size];
                written.iter().for_each(|r| told[r.start as usize..r.end as usize].fill(true));
                assert_eq!(told, marked, "{done} of {}", job.case.id());
            }
        }
    }

    /// The oracle writes one pass after another into a file in memory.
    #[test]
    fn a_shared_file_has_what_the_last_pass_left() {
        for work in zoo::write_shapes().into_iter().filter(|work| work.io.size % PAGE == 0) {
            let work = WriteWork { allocation: Allocation::Overwrite, ..work };
            let shared = Some(11);
            let job = Job { shared, ..job(Work::Write(work)) };
            let [before, contents @ ..] = generation::contents(11, work.io.size);
            for done in [0, 1, 3, 40, 300] {
                let mut file = vec![None; work.io.size as usize];
                let mut spans = Vec::new();
                for thread in 0..work.io.threads {
                    let visits = work.io.visits(thread, job.seed);
                    let ops = if visits.count() > 0 { done + u64::from(thread) } else { 0 };
                    for number in 0..ops {
                        let pass = number / visits.count();
                        let (offset, length) = visits.block(number % visits.count());
                        let place = offset as usize..(offset + length) as usize;
                        file[place].fill(Some(contents[(pass % 2) as usize]));
                    }
                    spans.push(Span { thread, ops, ..Span::default() });
                }
                let sample = Sample { spans, ..Sample::default() };
                let mut told = vec![None; file.len()];
                for (content, parts) in job.left(&sample, before).expect("few blocks are told") {
                    for part in parts {
                        told[part.start as usize..part.end as usize].fill(Some(content));
                    }
                }
                assert!(told == file, "{done} of {}", job.case.id());
            }
        }
    }

    #[test]
    fn operations_that_cannot_be_have_no_bytes() {
        let job = job(Work::Read(zoo::plain()));
        let span = Span { ops: u64::MAX, ..Span::default() };
        assert_eq!(job.expected_bytes(&span), None);
    }
}
