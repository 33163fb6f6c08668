//! Gates that are given a time, that prune, and that are interrupted and resumed.

use crate::campaigns::{SHORT, limit_files, send};
use crate::executables::install;
use crate::pruning::{self, BLOCKS, RISING, SATURATED, Times, fake_script};
use crate::sandbox::{PROGRAM, Sandbox, argument, check_refusal, is_judged, text, wait_for};
use model::record::{End, Record};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// The trials of each side of a whole gate of it without a time.
const WHOLE: usize = 12;

/// A case and its round.
type Place = (usize, u32);

/// Two directories to hold against each other. In memory, no trial waits for a disk that others
/// use.
struct Bench(Sandbox);

impl Bench {
    fn new() -> Bench {
        let sandbox = Sandbox::in_memory().unwrap_or_else(Sandbox::new);
        std::fs::write(sandbox.state().join("short.toml"), SHORT).unwrap();
        for side in ["here", "there"] {
            std::fs::create_dir(sandbox.path(side)).unwrap();
        }
        Bench(sandbox)
    }

    /// A gate of the recipe.
    fn gate(&self, more: &[&str]) -> Command {
        let recipe = self.0.state().join("short.toml");
        let mut command = self.0.start(PROGRAM);
        command.args(["gate", argument(&recipe), "here", "--invocations=3", "--json"]);
        command.args(more);
        if !more.iter().any(|arg| arg.starts_with("--against")) {
            command.arg("--against=there");
        }
        command
    }

