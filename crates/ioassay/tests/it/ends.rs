//! Runs with hostile peers, limits and disks end in time, with the right exit status, and leave
//! nothing behind.

use crate::executables::install_copy;
use crate::sandbox::{PROGRAM, Sandbox, argument, check_reason, skip, text, wait_for};
use rustix::process::{Pid, Signal, getuid, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A sandbox with a recipe that only needs memory, and a table with one peer `fake`, which runs the
/// shell `script`.
fn sandbox_with(script: &str) -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let recipe = "name = 'ends'\nquestion = 'How does it end?'\nrounds = 1\ntime = '5ms'\n\
                  [[cases]]\nkernel = 'count'\nworking_set = '4MiB'\nisa = 'auto'\n\
                  pages = 'base'\n";
    std::fs::write(sandbox.state().join("ends.toml"), recipe).unwrap();
    std::fs::write(sandbox.state().join("fake.sh"), script).unwrap();
    let table = sandbox.state().join("peers.toml");
    let row = "[[peer]]\nname = 'fake'\nsource = 'fake.sh'\nrun = ['sh', '{source}']\n\
               kernels = ['count']\n";
    std::fs::write(&table, row).unwrap();
    (sandbox, table)
}

/// The arguments of a run of the peer.
fn args<'a>(table: &'a Path, recipe: &'a Path) -> Vec<&'a str> {
    let mut args = vec!["run", argument(recipe), "--invocations=1", "--no-ceilings"];
    args.extend(["--record", "record", "--peer", "fake", "--peers", argument(table)]);
    args
}

const HELLO: &str = "echo hello protocol=2 name=fake version=1\n";

/// The processes whose command line contains `word`.
fn processes(word: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let command = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).ok();
    let has = |command: &String| command.split('\0').any(|own| own == word);
    all.filter_map(command).map(|c| String::from_utf8_lossy(&c).into_owned()).filter(has).collect()
}

/// Checks that they are killed: by themselves, they would last for years. One that waits for a disk
/// ends a moment later.
fn check_gone(word: &str) {
    wait_for("the end of what a peer started", || processes(word).is_empty().then_some(()));
}

#[test]
fn what_a_peer_starts_ends_with_it() {
    // A sleep time that no other process uses.
    let word = format!("7{}", std::process::id() * 100);
    let starts = format!(
        "{HELLO}sleep {word} &\nsetsid sleep {word} &\n\
         (setsid sh -c 'sleep {word} & sleep {word}' &)\n"
    );
    for end in ["read job; exit 3\n", "while read job; do echo unavailable reason=no; done\n"] {
        let (sandbox, table) = sandbox_with(&format!("{starts}{end}"));
        let recipe = sandbox.state().join("ends.toml");
        let output = sandbox.start(PROGRAM).args(args(&table, &recipe)).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        check_gone(&word);
    }
}

#[test]
fn a_signal_while_a_worker_greets_is_told_by_the_exit_status() {
    let word = format!("8{}", std::process::id() * 100);
    let (sandbox, table) = sandbox_with(&format!("sleep {word}\n"));
    let recipe = sandbox.state().join("ends.toml");
    let mut command = sandbox.start(PROGRAM);
    command.args(args(&table, &recipe)).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    wait_for("the peer", || (!processes(&word).is_empty()).then_some(()));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let status = wait_for("the end of the run", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(130));
    check_gone(&word);
    let report = sandbox.json(&["report", "--json", "record"]);
    assert_eq!(report["end"], "interrupted");
}

/// Runs the program after the shell command `limit`.
fn limited(sandbox: &Sandbox, limit: &str, args: &[&str]) -> Output {
    let mut command = sandbox.start("sh");
    command.args(["-c", &format!("{limit}; exec \"$0\" \"$@\""), PROGRAM]).args(args);
    command.output().unwrap()
}

#[test]
fn a_record_that_cannot_be_written_is_told_and_not_left() {
    let (sandbox, table) = sandbox_with(HELLO);
    let recipe = sandbox.state().join("ends.toml");
    let output = limited(&sandbox, "ulimit -f 0", &args(&table, &recipe));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(said.contains("failed to create the record") && said.contains("too large"), "{said}");
    assert!(!sandbox.path("record").exists());
}

