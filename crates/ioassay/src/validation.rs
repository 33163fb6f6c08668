//! Rejects impossible worker replies: a worker that sends one is broken or lies.

use model::case::{Case, Kernel, OWN_PEER, Op, Touch, Work};
use model::generation::{PAGE, PagesRead};
use model::sample::{Latencies, Sample, Span};
use model::trial::{Job, Outcome};
use model::units;

/// The outcome, if it is possible. A sample reports each thread once and no other, the bytes of its
/// operations, every latency, and no more time than passed here. Otherwise the trial has failed.
pub fn validate(job: &Job, outcome: Outcome, window_ns: u64) -> Outcome {
    let Outcome::Done(sample) = &outcome else { return outcome };
    match doubt_of_pages(job, sample)
        .or_else(|| doubt_of_threads(job, sample))
        .or_else(|| doubt(job, sample, window_ns))
    {
        None => outcome,
        Some(reason) => Outcome::Failed { reason: format!("the worker reported {reason}") },
    }
}

/// The outcome with its reason, if it has one, in these words.
pub(crate) fn worded(outcome: Outcome, words: impl FnOnce(&str) -> String) -> Outcome {
    match outcome {
        Outcome::Failed { reason } => Outcome::Failed { reason: words(&reason) },
        Outcome::Unavailable { reason } => Outcome::Unavailable { reason: words(&reason) },
        done @ Outcome::Done(_) => done,
    }
}

/// Whether a thread reports more CPU time than passed. More than its span is possible: it reads its
/// counters outside the span, and if a hypervisor takes the processor there unseen, the guest
/// counts that as CPU time. The scheduler has its own clock: in an emulated machine with an HPET,
/// the two drifted apart by more than 1 %.
fn runs_too_long(span: &Span, window_ns: u64) -> bool {
    span.cpu_ns.is_some_and(|ns| ns > window_ns.saturating_add(window_ns / 4))
}

/// Whether a thread reports each page that it read of a file that was overwritten meanwhile, and no
/// page otherwise.
fn are_pages_right(job: &Job, span: &Span) -> bool {
    let is_read = job.case.read().is_some_and(|work| work.touch == Touch::Sum);
    let expected = job.shared.filter(|_| is_read).map(|_| span.bytes / PAGE);
    let is_possible = |pages: PagesRead| pages.mixed_ops <= span.ops;
    span.pages.map(|pages| pages.count()) == expected && span.pages.is_none_or(is_possible)
}

/// Whether a worker may omit the digest: it is a peer, and the case does not ask for the digest.
fn may_tell_no_digest(case: &Case) -> bool {
    case.peer != OWN_PEER
        && match &case.work {
            Work::Read(work) => matches!(work.touch, Touch::None | Touch::Page),
            Work::Write(_) => true,
            Work::Memory(work) => work.kernel != Kernel::Count,
            Work::Metadata(_) | Work::Command(_) => false,
        }
}

/// Whether enough syncs were timed. A peer may time none of them, or all but the last of each
/// thread.
fn are_all_syncs(case: &Case, sample: &Sample, calls: u64) -> bool {
    let timed = sample.syncs.count();
    let is_other = case.peer != OWN_PEER;
    timed >= calls
        || is_other && (timed == 0 || timed.saturating_add(case.threads().into()) >= calls)
}

/// What is wrong with the numbers of the threads.
fn doubt_of_threads(job: &Job, sample: &Sample) -> Option<String> {
    let mut threads: Vec<u32> = sample.spans.iter().map(|span| span.thread).collect();
    threads.sort_unstable();
    (!threads.iter().copied().eq(0..job.case.threads()))
        .then(|| format!("the threads {threads:?}, but the case has {}", job.case.threads()))
}

fn doubt_of_pages(job: &Job, sample: &Sample) -> Option<String> {
    let is_miscounted = |span: &&Span| !are_pages_right(job, span);
    let Span { thread, pages, bytes, .. } = sample.spans.iter().find(is_miscounted)?;
    let pages = pages.map_or(0, |pages| pages.count());
    Some(format!("{pages} pages for {bytes} bytes of thread {thread}"))
}

