//! Hunts for rows that are called sound and are not: random questions on random storage, held
//! against what shares neither code nor definitions with ioassay (Python and C in `xtask/hunt`).

use crate::document::{self, Part};
use crate::extent::Extent;
use crate::stage::Experiment;
use crate::unable::{Demand, Unable};
use crate::{install, programs};
use anyhow::{Context, Result, ensure};
use clap::Args;
use model::units;
use rustix::process::geteuid;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The document with what hunts found, relative to the workspace, and its section.
const DOCUMENT: &str = "docs/honesty.md";
const SECTION: Part = Part::Section("Questions that nobody chose");

/// What the section says of all hunts.
const FOUND: &str = include_str!("../hunt/found.txt");

/// Debian packages that the storage needs.
const NEEDS: [&str; 5] = ["mount", "e2fsprogs", "xfsprogs", "btrfs-progs", "bindfs"];

/// How long the smoke form hunts, and at most how many questions it asks.
const SMOKE: [&str; 4] = ["--for", "60", "--questions", "10"];

/// The share of questions whose figures are held against a plain program and against the same case
/// alone; each takes half a minute.
const HELD: &str = "0.1";

/// The command's options.
#[derive(Debug, PartialEq, Args)]
pub(crate) struct Options {
    /// Hunt for this time: 10min, 1h
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = units::parse_time,
          conflicts_with = "is_smoke")]
    duration: Duration,
    /// Where the numbers of questions begin: the same number is the same question
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The directory below which storage is made
    #[arg(long = "dir", value_name = "DIR", default_value_os_t = crate::target())]
    directory: PathBuf,
    #[command(flatten)]
    pub(crate) extent: Extent,
}

/// Hunts, and writes what came of it into the document, whose table is never replaced by one of
/// fewer questions.
///
/// # Errors
/// If a fault was found, or the hunt found none of those that are planted in its own tests.
pub(crate) fn run(options: &Options) -> Result<()> {
    let extent = options.extent;
    can_hunt().map_err(|reason| match Demand::of_environment() {
        Demand::Everything => reason,
        Demand::WhatIsThere => Unable::error(format!("{reason:#}")),
    })?;
    NEEDS.into_iter().try_for_each(install::ensure)?;
    let stage = Experiment::new(&options.directory, "hunt", extent)?;
    test_itself(&stage)?;
    let page = stage.path("page");
    let mut hunt = script("main.py");
    hunt.args([stage.program(), stage.folder()]).args(["--seed", &options.seed.to_string()]);
    let seconds = options.duration.as_secs().to_string();
    hunt.args(extent.pick(["--for", &seconds, "--speeds", HELD], SMOKE));
    hunt.arg("--page").arg(&page);
    let status = hunt.status().context("starting the hunt")?;
    stage.go_on()?;
    let found = fs::read_to_string(&page).context("what the hunt found")?;
    let text = format!("{}{found}\n{FOUND}", stage.circumstances(&[])?.text());
    if may_replace(&found, SECTION.of(&document::read(DOCUMENT)?)?)? {
        stage.put(DOCUMENT, &[(SECTION, text)])?;
    } else {
        println!("{DOCUMENT} keeps its table, which is of more questions");
    }
    ensure!(status.success(), "the hunt found a fault");
    Ok(())
}

/// Whether what a hunt found is of at least as many questions as what is told already.
fn may_replace(found: &str, told: &str) -> Result<bool> {
    Ok(questions(found)? >= questions(told)?)
}

/// How many questions the table in `text` is of.
fn questions(text: &str) -> Result<u64> {
    let row = text.lines().skip_while(|line| !line.starts_with("| questions |")).nth(2);
    let first = row.and_then(|row| row.split('|').nth(1)).context("a table of questions")?;
    Ok(first.trim().parse()?)
}

/// Whether this user may mount, trace and limit.
fn can_hunt() -> Result<()> {
    ensure!(geteuid().is_root(), "it mounts file systems and traces devices, and needs root");
    let traces = Path::new("/sys/kernel/tracing/events");
    if !traces.exists() {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tracefs", "none", "/sys/kernel/tracing"]);
        programs::output(mount, 0..=0).context("it needs the kernel's tracepoints")?;
    }
    ensure!(traces.join("block").exists(), "this kernel has no tracepoints of block devices");
    Ok(())
}

/// Plants faults for the hunter; it must find them.
fn test_itself(stage: &Experiment) -> Result<()> {
    let mut tests = script("test_hunt.py");
    tests.env("IOASSAY", stage.program()).env("PLACE", stage.folder());
    let status = tests.status().context("starting the tests of the hunter")?;
    ensure!(status.success(), "the hunter does not find what it must");
    Ok(())
}

/// A Python program of the hunter, set up to leave no files beside it.
fn script(name: &str) -> Command {
    let mut command = Command::new("python3");
    command.arg("-B").arg(crate::root().join("xtask/hunt").join(name));
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options;

    #[test]
    fn the_document_has_its_section() {
        assert!(document::part(DOCUMENT, SECTION).contains(FOUND.trim()));
    }

    #[test]
    fn a_table_of_fewer_questions_replaces_none() {
        let of = |questions| {
            format!("Asked:\n\n| questions | rows |\n|---:|---:|\n| {questions} | 90 |\n\n| a |\n")
        };
        let may = |found, told| may_replace(&of(found), &of(told)).expect("both have a table");
        assert!(may(1252, 11) && may(11, 11) && !may(11, 1252));
        assert!(may_replace("| a |\n|---|\n| 1 |\n", &of(11)).is_err());
        questions(&document::part(DOCUMENT, SECTION)).expect("the document has a table");
    }

    #[test]
    fn the_packages_are_known() {
        install::check_known(NEEDS);
    }

    #[test]
    fn options_are_read() {
        let usual = |extent| Options {
            duration: Duration::from_secs(3600),
            seed: 1,
            directory: crate::target(),
            extent,
        };
        options::check("", &usual(Extent::default()));
        options::check("--smoke", &usual(Extent::SMOKE));
        let long =
            Options { duration: Duration::from_secs(600), seed: 7, ..usual(Extent::default()) };
        options::check("--for 10min --seed 7", &long);
        options::refused::<Options>(&["--for x", "--seed x", "--smoke --for 1h"]);
    }
}
