//! Descriptions of other machines, from copies of their `/sys` and `/proc`.

mod tree;
mod topologies;
mod servers;
mod limits;
mod machines;
