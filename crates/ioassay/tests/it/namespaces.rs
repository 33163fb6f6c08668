//! Hosts that are network namespaces of this machine, each joined to it by a link of its own, and
//! reached by real launchers: OpenSSH's `ssh` and `sshd`, and Open MPI's `mpirun`. MPICH's
//! `mpiexec.hydra` reaches hosts that have only names of their own.

use crate::executables::install;
use crate::hosts::{Desk, is_possible, send};
use crate::judge_hosts::{self, READS, check_judged, write_data};
use crate::launchers::{check_lost, check_questions, check_secret, check_whole, joined, mark};
use crate::sandbox::{argument, skip, wait_for};
use rustix::process::Signal;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Namespaces, which are removed on drop.
struct Net {
    hosts: Vec<Linked>,
}

/// A namespace and the link to it.
struct Linked {
    /// What the host is called.
    name: String,
    /// What the OS calls the namespace, and its link on this side.
    namespace: String,
    link: String,
    /// The addresses of this side and of the other.
    near: String,
    far: String,
}

impl Net {
    /// Hosts of these names; `None`, with a report, if they are impossible here or `program` is
    /// missing.
    fn new(test: &str, names: &[&str], program: &str) -> Option<Net> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if !is_possible(test, &["--net", "--uts", "true"]) {
            return None;
        }
        if !is_there(program) || !is_there("ip") {
            skip(test, &format!("{program} or ip is missing"));
            return None;
        }
        let mut net = Net { hosts: Vec::new() };
        for name in names {
            // Addresses for benchmarks (RFC 2544), four for each link.
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let number = (std::process::id() % 512) * 64 + count % 64;
            let (high, low) = (number * 4 / 256, number * 4 % 256);
            let address =
                |last: u32| format!("198.{}.{}.{}", 18 + high / 256, high % 256, low + last);
            let (namespace, link) = (format!("ioassay{number}"), format!("ioa{number}"));
            let [near, far] = [address(1), address(2)];
            let linked = Linked { name: (*name).to_owned(), namespace, link, near, far };
            if let Err(reason) = linked.make() {
                skip(test, &format!("no network namespace: {reason}"));
                return None;
            }
            net.hosts.push(linked);
        }
        Some(net)
    }

    fn host(&self, name: &str) -> &Linked {
        self.hosts.iter().find(|host| host.name == name).unwrap()
    }
}

impl Linked {
    fn make(&self) -> Result<(), String> {
        let Linked { namespace, link, near, far, .. } = self;
        ip(&format!("netns add {namespace}"))?;
        ip(&format!("link add {link} type veth peer name there netns {namespace}"))?;
        ip(&format!("addr add {near}/30 dev {link}"))?;
        ip(&format!("link set {link} up"))?;
        ip(&format!("-n {namespace} addr add {far}/30 dev there"))?;
        ip(&format!("-n {namespace} link set there up"))?;
        ip(&format!("-n {namespace} link set lo up"))?;
        ip(&format!("-n {namespace} route add default via {near}"))
    }

    /// Cuts the link: nothing arrives any more, on neither side.
    fn cut(&self) {
        ip(&format!("-n {} link set there down", self.namespace)).unwrap();
    }
}

impl Drop for Linked {
    fn drop(&mut self) {
        // What was not made cannot be removed.
        let _ = ip(&format!("link del {}", self.link));
        let _ = ip(&format!("netns del {}", self.namespace));
    }
}

