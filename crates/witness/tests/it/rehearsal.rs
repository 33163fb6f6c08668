//! Rehearsals of real programs.

mod stage;

use crate::executables::{install, install_copy};
use model::rehearsal::{Blind, CommandEnd, FactSheet, FileRole, FileUse, OtherSources, StopCause};
use stage::{Stage, file, has, is_root};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn has_missed(sheet: &FactSheet, what: Blind) -> bool {
    sheet.unseen.iter().any(|unseen| unseen.what == what)
}

fn data(sheet: &FactSheet) -> Vec<&FileUse> {
    sheet.files.iter().filter(|file| file.role == FileRole::Data).collect()
}

#[test]
fn the_files_of_cat_are_seen_and_its_exit_status() {
    let stage = Stage::new().file("a", 5000);
    let sheet = stage.run(&["cat", "a"]);
    let a = file(&sheet, &stage.path("a"));
    assert_eq!((a.opens.times, a.opens.reading, a.opens.writing), (1, 1, 0), "{a:?}");
    assert_eq!((a.bytes_before, a.bytes_after), (Some(5000), Some(5000)));
    assert!(a.named && !a.created && !a.removed && a.role == FileRole::Data, "{a:?}");
    assert_eq!(sheet.end, Some(CommandEnd::Exited(0)));
    assert_eq!((sheet.processes, sheet.threads, sheet.left_behind), (1, 1, 0));
    let io = sheet.totals.unwrap().io.unwrap();
    assert!(io.rchar >= 5000 && io.wchar >= 5000, "{io:?}");
    assert_eq!(data(&sheet).len(), 1, "{sheet:#?}");
    assert!(sheet.unseen.is_empty(), "{:?}", sheet.unseen);
    assert_eq!(stage.run(&["cat", "missing"]).end, Some(CommandEnd::Exited(1)));
}

#[test]
fn bytes_are_those_of_the_command_and_not_of_its_tracer() {
    let stage = Stage::new();
    let sheet = stage.sh("dd if=/dev/zero of=a bs=1M count=3; for i in 1 2 3 4; do cat a; done");
    let io = sheet.totals.unwrap().io.unwrap();
    let mib = |count: u64| count << 20..(count << 20) + (128 << 10);
    assert!(mib(15).contains(&io.rchar) && mib(15).contains(&io.wchar), "{io:?}");
    assert!(io.syscw < 200, "{io:?}");
}

#[test]
fn what_calls_can_read_besides_files_is_counted() {
    let stage = Stage::new().file("a", 5000);
    let sources = |script: &str| stage.sh(script).other_sources.expect("it was traced");
    let none = OtherSources::default();
    assert_eq!(sources("cat a; cat a; cat </dev/null"), none);
    assert_eq!(sources("cat a >/dev/tty 2>/dev/null; echo x >/dev/full; cat a"), none);
    assert!(sources("cat a | cat >/dev/null").pipes >= 1);
    assert!(sources("mkfifo p; cat a >p & cat p").pipes >= 1);
    assert_eq!(sources("head -c 10 /dev/zero"), OtherSources { devices: 1, ..none });
    assert_eq!(sources("cat /proc/self/stat").kernel_files, 1);
}

#[test]
fn a_command_that_is_not_there_is_an_error_and_one_that_fails_is_not() {
    let stage = Stage::new();
    let error = stage.try_run(&["no-such-program"]).unwrap_err();
    assert!(error.contains("failed to run 'no-such-program'"), "{error}");
    assert_eq!(stage.sh("exit 42").end, Some(CommandEnd::Exited(42)));
    let error = stage.with_subdirectory("none").try_run(&["true"]).unwrap_err();
    assert!(error.contains("failed to enter the directory '") && error.contains("none"), "{error}");
}

