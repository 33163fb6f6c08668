//! The binary: parses the command line, runs the command and prints errors.

#![forbid(unsafe_code)]

use clap::error::ErrorKind;
use ioassay::args::advised::fitted;
use ioassay::status::Status;
use ioassay::{commands, typed, version};
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

/// Exit status if a command failed.
const COULD_NOT: u8 = 2;

/// A bug ends the program like any error: with one line and that status.
fn say_mistakes() {
    std::panic::set_hook(Box::new(|panic| {
        complain(&format!("a bug in ioassay, please report it: {panic}"));
    }));
}

fn main() -> ExitCode {
    env_logger::init();
    say_mistakes();
    std::panic::catch_unwind(run).unwrap_or(ExitCode::from(COULD_NOT))
}

fn run() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    // Help, or a parse error: both end here.
    let cli = match typed::understand(&words) {
        Ok(cli) => cli,
        Err(error) if is_version_as_json(&error, &words) => {
            return end(commands::say(&version::json()).map(|()| Status::DONE));
        }
        Err(error) => return refuse(&error),
    };
    end(commands::execute(&cli))
}

/// Whether `--version` was asked for with `--json`. clap ends at the former, whatever follows.
fn is_version_as_json(error: &clap::Error, words: &[OsString]) -> bool {
    let is_json = words.iter().any(|word| word == "--json");
    error.kind() == ErrorKind::DisplayVersion && is_json
}

/// Prints the error of a command. Returns the exit status.
fn end(result: anyhow::Result<Status>) -> ExitCode {
    match result {
        Ok(status) => {
            if let Some(why) = status.why() {
                // If stderr is closed, there is nowhere to print.
                let why = fitted(why, &commands::command_line());
                let _ = commands::tell(&format!("exit status {}: {why}", status.code()));
            }
            ExitCode::from(status.code())
        }
        Err(error) => {
            complain(&fitted(&format!("{error:#}"), &commands::command_line()));
            ExitCode::from(COULD_NOT)
        }
    }
}

/// Prints an error. Lines after the first are indented, so that a file name cannot look like
/// another error.
fn complain(problem: &str) {
    let mut lines = String::new();
    for (index, line) in problem.lines().enumerate() {
        let indent = if index > 0 && !line.starts_with(' ') { "  " } else { "" };
        lines.push_str(&format!("{indent}{line}\n"));
    }
    // If stderr is closed, there is nowhere to print.
    let _ = write!(io::stderr(), "{}", report::to_terminal(&format!("error: {lines}")));
}

/// Prints help, the version or a parse error, as clap does. Help that cannot be written is lost,
/// like any other result.
fn refuse(error: &clap::Error) -> ExitCode {
    let is_error = error.use_stderr();
    let is_terminal =
        if is_error { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
    let text = match is_terminal && std::env::var_os("NO_COLOR").is_none() {
        true => error.render().ansi().to_string(),
        false => error.render().to_string(),
    };
    if !is_error {
        return end(commands::say(&text).map(|()| Status::DONE));
    }
    // If stderr is closed, there is nowhere to print.
    let _ = write!(io::stderr(), "{}", report::to_terminal(&text));
    ExitCode::from(COULD_NOT)
}
