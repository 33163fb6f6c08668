//! The way to the server of a network file system.

use super::unseen;
use crate::mounts::Mount;
use crate::root::Root;
use crate::sysfs::{number, text};
use model::path::{Hop, HopKind, InterfaceHop};
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

/// What is below a file system that is on no block device of this machine.
pub(super) fn below(root: &Root, mount: &Mount) -> Vec<Hop> {
    let server = mount.values("addr").next();
    let address = server.and_then(|text| text.parse::<IpAddr>().ok());
    match address {
        Some(address) => vec![to_server(root, address)],
        None => vec![unseen("what serves this file system cannot be seen from here")],
    }
}

/// The way to the server of an NVMe controller that is reached over a network; `None` for others.
pub(super) fn of_controller(root: &Root, controller: &Path) -> Option<Hop> {
    let transport = text(&controller.join("transport"))?;
    if !matches!(transport.as_str(), "tcp" | "rdma") {
        return None;
    }
    let address = text(&controller.join("address")).unwrap_or_default();
    let server = address.split(',').find_map(|part| part.strip_prefix("traddr="));
    Some(match server.and_then(|text| text.parse::<IpAddr>().ok()) {
        Some(address) => to_server(root, address),
        None => unseen("the address of its NVMe controller is not known"),
    })
}

fn to_server(root: &Root, address: IpAddr) -> Hop {
    let name = match address {
        IpAddr::V4(address) => interface_to(root, address),
        IpAddr::V6(_) => None,
    };
    match name {
        Some(name) => interface(root, name, address),
        None => unseen("the network interface to its server is not known"),
    }
}

/// The interface of the most specific route to `address`, as `/proc/net/route` lists them.
fn interface_to(root: &Root, address: Ipv4Addr) -> Option<String> {
    if address.is_loopback() {
        return Some("lo".to_string());
    }
    let table = fs::read_to_string(root.at("/proc/net/route")).ok()?;
    // The numbers are those of memory: the first byte is the lowest.
    let address = u32::from_le_bytes(address.octets());
    let route = |line: &str| -> Option<(u32, String)> {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let hex = |index: usize| u32::from_str_radix(fields.get(index)?, 16).ok();
        let (to, mask) = (hex(1)?, hex(7)?);
        (address & mask == to).then(|| (mask.count_ones(), fields[0].to_string()))
    };
    let routes = table.lines().skip(1).filter_map(route);
    routes.max_by_key(|(bits, _)| *bits).map(|(_, name)| name)
}

fn interface(root: &Root, name: String, server: IpAddr) -> Hop {
    let directory = root.at("/sys/class/net").join(&name);
    let bonded = text(&directory.join("bonding/slaves")).unwrap_or_default();
    let interface = InterfaceHop {
        // An interface that is down says -1, and a virtual one may say so, or nothing.
        speed: number(&directory.join("speed")).filter(|speed| *speed > 0),
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
