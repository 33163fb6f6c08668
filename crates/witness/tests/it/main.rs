//! Questions to the OS of the machine that runs the tests.
//!
//! Some tests need root, a tool or a feature of the OS. If that is missing, they report so by name
//! and pass. They clean up whatever they mount or create, however they end.
#![expect(clippy::print_stderr, reason = "a test that is skipped says so by name")]

#[path = "../executables.rs"]
mod executables;
mod actor;
mod fixture;
mod page_cache;
mod layout;
mod storage;
mod disk;
mod counters;
mod settle;
mod memory_group;
mod rehearsal;
