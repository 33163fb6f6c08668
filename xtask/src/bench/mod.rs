//! ioassay beside its peers, on this machine: interleaved pairs, ratios with intervals, and a
//! document that says what was wanted, what came, and what was missed.
//!
//! The modules are listed from lowest to highest; a module uses only those above it here.

mod figure;
mod worker;
mod fio;
mod stage;
mod duels;
mod solos;
mod page;

use crate::install;
use anyhow::{Context, Result, bail, ensure};
use duels::DUELS;
use figure::Row;
use model::random::Rng;
use page::Circumstances;
use stage::Stage;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use xshell::Shell;

/// Fewer pairs than this say nothing.
const PAIRS_MIN: usize = 5;

/// The same coins fall and the same orders are read in every run.
const SEED: u64 = 1;

/// The document, in the folder of the workspace.
const DOCUMENT: &str = "BENCHMARKS.md";

/// What was asked for.
#[derive(Debug, PartialEq)]
struct Options {
    pairs: usize,
    time: Duration,
    directory: PathBuf,
}

/// Runs all benchmarks of the workspace at `root` and writes the document.
///
/// # Errors
/// When something could not be measured. A target that is missed is no error: the document says
/// so.
pub(crate) fn run(root: &Path, options: &[&str]) -> Result<()> {
    let Options { pairs, time, directory } = parse(root, options)?;
    let shell = Shell::new()?;
    shell.change_dir(root);
    install::program(&shell, "fio")?;
    fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
    println!("building, and writing a file of 1 GiB in '{}'", directory.display());
    let stage = Stage::new(root, &directory, time)?;
    let mut rng = Rng::new(SEED);
    let mut rows = Vec::new();
    for duel in DUELS {
        add(&mut rows, duels::fight(duel, &stage, pairs, &mut rng)?);
    }
    add(&mut rows, vec![solos::plan(&stage, pairs)?]);
    add(&mut rows, vec![solos::report(&stage, pairs)?]);
    add(&mut rows, vec![solos::memory(&stage, &mut rng)?]);
    let circumstances = circumstances(root, &stage, &directory, pairs)?;
    let document = root.join(DOCUMENT);
    fs::write(&document, page::markdown(&circumstances, &rows, DUELS))?;
    println!("wrote {}", document.display());
    Ok(())
}

/// Shows `more` rows and adds them.
fn add(rows: &mut Vec<Row>, more: Vec<Row>) {
    for row in &more {
        print!("{}", page::line(row));
    }
    rows.extend(more);
}

fn parse(root: &Path, options: &[&str]) -> Result<Options> {
    let (mut pairs, mut seconds, mut directory) = (7, 2, root.join("target"));
    let mut rest = options;
    while let [name, after @ ..] = rest {
        let [value, after @ ..] = after else { bail!("{name} has no value") };
        let number = || value.parse::<u16>().with_context(|| format!("{name} {value}"));
        match *name {
            "--pairs" => pairs = usize::from(number()?),
            "--time" => seconds = number()?,
            "--dir" => directory = PathBuf::from(value),
            _ => bail!("bench has no option `{name}`: it has --pairs, --time and --dir"),
        }
        rest = after;
    }
    ensure!(pairs >= PAIRS_MIN, "--pairs {pairs}: at least {PAIRS_MIN} say anything");
    ensure!(seconds > 0, "--time 0: a trial lasts a second at least");
    Ok(Options { pairs, time: Duration::from_secs(seconds.into()), directory })
}

fn circumstances(
    root: &Path,
    stage: &Stage,
    directory: &Path,
    pairs: usize,
) -> Result<Circumstances> {
    let read = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(root);
        stage::read(command, 0..=0).map(|text| text.trim().to_owned())
    };
    let version = stage.ioassay(&["--version"])?.trim().to_owned();
    // Sources that came without their history have no commit to name.
    let commit = read("git", &["describe", "--always", "--dirty"]);
    let host = stage.ioassay(&["host", &directory.display().to_string()])?;
    Ok(Circumstances {
        host: serde_json::from_str(&host)?,
        date: read("date", &["-u", "+%Y-%m-%d %H:%M UTC"])?,
        ioassay: commit.map_or(version.clone(), |commit| format!("{version} ({commit})")),
        fio: read("fio", &["--version"])?,
        pairs,
        time: stage.time,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let parse = |options: &[&str]| parse(Path::new("/w"), options);
        let usual = Options {
            pairs: 7,
            time: Duration::from_secs(2),
            directory: PathBuf::from("/w/target"),
        };
        assert_eq!(parse(&[]).expect("there are usual ones"), usual);
        let given = parse(&["--dir", "/d", "--pairs", "5", "--time", "1"]).expect("all known");
        let expected =
            Options { pairs: 5, time: Duration::from_secs(1), directory: PathBuf::from("/d") };
        assert_eq!(given, expected);
        for (options, expected) in [
            (vec!["--pairs"], "--pairs has no value"),
            (vec!["--pairs", "4"], "at least 5"),
            (vec!["--pairs", "x"], "--pairs x"),
            (vec!["--time", "0"], "a second at least"),
            (vec!["--speed", "9"], "no option `--speed`"),
        ] {
            let error = parse(&options).expect_err("it is wrong").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
