//! What `judge` may not see: the page cache of another user's files, and the calls of a command.

use super::{FILE_BYTES, Judged, fact, file, on_disk};
use crate::executables::install_copy;
use crate::honesty::machine::calls::{Built, REFUSE, refused};
use crate::honesty::plant::tried;
use crate::places::as_nobody;
use crate::sandbox::{Sandbox, argument, is_judged, text};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

impl Judged {
    /// What `command`, this program, judges with `args`.
    #[track_caller]
    fn by(mut command: Command, record: &Path, args: &[&str]) -> Judged {
        let form = ["--json", "--quiet", "--record", argument(record)];
        let own = ["judge", "--invocations=1", super::ROUNDS];
        let output = command.args(own).args(form).args(args).output().unwrap();
        assert!(is_judged(&output), "{args:?}: {output:?}");
        let judged = Judged::read(record, serde_json::from_slice(&output.stdout).unwrap());
        std::fs::remove_file(record).unwrap();
        judged
    }

    /// The codes of the findings in this cache state.
    fn found(&self, cache: &str) -> Vec<&str> {
        let findings = self.case(cache)["findings"].as_array().unwrap();
        findings.iter().map(|finding| finding["code"].as_str().unwrap()).collect()
    }
}

/// A sandbox with a file of this user's that another one may only read, and its folder for records.
fn with_file_to_read(test: &str, programs: &[&str]) -> Option<Sandbox> {
    let sandbox = on_disk(test, programs)?;
    file(&sandbox, "f", FILE_BYTES);
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&sandbox.path("f"), 0o644);
    mode(sandbox.directory(), 0o755);
    mode(sandbox.state(), 0o777);
    Some(sandbox)
}

/// Only the bytes that devices read show that it was cold, or warm.
#[test]
fn the_state_of_another_users_file_is_proved_by_what_devices_read() {
    let test = "the_state_of_another_users_file_is_proved_by_what_devices_read";
    if !crate::mounts::is_root(test) {
        return;
    }
    let Some(sandbox) = with_file_to_read(test, &["cat"]) else { return };
    tried(|| {
        let Some(command) = as_nobody(&sandbox, test) else { return };
        let record = sandbox.state().join("proved.jsonl");
        let states = ["--cache=warm,cold", "--evict-others", "--", "cat", "f"];
        let judged = Judged::by(command, &record, &states);
        assert_eq!(judged.header["plan"]["skips"], serde_json::json!([]));
        for (cache, served_by) in [("warm", "page-cache"), ("cold", "device")] {
            for trial in judged.evidence(cache) {
                assert!(trial["residency_before"].is_null(), "{trial}");
            }
            assert_eq!(judged.served_by(cache), served_by, "{}", judged.case(cache));
            assert!(!judged.found(cache).contains(&"StateUnproved"), "{}", judged.case(cache));
        }
    });
}

/// It reads a part: the other part may have been cached or not, and nothing tells.
#[test]
fn what_is_read_in_part_proves_no_state() {
    let test = "what_is_read_in_part_proves_no_state";
    if !crate::mounts::is_root(test) {
        return;
    }
    let Some(sandbox) = with_file_to_read(test, &["dd"]) else { return };
    let Some(command) = as_nobody(&sandbox, test) else { return };
    let record = sandbox.state().join("part.jsonl");
    let reads = ["dd", "if=f", "of=/dev/null", "bs=64k", "count=1", "status=none"];
    let state = ["--cache=cold", "--evict-others", "--"];
    let judged = Judged::by(command, &record, &[&state[..], &reads].concat());
    assert_eq!(judged.case("cold")["verdict"], "void", "{}", judged.case("cold"));
    assert!(judged.found("cold").contains(&"StateUnproved"), "{}", judged.case("cold"));
    // Its twin is of this user, who sees the cached pages.
    let own =
        Judged::by(sandbox.start(crate::sandbox::PROGRAM), &record, &[&state[..], &reads].concat());
    assert!(!own.found("cold").contains(&"StateUnproved"), "{}", own.case("cold"));
}

/// ptrace(2) on this architecture, and "not permitted", as in containers.
const NO_PTRACE: [&str; 2] = [if cfg!(target_arch = "x86_64") { "101" } else { "117" }, "1"];

/// It has the file open for a while, reads it once, and holds it through a descriptor only.
const HOLDS: &str = "exec 3<f; cat <&3 >/dev/null; sleep 0.3";

