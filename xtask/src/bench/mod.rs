//! Compares ioassay with its peers on this machine. The release build runs recipes, and a document
//! presents their reports.
//!
//! The modules are listed from lowest to highest; a module uses only those listed above it.

mod figure;
mod rows;
mod solos;
mod page;

use crate::stage::{Circumstances, Stage};
use crate::{install, programs};
use anyhow::{Context, Result, bail, ensure};
use figure::Row;
use model::random::Rng;
use model::units;
use rows::Asked;
use serde::Deserialize;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use xshell::Shell;

/// With fewer rounds, there is no interval.
const ROUNDS_MIN: u16 = 6;

/// A fixed seed, so that every run uses the same order of trials and of random blocks.
const SEED: u64 = 1;

/// The document, relative to the workspace.
const DOCUMENT: &str = "BENCHMARKS.md";

/// The recipes and the table of sections, relative to the workspace.
const FOLDER: &str = "xtask/src/bench";

/// The sections that recipes measure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sections {
    section: Vec<Section>,
}

/// A section.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    /// One of [`page::SECTIONS`].
    title: String,
    /// Debian packages with the peers, each with its program.
    needs: Vec<(String, String)>,
    /// What is measured, and how.
    method: String,
    run: Vec<Run>,
}

/// A recipe, and the rows that its report fills.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    recipe: String,
    row: Vec<Asked>,
}

/// The command's options.
#[derive(Debug, PartialEq)]
struct Options {
    titles: Vec<&'static str>,
    rounds: u16,
    directory: PathBuf,
    /// The size of all files, unless the recipes decide.
    size: Option<String>,
}

/// Runs the benchmarks from the workspace at `root` and writes the document.
///
/// # Errors
/// If something could not be measured. A missed target is not an error: the document reports it.
pub(crate) fn run(root: &Path, options: &[&str]) -> Result<()> {
    let options = parse(root, options)?;
    let shell = Shell::new()?;
    shell.change_dir(root);
    let stage = Stage::new(root, &options.directory, "bench")?;
    // A peer that its recipe starts with `cargo run`.
    programs::build(root, &["--package=worker", "--example=bare_pread"])?;
    let sections: Sections = toml::from_str(&fs::read_to_string(root.join(FOLDER).join(TABLE))?)?;
    let mut written = Vec::new();
    for title in &options.titles {
        let mut circumstances = stage.circumstances(root)?;
        let (method, rows) = match sections.section.iter().find(|section| section.title == *title) {
            Some(section) => measure(section, &options, &shell, &stage, &mut circumstances)?,
            None => program(&stage, &options)?,
        };
        written.push((*title, page::section(&circumstances, &method, &rows)));
    }
    page::OUTLINE.write(&root.join(DOCUMENT), &written)
}

/// The table of sections, in [`FOLDER`].
const TABLE: &str = "sections.toml";

/// Runs the recipes of a section and returns its method and rows.
fn measure(
    section: &Section,
    options: &Options,
    shell: &Shell,
    stage: &Stage,
    circumstances: &mut Circumstances,
) -> Result<(String, Vec<Row>)> {
    for (package, program) in &section.needs {
        // If a peer is missing, its rows say so.
        if let Err(error) = install::program(shell, package, program) {
            println!("{error:#}");
        }
    }
    let folder = shell.current_dir().join(FOLDER);
    let method = format!("{} {} rounds.", section.method.trim(), options.rounds);
    let mut rows = Vec::new();
    for Run { recipe, row } in &section.run {
        let recipe = folder.join(recipe).display().to_string();
        let is_of_files = fs::read_to_string(&recipe)?.contains("\nsize = ");
        let judged = run_recipe(stage, options, &recipe, &folder.join("peers.toml"), is_of_files)?;
        let peers = judged["peers"].as_array().into_iter().flatten();
        for version in peers.filter_map(|peer| peer["version"].as_str()) {
            if !circumstances.versions.iter().any(|known| known == version) {
                circumstances.versions.push(version.to_owned());
            }
        }
        for row in row.iter().map(|asked| asked.answer(&judged)) {
            print!("{}", page::line(&row));
            rows.push(row);
        }
    }
    Ok((method, rows))
}

