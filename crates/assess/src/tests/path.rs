//! What a path allows, and what is odd on it: each fault with its silent twins.

use crate::assess;
use crate::finding::Code;
use crate::path::{Allowance, allowed, judge_path, shared_hops};
use model::case::{Case, Work};
use model::evidence::{Limit, Limited};
use model::path::{
    ArrayHop, Bus, DiskHop, FileSystemHop, Hop, HopKind, InterfaceHop, LinkHop, LinkSpeed,
    MappedHop, MappedMaker, PartitionHop,
};
use model::record::Record;
use model::zoo;

fn speed(rate: u64, lanes: u64) -> LinkSpeed {
    LinkSpeed { rate: Some(rate), lanes: Some(lanes) }
}

fn pcie(now: LinkSpeed, device_most: LinkSpeed, port_most: LinkSpeed) -> HopKind {
    HopKind::Link(LinkHop { now, device_most, port_most, ..LinkHop::default() })
}

fn usb(driver: &str, queues: Option<bool>) -> HopKind {
    let now = LinkSpeed { rate: Some(5_000), lanes: None };
    let driver = Some(driver.to_string());
    HopKind::Link(LinkHop { bus: Bus::Usb, now, driver, queues, ..LinkHop::default() })
}

/// The codes of what is odd on the hops of `kinds`, each below the one before.
fn odd_on(kinds: Vec<HopKind>, is_guest: bool) -> Vec<Code> {
    let top = chain(kinds);
    let hops = judge_path(&top, is_guest).hops;
    hops.iter().flat_map(|hop| &hop.findings).map(|finding| finding.code).collect()
}

fn chain(kinds: Vec<HopKind>) -> Hop {
    let numbered = kinds.into_iter().enumerate().rev();
    let chain = numbered.fold(None, |below: Option<Hop>, (number, kind)| {
        Some(Hop::new(format!("hop {number}"), kind, below.into_iter().collect()))
    });
    chain.expect("there is a hop")
}

#[track_caller]
fn check(kind: HopKind, expected: &[Code]) {
    assert_eq!(odd_on(vec![kind], false), expected);
}

#[test]
fn a_link_is_odd_if_one_of_its_ends_can_do_more_than_it_may() {
    let (full, half) = (speed(16_000, 4), speed(8_000, 4));
    check(pcie(full, full, full), &[]);
    check(pcie(half, full, full), &[Code::LinkDowngraded]);
    check(pcie(speed(16_000, 1), full, full), &[Code::LinkDowngraded]);
    // The port is the limit, or the device, which is no fault.
    check(pcie(half, full, half), &[Code::SlowPort]);
    check(pcie(half, half, full), &[]);
    // Both: a slow port, and less than it can.
    check(pcie(speed(8_000, 1), full, half), &[Code::LinkDowngraded, Code::SlowPort]);
    // What is unknown is not odd, and in a guest nothing is.
    check(pcie(half, LinkSpeed::default(), full), &[]);
    check(pcie(half, full, LinkSpeed::default()), &[]);
    check(pcie(LinkSpeed::default(), full, full), &[]);
    assert_eq!(odd_on(vec![pcie(half, full, full), pcie(half, full, half)], true), []);
}

#[test]
fn a_driver_that_sends_one_command_at_a_time_is_odd_if_the_device_takes_more() {
    check(usb("usb-storage", Some(true)), &[Code::SlowPort]);
    check(usb("uas", Some(true)), &[]);
    check(usb("usb-storage", Some(false)), &[]);
    check(usb("usb-storage", None), &[]);
}

#[test]
fn an_array_is_odd_without_a_disk_and_while_it_is_busy_with_itself() {
    let array = |degraded, action: Option<&str>| {
        let action = action.map(str::to_string);
        HopKind::Array(ArrayHop { degraded, action, ..ArrayHop::default() })
    };
    check(array(Some(0), Some("idle")), &[]);
    check(array(None, None), &[]);
    check(array(Some(1), Some("idle")), &[Code::Degraded]);
    check(array(Some(1), Some("recover")), &[Code::Degraded, Code::Rebuilding]);
    check(array(Some(0), Some("frozen")), &[]);
    let btrfs = |missing, operation: Option<&str>| {
        let operation = operation.map(str::to_string);
        HopKind::FileSystem(FileSystemHop { missing, operation, ..FileSystemHop::default() })
    };
    check(btrfs(Some(0), None), &[]);
    check(btrfs(None, None), &[]);
    check(btrfs(Some(1), Some("balance")), &[Code::Degraded, Code::Rebuilding]);
    // No hypervisor hides these.
    assert_eq!(odd_on(vec![array(Some(1), None)], true), [Code::Degraded]);
    for silent in ["balance paused", "swap activate", "Unknown", "none"] {
        check(btrfs(Some(0), Some(silent)), &[]);
    }
}

