//! What several hosts did together.

use super::links::{behind, reads};
use super::sample;
use super::writing::{direct, flawless_write, over, unsynced};
use crate::decision::Decision;
use crate::finding::{Code, Verdict};
use crate::gate::{Gate, gate};
use crate::records::RecordComparison;
use crate::together;
use crate::together::{Clue, Doubt, Ending, HostsFinding, Joint, JointPaths, Together};
use model::case::{Cache, WriteWork};
use model::evidence::{Limit, Limited};
use model::host::Storage;
use model::path::{ArrayHop, Hop, HopKind};
use model::plan::Role;
use model::rank::Rank;
use model::record::{Header, Record};
use model::sample::PROGRESS_NS;
use model::taking_part::TakingPart;
use model::trial::{HostClock, Outcome, Trial};
use model::vitals::{CapPage, CapTimes, DriveLog, PartVitals, SmartPage, Vitals};
use model::zoo;
use std::convert::Infallible;
use std::time::Duration;

const NAMES: [&str; 3] = ["a", "b", "c"];

fn hosts() -> Vec<(String, Record)> {
    hosts_of(&zoo::record())
}

/// Three hosts whose clocks are seconds apart, and which do the same from the same moment.
fn hosts_of(record: &Record) -> Vec<(String, Record)> {
    let host = |(number, name): (i64, &str)| {
        let mut record = record.clone();
        let ahead_ns = number * 1_000_000_000_000;
        for trial in &mut record.trials {
            trial.clock = Some(HostClock { ahead_ns, drift_ns: 0, error_ns: 20_000 });
            for span in &mut sample(trial).spans {
                span.start_ns += 5_000_000_000 + ahead_ns.unsigned_abs();
                span.end_ns += 5_000_000_000 + ahead_ns.unsigned_abs();
                let synced_ns = span.synced_ns.as_mut();
                synced_ns.into_iter().for_each(|ns| *ns += 5_000_000_000 + ahead_ns.unsigned_abs());
                let steps = (span.end_ns - span.start_ns).div_ceil(PROGRESS_NS);
                let (each, rest) = (span.bytes / steps, span.bytes % steps);
                span.progress = vec![each; steps as usize];
                span.progress[0] += rest;
            }
        }
        (name.to_owned(), record)
    };
    (0..).zip(NAMES).map(host).collect()
}

/// Judges records in memory.
fn judge(hosts: &[(String, Record)]) -> Option<Together> {
    let read = |host: usize| {
        let (called, record) = hosts[host].clone();
        let header = Header { called: Some(called), ..record.header };
        Ok::<_, Infallible>(Record { header, ..record })
    };
    match together(hosts.len(), read) {
        Ok(run) => run,
    }
}

/// The only case of hosts with a planted flaw.
fn check(plant: impl FnOnce(&mut [(String, Record)])) -> Joint {
    check_of(hosts(), plant)
}

fn check_of(
    mut hosts: Vec<(String, Record)>,
    plant: impl FnOnce(&mut [(String, Record)]),
) -> Joint {
    plant(&mut hosts);
    let mut run = judge(&hosts).expect("there are hosts");
    assert_eq!((run.hosts.len(), run.cases.len()), (3, 1));
    run.cases.remove(0)
}

fn each(record: &mut Record, change: impl Fn(&mut model::sample::Span)) {
    for trial in &mut record.trials {
        sample(trial).spans.iter_mut().for_each(&change);
    }
}

#[test]
fn equal_hosts_add_up_and_nothing_is_doubted() {
    let joint = check(|_| ());
    assert_eq!((joint.n, joint.left_out, joint.verdict), (10, 0, Verdict::Sound), "{joint:?}");
    let alone = crate::assess(&zoo::record()).cases[0].throughput.expect("it was measured");
    let all = joint.throughput.expect("all were measured");
    assert!((all.median / alone.median - 3.0).abs() < 1e-9, "{all:?}");
    let common = joint.common.expect("progress is told");
    assert!((common.median / all.median - 1.0).abs() < 0.01, "{common:?}");
    assert_eq!((joint.start_skew_ns, joint.clock_error_ns), (Some(0.0), Some(20_000)));
    let slowest = joint.slowest.expect("there are several");
    assert_eq!((slowest.ratio.median, slowest.is_straggler), (1.0, false));
    assert!(joint.doubts.is_empty(), "{:?}", joint.doubts);
    assert!(judge(&[]).is_none());
}