#[test]
fn direct_and_synced_writes_of_dd_are_seen_and_plain_ones_are_not() {
    let stage = Stage::new();
    let dd = |name: &str, more: &[&str]| {
        let of = format!("of={name}");
        let mut words = vec!["dd", "if=/dev/zero", &of, "bs=4096", "count=2"];
        words.extend(more);
        stage.run(&words)
    };
    let synced = dd("a", &["conv=fdatasync"]);
    let a = file(&synced, &stage.path("a"));
    assert!(a.created && a.named && a.opens.writing == 1 && a.opens.truncate == 1, "{a:?}");
    assert_eq!((a.bytes_before, a.bytes_after), (None, Some(8192)));
    assert_eq!((synced.syncs.fdatasync, a.syncs.fdatasync, a.syncs.fsync), (1, 1, 0));
    let plain = dd("a", &[]);
    let a = file(&plain, &stage.path("a"));
    assert!(plain.syncs.is_none() && a.syncs.is_none() && a.opens.direct == 0, "{a:?}");
    assert!(!a.created && a.bytes_before == Some(8192), "{a:?}");
    let each = dd("b", &["oflag=dsync"]);
    assert_eq!(file(&each, &stage.path("b")).opens.dsync, 1);
    let both = dd("c", &["oflag=sync"]);
    let c = file(&both, &stage.path("c"));
    assert_eq!((c.opens.sync, c.opens.dsync), (1, 0));
    let direct = dd("d", &["oflag=direct"]);
    if direct.end == Some(CommandEnd::Exited(0)) {
        assert_eq!(file(&direct, &stage.path("d")).opens.direct, 1);
    } else {
        eprintln!("skipped: no direct writes in the directory for temporary files");
    }
}

/// Compiles the program for calls that others do not do; `None` without a compiler.
fn compiled(stage: &Stage, options: &[&str]) -> Option<String> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/rehearsal/calls.c");
    let program = stage.path("calls");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-pthread", "-o"]).arg(&program).arg(source).args(options);
    match compiler.output() {
        Ok(output) if output.status.success() => Some(program.to_str().unwrap().to_string()),
        outcome => {
            eprintln!("skipped: cc {options:?} does not compile: {outcome:?}");
            None
        }
    }
}

/// Rehearses that program and expects its success.
fn calls(stage: &Stage, words: &[&str]) -> Option<FactSheet> {
    let program = compiled(stage, &[])?;
    let mut command = vec![program.as_str()];
    command.extend(words);
    let sheet = stage.run(&command);
    assert_eq!(sheet.end, Some(CommandEnd::Exited(0)), "{words:?} {sheet:#?}");
    Some(sheet)
}

#[test]
fn each_kind_of_sync_is_counted_if_it_succeeds() {
    let stage = Stage::new();
    let Some(sheet) = calls(&stage, &["sync", "a"]) else { return };
    let a = file(&sheet, &stage.path("a")).syncs;
    let all = sheet.syncs;
    assert_eq!((a.fsync, a.fdatasync, a.sync_file_range, a.synced_writes), (2, 1, 1, 1), "{a:?}");
    assert_eq!((all.fsync, all.fdatasync, all.syncfs, all.sync), (2, 1, 1, 0), "{all:?}");
    assert_eq!((a.syncfs, a.msync), (0, 0));
    assert_eq!(stage.sh("sync a; sync").syncs.sync, 1);
}

#[test]
fn mappings_are_seen_with_their_advice_and_syncs() {
    let stage = Stage::new().file("a", 4096);
    let Some(sheet) = calls(&stage, &["map", "a"]) else { return };
    let a = file(&sheet, &stage.path("a"));
    let m = a.mappings;
    assert_eq!((m.shared, m.private, m.writable, m.executable), (1, 1, 1, 0), "{m:?}");
    assert_eq!((a.syncs.msync, sheet.syncs.msync), (1, 1));
    assert_eq!((a.hints.random, a.hints.dont_need), (1, 0));
    assert_eq!(a.role, FileRole::Data);
}

#[test]
fn copies_by_the_os_are_seen_for_both_files() {
    let stage = Stage::new().file("a", 4096);
    let Some(sheet) = calls(&stage, &["copy", "a", "b"]) else { return };
    let (a, b) = (file(&sheet, &stage.path("a")), file(&sheet, &stage.path("b")));
    assert_eq!((a.copies.source, a.copies.target), (2, 0));
    assert_eq!((b.copies.source, b.copies.target), (0, 1));
    assert_eq!(a.copies.cloned_source, b.copies.cloned_target);
    assert_eq!((a.hints.sequential, a.hints.dont_need, a.hints.will_need), (1, 1, 1));
    assert_eq!((a.allocations, b.allocations), (0, 1));
}

