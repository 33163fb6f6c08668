//! What of a worker's answer can be: whoever tells of something else babbles or lies.

use model::case::{Case, Kernel, OWN_PEER, Op, Touch, Work};
use model::sample::{Latencies, Sample, Span};
use model::trial::{Job, Outcome};
use model::units;

/// The outcome, if it can be: a sample tells of each thread once and of no other, of the bytes of
/// its operations, of each latency, and of no more time than went by here. Else the worker
/// babbles or lies, and nothing that it says can be verified.
pub fn believe(job: &Job, outcome: Outcome, window_ns: u64) -> Outcome {
    let Outcome::Done(sample) = &outcome else { return outcome };
    match doubt(job, sample, window_ns) {
        None => outcome,
        Some(reason) => Outcome::Failed { reason: format!("the worker told of {reason}") },
    }
}

/// Whether a thread tells of more CPU time than went by. More than its span took is possible: it
/// reads its counters outside of the span, and if a hypervisor takes the processor there without
/// saying so, the guest counts that as CPU time. The scheduler's clock is not the one that is read
/// here: in an emulated machine with an HPET they drifted apart by more than 1 %.
fn runs_too_long(span: &Span, window_ns: u64) -> bool {
    span.cpu_ns.is_some_and(|ns| ns > window_ns.saturating_add(window_ns / 4))
}

/// Whether a worker may leave out the digest of what it did: it is another program than this one's
/// own, and the digest is not what was asked for.
fn may_tell_no_digest(case: &Case) -> bool {
    case.peer != OWN_PEER
        && match &case.work {
            Work::Read(work) => matches!(work.touch, Touch::None | Touch::Page),
            Work::Write(_) => true,
            Work::Memory(work) => work.kernel != Kernel::Count,
        }
}

/// Whether as many syncs were timed as there must have been. Another program may time none of them,
/// or not the last one of each thread.
fn are_all_syncs(case: &Case, sample: &Sample, calls: u64) -> bool {
    let timed = sample.syncs.count();
    let is_other = case.peer != OWN_PEER;
    timed >= calls
        || is_other && (timed == 0 || timed.saturating_add(case.threads().into()) >= calls)
}

fn doubt(job: &Job, sample: &Sample, window_ns: u64) -> Option<String> {
    let mut threads: Vec<u32> = sample.spans.iter().map(|span| span.thread).collect();
    threads.sort_unstable();
    if !threads.iter().copied().eq(0..job.case.threads()) {
        return Some(format!("the threads {threads:?}, not of {}", job.case.threads()));
    }
    let only_syncs = job.case.write().is_some_and(|work| work.op == Op::Sync);
    let whole_ns = sample.elapsed_ns().max(sample.synced_ns().unwrap_or(0));
    if (sample.bytes() == 0 && !only_syncs) || sample.ops() == 0 || whole_ns == 0 {
        return Some("no bytes, or of no time that they took".to_string());
    }
    let is_wrong = |span: &&Span| job.expected_bytes(span) != Some(span.bytes);
    if let Some(Span { bytes, ops, thread, .. }) = sample.spans.iter().find(is_wrong) {
        return Some(format!("{bytes} bytes in {ops} operations of thread {thread}"));
    }
    if sample.digest().is_none() && !may_tell_no_digest(&job.case) {
        return Some("no digest of what it read".to_string());
    }
    let too_long = |span: &&Span| runs_too_long(span, window_ns);
    if let Some(Span { thread, cpu_ns, .. }) = sample.spans.iter().find(too_long) {
        let [told, seen] = [cpu_ns.unwrap_or(0), window_ns].map(|ns| units::nanoseconds(ns as f64));
        return Some(format!(
            "more time of thread {thread} on a processor than went by: {told} of {seen}"
        ));
    }
    let sum = |steps: &[u64]| steps.iter().try_fold(0u64, |sum, step| sum.checked_add(*step));
    let tells = |span: &&Span| !span.progress.is_empty() && sum(&span.progress) != Some(span.bytes);
    if let Some(Span { thread, .. }) = sample.spans.iter().find(tells) {
        return Some(format!("progress that is not that of the bytes of thread {thread}"));
    }
    let counts = [&sample.latencies, &sample.syncs].map(Latencies::count);
    // Another program may be timed as a whole, and says so by telling none.
    let is_whole = job.case.peer != OWN_PEER && counts[0] == 0;
    let is_right = match &job.case.work {
        Work::Memory(_) => true,
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
            Some(_) => format!(" and {syncs} of syncs"),
            None => String::new(),
        };
        return Some(format!("{latencies} latencies{of_syncs} of {ops} operations"));
    }
    // Clocks of one machine drift apart by far less than this.
    let most_ns = window_ns.saturating_add(window_ns / 100);
    (whole_ns > most_ns).then(|| {
        let (told, seen) = (whole_ns as f64, window_ns as f64);
        let (told, seen) = (units::nanoseconds(told), units::nanoseconds(seen));
        format!("a trial of {told}, and no more than {seen} went by")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