/// A host that takes twice the time is the straggler. What all do per second while all are active
/// is what they can do; from the first start to the last end, the others wait for it.
#[test]
fn a_host_with_half_the_rate_is_the_straggler() {
    let joint = check(|hosts| {
        each(&mut hosts[1].1, |span| {
            span.end_ns += span.end_ns - span.start_ns;
            let halves = span.progress.iter().flat_map(|bytes| [bytes / 2, bytes - bytes / 2]);
            span.progress = halves.collect();
        });
    });
    let slowest = joint.slowest.expect("there are several");
    assert_eq!((slowest.host.as_str(), slowest.is_straggler), ("b", true));
    assert!((slowest.ratio.median - 0.5).abs() < 0.01, "{slowest:?}");
    let (all, common) = (joint.throughput.unwrap().median, joint.common.unwrap().median);
    assert!((common / all - 2.5 / 1.5).abs() < 0.05, "{all} {common}");
    // Barely slower is no straggler.
    let joint = check(|hosts| each(&mut hosts[1].1, |span| span.end_ns += 50_000_000));
    let slowest = joint.slowest.expect("there are several");
    assert_eq!((slowest.host.as_str(), slowest.is_straggler), ("b", false), "{slowest:?}");
}

/// The same work ends with its slowest host, or with its time. If time ended some rounds only, the
/// figure is of neither kind.
#[test]
fn what_ended_the_trials_is_told() {
    let longer = |hosts: &mut [(String, Record)], factor: u64, rounds: usize| {
        for trial in &mut hosts[1].1.trials[..rounds] {
            for span in &mut sample(trial).spans {
                span.end_ns += (factor - 1) * (span.end_ns - span.start_ns);
            }
        }
    };
    let in_time = |ms: u64, hosts: &mut [(String, Record)]| {
        for (_, record) in hosts {
            let io = record.header.plan.cases[0].case.io_mut().expect("it reads");
            (io.cache, io.time) = (Cache::Cold, Duration::from_millis(ms));
        }
    };
    let ended = |factor, rounds, ms| {
        let joint = check(|hosts| {
            in_time(ms, hosts);
            longer(hosts, factor, rounds);
        });
        let varies = joint.doubts.iter().find_map(|doubt| match doubt {
            Doubt::EndsVary { share } => Some(*share),
            _ => None,
        });
        (joint.ended_by, varies)
    };
    assert_eq!(ended(1, 0, 60_000), (Some(Ending::Work), None));
    assert_eq!(ended(2, 10, 60_000), (Some(Ending::SlowestHost), None));
    assert_eq!(ended(2, 10, 900), (Some(Ending::Time), None));
    assert_eq!(ended(2, 10, 1_900), (Some(Ending::Cut), Some(1.0)));
    assert_eq!(ended(2, 4, 60_000), (Some(Ending::Work), None));
    assert_eq!(ended(90, 4, 60_000), (Some(Ending::Work), Some(0.4)));
}

/// Hosts that all had the whole time, and one that was done before it ended.
#[test]
fn what_ended_differently_has_no_efficiency() {
    let cases = |ms: u64| {
        let mut hosts = in_lockstep(2);
        each(&mut hosts[1].1, |span| span.end_ns += span.end_ns - span.start_ns);
        for (_, record) in &mut hosts {
            for planned in &mut record.header.plan.cases {
                let io = planned.case.io_mut().expect("it reads");
                (io.cache, io.time) = (Cache::Cold, Duration::from_millis(ms));
            }
        }
        judge(&hosts).expect("there are hosts").cases
    };
    assert!(cases(60_000)[0].scaling.is_some());
    let [both, alone] = &cases(1_900)[..] else { panic!("two cases") };
    assert_eq!((both.ended_by, alone.ended_by), (Some(Ending::Cut), Some(Ending::Work)));
    assert_eq!(both.scaling, None);
}

#[test]
fn a_finding_of_several_hosts_is_told_as_the_worst_of_them_has_it() {
    let mut hosts = hosts();
    for ((_, record), stolen) in hosts.iter_mut().zip([20, 40, 30]) {
        for trial in &mut record.trials {
            trial.evidence.machine_cpu_ns = Some(1_000_000_000);
            trial.evidence.steal_ns = Some(stolen * 10_000_000);
        }
    }
    let run = judge(&hosts).expect("there are hosts");
    let is_steal = |it: &&HostsFinding| it.found.finding.code == Code::Steal;
    let steal = run.findings.iter().find(is_steal).expect("a hypervisor took time away");
    assert_eq!(steal.hosts, ["b", "a", "c"]);
    let message = &steal.found.finding.message;
    assert!(message.contains("40.0 %"), "{message}");
}

