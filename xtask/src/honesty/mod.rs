//! Runs ioassay, fio and dd on each known fault, and ioassay without faults. A document quotes what
//! they printed.
//!
//! The modules are listed from lowest to highest; a module uses only those listed above it.

mod guards;
mod limit;
mod said;
mod fault;
#[path = "../../../crates/witness/tests/it/fixture.rs"]
#[expect(dead_code, reason = "the file systems of the witness's tests, of which not all are used")]
mod fixture;
mod scene;
mod page;
mod clean;
mod stop;
mod hold;

use crate::document::Purpose;
use crate::options::at_least;
use crate::programs::Build;
use crate::stage::{Circumstances, Stage};
use crate::{document, install, programs};
use anyhow::{Context, Result, ensure};
use clap::Args;
use clean::{Survey, Tally};
use fault::Fault;
use page::{Played, SECTIONS};
use std::fs;
use std::path::{Path, PathBuf};
use xshell::Shell;

/// The document, relative to the workspace.
const DOCUMENT: &str = "HONESTY.md";

/// An in-memory file system.
const MEMORY: &str = "/dev/shm";

/// Debian packages that faults need. Faults that lack theirs report it.
const NEEDS: [&str; 5] = ["fio", "strace", "bindfs", "btrfs-progs", "e2fsprogs"];

/// The command's options.
#[derive(Debug, PartialEq, Args)]
pub(crate) struct Options {
    /// Print the faults with TEXT in their names, and write nothing
    #[arg(long, value_name = "TEXT", conflicts_with = "clean")]
    only: Option<String>,
    /// Instead run N quick surveys of /dev/shm and of DIR without a fault: half an hour
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "20",
          value_parser = at_least::<1>)]
    clean: Option<usize>,
    /// Instead stop ioassay and fio in the middle of a steady load: half a minute
    #[arg(long, conflicts_with_all = ["only", "clean"])]
    stop: bool,
    /// Instead find N times the load that a device with a known limit holds: 20 minutes, as root
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "20",
          value_parser = at_least::<1>, conflicts_with_all = ["only", "clean", "stop"])]
    hold: Option<usize>,
    /// The directory below which faults are planted
    #[arg(long = "dir", value_name = "DIR", default_value_os_t = crate::target())]
    directory: PathBuf,
}

/// Plants faults, or runs surveys without, from the workspace at `root`, and writes the document.
///
/// # Errors
/// If a program that all need is missing, or the user interrupted this. A fault that cannot be
/// planted is not an error: the document reports it.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let stage = Stage::new(root, &options.directory, "honesty", Build::Release)?;
    if let Some(n) = options.clean {
        let places = [Path::new(MEMORY), &options.directory];
        let tallies = places.map(|place| Ok((storage(&stage, place)?, survey(&stage, place, n)?)));
        let tallies: Vec<_> = tallies.into_iter().collect::<Result<_>>()?;
        let text = clean::section(&circumstances(root, &stage, &[])?, &tallies);
        return document::rewrite(&root.join(DOCUMENT), &[(SECTIONS[3], text)], Purpose::Write);
    }
    if options.stop {
        return document::rewrite(
            &root.join(DOCUMENT),
            &[(SECTIONS[1], stop(root, &stage)?)],
            Purpose::Write,
        );
    }
    if let Some(n) = options.hold {
        let text = hold::section(&stage, &circumstances(root, &stage, &[])?, n)?;
        return document::rewrite(&root.join(DOCUMENT), &[(SECTIONS[2], text)], Purpose::Write);
    }
    let shell = Shell::new()?;
    shell.change_dir(root);
    for package in NEEDS {
        if let Err(error) = install::ensure(&shell, package) {
            println!("{error:#}");
        }
    }
    let part = options.only.as_deref().unwrap_or_default();
    let faults = fault::all()?;
    let all = play_all(&stage, &faults, part)?;
    ensure!(!all.is_empty(), "no fault has `{part}` in its name");
    let versions = [("fio", "--version"), ("dd", "--version"), ("strace", "--version")];
    let text = page::faults(&circumstances(root, &stage, &versions)?, &all);
    if options.only.is_some() {
        println!("{text}");
        return Ok(());
    }
    let stop = stop(root, &stage)?;
    document::rewrite(
        &root.join(DOCUMENT),
        &[(SECTIONS[0], text), (SECTIONS[1], stop)],
        Purpose::Write,
    )
}

