//! The links from a disk to the processors, and how fast both ends negotiated each.

use super::{ata, linked, network};
use crate::root::Root;
use crate::sysfs::{entries, file_name, number, text};
use model::path::{Bus, Hop, HopKind, LinkHop, LinkSpeed};
use std::fs;
use std::path::{Path, PathBuf};

/// The links from the disk at the sysfs directory `disk`: the first of them, with the others below.
/// There are several chains if several controllers reach it.
pub(super) fn from_disk(root: &Root, disk: &Path) -> Vec<Hop> {
    let Ok(device) = fs::canonicalize(disk.join("device")) else { return Vec::new() };
    // One that is not live, such as one that connects again, carries nothing.
    let is_live = |path: &PathBuf| text(&path.join("state")).is_none_or(|state| state == "live");
    let controllers: Vec<PathBuf> = nvme_controllers(&device).into_iter().filter(is_live).collect();
    match controllers.is_empty() {
        true => chain(root, &device).into_iter().collect(),
        false => controllers.iter().filter_map(|path| chain(root, path)).collect(),
    }
}

/// The controllers of the NVMe disk whose device is at this directory: itself, or several below it.
/// A disk of another kind has none.
pub(crate) fn nvme_controllers(device: &Path) -> Vec<PathBuf> {
    let is_controller = |path: &Path| path.join("transport").exists();
    if is_controller(device) {
        return vec![device.to_path_buf()];
    }
    let below = entries(device).filter(|path| is_controller(path));
    below.filter_map(|path| fs::canonicalize(path).ok()).collect()
}

/// More NUMA nodes than Linux has (`CONFIG_NODES_SHIFT` is 10 at most).
const NODES_MOST: u64 = 1024;

/// The links from `device` to the processors.
fn chain(root: &Root, device: &Path) -> Option<Hop> {
    let sys = root.at("/sys/devices");
    let within = || device.ancestors().take_while(|directory| directory.starts_with(&sys));
    let session = || within().find_map(|above| network::of_session(root, above));
    if let Some(hop) = network::of_controller(root, device).or_else(session) {
        return Some(hop);
    }
    let mut hops: Vec<(String, HopKind)> = within().filter_map(|it| link_of(root, it)).collect();
    if let Some(node) = within()
        .find_map(|above| number(&above.join("numa_node")).filter(|node| *node < NODES_MOST))
    {
        hops.push((format!("node {node}"), HopKind::Node));
    }
    hops.into_iter()
        .rev()
        .fold(None, |below, (name, kind)| Some(Hop::new(name, kind, below.into_iter().collect())))
}

/// The link from the device at `directory` upward, if it is one that has a link.
fn link_of(root: &Root, directory: &Path) -> Option<(String, HopKind)> {
    let name = file_name(directory);
    let has = |file: &str| directory.join(file).exists();
    let link = if has("current_link_speed") {
        pcie(root, directory)?
    } else if has("ata_port") {
        sata(root, &name)?
    } else if name.starts_with("end_device-") || name.starts_with("expander-") {
        sas(root, directory)?
    } else if has("bMaxPacketSize0") && !name.starts_with("usb") {
        usb(directory)
    } else if name.starts_with("mmc") && has("cid") {
        mmc(directory)?
    } else if has("power_info") {
        // Its gear follows the load, so what it is now says nothing of what it allows.
        LinkHop { bus: Bus::Ufs, ..LinkHop::default() }
    } else if name.starts_with("rport-") {
        return fibre_channel(root, directory);
    } else {
        return None;
    };
    Some((name, HopKind::Link(link)))
}

/// Whether the PCI device at `directory` is a bridge to other devices; `None` if it does not tell.
fn is_pci_bridge(directory: &Path) -> Option<bool> {
    let class = text(&directory.join("class"))?;
    let class = u32::from_str_radix(class.strip_prefix("0x")?, 16).ok()?;
    Some(class >> 8 == 0x0604)
}

/// The link between a PCI device and the port above it. From the root down, ports alternate: a root
/// port, the upper side of a switch, its lower side. Only a root port and a lower side have a link
/// below them, so a device with an even number of bridges above it has none, or an unknown one.
fn pcie(root: &Root, directory: &Path) -> Option<LinkHop> {
    let is_bus = |above: &&Path| !file_name(above).starts_with("pci");
    let above = directory.ancestors().skip(1).take_while(is_bus);
    let above: Option<Vec<bool>> = above.map(is_pci_bridge).collect();
    let bridges = above?.into_iter().filter(|is_bridge| *is_bridge).count();
    if bridges.is_multiple_of(2) {
        return None;
    }
    // A tunnel of Thunderbolt or USB4 says 2.5 GT/s, whatever it carries (USB4 2.0, 11.2.1).
    let mut all = directory.ancestors();
    let is_removable = all.any(|it| text(&it.join("removable")).as_deref() == Some("removable"));
    let is_made_up = |rate: &u64| is_removable && *rate == 2_500;
    let speed = |at: &Path, kind: &str| LinkSpeed {
        rate: text(&at.join(format!("{kind}_link_speed")))
            .and_then(|text| gigatransfers(&text))
            .filter(|rate| !is_made_up(rate)),
        lanes: number(&at.join(format!("{kind}_link_width"))).filter(|lanes| is_width(*lanes)),
    };
    Some(LinkHop {
        bus: Bus::Pcie,
        now: speed(directory, "current"),
        device_most: speed(directory, "max"),
        port_most: speed(directory.parent()?, "max"),
        port: directory.parent().map(file_name),
        slot: slot(root, &file_name(directory)),
        is_of_switch: is_pci_bridge(directory) == Some(true),
        ..LinkHop::default()
    })
}