/// What happened while the run went on is told of the host to which it happened.
#[test]
fn what_happens_to_one_host_in_the_run_is_told_of_it_alone() {
    let capped = |iops_us| {
        let volume = Some(CapTimes { iops_us, throughput_us: 0 });
        DriveLog { capped: Some(CapPage { volume, instance: CapTimes::default() }), ..drive() }
    };
    let slow = |times| {
        let smart = SmartPage { slowed_times: [times, 0], ..SmartPage::default() };
        DriveLog { smart: Some(smart), ..drive() }
    };
    let bad = |media_errors| {
        let smart = SmartPage { media_errors, ..SmartPage::default() };
        DriveLog { smart: Some(smart), ..drive() }
    };
    let on = |log: DriveLog| Vitals { drives: vec![log], ..Vitals::default() };
    let array = |action: &str| {
        let array = ArrayHop { action: Some(action.to_string()), ..ArrayHop::default() };
        let top = Hop::new("md0", HopKind::Array(array), Vec::new());
        Vitals { paths: vec![top], ..Vitals::default() }
    };
    for (code, before, after) in [
        (Code::Capped, on(capped(5)), on(capped(1_005))),
        (Code::Hot, on(slow(2)), on(slow(4))),
        (Code::HardwareErrors, on(bad(0)), on(bad(1))),
        (Code::Rebuilding, array("idle"), array("check")),
    ] {
        let mut hosts = hosts();
        let run = |ends: [[&Vitals; 2]; 3], hosts: &mut [(String, Record)]| {
            for ((_, record), [before, after]) in hosts.iter_mut().zip(ends) {
                let (before, after) = (before.clone(), Vitals { at_ms: 60_000, ..after.clone() });
                record.vitals = vec![PartVitals { invocation: 0, before, after }];
            }
            let found = judge(hosts).expect("there are hosts").findings;
            found.into_iter().find(|it| it.found.finding.code == code)
        };
        let quiet = [&before, &before];
        assert_eq!(run([quiet; 3], &mut hosts), None);
        let told = run([quiet, [&before, &after], quiet], &mut hosts).expect("it happened on b");
        assert_eq!(told.hosts, ["b"], "{told:?}");
        assert!(told.found.is_of_run());
    }
    // Two that say it otherwise are not taken for one.
    let mut hosts = hosts();
    let [a, b] = [1, 2].map(|times| [on(slow(0)), on(slow(times))]);
    for (index, [before, after]) in [(0, a), (2, b)] {
        hosts[index].1.vitals = vec![PartVitals { invocation: 0, before, after }];
    }
    let hot = judge(&hosts).expect("there are hosts").findings;
    let hot = hot.iter().find(|it| it.found.finding.code == Code::Hot).expect("two are hot");
    assert_eq!((&hot.hosts[..], hot.differs), (&["a", "c"].map(str::to_string)[..], true));
}

/// What the paths of three hosts on machines of their own carry, of which each is behind 10 Gb/s.
fn paths(plant: impl Fn(usize, &mut Record)) -> Option<JointPaths> {
    let mut hosts = hosts_of(&reads(behind(10_000)));
    for (number, (name, record)) in hosts.iter_mut().enumerate() {
        record.header.host.name.clone_from(name);
        plant(number, record);
    }
    judge(&hosts).expect("there are hosts").cases.remove(0).paths
}

#[test]
fn the_paths_of_hosts_carry_together_what_each_of_them_carries() {
    let each = 1.25e9;
    let all = paths(|_, _| ()).expect("all are known");
    assert_eq!((all.bytes_per_second, &all.unknown[..]), (Some(3.0 * each), &[][..]));
    let share = all.share.expect("all have a rate");
    assert!((0.8..0.9).contains(&share), "{share}");
    // One of them, or all, have no known limit.
    let storage = |record: &mut Record| record.header.storage.take().expect("it has a file");
    let without = |record: &mut Record| {
        let storage = storage(record);
        record.header.storage = Some(Storage { path: None, ..storage });
    };
    let one = paths(|number, record| {
        if number == 1 {
            without(record)
        }
    })
    .expect("two are known");
    assert_eq!((one.bytes_per_second, one.share, one.unknown), (None, None, vec!["b".to_string()]));
    assert_eq!(paths(|_, record| without(record)), None);
    // Two are on one machine, and on one device.
    let together = |number: usize, record: &mut Record| {
        let neighbor = [Some(1), Some(0), None][number];
        let rank = Rank {
            number: number as u32,
            of: 3,
            seed: 1,
            shares: false,
            neighbor,
            ..Rank::default()
        };
        record.header.plan.rank = Some(rank);
    };
    assert_eq!(paths(together).expect("all are known").bytes_per_second, Some(2.0 * each));
    // Names alone do not tell whether two hosts are one machine.
    let alike = paths(|number, record| {
        record.header.host.name = ["x", "x", "y"][number].to_string();
    });
    assert_eq!(alike.expect("two are known").unknown, ["b"]);
}

fn drive() -> DriveLog {
    DriveLog { name: "nvme0n1".to_string(), ..DriveLog::default() }
}

