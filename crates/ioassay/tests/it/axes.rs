//! What it costs to add an axis: `AXIS` adds one to a copy of the source, and the program built
//! from it has the axis everywhere.

use crate::sandbox::Sandbox;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Lines that are added to a file.
struct Added {
    file: &'static str,
    /// The text before which they come, which the file has exactly once.
    before: &'static str,
    lines: &'static str,
}

/// The axis: the priority of the threads' I/O. The copy carries its value and does nothing with it.
const AXIS: [Added; 4] = [
    Added {
        file: "crates/model/src/io.rs",
        before: "/// How a file is divided into operations, and in which order",
        lines: r#"crate::named! {
    /// The priority of the threads' I/O.
    Priority "priority" {
        /// That of any process.
        Usual "usual",
        /// Only when nothing else uses the device.
        Idle "idle",
    }
}

"#,
    },
    Added {
        file: "crates/model/src/io.rs",
        before: "    /// How blocks are divided among the threads.\n    pub share: Share,\n",
        lines: "    /// The priority of the threads' I/O.\n    pub priority: Priority,\n",
    },
    Added {
        file: "crates/model/src/io.rs",
        before: "            share: Share::Contiguous,\n",
        lines: "            priority: Priority::Usual,\n",
    },
    Added {
        file: "crates/model/src/axis/table.rs",
        before: "    Axis {\n        name: \"submission\",\n",
        lines: r#"    Axis {
        name: "priority",
        flag: "priority",
        meaning: "Priority of the threads' I/O",
        domain: Domain::Names(&[
            (Kind::Read, crate::io::Priority::NAMES),
            (Kind::Write, crate::io::Priority::NAMES),
        ]),
        usual: Usual::files("usual"),
        before: Usual::files("usual"),
        word: IdWord::After("priority:", Some("usual")),
        say: Say::of("priority {}").text("priority {}").quiet("usual"),
        ..name_of!(io, io_mut, priority)
    },
"#,
    },
];

/// Maximum number of files that an axis may touch: the structure with its field and default, and
/// the table of axes. What the axis does comes on top.
const FILES_MOST: usize = 2;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The copy. It has a fixed place in the build directory, so that a second build is short.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("axis");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Copies the sources: not what git or cargo keep.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (name, kind) = (entry.file_name(), entry.file_type().unwrap());
        let is_source = name != "target" && name != ".git";
        match () {
            () if kind.is_dir() && is_source => copy(&entry.path(), &to.join(name)),
            () if kind.is_symlink() => {
                // A package reaches what it includes by links.
                symlink(fs::read_link(entry.path()).unwrap(), to.join(name)).unwrap();
            }
            () if kind.is_file() => drop(fs::copy(entry.path(), to.join(name)).unwrap()),
            () => {}
        }
    }
}

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    output
}

/// The program with the axis.
fn program() -> PathBuf {
    let (source, target) = (folder().join("source"), folder().join("target"));
    let _ = fs::remove_dir_all(&source);
    copy(&root(), &source);
    for added in AXIS {
        let path = source.join(added.file);
        fs::write(&path, with(&added, &fs::read_to_string(&path).unwrap())).unwrap();
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(&source).env("CARGO_TARGET_DIR", &target);
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    succeed(cargo.args(["build", "--quiet", "--package", "ioassay"]));
    target.join("debug/ioassay")
}

fn said(program: &Path, line: &[&str]) -> String {
    let output = succeed(Command::new(program).args(line));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_axis_is_a_field_and_a_row() {
    let touched: BTreeSet<&str> = AXIS.iter().map(|added| added.file).collect();
    assert!(touched.len() <= FILES_MOST, "{touched:?}");
    for added in &AXIS {
        with(added, &fs::read_to_string(root().join(added.file)).unwrap());
    }
}

/// `text` with the lines, in the one place where they belong.
fn with(added: &Added, text: &str) -> String {
    assert_eq!(text.matches(added.before).count(), 1, "{}: {}", added.file, added.before);
    text.replace(added.before, &format!("{}{}", added.lines, added.before))
}

/// Checks that the program with the axis has it everywhere.
pub(crate) fn check_everywhere() {
    let program = program();
    assert!(said(&program, &["run", "-h"]).contains("--priority"));
    assert!(
        said(&program, &["run", "--help"]).contains("Priority of the threads' I/O [usual, idle]")
    );
    assert!(said(&program, &["man", "run"]).contains("priority"));
    assert!(said(&program, &["completions", "bash"]).contains("--priority"));

    let sandbox = Sandbox::new();
    let record = sandbox.directory().join("record.jsonl");
    let (directory, path) = (sandbox.directory().to_str().unwrap(), record.to_str().unwrap());
    let axes = ["--engine", "pread", "--cache", "warm", "--priority", "usual,idle"];
    let small = ["--size", "1MiB", "--time", "10ms", "--rounds", "1", "--invocations", "1"];
    let mut run = Command::new(&program);
    run.args(["run", "read-methods", directory, "--threads", "1", "--block", "4k"]);
    let _ = run.args(axes).args(small).args(["--record", path, "--quiet"]).output().unwrap();

    let text = said_of(&program, path, &[]);
    assert!(text.contains("priority idle"), "{text}");
    let report: Value = serde_json::from_str(&said_of(&program, path, &["--json"])).unwrap();
    let priorities: Vec<&Value> = (report["cases"].as_array().unwrap().iter())
        .filter(|case| case["role"] == "asked")
        .map(|case| &case["case"]["priority"])
        .collect();
    assert!(priorities.contains(&&"usual".into()) && priorities.contains(&&"idle".into()));
    let csv = said_of(&program, path, &["--csv"]);
    assert!(csv.lines().next().unwrap().split(',').any(|column| column == "priority"), "{csv}");
    // A record that is older than the axis.
    let old = root().join("records/2026-11-22-quick.jsonl");
    let report = said_of(&program, old.to_str().unwrap(), &["--json"]);
    assert!(report.contains("\"priority\": \"usual\""), "an old record has the old value");
}

/// A report, whatever its exit status: the run may be too short to be sound.
fn said_of(program: &Path, record: &str, form: &[&str]) -> String {
    let output = Command::new(program).args(["report", record]).args(form).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
