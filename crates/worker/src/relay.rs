//! Passes on what the client says to a team, and what the team says to the client.

use crate::clock::os_now_ns;
use crate::engine::Obstacle;
use crate::team::Conductor;
use model::sample::{Latencies, Sample, Span, Usage};
use model::trial::Outcome;

/// Whoever asked for a job: is told when it is ready and what came of it.
pub trait Client {
    /// All is prepared. Answers whether the job shall begin.
    fn ready(&mut self) -> bool;

    /// What came of it. The job's threads are there until this returns.
    fn outcome(&mut self, outcome: Outcome);
}

/// One thread's part of a sample.
#[derive(Debug, Default)]
pub struct Part {
    /// Its time.
    pub span: Span,
    /// Latencies of its operations, if they were timed one by one.
    pub latencies: Latencies,
    /// Latencies of its syncs.
    pub syncs: Latencies,
}

/// Stands between a client and a team.
#[derive(Debug)]
pub struct Relay<'a, C> {
    client: &'a mut C,
    began_ns: u64,
    setup_ns: u64,
}

impl<'a, C: Client> Relay<'a, C> {
    /// A relay for `client`. The setup of the job begins now.
    pub fn new(client: &'a mut C) -> Relay<'a, C> {
        Relay { client, began_ns: os_now_ns(), setup_ns: 0 }
    }
}

impl<C: Client> Conductor<Part> for Relay<'_, C> {
    fn begin(&mut self) -> bool {
        self.setup_ns = os_now_ns() - self.began_ns;
        self.client.ready()
    }

    fn end(&mut self, results: Result<Vec<Part>, Obstacle>, usage: Usage) {
        let outcome = match results {
            Ok(parts) => {
                let setup_ns = self.setup_ns;
                let mut sample = Sample { setup_ns, usage, ..Sample::default() };
                for Part { span, latencies, syncs } in parts {
                    sample.spans.push(span);
                    sample.latencies.add(&latencies);
                    sample.syncs.add(&syncs);
                }
                Outcome::Done(sample)
            }
            Err(Obstacle::Unavailable(reason)) => Outcome::Unavailable { reason },
            Err(Obstacle::Failed(reason)) => Outcome::Failed { reason },
        };
        self.client.outcome(outcome);
    }
}
