//! A trial by itself, and what the OS counted, as JSON.

use crate::contract as wire;
use crate::words::fate;
use assess::summary::Counters;
use assess::trials::{Figures, TrialFigures};

const NS_PER_SECOND: f64 = 1e9;

pub(super) fn trial(trial: &TrialFigures) -> wire::Trial<'_> {
    let (fate, reason) = fate(&trial.fate);
    let (invocation, round) = (trial.invocation, trial.round);
    let figures = trial.figures.as_ref().map(figures);
    wire::Trial { invocation, round, fate, reason, figures }
}

fn figures(figures: &Figures) -> wire::Figures {
    let seconds = |ns: u64| ns as f64 / NS_PER_SECOND;
    wire::Figures {
        bytes: figures.bytes,
        ops: figures.ops,
        elapsed_s: seconds(figures.elapsed_ns),
        synced_s: figures.synced_ns.map(seconds),
        throughput: figures.throughput,
        accepted: figures.accepted,
        durable: figures.durable,
        iops: figures.iops,
        latency_ns: wire::TrialLatency {
            p50: figures.p50_ns,
            p99: figures.p99_ns,
            p99_9: figures.p99_9_ns,
            max: figures.max_ns,
        },
    }
}

pub(super) fn counters(counters: Counters) -> wire::Counters {
    let Counters { minor_faults, major_faults, switches_voluntary, switches_involuntary } =
        counters;
    wire::Counters { minor_faults, major_faults, switches_voluntary, switches_involuntary }
}
