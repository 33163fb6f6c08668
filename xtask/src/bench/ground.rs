//! What the section about memory stands on: what the host has room for, and the programs and files
//! that are made for it. What could not be had is a reason, and no error.

use super::matrix::{self, Build};
use super::numbers::Numbers;
use super::stage::Stage;
use crate::install;
use crate::programs;
use anyhow::{Context, Result, ensure};
use model::memory::Kernel;
use model::random::Rng;
use model::units;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use xshell::Shell;

/// Arrays are so many times as large as the last-level cache: little of them stays in it.
pub(super) const CACHES: u64 = 4;

/// An array is a multiple of these bytes, and so is each thread's part of it: of the pages that
/// ioassay rounds an array up to, and of the kilobytes of 1000 that likwid-bench has.
const ARRAY_STEP_BYTES: u64 = 512_000;

/// What there is to measure with.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) cores: u32,
    /// Memory that was free at the start.
    pub(super) free_bytes: u64,
    /// Bytes of an array.
    pub(super) array_bytes: Result<u64, String>,
    pub(super) likwid: Result<(), String>,
    pub(super) sysbench: Result<(), String>,
    /// The program made of chase.c.
    pub(super) chase: Result<PathBuf, String>,
    pub(super) numbers: Result<Numbers, String>,
    /// The builds of C, the fastest first; at least one.
    pub(super) builds: Result<Vec<Build>, String>,
}

impl Ground {
    /// Installs, builds and writes what can be, on a host of which `facts` is what `ioassay host`
    /// says. The file that is counted has `count_bytes`.
    ///
    /// # Errors
    /// When the host tells too little, or somebody interrupted this.
    pub(super) fn new(
        root: &Path,
        shell: &Shell,
        stage: &Stage,
        facts: &Value,
        count_bytes: u64,
        rng: &mut Rng,
    ) -> Result<Ground> {
        let fact = |pointer: &str| {
            let fact = facts.pointer(pointer).and_then(Value::as_u64);
            fact.with_context(|| format!("'ioassay host' tells no {pointer}"))
        };
        let program = |package, program| text(install::program(shell, package, program));
        let free_bytes = fact("/host/memory_available")?;
        let cores = u32::try_from(fact("/host/cores")?)?;
        let array_bytes = fact("/host/last_level_cache")
            .and_then(|cache_bytes| array_bytes(cache_bytes, cores, free_bytes));
        let (likwid, sysbench) =
            (program("likwid", "likwid-bench"), program("sysbench", "sysbench"));
        let chase = program("gcc", "gcc").and_then(|()| text(build_chase(root, stage)));
        let numbers = text(Numbers::create(stage, count_bytes, fact("/storage/free")?, free_bytes));
        stage.go_on()?;
        let builds = match &numbers {
            Ok(numbers) => text(matrix::sweep(stage, numbers, rng)),
            Err(reason) => Err(reason.clone()),
        };
        stage.go_on()?;
        let array_bytes = text(array_bytes);
        Ok(Ground { cores, free_bytes, array_bytes, likwid, sysbench, chase, numbers, builds })
    }
}

/// An error as it is told to a reader.
fn text<T>(result: Result<T>) -> Result<T, String> {
    result.map_err(|error| format!("{error:#}"))
}

/// Bytes of an array: so many times the cache, in steps. As many arrays as the largest kernel has
/// take at most a quarter of the memory that is free.
fn array_bytes(cache_bytes: u64, cores: u32, free_bytes: u64) -> Result<u64> {
    let array_bytes = (CACHES * cache_bytes).next_multiple_of(ARRAY_STEP_BYTES * u64::from(cores));
    let all_bytes = Kernel::Triad.arrays() * array_bytes;
    let [all, free] = [all_bytes, free_bytes].map(units::bytes_rounded);
    ensure!(
        all_bytes <= free_bytes / 4,
        "arrays of {all}, beyond the last-level cache, are more than a quarter of the {free} of \
         memory that are free"
    );
    Ok(array_bytes)
}

fn build_chase(root: &Path, stage: &Stage) -> Result<PathBuf> {
    let program = stage.path("chase");
    let mut command = Command::new("gcc");
    command.args(["-std=gnu11", "-O2", "-o"]).arg(&program);
    command.arg(root.join("xtask/src/bench/chase.c"));
    programs::read(command, 0..=0)?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_beyond_the_cache_and_within_memory() {
        for cores in [1, 2, 7, 96] {
            let bytes = array_bytes(32 << 20, cores, 64 << 30).expect("there is room");
            assert!((128 << 20..192 << 20).contains(&bytes), "{bytes} bytes, {cores} cores");
            assert!(bytes.is_multiple_of(1000) && bytes.is_multiple_of(4096 * u64::from(cores)));
        }
        let error = array_bytes(32 << 20, 2, 1 << 30).expect_err("384 MiB are too much");
        assert!(error.to_string().contains("more than a quarter"), "{error}");
    }
}