#[test]
fn a_host_that_begins_late_is_told() {
    let late = |ns: u64| {
        check(|hosts| {
            each(&mut hosts[2].1, |span| {
                span.start_ns += ns;
                span.end_ns += ns;
            });
        })
    };
    let joint = late(30_000_000);
    assert_eq!(joint.start_skew_ns, Some(30_000_000.0));
    assert_eq!(joint.rounds[3].starts_ns, [0, 0, 30_000_000]);
    assert_eq!((joint.rounds.len(), joint.rounds[3].round), (10, 3));
    assert!(matches!(joint.doubts[..], [Doubt::StartSkew { share }] if share > 0.02), "{joint:?}");
    assert_eq!(joint.verdict, Verdict::Doubtful);
    assert!(late(5_000_000).doubts.is_empty());
}

/// A quarter of the time is the sync's, in which no byte is seen to become durable. The trial lasts
/// until its end, so a host that begins late is so by a share of the whole.
#[test]
fn what_a_sync_makes_durable_has_no_rate_while_all_are_active() {
    let late = |work: WriteWork, ns: u64| {
        check_of(hosts_of(&flawless_write(work)), |hosts| {
            each(&mut hosts[2].1, |span| {
                span.start_ns += ns;
                span.end_ns += ns;
                span.synced_ns = span.synced_ns.map(|synced_ns| synced_ns + ns);
            });
        })
    };
    let joint = late(over(), 0);
    assert!(joint.throughput.is_some(), "{joint:?}");
    assert_eq!(joint.common, None);
    assert!(late(over(), 12_000_000).doubts.is_empty());
    assert!(matches!(late(over(), 20_000_000).doubts[..], [Doubt::StartSkew { .. }]));
    for work in [direct(), unsynced()] {
        assert!(late(work, 0).common.is_some(), "each write counts when it returns");
        assert!(matches!(late(work, 12_000_000).doubts[..], [Doubt::StartSkew { .. }]));
    }
}

#[test]
fn a_clock_that_is_not_known_well_is_told() {
    let clock = |error_ns: u64, drift_ns: i64| {
        check(|hosts| {
            for trial in &mut hosts[0].1.trials {
                let known = trial.clock.expect("it has one");
                // The mean offset stays what it was.
                let ahead_ns = known.ahead_ns - drift_ns / 2;
                trial.clock = Some(HostClock { ahead_ns, drift_ns, error_ns });
            }
        })
    };
    let found = |joint: &Joint| matches!(joint.doubts[..], [Doubt::ClockUncertain { .. }]);
    assert!(found(&clock(20_000_000, 0)));
    assert!(found(&clock(20_000, 5_000_000_000)), "a clock that was stepped");
    assert!(clock(5_000_000, 0).doubts.is_empty());
    assert!(clock(20_000, 1_000_000).doubts.is_empty());
}

/// The figures are those of the same hosts in every round.
#[test]
fn rounds_of_other_hosts_are_left_out_and_told() {
    let joint = check(|hosts| {
        hosts[1].1.trials.truncate(7);
        // Without its clock, a trial cannot be placed.
        hosts[2].1.trials[0].clock = None;
    });
    assert_eq!((joint.n, joint.left_out, joint.hosts.len()), (6, 4, 3));
    assert_eq!(joint.doubts, [Doubt::HostLost { hosts: 0, rounds: 4 }]);
    // One that is lost early leaves the others with their figures.
    let joint = check(|hosts| hosts[1].1.trials.truncate(2));
    assert_eq!((joint.n, joint.left_out), (8, 2));
    assert_eq!(
        (joint.hosts, joint.verdict),
        (vec!["a".to_owned(), "c".to_owned()], Verdict::Doubtful)
    );
    assert_eq!(joint.doubts, [Doubt::HostLost { hosts: 1, rounds: 2 }]);
    let alone = crate::assess(&zoo::record()).cases[0].throughput.expect("it was measured");
    let ratio = joint.throughput.expect("two were measured").median / alone.median;
    assert!((ratio - 2.0).abs() < 0.01, "{ratio}");
    let joint = check(|hosts| hosts.iter_mut().for_each(|(_, record)| record.trials.clear()));
    assert_eq!((joint.n, joint.throughput, joint.slowest), (0, None, None));
    // Nobody has tried it yet, so nobody is lost.
    assert_eq!((joint.verdict, joint.doubts), (Verdict::NotRun, vec![]));
    assert!(joint.without.is_empty());
}

/// Hosts whose programs differ may measure differently.
#[test]
fn builds_that_differ_are_told() {
    let joint = |commits: [Option<&str>; 3]| {
        check(|hosts| {
            for ((_, record), commit) in hosts.iter_mut().zip(commits) {
                record.header.tool.commit = commit.map(str::to_string);
            }
        })
    };
    assert_eq!(
        joint([Some("a"), Some("b"), Some("a")]).doubts,
        [Doubt::BuildsDiffer { builds: 2 }]
    );
    assert!(joint([Some("a"); 3]).doubts.is_empty() && joint([None; 3]).doubts.is_empty());
}

