//! A run as it is kept: lines of JSON, the first a versioned header, then one for each trial.
//!
//! Each trial is appended when it ends, so a run that is cut off loses at most one line, and
//! what was written before can still be read.

use crate::host::{Fixture, Host, Storage};
use crate::peer::Peer;
use crate::plan::{Plan, Planned, Skip};
use crate::trial::Trial;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// What an invocation after the first began with: new workers and, but where the file is the
/// user's own or a device, new test files. The first has those of the [`Header`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Invocation {
    /// Which, from 1.
    pub number: u32,
    /// When it was ready for its first trial, in milliseconds since the run began.
    pub at_ms: u64,
    /// How long that took: the pause, and what was made anew.
    pub made_ms: u64,
    /// The new files; none where those of the header stayed.
    pub fixtures: Vec<Fixture>,
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
#[expect(clippy::large_enum_variant, reason = "a line lives until it is written, one at a time")]
pub enum Line {
    /// The first one.
    Header {
        /// Version of the format.
        version: u32,
        /// The rest.
        #[serde(flatten)]
        header: Header,
    },
    /// What another invocation began with.
    Invocation(Invocation),
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
    /// What each invocation after the first began with.
    pub invocations: Vec<Invocation>,
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
    /// It was written by a newer program, in a form of which not even the header is understood.
    #[error(
        "it has format version {version}, this program understands up to {VERSION} and not its \
         header ({problem}): update ioassay"
    )]
    TooNew {
        /// Its version.
        version: u64,
        /// What the JSON reader said.
        problem: String,
    },
}

impl Line {
    /// The line, without its end.
    pub fn encode(&self) -> String {
        serde_json::to_string(self).expect("a record is plain data, which JSON can always write")
    }
}

/// Of more lines than this that cannot be read, each is not told of.
const TOLD_MAX: usize = 100;

impl Record {
    /// Reads a record. What is whole is kept; what is not is told in [`Record::damage`]. Of a
    /// record that a newer program wrote, what is understood is kept.
    pub fn decode(text: &str) -> Result<Record, RecordError> {
        let mut lines = text.lines();
        let Head { header, places, damage } = Head::read(lines.next().ok_or(RecordError::Empty)?)?;
        let mut record = Record {
            header,
            invocations: Vec::new(),
            trials: Vec::new(),
            end: End::Missing,
            damage,
        };
        let mut untold = 0u64;
        for (number, line) in (2..).zip(lines) {
            match record.take(line, &places) {
                Ok(()) => {}
                Err(problem) if record.damage.len() < TOLD_MAX => {
                    record.damage.push(format!("line {number} {problem}"));
                }
                Err(_) => untold += 1,
            }
        }
        if untold > 0 {
            record.damage.push(format!("{untold} more lines cannot be read"));
        }
        Ok(record)
    }

    /// Takes in a line that is not the first; `places` tells where each planned case is now.
    fn take(&mut self, line: &str, places: &[Option<usize>]) -> Result<(), String> {
        match serde_json::from_str(line) {
            Ok(Line::Trial(trial)) => match places.get(trial.case) {
                Some(Some(case)) => self.trials.push(Trial { case: *case, ..trial }),
                // That the case is not understood is told already.
                Some(None) => {}
                None => return Err(format!("is of case {}, which is not planned", trial.case)),
            },
            Ok(Line::Invocation(invocation)) => self.invocations.push(invocation),
            Ok(Line::End(end)) => self.end = end,
            Ok(Line::Header { .. }) => return Err("is a second header".to_string()),
            Err(error) => return Err(format!("is broken: {error}")),
        }
        Ok(())
    }
}

/// The first line of a record, as far as it is understood.
struct Head {
    header: Header,
    /// For each case of the plan as it was written, its place among those that are understood.
    places: Vec<Option<usize>>,
    damage: Vec<String>,
}

impl Head {
    fn read(line: &str) -> Result<Head, RecordError> {
        let no_header = |problem| RecordError::NoHeader { problem };
        let json: Value = serde_json::from_str(line).map_err(|e| no_header(e.to_string()))?;
        // The version is looked at first: a newer header may well not be readable.
        match json["header"]["version"].as_u64() {
            Some(version) if version > u64::from(VERSION) => Head::newer(json, version),
            _ => {
                let header = header(json).map_err(no_header)?;
                let places = (0..header.plan.cases.len()).map(Some).collect();
                Ok(Head { header, places, damage: Vec::new() })
            }
        }
    }