/// The section on a stop under load.
fn stop(root: &Path, stage: &Stage) -> Result<String> {
    stop::section(stage, &circumstances(root, stage, &[("fio", "--version")])?)
}

/// Plants each fault whose name contains `part`.
fn play_all<'a>(stage: &Stage, faults: &'a [Fault], part: &str) -> Result<Vec<Played<'a>>> {
    fs::write(stage.path("write.toml"), scene::WRITE_RECIPE)?;
    let mut all = Vec::new();
    for fault in faults.iter().filter(|fault| fault.name.contains(part)) {
        println!("{}", fault.name);
        let played = play(fault, stage);
        stage.go_on()?;
        if let Err(reason) = &played {
            println!("  not planted: {reason}");
        }
        all.push((fault, played));
    }
    Ok(all)
}

fn play(fault: &Fault, stage: &Stage) -> Result<Vec<scene::Ran>, String> {
    if !rustix::process::geteuid().is_root() {
        return Err("it needs root".to_owned());
    }
    scene::play(fault, stage).map_err(|error| format!("{error:#}"))
}

/// A storage's name for readers.
fn storage(stage: &Stage, directory: &Path) -> Result<String> {
    let facts = stage.host(directory)?;
    let line = document::describe(&facts);
    let (_, storage) = line.split_once("; ").context("`ioassay host` names no storage")?;
    Ok(storage.to_owned())
}

/// Counts the findings of `n` quick surveys of `directory`.
fn survey(stage: &Stage, directory: &Path, n: usize) -> Result<Tally> {
    let ticks = || -> Result<(u64, u64)> {
        clean::cpu_ticks(&fs::read_to_string("/proc/stat")?).context("/proc/stat reports no time")
    };
    let place = directory.display().to_string();
    let mut surveys = Vec::new();
    for i in 0..n {
        println!("survey {} of {n} in '{place}'", i + 1);
        let (all, stolen) = ticks()?;
        let text = stage.ioassay(&["survey", "--quick", "--json", &place])?;
        let (all_after, stolen_after) = ticks()?;
        let steal_share = (stolen_after - stolen) as f64 / (all_after - all).max(1) as f64;
        surveys.push(Survey { report: serde_json::from_str(&text)?, steal_share });
    }
    Ok(Tally::of(&surveys))
}

/// The circumstances; `others` are further programs with their version options.
fn circumstances(root: &Path, stage: &Stage, others: &[(&str, &str)]) -> Result<Circumstances> {
    let mut circumstances = stage.circumstances(root)?;
    // A missing program has no version.
    let others = others.iter().map(|(name, option)| programs::first_line(root, name, &[option]));
    circumstances.versions.extend(others.flatten());
    Ok(circumstances)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options;

    #[test]
    fn the_document_has_its_sections() {
        document::check_sections(DOCUMENT, &SECTIONS);
    }

    #[test]
    fn the_packages_are_known() {
        install::check_known(NEEDS);
    }

    #[test]
    fn options_are_read() {
        let directory = crate::target();
        let usual = Options { only: None, clean: None, stop: false, hold: None, directory };
        options::check("", &usual);
        let clean = |n, directory| Options {
            only: None,
            clean: Some(n),
            stop: false,
            hold: None,
            directory,
        };
        options::check("--clean", &clean(20, crate::target()));
        options::check("--clean --dir /d", &clean(20, "/d".into()));
        options::check("--dir /d --clean 3", &clean(3, "/d".into()));
        options::check(
            "--hold 3",
            &Options {
                hold: Some(3),
                only: None,
                clean: None,
                stop: false,
                directory: crate::target(),
            },
        );
        options::check("--only tmpfs", &Options { only: Some("tmpfs".to_owned()), ..usual });
        let wrong = ["--clean x", "--clean 0", "--dir", "--only --clean", "--only a --clean"];
        options::refused::<Options>(&wrong);
    }
}
