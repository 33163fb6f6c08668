//! The lab: runs ioassay in emulated machines with other kernels, devices and file systems, and
//! checks what it reports. It does not measure speed.
//!
//! The modules are listed from lowest to highest; a module uses only those listed above it.

mod kernel;
mod scenario;
mod image;
mod guest;
mod page;

use crate::arch::Arch;
use crate::at_once::at_once;
use crate::document::{self, Part, Purpose};
use crate::options::at_least;
use crate::programs::{self, Build, Interrupt};
use anyhow::{Context, Result, ensure};
use clap::Args;
use guest::Booted;
use image::Images;
use scenario::{Machine, Scenario};
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// The document, relative to the workspace, and its part with the rows.
const DOCUMENT: &str = "docs/lab.md";
const PART: Part = Part::Marked("rows");

/// The command's options.
#[derive(Debug, PartialEq, Args)]
pub(crate) struct Options {
    /// Run only scenarios with TEXT in their names, and write nothing
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// With --only: write the rows of these scenarios, and keep the others
    #[arg(long = "write", requires = "only", conflicts_with = "is_quick")]
    is_written: bool,
    /// Run only the scenarios of the test command, and write nothing
    #[arg(long = "quick")]
    is_quick: bool,
    /// Number of machines to run at a time
    #[arg(long, value_name = "N", default_value_t = JOBS, value_parser = at_least::<1>)]
    jobs: usize,
    /// Keeps images and the machines' output
    #[arg(long, default_value_os_t = folder())]
    folder: PathBuf,
}

/// The usual number of machines at a time.
const JOBS: usize = 2;

/// The usual folder.
fn folder() -> PathBuf {
    crate::target().join("lab")
}

/// Runs the scenarios and writes the results. Without QEMU or a package source for images, it skips
/// the quick ones by name.
///
/// # Errors
/// If a machine cannot be built, or a scenario fails.
pub(crate) fn run(options: &Options) -> Result<()> {
    let machines = scenario::machines()?;
    let chosen = options.choose(&machines);
    ensure!(!chosen.is_empty(), "no such scenario");
    let images = match options.images(&chosen) {
        Err(error) if options.is_quick => {
            println!("skipped: {} ({error:#})", scenario::names(&chosen).join(", "));
            return Ok(());
        }
        images => images?,
    };
    let done = options.boot(&chosen, &images)?;
    if options.writes() {
        let version = programs::own_version(&programs::ioassay(Build::Tests)?)?;
        let fresh = page::Fresh::new(&chosen, &done, &programs::date()?, &version);
        let text = if options.is_written {
            let old = document::read(DOCUMENT)?;
            fresh.among(PART.of(&old)?, &scenario::names(&machines))?
        } else {
            fresh.alone()
        };
        document::rewrite(DOCUMENT, &[(PART, text)], Purpose::Write)?;
    }
    judge(&chosen, &done)
}

/// Prints how many scenarios passed.
///
/// # Errors
/// If a scenario failed.
fn judge(machines: &[Machine], done: &[Booted]) -> Result<()> {
    let all = machines.iter().zip(done).flat_map(|(machine, done)| {
        machine.scenario.iter().zip(&done.ran).map(|(scenario, ran)| (&scenario.name, ran))
    });
    let all: Vec<_> = all.collect();
    let failed = all.iter().filter(|(_, ran)| !ran.wrong.is_empty());
    let failed: Vec<&str> = failed.map(|(name, _)| name.as_str()).collect();
    ensure!(failed.is_empty(), "{} of {} failed: {}", failed.len(), all.len(), failed.join(", "));
    println!("{} scenarios in {} machines", all.len(), machines.len());
    Ok(())
}

/// The program for each required architecture.
struct LabProgram {
    amd64: PathBuf,
    arm64: Option<PathBuf>,
}

impl Options {
    /// Whether the document is written: all of it, or the rows of some scenarios.
    fn writes(&self) -> bool {
        self.is_written || (self.only.is_none() && !self.is_quick)
    }

    fn choose(&self, machines: &[Machine]) -> Vec<Machine> {
        let part = self.only.as_deref().unwrap_or_default();
        let is_chosen = |one: &Scenario| one.name.contains(part) && (one.quick || !self.is_quick);
        let mut chosen = scenario::choose(machines, is_chosen);
        // A survey takes about a minute.
        let all = chosen.iter_mut().flat_map(|machine| &mut machine.scenario);
        all.filter(|one| self.is_quick && !one.quick_survey).for_each(|one| one.bottleneck.clear());
        chosen
    }

    /// The images for these machines, building those that are missing.
    fn images(&self, machines: &[Machine]) -> Result<Images> {
        let images = Images::new(&self.folder)?;
        images.make(machines.iter().map(|machine| machine.kernel.as_str()))?;
        Ok(images)
    }

