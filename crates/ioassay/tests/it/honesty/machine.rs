//! Faults of the machine: memory and processors that others take, calls that fail or are refused,
//! programs that lie, and differences that there are or are not.

mod resources;
mod calls;
mod liars;
mod comparing;
