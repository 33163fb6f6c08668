//! What a run looks at before its first trial and after its last.

use crate::campaigns::SHORT;
use crate::sandbox::{PROGRAM, Sandbox, argument, is_judged};
use model::evidence::IdleState;
use model::host::Storage;
use model::path::{Hop, HopKind};
use model::record::Record;
use model::sample::Sample;
use model::trial::Trial;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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
