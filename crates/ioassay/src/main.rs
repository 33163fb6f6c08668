//! The binary: reads what was typed, does it, and says what went wrong.

#![forbid(unsafe_code)]

use ioassay::{commands, typed};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

/// Exit status when a command could not be carried out.
const COULD_NOT: u8 = 2;

/// A mistake of this program ends it as any other obstacle does, with one line and that status.
fn say_mistakes() {
    std::panic::set_hook(Box::new(|panic| {
        complain(&format!("a mistake of ioassay, please tell us: {panic}"));
    }));
}

fn main() -> ExitCode {
    env_logger::init();
    say_mistakes();
    std::panic::catch_unwind(run).unwrap_or(ExitCode::from(COULD_NOT))
}

fn run() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    // What was asked for is help, or what is not understood: either ends here.
    let cli = match typed::understand(&words) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    match commands::execute(&cli) {
        Ok(code) => ExitCode::from(code),
        // Whoever read our output has had enough, as `head` has: that is no failure.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::from(COULD_NOT)
        }
    }
}

/// Says what went wrong. A line after the first is indented, so that the name of a file cannot
/// look like another error.
fn complain(problem: &str) {
    let mut lines = String::new();
    for (index, line) in problem.lines().enumerate() {
        let indent = if index > 0 && !line.starts_with(' ') { "  " } else { "" };
        lines.push_str(&format!("{indent}{line}\n"));
    }
    // Where stderr is closed there is nobody left to tell.
    let _ = write!(io::stderr(), "{}", report::to_terminal(&format!("error: {lines}")));
}

/// Says what was mistyped, as clap does; and ends.
fn refuse(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    let coloured = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let text = match coloured {
        true => error.render().ansi().to_string(),
        false => error.render().to_string(),
    };
    // Where stderr is closed there is nobody left to tell.
    let _ = write!(io::stderr(), "{}", report::to_terminal(&text));
    ExitCode::from(COULD_NOT)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .root_cause()
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
