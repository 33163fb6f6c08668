//! One function for each command.

pub mod cache;
pub mod compare;
pub mod data;
pub mod explain;
pub mod form;
pub mod manual;
pub mod question;
pub mod dry;
pub mod measure;
pub mod peers;
pub mod recipes;
pub mod runs;
pub mod watch;

use crate::args::{Cli, Color, Command, FormArgs, SchemaOf};
use crate::manual::completions;
use crate::stop::survive_file_limit;
use crate::store;
use anyhow::{Context, Result};
use model::host::Host;
use model::printable::printable;
use report::{Style, to_terminal};
use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit,
};
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Exit status of a successful command.
pub const DONE: u8 = 0;

/// Runs the command. Returns the exit status.
///
/// # Errors
/// If it could not be done.
pub fn execute(cli: &Cli) -> Result<u8> {
    survive_file_limit().context("failed to ignore SIGXFSZ, the signal of the file size limit")?;
    let style = style(cli.color);
    match &cli.command {
        Command::Survey(args) => measure::survey(args, &style),
        Command::Run(args) => measure::run(args, &style),
        Command::Plan(args) => measure::plan(args, &style),
        Command::Watch(args) => watch::execute(args, &style),
        Command::Recipes { command } => recipes::execute(command.as_ref()),
        Command::Runs(args) => runs::execute(args, &style),
        Command::Report { record, form } => report(record, form, &style),
        Command::Compare(args) => compare::execute(args, &style),
        Command::Explain { code } => explain::execute(code.as_deref()),
        Command::Peers { command } => peers::execute(command),
        Command::Cache { command } => cache::execute(command),
        Command::Data { command } => data::execute(command),
        Command::Host { directory } => host(directory),
        Command::Schema { of: SchemaOf::Run } => say(&report::json_schema()).map(|()| DONE),
        Command::Schema { of: SchemaOf::Compare } => {
            say(&report::json_schema_of_records()).map(|()| DONE)
        }
        Command::Completions { shell } => say(&completions(*shell)).map(|()| DONE),
        Command::Man { command, all } => manual::execute(command, all.as_deref()),
        Command::Worker { pin } => serve(*pin),
    }
}

/// Writes `text` and a line end to stdout.
///
/// # Errors
/// If stdout cannot be written.
pub fn say(text: &str) -> Result<()> {
    let mut terminal = Terminal::default();
    terminal.write_all(text.trim_end().as_bytes())?;
    terminal.write_all(b"\n")?;
    Ok(terminal.flush()?)
}

/// Stdout with control characters replaced, line by line.
#[derive(Default)]
struct Terminal {
    /// The incomplete current line.
    line: Vec<u8>,
}

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        self.line.extend(&bytes[..length]);
        if self.line.ends_with(b"\n") {
            let line = to_terminal(&String::from_utf8_lossy(&self.line));
            self.line.clear();
            io::stdout().write_all(line.as_bytes())?;
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

/// Writes a line to stderr, which leaves only the result on stdout. Control characters are
/// replaced, because records and names may contain them.
///
/// # Errors
/// If stderr cannot be written.
pub fn tell(text: &str) -> Result<()> {
    writeln!(io::stderr().lock(), "{}", printable(text)).context("failed to write to stderr")
}

fn style(color: Color) -> Style {
    let terminal = io::stdout().is_terminal();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colour = match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => terminal && !no_color,
    };
    // A pipe has no width: tables use COLUMNS, or that of a typical terminal.
    let asked = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|width| *width > 0);
    let size = rustix::termios::tcgetwinsize(io::stdout()).map(|size| usize::from(size.ws_col));
    let width = size.ok().filter(|width| terminal && *width > 0).or_else(asked).unwrap_or(120);
    Style { colour, width }
}

fn report(record: &Path, form: &FormArgs, style: &Style) -> Result<u8> {
    form::deliver(&assess::assess(&store::read(record)?), form, style)
}

/// Each thread opens its file and its own counters, so hundreds of threads need more than the usual
/// 1024 open files. Every process may raise that to the hard limit.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        log::warn!("cannot raise the limit of open files above {:?}: {error}", limit.current);
    }
}

/// A panicking thread would leave the others waiting, so the worker exits and the coordinator reads
/// its stderr. The worker also exits when its coordinator is killed: a trial may last for hours,
/// with nobody left to receive its result.
fn serve(pins: bool) -> Result<u8> {
    raise_open_files();
    if pins {
        worker::pin_threads().context("failed to read which CPUs are allowed")?;
    }
    set_parent_process_death_signal(Some(Signal::KILL))
        .context("failed to request a signal for the coordinator's end")?;
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        usual(panic);
        std::process::abort();
    }));
    worker::serve(io::stdin().lock(), io::stdout().lock())?;
    Ok(DONE)
}

/// This machine.
fn this_host() -> Host {
    Host { no_io_uring: worker::io_uring_refusal(), ..witness::host(kernel::available()) }
}

fn host(directory: &Path) -> Result<u8> {
    let host = this_host();
    let storage = witness::storage(directory)
        .with_context(|| format!("failed to inspect the storage of '{}'", directory.display()))?;
    let facts = serde_json::json!({ "host": host, "storage": storage });
    say(&serde_json::to_string_pretty(&facts)?)?;
    Ok(DONE)
}