    /// Builds the program for the machines.
    fn build(&self, machines: &[Machine]) -> Result<LabProgram> {
        let is_arm = |machine: &Machine| {
            kernel::named(&machine.kernel).is_some_and(|kernel| kernel.arch == Arch::Arm64)
        };
        // The tests' debug build already exists, and an emulated machine runs it in the same time.
        let is_needed = machines.iter().any(is_arm);
        let for_arm = || {
            let built = programs::ioassay_for_arm(Build::Tests)?;
            self.stripped(&built, "aarch64-linux-gnu-strip", "arm64")
        };
        let arm64 = is_needed.then(for_arm).transpose()?;
        let amd64 = self.stripped(&programs::ioassay(Build::Tests)?, "strip", "amd64")?;
        Ok(LabProgram { amd64, arm64 })
    }

    /// The program that was `built`, in a size that machines have room for.
    fn stripped(&self, built: &Path, strip: &str, arch: &str) -> Result<PathBuf> {
        let stripped = self.folder.join(format!("ioassay-{arch}"));
        let shell = Shell::new()?;
        cmd!(shell, "{strip} -o {stripped} {built}").quiet().run()?;
        Ok(stripped)
    }

    /// Boots the machines and returns their results in order.
    fn boot(&self, machines: &[Machine], images: &Images) -> Result<Vec<Booted>> {
        let program = self.build(machines)?;
        let interrupt = Interrupt::watch()?;
        let done = at_once(machines, self.jobs, |machine| {
            interrupt.go_on()?;
            let booted = self.boot_one(machine, images, &program);
            tell(machine, &booted);
            booted
        });
        interrupt.go_on()?;
        let came = |(machine, booted): (&Machine, Result<Booted>)| {
            booted.unwrap_or_else(|error| Booted::failed(machine, &error))
        };
        Ok(machines.iter().zip(done).map(came).collect())
    }

    fn boot_one(&self, machine: &Machine, images: &Images, program: &LabProgram) -> Result<Booted> {
        let kernel = kernel::named(&machine.kernel).context("unknown kernel")?;
        let out = self.folder.join("out").join(&machine.scenario[0].name);
        let program = match kernel.arch {
            Arch::Amd64 => Some(&program.amd64),
            Arch::Arm64 => program.arm64.as_ref(),
        };
        guest::run(machine, images, program.context("there is no build for this")?, &out)
    }
}

fn tell(machine: &Machine, booted: &Result<Booted>) {
    let booted = match booted {
        Ok(booted) => booted,
        Err(error) => {
            println!("FAILED {}: {error:#}", machine.scenario[0].name);
            return;
        }
    };
    println!("{} ({:.0} s)", booted.release, booted.seconds);
    for (scenario, ran) in machine.scenario.iter().zip(&booted.ran) {
        let end = if ran.wrong.is_empty() { "asserted" } else { "asserted, FAILED" };
        println!("  {:<28}{:>4} {end}", scenario.name, ran.asserted);
        ran.wrong.iter().for_each(|wrong| println!("      {wrong}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{install, options};

    fn usual() -> Options {
        Options { only: None, is_written: false, is_quick: false, jobs: 2, folder: folder() }
    }

    #[test]
    fn the_document_has_a_row_for_each_scenario() {
        let part = document::part(DOCUMENT, PART);
        let rows = document::rows(&part);
        let machines = scenario::machines().expect("it can be read");
        assert_eq!(rows, scenario::names(&machines), "cargo xtask lab --only NAME --write");
    }

    #[test]
    fn the_test_command_runs_few_surveys() {
        let machines = scenario::machines().expect("it can be read");
        let surveys = |is_quick: bool| -> Vec<String> {
            let chosen = Options { is_quick, ..usual() }.choose(&machines);
            let all = chosen.into_iter().flat_map(|machine| machine.scenario);
            all.filter(|one| !one.bottleneck.is_empty()).map(|one| one.name).collect()
        };
        let quick = surveys(true);
        assert!((1..=2).contains(&quick.len()), "{quick:?}");
        assert!(surveys(false).len() > quick.len());
        let asked = machines.iter().flat_map(|machine| &machine.scenario);
        let asked = asked.filter(|one| one.quick_survey).map(|one| one.name.as_str());
        assert_eq!(asked.collect::<Vec<_>>(), quick, "each is quick, and expects an answer");
    }

    #[test]
    fn the_packages_are_known() {
        let kernel::ImageTable { needs, arm_needs, .. } = &*kernel::TABLE;
        install::check_known(needs.iter().chain(arm_needs).map(String::as_str));
    }

    #[test]
    fn options_are_read() {
        options::check("", &usual());
        let expected = Options { only: Some("md".into()), is_quick: true, jobs: 1, ..usual() };
        options::check("--jobs 1 --quick --only md", &expected);
        let expected = Options { only: Some("md".into()), is_written: true, ..usual() };
        options::check("--only md --write", &expected);
        let wrong = ["--jobs 0", "--jobs x", "--only", "--fast 3", "--quick --write --only md"];
        options::refused::<Options>(&wrong);
    }
}
