//! ioassay beside its peers, on this machine: interleaved pairs, ratios with intervals, and a
//! document that says what was wanted, what came, and what was missed.
//!
//! The modules are listed from lowest to highest; a module uses only those above it here.

mod figure;
mod worker;
mod fio;
mod dd;
mod likwid;
mod sysbench;
mod stage;
mod duels;
mod numbers;
mod matrix;
mod ground;
mod contest;
mod memory;
mod writing;
mod solos;
mod page;
mod sections;

use crate::{install, programs};
use anyhow::{Context, Result, bail, ensure};
use duels::DUELS;
use figure::Row;
use ground::Ground;
use model::content::Kind;
use model::random::Rng;
use model::units;
use page::Circumstances;
use sections::Notes;
use serde_json::Value;
use stage::{FILE_BYTES, Stage};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use writing::Site;
use xshell::Shell;

/// Fewer pairs than this say nothing.
const PAIRS_MIN: usize = 5;

/// The same coins fall and the same orders are read in every run.
const SEED: u64 = 1;

/// The document, in the folder of the workspace.
const DOCUMENT: &str = "BENCHMARKS.md";

/// To whom the OS gives huge pages that did not reserve them; the word in brackets holds.
const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// A part of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Files,
    Memory,
    Writing,
    Program,
}

/// What was asked for.
#[derive(Debug, PartialEq)]
struct Options {
    parts: Vec<Part>,
    pairs: usize,
    time: Duration,
    directory: PathBuf,
    /// Bytes of the file that is counted.
    count_bytes: u64,
    /// Bytes of the file that is written anew.
    write_bytes: u64,
}

/// Runs the benchmarks of the workspace at `root` and writes the document.
///
/// # Errors
/// When something could not be measured. A target that is missed is no error: the document says
/// so.
pub(crate) fn run(root: &Path, options: &[&str]) -> Result<()> {
    let options = parse(root, options)?;
    let shell = Shell::new()?;
    shell.change_dir(root);
    fs::create_dir_all(&options.directory)
        .with_context(|| options.directory.display().to_string())?;
    println!("building");
    let stage = Stage::new(root, &options.directory, options.time)?;
    let host = stage.ioassay(&["host", &options.directory.display().to_string()])?;
    let host = serde_json::from_str(&host)?;
    let bench = Bench { root, options: &options, shell: &shell, stage: &stage, host };
    let mut sections = Vec::new();
    for part in &options.parts {
        sections.push(match part {
            Part::Files => (page::SECTIONS[0], bench.files()?),
            Part::Memory => (page::SECTIONS[1], bench.memory()?),
            Part::Writing => (page::SECTIONS[2], bench.writing()?),
            Part::Program => (page::SECTIONS[3], bench.program()?),
        });
    }
    let document = root.join(DOCUMENT);
    let old = fs::read_to_string(&document).unwrap_or_default();
    fs::write(&document, page::OUTLINE.document(&old, &sections))?;
    println!("wrote {}", document.display());
    Ok(())
}

/// All that the parts have in common.
struct Bench<'a> {
    root: &'a Path,
    options: &'a Options,
    shell: &'a Shell,
    stage: &'a Stage,
    /// What `ioassay host` says.
    host: Value,
}

