//! The table of peers: the programs that can measure, and how to build and start them.
//!
//! A peer is a row of `peers/peers.toml`, or of a user's file in the same form. A row with `matrix
//! = true` stands for many peers: each installed compiler with each set of flags and each form.

use crate::input;
use anyhow::{Context, Result, bail};
use include_dir::{Dir, include_dir};
use model::axis::Axis;
use model::case::{Engine, Kernel, OWN_PEER, WriteEngine};
use model::peer::Peer;
use model::peer_name::PeerName;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The built-in table.
const TABLE: &str = "peers.toml";

/// The folder of the table and of its sources.
static FOLDER: Dir = include_dir!("$CARGO_MANIFEST_DIR/peers");

/// A table in its file form.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PeerTable {
    peer: Vec<PeerRow>,
}

/// A row of the table; `peers/peers.toml` explains each key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PeerRow {
    name: String,
    source: Option<String>,
    #[serde(default)]
    headers: Vec<String>,
    #[serde(default)]
    compilers: Vec<String>,
    #[serde(default)]
    matrix: bool,
    #[serde(default)]
    flags: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    forms: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    version: Vec<String>,
    #[serde(default)]
    build: Vec<String>,
    run: Vec<String>,
    counting: Option<String>,
    #[serde(default)]
    engines: Vec<Engine>,
    #[serde(default)]
    write_engines: Vec<WriteEngine>,
    #[serde(default)]
    kernels: Vec<Kernel>,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    axes: BTreeMap<String, Vec<String>>,
}

/// A program that can be built and started, from its row.
#[derive(Debug, Clone)]
pub struct Program {
    /// Its name and that of its peer. It is part of the build's path.
    pub name: PeerName,
    /// Its properties before the build.
    pub peer: Peer,
    /// Its source, if any.
    pub source: Option<SourceFile>,
    /// Other files that the build needs beside it.
    pub headers: Vec<SourceFile>,
    /// The command that prints its version, or empty.
    pub version: Vec<String>,
    /// The command that builds it, or empty.
    pub build: Vec<String>,
    /// The command that starts it.
    pub run: Vec<String>,
    /// The function whose vector width is read from the object code.
    pub counting: Option<String>,
}

/// A source file.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Its path: absolute for a user's source, otherwise relative to the folder of peers.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// The files from which a program is built.
#[derive(Debug, Clone, Default)]
struct ProgramText {
    source: Option<SourceFile>,
    headers: Vec<SourceFile>,
}

/// The maximum size of a table or a source.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// All known programs.
#[derive(Debug)]
pub struct Peers {
    programs: Vec<Program>,
}

impl Peers {
    /// Loads the built-in table and, if given, the user's table `own`.
    ///
    /// # Errors
    /// If a table is broken, a source cannot be read, or a name is taken.
    pub fn load(own: Option<&Path>) -> Result<Peers> {
        let mut programs = parse(&built_in_source(TABLE)?.text, None, &built_in_source)
            .context("the built-in table of peers")?;
        if let Some(path) = own {
            let text = input::text(path, TEXT_BYTES_MAX)
                .with_context(|| format!("failed to read the peers of '{}'", path.display()))?;
            let folder = std::path::absolute(path)?;
            let folder = folder.parent().unwrap_or(Path::new("/"));
            let read = |name: &str| {
                let path = folder.join(name);
                let text = input::text(&path, TEXT_BYTES_MAX)
                    .with_context(|| format!("failed to read the source '{}'", path.display()))?;
                Ok(SourceFile { path, text })
            };
            let own = parse(&text, Some(folder), &read)
                .with_context(|| format!("the table of peers '{}' is broken", path.display()))?;
            programs.extend(own);
        }
        let mut names = BTreeSet::from([OWN_PEER]);
        if let Some(twice) = programs.iter().find(|program| !names.insert(&program.peer.name)) {
            bail!("two peers have the name '{}'", twice.peer.name);
        }
        Ok(Peers { programs })
    }

    /// All programs, in table order.
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// The properties of all programs, before any build.
    pub fn facts(&self) -> Vec<Peer> {
        self.programs.iter().map(|program| program.peer.clone()).collect()
    }