#[test]
fn threads_and_processes_are_counted_and_their_files_seen() {
    let stage = Stage::new().file("a", 10);
    if let Some(sheet) = calls(&stage, &["thread", "a"]) {
        assert_eq!((sheet.processes, sheet.threads), (1, 2));
        assert_eq!(file(&sheet, &stage.path("a")).opens.times, 1);
    }
    let sheet = stage.sh("cat a | wc -c; cat a");
    assert!(sheet.processes >= 3 && sheet.threads == sheet.processes, "{sheet:#?}");
    assert_eq!(file(&sheet, &stage.path("a")).opens.times, 2);
    let names: Vec<_> = sheet.programs.iter().map(|program| program.text.clone()).collect();
    assert!(names.len() >= 3, "{names:?}");
}

#[test]
fn a_thread_that_executes_a_program_takes_the_place_of_all() {
    let stage = Stage::new().file("a", 10);
    let Some(sheet) = calls(&stage, &["execute", "a"]) else { return };
    assert_eq!(file(&sheet, &stage.path("a")).opens.times, 1);
    assert_eq!((sheet.processes, sheet.threads), (1, 2));
    assert_eq!(sheet.programs.len(), 2, "{:?}", sheet.programs);
}

#[test]
fn a_child_that_asks_not_to_be_traced_is() {
    let stage = Stage::new().file("a", 10);
    let Some(sheet) = calls(&stage, &["untraced", "a"]) else { return };
    assert_eq!(file(&sheet, &stage.path("a")).opens.times, 2);
    assert_eq!(sheet.processes, 3);
}

#[test]
fn bytes_of_children_that_nobody_waits_for_are_counted_and_said_to_be_lost_elsewhere() {
    let stage = Stage::new().file("a", 3 << 20);
    let Some(sheet) = calls(&stage, &["ignore", "a"]) else { return };
    assert!(has_missed(&sheet, Blind::Unreaped), "{:?}", sheet.unseen);
    let io = sheet.totals.unwrap().io.unwrap();
    assert!(io.rchar >= 3 << 20, "{io:?}");
    let sheet = stage.sh("cat a | wc -c");
    assert!(!has_missed(&sheet, Blind::Unreaped), "{:?}", sheet.unseen);
    assert!(sheet.totals.unwrap().io.unwrap().rchar >= 6 << 20);
}

#[test]
fn files_keep_their_facts_through_new_names() {
    let stage = Stage::new();
    let Some(sheet) = calls(&stage, &["rename", "a", "b", "c"]) else { return };
    let a = file(&sheet, &stage.path("a"));
    assert!(a.created && !a.removed, "{a:?}");
    assert_eq!(a.renamed.as_ref().unwrap().to_path(), stage.path("b"));
    let c = file(&sheet, &stage.path("c"));
    assert!(c.created && !c.removed && c.replacements == 1, "{c:?}");
    assert_eq!((c.opens.times, c.opens.append, c.opens.dsync), (2, 1, 1), "{c:?}");
    for (first, last) in [("sub/d", "e"), ("e", "moved/d")] {
        let renamed = file(&sheet, &stage.path(first)).renamed.as_ref();
        assert_eq!(renamed.unwrap().to_path(), stage.path(last), "{sheet:#?}");
    }
    let unnamed = data(&sheet).into_iter().filter(|file| file.removed).count();
    assert_eq!((unnamed, data(&sheet).len()), (1, 5), "{sheet:#?}");
}

#[test]
fn files_that_are_created_again_and_again_are_one() {
    let stage = Stage::new().file("old", 10);
    let sheet = stage.sh(
        "for i in 1 2 3 4 5; do echo $i > journal; rm journal; echo $i > new; mv new target; done
         cat old; rm old; echo 1 > old",
    );
    let all: Vec<_> = data(&sheet).iter().map(|file| file.path.text.clone()).collect();
    let journal = file(&sheet, &stage.path("journal"));
    assert!(journal.created && journal.removed && journal.replacements == 4, "{journal:?}");
    assert_eq!(journal.opens.writing, 5);
    let new = stage.path("new");
    let named_new = data(&sheet).into_iter().filter(|file| file.path.to_path() == new);
    let named_new: Vec<_> = named_new.collect();
    assert_eq!(named_new.iter().map(|file| file.opens.writing).sum::<u64>(), 5, "{all:?}");
    let last = named_new.iter().find(|file| !file.removed).unwrap();
    assert_eq!(last.renamed.as_ref().unwrap().to_path(), stage.path("target"));
    // What the command read is not what it wrote, though both have one name.
    let old = stage.path("old");
    let both: Vec<_> = sheet.files.iter().filter(|file| file.path.to_path() == old).collect();
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(both[0].removed && !both[0].created && both[0].bytes_before == Some(10));
    assert!(!both[1].removed && both[1].created && both[1].bytes_after == Some(2));
    assert_eq!(data(&sheet).len(), 5, "{all:?}");
}

