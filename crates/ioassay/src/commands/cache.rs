//! `ioassay cache`: how much of a file is in the page cache, and how to change that.

use super::say;
use crate::args::tools::CacheCommand;
use crate::input;
use crate::status::Status;
use anyhow::{Context, Result, anyhow};
use model::evidence::{Probe, Residency};
use model::printable::printable;
use model::units;
use std::fs::File;
use std::path::{Path, PathBuf};
use witness::page_cache;

/// Runs the command.
///
/// # Errors
/// If a file cannot be opened, or its residency cannot be read or changed.
pub fn execute(command: &CacheCommand) -> Result<Status> {
    match command {
        CacheCommand::Show { files } => each(files, "show", |file, probe| {
            page_cache::residency(file, probe).map_err(anyhow::Error::from)
        }),
        CacheCommand::Evict { files } => each(files, "evict", |file, probe| {
            page_cache::evict(file, page_cache::WHOLE, probe).map_err(anyhow::Error::from)
        }),
        CacheCommand::Warm { files } => each(files, "warm", |file, probe| {
            page_cache::warm(file, page_cache::WHOLE, probe).map_err(anyhow::Error::from)
        }),
        CacheCommand::Drop => {
            page_cache::drop_all()?;
            say("emptied this machine's page cache; every program must read its files again")?;
            Ok(Status::DONE)
        }
    }
}

fn each(
    files: &[PathBuf],
    verb: &str,
    act: impl Fn(&File, Probe) -> Result<Residency>,
) -> Result<Status> {
    for path in files {
        let residency =
            one(path, &act).with_context(|| format!("failed to {verb} '{}'", path.display()))?;
        say(&describe(path, &residency))?;
    }
    Ok(Status::DONE)
}

fn one(path: &Path, act: impl Fn(&File, Probe) -> Result<Residency>) -> Result<Residency> {
    let file = input::regular(path)?;
    let probe = witness::storage_of(path)?.residency_probe.ok_or_else(|| {
        anyhow!("neither cachestat nor mincore can see how much of this file is cached")
    })?;
    act(&file, probe)
}

fn describe(path: &Path, residency: &Residency) -> String {
    let Residency { probe, pages, cached, dirty } = residency;
    let dirty = dirty.map(|dirty| format!(", {dirty} dirty")).unwrap_or_default();
    let share = units::percent(residency.share());
    let path = path.display().to_string();
    let path = printable(&path);
    format!("{path}: {cached} of {pages} pages cached ({share}{dirty}), by {probe}")
}
