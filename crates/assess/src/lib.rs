//! Judges a record: what a figure is, how certain it is, what bounds it, and what is wrong with it.
//!
//! Pure: an [`Assessment`] depends only on a [`model::record::Record`], so a record made today is
//! judged the same tomorrow.
//!
//! The modules are listed from lowest to highest; a module uses only those listed above it.

#![forbid(unsafe_code)]

mod form;
pub mod failure;
mod binomial;
mod significance;
mod student;
mod middle;
pub mod invocations;
pub mod stats;
pub mod percentile;
mod permutation;
pub mod finding;
pub mod path;
pub mod platform;
mod caches;
mod beside;
mod counted;
mod rehearsed;
mod placed;
mod measured;
pub mod ratio;
pub mod names;
mod served_by;
mod commands;
pub mod durable_commands;
pub mod command_figures;
pub mod told;
mod hits;
mod served;
pub mod link_use;
pub mod disturbance;
pub mod latency;
pub mod open_loop;
pub mod mixed;
pub mod shared;
pub mod actors;
mod spent;
mod imbalance;
pub mod writing;
mod curve;
pub mod course;
pub mod cliff;
mod rounds;
pub mod trials;
pub mod summary;
mod tally;
mod row;
pub mod prune;
pub mod repetition;
pub mod campaign;
pub mod comparison;
pub mod decision;
mod ceiling;
mod bus;
pub mod control;
pub mod levels;
mod arrays;
mod rules;
mod found;
pub mod conclusions;
pub mod one_host;
mod assessment;
pub mod trend;
mod commands_apart;
mod surroundings;
mod matching;
pub mod earlier;
mod figureless;
pub mod records;
mod gate_of_commands;
pub mod gate;
mod ending;
mod host_round;
mod straggler;
mod scaling;
pub mod together;
pub mod odd;
pub mod fleet;
pub mod running;

#[cfg(test)]
mod tests;

/// Rules that depend only on a series of rates, exposed for simulations.
pub mod series {
    pub use crate::course::{is_within_limits as is_steady_window, split as step};
    pub use crate::rounds::drift;
}

pub use assessment::{Assessment, assess};
pub use counted::rate;
pub use course::is_steady;
pub use found::RunFinding;
pub use gate_of_commands::compare_commands;
pub use ratio::Ratio;
pub use records::{compare, compare_anyway};
pub use stats::is_settled;
pub use tally::Tally;
pub use together::{compare_commands_of_hosts, judged_of_hosts, together};
