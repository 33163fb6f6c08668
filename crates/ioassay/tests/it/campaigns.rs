//! Runs that are interrupted and resumed.

use crate::sandbox::{PROGRAM, Sandbox, argument, check_refusal, is_judged, text, wait_for};
use model::record::{End, Record};
use model::trial::Trial;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use std::collections::BTreeSet;
use std::process::{Child, Stdio};

/// Short trials of two cases, which read.
pub(crate) const SHORT: &str = "
name = 'short'
question = 'Where is it cut?'
size = '1MiB'
time = '40ms'
rounds = 6
invocations = 3
ceilings = false
[[cases]]
engine = ['pread', 'mmap']
ops = 0
";

/// Two more, which write.
const WRITES: &str = "
[[cases]]
op = 'write'
engine = 'pwrite'
allocation = ['none', 'overwrite']
";

/// A sandbox with the recipe, which is not in the directory that is measured. In memory, no trial
/// waits for a disk that others use.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::in_memory().unwrap_or_else(Sandbox::new);
    let recipe = [SHORT, WRITES].concat();
    std::fs::write(sandbox.state().join("short.toml"), recipe).unwrap();
    sandbox
}

/// The arguments of a run of the recipe.
fn args(sandbox: &Sandbox, more: &[&str]) -> Vec<String> {
    let recipe = sandbox.state().join("short.toml");
    let args = [&["run", argument(&recipe), ".", "--quiet"], more].concat();
    args.into_iter().map(str::to_string).collect()
}

