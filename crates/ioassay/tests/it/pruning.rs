//! Axes that are pruned once throughput no longer grows.

use crate::sandbox::{PROGRAM, Sandbox, argument, check_refusal, text, wait_for};
use model::record::{End, Record};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

/// Blocks in KiB.
pub(crate) const BLOCKS: [u32; 7] = [4, 8, 16, 32, 64, 128, 256];

/// The nanoseconds that reading 1 MiB in each of [`BLOCKS`] takes.
pub(crate) type Times = [u32; 7];

pub(crate) const SATURATED: Times = [80_000, 40_000, 20_000, 20_000, 20_000, 20_000, 20_100];
/// 10 % more throughput in each step.
pub(crate) const RISING: Times = [80_000, 72_727, 66_116, 60_105, 54_641, 49_674, 45_158];

/// A peer for the shell that reads nothing, does `first` in each trial and reports `times`.
pub(crate) fn fake_script(times: Times, first: &str) -> String {
    let of_block: String = BLOCKS
        .iter()
        .zip(times)
        .map(|(block, ns)| format!("{block}KiB) n={} ns={ns};; ", 1024 / block))
        .collect();
    format!(
        "echo hello protocol=2 name=fake version=1; while read job; do block=${{job#* block=}}; \
         case ${{block%% *}} in {of_block}esac; echo ready; read go; {first} \
         sleep 0.001; echo span thread=0 start_ns=1 bytes=1048576 ops=$n end_ns=$((ns + 1)); \
         echo latency ns=$((ns / n)) count=$n; echo done setup_ns=1 max_ns=$((ns / n)); \
         read go; done\n"
    )
}

/// A recipe of all blocks, which the peer `fake` reads.
pub(crate) fn recipe() -> String {
    let blocks: Vec<String> = BLOCKS.iter().map(|block| format!("'{block}KiB'")).collect();
    format!(
        "name = 'blocks'\nquestion = 'Which block is enough?'\nsize = '1MiB'\nrounds = 8\n\
         invocations = 4\nceilings = false\n[[cases]]\npeer = 'fake'\nengine = 'pread'\n\
         cache = 'as-is'\ntouch = 'none'\ntime = '1ms'\nblock = [{}]\n",
        blocks.join(", ")
    )
}

/// A sandbox with a recipe of all blocks, and a peer that reads nothing and reports `times`. So its
/// rates do not depend on the machine, and every case is void.
fn sandbox(times: Times) -> Sandbox {
    sandbox_that(times, "")
}

/// The same, with a peer that does `first` in each trial.
fn sandbox_that(times: Times, first: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.state().join("fake.sh"), fake_script(times, first)).unwrap();
    let peers = "[[peer]]\nname = 'fake'\nsource = 'fake.sh'\nrun = ['sh', '{source}']\n\
                 engines = ['pread']\n";
    std::fs::write(sandbox.state().join("peers.toml"), peers).unwrap();
    std::fs::write(sandbox.state().join("blocks.toml"), recipe()).unwrap();
    sandbox
}

fn run(sandbox: &Sandbox, more: &[&str]) -> Command {
    let [recipe, peers] = ["blocks.toml", "peers.toml"].map(|name| sandbox.state().join(name));
    let mut command = sandbox.start(PROGRAM);
    command.args(["run", argument(&recipe), ".", "--quiet", "--peers", argument(&peers)]);
    command.args(more);
    command
}

fn record(sandbox: &Sandbox) -> Record {
    ioassay::store::read(&sandbox.path("record")).unwrap()
}

/// The rounds of each case, which must be measured once each.
fn rounds(record: &Record) -> Vec<usize> {
    let all: BTreeSet<_> = record.trials.iter().map(|trial| (trial.case, trial.round)).collect();
    assert_eq!(all.len(), record.trials.len(), "nothing is measured twice");
    assert!(record.trials.iter().all(|trial| trial.sample().is_some()), "{record:?}");
    let of = |case: usize| all.iter().filter(|(of, _)| *of == case).count();
    (0..BLOCKS.len()).map(of).collect()
}

