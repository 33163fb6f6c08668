//! Many hosts: a crowd of fake agents, each a shell that knows a few answers by heart.

use crate::hosts::READS;
use crate::sandbox::{PROGRAM, Sandbox, text};
use model::agent::{Answer, PROTOCOL, encode};
use model::sample::Latencies;
use model::trial::Outcome;
use model::zoo;
use std::process::Output;

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
/// that many microseconds. Its clock is that of the machine, in steps of 10 ms.
fn agent() -> String {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let hello = encode(&Answer::Hello { protocol: PROTOCOL, version, commit: None });
    let place = encode(&Answer::Place { host: zoo::host(), storage: zoo::storage(), boot: None });
    let made = encode(&Answer::Made {
        fixtures: Vec::new(),
        folder: None,
        calibrated: Vec::new(),
        unproved: Vec::new(),
    });
    let mut trial = zoo::trial(0);
    let Outcome::Done(sample) = &mut trial.outcome else { panic!("the zoo has a sample") };
    sample.latencies = Latencies { counts: vec![(LATENCY, OPS)], max_ns: LATENCY };
    let span = &mut sample.spans[0];
    (span.start_ns, span.end_ns, span.ops, span.bytes) = (START, END, OPS, OPS << 16);
    let trial = encode(&Answer::Trial(Box::new(trial)))
        .replace(&START.to_string(), "'\"$start\"'")
        .replace(&END.to_string(), "'\"$((start + 1000000000))\"'")
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
    '{{"find"'*) say '{{"found":false}}' ;;
    '{{"begin"'* | '"anew"') say '{made}' ;;
    '{{"trial"'*)
        trials=$((trials + 1))
        if [ "$host" = h{LOST} ] && [ $trials = 3 ]; then exit; fi
        is_ready=1
        say '"ready"'
        ;;
    '{{"go"'*)
        is_ready=
        start=${{order#*'begins_ns":'}}
        start=${{start%%\}}*}}
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

/// A run of the crowd, whose records go to `records` in the state folder.
fn run(sandbox: &Sandbox) -> Output {
    let path = |name: &str| sandbox.state().join(name).display().to_string();
    let names: String = (1..=HOSTS).map(|number| format!("h{number}\n")).collect();
    let prefix = format!("prefix = [\"sh\", {:?}, \"{{host}}\"]\n", path("agent.sh"));
    for (name, content) in [
        ("agent.sh", agent()),
        ("hosts", names),
        ("few.toml", READS.replace("TIME", "1s")),
        ("launchers.toml", format!("[[launcher]]\nname = \"crowd\"\n{prefix}")),
    ] {
        std::fs::write(sandbox.state().join(name), content).unwrap();
    }
    let hosts = format!("--hosts=@{}", path("hosts"));
    let launchers = format!("--launchers={}", path("launchers.toml"));
    let record = format!("--record={}", path("records"));
    let program = format!("--program={PROGRAM}");
    let mut args = vec!["run", "", ".", "--rounds=5", "--invocations=1", "--launcher=crowd"];
    let recipe = path("few.toml");
    args[1] = &recipe;
    args.extend([&hosts, &launchers, &record, &program].map(String::as_str));
    sandbox.plainly(&args)
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_crowd_measures_in_lockstep_and_one_that_is_lost_is_named() {
    let sandbox = Sandbox::new();
    let output = run(&sandbox);
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(said.contains("256 hosts in lockstep"), "{told}");
    assert!(told.contains(&format!("the host h{LOST} was lost: ")), "{told}");
    assert_eq!(told.matches("note: the host ").count(), 1, "{told}");
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