#[test]
fn queues_are_counted_and_named_as_unseen() {
    let stage = Stage::new().file("a", 10);
    let Some(program) = compiled(&stage, &[]) else { return };
    let sheet = stage.run(&[&program, "ring"]);
    if sheet.end == Some(CommandEnd::Exited(77)) {
        eprintln!("skipped: there is no io_uring");
        return;
    }
    let queues = sheet.queues;
    assert_eq!((queues.uring, queues.uring_refused, queues.aio), (1, 1, 1), "{queues:?}");
    assert_eq!((queues.uring_sqpoll, queues.uring_iopoll), (0, 0));
    assert!(has_missed(&sheet, Blind::Uring) && has_missed(&sheet, Blind::Aio));
    let other = calls(&stage, &["thread", "a"]).unwrap();
    assert!(other.queues.is_none() && other.unseen.is_empty(), "{other:#?}");
}

#[test]
fn direct_access_that_is_set_later_is_seen() {
    let stage = Stage::new().file("a", 4096);
    let Some(program) = compiled(&stage, &[]) else { return };
    let sheet = stage.run(&[&program, "flags", "a"]);
    if sheet.end != Some(CommandEnd::Exited(0)) {
        eprintln!("skipped: no direct access in the directory for temporary files");
        return;
    }
    let opens = file(&sheet, &stage.path("a")).opens;
    assert_eq!((opens.times, opens.direct), (1, 1));
}

#[test]
fn calls_of_32_bit_programs_are_seen() {
    let stage = Stage::new().file("a", 10);
    if cfg!(not(target_arch = "x86_64")) {
        eprintln!("skipped: this machine has no such programs");
        return;
    }
    let Some(program) = compiled(&stage, &[]) else { return };
    let sheet = stage.run(&[&program, "gate", &stage.path("a").to_string_lossy()]);
    if sheet.end != Some(CommandEnd::Exited(0)) {
        eprintln!("skipped: this kernel has no calls of 32-bit programs: {:?}", sheet.end);
        return;
    }
    let a = file(&sheet, &stage.path("a"));
    assert_eq!((a.opens.times, a.opens.writing, a.syncs.fsync), (1, 1, 1), "{a:?}");
}

/// A 32-bit program that opens the file `a`, and exits.
fn small_32_bit_program() -> Vec<u8> {
    let base: u32 = 0x0804_8000;
    let code = [
        &b"\xB8\x05\0\0\0"[..], // The number of `open`,
        &[&b"\xBB"[..], &(base + 84 + 23).to_le_bytes()].concat(), // the name,
        b"\x31\xC9\xCD\x80",    // no flags; the call.
        b"\xB8\x01\0\0\0\x31\xDB\xCD\x80", // `exit` with 0.
        b"a\0",
    ]
    .concat();
    let size = 84 + code.len() as u32;
    let halves = |halves: &[u16]| halves.iter().flat_map(|half| half.to_le_bytes()).collect();
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let parts: [Vec<u8>; 7] = [
        b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec(),
        // Executable, for 32-bit x86; the entry; one program header after this one.
        halves(&[2, 3]),
        words(&[1, base + 84, 52, 0, 0]),
        halves(&[52, 32, 1, 0, 0, 0]),
        // The whole file, readable and executable.
        words(&[1, 0, base, base]),
        words(&[size, size, 5, 4096]),
        code,
    ];
    parts.concat()
}

