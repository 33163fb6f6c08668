//! Runs ioassay, fio and dd on each known fault, and ioassay without faults. A document quotes what
//! they printed.
//!
//! The modules are listed from lowest to highest; a module uses only those listed above it.

mod guards;
mod limit;
mod said;
mod fault;
mod faults;
#[path = "../../../crates/witness/tests/it/fixture.rs"]
#[expect(dead_code, reason = "the file systems of the witness's tests, of which not all are used")]
mod fixture;
mod scene;
mod page;
mod clean;

use crate::stage::{Circumstances, Stage};
use crate::{document, install, programs};
use anyhow::{Context, Result, bail, ensure};
use clean::{Survey, Tally};
use fault::Fault;
use faults::FAULTS;
use page::{OUTLINE, Played, SECTIONS};
use std::fs;
use std::path::{Path, PathBuf};
use xshell::Shell;

/// The document, relative to the workspace.
const DOCUMENT: &str = "HONESTY.md";

/// An in-memory file system.
const MEMORY: &str = "/dev/shm";

/// What faults need, as a Debian package and one of its programs. Faults that lack theirs report
/// it.
const NEEDS: [(&str, &str); 5] = [
    ("fio", "fio"),
    ("strace", "strace"),
    ("bindfs", "bindfs"),
    ("btrfs-progs", "mkfs.btrfs"),
    ("e2fsprogs", "mkfs.ext4"),
];

/// The command's options.
#[derive(Debug, PartialEq)]
struct Options {
    asked: Asked,
    directory: PathBuf,
}

/// The part of the document to write.
#[derive(Debug, PartialEq)]
enum Asked {
    /// All faults.
    Faults,
    /// Faults whose names contain this text; they are printed, not written.
    Some(String),
    /// This many surveys of each storage.
    Clean(usize),
}

/// Plants faults, or runs surveys without, from the workspace at `root`, and writes the document.
///
/// # Errors
/// If a program that all need is missing, or the user interrupted this. A fault that cannot be
/// planted is not an error: the document reports it.
pub(crate) fn run(root: &Path, options: &[&str]) -> Result<()> {
    let options = parse(root, options)?;
    let shell = Shell::new()?;
    shell.change_dir(root);
    let stage = Stage::new(root, &options.directory, "honesty")?;
    let fresh = match &options.asked {
        Asked::Faults | Asked::Some(_) => {
            for (package, program) in NEEDS {
                if let Err(error) = install::program(&shell, package, program) {
                    println!("{error:#}");
                }
            }
            let part = match &options.asked {
                Asked::Some(part) => part.as_str(),
                _ => "",
            };
            let all = play_all(&stage, part)?;
            ensure!(!all.is_empty(), "no fault has `{part}` in its name");
            let versions = [("fio", "--version"), ("dd", "--version"), ("strace", "--version")];
            (SECTIONS[0], page::faults(&circumstances(root, &stage, &versions)?, &all))
        }
        Asked::Clean(n) => {
            let places = [Path::new(MEMORY), &options.directory];
            let tallies =
                places.map(|place| Ok((storage(&stage, place)?, survey(&stage, place, *n)?)));
            let tallies: Result<Vec<_>> = tallies.into_iter().collect();
            (SECTIONS[1], clean::section(&circumstances(root, &stage, &[])?, &tallies?))
        }
    };
    if let Asked::Some(_) = options.asked {
        println!("{}", fresh.1);
        return Ok(());
    }
    OUTLINE.write(&root.join(DOCUMENT), &[fresh])
}

/// Plants each fault whose name contains `part`.
fn play_all(stage: &Stage, part: &str) -> Result<Vec<Played<'static>>> {
    fs::write(stage.path("write.toml"), scene::WRITE_RECIPE)?;
    let mut all = Vec::new();
    for fault in FAULTS.iter().filter(|fault| fault.name.contains(part)) {
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

fn parse(root: &Path, words: &[&str]) -> Result<Options> {
    let mut options = Options { asked: Asked::Faults, directory: root.join("target") };
    let mut rest = words;
    while let [name, after @ ..] = rest {
        let value = after.first().filter(|word| !word.starts_with("--"));
        match (*name, value) {
            ("--clean", None) => options.asked = Asked::Clean(20),
            ("--clean", Some(n)) => {
                let n = n.parse().with_context(|| format!("--clean {n}"))?;
                options.asked = Asked::Clean(n);
            }
            ("--only", Some(part)) => options.asked = Asked::Some((*part).to_owned()),
            ("--dir", Some(directory)) => options.directory = PathBuf::from(directory),
            ("--only" | "--dir", None) => bail!("{name} has no value"),
            _ => bail!("honesty has no option `{name}`: it has --only, --clean and --dir"),
        }
        rest = &after[usize::from(value.is_some())..];
    }
    ensure!(options.asked != Asked::Clean(0), "--clean 0: use at least one survey");
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
        let options = |asked, directory: &str| Ok(Options { asked, directory: directory.into() });
        assert_eq!(parse(""), options(Asked::Faults, "/w/target"));
        assert_eq!(parse("--clean"), options(Asked::Clean(20), "/w/target"));
        assert_eq!(parse("--clean --dir /d"), options(Asked::Clean(20), "/d"));
        assert_eq!(parse("--dir /d --clean 3"), options(Asked::Clean(3), "/d"));
        assert_eq!(parse("--only tmpfs"), options(Asked::Some("tmpfs".to_owned()), "/w/target"));
        for (line, expected) in [
            ("--clean x", "--clean x"),
            ("--clean 0", "at least one survey"),
            ("--dir", "--dir has no value"),
            ("--only --clean", "--only has no value"),
            ("--fast", "no option `--fast`"),
        ] {
            let error = parse(line).expect_err("it is wrong");
            assert!(error.contains(expected), "{error}");
        }
    }
}
