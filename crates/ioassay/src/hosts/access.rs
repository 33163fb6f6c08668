//! The way to hosts: starts an agent on each, by a command for each or by one for all.

use super::address::address;
use super::agent_port::AgentPort;
use super::launched::Launched;
use super::pulse::Pulse;
use super::remote::Remote;
use super::token::Token;
use crate::launch::{Hosts, Launcher, TOKEN_VARIABLE, TokenBy};
use crate::stop::Stop;
use crate::store;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

/// How long agents may take to connect back. A launcher may have to wait for its hosts.
const PATIENCE: Duration = Duration::from_secs(30);

/// The hosts, and how ioassay is started there.
#[derive(Debug)]
pub struct HostAccess {
    /// The hosts.
    pub hosts: Hosts,
    /// The launcher.
    pub launcher: Launcher,
    /// The program on the hosts.
    pub program: OsString,
    /// Where to listen for agents that connect back, if the user chose it.
    pub listen: Option<String>,
}

/// Agents that were started.
#[derive(Debug)]
pub struct Agents {
    /// For each host what the user calls it, and its agent.
    pub each: Vec<(String, Result<Remote>)>,
    /// Connections that were refused, from where and why.
    pub refused: Vec<String>,
    /// What must outlive them.
    pub hold: Hold,
}

/// What agents need for as long as they live.
#[derive(Debug)]
pub struct Hold {
    /// Tells them that this host is there.
    _pulse: Pulse,
    /// The command that started them all.
    _launched: Option<Launched>,
}

impl Agents {
    fn new(
        each: Vec<(String, Result<Remote>)>,
        refused: Vec<String>,
        launched: Option<Launched>,
    ) -> Result<Agents> {
        let inputs = each.iter().flat_map(|(_, agent)| agent).map(Remote::input).collect();
        let hold = Hold { _pulse: Pulse::start(inputs)?, _launched: launched };
        Ok(Agents { each, refused, hold })
    }
}

impl Agents {
    /// Starts an agent on this machine for each of these names.
    ///
    /// # Errors
    /// If this program's own file is not known. An agent that does not start is an error of its
    /// own.
    pub fn here(called: &[String], stop: &Stop) -> Result<Agents> {
        let program = own_program()?;
        let start = |called: &String| {
            let mut command = Command::new(&program);
            command.arg("agent");
            (called.clone(), Remote::start(called, command, stop))
        };
        Agents::new(called.iter().map(start).collect(), Vec::new(), None)
    }
}

/// The file of this program.
///
/// # Errors
/// If it is not known.
pub fn own_program() -> Result<OsString> {
    Ok(std::env::current_exe().context("failed to find this program's own file")?.into())
}

impl HostAccess {
    /// What the user calls the hosts.
    pub fn names(&self) -> Vec<String> {
        self.hosts.all().iter().map(|host| host.name().to_owned()).collect()
    }

    /// Starts all agents. One that does not start is an error of its own.
    ///
    /// # Errors
    /// If none can be started.
    pub fn start(&self, stop: &Stop) -> Result<Agents> {
        if self.launcher.starts_all() {
            return self.start_all(stop);
        }
        let words = [OsString::from("agent")];
        let start = |host: &crate::launch::HostName| {
            let command = self.launcher.command(host, &self.program, &words);
            (host.name().to_owned(), Remote::start(host.name(), command, stop))
        };
        let each = self.hosts.all().iter().map(start).collect();
        Agents::new(each, Vec::new(), None)
    }

    /// Starts all agents with one command, and waits until they have connected back.
    fn start_all(&self, stop: &Stop) -> Result<Agents> {
        let hosts = self.hosts.all();
        let token = Token::random()?;
        let gathering = AgentPort::open(address(self.listen.as_deref(), hosts)?, token.clone())?;
        let at = gathering.address()?;
        let file = match self.launcher.token_by() {
            TokenBy::Environment => None,
            TokenBy::File => Some(token.keep(&store::folder()?)?),
        };
        let mut words = vec![OsString::from("agent"), format!("--connect={at}").into()];
        if let Some(file) = &file {
            words.extend([OsString::from("--token-file"), file.path().into()]);
        }
        let mut command = self.launcher.command_for_all(&self.hosts, &self.program, &words);
        match file {
            Some(_) => command.env_remove(TOKEN_VARIABLE),
            None => command.env(TOKEN_VARIABLE, token.whole()),
        };
        let launched = Launched::start(self.launcher.name(), command)?;
        let gathered = gathering.gather(hosts, PATIENCE, || !launched.has_ended(), stop);
        let mut each = Vec::new();
        for (host, joined) in hosts.iter().zip(gathered.joined) {
            let agent = match joined {
                Some(connection) => Remote::joined(host.name(), connection, stop),
                None => never_came(&launched, at),
            };
            each.push((host.name().to_owned(), agent));
        }
        Agents::new(each, gathered.refused, Some(launched))
    }
}

/// Why an agent did not connect.
fn never_came(launched: &Launched, at: std::net::SocketAddr) -> Result<Remote> {
    let waited = match launched.has_ended() {
        true => String::new(),
        false => format!(" within {} s", PATIENCE.as_secs()),
    };
    bail!(
        "its agent did not connect to {at}{waited}: ioassay may not have started there, or cannot \
         reach this address (see --listen); {}",
        launched.state()
    )
}
