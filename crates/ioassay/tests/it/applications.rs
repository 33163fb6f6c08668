//! What the recipes of applications do is what those programs do, by strace.

use crate::judge_programs::on_disk;
use crate::sandbox::{PROGRAM, Sandbox, skip, wait_for};
use ioassay::recipe;
use model::units::parse_bytes;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Keys that are put, one after another.
const PUTS: usize = 20;

/// Its recipe writes in order into a file of the size of a segment, by write(2), with fdatasync
/// each; and its actor writes pages of the database, with fdatasync after some.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn etcd_writes_its_log_and_its_database_as_its_recipe_does() {
    let test = "etcd_writes_its_log_and_its_database_as_its_recipe_does";
    let Some(sandbox) = on_disk(test, &["etcd", "etcdctl", "strace"]) else { return };
    let calls = etcd_calls(&sandbox);
    let of = |call: &str, file: &str| -> Vec<&String> {
        let call = format!(" {call}(");
        calls.iter().filter(|line| line.contains(&call) && line.contains(file)).collect()
    };
    assert!(of("fdatasync", ".wal>").len() >= PUTS, "{calls:#?}");
    assert!(of("write", ".wal>").len() >= PUTS, "{calls:#?}");
    assert!(of("pwrite64", ".wal>").is_empty(), "{calls:#?}");
    assert!(!of("fdatasync", "/db>").is_empty(), "{calls:#?}");
    let pages = of("pwrite64", "/db>");
    let is_whole = |line: &&&String| bytes_of(line).is_some_and(|bytes| bytes % 4096 == 0);
    assert!(!pages.is_empty() && pages.iter().all(|line| is_whole(&line)), "{pages:#?}");

    let recipe: toml::Table = recipe::text("etcd").unwrap().parse().unwrap();
    let log = &recipe["cases"][0];
    let told = ["engine", "allocation"].map(|axis| log[axis].as_str().unwrap());
    assert_eq!(told, ["write", "fallocate"]);
    assert_eq!(log["every"].as_integer(), Some(1));
    let segment = parse_bytes(recipe["size"].as_str().unwrap()).unwrap();
    let segment = format!(", 0, {segment}");
    assert!(
        of("fallocate", "/member/wal").iter().any(|line| line.contains(&segment)),
        "{calls:#?}"
    );
}

