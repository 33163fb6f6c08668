//! Faults of the machine: contention for memory and CPUs, failing or forbidden calls, lying
//! programs, and real or absent differences.

mod resources;
pub(crate) mod calls;
mod liars;
pub(crate) mod comparing;
