//! A stored run: lines of JSON, first a versioned header, then one line per trial.
//!
//! Each trial is appended when it ends, so an interrupted run loses at most one line. The lines
//! before it stay readable. A resumed run appends to the same record: an invocation that says so,
//! more trials and another end.

mod damage;
mod head;
mod reader;

use crate::host::{Fixture, Host, Storage};
use crate::named;
use crate::peer::Peer;
use crate::plan::{Plan, Pruned, Role, Skip};
use crate::rehearsal::FactSheet;
use crate::shape::Calibrated;
use crate::trial::Trial;
use crate::vitals::PartVitals;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use reader::Reader;

/// The version that this program writes, and the newest it can read.
pub const VERSION: u32 = 1;

/// The program that wrote a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `ioassay`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit that it was built from, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The command line.
    pub command: Vec<String>,
}

/// The first line of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The program that wrote it.
    pub tool: Tool,
    /// The start of the run, as RFC 3339 in UTC.
    pub began: String,
    /// The machine.
    pub host: Host,
    /// What the user calls the machine, if the run was led from another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// What the user calls all hosts of a run in lockstep, in their order. Empty in other runs, and
    /// in records before 2026-11-26.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The storage; `None` if the run used no file.
    pub storage: Option<Storage>,
    /// The storage of the file that copies read, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_storage: Option<Storage>,
    /// More storages that hold data files of commands. Empty in other runs, and in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further_storages: Vec<Storage>,
    /// The storage of the files on each device, by the device's number ([`FileUse::device`]): 0 is
    /// `storage`, and others are those of `further_storages`, from 1. Files on other devices are on
    /// a storage that was not watched. Empty in runs without commands, and in older records.
    ///
    /// [`FileUse::device`]: crate::rehearsal::FileUse::device
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub storage_numbers: BTreeMap<u64, usize>,
    /// The files of the run.
    pub fixtures: Vec<Fixture>,
    /// The plan.
    pub plan: Plan,
    /// Names a pair of runs whose rounds alternate: it is the same in both records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternates: Option<String>,
    /// Which of the two it is. Records before 2026-11-25 do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// The shapes of loops that were measured before the run, and those that it uses. Empty in
    /// records before 2026-11-26, and if no case lets the worker choose: then `isa auto` is the
    /// widest vectors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calibrated: Vec<Calibrated>,
    /// What each command of the plan did with files in one run before the others. Empty in other
    /// runs, and if the commands were not rehearsed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rehearsals: Vec<FactSheet>,
    /// Programs that measured, besides this program's own worker.
    #[serde(default)]
    pub peers: Vec<Peer>,
}

named! {
    /// One of two runs whose rounds alternate.
    Side "side" {
        /// What the other is held against.
        A "a",
        /// What is held against it.
        B "b",
    }
}

/// The start of an invocation after the first, with new workers. It also has new test files, unless
/// they are a user's own file or a device. The first invocation has the files of the [`Header`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Invocation {
    /// Its number, from 1.
    pub number: u32,
    /// The time when it was ready for its first trial, in milliseconds since the run began. The
    /// time between an interruption and its resumption does not count.
    pub at_ms: u64,
    /// The time to prepare it, in milliseconds: the pause and the new files.
    pub made_ms: u64,
    /// The new files; empty if it uses those of the header.
    pub fixtures: Vec<Fixture>,
    /// What resumed the interrupted run, if this invocation began with that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<Resumed>,
    /// The cases and rounds whose earlier trials no longer count, because not all hosts of the run
    /// have one: the run measures them again on all. Only where it is resumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<(usize, u32)>,
}

/// An interrupted run that continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resumed {
    /// When, as RFC 3339 in UTC.
    pub began: String,
    /// The program, and its command line.
    pub tool: Tool,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It completed the plan.
    Complete,
    /// It was interrupted.
    Interrupted,
    /// The host was lost, and the others went on without it.
    Lost {
        /// When, in milliseconds after the run began.
        at_ms: u64,
        /// Why.
        reason: String,
    },
    /// The record has no end: it was cut off, or the run continues.
    Missing,
}

impl End {
    /// Its name in output.
    pub fn name(&self) -> &'static str {
        match self {
            End::Complete => "complete",
            End::Interrupted => "interrupted",
            End::Lost { .. } => "lost",
            End::Missing => "missing",
        }
    }
}