    /// Lets `program`, an executable file, measure in place of what the peer `name` builds, with
    /// the same arguments.
    ///
    /// # Errors
    /// If there is no such peer, or an interpreter starts it.
    pub fn replace(&mut self, name: &str, program: &Path) -> Result<()> {
        let row = self.programs.iter_mut().find(|row| row.peer.name == name);
        let row = row.with_context(|| format!("there is no peer '{name}'"))?;
        let (own, arguments) = row.run.split_first().context("a peer has a command")?;
        let needs_build = |word: &String| word.contains("{build}") || word.contains("{source}");
        if !own.contains('/') || arguments.iter().any(needs_build) {
            bail!(
                "'{}' cannot take the place of the peer '{name}', which is started by '{}': its \
                 'run' must begin with the program's path, and name nothing else that is built",
                program.display(),
                row.run.join(" ")
            );
        }
        let arguments = arguments.to_vec();
        row.run = [vec![program.display().to_string()], arguments].concat();
        (row.source, row.headers) = (None, Vec::new());
        (row.version, row.build, row.counting) = (Vec::new(), Vec::new(), None);
        Ok(())
    }

    /// The program with this name.
    pub fn find(&self, name: &str) -> Option<&Program> {
        self.programs.iter().find(|program| program.peer.name == name)
    }
}

fn built_in_source(name: &str) -> Result<SourceFile> {
    let found = FOLDER.get_file(name).and_then(|file| file.contents_utf8());
    let text = found.with_context(|| format!("there is no source '{name}'"))?;
    Ok(SourceFile { path: name.into(), text: text.to_string() })
}

/// Whether `text` is a table of peers without sources.
pub fn is_table(text: &str) -> bool {
    parse(text, None, &|name| bail!("a source '{name}'")).is_ok()
}

/// The programs of a table. Rows of a user's table may refer to its `folder`.
fn parse(
    text: &str,
    folder: Option<&Path>,
    read: &dyn Fn(&str) -> Result<SourceFile>,
) -> Result<Vec<Program>> {
    let table: PeerTable = toml::from_str(text)?;
    let folder = folder.map(|folder| ("{folder}", vec![folder.to_string_lossy().into_owned()]));
    let threads = ("{threads}", vec![most_threads().to_string()]);
    let everywhere: Vec<Choice> = folder.into_iter().chain([threads]).collect();
    let mut programs = Vec::new();
    for row in table.peer {
        row.check_axes()?;
        let text = ProgramText {
            source: row.source.as_deref().map(read).transpose()?,
            headers: row.headers.iter().map(|name| read(name)).collect::<Result<_>>()?,
        };
        let found = compilers_of(&row, &on_path(&row.compilers));
        if row.matrix {
            for mut choice in choices(&row, &found) {
                choice.extend(everywhere.clone());
                programs.push(row.program(text.clone(), &choice)?);
            }
            continue;
        }
        let compiler = found.first().cloned().unwrap_or_default();
        let mut choice = vec![("{compiler}", vec![compiler])];
        choice.extend(everywhere.clone());
        let mut program = row.program(text, &choice)?;
        if found.is_empty() && !row.compilers.is_empty() {
            let tried = row.compilers.join(", ");
            program.peer.unavailable = Some(format!("none of {tried} is on the PATH"));
        }
        if let Some(name) = missing(&row.needs) {
            program.peer.unavailable = Some(format!("{name} is not on the PATH: install {name}"));
        }
        programs.push(program);
    }
    Ok(programs)
}

/// A placeholder in a row, and the words that replace it in one of its programs.
type Choice = (&'static str, Vec<String>);

/// Every combination of compiler, flags and form. The program's name contains the names of the
/// flags and the form, through their own placeholders.
fn choices(row: &PeerRow, compilers: &[String]) -> Vec<Vec<Choice>> {
    let mut all = Vec::new();
    for compiler in compilers {
        for (flags_name, flags) in &row.flags {
            for (form_name, form) in &row.forms {
                all.push(vec![
                    ("{compiler}", vec![compiler.clone()]),
                    ("{flags}", flags.clone()),
                    ("{form}", form.clone()),
                    ("{name of flags}", vec![flags_name.clone()]),
                    ("{name of form}", vec![form_name.clone()]),
                ]);
            }
        }
    }
    all
}

impl PeerRow {
    /// Rejects unknown axes, because a limit on them would have no effect.
    fn check_axes(&self) -> Result<()> {
        match self.axes.keys().find(|axis| Axis::named(axis).is_none()) {
            Some(axis) => bail!("the peer '{}' limits '{axis}', which is not an axis", self.name),
            None => Ok(()),
        }
    }

    /// The program for one choice.
    ///
    /// # Errors
    /// If its name is invalid.
    fn program(&self, text: ProgramText, choice: &[Choice]) -> Result<Program> {
        let put = |words: &[String]| -> Vec<String> {
            words.iter().flat_map(|word| put_in(word, choice)).collect()
        };
        let named = self.name.replace("{flags}", "{name of flags}");
        let named = named.replace("{form}", "{name of form}");
        let name: PeerName = put_in(&named, choice).concat().parse()?;
        Ok(Program {
            peer: Peer {
                name: name.to_string(),
                is_of_matrix: self.matrix,
                version: None,
                build: None,
                vector_bits: None,
                engines: self.engines.clone(),
                write_engines: self.write_engines.clone(),
                kernels: self.kernels.clone(),
                axes: self.axes.clone(),
                unavailable: None,
            },
            name,
            source: text.source,
            headers: text.headers,
            version: put(&self.version),
            build: put(&self.build),
            run: put(&self.run),
            counting: self.counting.clone(),
        })
    }
}

/// The most threads that recipes use on this machine: `threads = "sweep"`. The standard library
/// rounds a quota down, and recipes round it up.
fn most_threads() -> u32 {
    witness::host(Vec::new()).parallelism().saturating_mul(2)
}

/// The words that replace `word`, which may be a placeholder or contain some.
fn put_in(word: &str, choice: &[Choice]) -> Vec<String> {
    if let Some((_, words)) = choice.iter().find(|(key, _)| *key == word) {
        return words.clone();
    }
    let fold = |text: String, (key, words): &Choice| text.replace(key, &words.join(" "));
    vec![choice.iter().fold(word.to_string(), fold)]
}

/// The first of `programs` that is missing on the PATH.
pub(crate) fn missing(programs: &[String]) -> Option<&String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &String| std::env::split_paths(&path).any(|at| at.join(name).is_file());
    programs.iter().find(|name| !is_there(name))
}

