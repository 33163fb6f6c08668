//! Cases of several actors: what runs beside a trial, and proof that it did.

use crate::sandbox::{PROGRAM, Sandbox, argument, text, wait_for};
use model::record::Record;
use model::trial::{Outcome, Trial};
use std::process::{Child, Stdio};

/// Reads beside writes, syncs and other reads, each in a file of its own.
const CROWD: &str = r#"
name = "crowd"
question = "What do others cost?"
size = "1MiB"
rounds = 2
invocations = 2
time = "20ms"
ceilings = false

[view]
columns = ["iops", "p50", "beside"]
answer = ["interference"]

[actors.writer]
op = "write"
cache = "direct"
block = "64KiB"
allocation = "overwrite"
sync = "none"

[actors.log]
op = "write"
block = "4KiB"
allocation = "overwrite"
every = 1

[actors.reader]
cache = "direct"
block = "64KiB"

[[cases]]
cache = "direct"
pattern = "random"
block = "4KiB"
beside = ["none", "writer", "log+reader"]
"#;

fn crowd(sandbox: &Sandbox, args: &[&str]) -> (Option<i32>, String, Record) {
    std::fs::write(sandbox.path("crowd.toml"), CROWD).unwrap();
    let record = sandbox.path("crowd.jsonl");
    let fixed = ["run", "crowd.toml", ".", "--record", argument(&record)];
    let output = sandbox.ioassay(&[&fixed[..], args].concat());
    let said = text(&output.stdout) + &text(&output.stderr);
    (output.status.code(), said, ioassay::store::read(&record).expect("the run kept it"))
}

/// Runs of it until one has a good trial of each case, and the records of all of them. A busy
/// machine makes an actor late, or a trial longer than its company: such a trial has to fail, and
/// says why.
fn whole_crowd() -> (String, Vec<Record>) {
    let sandbox = Sandbox::new();
    let mut records = Vec::new();
    let mut all_said = String::new();
    wait_for("a good trial of each case", || {
        let (_, said, record) = crowd(&sandbox, &[]);
        std::fs::remove_file(sandbox.path("crowd.jsonl")).unwrap();
        assert_eq!(record.trials.len(), 3 * 2);
        for trial in &record.trials {
            let Outcome::Failed { reason } = &trial.outcome else { continue };
            let is_late = reason.contains(": it ended ") || reason.contains(": it began ");
            assert!(is_late && !trial.beside.is_empty(), "{reason}");
        }
        let is_good =
            |case| record.trials.iter().any(|it| it.case == case && it.sample().is_some());
        let are_good = (0..3).all(is_good);
        all_said += &said;
        records.push(record);
        are_good.then_some(())
    });
    (all_said, records)
}

