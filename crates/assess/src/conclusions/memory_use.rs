//! What a command takes of memory, held against a loop that reads memory in the same run.

use super::device_use::CEILING_LEAST;
use crate::ceiling::MemoryReads;
use crate::commands::{asked_bytes, computes_alone, read_size};
use crate::counted::{Counted, a_second};
use crate::decision::Decision;
use crate::measured::{Measured, Rounds};
use crate::ratio::Ratio;
use crate::row::Row;
use crate::stats::median;
use crate::summary::ServedBy;
use schemars::JsonSchema;
use serde::Serialize;

/// What a command takes through calls that read, of what memory gives.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MemoryUse {
    /// Bytes a second that its read calls returned: median of the rounds.
    pub rate: f64,
    /// The same as a share of a loop that reads memory, in pairs of rounds.
    pub of_ceiling: Ratio,
    /// The case id of that loop.
    pub ceiling: String,
    /// Its threads: one, or as many as there are processors if the command has several.
    pub threads: u32,
    /// Whether what it reads is known to exceed the caches of the processor by far. Otherwise those
    /// may serve a part of it.
    pub is_beyond_caches: bool,
    /// Whether memory, which gives no more, bounds it: it takes at least 80 %, from the page cache.
    pub decision: Decision,
}

impl MemoryUse {
    /// What `row`, a command, takes; `None` if its calls do not tell, memory was not measured with
    /// as many threads, or there are too few rounds for an interval.
    pub(super) fn of(row: &Row, reads: &MemoryReads) -> Option<MemoryUse> {
        let measured = &row.measured;
        let facts = measured.facts?;
        let threads = if computes_alone(facts) { 1 } else { measured.host.parallelism() };
        let base = reads.with(threads)?;
        let rates = asked_rates(measured);
        let of_ceiling = Ratio::of(&rates, &base.measured.rates())?;
        of_ceiling.low.zip(of_ceiling.high)?;
        let asked = measured.median_count(|trial| asked_bytes(measured, trial))?;
        let bytes = read_size(measured)?.min(asked);
        let is_beyond_caches = measured.caches.are_exceeded(bytes, threads) == Some(true);
        let mut found = MemoryUse {
            rate: median(&rates.iter().map(|round| round.value).collect::<Vec<f64>>())?,
            of_ceiling,
            ceiling: base.summary.id.clone(),
            threads,
            is_beyond_caches,
            decision: Decision::Undecided,
        };
        found.decision = found.decide(row.is_served(ServedBy::PageCache));
        Some(found)
    }

    /// Whether it surely takes more than memory gives.
    pub fn is_above_memory(&self) -> bool {
        self.of_ceiling.low.is_some_and(|low| low > 1.0)
    }

    fn decide(&self, is_cached: bool) -> Decision {
        let (Some(low), Some(high)) = (self.of_ceiling.low, self.of_ceiling.high) else {
            return Decision::Undecided;
        };
        match () {
            () if high < CEILING_LEAST => Decision::No,
            () if !is_cached || !self.is_beyond_caches || self.is_above_memory() => Decision::No,
            () if low >= CEILING_LEAST => Decision::Yes,
            () => Decision::Undecided,
        }
    }
}

/// Bytes a second that the calls of a command asked for, in each round.
fn asked_rates(measured: &Measured) -> Rounds {
    let rate =
        |trial: &Counted| Some(trial.at(a_second(asked_bytes(measured, trial)?, trial.wall_ns())?));
    measured.trials.iter().filter_map(rate).collect()
}
