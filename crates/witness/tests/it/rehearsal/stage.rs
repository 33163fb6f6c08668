//! Rehearses a command in a process of its own: this test program, started again. A rehearsal waits
//! for all children of its process, which other tests have too.

use crate::executables::install_copy;
use model::rehearsal::{FactSheet, FileUse};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use witness::rehearsal::{Rehearsed, TASKS_MAX, rehearse};

const SPEC: &str = "WITNESS_TEST_REHEARSAL";

/// The ID of a user that owns nothing.
const NOBODY: u32 = 65534;

/// A directory for a command, and what is special about its rehearsal.
pub(crate) struct Stage {
    directory: TempDir,
    stdin: PathBuf,
    limit_ms: Option<u64>,
    tasks_max: Option<u64>,
    stop_at: Option<PathBuf>,
    within: Vec<String>,
    subdirectory: String,
    as_nobody: bool,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        let directory = tempfile::tempdir().unwrap();
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(directory.path(), open).unwrap();
        Stage {
            directory,
            stdin: "/dev/null".into(),
            limit_ms: None,
            tasks_max: None,
            stop_at: None,
            within: Vec::new(),
            subdirectory: String::new(),
            as_nobody: false,
        }
    }

    pub(crate) fn with_stdin(mut self, name: &str) -> Stage {
        self.stdin = self.path(name);
        self
    }

    pub(crate) fn with_limit_ms(mut self, limit_ms: u64) -> Stage {
        self.limit_ms = Some(limit_ms);
        self
    }

    /// Stops the rehearsal as soon as the command has created this file.
    pub(crate) fn with_stop_at(mut self, name: &str) -> Stage {
        self.stop_at = Some(self.path(name));
        self
    }

    pub(crate) fn with_subdirectory(mut self, name: &str) -> Stage {
        self.subdirectory = name.to_string();
        self
    }

    /// Starts the rehearsal by another program.
    pub(crate) fn within(mut self, program: &[&str]) -> Stage {
        self.within = program.iter().map(|word| word.to_string()).collect();
        self
    }

    pub(crate) fn with_tasks_max(mut self, tasks_max: u64) -> Stage {
        self.tasks_max = Some(tasks_max);
        self
    }

    pub(crate) fn for_nobody(mut self) -> Stage {
        self.as_nobody = true;
        self
    }

    /// The path of a file in the directory, which is the command's working directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    /// Writes a file of that many bytes.
    pub(crate) fn file(self, name: &str, bytes: usize) -> Stage {
        std::fs::write(self.path(name), vec![7; bytes]).unwrap();
        self
    }

    /// Rehearses a command in the directory.
    pub(crate) fn run(&self, command: &[&str]) -> FactSheet {
        match self.try_run(command) {
            Ok(sheet) => sheet,
            Err(error) => panic!("{command:?}: {error}"),
        }
    }

    /// The same for a script of the shell.
    pub(crate) fn sh(&self, script: &str) -> FactSheet {
        self.run(&["sh", "-c", script])
    }

    /// Rehearses a command that may be refused.
    pub(crate) fn try_run(&self, command: &[&str]) -> Result<FactSheet, String> {
        let status = self.start(command).wait().unwrap();
        assert!(status.success(), "{command:?}: {status}");
        let told: Value =
            serde_json::from_slice(&std::fs::read(self.path(".told")).unwrap()).unwrap();
        std::fs::remove_file(self.path(".told")).unwrap();
        match told.get("error") {
            Some(error) => Err(error.as_str().unwrap().to_string()),
            None => Ok(serde_json::from_value(told).unwrap()),
        }
    }

    /// Starts a rehearsal.
    pub(crate) fn start(&self, command: &[&str]) -> Child {
        let mut program = std::env::current_exe().unwrap();
        if self.as_nobody {
            let copy = self.path(".program");
            install_copy(&program, &copy);
            program = copy;
        }
        let spec = json!({
            "command": command,
            "directory": self.path(&self.subdirectory),
            "stdin": self.stdin,
            "limit_ms": self.limit_ms,
            "tasks_max": self.tasks_max,
            "stop_at": self.stop_at,
            "told": self.path(".told"),
        });
        let mut start = match self.within.split_first() {
            Some((outer, words)) => {
                let mut start = Command::new(outer);
                start.args(words).arg(program).current_dir(self.path(""));
                start
            }
            None => Command::new(program),
        };
        start.args(["--exact", "rehearsal::stage::rehearses", "--ignored", "--nocapture"]);
        start.args(["--test-threads", "1"]).env(SPEC, spec.to_string());
        start.env_remove("LD_LIBRARY_PATH").stdout(std::process::Stdio::null());
        if self.as_nobody {
            start.uid(NOBODY).gid(NOBODY);
        }
        start.spawn().unwrap()
    }
}

/// The facts of a file of a sheet.
pub(crate) fn file<'s>(sheet: &'s FactSheet, path: &Path) -> &'s FileUse {
    let mut all = sheet.files.iter();
    let found = all.find(|file| file.path.to_path() == path);
    found.unwrap_or_else(|| panic!("'{}' is not in {sheet:#?}", path.display()))
}

/// Whether a program is there; says so if it is not.
pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|directory| directory.join(program).exists());
    if !is_there {
        eprintln!("skipped: there is no {program}");
    }
    is_there
}

/// Whether this user is root; says so if not.
pub(crate) fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped: this needs root");
    }
    is_root
}

#[test]
#[ignore = "not a test: it is started by others"]
fn rehearses() {
    let Ok(spec) = std::env::var(SPEC) else { return };
    let spec: Value = serde_json::from_str(&spec).unwrap();
    let text = |name: &str| spec[name].as_str().unwrap().to_string();
    let words = spec["command"].as_array().unwrap().iter();
    let mut words = words.map(|word| OsStr::from_bytes(word.as_str().unwrap().as_bytes()));
    let stop = AtomicBool::new(false);
    let output = || File::options().write(true).open("/dev/null").unwrap();
    let command = Rehearsed {
        program: words.next().unwrap().to_os_string(),
        arguments: words.map(OsStr::to_os_string).collect(),
        stdin: File::open(text("stdin")).unwrap(),
        stdout: output(),
        stderr: output(),
        directory: Some(text("directory").into()),
        stop: Some(&stop),
        time_limit: spec["limit_ms"].as_u64().map(Duration::from_millis),
        tasks_max: spec["tasks_max"].as_u64().map_or(TASKS_MAX, |most| most as usize),
    };
    let is_done = AtomicBool::new(false);
    let told = std::thread::scope(|scope| {
        if let Some(at) = spec["stop_at"].as_str().map(Path::new) {
            let watch = || {
                while !at.exists() && !is_done.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(10));
                }
                stop.store(true, Ordering::Relaxed);
            };
            std::thread::Builder::new().spawn_scoped(scope, watch).unwrap();
        }
        let told = rehearse(&command);
        is_done.store(true, Ordering::Relaxed);
        told
    });
    let told = match told {
        Ok(sheet) => serde_json::to_string(&sheet).unwrap(),
        Err(error) => json!({ "error": error.to_string() }).to_string(),
    };
    std::fs::write(text("told"), told).unwrap();
}
