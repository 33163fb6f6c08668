//! The figures of a case of which some operations read and the rest write: those of each kind.

use crate::counted::{Counted, a_second};
use crate::form::{As, FormOf};
use crate::latency::{Each, Latency, Percentiles};
use crate::measured::Measured;
use crate::percentile::Percentile;
use crate::stats::Estimate;
use model::sample::Sample;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;

/// The results of a mixed case.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Mixed {
    /// Reads per second.
    pub read_iops: Option<Estimate>,
    /// Percentiles of their latencies.
    #[serde(flatten, with = "As::<OfReads>")]
    pub reads: Latency,
    /// Writes per second.
    pub write_iops: Option<Estimate>,
    /// Percentiles of their latencies.
    #[serde(flatten, with = "As::<OfWrites>")]
    pub writes: Latency,
}

/// The published form of the latencies of reads.
#[derive(Serialize, JsonSchema)]
struct OfReads {
    /// Latencies of the operations that read, in nanoseconds.
    read_ns: Percentiles,
    /// The 95 % intervals of those percentiles.
    read_ns_intervals: Each<Percentile>,
}

impl FormOf<Latency> for OfReads {
    fn of(latency: &Latency) -> OfReads {
        let (read_ns, read_ns_intervals) = latency.forms();
        OfReads { read_ns, read_ns_intervals }
    }
}

/// The published form of the latencies of writes.
#[derive(Serialize, JsonSchema)]
struct OfWrites {
    /// Latencies of the operations that wrote, in nanoseconds. If a read took longest, the longest
    /// write is known to within 1/256.
    write_ns: Percentiles,
    /// The 95 % intervals of those percentiles.
    write_ns_intervals: Each<Percentile>,
}

impl FormOf<Latency> for OfWrites {
    fn of(latency: &Latency) -> OfWrites {
        let (write_ns, write_ns_intervals) = latency.forms();
        OfWrites { write_ns, write_ns_intervals }
    }
}

impl Mixed {
    /// The figures of a case; `None` if all its operations do the same.
    pub(crate) fn of(measured: &Measured) -> Option<Mixed> {
        if !measured.case.is_mixed() {
            return None;
        }
        let iops = |ops: fn(&Sample) -> u64| {
            let rate =
                |trial: &Counted| Some(trial.at(a_second(ops(trial.sample), trial.timed_ns)?));
            let rounds = measured.trials.iter().filter_map(rate).collect();
            measured.estimate_of(&measured.at_the_end(rounds))
        };
        Some(Mixed {
            read_iops: iops(Sample::read_ops),
            reads: Latency::of(&measured.latencies(|trial| Cow::Borrowed(&trial.sample.reads))),
            write_iops: iops(Sample::written_ops),
            writes: Latency::of(&measured.latencies(|trial| Cow::Owned(trial.sample.writes()))),
        })
    }
}
