//! One run of a command under ptrace, which tells the files that it uses and the syncs that it
//! calls. A seccomp filter stops it only at the calls that tell this, so reads and writes run at
//! full speed.

mod error;
mod calls;
mod filter;
mod ptrace;
mod start;
mod identity;
mod role;
mod files;
mod regions;
mod facts;
mod programs;
mod io_counts;
mod ticker;
mod tracer;
mod sample;

pub use error::RehearsalError;
pub use io_counts::io_beyond_this_thread;
pub use sample::{Sampler, sample};
pub use start::{Rehearsed, TASKS_MAX};
pub use tracer::rehearse;
