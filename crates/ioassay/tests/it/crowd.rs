//! Many hosts: a crowd of fake agents, each a shell that knows a few answers by heart.

use crate::hosts::READS;
use crate::sandbox::{PROGRAM, Sandbox, argument, text, wait_for};
use model::agent::{Answer, PROTOCOL, encode};
use model::record::{End, Record};
use model::sample::Latencies;
use model::trial::Outcome;
use model::zoo;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::process::{Output, Stdio};

/// Hosts of the crowd.
const HOSTS: usize = 256;

/// The host that ends in the middle of the run.
const LOST: usize = 100;

/// The operations of each trial on each host.
const OPS: u64 = 100;

/// Numbers that stand for those that the shell computes.
const START: u64 = 111_111_111;
const END: u64 = 222_222_222;
const LATENCY: u64 = 333_333_333;

/// An agent that starts no process. Its name is `h` and a number, and each of its operations takes
/// that many microseconds. Its clock is that of the machine, in steps of 10 ms. `measure` is what
/// it does in a trial, and sets how many nanoseconds that took by its clock (`time`); it knows the
/// number of the case (`case`) and of its trials so far (`trials`).
fn agent(measure: &str) -> String {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let hello = encode(&Answer::Hello { protocol: PROTOCOL, version, commit: None });
    let place = encode(&Answer::Place { host: zoo::host(), storage: zoo::storage(), boot: None });
    let made = encode(&Answer::Made {
        fixtures: Vec::new(),
        folder: None,
        calibrated: Vec::new(),
        unproved: Vec::new(),
    });
    let seen = encode(&Answer::Vitals(Box::default()));
    let mut trial = zoo::trial(0);
    let Outcome::Done(sample) = &mut trial.outcome else { panic!("the zoo has a sample") };
    sample.latencies = Latencies { counts: vec![(LATENCY, OPS)], max_ns: LATENCY };
    let span = &mut sample.spans[0];
    (span.start_ns, span.end_ns, span.ops, span.bytes) = (START, END, OPS, OPS << 16);
    let trial = encode(&Answer::Trial(Box::new(trial)))
        .replace(&START.to_string(), "'\"$start\"'")
        .replace(&END.to_string(), "'\"$((start + time))\"'")
        .replace(&LATENCY.to_string(), "'\"$((${host#h} * 1000))\"'");
    format!(
        r#"host=$1 trials=0 is_ready=
say() {{ printf '%s\n' "$1"; }}
say '{hello}'
while IFS= read -r order; do
    case $order in
    '"ping"')
        read -r up rest < /proc/uptime
        say '{{"clocks":{{"monotonic_ns":'"${{up%.*}}${{up#*.}}"'0000000,"utc_ns":0}}}}'
        ;;
    '{{"look"'*) say '{place}' ;;
    '"vitals"') say '{seen}' ;;
    '{{"find"'*) say '{{"found":false}}' ;;
    '{{"begin"'* | '"anew"') say '{made}' ;;
    '{{"trial"'*)
        trials=$((trials + 1))
        case=${{order#*'"case":'}}
        case=${{case%%,*}}
        if [ "$host" = h{LOST} ] && [ $trials = 3 ]; then exit; fi
        is_ready=1
        say '"ready"'
        ;;
    '{{"go"'*)
        is_ready=
        start=${{order#*'begins_ns":'}}
        start=${{start%%\}}*}}
        {measure}
        say '{trial}'
        ;;
    '{{"cancel"'*)
        if [ "$is_ready" ]; then say '{{"trial":{failed}}}'; fi
        is_ready=
        ;;
    '"alive"') ;;
    *) say '"done"' ;;
    esac
done
"#,
        failed = serde_json::to_string(&failed()).unwrap()
    )
}

fn failed() -> model::trial::Trial {
    let reason = "it was cancelled".to_owned();
    model::trial::Trial::without_data((0, 0, 0), 0, Outcome::Failed { reason })
}

/// Writes what a run on so many hosts needs, and returns its arguments. Its records go to `records`
/// in the state folder.
fn args(sandbox: &Sandbox, recipe: &str, hosts: usize, measure: &str) -> Vec<String> {
    let path = |name: &str| sandbox.state().join(name).display().to_string();
    let names: String = (1..=hosts).map(|number| format!("h{number}\n")).collect();
    let prefix = format!("prefix = [\"sh\", {:?}, \"{{host}}\"]\n", path("agent.sh"));
    for (name, content) in [
        ("agent.sh", agent(measure)),
        ("hosts", names),
        ("few.toml", recipe.to_owned()),
        ("launchers.toml", format!("[[launcher]]\nname = \"crowd\"\n{prefix}")),
    ] {
        std::fs::write(sandbox.state().join(name), content).unwrap();
    }
    let named = [
        format!("--hosts=@{}", path("hosts")),
        format!("--launchers={}", path("launchers.toml")),
        format!("--program={PROGRAM}"),
        format!("--record={}", path("records")),
    ];
    let few = path("few.toml");
    let args = ["run", &few, ".", "--launcher=crowd"].map(str::to_owned);
    args.into_iter().chain(named).collect()
}

