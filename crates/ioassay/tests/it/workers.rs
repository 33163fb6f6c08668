//! Workers that die, hang, babble or lie: the trial records it, and the run continues.

use crate::sandbox::Sandbox;
use assess::finding::{Code, Verdict};
use ioassay::calming::Calming;
use ioassay::directory::Directory;
use ioassay::files::{Maker, Target};
use ioassay::fixture::Stay;
use ioassay::progress::Progress;
use ioassay::schedule::Run;
use ioassay::site::Site;
use ioassay::stop::Stop;
use ioassay::store::{self, Store};
use model::case::{Case, Io, ReadWork, Work};
use model::environment::Environment;
use model::plan::{Plan, Role};
use model::record::{End, Header, Record, Tool};
use model::trial::{Outcome, Trial};
use model::zoo;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

const HELLO: &str = "echo hello protocol=2 name=fake version=1; ";

/// A file of 256 blocks.
const SIZE: u64 = 1 << 20;

/// Two cases with two rounds.
fn plan() -> Plan {
    let host = zoo::host();
    let environment = Environment { host: &host, storage: None, source: None, peers: &[] };
    let case = |block| {
        let time = Duration::from_millis(1);
        Case::own(Work::Read(ReadWork {
            io: Io { size: SIZE, block, time, ..zoo::plain().io },
            ..zoo::plain()
        }))
    };
    let mut plan = Plan::new("fake", 2, 0.025, 1);
    plan.add([case(4096), case(8192)], Role::Asked, &environment);
    plan
}

/// More than a worker that says something takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// The record of a run whose workers are shell scripts: each sends its handshake and runs `script`.
fn record_of(script: &str, plan: &Plan) -> Record {
    record_with(script, plan, LONG).unwrap()
}

/// The same, with the `patience` for a worker that says nothing; an error if one sends its
/// handshake too late.
fn record_with(script: &str, plan: &Plan, patience: Duration) -> anyhow::Result<Record> {
    let sandbox = Sandbox::new();
    let (stop, progress) = (Stop::default(), Progress::hidden());
    let host = zoo::host();
    let environment = Environment { host: &host, storage: None, source: None, peers: &[] };
    let target = Target::Directory(Rc::new(Directory::open(sandbox.directory()).unwrap()));
    let stay = Stay::Removed;
    let maker = &Maker { plan, target: &target, source: None, environment: &environment, stay };
    let files = maker.make((&progress, &stop)).unwrap();
    let command = vec!["test".to_string()];
    let header = Header {
        tool: Tool { name: "ioassay".to_string(), version: "1".to_string(), commit: None, command },
        began: "2026-01-01T00:00:00Z".to_string(),
        host: zoo::host(),
        called: None,
        hosts: Vec::new(),
        storage: None,
        source_storage: None,
        further_storages: Vec::new(),
        storage_numbers: Default::default(),
        alternates: None,
        side: None,
        calibrated: Vec::new(),
        rehearsals: Vec::new(),
        fixtures: Vec::new(),
        plan: plan.clone(),
        peers: Vec::new(),
    };
    let path = sandbox.path("record");
    let mut store = Store::create(&path, header).unwrap();
    let worker = |_: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{HELLO}{script}")]);
        Ok(command)
    };
    let site = Site {
        plan,
        maker,
        storage: None,
        progress: &progress,
        stop: &stop,
        worker: &worker,
        patience,
        memory: None,
        further: &[],
        numbers: &ioassay::file_storages::NO_NUMBERS,
        source: None,
        barrier: None,
        calibrated: &[],
        calming: Calming::default(),
    };
    Run::new((site, files), &mut store, None).carry_out()?;
    let record = store::read(&path).unwrap();
    assert_eq!((&record.end, record.damage.len()), (&End::Complete, 0));
    Ok(record)
}

/// Checks that every trial with such a worker fails with the reason `expected`. The judgement must
/// report that reason and no figure.
fn check_failure(script: &str, expected: &str) {
    check_failed(&record_of(script, &plan()), script, expected);
}

