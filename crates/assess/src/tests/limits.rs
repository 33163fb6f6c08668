//! Limits of control groups on devices, held against what each group did there.

use super::interference::beside;
use super::mixed::{mix, mixed};
use super::names::{cold, durable, names};
use super::open_loop::open;
use super::writing::{direct, flawless_write, unsynced};
use super::*;
use model::case::{Allocation, Call, Io, Op, Sync, WriteEngine, WriteWork};
use model::evidence::{GroupTraffic, Limit, Limited};
use model::layer::{Amplification, Counts, Layer};

const GROUP: &str = "/sys/fs/cgroup/slow";
const DEVICE: &str = "vda";
/// What the limits of these tests allow each second.
const ALLOWED: u64 = 1_000_000;

fn limit(what: Limited) -> Limit {
    let (device, group) = (DEVICE.to_string(), GROUP.to_string());
    Limit { device, what, a_second: ALLOWED, group }
}

/// Limits `what` on a disk below the case's own, and lets the group use this share of it.
fn used(what: Limited, share: f64) -> impl Fn(&mut Record) {
    move |record| {
        let storage = record.header.storage.as_mut().expect("the zoo has a storage");
        storage.limits = vec![limit(what)];
        evidence(record, |evidence| {
            let seconds = evidence.window_ns as f64 / 1e9;
            evidence.group_traffic = vec![traffic(what, (share * ALLOWED as f64 * seconds) as u64)];
        });
    }
}

fn traffic(what: Limited, amount: u64) -> GroupTraffic {
    let (device, group) = (DEVICE.to_string(), GROUP.to_string());
    let mut traffic = GroupTraffic { device, group, ..GroupTraffic::default() };
    *match what {
        Limited::ReadBytes => &mut traffic.read_bytes,
        Limited::WriteBytes => &mut traffic.write_bytes,
        Limited::Reads => &mut traffic.reads,
        Limited::Writes => &mut traffic.writes,
    } = amount;
    traffic
}

const DOUBT: &str = "doubtful device: Throttled doubt";

#[test]
fn a_limit_of_a_device_below_is_held_against_what_the_group_did_there() {
    for what in [Limited::ReadBytes, Limited::Reads] {
        check(zoo::record(), used(what, 0.99), DOUBT);
        check(zoo::record(), used(what, 0.83), DOUBT);
        check(zoo::record(), used(what, 0.77), "sound device:");
        check(zoo::record(), used(what, 2.2), "sound device:");
    }
    check(zoo::record(), used(Limited::WriteBytes, 0.99), "sound device:");
    check(flawless(work(Cache::Warm)), used(Limited::ReadBytes, 0.99), "sound page-cache:");
    check(memory(), used(Limited::ReadBytes, 0.99), "sound ram:");
}

/// The devices read a hundred times the limit for others, but the group did not.
#[test]
fn what_others_outside_the_group_do_raises_nothing() {
    let others = |share: f64| {
        move |record: &mut Record| {
            used(Limited::Writes, share)(record);
            evidence(record, |it| it.device_writes = Some(100 * ALLOWED));
        }
    };
    check(flawless_write(direct()), others(0.99), DOUBT);
    check(flawless_write(direct()), others(0.01), "sound device:");
    let few = |record: &mut Record| {
        used(Limited::Writes, 0.01)(record);
        evidence(record, |it| it.device_writes = Some(ALLOWED));
    };
    check(flawless_write(direct()), few, "sound device:");
}

#[test]
fn a_limit_holds_for_work_of_any_kind() {
    let mix = || mixed(mix(Sync::Dsync));
    check(mix(), used(Limited::Reads, 0.99), DOUBT);
    check(mix(), used(Limited::WriteBytes, 0.99), DOUBT);
    check(mix(), used(Limited::Writes, 0.01), "sound device:");
    check(durable(Call::Create), used(Limited::Writes, 0.99), DOUBT);
    check(durable(Call::Create), used(Limited::Writes, 0.01), "sound device:");
    let reads = |r: &mut Record| {
        used(Limited::ReadBytes, 0.99)(r);
        evidence(r, |it| it.task_read_bytes = Some(50 << 20));
    };
    check(cold(Call::Open), reads, "doubtful mixed: Throttled doubt");
    check(names(Call::Stat), used(Limited::ReadBytes, 0.99), "sound name-cache:");
    // What only the page cache took is not held back by a limit of a device.
    let taken = "sound page-cache: AcknowledgedOnly note";
    check(flawless_write(unsynced()), used(Limited::WriteBytes, 0.99), taken);
    check(names(Call::Unlink), used(Limited::Writes, 0.99), taken);
    let copy = WriteWork {
        io: Io { cache: Cache::Cold, ..unsynced().io },
        op: Op::Copy,
        engine: WriteEngine::Write,
        allocation: Allocation::None,
        ..unsynced()
    };
    let from_device = |r: &mut Record| {
        used(Limited::ReadBytes, 0.99)(r);
        evidence(r, |it| it.task_read_bytes = Some(FILE));
    };
    let expected = "doubtful page-cache: Throttled doubt, AcknowledgedOnly note";
    check(flawless_write(copy), from_device, expected);
}

