//! Programs that tests make and then run.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Creates an executable file with this content, which everybody may run.
///
/// A child writes it. The OS runs no file that is open for writing, and what this process has open,
/// a child that another test starts at that moment has open, too, until it executes its program.
pub(crate) fn install(content: &[u8], path: &Path) {
    let mut command = Command::new("install");
    let command = command.args(["-m", "755", "/dev/stdin"]).arg(path).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(content).unwrap();
    let status = child.wait().unwrap();
    assert!(status.success(), "creating '{}': {status}", path.display());
}

/// The same for a copy of a program.
pub(crate) fn install_copy(program: &Path, path: &Path) {
    install(&std::fs::read(program).unwrap(), path);
}
