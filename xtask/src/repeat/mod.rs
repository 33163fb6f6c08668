//! Repeats one recipe on this machine. Counts how often two consecutive records are called
//! different, and how often the earlier one's interval contains the later one's figure.
//!
//! Nothing changes between them, so every difference is a false alarm. A simulation cannot show
//! this: it contains only the kinds of noise that its author thought of.

mod tally;

use crate::programs::{self, Interrupt};
use crate::{document, generated, options};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tally::{Seen, Tally};

/// The recipe to repeat.
const RECIPE: &str = include_str!("recipe.toml");

/// The document with the table, relative to the workspace.
const DOCUMENT: &str = "METHODOLOGY.md";

/// The command's options.
#[derive(Debug, PartialEq)]
struct Options {
    /// Number of consecutive pairs; needs one more record than that.
    pairs: usize,
    /// The directory for test files.
    directory: PathBuf,
    /// The folder for records. Existing records are reused.
    records: PathBuf,
}

/// Repeats the recipe from the workspace at `root` and writes the table into the document.
///
/// # Errors
/// If a run fails, or the user interrupts it. Finished records are kept, and the next call
/// continues after them.
pub(crate) fn run(root: &Path, options: &[&str]) -> Result<()> {
    let options = parse(root, options)?;
    let program = programs::ioassay(root)?;
    fs::create_dir_all(&options.records).context(options.records.display().to_string())?;
    let recipe = options.records.join("repetitions.toml");
    fs::write(&recipe, RECIPE)?;
    let interrupt = Interrupt::watch()?;
    let paths: Vec<PathBuf> = (0..=options.pairs)
        .map(|index| options.records.join(format!("{index:03}.jsonl")))
        .collect();
    for path in &paths {
        if !path.exists() {
            println!("{}", path.display());
            measure(&program, &recipe, &options.directory, path)?;
        }
        interrupt.go_on()?;
    }
    let text = circumstances(root, &program, &paths[0])? + &tally(&program, &paths)?.text();
    println!("{text}");
    let path = root.join(DOCUMENT);
    let old = fs::read_to_string(&path)?;
    document::write(&path, &generated::replace(&old, "repetitions", &text)?)
}

/// Makes one record. Exit status 1 is fine: a doubtful figure is still a figure.
fn measure(program: &Path, recipe: &Path, directory: &Path, record: &Path) -> Result<()> {
    let mut command = Command::new(program);
    command.args(["run", "--quiet", "--json", "--record"]).arg(record).arg(recipe).arg(directory);
    programs::output(command, 0..=1).map(drop)
}

/// Compares consecutive records twice: for a user who has only these two, and for a user who has
/// also kept all earlier ones.
fn tally(program: &Path, paths: &[PathBuf]) -> Result<Tally> {
    let mut tally = Tally::default();
    let folder = tempfile::tempdir()?;
    let kept = [folder.path().join("0.jsonl"), folder.path().join("1.jsonl")];
    let all = tempfile::tempdir()?;
    let copy = |from: &Path, to: &Path| {
        fs::copy(from, to).map(drop).with_context(|| format!("copying {}", from.display()))
    };
    for (index, pair) in paths.windows(2).enumerate() {
        let names = [index, index + 1].map(|index| all.path().join(format!("{index}.jsonl")));
        for (from, (alone, among)) in pair.iter().zip(kept.iter().zip(&names)) {
            copy(from, alone)?;
            copy(from, among)?;
        }
        tally.add(Seen { alone: compare(program, &kept)?, among: compare(program, &names)? })?;
    }
    Ok(tally)
}

/// Runs `ioassay compare` on two records. It can find no other records than those in their folder.
fn compare(program: &Path, pair: &[PathBuf; 2]) -> Result<Value> {
    let none = tempfile::tempdir()?;
    let mut command = Command::new(program);
    command.env("XDG_STATE_HOME", none.path()).args(["compare", "--json"]).args(pair);
    Ok(serde_json::from_str(&programs::read(command, 0..=0)?)?)
}

/// When, where and with which version the records were made, in a sentence.
fn circumstances(root: &Path, program: &Path, first: &Path) -> Result<String> {
    let mut command = Command::new(program);
    command.args(["report", "--json"]).arg(first);
    let report: Value = serde_json::from_str(&programs::read(command, 0..=1)?)?;
    let began = report["began"].as_str().unwrap_or("unknown");
    let version = programs::own_version(root, program)?;
    Ok(document::paragraph(&format!(
        "Records from {began} on, by {version}; {}.",
        document::describe(&report)
    )))
}

fn parse(root: &Path, words: &[&str]) -> Result<Options> {
    let mut options = Options {
        pairs: 40,
        directory: root.join("target"),
        records: root.join("target/repetitions"),
    };
    options::each(words, &["--pairs", "--dir", "--records"], |name, value| {
        match name {
            "--pairs" => options.pairs = value.parse()?,
            "--dir" => options.directory = value.into(),
            _ => options.records = value.into(),
        }
        Ok(())
    })?;
    ensure!(options.pairs > 0, "--pairs 0: use at least one pair");
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
        let [directory, records] = ["/w/target", "/w/target/repetitions"].map(PathBuf::from);
        assert_eq!(parse(""), Ok(Options { pairs: 40, directory, records: records.clone() }));
        let expected = Options { pairs: 3, directory: "/d".into(), records };
        assert_eq!(parse("--dir /d --pairs 3"), Ok(expected));
        for (line, expected) in [
            ("--pairs x", "--pairs x"),
            ("--pairs 0", "at least one pair"),
            ("--dir", "--dir has no value"),
            ("--fast 3", "no option `--fast`"),
        ] {
            let error = parse(line).expect_err("it is wrong");
            assert!(error.contains(expected), "{error}");
        }
    }
}
