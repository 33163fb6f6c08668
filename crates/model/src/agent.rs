//! What the coordinator of a run says to an agent, which measures on another host, and what the
//! agent answers: one line of JSON each.
//!
//! The coordinator orders, and the agent answers each order in turn. Text of an agent is untrusted:
//! it is cleaned before it is shown (see [`crate::printable`]).

use crate::host::{Fixture, Host, Storage};
use crate::judging::{AskedCommands, ReadyCommands};
use crate::part::Part;
use crate::plan::Plan;
use crate::printable::{printable, printable_json};
use crate::record::Header;
use crate::shape::Calibrated;
use crate::trial::{Outcome, Trial};
use crate::vitals::Vitals;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The version that both sides must use.
pub const PROTOCOL: u32 = 7;

/// Maximum length of a line in bytes: a command may use sixty thousand files in its rehearsal.
pub const LINE_BYTES_MAX: u64 = 64 << 20;

/// From the coordinator to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The coordinator is there: once a second, unanswered. An agent that does not hear so for
    /// several seconds ends, because nobody would receive its answers.
    Alive,
    /// Tell your clocks: [`Answer::Clocks`].
    Ping,
    /// Inspect this machine and the storage of a directory: [`Answer::Place`].
    Look {
        /// The directory.
        directory: PathBuf,
    },
    /// Inspect this machine and a block device, which is only read: [`Answer::Place`].
    LookAtDevice {
        /// The device.
        device: PathBuf,
    },
    /// Create an empty file of this name there, and remove it at your end: [`Answer::Done`].
    Mark {
        /// The directory.
        directory: PathBuf,
        /// The name of the file.
        name: String,
    },
    /// Look whether a file of this name is there: [`Answer::Found`].
    Find {
        /// The directory.
        directory: PathBuf,
        /// The name of the file.
        name: String,
    },
    /// Look for the first of the files whose names begin so: [`Answer::First`].
    First {
        /// The directory.
        directory: PathBuf,
        /// How the names begin.
        prefix: String,
    },
    /// Set up and rehearse commands, which the next plan then times: [`Answer::ReadyCommands`].
    Rehearse {
        /// The directory in which they run.
        directory: PathBuf,
        /// What is asked.
        asked: Box<AskedCommands>,
        /// The record of a run that goes on: what it knows is not rehearsed again.
        #[serde(default)]
        then: Option<Box<Header>>,
    },
    /// Run what is to run after commands: [`Answer::Done`]. An agent whose orders end does so
    /// unasked.
    CleanUp,
    /// Create the files of a plan: [`Answer::Made`]. From then on, all orders are about its trials,
    /// until [`Order::End`].
    Begin {
        /// The plan.
        plan: Box<Plan>,
        /// The directory for the files.
        directory: PathBuf,
        /// The shapes of loops that a run which goes on had there; `None` if they are to be
        /// measured.
        calibrated: Option<Vec<Calibrated>>,
    },
    /// Create new files and use new workers, for another invocation: [`Answer::Made`].
    Anew,
    /// Open the files of other hosts that your cases use, now that all created theirs, and write
    /// your part of the shared ones: [`Answer::Made`], with the files that you use.
    Meet {
        /// The number of the host whose files you read.
        next: u32,
        /// Its folder.
        folder: Option<String>,
        /// The folder of the host that created the shared files.
        shared: Option<String>,
        /// Your part of their content.
        segment: Part,
    },
    /// Look at the paths to your storages and at your machine, before the first trial of an
    /// invocation or after its last: [`Answer::Vitals`].
    Vitals,
    /// Prepare a trial: [`Answer::Ready`], or [`Answer::Trial`] if it cannot begin.
    Trial {
        /// The case's index in the plan.
        case: usize,
        /// The invocation, from 0.
        invocation: u32,
        /// The round, numbered from 0 over all invocations.
        round: u32,
        /// When it starts, in milliseconds since the start of the run.
        at_ms: u64,
    },
    /// Begin the trial that is ready: [`Answer::Over`] once it is, or [`Answer::Trial`] if it
    /// failed.
    Go {
        /// When, by the host's own monotonic clock, in nanoseconds.
        begins_ns: u64,
    },
    /// All hosts are done: read back what was written, which must not disturb others:
    /// [`Answer::Trial`].
    Close,
    /// Do not begin the trial that is ready, or end the one that goes on: [`Answer::Trial`], which
    /// failed. If no trial goes on, there is no answer.
    Cancel {
        /// Why.
        reason: String,
    },
    /// Remove the files of the plan: [`Answer::Done`].
    End,
}

