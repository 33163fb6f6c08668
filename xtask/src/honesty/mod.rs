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

use crate::document::Part;
use crate::extent::Extent;
use crate::options::at_least;
use crate::stage::Experiment;
use crate::unable::Unable;
use crate::{document, install};
use anyhow::{Context, Result, ensure};
use clap::Args;
use clean::{Survey, SurveyTally};
use fault::Fault;
use page::Played;
use std::fs;
use std::path::{Path, PathBuf};

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

use HonestySection::{Clean, Faults, Hold, Stop};

impl HonestySection {
    fn title(self) -> &'static str {
        match self {
            Faults => "Faults",
            Stop => "A stop under load",
            Hold(_) => "The load that is held",
            Clean(_) => "Clean runs",
        }
    }

    /// Its text.
    fn text(self, stage: &Experiment, options: &Options) -> Result<String> {
        match self {
            Faults => faults(stage, options),
            Stop if !install::is_there(FIO) => Err(Unable::error("fio is missing")),
            Stop => stop::section(stage, &stage.circumstances(&[FIO])?),
            Hold(n) => hold::section(stage, &stage.circumstances(&[])?, n),
            Clean(n) => {
                let tally = |place: &Path| {
                    let storage = document::describe_storage(&stage.host(place)?);
                    Ok((storage, survey(stage, place, n)?))
                };
                let places = [Path::new(MEMORY), &options.directory];
                let tallies = places.into_iter().map(tally).collect::<Result<Vec<_>>>()?;
                Ok(clean::section(&stage.circumstances(&[])?, &tallies))
            }
        }
    }
}

impl Options {
    fn sections(&self) -> Vec<HonestySection> {
        match self {
            _ if self.extent.is_smoke() => vec![Faults, Stop, Hold(1), Clean(1)],
            Options { clean: Some(n), .. } => vec![Clean(*n)],
            Options { stop: true, .. } => vec![Stop],
            Options { hold: Some(n), .. } => vec![Hold(*n)],
            Options { only: Some(_), .. } => vec![Faults],
            _ => vec![Faults, Stop],
        }
    }
}

/// Plants faults, or runs surveys without, and writes the document.
///
/// # Errors
/// If a program that all need is missing, or the user interrupted this. A fault that cannot be
/// planted is not an error: the document reports it.
pub(crate) fn run(options: &Options) -> Result<()> {
    let stage = Experiment::new(&options.directory, "honesty", options.extent)?;
    let mut sections = Vec::new();
    for section in options.sections() {
        let text = section.text(&stage, options);
        let text = options.extent.or_skip(section.title(), text)?;
        sections.extend(text.map(|text| (Part::Section(section.title()), text)));
    }
    if options.only.is_some() {
        sections.iter().for_each(|(_, text)| println!("{text}"));
        return Ok(());
    }
    stage.put(DOCUMENT, &sections)
}

/// The section on faults.
fn faults(stage: &Experiment, options: &Options) -> Result<String> {
    install::ensure_some(&NEEDS);
    let part = options.only.as_deref().unwrap_or_default();
    let is_smoke = options.extent.is_smoke();
    let is_chosen = |fault: &&Fault| fault.name.contains(part) && (fault.smoke || !is_smoke);
    let faults = fault::all()?;
    let chosen: Vec<&Fault> = faults.iter().filter(is_chosen).collect();
    ensure!(!chosen.is_empty(), "no fault has `{part}` in its name");
    let all = play_all(stage, &chosen)?;
    Ok(page::faults(&stage.circumstances(&[FIO, "dd", "strace"])?, &all))
}

/// Plants each of `faults`. In the smoke form, all that goes wrong is an error, except for what
/// this machine cannot have.
fn play_all<'a>(stage: &Experiment, faults: &[&'a Fault]) -> Result<Vec<Played<'a>>> {
    fs::write(stage.path("write.toml"), scene::WRITE_RECIPE)?;
    let (mut all, mut wrong) = (Vec::new(), Vec::new());
    for fault in faults {
        println!("{}", fault.name);
        let played = scene::play(fault, stage);
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
    ensure!(wrong.is_empty() || !stage.extent.is_smoke(), "{}", wrong.join("\n"));
    Ok(all)
}

/// A survey without a fault, and the same with less work, for which `survey` has no options.
const SURVEY: &str = "ioassay survey --quick DIR --json";
const SMALL_SURVEY: &str = "ioassay run survey DIR --rounds=1 --no-ceilings --time=5ms --size=1MiB \
                            --working-set=1MiB --json";

/// Counts the findings of `n` quick surveys of `directory`.
fn survey(stage: &Experiment, directory: &Path, n: usize) -> Result<SurveyTally> {
    let ticks = || -> Result<(u64, u64)> {
        clean::cpu_ticks(&fs::read_to_string("/proc/stat")?).context("/proc/stat reports no time")
    };
    let words = stage.words().and("DIR", directory);
    if stage.extent.is_smoke() {
        stage.ioassay(&SURVEY.replace("--json", "--dry-run"), &words)?;
    }
    let mut surveys = Vec::new();
    for i in 1..=n {
        println!("survey {i} of {n} in '{}'", directory.display());
        let (all, stolen) = ticks()?;
        let report = stage.json(stage.extent.pick(SURVEY, SMALL_SURVEY), &words)?;
        let (all_after, stolen_after) = ticks()?;
        let steal_share = (stolen_after - stolen) as f64 / (all_after - all).max(1) as f64;
        ensure!(report["cases"].is_array(), "the survey reports no cases");
        surveys.push(Survey { report, steal_share });
    }
    Ok(SurveyTally::of(&surveys))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options;

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
        let titles = options.sections().into_iter().map(HonestySection::title);
        assert_eq!(titles.clone().collect::<std::collections::BTreeSet<_>>().len(), 4);
        titles.for_each(|title| drop(document::part(DOCUMENT, Part::Section(title))));
    }
}
