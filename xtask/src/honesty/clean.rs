//! Runs without a planted fault: the warnings that ioassay gives anyway.

use crate::document::{cell, paragraph, table};
use crate::json::{list, text};
use crate::stage::Circumstances;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A finding of steal counts as true from this share of CPU time on. That is half the finding's own
/// threshold, which applies to some trials; this share covers the whole survey.
const STEAL_SHARE: f64 = 0.005;

/// Maximum number of findings listed.
const TOLD_MAX: usize = 20;

/// A survey, and what was observed from outside.
#[derive(Debug)]
pub(super) struct Survey {
    /// The output of ioassay with `--json`.
    pub(super) report: Value,
    /// The share of the machine's CPU time that the hypervisor took during the survey.
    pub(super) steal_share: f64,
}

/// The results of all surveys of one storage.
#[derive(Debug, Default)]
pub(super) struct SurveyTally {
    surveys: usize,
    rows: usize,
    /// Rows without a meaningful figure.
    void: usize,
    doubtful: usize,
    /// Rows that are doubtful or void because of a finding that is not true of the machine.
    falsely: usize,
    /// Findings, by code and severity.
    findings: BTreeMap<(String, String), Count>,
    /// The findings on void rows.
    voids: Vec<String>,
    /// The doubts that are not true of the machine.
    doubts: Vec<String>,
}

/// How many times a finding occurred.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    all: usize,
    /// Those that are true of the machine.
    truly: usize,
}

impl SurveyTally {
    /// Counts the findings of `surveys`.
    pub(super) fn of(surveys: &[Survey]) -> SurveyTally {
        let mut tally = SurveyTally { surveys: surveys.len(), ..SurveyTally::default() };
        for survey in surveys {
            for case in list(&survey.report["cases"]) {
                tally.add_row(survey, case);
            }
            for finding in list(&survey.report["findings"]) {
                // Findings with cases are already in the rows.
                if list(&finding["cases"]).is_empty() {
                    tally.add_finding(survey, finding);
                }
            }
        }
        tally
    }

    fn add_row(&mut self, survey: &Survey, case: &Value) {
        self.rows += 1;
        match case["verdict"].as_str() {
            Some("void" | "failed" | "unavailable" | "not run") => self.void += 1,
            Some("doubtful") => self.doubtful += 1,
            _ => {}
        }
        let id = case["id"].as_str().unwrap_or("a case without a name");
        let failures = list(&case["failures"]).iter();
        self.voids.extend(failures.map(|failure| format!("{id}: {}", text(&failure["reason"]))));
        let mut is_false = false;
        for finding in list(&case["findings"]) {
            let is_true = self.add_finding(survey, finding);
            let told = format!("{id}: {}: {}", text(&finding["code"]), text(&finding["message"]));
            match finding["severity"].as_str() {
                Some("void") => self.voids.push(told),
                Some("doubt") if !is_true => self.doubts.push(told),
                _ => {}
            }
            is_false |= !is_true && finding["severity"] != "note";
        }
        self.falsely += usize::from(is_false);
    }

    /// Counts a finding and returns whether it is true.
    fn add_finding(&mut self, survey: &Survey, finding: &Value) -> bool {
        let [code, severity] =
            ["code", "severity"].map(|name| finding[name].as_str().unwrap_or("?").to_owned());
        let is_true = is_true(survey, &code);
        let count = self.findings.entry((severity, code)).or_default();
        count.all += 1;
        count.truly += usize::from(is_true);
        is_true
    }

    /// The table and summary for the surveys of `storage`.
    fn text(&self, storage: &str) -> String {
        let SurveyTally { surveys, rows, void, doubtful, falsely, findings, .. } = self;
        let sound = rows - void - doubtful;
        let percent = *falsely as f64 / (*rows).max(1) as f64 * 100.0;
        let mut text = format!("### {storage}\n\n")
            + &paragraph(&format!(
                "{surveys} surveys had {rows} rows: {sound} sound, {doubtful} doubtful, {void} \
                 void. Of the rows, {falsely} had a doubt that is not true of the machine: \
                 {percent:.1} %."
            ));
        if !findings.is_empty() {
            let rows = findings.iter().map(|((severity, code), Count { all, truly })| {
                format!("| {code} | {severity} | {all} | {truly} |")
            });
            text += &table("| finding | severity | times | true of the machine |", rows);
        }
        text + &told("Void", &self.voids) + &told("Doubts that are false", &self.doubts)
    }
}

