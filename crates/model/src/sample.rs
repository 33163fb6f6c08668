//! A worker's raw measurements.

use crate::command::Exit;
use crate::figure::PrintedFigure;
use crate::generation::PagesRead;
use crate::named;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One thread's part of a trial. Times are in nanoseconds on the worker's monotonic clock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The thread's number, from 0.
    pub thread: u32,
    /// When it passed the barrier.
    pub start_ns: u64,
    /// When it finished its last operation.
    pub end_ns: u64,
    /// Bytes that it moved.
    pub bytes: u64,
    /// Operations that it completed.
    pub ops: u64,
    /// The digest or count of the bytes; 0 if not requested. `None` if the worker reports none, so
    /// that the bytes cannot be verified.
    pub digest: Option<u64>,
    /// The part of its time spent before the first block of each pass: mapping, populating,
    /// loading.
    #[serde(default)]
    pub load_ns: u64,
    /// When its last sync returned; `None` without a sync. With `O_DSYNC`, that is when its last
    /// write returned.
    pub synced_ns: Option<u64>,
    /// The total time of its syncs.
    #[serde(default)]
    pub sync_ns: u64,
    /// Bytes of the operations completed in each [`PROGRESS_NS`] since its start. The last step is
    /// partial and ends with the span. Empty if not reported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub progress: Vec<u64>,
    /// Those of the operations that read, in a mixed case. The digest is theirs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub read_ops: u64,
    /// The bytes of those operations.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub read_bytes: u64,
    /// The pages that it read of a file that was overwritten meanwhile; `None` for other work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PagesRead>,
    /// Operations of an open loop that were due but had not begun when its time was up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unsent: u64,
    /// The part of its CPU time in which it only waited for an operation of an open loop to be due.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spin_ns: u64,
    /// The part of its time in which it waited, asleep or awake, with nothing in flight, because no
    /// operation of an open loop was due. `None` in a closed loop, and if the worker does not
    /// report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_ns: Option<u64>,
    /// The part of `paused_ns` by which its sleeps were too long. It may have waited for a
    /// processor then, but no operation was late for it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overslept_ns: u64,
    /// The sum of its submission lags: how long after each operation of an open loop was due it
    /// was submitted. `None` in a closed loop, and if the worker does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_ns: Option<u64>,
    /// Operations of an open loop that were due but not completed at the end of each step of
    /// `progress`, except for the last. Empty in a closed loop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backlog: Vec<u64>,
    /// Its CPU time, read by the thread itself just before and just after. It excludes work done
    /// for it by other kernel threads. `None` if the worker does not report it; the same holds for
    /// all fields below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// How long it was ready to run but had no CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay_ns: Option<u64>,
    /// Where it ran at its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_seat: Option<Seat>,
    /// Where it ran at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_seat: Option<Seat>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The CPU and node that a thread runs on, by the OS's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// The logical CPU.
    pub cpu: u32,
    /// The CPU's NUMA node.
    pub node: u32,
}

/// What a worker's process used between the start of a trial and the end of its last span. It
/// includes threads that work for it in the background. Unreported values are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time.
    pub cpu_ns: Option<u64>,
    /// The part spent in user mode, according to the OS.
    pub user_ns: Option<u64>,
    /// The part spent in the kernel.
    pub system_ns: Option<u64>,
    /// Page faults served from memory.
    pub minor_faults: Option<u64>,
    /// Page faults that waited for a device.
    pub major_faults: Option<u64>,
    /// Context switches because a thread waited.
    pub switches_voluntary: Option<u64>,
    /// Context switches because another thread needed the CPU.
    pub switches_involuntary: Option<u64>,
}

impl Usage {
    /// Its counters, each with its key in the protocol.
    pub(crate) fn counters(&mut self) -> [(&'static str, &mut Option<u64>); 7] {
        [
            ("cpu_ns", &mut self.cpu_ns),
            ("user_ns", &mut self.user_ns),
            ("system_ns", &mut self.system_ns),
            ("minor_faults", &mut self.minor_faults),
            ("major_faults", &mut self.major_faults),
            ("switches_voluntary", &mut self.switches_voluntary),
            ("switches_involuntary", &mut self.switches_involuntary),
        ]
    }

    /// The difference from `before`.
    pub fn since(mut self, mut before: Usage) -> Usage {
        for ((_, now), (_, then)) in self.counters().into_iter().zip(before.counters()) {
            *now = now.zip(*then).map(|(now, then)| now.saturating_sub(then));
        }
        self
    }

    fn is_unknown(&self) -> bool {
        *self == Usage::default()
    }
}

/// Duration of a step of [`Span::progress`]: 100 ms.
pub const PROGRESS_NS: u64 = 100_000_000;

/// How often each latency occurred.
///
/// A worker may round a latency by up to 1/256, to keep the list short.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latencies {
    /// `(nanoseconds, count)`, in ascending order, each latency once.
    pub counts: Vec<(u64, u64)>,
    /// The longest latency, exact.
    pub max_ns: u64,
}

