//! The top layer connects the crates that measure with those that judge. Only this crate starts
//! processes, writes files and prints.
//!
//! The modules are listed from lowest to highest; a module uses only those listed above it.

#![forbid(unsafe_code)]

pub mod status;
pub mod stop;
pub mod deadline;
pub mod clock;
pub mod input;
pub mod tool;
pub mod ownership;
pub mod symbol;
pub mod group;
pub mod nodelist;
pub mod launch;
pub mod fio;
pub mod recipe;
pub mod load;
pub mod peers;
pub mod builder;
pub mod store;
pub mod orphans;
pub mod child;
pub mod line_process;
pub mod worker_process;
pub mod keeper;
pub mod rehearsal;
pub mod calibration;
pub mod progress;
pub mod device;
pub mod machine;
pub mod directory;
pub mod version;
pub mod space;
pub mod fixture;
pub mod guard;
pub mod scratch;
pub mod shared;
pub mod names;
pub mod files;
pub mod file_storages;
pub mod data_files;
pub mod judging;
pub mod stage;
pub mod validation;
mod beside;
mod numbering;
mod agenda;
pub mod resume;
pub mod barrier;
pub mod calming;
pub mod site;
mod crew;
pub mod schedule;
pub mod alternation;
pub mod hosts;
pub mod args;
pub mod bind;
pub mod manual;
pub mod typed;
pub mod commands;
