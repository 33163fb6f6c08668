//! What a run looks at before its first trial and after its last.

use crate::campaigns::SHORT;
use crate::hosts::{Desk, READS, is_possible};
use crate::sandbox::{PROGRAM, Sandbox, argument, is_judged, text};
use model::evidence::IdleState;
use model::host::Storage;
use model::path::{Hop, HopKind};
use model::record::Record;
use model::sample::Sample;
use model::trial::Trial;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// The record of a run with three invocations.
fn run(sandbox: &Sandbox, more: &[&str]) -> Record {
    let recipe = sandbox.state().join("short.toml");
    fs::write(&recipe, SHORT).unwrap();
    let args = ["run", argument(&recipe), ".", "--quiet", "--record=record"];
    let output = sandbox.start(PROGRAM).args([&args[..], more].concat()).output().unwrap();
    assert!(is_judged(&output), "{output:?}");
    ioassay::store::read(&sandbox.path("record")).unwrap()
}

/// Whether a file that only some machines have is here.
fn is_here(path: &str) -> bool {
    fs::metadata(path).is_ok()
}

#[test]
fn a_run_looks_at_its_path_before_and_after_each_invocation() {
    let sandbox = Sandbox::new();
    let record = run(&sandbox, &[]);
    assert_eq!(record.damage, [] as [String; 0]);
    let numbers: Vec<u32> = record.vitals.iter().map(|part| part.invocation).collect();
    assert_eq!(numbers, [0, 1, 2]);
    let first = |number: u32| record.trials.iter().find(|trial| trial.invocation == number);
    let last = |number: u32| record.trials.iter().rfind(|trial| trial.invocation == number);
    let path = record.header.storage.as_ref().and_then(|it: &Storage| it.path.as_deref()).unwrap();
    let names = |hop: &Hop| hop.all().iter().map(|hop| hop.name.clone()).collect::<Vec<_>>();
    let is_nvme = |hop: &&Hop| matches!(hop.kind, HopKind::Disk(_)) && hop.name.starts_with("nvme");
    for part in &record.vitals {
        // It never looks between trials.
        assert!(part.before.at_ms <= first(part.invocation).unwrap().at_ms, "{part:?}");
        assert!(part.after.at_ms >= last(part.invocation).unwrap().at_ms, "{part:?}");
        for look in [&part.before, &part.after] {
            let [top] = &look.paths[..] else { panic!("{look:?}") };
            assert_eq!(names(top), names(path));
            // What this machine does not count is absent, and not 0.
            let cpu = "/sys/devices/system/cpu/cpu0";
            let counts = is_here(&format!("{cpu}/thermal_throttle/core_throttle_count"));
            assert_eq!(look.throttles.is_some(), counts);
            let counts = is_here("/sys/devices/system/edac/mc/mc0/ce_count");
            assert_eq!(look.memory_errors.is_some(), counts);
            let counts = is_here(&format!("{cpu}/cpuidle/state0/usage"));
            assert_eq!(!look.idle_states.is_empty(), counts);
            if !top.all().iter().any(is_nvme) {
                assert_eq!(look.drives, []);
            }
        }
    }
}

