//! Cases whose file an actor uses too: reads beside writes of the same file, in both directions.

use crate::sandbox::{PROGRAM, Sandbox, argument, text};
use model::generation::{PAGE, PagesRead};
use model::record::Record;
use model::sample::Sample;
use model::trial::Trial;

const SHARED: &str = r#"
name = "shared"
question = "What do reads meet while their file is overwritten?"
size = "1MiB"
rounds = 3
time = "100ms"
ceilings = false

[view]
columns = ["iops", "pages_read", "new_share", "torn_pages"]
answer = ["interference"]

[actors.checkpoint]
file = "case"
op = "write"
cache = "direct"
block = "64KiB"
allocation = "overwrite"
sync = "none"

[actors.flood]
file = "case"
op = "write"
cache = "as-is"
block = "64KiB"
allocation = "overwrite"
sync = "none"

[actors.second]
file = "case"
cache = "direct"
block = "16KiB"

[[cases]]
cache = "direct"
pattern = "random"
block = "4KiB"
beside = ["none", "second", "checkpoint", "checkpoint+second"]

[[cases]]
cache = "as-is"
block = "64KiB"
beside = "flood"

[[cases]]
op = "write"
cache = "direct"
block = "64KiB"
allocation = "overwrite"
sync = "none"
beside = "second"
"#;

fn run(sandbox: &Sandbox, args: &[&str]) -> (String, Record) {
    std::fs::write(sandbox.path("shared.toml"), SHARED).unwrap();
    let record = sandbox.path("shared.jsonl");
    let fixed = ["run", "shared.toml", ".", "--all", "--record", argument(&record)];
    let mut command = sandbox.start(PROGRAM);
    // On a busy machine, figures in brackets leave no room for all columns in fewer.
    let output = command.args([&fixed[..], args].concat()).env("COLUMNS", "160").output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    (said, ioassay::store::read(&record).expect("the run kept it"))
}

/// What a worker read, all of which somebody must have written there.
fn check(sample: &Sample) -> PagesRead {
    let pages = sample.pages().expect("it tells pages");
    assert_eq!((pages.count(), pages.wrong), (sample.bytes() / PAGE, 0), "{pages:?}");
    pages
}