#[test]
fn where_ptrace_is_forbidden_open_files_are_sampled() {
    let test = "where_ptrace_is_forbidden_open_files_are_sampled";
    let Some(sandbox) = on_disk(test, &["sh", "cat", "gcc"]) else { return };
    let Some(refuse) = Built::new(test, REFUSE, &[]) else { return };
    file(&sandbox, "f", FILE_BYTES);
    tried(|| {
        let record = sandbox.state().join("sampled.jsonl");
        for (calls, is_sampled) in [(&[NO_PTRACE][..], true), (&[][..], false)] {
            let command = refused(&sandbox, &refuse, calls);
            let args = ["--cache=warm,cold", "--", "sh", "-c", HOLDS];
            let judged = Judged::by(command, &record, &args);
            assert_eq!(judged.facts()["sampled"] == true, is_sampled, "{}", judged.facts());
            let seen = judged.file("f");
            assert!(fact(seen, "opens", "reading") >= 1, "{seen}");
            assert_eq!(judged.facts()["end"], serde_json::json!({ "exited": 0 }));
            for (cache, served_by) in [("warm", "page-cache"), ("cold", "device")] {
                assert_eq!(judged.served_by(cache), served_by, "{}", judged.case(cache));
                assert_eq!(judged.found(cache).contains(&"FilesSampled"), is_sampled);
            }
            let unseen = judged.facts()["unseen"].to_string();
            assert_eq!(unseen.contains("untraced calls"), is_sampled, "{unseen}");
        }
    });
}

/// What was not traced is not said to be all, so it cannot be made durable.
#[test]
fn a_sampled_rehearsal_ends_as_the_command_does() {
    let test = "a_sampled_rehearsal_ends_as_the_command_does";
    let sandbox = Sandbox::new();
    let Some(refuse) = Built::new(test, REFUSE, &[]) else { return };
    for (args, expected) in [
        (&["sh -c 'echo bad >&2; exit 3'"][..], "it ended with status 3; its stderr: bad"),
        (&["sh -c 'kill -SEGV $$'"], "it was ended by signal 11"),
        (&["sh -c 'kill -STOP $$'"], "the command was stopped by signal 19"),
        (&["no-such-program x"], "there is no program 'no-such-program': give its path"),
        (&["true", "--until-durable"], "--until-durable needs a traced rehearsal"),
    ] {
        let mut command = refused(&sandbox, &refuse, &[NO_PTRACE]);
        let output = command.args(["judge", "--quiet", "--rounds=1"]).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output.stderr).contains(expected), "{output:?}");
    }
}

/// Gives a program rights that nobody has.
type Grant = fn(&Sandbox, &Path);

/// Those of the user 1, to whom the file `secret` belongs.
fn set_user(_: &Sandbox, program: &Path) {
    std::os::unix::fs::chown(program, Some(1), None).unwrap();
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o4755)).unwrap();
}

fn set_capability(sandbox: &Sandbox, program: &Path) {
    let mut command = sandbox.start("setcap");
    let set = command.args(["cap_dac_read_search+ep", argument(program)]).status().unwrap();
    assert!(set.success());
}

/// Under a tracer without rights of its own, it could not read its file.
#[test]
fn a_program_with_rights_of_its_own_is_rehearsed_with_them() {
    let test = "a_program_with_rights_of_its_own_is_rehearsed_with_them";
    if !crate::mounts::is_root(test) {
        return;
    }
    let tools = ["sh", "cat", "setpriv", "setcap"];
    let Some(sandbox) = with_file_to_read(test, &tools) else { return };
    file(&sandbox, "secret", FILE_BYTES);
    std::os::unix::fs::chown(sandbox.path("secret"), Some(1), None).unwrap();
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(sandbox.path("secret"), private).unwrap();
    let record = sandbox.state().join("rights.jsonl");
    for grant in [set_user as Grant, set_capability] {
        let program = sandbox.path("cat");
        let _none = std::fs::remove_file(&program);
        install_copy(Path::new("/bin/cat"), &program);
        let judged = |args: &[&str]| {
            let command = as_nobody(&sandbox, test)?;
            Some(Judged::by(command, &record, &[&["--cache=as-is", "--"], args].concat()))
        };
        // Its twin has none, and is traced.
        let Some(plain) = judged(&["./cat", "f"]) else { return };
        assert!(plain.facts()["sampled"].is_null() && plain.facts()["unseen"].is_null());
        grant(&sandbox, &program);
        for (command, why) in [
            (&["./cat", "secret"][..], "has rights that you lack (setuid, setgid or capabilities)"),
            (&["sh", "-c", "./cat secret"], "ran without its rights while it was traced, and the"),
        ] {
            let judged = judged(command).unwrap();
            assert_eq!(judged.facts()["sampled"], true, "{}", judged.facts());
            assert_eq!(judged.facts()["end"], serde_json::json!({ "exited": 0 }));
            assert!(judged.facts()["unseen"].to_string().contains(why), "{}", judged.facts());
            assert!(judged.found("as-is").contains(&"FilesSampled"), "{}", judged.case("as-is"));
            for trial in judged.evidence("as-is") {
                assert!(super::count(trial, "task_rchar_bytes") >= FILE_BYTES, "{trial}");
            }
        }
        // One that needs none of them is traced, and what it may have left out is said.
        let without = judged(&["sh", "-c", "./cat f"]).unwrap();
        assert!(without.facts()["sampled"].is_null(), "{}", without.facts());
        let unseen = without.facts()["unseen"].to_string();
        assert!(unseen.contains("cat ran without its rights"), "{unseen}");
    }
}