/// Root is exempt from this limit, so the run uses a different user.
#[test]
fn threads_that_the_os_does_not_give_fail_the_trials() {
    let name = "threads_that_the_os_does_not_give_fail_the_trials";
    if !getuid().is_root() || Command::new("setpriv").arg("--version").output().is_err() {
        return skip(name, "it needs root and setpriv");
    }
    let Some(sandbox) = Sandbox::in_memory() else { return skip(name, "there is no /dev/shm") };
    let recipe = sandbox.path("ends.toml");
    let text_of = "name = 'ends'\nquestion = 'How does it end?'\nrounds = 1\ntime = '5ms'\n\
                   [[cases]]\nkernel = 'read'\nworking_set = '64KiB'\npages = 'base'\n\
                   threads = 4\n";
    std::fs::write(&recipe, text_of).unwrap();
    let program = sandbox.path("ioassay");
    install_copy(Path::new(PROGRAM), &program);
    let user = 100_000 + std::process::id();
    for path in [sandbox.directory().to_path_buf(), sandbox.state().to_path_buf()] {
        std::os::unix::fs::chown(path, Some(user), Some(user)).unwrap();
    }
    // The maximum number of processes and threads of the user.
    for (most, expected) in
        [(1, "failed to start the worker"), (3, "starting thread 2 of 4 failed")]
    {
        let mut command = sandbox.start("prlimit");
        command.args([&format!("--nproc={most}"), "setpriv", "--clear-groups"]);
        command.args([format!("--reuid={user}"), format!("--regid={user}")]).arg(&program);
        command.args(["run", "ends.toml", "--invocations=1", "--no-ceilings", "--record"]);
        let output = command.arg(format!("record{most}")).output().unwrap();
        let said = text(&output.stderr) + &text(&output.stdout);
        assert!(said.contains(expected), "{most}: {output:?}");
        assert!(matches!(output.status.code(), Some(1 | 2)), "{output:?}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

/// Every run of a test is checked for a reason; here is each way that a command can end with
/// status 1, with its reason. Those of gates are in their tests.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn each_way_to_end_with_status_1_says_why() {
    let (sandbox, table) = sandbox_with(&format!("{HELLO}read job; exit 3\n"));
    let recipe = sandbox.state().join("ends.toml");
    let check = |args: &[&str], expected: &str| {
        check_reason(&sandbox.plainly(args), 1, expected);
    };
    let failed = "1 of 1 requested case has no valid figure; it is ";
    check(&[&args(&table, &recipe)[..], &["-q"]].concat(), failed);
    check(&["report", "record"], failed);
    check(&["report", "record", "--json"], failed);
    std::fs::copy(sandbox.path("record"), sandbox.path("other")).unwrap();
    let mut watch = args(&table, &recipe);
    watch[0] = "watch";
    let record = watch.iter().position(|arg| *arg == "record").unwrap();
    watch[record] = "records/";
    check(&[&watch[..], &["--every=10ms", "--count=1"]].concat(), failed);
    let peers = ["--peers", argument(&table)];
    check(&[&["peers", "verify", "fake"], &peers[..]].concat(), "the peer 'fake' is wrong: ");
    let row = "[[peer]]\nname = 'broken'\nsource = 'fake.sh'\nbuild = ['false']\nrun = ['x']\n\
               kernels = ['count']\n";
    std::fs::write(&table, row).unwrap();
    let broken = "the peer 'broken' cannot be built: ";
    check(&[&["peers", "build", "broken"], &peers[..]].concat(), broken);
    let launchers = sandbox.state().join("launchers.toml");
    let row = "[[launcher]]\nname = 'none'\nprefix = ['false']\n";
    std::fs::write(&launchers, row).unwrap();
    let none = ["--launcher=none", "--launchers", argument(&launchers)];
    check(&[&["hosts", "check", "--hosts=a,b"], &none[..]].concat(), "cannot be used: a, b");
    // A goal that nothing meets, in a recipe whose answer is about something else.
    let mut run =
        vec!["run", "read-methods", ".", "--engine=pread", "--cache=as-is", "--size=1MiB"];
    run.extend(["--block=4KiB", "--threads=1", "--rate=50%,100%", "--time=5ms", "--rounds=2"]);
    run.extend(["--invocations=1", "--no-ceilings", "--hold=p99<1ns", "--at-least=100"]);
    let output = sandbox.plainly(&run);
    check_reason(&output, 1, "the least rate that was asked for");
    assert!(text(&output.stdout).contains("p99<1ns"), "the answer is about the goal: {output:?}");
}

#[test]
fn a_quiet_run_says_that_it_builds_a_peer() {
    let (sandbox, table) = sandbox_with("");
    let recipe = sandbox.state().join("ends.toml");
    let row = "[[peer]]\nname = 'fake'\nsource = 'fake.sh'\nbuild = ['false']\nrun = ['x']\n\
               kernels = ['count']\n";
    std::fs::write(&table, row).unwrap();
    let output = sandbox.plainly(&[&args(&table, &recipe)[..], &["-q"]].concat());
    assert!(text(&output.stderr).contains("building the peer fake"), "{output:?}");
}
