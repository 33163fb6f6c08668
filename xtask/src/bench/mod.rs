//! Compares ioassay with its peers on this machine. The release build runs recipes, and a document
//! presents their reports.
//!
//! The modules are listed from lowest to highest; a module uses only those listed above it.

mod figure;
mod rows;
mod solos;
mod commands;
mod page;

use crate::document::Part;
use crate::extent::Extent;
use crate::json::list;
use crate::options::at_least;
use crate::stage::{Circumstances, Experiment};
use crate::{install, programs};
use anyhow::{Context, Result, ensure};
use clap::Args;
use figure::{Absent, BenchRow};
use model::random::Rng;
use model::units::{self, ParseError};
use rows::RowDefinition;
use serde::Deserialize;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// With fewer rounds, there is no interval.
const ROUNDS_MIN: usize = 6;

/// How often the program itself is measured, unless told otherwise.
const TIMES: usize = 7;

/// A fixed seed, so that every run uses the same order of trials and of random blocks.
const SEED: u64 = 1;

/// The document, relative to the workspace.
const DOCUMENT: &str = "docs/benchmarks.md";

/// The recipes and the table of sections, relative to the workspace.
const FOLDER: &str = "xtask/src/bench";
const TABLE: &str = "xtask/src/bench/sections.toml";

/// The sections that recipes measure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sections {
    section: Vec<BenchSection>,
}

/// A section.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BenchSection {
    /// One of [`page::SECTIONS`].
    title: String,
    /// Debian packages with the peers.
    needs: Vec<String>,
    /// What is measured, and how.
    method: String,
    run: Vec<RecipeRun>,
}

/// A recipe, and the rows that its report fills.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecipeRun {
    recipe: String,
    row: Vec<RowDefinition>,
}

/// The command's options.
#[derive(Debug, PartialEq, Args)]
pub(crate) struct Options {
    /// Write only this section: files, load, memory, writing, commands or program
    #[arg(long, value_name = "SECTION", value_parser = title)]
    only: Option<&'static str>,
    /// Number of rounds, instead of those of the recipes; with fewer than 6, one invocation has no
    /// interval
    #[arg(long, value_name = "N", value_parser = at_least::<ROUNDS_MIN>)]
    #[arg(conflicts_with = "is_smoke")]
    rounds: Option<usize>,
    /// The directory for test files
    #[arg(long = "dir", value_name = "DIR", default_value_os_t = crate::target())]
    directory: PathBuf,
    /// Size of all files, instead of 1 or 2 GiB as the recipes say
    #[arg(long, value_parser = size, conflicts_with = "is_smoke")]
    size: Option<String>,
    #[command(flatten)]
    extent: Extent,
}

/// What the smoke form adds to a run, of files and of memory. fio needs as much time, and also
/// where it reads or writes a whole file.
const SMALL_FILES: &str = " --time 100ms --size 128MiB";
const SMALL_ARRAYS: &str = " --time 100ms --working-set 32MiB";

/// The title of the section with this name.
fn title(name: &str) -> Result<&'static str, &'static str> {
    let is_it = |title: &&str| title.to_lowercase().ends_with(name);
    page::SECTIONS
        .into_iter()
        .find(is_it)
        .ok_or("use files, load, memory, writing, commands or program")
}

fn size(text: &str) -> Result<String, ParseError> {
    units::parse_bytes(text).map(units::bytes)
}

