//! Rows against what the links on the path to their device carry. Each fault has its silent twin.

use super::commands::{self, READS_COLD, READS_WARM, WRITES_COLD, WRITES_WARM, first, on_two};
use super::mixed::{mix, mixed};
use super::writing::{direct as direct_write, flawless_write};
use super::*;
use crate::finding::{Code, Severity};
use model::case::Sync;
use model::evidence::StorageTraffic;
use model::host::{Medium, Storage};
use model::path::{ArrayHop, Bus, Hop, HopKind, InterfaceHop, LinkHop, LinkSpeed};
use model::zoo::commands::INPUT;

/// A disk behind a network of so many Mb/s: the flawless rows get about 1.07 GB/s.
pub(super) fn behind(megabits: u64) -> Hop {
    let speed = Some(megabits);
    let interface = HopKind::Interface(InterfaceHop { speed, ..InterfaceHop::default() });
    disk(vec![Hop::new("eth0", interface, Vec::new())])
}

fn disk(below: Vec<Hop>) -> Hop {
    Hop::new("sda", HopKind::Disk(Box::default()), below)
}

fn storage(record: &mut Record) -> &mut Storage {
    record.header.storage.as_mut().expect("the zoo has a storage")
}

fn on(mut record: Record, path: Hop) -> Record {
    storage(&mut record).path = Some(Box::new(path));
    record
}

pub(super) fn reads(path: Hop) -> Record {
    on(flawless(work(Cache::Direct)), path)
}

/// The share of its links that the first row gets, in per cent.
fn share(record: &Record) -> Option<u64> {
    let link = assess(record).cases.remove(0).link?;
    Some((link.share * 100.0).round() as u64)
}

#[test]
fn a_row_of_the_device_has_its_share_of_the_narrowest_link() {
    assert_eq!(share(&reads(behind(10_000))), Some(86));
    // Nothing is known of a guest's links, of a path without a speed, or of an older record.
    let mut guest = reads(behind(10_000));
    guest.header.host.hypervisor = Some("KVM".to_string());
    assert_eq!(share(&guest), None);
    let unknown = HopKind::Link(LinkHop { bus: Bus::Sata, ..LinkHop::default() });
    assert_eq!(share(&reads(disk(vec![Hop::new("ata1", unknown, Vec::new())]))), None);
    assert_eq!(share(&flawless(work(Cache::Direct))), None);
    // What a cache served passed no link.
    assert_eq!(share(&on(flawless(work(Cache::Warm)), behind(10_000))), None);
    // A limit is that of one direction.
    assert_eq!(share(&on(mixed(mix(Sync::Dsync)), behind(10_000))), None);
}

#[test]
fn what_is_written_is_held_against_links_only_if_it_is_written_once() {
    let array = |level: &str| {
        let array = ArrayHop { level: Some(level.to_string()), ..ArrayHop::default() };
        Hop::new("md0", HopKind::Array(array), vec![behind(20_000)])
    };
    let share_on = |path| share(&on(flawless_write(direct_write()), path));
    assert!(share_on(behind(20_000)).is_some());
    assert_eq!(share_on(array("raid0")), share_on(behind(20_000)));
    assert_eq!(share_on(array("raid1")), None);
    assert!(share(&reads(array("raid1"))).is_some());
}

#[test]
fn links_bound_a_row_that_surely_gets_nearly_all_that_they_carry() {
    let bounds =
        |record: &Record| assess(record).cases[0].link.as_ref().is_some_and(|it| it.bounds());
    assert!(bounds(&reads(behind(9_500))));
    assert!(!bounds(&reads(behind(20_000))));
    assert!(!bounds(&reads(behind(5_000))));
    // Without an interval, nothing is sure.
    let mut few = reads(behind(9_500));
    few.trials.retain(|trial| trial.round < 3);
    assert!(!bounds(&few));
}

#[test]
fn a_row_above_its_links_is_in_doubt_and_void_if_the_devices_moved_less() {
    check(reads(behind(9_500)), |_| {}, "sound device:");
    let fast = || reads(behind(5_000));
    check(fast(), |_| {}, "doubtful device: FasterThanLink doubt");
    let message = |record: &Record| {
        let findings = assess(record).cases.remove(0).findings;
        let found = findings.into_iter().find(|it| it.code == Code::FasterThanLink);
        found.map(|found| (found.severity, found.message)).expect("it is above its link")
    };
    let (_, told) = message(&fast());
    assert!(told.contains("at most 625 MB/s: network at 5.00 Gb/s of eth0"), "{told}");
    assert!(told.contains("counters say that these bytes passed"), "{told}");
    // The worker's own counter says that all came from below, but the devices moved a half.
    let less = |record: &mut Record| {
        evidence(record, |it| it.device_read_bytes = it.device_read_bytes.map(|all| all / 2));
    };
    let mut halved = fast();
    less(&mut halved);
    let (severity, told) = message(&halved);
    assert_eq!(severity, Severity::Void, "{told}");
    assert!(told.contains("moved at most 50.0 % of these bytes"), "{told}");
    // Nothing is known without an interval, and nothing of a guest's link.
    check(
        fast(),
        |record| record.trials.retain(|trial| trial.round < 3),
        "doubtful device: TooFew doubt",
    );
    let guest = |record: &mut Record| record.header.host.hypervisor = Some("KVM".to_string());
    check(fast(), guest, "sound device:");
}

