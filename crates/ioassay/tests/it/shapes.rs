//! The shapes of loops over memory: measured before a run, kept in its record, and used again.

use crate::sandbox::Sandbox;
use model::record::{End, Record, RecordLine, VERSION};
use model::shape::Calibrated;
use model::trial::Outcome;
use serde_json::{Value, json};

const SUMS: [&str; 8] = [
    "run",
    "memory",
    "--kernel=read",
    "--working-set=64KiB",
    "--pages=huge",
    "--threads=1",
    "--rounds=2",
    "--time=1ms",
];

fn record(sandbox: &Sandbox, name: &str) -> Record {
    ioassay::store::read(&sandbox.path(name)).unwrap()
}

/// Writes the record without its last trial, as if the run had been killed then, with other loops.
fn cut(sandbox: &Sandbox, record: &Record, calibrated: Vec<Calibrated>) {
    let header = model::record::Header { calibrated, ..record.header.clone() };
    let mut lines = vec![RecordLine::Header { version: VERSION, header }];
    lines.push(RecordLine::Trial(record.trials[0].clone()));
    let text: String = lines.iter().map(|line| line.encode() + "\n").collect();
    std::fs::write(sandbox.path("record"), text).unwrap();
}

#[test]
fn a_resumed_run_has_the_loops_that_its_record_names() {
    let sandbox = Sandbox::new();
    sandbox.json(&[&SUMS[..], &["--isa=auto", "--json", "--record=record"]].concat());
    let whole = record(&sandbox, "record");
    let [found] = &whole.header.calibrated[..] else { panic!("{:#?}", whole.header.calibrated) };
    assert!((1..=8).contains(&found.candidates.len()), "{found:#?}");
    assert!(found.candidates.iter().any(|it| it.shape == found.chosen), "{found:#?}");
    assert!(found.candidates.iter().all(|it| it.passes >= 5 && it.throughput > 0.0), "{found:#?}");
    let resume = |calibrated: Vec<Calibrated>| {
        cut(&sandbox, &whole, calibrated.clone());
        sandbox.ioassay(&[&SUMS[..], &["--isa=auto", "--resume=record", "--quiet"]].concat());
        let resumed = record(&sandbox, "record");
        assert_eq!(resumed.header.calibrated, calibrated);
        assert_eq!((resumed.trials.len(), &resumed.end), (2, &End::Complete), "{resumed:#?}");
        resumed.trials[1].outcome.clone()
    };
    // No processor has a loop of seven ways: only the record names it.
    let mut planted = found.clone();
    planted.chosen.ways = 7;
    let shape = planted.chosen.to_string();
    let outcome = resume(vec![planted]);
    let Outcome::Unavailable { reason } = outcome else { panic!("{outcome:?}") };
    assert!(
        reason.contains(&format!("cannot run the kernel read in the shape {shape}")),
        "{reason}"
    );
    // A record from before has the widest vectors, and nothing is measured for it.
    let outcome = resume(Vec::new());
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
}

#[test]
fn only_loops_that_the_worker_chooses_are_measured() {
    let sandbox = Sandbox::new();
    let report = sandbox.json(&[&SUMS[..], &["--isa=scalar", "--json", "--record=a"]].concat());
    assert_eq!(report["calibrated"], json!([]));
    let best = sandbox.json(&[&SUMS[..], &["--isa=best", "--json", "--record=b"]].concat());
    assert_eq!(best["cases"][0]["case"]["isa"], "auto", "{best:#}");
    let chosen = &best["calibrated"][0];
    assert_eq!((&chosen["kernel"], &chosen["pages"]), (&json!("read"), &json!("huge")));
    let said = sandbox.says(&["report", "b"]);
    let isa = chosen["chosen"]["isa"].as_str().unwrap();
    assert!(said.contains(&format!("memory: {isa}, ")), "{said}");
    assert!(!sandbox.says(&["report", "a"]).contains("\nmemory: "));
}

#[test]
fn a_comparison_names_loops_that_differ() {
    let sandbox = Sandbox::new();
    sandbox.json(&[&SUMS[..], &["--isa=auto", "--json", "--record=a"]].concat());
    let text = std::fs::read_to_string(sandbox.path("a")).unwrap();
    let (header, trials) = text.split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(header).unwrap();
    header["header"]["calibrated"][0]["chosen"] =
        json!({ "isa": "scalar", "ways": 7, "streams": 1, "ahead": 0 });
    header["header"]["began"] = "2026-01-01T00:00:00Z".into();
    std::fs::write(sandbox.path("b"), format!("{header}\n{trials}")).unwrap();
    let others = |b: &str| {
        let found = sandbox.json(&["compare", "a", b, "--json"]);
        let others = found["others"].as_array().unwrap().clone();
        others.into_iter().filter(|it| it["what"] == "fastest loops").collect::<Vec<_>>()
    };
    let named = others("b");
    assert_eq!(named[0]["b"], "read t1 32KiB huge pages scalar-7x1", "{named:#?}");
    assert_eq!(others("a"), [] as [Value; 0]);
}