impl Latencies {
    /// Number of timed operations.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Whether nothing was timed.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.max_ns == 0
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Latencies) {
        self.counts.extend_from_slice(&other.counts);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.put_in_order();
    }

    /// The total counts of `all`, sorted only once.
    pub fn sum<'a>(all: impl Iterator<Item = &'a Latencies>) -> Latencies {
        let mut sum = all.fold(Latencies::default(), |mut sum, latencies| {
            sum.counts.extend_from_slice(&latencies.counts);
            sum.max_ns = sum.max_ns.max(latencies.max_ns);
            sum
        });
        sum.put_in_order();
        sum
    }

    /// These without `part`, which was rounded in the same way.
    fn without(&self, part: &Latencies) -> Latencies {
        let mut parts = part.counts.iter().copied().peekable();
        let mut rest = self.counts.clone();
        for (ns, count) in &mut rest {
            while parts.next_if(|(other, _)| other < ns).is_some() {}
            let (_, less) = parts.next_if(|(other, _)| other == ns).unwrap_or_default();
            *count = count.saturating_sub(less);
        }
        rest.retain(|(_, count)| *count > 0);
        let is_longest = self.max_ns > part.max_ns;
        let known = || rest.last().map_or(0, |(ns, _)| *ns);
        let max_ns = if is_longest { self.max_ns } else { known() };
        Latencies { counts: rest, max_ns }
    }

    /// Sorts the counts and merges equal latencies.
    fn put_in_order(&mut self) {
        self.counts.sort_unstable();
        self.counts.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
    }
}

/// A worker's measurements of one trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Time before the barrier: opening files, creating buffers, rings and arrays.
    pub setup_ns: u64,
    /// The part of it that the worker's runtime needed to warm up, such as a just-in-time compiler.
    #[serde(default)]
    pub warm_up_ns: u64,
    /// One per thread.
    pub spans: Vec<Span>,
    /// Latencies over all threads; empty if operations were not timed individually.
    pub latencies: Latencies,
    /// Latencies of separate sync calls.
    #[serde(default)]
    pub syncs: Latencies,
    /// Response times of the operations of an open loop: from when an operation was due to its
    /// completion, or to the completion of the next sync if it is synced before the end. Its
    /// service times, from its start to its completion, are `latencies`.
    #[serde(default, skip_serializing_if = "Latencies::is_empty")]
    pub responses: Latencies,
    /// Latencies of the reads of a mixed case, which are also among `latencies`.
    #[serde(default, skip_serializing_if = "Latencies::is_empty")]
    pub reads: Latencies,
    /// How the command ended, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// The number that it printed, if one was looked for and found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<PrintedFigure>,
    /// What the whole worker used meanwhile, according to itself; of a command, what that used with
    /// all its processes.
    #[serde(default, skip_serializing_if = "Usage::is_unknown")]
    pub usage: Usage,
}

named! {
    /// The histograms of a sample, by their verbs in the protocol.
    Histogram "histogram" {
        /// [`Sample::latencies`].
        Operations "latency",
        /// [`Sample::syncs`].
        Syncs "sync",
        /// [`Sample::responses`].
        Responses "response",
        /// [`Sample::reads`].
        Reads "read",
    }
}

impl Sample {
    /// A sum over all threads; saturates if a worker reports impossible values.
    fn sum(&self, of: fn(&Span) -> u64) -> u64 {
        self.spans.iter().map(of).fold(0, u64::saturating_add)
    }

    /// All its histograms.
    pub(crate) fn histograms(&self) -> [(Histogram, &Latencies); 4] {
        [
            (Histogram::Operations, &self.latencies),
            (Histogram::Syncs, &self.syncs),
            (Histogram::Responses, &self.responses),
            (Histogram::Reads, &self.reads),
        ]
    }

    /// Time from the first thread's start to the last thread's end.
    pub fn elapsed_ns(&self) -> u64 {
        let start = self.spans.iter().map(|span| span.start_ns).min().unwrap_or(0);
        let end = self.spans.iter().map(|span| span.end_ns).max().unwrap_or(0);
        end.saturating_sub(start)
    }

    /// Time from the first thread's start to the last thread's sync; `None` if any thread that did
    /// something has not synced it.
    pub fn synced_ns(&self) -> Option<u64> {
        let start = self.spans.iter().map(|span| span.start_ns).min()?;
        let mut end = None;
        for span in self.spans.iter().filter(|span| span.ops > 0) {
            end = end.max(Some(span.synced_ns?));
        }
        Some(end?.saturating_sub(start))
    }

    /// Total bytes of all threads.
    pub fn bytes(&self) -> u64 {
        self.sum(|span| span.bytes)
    }

    /// Total operations of all threads.
    pub fn ops(&self) -> u64 {
        self.sum(|span| span.ops)
    }

    /// Total reads of a mixed case, over all threads.
    pub fn read_ops(&self) -> u64 {
        self.sum(|span| span.read_ops)
    }

    /// Total bytes of the operations of a write case that wrote.
    pub fn written_bytes(&self) -> u64 {
        self.bytes().saturating_sub(self.read_bytes())
    }

