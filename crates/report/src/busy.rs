//! The findings of a run as a report shows them: what a busy machine does to many rows is one.

use crate::words::listed;
use assess::finding::{Code, Finding};
use assess::{Assessment, RunFinding};
use model::plan::Role;
use std::borrow::Cow;
use std::collections::HashSet;

/// What other work on a machine does to rows of any kind.
const BUSY: [Code; 3] = [Code::Contended, Code::Steal, Code::Stalled];

/// They are one finding if this share of the rows has any of them; of fewer, each row says more.
const BUSY_LEAST: f64 = 0.5;
/// Of fewer rows, all are named.
const ROWS_LEAST: usize = 4;

/// A finding as it is shown.
#[derive(Debug, Clone)]
pub(crate) struct ShownFinding<'a> {
    /// Its code; several if it is of a busy machine.
    pub(crate) codes: Vec<Code>,
    pub(crate) found: Cow<'a, RunFinding>,
}

impl ShownFinding<'_> {
    /// Its codes in words.
    pub(crate) fn name(&self) -> String {
        listed(&self.codes.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    pub(crate) fn is_of_several(&self) -> bool {
        self.codes.len() > 1
    }
}

/// The findings of a run, most severe first.
pub(crate) fn shown(assessment: &Assessment) -> Vec<ShownFinding<'_>> {
    let busy = busy(assessment);
    let is_busy = busy.is_some();
    let is_within = |found: &&RunFinding| is_busy && is_of_busy(found);
    let others = assessment
        .findings
        .iter()
        .filter(|found| !is_within(found))
        .map(|found| ShownFinding { codes: vec![found.finding.code], found: Cow::Borrowed(found) });
    let mut all: Vec<ShownFinding> = busy.into_iter().chain(others).collect();
    all.sort_by_key(|shown| std::cmp::Reverse(shown.found.finding.severity));
    all
}

fn is_of_busy(found: &RunFinding) -> bool {
    BUSY.contains(&found.finding.code)
}

/// What says that the machine was busy, if it is said of many rows in several ways.
fn busy(assessment: &Assessment) -> Option<ShownFinding<'static>> {
    let all = || assessment.findings.iter().filter(|found| is_of_busy(found));
    let mut codes: Vec<Code> = all().map(|found| found.finding.code).collect();
    codes.sort();
    codes.dedup();
    let severity = all().map(|found| found.finding.severity).max()?;
    // A row is not said to be doubtful for what is only noted of it.
    let is_worst = |found: &&RunFinding| found.finding.severity == severity;
    let cases = union(all().map(|found| &found.cases));
    let doubtful = union(all().filter(is_worst).map(|found| &found.cases));
    let baselines = union(all().filter(is_worst).map(|found| &found.baselines));
    let asked = assessment.cases.iter().filter(|summary| summary.role == Role::Asked).count();
    let are_many = cases.len() >= ROWS_LEAST && cases.len() as f64 >= BUSY_LEAST * asked as f64;
    if !are_many || codes.len() < 2 {
        return None;
    }
    // Of each kind, the most severe comes first.
    let worst = codes.iter().filter_map(|code| all().find(|found| found.finding.code == *code));
    let worst: Vec<&str> = worst.map(|found| beginning(&found.finding.message)).collect();
    let noted = match cases.len() - doubtful.len() {
        0 => String::new(),
        1 => " 1 other row has it as a note.".to_string(),
        others => format!(" {others} other rows have it as a note."),
    };
    let message = format!(
        "this machine is busy, so its rates are lower and its latencies longer than when it is \
         quiet. At worst, {}.{noted}",
        worst.join("; ")
    );
    let remedy = "measure when nothing else runs, here or on the host";
    let finding = Finding {
        code: *codes.first()?,
        severity,
        size: None,
        message,
        remedy: remedy.to_string(),
    };
    Some(ShownFinding {
        codes,
        found: Cow::Owned(RunFinding { finding, cases: doubtful, baselines }),
    })
}

/// All of these ids, each once.
fn union<'a>(all: impl Iterator<Item = &'a Vec<String>>) -> Vec<String> {
    let mut known = HashSet::new();
    all.flatten().filter(|id| known.insert(*id)).cloned().collect()
}

/// The beginning of a message, which says what was seen; what follows explains it.
pub(crate) fn beginning(message: &str) -> &str {
    let ends = [": ", "; ", ". ", " ("].iter().filter_map(|end| message.find(end));
    &message[..ends.min().unwrap_or(message.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{build, made_writing};
    use assess::finding::Severity;

    /// A run in whose first rows each of these is found.
    fn run(found: &[(Code, Severity, usize)]) -> Assessment {
        let mut assessment = made_writing::strategies();
        let asked = assessment.cases.iter().filter(|summary| summary.role == Role::Asked);
        let ids: Vec<String> = asked.map(|summary| summary.id.clone()).collect();
        let of = |(code, severity, rows): &(Code, Severity, usize)| RunFinding {
            cases: ids[..*rows].to_vec(),
            ..build::of_run(build::finding(*code, *severity, "it is so (in 1): why", "wait"))
        };
        assessment.findings = found.iter().map(of).collect();
        assessment
    }

    fn said(assessment: &Assessment) -> Vec<(String, Severity, usize)> {
        let all = shown(assessment);
        let said = |it: &ShownFinding| (it.name(), it.found.finding.severity, it.found.cases.len());
        all.iter().map(said).collect()
    }

    #[test]
    fn a_busy_machine_is_one_finding_in_the_place_of_the_worst() {
        use Severity::{Doubt, Note, Void};
        let many = made_writing::strategies().cases.len() / 2 + 2;
        let busy = run(&[
            (Code::CacheLeak, Void, 1),
            (Code::Contended, Doubt, many),
            (Code::TooFew, Doubt, 1),
            (Code::Steal, Note, many),
            (Code::Contended, Note, 1),
        ]);
        let expected = [("CacheLeak", Void, 1), ("Contended and Steal", Doubt, many)];
        let expected = expected.map(|(name, severity, rows)| (name.to_string(), severity, rows));
        assert_eq!(said(&busy)[..2], expected);
        assert_eq!(said(&busy).len(), 3);
        let message = &shown(&busy)[1].found.finding.message;
        assert!(message.ends_with("At worst, it is so; it is so."), "{message}");
        // What is only noted of more rows makes none of them doubtful.
        let noted = run(&[(Code::Contended, Doubt, 1), (Code::Steal, Note, many)]);
        assert_eq!(said(&noted), [("Contended and Steal".to_string(), Doubt, 1)]);
        let message = &shown(&noted)[0].found.finding.message;
        let others = format!("{} other rows have it as a note.", many - 1);
        assert!(message.ends_with(&others), "{message}");
    }

    /// Of few rows, or of one kind, each finding says more by itself.
    #[test]
    fn a_machine_that_is_not_busy_has_each_finding_by_itself() {
        let many = made_writing::strategies().cases.len() / 2 + 2;
        let note = Severity::Note;
        assert_eq!(said(&run(&[(Code::Contended, note, 1), (Code::Steal, note, 2)])).len(), 2);
        let alone = run(&[(Code::Steal, note, many), (Code::Foreign, note, many)]);
        assert_eq!(said(&alone).len(), 2);
    }
}
