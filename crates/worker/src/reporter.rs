//! Connects the client that requested a job to the team that runs it.

use crate::clock::os_now_ns;
use crate::engine::Obstacle;
use crate::team::Conductor;
use model::sample::{Latencies, Sample, Span, Usage};
use model::trial::Outcome;

/// Receives "ready" and the outcome of a job.
pub trait Client {
    /// Everything is prepared. Returns whether to begin.
    fn ready(&mut self) -> bool;

    /// The job's outcome. Its threads exist until this returns.
    fn outcome(&mut self, outcome: Outcome);
}

/// One thread's part of a sample.
#[derive(Debug, Default)]
pub struct ThreadPart {
    /// The thread's times and counts.
    pub span: Span,
    /// Latencies of its operations, if each was timed.
    pub latencies: Latencies,
    /// Latencies of its syncs.
    pub syncs: Latencies,
    /// Response times of its operations, in an open loop.
    pub responses: Latencies,
    /// Latencies of its reads, in a mixed case.
    pub reads: Latencies,
}

/// Passes a client's decision to a team and the team's results to the client.
///
/// The client's type is not a parameter: each program with a client of its own would compile all
/// timed loops again.
#[expect(missing_debug_implementations, reason = "a client need not be printed")]
pub struct JobReporter<'a> {
    client: &'a mut dyn Client,
    began_ns: u64,
    setup_ns: u64,
}

impl<'a> JobReporter<'a> {
    /// A relay for `client`. The job's setup time starts now.
    pub fn new(client: &'a mut dyn Client) -> JobReporter<'a> {
        JobReporter { client, began_ns: os_now_ns(), setup_ns: 0 }
    }
}

impl Conductor<ThreadPart> for JobReporter<'_> {
    fn begin(&mut self) -> bool {
        self.setup_ns = os_now_ns() - self.began_ns;
        self.client.ready()
    }

    fn end(&mut self, results: Result<Vec<ThreadPart>, Obstacle>, usage: Usage) {
        let outcome = match results {
            Ok(parts) => {
                let setup_ns = self.setup_ns;
                let mut sample = Sample { setup_ns, usage, ..Sample::default() };
                for ThreadPart { span, latencies, syncs, responses, reads } in parts {
                    sample.spans.push(span);
                    sample.latencies.add(&latencies);
                    sample.syncs.add(&syncs);
                    sample.responses.add(&responses);
                    sample.reads.add(&reads);
                }
                Outcome::Done(sample)
            }
            Err(Obstacle::Unavailable(reason)) => Outcome::Unavailable { reason },
            Err(Obstacle::Failed(reason)) => Outcome::Failed { reason },
        };
        self.client.outcome(outcome);
    }
}
