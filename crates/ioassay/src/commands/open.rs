//! `ioassay open`: the page of a record in the browser.

use super::{say, tell};
use crate::status::Status;
use crate::store;
use anyhow::Result;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The program that opens a file as the desktop does.
const OPENER: &str = "xdg-open";

/// Writes the page of a record, by default the newest, prints where it is, and opens it where there
/// is a browser.
///
/// # Errors
/// If there is no such record, or the page cannot be written.
pub fn execute(record: Option<&Path>) -> Result<Status> {
    let record: PathBuf = match record {
        Some(record) => record.to_path_buf(),
        None => store::newest()?,
    };
    let assessment = assess::assess(&store::read(&record)?);
    let page = store::keep_page(&record, &report::run(&assessment).page())?;
    say(&page.display().to_string())?;
    match open(&page) {
        Ok(()) => tell("opened in the browser")?,
        Err(reason) => tell(&format!("not opened, because {reason}: open it in a browser"))?,
    }
    Ok(Status::DONE)
}

/// Opens the page. Returns the reason if it is not opened.
fn open(page: &Path) -> Result<(), String> {
    check_desktop(&|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))?;
    // The browser may be this program's child for as long as it runs. It must not end with Ctrl-C
    // here, or write between lines of the shell.
    let child = Command::new(OPENER)
        .arg(page)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{OPENER} cannot be started: {error}"))?;
    match ended(child) {
        Ok(Some(status)) if !status.success() => Err(format!("{OPENER} failed: {status}")),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{OPENER} cannot be awaited: {error}")),
    }
}

/// Whether the user sees a desktop: over ssh, a browser would open elsewhere, or be very slow.
fn check_desktop(is_set: &dyn Fn(&str) -> bool) -> Result<(), String> {
    if is_set("SSH_CONNECTION") || is_set("SSH_TTY") {
        return Err("this is a session over ssh".to_string());
    }
    if !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") {
        return Err("there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)".to_string());
    }
    Ok(())
}

/// The time in which a failure shows. A browser that is still running then has the page.
const PATIENCE: Duration = Duration::from_secs(3);
const INTERVAL: Duration = Duration::from_millis(20);

/// How the child ended; `None` if it still runs.
fn ended(mut child: Child) -> std::io::Result<Option<ExitStatus>> {
    let since = Instant::now();
    loop {
        match child.try_wait()? {
            None if since.elapsed() < PATIENCE => sleep(INTERVAL),
            status => return Ok(status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_for_who_sees_a_desktop() {
        let check = |set: &[&str]| check_desktop(&|name| set.contains(&name));
        assert_eq!(check(&["DISPLAY"]), Ok(()));
        assert_eq!(check(&["WAYLAND_DISPLAY"]), Ok(()));
        assert!(check(&[]).unwrap_err().contains("no display"));
        for over_ssh in ["SSH_CONNECTION", "SSH_TTY"] {
            assert!(check(&["DISPLAY", over_ssh]).unwrap_err().contains("over ssh"));
        }
    }
}