/// One line of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a line lives until it is written, one at a time")]
pub enum RecordLine {
    /// The first line.
    Header {
        /// Version of the format.
        version: u32,
        /// The rest.
        #[serde(flatten)]
        header: Header,
    },
    /// The start of another invocation.
    Invocation(Invocation),
    /// A trial.
    Trial(Trial),
    /// A case without further trials.
    Pruned(Pruned),
    /// What was seen before and after a part of the run.
    Vitals(PartVitals),
    /// The last line.
    End(End),
}

/// A record in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its first line.
    pub header: Header,
    /// The start of each invocation after the first.
    pub invocations: Vec<Invocation>,
    /// Its trials, in order.
    pub trials: Vec<Trial>,
    /// The cases that need no more rounds, each at most once.
    pub pruned: Vec<Pruned>,
    /// What was seen before and after its parts. Empty in records before 2026-11-28, and of a part
    /// that did not come to its end.
    pub vitals: Vec<PartVitals>,
    /// How the run ended.
    pub end: End,
    /// The unreadable parts, one message each.
    pub damage: Vec<String>,
}

/// Why a text is not a readable record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// Its first line is not a header.
    #[error("its first line is not the header of an ioassay record: {problem}")]
    NoHeader {
        /// The JSON parser's error.
        problem: String,
    },
    /// A newer program wrote it, and its header is unreadable here.
    #[error(
        "it has format version {version}, and this ioassay reads up to {VERSION} but not its \
         header ({problem}): update ioassay"
    )]
    TooNew {
        /// Its version.
        version: u64,
        /// The JSON parser's error.
        problem: String,
    },
    /// It would take too much memory.
    #[error("it is larger than any run writes: {what}: {amount}, at most {most}")]
    TooLarge {
        /// The excessive quantity.
        what: &'static str,
        /// The amount.
        amount: usize,
        /// The maximum.
        most: usize,
    },
}

impl RecordLine {
    /// The line as text, without its end.
    pub fn encode(&self) -> String {
        serde_json::to_string(self).expect("a record is plain data, which JSON can always write")
    }
}

/// The maximum length of a line: the header of a plan with as many cases as there may be.
pub const LINE_BYTES_MAX: usize = 64 << 20;

/// The maximum number of trials of a case, because some checks take quadratic time. A rate
/// sustained for two days has 17 000.
pub const TRIALS_MAX: usize = 20_000;

/// The maximum memory for all lines of a record; a survey uses a hundredth of it.
const MEMORY_BYTES_MAX: usize = 96 << 20;

/// Whether a record with trials of so many bytes in memory, in so many rounds, has no room for
/// more. A quarter is left for all other lines.
pub fn is_full(bytes: usize, rounds: u32) -> bool {
    bytes > MEMORY_BYTES_MAX / 4 * 3 || rounds as usize >= TRIALS_MAX
}

impl Record {
    /// Whether it has no room for more trials.
    pub fn is_full(&self) -> bool {
        let last = self.trials.iter().map(|trial| trial.round).max();
        let rounds = last.map_or(0, |last| last.saturating_add(1));
        is_full(self.trials.iter().map(Trial::bytes).sum(), rounds)
    }

    /// The skips of the plan, and the requested cases that were pruned or are other hosts'.
    pub fn skips(&self) -> Vec<Skip> {
        let pruned = self.pruned.iter().filter_map(|pruned| {
            let planned = self.header.plan.cases.get(pruned.case)?;
            let skip = Skip { case: planned.case.clone(), reason: pruned.reason.clone() };
            (planned.role == Role::Asked).then_some(skip)
        });
        let plan = &self.header.plan;
        plan.skips.iter().cloned().chain(pruned).chain(plan.elsewhere()).collect()
    }

    /// Reads a record. It keeps the readable parts and reports the others in [`Record::damage`].
    /// From a newer program's record, it keeps the parts it knows.
    pub fn decode(text: &str) -> Result<Record, RecordError> {
        let mut lines = text.lines();
        let mut reader = Reader::begin(lines.next().ok_or(RecordError::Empty)?)?;
        lines.try_for_each(|line| reader.line(line))?;
        Ok(reader.end())
    }
}