/// The first hosts, which measure a case together; the first of them also measures it alone.
fn in_lockstep(of: u32) -> Vec<(String, Record)> {
    let mut hosts = hosts();
    hosts.truncate(of as usize);
    for (number, (_, record)) in (0..).zip(&mut hosts) {
        let plan = &mut record.header.plan;
        plan.rank = Some(Rank { number, of, seed: plan.seed, shares: true, ..Rank::default() });
        let mut alone = plan.cases[0].clone();
        alone.case.io_mut().expect("it reads").hosts = TakingPart::First(1);
        if number > 0 {
            alone.role = Role::Elsewhere;
        }
        plan.cases.push(alone);
        let own = record.trials.iter().filter(|_| number == 0);
        let own: Vec<_> = own.map(|trial| Trial { case: 1, ..trial.clone() }).collect();
        record.trials.extend(own);
    }
    hosts
}

/// Three hosts or directories that measure a case all at once, and each alone, where it takes
/// `share` of the time.
fn each_alone(share: f64) -> Together {
    let mut hosts = hosts();
    let of = hosts.len() as u32;
    for (number, (_, record)) in (0..of).zip(&mut hosts) {
        let plan = &mut record.header.plan;
        plan.rank = Some(Rank { number, of, seed: plan.seed, ..Rank::default() });
        let all = record.trials.clone();
        for only in 0..of {
            let mut alone = plan.cases[0].clone();
            alone.case.io_mut().expect("it reads").hosts = TakingPart::Only(only);
            alone.role = if only == number { Role::Asked } else { Role::Elsewhere };
            plan.cases.push(alone);
            let own = all.iter().filter(|_| only == number);
            record.trials.extend(own.map(|trial| {
                let mut trial = Trial { case: 1 + only as usize, ..trial.clone() };
                for span in &mut sample(&mut trial).spans {
                    let took = (span.end_ns - span.start_ns) as f64 * share;
                    span.end_ns = span.start_ns + took as u64;
                }
                trial
            }));
        }
    }
    judge(&hosts).expect("there are hosts")
}

/// Each case has the figures of the one that measured it, and all at once are held against the sum.
#[test]
fn what_each_gets_alone_is_added_up() {
    for (share, kept) in [(1.0, 1.0), (0.5, 0.5)] {
        let run = each_alone(share);
        let [all, alone @ ..] = &run.cases[..] else { panic!("{run:?}") };
        assert_eq!(all.hosts, NAMES);
        for (joint, name) in alone.iter().zip(NAMES) {
            assert_eq!((&joint.hosts[..], joint.n), (&[name.to_string()][..], 10), "{joint:?}");
            assert!(joint.throughput.is_some() && joint.scaling.is_none(), "{joint:?}");
            assert!(joint.without.is_empty() && joint.doubts.is_empty(), "{joint:?}");
            assert!(run.first.cases.iter().any(|it| it.case == joint.case), "it has a label");
        }
        let scaling = all.scaling.as_ref().expect("each was measured alone");
        assert_eq!((scaling.base, scaling.hosts, scaling.of_each), (1, 3, true));
        assert!((scaling.efficiency.median - kept).abs() < 1e-3, "{scaling:?}");
        let each: Vec<f64> = scaling.each.iter().map(|it| it.median).collect();
        assert!(each.len() == 3 && each.iter().all(|it| (it - kept).abs() < 1e-3), "{each:?}");
    }
}

/// Two hosts, of which the second one does `plant`.
fn of_two(plant: impl FnOnce(&mut Record)) -> Vec<Joint> {
    let mut hosts = in_lockstep(2);
    plant(&mut hosts[1].1);
    judge(&hosts).expect("there are hosts").cases
}

/// Hosts of which one is slow, and whose record is left out: what the others did is not what all
/// did. Cases in which it took no part keep their figures.
#[test]
fn without_a_record_there_is_no_total() {
    let run = |given: &[usize]| {
        let mut hosts = in_lockstep(3);
        each(&mut hosts[1].1, |span| span.end_ns += 3 * (span.end_ns - span.start_ns));
        let given: Vec<_> = given.iter().map(|host| hosts[*host].clone()).collect();
        judge(&given).expect("there are hosts")
    };
    let whole = run(&[0, 1, 2]);
    assert_eq!(whole.missing, [""; 0]);
    assert!(whole.cases.iter().all(|joint| joint.throughput.is_some()));
    let part = run(&[0, 2]);
    assert_eq!(part.missing, ["host 2"]);
    let [all, alone] = &part.cases[..] else { panic!("{part:?}") };
    assert_eq!((all.throughput, all.iops, all.common, all.p99_ns), (None, None, None, None));
    assert_eq!(all.doubts, [Doubt::RecordMissing { hosts: 1 }]);
    assert_eq!(all.verdict, Verdict::Doubtful);
    assert_eq!(alone.throughput, whole.cases[1].throughput);
    assert_eq!(alone.verdict, Verdict::Sound);
}

