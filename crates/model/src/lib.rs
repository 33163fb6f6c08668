//! The terms of ioassay and their text form.
//!
//! Nothing here reads a clock, opens a file or prints: a value of this crate is the same on every
//! machine. All code that measures or judges uses these types.
//!
//! The modules are listed from lowest to highest; a module uses only those listed above it.

#![forbid(unsafe_code)]

pub mod list;
pub mod printable;
pub mod shell;
pub mod file_path;
pub mod units;
pub mod peer_name;
pub mod random;
pub mod arrival;
pub mod block_sizes;
pub mod mix;
pub mod content;
pub mod generation;
pub mod zipf;
pub mod pattern;
pub mod cache;
pub mod figure;
pub mod task_io;
pub mod command;
pub mod sample;
pub mod actor;
pub mod axes;
pub mod part;
pub mod taking_part;
pub mod memory;
pub mod shape;
pub mod io;
pub mod metadata;
pub mod reading;
pub mod writing;
mod buffers;
pub mod case;
pub mod rank;
pub mod axis;
pub mod goal;
pub mod advice;
pub mod view;
pub mod sweep;
pub mod peer;
pub mod evidence;
pub mod rehearsal;
pub mod replay;
pub mod trial;
pub mod line;
mod optional;
pub mod wire;
pub mod setup;
pub mod layer;
pub mod platform;
pub mod path;
pub mod vitals;
pub mod fixture;
pub mod host;
pub mod watched;
mod refusal;
pub mod environment;
pub mod plan;
mod turns;
mod roles;
pub mod sharing;
pub mod company;
pub mod record;
pub mod running;
pub mod judging;
pub mod agent;
pub mod zoo;
