//! What to start, and how it ended.

use crate::command::{CommandOutput, Exit, Launch, OutputReading};
use crate::figure::{FigurePattern, PrintedFigure};
use crate::line::{Fields, LineBuilder, ProtocolError};
use crate::optional::with_known;
use crate::task_io::TaskIo;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// The value of `output` for a pipe.
const PIPE: &str = "pipe";
/// The value of `output` for that of the tool.
const INHERIT: &str = "inherit";

/// The key of argument `index`.
fn key(index: usize) -> String {
    format!("argument{index}")
}

/// The key of the file `index` to sync.
fn sync_key(index: usize) -> String {
    format!("sync{index}")
}

/// The line of a job with what to start, if it is a command.
pub(super) fn with_launch(mut line: LineBuilder, launch: Option<&Launch>) -> LineBuilder {
    let Some(launch) = launch else { return line };
    for (index, argument) in launch.arguments.iter().enumerate() {
        line = line.with_bytes(&key(index), argument.as_bytes());
    }
    if let Some(input) = &launch.input {
        line = line.with_bytes("input", input.as_os_str().as_bytes());
    }
    line = match &launch.output {
        CommandOutput::Null => line,
        CommandOutput::Pipe => line.with("output", PIPE),
        CommandOutput::Inherit => line.with("output", INHERIT),
        CommandOutput::File(path) => line.with_bytes("output_file", path.as_os_str().as_bytes()),
    };
    if launch.any_exit {
        line = line.with("any_exit", 1);
    }
    if !launch.exits.is_empty() {
        let exits: Vec<String> = launch.exits.iter().map(u32::to_string).collect();
        line = line.with("exits", exits.join(","));
    }
    if let Some(FigurePattern { pattern, unit }) = &launch.figure {
        line = line.with_bytes("figure", pattern.as_bytes());
        if let Some(unit) = unit {
            line = line.with_bytes("figure_unit", unit.as_bytes());
        }
    }
    for (index, file) in launch.syncs.iter().enumerate() {
        line = line.with_bytes(&sync_key(index), file.as_os_str().as_bytes());
    }
    line
}

/// What a job starts, if it is a command.
pub(super) fn launch(fields: &mut Fields) -> Result<Option<Launch>, ProtocolError> {
    let mut arguments = Vec::new();
    while let Some(argument) = fields.take(&key(arguments.len())) {
        arguments.push(fields.utf8(argument)?);
    }
    if arguments.is_empty() {
        return Ok(None);
    }
    let mut path = |key| fields.take(key).map(|it| PathBuf::from(OsString::from_vec(it)));
    let (input, file) = (path("input"), path("output_file"));
    let output = match (file, fields.take("output")) {
        (Some(file), None) => CommandOutput::File(file),
        (None, None) => CommandOutput::Null,
        (None, Some(word)) if word == PIPE.as_bytes() => CommandOutput::Pipe,
        (None, Some(word)) if word == INHERIT.as_bytes() => CommandOutput::Inherit,
        _ => return Err(fields.error("an unknown 'output'")),
    };
    let any_exit = fields.number_or("any_exit", 0)? != 0;
    let exits = if fields.has("exits") { fields.numbers("exits")? } else { Vec::new() };
    let exits = exits.into_iter().flat_map(u32::try_from).collect();
    let mut syncs = Vec::new();
    while let Some(file) = fields.take(&sync_key(syncs.len())) {
        syncs.push(OsString::from_vec(file).into());
    }
    let figure = match fields.has("figure") {
        true => {
            let pattern = fields.text("figure")?;
            let unit = fields.has("figure_unit").then(|| fields.text("figure_unit")).transpose()?;
            Some(FigurePattern { pattern, unit })
        }
        false => None,
    };
    Ok(Some(Launch { arguments, input, output, any_exit, exits, figure, syncs }))
}

/// The line of how a command ended.
pub(super) fn of_exit(exit: &Exit) -> LineBuilder {
    let line = LineBuilder::new("exit").with("left_running", exit.left_running);
    let known = [
        ("status", exit.status.map(u64::from)),
        ("signal", exit.signal.map(u64::from)),
        ("peak_bytes", exit.peak_bytes),
        ("output_bytes", exit.output_bytes),
        ("reading_bytes", exit.reading.map(|reading| reading.bytes)),
        ("reading_calls", exit.reading.map(|reading| reading.calls)),
        ("reading_cpu_ns", exit.reading.map(|reading| reading.cpu_ns)),
        ("rchar", exit.io.map(|io| io.rchar)),
        ("wchar", exit.io.map(|io| io.wchar)),
        ("syscr", exit.io.map(|io| io.syscr)),
        ("syscw", exit.io.map(|io| io.syscw)),
        ("read_bytes", exit.io.map(|io| io.read_bytes)),
        ("write_bytes", exit.io.map(|io| io.write_bytes)),
        ("cancelled_write_bytes", exit.io.map(|io| io.cancelled_write_bytes)),
    ];
    with_known(line, &known)
}

/// How a command ended.
pub(super) fn exit(fields: &mut Fields) -> Result<Exit, ProtocolError> {
    let mut small = |key| Ok(fields.number_if(key)?.and_then(|number| u32::try_from(number).ok()));
    let (status, signal) = (small("status")?, small("signal")?);
    Ok(Exit {
        status,
        signal,
        peak_bytes: fields.number_if("peak_bytes")?,
        left_running: fields.number("left_running")?,
        output_bytes: fields.number_if("output_bytes")?,
        reading: match fields.number_if("reading_bytes")? {
            None => None,
            Some(bytes) => Some(OutputReading {
                bytes,
                calls: fields.number("reading_calls")?,
                cpu_ns: fields.number("reading_cpu_ns")?,
            }),
        },
        io: io(fields)?,
    })
}

/// What it read and wrote, if that is known.
fn io(fields: &mut Fields) -> Result<Option<TaskIo>, ProtocolError> {
    let Some(rchar) = fields.number_if("rchar")? else { return Ok(None) };
    Ok(Some(TaskIo {
        rchar,
        wchar: fields.number("wchar")?,
        syscr: fields.number("syscr")?,
        syscw: fields.number("syscw")?,
        read_bytes: fields.number("read_bytes")?,
        write_bytes: fields.number("write_bytes")?,
        cancelled_write_bytes: fields.number("cancelled_write_bytes")?,
    }))
}

/// The line of a number that a command printed.
pub(super) fn of_figure(figure: &PrintedFigure) -> LineBuilder {
    let line = LineBuilder::new("figure").with_bytes("number", figure.number.as_bytes());
    match &figure.unit {
        Some(unit) => line.with_bytes("unit", unit.as_bytes()),
        None => line,
    }
}

/// A number that a command printed.
pub(super) fn figure(fields: &mut Fields) -> Result<PrintedFigure, ProtocolError> {
    let unit = fields.has("unit").then(|| fields.text("unit")).transpose()?;
    Ok(PrintedFigure { number: fields.text("number")?, unit })
}