/// The programs on the PATH whose names start with one of `compilers`, with their real paths. For
/// duplicate names, the first one counts, as in a shell.
fn on_path(compilers: &[String]) -> Vec<(String, PathBuf)> {
    let path = std::env::var_os("PATH").filter(|_| !compilers.is_empty()).unwrap_or_default();
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for folder in std::env::split_paths(&path) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let is_wanted = compilers.iter().any(|compiler| name.starts_with(compiler.as_str()));
            if !is_wanted || found.iter().any(|(known, _)| *known == name) {
                continue;
            }
            match entry.path().canonicalize() {
                Ok(real) if real.is_file() => found.push((name, real)),
                // A dangling link or a folder, which no shell would start.
                Ok(_) | Err(_) => {}
            }
        }
    }
    found
}

/// The installed compilers of a row. A matrix includes those with a version in their name, such as
/// `gcc-12`. Each program appears once, under its shortest name.
fn compilers_of(row: &PeerRow, on_path: &[(String, PathBuf)]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut known = BTreeSet::new();
    for compiler in &row.compilers {
        let is_of = |name: &str| {
            let version = name.strip_prefix(compiler.as_str()).and_then(|v| v.strip_prefix('-'));
            let versioned = version.is_some_and(|v| v.bytes().all(|b| b.is_ascii_digit()));
            name == compiler || row.matrix && versioned
        };
        let mut named: Vec<_> = on_path.iter().filter(|(name, _)| is_of(name)).collect();
        named.sort_by_key(|(name, _)| (name.len(), name.clone()));
        let new = named.into_iter().filter(|(_, real)| known.insert(real.clone()));
        found.extend(new.map(|(name, _)| name.clone()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATRIX: &str = "
        [[peer]]
        name = '{compiler}-{flags}-{form}'
        matrix = true
        compilers = ['zcc']
        flags = { O0 = ['-O0'], fast = ['-O3', '-march=native'] }
        forms = { loop = [], unrolled = ['-DUNROLLED'] }
        build = ['{compiler}', '{flags}', '{form}', '-o', '{build}/peer']
        run = ['{build}/peer']
        kernels = ['count']";

    fn no_source(name: &str) -> Result<SourceFile> {
        bail!("no {name}")
    }

    fn row(text: &str) -> PeerRow {
        let table: PeerTable = toml::from_str(text).expect("the table is whole");
        table.peer.into_iter().next().expect("it has a row")
    }

    #[test]
    fn a_matrix_has_every_combination() {
        let row = row(MATRIX);
        let programs: Vec<Program> = choices(&row, &["zcc".to_string(), "zcc-2".to_string()])
            .iter()
            .map(|choice| row.program(ProgramText::default(), choice).expect("its name is one"))
            .collect();
        let names: Vec<&str> = programs.iter().map(|p| p.peer.name.as_str()).collect();
        assert_eq!(names[..3], ["zcc-O0-loop", "zcc-O0-unrolled", "zcc-fast-loop"]);
        assert_eq!(names.len(), 8);
        let build = programs[7].build.join(" ");
        assert_eq!(build, "zcc-2 -O3 -march=native -DUNROLLED -o {build}/peer");
    }

    #[test]
    fn a_program_takes_the_place_of_another_with_its_arguments() {
        let replaced = |run: &str| {
            let text = format!("[[peer]]\nname = 'it'\nrun = [{run}]\nengines = ['pread']\n");
            let programs = parse(&text, None, &no_source).expect("the table is whole");
            let mut peers = Peers { programs };
            peers.replace("it", Path::new("/tmp/new"))?;
            anyhow::Ok(peers.programs[0].run.join(" "))
        };
        let run = replaced("'/opt/it', '--cache=1'").expect("a path starts it");
        assert_eq!(run, "/tmp/new --cache=1");
        for run in ["'zvm', 'it'", "'/opt/it', '{build}/library'"] {
            let error = replaced(run).expect_err(run).to_string();
            assert!(error.contains("which is started by"), "{error}");
        }
    }

    #[test]
    fn a_compiler_counts_once_whatever_its_names() {
        let path = |name: &str, real: &str| (name.to_string(), PathBuf::from(real));
        let found = [
            path("zcc-12", "/bin/z12"),
            path("zcc", "/bin/z12"),
            path("zcc-9", "/bin/z9"),
            path("zcc-ar", "/bin/ar"),
            path("xzcc", "/bin/x"),
        ];
        let matrix = row(MATRIX);
        assert_eq!(compilers_of(&matrix, &found), ["zcc", "zcc-9"]);
        let one = PeerRow { matrix: false, ..matrix };
        assert_eq!(compilers_of(&one, &found), ["zcc"]);
    }

    #[test]
    fn a_peer_without_a_compiler_says_which_were_tried() {
        let text = "[[peer]]\nname = 'z'\ncompilers = ['zcc-nowhere', 'no-cc']\nrun = ['z']";
        let programs = parse(text, None, &no_source).expect("the table is whole");
        let reason = programs[0].peer.unavailable.as_deref();
        assert_eq!(reason, Some("none of zcc-nowhere, no-cc is on the PATH"));
    }

    #[test]
    fn a_peer_without_a_program_that_it_needs_says_what_to_install() {
        let text = "[[peer]]\nname = 'z'\nneeds = ['sh', 'no-such-zio']\nrun = ['z']";
        let programs = parse(text, None, &no_source).expect("the table is whole");
        let reason = programs[0].peer.unavailable.as_deref();
        assert_eq!(reason, Some("no-such-zio is not on the PATH: install no-such-zio"));
        let case = model::zoo::cases().remove(0);
        let refusal = programs[0].peer.refusal(&case).expect("it cannot run");
        assert!(
            refusal.ends_with("the peer z: no-such-zio is not on the PATH: install no-such-zio")
        );
    }

    #[test]
    fn what_is_wrong_with_a_table_is_said() {
        for (text, expected) in [
            ("[[peer]]\nname = 'z'", "missing field `run`"),
            ("[[peer]]\nname = 'z'\nrun = []\ncolour = 1", "unknown field `colour`"),
            ("[[peer]]\nname = 'z'\nrun = []\nengines = ['reed']", "unknown variant `reed`"),
            ("[[peer]]\nname = 'z'\nrun = []\nsource = 'z.c'", "no z.c"),
            (
                "[[peer]]\nname = 'z'\nrun = []\naxes = { tuch = [] }",
                "'tuch', which is not an axis",
            ),
            ("[[peer]]\nname = '../../x'\nrun = []", "'../../x' is not a valid name of a peer"),
        ] {
            let error = format!("{:#}", parse(text, None, &no_source).expect_err(text));
            assert!(error.contains(expected), "'{text}' gave '{error}'");
        }
    }

    #[test]
    fn the_built_in_table_is_whole() {
        let peers = Peers::load(None).expect("it is ours");
        for name in ["java", "c", "mpi-io-all", "dd", "fio", "likwid-bench", "sysbench"] {
            assert!(peers.find(name).is_some(), "{name}");
        }
        // The program must not look for sources in its build directory, where anyone may have put
        // files by now.
        let workspace = env!("CARGO_MANIFEST_DIR");
        assert!(!format!("{peers:?}").contains(workspace));
    }

    #[test]
    fn a_table_of_ones_own_may_speak_of_its_folder() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../peers"));
        let manifest = format!("--manifest-path {}/../Cargo.toml", folder.display());
        for name in ["rust-dev", "rust-musl"] {
            let table = folder.join(name).with_extension("toml");
            let peers = Peers::load(Some(&table)).expect("it is ours");
            let build = peers.find(name).expect("it is there").build.join(" ");
            assert!(build.contains(&manifest), "{build}");
        }
    }
}