/// Runs the benchmarks and writes the document.
///
/// # Errors
/// If something could not be measured, or a row is wrong, so that no run has a figure for it. A
/// missed target is not an error: the document reports it.
pub(crate) fn run(options: &Options) -> Result<()> {
    let stage = Experiment::new(&options.directory, "bench", options.extent)?;
    put_peers(&stage)?;
    let sections = sections()?;
    let (mut written, mut wrong) = (Vec::new(), Vec::new());
    let is_asked = |title: &&str| options.only.is_none_or(|only| only == *title);
    for title in page::SECTIONS.into_iter().filter(is_asked) {
        let mut circumstances = stage.circumstances(&[])?;
        let (method, rows) = match sections.iter().find(|section| section.title == title) {
            Some(section) => measure(section, options, &stage, &mut circumstances)?,
            None if title == page::COMMANDS => commands(&stage, options, &mut circumstances)?,
            None => program(&stage, options)?,
        };
        wrong.extend(rows.iter().filter_map(fault));
        let text = page::section(&circumstances, &method, &rows);
        written.push((Part::Section(title), text));
    }
    stage.put(DOCUMENT, &written)?;
    ensure!(wrong.is_empty(), "rows that no run can have:\n{}", wrong.join("\n"));
    Ok(())
}

/// The table of sections.
fn sections() -> Result<Vec<BenchSection>> {
    let text = fs::read_to_string(crate::root().join(TABLE)).context(TABLE)?;
    Ok(toml::from_str::<Sections>(&text).context(TABLE)?.section)
}

/// What is wrong with a row.
fn fault(row: &BenchRow) -> Option<String> {
    match &row.figure {
        Err(Absent::Anywhere(reason)) => Some(format!("{}: {reason}", row.name)),
        Ok(_) | Err(Absent::Here(_)) => None,
    }
}

/// The table of the benchmark's own peers and what it names, in [`FOLDER`].
const PEERS: [&str; 4] = ["peers.toml", "chase.c", "ring.c", "job.h"];

/// The example that is a peer, and the package that has it.
const EXAMPLE: &str = "bare_pread";
const PACKAGE: &str = "--package=ioassay-worker";

/// Puts the benchmark's own peers into the stage's folder.
fn put_peers(stage: &Experiment) -> Result<()> {
    let built = programs::build(stage.extent.build(), &[PACKAGE, "--example", EXAMPLE])?;
    let files = PEERS.map(|name| (crate::root().join(FOLDER).join(name), name));
    for (from, name) in files.into_iter().chain([(built, EXAMPLE)]) {
        fs::copy(&from, stage.path(name)).with_context(|| from.display().to_string())?;
    }
    Ok(())
}

/// Runs the recipes of a section and returns its method and rows.
fn measure(
    section: &BenchSection,
    options: &Options,
    stage: &Experiment,
    circumstances: &mut Circumstances,
) -> Result<(String, Vec<BenchRow>)> {
    install::ensure_some(&section.needs);
    let mut rows = Vec::new();
    for RecipeRun { recipe, row } in &section.run {
        let judged = run_recipe(stage, options, recipe)?;
        for version in list(&judged["peers"]).iter().filter_map(|peer| peer["version"].as_str()) {
            if !circumstances.versions.iter().any(|known| known == version) {
                circumstances.versions.push(version.to_owned());
            }
        }
        for row in row.iter().map(|asked| asked.answer(&judged)) {
            println!("{}", page::line(&row));
            rows.push(row);
        }
    }
    Ok((section.method.trim().to_owned(), rows))
}

/// The report on a run of `recipe`.
fn run_recipe(stage: &Experiment, options: &Options, recipe: &str) -> Result<Value> {
    let path = crate::root().join(FOLDER).join(recipe);
    let is_of_files = fs::read_to_string(&path)?.contains("\nsize = ");
    println!("running {}", path.display());
    let record = stage.path("record.jsonl");
    if record.exists() {
        fs::remove_file(&record)?;
    }
    let mut line =
        format!("ioassay run RECIPE --record RECORD --peers FOLDER/{} --quiet", PEERS[0]);
    line += options.extent.pick("", " --rounds 1 --invocations 1");
    options.rounds.iter().for_each(|rounds| line += &format!(" --rounds {rounds}"));
    if is_of_files {
        line += " DIR";
        options.size.iter().for_each(|size| line += &format!(" --size {size}"));
    }
    line += options.extent.pick("", if is_of_files { SMALL_FILES } else { SMALL_ARRAYS });
    let words = stage.words().and("RECIPE", path).and("RECORD", record);
    let words = words.and("DIR", &options.directory);
    stage.ioassay(&line, &words)?;
    stage.json("ioassay report RECORD --json", &words)
}

