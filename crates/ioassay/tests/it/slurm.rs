//! Real Slurm: a controller and four nodes on this machine, in a temporary folder.

use crate::hosts::Desk;
use crate::judge_hosts::{
    self, READS, check_judged, check_left, check_tasks, task_args, write_data,
};
use crate::launchers::{agents, check_ended, check_questions, check_whole, mark};
use crate::mounts::is_root;
use crate::namespaces::{Server, is_there, with_administrators};
use crate::sandbox::{PROGRAM, argument, skip, text, wait_for};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a cluster may take to begin.
const BEGIN: Duration = Duration::from_secs(60);

/// A cluster of nodes `n1` to `n4`, which ends on drop.
struct Cluster {
    folder: TempDir,
    servers: Vec<Server>,
}

impl Cluster {
    /// `None`, with a report, where it is impossible.
    fn new(test: &str) -> Option<Cluster> {
        let needed = ["munged", "slurmctld", "slurmd", "srun", "salloc", "sbatch"];
        if !is_root(test) {
            return None;
        }
        if let Some(missing) = needed.iter().find(|program| !is_there(program)) {
            skip(test, &format!("{missing} is missing"));
            return None;
        }
        let mut cluster = Cluster { folder: TempDir::new().unwrap(), servers: Vec::new() };
        cluster.write_configuration();
        cluster.start_munge();
        cluster.start("slurmctld", &["-D"]);
        for node in ["n1", "n2", "n3", "n4"] {
            cluster.start("slurmd", &["-D", "-N", node]);
        }
        let began = Instant::now();
        loop {
            let idle = cluster.command("sinfo").args(["-h", "-t", "idle", "-o", "%D"]).output();
            if idle.is_ok_and(|it| it.stdout.trim_ascii() == b"4") {
                return Some(cluster);
            }
            if began.elapsed() > BEGIN {
                let log = std::fs::read_to_string(cluster.path("log")).unwrap_or_default();
                skip(test, &format!("the nodes of Slurm do not begin: {log}"));
                return None;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write_configuration(&self) {
        let folder = argument(self.folder.path());
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        // All are free now, and nobody else asks for them by number.
        let listeners: Vec<TcpListener> =
            (0..5).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = listeners.iter().map(|it| it.local_addr().unwrap().port()).collect();
        let mut text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmUser=root\n\
             AuthType=auth/munge\nCredType=cred/munge\nAuthInfo=socket={folder}/munge/socket\n\
             StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool-%n\n\
             SlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/%n.pid\n\
             SlurmctldLogFile={folder}/log\nSlurmdLogFile={folder}/log-%n\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nReturnToService=2\n\
             SchedulerType=sched/builtin\nSlurmdParameters=config_overrides\nKillWait=10\n\
             JobAcctGatherType=jobacct_gather/none\nMessageTimeout=100\n\
             PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            ports[0]
        );
        for (number, port) in (1..).zip(&ports[1..]) {
            text += &format!(
                "NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 \
                 RealMemory=100\n"
            );
        }
        std::fs::write(self.path("slurm.conf"), text).unwrap();
        std::fs::create_dir(self.path("state")).unwrap();
    }

    /// The server that signs messages, with a key of its own.
    fn start_munge(&mut self) {
        let folder = self.path("munge");
        std::fs::create_dir(&folder).unwrap();
        // Its socket is for everybody, and its key only for its owner.
        for (path, mode) in [(self.folder.path(), 0o755), (&folder, 0o755)] {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        }
        let key = folder.join("key");
        std::fs::write(&key, std::process::id().to_string().repeat(64)).unwrap();
        std::fs::set_permissions(&key, PermissionsExt::from_mode(0o400)).unwrap();
        let file = |name: &str| argument(&folder.join(name)).to_owned();
        let args = [
            "--foreground".to_owned(),
            "--force".to_owned(),
            format!("--socket={}", file("socket")),
            format!("--key-file={}", file("key")),
            format!("--pid-file={}", file("pid")),
            format!("--seed-file={}", file("seed")),
            format!("--log-file={}", file("log")),
        ];
        self.start("munged", &args.iter().map(String::as_str).collect::<Vec<_>>());
        wait_for("munged", || folder.join("socket").exists().then_some(()));
    }

    /// A program that finds this cluster.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.path("slurm.conf")).env("PATH", with_administrators());
        command.stdin(Stdio::null());
        command
    }

    fn start(&mut self, program: &str, args: &[&str]) {
        let mut command = self.command(program);
        command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
        self.servers.push(Server(command.spawn().unwrap()));
    }

    /// Runs `args` of the program in an allocation of `nodes` nodes.
    fn allocated(&self, desk: &Desk, nodes: u32, args: &[String]) -> Output {
        self.started(desk, &["salloc", "--quiet", &format!("--nodes={nodes}")], args)
    }

    /// Runs `args` of the program below `launcher`.
    fn started(&self, desk: &Desk, launcher: &[&str], args: &[String]) -> Output {
        let inside = desk.command(args);
        let mut command = self.command(launcher[0]);
        command.args(&launcher[1..]).arg(PROGRAM).args(inside.get_args());
        copy_surroundings(&inside, &mut command);
        command.output().unwrap()
    }

    /// Begins a job that runs `args` of the program on two nodes. Returns its number.
    fn submit(&self, desk: &Desk, args: &[String]) -> String {
        let inside = desk.command(args);
        let quoted: Vec<String> =
            std::iter::once(PROGRAM).chain(args.iter().map(String::as_str)).map(quote).collect();
        desk.write("job.sh", &format!("#!/bin/sh\nexec {}\n", quoted.join(" ")));
        let mut command = self.command("sbatch");
        copy_surroundings(&inside, &mut command);
        let job = desk.files.path("job.sh");
        let output = argument(&desk.files.path("job.out")).to_owned();
        command.args(["--parsable", "--nodes=2", "--time=10", "--output", &output]).arg(job);
        let said = command.output().unwrap();
        assert!(said.status.success(), "{said:?}");
        text(&said.stdout).trim().to_owned()
    }

    fn scontrol(&self, program: &str, args: &[&str]) {
        let output = self.command(program).args(args).output().unwrap();
        assert!(output.status.success(), "{program} {args:?}: {output:?}");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Jobs that a failed test left end first, and then nodes before their controller.
        let _ = self.command("scancel").arg("--user=root").output();
        while let Some(server) = self.servers.pop() {
            drop(server);
        }
    }
}

fn copy_surroundings(from: &Command, to: &mut Command) {
    to.current_dir(from.get_current_dir().unwrap());
    for (name, value) in from.get_envs() {
        match value {
            Some(value) => to.env(name, value),
            None => to.env_remove(name),
        };
    }
}

fn quote(word: &str) -> String {
    format!("'{word}'")
}

/// A desk that takes its hosts from Slurm.
fn desk(time: &str) -> Desk {
    let mut desk = Desk::built_in(time, "srun");
    desk.ways.push("--listen=127.0.0.1".to_owned());
    mark(&mut desk);
    desk
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn slurm_knows_the_hosts_and_starts_the_agents() {
    let test = "slurm_knows_the_hosts_and_starts_the_agents";
    let Some(cluster) = Cluster::new(test) else { return };
    check_allocation(&cluster);
    check_two_tasks_a_node(&cluster);
    check_commands(&cluster);
    check_answers(&cluster, &["cluster"]);
    check_jobs_that_are_ended(&cluster);
}

fn check_answers(cluster: &Cluster, asked: &[&str]) {
    let desk = desk("100ms");
    let run = |args: &[String]| cluster.allocated(&desk, 4, args);
    check_questions(&desk, "slurm", ("slurm", asked), run);
}

pub(crate) fn check_slurm(test: &str, asked: &[&str]) {
    let Some(cluster) = Cluster::new(test) else { return };
    check_answers(&cluster, asked);
}

fn check_allocation(cluster: &Cluster) {
    let all = desk("100ms");
    let output = cluster.allocated(&all, 4, &all.args("slurm", 2));
    check_whole(&all, &output, &["1-n1.jsonl", "2-n2.jsonl", "3-n3.jsonl", "4-n4.jsonl"]);
    // Some hosts of an allocation.
    let two = desk("100ms");
    let output = cluster.allocated(&two, 4, &two.args("n2,n4", 1));
    check_whole(&two, &output, &["1-n2.jsonl", "2-n4.jsonl"]);
    // A host that is not in it.
    let other = desk("100ms");
    let output = cluster.allocated(&other, 2, &other.args("n1,n4", 1));
    let told = text(&output.stderr);
    assert!(told.contains("n1, n4: its agent did not connect"), "{told}");
    assert_eq!(told.matches("srun: error").count(), 1, "{told}");
    check_ended(&other);
}

/// However many tasks a node has, one agent measures it; and of tasks that all run the program, one
/// leads.
fn check_two_tasks_a_node(cluster: &Cluster) {
    let records = ["1-n1.jsonl", "2-n2.jsonl"];
    let two = ["--nodes=2", "--ntasks-per-node=2"];
    let job = desk("100ms");
    let launcher = [&["salloc", "--quiet"], two.as_slice()].concat();
    let output = cluster.started(&job, &launcher, &job.args("slurm", 2));
    check_whole(&job, &output, &records);
    let tasks = desk("100ms");
    let launcher = [&["srun", "--quiet"], two.as_slice()].concat();
    let output = cluster.started(&tasks, &launcher, &tasks.args("slurm", 2));
    let told = text(&output.stderr);
    for number in 1..4 {
        assert_eq!(told.matches(&format!("error: SLURM_PROCID={number} says")).count(), 1);
    }
    let said = text(&output.stdout);
    assert_eq!(said.matches("2 hosts in lockstep").count(), 1, "{said}\n{told}");
    check_ended(&tasks);
}

/// Commands are judged on the nodes of a job; of tasks that all run the program, one leads.
fn check_commands(cluster: &Cluster) {
    let job = desk("100ms");
    ["n1", "n2"].iter().for_each(|host| write_data(&job, host));
    let reads: Vec<String> =
        READS.iter().map(|it| it.replace("$IOASSAY_TEST_HOST", "$SLURMD_NODENAME")).collect();
    let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
    let output = cluster.allocated(&job, 2, &judge_hosts::args(&job, "slurm", &reads));
    check_judged(&job, &output, &["n1", "n2"]);
    std::fs::remove_dir_all(job.files.path("records")).unwrap();
    let launcher = ["srun", "--quiet", "--nodes=2", "--ntasks-per-node=2"];
    let output = cluster.started(&job, &launcher, &judge_hosts::args(&job, "slurm", &reads));
    let told = text(&output.stderr);
    for number in 1..4 {
        assert_eq!(told.matches(&format!("error: SLURM_PROCID={number} says")).count(), 1);
    }
    assert_eq!(text(&output.stdout).matches("2 hosts in lockstep").count(), 1, "{output:?}");
    check_left(&job);
    write_data(&job, "a");
    check_tasks(&job, &cluster.started(&job, &launcher[..3], &task_args(&job)));
}

/// Jobs that are cancelled, or run out of time, leave a record that can be read, and nothing else.
fn check_jobs_that_are_ended(cluster: &Cluster) {
    let (cancelled, late) = (desk("60s"), desk("60s"));
    let jobs = [&cancelled, &late].map(|desk| cluster.submit(desk, &desk.args("slurm", 5)));
    let record = |desk: &Desk, number: u32| {
        let folder = desk.files.path("records");
        let names = folder.read_dir().ok()?.flatten().map(|entry| entry.path());
        names.into_iter().find(|path| argument(path).contains(&format!("/{number}-n")))
    };
    let records = [&cancelled, &late].map(|desk| {
        let path = wait_for("a record", || record(desk, 2));
        wait_for("agents", || (agents(desk).len() == 2).then_some(()));
        path
    });
    cluster.scontrol("scancel", &[&jobs[0]]);
    // The controller looks at limits every 30 seconds.
    cluster.scontrol("scontrol", &["update", &format!("jobid={}", jobs[1]), "EndTime=now+1"]);
    for (desk, path) in [&cancelled, &late].into_iter().zip(&records) {
        check_ended(desk);
        check_readable(desk, path);
    }
    wait_for("the reason", || {
        let said = std::fs::read_to_string(late.files.path("job.out")).unwrap();
        said.contains("DUE TO TIME LIMIT").then_some(())
    });
}

fn check_readable(desk: &Desk, record: &Path) {
    let report = desk.sandbox.json(&["report", "--json", argument(record)]);
    assert_eq!(report["damage"], serde_json::json!([]), "{report:#}");
}