#[test]
fn the_report_has_what_was_seen() {
    let sandbox = Sandbox::new();
    let record = run(&sandbox, &["--invocations=1", "--rounds=3"]);
    let json = sandbox.says(&["report", "record", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["vitals"], serde_json::to_value(&record.vitals).unwrap());
    assert_eq!(record.vitals.len(), 1);
}

/// A load at one rate beside its closed loop.
const RATES: &str = "
name = 'rates'
question = 'Do they sleep?'
size = '1MiB'
time = '40ms'
rounds = 3
[[cases]]
engine = 'pread'
ops = 0
[[cases]]
engine = 'pread'
ops = 0
rate = 1000
";

/// What this machine does not count is absent, and not 0. A closed loop reads nothing.
#[test]
fn the_idle_states_of_cpus_are_seen_around_trials_with_a_rate_only() {
    let sandbox = Sandbox::new();
    let recipe = sandbox.state().join("rates.toml");
    fs::write(&recipe, RATES).unwrap();
    let args = ["run", argument(&recipe), ".", "--quiet", "--record=record"];
    let output = sandbox.start(PROGRAM).args(args).output().unwrap();
    assert!(is_judged(&output), "{output:?}");
    let text = fs::read_to_string(sandbox.path("record")).unwrap();
    let record = ioassay::store::read(&sandbox.path("record")).unwrap();
    assert_eq!(record.damage, [] as [String; 0]);
    let (open, closed): (Vec<&Trial>, Vec<&Trial>) = (record.trials.iter())
        .partition(|trial| record.header.plan.cases[trial.case].case.is_open());
    assert!(open.len() >= 6 && closed.len() >= 3, "the null engine has a rate, too: {text}");
    assert!(closed.iter().all(|trial| trial.evidence.idle_states.is_empty()));
    let counts =
        |cpu: &u32| is_here(&format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state0/usage"));
    let names = state_names();
    let mut told = 0;
    for trial in &open {
        let cpus = trial.sample().and_then(Sample::cpus).expect("our worker tells them");
        let states = &trial.evidence.idle_states;
        assert_eq!(!states.is_empty(), cpus.iter().all(counts), "{trial:?}");
        told += usize::from(!states.is_empty());
        let is_known = |state: &IdleState| names.contains(&state.name);
        assert!(states.iter().all(is_known) && states.len() <= names.len(), "{trial:?}");
    }
    assert_eq!(text.matches("idle_states\":[{\"name").count(), told + idle_lists(&record));
}

/// The names of the idle states of this machine's CPUs, each once.
fn state_names() -> BTreeSet<String> {
    let directories = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let cpus = directories(Path::new("/sys/devices/system/cpu"));
    let states = cpus.flat_map(|cpu| directories(&cpu.path().join("cpuidle")).collect::<Vec<_>>());
    let names = states.filter_map(|state| fs::read_to_string(state.path().join("name")).ok());
    names.map(|name| name.trim().to_string()).collect()
}

/// The lists of idle states that looks before and after the parts of a run have.
fn idle_lists(record: &Record) -> usize {
    let looks = record.vitals.iter().flat_map(|part| [&part.before, &part.after]);
    looks.filter(|look| !look.idle_states.is_empty()).count()
}

/// Where a host sees its first CPU.
const CPU: &str = "/sys/devices/system/cpu/cpu0";

/// Two hosts, of which `b` sees another CPU than this machine's, whose counter grows in the run.
#[test]
fn each_host_of_a_run_in_lockstep_looks_for_itself() {
    let test = "each_host_of_a_run_in_lockstep_looks_for_itself";
    if !is_possible(test, &["--mount", "true"]) {
        return;
    }
    let enter = format!("[ $0 = b ] && mount --bind \"$CPU_OF_B\" {CPU}; exec \"$@\"");
    let prefix = ["unshare", "--mount", "sh", "-c", &enter, "{host}"];
    let mut desk = Desk::with(&READS.replace("TIME", "150ms"), &prefix);
    let cpu = desk.files.path("cpu");
    let counter = cpu.join("thermal_throttle/core_throttle_count");
    fs::create_dir_all(counter.parent().unwrap()).unwrap();
    let count = |count: u64| {
        // Renamed, so that it is never seen empty.
        fs::write(cpu.join("new"), format!("{count}\n")).unwrap();
        fs::rename(cpu.join("new"), &counter).unwrap();
    };
    count(0);
    desk.set("CPU_OF_B", argument(&cpu));
    let mut running = desk.start("a,b", 3);
    for counted in 1.. {
        if running.has_ended() {
            break;
        }
        count(counted);
        thread::sleep(Duration::from_millis(10));
    }
    let output = running.output();
    assert!(is_judged(&output), "{output:?}");
    let of = |name: &str| ioassay::store::read(&desk.record(name)).unwrap();
    let (a, b) = (of("1-a.jsonl"), of("2-b.jsonl"));
    for record in [&a, &b] {
        assert_eq!(record.damage, [] as [String; 0]);
        let [part] = &record.vitals[..] else { panic!("{:?}", record.vitals) };
        assert_eq!(part.invocation, 0);
        assert!(part.before.at_ms <= record.trials[0].at_ms, "{part:?}");
        assert!(part.after.at_ms >= record.trials.last().unwrap().at_ms, "{part:?}");
        let path = record.header.storage.as_ref().and_then(|it: &Storage| it.path.as_deref());
        for look in [&part.before, &part.after] {
            let names =
                |hop: &Hop| hop.all().iter().map(|it| it.name.clone()).collect::<Vec<String>>();
            let seen: Vec<Vec<String>> = look.paths.iter().map(names).collect();
            assert_eq!(seen, path.map(names).into_iter().collect::<Vec<_>>());
        }
    }
    let [before, after] = [&b.vitals[0].before, &b.vitals[0].after].map(|look| look.throttles);
    let grown = after.unwrap().core - before.unwrap().core;
    assert!(grown > 1, "{:?}", b.vitals);
    let records = desk.files.path("records");
    let said = text(&desk.sandbox.ioassay(&["report", argument(&records)]).stdout);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let hot = format!(
        "Hot (on b): CPUs slowed themselves down because of heat or power in this run: the OS \
         counted it {grown} times"
    );
    assert!(said.contains(&hot), "{said}");
    let a = argument(&desk.record("1-a.jsonl")).to_string();
    let quiet = text(&desk.sandbox.ioassay(&["report", &a]).stdout);
    assert!(is_here(&format!("{CPU}/thermal_throttle")) || !quiet.contains("Hot"), "{quiet}");
}