/// The method and rows of the section about judging commands.
fn commands(
    stage: &Experiment,
    options: &Options,
    circumstances: &mut Circumstances,
) -> Result<(String, Vec<BenchRow>)> {
    install::ensure_some(&commands::NEEDS);
    circumstances.versions.push(programs::first_line("hyperfine", &["--version"])?);
    let (times, mut rng) = (stage.extent.pick(options.rounds.unwrap_or(TIMES), 1), Rng::new(SEED));
    let rows = commands::rows(stage, &mut rng, times)?;
    rows.iter().for_each(|row| println!("{}", page::line(row)));
    Ok((commands::method(times), rows))
}

/// The method and rows of the section about the program itself.
fn program(stage: &Experiment, options: &Options) -> Result<(String, Vec<BenchRow>)> {
    let extent = options.extent;
    let (times, starts, mut rng) =
        (extent.pick(options.rounds.unwrap_or(TIMES), 1), extent.pick(100, 1), Rng::new(SEED));
    let method = format!(
        "The size of the program as `cargo build --release` makes it, with its recipes and peers. \
         The time to start it ({starts} times, in turn with `true`), to plan and to report \
         ({times} times each). Memory is the greatest resident size (`VmHWM`), read every \
         millisecond."
    );
    let mut rows = vec![solos::size(stage)?, solos::start(stage, &mut rng, starts)?];
    rows.push(solos::plan(stage, times)?);
    for form in solos::FORMS {
        rows.extend(solos::report(stage, form, times, extent.pick(solos::RECORD_MIB, 1))?);
    }
    rows.push(solos::memory(stage, extent.pick(solos::TRIALS_MS, [100, 200]))?);
    rows.iter().for_each(|row| println!("{}", page::line(row)));
    Ok((method, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{document, options};

    #[test]
    fn options_are_read() {
        let usual = |extent| Options {
            only: None,
            rounds: None,
            directory: crate::target(),
            size: None,
            extent,
        };
        options::check("", &usual(Extent::default()));
        options::check("--smoke", &usual(Extent::SMOKE));
        let given = Options {
            only: Some("The program"),
            rounds: Some(9),
            directory: "/d".into(),
            size: Some("64MiB".into()),
            extent: Extent::default(),
        };
        options::check("--dir /d --rounds 9 --only program --size 65536KiB", &given);
        let wrong = ["--rounds", "--rounds 5", "--rounds x", "--only disk", "--size x", "--fast 9"];
        options::refused::<Options>(&wrong);
        options::refused::<Options>(&["--smoke --rounds 9", "--smoke --size 1GiB"]);
    }

    #[test]
    fn every_section_has_its_recipes_and_the_document_all_rows() {
        let sections = sections().expect("it is whole");
        let titles: Vec<&str> = sections.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles, page::SECTIONS[..4]);
        install::check_known(commands::NEEDS);
        let needs = sections.iter().flat_map(|section| &section.needs);
        install::check_known(needs.map(String::as_str));
        for run in sections.iter().flat_map(|section| &section.run) {
            let is_there = crate::root().join(FOLDER).join(&run.recipe).is_file();
            assert!(is_there && !run.row.is_empty(), "{}", run.recipe);
        }
        for title in page::SECTIONS {
            let section = sections.iter().find(|section| section.title == title);
            let rows = section.map(|section| section.run.iter().flat_map(|run| &run.row));
            let names = rows.map(|rows| rows.map(|row| row.name().to_owned()).collect());
            let text = document::part(DOCUMENT, Part::Section(title));
            let own = match title == page::COMMANDS {
                true => commands::NAMES.map(str::to_owned).to_vec(),
                false => solos::names(),
            };
            assert_eq!(document::rows(&text), names.unwrap_or(own), "{title}");
        }
    }
}
