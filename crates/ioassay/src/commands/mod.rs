//! One function for each command.

pub mod cache;
pub mod data;
pub mod explain;
pub mod form;
pub mod manual;
pub mod question;
pub mod dry;
mod kept;
pub mod running;
pub mod measure;
mod neighbors;
mod candidate;
mod joint_destination;
pub mod hosts;
mod joint_report;
pub mod lockstep;
pub mod directories;
mod rehearsing_hosts;
pub mod fleet;
pub mod compare;
mod reference;
pub mod gate;
pub mod merge;
pub mod open;
mod path;
pub mod peers;
pub mod recipes;
pub mod import;
pub mod runs;
pub mod watch;
pub mod judge;
pub mod judged_hosts;

use crate::args::tools::SchemaOf;
use crate::args::{Cli, Color, Command, ReportArgs};
use crate::hosts::join::join;
use crate::hosts::token::Token;
use crate::keeper;
use crate::machine::this_host;
use crate::manual::completions;
use crate::rehearsal;
use crate::status::Status;
use crate::stop::{Stop, survive_file_limit};
use crate::store::{self, Readable};
use anyhow::{Context, Result, bail};
use model::goal::Goal;
use model::printable::printable;
use model::record::Record;
use model::shell::recorded;
use report::{Style, to_terminal};
use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit,
};
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// What ioassay says if nobody asks anything: from a first look to an answer that was kept.
const FIRST_STEPS: [(&str, &str); 5] = [
    ("ioassay survey", "how fast are memory, the page cache and this disk? (2 to 4 minutes)"),
    ("ioassay recipes", "the questions it can answer, such as: what does a sync cost?"),
    ("ioassay run sync-latency", "answer one of them here; each run keeps a record"),
    ("ioassay open", "show the newest record in the browser; 'ioassay runs' lists them all"),
    ("ioassay help", "all commands and their options"),
];

/// Runs the command.
///
/// # Errors
/// If it could not be done.
pub fn execute(cli: &Cli) -> Result<Status> {
    survive_file_limit().context("failed to ignore SIGXFSZ, the signal of the file size limit")?;
    let style = style(cli.color);
    let Some(command) = &cli.command else {
        return list(FIRST_STEPS, &style).map(|()| Status::DONE);
    };
    match command {
        Command::Survey(args) if args.hosts.are_named() => fleet::survey(args, &style),
        Command::Survey(args) => measure::survey(args, &style),
        Command::Run(args) if args.each => fleet::run(args, &style),
        Command::Run(args) if args.hosts.are_named() => lockstep::run(args, &style),
        Command::Run(args) if args.directories.len() > 1 => directories::run(args, &style),
        Command::Run(args) => measure::run(args, &style),
        Command::Judge(args) if args.each => fleet::judge(args, &style),
        Command::Judge(args) if args.hosts.are_named() => judged_hosts::judge(args, &style),
        Command::Judge(args) => judge::execute(args, &style),
        Command::Plan(args) => measure::plan(args, &style),
        Command::Watch(args) => watch::execute(args, &style),
        Command::Recipes { command } => recipes::execute(command.as_ref(), &style),
        Command::Import { command } => import::execute(command),
        Command::Runs(args) => runs::execute(args, &style),
        Command::Report(args) => report(args, &style),
        Command::Open(args) => open::execute(args.record.as_deref()),
        Command::Merge(args) => merge::execute(&args.records, args.record.as_deref()),
        Command::Compare(args) => compare::execute(args, &style),
        Command::Gate(args) => gate::execute(args, &style),
        Command::Explain { code } => explain::execute(code.as_deref(), &style),
        Command::Peers { command } => peers::execute(command, &style),
        Command::Cache { command } => cache::execute(command),
        Command::Data { command } => data::execute(command),
        Command::Path(args) => path::execute(args, &style),
        Command::Host { directory } => host(directory),
        Command::Hosts { command } => hosts::execute(command, &style),
        Command::Agent { connect, token_file } => agent(connect, token_file.as_deref()),
        Command::Schema { of } => say(&schema(*of)).map(|()| Status::DONE),
        Command::Completions { shell } => say(&completions(*shell)).map(|()| Status::DONE),
        Command::Man { command, all } => manual::execute(command, all.as_deref()),
        Command::Worker { pin } => serve(*pin),
        Command::Keep { words } => keeper::serve(words).map(|()| Status::DONE),
        Command::Rehearse => rehearsal::serve().map(|()| Status::DONE),
    }
}

fn schema(of: SchemaOf) -> String {
    match of {
        SchemaOf::Run => report::json_schema(),
        SchemaOf::Compare => report::json_schema_of_records(),
        SchemaOf::Fleet => report::json_schema_of_fleet(),
        SchemaOf::Lockstep => report::json_schema_of_together(),
        SchemaOf::Gate => report::json_schema_of_gate(),
        SchemaOf::Running => report::json_schema_of_running(),
        SchemaOf::Path => report::json_schema_of_paths(),
    }
}

/// The words that were typed, as a record has them.
pub fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| recorded(&word)).collect()
}

