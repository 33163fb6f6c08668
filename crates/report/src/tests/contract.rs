//! The JSON against its schema.

use super::{all, made, made_writing};
use crate::{json, json_schema};
use assess::Assessment;
use insta::assert_snapshot;
use serde_json::{Value, json as value};

fn is_valid(instance: &Value) -> Result<(), String> {
    let schema: Value = serde_json::from_str(&json_schema()).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
    validator.validate(instance).map_err(|error| error.to_string())
}

fn parsed(assessment: &Assessment) -> Value {
    serde_json::from_str(&json(assessment)).expect("the output is JSON")
}

#[test]
fn every_assessment_keeps_it() {
    for assessment in all() {
        assert_eq!(is_valid(&parsed(&assessment)), Ok(()));
    }
}

/// The check above is worth nothing if it cannot fail.
#[test]
fn what_breaks_it_is_refused() {
    let sound = parsed(&made::rich());
    let case = "/cases/5";
    for (pointer, broken) in [
        ("/format", value!("1")),
        ("/end", value!("over")),
        ("/storage/medium", value!("tape")),
        (&format!("{case}/verdict"), value!("fine")),
        (&format!("{case}/served_by"), value!("magic")),
        (&format!("{case}/throughput/median"), value!("3.1 GB/s")),
        (&format!("{case}/latency_ns/p99"), value!(-1)),
        (&format!("{case}/case/block"), value!("4KiB")),
        (&format!("{case}/case/engine"), value!("dd")),
        (&format!("{case}/findings/0/severity"), value!("bad")),
        ("/answer/device/bound", value!("luck")),
        ("/findings/0/cases", value!("all")),
    ] {
        let mut json = sound.clone();
        *json.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} is there")) = broken;
        assert!(is_valid(&json).is_err(), "{pointer} is broken and passes");
    }
    for key in ["tool", "host", "cases", "skips", "comparisons", "findings"] {
        let mut json = sound.clone();
        json.as_object_mut().expect("an object").remove(key);
        assert!(is_valid(&json).is_err(), "without {key} it passes");
    }
}

#[test]
fn a_missing_figure_is_null_and_not_absent() {
    let json = parsed(&made::all_failed());
    let case = json["cases"][0].as_object().expect("a case is an object");
    for key in ["served_by", "throughput", "iops", "imbalance_percent", "digest_verified"] {
        assert_eq!(case.get(key), Some(&Value::Null), "{key}");
    }
    assert_eq!(case["latency_ns"]["p99_9"], Value::Null);
    assert_eq!(case["latency_ns"]["count"], 0);
    assert_eq!(case["failures"][0]["trials"], 10);
}

#[test]
fn a_case_in_full() {
    let json = parsed(&made::rich());
    let case = serde_json::to_string_pretty(&json["cases"][9]).expect("it was just parsed");
    assert_snapshot!(case);
}

#[test]
fn rounds_that_were_left_out_are_held_against_the_schema() {
    for (pointer, broken) in [
        ("/cases/9/excluded/trials", value!(-1)),
        ("/cases/9/excluded/reasons/0/reason", value!("it was slow")),
        ("/cases/9/excluded/rate_with_them", value!(null)),
    ] {
        let mut json = parsed(&made::rich());
        *json.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} is there")) = broken;
        assert!(is_valid(&json).is_err(), "{pointer} is broken and passes");
    }
}

#[test]
fn a_case_that_writes_in_full() {
    let json = parsed(&made_writing::strategies());
    let case = serde_json::to_string_pretty(&json["cases"][1]).expect("it was just parsed");
    assert_snapshot!(case);
}

#[test]
fn a_run_that_writes_says_what_limited_it() {
    let json = parsed(&made_writing::strategies());
    assert_eq!(json["writing"]["cost"]["median"], 0.268);
    assert_eq!(json["storage"]["devices"][0]["write_cache"], "write back");
    let layer = value!({
        "nodes": ["vda"],
        "reads": { "least": 1, "most": 1 },
        "writes": { "least": 1, "most": null },
        "counts": { "reads": true, "writes": true, "flushes": null },
    });
    assert_eq!(json["storage"]["layers"], value!([layer]));
    assert_eq!(json["storage"]["barriers_off"], value!([]));
    assert_eq!(json["source_storage"]["directory"], "/source");
    assert_eq!(json["cases"][2]["writing"]["durable"], Value::Null);
    assert_eq!(json["sustain_s"], Value::Null);
    assert_eq!(parsed(&made_writing::sustained())["sustain_s"], 120.0);
    let json = parsed(&made_writing::touching());
    assert_eq!(json["memory_limit"], 2u64 << 30);
    assert_eq!(json["bound"], value!({ "pin": [0, 2, 3], "node": 1 }));
    assert_eq!(json["touching"][0]["phase"], "write");
}

#[test]
fn what_is_written_is_held_against_the_schema_too() {
    let sound = parsed(&made_writing::strategies());
    for (pointer, broken) in [
        ("/cases/1/writing/acknowledged/median", value!("2.4 GB/s")),
        ("/cases/1/writing/sync_latency_ns/max", value!(-1)),
        ("/cases/1/writing/read_back_verified", value!(1)),
        ("/cases/1/course/rates", value!(null)),
        ("/cases/1/course/change/at_bytes", value!(0.5)),
        ("/cases/1/spent/wall_s", value!(null)),
        ("/cases/1/case/sync", value!("fsyncgate")),
        ("/storage/devices/0/write_cache", value!("back")),
        ("/writing/durable/id", value!(null)),
    ] {
        let mut json = sound.clone();
        *json.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} is there")) = broken;
        assert!(is_valid(&json).is_err(), "{pointer} is broken and passes");
    }
}

