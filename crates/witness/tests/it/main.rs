//! What the OS is asked, and answers, on this very machine.
//!
//! Some tests need root, a tool or a feature of the OS. Where that is missing they say so by name
//! and pass. What they mount or create is removed however they end.
#![expect(clippy::print_stderr, reason = "a test that is skipped says so by name")]

mod actor;
mod fixture;
mod page_cache;
mod layout;
mod storage;
mod disk;
mod counters;
mod settle;
mod memory_group;
