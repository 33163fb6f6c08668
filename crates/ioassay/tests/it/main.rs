//! End-to-end tests of the program: its results, its refusals and the files it leaves.
//!
//! Each test has its own directory and state folder, which are always removed. Tests that lack
//! root, a tool or a real disk report that and pass.
#![expect(clippy::print_stderr, reason = "a test that is skipped says so by name")]

mod sandbox;
#[path = "../../../witness/tests/it/fixture.rs"]
#[expect(
    dead_code,
    reason = "the file systems that the witness is tested on, of which few are used"
)]
mod mounts;
#[path = "../../../witness/tests/executables.rs"]
mod executables;
#[path = "../../../witness/tests/machine_tree.rs"]
mod machine_tree;
mod records;
mod forms;
mod refusals;
mod places;
mod ranks;
mod peers;
mod tools;
mod paths;
mod broken_paths;
mod plans;
mod jobs;
mod actors;
mod goals;
mod axes;
mod block_sizes;
mod buffers;
mod caching;
mod campaigns;
mod pruning;
mod runs;
mod arrays;
mod writing;
mod destroying;
mod files;
mod own_devices;
mod folders;
mod directories;
mod comparing;
mod gate;
mod gate_campaigns;
mod pages;
mod pictures;
mod signals;
mod judge;
mod judge_forms;
mod judge_stopped;
mod ends;
mod workers;
mod honesty;
mod judge_programs;
mod applications;
mod ancestors;
mod containers;
mod shells;
mod terminal;
mod kept;
mod travel;
mod hosts;
mod hosts_view;
mod resuming;
mod shapes;
mod launchers;
mod judge_hosts;
mod judge_hosts_forms;
mod namespaces;
mod slurm;
mod crowd;
mod fleet;
mod cluster;
mod mixed;
mod names;
mod sharing;
mod pipes;
mod documents;
mod opening;
mod monitoring;
mod vitals;
mod long;
mod judge_pid;
