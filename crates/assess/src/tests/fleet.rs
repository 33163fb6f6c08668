//! Hosts that should be alike.

use super::{each, sample};
use crate::finding::{Code, Verdict};
use crate::fleet::{Fleet, FleetRecords};
use model::evidence::{Limit, Limited};
use model::path::{ArrayHop, Hop, HopKind, LinkHop, LinkSpeed};
use model::record::{Record, Side};
use model::zoo;

/// Six hosts, whose disks differ by 1 %.
fn hosts() -> Vec<Record> {
    (0..6).map(host).collect()
}

fn host(number: u64) -> Record {
    let mut record = zoo::record_of_invocations(5, 2);
    record.header.host.name = format!("node{number}");
    record.header.plan.seed = number;
    slower(&mut record, 100 + number * 3 % 7 - 3);
    record
}

/// Makes all trials last this many per cent of what they did.
fn slower(record: &mut Record, percent: u64) {
    each(record, |trial| {
        for span in &mut sample(trial).spans {
            span.end_ns = span.start_ns + (span.end_ns - span.start_ns) * percent / 100;
        }
    });
}

/// Hosts with a planted flaw.
fn check(plant: impl FnOnce(&mut Vec<Record>)) -> Fleet {
    let mut hosts = hosts();
    plant(&mut hosts);
    judge(&hosts)
}

fn judge(hosts: &[Record]) -> Fleet {
    let mut gathering = FleetRecords::default();
    for (number, record) in hosts.iter().enumerate() {
        gathering.add(record, &format!("records/{number}.jsonl")).expect("they are few");
    }
    gathering.judge()
}

/// The odd hosts of the only case.
fn odd(fleet: &Fleet) -> Vec<&str> {
    assert_eq!(fleet.cases.len(), 1, "{fleet:#?}");
    fleet.cases[0].odd().map(|(host, ..)| fleet.hosts[host].called.as_str()).collect()
}

#[test]
fn equal_hosts_are_not_odd() {
    let fleet = check(|_| ());
    assert_eq!(odd(&fleet), [""; 0]);
    let case = &fleet.cases[0];
    assert_eq!((case.n, case.is_told()), (6, true));
    assert!(case.spread.is_some_and(|spread| (0.005..0.04).contains(&spread)), "{case:?}");
    let ratios = case.figures.iter().flatten().flat_map(|figure| figure.ratio);
    assert!(ratios.clone().count() == 6 && ratios.into_iter().all(|it| (it - 1.0).abs() < 0.05));
    assert_eq!((&fleet.differing[..], &fleet.alone[..]), (&[][..], &[][..]));
}

/// A disk with half the rate is found, with what its machine alone has.
#[test]
fn a_host_with_half_the_rate_is_odd_and_its_facts_are_told() {
    let fleet = check(|hosts| {
        slower(&mut hosts[4], 200);
        let storage = hosts[4].header.storage.as_mut().expect("it has one");
        storage.devices[0].scheduler = Some("bfq".to_string());
        let (device, group, what) = ("sda".to_string(), "/".to_string(), Limited::ReadBytes);
        storage.limits = vec![Limit { device, what, a_second: 1 << 20, group }];
        // What two hosts have is no fact of one. What the others do not know, neither.
        for host in [1, 4] {
            hosts[host].header.host.os = "Linux 5.10".to_string();
        }
        hosts[4].header.host.setup.governor = Some("powersave".to_string());
        hosts[2].header.host.setup.microcode = Some("0x1".to_string());
    });
    assert_eq!(odd(&fleet), ["node4"]);
    let (_, figure, found) = fleet.cases[0].odd().next().expect("there is one");
    assert!((found.ratio - 0.5).abs() < 0.02 && found.low < 0.5 && 0.5 < found.high, "{found:?}");
    assert!(found.high < 0.6 && found.p_holm < 0.001, "{found:?}");
    assert!((figure.ratio.expect("it counts") - 0.5).abs() < 0.02);
    let own: Vec<&str> = fleet.hosts[4].own.iter().map(|fact| fact.what.as_str()).collect();
    assert_eq!(own, ["limits"]);
    assert_eq!(fleet.hosts[4].own[0].own, "1048576 read bytes a second of the device");
    assert!(fleet.hosts[..4].iter().all(|host| host.own.is_empty()));
    let differing: Vec<&str> = fleet.differing.iter().map(|fact| fact.what.as_str()).collect();
    assert_eq!(differing, ["OS", "limits"]);
    let os: Vec<_> = fleet.differing[0].values.iter().map(|it| it.hosts.clone()).collect();
    assert_eq!(os, [vec![0, 2, 3, 5], vec![1, 4]]);
}

/// What holds a host back is a doubt of its figure, and the reason why it is odd.
#[test]
fn a_doubtful_figure_counts_and_a_void_one_does_not() {
    let fleet = check(|hosts| {
        slower(&mut hosts[4], 200);
        each(&mut hosts[4], |trial| trial.evidence.throttled_ns = Some(900_000_000));
    });
    assert_eq!(odd(&fleet), ["node4"]);
    let figure = fleet.cases[0].figures[4].as_ref().expect("it has one");
    assert_eq!((figure.verdict, &figure.doubts[..]), (Verdict::Doubtful, &[Code::Throttled][..]));
    assert_eq!(figure.own_doubts, figure.doubts);
    let all = check(|hosts| {
        for host in hosts.iter_mut() {
            each(host, |trial| trial.evidence.throttled_ns = Some(900_000_000));
        }
    });
    let figures = all.cases[0].figures.iter().flatten();
    assert!(figures.clone().count() == 6 && figures.into_iter().all(|it| it.own_doubts.is_empty()));
    let fleet = check(|hosts| {
        slower(&mut hosts[4], 10);
        each(&mut hosts[4], |trial| {
            trial.evidence.residency_before = trial.evidence.residency_after;
            trial.evidence.task_read_bytes = Some(0);
            trial.evidence.device_read_bytes = Some(0);
        });
    });
    assert_eq!(odd(&fleet), [""; 0]);
    let figure = fleet.cases[0].figures[4].as_ref().expect("it has one");
    assert_eq!((figure.verdict, figure.ratio, fleet.cases[0].n), (Verdict::Void, None, 5));
    assert!(figure.estimate.is_some(), "it is shown");
}