fn doubt(job: &Job, sample: &Sample, window_ns: u64) -> Option<String> {
    let only_syncs = job.case.write().is_some_and(|work| work.op == Op::Sync);
    let is_command = job.case.command().is_some();
    let whole_ns = sample.elapsed_ns().max(sample.synced_ns().unwrap_or(0));
    if (sample.bytes() == 0 && !only_syncs && !is_command) || sample.ops() == 0 || whole_ns == 0 {
        return Some("no bytes, or no time".to_string());
    }
    let is_wrong = |span: &&Span| job.expected_bytes(span) != Some(span.bytes);
    if let Some(Span { bytes, ops, thread, .. }) = sample.spans.iter().find(is_wrong) {
        return Some(format!("{bytes} bytes for {ops} operations of thread {thread}"));
    }
    if sample.digest().is_none() && !is_command && !may_tell_no_digest(&job.case) {
        return Some("no digest".to_string());
    }
    let too_long = |span: &&Span| runs_too_long(span, window_ns);
    if let Some(Span { thread, cpu_ns, .. }) = sample.spans.iter().find(too_long) {
        let [told, seen] = [cpu_ns.unwrap_or(0), window_ns].map(|ns| units::nanoseconds(ns as f64));
        return Some(format!("more CPU time of thread {thread} than passed: {told} in {seen}"));
    }
    let sum = |steps: &[u64]| steps.iter().try_fold(0u64, |sum, step| sum.checked_add(*step));
    let tells = |span: &&Span| !span.progress.is_empty() && sum(&span.progress) != Some(span.bytes);
    if let Some(Span { thread, .. }) = sample.spans.iter().find(tells) {
        return Some(format!("progress of thread {thread} that does not add up to its bytes"));
    }
    let is_open = job.case.is_open();
    let answered = if is_open { sample.ops() } else { 0 };
    if sample.responses.count() != answered || (!is_open && sample.unsent() > 0) {
        let (answers, ops) = (sample.responses.count(), sample.ops());
        return Some(format!("{answers} response times of {ops} operations"));
    }
    let (reads, read_ops) = (sample.reads.count(), sample.read_ops());
    let mixes = job.case.write().is_some_and(|work| work.read_share > 0);
    if reads != read_ops || (!mixes && read_ops > 0) {
        return Some(format!("{reads} latencies of {read_ops} reads among writes"));
    }
    let counts = [&sample.latencies, &sample.syncs].map(Latencies::count);
    // A peer timed as a whole has no latencies.
    let is_whole = job.case.peer != OWN_PEER && counts[0] == 0;
    let is_right = match &job.case.work {
        Work::Memory(_) | Work::Command(_) => true,
        Work::Metadata(_) => counts[0] == sample.ops(),
        Work::Read(_) => is_whole || counts[0] == sample.ops(),
        Work::Write(_) if only_syncs => counts == [0, sample.ops()],
        Work::Write(_) if is_whole => true,
        Work::Write(work) => {
            let calls = work.sync_calls(&sample.spans);
            counts[0] == sample.ops() && are_all_syncs(&job.case, sample, calls)
        }
    };
    if !is_right {
        let [latencies, syncs] = counts;
        let ops = sample.ops();
        let of_syncs = match job.case.write() {
            Some(_) => format!(" and {syncs} sync latencies"),
            None => String::new(),
        };
        return Some(format!("{latencies} latencies{of_syncs} for {ops} operations"));
    }
    // Clocks of one machine drift apart by far less than this.
    let most_ns = window_ns.saturating_add(window_ns / 100);
    (whole_ns > most_ns).then(|| {
        let (told, seen) = (whole_ns as f64, window_ns as f64);
        let (told, seen) = (units::nanoseconds(told), units::nanoseconds(seen));
        format!("a trial of {told}, but only {seen} passed")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Io, ReadWork};

    #[test]
    fn a_thread_tells_of_each_page_of_a_shared_file_and_of_none_of_others() {
        let span = |pages| Span { ops: 2, bytes: 4 * PAGE, pages, ..Span::default() };
        let right = |shared, touch, pages| {
            let work = ReadWork { io: Io::default(), touch, ..ReadWork::default() };
            let case = Case::own(Work::Read(work));
            let job = Job { shared, ..Job::of(case, 1) };
            are_pages_right(&job, &span(pages))
        };
        let pages = |first, mixed_ops| {
            Some(PagesRead { before: 1, first, torn: 1, mixed_ops, ..PagesRead::default() })
        };
        assert!(right(Some(1), Touch::Sum, pages(2, 2)));
        assert!(right(Some(1), Touch::None, None));
        assert!(right(None, Touch::Sum, None));
        assert!(!right(Some(1), Touch::Sum, pages(1, 0)), "a page is missing");
        assert!(!right(Some(1), Touch::Sum, pages(u64::MAX, 0)));
        assert!(!right(Some(1), Touch::Sum, pages(2, 3)), "more operations than there were");
        assert!(!right(Some(1), Touch::Sum, None));
        assert!(!right(None, Touch::Sum, pages(2, 0)), "nobody wrote the file");
    }

    #[test]
    fn a_thread_may_tell_of_more_cpu_time_than_its_span_and_not_of_more_than_went_by() {
        let span = |cpu_ns| Span { end_ns: 20_000_000, cpu_ns, ..Span::default() };
        let window_ns = 100_000_000;
        assert!(!runs_too_long(&span(None), window_ns));
        assert!(!runs_too_long(&span(Some(20_000_000)), window_ns));
        assert!(!runs_too_long(&span(Some(60_000_000)), window_ns), "its processor was taken");
        assert!(runs_too_long(&span(Some(126_000_000)), window_ns));
        assert!(runs_too_long(&span(Some(u64::MAX)), window_ns));
    }
}
