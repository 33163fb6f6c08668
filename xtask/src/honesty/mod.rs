//! Runs ioassay, fio and dd on each known fault, and ioassay without faults. A document quotes what
//! they printed.
//!
//! The modules are listed from lowest to highest; a module uses only those listed above it.

mod small;
mod guards;
mod said;
mod fault;
mod scene;
mod page;
mod clean;
mod stop;
mod hold;

use crate::extent::Extent;
use crate::options::at_least;
use crate::stage::{Circumstances, ProgramFolder};
use crate::unable::Unable;
use crate::{document, install, programs};
use anyhow::{Context, Result, ensure};
use clap::Args;
use clean::{Survey, SurveyTally};
use fault::Fault;
use page::{Played, SECTIONS};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use xshell::Shell;

/// The document, relative to the workspace.
const DOCUMENT: &str = "docs/honesty.md";

/// An in-memory file system.
const MEMORY: &str = "/dev/shm";

/// Its package and its program.
const FIO: &str = "fio";

/// Debian packages that faults need. Faults that lack theirs report it.
const NEEDS: [&str; 5] = [FIO, "strace", "bindfs", "btrfs-progs", "e2fsprogs"];

/// The command's options.
#[derive(Debug, PartialEq, Args)]
pub(crate) struct Options {
    /// Print the faults with TEXT in their names, and write nothing
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["clean", "is_smoke"])]
    only: Option<String>,
    /// Instead run N quick surveys of /dev/shm and of DIR without a fault: half an hour
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "20",
          value_parser = at_least::<1>, conflicts_with = "is_smoke")]
    clean: Option<usize>,
    /// Instead stop ioassay and fio in the middle of a steady load: half a minute
    #[arg(long, conflicts_with_all = ["only", "clean", "is_smoke"])]
    stop: bool,
    /// Instead find N times the load that a device with a known limit holds: 20 minutes, as root
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "20",
          value_parser = at_least::<1>,
          conflicts_with_all = ["only", "clean", "stop", "is_smoke"])]
    hold: Option<usize>,
    /// The directory below which faults are planted
    #[arg(long = "dir", value_name = "DIR", default_value_os_t = crate::target())]
    directory: PathBuf,
    #[command(flatten)]
    extent: Extent,
}

/// A section of the document, and how often its measurement is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HonestySection {
    Faults,
    Stop,
    Hold(usize),
    Clean(usize),
}

impl HonestySection {
    fn title(self) -> &'static str {
        let place = match self {
            HonestySection::Faults => 0,
            HonestySection::Stop => 1,
            HonestySection::Hold(_) => 2,
            HonestySection::Clean(_) => 3,
        };
        SECTIONS[place]
    }
}

impl Options {
    fn parts(&self) -> Vec<HonestySection> {
        match self {
            _ if self.extent.is_smoke() => {
                vec![
                    HonestySection::Faults,
                    HonestySection::Stop,
                    HonestySection::Hold(1),
                    HonestySection::Clean(1),
                ]
            }
            Options { clean: Some(n), .. } => vec![HonestySection::Clean(*n)],
            Options { stop: true, .. } => vec![HonestySection::Stop],
            Options { hold: Some(n), .. } => vec![HonestySection::Hold(*n)],
            Options { only: Some(_), .. } => vec![HonestySection::Faults],
            _ => vec![HonestySection::Faults, HonestySection::Stop],
        }
    }
}

/// Plants faults, or runs surveys without, from the workspace at `root`, and writes the document.
///
/// # Errors
/// If a program that all need is missing, or the user interrupted this. A fault that cannot be
/// planted is not an error: the document reports it.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let stage = ProgramFolder::new(root, &options.directory, "honesty", options.extent.build())?;
    let mut sections = Vec::new();
    for part in options.parts() {
        match section(part, root, &stage, options) {
            Ok(text) => sections.push((part.title(), text)),
            Err(error) if options.extent.is_smoke() && error.is::<Unable>() => {
                println!("skipped: {} ({error:#})", part.title());
            }
            Err(error) => return Err(error),
        }
    }
    if options.only.is_some() {
        sections.iter().for_each(|(_, text)| println!("{text}"));
        return Ok(());
    }
    document::rewrite(&root.join(DOCUMENT), &sections, options.extent.purpose())
}

/// The text of a section.
fn section(
    part: HonestySection,
    root: &Path,
    stage: &ProgramFolder,
    options: &Options,
) -> Result<String> {
    let extent = options.extent;
    let circumstances = |others: &[(&str, &str)]| self::circumstances(root, stage, others);
    match part {
        HonestySection::Faults => faults(root, stage, options),
        HonestySection::Stop if extent.is_smoke() && !install::is_there(FIO) => {
            Err(Unable::error("fio is missing"))
        }
        HonestySection::Stop => {
            stop::section(stage, &circumstances(&[(FIO, "--version")])?, extent)
        }
        HonestySection::Hold(n) => hold::section(stage, &circumstances(&[])?, n, extent),
        HonestySection::Clean(n) => {
            let tally = |place| Ok((storage(stage, place)?, survey(stage, place, n, extent)?));
            let places = [Path::new(MEMORY), &options.directory];
            let tallies = places.into_iter().map(tally).collect::<Result<Vec<_>>>()?;
            Ok(clean::section(&circumstances(&[])?, &tallies))
        }
    }
}