#[test]
fn efficiency_is_the_rate_of_each_host_in_the_same_rounds() {
    let cases = of_two(|_| ());
    let [both, alone] = &cases[..] else { panic!("{cases:?}") };
    assert_eq!((both.hosts.len(), alone.hosts.len()), (2, 1));
    for joint in [both, alone] {
        assert_eq!((joint.n, joint.verdict), (10, Verdict::Sound), "{joint:?}");
        assert!(joint.doubts.is_empty(), "the host that waits is not lost: {joint:?}");
    }
    let scaling = both.scaling.as_ref().expect("it was measured alone");
    assert_eq!((scaling.base, scaling.hosts), (1, 2));
    assert!((scaling.efficiency.median - 1.0).abs() < 1e-9, "{scaling:?}");
    assert_eq!((alone.scaling.as_ref(), alone.slowest.as_ref(), alone.balance), (None, None, None));
    assert_eq!(both.balance, Some(1.0));
    // A host of half the speed leaves three quarters, until the last end only a half.
    let cases = of_two(|record| {
        each(record, |span| {
            span.end_ns += span.end_ns - span.start_ns;
            span.progress.clear();
        });
    });
    let efficiency = cases[0].scaling.as_ref().expect("it was measured alone").efficiency;
    assert!((efficiency.median - 0.5).abs() < 0.01, "{efficiency:?}");
    assert!(cases[0].balance.is_some_and(|balance| (balance - 0.5).abs() < 0.01));
    // Rounds without one of them are not of both.
    let cases = of_two(|record| record.trials.clear());
    assert_eq!(cases[0].scaling, None);
}

/// What a straggler's counters show more of than the other's, and nothing else.
#[test]
fn signs_are_what_stands_out() {
    let signs = |throttled_ns: u64, device_read_ns: u64| {
        let mut cases = of_two(|record| {
            each(record, |span| span.end_ns += span.end_ns - span.start_ns);
            for trial in &mut record.trials {
                let evidence = &mut trial.evidence;
                evidence.throttled_ns = Some(throttled_ns);
                evidence.device_read_ns = Some(device_read_ns);
                evidence.device_write_ns = Some(0);
            }
        });
        let slowest = cases.remove(0).slowest.expect("there are two");
        assert_eq!((slowest.host.as_str(), slowest.is_straggler), ("b", true));
        slowest.signs.iter().map(|sign| sign.clue).collect::<Vec<_>>()
    };
    assert_eq!(signs(300_000_000, 0), [Clue::Throttled]);
    assert_eq!(signs(1_000_000, 0), []);
    // The other host does not tell how long its requests took.
    assert_eq!(signs(0, u64::MAX / 4), []);
}

/// What all hosts have explains no difference. The straggler's limit is told beside the others'.
#[test]
fn a_cause_is_what_the_straggler_has_and_the_others_have_not() {
    let slowest = |limits: [u64; 3], stolen: [u64; 3]| {
        let joint = check(|hosts| {
            each(&mut hosts[1].1, |span| span.end_ns += span.end_ns - span.start_ns);
            for ((_, record), (a_second, stolen)) in
                hosts.iter_mut().zip(limits.into_iter().zip(stolen))
            {
                let (device, group) = ("vda".to_string(), "/limited".to_string());
                let limit = Limit { device, what: Limited::ReadBytes, a_second, group };
                let storage = record.header.storage.as_mut().expect("it reads a file");
                storage.limits.extend((a_second > 0).then_some(limit));
                for trial in &mut record.trials {
                    trial.evidence.machine_cpu_ns = Some(1_000_000_000);
                    trial.evidence.steal_ns = Some(stolen * 10_000_000);
                }
            }
        });
        let slowest = joint.slowest.expect("there are several");
        assert_eq!((slowest.host.as_str(), slowest.is_straggler), ("b", true));
        let clues: Vec<(Clue, f64)> =
            slowest.signs.iter().map(|sign| (sign.clue, sign.own / sign.others)).collect();
        (slowest.doubts.contains(&Code::Steal), clues)
    };
    let (few, many) = (15 << 20, 60 << 20);
    assert_eq!(slowest([many, few, many], [0; 3]), (false, vec![(Clue::Limit, 4.0)]));
    assert_eq!(slowest([0, few, 0], [0; 3]), (false, vec![(Clue::Limit, f64::INFINITY)]));
    assert_eq!(slowest([few; 3], [0; 3]), (false, vec![]));
    assert_eq!(slowest([0, few, many], [0; 3]), (false, vec![]), "the others are not alike");
    assert!(!slowest([0; 3], [30; 3]).0, "all have it");
    assert!(slowest([0; 3], [0, 30, 0]).0);
}

