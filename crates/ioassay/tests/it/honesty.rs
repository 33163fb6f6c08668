//! Honesty: every known cause of a wrong figure is planted for real and must be detected.
//!
//! Nothing is simulated: a throttled device is really throttled. Each fault has a twin, the same
//! run without it, which must not report that fault.

pub(crate) mod plant;
mod in_use;
mod storage;
pub(crate) mod machine;
mod open;
mod fleet;
mod steady;
