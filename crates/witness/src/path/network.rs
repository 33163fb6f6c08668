//! The way to the server of a network file system.

use super::unseen;
use crate::mounts::Mount;
use crate::root::Root;
use crate::sysfs::{entries, file_name, number, text};
use model::path::{Hop, HopKind, InterfaceHop};
use std::cmp::Reverse;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// What is below a file system that is on no block device of this machine.
pub(super) fn below(root: &Root, mount: &Mount) -> Vec<Hop> {
    let server = mount.values("addr").next().and_then(|text| to_server(root, text, None));
    vec![server.unwrap_or_else(|| unseen("what serves this file system cannot be seen from here"))]
}

/// The way to the server of an NVMe controller that is reached over a network; `None` for others.
pub(super) fn of_controller(root: &Root, controller: &Path) -> Option<Hop> {
    let transport = text(&controller.join("transport"))?;
    if !matches!(transport.as_str(), "tcp" | "rdma") {
        return None;
    }
    let address = text(&controller.join("address")).unwrap_or_default();
    let of = |name: &str| address.split(',').find_map(|part| part.strip_prefix(name));
    let bound = of("host_iface=").filter(|name| is_interface(root, name));
    let server = of("traddr=").and_then(|text| to_server(root, text, bound));
    Some(server.unwrap_or_else(|| unseen("the address of its NVMe controller is not known")))
}

/// The way to the server of an iSCSI session; `None` for other directories.
pub(super) fn of_session(root: &Root, session: &Path) -> Option<Hop> {
    if !session.join("iscsi_session").is_dir() {
        return None;
    }
    let connections = entries(session).map(|it| it.join("iscsi_connection").join(file_name(&it)));
    let mut addresses = connections.filter_map(|it| text(&it.join("address")));
    let bound = bound_interface(root, session);
    let server = addresses.find_map(|text| to_server(root, &text, bound.as_deref()));
    Some(server.unwrap_or_else(|| unseen("the address of its iSCSI target is not known")))
}

/// The interface that the host of an iSCSI session is bound to, if it is to one. Hosts of software
/// that are not bound name one that there is not, such as `default`.
fn bound_interface(root: &Root, session: &Path) -> Option<String> {
    let host = session.parent()?;
    let name = text(&host.join("iscsi_host").join(file_name(host)).join("netdev"))?;
    is_interface(root, &name).then_some(name)
}

fn is_interface(root: &Root, name: &str) -> bool {
    let is_name = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    is_name && root.at("/sys/class/net").join(name).is_dir()
}

/// The way to the server with this address, which may name its interface: `fe80::1%eth0`. A
/// connection that is bound to an interface uses that, whatever the routes say.
fn to_server(root: &Root, told: &str, bound: Option<&str>) -> Option<Hop> {
    let (address, scope) = match told.split_once('%') {
        Some((address, scope)) => (address, Some(scope.to_string())),
        None => (told, None),
    };
    let address = address.parse::<IpAddr>().ok()?;
    let bound = bound.map(str::to_string);
    let name = bound.or(scope).or_else(|| match address {
        _ if address.is_loopback() => Some("lo".to_string()),
        IpAddr::V4(address) => interface_to(root, address),
        IpAddr::V6(address) => interface_to_v6(root, address),
    });
    Some(match name {
        Some(name) => interface(root, name, address),
        None => unseen("the network interface to its server is not known"),
    })
}

/// A route to an address: how many bits of it the route says, and how much it costs. The longest
/// wins, then the cheapest.
type Route = (u32, Reverse<u32>, String);

/// Flags of a route that can be used, and of one that refuses (Linux, route.h).
const UP: u32 = 1;
const REJECT: u32 = 0x200;

fn is_usable(flags: u32) -> bool {
    flags & UP != 0 && flags & REJECT == 0
}

/// The interface of the most specific route to `address`, as `/proc/net/ipv6_route` lists them:
/// what it leads to and its prefix's length, the same of the source, the next hop, the metric, two
/// counts, flags and the interface.
fn interface_to_v6(root: &Root, address: Ipv6Addr) -> Option<String> {
    let table = fs::read_to_string(root.at("/proc/net/ipv6_route")).ok()?;
    let route = |line: &str| -> Option<Route> {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |index: usize| u32::from_str_radix(fields.get(index)?, 16).ok();
        let to = u128::from_str_radix(fields.first()?, 16).ok()?;
        let (bits, of_source) = (number(1).filter(|bits| *bits <= 128)?, number(3)?);
        let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
        let is_to = address.to_bits() & mask == to && of_source == 0 && is_usable(number(8)?);
        is_to.then_some((bits, Reverse(number(5)?), fields.get(9)?.to_string()))
    };
    table.lines().filter_map(route).max().map(|(_, _, name)| name)
}

/// The interface of the most specific route to `address`, as `/proc/net/route` lists them.
fn interface_to(root: &Root, address: Ipv4Addr) -> Option<String> {
    let table = fs::read_to_string(root.at("/proc/net/route")).ok()?;
    // The numbers are those of memory: the first byte is the lowest.
    let address = u32::from_le_bytes(address.octets());
    let route = |line: &str| -> Option<Route> {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let hex = |index: usize| u32::from_str_radix(fields.get(index)?, 16).ok();
        let (to, mask) = (hex(1)?, hex(7)?);
        let is_to = address & mask == to && is_usable(hex(3)?);
        let metric = fields.get(6)?.parse().ok()?;
        is_to.then(|| (mask.count_ones(), Reverse(metric), fields[0].to_string()))
    };
    table.lines().skip(1).filter_map(route).max().map(|(_, _, name)| name)
}

/// Whether no interface of a device is below this one, such as a tunnel or a container's.
fn is_of_software(root: &Root, directory: &Path) -> bool {
    let place = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_path_buf());
    let has_lower = || {
        let lower = entries(&place).filter(|it| file_name(it).starts_with("lower_"));
        lower.chain([place.join("bonding/slaves")]).any(|it| it.exists())
    };
    place.starts_with(root.at("/sys/devices/virtual")) && !has_lower()
}

fn interface(root: &Root, name: String, server: IpAddr) -> Hop {
    let directory = root.at("/sys/class/net").join(&name);
    let bonded = text(&directory.join("bonding/slaves")).unwrap_or_default();
    let interface = InterfaceHop {
        // An interface that is down says -1, and one of software alone what its driver invents.
        speed: number(&directory.join("speed"))
            .filter(|speed| *speed > 0 && !is_of_software(root, &directory)),
        full_duplex: text(&directory.join("duplex")).and_then(|text| match text.as_str() {
            "full" => Some(true),
            "half" => Some(false),
            _ => None,
        }),
        server: server.to_string(),
        bonded: bonded.split_ascii_whitespace().map(str::to_string).collect(),
        bond_mode: text(&directory.join("bonding/mode"))
            .and_then(|mode| mode.split_ascii_whitespace().next().map(str::to_string)),
    };
    Hop::new(name, HopKind::Interface(interface), Vec::new())
}