/// A host's own evidence decides: what is void on one is void for all.
#[test]
fn what_is_void_on_one_host_is_void() {
    let joint = check(|hosts| {
        for trial in &mut hosts[1].1.trials {
            trial.evidence.residency_before = trial.evidence.residency_after;
            trial.evidence.task_read_bytes = Some(0);
            trial.evidence.device_read_bytes = Some(0);
        }
    });
    assert_eq!(joint.verdict, Verdict::Void);
    assert!(joint.throughput.is_some(), "the figure is shown in brackets");
}

/// Commands on hosts of which the second takes a tenth longer, with this flaw.
fn commands(plant: impl FnOnce(&mut [(String, Record)])) -> Vec<Joint> {
    let mut hosts = hosts_of(&zoo::commands::record_of_commands());
    each(&mut hosts[1].1, |span| span.end_ns += (span.end_ns - span.start_ns) / 10);
    plant(&mut hosts);
    judge(&hosts).expect("there are hosts").cases
}

/// Lets the cold runs of the second host find what the warm ones find: all in the page cache.
fn cached_on_b(hosts: &mut [(String, Record)]) {
    let record = &mut hosts[1].1;
    let warm = record.trials.iter().find(|trial| trial.case == 0).expect("it ran").evidence.clone();
    for trial in record.trials.iter_mut().filter(|trial| trial.case == 1) {
        trial.evidence = warm.clone();
    }
}

#[test]
fn each_host_has_figures_of_its_own_for_a_command() {
    let cases = commands(|_| ());
    let cold = &cases[1];
    let served: Vec<_> = cold.commands.iter().map(|it| (&*it.host, it.served_by)).collect();
    let device = Some(crate::summary::ServedBy::Device);
    assert_eq!(served, [("a", device), ("b", device), ("c", device)]);
    let time = |index: usize| cold.commands[index].time_ns.expect("it was timed").median;
    assert!((time(1) / time(0) - 1.1).abs() < 1e-6, "{cold:?}");
    // All end when the last one does.
    let all = cold.time_ns.expect("all were timed").median;
    assert!((all / time(1) - 1.0).abs() < 1e-6, "{all}");
    let late: Vec<Option<f64>> = cold.commands.iter().map(|it| it.late_ns).collect();
    assert!(late[0] == Some(0.0) && late[1].expect("it is known") > 0.0, "{late:?}");
    assert_eq!(cold.commands[1].cached_share, Some(0.0));
    assert_eq!(cold.commands[1].device_read_bytes, Some(zoo::commands::INPUT));
    // It moves bytes that only the OS counts.
    assert_eq!((cold.throughput, cold.common), (None, None));
    assert!(cold.doubts.is_empty(), "{:?}", cold.doubts);
}

#[test]
fn a_host_that_had_the_data_cached_did_not_do_the_same_work() {
    let cases = commands(cached_on_b);
    let cold = &cases[1];
    assert!(cold.doubts.contains(&Doubt::ServedDiffers { kinds: 2 }), "{:?}", cold.doubts);
    assert_eq!(cold.commands[1].cached_share, Some(1.0));
    assert_eq!(cold.commands[1].device_read_bytes, Some(0));
    // It claimed to be cold.
    assert_eq!(cold.commands[1].verdict, Verdict::Void);
    assert!(cases[0].doubts.is_empty(), "{:?}", cases[0].doubts);
    // Where nothing shows what served it, nothing differs.
    let cases = commands(|hosts| {
        for trial in &mut hosts[1].1.trials {
            trial.evidence.task_read_bytes = None;
        }
    });
    assert!(cases[1].doubts.is_empty(), "{:?}", cases[1].doubts);
}

/// What these limits decide of commands in five invocations on three hosts with this flaw.
fn gate_of_commands(
    limits: &str,
    plant: impl FnOnce(&mut [(String, Record)]),
) -> (RecordComparison, Gate) {
    let mut hosts = hosts_of(&zoo::commands::record_of_commands());
    for (_, record) in &mut hosts {
        record.header.plan.invocations = 5;
        record.trials.iter_mut().for_each(|trial| trial.invocation = trial.round / 2);
    }
    plant(&mut hosts);
    let read = |host: usize| {
        let (called, record) = hosts[host].clone();
        let header = Header { called: Some(called), ..record.header };
        Ok::<_, Infallible>(Record { header, ..record })
    };
    let Ok(versus) = crate::compare_commands_of_hosts(hosts.len(), read);
    let versus = versus.expect("there are hosts");
    let rules: Vec<_> = limits.split(',').map(|limit| limit.parse().expect("a limit")).collect();
    let gate = gate(&versus, &rules);
    (versus, gate)
}

/// Changes the trials of a case on a host.
fn of_case(
    (_, record): &mut (String, Record),
    case: usize,
    change: impl Fn(&mut model::trial::Trial),
) {
    record.trials.iter_mut().filter(|trial| trial.case == case).for_each(change);
}