/// Reads past the page cache of a server's file pass the network.
#[test]
fn no_counter_shows_a_server_but_its_network_bounds_it() {
    let unseen = |record: &mut Record| storage(record).medium = Medium::Unseen;
    let doubtful = "doubtful unverified: Unverified doubt";
    check(reads(behind(10_000)), unseen, doubtful);
    check(
        reads(behind(1_000)),
        unseen,
        "doubtful unverified: Unverified doubt, FasterThanLink doubt",
    );
    let mut warm = on(flawless(work(Cache::Warm)), behind(1_000));
    unseen(&mut warm);
    assert_eq!(share(&warm), None);
    let mut server = reads(behind(10_000));
    unseen(&mut server);
    assert_eq!(share(&server), Some(86));
}

/// What devices read or wrote for a command is held against their links, over the whole of its
/// time: it takes 140 ms for 64 MiB, and 210 ms for 32 MiB that are durable then.
#[test]
fn a_command_has_its_share_of_the_links_that_all_its_bytes_passed() {
    let on_link = |case| on(first(case), behind(10_000));
    assert_eq!(share(&on_link(READS_COLD)), Some(38));
    assert_eq!(share(&on_link(WRITES_WARM)), Some(13));
    // What a cache served passed no link, and a limit is that of one direction.
    assert_eq!(share(&on_link(READS_WARM)), None);
    assert_eq!(share(&on_link(WRITES_COLD)), None);
    // What was not durable may have passed later.
    let mut late = on_link(WRITES_WARM);
    commands::facts(&mut late, |facts| facts.syncs.fdatasync = 0);
    assert_eq!(share(&late), None);
    let array = |level: &str, case| {
        let array = ArrayHop { level: Some(level.to_string()), ..ArrayHop::default() };
        share(&on(first(case), Hop::new("md0", HopKind::Array(array), vec![behind(10_000)])))
    };
    assert_eq!(array("raid1", READS_COLD), Some(38));
    assert_eq!((array("raid1", WRITES_WARM), array("raid0", WRITES_WARM)), (None, Some(13)));
    // Others read, too, and of what it is not certain, nothing is said.
    let planted = |plant: fn(&mut Record)| {
        let mut record = on_link(READS_COLD);
        plant(&mut record);
        share(&record)
    };
    let with_others = |record: &mut Record| {
        commands::evidence(record, |it| it.device_read_bytes = Some(3 * INPUT));
    };
    assert_eq!(planted(with_others), Some(38));
    let unseen: [fn(&mut Record); 4] = [
        |record| record.header.host.hypervisor = Some("KVM".to_string()),
        |record| commands::evidence(record, |it| it.device_read_bytes = None),
        |record| commands::facts(record, |facts| facts.sampled = true),
        |record| record.header.rehearsals.clear(),
    ];
    assert_eq!(unseen.map(planted), [None; 4]);
}

#[test]
fn a_command_is_held_against_the_links_of_the_storage_that_has_its_file() {
    let traffic = StorageTraffic { read_bytes: Some(INPUT), ..StorageTraffic::default() };
    let mut record = on(on_two(READS_COLD, traffic), behind(1_000));
    record.header.further_storages[0].path = Some(Box::new(behind(10_000)));
    commands::files(&mut record, |file| file.device += u64::from(file.inode < 9));
    assert_eq!(share(&record), Some(38));
    record.header.further_storages[0].path = None;
    assert_eq!(share(&record), None);
}

#[test]
fn a_command_above_its_links_is_in_doubt() {
    let planted = |megabits, case| on(first(case), behind(megabits));
    check(planted(10_000, READS_COLD), |_| {}, "sound device:");
    check(planted(2_000, READS_COLD), |_| {}, "doubtful device: FasterThanLink doubt");
    let found = assess(&planted(2_000, READS_COLD)).cases.remove(0).findings;
    let told = &found[0].message;
    assert!(told.contains("counters say that these bytes passed"), "{told}");
    check(planted(1_000, WRITES_WARM), |_| {}, "doubtful page-cache: FasterThanLink doubt");
    check(planted(2_000, READS_WARM), |_| {}, "sound page-cache:");
}

fn sata(below: Vec<Hop>) -> Vec<Hop> {
    let now = LinkSpeed { rate: Some(6_000), lanes: None };
    vec![Hop::new(
        "ata1",
        HopKind::Link(LinkHop { bus: Bus::Sata, now, ..LinkHop::default() }),
        below,
    )]
}

#[test]
fn storages_of_a_run_that_share_a_disk_or_a_link_are_told() {
    let told = |other: Hop| {
        let mut record = reads(disk(sata(Vec::new())));
        let directory = "/copy".into();
        let path = Some(Box::new(other));
        record.header.source_storage = Some(Storage { directory, path, ..zoo::storage() });
        let found = assess(&record).findings;
        let found = found.into_iter().find(|it| it.finding.code == Code::SharedPath);
        found.map(|found| found.finding.message)
    };
    let same = told(disk(sata(Vec::new()))).expect("it is one disk");
    assert!(same.contains("'/data' and '/copy' share the disk sda (at most 600 MB/s"), "{same}");
    let link = told(Hop::new("sdb", HopKind::Disk(Box::default()), sata(Vec::new())));
    let link = link.expect("it is one link");
    assert!(link.contains("share a link: at most 600 MB/s: SATA 6 Gb/s of ata1"), "{link}");
    assert_eq!(told(Hop::new("sdb", HopKind::Disk(Box::default()), Vec::new())), None);
    assert!(!assess(&reads(disk(sata(Vec::new())))).codes().contains(&Code::SharedPath));
}