#[test]
fn a_path_that_is_down_is_odd_below_multipath_only() {
    let disk = |state: Option<&str>| {
        let disk = DiskHop { state: state.map(str::to_string), ..DiskHop::default() };
        Hop::new("sda", HopKind::Disk(Box::new(disk)), Vec::new())
    };
    let codes = |maker, states: [Option<&str>; 2]| -> Vec<Code> {
        let kind = HopKind::Mapped(MappedHop { mapped: None, maker });
        let top = Hop::new("dm-0", kind, states.map(disk).to_vec());
        let hops = judge_path(&top, false).hops;
        hops.iter().flat_map(|hop| &hop.findings).map(|finding| finding.code).collect()
    };
    let multipath = |states| codes(MappedMaker::Multipath, states);
    assert_eq!(multipath([Some("running"), Some("offline")]), [Code::Degraded]);
    assert_eq!(multipath([Some("transport-offline"), None]), [Code::Degraded]);
    assert_eq!(multipath([Some("running"), Some("running")]), []);
    assert_eq!(multipath([Some("running"), None]), []);
    assert_eq!(multipath([Some("running"), Some("blocked")]), []);
    assert_eq!(codes(MappedMaker::Lvm, [Some("running"), Some("offline")]), []);
}

#[test]
fn a_partition_that_splits_stripes_is_odd_where_there_is_parity() {
    let check = |level: &str, start, stripe, expected: &[Code]| {
        let partition = HopKind::Partition(PartitionHop { start });
        let array = ArrayHop { level: Some(level.into()), stripe, ..ArrayHop::default() };
        assert_eq!(odd_on(vec![partition, HopKind::Array(array)], false), expected);
    };
    check("raid5", Some(1 << 20), Some(3 << 19), &[Code::Misaligned]);
    check("raid6", Some(1 << 20), Some(1 << 21), &[Code::Misaligned]);
    check("raid5", Some(3 << 20), Some(3 << 19), &[]);
    check("raid5", Some(1 << 20), Some(1 << 20), &[]);
    check("raid0", Some(1 << 20), Some(3 << 19), &[]);
    check("raid5", Some(1 << 20), None, &[]);
    check("raid5", None, Some(3 << 19), &[]);
}

#[test]
fn a_write_cache_that_is_off_is_odd_where_the_disk_turns() {
    let check = |rotational, cache_off, is_guest, expected: &[Code]| {
        let disk = DiskHop { rotational, cache_off, ..DiskHop::default() };
        assert_eq!(odd_on(vec![HopKind::Disk(Box::new(disk))], is_guest), expected);
    };
    check(Some(true), Some(true), false, &[Code::WriteCacheOff]);
    check(Some(true), Some(false), false, &[]);
    check(Some(true), None, false, &[]);
    // An SSD with capacitors loses nothing by it, and no SSD tells.
    check(Some(false), Some(true), false, &[]);
    check(None, Some(true), false, &[]);
    check(Some(true), Some(true), true, &[]);
}

#[test]
fn a_partition_in_the_middle_of_a_block_is_odd() {
    let check = |start, physical_block, alignment_offset, expected: &[Code]| {
        let partition = HopKind::Partition(PartitionHop { start });
        let disk = DiskHop { physical_block, alignment_offset, ..DiskHop::default() };
        assert_eq!(odd_on(vec![partition, HopKind::Disk(Box::new(disk))], false), expected);
    };
    check(Some(63 * 512), Some(4096), Some(0), &[Code::Misaligned]);
    check(Some(63 * 512), Some(512), Some(0), &[]);
    check(Some(1 << 20), Some(4096), None, &[]);
    // Some disks shift their blocks so that sector 63 begins one.
    check(Some(63 * 512), Some(4096), Some(3584), &[]);
    check(None, Some(4096), Some(0), &[]);
    check(Some(63 * 512), None, Some(0), &[]);
}