#[test]
fn three_hosts_are_too_few() {
    let fleet = check(|hosts| {
        hosts.truncate(3);
        slower(&mut hosts[2], 1000);
    });
    assert_eq!((odd(&fleet), fleet.cases[0].is_told()), (vec![], false));
}

/// Other recipes, no trials, no cases, copies: whatever is among the records, the rest is judged.
#[test]
fn odd_records_do_not_end_a_report() {
    let fleet = check(|hosts| {
        slower(&mut hosts[5], 300);
        hosts[0].trials.clear();
        hosts[1].header.plan.cases.clear();
        hosts[1].trials.clear();
        hosts.push(hosts[5].clone());
        let mut other = zoo::record_of(zoo::plain(), 3);
        (other.header.host.name, other.header.plan.recipe) = ("node5".into(), "other".into());
        other.damage.push("line 9".to_string());
        hosts.push(other);
        hosts.extend((10..13).map(host));
    });
    assert_eq!(odd(&fleet), ["node5 (5)"]);
    assert_eq!(fleet.copies, ["records/6.jsonl"]);
    let names: Vec<&str> = fleet.hosts.iter().map(|host| host.called.as_str()).collect();
    assert_eq!(names[4..8], ["node4", "node5 (5)", "node5 (7)", "node10"]);
    assert_eq!((fleet.alone.len(), fleet.alone[0].host), (1, 6));
    let figures = &fleet.cases[0].figures;
    let missing = |host: &usize| figures[*host].as_ref().is_none_or(|it| it.ratio.is_none());
    assert_eq!((0..figures.len()).filter(missing).collect::<Vec<_>>(), [0, 1, 6]);
    assert!(fleet.differing.iter().any(|fact| fact.what == "recipe"), "{:?}", fleet.differing);
    assert_eq!(judge(&[]).hosts, []);
}

/// The two sides of a gate have all but their side in common, and neither is a copy.
#[test]
fn the_sides_of_a_gate_are_two_runs() {
    let fleet = check(|hosts| {
        let mut other = hosts[0].clone();
        (hosts[0].header.side, other.header.side) = (Some(Side::A), Some(Side::B));
        hosts.push(other);
    });
    assert_eq!((fleet.copies.len(), fleet.hosts.len()), (0, check(|_| {}).hosts.len() + 1));
}

/// Machines of other sizes measure other cases, and equal ones meet.
#[test]
fn cases_meet_by_what_they_are() {
    let fleet = check(|hosts| {
        for host in [1, 3] {
            let mut work = *hosts[host].header.plan.cases[0].case.read().expect("it reads");
            work.io.time *= 2;
            hosts[host].header.plan.cases[0].case =
                model::case::Case::own(model::case::Work::Read(work));
        }
        let mut work = *hosts[5].header.plan.cases[0].case.read().expect("it reads");
        work.io.threads = 64;
        hosts[5].header.plan.cases[0].case = model::case::Case::own(model::case::Work::Read(work));
    });
    assert_eq!((fleet.cases.len(), fleet.cases[0].n), (1, 5));
    assert_eq!((fleet.alone.len(), fleet.alone[0].host), (1, 5));
}

/// The link of a host, and the state of its array, may be why it is odd. The names of their devices
/// are not.
#[test]
fn a_narrower_link_and_a_degraded_array_are_facts_of_an_odd_host() {
    let path = |record: &mut Record, number: usize, lanes: u64, degraded: u64| {
        let now = LinkSpeed { rate: Some(16_000), lanes: Some(lanes) };
        let link = HopKind::Link(LinkHop { now, ..LinkHop::default() });
        let (level, degraded) = (Some("raid1".to_string()), Some(degraded));
        let array = ArrayHop { level, disks: Some(2), degraded, ..ArrayHop::default() };
        let link = Hop::new(format!("0000:0{number}:00.0"), link, Vec::new());
        let top = Hop::new(format!("md{number}"), HopKind::Array(array), vec![link]);
        let storage = record.header.storage.as_mut().expect("the zoo has a storage");
        storage.path = Some(Box::new(top));
    };
    let facts = |narrow: u64, degraded: u64, is_guest: bool| {
        let fleet = check(|hosts| {
            for (number, host) in hosts.iter_mut().enumerate() {
                let is_odd = number == 4;
                let lanes = if is_odd { narrow } else { 4 };
                path(host, number, lanes, if is_odd { degraded } else { 0 });
                host.header.host.hypervisor = is_guest.then(|| "KVM".to_string());
            }
        });
        let own = fleet.hosts[4].own.iter();
        own.map(|fact| format!("{}: {} vs {}", fact.what, fact.own, fact.most)).collect::<Vec<_>>()
    };
    assert_eq!(facts(4, 0, false), [""; 0]);
    let narrow = "narrowest link: PCIe 4.0 x2 (3.94 GB/s) vs PCIe 4.0 x4 (7.88 GB/s)";
    let degraded = "array: raid1 of 2, lacks 1 vs raid1 of 2";
    assert_eq!(facts(2, 1, false), [narrow, degraded]);
    // A guest's links are made up, but its arrays are not.
    assert_eq!(facts(2, 1, true), [degraded]);
}