fn names(trial: &Trial) -> Vec<&str> {
    trial.beside.iter().map(|beside| beside.name.as_str()).collect()
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn actors_are_at_work_for_the_whole_of_a_trial() {
    let (said, records) = whole_crowd();
    assert!(said.contains("beside writer") && said.contains("beside log+reader"), "{said}");
    for trial in records.iter().flat_map(|record| &record.trials) {
        let of_case: &[&str] = [&[][..], &["writer"], &["log", "reader"]][trial.case];
        assert_eq!(names(trial), of_case);
        let Some(sample) = trial.sample() else { continue };
        let start = sample.spans.iter().map(|span| span.start_ns).min();
        let end = sample.spans.iter().map(|span| span.end_ns).max();
        for beside in &trial.beside {
            let Outcome::Done(its) = &beside.outcome else { panic!("{:?}", beside.outcome) };
            assert!(its.spans.iter().all(|span| Some(span.start_ns) <= start), "{}", beside.name);
            assert!(its.spans.iter().all(|span| Some(span.end_ns) >= end), "{}", beside.name);
        }
    }
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn what_actors_read_and_write_is_verified() {
    let (_, records) = whole_crowd();
    let mut verified = Vec::new();
    let trials = records.iter().flat_map(|record| &record.trials);
    for beside in trials.flat_map(|trial| &trial.beside) {
        if let Some(expected) = beside.expected_digest {
            assert_eq!(beside.outcome.sample().and_then(|it| it.digest()), Some(expected));
            verified.push(beside.name.as_str());
        }
        if let Some(seen) = beside.read_back {
            assert!(seen.bytes > 0 && seen.digest == seen.expected, "{}", beside.name);
            verified.push(beside.name.as_str());
        }
    }
    verified.sort_unstable();
    verified.dedup();
    assert_eq!(verified, ["log", "reader", "writer"]);
    let assessment = assess::assess(records.last().expect("one run is whole"));
    assert!(assessment.cases.iter().all(|case| case.digest_verified == Some(true)));
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn the_command_line_chooses_the_actors() {
    let sandbox = Sandbox::new();
    let (_, _, record) = crowd(&sandbox, &["--beside", "writer+log+reader", "--size", "256KiB"]);
    let cases: Vec<String> = record.header.plan.cases.iter().map(|it| it.case.id()).collect();
    assert_eq!(cases, ["pread direct random 4KiB d1 t1 sum beside:writer+log+reader of 256KiB"]);
    let sizes = record.header.plan.actors.iter().map(|actor| actor.case.file_size());
    assert!(sizes.eq([Some(256 << 10); 3]));
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_run_with_actors_leaves_nothing() {
    let sandbox = Sandbox::new();
    crowd(&sandbox, &[]);
    let mut left: Vec<String> = std::fs::read_dir(sandbox.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["crowd.jsonl", "crowd.toml"]);
}

/// The actors of the recipe `CROWD` changed, or an axis of the command line.
#[test]
fn actors_that_cannot_be_are_refused() {
    let sandbox = Sandbox::new();
    let plan = |recipe: &str, args: &[&str]| {
        std::fs::write(sandbox.path("crowd.toml"), recipe).unwrap();
        let output = sandbox.ioassay(&[&["plan", "crowd.toml", "."], args].concat());
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    for (args, expected) in [
        (["--beside", "wirter"], "did you mean 'writer'?"),
        (["--beside", "writer+writer"], "does not name actors"),
        (["--beside", "a+b+c+d"], "up to 3 different names"),
        (["--beside", "log/../x"], "does not name actors"),
    ] {
        let (code, said) = plan(CROWD, &args);
        assert!(code == Some(2) && said.contains(expected), "{args:?}: {said}");
    }
    for (old, new, expected) in [
        ("[actors.log]", "[actors.\"a b\"]", "a name has up to 32 letters"),
        ("every = 1", "evry = 1", "unknown axis 'evry'"),
        ("every = 1", "every = [1, 2]", "one value for the axis 'every'"),
        ("every = 1", "rate = \"50%\"", "is not a rate"),
    ] {
        let (code, said) = plan(&CROWD.replacen(old, new, 1), &[]);
        assert!(code == Some(2) && said.contains(expected), "{new}: {said}");
    }
    // Of these, only the cases with the actor are skipped.
    for (old, new, expected) in [
        ("allocation = \"overwrite\"\nevery", "every", "it would end once its file is full"),
        ("every = 1", "every = 0", "it would end once its file was written"),
        ("every = 1", "ops = 5", "a number of operations would end it too early"),
        ("every = 1", "cache = \"cold\"", "only the case itself starts with a warm or cold file"),
        ("every = 1", "every = 1\ndepth = 9", "the actor 'log': pwrite waits for each block"),
    ] {
        let (code, said) = plan(&CROWD.replacen(old, new, 1), &[]);
        assert!(code == Some(0) && said.contains(expected), "{new}: {said}");
    }
}

/// A worker that ends early, as one that is killed, leaves no figure that claims its company.
#[test]
fn a_trial_whose_actor_was_killed_has_failed() {
    let sandbox = Sandbox::new();
    let recipe = CROWD.replace("\"20ms\"", "\"2s\"").replace("rounds = 2", "rounds = 1");
    let recipe = recipe.replace("invocations = 2", "invocations = 1");
    std::fs::write(sandbox.path("long.toml"), recipe).unwrap();
    let record = sandbox.path("long.jsonl");
    let args = ["run", "long.toml", ".", "--beside", "writer", "--record", argument(&record)];
    let mut run = sandbox.start(PROGRAM).args(args).stdout(Stdio::null()).spawn().unwrap();
    kill_actor(&mut run);
    let status = run.wait().unwrap();
    let record = ioassay::store::read(&record).expect("the run kept it");
    let Outcome::Failed { reason } = &record.trials[0].outcome else {
        panic!("{:?} of {status}", record.trials[0].outcome)
    };
    assert!(reason.contains("the actor 'writer': the worker died"), "{reason}");
}

/// Kills the actor's worker, which is started after the case's, once it writes its file. The trial
/// takes 2 s from then on.
fn kill_actor(run: &mut Child) {
    let children = format!("/proc/{0}/task/{0}/children", run.id());
    // What it tells the coordinator is written, too, but much less.
    let writes = |pid: i32| {
        let counters = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
        let mut lines = counters.lines().filter_map(|line| line.strip_prefix("wchar: "));
        lines.next().and_then(|bytes| bytes.parse().ok()).is_some_and(|bytes: u64| bytes > 64 << 10)
    };
    let actor = wait_for("an actor that writes", || {
        assert_eq!(run.try_wait().unwrap(), None, "the run ended without one");
        let list = std::fs::read_to_string(&children).unwrap_or_default();
        let workers: Vec<i32> = list.split_whitespace().flat_map(str::parse).collect();
        let [_, actor] = workers[..] else { return None };
        writes(actor).then_some(actor)
    });
    let actor = rustix::process::Pid::from_raw(actor).expect("it is a process");
    rustix::process::kill_process(actor, rustix::process::Signal::KILL).unwrap();
}

/// A chase alone, and beside a reader of memory that works half of the time.
const LOADED: &str = r#"
name = "loaded"
question = "What does a load cost?"
rounds = 1
ceilings = false

[view]
answer = ["loaded-latency"]

[actors]
half = { kernel = "read", working_set = "1MiB", duty = "50%" }

[[cases]]
kernel = "chase"
isa = "scalar"
working_set = "1MiB"
time = "20ms"
beside = ["none", "half"]
"#;

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_chase_and_its_load_have_cpus_of_their_own() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("loaded.toml"), LOADED).unwrap();
    let path = sandbox.path("loaded.jsonl");
    let sample = wait_for("a good trial beside the load", || {
        let output = sandbox.ioassay(&["run", "loaded.toml", "--record", argument(&path)]);
        let record = ioassay::store::read(&path).unwrap_or_else(|_| panic!("{output:?}"));
        std::fs::remove_file(&path).unwrap();
        if let [skip] = &record.header.plan.skips[..] {
            assert!(skip.reason.contains("core") || skip.reason.contains("processor"), "{skip:?}");
            crate::sandbox::skip("a_chase_and_its_load_have_cpus_of_their_own", &skip.reason);
            return Some(None);
        }
        let loaded = record.trials.into_iter().find(|trial| trial.case == 1)?;
        let own = loaded.sample()?.clone();
        let beside = loaded.beside.into_iter().next()?;
        let its = beside.outcome.sample()?.clone();
        assert_eq!(its.digest(), beside.expected_digest);
        Some(Some((own, its)))
    });
    let Some((own, its)) = sample else { return };
    let [own_cpus, its_cpus] = [&own, &its].map(|sample| sample.cpus().expect("Linux tells"));
    assert!(own_cpus.is_disjoint(&its_cpus), "{own_cpus:?} and {its_cpus:?}");
    assert_eq!((own_cpus.len(), its_cpus.len()), (1, 1));
}