    fn start(&self, more: &[&str]) -> Child {
        self.gate(more).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn resume(&self, more: &[&str]) -> Output {
        self.gate(&[&["--resume=records"], more].concat()).output().unwrap()
    }

    /// The paths of the records in a folder, the reference first; fewer if they do not exist yet.
    fn paths(&self, folder: &str) -> Vec<PathBuf> {
        ioassay::store::records_of(&self.0.path(folder)).unwrap_or_default()
    }

    fn records(&self) -> [Record; 2] {
        let paths = <[PathBuf; 2]>::try_from(self.paths("records")).unwrap();
        paths.map(|path| ioassay::store::read(&path).unwrap())
    }

    /// The number of whole trials in the records of a folder.
    fn trials(&self, folder: &str) -> usize {
        let of = |path: &PathBuf| {
            let text = std::fs::read_to_string(path).unwrap();
            let is_trial = |line: &&str| line.starts_with("{\"trial\"") && line.ends_with('}');
            text.lines().filter(is_trial).count()
        };
        self.paths(folder).iter().map(of).sum()
    }

    /// Runs until so many trials are recorded on both sides together, then sends the signal. `None`
    /// if the gate was over by then, as on a busy machine: there is nothing to see.
    fn interrupt(
        &self,
        more: &[&str],
        folder: &str,
        (trials, signal): (usize, Signal),
    ) -> Option<Output> {
        let mut command = self.gate(more);
        let mut running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let is_running = wait_for("trials", || match running.try_wait().unwrap() {
            Some(_) => Some(false),
            None => (self.trials(folder) >= trials).then_some(true),
        });
        if is_running {
            send(&running, signal);
        }
        let output = running.wait_with_output().unwrap();
        let is_over = !is_running || matches!(output.status.code(), Some(0 | 1));
        let is_whole =
            self.trials(folder) == WHOLE * self.paths(folder).len() && !more.contains(&"--for=1h");
        (!is_over && !is_whole).then_some(output)
    }

    /// Checks that both sides measured every case in every round once and in the same invocations,
    /// that nothing but the records is left, and that the gate's outcome is that of its records.
    fn check_whole(&self, output: &Output) -> [Record; 2] {
        assert!(is_judged(output), "{output:?}");
        let records = self.records();
        let all: BTreeSet<Place> =
            (0..2).flat_map(|case| (0..6).map(move |it| (case, it))).collect();
        for record in &records {
            assert_eq!((&record.end, &record.damage[..]), (&End::Complete, &[][..]));
            assert_eq!((record.trials.len(), places(record)), (all.len(), all.clone()));
            assert!(record.trials.iter().map(|trial| trial.at_ms).is_sorted());
        }
        assert_eq!(turns(&records[0]), turns(&records[1]));
        self.check_judged(output);
        records
    }

    /// Checks that nothing but the records is left, and that the outcome is theirs.
    fn check_judged(&self, output: &Output) {
        for side in ["here", "there"] {
            assert_eq!(self.0.path(side).read_dir().unwrap().count(), 0, "it leaves no file");
        }
        let paths = self.paths("records");
        let compare = ["compare", argument(&paths[0]), argument(&paths[1])];
        let limit = ["--fail-if=slower > 5%", "--json"];
        let again = self.0.ioassay(&[&compare[..], &limit].concat());
        assert_eq!(again.status.code(), output.status.code());
        let [told, again] = [output, &again]
            .map(|output| -> Value { serde_json::from_slice(&output.stdout).unwrap() });
        for part in ["outcome", "checks", "left_out"] {
            assert!(told[part] == again[part] && !told[part].is_null(), "{told:#} {again:#}");
        }
    }
}

fn places(record: &Record) -> BTreeSet<Place> {
    record.trials.iter().map(|trial| (trial.case, trial.round)).collect()
}

fn turns(record: &Record) -> BTreeSet<(usize, u32, u32)> {
    record.trials.iter().map(|it| (it.case, it.invocation, it.round)).collect()
}

#[test]
fn a_gate_that_is_killed_is_resumed_and_judged_as_one_that_was_not() {
    wait_for("a gate that each signal interrupts", kill_twice);
}

fn kill_twice() -> Option<()> {
    let bench = Bench::new();
    bench.interrupt(&["--record=records/"], "records", (3, Signal::KILL))?;
    // As if it had been killed before the second side wrote its last trial: the first is ahead.
    let b = bench.paths("records").pop().unwrap();
    let lines = std::fs::read_to_string(&b).unwrap();
    let kept: Vec<&str> =
        lines.split_inclusive('\n').filter(|it| !it.contains("{\"trial\"")).collect();
    std::fs::write(&b, kept.concat()).unwrap();
    let [before, _] = bench.records();
    assert!(!before.trials.is_empty());
    let output = bench.interrupt(&["--resume=records"], "records", (8, Signal::KILL))?;
    assert_eq!((output.status.code(), text(&output.stdout)), (None, String::new()));
    let records = bench.check_whole(&bench.resume(&[]));
    for record in &records {
        let resumed: Vec<_> = record.invocations.iter().filter(|it| it.resumed.is_some()).collect();
        assert_eq!(resumed.len(), 2);
        assert!(resumed[0].again.iter().all(|it| places(&before).contains(it)), "{resumed:?}");
        assert_eq!(resumed[0].again.len(), before.trials.len());
        assert_eq!(record.header.calibrated, records[0].header.calibrated);
    }
    // What one side did alone counts on neither.
    assert!(records[0].trials.iter().all(|trial| trial.invocation > 0));
    check_refusal(&bench.resume(&[]), &["nothing is left to measure", "'ioassay compare "]);
    Some(())
}

/// Kills between any two system calls, not only after a trial.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_gate_that_is_killed_at_any_moment_goes_on() {
    let bench = Bench::new();
    let mut option = "--record=records/";
    for ms in [333, 517, 90, 1_250, 777] {
        let mut running = bench.start(&[option]);
        std::thread::sleep(std::time::Duration::from_millis(ms));
        send(&running, Signal::KILL);
        running.wait().unwrap();
        match bench.paths("records").len() {
            2 => option = "--resume=records",
            // It was killed before both sides had a record: there is nothing to go on with.
            _ => drop(std::fs::remove_dir_all(bench.0.path("records"))),
        }
    }
    let output = bench.gate(&[option]).output().unwrap();
    // The last of these may have been whole already.
    if output.status.code() == Some(2) {
        check_refusal(&output, &["nothing is left to measure"]);
    } else {
        bench.check_whole(&output);
    }
}

#[test]
fn a_gate_that_is_stopped_judges_nothing_and_says_how_it_goes_on() {
    wait_for("a gate that the signal interrupts", stop_and_go_on);
}

fn stop_and_go_on() -> Option<()> {
    let bench = Bench::new();
    let output = bench.interrupt(&["--record=records/"], "records", (3, Signal::TERM))?;
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(143), String::new()), "{said}");
    assert!(said.contains("stopped before its end, so nothing is judged"), "{said}");
    let b = bench.paths("records").pop().unwrap();
    let (_, place) = said.split_once("repeat the command with --resume ").unwrap();
    let (place, instead) = place.trim_end().split_once(' ').unwrap();
    assert_eq!(instead, "in place of --record");
    assert_eq!(bench.0.path(place), b);
    assert!(bench.records().iter().all(|record| record.end == End::Interrupted));
    // The other one is beside it.
    let resumed = bench.gate(&[&format!("--resume={place}")]).output().unwrap();
    bench.check_whole(&resumed);
    Some(())
}

/// Only its user can make room, so the signal does not explain it.
#[test]
fn a_record_that_cannot_be_written_is_an_error_even_if_a_signal_ends_the_gate() {
    let bench = Bench::new();
    let mut command = bench.gate(&["--record=records/", "--time=1h"]);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("both records", || (bench.paths("records").len() == 2).then_some(()));
    limit_files(&running, 1);
    send(&running, Signal::TERM);
    check_refusal(&running.wait_with_output().unwrap(), &["failed to write the record", "-a-"]);
}