#[test]
fn a_snapshot_and_a_drive_at_its_limit_are_odd() {
    let mapped = |maker| HopKind::Mapped(MappedHop { mapped: None, maker });
    check(mapped(MappedMaker::Snapshot), &[Code::CopyOnWrite]);
    check(mapped(MappedMaker::Lvm), &[]);
    let drive = |temperature, temperature_most| {
        HopKind::Disk(Box::new(DiskHop { temperature, temperature_most, ..DiskHop::default() }))
    };
    check(drive(Some(85_000), Some(84_850)), &[Code::Hot]);
    check(drive(Some(40_000), Some(84_850)), &[]);
    check(drive(None, Some(84_850)), &[]);
    // Limits that some drives tell, and no drive has.
    check(drive(Some(40_000), Some(0)), &[]);
    check(drive(Some(70_000), Some(65_261_850)), &[]);
}

#[test]
fn a_run_has_a_note_on_the_write_cache_if_it_writes() {
    let disk = DiskHop { rotational: Some(true), cache_off: Some(true), ..DiskHop::default() };
    let file_system = FileSystemHop { missing: Some(1), ..FileSystemHop::default() };
    let top = chain(vec![HopKind::FileSystem(file_system), HopKind::Disk(Box::new(disk))]);
    let codes = |mut record: Record| -> Vec<Code> {
        record.header.host.hypervisor = None;
        let storage = record.header.storage.as_mut().expect("it is on a disk");
        storage.path = Some(Box::new(top.clone()));
        let found = assess(&record).findings;
        let of_path = [Code::Degraded, Code::WriteCacheOff];
        found.iter().map(|found| found.finding.code).filter(|it| of_path.contains(it)).collect()
    };
    let mut writes = zoo::record();
    writes.header.plan.cases[0].case = Case::own(Work::Write(zoo::plain_write()));
    assert_eq!(codes(zoo::record()), [Code::Degraded]);
    assert_eq!(codes(writes), [Code::Degraded, Code::WriteCacheOff]);
}

/// What a path allows, in MB/s.
#[track_caller]
fn allows(top: &Hop, is_guest: bool, expected: Option<u64>) {
    let found = judge_path(top, is_guest).allows;
    assert_eq!(found.map(|found| (found.bytes_per_second / 1e6) as u64), expected);
}

#[test]
fn a_path_allows_what_its_narrowest_link_carries() {
    let (full, half) = (speed(16_000, 4), speed(8_000, 2));
    let link = |speed| pcie(speed, full, full);
    let disk = || HopKind::Disk(Box::default());
    allows(&chain(vec![disk(), link(full), link(half)]), false, Some(1969));
    allows(&chain(vec![disk(), link(half), link(full)]), true, None);
    allows(&chain(vec![disk()]), false, None);
    let interface = InterfaceHop { speed: Some(10_000), ..InterfaceHop::default() };
    allows(&chain(vec![HopKind::Interface(interface)]), false, Some(1250));
}

