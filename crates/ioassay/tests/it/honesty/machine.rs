//! Faults of the machine: contention for memory and CPUs, failing or forbidden calls, lying
//! programs, and real or absent differences.

mod resources;
pub(super) mod calls;
mod liars;
pub(crate) mod comparing;