#[test]
fn what_gives_no_more_throughput_is_pruned_and_said() {
    let sandbox = sandbox(SATURATED);
    let output = run(&sandbox, &["--record=record", "--prune"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    // 32 and 64 KiB gave nothing. The third invocation begins with the fifth round.
    let record = record(&sandbox);
    assert_eq!(rounds(&record), [8, 8, 8, 8, 8, 5, 5]);
    assert_eq!((&record.end, record.damage.len()), (&End::Complete, 0));
    let said = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "pruned: with blocks of 32KiB, the rate is at most 1.000 times that with blocks of \
               16KiB; with blocks of 64KiB, at most 1.000 times that with blocks of 32KiB. Its \
               figure is that of 5 rounds";
    assert!(said.contains(why), "{said}");
    let report = sandbox.json(&["report", "--json", "record"]);
    let skips = report["skips"].as_array().unwrap();
    let blocks: Vec<_> = skips.iter().map(|skip| &skip["case"]["block"]).collect();
    assert_eq!(blocks, [128 << 10, 256 << 10]);
    let cases = report["cases"].as_array().unwrap();
    // Stolen CPU time excludes a round.
    let of = |case: &Value| [&case["n"], &case["excluded"]["trials"]].map(Value::as_u64);
    let figures: Vec<u64> = cases.iter().map(|case| of(case).iter().flatten().sum()).collect();
    assert_eq!(figures, [8, 8, 8, 8, 8, 5, 5]);
    assert!(cases.iter().all(|case| case["throughput"]["low"].is_number()), "{cases:?}");
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn what_gives_more_throughput_and_what_is_not_asked_for_is_not_pruned() {
    for (times, more) in [(RISING, &["--prune"][..]), (SATURATED, &[])] {
        let sandbox = sandbox(times);
        let output = run(&sandbox, &[&["--record=record"], more].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(rounds(&record(&sandbox)), [8; 7]);
        // The command that made it may ask for it.
        let said = text(&output.stdout);
        let mut said = said.lines().filter(|line| !line.starts_with("again"));
        assert!(!said.any(|line| line.contains("prune")), "{output:?}");
    }
}

#[test]
fn what_is_pruned_stays_so_after_an_interruption() {
    // With pruned cases in its record, the run stands still until it is killed.
    let hold = "while [ ! -e go ] && grep -qs '^{\"pruned\"' record; do sleep 0.02; done;";
    let sandbox = sandbox_that(SATURATED, hold);
    let mut running = run(&sandbox, &["--record=record", "--prune", "--for=1h"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("cases to be pruned", || {
        assert_eq!(running.try_wait().unwrap(), None);
        let text = std::fs::read_to_string(sandbox.path("record")).unwrap_or_default();
        let pruned = |line: &&str| line.starts_with("{\"pruned\"") && line.ends_with('}');
        (text.lines().filter(pruned).count() == 2).then_some(())
    });
    kill_process(Pid::from_child(&running), Signal::KILL).unwrap();
    running.wait().unwrap();
    std::fs::write(sandbox.path("go"), "").unwrap();
    let other = run(&sandbox, &["--resume=record", "--for=1h"]).output().unwrap();
    check_refusal(&other, &["pruning: yes in the record, no now"]);

    // It would end now if it had been given less time; and without a time, after the eighth round.
    let text = std::fs::read_to_string(sandbox.path("record")).unwrap();
    let given = r#""budget":{"secs":3600,"nanos":0},"#;
    assert!(text.contains(given), "{}", text.lines().next().unwrap());
    std::fs::write(sandbox.path("record"), text.replace(given, "")).unwrap();
    let output = run(&sandbox, &["--resume=record", "--prune"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let record = record(&sandbox);
    assert_eq!(rounds(&record), [8, 8, 8, 8, 8, 5, 5]);
    assert_eq!((&record.end, record.pruned.len(), record.damage.len()), (&End::Complete, 2, 0));
    let output = run(&sandbox, &["--resume=record", "--prune"]).output().unwrap();
    check_refusal(&output, &["nothing is left to measure"]);
}

#[test]
fn what_has_nothing_to_prune_is_refused() {
    let sandbox = Sandbox::new();
    let refuses = |more: &[&str], expected: &str| {
        let args = [&["run", "read-methods", ".", "--prune"], more].concat();
        sandbox.refuses(&args, &[expected]);
    };
    let depths = "--depth=1,2,4,8";
    let reads = ["--engine=uring", "--cache=direct", "--invocations=5"];
    refuses(&[&reads[..], &["--depth=1,2,4"]].concat(), "--prune needs four or more values");
    refuses(&[&reads[..], &[depths, "--rate=1000"]].concat(), "without a rate");
    let few = ["--engine=uring", "--cache=direct", depths];
    refuses(&[&few[..], &["--invocations=3"]].concat(), "this run has no more");
    refuses(&[&few[..], &["--invocations=1", "--rounds=10"]].concat(), "rounds of one");
    refuses(&["--sustain=1min"], "cannot be used with");
    let planned = ["plan", "read-methods", ".", "--prune", depths];
    let said = sandbox.says(&[&planned[..], &reads].concat());
    assert!(said.contains(" · pruned"), "{said}");
}
