//! Work that is a command: any program, run as it is.
//!
//! One run of it is one operation. How many bytes it moves is the OS's to tell, not the command's.

use crate::cache::Cache;
use crate::figure::FigurePattern;
use crate::printable::is_printable;
use crate::task_io::TaskIo;
use crate::units::ParseError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Runs a command.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CommandWork {
    /// The name of a [`JudgedCommand`] of the plan: its text as it was given, or a shorter name.
    pub command: String,
    /// The values of its parameters: `size=4k,threads=2`, in the order of their names. Empty
    /// without any.
    pub parameters: String,
    /// The cache state of the files that it reads, at the start.
    pub cache: Cache,
}

impl Default for CommandWork {
    fn default() -> CommandWork {
        let (command, parameters) = (String::new(), String::new());
        CommandWork { command, parameters, cache: Cache::AsIs }
    }
}

/// The cache states that the files of a command can have.
pub const CACHES: &[&str] = &["as-is", "warm", "cold"];

/// Checks the name of a command.
///
/// # Errors
/// If it is empty, or a character of it cannot be printed.
pub(crate) fn name_of(text: &str) -> Result<String, ParseError> {
    if !text.is_empty() && text.chars().all(is_printable) {
        return Ok(text.to_string());
    }
    Err(ParseError::Axis { axis: "command", problem: "is empty, or cannot be printed" })
}

/// What a command writes to, apart from files that it opens itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandOutput {
    /// `/dev/null`.
    #[default]
    Null,
    /// A pipe that ioassay reads and discards.
    Pipe,
    /// That of ioassay; the same holds for stderr then.
    Inherit,
    /// A file, emptied before each run.
    File(PathBuf),
}

/// What a worker must start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Launch {
    /// The program and its arguments.
    pub arguments: Vec<String>,
    /// The file on its stdin; `None` for `/dev/null`.
    pub input: Option<PathBuf>,
    /// Where its stdout goes.
    pub output: CommandOutput,
    /// Whether a run counts whatever its exit status.
    pub any_exit: bool,
    /// Exit statuses besides 0 of runs that count.
    pub exits: Vec<u32>,
    /// The number to look for in its output.
    pub figure: Option<FigurePattern>,
    /// The files to sync after its end.
    pub syncs: Vec<PathBuf>,
}

/// A command of a plan, with the values of its parameters filled in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JudgedCommand {
    /// Its name: the value of the axis `command`.
    pub name: String,
    /// Its parameters, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// The program and its arguments.
    pub arguments: Vec<String>,
    /// The directory in which it runs.
    pub directory: PathBuf,
    /// What runs before each of its runs, untimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<Vec<String>>,
    /// The file on its stdin; `None` for `/dev/null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<PathBuf>,
    /// Where its stdout goes.
    #[serde(default, skip_serializing_if = "is_null")]
    pub output: CommandOutput,
    /// What runs after each of its runs, untimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclude: Option<Vec<String>>,
    /// Whether a run counts whatever its exit status.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_exit: bool,
    /// Exit statuses besides 0 of runs that count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exits: Vec<u32>,
    /// The number to look for in its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<FigurePattern>,
    /// Whether the files that it wrote are synced after its end, which is timed apart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub until_durable: bool,
    /// The data files that it reads, on which a cache state is set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<PathBuf>,
    /// The data files that it writes, whose dirty pages are counted when it has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<PathBuf>,
}

fn is_null(output: &CommandOutput) -> bool {
    *output == CommandOutput::Null
}

impl JudgedCommand {
    /// `'sort big.txt' with size=4k`.
    pub fn shown(&self) -> String {
        match parameters_text(&self.parameters).as_str() {
            "" => format!("'{}'", self.name),
            parameters => format!("'{}' with {parameters}", self.name),
        }
    }

    /// What a worker must start.
    pub fn launch(&self) -> Launch {
        Launch {
            arguments: self.arguments.clone(),
            input: self.input.clone(),
            output: self.output.clone(),
            any_exit: self.any_exit,
            exits: self.exits.clone(),
            figure: self.figure.clone(),
            syncs: if self.until_durable { self.writes.clone() } else { Vec::new() },
        }
    }

    /// The work of its case with this cache state.
    pub fn work(&self, cache: Cache) -> CommandWork {
        let parameters = parameters_text(&self.parameters);
        CommandWork { command: self.name.clone(), parameters, cache }
    }
}

impl Launch {
    /// Whether a run with this exit status counts.
    pub fn counts(&self, status: u32) -> bool {
        status == 0 || self.any_exit || self.exits.contains(&status)
    }
}

/// What stands for a parameter in a command: `{threads}`.
pub fn place_of(parameter: &str) -> String {
    format!("{{{parameter}}}")
}

/// A text with the values of its parameters.
pub fn filled(text: &str, values: &BTreeMap<String, String>) -> String {
    values.iter().fold(text.to_string(), |text, (name, value)| text.replace(&place_of(name), value))
}

/// The text of parameters: `size=4k,threads=2`.
pub fn parameters_text(parameters: &BTreeMap<String, String>) -> String {
    let pairs = parameters.iter().map(|(name, value)| format!("{name}={value}"));
    pairs.collect::<Vec<_>>().join(",")
}

/// How a command ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Its exit status; `None` if a signal ended it.
    pub status: Option<u32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<u32>,
    /// The most memory of one of its processes at any time (`ru_maxrss`). `None` if it is not more
    /// than this program's own, which the OS counts as the command's while it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// Processes that went on after its end.
    #[serde(default)]
    pub left_running: u64,
    /// Bytes that it wrote to the pipe on its stdout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// What it took to read its output beside it; `None` if nobody read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<OutputReading>,
    /// What the OS counted of its I/O and of all that it started, and nothing of ioassay's own. The
    /// evidence of its trial takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<TaskIo>,
}

/// What ioassay did to read the output of a command. The OS counts it together with the command's
/// own reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputReading {
    /// Bytes of its stdout and its stderr.
    pub bytes: u64,
    /// Calls of `read`.
    pub calls: u64,
    /// CPU time of the threads that read.
    pub cpu_ns: u64,
}

impl OutputReading {
    /// `io`, in which the OS counted it, without it.
    #[must_use]
    pub fn left_out_of(self, io: TaskIo) -> TaskIo {
        TaskIo {
            rchar: io.rchar.saturating_sub(self.bytes),
            syscr: io.syscr.saturating_sub(self.calls),
            ..io
        }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: OutputReading) -> OutputReading {
        OutputReading {
            bytes: self.bytes + other.bytes,
            calls: self.calls + other.calls,
            cpu_ns: self.cpu_ns + other.cpu_ns,
        }
    }
}
