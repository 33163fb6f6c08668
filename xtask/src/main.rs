//! ioassay's own chores.
fn main() {}
