//! Machines that this one is not: their `/sys` and `/proc`, and what is said of them.

mod tree;
mod topologies;
mod servers;
mod machines;