/// The same for a worker that never ends, which is given up after 300 ms. On a busy machine, not
/// even its handshake comes in that time, so it is tried again.
fn check_given_up(script: &str, expected: &str) {
    let short = Duration::from_millis(300);
    let record = (0..20).find_map(|_| record_with(script, &plan(), short).ok());
    check_failed(&record.expect("a shell starts in 300 ms"), script, expected);
}

fn check_failed(record: &Record, script: &str, expected: &str) {
    let mut made: Vec<(u32, usize)> = record.trials.iter().map(|t| (t.round, t.case)).collect();
    made.sort_unstable();
    assert_eq!(made, [(0, 0), (0, 1), (1, 0), (1, 1)], "{script}");
    for Trial { outcome, .. } in &record.trials {
        let Outcome::Failed { reason } = outcome else { panic!("{script}: {outcome:?}") };
        assert!(reason.contains(expected), "'{script}' gave '{reason}'");
    }
    let assessment = assess::assess(record);
    for summary in &assessment.cases {
        assert_eq!(summary.n, 0);
        assert!(summary.failures.iter().any(|(reason, _)| reason.to_string().contains(expected)));
    }
    assert!(report::shortfall(&assessment).is_some());
}

#[test]
fn a_worker_that_dies_at_every_job_fails_every_trial_and_no_more() {
    check_failure("read job; echo 'on fire' >&2; exit 3", "exit status: 3); its stderr: on fire");
    check_failure("read job; echo ready; read go; kill -9 $$", "signal: 9");
}

#[test]
fn a_case_that_fails_three_times_in_a_row_is_not_tried_again() {
    let mut plan = plan();
    plan.rounds = 5;
    let script = "while read job; do case $job in *block=8KiB*) echo failed reason=no;;
         *) echo unavailable reason=no;; esac; done";
    let record = record_of(script, &plan);
    let reasons = |case| {
        let mut trials: Vec<&Trial> = record.trials.iter().filter(|t| t.case == case).collect();
        trials.sort_by_key(|trial| trial.round);
        trials.into_iter().map(|trial| format!("{:?}", trial.outcome)).collect::<Vec<_>>()
    };
    let (others, failed) = (reasons(0), reasons(1));
    assert_eq!((others.len(), failed.len()), (5, 5));
    assert!(others.iter().all(|outcome| outcome.starts_with("Unavailable")), "{others:?}");
    let is_tried = |outcome: &&String| {
        !outcome.contains(
            "not tried: the case failed 3 times in a \
                                                          row",
        )
    };
    assert_eq!(failed.iter().filter(is_tried).count(), 3, "{failed:?}");
    assert!(failed[..3].iter().all(|outcome| outcome.contains("reason: \"no\"")), "{failed:?}");
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_worker_that_hangs_is_given_up() {
    check_given_up("read job; sleep 600", "sent nothing for 300ms");
    check_given_up("read job; echo ready; read go; sleep 600", "sent nothing for");
}

#[test]
fn a_worker_that_babbles_is_not_listened_to() {
    check_failure("read job; echo dance", "an unknown verb");
    check_failure("read job; head -c 100000 /dev/zero", "a line longer than 65536 bytes");
    check_failure("read job; echo ready; read go; while :; do echo span; done", "no 'thread'");
    check_failure("read job; echo ready; read go; echo ready", "in the middle of a trial");
    check_failure("read job; printf 'caf\\351\\n'", "an unknown verb");
}

/// A worker that reports its process id as the digest.
const TELLS_ITSELF: &str = "while read job; do echo ready; read go;
     echo span thread=0 start_ns=1 end_ns=2 bytes=4096 ops=1 digest=$$;
     echo latency ns=1 count=1; echo done setup_ns=1 max_ns=1; read next; done";

