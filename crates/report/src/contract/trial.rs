//! The form of a trial by itself, and of what the OS counted.

use schemars::JsonSchema;
use serde::Serialize;

/// What a trial came to by itself.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Trial<'a> {
    /// Its invocation, from 0.
    pub(crate) invocation: u32,
    /// Its round, from 0; a running number over all invocations.
    pub(crate) round: u32,
    /// `counted`: it is in the figures of its case. `excluded`: it was done, and is left out for
    /// what the machine did to it. `unavailable`: this machine could not do it. `failed`: it went
    /// wrong.
    #[schemars(extend("enum" = ["counted", "excluded", "unavailable", "failed"]))]
    pub(crate) fate: &'static str,
    /// Why, unless it is counted; where it is left out, the name of the gate.
    pub(crate) reason: Option<&'a str>,
    /// What it timed; null where it was not done.
    pub(crate) figures: Option<Figures>,
}

/// What a trial that was done timed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Figures {
    /// Bytes that all threads moved.
    pub(crate) bytes: u64,
    /// Operations of all threads.
    pub(crate) ops: u64,
    /// Seconds from the first thread's start to the last thread's end.
    pub(crate) elapsed_s: f64,
    /// Seconds from the first thread's start until the last sync had returned; null where none was
    /// asked for or told of.
    pub(crate) synced_s: Option<f64>,
    /// Bytes a second, as in the throughput of the case.
    pub(crate) throughput: Option<f64>,
    /// Bytes a second until the last write had returned; null where nothing is written.
    pub(crate) accepted: Option<f64>,
    /// Bytes a second until the last sync had returned, where that made them durable.
    pub(crate) durable: Option<f64>,
    /// Operations a second.
    pub(crate) iops: Option<f64>,
    /// Latency in nanoseconds.
    pub(crate) latency_ns: TrialLatency,
}

/// Percentiles of one trial in nanoseconds; null where fewer than 10 operations took longer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TrialLatency {
    /// Half were at most this.
    pub(crate) p50: Option<u64>,
    /// 99 %.
    pub(crate) p99: Option<u64>,
    /// 99.9 %.
    pub(crate) p99_9: Option<u64>,
    /// The longest; null where operations were not timed one by one.
    pub(crate) max: Option<u64>,
}

/// What the OS counted of the worker in a trial: medians, null where it does not tell.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Counters {
    /// Page faults served from memory.
    pub(crate) minor_faults: Option<u64>,
    /// Page faults that waited for a device.
    pub(crate) major_faults: Option<u64>,
    /// Context switches because the worker waited.
    pub(crate) switches_voluntary: Option<u64>,
    /// Context switches because another wanted the CPU.
    pub(crate) switches_involuntary: Option<u64>,
}
