//! The form of what is said about writing, and about a rate over time.

use super::estimate::{Estimate, Latency, LatencyIntervals, Ratio};
use assess::decision::Decision;
use assess::finding::Verdict;
use assess::touching::Phase;
use schemars::JsonSchema;
use serde::Serialize;

/// What a case that writes comes to.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Writing {
    /// Bytes a second until the last write had returned: how fast the OS took them. Null where
    /// that cannot be told.
    pub(crate) acknowledged: Option<Estimate>,
    /// Bytes a second until the last sync had returned, where no evidence denies that this made
    /// them durable; null where no sync was asked for, and where it was not durable.
    pub(crate) durable: Option<Estimate>,
    /// Percentiles of the syncs that were calls of their own, in nanoseconds.
    pub(crate) sync_latency_ns: Latency,
    /// The 95 % intervals of those percentiles.
    pub(crate) sync_latency_ns_intervals: LatencyIntervals,
    /// How many such syncs a trial made: median of the rounds.
    pub(crate) syncs_per_trial: Option<u64>,
    /// Flushes of their caches that the devices completed in a trial: median of the rounds.
    pub(crate) flushes_per_trial: Option<u64>,
    /// Bytes the devices wrote in a trial, for anyone: median of the rounds.
    pub(crate) device_write_bytes: Option<u64>,
    /// Bytes of the file that were in the page cache only when the clock had stopped: median of
    /// the rounds.
    pub(crate) dirty_left_bytes: Option<u64>,
    /// Whether what was written was read back and was right in all trials; null where none was.
    pub(crate) read_back_verified: Option<bool>,
    /// Whether all of that was read from below the page cache, by proof.
    pub(crate) read_back_past_cache: Option<bool>,
}

/// How the rate of a case went over time: of bytes read, or acknowledged. A sync at the end comes
/// after them.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TimeSeries<'a> {
    /// Seconds of a step.
    pub(crate) step_s: f64,
    /// Bytes a second in each step: medians over the trials, or of all trials one after another
    /// where they followed each other without a pause.
    pub(crate) rates: &'a [f64],
    /// The index of the step with which the first window of five steps ended that met the limits
    /// of the SNIA for a steady state; null where none did, and below five steps.
    pub(crate) snia_5_at_step: Option<usize>,
    /// Whether the last ten steps meet them too, or the last ten seconds where trials followed
    /// each other; null below that.
    pub(crate) is_steady: Option<bool>,
    /// Bytes a second of those ten seconds, where trials followed each other until they were
    /// steady.
    pub(crate) sustained: Option<f64>,
    /// The step in the rate, if there is one.
    pub(crate) change: Option<Change>,
}

/// A step in a rate: so much until then, and so much from then on.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Change {
    /// Bytes a second before.
    pub(crate) before: f64,
    /// Bytes a second after.
    pub(crate) after: f64,
    /// Bytes that were moved when it came.
    pub(crate) at_bytes: u64,
    /// Seconds from the start until it came.
    pub(crate) at_s: f64,
}

/// What a trial spent its time on: medians of the rounds.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Spent {
    /// Seconds from the first thread's start to the last thread's end, syncs included.
    pub(crate) wall_s: f64,
    /// CPU seconds in the program itself.
    pub(crate) user_s: Option<f64>,
    /// CPU seconds in the OS.
    pub(crate) system_s: Option<f64>,
    /// CPU time by wall time: 1 is one processor.
    pub(crate) processors: f64,
    /// The share of the threads' time in which they neither ran nor waited for a processor, 0 to
    /// 1.
    pub(crate) blocked_share: Option<f64>,
}

/// Which way to write is fastest, among the figures that stand.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WritingAnswer<'a> {
    /// The highest acknowledged rate.
    pub(crate) acknowledged: Option<Rated<'a>>,
    /// The highest durable rate.
    pub(crate) durable: Option<Rated<'a>>,
    /// What is left of the rate of the case that is `acknowledged` once it is to be durable: its
    /// own durable rate over its acknowledged rate, of the same trials, where it has both. Else the
    /// rate of `durable` over that of `acknowledged`, by paired rounds.
    pub(crate) cost: Option<Ratio>,
}

/// A case with one of its rates.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Rated<'a> {
    /// Its id.
    pub(crate) id: &'a str,
    /// Bytes a second.
    pub(crate) rate: Estimate,
    /// What the case is worth.
    #[schemars(extend("enum" = names!(Verdict)))]
    pub(crate) verdict: &'static str,
    /// Whether it is faster than each sound one of the others.
    #[schemars(extend("enum" = names!(Decision)))]
    pub(crate) is_fastest: &'static str,
    /// Ids of the others that cannot be told apart from it.
    pub(crate) alike: Vec<&'a str>,
}

/// A case that touches a byte of each page of a file, held against one that does so in memory.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Touching<'a> {
    /// What is done to the byte.
    #[schemars(extend("enum" = names!(Phase)))]
    pub(crate) phase: &'static str,
    /// Id of the case on a file.
    pub(crate) file: &'a str,
    /// Id of the case in memory that was touched before.
    pub(crate) memory: &'a str,
    /// Operations a second in memory over those on the file.
    pub(crate) ratio: Ratio,
}