/// Writes `text` and a line end to stdout.
///
/// # Errors
/// If stdout cannot be written.
pub fn say(text: &str) -> Result<()> {
    let mut terminal = Terminal::default();
    let text = text.trim_end().as_bytes();
    let written = terminal.write_all(text).and_then(|()| terminal.write_all(b"\n"));
    written.and_then(|()| terminal.flush()).context("failed to write to stdout")
}

/// Writes a list of names, each with the text beside it.
fn list<N: AsRef<str>, T: AsRef<str>>(
    entries: impl IntoIterator<Item = (N, T)>,
    style: &Style,
) -> Result<()> {
    let entries: Vec<(N, T)> = entries.into_iter().collect();
    let widest = entries.iter().map(|(name, _)| name.as_ref().chars().count()).max().unwrap_or(0);
    let entry = |(name, text): &(N, T)| report::entry(name.as_ref(), widest, text.as_ref(), style);
    say(&entries.iter().map(entry).collect::<String>())
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
            read_enough(io::stdout().write_all(line.as_bytes()))?;
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        read_enough(io::stdout().flush())
    }
}

/// A reader that closed the pipe, as `head` does, has read enough. The command goes on: its exit
/// status, on which a gate relies, does not depend on who reads what it prints.
fn read_enough(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes a line to stderr, which leaves only the result on stdout. Control characters are
/// replaced, because records and names may contain them.
///
/// # Errors
/// If stderr cannot be written.
pub fn tell(text: &str) -> Result<()> {
    let written = writeln!(io::stderr().lock(), "{}", printable(text));
    read_enough(written).context("failed to write to stderr")
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

fn report(args: &ReportArgs, style: &Style) -> Result<Status> {
    let ReportArgs { records, form, goal, strict } = args;
    let check_no_goals = |what: &str| {
        let given = [("--goal", !goal.is_empty()), ("--strict", *strict)];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => bail!("{flag} is about one record of a run, and {what}"),
            None => Ok(()),
        }
    };
    if let Some(record) = running::record_at(records)? {
        check_no_goals("this is one of a running program")?;
        return running::report(&record, form, style);
    }
    let (paths, status) = readable(records)?;
    let of_one_run = match paths.as_slice() {
        // What is left of the records of several is not taken for a run on one host.
        [_] if status == Status::DONE => None,
        several => joint_report::of_one_run(several)?,
    };
    let reported = match (of_one_run, paths.as_slice()) {
        (None, [record]) => report_of_one(store::read(record)?, args, style)?,
        (Some(of_one_run), _) => joint_report::report(&of_one_run, args, style)?,
        (None, several) => {
            check_no_goals("these are of several hosts by themselves: name one of them")?;
            fleet::report(several, form, style)?
        }
    };
    Ok(reported.or_worse(status))
}

/// The report of a record, which is held against the goals of its run and those that were typed.
fn report_of_one(mut record: Record, args: &ReportArgs, style: &Style) -> Result<Status> {
    if !args.goal.is_empty() {
        let plan = &mut record.header.plan;
        if plan.sustain.is_some() {
            bail!("--goal needs rounds, and the trials of this run are pieces of one (--sustain)");
        }
        plan.goals.extend(args.goal.iter().copied().map(Goal::typed));
        question::check_no_idle(plan, &[])?;
    }
    let assessment = assess::assess(&record);
    let status = form::deliver(&assessment, || report::run(&assessment), &args.form, style)?;
    form::tell_files(&args.form)?;
    Ok(status.or_open(&assessment, args.strict))
}

/// The records at these paths, as [`store::expand`] finds them, and whether all can be read. Those
/// in a folder that cannot are named.
fn readable(records: &[PathBuf]) -> Result<(Vec<PathBuf>, Status)> {
    let Readable { paths, unreadable } = store::expand(records)?;
    unreadable.iter().try_for_each(|reason| tell(&format!("warning: {reason}")))?;
    let status = match unreadable.len() {
        0 => Status::DONE,
        files => Status::not_all(format!("records that cannot be read: {files}")),
    };
    Ok((paths, status))
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
fn serve(pins: bool) -> Result<Status> {
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
    Ok(Status::DONE)
}

/// Carries out the orders on stdin, or those of the coordinator at one of these addresses.
fn agent(addresses: &[SocketAddr], token: Option<&Path>) -> Result<Status> {
    raise_open_files();
    let stop = Stop::on_signals().context("failed to listen for signals")?;
    if addresses.is_empty() {
        crate::hosts::agent::serve(io::stdin(), io::stdout(), &stop)?;
        return Ok(Status::DONE);
    }
    let token = match token {
        Some(path) => Token::of_file(path)?,
        None => Token::of_environment()?,
    };
    let connection = join(addresses, &token, &stop)?;
    let input = connection.try_clone().context("failed to listen to the coordinator")?;
    crate::hosts::agent::serve(input, connection, &stop)?;
    Ok(Status::DONE)
}

fn host(directory: &Path) -> Result<Status> {
    let host = this_host();
    let storage = witness::storage(directory)
        .with_context(|| format!("failed to inspect the storage of '{}'", directory.display()))?;
    let facts = serde_json::json!({ "host": host, "storage": storage });
    say(&serde_json::to_string_pretty(&facts)?)?;
    Ok(Status::DONE)
}
