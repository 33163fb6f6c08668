//! Planting faults, and checking what the program reports about them.
//!
//! Every planted fault is removed on drop, even if its test fails.

use crate::mounts::{self, Mounted, PLAIN, Setup};
use crate::sandbox::{PROGRAM, Sandbox, argument, skip, wait_for};
use serde_json::Value;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;

/// Failures that a fault of the program needs to be believed.
const FAILURES: u32 = 3;

/// Runs a test until it succeeds or has failed three times. Planted faults are real, so other
/// processes may cause true findings as well. A fault of the program fails every time.
///
/// Failures while the OS took memory back, or the hypervisor took processors, do not count, at most
/// nine times: what is cached, and what is fast, is then not for the test to say.
pub(crate) fn tried(test: impl Fn()) {
    let mut counted = 1;
    for _ in 1..4 * FAILURES {
        let (reclaimed_before, ticks_before) = (reclaimed(), ticks());
        if catch_unwind(AssertUnwindSafe(&test)).is_ok() {
            return;
        }
        let since = |index: usize| ticks()[index].saturating_sub(ticks_before[index]);
        let is_stolen = since(STOLEN) as f64 > STOLEN_MOST * since(ALL) as f64;
        let is_taken = is_damon_on() || reclaimed() != reclaimed_before || is_stolen;
        eprintln!("it failed, and is tried again; memory or processors were taken: {is_taken}");
        counted += u32::from(!is_taken);
        if counted >= FAILURES {
            break;
        }
    }
    test();
}

/// Counters of pages that the OS took back because the machine, not one control group, ran short of
/// memory, or because the hypervisor or DAMON wanted them. DAMON counts none; they are counted when
/// they are read again.
const RECLAIMED: [&str; 6] = [
    "pgsteal_kswapd",
    "pgsteal_direct",
    "pgsteal_proactive",
    "workingset_refault_file",
    "balloon_inflate",
    "drop_pagecache",
];

fn reclaimed() -> Vec<String> {
    let counters = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let is_one = |line: &&str| RECLAIMED.iter().any(|name| line.starts_with(name));
    counters.lines().filter(is_one).map(str::to_owned).collect()
}

/// Whether DAMON runs now: it takes pages back that it finds cold, also with much memory free.
fn is_damon_on() -> bool {
    let all = std::fs::read_dir("/sys/kernel/mm/damon/admin/kdamonds").into_iter().flatten();
    let states = all.flatten().map(|one| std::fs::read_to_string(one.path().join("state")));
    states.flatten().any(|state| state.trim() == "on")
}

/// More of the processors' time than this given to others is what a test cannot mend.
const STOLEN_MOST: f64 = 0.05;

/// The ticks of all processors, and those of them that the hypervisor gave to others.
const ALL: usize = 0;
const STOLEN: usize = 1;

fn ticks() -> [u64; 2] {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let words = stat.lines().next().unwrap_or_default().split_whitespace();
    // user, nice, system, idle, iowait, irq, softirq, steal; what follows is in these.
    let ticks: Vec<u64> = words.skip(1).take(8).flat_map(str::parse).collect();
    [ticks.iter().sum(), ticks.get(7).copied().unwrap_or(0)]
}

/// Holds a lock of all processes that run tests of this build, until it is dropped.
pub(crate) struct Held(#[expect(dead_code, reason = "closing it ends the lock")] File);

fn hold(name: &str) -> Held {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).with_extension("lock");
    let file = File::options().create(true).append(true).open(path).unwrap();
    file.lock().unwrap();
    Held(file)
}

/// For tests that others would disturb, and not for those whose planted limit alone decides: waits
/// until no other quiet test runs, and blocks them while
/// the guard is held.
pub(crate) fn quiet() -> Held {
    hold("quiet")
}

/// For tests that use many names of files, because the OS counts all names that it has together:
/// waits until no other test uses many, and blocks them while the guard is held. A test that also
/// waits for `quiet` does that first.
pub(crate) fn alone_with_names() -> Held {
    hold("names")
}

/// An image that stays in the page cache: only a planted limit slows such a device down, however
/// busy the disk below is.
pub(crate) const CACHED: Setup = Setup { size: 256 << 20, losetup: &["--direct-io=off"], ..PLAIN };

/// The same past the page cache, for tests whose figures must stand: what is read directly through
/// the cache outside is void.
pub(crate) const PAST_CACHE: Setup = Setup { losetup: &["--direct-io=on"], ..CACHED };