/// The report on a run of `recipe`.
fn run_recipe(
    stage: &Stage,
    options: &Options,
    recipe: &str,
    peers: &Path,
    is_of_files: bool,
) -> Result<Value> {
    println!("running {recipe}");
    let (record, directory) = (stage.path("record.jsonl"), options.directory.display().to_string());
    if record.exists() {
        fs::remove_file(&record)?;
    }
    let (record, rounds) = (record.display().to_string(), options.rounds.to_string());
    let peers = peers.display().to_string();
    let mut words = vec!["run", recipe, "--rounds", &rounds, "--record", &record];
    words.extend(["--peers", &peers, "--quiet"]);
    if is_of_files {
        words.push(&directory);
        options.size.iter().for_each(|size| words.extend(["--size", size]));
    }
    stage.ioassay(&words)?;
    Ok(serde_json::from_str(&stage.ioassay(&["report", &record, "--json"])?)?)
}

/// The method and rows of the section about the program itself.
fn program(stage: &Stage, options: &Options) -> Result<(String, Vec<Row>)> {
    let (times, mut rng) = (options.rounds.into(), Rng::new(SEED));
    let method = format!(
        "The size of the program as `cargo build --release` makes it, with its recipes and peers. \
         The time to start it ({} times, in turn with `true`), to plan and to report ({times} \
         times each). Memory is the greatest resident size (`VmHWM`), read every millisecond.",
        solos::STARTS
    );
    let mut rows = vec![solos::size(stage)?, solos::start(stage, &mut rng)?];
    rows.push(solos::plan(stage, times)?);
    for form in solos::FORMS {
        rows.extend(solos::report(stage, form, times)?);
    }
    rows.push(solos::memory(stage)?);
    rows.iter().for_each(|row| print!("{}", page::line(row)));
    Ok((method, rows))
}

fn parse(root: &Path, words: &[&str]) -> Result<Options> {
    let mut options = Options {
        titles: page::SECTIONS.to_vec(),
        rounds: 7,
        directory: root.join("target"),
        size: None,
    };
    let mut rest = words;
    while let [name, after @ ..] = rest {
        let [value, after @ ..] = after else { bail!("{name} has no value") };
        match *name {
            "--only" => {
                let is_it = |title: &&&str| title.to_lowercase().ends_with(value);
                let title = page::SECTIONS.iter().find(is_it);
                let title = title.with_context(|| {
                    format!("--only {value}: use files, memory, writing or program")
                })?;
                options.titles = vec![title];
            }
            "--rounds" => {
                options.rounds = value.parse().with_context(|| format!("--rounds {value}"))?;
            }
            "--dir" => options.directory = PathBuf::from(value),
            "--size" => options.size = Some(units::bytes(units::parse_bytes(value)?)),
            _ => bail!("bench has no option `{name}`: it has --only, --rounds, --dir and --size"),
        }
        rest = after;
    }
    let rounds = options.rounds;
    ensure!(rounds >= ROUNDS_MIN, "--rounds {rounds}: fewer than {ROUNDS_MIN} have no interval");
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let parse = |options: &[&str]| parse(Path::new("/w"), options);
        let usual = parse(&[]).expect("there are usual ones");
        assert_eq!((usual.titles.len(), usual.rounds, usual.size), (4, 7, None));
        let given = ["--dir", "/d", "--rounds", "9", "--only", "program", "--size", "64MiB"];
        let given = parse(&given).expect("all are known");
        assert_eq!(given.titles, ["The program"]);
        assert_eq!((given.rounds, given.size.as_deref()), (9, Some("64MiB")));
        for (options, expected) in [
            (vec!["--rounds"], "--rounds has no value"),
            (vec!["--rounds", "5"], "have no interval"),
            (vec!["--rounds", "x"], "--rounds x"),
            (vec!["--only", "disk"], "files, memory, writing or program"),
            (vec!["--speed", "9"], "no option `--speed`"),
        ] {
            let error = parse(&options).expect_err("it is wrong").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn every_section_has_its_recipes_and_rows() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench");
        let table = fs::read_to_string(folder.join(TABLE)).expect("it is ours");
        let sections: Sections = toml::from_str(&table).expect("it is whole");
        let titles: Vec<&str> = sections.section.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles, page::SECTIONS[..3]);
        for run in sections.section.iter().flat_map(|section| &section.run) {
            assert!(folder.join(&run.recipe).is_file() && !run.row.is_empty(), "{}", run.recipe);
        }
    }
}
