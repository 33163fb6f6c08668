//! `ioassay open`, with programs in place of the desktop's.

use crate::documents::root;
use crate::executables::install;
use crate::sandbox::{PROGRAM, Sandbox, text, wait_for};
use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

const RECORD: &str = "2026-11-21-advice.jsonl";

fn record(name: &str) -> PathBuf {
    root().join("records").join(name)
}

/// Plants a script in place of the program that opens files; `None` plants nothing.
fn plant(sandbox: &Sandbox, script: Option<&str>) {
    let folder = sandbox.path("programs");
    std::fs::create_dir_all(&folder).unwrap();
    let Some(script) = script else { return };
    let path = folder.join("xdg-open");
    install(format!("#!/bin/sh\n{script}\n").as_bytes(), &path);
}

/// Opens a record where these variables are set.
fn open(sandbox: &Sandbox, args: &[&Path], set: &[(&str, &str)]) -> Output {
    let mut command = sandbox.start(PROGRAM);
    command.env_remove("SSH_CONNECTION").env_remove("SSH_TTY");
    command.env("PATH", sandbox.path("programs")).envs(set.iter().copied());
    command.arg("open").args(args).output().unwrap()
}

const DESKTOP: (&str, &str) = ("DISPLAY", ":0");

/// The page of an output that is a success and says this on stderr.
fn page_of(output: &Output, said: &str) -> PathBuf {
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stderr).contains(said), "{output:?}");
    let page = PathBuf::from(text(&output.stdout).trim_end());
    assert!(page.is_absolute() && page.is_file(), "{output:?}");
    page
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_page_is_opened_and_only_its_user_can_read_it() {
    let sandbox = Sandbox::new();
    plant(&sandbox, Some("echo \"$@\" > opened"));
    let open = || open(&sandbox, &[&record(RECORD)], &[DESKTOP]);
    let page = page_of(&open(), "opened in the browser");
    assert_eq!(page.parent(), Some(sandbox.state().join("ioassay/pages").as_path()));
    assert_eq!((mode(&page), mode(page.parent().unwrap())), (0o600, 0o700));
    // It is not waited for for longer than 3 s.
    let opened = wait_for("the browser", || {
        std::fs::read_to_string(sandbox.path("opened")).ok().filter(|text| text.ends_with('\n'))
    });
    assert_eq!(opened.trim_end(), page.display().to_string());
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("<svg") && html.contains("read-methods"));
    // Once more, it is the same page, and nothing else is there.
    assert_eq!(page_of(&open(), "opened in the browser"), page);
    assert_eq!(mode(&page), 0o600);
    assert_eq!(std::fs::read_dir(page.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_page_that_cannot_be_opened_is_printed_with_the_reason() {
    let sandbox = Sandbox::new();
    let open = |set: &[(&str, &str)]| open(&sandbox, &[&record(RECORD)], set);
    plant(&sandbox, None);
    page_of(&open(&[DESKTOP]), "not opened, because xdg-open cannot be started");
    plant(&sandbox, Some("exit 3"));
    page_of(&open(&[DESKTOP]), "not opened, because xdg-open failed: exit status: 3");
    plant(&sandbox, Some("echo \"$@\" > opened"));
    page_of(&open(&[]), "not opened, because there is no display");
    let ssh = ("SSH_CONNECTION", "192.0.2.1 1 192.0.2.2 22");
    page_of(&open(&[DESKTOP, ssh]), "not opened, because this is a session over ssh");
    assert!(!sandbox.path("opened").exists());
    page_of(&open(&[("WAYLAND_DISPLAY", "wayland-0")]), "opened in the browser");
    wait_for("the browser", || sandbox.path("opened").exists().then_some(()));
}

#[test]
fn a_browser_that_stays_is_not_waited_for() {
    let sandbox = Sandbox::new();
    plant(&sandbox, Some("echo $$ > pid; read line < fifo"));
    let fifo = sandbox.path("fifo");
    mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).unwrap();
    page_of(&open(&sandbox, &[&record(RECORD)], &[DESKTOP]), "opened in the browser");
    let pid = wait_for("the browser", || {
        std::fs::read_to_string(sandbox.path("pid")).ok()?.trim_end().parse().ok()
    });
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn without_a_name_the_newest_record_is_opened() {
    let sandbox = Sandbox::new();
    plant(&sandbox, None);
    let folder = sandbox.state().join("ioassay");
    sandbox.refuses(&["open"], &["there is no record in", "'ioassay survey' makes the first"]);
    std::fs::create_dir_all(&folder).unwrap();
    // Neither the names nor the times of the files say which is the newest.
    std::fs::copy(record("2026-11-22-slow.jsonl"), folder.join("a.jsonl")).unwrap();
    std::fs::copy(record(RECORD), folder.join("b.jsonl")).unwrap();
    std::fs::write(folder.join("c.jsonl"), "no record").unwrap();
    let page = page_of(&open(&sandbox, &[], &[]), "not opened");
    let name = page.file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with("a-") && name.ends_with(".html"), "{name}");
    // Of the two records of a gate, the second is what it was asked about.
    std::fs::copy(record("2026-11-22-slow.jsonl"), folder.join("a-2.jsonl")).unwrap();
    let page = page_of(&open(&sandbox, &[], &[]), "not opened");
    let name = page.file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with("a-2-"), "{name}");
}

#[test]
fn a_file_of_another_is_not_replaced_by_a_page() {
    let sandbox = Sandbox::new();
    plant(&sandbox, None);
    let page = page_of(&open(&sandbox, &[&record(RECORD)], &[]), "not opened");
    std::fs::write(&page, "years of work").unwrap();
    let taken = open(&sandbox, &[&record(RECORD)], &[]);
    assert_eq!(taken.status.code(), Some(2), "{taken:?}");
    let said = text(&taken.stderr);
    assert!(said.contains("is not a report of ioassay") && said.contains("--html FILE"), "{said}");
    assert_eq!(std::fs::read_to_string(&page).unwrap(), "years of work");
    std::fs::remove_file(&page).unwrap();
    std::fs::remove_dir(page.parent().unwrap()).unwrap();
    std::fs::write(page.parent().unwrap(), "years of work").unwrap();
    sandbox.refuses(
        &["open", &record(RECORD).display().to_string()],
        &["failed to create the folder", "--html FILE' writes it to another place"],
    );
}

#[test]
fn what_is_no_record_has_no_page() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("thesis"), "years of work").unwrap();
    sandbox.refuses(&["open", "thesis"], &["'thesis' is not a record"]);
    sandbox.refuses(&["open", "nothing"], &["failed to read the record 'nothing'"]);
}