impl Bench<'_> {
    /// The section about files.
    fn files(&self) -> Result<String> {
        let Bench { stage, options, .. } = self;
        let (pairs, mut rng) = (options.pairs, Rng::new(SEED));
        install::program(self.shell, "fio", "fio")?;
        println!("writing a file of 1 GiB in '{}'", options.directory.display());
        stage.create(Path::new(&stage.file()), FILE_BYTES, Kind::Random)?;
        let mut rows = Vec::new();
        for duel in DUELS {
            add(&mut rows, duels::fight(duel, stage, pairs, &mut rng)?);
        }
        add(&mut rows, vec![solos::memory(stage, &mut rng)?]);
        fs::remove_file(stage.file())?;
        let circumstances = self.circumstances(vec![self.read("fio", &["--version"])?])?;
        Ok(sections::files(&circumstances, &rows))
    }

    /// The section about writing.
    fn writing(&self) -> Result<String> {
        let Bench { stage, options, host, .. } = self;
        let (size, mut rng) = (options.write_bytes, Rng::new(SEED));
        let fio = install::program(self.shell, "fio", "fio");
        let disk_bytes = host.pointer("/storage/free").and_then(Value::as_u64);
        let disk_bytes = disk_bytes.context("'ioassay host' tells no /storage/free")?;
        println!("writing files of {} in '{}'", units::bytes(size), options.directory.display());
        let site = Site::new(stage, fio, size, disk_bytes)?;
        let (durable, making) = (writing::durable(&site), writing::making(&site, options.time));
        let calls = sections::calls(&durable);
        let (pairs, mut rows) = (options.pairs, Vec::new());
        for contest in durable {
            let rounds = pairs * writing::DURABLE_TIMES;
            add(&mut rows, contest::hold(contest, stage, rounds, &mut rng)?);
        }
        for contest in making {
            add(&mut rows, contest::hold(contest, stage, pairs, &mut rng)?);
        }
        add(&mut rows, writing::fight(stage, pairs, &mut rng)?);
        // One that is missing has no version; its rows say so.
        let versions = ["dd", "fio"].into_iter();
        let versions = versions.filter_map(|name| self.read(name, &["--version"]).ok());
        let circumstances = self.circumstances(versions.collect())?;
        Ok(sections::writing(&circumstances, size, stage.waits(), &calls, &rows))
    }

    /// The section about memory.
    fn memory(&self) -> Result<String> {
        let Bench { stage, options, .. } = self;
        let mut rng = Rng::new(SEED);
        let size = units::bytes(options.count_bytes);
        println!("writing a file of {size}, and building and measuring what C compilers make");
        let (root, shell, host) = (self.root, self.shell, &self.host);
        let ground = Ground::new(root, shell, stage, host, options.count_bytes, &mut rng)?;
        let contests = memory::contests(&ground, options.time);
        let calls = sections::calls(&contests);
        let mut rows = Vec::new();
        for contest in contests {
            add(&mut rows, contest::hold(contest, stage, options.pairs, &mut rng)?);
        }
        let huge_pages = fs::read_to_string(HUGE_PAGES).ok();
        let notes = Notes {
            huge_pages: huge_pages.as_deref().and_then(chosen).map(str::to_owned),
            events: ground.sysbench.as_ref().ok().map(|()| self.events()).transpose()?,
            calls,
        };
        let programs: [(&str, &[&str]); 3] =
            [("likwid-bench", &["-v"]), ("gcc", &["--version"]), ("sysbench", &["--version"])];
        // One that is missing has no version; its rows say so.
        let versions = programs.iter().filter_map(|(name, words)| self.read(name, words).ok());
        let circumstances = self.circumstances(versions.collect())?;
        Ok(sections::memory(&circumstances, &ground, &notes, &rows))
    }

    /// The section about the program itself.
    fn program(&self) -> Result<String> {
        let Bench { stage, options: Options { pairs, .. }, .. } = self;
        let (mut rows, mut rng) = (Vec::new(), Rng::new(SEED));
        add(&mut rows, vec![solos::size(stage)?, solos::start(stage, &mut rng)?]);
        add(&mut rows, vec![solos::plan(stage, *pairs)?]);
        for form in solos::FORMS {
            add(&mut rows, solos::report(stage, form, *pairs)?);
        }
        Ok(sections::program(&self.circumstances(Vec::new())?, &rows))
    }

    /// Where the time of `sysbench memory` goes by default.
    fn events(&self) -> Result<sysbench::Events> {
        let words = sysbench::command(&[], self.stage.time);
        let (program, arguments) = words.split_first().expect("a command has a program");
        let mut command = Command::new(program);
        command.args(arguments);
        sysbench::parse_events(&programs::read(command, 0..=0)?)
    }

    /// The first line that a program prints, such as its version.
    fn read(&self, program: &str, arguments: &[&str]) -> Result<String> {
        programs::first_line(self.root, program, arguments)
    }

    /// The circumstances, of which `versions` are those of others.
    fn circumstances(&self, mut versions: Vec<String>) -> Result<Circumstances> {
        versions.insert(0, programs::own_version(self.root, self.stage.program())?);
        Ok(Circumstances {
            host: self.host.clone(),
            date: programs::date(self.root)?,
            versions,
            pairs: self.options.pairs,
            time: self.options.time,
        })
    }
}

/// Shows `more` rows and adds them.
fn add(rows: &mut Vec<Row>, more: Vec<Row>) {
    for row in &more {
        print!("{}", page::line(row));
    }
    rows.extend(more);
}

