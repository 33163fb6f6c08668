//! Descriptions of other machines, from copies of their `/sys` and `/proc`.

#[path = "../../tests/machine_tree.rs"]
mod machine_tree;
mod tree;
mod topologies;
mod servers;
mod limits;
mod links;
mod ways;
mod named;
mod machines;
mod platforms;
