//! The findings so far: records are judged between trials, for the screen only.

use crate::nodelist::some;
use crate::store;
use assess::finding::{Code, Severity};
use assess::{Assessment, RunFinding};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Records are judged again after this many times as long as it took: judging long ones would delay
/// trials.
const JUDGED_AFTER: u32 = 20;

/// The findings so far in the records of a run: one, or one of each host or side.
#[derive(Debug, Default)]
pub(crate) struct FindingsSoFar {
    /// By the number of the host or the side, each with its name; that is empty if there is one
    /// record only.
    records: BTreeMap<usize, (String, Vec<FoundCode>)>,
    /// The record that is judged next, counted from the first of those that are given.
    next: usize,
    /// When the last judgement ended.
    ended: Option<Instant>,
    /// How long that of the last record took.
    took: Duration,
}

/// A finding, without what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FoundCode {
    severity: Severity,
    code: Code,
    /// The number of its rows.
    rows: usize,
}

impl FindingsSoFar {
    /// Judges records, from the one whose turn it is: as many as take no larger share of the time
    /// than one by itself would. There are `count`, from the host `first` on, and `record` has the
    /// name of each and the path.
    pub(crate) fn judge<'r>(
        &mut self,
        (first, count): (usize, usize),
        record: impl Fn(usize) -> (&'r str, &'r Path),
    ) {
        let (since, waited) = (Instant::now(), self.ended.map(|ended| ended.elapsed()));
        for judged in 0..count {
            let costs = since.elapsed().saturating_add(self.took);
            let is_soon = |waited: Duration| waited < costs.saturating_mul(JUDGED_AFTER);
            // Nothing is known of what it costs before the first.
            if waited.map_or(judged > 0, is_soon) {
                break;
            }
            let number = self.next % count;
            self.next = number + 1;
            let (called, path) = record(number);
            self.judge_one(first + number, called, path);
            self.ended = Some(Instant::now());
        }
    }

    fn judge_one(&mut self, number: usize, called: &str, path: &Path) {
        let since = Instant::now();
        match store::read(path) {
            Ok(record) => {
                let found = found(&assess::assess(&record));
                self.records.insert(number, (called.to_owned(), found));
            }
            // The run does not depend on this.
            Err(error) => log::warn!("the record so far cannot be read: {error:#}"),
        }
        self.took = since.elapsed();
    }

    /// All in a line: `findings so far: CacheLeak (3 cases), Steal`, and for hosts `findings so
    /// far: CacheLeak (up to 3 cases) on a, b; Steal on b`. `None` if there are none.
    pub(super) fn line(&self) -> Option<String> {
        let mut all: Vec<(FoundCode, bool, Vec<&str>)> = Vec::new();
        for (called, found) in self.records.values() {
            for found in found {
                let is_same = |known: &&mut (FoundCode, bool, Vec<&str>)| {
                    (known.0.code, known.0.severity) == (found.code, found.severity)
                };
                match all.iter_mut().find(is_same) {
                    None => all.push((*found, false, vec![called.as_str()])),
                    Some((known, varies, hosts)) => {
                        *varies |= known.rows != found.rows;
                        known.rows = known.rows.max(found.rows);
                        hosts.push(called);
                    }
                }
            }
        }
        all.sort_by_key(|(found, ..)| std::cmp::Reverse(found.severity));
        let is_of_hosts = self.records.values().any(|(called, _)| !called.is_empty());
        let say = |(found, varies, hosts): &(FoundCode, bool, Vec<&str>)| {
            let up_to = if *varies { "up to " } else { "" };
            let cases = match found.rows {
                0 => String::new(),
                1 => " (1 case)".to_owned(),
                rows => format!(" ({up_to}{rows} cases)"),
            };
            let on = if is_of_hosts { format!(" on {}", some(hosts)) } else { String::new() };
            format!("{}{cases}{on}", found.code)
        };
        let said: Vec<String> = all.iter().map(say).collect();
        let between = if is_of_hosts { "; " } else { ", " };
        (!said.is_empty()).then(|| format!("findings so far: {}", said.join(between)))
    }
}

