//! CSV and metrics, read back.

use super::hostile::hostile;
use super::{all, build, made, made_writing};
use crate::{csv, csv_columns, json, metric, metric_names, openmetrics};
use ::csv::Reader;
use assess::Assessment;
use assess::finding::Verdict;
use assess::trials::Fate;
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::HashMap;

/// The rows of a table by the names of their columns.
fn rows(text: &str) -> Vec<HashMap<String, String>> {
    let mut reader = Reader::from_reader(text.as_bytes());
    reader.deserialize().map(|row| row.expect("all rows are as wide as the header")).collect()
}

#[test]
fn trials_as_csv() {
    let text = csv(&made::rich());
    assert_snapshot!(text.lines().take(5).collect::<Vec<_>>().join("\n"));
}

#[test]
fn each_trial_is_a_row() {
    for assessment in all() {
        let text = csv(&assessment);
        let rows = rows(&text);
        let trials: Vec<_> = assessment.measured().flat_map(|summary| &summary.trials).collect();
        assert_eq!(rows.len(), trials.len());
        assert_eq!(text.lines().count(), rows.len() + 1, "a row is a line");
        for (row, trial) in rows.iter().zip(trials) {
            assert_eq!(row["round"], trial.round.to_string());
            let figures = trial.figures.as_ref();
            let throughput = figures.and_then(|figures| figures.throughput);
            let said = row["throughput_bytes_per_second"].parse::<f64>().ok();
            assert_eq!(said, throughput, "to the last digit");
            let read = figures.and_then(|figures| figures.evidence.device_read_bytes);
            assert_eq!(row["device_read_bytes"].parse().ok(), read);
            let is_counted = trial.fate == Fate::Counted;
            assert_eq!(
                (row["fate"] == "counted", row["reason"].is_empty()),
                (is_counted, is_counted)
            );
        }
    }
}