    /// The header of a newer program, without the cases that this one does not understand.
    fn newer(mut json: Value, version: u64) -> Result<Head, RecordError> {
        let mut damage = vec![format!(
            "the record has format version {version}, this program understands up to {VERSION}: \
             only what it understands is told; update ioassay"
        )];
        let cases = keep_known::<Planned>(json.pointer_mut("/header/plan/cases"));
        let skips = keep_known::<Skip>(json.pointer_mut("/header/plan/skips"));
        for (what, problems) in [("case", &cases), ("skip", &skips)] {
            let unknown =
                (0..).zip(problems).filter_map(|(i, p): (usize, _)| Some((i, p.as_ref()?)));
            damage.extend(unknown.map(|(i, p)| format!("{what} {i} is not understood: {p}")));
        }
        let header = header(json).map_err(|problem| RecordError::TooNew { version, problem })?;
        let mut kept = 0..;
        let places = cases.iter().map(|problem| if problem.is_none() { kept.next() } else { None });
        Ok(Head { header, places: places.collect(), damage })
    }
}

/// Takes out of a list what is no `T`. Answers for each thing that was in it why it was taken out,
/// if it was.
fn keep_known<T: DeserializeOwned>(list: Option<&mut Value>) -> Vec<Option<String>> {
    let Some(things) = list.and_then(Value::as_array_mut) else { return Vec::new() };
    let problem = |thing: &Value| T::deserialize(thing).err().map(|error| error.to_string());
    let problems: Vec<Option<String>> = things.iter().map(problem).collect();
    let mut each = problems.iter();
    things.retain(|_| each.next().is_some_and(Option::is_none));
    problems
}

fn header(json: Value) -> Result<Header, String> {
    match serde_json::from_value(json).map_err(|error| error.to_string())? {
        Line::Header { header, .. } => Ok(header),
        Line::Invocation(_) | Line::Trial(_) | Line::End(_) => {
            Err("it is another line of a record".to_string())
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
        lines.extend(record.invocations.iter().cloned().map(Line::Invocation));
        lines.extend(record.trials.iter().cloned().map(Line::Trial));
        lines.push(Line::End(record.end.clone()));
        lines.iter().map(|line| line.encode() + "\n").collect()
    }

    #[test]
    fn records_round_trip() {
        let record = zoo::record();
        assert!(!record.trials.is_empty());
        assert_eq!(Record::decode(&text_of(&record)), Ok(record));
        let many = zoo::record_of_invocations(3, 2);
        assert_eq!((many.invocations.len(), many.trials.len()), (2, 6));
        assert_eq!(Record::decode(&text_of(&many)), Ok(many));
    }

    /// Before there were invocations all trials were of one.
    #[test]
    fn a_record_without_invocations_has_one() {
        let record = zoo::record();
        let mut text = text_of(&record);
        for field in ["\"invocations\":1,", "\"invocation\":0,"] {
            assert!(text.contains(field), "{field}");
            text = text.replace(field, "");
        }
        assert_eq!(Record::decode(&text), Ok(record));
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
        let error = Record::decode("{\"header\":{\"version\":9}}").unwrap_err();
        assert!(matches!(error, RecordError::TooNew { version: 9, .. }), "{error}");
    }

    #[test]
    fn of_a_newer_record_what_is_understood_is_kept() {
        let mut record = zoo::record();
        let first = record.header.plan.cases[0].clone();
        record.header.plan.cases.insert(0, first);
        for (index, trial) in record.trials.iter_mut().enumerate() {
            trial.case = usize::from(!index.is_multiple_of(3));
        }
        let text = text_of(&record).replacen("\"version\":1", "\"version\":9,\"mood\":1", 1);
        let text = text.replacen("\"pread\"", "\"telepathy\"", 1);
        let read = Record::decode(&(text + "{\"thought\":1}\n")).unwrap();
        assert_eq!(read.header.plan.cases, record.header.plan.cases[1..]);
        let kept = record.trials.iter().filter(|trial| trial.case == 1);
        let kept: Vec<Trial> = kept.map(|trial| Trial { case: 0, ..trial.clone() }).collect();
        assert_eq!(read.trials, kept);
        assert_eq!(read.end, End::Complete);
        let [version, case, line] = &read.damage[..] else { panic!("{:?}", read.damage) };
        assert!(version.contains("format version 9, this program understands up to 1"));
        assert!(case.contains("case 0 is not understood: unknown engine 'telepathy'"), "{case}");
        assert!(line.contains("is broken: unknown variant `thought`"), "{line}");
    }

    #[test]
    fn of_many_lines_that_cannot_be_read_some_are_told() {
        let text = text_of(&zoo::record()) + &"?\n".repeat(1_000);
        let damage = Record::decode(&text).unwrap().damage;
        assert_eq!(damage.len(), TOLD_MAX + 1);
        assert_eq!(damage[TOLD_MAX], "900 more lines cannot be read");
    }
}
