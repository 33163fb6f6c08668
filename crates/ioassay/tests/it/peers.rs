//! Peers in other languages, and peers that lie.

use crate::ranks::RANKS;
use crate::sandbox::{PROGRAM, Sandbox, argument, check_refusal, skip, text, wait_for};
use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

/// A sandbox with a table of one peer, `fake`: it sends its handshake and runs the shell `script`.
fn sandbox_with(script: &str) -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let greeting = "echo hello protocol=2 name=fake version=1; ";
    std::fs::write(sandbox.state().join("fake.sh"), format!("{greeting}{script}\n")).unwrap();
    let table = sandbox.state().join("peers.toml");
    let row = "[[peer]]\nname = 'fake'\nsource = 'fake.sh'\nrun = ['sh', '{source}']\n\
               engines = ['pread']\nkernels = ['count']\n";
    std::fs::write(&table, row).unwrap();
    (sandbox, table)
}

/// The assessment of a run of the peer `fake` and this program's own worker.
fn run(script: &str) -> Value {
    run_with(script, "sum")
}

/// The same with another `touch` of the bytes.
fn run_with(script: &str, touch: &str) -> Value {
    let (sandbox, table) = sandbox_with(script);
    let axes = ["--engine", "pread", "--cache", "as-is", "--threads", "1", "--block", "4KiB"];
    let axes = [&axes[..], &["--touch", touch]].concat();
    let mut args = vec!["run", "read-methods", ".", "--json", "--rounds", "2", "--size", "1MiB"];
    args.extend(["--time", "5ms", "--peer", "rust,fake", "--peers", argument(&table)]);
    args.extend(axes);
    sandbox.json(&args)
}

fn case<'a>(assessment: &'a Value, peer: &str) -> &'a Value {
    let cases = assessment["cases"].as_array().unwrap();
    let is_asked = |case: &&Value| case["role"] == "asked" && case["case"]["peer"] == peer;
    cases.iter().find(is_asked).unwrap()
}

/// Checks that such a peer's case has no valid figure, with a message that contains its name and
/// `expected`.
/// The case of this program's own worker must not be affected.
fn check_void(script: &str, expected: &str) {
    let assessment = run(script);
    let (own, fake) = (case(&assessment, "rust"), case(&assessment, "fake"));
    let verdict = fake["verdict"].as_str().unwrap();
    assert!(["void", "failed"].contains(&verdict), "{script}: {verdict}");
    let said = format!("{} {}", fake["failures"], fake["findings"]);
    assert!(said.contains("fake") && said.contains(expected), "'{script}' gave {said}");
    assert_eq!(own["n"], 2, "{own}");
    assert!(own["digest_verified"].as_bool().unwrap(), "{own}");
}

/// A peer that reports `span` for every job.
fn liar(span: &str) -> String {
    format!(
        "while read job; do echo ready; read go; echo span {span}; \
         echo latency ns=1000 count=256; echo done setup_ns=1 max_ns=1000; read go; done"
    )
}

#[test]
fn a_peer_that_lies_is_void_and_named() {
    let wrong = "thread=0 start_ns=1 end_ns=1001 bytes=1048576 ops=256 digest=1";
    check_void(&liar(wrong), "digest");
    let nothing = "thread=0 start_ns=1 end_ns=1001 bytes=0 ops=0 digest=0";
    check_void(&liar(nothing), "reported no bytes");
    let time = "thread=0 start_ns=1 end_ns=9000000001 bytes=1048576 ops=256 digest=1";
    check_void(&liar(time), "passed");
    let bytes = "thread=0 start_ns=1 end_ns=1001 bytes=3145728 ops=256 digest=1";
    check_void(&liar(bytes), "3145728 bytes for 256 operations of thread 0");
    let latencies = "thread=0 start_ns=1 end_ns=1001 bytes=2097152 ops=512 digest=1";
    check_void(&liar(latencies), "256 latencies for 512 operations");
    let threads = "thread=5 start_ns=1 end_ns=1001 bytes=1048576 ops=256 digest=1";
    check_void(&liar(threads), "the worker reported the threads [5]");
}

