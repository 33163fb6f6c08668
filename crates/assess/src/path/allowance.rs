//! How many bytes a second a hop can carry in one direction, by arithmetic.

use super::Allowance;
use model::evidence::{Limit, Limited};
use model::list::listed;
use model::path::{Bus, Hop, HopKind, LinkHop, LinkSpeed};
use model::units::{rate as bytes_per_second, scaled};

/// The most that a hop carries, in bytes a second; `None` if unknown, or if nothing limits it.
pub(super) fn of(kind: &HopKind) -> Option<f64> {
    match kind {
        HopKind::Link(link) if is_contradictory(link) => None,
        HopKind::Link(link) => of_link(link.bus, link.now),
        HopKind::Interface(interface) => {
            // Ethernet says what is left after its coding.
            Some(interface.speed? as f64 * 1e6 / 8.0)
        }
        _ => None,
    }
}

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

/// The most of bytes that control groups let a hop move in one direction, and which of them does.
pub(super) fn of_groups(hop: &Hop, direction: Direction) -> Option<&Limit> {
    let of_it = match direction {
        Direction::Read => Limited::ReadBytes,
        Direction::Write => Limited::WriteBytes,
    };
    let limits = hop.limits.iter().filter(|limit| limit.what == of_it);
    limits.min_by_key(|limit| limit.a_second)
}

/// The most that a hop carries in one direction, of what the hardware and control groups allow.
pub(super) fn of_hop(hop: &Hop, direction: Direction, is_guest: bool) -> Option<f64> {
    let link = of(&hop.kind).filter(|_| !is_guest);
    let group = of_groups(hop, direction).map(|limit| limit.a_second as f64);
    [link, group].into_iter().flatten().reduce(f64::min)
}

/// Whether a link says that it does more than one of its ends can: then nothing of it is known.
pub fn is_contradictory(link: &LinkHop) -> bool {
    let is_more = |now: Option<u64>, most: Option<u64>| now.zip(most).is_some_and(|(a, b)| a > b);
    let ends = [link.device_most, link.port_most];
    ends.iter().any(|end| is_more(link.now.rate, end.rate) || is_more(link.now.lanes, end.lanes))
}

/// The most that a link of this speed carries, after the coding of the line and before its
/// protocol.
pub(super) fn of_link(bus: Bus, speed: LinkSpeed) -> Option<f64> {
    let rate = speed.rate?;
    let lanes = match bus {
        Bus::Pcie | Bus::Sas => speed.lanes?,
        _ => 1,
    };
    Some(rate as f64 * 1e6 * lanes as f64 * coding(bus, rate)? / 8.0)
}

/// The share of bits that are data, by the standard of the bus; `None` for a rate it does not have.
fn coding(bus: Bus, rate: u64) -> Option<f64> {
    let eight_of_ten = 0.8;
    Some(match (bus, rate) {
        // PCI Express Base Specification 6.0, 4.2: a flit of 256 bytes has 236 of transactions.
        (Bus::Pcie, 2_500 | 5_000) => eight_of_ten,
        (Bus::Pcie, 8_000 | 16_000 | 32_000) => 128.0 / 130.0,
        (Bus::Pcie, 64_000) => 236.0 / 256.0,
        // Serial ATA 3.3, and SAS-3; SAS-4 has 128 of 150 bits at 22.5 Gb/s.
        (Bus::Sata, 1_500 | 3_000 | 6_000) => eight_of_ten,
        (Bus::Sas, 1_500 | 3_000 | 6_000 | 12_000) => eight_of_ten,
        (Bus::Sas, 22_500) => 128.0 / 150.0,
        // USB 2.0 stuffs bits, at worst 1 in 6, which depends on the data: all are counted here.
        (Bus::Usb, 12 | 480) => 1.0,
        (Bus::Usb, 5_000) => eight_of_ten,
        (Bus::Usb, 10_000 | 20_000) => 128.0 / 132.0,
        // A link of N Gbit carries N times 106.25 MB/s (FC-PI): 8 of 10 bits to 8, 64 of 66 above,
        // where the line is slower than its name by as much.
        (Bus::FibreChannel, 1_000..=128_000) => 0.85,
        _ => return None,
    })
}

/// A link in words: `PCIe 3.0 x2`, `SATA 6 Gb/s`.
pub fn link_words(bus: Bus, speed: LinkSpeed) -> Option<String> {
    let rate = speed.rate?;
    let gigabits = || match rate.is_multiple_of(1000) {
        true => format!("{} Gb/s", rate / 1000),
        false => format!("{} Gb/s", rate as f64 / 1000.0),
    };
    Some(match bus {
        Bus::Pcie => {
            let generation = match rate {
                2_500 => "1.0",
                5_000 => "2.0",
                8_000 => "3.0",
                16_000 => "4.0",
                32_000 => "5.0",
                64_000 => "6.0",
                _ => return None,
            };
            match speed.lanes {
                Some(lanes) => format!("PCIe {generation} x{lanes}"),
                None => format!("PCIe {generation}, lanes unknown"),
            }
        }
        Bus::Sas => match speed.lanes {
            Some(lanes) if lanes > 1 => format!("SAS {} x{lanes}", gigabits()),
            _ => format!("SAS {}", gigabits()),
        },
        Bus::Usb if rate < 1000 => format!("USB {rate} Mb/s"),
        _ => format!("{bus} {}", gigabits()),
    })
}