/// The findings of a record that give reason to doubt it.
fn found(assessment: &Assessment) -> Vec<FoundCode> {
    // Before the last round, too few rounds are expected.
    let is_told = |found: &&RunFinding| {
        found.finding.severity > Severity::Note && found.finding.code != Code::TooFew
    };
    let of = |found: &RunFinding| FoundCode {
        severity: found.finding.severity,
        code: found.finding.code,
        rows: found.cases.len() + found.baselines.len(),
    };
    assessment.findings.iter().filter(is_told).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use assess::finding::Finding;
    use model::record::{Record, RecordLine};
    use model::trial::Outcome;
    use model::zoo;
    use std::path::PathBuf;

    /// What is found, each with the rows that have it.
    fn assessed(found: &[(Code, Severity, &[&str])]) -> Vec<FoundCode> {
        let mut assessment = assess::assess(&zoo::record());
        let finding = |(code, severity, cases): &(Code, Severity, &[&str])| RunFinding {
            finding: Finding {
                code: *code,
                severity: *severity,
                size: None,
                message: String::new(),
                remedy: String::new(),
            },
            cases: cases.iter().map(|case| case.to_string()).collect(),
            baselines: Vec::new(),
        };
        assessment.findings = found.iter().map(finding).collect();
        super::found(&assessment)
    }

    fn line(records: Vec<(&str, Vec<FoundCode>)>) -> String {
        let records = records.into_iter().map(|(called, found)| (called.to_owned(), found));
        let so_far =
            FindingsSoFar { records: records.enumerate().collect(), ..FindingsSoFar::default() };
        so_far.line().unwrap_or_default()
    }

    #[test]
    fn what_gives_reason_to_doubt_is_told() {
        let quiet: [(Code, Severity, &[&str]); 2] = [
            (Code::VirtualDevice, Severity::Note, &[]),
            (Code::TooFew, Severity::Doubt, &["a", "b"]),
        ];
        assert_eq!(line(vec![("", assessed(&quiet))]), "");
        let loud: [(Code, Severity, &[&str]); 3] = [
            (Code::CacheLeak, Severity::Void, &["a", "b"]),
            (Code::Stalled, Severity::Doubt, &["b"]),
            (Code::Steal, Severity::Doubt, &[]),
        ];
        let said = line(vec![("", assessed(&[&quiet[..], &loud].concat()))]);
        assert_eq!(said, "findings so far: CacheLeak (2 cases), Stalled (1 case), Steal");
    }

    #[test]
    fn findings_of_hosts_are_told_with_their_hosts() {
        let leak = |cases| assessed(&[(Code::CacheLeak, Severity::Void, cases)]);
        let steal = assessed(&[(Code::Steal, Severity::Doubt, &[])]);
        let said = line(vec![
            ("a", Vec::new()),
            ("b", steal.clone()),
            ("c", [leak(&["1", "2"]), steal].concat()),
            ("d", leak(&["1"])),
        ]);
        let expected = "findings so far: CacheLeak (up to 2 cases) on c, d; Steal on b, c";
        assert_eq!(said, expected);
        assert_eq!(line(vec![("a", Vec::new()), ("b", Vec::new())]), "");
    }

    /// Records of hosts, in a folder. Two trials of the second one have failed.
    fn records(count: usize) -> (tempfile::TempDir, Vec<PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        let write = |number: usize| {
            let path = folder.path().join(number.to_string());
            let Record { header, mut trials, .. } = zoo::record();
            for trial in trials.iter_mut().filter(|trial| number == 1 && trial.round < 2) {
                trial.outcome = Outcome::Failed { reason: "the disk is gone".to_owned() };
            }
            let mut store = Store::create(&path, header).unwrap();
            trials.into_iter().for_each(|it| store.append(&RecordLine::Trial(it)).unwrap());
            path
        };
        let paths = (0..count).map(write).collect();
        (folder, paths)
    }

    #[test]
    fn records_are_judged_in_turn_and_no_more_than_there_is_time_for() {
        let (_folder, paths) = records(3);
        let mut so_far = FindingsSoFar::default();
        let judge = |so_far: &mut FindingsSoFar| {
            so_far.judge((0, 3), |number| (["a", "b", "c"][number], &paths[number]));
            so_far.records.keys().copied().collect::<Vec<_>>()
        };
        // At first, it is unknown how long it takes.
        assert_eq!(judge(&mut so_far), [0]);
        assert_eq!(so_far.line(), None);
        // There is time for none, and then for all.
        so_far.took = Duration::MAX;
        assert_eq!(judge(&mut so_far), [0]);
        so_far.took = Duration::ZERO;
        so_far.ended = Instant::now().checked_sub(Duration::from_secs(3600));
        assert_eq!(judge(&mut so_far), [0, 1, 2]);
        // Not one twice.
        assert_eq!(so_far.next, 1);
        let line = so_far.line().unwrap();
        assert!(line.contains("FailedTrials (1 case) on b"), "{line}");
    }
}