#[test]
fn only_the_same_gate_is_resumed() {
    let bench = Bench::new();
    let mut running = bench.start(&["--record=records/", "--seed=7"]);
    wait_for("trials", || (bench.trials("records") >= 3).then_some(()));
    // It is not at its end for as long as the test takes.
    send(&running, Signal::STOP);
    check_refusal(&bench.resume(&[]), &["a run is writing the record", "short-a"]);
    send(&running, Signal::KILL);
    running.wait().unwrap();
    let before = bench.paths("records").iter().map(std::fs::read).collect::<Result<Vec<_>, _>>();
    let refuse = |more: &[&str], expected: &[&str]| check_refusal(&bench.resume(more), expected);
    refuse(&["--seed=8"], &["short-a", "seed: 7 in the record, 8 now"]);
    refuse(&["--rounds=9"], &["rounds: 6 in the record, 9 now"]);
    refuse(&["--size=2MiB"], &["other cases: ", "of 1MiB"]);
    refuse(&["--for=1h"], &["time given: none in the record, 1h now"]);
    refuse(&["--against=here"], &["short-a", "directory: "]);
    refuse(&["--against=/bin/true"], &["takes the place of a peer"]);
    refuse(&["--record=other/"], &["cannot be used with"]);
    let resume = |place: &str| bench.gate(&[&format!("--resume={place}")]).output().unwrap();
    check_refusal(&resume("here"), &["the folder 'here' has no records of a gate"]);
    check_refusal(&resume("nowhere"), &["nowhere", "No such file"]);
    // A record of it is enough to find the other, and one is not enough.
    let [a, b] = <[PathBuf; 2]>::try_from(bench.paths("records")).unwrap();
    std::fs::create_dir(bench.0.path("one")).unwrap();
    std::fs::copy(&a, bench.0.path("one/a.jsonl")).unwrap();
    let lacks = ["the folder 'one' has 0 records of side B"];
    check_refusal(&resume("one"), &lacks);
    check_refusal(&resume("one/a.jsonl"), &lacks);
    let text_of_b = std::fs::read_to_string(&b).unwrap();
    let header = text_of_b.split_once('\n').unwrap().0;
    let name = bench.records()[1].header.alternates.clone().unwrap();
    std::fs::write(bench.0.path("one/b.jsonl"), header.replace(&name, "other")).unwrap();
    check_refusal(&resume("one"), &["has the records of 2 gates: name one record"]);
    // Nothing was changed by what was refused.
    let after = bench.paths("records").iter().map(std::fs::read).collect::<Result<Vec<_>, _>>();
    assert_eq!(before.unwrap(), after.unwrap());
    bench.check_whole(&resume(argument(&a)));
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_gate_with_a_time_measures_further_on_both_sides_alike() {
    let bench = Bench::new();
    let given = ["--for=1h", "--seed=3"];
    let with = |option: &'static str| [&[option], &given[..]].concat();
    bench.interrupt(&with("--record=records/"), "records", (29, Signal::KILL)).unwrap();
    let output = bench.interrupt(&with("--resume=records"), "records", (40, Signal::TERM)).unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(143), String::new()));
    let cut = bench.records();
    let both = &turns(&cut[0]) & &turns(&cut[1]);
    let further: BTreeSet<u32> = both.iter().map(|it| it.2).filter(|round| *round >= 6).collect();
    assert!(further.len() > 1, "{both:?}");
    for record in &cut {
        assert_eq!((&record.end, record.damage.len()), (&End::Interrupted, 0));
        assert_eq!(places(record).len(), record.trials.len(), "nothing is measured twice");
        assert_eq!(record.trials.iter().filter(|trial| trial.round < 6).count(), 12);
        // Only what the last round cut off has no partner.
        let alone: BTreeSet<u32> = turns(record).difference(&both).map(|it| it.2).collect();
        assert!(alone.len() <= 1, "{alone:?}");
    }
    check_refusal(&bench.resume(&["--for=2h"]), &["time given: 1h in the record, 2h now"]);
    // With less time, it would have ended.
    for path in bench.paths("records") {
        let text = std::fs::read_to_string(&path).unwrap();
        let (long, short) = (r#""budget":{"secs":3600,"#, r#""budget":{"secs":1,"#);
        assert!(text.contains(long));
        std::fs::write(&path, text.replace(long, short)).unwrap();
    }
    let output = bench.resume(&["--for=1s"]);
    assert!(is_judged(&output), "{output:?}");
    bench.check_judged(&output);
    for (record, cut) in bench.records().iter().zip(&cut) {
        assert_eq!(record.end, End::Complete);
        assert!(turns(record).is_subset(&turns(cut)), "nothing was measured any more");
    }
    check_refusal(&bench.resume(&["--for=1s"]), &["nothing is left to measure"]);
    let few = ["--for=0s", "--record=records/"];
    check_refusal(&bench.gate(&few).output().unwrap(), &["'0s' is not a time"]);
}

