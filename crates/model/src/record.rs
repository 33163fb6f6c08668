//! A run as it is kept: lines of JSON, the first a versioned header, then one for each trial.
//!
//! Each trial is appended when it ends, so a run that is cut off loses at most one line, and
//! what was written before can still be read.

use crate::host::{Fixture, Host, Storage};
use crate::peer::Peer;
use crate::plan::Plan;
use crate::trial::Trial;
use serde::{Deserialize, Serialize};

/// The version this program writes, and the newest it reads.
pub const VERSION: u32 = 1;

/// Which program made a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// `ioassay`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The command line.
    pub command: Vec<String>,
}

/// The first line of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Who wrote it.
    pub tool: Tool,
    /// When the run began, as RFC 3339 in UTC.
    pub began: String,
    /// On which machine.
    pub host: Host,
    /// On which storage; none if no file was read.
    pub storage: Option<Storage>,
    /// The storage of the file that copies read, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_storage: Option<Storage>,
    /// Which files were read.
    pub fixtures: Vec<Fixture>,
    /// What was to be done.
    pub plan: Plan,
    /// Programs that measured, besides this one's own worker.
    #[serde(default)]
    pub peers: Vec<Peer>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// All was done.
    Complete,
    /// Somebody stopped it.
    Interrupted,
    /// The end is missing: it was cut off or still runs.
    Missing,
}

/// One line of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a line is taken apart as soon as it is read")]
pub enum Line {
    /// The first one.
    Header {
        /// Version of the format.
        version: u32,
        /// The rest.
        #[serde(flatten)]
        header: Header,
    },
    /// A trial.
    Trial(Trial),
    /// The last one.
    End(End),
}

/// A record that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its first line.
    pub header: Header,
    /// Its trials, as they were made.
    pub trials: Vec<Trial>,
    /// How the run ended.
    pub end: End,
    /// What could not be read, if anything: `line 17 is cut off`.
    pub damage: Vec<String>,
}

/// A text that is no record at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// Its first line is not a header.
    #[error("its first line is no header of an ioassay record: {problem}")]
    NoHeader {
        /// What the JSON reader said.
        problem: String,
    },
    /// It was written by a newer program.
    #[error("it has format version {version}, this program reads up to {VERSION}: update ioassay")]
    TooNew {
        /// Its version.
        version: u32,
    },
}

impl Line {
    /// The line, without its end.
    pub fn encode(&self) -> String {
        serde_json::to_string(self).expect("a record is plain data, which JSON can always write")
    }
}

impl Record {
    /// Reads a record. What is whole is kept; what is not is told in [`Record::damage`].
    pub fn decode(text: &str) -> Result<Record, RecordError> {
        let mut lines = text.lines();
        let first = lines.next().ok_or(RecordError::Empty)?;
        let header = read_header(first)?;
        let (trials, end) = (Vec::new(), End::Missing);
        let mut record = Record { header, trials, end, damage: Vec::new() };
        for (number, line) in (2..).zip(lines) {
            match serde_json::from_str(line) {
                Ok(Line::Trial(trial)) if trial.case < record.header.plan.cases.len() => {
                    record.trials.push(trial);
                }
                Ok(Line::End(end)) => record.end = end,
                Ok(Line::Trial(trial)) => record
                    .damage
                    .push(format!("line {number} is of case {}, which is not planned", trial.case)),
                Ok(Line::Header { .. }) => {
                    record.damage.push(format!("line {number} is a second header"));
                }
                Err(error) => record.damage.push(format!("line {number} is broken: {error}")),
            }
        }
        Ok(record)
    }
}

fn read_header(line: &str) -> Result<Header, RecordError> {
    let problem = |error: serde_json::Error| RecordError::NoHeader { problem: error.to_string() };
    let json: serde_json::Value = serde_json::from_str(line).map_err(problem)?;
    // The version is looked at first: a newer header may well not be readable.
    let version = json["header"]["version"].as_u64().unwrap_or(0);
    if version > u64::from(VERSION) {
        return Err(RecordError::TooNew { version: u32::try_from(version).unwrap_or(u32::MAX) });
    }
    match serde_json::from_value(json).map_err(problem)? {
        Line::Header { header, .. } => Ok(header),
        Line::Trial(_) | Line::End(_) => {
            Err(RecordError::NoHeader { problem: "it is another line of a record".to_string() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zoo;

    fn text_of(record: &Record) -> String {
        let header = record.header.clone();
        let mut lines = vec![Line::Header { version: VERSION, header }];
        lines.extend(record.trials.iter().cloned().map(Line::Trial));
        lines.push(Line::End(record.end.clone()));
        lines.iter().map(|line| line.encode() + "\n").collect()
    }

    #[test]
    fn records_round_trip() {
        let record = zoo::record();
        assert!(!record.trials.is_empty());
        assert_eq!(Record::decode(&text_of(&record)), Ok(record));
    }

    #[test]
    fn a_record_cut_anywhere_keeps_what_is_whole() {
        let record = zoo::record();
        let text = text_of(&record);
        let header_bytes = text.find('\n').expect("a header ends its line");
        for cut in (0..text.len()).step_by(97) {
            match Record::decode(&text[..cut]) {
                Err(_) => assert!(cut < header_bytes, "the header was whole at {cut}"),
                Ok(read) => {
                    assert!(cut >= header_bytes);
                    assert_eq!(read.end, End::Missing);
                    assert_eq!(read.trials[..], record.trials[..read.trials.len()]);
                    let whole = text[..cut].lines().count() - 1 - read.damage.len();
                    assert_eq!(read.trials.len(), whole);
                }
            }
        }
    }

    #[test]
    fn what_is_no_record_is_said() {
        assert_eq!(Record::decode(""), Err(RecordError::Empty));
        for text in ["hello", "{}", "[1]", "{\"end\":\"complete\"}"] {
            let error = Record::decode(text).unwrap_err();
            assert!(matches!(error, RecordError::NoHeader { .. }), "{text}: {error}");
        }
        let newer = text_of(&zoo::record()).replacen("\"version\":1", "\"version\":9", 1);
        assert_eq!(Record::decode(&newer), Err(RecordError::TooNew { version: 9 }));
    }
}