    /// Total operations of a write case that wrote.
    pub fn written_ops(&self) -> u64 {
        self.ops().saturating_sub(self.read_ops())
    }

    /// Latencies of the operations of a mixed case that wrote: all without those of reads. If a
    /// read took longest, the longest write is known to within 1/256.
    pub fn writes(&self) -> Latencies {
        self.latencies.without(&self.reads)
    }

    /// Total bytes of the reads of a mixed case.
    pub fn read_bytes(&self) -> u64 {
        self.sum(|span| span.read_bytes)
    }

    /// The pages that all threads read of a file that was overwritten meanwhile; `None` if any
    /// thread reports none.
    pub fn pages(&self) -> Option<PagesRead> {
        let mut each = self.spans.iter().map(|span| span.pages);
        let first = each.next()??;
        each.try_fold(first, |sum, pages| Some(sum.plus(&pages?)))
    }

    /// Operations of an open loop that were due and never began.
    pub fn unsent(&self) -> u64 {
        self.sum(|span| span.unsent)
    }

    /// Time in which all threads waited, awake, for an operation of an open loop to be due.
    pub fn spin_ns(&self) -> u64 {
        self.sum(|span| span.spin_ns)
    }

    /// The time by which all threads' sleeps were too long, until an operation of an open loop was
    /// due.
    pub fn overslept_ns(&self) -> u64 {
        self.sum(|span| span.overslept_ns)
    }

    /// The sum of the submission lags of all operations of an open loop; `None` if any thread
    /// reports none.
    pub fn lag_ns(&self) -> Option<u64> {
        self.spans.iter().try_fold(0u64, |sum, span| Some(sum.saturating_add(span.lag_ns?)))
    }

    /// The CPUs on which its threads began and ended; `None` if any thread reports none.
    pub fn cpus(&self) -> Option<BTreeSet<u32>> {
        let seats = self.spans.iter().flat_map(|span| [span.start_seat, span.end_seat]);
        seats.map(|seat| Some(seat?.cpu)).collect()
    }

    /// The digest of all bytes; `None` if any thread reports none.
    pub fn digest(&self) -> Option<u64> {
        self.spans.iter().try_fold(0u64, |sum, span| Some(sum.wrapping_add(span.digest?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_what_comes_of_adding_one_after_another() {
        let of = |counts: &[(u64, u64)], max_ns| Latencies { counts: counts.to_vec(), max_ns };
        let all = [of(&[(1, 2), (5, 1)], 6), of(&[], 0), of(&[(1, u64::MAX), (3, 4)], 3)];
        let mut added = Latencies::default();
        all.iter().for_each(|each| added.add(each));
        assert_eq!(added, of(&[(1, u64::MAX), (3, 4), (5, 1)], 6));
        assert_eq!(Latencies::sum(all.iter()), added);
    }

    #[test]
    fn what_was_added_can_be_taken_away() {
        let of = |counts: &[(u64, u64)], max_ns| Latencies { counts: counts.to_vec(), max_ns };
        let (reads, writes) = (of(&[(1, 2), (5, 1)], 6), of(&[(1, 4), (9, 2)], 10));
        let sample = |reads: &Latencies, writes: &Latencies| {
            let latencies = Latencies::sum([reads, writes].into_iter());
            Sample { latencies, reads: reads.clone(), ..Sample::default() }
        };
        assert_eq!(sample(&reads, &writes).writes(), writes);
        assert_eq!(sample(&of(&[], 0), &writes).writes(), writes);
        // The longest of them was a read, so that of the writes is known by its bucket.
        assert_eq!(sample(&writes, &reads).writes(), of(&[(1, 2), (5, 1)], 5));
        assert_eq!(sample(&writes, &of(&[], 0)).writes(), of(&[], 0));
        // A damaged record may have any counts.
        let damaged = Sample {
            latencies: of(&[(2, 1)], 2),
            reads: of(&[(1, 9), (2, 9)], 9),
            ..Sample::default()
        };
        assert_eq!(damaged.writes(), of(&[], 0));
    }

    #[test]
    fn all_threads_must_have_synced() {
        let span = |ops, synced_ns| Span { start_ns: 10, ops, synced_ns, ..Span::default() };
        let synced =
            |spans: &[Span]| Sample { spans: spans.to_vec(), ..Sample::default() }.synced_ns();
        assert_eq!(synced(&[span(1, Some(30)), span(1, Some(50))]), Some(40));
        assert_eq!(synced(&[span(1, Some(30)), span(0, None)]), Some(20));
        assert_eq!(synced(&[span(1, Some(30)), span(1, None)]), None);
        assert_eq!(synced(&[span(0, None)]), None);
    }

    #[test]
    fn adding_latencies_adds_their_counts() {
        let mut sum = Latencies { counts: vec![(10, 1), (30, 2)], max_ns: 31 };
        sum.add(&Latencies { counts: vec![(10, 4), (20, 1)], max_ns: 20 });
        assert_eq!(sum, Latencies { counts: vec![(10, 5), (20, 1), (30, 2)], max_ns: 31 });
        assert_eq!(sum.count(), 8);
    }
}
