//! What ended the trials of a case on several hosts. A figure until the last end depends on it: if
//! time ended the trials, each host moved what it could; if their work did, the fast ones waited
//! for the slow one.

use model::case::Case;
use model::named;
use model::sample::Span;

/// The share of a trial for which the first host that is done may wait for the last one, and both
/// still end together (docs/method).
const TOGETHER: f64 = 0.1;

named! {
    /// What ended a trial of several hosts.
    Ending "ending" {
        /// The time of a trial: a longer one would have moved more.
        Time "time",
        /// The work: each host did all of its own, and all ended together.
        Work "work",
        /// The work of the slowest host, for which the others waited.
        SlowestHost "slowest host",
        /// Time for some hosts, and for others their work: they waited until the time was over.
        Cut "time, for some",
    }
}

/// The ends of the hosts in a round, on one clock.
#[derive(Default)]
pub(crate) struct RoundEnds {
    /// The first host's and the last one's.
    at_ns: Option<(u64, u64)>,
    hosts: usize,
    /// Those that time ended.
    by_time: usize,
}

impl RoundEnds {
    /// Adds what the threads of a host did.
    pub(crate) fn add(&mut self, case: &Case, spans: &[Span]) {
        let lasted = |span: &Span| u128::from(span.end_ns.saturating_sub(span.start_ns));
        let is_long = spans.iter().any(|span| lasted(span) >= case.time().as_nanos());
        self.hosts += 1;
        self.by_time += usize::from(case.repeats() || is_long);
        if let Some(end) = spans.iter().map(|span| span.synced_ns.unwrap_or(span.end_ns)).max() {
            let (first, last) = self.at_ns.unwrap_or((end, end));
            self.at_ns = Some((first.min(end), last.max(end)));
        }
    }

    /// What ended a round that took `timed_ns`.
    pub(crate) fn ending(&self, timed_ns: u64) -> Option<Ending> {
        let (first, last) = self.at_ns?;
        let is_together = last.saturating_sub(first) as f64 <= TOGETHER * timed_ns as f64;
        Some(match self.by_time {
            0 if is_together => Ending::Work,
            0 => Ending::SlowestHost,
            some if some < self.hosts && !is_together => Ending::Cut,
            _ => Ending::Time,
        })
    }
}