/// The word that holds, out of `always [madvise] never`.
fn chosen(words: &str) -> Option<&str> {
    Some(words.split_once('[')?.1.split_once(']')?.0)
}

fn parse(root: &Path, words: &[&str]) -> Result<Options> {
    let mut options = Options {
        parts: vec![Part::Files, Part::Memory, Part::Writing, Part::Program],
        pairs: 7,
        time: Duration::from_secs(2),
        directory: root.join("target"),
        count_bytes: 4 << 30,
        write_bytes: 1 << 30,
    };
    let mut rest = words;
    while let [name, after @ ..] = rest {
        let [value, after @ ..] = after else { bail!("{name} has no value") };
        let number = || value.parse::<u16>().with_context(|| format!("{name} {value}"));
        match (*name, *value) {
            ("--only", "files") => options.parts = vec![Part::Files],
            ("--only", "memory") => options.parts = vec![Part::Memory],
            ("--only", "writing") => options.parts = vec![Part::Writing],
            ("--only", "program") => options.parts = vec![Part::Program],
            ("--only", _) => bail!("--only {value}: there are files, memory, writing and program"),
            ("--pairs", _) => options.pairs = usize::from(number()?),
            ("--time", _) => options.time = Duration::from_secs(number()?.into()),
            ("--dir", _) => options.directory = PathBuf::from(value),
            ("--count-size", _) => options.count_bytes = units::parse_bytes(value)?,
            ("--write-size", _) => options.write_bytes = units::parse_bytes(value)?,
            _ => bail!(
                "bench has no option `{name}`: it has --only, --pairs, --time, --dir, \
                 --count-size and --write-size"
            ),
        }
        rest = after;
    }
    let pairs = options.pairs;
    ensure!(pairs >= PAIRS_MIN, "--pairs {pairs}: at least {PAIRS_MIN} say anything");
    ensure!(!options.time.is_zero(), "--time 0: a trial lasts a second at least");
    let count_bytes = options.count_bytes;
    ensure!(count_bytes >= 1 << 20, "--count-size {count_bytes}: at least 1MiB");
    let write_bytes = options.write_bytes;
    let is_whole = write_bytes.is_multiple_of(writing::BLOCK_BYTES);
    ensure!(is_whole, "--write-size {write_bytes}: whole MiB are written");
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let parse = |options: &[&str]| parse(Path::new("/w"), options);
        let usual = Options {
            parts: vec![Part::Files, Part::Memory, Part::Writing, Part::Program],
            pairs: 7,
            time: Duration::from_secs(2),
            directory: PathBuf::from("/w/target"),
            count_bytes: 4 << 30,
            write_bytes: 1 << 30,
        };
        assert_eq!(parse(&[]).expect("there are usual ones"), usual);
        let given = "--dir /d --pairs 5 --time 1 --only memory --count-size 64MiB \
                     --write-size 512MiB";
        let given: Vec<&str> = given.split(' ').collect();
        let expected = Options {
            parts: vec![Part::Memory],
            pairs: 5,
            time: Duration::from_secs(1),
            directory: PathBuf::from("/d"),
            count_bytes: 64 << 20,
            write_bytes: 512 << 20,
        };
        assert_eq!(parse(&given).expect("all known"), expected);
        assert_eq!(parse(&["--only", "files"]).expect("known").parts, [Part::Files]);
        assert_eq!(parse(&["--only", "writing"]).expect("known").parts, [Part::Writing]);
        for (options, expected) in [
            (vec!["--pairs"], "--pairs has no value"),
            (vec!["--pairs", "4"], "at least 5"),
            (vec!["--pairs", "x"], "--pairs x"),
            (vec!["--time", "0"], "a second at least"),
            (vec!["--only", "disk"], "files, memory, writing and program"),
            (vec!["--count-size", "4K"], "ambiguous"),
            (vec!["--count-size", "9KiB"], "at least 1MiB"),
            (vec!["--write-size", "1025KiB"], "whole MiB"),
            (vec!["--speed", "9"], "no option `--speed`"),
        ] {
            let error = parse(&options).expect_err("it is wrong").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_word_in_brackets_holds() {
        assert_eq!(chosen("always [madvise] never\n"), Some("madvise"));
        assert_eq!(chosen("always\n"), None);
    }
}
