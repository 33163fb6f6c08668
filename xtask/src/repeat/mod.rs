//! Repeats one recipe on this machine. Counts how often two consecutive records are called
//! different, and how often the earlier one's interval contains the later one's figure.
//!
//! Nothing changes between them, so every difference is a false alarm. A simulation cannot show
//! this: it contains only the kinds of noise that its author thought of.

mod tally;

use crate::document::{self, Part};
use crate::extent::Extent;
use crate::options::at_least;
use crate::programs;
use crate::stage::Experiment;
use anyhow::{Context, Result};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use tally::{PairComparison, RepeatTally};

/// The recipe to repeat.
const RECIPE: &str = include_str!("recipe.toml");

/// The document, relative to the workspace, and its part with the table.
const DOCUMENT: &str = "docs/method/simulations.md";
const PART: Part = Part::Marked("repetitions");

/// What makes a record, and what the smoke form adds to it.
const RUN: &str = "ioassay run --quiet --json --record RECORD FOLDER/repetitions.toml DIR";
const SMALL: &str = " --rounds=1 --invocations=1 --no-ceilings --time=10ms --size=4MiB \
                     --working-set=4MiB";

/// The command's options.
#[derive(Debug, PartialEq, Args)]
pub(crate) struct Options {
    /// Number of consecutive pairs; needs one more record than that
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = at_least::<1>)]
    #[arg(conflicts_with = "is_smoke")]
    pairs: usize,
    /// The directory for test files
    #[arg(long = "dir", value_name = "DIR", default_value_os_t = crate::target())]
    directory: PathBuf,
    /// The folder for records; existing records are reused
    #[arg(long, default_value_os_t = crate::target().join("repetitions"))]
    #[arg(conflicts_with = "is_smoke")]
    records: PathBuf,
    #[command(flatten)]
    extent: Extent,
}

/// Repeats the recipe and writes the table into the document.
///
/// # Errors
/// If a run fails, or the user interrupts it. Finished records are kept, and the next call
/// continues after them.
pub(crate) fn run(options: &Options) -> Result<()> {
    let extent = options.extent;
    let stage = Experiment::new(&crate::target(), "repeat", extent)?;
    let records = extent.pick(options.records.clone(), stage.path("records"));
    fs::create_dir_all(&records).context(records.display().to_string())?;
    fs::write(stage.path("repetitions.toml"), RECIPE)?;
    let paths: Vec<PathBuf> = (0..=extent.pick(options.pairs, 2))
        .map(|index| records.join(format!("{index:03}.jsonl")))
        .collect();
    let line = RUN.to_owned() + extent.pick("", SMALL);
    for record in paths.iter().filter(|path| !path.exists()) {
        println!("{}", record.display());
        let words = stage.words().and("RECORD", record).and("DIR", &options.directory);
        stage.ioassay(&line, &words)?;
    }
    let text = circumstances(&stage, &paths[0])? + &tally(&stage, &paths)?.text();
    println!("{text}");
    stage.put(DOCUMENT, &[(PART, text)])
}

/// Compares consecutive records twice: for a user who has only these two, and for a user who has
/// also kept all earlier ones. A comparison finds the other records in the folder of its two.
fn tally(stage: &Experiment, paths: &[PathBuf]) -> Result<RepeatTally> {
    let mut tally = RepeatTally::default();
    let [alone, among] = ["alone", "among"].map(|name| stage.path(name));
    fs::create_dir(&alone)?;
    fs::create_dir(&among)?;
    let compare = |pair: &[PathBuf], folder: &Path, numbers: [usize; 2]| {
        let copies = numbers.map(|number| folder.join(format!("{number}.jsonl")));
        for (from, to) in pair.iter().zip(&copies) {
            fs::copy(from, to).with_context(|| format!("copying {}", from.display()))?;
        }
        let words = stage.words().and("ONE", &copies[0]).and("OTHER", &copies[1]);
        stage.json("ioassay compare --json ONE OTHER", &words)
    };
    for (index, pair) in paths.windows(2).enumerate() {
        tally.add(PairComparison {
            alone: compare(pair, &alone, [0, 1])?,
            among: compare(pair, &among, [index, index + 1])?,
        })?;
    }
    Ok(tally)
}

/// When, where and with which version the records were made, in a sentence.
fn circumstances(stage: &Experiment, first: &Path) -> Result<String> {
    let report = stage.json("ioassay report --json RECORD", &stage.words().and("RECORD", first))?;
    let began = report["began"].as_str().unwrap_or("unknown");
    let version = programs::own_version(stage.program())?;
    Ok(document::paragraph(&format!(
        "Records from {began} on, by {version}; {}.",
        document::describe(&report)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options;
    use toml::{Table, Value};

    #[test]
    fn options_are_read() {
        let usual = || Options {
            pairs: 40,
            directory: crate::target(),
            records: crate::target().join("repetitions"),
            extent: Extent::default(),
        };
        options::check("", &usual());
        options::check(
            "--dir /d --pairs 3",
            &Options { pairs: 3, directory: "/d".into(), ..usual() },
        );
        options::check("--smoke", &Options { extent: Extent::SMOKE, ..usual() });
        let wrong = [
            "--pairs x",
            "--pairs 0",
            "--dir",
            "--fast 3",
            "--smoke --pairs 3",
            "--smoke --records r",
        ];
        options::refused::<Options>(&wrong);
    }

    /// What the ids of a group's cases contain, of each case that its lists stand for.
    fn cases(group: &Table) -> Vec<Vec<String>> {
        let mut cases = vec![Vec::new()];
        for (axis, value) in group {
            let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            let word = |value: &Value| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                match axis.as_str() {
                    "depth" => format!("d{text}"),
                    "threads" => format!("t{text}"),
                    "every" => format!("every:{text}"),
                    "allocation" => format!("alloc:{text}"),
                    _ => text,
                }
            };
            let with = |case: &Vec<String>| {
                values.iter().map(|value| [&case[..], &[word(value)]].concat()).collect::<Vec<_>>()
            };
            cases = cases.iter().flat_map(with).collect();
        }
        cases
    }

    #[test]
    fn the_document_has_a_row_for_each_case_of_the_recipe() {
        let part = document::part(DOCUMENT, PART);
        let rows = document::rows(&part);
        let recipe: Table = toml::from_str(RECIPE).expect("it is whole");
        let groups = recipe["cases"].as_array().expect("it has cases").iter();
        let cases: Vec<Vec<String>> =
            groups.flat_map(|group| cases(group.as_table().expect("it is a table"))).collect();
        assert_eq!(rows.len(), cases.len(), "{rows:?}");
        for (row, case) in rows.iter().zip(&cases) {
            let has = |word: &String| row.split(' ').any(|other| other == word);
            assert!(case.iter().all(has), "'{row}' is not the case {case:?}");
        }
    }
}
