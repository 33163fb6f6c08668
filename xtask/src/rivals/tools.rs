//! The tools, and how each is asked a question and answers.

use super::hosts::RivalHosts;
use super::row::RivalRow;
use crate::programs::{self, Running};
use crate::stage::Experiment;
use crate::waiting::within;
use crate::words::Words;
use anyhow::{Context, Result};
use serde_json::Value;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What ioassay answered.
#[derive(Debug, Clone)]
pub(super) struct ToolAnswer {
    /// Bytes or calls per second, of all hosts together.
    pub(super) rate: f64,
    /// What ended the trials.
    pub(super) ended_by: String,
}

/// Its launcher for the hosts, and what it is asked.
const LAUNCHER: &str = "rivals";
const RUN: &str = "ioassay run FOLDER/rivals.toml DIR --hosts=HOSTS \
                   --launchers=FOLDER/launchers.toml --launcher=rivals --program=PROGRAM \
                   --rounds=1 --invocations=1 --quiet --json";

/// Asks ioassay.
pub(super) fn ioassay(
    stage: &Experiment,
    hosts: &RivalHosts,
    row: &RivalRow,
    words: &Words,
) -> Result<ToolAnswer> {
    fs::write(stage.path("rivals.toml"), row.recipe(words)?)?;
    fs::write(stage.path("launchers.toml"), hosts.launcher(LAUNCHER))?;
    let report = stage.json(RUN, &words.clone().and("HOSTS", hosts.names().join(",")))?;
    let case = &report["cases"][0];
    let rate = if row.is_of_names() { &case["iops"] } else { &case["throughput"] };
    Ok(ToolAnswer {
        rate: rate["median"].as_f64().with_context(|| format!("ioassay has no figure: {case}"))?,
        ended_by: case["ended_by"].as_str().unwrap_or("unknown").to_owned(),
    })
}

/// Starts a program on each host. `DOOR` is a script, and what follows are its arguments.
const MPIRUN: &str = "mpirun --oversubscribe -np COUNT sh -c DOOR rank TOOL";

/// A program that runs as ranks of MPI.
pub(super) struct Ranks<'a> {
    pub(super) program: &'a Path,
    pub(super) stage: &'a Experiment,
    pub(super) hosts: &'a RivalHosts,
}

impl Ranks<'_> {
    /// Runs one rank on each host.
    fn run(&self, options: &str) -> Result<String> {
        let count = self.hosts.names().len().to_string();
        let words = Words::default().and("COUNT", count).and("DOOR", self.hosts.by_rank());
        let words = self.stage.split(MPIRUN, &words.and("TOOL", self.program));
        let mut command = self.stage.command(&words);
        // Its own refusal to run as root is about clusters, and the ranks need root to mount.
        let root = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"];
        command.envs(root.map(|name| (name, "1"))).args(options.split(' '));
        programs::read(command, 0..=0)
    }

    /// Bytes per second of IOR with these options.
    pub(super) fn ior(&self, options: &str) -> Result<f64> {
        let summary = self.stage.path("ior.json");
        let format = format!(" -F -O summaryFormat=JSON -O summaryFile={}", summary.display());
        self.run(&(options.to_owned() + &format))?;
        let text = fs::read_to_string(&summary).with_context(|| summary.display().to_string())?;
        let summary: Value = serde_json::from_str(&text)?;
        let mib = summary["summary"][0]["bwMeanMIB"].as_f64();
        Ok(mib.with_context(|| format!("IOR has no figure: {text}"))? * f64::from(1 << 20))
    }

    /// Calls per second of mdtest with these options, from the line of its summary that begins so.
    pub(super) fn mdtest(&self, options: &str, line: &str) -> Result<f64> {
        let printed = self.run(options)?;
        mean_of(&printed, line).with_context(|| format!("mdtest has no '{line}': {printed}"))
    }
}

/// The mean in a line of mdtest's summary: its third number after the name.
fn mean_of(summary: &str, name: &str) -> Option<f64> {
    let line = summary.lines().find_map(|line| line.trim().strip_prefix(name))?;
    line.split_whitespace().nth(2)?.parse().ok()
}

/// How long a server may take to start.
const STARTED_MOST: Duration = Duration::from_secs(5);

/// A server of fio on each host.
pub(super) struct Servers {
    all: Vec<(Running, String)>,
    job: PathBuf,
}

impl Servers {
    /// Starts them, and waits until each can be reached.
    pub(super) fn start(stage: &Experiment, hosts: &RivalHosts) -> Result<Servers> {
        let mut servers = Servers { all: Vec::new(), job: stage.path("rivals.fio") };
        for name in hosts.names() {
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            let mut command = hosts.on(name, "fio");
            command.arg(format!("--server=ip:127.0.0.1,{port}")).stdout(Stdio::null());
            servers.all.push((Running::start(command)?, format!("ip:127.0.0.1,{port}")));
            wait_for(port)?;
        }
        Ok(servers)
    }

    /// Bytes per second of all, for a job of these settings.
    pub(super) fn ask(&self, settings: &str) -> Result<f64> {
        let is_write = settings.starts_with("rw=write");
        fs::write(&self.job, format!("[job]\nioengine=psync\n{}\n", settings.replace(' ', "\n")))?;
        let mut command = Command::new("fio");
        command.arg("--output-format=json");
        for (_, address) in &self.all {
            command.arg(format!("--client={address}")).arg(&self.job);
        }
        let printed = programs::read(command, 0..=0)?;
        let json = printed.find('{').map_or("", |start| &printed[start..]);
        let report: Value = serde_json::from_str(json).context("reading fio's answer")?;
        let of_all = |client: &&Value| client["jobname"] == "All clients";
        let all = report["client_stats"].as_array().into_iter().flatten().find(of_all);
        let rate =
            all.and_then(|all| all[if is_write { "write" } else { "read" }]["bw_bytes"].as_f64());
        rate.with_context(|| format!("fio has no figure: {printed}"))
    }
}

/// Waits until the port answers.
fn wait_for(port: u16) -> Result<()> {
    let reached = within(STARTED_MOST, || TcpStream::connect(("127.0.0.1", port)).ok());
    reached.with_context(|| format!("a server of fio cannot be reached at port {port}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_a_line_of_mdtest_is_read() {
        let summary = "SUMMARY rate (in ops/sec): (of 3 iterations)\n   Operation  Max  Min  Mean  \
                       Std Dev\n   File creation   91615.363   72367.574   78853.769   11052.367\n";
        assert_eq!(mean_of(summary, "File creation"), Some(78853.769));
        assert_eq!(mean_of(summary, "File stat"), None);
    }
}
