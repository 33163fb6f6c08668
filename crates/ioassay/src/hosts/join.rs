//! How an agent that was started beside others finds its coordinator: it connects back, shows its
//! half of the token and its names, and expects the other half.

use super::token::{Token, is_same};
use crate::deadline::Deadline;
use crate::stop::Stop;
use anyhow::{Context, Result, bail, ensure};
use rustix::net::sockopt::set_tcp_user_timeout;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The first word of an agent, and that of the coordinator's answer.
pub(super) const AGENT: &str = "ioassay-agent";
pub(super) const COORDINATOR: &str = "ioassay-coordinator";

/// The maximum length of the first line of each side.
pub(super) const LINE_BYTES_MAX: u64 = 1024;

/// How long an agent tries to connect. The coordinator listens before it starts agents.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long one attempt may take: an address may lead nowhere.
const ATTEMPT: Duration = Duration::from_secs(5);

/// The pause before all addresses are tried again.
const PAUSE: Duration = Duration::from_millis(200);

/// How long what an agent sent may stay unacknowledged. It sends once a second, so a link that is
/// cut ends its connection after this time.
const UNACKNOWLEDGED: Duration = Duration::from_secs(4);

/// Connects to the coordinator at one of `addresses`.
///
/// # Errors
/// If it is at none of them, or does not know this agent's token.
pub fn join(addresses: &[SocketAddr], token: &Token, stop: &Stop) -> Result<TcpStream> {
    let stream = connect(addresses, stop)?;
    let greet = || {
        let milliseconds = UNACKNOWLEDGED.as_millis() as u32;
        set_tcp_user_timeout(&stream, milliseconds)
            .context("failed to limit the wait for a cut link")?;
        stream.set_nodelay(true).context("failed to send lines at once")?;
        let line = format!("{AGENT} {} {}\n", token.of_agent(), names().join(" "));
        (&stream).write_all(line.as_bytes()).context("failed to send the token")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        // It reads byte by byte, and so nothing of what follows the line.
        let mut answer = String::new();
        BufReader::with_capacity(1, (&stream).take(LINE_BYTES_MAX))
            .read_line(&mut answer)
            .context("failed to read its answer to the token")?;
        stream.set_read_timeout(None)?;
        let half = answer.trim_end().strip_prefix(COORDINATOR).map(str::trim_start);
        ensure!(!answer.is_empty(), "it refused this agent, and says why on its own host");
        ensure!(
            half.is_some_and(|half| is_same(token.of_coordinator(), half)),
            "who answers there does not know the token"
        );
        Ok(())
    };
    let there = stream.peer_addr().map_or_else(|_| String::new(), |it| format!(" at {it}"));
    greet().with_context(|| format!("failed to join the coordinator{there}"))?;
    Ok(stream)
}

/// A connection to the first address that accepts one.
fn connect(addresses: &[SocketAddr], stop: &Stop) -> Result<TcpStream> {
    let deadline = Deadline::after(PATIENCE);
    loop {
        let mut failures = Vec::new();
        for address in addresses {
            let limit = deadline.left().clamp(PAUSE, ATTEMPT);
            match TcpStream::connect_timeout(address, limit) {
                Ok(stream) => return Ok(stream),
                Err(error) => failures.push(format!("{address}: {error}")),
            }
            ensure!(!stop.is_asked(), "stopped while connecting to the coordinator");
        }
        if deadline.is_over() {
            bail!(
                "the coordinator cannot be reached ({}): give it an address that this host can \
                 reach, with --listen",
                failures.join("; ")
            );
        }
        stop.wait(PAUSE);
    }
}

/// What this host may be called: by Slurm, which may name its nodes otherwise, and by itself.
fn names() -> Vec<String> {
    let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let names = std::env::var("SLURMD_NODENAME").into_iter().chain([own]);
    let is_name = |name: &String| !name.is_empty() && !name.contains(char::is_whitespace);
    names.filter(is_name).collect()
}