/// Whether everything in a trial did so much that reads meet writes: each writer four passes over
/// the file, and each reader a quarter of one.
fn did_much(trial: &Trial) -> bool {
    let beside = trial.beside.iter().map(|it| it.outcome.sample());
    let mut samples = beside.chain([trial.sample()]).flatten();
    trial.case < 2
        || samples.all(|sample| match sample.pages() {
            Some(pages) => pages.count() >= 64,
            None => sample.written_bytes() >= 4 << 20,
        })
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn what_reads_meet_of_writes_to_their_file_is_told_in_both_directions() {
    let sandbox = Sandbox::new();
    if !sandbox.is_on_disk("what_reads_meet_of_writes_to_their_file_is_told_in_both_directions") {
        return;
    }
    let (mut said, mut record) = run(&sandbox, &[]);
    // On a slow disk, the same takes longer.
    for time in ["--time=1s", "--time=10s"] {
        if !record.trials.iter().all(did_much) {
            std::fs::remove_file(sandbox.path("shared.jsonl")).unwrap();
            (said, record) = run(&sandbox, &[time]);
        }
    }
    assert!(said.contains("new") && said.contains("torn"), "{said}");
    assert_eq!(record.trials.len(), 6 * 3, "{said}");
    // For each case: whether it reads what something else writes, and whether its actors do.
    let expected = [[0, 0], [0, 0], [1, 0], [1, 1], [1, 0], [0, 1]];
    let mut met = [PagesRead::default(); 6];
    for trial in &record.trials {
        let sample = trial.sample().unwrap_or_else(|| panic!("{:?}", trial.outcome));
        let [by_case, by_actors] = expected[trial.case];
        let of_case = std::iter::once(sample).take(by_case);
        let others = trial.beside.iter().filter_map(|it| it.outcome.sample());
        let readers = others.filter(|sample| sample.pages().is_some());
        assert_eq!(readers.clone().count(), by_actors);
        let pages = of_case.chain(readers).map(check);
        met[trial.case] = pages.fold(met[trial.case], |sum, pages| sum.plus(&pages));
        // Only what nobody writes has a digest that is known beforehand.
        assert_eq!(trial.expected_digest.is_some(), trial.case < 2);
        let backs = trial.beside.iter().filter_map(|it| it.read_back).chain(trial.read_back);
        let backs: Vec<_> = backs.collect();
        assert_eq!(backs.len(), usize::from(trial.case >= 2));
        assert!(backs.iter().all(|back| back.bytes > 0 && back.digest == back.expected));
    }
    for pages in &met[2..] {
        assert!(pages.written() > 0 && pages.has_changed(), "the reads met no write: {met:?}");
    }
    let judged = sandbox.json(&["report", argument(&sandbox.path("shared.jsonl")), "--json"]);
    for (case, met) in judged["cases"].as_array().unwrap().iter().zip(met) {
        assert_eq!(case["digest_verified"], true, "{}", case["id"]);
        assert_eq!(case["shared"]["pages"].as_u64().unwrap_or(0), met.count(), "{}", case["id"]);
        assert_eq!(case["shared"]["torn_pages"].as_u64().unwrap_or(0), met.torn);
    }
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_shared_file_leaves_nothing_and_is_never_your_own() {
    let sandbox = Sandbox::new();
    let groups: Vec<&str> = SHARED.split("[[cases]]").collect();
    let only_flooded = [groups[0], groups[2]].join("[[cases]]");
    std::fs::write(sandbox.path("shared.toml"), only_flooded).unwrap();
    std::fs::write(sandbox.path("own"), vec![7; 1 << 20]).unwrap();
    let before = sandbox.things();
    let output = sandbox.ioassay(&["run", "shared.toml", "--file", "own"]);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(said.contains("actors need a directory"), "{said}");
    assert!(std::fs::read(sandbox.path("own")).unwrap().iter().all(|byte| *byte == 7));
    assert_eq!(sandbox.things(), before);
    let output = sandbox.ioassay(&["run", "shared.toml", ".", "--record", "r.jsonl"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let mut left: Vec<String> = std::fs::read_dir(sandbox.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["own", "r.jsonl", "shared.toml"]);
}

#[test]
fn files_that_cannot_be_shared_are_skipped_with_the_reason() {
    let sandbox = Sandbox::new();
    let plan = |recipe: &str| {
        std::fs::write(sandbox.path("shared.toml"), recipe).unwrap();
        let output = sandbox.ioassay(&["plan", "shared.toml", "."]);
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    for (old, new, expected) in [
        ("file = \"case\"", "file = \"mine\"", "unknown file 'mine'"),
        ("file = \"case\"", "file = [\"case\", \"own\"]", "takes one value"),
        ("file = \"case\"", "flie = \"case\"", "unknown axis 'flie'"),
    ] {
        let (code, said) = plan(&SHARED.replacen(old, new, 1));
        assert!(code == Some(2) && said.contains(expected), "{new}: {said}");
    }
    for (old, new, expected) in [
        ("block = \"4KiB\"", "block = \"512B\"", "multiples of 4KiB"),
        ("cache = \"as-is\"\nblock = \"64KiB\"\nbeside", "beside", "does not last while"),
        ("block = \"4KiB\"", "block = \"4KiB\"\nsize = \"2MiB\"", "another size than the file"),
        ("\"checkpoint+second\"", "\"checkpoint+flood\"", "only one of all that use a file"),
        ("allocation = \"overwrite\"\nsync = \"none\"\nbeside", "beside", "not there yet"),
    ] {
        let (code, said) = plan(&SHARED.replacen(old, new, 1));
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == Some(0) && said.contains(expected), "{new}: {said}");
    }
}
