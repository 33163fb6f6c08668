//! The surroundings of a test: a directory to measure and a state folder for records.

use model::host::{Medium, Storage};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_ioassay");

/// A command that takes this long hangs.
pub(crate) const HANGS: Duration = Duration::from_secs(600);

/// A directory to measure and a state folder; both are deleted on drop.
pub(crate) struct Sandbox {
    directory: TempDir,
    state: TempDir,
}

impl Sandbox {
    /// In the build directory, which is usually on a real disk.
    pub(crate) fn new() -> Sandbox {
        Sandbox::on(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    /// In memory; `None` without `/dev/shm`.
    pub(crate) fn in_memory() -> Option<Sandbox> {
        Path::new("/dev/shm").is_dir().then(|| Sandbox::on(Path::new("/dev/shm")))
    }

    /// In a new directory in `place`.
    pub(crate) fn on(place: &Path) -> Sandbox {
        Sandbox { directory: TempDir::new_in(place).unwrap(), state: TempDir::new().unwrap() }
    }

    /// The directory to measure.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The path of something in the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }

    /// The folder of records without an explicit path.
    pub(crate) fn state(&self) -> &Path {
        self.state.path()
    }

    /// A command for `program` that runs in the directory; records go to the state folder.
    pub(crate) fn start(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.directory()).env("XDG_STATE_HOME", self.state());
        // Shares one cache of built peers between all tests.
        command.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        command
            .env_remove("RUST_LOG")
            .env_remove("NO_COLOR")
            .env_remove("COLUMNS")
            // No test opens a browser.
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program with `args`. Unless they say otherwise, a run has one invocation, which is
    /// faster. It has no ceilings either, because their arrays are four times the caches.
    pub(crate) fn ioassay(&self, args: &[&str]) -> Output {
        let asks = |arg: &&str| {
            // The recipe follows one series, which has no invocations.
            ["--invocations", "--sustain", "steady"].iter().any(|own| arg.starts_with(own))
        };
        let is_dry = args.contains(&"--dry-run");
        let (command, more): (_, &[&str]) = match args {
            [command @ ("run" | "watch"), ..] if is_dry => (*command, &[]),
            ["watch", ..] => ("watch", &["--no-ceilings"]),
            ["run", ..] if args.iter().any(asks) => ("run", &["--no-ceilings"]),
            ["run", ..] => ("run", &["--no-ceilings", "--invocations=1"]),
            _ => return self.plainly(args),
        };
        self.plainly(&[&[command], more, &args[1..]].concat())
    }

    /// Runs the program with exactly `args`. However it ends with status 1 or 3, it must say why.
    pub(crate) fn plainly(&self, args: &[&str]) -> Output {
        let mut command = assert_cmd::Command::from_std(self.start(PROGRAM));
        let output = command.args(args).timeout(HANGS).output().unwrap();
        if let Some(code @ (1 | 3)) = output.status.code() {
            check_reason(&output, code, "");
        }
        output
    }

    /// The program's stdout; the command must succeed.
    pub(crate) fn says(&self, args: &[&str]) -> String {
        let output = self.ioassay(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        text(&output.stdout)
    }

    /// The same for any verdict: a neighbor can make a case void, and the exit status 1.
    pub(crate) fn judges(&self, args: &[&str]) -> String {
        let output = self.ioassay(args);
        assert!(is_judged(&output), "{args:?}: {output:?}");
        text(&output.stdout)
    }

    /// The JSON that the program prints, for any verdict.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.judges(args)).unwrap()
    }

    /// Checks that the program rejects `args` with exit status 2 and prints only an error with each
    /// of `expected`. It must leave no files behind.
    pub(crate) fn refuses(&self, args: &[&str], expected: &[&str]) {
        let before = self.things();
        let output = self.ioassay(args);
        assert_eq!(self.things(), before, "{args:?} left something");
        check_refusal(&output, expected);
    }

    /// The names of everything in the directory and the state folder.
    pub(crate) fn things(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut folders = vec![self.directory().to_path_buf(), self.state().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                names.push(entry.path().display().to_string());
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        names.sort();
        names
    }

    /// The storage of the directory, as the program reports it.
    pub(crate) fn storage(&self) -> Storage {
        let facts: Value = serde_json::from_str(&self.says(&["host", "."])).unwrap();
        serde_json::from_value(facts["storage"].clone()).unwrap()
    }

    /// Whether the directory is on a disk with working page cache eviction and direct I/O. If not,
    /// reports the skipped `test`.
    pub(crate) fn is_on_disk(&self, test: &str) -> bool {
        let storage = self.storage();
        let is_on_disk = storage.medium == Medium::Block
            && storage.evictable
            && storage.residency_probe.is_some()
            && matches!(storage.direct, model::host::Direct::Accepted { .. });
        if !is_on_disk {
            let directory = self.directory().display();
            skip(test, &format!("'{directory}' is on {} and not on a disk", storage.file_system));
        }
        is_on_disk
    }
}

/// Whether a run or a report came to its end, whatever its verdict.
pub(crate) fn is_judged(output: &Output) -> bool {
    matches!(output.status.code(), Some(0 | 1))
}

/// Checks that `output` is a refusal with each of `expected`.
pub(crate) fn check_refusal(output: &Output, expected: &[&str]) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(text(&output.stdout), "");
    for expected in expected {
        assert!(said.contains(expected), "'{said}' does not say '{expected}'");
    }
    assert!(!said.contains("panicked"), "{said}");
}

/// Printed bytes as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A path as an argument.
pub(crate) fn argument(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Reports the name of a skipped test and the reason.
pub(crate) fn skip(test: &str, reason: &str) {
    eprintln!("skipped {test}: {reason}");
}

/// Waits until `seen` returns a value.
pub(crate) fn wait_for<T>(what: &str, mut seen: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(seen) = seen() {
            return seen;
        }
        assert!(began.elapsed() < HANGS, "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Checks that the last line on stderr says why the program ended with status `code`, in words that
/// contain `expected`.
pub(crate) fn check_reason(output: &Output, code: i32, expected: &str) {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    let said = text(&output.stderr);
    let last = said.lines().last().unwrap_or_default();
    let why = last.strip_prefix(&format!("exit status {code}: "));
    assert!(why.is_some_and(|why| !why.is_empty() && why.contains(expected)), "{output:?}");
}
