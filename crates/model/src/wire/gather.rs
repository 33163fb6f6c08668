//! Replies collected into an outcome.

use super::Reply;
use crate::command::Exit;
use crate::figure::PrintedFigure;
use crate::line::ProtocolError;
use crate::sample::{Latencies, Sample, Span};
use crate::trial::Outcome;

/// Maximum number of spans or latencies. A broken worker that sends more must not fill memory.
const REPLIES_MAX: usize = 1 << 16;

/// Maximum steps of progress: a minute for 1700 threads, 29 hours for one.
const STEPS_MAX: usize = 1 << 20;

/// Collects replies into an outcome.
#[derive(Debug, Default)]
pub struct Gather {
    spans: Vec<Span>,
    histograms: [Latencies; 4],
    steps: usize,
    exit: Option<Exit>,
    figure: Option<PrintedFigure>,
}

impl Gather {
    /// Takes the next reply. Returns the outcome after the closing one.
    pub fn take(&mut self, reply: Reply) -> Result<Option<Outcome>, ProtocolError> {
        let spans = &mut self.spans;
        let wrong =
            |problem: &str| ProtocolError { problem: problem.to_string(), line: reply.encode() };
        let counts = self.histograms.iter().map(|latencies| latencies.counts.len());
        let most = counts.chain([spans.len()]).max();
        if most >= Some(REPLIES_MAX) || self.steps >= STEPS_MAX {
            return Err(wrong(&format!("more than {REPLIES_MAX} spans or latencies, the last")));
        }
        match &reply {
            Reply::Span(span) => spans.push(span.clone()),
            Reply::Progress { thread, bytes: steps } | Reply::Backlog { thread, ops: steps } => {
                let mut latest = spans.iter_mut().rev();
                let span = latest.find(|span| span.thread == *thread);
                let span = span.ok_or_else(|| wrong("steps of a thread without a span"))?;
                self.steps += steps.len();
                match &reply {
                    Reply::Backlog { .. } => span.backlog.extend(steps),
                    _ => span.progress.extend(steps),
                }
            }
            Reply::Latency { of, ns, count } => {
                let latencies = &mut self.histograms[*of as usize];
                if latencies.counts.last().is_some_and(|(last, _)| last >= ns) {
                    return Err(wrong("latencies that do not ascend"));
                }
                latencies.counts.push((*ns, *count));
            }
            Reply::Exit(exit) => self.exit = Some(*exit),
            Reply::Figure(figure) => self.figure = Some(figure.clone()),
            Reply::Done { setup_ns, warm_up_ns, longest_ns, usage } => {
                let mut histograms = std::mem::take(&mut self.histograms);
                histograms.iter_mut().zip(longest_ns).for_each(|(it, ns)| it.max_ns = *ns);
                let [latencies, syncs, responses, reads] = histograms;
                return Ok(Some(Outcome::Done(Sample {
                    setup_ns: *setup_ns,
                    warm_up_ns: *warm_up_ns,
                    spans: std::mem::take(spans),
                    latencies,
                    syncs,
                    responses,
                    reads,
                    exit: self.exit.take(),
                    figure: self.figure.take(),
                    usage: *usage,
                })));
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