#[test]
fn the_schema_is_published_as_it_is() {
    assert_snapshot!(json_schema());
}

#[test]
fn two_records_compared_keep_their_own_form() {
    let (a, b) = super::two_records(1.25);
    let text = super::json_of_records(&super::compare(&a, &b), ["a", "b"]);
    let json: Value = serde_json::from_str(&text).expect("the output is JSON");
    let schema: Value = serde_json::from_str(&crate::json_schema_of_records()).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
    assert!(validator.is_valid(&json), "{text}");
    assert_eq!(json["pairs"][0]["comparison"]["difference"], "in doubt");
    assert_eq!(json["others"][0]["what"], "cores");
    let mut broken = json.clone();
    broken["pairs"][0]["p_holm"] = value!("small");
    assert!(!validator.is_valid(&broken));
}

#[test]
fn a_gate_keeps_its_own() {
    let (a, b) = super::two_records(1.25);
    let versus = super::compare(&a, &b);
    let rules = ["slower > 5%", "p99 > 5%"].map(|rule| rule.parse().expect("it is a limit"));
    let checks = assess::gate::gate(&versus, &rules);
    let text = crate::json_of_gate(&versus, &checks, ["a", "b"]);
    let json: Value = serde_json::from_str(&text).expect("the output is JSON");
    let schema: Value = serde_json::from_str(&crate::json_schema_of_gate()).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
    assert!(validator.is_valid(&json), "{text}");
    assert_eq!(
        (&json["outcome"], &json["checks"][0]["limit"]),
        (&value!("exceeded"), &value!(0.05))
    );
    let mut broken = json.clone();
    broken["checks"][0]["ratio"] = value!("small");
    assert!(!validator.is_valid(&broken));
}

#[test]
fn hosts_in_lockstep_keep_theirs() {
    let read = |_| Ok::<_, std::convert::Infallible>(model::zoo::record());
    let run = assess::together(2, read).expect("memory can be read").expect("there are hosts");
    let mut text = Vec::new();
    crate::json_of_together(&run, &mut text).expect("memory accepts it");
    let json: Value = serde_json::from_slice(&text).expect("the output is JSON");
    let schema: Value = serde_json::from_str(&crate::json_schema_of_together()).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
    let problem = validator.validate(&json).map_err(|error| error.to_string());
    assert_eq!(problem, Ok(()), "{json:#}");
    assert_eq!((&json["of"], &json["cases"][0]["common"]), (&Value::Null, &Value::Null));
    let mut broken = json.clone();
    broken["cases"][0]["verdict"] = value!("fine");
    assert!(!validator.is_valid(&broken));
}

#[test]
fn hosts_keep_a_form_of_their_own() {
    let mut hosts = assess::fleet::FleetRecords::default();
    for number in 0..5u64 {
        let mut record = model::zoo::record_of_invocations(5, 2);
        record.header.host.name = format!("node{number}");
        record.header.host.cores = 2 + u32::from(number == 3);
        for trial in record.trials.iter_mut().filter(|_| number == 3) {
            let model::trial::Outcome::Done(sample) = &mut trial.outcome else { continue };
            sample.spans.iter_mut().for_each(|span| span.end_ns *= 5);
        }
        hosts.add(&record, "a.jsonl").expect("they are few");
    }
    let mut text = Vec::new();
    crate::json_of_fleet(&hosts.judge(), &mut text).expect("memory accepts it");
    let json: Value = serde_json::from_slice(&text).expect("the output is JSON");
    let schema: Value = serde_json::from_str(&crate::json_schema_of_fleet()).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
    let problem = validator.validate(&json).map_err(|error| error.to_string());
    assert_eq!(problem, Ok(()), "{json:#}");
    assert_eq!(json["hosts"][3]["odd_in"], value!([json["cases"][0]["id"]]));
    assert_eq!(json["hosts"][3]["own"][0]["what"], "cores");
    assert_eq!(json["cases"][0]["figures"][2]["odd"], Value::Null);
    let mut broken = json.clone();
    broken["cases"][0]["figures"][3]["odd"]["ratio"] = value!("a fifth");
    assert!(!validator.is_valid(&broken));
}

/// Monitoring selects by these labels, so that each value is in the document.
#[test]
fn each_value_of_a_label_of_metrics_is_documented() {
    let document = include_str!("../../../../docs/formats.md");
    let row = |label: &str| {
        let lines = document.lines().filter(|line| line.starts_with(&format!("| {label} |")));
        let words = lines.flat_map(|line| line.split([' ', ',', ';', '|', ':']));
        words.map(str::to_string).collect::<Vec<_>>()
    };
    let mut values = std::collections::BTreeSet::new();
    for assessment in all() {
        let metrics = crate::openmetrics(&assessment);
        for label in ["of", "quantity", "state", "fate", "role", "severity"] {
            let mark = format!(",{label}=\"");
            let found = metrics.split(&mark).skip(1).filter_map(|rest| rest.split('"').next());
            values.extend(found.map(|value| (label, value.to_string())));
        }
    }
    let summary = &made::rich().cases[0];
    let gauges = crate::metric::all().filter_map(|metric| metric.gauge);
    let labels = gauges.filter_map(|(_, labels)| labels.of(summary)).flatten();
    values.extend(labels.filter(|(name, _)| name == "of").map(|(_, value)| ("of", value)));
    for (label, value) in &values {
        assert!(row(label).contains(value), "docs/formats.md lacks {label}=\"{value}\"");
    }
    for of in ["operation", "sync", "response", "read", "write", "reads", "writes"] {
        assert!(values.contains(&("of", of.to_string())), "no example has {of}: {values:?}");
    }
}