#[test]
fn disks_side_by_side_allow_the_sum_unless_they_share_a_link_or_one_is_unknown() {
    let half = speed(8_000, 2);
    let leg = |name: &str, shared: Option<&str>| {
        let kind = || pcie(half, half, half);
        let below = shared.map(|shared| Hop::new(shared, kind(), Vec::new()));
        Hop::new(name, kind(), below.into_iter().collect())
    };
    let array = |legs| Hop::new("md0", HopKind::Array(ArrayHop::default()), legs);
    allows(&array(vec![leg("a", None), leg("b", None)]), false, Some(3938));
    allows(&array(vec![leg("a", Some("hba")), leg("b", Some("hba"))]), false, Some(1969));
    let lost = DiskHop { state: Some("offline".into()), ..DiskHop::default() };
    let lost = Hop::new("d", HopKind::Disk(Box::new(lost)), vec![leg("b", None)]);
    allows(&array(vec![leg("a", None), lost]), false, Some(1969));
    let unknown = Hop::new("c", HopKind::Disk(Box::default()), Vec::new());
    allows(&array(vec![leg("a", None), unknown.clone()]), false, None);
    // In groups, each of which shares a link, and nested.
    let groups = || vec![leg("a", Some("x")), leg("b", Some("x")), leg("c", Some("y"))];
    allows(&array(groups()), false, Some(3938));
    let nested = Hop::new("md1", HopKind::Array(ArrayHop::default()), groups());
    allows(&array(vec![nested, leg("d", Some("y"))]), false, Some(3938));
    let wire = InterfaceHop { speed: Some(10_000), ..InterfaceHop::default() };
    let wire = || vec![Hop::new("eth0", HopKind::Interface(wire.clone()), Vec::new())];
    let remote = |name: &str| Hop::new(name, HopKind::Disk(Box::default()), wire());
    allows(&array(vec![remote("e"), remote("f")]), false, Some(1250));
    // A spare gives nothing, and a link that only it does not pass is shared nevertheless.
    let with_spare = |legs| {
        let array = ArrayHop { spares: vec!["c".into()], ..ArrayHop::default() };
        Hop::new("md0", HopKind::Array(array), legs)
    };
    allows(&with_spare(vec![leg("a", None), unknown.clone()]), false, Some(1969));
    let both = vec![leg("a", Some("hba")), leg("b", Some("hba")), unknown];
    allows(&with_spare(both), false, Some(1969));
}

/// Two functions of one card are behind one port, whatever they are called.
#[test]
fn functions_of_one_card_share_its_link() {
    let half = speed(8_000, 2);
    let disk = |name: &str, function: &str, port: &str| {
        let link = LinkHop { now: half, port: Some(port.to_string()), ..LinkHop::default() };
        let link = Hop::new(function, HopKind::Link(link), Vec::new());
        Hop::new(name, HopKind::Disk(Box::default()), vec![link])
    };
    let both = |ports: [&str; 2]| {
        [disk("a", "0000:01:00.0", ports[0]), disk("b", "0000:01:00.1", ports[1])]
    };
    let [one, other] = both(["0000:00:01.0", "0000:00:01.0"]);
    let words = "[0, 1] a link: at most 1.97 GB/s: PCIe 3.0 x2 of 0000:01:00.0, which is that of \
                 0000:01:00.1, too";
    assert_eq!(shared(&[&one, &other], false), [words]);
    let array =
        |disks: [Hop; 2]| Hop::new("md0", HopKind::Array(ArrayHop::default()), disks.to_vec());
    allows(&array([one, other]), false, Some(1969));
    let apart = both(["0000:00:01.0", "0000:00:02.0"]);
    assert_eq!(shared(&[&apart[0], &apart[1]], false), [""; 0]);
    allows(&array(apart), false, Some(3938));
}

/// A link that does more than an end can says something wrong: what, nobody knows.
#[test]
fn a_link_that_contradicts_itself_limits_nothing() {
    let (full, half) = (speed(16_000, 4), speed(8_000, 2));
    for wrong in [pcie(full, half, full), pcie(full, full, half), pcie(speed(8_000, 4), half, full)]
    {
        allows(&chain(vec![HopKind::Disk(Box::default()), wrong.clone()]), false, None);
        check(wrong, &[]);
    }
    allows(&chain(vec![pcie(full, full, full)]), false, Some(7876));
    allows(&chain(vec![pcie(full, full, LinkSpeed::default())]), false, Some(7876));
}

/// What a path allows reads and writes, in words.
fn both_ways(top: &Hop, is_guest: bool) -> [String; 2] {
    let judged = judge_path(top, is_guest);
    let words = |most: Option<Allowance>| most.map_or("unknown".to_string(), |it| it.words());
    [words(judged.allows), words(judged.allows_writes)]
}