/// What the firmware calls the slot of the PCI device `address`.
fn slot(root: &Root, address: &str) -> Option<String> {
    let (device, _) = address.rsplit_once('.')?;
    let mut slots = entries(&root.at("/sys/bus/pci/slots"));
    let slot = slots.find(|slot| text(&slot.join("address")).as_deref() == Some(device))?;
    Some(file_name(&slot))
}

/// Widths that a link can have. 0 and 255 are what a port without a device tells.
fn is_width(lanes: u64) -> bool {
    matches!(lanes, 1 | 2 | 4 | 8 | 12 | 16 | 32)
}

/// Megatransfers a second, of `8.0 GT/s PCIe`. Only the rates that there are.
fn gigatransfers(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let rate = match number {
        "2.5" => 2_500,
        "5" | "5.0" => 5_000,
        "8" | "8.0" => 8_000,
        "16" | "16.0" => 16_000,
        "32" | "32.0" => 32_000,
        "64" | "64.0" => 64_000,
        _ => return None,
    };
    unit.starts_with("GT/s").then_some(rate)
}

/// Megabits a second, of `6.0 Gbps` or `12.0 Gbit`.
fn gigabits(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let rate: f64 = number.parse().ok()?;
    let is_sane = rate > 0.0 && rate < 1000.0 && (unit.starts_with("Gb"));
    is_sane.then(|| (rate * 1000.0).round() as u64)
}

fn one_lane(rate: Option<u64>) -> LinkSpeed {
    LinkSpeed { rate, lanes: None }
}

/// The link of an ATA port.
fn sata(root: &Root, port: &str) -> Option<LinkHop> {
    let number = port.strip_prefix("ata")?;
    let link = root.at("/sys/class/ata_link").join(format!("link{number}"));
    let of = |file: &str| text(&link.join(file)).and_then(|text| gigabits(&text));
    let words = ata::identity(root, port);
    link.exists().then(|| LinkHop {
        bus: Bus::Sata,
        now: one_lane(of("sata_spd")),
        device_most: one_lane(words.and_then(|words| ata::most(&words))),
        // A limit by firmware or an option. Without one, as usual, libata calls it so.
        port_most: one_lane(of("hw_sata_spd_limit")),
        is_port_free: text(&link.join("hw_sata_spd_limit")).as_deref() == Some("<unknown>"),
        ..LinkHop::default()
    })
}

/// The link above a SAS drive or an expander: all phys of its port, as slow as the slowest.
fn sas(root: &Root, directory: &Path) -> Option<LinkHop> {
    let phys = entries(directory.parent()?).map(|path| file_name(&path));
    let phys = phys.filter(|name| name.starts_with("phy-"));
    let phys: Vec<PathBuf> = phys.map(|name| root.at("/sys/class/sas_phy").join(name)).collect();
    let least = |file: &str| LinkSpeed {
        rate: phys.iter().map(|phy| gigabits(&text(&phy.join(file))?)).min().flatten(),
        lanes: Some(phys.len() as u64),
    };
    (!phys.is_empty()).then(|| LinkHop {
        bus: Bus::Sas,
        now: least("negotiated_linkrate"),
        port_most: least("maximum_linkrate_hw"),
        ..LinkHop::default()
    })
}

/// The link above a USB device.
fn usb(directory: &Path) -> LinkHop {
    let rate = |at: &Path| {
        // 1.5 Mb/s is not a whole number, and no storage.
        let rates = [12, 480, 5_000, 10_000, 20_000];
        number(&at.join("speed")).filter(|rate| rates.contains(rate))
    };
    let read = |file: &str| fs::read(directory.join(file)).ok();
    let drivers = entries(directory).filter_map(|interface| linked(&interface.join("driver")));
    let driver = drivers.into_iter().find(|name| name == "uas" || name == "usb-storage");
    let now = rate(directory);
    let is_hub = text(&directory.join("bDeviceClass")).as_deref() == Some("09");
    LinkHop {
        bus: Bus::Usb,
        now: one_lane(now),
        // The half of a USB 3 hub that is for USB 2 tells what both can.
        // Which of the faster rates a device has, its capabilities say elsewhere.
        device_most: one_lane(
            read("bos_descriptors")
                .filter(|_| !is_hub)
                .and_then(|bytes| usb_most(&bytes))
                .map(|most| if most == 10_000 && now == Some(20_000) { 20_000 } else { most }),
        ),
        port_most: one_lane(directory.parent().and_then(rate)),
        queues: driver.is_some().then(|| has_uas(&read("descriptors")?)).flatten(),
        driver,
        ..LinkHop::default()
    }
}