fn at_most(what: &'static str, amount: usize, most: usize) -> Result<(), RecordError> {
    match amount > most {
        true => Err(RecordError::TooLarge { what, amount, most }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::Outcome;
    use crate::zoo;

    fn text_of(record: &Record) -> String {
        let header = record.header.clone();
        let mut lines = vec![RecordLine::Header { version: VERSION, header }];
        lines.extend(record.invocations.iter().cloned().map(RecordLine::Invocation));
        lines.extend(record.trials.iter().cloned().map(RecordLine::Trial));
        lines.extend(record.pruned.iter().cloned().map(RecordLine::Pruned));
        lines.extend(record.vitals.iter().cloned().map(RecordLine::Vitals));
        lines.push(RecordLine::End(record.end.clone()));
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

    /// Records before 2026-11-26 lack it. There, `isa auto` is the widest vectors.
    #[test]
    fn a_record_has_the_shapes_of_its_loops_if_they_were_measured() {
        let mut record = zoo::record();
        assert!(!text_of(&record).contains("calibrated"));
        let chosen = "avx2-16x1".parse().expect("it is a shape");
        let (kernel, pages) = (crate::memory::Kernel::Read, crate::memory::Pages::Base);
        let walk = crate::shape::Walk { kernel, pages, threads: 2, working_set: 1 << 30 };
        let candidates =
            vec![crate::shape::Candidate { shape: chosen, throughput: 3e10, passes: 9 }];
        record.header.calibrated = vec![Calibrated { walk, chosen, candidates }];
        assert_eq!(Record::decode(&text_of(&record)), Ok(record));
    }

    /// A link that rested when the run began is as fast as it was when it was used.
    #[test]
    fn a_path_that_was_seen_awake_is_read_as_it_is_in_use() {
        use crate::path::{Bus, Hop, HopKind, LinkHop, LinkSpeed};
        use crate::vitals::{PartVitals, Vitals};
        let path = |rate| {
            let now = LinkSpeed { rate: Some(rate), lanes: Some(4) };
            let link = LinkHop { bus: Bus::Pcie, now, ..LinkHop::default() };
            Hop::new("0000:01:00.0", HopKind::Link(link), Vec::new())
        };
        let at = |at_ms, rate| Vitals { at_ms, paths: vec![path(rate)], ..Vitals::default() };
        let mut record = zoo::record();
        let set = |record: &mut Record, rate| {
            let storage = record.header.storage.as_mut().expect("it has one");
            storage.path = Some(Box::new(path(rate)));
        };
        set(&mut record, 2_500);
        let rested = Record::decode(&text_of(&record)).unwrap();
        assert_eq!(rested, record);
        let (before, after) = (at(0, 2_500), at(9_000, 16_000));
        record.vitals = vec![PartVitals { invocation: 0, before, after }];
        let read = Record::decode(&text_of(&record)).unwrap();
        set(&mut record, 16_000);
        assert_eq!(read, record);
        // Cut off as it was written, it says nothing and no trial is lost.
        let line = RecordLine::Vitals(record.vitals.remove(0)).encode();
        set(&mut record, 2_500);
        for cut in [3, 100, line.len() - 1] {
            let cut = format!("{}\n{{\"end\"", &line[..cut]);
            let text = text_of(&record).replacen("{\"end\"", &cut, 1);
            assert_eq!(Record::decode(&text), Ok(record.clone()));
        }
    }

    /// Older records have no invocations, so all trials belong to one.
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
        assert!(version.contains("format version 9, and this ioassay reads up to 1"));
        assert!(case.contains("case 0 is not understood: unknown engine 'telepathy'"), "{case}");
        assert!(
            line.contains(
                "is of a kind that this version does not know: unknown variant `thought`"
            ),
            "{line}"
        );
    }

    fn damage_of(lines: &[String]) -> (Record, Vec<String>) {
        let read = Record::decode(&lines.concat()).expect("it has a header");
        let damage = read.damage.clone();
        (read, damage)
    }

    #[test]
    fn a_trial_counts_once_however_often_it_is_told() {
        let record = zoo::record();
        let mut lines: Vec<String> =
            text_of(&record).split_inclusive('\n').map(str::to_string).collect();
        lines.insert(3, lines[1].clone());
        let (read, damage) = damage_of(&lines);
        assert_eq!(read.trials, record.trials);
        assert_eq!(damage, ["line 4 repeats the trial of line 2: it counts once"]);
        let other = Trial { at_ms: 12_345, ..record.trials[0].clone() };
        lines[3] = RecordLine::Trial(other).encode() + "\n";
        let (read, damage) = damage_of(&lines);
        assert_eq!(read.trials, record.trials);
        let [damage] = &damage[..] else { panic!("{damage:?}") };
        assert!(damage.contains("line 4 has the same case and round as line 2"), "{damage}");
    }

    #[test]
    fn nothing_counts_after_the_end() {
        let record = zoo::record();
        let mut lines: Vec<String> =
            text_of(&record).split_inclusive('\n').map(str::to_string).collect();
        let late = Trial { round: 1_000, ..record.trials[0].clone() };
        let end = lines.len();
        lines.push(RecordLine::Trial(late).encode() + "\n");
        let (read, damage) = damage_of(&lines);
        assert_eq!((read.trials, read.end), (record.trials, record.end));
        let late = format!("line {} comes after the end in line {end}", end + 1);
        assert_eq!(damage, [late + " and is ignored"]);
    }

    /// The lines of a record, and those of an invocation that resumes it.
    fn resumed(record: &Record) -> (Vec<String>, String) {
        let lines = text_of(record).split_inclusive('\n').map(str::to_string).collect();
        let tool = record.header.tool.clone();
        let resumed = Some(Resumed { began: "2026-11-23T10:00:00Z".to_string(), tool });
        let (number, at_ms, made_ms, fixtures) = (1, 9_000, 800, Vec::new());
        let again = Vec::new();
        let anew = Invocation { number, at_ms, made_ms, fixtures, resumed, again };
        (lines, RecordLine::Invocation(anew).encode() + "\n")
    }

    /// What not all hosts of a run have is measured again, and counts once.
    #[test]
    fn a_resumed_run_withdraws_what_it_measures_again() {
        let mut record = zoo::record();
        record.end = End::Interrupted;
        record.pruned = vec![Pruned { case: 0, round: 3, reason: "it gives no more".to_string() }];
        let (mut lines, anew) = resumed(&record);
        assert_eq!(damage_of(&lines).0.pruned, record.pruned);
        let withdrawn = anew.replace("}}\n", ",\"again\":[[0,3],[0,77],[9,3]]}}\n");
        assert_ne!(withdrawn, anew);
        lines.push(withdrawn);
        let (read, damage) = damage_of(&lines);
        assert_eq!(damage, [""; 0]);
        let kept: Vec<_> = record.trials.iter().filter(|it| it.round != 3).cloned().collect();
        assert_eq!((read.trials, read.pruned), (kept, Vec::new()));
        let again = Trial { invocation: 1, ..record.trials[3].clone() };
        lines.push(RecordLine::Trial(again.clone()).encode() + "\n");
        // A trial that is repeated is still found at its place.
        lines.push(RecordLine::Trial(record.trials[5].clone()).encode() + "\n");
        let (read, damage) = damage_of(&lines);
        assert_eq!((read.trials.len(), read.trials.last()), (10, Some(&again)));
        assert!(damage[0].contains("repeats the trial of line 7"), "{damage:?}");
        // Nothing of a complete run is withdrawn.
        lines[11] = RecordLine::End(End::Complete).encode() + "\n";
        assert_eq!(damage_of(&lines).0.trials, record.trials);
    }

    #[test]
    fn a_run_that_is_resumed_goes_on_after_its_end() {
        let mut record = zoo::record();
        record.end = End::Interrupted;
        let (mut lines, anew) = resumed(&record);
        let late = Trial { invocation: 1, round: 10, ..record.trials[0].clone() };
        lines.extend([anew, RecordLine::Trial(late.clone()).encode() + "\n"]);
        let (read, damage) = damage_of(&lines);
        assert_eq!(damage, [""; 0]);
        assert_eq!((read.end, read.trials.last()), (End::Missing, Some(&late)));
        assert!(read.invocations[0].resumed.is_some());
        lines.push(RecordLine::End(End::Complete).encode() + "\n");
        assert_eq!(Record::decode(&lines.concat()).unwrap().end, End::Complete);
    }

    /// The half line of a crash says nothing that is missing.
    #[test]
    fn a_line_that_was_cut_off_before_the_run_was_resumed_is_no_damage() {
        let record = zoo::record();
        let (mut lines, anew) = resumed(&record);
        lines.pop();
        let cut = lines.pop().unwrap();
        lines.push(cut[..cut.len() / 2].to_string() + "\n");
        assert_eq!(damage_of(&lines).1.len(), 1);
        lines.extend([anew.clone(), cut.clone()]);
        let (read, damage) = damage_of(&lines);
        assert_eq!((read.trials, damage), (record.trials.clone(), Vec::new()));
        // A broken line elsewhere is damage.
        lines.insert(2, "?\n".to_string());
        assert_eq!(damage_of(&lines).1.len(), 1);
    }

    #[test]
    fn a_complete_run_does_not_go_on() {
        let (mut lines, anew) = resumed(&zoo::record());
        lines.push(anew);
        let (read, damage) = damage_of(&lines);
        assert_eq!((read.end, read.invocations.len(), damage.len()), (End::Complete, 0, 1));
    }

    #[test]
    fn what_a_record_says_is_printable() {
        let mut record = zoo::record();
        record.header.tool.version = "1\x1b]0;x\x07\u{9b}\u{202e}\n2".to_string();
        let read = Record::decode(&text_of(&record)).unwrap();
        assert_eq!(read.header.tool.version, "1\u{FFFD}]0;x\u{FFFD}\u{FFFD}\u{FFFD} 2");
    }

    #[test]
    fn a_record_that_would_fill_the_memory_is_refused() {
        let record = zoo::record();
        let text = text_of(&record);
        let (header, rest) = text.split_once('\n').unwrap();
        let trial = rest.lines().next().unwrap();
        let mut reader = Reader::begin(header).unwrap();
        let many =
            (0..).map(|round| trial.replacen("\"round\":0", &format!("\"round\":{round}"), 1));
        let long = format!("\"progress\":[{}0]", "0,".repeat(1 << 20));
        let mut many =
            many.map(|line| line.replacen("\"sync_ns\":0", &format!("\"sync_ns\":0,{long}"), 1));
        let error = loop {
            if let Err(error) = reader.line(&many.next().unwrap()) {
                break error.to_string();
            }
            assert!(reader.number < 1_000, "{}", many.next().unwrap().len());
        };
        assert!(error.starts_with("it is larger than any run writes: bytes of all"), "{error}");
        let error = reader.line(&" ".repeat(LINE_BYTES_MAX + 1)).unwrap_err().to_string();
        assert!(error.contains("bytes of a line: 67108865, at most 67108864"), "{error}");
    }

    #[test]
    fn a_case_has_at_most_so_many_trials() {
        let record = zoo::record();
        let failed = Outcome::Failed { reason: "x".to_string() };
        let trial = Trial { outcome: failed, ..record.trials[0].clone() };
        let header = text_of(&record).lines().next().unwrap().to_string();
        let mut reader = Reader::begin(&header).unwrap();
        let mut take =
            |round| reader.line(&RecordLine::Trial(Trial { round, ..trial.clone() }).encode());
        (0..TRIALS_MAX as u32).for_each(|round| take(round).unwrap());
        let error = take(TRIALS_MAX as u32).unwrap_err().to_string();
        assert!(error.ends_with("trials of a case: 20001, at most 20000"), "{error}");
    }

    #[test]
    fn a_full_record_can_be_read() {
        let mut record = zoo::record();
        assert!(!record.is_full());
        let header = text_of(&record).lines().next().unwrap().to_string();
        let mut reader = Reader::begin(&header).unwrap();
        let mut trial = record.trials[0].clone();
        let Outcome::Done(sample) = &mut trial.outcome else { panic!("it has a sample") };
        sample.spans[0].progress = vec![1; 100_000];
        record.trials.clear();
        for round in 0.. {
            if record.is_full() {
                break;
            }
            let trial = Trial { round, ..trial.clone() };
            reader.line(&RecordLine::Trial(trial.clone()).encode()).unwrap();
            record.trials.push(trial);
        }
        assert!(record.trials.len() > 10);
        assert_eq!(reader.end().trials, record.trials);
        record.trials.truncate(1);
        assert!(!record.is_full());
        record.trials[0].round = TRIALS_MAX as u32 - 1;
        assert!(record.is_full());
    }

    /// A damaged record has one line for each kind of problem.
    #[test]
    fn what_is_wrong_with_many_lines_is_said_once() {
        let record = zoo::record();
        let whole = text_of(&record);
        let (trials, end) = whole.split_once("{\"end\"").unwrap();
        let (_, last) = trials.trim_end().rsplit_once('\n').unwrap();
        let broken = (0..1_000).map(|n| format!("{}?{n}\n", "{".repeat(n % 3)));
        let text = format!(
            "{trials}{}{}{{\"end\"{end}{last}\n{last}\n",
            broken.collect::<String>(),
            format!("{last}\n").repeat(3)
        );
        let read = Record::decode(&text).unwrap();
        assert_eq!((&read.trials, &read.end), (&record.trials, &record.end));
        let [broken, repeated, late] = &read.damage[..] else { panic!("{:?}", read.damage) };
        assert!(broken.starts_with("line 12 is broken: "), "{broken}");
        assert!(broken.ends_with(" (and 999 more such lines)"), "{broken}");
        let counts = "line 1012 repeats the trial of line 11: it counts once";
        assert_eq!(repeated, &format!("{counts} (and 2 more such lines)"));
        let ignored = "line 1016 comes after the end in line 1015 and is ignored";
        assert_eq!(late, &format!("{ignored} (and 1 more such line)"));
    }
}