/// The second command takes 2.6 times as long warm, 1.9 times cold. One slow host makes it slow for
/// all, and CPU time is that of all.
#[test]
fn commands_of_hosts_are_held_against_the_first_by_the_time_of_all() {
    let (versus, slower) = gate_of_commands("time > 5%,cpu > 5%", |_| ());
    assert_eq!(slower.within, Decision::No);
    assert_eq!(slower.checks.len(), 4, "{:#?}", slower.checks);
    let ratio = |gate: &Gate, check: usize| gate.checks[check].ratio.expect("both have it");
    assert!((ratio(&slower, 0) - 2.59).abs() < 0.02, "{slower:#?}");
    let alone = ratio(&slower, 1);
    assert!(slower.checks.iter().all(|check| !check.is_in_doubt), "{slower:#?}");
    assert_eq!((versus.a.header.host.name.as_str(), &versus.a.one_host), ("a, b and c", &None));
    let (_, within) = gate_of_commands("time > 200%", |_| ());
    assert_eq!(within.within, Decision::Yes, "{within:#?}");
    // On one host, the second command takes three times as long, and three times the CPU time.
    let (_, late) = gate_of_commands("time > 200%,cpu > 200%", |hosts| {
        of_case(&mut hosts[2], 2, |trial| {
            let sample = sample(trial);
            sample.usage.cpu_ns = sample.usage.cpu_ns.map(|ns| 3 * ns);
            let spans = sample.spans.iter_mut();
            spans.for_each(|span| span.end_ns += 2 * (span.end_ns - span.start_ns));
        });
    });
    assert_eq!(late.checks[0].within, Decision::No, "{late:#?}");
    assert!((ratio(&late, 0) / ratio(&slower, 0) - 3.0).abs() < 0.05, "{late:#?}");
    assert!((ratio(&late, 1) / alone - 5.0 / 3.0).abs() < 0.01, "{late:#?}");
    // Where one host does not know it, nobody knows that of all.
    let (_, unknown) = gate_of_commands("cpu > 200%", |hosts| {
        of_case(&mut hosts[1], 2, |trial| {
            trial.evidence.cpu_ns = None;
            sample(trial).usage.cpu_ns = None;
        });
    });
    assert_eq!((unknown.checks[0].unmeasured, unknown.checks[0].ratio), (10, None));
    assert_eq!(unknown.within, Decision::Undecided);
}

/// What is void on one host decides nothing, and what fails on one fails the gate.
#[test]
fn what_speaks_against_a_command_on_one_host_speaks_against_that_of_all() {
    let (versus, void) = gate_of_commands("time > 200%", cached_on_b);
    let reasons: Vec<&str> = versus.left_out.iter().map(|it| it.reason.as_str()).collect();
    assert!(reasons[0].starts_with("it is void in A: "), "{reasons:?}");
    assert_eq!(void.within, Decision::Undecided);
    let fails = |rounds: u32| {
        gate_of_commands("time > 200%", |hosts| {
            // In lockstep, it fails on all of them.
            for (host, reason) in hosts.iter_mut().zip(["it did on b", "status 1", "it did on b"]) {
                let reason = reason.to_string();
                of_case(host, 2, |trial| {
                    if trial.round < rounds {
                        trial.outcome = Outcome::Failed { reason: reason.clone() };
                    }
                });
            }
        })
    };
    let (versus, some) = fails(2);
    assert_eq!((some.checks[0].failed, some.within), (2, Decision::Undecided), "{some:#?}");
    assert_eq!(versus.broken(), 0);
    let (versus, all) = fails(10);
    assert_eq!((versus.broken(), all.within), (1, Decision::No), "{all:#?}");
    let reason = "it failed in B: on a: it did on b; on b: status 1";
    assert_eq!(versus.left_out[0].reason, reason, "{:#?}", versus.left_out);
    // The runs that a lost host missed are no failures of the others.
    let (_, lost) = gate_of_commands("time > 200%", |hosts| {
        hosts[1].1.trials.retain(|trial| trial.round < 8);
    });
    assert_eq!((lost.checks[0].failed, lost.within), (0, Decision::Yes), "{lost:#?}");
    assert!(lost.checks[0].is_in_doubt, "{lost:#?}");
}

/// A host whose record is not given has no figures, and the others keep theirs.
#[test]
fn commands_of_hosts_that_are_given_stay_without_those_that_are_not() {
    let cases = commands(|hosts| {
        for (number, (_, record)) in (0..).zip(&mut *hosts) {
            let rank = Rank { number, of: 4, seed: 1, shares: false, ..Rank::default() };
            record.header.plan.rank = Some(rank);
        }
    });
    let cold = &cases[1];
    assert!(cold.doubts.contains(&Doubt::RecordMissing { hosts: 1 }), "{:?}", cold.doubts);
    assert_eq!((cold.time_ns, cold.commands.len()), (None, 3));
    assert!(cold.commands.iter().all(|it| it.time_ns.is_some()), "{cold:?}");
}