#[test]
fn a_32_bit_program_is_named_and_its_files_are_seen() {
    let stage = Stage::new().file("a", 10);
    let program = stage.path("small");
    install(&small_32_bit_program(), &program);
    match stage.try_run(&["./small"]) {
        Ok(sheet) if sheet.end == Some(CommandEnd::Exited(0)) => {
            assert!(has_missed(&sheet, Blind::Bits32), "{:?}", sheet.unseen);
            assert_eq!(file(&sheet, &stage.path("a")).opens.reading, 1);
        }
        outcome => eprintln!("skipped: this kernel runs no 32-bit programs: {outcome:?}"),
    }
}

#[test]
fn a_static_program_is_seen() {
    let stage = Stage::new().file("a", 10);
    let Some(program) = compiled(&stage, &["-static"]) else { return };
    let sheet = stage.run(&[&program, "thread", "a"]);
    assert_eq!(file(&sheet, &stage.path("a")).opens.times, 1);
    assert_eq!(file(&sheet, Path::new(&program)).role, FileRole::Program);
    assert_eq!(data(&sheet).len(), 1, "{sheet:#?}");
}

#[test]
fn signals_arrive_as_without_a_tracer() {
    let stage = Stage::new().file("a", 10);
    assert_eq!(stage.sh("kill -TERM $$").end, Some(CommandEnd::Signaled(libc::SIGTERM)));
    assert_eq!(stage.sh("kill -KILL $$").end, Some(CommandEnd::Signaled(libc::SIGKILL)));
    assert_eq!(
        stage.sh("trap 'exit 3' USR1; kill -USR1 $$; exit 4").end,
        Some(CommandEnd::Exited(3))
    );
    if let Some(program) = compiled(&stage, &[]) {
        assert_eq!(stage.run(&[&program, "trap"]).end, Some(CommandEnd::Signaled(libc::SIGTRAP)));
    }
    let sheet = stage.sh("(kill -STOP $(exec sh -c 'echo $PPID'); cat a; : > done) & child=$!
         while [ ! -e done ]; do sleep 0.05; kill -CONT $child; done; wait $child");
    assert_eq!(sheet.end, Some(CommandEnd::Exited(0)));
    assert_eq!(file(&sheet, &stage.path("a")).opens.times, 1);
}

#[test]
fn what_outlives_the_command_is_killed_and_counted() {
    let stage = Stage::new();
    let sheet = stage.sh("(setsid sh -c 'sleep 1000 & sleep 1000' &) ; exit 5");
    assert_eq!(sheet.end, Some(CommandEnd::Exited(5)));
    assert!(sheet.left_behind >= 1, "{sheet:#?}");
    let sheet = stage.sh("(setsid sh -c ': > late' &) ; exit 5");
    assert_eq!((sheet.end, sheet.left_behind), (Some(CommandEnd::Exited(5)), 0));
    assert!(file(&sheet, &stage.path("late")).created);
}

/// Whether a process whose command line has this word is there.
fn runs(word: &str) -> bool {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let mut lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    lines.any(|line| line.split('\0').any(|argument| argument == word))
}

#[test]
fn a_time_limit_leaves_no_process() {
    let stage = Stage::new().with_limit_ms(500);
    let time = format!("1000.{}", std::process::id());
    let script = format!("trap '' TERM INT; setsid sleep {time} & sleep {time}");
    assert_eq!(stage.sh(&script).end, Some(CommandEnd::Stopped(StopCause::TimeLimit)));
    assert!(!runs(&time));
}

#[test]
fn a_caller_that_wants_to_stop_leaves_no_process() {
    let stage = Stage::new().with_stop_at("ready");
    let time = format!("3000.{}", std::process::id());
    let sheet = stage.sh(&format!("sleep {time} & : > ready; sleep {time}"));
    assert_eq!(sheet.end, Some(CommandEnd::Stopped(StopCause::Asked)));
    assert!(!runs(&time));
}

#[test]
fn a_killed_tracer_leaves_no_process() {
    let stage = Stage::new();
    let time = format!("2000.{}", std::process::id());
    let script = format!("sleep {time} & : > ready; exec sleep {time}");
    let mut tracer = stage.start(&["sh", "-c", &script]);
    await_that(|| stage.path("ready").exists() && runs(&time));
    tracer.kill().unwrap();
    assert_eq!(tracer.wait().unwrap().signal(), Some(libc::SIGKILL));
    await_that(|| !runs(&time));
}

/// Waits until it is so. Only a defect takes so long.
fn await_that(is_so: impl Fn() -> bool) {
    for _ in 0..3000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never happens");
}

#[test]
fn a_file_that_is_a_standard_stream_is_inherited() {
    let stage = Stage::new().file("a", 10).with_stdin("a");
    let sheet = stage.run(&["wc", "-c"]);
    let a = file(&sheet, &stage.path("a"));
    assert!(a.inherited && !a.named && a.opens.reading == 1, "{a:?}");
    assert_eq!(a.role, FileRole::Data);
    assert_eq!(data(&sheet).len(), 1, "{sheet:#?}");
}

#[test]
fn scripts_and_libraries_are_programs_and_not_data() {
    let stage = Stage::new().file("a", 10);
    let script = stage.path("script");
    install(b"#!/bin/sh\nexec cat \"$1\"\n", &script);
    for command in [&["./script", "a"][..], &["sh", "script", "a"]] {
        let sheet = stage.run(command);
        let roles = (file(&sheet, &script).role, file(&sheet, &stage.path("a")).role);
        assert_eq!(roles, (FileRole::Program, FileRole::Data), "{command:?}");
        assert_eq!(data(&sheet).len(), 1, "{sheet:#?}");
    }
}

#[test]
fn threads_forks_and_mappings_of_an_interpreter_are_seen() {
    if !has("python3") {
        return;
    }
    let stage = Stage::new().file("a", 4096);
    let script = "
import mmap, os, threading
def read():
    with open('a', 'rb') as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m: m[:]
threads = [threading.Thread(target=read) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
if os.fork() == 0:
    read(); os._exit(0)
os.wait()
os.posix_spawn('/bin/cat', ['cat', 'a'], os.environ); os.wait()
";
    let sheet = stage.run(&["python3", "-c", script]);
    assert_eq!(sheet.end, Some(CommandEnd::Exited(0)));
    let a = file(&sheet, &stage.path("a"));
    assert_eq!((a.opens.times, a.mappings.shared), (6, 5), "{a:?}");
    assert_eq!(sheet.threads, sheet.processes + 4);
}

#[test]
fn counts_are_those_of_strace() {
    if !has("strace") || !has("python3") {
        return;
    }
    let script = "
import os, threading
def work(name):
    for i in range(20):
        with open(name, 'ab') as f:
            f.write(b'x'); f.flush(); os.fsync(f.fileno())
            if i % 2: os.fdatasync(f.fileno())
threads = [threading.Thread(target=work, args=(f'f{n}',)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
if os.fork() == 0:
    work('g'); os._exit(0)
os.wait()
";
    let stage = Stage::new();
    let log = stage.path("log");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-z", "-e", "trace=openat,fsync,fdatasync", "-o"]).arg(&log);
    strace.args(["python3", "-c", script]).current_dir(stage.path(""));
    if !strace.status().unwrap().success() {
        eprintln!("skipped: strace does not work here");
        return;
    }
    let log = std::fs::read_to_string(log).unwrap();
    let lines = |call: &str, name: &str| {
        log.lines().filter(|line| line.contains(call) && line.contains(name)).count() as u64
    };
    let sheet = stage.run(&["python3", "-c", script]);
    assert_eq!(sheet.syncs.fsync, 100);
    assert_eq!(sheet.syncs.fdatasync, 50);
    for name in ["f0", "f3", "g"] {
        let file = file(&sheet, &stage.path(name));
        assert_eq!((file.opens.times, file.syncs.fsync, file.syncs.fdatasync), (20, 20, 10));
        assert_eq!(lines("openat(", &format!("\"{name}\"")), 20, "{name}");
    }
}

#[test]
fn without_root_a_rehearsal_gives_up_new_privileges_and_says_so() {
    if !is_root() {
        return;
    }
    let stage = Stage::new().file("a", 10);
    let as_root = stage.run(&["cat", "a"]);
    assert!(!as_root.no_new_privileges);
    let stage = stage.for_nobody();
    let sheet = stage.run(&["cat", "a"]);
    assert!(sheet.no_new_privileges && sheet.unseen.is_empty(), "{:?}", sheet.unseen);
    assert_eq!(file(&sheet, &stage.path("a")).opens.times, 1);
    assert_eq!(sheet.end, Some(CommandEnd::Exited(0)));
    let setuid = stage.path("setuid");
    install_copy(Path::new("/bin/cat"), &setuid);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
    std::fs::set_permissions(&setuid, mode).unwrap();
    let sheet = stage.sh("./setuid a; true");
    assert!(has_missed(&sheet, Blind::SetUid), "{:?}", sheet.unseen);
    // It would not be the command's own program without them.
    let error = stage.try_run(&["./setuid", "a"]).unwrap_err();
    assert!(error.contains("setuid' has rights that you lack"), "{error}");
}

#[test]
fn a_command_that_stops_is_ended_and_one_that_stops_its_child_goes_on() {
    let stage = Stage::new();
    let error = stage.try_run(&["sh", "-c", "kill -STOP $$; : > on"]).unwrap_err();
    assert_eq!(error, "the command was stopped by signal 19");
    assert!(!stage.path("on").exists());
    let sheet = stage.sh("sleep 0.05 & kill -STOP $!; kill -CONT $!; wait");
    assert_eq!(sheet.end, Some(CommandEnd::Exited(0)));
}

#[test]
fn a_debugger_within_the_command_is_named() {
    if !has("strace") {
        return;
    }
    let stage = Stage::new();
    assert!(has_missed(&stage.run(&["strace", "-o", "log", "true"]), Blind::Tracer));
}

#[test]
fn a_rehearsal_within_a_debugger_says_so() {
    if !has("strace") {
        return;
    }
    let stage = Stage::new().within(&["strace", "-f", "-o", "log"]);
    let error = stage.try_run(&["true"]).unwrap_err();
    assert!(error.contains("a debugger already traces this process"), "{error}");
}

#[test]
fn where_tracing_is_forbidden_nothing_runs_and_the_error_says_why() {
    let stage = Stage::new();
    let Some(program) = compiled(&stage, &[]) else { return };
    let stage = stage.within(&[&program, "forbid"]);
    let error = stage.try_run(&["sh", "-c", ": > ran"]).unwrap_err();
    assert!(error.starts_with("failed to trace a process: "), "{error}");
    assert!(error.contains("seccomp profile forbids ptrace"), "{error}");
    assert!(!stage.path("ran").exists());
}

#[test]
fn a_program_that_starts_itself_again_and_again_is_stopped() {
    let stage = Stage::new().with_tasks_max(50);
    let sheet = stage.sh("bomb() { while :; do sleep 1000 & done; }; bomb");
    assert_eq!(sheet.end, Some(CommandEnd::Stopped(StopCause::TaskLimit)));
    assert!(sheet.processes >= 50, "{sheet:#?}");
}

#[test]
fn open_files_of_a_running_process_are_sampled() {
    let stage = Stage::new().file("a", 10);
    let mut child = Command::new("sh");
    let child = child.args(["-c", "exec 3<a; : > ready; read line"]).current_dir(stage.path(""));
    // A log of the tests may be a file, too.
    let child = child.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.spawn().unwrap();
    await_that(|| stage.path("ready").exists());
    let sheet = witness::rehearsal::sample(child.id());
    drop(child.stdin.take());
    child.wait().unwrap();
    let a = file(&sheet, &stage.path("a"));
    assert!(sheet.sampled && sheet.end.is_none() && sheet.totals.is_none());
    assert_eq!((a.opens.reading, a.role), (a.opens.times, FileRole::Data), "{a:?}");
    assert_eq!(data(&sheet).len(), 1, "{sheet:#?}");
}

#[test]
fn a_sample_says_what_it_cannot_see() {
    let child = Command::new("true").spawn().and_then(|mut child| {
        child.wait()?;
        Ok(child.id())
    });
    let sheet = witness::rehearsal::sample(child.unwrap());
    assert!(sheet.files.is_empty() && has_missed(&sheet, Blind::Unreadable), "{sheet:#?}");
    let own = witness::rehearsal::sample(std::process::id());
    let program = std::env::current_exe().unwrap().canonicalize().unwrap();
    let program = file(&own, &program);
    assert!(program.executed && program.mappings.executable > 0, "{program:?}");
}
