//! The C compilers: every build of the peer in C that the table of peers has, measured in a first
//! sweep, so that the fastest can be a peer of its own.

use super::figure::estimate;
use super::numbers::{Numbers, TIME_MAX};
use super::stage::Stage;
use super::worker::Worker;
use crate::programs;
use anyhow::{Context, Result, ensure};
use model::case::Advice;
use model::peer::Peer;
use model::random::Rng;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Passes of each build in the sweep.
const SWEEPS: usize = 3;

/// One build of the peer in C.
#[derive(Debug)]
pub(super) struct Build {
    pub(super) peer: Peer,
    program: PathBuf,
    /// The median of the sweep.
    pub(super) bytes_per_s: f64,
}

impl Build {
    /// Starts it.
    pub(super) fn start(&self) -> Result<Worker> {
        Worker::start(Command::new(&self.program), TIME_MAX)
    }
}

/// Builds and measures all; the fastest comes first.
///
/// # Errors
/// When none could be built, or one counts wrongly.
pub(super) fn sweep(stage: &Stage, numbers: &Numbers, rng: &mut Rng) -> Result<Vec<Build>> {
    let cache = stage.path("cache");
    let listed = stage.ioassay(&["peers", "list"])?;
    let names = names(&listed);
    ensure!(!names.is_empty(), "the table of peers has no build of C here: there is no compiler");
    let mut command = stage.command();
    command.args(["peers", "build"]).args(&names).env("XDG_CACHE_HOME", &cache);
    // A build that failed has an exit status of its own, 1: the others are there.
    programs::read(command, 0..=1)?;
    let mut builds = find(&cache.join("ioassay/peers"))?;
    ensure!(!builds.is_empty(), "none of the builds of C succeeded");
    numbers.warm(stage)?;
    let mut rates = vec![Vec::new(); builds.len()];
    let mut order: Vec<usize> = (0..builds.len()).collect();
    for _ in 0..SWEEPS {
        rng.shuffle(&mut order);
        for &index in &order {
            stage.go_on()?;
            let sample = numbers.count(&mut builds[index].start()?, Advice::None)?;
            rates[index].push(sample.bytes() as f64 * 1e9 / sample.elapsed_ns() as f64);
        }
    }
    for (build, rates) in builds.iter_mut().zip(&rates) {
        build.bytes_per_s = estimate(rates).median;
    }
    builds.sort_by(|one, other| other.bytes_per_s.total_cmp(&one.bytes_per_s));
    Ok(builds)
}

/// The names of the builds of C in what `ioassay peers list` prints: `COMPILER-FLAGS-FORM`.
fn names(listed: &str) -> Vec<&str> {
    let names = listed.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| name.ends_with("-loop") || name.ends_with("-unrolled")).collect()
}

/// The peers that were built into `folder`, each in a folder of its own with what is known of it.
fn find(folder: &Path) -> Result<Vec<Build>> {
    let mut builds = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let folder = entry?.path();
        let (facts, program) = (folder.join("peer.json"), folder.join("peer"));
        let facts = fs::read_to_string(&facts).with_context(|| facts.display().to_string())?;
        builds.push(Build { peer: serde_json::from_str(&facts)?, program, bytes_per_s: 0.0 });
    }
    Ok(builds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_of_the_matrix_are_told_by_their_names() {
        let listed = "\
rust                       this program's own worker
c                          read pread mmap count    gcc -O3 -o {build}/peer {source}
gcc-O0-loop                read pread mmap count    gcc -O0 -o {build}/peer {source}
gcc-12-O3-v3-unrolled      read pread mmap count    gcc-12 -O3 -o {build}/peer {source}
rust-dev                   read pread mmap uring    cargo build
";
        assert_eq!(names(listed), ["gcc-O0-loop", "gcc-12-O3-v3-unrolled"]);
    }
}