/// A list of findings, truncated.
fn told(title: &str, all: &[String]) -> String {
    let mut text = String::new();
    if !all.is_empty() {
        let _ = write!(text, "\n{title}:\n\n");
    }
    for said in all.iter().take(TOLD_MAX) {
        let _ = writeln!(text, "- {}", cell(said));
    }
    if all.len() > TOLD_MAX {
        let _ = writeln!(text, "- and {} more", all.len() - TOLD_MAX);
    }
    text
}

/// Whether a finding of `code` is true regardless of what is measured, because it is about the
/// machine.
fn is_true(survey: &Survey, code: &str) -> bool {
    let storage = &survey.report["storage"];
    match code {
        "VirtualDevice" => {
            list(&storage["devices"]).iter().any(|device| device["is_virtual"] == Value::Bool(true))
        }
        "Ram" | "NotDurable" => storage["file_system"] == "tmpfs",
        "Steal" => survey.steal_share >= STEAL_SHARE,
        _ => false,
    }
}

/// The section, from the surveys of each storage.
pub(super) fn section(circumstances: &Circumstances, tallies: &[(String, SurveyTally)]) -> String {
    let text = circumstances.text()
        + &paragraph(
            "`ioassay survey --quick DIR`, repeated without a planted fault. Its warnings are then \
             either true of the machine, or false: VirtualDevice is true if a hypervisor presents \
             the device, Ram and NotDurable are true on tmpfs, and Steal is true if the kernel \
             counted stolen time of 0.5 % of the survey's CPU time or more. All others count as \
             false, though some may have been true in that minute.",
        );
    let parts = tallies.iter().map(|(storage, tally)| tally.text(storage));
    text + &parts.collect::<Vec<_>>().join("\n")
}

/// The whole machine's CPU time and the stolen part of it, in ticks, from the first line of
/// `/proc/stat`.
pub(super) fn cpu_ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    // Guest time is already included in user time.
    Some((fields.iter().take(8).sum(), *fields.get(7)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::circumstances;
    use serde_json::json;

    fn finding(code: &str, severity: &str) -> Value {
        json!({ "code": code, "severity": severity, "message": "it is so", "cases": [] })
    }

    fn survey(steal_share: f64) -> Survey {
        let case = |verdict: &str, findings: Value| {
            json!({ "id": verdict, "verdict": verdict,
            "findings": findings, "failures": [] })
        };
        let report = json!({
            "storage": { "file_system": "tmpfs", "devices": [] },
            "cases": [
                case("sound", json!([finding("Steal", "note")])),
                case("doubtful", json!([finding("Ram", "doubt")])),
                case("doubtful", json!([finding("Ram", "doubt"), finding("Foreign", "doubt")])),
                case("void", json!([finding("NoIo", "void")])),
            ],
            "findings": [finding("VirtualDevice", "note")],
        });
        Survey { report, steal_share }
    }

    #[test]
    fn what_is_true_of_the_machine_is_no_false_doubt() {
        let tally = SurveyTally::of(&[survey(0.02), survey(0.0)]);
        let text = section(&circumstances(), &[("/dev/shm".to_owned(), tally)]);
        let flat = text.replace('\n', " ");
        for expected in [
            "2 surveys had 8 rows: 2 sound, 4 doubtful, 2 void.",
            "Of the rows, 4 had a doubt that is not true of the machine: 50.0 %.",
            "| Steal | note | 2 | 1 |",
            "| Ram | doubt | 4 | 4 |",
            "| Foreign | doubt | 2 | 0 |",
            "| VirtualDevice | note | 2 | 0 |",
            "Void:  - void: NoIo: it is so - void: NoIo: it is so",
            "  Doubts that are false:  - doubtful: Foreign: it is so",
        ] {
            assert!(flat.contains(expected), "'{expected}' is not in {text}");
        }
    }

    #[test]
    fn what_is_told_has_a_limit() {
        let all = vec!["one".to_owned(); TOLD_MAX + 2];
        assert!(told("Void", &all).ends_with("- one\n- and 2 more\n"));
        assert_eq!(told("Void", &[]), "");
    }

    #[test]
    fn stolen_time_is_read() {
        let stat = "cpu  10 1 2 80 3 0 1 3 5 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(cpu_ticks(stat), Some((100, 3)));
        assert_eq!(cpu_ticks("intr 5"), None);
    }
}
