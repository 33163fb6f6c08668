//! Why a command was not rehearsed.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// A rehearsal that did not happen.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    /// The command itself cannot be run: it would fail without a rehearsal as well.
    #[error("failed to run '{}': {answer}", program.display())]
    NotStarted {
        /// The program.
        program: OsString,
        /// What the OS answered.
        answer: io::Error,
    },
    /// The command's working directory cannot be entered.
    #[error("failed to enter the directory '{}': {answer}", directory.display())]
    NoDirectory {
        /// The directory.
        directory: PathBuf,
        /// What the OS answered.
        answer: io::Error,
    },
    /// The program would lose its rights while it is traced. It did nothing yet.
    #[error(
        "'{}' has rights that you lack (setuid, setgid or capabilities), and would lose them while \
         it is traced without the capability SYS_ADMIN",
        program.display()
    )]
    LosesRights {
        /// The program.
        program: PathBuf,
    },
    /// The command stopped, and nothing here would let it go on. It was ended.
    #[error("the command was stopped by signal {signal}")]
    Halted {
        /// The signal.
        signal: i32,
    },
    /// Programs cannot be traced here. Nothing was run.
    #[error("failed to {attempt}: {answer}{}", cause(answer))]
    NoTracing {
        /// What was tried.
        attempt: &'static str,
        /// What the OS answered.
        answer: io::Error,
    },
}

impl RehearsalError {
    /// Whether the command can still be run and sampled.
    pub fn is_about_tracing(&self) -> bool {
        matches!(self, RehearsalError::NoTracing { .. } | RehearsalError::LosesRights { .. })
    }
}

/// The setting that likely forbids it, with the fix.
fn cause(answer: &io::Error) -> String {
    match answer.raw_os_error() {
        Some(libc::ENOSYS | libc::EINVAL | libc::EIO) => {
            ": tracing needs Linux 5.3 or later with CONFIG_SECCOMP_FILTER".to_string()
        }
        Some(libc::EPERM) if is_traced() => ": a debugger already traces this process".to_string(),
        Some(libc::EPERM) => match yama().as_deref() {
            Some(scope @ ("2" | "3")) => format!(
                ": Yama forbids it (kernel.yama.ptrace_scope is {scope}): set it to 1 or run as \
                 root"
            ),
            _ => ": a security module or this container's seccomp profile forbids ptrace; the \
                  capability SYS_PTRACE may allow it"
                .to_string(),
        },
        _ => String::new(),
    }
}

/// Whether this process is traced, and so are all that it starts.
fn is_traced() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}

fn yama() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?;
    Some(text.trim().to_string())
}