/// The schedule sets what a case alone uses. A reader beside it uses the rest of the limit.
#[test]
fn what_runs_beside_a_case_uses_its_limit() {
    check(open(), used(Limited::ReadBytes, 0.99), "sound device: Throttled note");
    let mut record = beside(3);
    used(Limited::ReadBytes, 0.99)(&mut record);
    let found = &assess(&record).cases[1].findings;
    let message = &found.iter().find(|it| it.code.name() == "Throttled").expect("found").message;
    let expected = "limits read bytes of vda to 1.00 MB/s (977 KiB/s), and its processes, with \
                    those beside this case, used 99";
    assert!(message.contains(expected), "{message}");
    let with_rate = |record: &mut Record| {
        used(Limited::ReadBytes, 0.99)(record);
        record.header.plan.cases[0].case.beside = vec!["other".to_string()];
    };
    check(open(), with_rate, DOUBT);
}

/// A group above uses its limit for others, while the tighter one of the case's own group is far.
#[test]
fn each_limit_has_the_use_of_its_own_group() {
    let nested = |record: &mut Record| {
        used(Limited::Reads, 0.5)(record);
        let (above, a_second) = ("/sys/fs/cgroup".to_string(), 2 * ALLOWED);
        let storage = record.header.storage.as_mut().unwrap();
        let outer = Limit { group: above.clone(), a_second, ..limit(Limited::Reads) };
        storage.limits.push(outer);
        evidence(record, |it| {
            let reads = 2 * it.group_traffic[0].reads;
            let of_above = GroupTraffic {
                group: above.clone(),
                reads: 2 * reads,
                ..traffic(Limited::Reads, 0)
            };
            it.group_traffic.push(of_above);
        });
    };
    let mut record = zoo::record();
    nested(&mut record);
    let found = assess(&record).cases.remove(0).findings;
    assert!(found[0].message.starts_with("the control group '/sys/fs/cgroup' limits"), "{found:?}");
}

/// A mirror's part of what is read is not known, but its group counts what each half does.
#[test]
fn a_limit_whose_use_is_counted_needs_no_part() {
    let mirrored = |record: &mut Record| {
        used(Limited::ReadBytes, 0.99)(record);
        record.header.storage.as_mut().unwrap().layers = vec![Layer {
            nodes: vec![DEVICE.to_string(), "vdb".to_string()],
            reads: Amplification::SOME,
            writes: Amplification::SOME,
            counts: Counts::default(),
        }];
    };
    check(zoo::record(), mirrored, DOUBT);
}

/// The message of the limit's finding, if the trials `under` it used this share, in a run that
/// began with it or without.
fn said(began_with: bool, under: impl Fn(u32) -> bool, share: f64) -> Option<String> {
    let mut record = zoo::record();
    used(Limited::ReadBytes, share)(&mut record);
    if !began_with {
        record.header.storage.as_mut().unwrap().limits.clear();
        // That is how the limit's device is known.
        record.header.storage.as_mut().unwrap().devices[0].name = DEVICE.to_string();
    }
    each(&mut record, |trial| {
        trial.at_ms = 1_500 * u64::from(trial.round);
        trial.evidence.limits = Some(match under(trial.round) {
            true => vec![limit(Limited::ReadBytes)],
            false => Vec::new(),
        });
        if !under(trial.round) {
            trial.evidence.group_traffic.clear();
        }
    });
    let findings = assess(&record).cases.remove(0).findings;
    let found = findings.into_iter().find(|it| it.code == crate::finding::Code::Throttled)?;
    assert_eq!(found.severity, crate::finding::Severity::Doubt);
    Some(found.message)
}

#[test]
fn a_limit_that_is_set_or_lifted_during_a_run_holds_for_the_trials_under_it() {
    let set = said(false, |round| round >= 8, 0.99).expect("the limit is reached");
    let expected = "to 1.00 MB/s (977 KiB/s) (first seen 12.0 s after the start of the run; it \
                    held in 2 of 10 trials), and its processes used 99";
    assert!(set.contains(expected), "{set}");
    let lifted = said(true, |round| round < 4, 0.99).expect("the limit was reached");
    let expected = "(no longer seen 6.00 s after the start of the run; it held in 4 of 10 trials)";
    assert!(lifted.contains(expected), "{lifted}");
    let unchanged = said(true, |_| true, 0.99).expect("the limit is reached");
    assert!(!unchanged.contains("seen"), "{unchanged}");
    assert_eq!(said(false, |round| round >= 8, 0.5), None);
    assert_eq!(said(true, |_| false, 0.99), None);
}
