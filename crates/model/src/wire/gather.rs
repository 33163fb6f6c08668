//! Replies collected into an outcome.

use super::Reply;
use crate::line::ProtocolError;
use crate::sample::Sample;
use crate::trial::Outcome;

/// Maximum number of spans or latencies. A broken worker that sends more must not fill memory.
const REPLIES_MAX: usize = 1 << 16;

/// Maximum steps of progress: a minute for 1700 threads, 29 hours for one.
const STEPS_MAX: usize = 1 << 20;

/// Collects replies into an outcome.
#[derive(Debug, Default)]
pub struct Gather {
    sample: Sample,
    steps: usize,
}

impl Gather {
    /// Takes the next reply. Returns the outcome after the closing one.
    pub fn take(&mut self, reply: Reply) -> Result<Option<Outcome>, ProtocolError> {
        let sample = &mut self.sample;
        let wrong =
            |problem: &str| ProtocolError { problem: problem.to_string(), line: reply.encode() };
        let all = [&sample.latencies, &sample.syncs, &sample.responses, &sample.reads];
        let counts = all.map(|latencies| latencies.counts.len());
        let most = counts.into_iter().chain([sample.spans.len()]).max();
        if most >= Some(REPLIES_MAX) || self.steps >= STEPS_MAX {
            return Err(wrong(&format!("more than {REPLIES_MAX} spans or latencies, the last")));
        }
        match &reply {
            Reply::Span(span) => sample.spans.push(span.clone()),
            Reply::Progress { thread, bytes: steps } | Reply::Backlog { thread, ops: steps } => {
                let mut spans = sample.spans.iter_mut().rev();
                let span = spans.find(|span| span.thread == *thread);
                let span = span.ok_or_else(|| wrong("steps of a thread without a span"))?;
                self.steps += steps.len();
                match &reply {
                    Reply::Backlog { .. } => span.backlog.extend(steps),
                    _ => span.progress.extend(steps),
                }
            }
            Reply::Response { ns, count }
            | Reply::Read { ns, count }
            | Reply::Latency { ns, count }
            | Reply::Sync { ns, count } => {
                let latencies = match &reply {
                    Reply::Response { .. } => &mut sample.responses,
                    Reply::Read { .. } => &mut sample.reads,
                    Reply::Sync { .. } => &mut sample.syncs,
                    _ => &mut sample.latencies,
                };
                if latencies.counts.last().is_some_and(|(last, _)| last >= ns) {
                    return Err(wrong("latencies that do not ascend"));
                }
                latencies.counts.push((*ns, *count));
            }
            Reply::Done {
                setup_ns,
                warm_up_ns,
                max_ns,
                sync_max_ns,
                response_max_ns,
                read_max_ns,
                usage,
            } => {
                let mut sample = std::mem::take(sample);
                (sample.setup_ns, sample.warm_up_ns) = (*setup_ns, *warm_up_ns);
                sample.usage = *usage;
                sample.latencies.max_ns = *max_ns;
                sample.syncs.max_ns = *sync_max_ns;
                sample.responses.max_ns = *response_max_ns;
                sample.reads.max_ns = *read_max_ns;
                return Ok(Some(Outcome::Done(sample)));
            }
            Reply::Unavailable { reason } => {
                return Ok(Some(Outcome::Unavailable { reason: reason.clone() }));
            }
            Reply::Failed { reason } => {
                return Ok(Some(Outcome::Failed { reason: reason.clone() }));
            }
            Reply::Hello { .. } | Reply::Ready | Reply::Timed { .. } | Reply::Calibrated => {
                let verb = reply.encode().split(' ').take(1).collect::<String>();
                return Err(wrong(&format!("'{verb}' in the middle of a trial")));
            }
        }
        Ok(None)
    }
}