/// The program with `args` and `more`.
fn run(sandbox: &Sandbox, args: &[String], more: &[&str]) -> Output {
    let args: Vec<&str> = args.iter().map(String::as_str).chain(more.iter().copied()).collect();
    sandbox.plainly(&args)
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_crowd_measures_in_lockstep_and_one_that_is_lost_is_named() {
    let sandbox = Sandbox::new();
    let args = args(&sandbox, &READS.replace("TIME", "1s"), HOSTS, "time=1000000000");
    let output = run(&sandbox, &args, &["--rounds=5", "--invocations=1"]);
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(said.contains("256 hosts in lockstep"), "{told}");
    assert!(told.contains(&format!("note: h{LOST} was lost: ")), "{told}");
    assert_eq!(told.matches("note: h").count(), 1, "{told}");
    // The histograms of all hosts were added up: 1 % of all operations took longer than this, in
    // the two rounds with all hosts, and in those without the lost one.
    let row = said.lines().find(|line| line.starts_with("warm pread"));
    let row = row.unwrap_or_else(|| panic!("{said}"));
    assert!(row.contains(" 256 ") && row.contains("254 µs"), "{row}");
    assert!(said.contains("HostLost"), "{said}");
    let records = sandbox.state().join("records");
    for number in 1..=HOSTS {
        let lines = std::fs::read_to_string(records.join(format!("{number}-h{number}.jsonl")));
        let lines = lines.unwrap();
        let measured = lines.matches(&format!("[[{},{OPS}]]", number * 1000)).count();
        let end = if number == LOST { "{\"end\":{\"lost\":" } else { "{\"end\":\"complete\"}" };
        assert!(lines.contains(end), "{lines}");
        assert!(measured >= if number == LOST { 2 } else { 4 }, "{lines}");
    }
}

/// Reads of these blocks in KiB.
const BLOCKS: [u64; 7] = [4, 8, 16, 32, 64, 128, 256];

/// A recipe that reads all of [`BLOCKS`], in eight rounds of so many invocations.
fn blocks(invocations: u32) -> String {
    let blocks = BLOCKS.map(|block| format!("\"{block}KiB\"")).join(", ");
    format!(
        "name = \"few\"\nquestion = \"?\"\nceilings = false\nsize = \"4MiB\"\nrounds = 8\n\
         invocations = {invocations}\n[[cases]]\nengine = \"pread\"\ncache = \"warm\"\n\
         ops = 0\ntime = \"1s\"\nblock = [{blocks}]\n"
    )
}

/// The records of hosts.
fn records(sandbox: &Sandbox, hosts: usize) -> Vec<Record> {
    let path = |number| sandbox.state().join(format!("records/{number}-h{number}.jsonl"));
    (1..=hosts).map(|number| ioassay::store::read(&path(number)).unwrap()).collect()
}

/// The rounds of each case on a host, which must be measured once each.
fn rounds(record: &Record) -> Vec<usize> {
    let all: BTreeSet<_> = record.trials.iter().map(|trial| (trial.case, trial.round)).collect();
    assert_eq!(all.len(), record.trials.len(), "nothing is measured twice");
    let of = |case: usize| all.iter().filter(|(of, _)| *of == case).count();
    (0..BLOCKS.len()).map(of).collect()
}

/// A text in one line.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The report of the records again, in Markdown.
fn markdown(sandbox: &Sandbox) -> String {
    let folder = sandbox.state().join("records");
    flat(&text(&sandbox.ioassay(&["report", "--markdown", argument(&folder)]).stdout))
}

#[test]
fn hosts_prune_together_what_gives_no_more_throughput_and_say_so() {
    let saturated = "case $case in 0) time=80000000;; 1) time=40000000;; *) time=20000000;; esac";
    let sandbox = Sandbox::new();
    let args = args(&sandbox, &blocks(4), 2, saturated);
    let output = run(&sandbox, &args, &["--prune"]);
    let said = flat(&text(&output.stdout));
    for record in records(&sandbox, 2) {
        // 32 and 64 KiB gave nothing. The third invocation begins with the fifth round.
        assert_eq!(rounds(&record), [8, 8, 8, 8, 8, 5, 5], "{said}");
        assert_eq!((&record.end, record.damage.len()), (&End::Complete, 0));
        let pruned: Vec<usize> = record.pruned.iter().map(|pruned| pruned.case).collect();
        assert_eq!(pruned, [5, 6]);
    }
    let why = "pruned: with blocks of 32KiB, the rate is at most 1.000 times that with blocks of \
               16KiB; with blocks of 64KiB, at most 1.000 times that with blocks of 32KiB. Its \
               figure is that of 5 rounds";
    assert!(said.contains(why), "{said}");
    assert!(markdown(&sandbox).contains(why), "{}", markdown(&sandbox));
}

#[test]
fn hosts_prune_nothing_that_gives_more_throughput_or_that_is_not_asked_for() {
    let saturated = "time=20000000";
    let rising = "time=$((80000000 - case * 8000000))";
    for (measure, more) in [(rising, &["--prune"][..]), (saturated, &[])] {
        let sandbox = Sandbox::new();
        let args = args(&sandbox, &blocks(4), 2, measure);
        let output = run(&sandbox, &args, more);
        for record in records(&sandbox, 2) {
            assert_eq!((rounds(&record), record.pruned.len()), (vec![8; 7], 0));
        }
        assert!(!text(&output.stdout).contains("pruned"), "{output:?}");
    }
}

/// The planned rounds are followed by further ones, and what is said of the time is what the
/// records have.
#[test]
fn hosts_that_are_given_a_time_say_what_they_did_with_it() {
    let sandbox = Sandbox::new();
    // Each trial is slower than the one before.
    let slower = "time=$((20000000 + trials * 1000000))";
    let recipe = blocks(3).replace("rounds = 8", "rounds = 3");
    let args = args(&sandbox, &recipe, 2, slower);
    let mut command = sandbox.start(PROGRAM);
    command.args(&args).arg("--for=1h").stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = command.spawn().unwrap();
    let path = |number: usize| sandbox.state().join(format!("records/{number}-h{number}.jsonl"));
    wait_for("a further round", || {
        assert_eq!(running.try_wait().unwrap(), None);
        let text = std::fs::read_to_string(path(2)).unwrap_or_default();
        text.contains("\"round\":3,").then_some(())
    });
    kill_process(Pid::from_child(&running), Signal::INT).unwrap();
    let status = wait_for("the end of the run", || running.try_wait().unwrap());
    assert_eq!(status.code(), Some(130));
    // With less time, it would have ended.
    for number in [1, 2] {
        let text = std::fs::read_to_string(path(number)).unwrap();
        let [long, short] = [3600, 1].map(|secs| format!("\"budget\":{{\"secs\":{secs},"));
        assert!(text.contains(&long), "{text}");
        std::fs::write(path(number), text.replacen(&long, &short, 1)).unwrap();
    }
    let before = records(&sandbox, 2);
    let mut again: Vec<String> = args;
    let folder = sandbox.state().join("records");
    again.retain(|arg| !arg.starts_with("--record="));
    again.push(format!("--resume={}", folder.display()));
    let output = run(&sandbox, &again, &["--for=1s"]);
    let after = records(&sandbox, 2);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((&after.end, &after.trials), (&End::Complete, &before.trials), "{output:?}");
    }
    let further: BTreeSet<u32> =
        after[0].trials.iter().map(|trial| trial.round).filter(|round| *round >= 3).collect();
    let rounds = if further.len() == 1 { "round" } else { "rounds" };
    let expected = format!(
        "1s was enough for the 3 planned rounds, and then for {} further {rounds} of the cases \
         with the widest intervals",
        further.len()
    );
    let said = flat(&text(&output.stdout));
    assert!(said.contains(&expected), "{expected}: {said}");
    assert!(markdown(&sandbox).contains(&expected), "{}", markdown(&sandbox));
    let report = sandbox.ioassay(&["report", "--json", argument(&folder)]);
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    let campaign = serde_json::json!({
        "for_s": 1.0, "planned_rounds": 3, "further_rounds": further.len(), "is_full": false
    });
    assert_eq!(report["campaign"], campaign);
}

#[test]
fn hosts_whose_time_is_too_short_say_so() {
    let sandbox = Sandbox::new();
    // A trial takes longer than the time that is given, and the first always begins.
    let args = args(&sandbox, &blocks(3), 2, "sleep 1; time=1000000000");
    let output = run(&sandbox, &args, &["--for=900ms"]);
    for record in records(&sandbox, 2) {
        assert_eq!((record.end, record.trials.len()), (End::Complete, 1), "{output:?}");
    }
    let expected = "900ms was too short for the first of the 8 planned rounds";
    let said = flat(&text(&output.stdout));
    assert!(said.contains(expected) && said.contains("not run"), "{said}");
    assert!(markdown(&sandbox).contains(expected), "{}", markdown(&sandbox));
    // Cases without a figure are no success.
    assert_eq!(output.status.code(), Some(1), "{said}");
}