/// JSON and CSV tell the same of each trial: all metrics.
#[test]
fn json_tells_the_same() {
    let mut assessment = made_writing::strategies();
    let figures = assessment.cases[0].trials[0].figures.as_mut().expect("it was done");
    figures.syncs.p50_ns = Some(1_200_000);
    figures.evidence.node_bytes = Some([(0, 4096), (1, 0)].into());
    let json: Value = serde_json::from_str(&json(&assessment)).expect("it is JSON");
    let cases = json["cases"].as_array().expect("cases").iter();
    let trials: Vec<&Value> =
        cases.flat_map(|case| case["trials"].as_array().expect("trials")).collect();
    let rows = rows(&csv(&assessment));
    assert_eq!(rows.len(), trials.len());
    assert_eq!(rows[0]["sync_p50_ns"], "1200000");
    assert_eq!(rows[0]["node_bytes"], "0:4096 1:0");
    assert_eq!(trials[0]["figures"]["evidence"]["node_bytes"]["0"], 4096);
    for (row, trial) in rows.iter().zip(trials) {
        assert_eq!(row["fate"], trial["fate"].as_str().expect("a word"));
        for metric in metric::of_trials().filter(|metric| !metric.is_of_nodes()) {
            let (part, key) = metric.json;
            let figures = &trial["figures"];
            let said = if part.is_empty() { &figures[key] } else { &figures[part][key] };
            let scale = if metric.is_in_seconds() { 1e9 } else { 1.0 };
            let field = row[metric.column].parse::<f64>().ok();
            let is_alike = match (said.as_f64(), field) {
                (Some(said), Some(field)) => (said * scale - field).abs() <= field * 1e-12,
                (said, field) => said == field,
            };
            assert!(is_alike, "{}: {said} and {field:?}", metric.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_a_record_says_breaks_no_table(text in "[=+@,\";\\\\\n\r\t{}a-]{0,12}|\\PC{0,6}") {
        for assessment in [made::rich(), made_writing::strategies()] {
            let plain = (rows(&csv(&assessment)).len(), samples(&openmetrics(&assessment)).len());
            let hostile = hostile(assessment, &text);
            let table = csv(&hostile);
            prop_assert_eq!(table.lines().count(), plain.0 + 1);
            for row in rows(&table) {
                prop_assert_eq!(row.len(), csv_columns().len());
                prop_assert!(row.values().all(|field| !field.starts_with(['=', '+', '-', '@'])));
            }
            let samples = samples(&openmetrics(&hostile));
            // A date that is none has no moment.
            prop_assert!(samples.len() == plain.1 || samples.len() + 1 == plain.1);
        }
    }
}

/// The samples of a text: names, labels as they are written, and values. Refuses lines that are
/// neither a sample nor a comment.
fn samples(text: &str) -> Vec<(String, String, f64)> {
    let lines = text.lines().filter(|line| !line.starts_with("# "));
    let sample = |line: &str| {
        let (name, rest) = line.split_once('{').expect("a sample has labels");
        let (labels, value) = rest.rsplit_once("} ").expect("and a value");
        (name.to_string(), labels.to_string(), value.parse().expect("which is a number"))
    };
    lines.map(sample).collect()
}

#[test]
fn a_run_as_metrics() {
    assert_snapshot!(openmetrics(&made::rich()));
}

#[test]
fn a_run_that_writes_as_metrics() {
    assert_snapshot!(openmetrics(&made_writing::strategies()));
}

#[test]
fn metrics_are_those_that_are_named_and_begin_with_the_mark() {
    for assessment in all() {
        let text = openmetrics(&assessment);
        assert!(text.starts_with("# made by ioassay "), "{text}");
        let samples = samples(&text);
        assert!(samples.iter().all(|(name, ..)| metric_names().contains(name)));
        let is_unsent = |labels: &str| labels.contains("of=\"response\"");
        let is_known = |(_, labels, value): &(String, String, f64)| {
            value.is_finite() || (*value == f64::INFINITY && is_unsent(labels))
        };
        assert!(samples.iter().all(is_known), "{text}");
        let mut keys: Vec<_> = samples.iter().map(|(name, labels, _)| (name, labels)).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), samples.len(), "no sample comes twice:\n{text}");
        let named: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
        assert!(named.iter().all(|line| line.ends_with(" gauge")));
    }
}

#[test]
fn a_void_figure_is_no_metric() {
    let of = |assessment: &Assessment, verdict| {
        let ids = assessment.cases.iter().filter(|summary| summary.verdict == verdict);
        ids.map(|summary| summary.id.clone()).collect::<Vec<_>>()
    };
    for assessment in [made::rich(), made_writing::strategies()] {
        let text = openmetrics(&assessment);
        let names = crate::openmetrics::names(&assessment);
        let has = |id: &str| {
            let label = format!("case=\"{}\"", names.get(id).map_or(id, String::as_str));
            text.lines()
                .any(|line| line.starts_with("ioassay_throughput") && line.contains(label.as_str()))
        };
        let void = of(&assessment, Verdict::Void);
        assert!(!void.is_empty() && void.iter().all(|id| !has(id)), "{text}");
        assert!(of(&assessment, Verdict::Sound).iter().any(|id| has(id)), "{text}");
    }
}

#[test]
fn what_has_no_figure_has_no_sample() {
    for assessment in [made::all_failed(), build::assessment("empty", Vec::new())] {
        let text = openmetrics(&assessment);
        assert!(!text.contains("bytes_per_second") && !text.contains("_latency_"), "{text}");
        assert!(text.contains("ioassay_run_info{"), "{text}");
    }
    let failed = openmetrics(&made::all_failed());
    assert!(failed.contains("verdict=\"failed\"} 1"), "{failed}");
}

/// The rows of the table of a section of docs/formats.md whose first column is code.
fn documented(section: &str) -> Vec<&'static str> {
    let formats = include_str!("../../../../docs/formats.md");
    let (_, after) = formats.split_once(&format!("## {section}\n")).expect("the section is there");
    let section = after.split("\n## ").next().expect("a split has a first part");
    section.lines().filter(|line| line.starts_with("| `")).collect()
}

#[test]
fn the_documented_columns_are_those_that_are() {
    let row = |[name, kind, meaning]: [String; 3]| format!("| `{name}` | {kind} | {meaning} |");
    let columns: Vec<String> = csv_columns().into_iter().map(row).collect();
    assert_eq!(documented("CSV"), columns, "docs/formats.md says\n{}", columns.join("\n"));
}

#[test]
fn the_documented_metrics_are_those_that_are() {
    let name = |row: &str| row.split('`').nth(1).expect("a name in backticks").to_string();
    let names: Vec<String> = documented("Metrics").into_iter().map(name).collect();
    assert_eq!(names, metric_names());
}