/// What SQLite does to commit one row with a rollback journal, its recipe does: the same writes,
/// syncs and removals of the same files, in the same order.
#[test]
fn sqlite_commits_as_its_recipe_does() {
    let test = "sqlite_commits_as_its_recipe_does";
    let Some(sandbox) = on_disk(test, &["sqlite3", "strace"]) else { return };
    for mode in ["delete", "truncate", "persist"] {
        let [before, update] =
            ["create table t(a, b); insert into t values(1, 0)", "update t set b = b + 1"];
        let run = |sql: String| {
            let done = sandbox.start("sqlite3").args(["db", &sql]).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        run(format!("pragma journal_mode = {mode}; {before}"));
        let sql =
            format!("pragma journal_mode = {mode}; pragma synchronous = full; {update}; {update}");
        let theirs = transaction(&sandbox, &["sqlite3", "db", &sql], "/db");
        std::fs::remove_file(sandbox.path("db")).unwrap();
        let atomic = format!("--atomic=journal-{mode}");
        let args = ["run", "sqlite", &atomic, "--size=1MiB", "--rounds=1", "--ops=8", "--time=30s"];
        let ours = [&[PROGRAM][..], &args, &["--invocations=1", "--quiet"]].concat();
        let ours = transaction(&sandbox, &ours, "overwrite-");
        assert_eq!(ours, theirs, "{mode}");
        assert!(ours.len() > 14, "{ours:?}");
    }
}

/// The writes, syncs and ends of one transaction of `command`, which begins with the header of a
/// journal: the last whole one. `file` is a part of the name of its database.
fn transaction(sandbox: &Sandbox, command: &[&str], file: &str) -> Vec<String> {
    let trace = sandbox.state().join("trace");
    let mut strace = sandbox.start("strace");
    strace.args(["-f", "-y", "-qq", "-e", "trace=pwrite64,fdatasync,ftruncate,unlink,unlinkat"]);
    let done = strace.arg("-o").arg(&trace).args(command).output().unwrap();
    let told = std::fs::read_to_string(&trace).unwrap();
    let all: Vec<String> = told.lines().filter_map(|line| step(line, file)).collect();
    let begins: Vec<usize> =
        (0..all.len()).filter(|index| all[*index] == "pwrite64 journal 512").collect();
    let [.., first, next] = begins[..] else { panic!("{done:?}: {all:#?}") };
    all[first..next].to_vec()
}

/// What a line of strace does, and to what: `pwrite64 journal 512`.
fn step(line: &str, file: &str) -> Option<String> {
    let (call, _) = line.split_once(' ')?.1.trim().split_once('(')?;
    let call = call.trim_end_matches("at").to_string();
    let what = match line {
        _ if line.contains("journal") => "journal",
        _ if line.contains(file) => "file",
        _ if call == "fdatasync" => "directory",
        _ => return None,
    };
    let bytes = bytes_of(line).filter(|_| call == "pwrite64");
    Some(
        [call, what.into()]
            .into_iter()
            .chain(bytes.map(|it| it.to_string()))
            .collect::<Vec<_>>()
            .join(" "),
    )
}

/// The bytes of `pwrite64(7</x/db>, "..."..., 4096, 8192) = 4096`.
fn bytes_of(line: &str) -> Option<u64> {
    let before = line.rsplit_once(") = ").or(line.rsplit_once(" <unfinished"))?.0;
    before.rsplit(", ").nth(1)?.parse().ok()
}

/// Rows that are updated, each in a transaction of its own.
const UPDATES: usize = 20;

/// PostgreSQL commits by writing whole pages of its log into a segment that is there already, with
/// fdatasync each, as its recipe does.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn postgres_writes_its_log_as_its_recipe_does() {
    let test = "postgres_writes_its_log_as_its_recipe_does";
    let Some(sandbox) = on_disk(test, &["psql", "strace"]) else { return };
    // Its package would start a server, so it is not installed for this test.
    let versions = files_of(Path::new("/usr/lib/postgresql")).into_iter();
    let initdb = versions.map(|it| it.join("bin/initdb")).find(|initdb| initdb.exists());
    let Some(initdb) = initdb.filter(|_| geteuid().is_root()) else {
        return skip(test, "it needs root, and PostgreSQL as Debian installs it");
    };
    let folder = sandbox.directory().canonicalize().unwrap();
    let is_open = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o001 > 0;
    if !folder.ancestors().skip(1).all(is_open) {
        return skip(test, "PostgreSQL runs as nobody, who cannot reach the folder of the tests");
    }
    let calls = postgres_calls(&sandbox, &folder, initdb.parent().unwrap());
    let of = |call: &str| -> Vec<&String> {
        let is_one = |line: &&String| line.contains(call) && line.contains("/pg_wal/0000");
        calls.iter().filter(is_one).collect()
    };
    assert!(of(" fdatasync(").len() >= UPDATES, "{calls:#?}");
    let writes = of(" pwrite64(");
    let recipe: toml::Table = recipe::text("postgres").unwrap().parse().unwrap();
    let log = &recipe["cases"][0];
    let page = parse_bytes(log["block"].as_str().unwrap()).unwrap();
    let is_whole = |line: &&&String| bytes_of(line).is_some_and(|bytes| bytes % page == 0);
    assert!(writes.len() >= UPDATES && writes.iter().all(|line| is_whole(&line)), "{writes:#?}");
    assert_eq!((log["engine"].as_str(), log["sync"].as_str()), (Some("pwrite"), Some("fdatasync")));
    let segment = parse_bytes(log["size"].as_str().unwrap()).unwrap();
    let is_segment = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|it| it.len() == segment);
    let wal = files_of(&folder.join("data/pg_wal"));
    assert!(wal.iter().any(is_segment), "{wal:?}");
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// A user without rights: PostgreSQL refuses to run as root.
const NOBODY: u32 = 65534;

