//! How an agent that was started beside others finds its coordinator: it connects back, shows its
//! half of the token and its names, and expects the other half.

use super::token::{Token, is_same};
use crate::deadline::Deadline;
use crate::stop::Stop;
use anyhow::{Context, Result, bail, ensure};
use rustix::net::sockopt::set_tcp_user_timeout;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The first word of an agent, and that of the coordinator's answer.
pub(super) const AGENT: &str = "ioassay-agent";
pub(super) const COORDINATOR: &str = "ioassay-coordinator";

/// What the coordinator answers instead of its half of the token if others wait to connect.
pub(super) const BUSY: &str = "busy";

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

/// Connects to the coordinator at one of `addresses`. If strangers took the place of this agent
/// there before it was heard, it tries again.
///
/// # Errors
/// If it is at none of them, or does not know this agent's token.
pub fn join(addresses: &[SocketAddr], token: &Token, stop: &Stop) -> Result<TcpStream> {
    let deadline = Deadline::after(PATIENCE);
    loop {
        let stream = connect(addresses, stop)?;
        let there = stream.peer_addr().map_or_else(|_| String::new(), |it| format!(" at {it}"));
        let failed = || format!("failed to join the coordinator{there}");
        if greet(&stream, token).with_context(failed)? {
            return Ok(stream);
        }
        ensure!(!stop.is_asked(), "stopped while joining the coordinator");
        ensure!(!deadline.is_over(), "{}: others connect there all the time", failed());
        stop.wait(PAUSE);
    }
}

/// Shows the token and hears the answer. Returns whether the coordinator took this agent: it may
/// have been too busy to hear it.
fn greet(stream: &TcpStream, token: &Token) -> Result<bool> {
    let milliseconds = UNACKNOWLEDGED.as_millis() as u32;
    set_tcp_user_timeout(stream, milliseconds)
        .context("failed to limit the wait for a cut link")?;
    stream.set_nodelay(true).context("failed to send lines at once")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let line = format!("{AGENT} {} {}\n", token.of_agent(), names().join(" "));
    // It reads byte by byte, and so nothing of what follows the line.
    let mut answer = String::new();
    let mut reader = BufReader::with_capacity(1, stream.take(LINE_BYTES_MAX));
    let mut out = stream;
    let heard = out.write_all(line.as_bytes()).and_then(|()| reader.read_line(&mut answer));
    match heard {
        // It ended this connection before the token arrived.
        Err(error)
            if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) =>
        {
            return Ok(false);
        }
        other => other.context("failed to show the token and to hear the answer")?,
    };
    stream.set_read_timeout(None)?;
    let half = answer.trim_end().strip_prefix(COORDINATOR).map(str::trim_start);
    ensure!(!answer.is_empty(), "it refused this agent, and says why on its own host");
    if half == Some(BUSY) {
        return Ok(false);
    }
    ensure!(
        half.is_some_and(|half| is_same(token.of_coordinator(), half)),
        "who answers there does not know the token"
    );
    Ok(true)
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