/// A file system created for a test, and a sandbox on it.
pub(crate) struct Planted {
    // Dropped first, because its directory is on the mount.
    pub(crate) sandbox: Sandbox,
    pub(crate) mounted: Mounted,
}

impl Planted {
    /// A file system of this `kind` on a loop device whose image is on a real disk. Returns `None`,
    /// and reports the skipped test, where that is impossible.
    pub(crate) fn on_loop(test: &str, kind: &str, setup: &Setup) -> Option<Planted> {
        let image = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Planted::new(test, || Mounted::on_loop(image, kind, setup))
    }

    /// Calls `mount`, which requires root. Returns `None`, and reports the skipped test, if it
    /// fails.
    pub(crate) fn new(
        test: &str,
        mount: impl FnOnce() -> Result<Mounted, String>,
    ) -> Option<Planted> {
        if !mounts::is_root(test) {
            return None;
        }
        match mount() {
            Ok(mounted) => Some(Planted { sandbox: Sandbox::on(&mounted.point), mounted }),
            Err(reason) => {
                skip(test, &reason);
                None
            }
        }
    }
}

/// The limited property of a device.
#[derive(Clone, Copy)]
pub(crate) enum Io {
    /// Bytes read per second.
    ReadBytes,
    /// Bytes written per second.
    WriteBytes,
    /// Reads per second.
    Reads,
    /// Writes per second.
    Writes,
}

/// The limit of a control group.
#[derive(Clone, Copy)]
pub(crate) enum Limit<'a> {
    /// A rate per second of the named device.
    Device(Io, &'a str, u64),
    /// Per cent of one CPU.
    Cpu(u64),
    /// Bytes of memory, including the page cache.
    Memory(u64),
}

impl Limit<'_> {
    /// The controller's names in cgroup versions 1 and 2.
    fn controllers(self) -> (&'static str, &'static str) {
        match self {
            Limit::Device(..) => ("blkio", "io"),
            Limit::Cpu(_) => ("cpu", "cpu"),
            Limit::Memory(_) => ("memory", "memory"),
        }
    }

    /// The cgroup v1 file of this limit and the text to write.
    fn of_version_1(self) -> (&'static str, String) {
        match self {
            Limit::Device(io, device, a_second) => {
                let file = match io {
                    Io::ReadBytes => "blkio.throttle.read_bps_device",
                    Io::WriteBytes => "blkio.throttle.write_bps_device",
                    Io::Reads => "blkio.throttle.read_iops_device",
                    Io::Writes => "blkio.throttle.write_iops_device",
                };
                (file, format!("{} {a_second}", number_of(device)))
            }
            Limit::Cpu(percent) => ("cpu.cfs_quota_us", (percent * 1000).to_string()),
            Limit::Memory(bytes) => ("memory.limit_in_bytes", bytes.to_string()),
        }
    }

    /// The same for cgroup v2.
    fn of_version_2(self) -> (&'static str, String) {
        match self {
            Limit::Device(io, device, a_second) => {
                let key = match io {
                    Io::ReadBytes => "rbps",
                    Io::WriteBytes => "wbps",
                    Io::Reads => "riops",
                    Io::Writes => "wiops",
                };
                ("io.max", format!("{} {key}={a_second}", number_of(device)))
            }
            Limit::Cpu(percent) => ("cpu.max", format!("{} 100000", percent * 1000)),
            Limit::Memory(bytes) => ("memory.max", bytes.to_string()),
        }
    }
}

/// The `major:minor` number of a block device.
fn number_of(device: &str) -> String {
    let path = Path::new("/sys/block").join(device).join("dev");
    std::fs::read_to_string(path).unwrap().trim().to_string()
}

/// A new control group; removed on drop once it is empty.
pub(crate) struct Group {
    directory: PathBuf,
    is_version_2: bool,
}

impl Group {
    /// A group with a limit. Returns `None`, and reports the skipped test, where control groups are
    /// unavailable.
    pub(crate) fn new(test: &str, limit: Limit) -> Option<Group> {
        if !mounts::is_root(test) {
            return None;
        }
        match Group::with(limit) {
            Ok(group) => Some(group),
            Err(reason) => {
                skip(test, &reason);
                None
            }
        }
    }