#[test]
fn each_invocation_has_workers_of_its_own() {
    let mut plan = plan();
    plan.cases.truncate(1);
    (plan.rounds, plan.invocations) = (5, 3);
    let record = record_of(TELLS_ITSELF, &plan);
    let mut workers: Vec<(u32, u32, u64)> = Vec::new();
    for trial in &record.trials {
        let worker = trial.sample().expect("it was done").digest().expect("it is told");
        workers.push((trial.invocation, trial.round, worker));
    }
    workers.sort_unstable();
    let rounds: Vec<(u32, u32)> = workers.iter().map(|(i, round, _)| (*i, *round)).collect();
    assert_eq!(rounds, [(0, 0), (0, 1), (1, 2), (1, 3), (2, 4)]);
    let of = |invocation| workers.iter().filter(move |w| w.0 == invocation).map(|w| w.2);
    for (one, other) in [(0, 1), (1, 2), (0, 2)] {
        assert!(of(one).all(|worker| of(other).all(|another| worker != another)), "{workers:?}");
    }
    let anew: Vec<(u32, usize)> =
        record.invocations.iter().map(|i| (i.number, i.fixtures.len())).collect();
    assert_eq!(anew, [(1, 1), (2, 1)]);
    assert!(record.invocations.iter().all(|invocation| invocation.made_ms >= 1_000));
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_worker_that_talks_for_ever_is_given_up() {
    let drip = "n=0; while :; do n=$((n+1)); echo latency ns=$n count=1; sleep 0.01; done";
    check_given_up(&format!("read job; echo ready; read go; {drip}"), "the worker");
}

#[test]
fn a_worker_that_fails_politely_is_asked_again() {
    let plan = plan();
    let record = record_of("while read job; do echo unavailable reason=not%20here; done", &plan);
    assert_eq!(record.trials.len(), 4);
    for trial in &record.trials {
        let reason = "not here".to_string();
        assert_eq!(trial.outcome, Outcome::Unavailable { reason });
    }
}

/// A worker that reports `span` for every job.
fn liar(span: &str) -> String {
    format!(
        "while read job; do echo ready; read go; echo span {span};
         echo latency ns=1000 count=256; echo done setup_ns=1 max_ns=1000; read go; done"
    )
}

#[test]
fn a_worker_that_lies_about_the_bytes_is_found_out() {
    let plan = plan();
    let lie = "thread=0 start_ns=1 end_ns=1001 bytes=1048576 ops=256 digest=1";
    let record = record_of(&liar(lie), &plan);
    assert_eq!(record.trials.len(), 4);
    let assessment = assess::assess(&record);
    assert_eq!(assessment.cases.len(), 2);
    // In the first case, with 4 KiB blocks, the number of bytes is right but the data is wrong. In
    // the second, that many operations move twice the bytes.
    let [first, second] = &assessment.cases[..] else { panic!("{assessment:?}") };
    assert!(first.findings.iter().any(|finding| finding.code == Code::DigestMismatch));
    assert_eq!((first.verdict, first.digest_verified), (Verdict::Void, Some(false)));
    let reason = &second.failures[0].0;
    assert!(reason.reason().contains("1048576 bytes for 256 operations of thread 0"), "{reason}");
    assert_eq!((second.verdict, second.n), (Verdict::Failed, 0));
    assert!(report::shortfall(&assessment).is_some());
}

#[test]
fn a_worker_that_says_what_cannot_be_does_not_end_the_run() {
    for lie in [
        "thread=7 start_ns=1 end_ns=1001 bytes=1048576 ops=256 digest=1",
        "thread=0 start_ns=1001 end_ns=1 bytes=1048576 ops=256 digest=1",
        "thread=0 start_ns=1 end_ns=1 bytes=1048576 ops=256 digest=1",
        "thread=0 start_ns=1 end_ns=1001 bytes=0 ops=0 digest=0",
        "thread=0 start_ns=1 end_ns=1001 bytes=18446744073709551615 \
         ops=18446744073709551615 digest=18446744073709551615",
        "thread=0 start_ns=1 end_ns=9 bytes=18446744073709551615 ops=2 digest=1; \
         echo span thread=0 start_ns=1 end_ns=9 bytes=18446744073709551615 ops=2 digest=1",
    ] {
        let plan = plan();
        let record = record_of(&liar(lie), &plan);
        assert_eq!(record.trials.len(), 4, "{lie}");
        let assessment = assess::assess(&record);
        report::json(&assessment);
        for summary in &assessment.cases {
            assert!(summary.n == 0 || summary.verdict == Verdict::Void, "{lie}: {summary:?}");
        }
    }
}