/// The section on faults.
fn faults(root: &Path, stage: &ProgramFolder, options: &Options) -> Result<String> {
    let shell = Shell::new()?;
    shell.change_dir(root);
    for package in NEEDS {
        if let Err(error) = install::ensure(&shell, package) {
            println!("{error:#}");
        }
    }
    let extent = options.extent;
    let part = options.only.as_deref().unwrap_or_default();
    let is_chosen =
        |fault: &&Fault| fault.name.contains(part) && (fault.smoke || !extent.is_smoke());
    let faults = fault::all()?;
    let chosen: Vec<&Fault> = faults.iter().filter(is_chosen).collect();
    ensure!(!chosen.is_empty(), "no fault has `{part}` in its name");
    let all = play_all(stage, &chosen, extent)?;
    let versions = [(FIO, "--version"), ("dd", "--version"), ("strace", "--version")];
    Ok(page::faults(&circumstances(root, stage, &versions)?, &all))
}

/// Plants each of `faults`. In the smoke form, all that goes wrong is an error, except for what
/// this machine cannot have.
fn play_all<'a>(
    stage: &ProgramFolder,
    faults: &[&'a Fault],
    extent: Extent,
) -> Result<Vec<Played<'a>>> {
    fs::write(stage.path("write.toml"), scene::WRITE_RECIPE)?;
    let (mut all, mut wrong) = (Vec::new(), Vec::new());
    for fault in faults {
        println!("{}", fault.name);
        let played = play(fault, stage, extent);
        stage.go_on()?;
        let told = |error: &anyhow::Error| format!("{}: {error:#}", fault.name);
        match &played {
            Ok(ran) => {
                wrong.extend(ran.iter().filter_map(|ran| Some(told(&ran.check(fault).err()?))))
            }
            Err(error) if error.is::<Unable>() => {}
            Err(error) => wrong.push(told(error)),
        }
        let played = played.map_err(|error| format!("{error:#}"));
        if let Err(reason) = &played {
            println!("  not planted: {reason}");
        }
        all.push((*fault, played));
    }
    ensure!(wrong.is_empty() || !extent.is_smoke(), "{}", wrong.join("\n"));
    Ok(all)
}

fn play(fault: &Fault, stage: &ProgramFolder, extent: Extent) -> Result<Vec<scene::ToolResult>> {
    if !rustix::process::geteuid().is_root() {
        return Err(Unable::error("it needs root"));
    }
    scene::play(fault, stage, extent)
}

/// A storage's name for readers.
fn storage(stage: &ProgramFolder, directory: &Path) -> Result<String> {
    let facts = stage.host(directory)?;
    let line = document::describe(&facts);
    let (_, storage) = line.split_once("; ").context("`ioassay host` names no storage")?;
    Ok(storage.to_owned())
}

/// A survey without a fault, and the same with less work, for which `survey` has no options.
const SURVEY: [&str; 2] = ["survey", "--quick"];
const SMALL_SURVEY: [&str; 7] = [
    "run",
    "survey",
    "--rounds=1",
    "--no-ceilings",
    "--time=5ms",
    "--size=1MiB",
    "--working-set=1MiB",
];

/// Counts the findings of `n` quick surveys of `directory`.
fn survey(
    stage: &ProgramFolder,
    directory: &Path,
    n: usize,
    extent: Extent,
) -> Result<SurveyTally> {
    let ticks = || -> Result<(u64, u64)> {
        clean::cpu_ticks(&fs::read_to_string("/proc/stat")?).context("/proc/stat reports no time")
    };
    let place = directory.display().to_string();
    if extent.is_smoke() {
        stage.ioassay(&[&SURVEY[..], &["--dry-run", &place]].concat())?;
    }
    let words = [extent.pick(&SURVEY[..], &SMALL_SURVEY), &["--json", &place]].concat();
    let mut surveys = Vec::new();
    for i in 0..n {
        println!("survey {} of {n} in '{place}'", i + 1);
        let (all, stolen) = ticks()?;
        let text = stage.ioassay(&words)?;
        let (all_after, stolen_after) = ticks()?;
        let steal_share = (stolen_after - stolen) as f64 / (all_after - all).max(1) as f64;
        let report: Value = serde_json::from_str(&text)?;
        ensure!(report["cases"].is_array(), "the survey reports no cases");
        surveys.push(Survey { report, steal_share });
    }
    Ok(SurveyTally::of(&surveys))
}

/// The circumstances; `others` are further programs with their version options.
fn circumstances(
    root: &Path,
    stage: &ProgramFolder,
    others: &[(&str, &str)],
) -> Result<Circumstances> {
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
        let usual = |extent| Options {
            only: None,
            clean: None,
            stop: false,
            hold: None,
            directory: crate::target(),
            extent,
        };
        let whole = || usual(Extent::default());
        options::check("", &whole());
        options::check("--smoke", &usual(Extent::SMOKE));
        options::check("--clean", &Options { clean: Some(20), ..whole() });
        let elsewhere = Options { directory: "/d".into(), clean: Some(3), ..whole() };
        options::check("--dir /d --clean 3", &elsewhere);
        options::check("--hold 3", &Options { hold: Some(3), ..whole() });
        options::check("--stop", &Options { stop: true, ..whole() });
        options::check("--only tmpfs", &Options { only: Some("tmpfs".to_owned()), ..whole() });
        let wrong = ["--clean x", "--clean 0", "--dir", "--only --clean", "--only a --clean"];
        options::refused::<Options>(&wrong);
        let wrong = ["--smoke --only a", "--smoke --clean", "--smoke --stop", "--smoke --hold"];
        options::refused::<Options>(&wrong);
    }

    #[test]
    fn the_smoke_form_has_all_sections() {
        let options = Options {
            only: None,
            clean: None,
            stop: false,
            hold: None,
            directory: crate::target(),
            extent: Extent::SMOKE,
        };
        let titles: Vec<&str> = options.parts().into_iter().map(HonestySection::title).collect();
        assert_eq!(titles, SECTIONS);
    }
}