    fn with(limit: Limit) -> Result<Group, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let (parent, is_version_2) = parent_of(limit)?;
        let name = format!("ioassay-honesty-{}-{number}", std::process::id());
        let directory = parent.join(name);
        std::fs::create_dir(&directory).map_err(|error| error.to_string())?;
        let group = Group { directory, is_version_2 };
        group.try_set(limit)?;
        Ok(group)
    }

    /// Sets or changes a limit.
    pub(crate) fn set(&self, limit: Limit) {
        // The OS reclaims memory from a busy group gradually, and returns EBUSY meanwhile.
        wait_for("a limit that is set", || match self.try_set(limit) {
            Err(reason) if reason.contains("resource busy") => None,
            answer => Some(answer),
        })
        .unwrap();
    }

    fn try_set(&self, limit: Limit) -> Result<(), String> {
        let (file, text) =
            if self.is_version_2 { limit.of_version_2() } else { limit.of_version_1() };
        let path = self.directory.join(file);
        std::fs::write(&path, &text)
            .map_err(|error| format!("'{text}' into '{}': {error}", path.display()))
    }

    /// The name of the group: the last part of its path.
    pub(crate) fn name(&self) -> &str {
        let name = self.directory.file_name().expect("it is in another");
        name.to_str().expect("it was made of text")
    }

    /// The file into which a process writes its number to join the group.
    pub(crate) fn procs(&self) -> PathBuf {
        self.directory.join("cgroup.procs")
    }

    /// The program, started in the group; callers may add arguments.
    pub(crate) fn launch(&self, sandbox: &Sandbox) -> Command {
        let script = format!("echo $$ > '{}' && exec \"$0\" \"$@\"", self.procs().display());
        let mut command = sandbox.start("sh");
        command.args(["-c", &script, PROGRAM]);
        command
    }
}

/// The parent directory for groups with such a limit, and whether it is cgroup v2.
fn parent_of(limit: Limit) -> Result<(PathBuf, bool), String> {
    let (of_version_1, of_version_2) = limit.controllers();
    let version_1 = Path::new("/sys/fs/cgroup").join(of_version_1);
    if version_1.join("cgroup.procs").exists() {
        return Ok((version_1, false));
    }
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(PathBuf::from);
    let has_controller = |root: &PathBuf| {
        let on = std::fs::read_to_string(root.join("cgroup.subtree_control")).unwrap_or_default();
        on.split_whitespace().any(|name| name == of_version_2)
    };
    match roots.into_iter().find(has_controller) {
        Some(root) => Ok((root, true)),
        None => Err(format!("no control groups have the controller '{of_version_2}' here")),
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The processes have ended, but the kernel may need a moment to notice.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.directory).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        eprintln!("'{}' stays", self.directory.display());
    }
}

/// The program, without a fault.
pub(crate) fn plainly(sandbox: &Sandbox) -> Command {
    sandbox.start(PROGRAM)
}

/// The program with real-time priority, so that other processes do not disturb it. `before` is its
/// launcher, if any. Returns `None`, and reports the skipped test, where that is forbidden.
pub(crate) fn ahead(sandbox: &Sandbox, test: &str, before: &[&str]) -> Option<Command> {
    // Real-time processes run before all others.
    let start = ["--rr", "1"];
    let tried = Command::new("chrt").args(start).arg("true").status();
    if !tried.is_ok_and(|status| status.success()) {
        skip(test, "chrt cannot start a process ahead of others");
        return None;
    }
    let mut command = sandbox.start("chrt");
    command.args(start).args(before).arg(PROGRAM);
    Some(command)
}

/// Measures a recipe of `groups` with `launch` and `args`, and returns the report. The recipe and
/// the record are in the state folder, off the measured file system.
///
/// `groups` usually holds one `[[cases]]`. The defaults are one round of at most 10 s and a file of
/// 16 MiB.
pub(crate) fn measure(sandbox: &Sandbox, launch: Command, groups: &str, args: &[&str]) -> Value {
    finish(start(sandbox, launch, groups, args))
}

