//! Memory and processors, from `/proc` and `/sys` alone. Only the firmware's table of slots needs
//! root.

pub(crate) mod dmi;
pub(crate) mod edac;
mod processors;

use crate::root::Root;
use crate::sysfs::{entries, file_name, number};
use model::platform::{NodeClaim, Platform};
use model::setup::Node;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The firmware's tables (SMBIOS), as the kernel copies them.
const DMI: &str = "/sys/firmware/dmi/tables/DMI";
const NODES: &str = "/sys/devices/system/node";

/// The memory and processors of the machine with this `/proc/cpuinfo` and these nodes.
pub(crate) fn platform(root: &Root, cpuinfo: &str, nodes: &[Node]) -> Platform {
    let table = fs::read(root.at(DMI));
    let is_refused = |error: &std::io::Error| error.kind() == ErrorKind::PermissionDenied;
    Platform {
        slots_need_root: table.as_ref().err().is_some_and(is_refused),
        slots: table.ok().and_then(|table| dmi::slots(&table)),
        controllers: edac::controllers(root),
        claims: entries(&root.at(NODES)).filter_map(|node| claim(&node)).collect(),
        processors: processors::processors(root, cpuinfo, nodes),
    }
}

/// What the firmware claims of a node's memory, if it claims anything.
fn claim(path: &Path) -> Option<NodeClaim> {
    let node = file_name(path).strip_prefix("node")?.parse().ok()?;
    let of = |name: &str| {
        let told = number(&path.join("access0/initiators").join(name))?;
        // Without a claim the kernel has 0, and a table may have the largest number instead.
        (1..u64::from(u16::MAX) * 1000).contains(&told).then_some(told)
    };
    let claim = NodeClaim {
        node,
        read_bandwidth: of("read_bandwidth"),
        write_bandwidth: of("write_bandwidth"),
        read_latency: of("read_latency"),
        write_latency: of("write_latency"),
    };
    (claim != NodeClaim { node, ..NodeClaim::default() }).then_some(claim)
}