#[test]
fn a_gate_whose_time_is_too_short_has_a_trial_of_each_side() {
    let bench = Bench::new();
    // Nothing else fits: the first trial takes longer.
    let more = ["--record=records/", "--for=900ms", "--time=1s"];
    let output = bench.gate(&more).output().unwrap();
    assert!(is_judged(&output), "{output:?}");
    let records = bench.records();
    assert_eq!(records.each_ref().map(|record| record.trials.len()), [1, 1]);
    assert_eq!(turns(&records[0]), turns(&records[1]));
    assert!(records.iter().all(|record| record.end == End::Complete));
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_gate_against_a_record_goes_on_with_its_run() {
    wait_for("a run that the signal interrupts", go_on_against_a_record);
}

fn go_on_against_a_record() -> Option<()> {
    let bench = Bench::new();
    let recipe = bench.0.state().join("short.toml");
    let run = ["run", argument(&recipe), "here", "--invocations=3", "--record=base/"];
    assert!(is_judged(&bench.0.plainly(&run)));
    let base = bench.paths("base").pop().unwrap();
    let against = format!("--against={}", argument(&base));
    let output = bench.interrupt(&[&against, "--record=new/"], "new", (3, Signal::TERM))?;
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(143), String::new()));
    let said = text(&output.stderr);
    assert!(said.contains("nothing is judged"), "{said}");
    let new = bench.paths("new").pop().unwrap();
    assert!(
        said.contains(&format!("--resume new/{}", argument(new.file_name().unwrap().as_ref())))
    );
    let output = bench.gate(&[&against, &format!("--resume={}", argument(&new))]).output().unwrap();
    assert!(is_judged(&output) && text(&output.stdout).contains("\"outcome\""), "{output:?}");
    let record = ioassay::store::read(&new).unwrap();
    assert_eq!((&record.end, record.trials.len(), places(&record).len()), (&End::Complete, 12, 12));
    // It is no side of a gate.
    let both = bench.gate(&["--resume=new"]).output().unwrap();
    check_refusal(&both, &["the folder 'new' has no records of a gate"]);
    let both = bench.gate(&[&format!("--resume={}", argument(&new))]).output().unwrap();
    check_refusal(&both, &["is no record of a gate", "--against RECORD"]);
    Some(())
}

/// Prunes a gate of two programs that read nothing and report these times, so that its rates do not
/// depend on the machine, and every case is void. Returns the records.
fn pruned(sides: [Times; 2]) -> [Record; 2] {
    let bench = Bench::new();
    let folder = bench.0.state();
    for (name, times) in ["a", "b"].iter().zip(sides) {
        let script = format!("#!/bin/sh\n{}", fake_script(times, ""));
        install(script.as_bytes(), &folder.join(name));
    }
    let peers = "[[peer]]\nname = 'fake'\nrun = ['{folder}/b']\nengines = ['pread']\n";
    std::fs::write(folder.join("peers.toml"), peers).unwrap();
    std::fs::write(folder.join("blocks.toml"), pruning::recipe()).unwrap();
    let [recipe, peers, a] = ["blocks.toml", "peers.toml", "a"].map(|name| folder.join(name));
    let mut command = bench.0.start(PROGRAM);
    command.args(["gate", argument(&recipe), "here", "--invocations=4", "--record=records/"]);
    command.args(["--prune", "--peers", argument(&peers), "--against", argument(&a)]);
    // Nothing was read: there is nothing to compare.
    check_refusal(&command.output().unwrap(), &["nothing to compare"]);
    bench.records()
}

#[test]
fn a_gate_prunes_what_gives_no_more_on_both_sides() {
    let rounds = |record: &Record| {
        let of = |case: usize| record.trials.iter().filter(|it| it.case == case).count();
        (0..BLOCKS.len()).map(of).collect::<Vec<_>>()
    };
    let records = pruned([SATURATED, SATURATED]);
    for record in &records {
        assert_eq!(rounds(record), [8, 8, 8, 8, 8, 5, 5]);
        assert_eq!(record.pruned, records[0].pruned);
        let skips = record.skips();
        assert_eq!(skips.len(), 2);
        assert!(skips[0].reason.starts_with("pruned: with blocks of 32KiB"), "{skips:?}");
    }
    for sides in [[SATURATED, RISING], [RISING, SATURATED]] {
        for record in pruned(sides) {
            assert_eq!((rounds(&record), record.pruned.len()), (vec![8; 7], 0));
        }
    }
}