/// Starts the same run without waiting for its end.
pub(crate) fn start(sandbox: &Sandbox, mut launch: Command, groups: &str, args: &[&str]) -> Child {
    let _ = std::fs::remove_file(record(sandbox));
    let head = "name = \"mine\"\nquestion = \"?\"\nsize = \"16MiB\"\nrounds = 1\n\
                invocations = 1\ntime = \"10s\"\nceilings = false\n";
    let recipe = sandbox.state().join("mine.toml");
    std::fs::write(&recipe, format!("{head}{groups}")).unwrap();
    launch.args(["run", argument(&recipe), "--json", "--record"]).arg(record(sandbox)).args(args);
    launch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for a started run and returns its report.
pub(crate) fn finish(running: Child) -> Value {
    let output = running.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let stands = |case: &Value| matches!(case["verdict"].as_str(), Some("sound" | "doubtful"));
    let all = report["cases"].as_array().unwrap().iter();
    let is_missing = all.filter(|case| case["role"] == "asked").any(|case| !stands(case));
    assert_eq!(output.status.code(), Some(i32::from(is_missing)), "{output:?}");
    report
}

/// The record of the latest started run.
fn record(sandbox: &Sandbox) -> PathBuf {
    sandbox.state().join("record")
}

/// The trials in the record.
pub(crate) fn trials(sandbox: &Sandbox) -> Vec<Value> {
    let text = std::fs::read_to_string(record(sandbox)).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| line.get("trial").cloned()).collect()
}

/// The requested cases of a report.
pub(crate) fn asked(report: &Value) -> Vec<&Value> {
    let cases = report["cases"].as_array().unwrap().iter();
    cases.filter(|case| case["role"] == "asked").collect()
}

/// The only requested case of a report.
pub(crate) fn only(report: &Value) -> &Value {
    match asked(report)[..] {
        [case] => case,
        ref cases => panic!("{} cases: {:#}", cases.len(), report["skips"]),
    }
}

/// The finding with this code on a case.
fn finding<'a>(case: &'a Value, code: &str) -> Option<&'a Value> {
    let findings = case["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["code"] == code)
}

/// Checks that a case has a finding with this severity, whose message contains each of `words`.
#[track_caller]
pub(crate) fn check_found(case: &Value, code: &str, severity: &str, words: &[&str]) {
    check_told(case, code, words);
    assert_eq!(finding(case, code).unwrap()["severity"], severity, "{case:#}");
}

/// The same for any severity, where it depends on the speed of this machine.
#[track_caller]
pub(crate) fn check_told(case: &Value, code: &str, words: &[&str]) {
    let Some(found) = finding(case, code) else { panic!("no {code}: {case:#}") };
    let message = found["message"].as_str().unwrap();
    for word in words {
        assert!(message.contains(word), "{code} does not say '{word}': {message}");
    }
}

/// How `Foreign` names the real disk below the loop device of a test: others use it at any time.
pub(crate) const BELOW: &str = "below the loop device";

/// Checks that a case has a figure and no findings with these codes.
#[track_caller]
pub(crate) fn check_silent(case: &Value, codes: &[&str]) {
    assert_eq!(case["failures"], Value::Array(Vec::new()), "{case:#}");
    let is_planted = |found: &&Value| !found["message"].as_str().unwrap().contains(BELOW);
    for code in codes {
        assert!(finding(case, code).filter(is_planted).is_none(), "{code}: {case:#}");
    }
}

/// Checks the source that served a case.
#[track_caller]
pub(crate) fn check_served(case: &Value, by: &str) {
    assert_eq!(case["served_by"], by, "{case:#}");
}

/// Checks that a figure is within `share` of the expected value.
#[track_caller]
pub(crate) fn check_near(figure: &Value, expected: f64, share: f64) {
    let value = figure.as_f64().unwrap_or_else(|| panic!("no figure: {figure}"));
    let off = (value - expected).abs() / expected;
    assert!(off <= share, "{value} is not {expected}, to {share}");
}

/// Another thread that repeats an action until it is dropped.
pub(crate) struct Neighbour {
    goes_on: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Neighbour {
    /// Starts the thread after a first action.
    pub(crate) fn new(mut act: impl FnMut() + Send + 'static) -> Neighbour {
        act();
        let goes_on = Arc::new(AtomicBool::new(true));
        #[expect(clippy::disallowed_methods, reason = "a test may panic")]
        let thread = std::thread::spawn({
            let goes_on = Arc::clone(&goes_on);
            move || {
                while goes_on.load(Ordering::Relaxed) {
                    act();
                }
            }
        });
        Neighbour { goes_on, thread: Some(thread) }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.goes_on.store(false, Ordering::Relaxed);
        let thread = self.thread.take().expect("it is dropped once");
        if thread.join().is_err() {
            eprintln!("a neighbour failed");
        }
    }
}

/// A new file with `size` incompressible bytes, on its device and not in the page cache.
pub(crate) fn cold_file(sandbox: &Sandbox, name: &str, size: u64) -> PathBuf {
    let path = sandbox.path(name);
    mounts::file(&path, size);
    sandbox.says(&["cache", "evict", argument(&path)]);
    path
}
