//! This test program, started again to be observed, or to try something as another user.
//!
//! The environment says what to do. Lines that start with `@` are its own; the others come from the
//! test harness.
#![expect(clippy::print_stdout, reason = "the pipe to the test that started it")]

use crate::executables::install_copy;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

const ACT: &str = "WITNESS_TEST_ACT";
const PATH: &str = "WITNESS_TEST_PATH";

/// The ID of a user that owns nothing.
const NOBODY: u32 = 65534;

/// The user that the actor runs as.
#[derive(Clone, Copy)]
enum User {
    Same,
    Nobody,
}

/// A started actor, waiting for the signal to go.
pub(crate) struct Actor {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Actor {
    /// Starts an actor that will perform `act` on `path`.
    pub(crate) fn start(act: &str, path: &Path) -> Actor {
        Actor::start_program(&std::env::current_exe().unwrap(), act, path, User::Same)
    }

    fn start_program(program: &Path, act: &str, path: &Path, user: User) -> Actor {
        let mut command = Command::new(program);
        command.args(["--exact", "actor::acts", "--ignored", "--nocapture"]);
        command.env(ACT, act).env(PATH, path).stdin(Stdio::piped()).stdout(Stdio::piped());
        if let User::Nobody = user {
            command.uid(NOBODY).gid(NOBODY);
        }
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut actor = Actor { child, output };
        assert_eq!(actor.line(), "ready");
        actor
    }

    /// Like `start`, but as a user that owns nothing. The build directory may be closed to that
    /// user, so this runs a copy of the program in `directory`, which it opens to everyone.
    pub(crate) fn start_stranger(act: &str, path: &Path, directory: &Path) -> Actor {
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(directory, open).unwrap();
        let program = directory.join("program");
        if !program.exists() {
            install_copy(&std::env::current_exe().unwrap(), &program);
        }
        Actor::start_program(&program, act, path, User::Nobody)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets it go and waits for its answer. It stays alive until this is dropped.
    pub(crate) fn go(&mut self) -> String {
        self.child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        self.line()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the actor died");
            // The harness does not end its line before the test's output.
            if let Some((_, own)) = line.split_once('@') {
                return own.trim_end().to_string();
            }
        }
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "not a test: it is started by others"]
fn acts() {
    let (Ok(act), Ok(path)) = (std::env::var(ACT), std::env::var(PATH)) else { return };
    let mut input = std::io::stdin().lines();
    println!("@ready");
    if input.next().is_none() {
        return;
    }
    println!("@{}", perform(&act, Path::new(&path)));
    assert!(input.next().is_none());
}

fn perform(act: &str, path: &Path) -> String {
    match act {
        "read" => {
            let bytes = std::fs::read(path).unwrap();
            format!("read {}", bytes.len())
        }
        "scan" => {
            let mut file = std::fs::File::open(path).unwrap();
            let mut block = vec![0; 1 << 20];
            let mut sum = 0;
            loop {
                match std::io::Read::read(&mut file, &mut block).unwrap() {
                    0 => break format!("scanned {sum}"),
                    count => sum += count,
                }
            }
        }
        "group" => witness::MemoryGroup::create(1 << 20).unwrap_err().to_string(),
        "write" => {
            std::fs::write(path, vec![7; 4 << 20]).unwrap();
            "written".to_string()
        }
        "sync" => {
            std::fs::File::open(path).unwrap().sync_all().unwrap();
            "synced".to_string()
        }
        "burn" => {
            burn(200);
            "burnt".to_string()
        }
        "thread" => {
            #[expect(clippy::disallowed_methods, reason = "a test may panic")]
            let other = std::thread::spawn(|| burn(10));
            // On a busy machine, it may end before it is waited for.
            std::thread::sleep(std::time::Duration::from_millis(1));
            other.join().unwrap();
            "joined".to_string()
        }
        "memory" => witness::host(Vec::new()).memory_available.expect("it is told").to_string(),
        "storage" => match witness::storage(path) {
            Ok(storage) => format!("{storage:?}"),
            Err(error) => error.to_string(),
        },
        "storage_of" => match witness::storage_of(path) {
            Ok(storage) => format!("{:?}|{}", storage.residency_probe, storage.notes.join("|")),
            Err(error) => error.to_string(),
        },
        "drop" => witness::page_cache::drop_all().unwrap_err().to_string(),
        other => panic!("no act '{other}'"),
    }
}

/// Uses at least `milliseconds` of CPU time, regardless of elapsed time.
fn burn(milliseconds: u64) {
    let used = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
    };
    let end = used() + milliseconds;
    while used() < end {
        std::hint::black_box((0..100_000u64).fold(0, |sum, i| sum ^ std::hint::black_box(i)));
    }
}
