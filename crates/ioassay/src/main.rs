//! The binary: reads what was typed, does it, and says what went wrong.

#![forbid(unsafe_code)]

use ioassay::{commands, typed};
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// Exit status when a command could not be carried out.
const COULD_NOT: u8 = 2;

/// A mistake of this program ends it as any other obstacle does, with one line and that status.
fn say_mistakes() {
    std::panic::set_hook(Box::new(|panic| {
        // Where stderr is closed there is nobody left to tell.
        let _ = writeln!(io::stderr(), "error: a mistake of ioassay, please tell us: {panic}");
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
    let cli = typed::understand(&words).unwrap_or_else(|error| error.exit());
    match commands::execute(&cli) {
        Ok(code) => ExitCode::from(code),
        // Whoever read our output has had enough, as `head` has: that is no failure.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Where stderr is closed there is nobody left to tell.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::from(COULD_NOT)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .root_cause()
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
