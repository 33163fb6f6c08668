//! A worker: performs one job at a time, and times nothing else.
//!
//! It computes no statistics, makes no judgements and collects no evidence: it answers each job
//! with what it timed. Every engine that reads or writes runs through the one loop in [`drive`].
//!
//! The modules are listed from lowest to highest; a module uses only those listed above it.

pub mod clock;
pub mod usage;
pub mod gate;
pub mod memory;
pub mod buffer;
pub mod source;
pub mod meter;
pub mod progress;
pub mod engine;
pub mod writer;
pub mod drive;
pub mod pace;
pub mod stream;
pub mod pins;
pub mod team;
pub mod calibrate;
pub mod reporter;
pub mod blocks;
pub mod page_reader;
pub mod names;
pub mod tree;
pub mod streams;
pub mod figure;
pub mod command;
pub mod perform_write;
pub mod perform;
pub mod serve;

pub use engine::ring::refusal as io_uring_refusal;
pub use pins::pin_threads;
pub use serve::serve;

#[cfg(test)]
mod tests;
