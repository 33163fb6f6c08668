//! The whole program, as a person uses it: what it does, what it refuses and what it leaves.
//!
//! Each test has a directory and a state folder of its own, both removed however it ends. Some
//! need root, a tool or a real disk; where that is missing they say so by name and pass.
#![expect(clippy::print_stderr, reason = "a test that is skipped says so by name")]

mod desk;
#[path = "../../../witness/tests/it/fixture.rs"]
#[expect(
    dead_code,
    reason = "the file systems that the witness is tested on, of which few are used"
)]
mod mounts;
mod records;
mod forms;
mod refusals;
mod places;
mod peers;
mod tools;
mod plans;
mod runs;
mod writing;
mod destroying;
mod files;
mod folders;
mod comparing;
mod pages;
mod pictures;
mod signals;
mod ends;
mod workers;
mod honesty;
mod shells;
mod terminal;
mod kept;
mod pipes;
mod documents;