fn start(sandbox: &Sandbox, more: &[&str]) -> Child {
    let mut command = sandbox.start(PROGRAM);
    command.args(args(sandbox, more)).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

pub(crate) fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn end(child: &mut Child) -> Option<i32> {
    wait_for("the end of the run", || child.try_wait().unwrap()).code()
}

fn record(sandbox: &Sandbox) -> Record {
    ioassay::store::read(&sandbox.path("record")).unwrap()
}

/// The number of whole trials in the record; 0 if there is none yet.
fn trials(sandbox: &Sandbox) -> usize {
    let text = std::fs::read_to_string(sandbox.path("record")).unwrap_or_default();
    text.lines().filter(|line| line.starts_with("{\"trial\"") && line.ends_with('}')).count()
}

fn cells(record: &Record) -> BTreeSet<(usize, u32)> {
    record.trials.iter().map(|trial| (trial.case, trial.round)).collect()
}

/// Checks that the record has each case and round once, and nothing else in the directory is left.
fn check_whole(sandbox: &Sandbox) -> Record {
    let record = record(sandbox);
    assert_eq!((&record.end, &record.damage[..]), (&End::Complete, &[][..]));
    let all: BTreeSet<(usize, u32)> = (0..4).flat_map(|c| (0..6).map(move |r| (c, r))).collect();
    assert_eq!((record.trials.len(), cells(&record)), (all.len(), all));
    assert!(record.trials.iter().all(|trial| trial.sample().is_some()), "{record:?}");
    assert!(record.trials.iter().map(|trial| trial.at_ms).is_sorted());
    let left: Vec<_> = std::fs::read_dir(sandbox.directory()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    record
}

/// Kills a run with `signal` after each number of trials, until it is complete. On a busy machine
/// it may end before the signal: then there is nothing to see, and another one is begun.
fn check_interrupted(signal: Signal, after: &[usize]) {
    wait_for("a run that each signal interrupts", || interrupted(signal, after));
}

/// `None` if the run ended before a signal.
fn interrupted(signal: Signal, after: &[usize]) -> Option<()> {
    let sandbox = sandbox();
    let mut option = "--record=record";
    for (times, after) in after.iter().enumerate() {
        // The last signal may have come late. Only a trial of its own shows that it has resumed.
        let least = (*after).max(trials(&sandbox) + 1);
        let mut running = start(&sandbox, &[option]);
        wait_for("some trials", || (trials(&sandbox) >= least).then_some(()));
        send(&running, signal);
        let code = end(&mut running);
        let left = record(&sandbox);
        if left.end == End::Complete {
            return None;
        }
        let expected = if signal == Signal::KILL { End::Missing } else { End::Interrupted };
        assert_eq!((left.end, code.is_some()), (expected, signal != Signal::KILL), "{times}");
        option = "--resume=record";
    }
    let output = sandbox.start(PROGRAM).args(args(&sandbox, &[option])).output().unwrap();
    assert!(is_judged(&output), "{output:?}");
    let whole = check_whole(&sandbox);
    let resumed = whole.invocations.iter().filter(|anew| anew.resumed.is_some());
    assert_eq!(resumed.count(), after.len());
    // No invocation has trials from before and after an interruption.
    let numbers: Vec<u32> = whole.trials.iter().map(|trial| trial.invocation).collect();
    assert!(numbers.is_sorted() && whole.invocations.is_sorted_by_key(|anew| anew.number));
    let said = sandbox.judges(&["report", "record"]);
    assert!(said.contains("the run was interrupted, and resumed at 20"), "{said}");
    let report = sandbox.json(&["report", "--json", "record"]);
    assert_eq!(report["resumed"].as_array().unwrap().len(), after.len());
    let invocations = numbers.iter().collect::<BTreeSet<_>>().len();
    assert_eq!(report["repetition"]["invocations"], invocations.max(3));
    Some(())
}

#[test]
fn a_run_that_is_killed_again_and_again_measures_everything_once() {
    check_interrupted(Signal::KILL, &[1, 7, 8, 19]);
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_run_that_is_stopped_again_and_again_measures_everything_once() {
    check_interrupted(Signal::TERM, &[3, 13]);
    // Batch systems send this before the end of a job.
    check_interrupted(Signal::USR1, &[10]);
}

/// Lets the program write no file beyond this size.
pub(crate) fn limit_files(child: &Child, bytes: u64) {
    let limit = Rlimit { current: Some(bytes), maximum: None };
    prlimit(Some(Pid::from_child(child)), Resource::Fsize, limit).unwrap();
}

/// What was written of a line that does not fit is cut off again, and the end fits.
#[test]
fn a_record_that_takes_no_more_trials_ends_whole() {
    wait_for("a run that its record ends", || {
        let sandbox = sandbox();
        let mut command = sandbox.start(PROGRAM);
        let more = ["--record=record", "--invocations=1", "--rounds=1000"];
        command.args(args(&sandbox, &more)).stderr(Stdio::piped()).stdout(Stdio::null());
        let running = command.spawn().unwrap();
        wait_for("some trials", || (trials(&sandbox) >= 3).then_some(()));
        send(&running, Signal::STOP);
        let stat = format!("/proc/{}/stat", running.id());
        wait_for("a run that rests", || {
            std::fs::read_to_string(&stat).unwrap().contains(") T ").then_some(())
        });
        let before = std::fs::read(sandbox.path("record")).unwrap();
        limit_files(&running, before.len() as u64 + 100);
        send(&running, Signal::CONT);
        let output = running.wait_with_output().unwrap();
        let record = record(&sandbox);
        if record.end == End::Complete {
            return None;
        }
        check_refusal(&output, &["failed to write the record"]);
        assert_eq!((&record.end, &record.damage[..]), (&End::Interrupted, &[][..]));
        assert!(std::fs::read(sandbox.path("record")).unwrap().starts_with(&before));
        Some(())
    });
}

/// Kills between any two system calls, not only after a trial.
#[test]
fn a_run_that_is_killed_at_any_moment_goes_on() {
    let sandbox = sandbox();
    let mut option = "--record=record";
    for ms in [150, 333, 517, 90, 1_250, 777] {
        let mut running = start(&sandbox, &[option]);
        std::thread::sleep(std::time::Duration::from_millis(ms));
        send(&running, Signal::KILL);
        end(&mut running);
        if sandbox.path("record").exists() {
            option = "--resume=record";
        }
    }
    let output = sandbox.start(PROGRAM).args(args(&sandbox, &[option])).output().unwrap();
    // The last of these may have been whole already.
    assert!(is_judged(&output) || output.status.code() == Some(2), "{output:?}");
    check_whole(&sandbox);
}

/// The record is cut at each of many bytes, as by a crash in the middle of a line.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_record_that_is_cut_anywhere_is_resumed() {
    let sandbox = sandbox();
    let output = sandbox.start(PROGRAM).args(args(&sandbox, &["--record=record"])).output();
    assert!(is_judged(&output.unwrap()));
    let bytes = std::fs::read(sandbox.path("record")).unwrap();
    let header = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    let whole: Vec<Trial> = record(&sandbox).trials;
    for cut in [header + 1, header + 50, bytes.len() / 2, bytes.len() - 30, bytes.len() - 23] {
        std::fs::write(sandbox.path("record"), &bytes[..cut]).unwrap();
        let before = record(&sandbox).trials;
        assert_eq!(before[..], whole[..before.len()]);
        let resume = args(&sandbox, &["--resume=record"]);
        let output = sandbox.start(PROGRAM).args(resume).output().unwrap();
        let is_whole = before.len() == whole.len();
        let is_refused = output.status.code() == Some(2);
        assert!(is_refused == is_whole && is_refused != is_judged(&output), "{cut}: {output:?}");
        assert_eq!(check_whole(&sandbox).trials[..before.len()], before);
    }
}

#[test]
fn only_the_same_run_is_resumed() {
    let sandbox = sandbox();
    let mut running = start(&sandbox, &["--record=record", "--seed=7"]);
    wait_for("some trials", || (trials(&sandbox) >= 3).then_some(()));
    // It is not at its end for as long as the test takes.
    send(&running, Signal::STOP);
    let resume = |more: &[&str]| {
        let args = args(&sandbox, &[&["--resume=record"], more].concat());
        sandbox.start(PROGRAM).args(args).output().unwrap()
    };
    check_refusal(&resume(&[]), &["a run is writing the record 'record'"]);
    send(&running, Signal::TERM);
    send(&running, Signal::CONT);
    assert_eq!(end(&mut running), Some(143));
    let bytes = std::fs::read(sandbox.path("record")).unwrap();
    check_refusal(&resume(&["--seed=8"]), &["seed: 7 in the record, 8 now"]);
    check_refusal(&resume(&["--rounds=9"]), &["rounds: 6 in the record, 9 now"]);
    check_refusal(&resume(&["--size=2MiB"]), &["other cases: ", "of 1MiB"]);
    check_refusal(&resume(&["--control"]), &["other cases: none in the record"]);
    check_refusal(&resume(&["--pin=0"]), &["pinned to CPUs: none in the record, 0 now"]);
    check_refusal(&resume(&["--record=other"]), &["cannot be used with"]);
    let other = Sandbox::new();
    let recipe = sandbox.state().join("short.toml");
    let elsewhere = argument(other.directory());
    let resume_there = ["run", argument(&recipe), elsewhere, "--resume=record"];
    let output = sandbox.start(PROGRAM).args(resume_there).output().unwrap();
    check_refusal(&output, &["directory: ", "Repeat its command on its machine"]);
    let another = ["run", "page-latency", ".", "--resume=record"];
    let output = sandbox.start(PROGRAM).args(another).output().unwrap();
    check_refusal(&output, &["recipe: short in the record, page-latency now"]);
    assert_eq!(std::fs::read(sandbox.path("record")).unwrap(), bytes, "nothing was changed");
    assert_eq!(text(&resume(&[]).stderr), "");
    check_whole(&sandbox);
    check_refusal(&resume(&[]), &["nothing is left to measure"]);
}

#[test]
fn what_is_no_record_is_not_resumed() {
    let sandbox = sandbox();
    std::fs::write(sandbox.path("thesis"), "years of work\n").unwrap();
    let refuses = |name: &str, expected: &str| {
        let args = args(&sandbox, &["--resume", name]);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        sandbox.refuses(&args, &[expected]);
    };
    refuses("thesis", "'thesis' is not a record");
    refuses("nothing", "No such file");
    refuses("/dev/null", "only a file can be resumed");
    assert_eq!(std::fs::read_to_string(sandbox.path("thesis")).unwrap(), "years of work\n");
    sandbox.refuses(&["plan", "page-latency", ".", "--resume=thesis"], &["a plan does not"]);
}

#[test]
fn what_only_reads_is_not_sustained() {
    let sandbox = sandbox();
    let sustained = ["run", "read-methods", ".", "--sustain=1min"];
    sandbox.refuses(&sustained, &["'read-methods' writes nothing: leave it out"]);
}

#[test]
fn the_help_of_a_plan_has_no_option_that_it_refuses() {
    let help = sandbox().says(&["plan", "--help"]);
    assert!(help.contains("--json") && help.contains("--record"), "{help}");
    for option in ["--csv", "--markdown", "--svg", "--html", "--openmetrics", "--resume"] {
        assert!(!help.contains(option), "{option}: {help}");
    }
}

/// The planned trials are followed by further ones, also after an interruption.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_campaign_measures_what_varies_until_its_time_is_up() {
    let sandbox = sandbox();
    let run = |option: &str, trials_least: usize, signal: Signal| {
        let mut running = start(&sandbox, &[option, "--for=1h", "--seed=3"]);
        wait_for("further trials", || (trials(&sandbox) >= trials_least).then_some(()));
        send(&running, signal);
        end(&mut running);
    };
    run("--record=record", 5, Signal::KILL);
    run("--resume=record", 26, Signal::KILL);
    run("--resume=record", 29, Signal::TERM);
    let cut = record(&sandbox);
    assert_eq!((&cut.end, cut.damage.len()), (&End::Interrupted, 0));
    assert_eq!(cells(&cut).len(), cut.trials.len(), "nothing is measured twice");
    let (further, planned): (Vec<&Trial>, Vec<&Trial>) =
        cut.trials.iter().partition(|trial| trial.round >= 6);
    assert_eq!(planned.len(), 24);
    let last = planned.iter().map(|trial| trial.invocation).max().unwrap();
    assert!(further.len() >= 5 && further.iter().all(|trial| trial.invocation > last));
    let resume = |time: &str| {
        let args = args(&sandbox, &["--resume=record", time]);
        sandbox.start(PROGRAM).args(args).output().unwrap()
    };
    check_refusal(&resume("--for=2h"), &["time given: 1h in the record, 2h now"]);

    // With less time, it would have ended.
    let text = std::fs::read_to_string(sandbox.path("record")).unwrap();
    let (long, short) = (r#""budget":{"secs":3600,"#, r#""budget":{"secs":1,"#);
    assert!(text.contains(long));
    std::fs::write(sandbox.path("record"), text.replace(long, short)).unwrap();
    assert!(is_judged(&resume("--for=1s")));
    let over = record(&sandbox);
    assert_eq!((&over.end, &over.trials), (&End::Complete, &cut.trials));
    check_refusal(&resume("--for=1s"), &["nothing is left to measure"]);

    let report = sandbox.json(&["report", "--json", "record"]);
    let rounds: BTreeSet<u32> = further.iter().map(|trial| trial.round).collect();
    let expected = serde_json::json!(
        {"for_s": 1.0, "planned_rounds": 6, "further_rounds": rounds.len(), "is_full": false}
    );
    assert_eq!(report["campaign"], expected);
    let said = sandbox.judges(&["report", "record"]);
    assert!(said.contains("1s was enough for the 6 planned rounds, and then for"), "{said}");
}

#[test]
fn a_campaign_whose_time_is_too_short_says_so() {
    let sandbox = sandbox();
    // Each trial takes longer than the time given, in which the first has to begin.
    std::fs::write(sandbox.state().join("short.toml"), SHORT).unwrap();
    let more = ["--record=record", "--for=900ms", "--time=1s"];
    sandbox.start(PROGRAM).args(args(&sandbox, &more)).output().unwrap();
    let record = record(&sandbox);
    assert_eq!(record.end, End::Complete);
    // The time is over after the first of them.
    assert_eq!(record.trials.len(), 1);
    let report = sandbox.json(&["report", "--json", "record"]);
    assert_eq!(
        (&report["campaign"]["planned_rounds"], &report["repetition"]["invocations"]),
        (&0.into(), &1.into())
    );
    // Cases without a figure are no success.
    let output = sandbox.start(PROGRAM).args(["report", "record"]).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("TooFew") && said.contains("not run"), "{said}");
    assert!(said.contains("900ms was too short for the first of the 6 planned rounds"), "{said}");
}

#[test]
fn a_time_that_is_none_is_refused() {
    let sandbox = sandbox();
    let refuses = |more: &[&str], expected: &str| {
        let args = args(&sandbox, more);
        sandbox.refuses(&args.iter().map(String::as_str).collect::<Vec<_>>(), &[expected]);
    };
    refuses(&["--for=0s", "--invocations=3"], "'0s' is not a time");
    refuses(&["--for=soon", "--invocations=3"], "'soon'");
    refuses(&["--for=1min", "--invocations=2"], "--for needs at least 3 invocations");
    refuses(&["--for=1min", "--sustain=1min"], "cannot be used with");
    let hold = ["run", "load", ".", "--for=1min", "--hold=p99<1ms", "--invocations=5"];
    sandbox.refuses(&hold, &["--hold judges response times"]);
    sandbox.refuses(&["survey", ".", "--quick", "--for=1min"], &["at least 3 invocations"]);
    let plan = sandbox.plainly(&["plan", "read-methods", ".", "--for=30m"]);
    let said = text(&plan.stdout);
    assert!(said.contains(" · for 30m"), "{said}");
    assert!(said.contains("30m and at most one trial more"), "{said}");
}