#[test]
fn a_peer_that_does_not_read_is_void_though_nothing_is_made_of_the_bytes() {
    let span = "thread=0 start_ns=1 end_ns=1001 bytes=1048576 ops=256 digest=0";
    let assessment = run_with(&liar(span), "none");
    let (own, fake) = (case(&assessment, "rust"), case(&assessment, "fake"));
    assert_eq!((&fake["verdict"], &fake["served_by"]), (&"void".into(), &"no-io".into()), "{fake}");
    let found = fake["findings"].to_string();
    let message = "the peer fake: the read calls returned only";
    assert!(found.contains("NoIo") && found.contains(message), "{found}");
    assert_ne!(own["served_by"], "no-io", "{own}");
    assert!(!own["findings"].to_string().contains("NoIo"), "{own}");
}

/// The result of a run whose peer runs `act` on the user's file `$file`.
fn act_on_users_file(act: &str) -> (Sandbox, Option<i32>, String) {
    let span = "thread=0 start_ns=1 end_ns=1001 bytes=1048576 ops=256 digest=0";
    let find = "file=${job##*file=}; file=${file%% *}";
    let script = liar(span).replace("echo ready", &format!("{find}; echo ready"));
    let (sandbox, table) = sandbox_with(&script.replace("echo done", &format!("{act}; echo done")));
    std::fs::write(sandbox.path("mine"), vec![7; 1 << 20]).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    let mut args = vec!["run", "read-methods", "--file", "mine", "--record", "record"];
    args.extend(["--rounds", "2", "--time", "5ms", "--peer", "fake", "--peers", argument(&table)]);
    args.extend(["--engine", "pread", "--cache", "as-is", "--threads", "1", "--block", "4KiB"]);
    let output = sandbox.ioassay(&[&args[..], &["--touch", "none"]].concat());
    let said = text(&output.stderr);
    (sandbox, output.status.code(), said)
}

