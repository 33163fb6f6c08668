//! What the recipes of applications do is what those programs do, by strace.

use crate::judge_programs::on_disk;
use crate::sandbox::{Sandbox, wait_for};
use ioassay::recipe;
use model::units::parse_bytes;
use rustix::process::{Pid, Signal, kill_process};
use std::net::TcpListener;
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

/// The bytes of `pwrite64(7</x/db>, "..."..., 4096, 8192) = 4096`.
fn bytes_of(line: &str) -> Option<u64> {
    let before = line.rsplit_once(") = ").or(line.rsplit_once(" <unfinished"))?.0;
    before.rsplit(", ").nth(1)?.parse().ok()
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