/// The lines of strace while rows are updated by PostgreSQL, whose programs are in `programs`, in
/// the `folder` of `sandbox`.
fn postgres_calls(sandbox: &Sandbox, folder: &Path, programs: &Path) -> Vec<String> {
    let trace = sandbox.state().join("trace");
    std::os::unix::fs::chown(folder, Some(NOBODY), None).unwrap();
    let program = |name| programs.join(name);
    let mut initdb = sandbox.start(program("initdb").to_str().unwrap());
    initdb.uid(NOBODY).args(["-D", "data", "-A", "trust", "--no-sync", "-U", "postgres"]);
    let made = initdb.output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let mut command = sandbox.start("strace");
    command.args(["-u", "nobody", "-f", "-y", "-qq", "-e", "trace=pwrite64,fdatasync", "-o"]);
    command.arg(&trace).arg(program("postgres")).args(["-D", "data", "-c", "listen_addresses="]);
    command.args(["-c", "autovacuum=off", "-k"]).arg(folder);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = Served(command.spawn().unwrap());
    let sql = |statements: &[&str]| {
        let mut psql = Command::new("psql");
        psql.arg("-h").arg(folder).args(["-U", "postgres", "-d", "postgres"]);
        psql.args(statements.iter().flat_map(|statement| ["-c", statement]));
        psql.output().unwrap().status.success()
    };
    wait_for("a table in PostgreSQL", || {
        sql(&["create table t as select 1 as a, 0 as b"]).then_some(())
    });
    assert!(sql(&["update t set b = b + 1"; UPDATES]));
    server.stop();
    let told = std::fs::read_to_string(trace).unwrap();
    told.lines().map(str::to_owned).collect()
}

/// The lines of strace while some keys are put into etcd.
fn etcd_calls(sandbox: &Sandbox) -> Vec<String> {
    let trace = sandbox.state().join("trace");
    let [client, peer] = [free_port(), free_port()].map(|port| format!("http://127.0.0.1:{port}"));
    let mut command = sandbox.start("strace");
    command.args(["-f", "-y", "-qq", "-e", "trace=fallocate,fdatasync,write,pwrite64", "-o"]);
    command.arg(&trace).args(["etcd", "--data-dir", "data", "--listen-client-urls", &client]);
    command.args(["--advertise-client-urls", &client, "--listen-peer-urls", &peer]);
    command.args(["--initial-advertise-peer-urls", &peer, "--initial-cluster"]);
    command.arg(format!("default={peer}")).stdout(Stdio::null()).stderr(Stdio::null());
    let mut etcd = Served(command.spawn().unwrap());
    let put = |key: usize| {
        let mut command = Command::new("etcdctl");
        command.env("ETCDCTL_API", "3").args(["--endpoints", &client, "put", &format!("k{key}")]);
        command.arg("x".repeat(2000)).output().unwrap().status.success()
    };
    wait_for("a key in etcd", || put(0).then_some(()));
    assert!((1..PUTS).all(put));
    etcd.stop();
    let told = std::fs::read_to_string(trace).unwrap();
    told.lines().map(str::to_owned).collect()
}

/// A port that nobody listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server below strace, which ends once the server does.
struct Served(Child);

impl Served {
    fn stop(&mut self) {
        let id = self.0.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        for child in children.unwrap_or_default().split_whitespace() {
            let child = child.parse().ok().and_then(Pid::from_raw);
            child.map(|child| kill_process(child, Signal::TERM));
        }
        self.0.wait().unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop();
    }
}
