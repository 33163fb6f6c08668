//! The address at which this machine listens for agents that connect back.

use crate::launch::HostName;
use anyhow::{Context, Result, bail, ensure};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};

/// Hosts whose names are looked up: one that nobody knows takes seconds.
const LOOKED_UP_MAX: usize = 3;

/// An address that no machine has (RFC 5737): what leads there is the default route.
const ELSEWHERE: &str = "192.0.2.1";

/// The address that the user chose, or the one from which this machine reaches `hosts`.
///
/// # Errors
/// If there is no such address.
pub(super) fn address(chosen: Option<&str>, hosts: &[HostName]) -> Result<SocketAddr> {
    match chosen {
        Some(chosen) => parse(chosen),
        None => towards_all(hosts),
    }
}

/// `ADDRESS` or `ADDRESS:PORT`, where a name may stand for an address.
fn parse(chosen: &str) -> Result<SocketAddr> {
    let bare = chosen.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let found = match (bare, chosen.contains(':')) {
        (Ok(address), _) => Ok(Some(SocketAddr::new(address, 0))),
        (Err(_), true) => chosen.to_socket_addrs().map(|mut all| all.next()),
        (Err(_), false) => (chosen, 0).to_socket_addrs().map(|mut all| all.next()),
    };
    let found = found.with_context(|| format!("'{chosen}' is no address to listen at"))?;
    let address = found.with_context(|| format!("'{chosen}' has no address"))?;
    ensure!(
        !address.ip().is_unspecified(),
        "'{chosen}' stands for all addresses of this host: name the one that agents connect to"
    );
    Ok(address)
}

/// The address from which this machine reaches the first of `hosts` that is another machine, or
/// else any. If no name is known, the one that this machine's own name has, or its default route.
fn towards_all(hosts: &[HostName]) -> Result<SocketAddr> {
    let name = |host: &HostName| {
        let name = host.name();
        name.rsplit_once('@').map_or(name, |(_, place)| place).to_owned()
    };
    let names = hosts.iter().take(LOOKED_UP_MAX).map(name);
    let found: Vec<IpAddr> = names.filter_map(|name| towards(&name)).collect();
    let is_of_others = |address: &&IpAddr| !address.is_loopback();
    if let Some(address) = found.iter().find(is_of_others).or(found.first()) {
        return Ok(SocketAddr::new(*address, 0));
    }
    let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let others = [own.as_str(), ELSEWHERE].into_iter().filter_map(towards);
    match others.into_iter().find(|address| !address.is_loopback()) {
        Some(address) => Ok(SocketAddr::new(address, 0)),
        None => bail!(
            "no address of this host, {own}, is known at which agents could connect: name one with \
             --listen ADDRESS"
        ),
    }
}

/// The address from which this machine reaches `name`. Nothing is sent.
fn towards(name: &str) -> Option<IpAddr> {
    let reach = |there: SocketAddr| {
        let any: IpAddr = match there.is_ipv4() {
            true => Ipv4Addr::UNSPECIFIED.into(),
            false => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((any, 0)).ok()?;
        socket.connect(there).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    // The port takes no part: it only may not be 0.
    (name, 9).to_socket_addrs().ok()?.find_map(reach)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Hosts;

    #[test]
    fn an_address_may_have_a_port() {
        let at = |text: &str| parse(text).unwrap().to_string();
        assert_eq!(at("127.0.0.1"), "127.0.0.1:0");
        assert_eq!(at("127.0.0.1:4711"), "127.0.0.1:4711");
        assert_eq!(at("::1"), "[::1]:0");
        assert_eq!(at("[::1]"), "[::1]:0");
        assert_eq!(at("[::1]:4711"), "[::1]:4711");
        for (wrong, expected) in [
            ("0.0.0.0", "stands for all addresses"),
            ("a b", "is no address to listen at"),
            ("127.0.0.1:x", "is no address to listen at"),
        ] {
            let error = format!("{:#}", parse(wrong).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn hosts_that_are_this_machine_are_reached_by_loopback() {
        let hosts = Hosts::load("user@127.0.0.2,127.0.0.3").unwrap();
        let address = address(None, hosts.all()).unwrap();
        assert!(address.ip().is_loopback(), "{address}");
    }
}