fn ip(line: &str) -> Result<(), String> {
    let output = Command::new("ip").args(line.split(' ')).output().map_err(|it| it.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("ip {line}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// The `PATH`, with the folder of administrators' programs.
pub(crate) fn with_administrators() -> String {
    std::env::var("PATH").unwrap_or_default() + ":/usr/sbin"
}

/// Whether a program is there.
pub(crate) fn is_there(program: &str) -> bool {
    with_administrators().split(':').any(|folder| Path::new(folder).join(program).exists())
}

/// A process that is killed on drop.
pub(crate) struct Server(pub(crate) Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A remote shell of this desk.
fn enter(desk: &Desk, script: &str) -> PathBuf {
    let path = desk.files.path("enter.sh");
    install(script.as_bytes(), &path);
    path
}

/// A desk whose launcher is `mpirun`, with a remote shell that enters the namespaces.
fn mpi(net: &Net, time: &str) -> Desk {
    let mut desk = Desk::built_in(time, "mpirun");
    let known: String = net
        .hosts
        .iter()
        .map(|host| format!("{}) space={};; ", host.name, host.namespace))
        .collect();
    let script = format!(
        "#!/bin/sh\nname=$1; shift\ncase $name in {known}esac\n\
         export IOASSAY_TEST_HOST=$name\n\
         exec nsenter --net=/run/netns/$space unshare --uts sh -c \"hostname $name; $*\"\n"
    );
    let path = enter(&desk, &script);
    desk.set("OMPI_MCA_plm_rsh_agent", argument(&path));
    desk.set("OMPI_ALLOW_RUN_AS_ROOT", "1");
    desk.set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    desk.ways.push(format!("--listen={}", net.hosts[0].near));
    mark(&mut desk);
    desk
}

/// Both hosts judge a command, which reads a file of its host.
fn check_commands(desk: &Desk, hosts: [&str; 2]) {
    hosts.iter().for_each(|host| write_data(desk, host));
    let args = judge_hosts::args(desk, &hosts.join(","), &READS);
    check_judged(desk, &desk.command(&args).output().unwrap(), &hosts);
}

/// Kills the agent of the second host: only that host is lost.
fn check_one_killed(desk: &Desk) {
    let running = desk.start("h1,h2", 3);
    let started = joined(desk, "2-h2.jsonl");
    check_secret(started["h2"]);
    desk.wait_for_trial("2-h2.jsonl");
    send(started["h2"], Signal::KILL);
    check_lost(desk, running, "h2", "the agent on h2 closed its connection");
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn mpirun_starts_agents_that_survive_one_of_them() {
    let test = "mpirun_starts_agents_that_survive_one_of_them";
    let Some(net) = Net::new(test, &["h1", "h2"], "mpirun") else { return };
    let desk = mpi(&net, "100ms");
    let (code, found) = desk.check("h1,h2");
    assert_eq!(code, Some(0), "{found:#}");
    assert_eq!(found[0]["found"]["shares_with"], serde_json::json!(["h2"]), "{found:#}");
    assert_eq!(found[1]["found"]["host"]["name"], "h2");
    check_whole(&desk, &desk.run("h1,h2", 2), &["1-h1.jsonl", "2-h2.jsonl"]);
    check_commands(&mpi(&net, "100ms"), ["h1", "h2"]);
    // mpirun would end all agents with the first that dies.
    let desk = mpi(&net, "300ms");
    check_one_killed(&desk);
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn four_hosts_answer_over_mpirun() {
    check_mpirun("four_hosts_answer_over_mpirun", &["metadata"]);
}

pub(crate) fn check_mpirun(test: &str, asked: &[&str]) {
    let Some(net) = Net::new(test, &["h1", "h2", "h3", "h4"], "mpirun") else { return };
    let desk = mpi(&net, "100ms");
    let run = |args: &[String]| desk.command(args).output().unwrap();
    check_questions(&desk, "h1,h2,h3,h4", ("mpirun", asked), run);
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn four_hosts_answer_over_ssh() {
    check_ssh("four_hosts_answer_over_ssh", &["survey"]);
}

pub(crate) fn check_ssh(test: &str, asked: &[&str]) {
    let Some(net) = Net::new(test, &["s1", "s2", "s3", "s4"], "sshd") else { return };
    let (desk, _servers) = ssh(&net, "100ms");
    let run = |args: &[String]| desk.command(args).output().unwrap();
    check_questions(&desk, "s1,s2,s3,s4", ("ssh", asked), run);
}

/// Hydra starts agents by a remote shell, too; here, its hosts differ in their names only.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn hydra_starts_agents_that_survive_one_of_them() {
    let test = "hydra_starts_agents_that_survive_one_of_them";
    if !is_possible(test, &["--uts", "true"]) {
        return;
    }
    if !is_there("mpiexec.hydra") {
        skip(test, "mpiexec.hydra is missing");
        return;
    }
    let desk = |time: &str| {
        let mut desk = Desk::built_in(time, "mpich");
        let script = "#!/bin/sh\n[ \"$1\" = -x ] && shift\nname=$1; shift\n\
                      export IOASSAY_TEST_HOST=$name\n\
                      exec unshare --uts sh -c \"hostname $name; exec $*\"\n";
        let path = enter(&desk, script);
        desk.set("HYDRA_LAUNCHER_EXEC", argument(&path));
        desk.ways.push("--listen=127.0.0.1".to_owned());
        mark(&mut desk);
        desk
    };
    let whole = desk("100ms");
    check_whole(&whole, &whole.run("h1,h2", 2), &["1-h1.jsonl", "2-h2.jsonl"]);
    let desk = desk("300ms");
    check_one_killed(&desk);
}

/// A link that is cut ends no connection: each side notices that the other is silent.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_host_whose_link_is_cut_is_lost_and_its_agent_ends() {
    let test = "a_host_whose_link_is_cut_is_lost_and_its_agent_ends";
    let Some(net) = Net::new(test, &["h1", "h2"], "mpirun") else { return };
    let desk = mpi(&net, "300ms");
    let running = desk.start("h1,h2", 4);
    desk.wait_for_trial("2-h2.jsonl");
    net.host("h2").cut();
    check_lost(&desk, running, "h2", "the agent on h2 sent nothing for 5s");
    desk.check_empty();
}

/// A desk whose launcher is `ssh`, with a configuration of its own, and the servers of all hosts.
fn ssh(net: &Net, time: &str) -> (Desk, Vec<Server>) {
    let mut desk = Desk::led(time, "");
    let path = |name: &str| argument(&desk.files.path(name)).to_owned();
    for key in ["host", "user"] {
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f", &path(key)])
            .status();
        assert!(made.unwrap().success());
    }
    std::fs::copy(path("user.pub"), path("authorized")).unwrap();
    let server = format!(
        "Port 2222\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\n\
         PermitRootLogin yes\nAcceptEnv IOASSAY_TEST_*\nClientAliveInterval 2\n",
        path("host"),
        path("authorized"),
    );
    desk.write("sshd_config", &server);
    let mut client = format!(
        "IdentityFile {}\nPort 2222\nUser root\nStrictHostKeyChecking no\nLogLevel ERROR\n\
         UserKnownHostsFile /dev/null\nSendEnv IOASSAY_TEST_MARK\n",
        path("user")
    );
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let user = "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n";
    let is_known = users.lines().any(|line| line.starts_with("sshd:"));
    desk.write("passwd", &(users + if is_known { "" } else { user }));
    std::fs::create_dir_all("/run/sshd").unwrap();
    let mut servers = Vec::new();
    for host in &net.hosts {
        let Linked { name, namespace, far, .. } = host;
        client += &format!("Host {name}\nHostName {far}\nSetEnv IOASSAY_TEST_HOST={name}\n");
        // The server needs a user of this name, which is there only if it was installed.
        let serve = format!(
            "mount --bind '{}' /etc/passwd && exec $(command -v sshd) -D -f '{}'",
            path("passwd"),
            path("sshd_config")
        );
        let mut command = Command::new("nsenter");
        command.args([
            &format!("--net=/run/netns/{namespace}"),
            "unshare",
            "-m",
            "sh",
            "-c",
            &serve,
        ]);
        command.env("PATH", with_administrators()).stdin(Stdio::null()).stderr(Stdio::null());
        servers.push(Server(command.spawn().unwrap()));
        wait_for("sshd", || TcpStream::connect((far.as_str(), 2222)).ok());
    }
    desk.write("ssh_config", &client);
    let row = format!(
        "[[launcher]]\nname = \"enter\"\nshell = true\n\
         prefix = [\"ssh\", \"-o\", \"BatchMode=yes\", \"-F\", \"{}\", \"--\", \"{{host}}\"]\n",
        path("ssh_config")
    );
    desk.write("launchers.toml", &row);
    mark(&mut desk);
    (desk, servers)
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn hosts_are_measured_over_ssh_and_one_that_is_cut_off_is_lost() {
    let test = "hosts_are_measured_over_ssh_and_one_that_is_cut_off_is_lost";
    let Some(net) = Net::new(test, &["s1", "s2"], "sshd") else { return };
    let (desk, _servers) = ssh(&net, "100ms");
    let (code, found) = desk.check("s1,s2");
    assert_eq!(code, Some(0), "{found:#}");
    assert_eq!(found[1]["found"]["shares_with"], serde_json::json!(["s1"]), "{found:#}");
    check_whole(&desk, &desk.run("s1,s2", 2), &["1-s1.jsonl", "2-s2.jsonl"]);
    std::fs::remove_dir_all(desk.files.path("records")).unwrap();
    let running = desk.start("s1,s2", 10);
    desk.wait_for_trial("2-s2.jsonl");
    net.host("s2").cut();
    check_lost(&desk, running, "s2", "the agent on s2 sent nothing for 5s");
    desk.check_empty();
}