#[test]
fn a_control_group_limits_each_direction_by_itself() {
    let half = speed(8_000, 2);
    let limited = |limits: &[(Limited, u64)], is_linked: bool| {
        let limit = |(what, a_second): &(Limited, u64)| Limit {
            device: "sda".to_string(),
            what: *what,
            a_second: *a_second,
            group: "/g".to_string(),
        };
        let link = is_linked.then(|| Hop::new("port", pcie(half, half, half), Vec::new()));
        let disk = Hop::new("sda", HopKind::Disk(Box::default()), link.into_iter().collect());
        Hop { limits: limits.iter().map(limit).collect(), ..disk }
    };
    let link = "at most 1.97 GB/s: PCIe 3.0 x2 of port";
    let group = |rate: &str| format!("at most {rate}: the control group /g on sda");
    let (reads, writes) = ((Limited::ReadBytes, 1_000_000), (Limited::WriteBytes, 500_000));
    let check = |limits: &[(Limited, u64)], expected: [&str; 2]| {
        assert_eq!(both_ways(&limited(limits, true), false), expected, "{limits:?}");
    };
    check(&[], [link, link]);
    check(&[reads], [&group("1.00 MB/s"), link]);
    check(&[writes], [link, &group("500 kB/s")]);
    check(&[reads, writes], [&group("1.00 MB/s"), &group("500 kB/s")]);
    // The tightest of several groups, one that is wider than the link, and counts of requests.
    check(&[(Limited::ReadBytes, 3_000_000), reads], [&group("1.00 MB/s"), link]);
    check(&[(Limited::ReadBytes, 1 << 40)], [link, link]);
    check(&[(Limited::Reads, 5), (Limited::Writes, 5)], [link, link]);
    // No hypervisor makes up what this OS limits, and an unknown link may be wider.
    let guest = both_ways(&limited(&[reads], true), true);
    assert_eq!(guest, [group("1.00 MB/s"), "unknown".to_string()]);
    assert_eq!(both_ways(&limited(&[reads], false), false)[0], group("1.00 MB/s"));
    // What links carry, to which rows are held, is told without groups.
    let links = allowed(&limited(&[reads, writes], true), false).expect("it is known");
    assert_eq!(links.words(), link);
    assert_eq!(allowed(&limited(&[reads], true), true), None);
}

/// What two ways lead to is told once, and counts once on either.
#[test]
fn a_device_that_two_ways_lead_to_is_one() {
    let (half, full) = (speed(8_000, 2), speed(16_000, 4));
    let link = |name: &str, now| Hop::new(name, pcie(now, full, full), Vec::new());
    let array = |name: &str, below| Hop::new(name, HopKind::Array(ArrayHop::default()), below);
    let again = |name: &str| Hop::new(name, HopKind::Again, Vec::new());
    let disk = |below| Hop::new("sda", HopKind::Disk(Box::default()), below);
    let twice = |below| array("dm-0", vec![array("dm-1", vec![disk(below)]), again("sda")]);
    allows(&twice(vec![link("a", half)]), false, Some(1969));
    allows(&twice(Vec::new()), false, None);
    // What is named, but told nowhere, is unknown.
    allows(&array("dm-0", vec![disk(vec![link("a", half)]), again("sdb")]), false, None);
    // 2^20 ways.
    let mut top = array("dm-20", vec![disk(vec![link("a", half)]), again("sda")]);
    for number in 0..20 {
        let name = top.name.clone();
        top = array(&format!("dm-{number}"), vec![top, again(&name)]);
    }
    allows(&top, false, Some(1969));
    assert_eq!(shared(&[&top, &disk(vec![link("a", half)])], false).len(), 1);
}

#[test]
fn each_partition_of_a_disk_is_judged() {
    let disk = DiskHop { physical_block: Some(4096), ..DiskHop::default() };
    let disk = Hop::new("sda", HopKind::Disk(Box::new(disk)), Vec::new());
    let again = Hop::new("sda", HopKind::Again, Vec::new());
    let codes = |starts: [u64; 2]| -> Vec<Code> {
        let partition = |(start, disk): (u64, Hop)| {
            Hop::new("sda1", HopKind::Partition(PartitionHop { start: Some(start) }), vec![disk])
        };
        let below = starts.into_iter().zip([disk.clone(), again.clone()]).map(partition);
        let top = Hop::new("dm-0", HopKind::Mapped(MappedHop::default()), below.collect());
        let hops = judge_path(&top, false).hops;
        hops.iter().flat_map(|hop| &hop.findings).map(|finding| finding.code).collect()
    };
    assert_eq!(codes([1 << 20, 1 << 20]), []);
    assert_eq!(codes([1 << 20, 63 * 512]), [Code::Misaligned]);
    assert_eq!(codes([63 * 512, 63 * 512]), [Code::Misaligned, Code::Misaligned]);
}