impl Order {
    /// The order to look at a directory.
    pub fn look_at_directory(directory: PathBuf) -> Order {
        Order::Look { directory }
    }

    /// The order to look at a block device.
    pub fn look_at_device(device: PathBuf) -> Order {
        Order::LookAtDevice { device }
    }
}

/// From an agent to the coordinator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "an answer lives until it is read, one at a time")]
pub enum Answer {
    /// The first line, unasked.
    Hello {
        /// [`PROTOCOL`].
        protocol: u32,
        /// The version of the program.
        version: String,
        /// The commit that it was built from, if known.
        commit: Option<String>,
    },
    /// It is there: unasked, once a second. A host that does not say so for several seconds is
    /// stopped, or cannot be reached.
    Alive,
    /// Its clocks when it answered.
    Clocks(Clocks),
    /// The machine and the storage.
    Place {
        /// The machine.
        host: Host,
        /// The storage.
        storage: Storage,
        /// The random number of the OS since it started, by which hosts on one machine know each
        /// other; `None` if it tells none.
        boot: Option<String>,
    },
    /// The commands can be timed.
    ReadyCommands(Box<ReadyCommands>),
    /// The files are there.
    Made {
        /// The files of the run.
        fixtures: Vec<Fixture>,
        /// The folder in the directory in which others find them.
        folder: Option<String>,
        /// The shapes of loops that it uses.
        #[serde(default)]
        calibrated: Vec<Calibrated>,
        /// Folders of other runs that stay.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unproved: Vec<Unproved>,
    },
    /// What can be seen now. When that was is for the coordinator to say.
    Vitals(Box<Vitals>),
    /// The trial can begin.
    Ready,
    /// The work of the trial is done, and not yet checked.
    Over,
    /// A trial is over.
    Trial(Box<Trial>),
    /// It is done.
    Done,
    /// Whether the file is there.
    Found(bool),
    /// The name of the first file, in the order of the names; none if there is none.
    First(Option<String>),
    /// The order could not be carried out.
    Failed {
        /// Why.
        reason: String,
    },
}

/// A folder that stays, because nothing proves that its run has ended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Unproved {
    /// Its path, to be shown.
    pub path: String,
    /// The machine of its run, as that called itself.
    pub node: String,
}

/// The clocks of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// Nanoseconds since a moment that is the host's own: the clock of all times in a trial.
    pub monotonic_ns: u64,
    /// Nanoseconds since 1970 in UTC; 0 if it is set to an earlier time.
    pub utc_ns: u64,
}

/// Why a line is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{line}' is no line of the protocol between ioassay and its agents: {problem}")]
pub struct NoMessage {
    /// The beginning of the line.
    line: String,
    /// The JSON parser's error.
    problem: String,
}

/// How much of a wrong line an error shows, in characters.
const SHOWN_CHARS: usize = 80;

/// How much of a reason an error shows, in characters: a path may have 4096.
const REASON_CHARS: usize = 8192;

/// A message as a line, without its end.
pub fn encode(message: &impl Serialize) -> String {
    serde_json::to_string(message).expect("a message is plain data, which JSON can always write")
}

/// The beginning of a message, for an error.
pub fn shown(message: &impl Serialize) -> String {
    beginning(&encode(message), SHOWN_CHARS)
}

/// The message of a line, without control characters.
///
/// # Errors
/// If it is none.
pub fn decode<T: for<'de> Deserialize<'de>>(line: &str) -> Result<T, NoMessage> {
    serde_json::from_str(&printable_json(line)).map_err(|error| NoMessage {
        line: printable(line).chars().take(SHOWN_CHARS).collect(),
        problem: beginning(&printable(&error.to_string()), 2 * SHOWN_CHARS),
    })
}

impl Answer {
    /// The same with the beginnings of the reasons for a failure, which are shown and kept: an
    /// agent may send as much as it likes.
    pub fn with_short_reasons(mut self) -> Answer {
        let reason = match &mut self {
            Answer::Failed { reason } => Some(reason),
            Answer::Trial(trial) => match &mut trial.outcome {
                Outcome::Failed { reason } | Outcome::Unavailable { reason } => Some(reason),
                Outcome::Done(_) => None,
            },
            _ => None,
        };
        if let Some(reason) = reason {
            *reason = beginning(reason, REASON_CHARS);
        }
        self
    }
}