/// Another program begins to write to the file once a peer has it open. It cannot be the peer,
/// which wrote nothing.
#[test]
fn a_peer_that_wrote_nothing_is_not_blamed_for_what_others_write() {
    let span = "thread=0 start_ns=1 end_ns=1001 bytes=1048576 ops=256 digest=1";
    let script = liar(span).replace("echo done", "read x < go; echo done");
    let (sandbox, table) = sandbox_with(&script);
    if !sandbox.is_on_disk("a_peer_that_wrote_nothing_is_not_blamed") {
        return;
    }
    let (mine, go) = (sandbox.path("mine"), sandbox.path("go"));
    std::fs::write(&mine, vec![7; 1 << 20]).unwrap();
    mkfifoat(CWD, &go, Mode::RUSR | Mode::WUSR).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test may panic")]
    let writer = std::thread::spawn(move || {
        for _ in 0..2 {
            // It waits until the peer is at work.
            let mut go = File::options().write(true).open(&go).unwrap();
            File::options().append(true).open(&mine).unwrap().write_all(b"more").unwrap();
            go.write_all(b"on\n").unwrap();
            drop(go);
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let mut args = vec!["run", "read-methods", "--file", "mine", "--record", "record", "--json"];
    args.extend(["--rounds", "2", "--time", "5ms", "--peer", "fake", "--peers", argument(&table)]);
    args.extend(["--engine", "pread", "--cache", "as-is", "--threads", "1", "--block", "4KiB"]);
    let report = sandbox.json(&[&args[..], &["--touch", "none"]].concat());
    writer.join().unwrap();
    assert_eq!(report["end"], "complete", "{report:#}");
    assert_eq!(case(&report, "fake")["failures"], serde_json::json!([]), "{report:#}");
}

#[test]
fn a_peer_that_changes_the_users_file_ends_the_run_and_is_named() {
    let expected = "mine' changed while a peer, which may only read it, had it open: ";
    for (act, how) in [
        (
            ": > $file",
            "it had 1048576 bytes and now has 0; the peer fake, or another program, \
                       changed it",
        ),
        ("printf x | dd of=$file conv=notrunc 2>/dev/null", "it was written to; the peer fake"),
    ] {
        let (sandbox, code, said) = act_on_users_file(act);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(expected) && said.contains(how), "'{act}' gave {said}");
        let report = sandbox.json(&["report", "--json", "record"]);
        assert_eq!(
            (&report["end"], &report["damage"]),
            (&"interrupted".into(), &serde_json::json!([]))
        );
        assert!(case(&report, "fake")["failures"].to_string().contains(expected), "{report}");
    }
    // The peer has no path with which to replace or remove the file.
    let (sandbox, code, said) =
        act_on_users_file("rm -f $file; mkdir -p other; mv -f other $file; true");
    assert!(code == Some(1) && !said.contains(expected), "{said}");
    assert_eq!(std::fs::read(sandbox.path("mine")).unwrap(), vec![7; 1 << 20]);
}

#[test]
fn a_peer_that_dies_or_babbles_is_void_and_named() {
    check_void("read job; echo 'on fire' >&2; exit 3", "on fire");
    check_void("read job; echo dance", "an unknown verb");
    check_void("exit 1", "(exit status: 1)");
}

#[test]
fn what_a_peer_cannot_do_is_unavailable() {
    let assessment = run("while read job; do echo unavailable reason=too%20tired; done");
    let fake = case(&assessment, "fake");
    assert!(fake["failures"].to_string().contains("unavailable: the peer fake: too tired"));
    assert_eq!((&fake["verdict"], &fake["served_by"]), (&"unavailable".into(), &Value::Null));
    assert_ne!(case(&assessment, "rust")["verdict"], "void");
}

#[test]
fn what_a_peer_does_not_have_is_skipped_with_the_reason() {
    let (sandbox, table) = sandbox_with("");
    let plan = sandbox.says(&[
        "plan",
        "read-methods",
        ".",
        "--peer",
        "fake",
        "--engine",
        "uring",
        "--size",
        "1MiB",
        "--block",
        "4KiB",
        "--peers",
        argument(&table),
    ]);
    assert!(plan.contains("the peer fake has no engine uring"), "{plan}");
}

#[test]
fn an_unknown_peer_is_refused_with_the_nearest() {
    let sandbox = Sandbox::new();
    let args = ["run", "read-methods", ".", "--peer", "jav", "--size", "1MiB"];
    sandbox.refuses(&args, &["unknown peer 'jav' (did you mean 'java'?)"]);
    sandbox.refuses(&["peers", "build", "jav"], &["unknown peer 'jav' (did you mean 'java'?)"]);
    sandbox
        .refuses(&["peers", "list", "--peers", "nowhere.toml"], &["failed to read the peers of"]);
}

#[test]
fn a_peer_whose_compiler_is_missing_is_unavailable_and_the_run_goes_on() {
    let sandbox = Sandbox::new();
    let table = sandbox.state().join("peers.toml");
    let row = "[[peer]]\nname = 'lost'\nversion = ['no-such-compiler']\nrun = ['x']\n\
               engines = ['pread']\n";
    std::fs::write(&table, row).unwrap();
    let mut args = vec!["run", "read-methods", ".", "--json", "--rounds", "2", "--size", "1MiB"];
    args.extend(["--engine", "pread", "--cache", "as-is", "--threads", "1", "--block", "4KiB"]);
    args.extend(["--time", "5ms", "--peer", "rust,lost", "--peers", argument(&table)]);
    let output = sandbox.ioassay(&args);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let assessment: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(case(&assessment, "lost")["verdict"], "unavailable");
    let said = case(&assessment, "lost")["failures"].to_string();
    let expected = "unavailable: the peer lost: 'no-such-compiler' is not installed";
    assert!(said.contains(expected), "{said}");
    assert_eq!(case(&assessment, "rust")["n"], 2);
}

/// Where nothing can be built, as without a home folder, this program's own worker still measures.
#[test]
fn without_a_place_for_builds_a_peer_is_unavailable_and_the_run_goes_on() {
    let sandbox = Sandbox::new();
    let table = sandbox.state().join("peers.toml");
    let row = "[[peer]]\nname = 'lost'\nbuild = ['true']\nrun = ['x']\nengines = ['pread']\n";
    std::fs::write(&table, row).unwrap();
    let mut args = vec!["run", "read-methods", ".", "--json", "--rounds", "2", "--size", "1MiB"];
    args.extend(["--engine", "pread", "--cache", "as-is", "--threads", "1", "--block", "4KiB"]);
    args.extend(["--time", "5ms", "--peer", "rust,lost", "--peers", argument(&table)]);
    let mut command = sandbox.start(PROGRAM);
    let output = command.args(&args).env("XDG_CACHE_HOME", "/proc/none").output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let assessment: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(case(&assessment, "lost")["verdict"], "unavailable");
    let said = case(&assessment, "lost")["failures"].to_string();
    let expected = "unavailable: the peer lost: failed to create the folder '/proc/none'";
    assert!(said.contains(expected), "{said}");
    assert_eq!(case(&assessment, "rust")["n"], 2);
}

#[test]
fn a_compiler_that_fails_shows_its_own_message() {
    let sandbox = Sandbox::new();
    let table = sandbox.path("peers.toml");
    std::fs::write(sandbox.path("broken.c"), "int main(void) { return oops; }\n").unwrap();
    let row = "[[peer]]\nname = 'broken'\nsource = 'broken.c'\ncompilers = ['gcc', 'clang']\n\
               build = ['{compiler}', '-o', '{build}/peer', '{source}']\nrun = ['{build}/peer']\n\
               engines = ['pread']\n[[peer]]\nname = 'lost'\nversion = ['no-such-compiler']\n\
               run = ['x']\n";
    std::fs::write(&table, row).unwrap();
    let output = sandbox.ioassay(&["peers", "build", "broken", "--peers", argument(&table)]);
    let said = text(&output.stdout);
    if said.contains("on the PATH") {
        return skip("a_compiler_that_fails_shows_its_own_message", "there is no compiler");
    }
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("oops") && said.contains("undeclared"), "{said}");
    let output = sandbox.ioassay(&["peers", "build", "lost", "--peers", argument(&table)]);
    let said = text(&output.stdout);
    assert!(said.contains("unavailable: 'no-such-compiler' is not installed"), "{said}");
}

/// Builds a peer into a separate cache of the sandbox.
fn build(sandbox: &Sandbox, cache: &Path, args: &[&str]) -> Output {
    let mut command = sandbox.start(PROGRAM);
    command.args(["peers", "build"]).args(args).env("XDG_CACHE_HOME", cache);
    command.output().unwrap()
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_others_could_have_put_into_the_cache_is_not_run() {
    let sandbox = Sandbox::new();
    let cache = sandbox.path("cache");
    let output = build(&sandbox, &cache, &["dd"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let peers = cache.join("ioassay/peers");
    let names = || {
        let entries = std::fs::read_dir(&peers).unwrap().map(|entry| entry.unwrap().path());
        entries.collect::<Vec<PathBuf>>()
    };
    let [built] = &names()[..] else { panic!("{:?}", names()) };
    for folder in [&cache, &cache.join("ioassay"), &peers, built] {
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o7777, 0o700);
    }
    // The directory name of a build is predictable, and all users can write to this directory.
    set_mode(built, 0o777);
    let remedy = "another user could put a program there that would run as you: set XDG_CACHE_HOME";
    let named = format!("'{}' belongs to user ", built.display());
    check_refusal(&build(&sandbox, &cache, &["dd"]), &[&named, "with mode 0777", remedy]);
    set_mode(built, 0o700);
    // As with `sudo -E`, where the cache belongs to another user.
    if chown(&cache, Some(1234), None).is_err() {
        return skip("what_others_could_have_put_into_the_cache_is_not_run", "this is not root");
    }
    let refused = build(&sandbox, &cache, &["dd"]);
    check_refusal(&refused, &["/cache' belongs to user 1234 with mode 0700, and ioassay runs as"]);
    chown(&cache, Some(0), None).unwrap();
    let program = built.join("peer.json");
    std::fs::remove_file(&program).unwrap();
    assert_eq!(build(&sandbox, &cache, &["dd"]).status.code(), Some(0), "it is built anew");
    assert_eq!(names(), std::slice::from_ref(built));
}

#[test]
fn a_name_that_leads_elsewhere_is_refused() {
    let sandbox = Sandbox::new();
    let table = sandbox.path("peers.toml");
    std::fs::write(&table, "[[peer]]\nname = '../../x'\nrun = ['x']\n").unwrap();
    let args = ["peers", "build", "--peers", argument(&table)];
    sandbox.refuses(
        &args,
        &["is broken", "'../../x' is not a valid name of a peer: write at most 64"],
    );
}

#[test]
fn a_build_that_hangs_ends_by_a_signal_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let (table, cache, begun) =
        (sandbox.path("peers.toml"), sandbox.path("cache"), sandbox.path("begun"));
    // A child that keeps the pipes open and ignores SIGTERM.
    let script = format!("trap \"\" TERM; sleep 600 & echo $! > {}; wait", begun.display());
    let row = format!("[[peer]]\nname = 'slow'\nbuild = ['sh', '-c', '{script}']\nrun = ['x']\n");
    std::fs::write(&table, row).unwrap();
    let mut command = sandbox.start(PROGRAM);
    command.args(["peers", "build", "slow", "--peers", argument(&table)]);
    command.env("XDG_CACHE_HOME", &cache).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn().unwrap();
    let child =
        wait_for("the build", || std::fs::read_to_string(&begun).ok()?.trim().parse::<u32>().ok());
    kill_process(Pid::from_child(&running), Signal::INT).unwrap();
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert_eq!(std::fs::read_dir(cache.join("ioassay/peers")).unwrap().count(), 0);
    wait_for("the end of what it started", || {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest.as_bytes()[0]);
        matches!(state, None | Some(b'Z' | b'X')).then_some(())
    });
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn every_peer_reads_and_counts_every_awkward_case_rightly() {
    let test = "every_peer_reads_and_counts_every_awkward_case_rightly";
    check_peers(test, &[&["c", "java"], &RANKS[..]].concat());
}

/// Checks these peers and this program's own worker on all awkward cases.
pub(crate) fn check_peers(test: &str, names: &[&str]) {
    let sandbox = Sandbox::new();
    let listed = sandbox.says(&["peers", "list"]);
    let line = |name: &&str| {
        let lines = listed.lines().find(|line| line.starts_with(&format!("{name} ")));
        lines.filter(|line| !line.contains("unavailable: "))
    };
    let (known, unknown): (Vec<&str>, Vec<&str>) =
        names.iter().partition(|name| line(name).is_some());
    for name in unknown {
        skip(test, &format!("no {name} here"));
    }
    let output = sandbox.ioassay(&[&["peers", "verify"], &known[..]].concat());
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for name in ["rust"].iter().chain(&known) {
        let verdict = said.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
        let right: usize = verdict.split_whitespace().nth(1).unwrap().parse().unwrap();
        let is_missing = said.contains(&format!("the peer {name}: '{name}' is not installed"));
        // Ranks have one engine.
        let least = if RANKS.contains(name) { 20 } else { 50 };
        assert!(right > least || is_missing, "{said}");
    }
}
