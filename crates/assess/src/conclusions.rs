//! What the rows of a run conclude: one module for each question, which says what it concludes and
//! from which rows.

pub mod builds;
pub mod commits;
pub mod device_use;
pub mod memory_use;
pub mod write_use;
pub mod commands;
pub mod counts;
pub mod depth;
pub mod disk_or_memory;
mod engines;
mod fastest;
pub mod interference;
pub mod loaded_latency;
mod read_latency;
pub mod load;
pub mod fit;
pub mod saturation;
pub mod steady;
pub mod touches;
pub mod durability;

use crate::decision::{Decided, Lead};
use crate::levels::{Levels, all_levels};
use crate::row::Row;
use crate::summary::ServedBy;
use builds::Builds;
use commands::BoundedCommand;
use commits::Commits;
use counts::CountingAnswer;
use depth::Depths;
use disk_or_memory::DiskOrMemory;
use durability::WritingAnswer;
use fit::Fit;
use interference::Interference;
use load::Load;
use loaded_latency::LoadedLatency;
use model::plan::Plan;
use saturation::Saturation;
use schemars::JsonSchema;
use serde::Serialize;
use steady::SteadyState;
use touches::Touching;

/// The conclusions of a run. One that its rows do not bear is empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Conclusions {
    /// Whether the goals of the run are met; null if it has none.
    pub fit: Option<Fit>,
    /// The fastest requested case for each source of the bytes.
    #[serde(skip)]
    pub fastest: Vec<(ServedBy, Lead)>,
    /// The fastest engine, for requested reads that differ only in it.
    #[serde(skip)]
    pub engines: Vec<Lead>,
    /// Whether figures depend on the number of operations, from cases that differ only in that.
    #[serde(skip)]
    pub read_latency: Vec<Decided>,
    /// What bounds the time of each command.
    #[serde(rename = "commands")]
    pub bounded: Vec<BoundedCommand>,
    /// The differences between builds of the same loop.
    #[serde(skip)]
    pub builds: Vec<Builds>,
    /// Is this storage faster than memory, and what bounds it? Null unless both were measured.
    #[serde(rename = "answer")]
    pub disk_or_memory: Option<DiskOrMemory>,
    /// Which rows show what a commit costs.
    #[serde(skip)]
    pub commits: Commits,
    /// The memory levels that chases show, for each page size.
    pub levels: Vec<Levels>,
    /// The number of threads that saturate memory.
    pub saturations: Vec<Saturation>,
    /// The load that storage holds, for cases that differ only in their rate.
    pub loads: Vec<Load>,
    /// The depth that a device needs, for cases that differ only in it.
    pub depths: Vec<Depths>,
    /// What other work on the same storage does to a case, for those measured with and without.
    pub interferences: Vec<Interference>,
    /// Whether the rate of writing became steady and where its fast part ended, for each case whose
    /// trials follow each other.
    pub steady: Vec<SteadyState>,
    /// The latency of memory beside loads of its bandwidth, for each loop that loads.
    pub loaded_latencies: Vec<LoadedLatency>,
    /// Is disk faster than memory? For each data size that was counted.
    #[serde(rename = "counting")]
    pub counts: Vec<CountingAnswer>,
    /// The fastest way to write; null if no case writes.
    #[serde(rename = "writing")]
    pub durability: Option<WritingAnswer>,
    /// The cost of touching a page of a file, if pages of memory were touched too.
    #[serde(rename = "touching")]
    pub touches: Vec<Touching>,
}

impl Conclusions {
    /// Asks each question of the judged rows of a plan.
    pub(crate) fn of(rows: &[Row], plan: &Plan) -> Conclusions {
        Conclusions {
            fit: fit::fit(rows, plan),
            fastest: fastest::fastest(rows),
            engines: engines::engines(rows),
            read_latency: read_latency::read_latency(rows),
            bounded: commands::bounded(rows),
            builds: builds::builds(rows),
            disk_or_memory: disk_or_memory::disk_or_memory(rows),
            commits: commits::commits(rows.iter().map(|row| &row.summary)),
            levels: all_levels(rows),
            saturations: saturation::saturations(rows),
            loads: load::loads(rows, plan),
            depths: depth::depths(rows),
            interferences: interference::interferences(rows),
            steady: steady::steady_states(rows),
            loaded_latencies: loaded_latency::loaded_latencies(rows),
            counts: counts::counting_answers(rows),
            durability: durability::writing_answer(rows),
            touches: touches::touchings(rows),
        }
    }
}