/// The first characters of a text, and a mark if there are more.
fn beginning(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judging::ReadyCommand;
    use crate::rehearsal::FactSheet;
    use crate::zoo;

    #[test]
    fn a_message_survives_its_line() {
        let (directory, name) = (PathBuf::from("/data/a b\n"), "x".to_owned());
        for order in [
            Order::Alive,
            Order::Ping,
            Order::Look { directory: "/data".into() },
            Order::LookAtDevice { device: "/dev/sda".into() },
            Order::Mark { directory: "/data".into(), name: name.clone() },
            Order::Find { directory: "/data".into(), name },
            Order::First { directory: "/data".into(), prefix: "a".to_owned() },
            Order::Rehearse { directory: "/data".into(), asked: Box::default(), then: None },
            Order::Rehearse {
                directory: "/data".into(),
                asked: Box::default(),
                then: Some(Box::new(zoo::record().header)),
            },
            Order::CleanUp,
            Order::Begin {
                plan: Box::new(zoo::record().header.plan),
                directory: "/data".into(),
                calibrated: Some(Vec::new()),
            },
            Order::Anew,
            Order::Meet {
                next: 1,
                folder: Some("ioassay-run-1-0".to_owned()),
                shared: None,
                segment: Part { number: 1, of: 4 },
            },
            Order::Vitals,
            Order::Trial { case: 1, invocation: 2, round: 3, at_ms: 4 },
            Order::Go { begins_ns: u64::MAX },
            Order::Close,
            Order::Cancel { reason: "another host is not ready".to_owned() },
            Order::End,
        ] {
            let line = encode(&order);
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(decode(&line), Ok(order));
        }
        // A directory with control characters is another one: it is not found, and nothing breaks.
        let line = encode(&Order::Look { directory });
        assert_eq!(decode(&line), Ok(Order::Look { directory: "/data/a b ".into() }));
        for answer in [
            Answer::Hello { protocol: PROTOCOL, version: "1".to_owned(), commit: None },
            Answer::Alive,
            Answer::Clocks(Clocks { monotonic_ns: u64::MAX, utc_ns: 0 }),
            Answer::Place { host: zoo::host(), storage: zoo::storage(), boot: None },
            Answer::ReadyCommands(Box::new(ReadyCommands {
                commands: vec![ReadyCommand::default()],
                rehearsals: vec![FactSheet::default()],
                storage: Some(zoo::storage()),
                further_storages: vec![zoo::storage()],
                storage_numbers: [(7, 1)].into(),
                warnings: vec!["x".to_owned()],
            })),
            Answer::Made {
                fixtures: Vec::new(),
                folder: None,
                calibrated: Vec::new(),
                unproved: vec![Unproved { path: "/data/x".to_owned(), node: "n".to_owned() }],
            },
            Answer::Vitals(Box::default()),
            Answer::Ready,
            Answer::Over,
            Answer::Trial(Box::new(zoo::trial(0))),
            Answer::Done,
            Answer::Found(true),
            Answer::First(Some("a1".to_owned())),
            Answer::Failed { reason: "no".to_owned() },
        ] {
            assert_eq!(decode(&encode(&answer)), Ok(answer));
        }
    }

    #[test]
    fn what_is_no_message_is_told_briefly_and_cleaned() {
        let error = decode::<Answer>(&format!("\u{1b}[2J{}", "x".repeat(1000))).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("'\u{FFFD}[2Jxxx") && text.len() < 300, "{text}");
        let long = "x".repeat(8 << 20);
        let unknown = decode::<Answer>(&format!("{{\"{long}\":1}}")).unwrap_err().to_string();
        assert!(unknown.len() < 500, "{} bytes", unknown.len());
        let hello = Answer::Hello { protocol: PROTOCOL, version: long.clone(), commit: None };
        let said = shown(&hello);
        assert!(said.starts_with("{\"hello\":") && said.len() < 100, "{} bytes", said.len());
        let of = |reason: &str| Answer::Failed { reason: reason.to_owned() }.with_short_reasons();
        assert_eq!(of("no room"), Answer::Failed { reason: "no room".to_owned() });
        let mut trial = zoo::trial(0);
        trial.outcome = Outcome::Failed { reason: long.clone() };
        for answer in [of(&long), Answer::Trial(Box::new(trial)).with_short_reasons()] {
            assert!(encode(&answer).len() < 16_384, "{} bytes", encode(&answer).len());
        }
        // What an older agent does not tell is not there.
        let made = decode("{\"made\":{\"fixtures\":[],\"folder\":null}}").unwrap();
        let Answer::Made { unproved, .. } = made else { panic!("{made:?}") };
        assert_eq!(unproved, []);
        let failed = decode("{\"failed\":{\"reason\":\"\\u001b[2J\"}}");
        assert_eq!(failed, Ok(Answer::Failed { reason: "\u{FFFD}[2J".to_owned() }));
    }
}