/// What several paths have in common, in words, each with the places of the paths.
fn shared(tops: &[&Hop], is_guest: bool) -> Vec<String> {
    let shared = shared_hops(tops, is_guest).into_iter();
    shared.map(|shared| format!("{:?} {}", shared.paths, shared.words())).collect()
}

#[test]
fn paths_share_disks_and_links_that_lie_on_both() {
    let half = speed(8_000, 2);
    let link = |name: &str, below| Hop::new(name, pcie(half, half, half), below);
    let disk = |name: &str, below| Hop::new(name, HopKind::Disk(Box::default()), below);
    let mount = |name: &str, below| Hop::new(name, HopKind::FileSystem(Default::default()), below);
    let on_a = || disk("a", vec![link("port-a", Vec::new())]);
    let on_b = || disk("b", vec![link("port-b", Vec::new())]);
    let (home, work) = (mount("/home", vec![on_a()]), mount("/work", vec![on_a()]));
    let (other, both) = (mount("/other", vec![on_b()]), mount("/both", vec![on_a(), on_b()]));
    let a = "the disk a (at most 1.97 GB/s: PCIe 3.0 x2 of port-a)";
    assert_eq!(shared(&[&home, &work], false), [format!("[0, 1] {a}")]);
    assert_eq!(shared(&[&home, &other], false), [""; 0]);
    assert_eq!(shared(&[&home], false), [""; 0]);
    // A guest's links are made up, but a disk is a disk.
    assert_eq!(shared(&[&home, &work], true), ["[0, 1] the disk a"]);
    let with = format!("[0, 2] {a}");
    let b = "[1, 2] the disk b (at most 1.97 GB/s: PCIe 3.0 x2 of port-b)".to_string();
    assert_eq!(shared(&[&home, &other, &both], false), [with, b]);
    // Both of its disks together.
    let same = mount("/same", vec![on_a(), on_b()]);
    let told = shared(&[&both, &same], false).concat();
    let words = "[0, 1] the disks a and b (at most 3.94 GB/s: 2 links together: ";
    assert!(told.starts_with(words), "{told}");
    // Only a link further down.
    let behind = |name: &str| disk(name, vec![link("switch", Vec::new())]);
    let words = "[0, 1] a link: at most 1.97 GB/s: PCIe 3.0 x2 of switch";
    assert_eq!(shared(&[&behind("c"), &behind("d")], false), [words]);
    assert_eq!(shared(&[&behind("c"), &behind("d")], true), [""; 0]);
    // Two such links side by side carry what both do.
    let on_both = |one: &str, other: &str| {
        let behind = |name, port| disk(name, vec![link(port, Vec::new())]);
        mount("/array", vec![behind(one, "x"), behind(other, "y")])
    };
    let told = shared(&[&on_both("c", "d"), &on_both("e", "f")], false).concat();
    assert!(told.starts_with("[0, 1] links: at most 3.94 GB/s: 2 links together: "), "{told}");
}

/// Most SATA ports tell no limit: then the drive alone says that its link could do more.
#[test]
fn a_sata_link_below_what_its_drive_can_is_odd_at_a_port_without_a_limit() {
    let one = |rate| LinkSpeed { rate: Some(rate), lanes: None };
    let check = |is_port_free, now, expected: &[Code]| {
        let (now, device_most) = (one(now), one(6_000));
        let link = LinkHop { bus: Bus::Sata, now, device_most, is_port_free, ..LinkHop::default() };
        assert_eq!(odd_on(vec![HopKind::Link(link)], false), expected);
    };
    check(true, 3_000, &[Code::LinkDowngraded]);
    check(true, 6_000, &[]);
    check(false, 3_000, &[]);
}

/// What is nearer to the disk is narrower already, such as a SATA drive behind a chipset.
#[test]
fn a_port_that_limits_nothing_is_not_odd() {
    let fast = pcie(speed(8_000, 4), speed(8_000, 8), speed(8_000, 4));
    let sata = LinkSpeed { rate: Some(6_000), lanes: None };
    let sata = LinkHop { bus: Bus::Sata, now: sata, ..LinkHop::default() };
    assert_eq!(odd_on(vec![fast.clone()], false), [Code::SlowPort]);
    assert_eq!(odd_on(vec![HopKind::Link(sata), fast], false), []);
}
