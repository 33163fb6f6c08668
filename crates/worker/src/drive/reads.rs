//! The operations of a mixed case that read.

use crate::meter::Meter;
use model::mix::Mix;
use model::sample::{Latencies, Span};

/// One thread's reads in a mixed case. The counters of all operations include them.
#[derive(Debug)]
pub(super) struct Reads {
    mix: Mix,
    meter: Meter,
    /// Operations of both kinds that began so far.
    begun: u64,
    ops: u64,
    bytes: u64,
}

impl Reads {
    pub(super) fn new(mix: Mix) -> Reads {
        Reads { mix, meter: Meter::new(), begun: 0, ops: 0, bytes: 0 }
    }

    /// The bytes read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the next operation reads.
    #[inline(always)]
    pub(super) fn is_next(&mut self) -> bool {
        self.begun += 1;
        self.mix.is_read(self.begun - 1)
    }

    #[inline(always)]
    pub(super) fn record(&mut self, latency_ns: u64, bytes: usize) {
        self.meter.record(latency_ns);
        self.ops += 1;
        self.bytes += bytes as u64;
    }

    pub(super) fn latencies(&self) -> Latencies {
        self.meter.latencies()
    }

    /// Adds what it counted to a completed `span`.
    pub(super) fn tell(&self, span: Span) -> Span {
        Span { read_ops: self.ops, read_bytes: self.bytes, ..span }
    }
}