/// The descriptors in `bytes`, of which each begins with its length and its type.
fn descriptors(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(*rest.first()?);
        let (one, after) = rest.split_at_checked(length).filter(|(one, _)| one.len() >= 2)?;
        rest = after;
        Some(one)
    })
}

/// What a USB device can on a faster port, by its device capabilities (USB 3.2, 9.6.2): one of
/// SuperSpeed, or also one of SuperSpeedPlus.
fn usb_most(bytes: &[u8]) -> Option<u64> {
    const CAPABILITY: u8 = 0x10;
    const HEADER: [u8; 2] = [5, 0x0f];
    if !bytes.starts_with(&HEADER) {
        return None;
    }
    let all = descriptors(bytes).filter(|one| one[1] == CAPABILITY);
    let kinds: Vec<u8> = all.filter_map(|one| one.get(2).copied()).collect();
    match (kinds.contains(&3), kinds.contains(&0x0a)) {
        (_, true) => Some(10_000),
        (true, false) => Some(5_000),
        (false, false) => None,
    }
}

/// Whether an interface is one of mass storage (class 8, subclass 6) by UAS (protocol 0x62); `None`
/// if these are no descriptors of a device.
fn has_uas(bytes: &[u8]) -> Option<bool> {
    const INTERFACE: u8 = 4;
    const DEVICE: [u8; 2] = [18, 1];
    if !bytes.starts_with(&DEVICE) {
        return None;
    }
    let mut interfaces = descriptors(bytes).filter(|one| one[1] == INTERFACE);
    Some(interfaces.any(|one| one.get(5..8) == Some(&[8, 6, 0x62])))
}

/// The bus of an MMC device. Its clock is only in debugfs, which is for root.
fn mmc(directory: &Path) -> Option<LinkHop> {
    let bus = match text(&directory.join("type"))?.as_str() {
        "MMC" => Bus::Emmc,
        "SD" => Bus::SdCard,
        _ => return None,
    };
    Some(LinkHop { bus, ..LinkHop::default() })
}

/// The link of the Fibre Channel host that reaches a remote port.
fn fibre_channel(root: &Root, directory: &Path) -> Option<(String, HopKind)> {
    let host = directory.ancestors().map(file_name).find(|name| {
        name.strip_prefix("host").is_some_and(|rest| rest.bytes().all(|it| it.is_ascii_digit()))
    })?;
    let speed = text(&root.at("/sys/class/fc_host").join(&host).join("speed"));
    let now = one_lane(speed.and_then(|text| gigabits(&text)));
    Some((host, HopKind::Link(LinkHop { bus: Bus::FibreChannel, now, ..LinkHop::default() })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rates_and_widths_that_exist_are_known() {
        assert_eq!(gigatransfers("8.0 GT/s PCIe"), Some(8_000));
        assert_eq!(gigatransfers("2.5 GT/s"), Some(2_500));
        for text in ["Unknown", "", "8.0", "7.0 GT/s", "8.0 MT/s", "-5 GT/s", "<unknown>"] {
            assert_eq!(gigatransfers(text), None, "{text}");
        }
        assert!(is_width(4) && !is_width(0) && !is_width(255) && !is_width(3));
        assert_eq!(gigabits("6.0 Gbps"), Some(6_000));
        assert_eq!(gigabits("22.5 Gbit"), Some(22_500));
        for text in ["<unknown>", "Unknown", "0 Gbit", "inf Gbit", "NaN Gbit", "6.0", "6.0 Mb"] {
            assert_eq!(gigabits(text), None, "{text}");
        }
    }

    #[test]
    fn a_usb_device_says_what_it_can() {
        let super_speed = [5, 15, 42, 0, 2, 7, 16, 2, 0, 0, 0, 0, 10, 16, 3, 0, 14, 0, 1, 10, 0, 0];
        assert_eq!(usb_most(&super_speed), Some(5_000));
        assert_eq!(usb_most(&super_speed[..12]), None);
        assert_eq!(usb_most(&[]), None);
        let bulk = [9, 4, 0, 0, 2, 8, 6, 0x50, 0];
        let uas = [9, 4, 0, 1, 4, 8, 6, 0x62, 0];
        let mut device = [0; 18];
        device[..2].copy_from_slice(&[18, 1]);
        assert_eq!(has_uas(&[&device[..], &bulk, &uas].concat()), Some(true));
        assert_eq!(has_uas(&[&device[..], &bulk].concat()), Some(false));
        assert_eq!((has_uas(&uas), has_uas(&[0, 0, 0])), (None, None));
    }
}
