//! A list of records.

use crate::document::{Block, Document, Paragraph, Section};
use crate::group::distinct;
use crate::style::Paint;
use crate::words::{count, short, tally};
use assess::finding::Verdict;
use assess::together::Together;
use assess::{Assessment, Tally};
use model::record::End;
use serde::{Serialize, Serializer};

/// The entry of a record in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The record's path.
    pub path: String,
    /// The start of the run: RFC 3339, UTC.
    pub began: String,
    /// The machine's name; of several hosts, their number and names.
    pub host: String,
    /// The recipe's name.
    pub recipe: String,
    /// The directory, the user's own file or the device; `None` if the run used no file.
    pub place: Option<String>,
    /// How the run ended: `complete`, `interrupted`, `missing` if the record is cut off, or `lost`
    /// if a host was lost.
    #[serde(serialize_with = "by_name")]
    pub end: End,
    /// The number of cases with each verdict.
    #[serde(serialize_with = "by_verdict")]
    pub cases: Tally,
    /// The codes of the findings, most severe first.
    pub findings: Vec<String>,
}

fn by_verdict<S: Serializer>(tally: &Tally, serializer: S) -> Result<S::Ok, S::Error> {
    let field = |(verdict, cases): (Verdict, usize)| (verdict.name().replace(' ', "_"), cases);
    serializer.collect_map(tally.counts().map(field))
}

fn by_name<S: Serializer>(end: &End, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(end.name())
}

impl Listed {
    /// The entry of the record at `path`.
    pub fn of(path: String, assessment: &Assessment) -> Listed {
        let own = assessment.header.fixtures.iter().find(|fixture| fixture.seed.is_none());
        let own = own.map(|fixture| fixture.path.display().to_string());
        let storage = assessment.header.storage.as_ref();
        let directory = storage.map(|storage| storage.directory.display().to_string());
        Listed {
            path,
            began: assessment.header.began.clone(),
            host: assessment.header.host.name.clone(),
            recipe: assessment.header.plan.recipe.clone(),
            place: own.or(directory),
            end: assessment.end.clone(),
            cases: assessment.tally(),
            findings: assessment.codes().iter().map(ToString::to_string).collect(),
        }
    }

    /// The entry of the run of several hosts whose records are in the folder `path`.
    pub fn of_hosts(path: String, run: &Together) -> Listed {
        let end = run.hosts.iter().map(|host| &host.end).find(|end| **end != End::Complete);
        let called: Vec<String> = run.hosts.iter().map(|host| host.called.clone()).collect();
        let codes = run.findings.iter().map(|found| found.found.finding.code.name().to_string());
        Listed {
            host: format!("{}: {}", count(called.len(), "host"), short(&called)),
            end: end.unwrap_or(&End::Complete).clone(),
            cases: Tally::of(run.cases.iter().map(|joint| joint.verdict)),
            findings: distinct(codes),
            ..Listed::of(path, &run.first)
        }
    }
}

/// Lists records in three lines each: the time, recipe and verdicts; the place and the findings;
/// the path. Then the unreadable records, with reasons.
pub fn runs(records: &[Listed], unreadable: &[String]) -> Document<'static> {
    let mut document = Document::default();
    document.part(Section::new("Runs", records.iter().map(entry)));
    let heading = format!("{} cannot be read:", count(unreadable.len(), "file"));
    let bad = Block::list(Paragraph::plain(heading), unreadable);
    document.part(Section::new("Not read", (!unreadable.is_empty()).then_some(bad)));
    document
}

fn entry(record: &Listed) -> Block {
    let mut title = format!("{} · {} · {}", record.began, record.recipe, tally(&record.cases));
    let end = match record.end {
        End::Complete => "",
        End::Interrupted => " · interrupted",
        End::Missing => " · cut off, or still going on",
        End::Lost { .. } => " · a host was lost",
    };
    title.push_str(end);
    let mut about = vec![format!("on {}", record.host)];
    about.extend(record.place.clone());
    if !record.findings.is_empty() {
        about.push(record.findings.join(", "));
    }
    let is_bad = [Verdict::Void, Verdict::Failed].iter().any(|bad| record.cases.number(*bad) > 0);
    let paint = if is_bad || record.end != End::Complete { Paint::Doubt } else { Paint::Strong };
    Block::list(Paragraph { text: title.into(), paint }, [&about.join(" · "), &record.path])
}