/// What limits a hop in words, without its name: `PCIe 3.0 x2`.
fn kind_words(kind: &HopKind) -> Option<String> {
    match kind {
        HopKind::Link(link) => link_words(link.bus, link.now),
        HopKind::Interface(interface) => {
            Some(format!("network at {}b/s", scaled(interface.speed? as f64 * 1e6)))
        }
        _ => None,
    }
}

/// What limits a hop to `most` in words: `PCIe 3.0 x2 of 0000:01:00.0`.
pub(super) fn words_of(hop: &Hop, most: f64) -> String {
    let is_it = |limit: &&Limit| limit.a_second as f64 == most;
    let group = [Direction::Read, Direction::Write].into_iter().filter_map(|it| of_groups(hop, it));
    match (kind_words(&hop.kind), group.clone().find(is_it)) {
        (Some(kind), _) => format!("{kind} of {}", hop.name),
        (None, Some(limit)) => format!("the control group {} on {}", limit.group, hop.name),
        (None, None) => hop.name.clone(),
    }
}

/// The narrowest hops below `top` in words, without their names: `2 × SATA 6 Gb/s (1.20 GB/s)`.
pub(super) fn kinds(top: &Hop, allows: &Allowance) -> String {
    let all = top.all();
    let named = |name: &String| all.iter().find(|hop| hop.name == *name);
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for kind in allows.hops.iter().filter_map(|name| kind_words(&named(name)?.kind)) {
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((kind, 1)),
        }
    }
    let told = |(kind, count): &(String, usize)| match count {
        1 => kind.clone(),
        count => format!("{count} × {kind}"),
    };
    let told: Vec<String> = kinds.iter().map(told).collect();
    format!("{} ({})", listed(&told), bytes_per_second(allows.bytes_per_second))
}

/// The most that both ends of a link can, in each respect; what one of them does not tell is
/// unknown.
pub(super) fn both(link: &LinkHop) -> LinkSpeed {
    let (device, port) = (link.device_most, link.port_most);
    let least = |one: Option<u64>, other: Option<u64>| Some(one?.min(other?));
    LinkSpeed { rate: least(device.rate, port.rate), lanes: least(device.lanes, port.lanes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed(rate: u64, lanes: u64) -> LinkSpeed {
        LinkSpeed { rate: Some(rate), lanes: Some(lanes) }
    }

    /// The figures that the standards' own texts, and `lspci` and the kernel's log, give.
    #[test]
    fn the_most_of_a_link_is_known_arithmetic() {
        let check = |bus, rate, lanes, expected: f64| {
            let found = of_link(bus, speed(rate, lanes)).expect("it is known");
            assert!((found / expected - 1.0).abs() < 0.001, "{bus} {rate} {lanes}: {found}");
        };
        check(Bus::Pcie, 2_500, 1, 250e6);
        check(Bus::Pcie, 8_000, 2, 1.969e9);
        check(Bus::Pcie, 16_000, 4, 7.877e9);
        check(Bus::Pcie, 32_000, 4, 15.754e9);
        check(Bus::Sata, 6_000, 1, 600e6);
        check(Bus::Sas, 12_000, 4, 4.8e9);
        check(Bus::Usb, 480, 1, 60e6);
        check(Bus::Usb, 10_000, 1, 1.2121e9);
        check(Bus::FibreChannel, 16_000, 1, 1.7e9);
        assert_eq!(of_link(Bus::Pcie, speed(7_000, 4)), None);
        assert_eq!(of_link(Bus::Pcie, LinkSpeed { rate: Some(8_000), lanes: None }), None);
        assert_eq!(of_link(Bus::Sata, LinkSpeed::default()), None);
    }

    #[test]
    fn a_link_has_the_name_that_people_use() {
        let check = |bus, rate, lanes, expected| {
            assert_eq!(link_words(bus, speed(rate, lanes)).as_deref(), Some(expected));
        };
        check(Bus::Pcie, 8_000, 2, "PCIe 3.0 x2");
        check(Bus::Sata, 1_500, 1, "SATA 1.5 Gb/s");
        check(Bus::Usb, 480, 1, "USB 480 Mb/s");
        check(Bus::Sas, 12_000, 4, "SAS 12 Gb/s x4");
        check(Bus::FibreChannel, 16_000, 1, "Fibre Channel 16 Gb/s");
        assert_eq!(link_words(Bus::Pcie, LinkSpeed::default()), None);
    }
}
