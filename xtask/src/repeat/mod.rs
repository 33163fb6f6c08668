//! Repeats one recipe on this machine. Counts how often two consecutive records are called
//! different, and how often the earlier one's interval contains the later one's figure.
//!
//! Nothing changes between them, so every difference is a false alarm. A simulation cannot show
//! this: it contains only the kinds of noise that its author thought of.

mod tally;

use crate::options::at_least;
use crate::stage::Stage;
use crate::{document, generated, programs};
use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tally::{Seen, Tally};

/// The recipe to repeat.
const RECIPE: &str = include_str!("recipe.toml");

/// The document with the table, relative to the workspace.
const DOCUMENT: &str = "METHODOLOGY.md";

/// The command's options.
#[derive(Debug, PartialEq, Args)]
pub(crate) struct Options {
    /// Number of consecutive pairs; needs one more record than that
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = at_least::<1>)]
    pairs: usize,
    /// The directory for test files
    #[arg(long = "dir", value_name = "DIR", default_value_os_t = crate::target())]
    directory: PathBuf,
    /// The folder for records; existing records are reused
    #[arg(long, default_value_os_t = crate::target().join("repetitions"))]
    records: PathBuf,
}

/// Repeats the recipe from the workspace at `root` and writes the table into the document.
///
/// # Errors
/// If a run fails, or the user interrupts it. Finished records are kept, and the next call
/// continues after them.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    fs::create_dir_all(&options.records).context(options.records.display().to_string())?;
    let stage = Stage::new(root, &crate::target(), "repeat")?;
    let recipe = text(&stage.path("repetitions.toml"));
    fs::write(&recipe, RECIPE)?;
    let paths: Vec<PathBuf> = (0..=options.pairs)
        .map(|index| options.records.join(format!("{index:03}.jsonl")))
        .collect();
    for record in paths.iter().filter(|path| !path.exists()).map(|path| text(path)) {
        println!("{record}");
        let directory = text(&options.directory);
        stage.ioassay(&["run", "--quiet", "--json", "--record", &record, &recipe, &directory])?;
    }
    let text = circumstances(root, &stage, &paths[0])? + &tally(&stage, &paths)?.text();
    println!("{text}");
    generated::write(&root.join(DOCUMENT), "repetitions", &text)
}

/// Compares consecutive records twice: for a user who has only these two, and for a user who has
/// also kept all earlier ones. A comparison finds the other records in the folder of its two.
fn tally(stage: &Stage, paths: &[PathBuf]) -> Result<Tally> {
    let mut tally = Tally::default();
    let [alone, among] = ["alone", "among"].map(|name| stage.path(name));
    fs::create_dir(&alone)?;
    fs::create_dir(&among)?;
    let compare = |pair: &[PathBuf], copies: [PathBuf; 2]| {
        for (from, to) in pair.iter().zip(&copies) {
            fs::copy(from, to).with_context(|| format!("copying {}", from.display()))?;
        }
        let [one, other] = copies.each_ref().map(|path| text(path));
        let printed = stage.ioassay(&["compare", "--json", &one, &other])?;
        Ok::<Value, anyhow::Error>(serde_json::from_str(&printed)?)
    };
    for (index, pair) in paths.windows(2).enumerate() {
        let copies = |folder: &Path, numbers: [usize; 2]| {
            numbers.map(|number| folder.join(format!("{number}.jsonl")))
        };
        tally.add(Seen {
            alone: compare(pair, copies(&alone, [0, 1]))?,
            among: compare(pair, copies(&among, [index, index + 1]))?,
        })?;
    }
    Ok(tally)
}

/// When, where and with which version the records were made, in a sentence.
fn circumstances(root: &Path, stage: &Stage, first: &Path) -> Result<String> {
    let report: Value =
        serde_json::from_str(&stage.ioassay(&["report", "--json", &text(first)])?)?;
    let began = report["began"].as_str().unwrap_or("unknown");
    let version = programs::own_version(root, stage.program())?;
    Ok(document::paragraph(&format!(
        "Records from {began} on, by {version}; {}.",
        document::describe(&report)
    )))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options;

    #[test]
    fn options_are_read() {
        let [directory, records] = [crate::target(), crate::target().join("repetitions")];
        options::check("", &Options { pairs: 40, directory, records: records.clone() });
        let expected = Options { pairs: 3, directory: "/d".into(), records };
        options::check("--dir /d --pairs 3", &expected);
        options::refused::<Options>(&["--pairs x", "--pairs 0", "--dir", "--fast 3"]);
    }
}
