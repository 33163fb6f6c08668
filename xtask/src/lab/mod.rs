//! The laboratory: ioassay in emulated machines with other kernels, devices and file systems, and
//! what it must and must not say there. Nothing is asked about speed.
//!
//! The modules are listed from lowest to highest; a module uses only those above it here.

mod scenario;
mod image;
mod guest;
mod page;

use crate::options;
use crate::programs::{self, Interrupt};
use anyhow::{Context, Result, ensure};
use guest::Ran;
use image::Images;
use scenario::Scenario;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The document, in the folder of the workspace.
const DOCUMENT: &str = "docs/lab.md";

/// What was asked for.
#[derive(Debug, PartialEq)]
struct Options {
    /// Only scenarios that have this in their names; these are not written into the document.
    only: Option<String>,
    /// So many machines at a time.
    jobs: usize,
    /// Where images, and what the machines printed, are kept.
    folder: PathBuf,
}

/// Runs the scenarios from the workspace at `root`, and writes what came of them.
///
/// # Errors
/// When a machine cannot be made, or a scenario fails.
pub(crate) fn run(root: &Path, options: &[&str]) -> Result<()> {
    let options = parse(root, options)?;
    let all = scenario::all()?;
    let part = options.only.as_deref().unwrap_or_default();
    let chosen: Vec<&Scenario> = all.iter().filter(|one| one.name.contains(part)).collect();
    ensure!(!chosen.is_empty(), "no scenario has `{part}` in its name");
    println!("building");
    let program = programs::build(root, &["--package=ioassay", "--bin=ioassay"])?;
    let images = Images::new(&options.folder)?;
    images.make(chosen.iter().map(|one| one.kernel.as_str()))?;
    let done = run_all(&chosen, &images, &program, &options)?;
    let failed: Vec<&str> =
        done.iter().filter(|(_, ran)| !ran.wrong.is_empty()).map(|(one, _)| *one).collect();
    if options.only.is_none() {
        let version = programs::own_version(root, &program)?;
        let text = page::document(&chosen, &done, &programs::date(root)?, &version);
        fs::write(root.join(DOCUMENT), text)?;
        println!("wrote {DOCUMENT}");
    }
    ensure!(failed.is_empty(), "{} of {}: {}", failed.len(), done.len(), failed.join(", "));
    Ok(())
}

/// The scenarios with what came of each, in their order.
fn run_all<'a>(
    chosen: &[&'a Scenario],
    images: &Images,
    program: &Path,
    options: &Options,
) -> Result<Vec<(&'a str, Ran)>> {
    let interrupt = Interrupt::watch()?;
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Ran>)>> = Mutex::default();
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(scenario) = chosen.get(index).filter(|_| interrupt.go_on().is_ok()) else {
                return;
            };
            let out = options.folder.join("out").join(&scenario.name);
            let ran = guest::run(scenario, images, program, &out);
            tell(scenario, &ran);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, ran));
        }
    };
    std::thread::scope(|scope| {
        (0..options.jobs).for_each(|_| drop(scope.spawn(work)));
    });
    interrupt.go_on()?;
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter()
        .map(|(index, ran)| {
            let name = chosen[index].name.as_str();
            Ok((name, ran.with_context(|| format!("the scenario {name}"))?))
        })
        .collect()
}

fn tell(scenario: &Scenario, ran: &Result<Ran>) {
    match ran {
        Ok(ran) if ran.wrong.is_empty() => {
            println!("{:<24}{:>4} asserted{:>7.0} s", scenario.name, ran.asserted, ran.seconds);
        }
        Ok(ran) => {
            println!("{:<24}FAILED{:>14.0} s", scenario.name, ran.seconds);
            ran.wrong.iter().for_each(|wrong| println!("    {wrong}"));
        }
        Err(error) => println!("{:<24}FAILED: {error:#}", scenario.name),
    }
}

fn parse(root: &Path, words: &[&str]) -> Result<Options> {
    let mut options = Options { only: None, jobs: 2, folder: root.join("target/lab") };
    options::each(words, &["--only", "--jobs", "--folder"], |name, value| {
        match name {
            "--only" => options.only = Some(value.to_owned()),
            "--jobs" => options.jobs = value.parse()?,
            _ => options.folder = value.into(),
        }
        Ok(())
    })?;
    ensure!(options.jobs > 0, "--jobs 0: one machine at a time is the least");
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let parse = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            parse(Path::new("/w"), &words).map_err(|error| format!("{error:#}"))
        };
        let folder = PathBuf::from("/w/target/lab");
        let usual = Options { only: None, jobs: 2, folder: folder.clone() };
        assert_eq!(parse(""), Ok(usual));
        let expected = Options { only: Some("md".into()), jobs: 1, folder };
        assert_eq!(parse("--jobs 1 --only md"), Ok(expected));
        for (line, expected) in [
            ("--jobs 0", "one machine at a time"),
            ("--jobs x", "--jobs x"),
            ("--only", "--only has no value"),
            ("--fast 3", "no option `--fast`"),
        ] {
            let error = parse(line).expect_err("it is wrong");
            assert!(error.contains(expected), "{error}");
        }
    }
}
