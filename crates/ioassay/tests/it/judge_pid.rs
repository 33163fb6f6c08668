//! Programs that are running already: what is said of each, and what is not.
//!
//! They assert what is counted, never how fast it was.

use crate::executables::install_copy;
use crate::honesty::plant::tried;
use crate::sandbox::{
    PROGRAM, Sandbox, argument, check_reason, check_refusal, skip, text, wait_for,
};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What the programs do, by their first argument; the second is a file. They create `ready` beside
/// it when they begin.
const PROGRAMS: &str = r#"
import mmap, os, signal, subprocess, sys, threading, time
what, path = sys.argv[1:3]
MIB = 1 << 20
def ready():
    open(path + '.ready', 'w').close()
def forever(do):
    ready()
    while True:
        do()
if what in ('warm', 'cold', 'mixed'):
    fd = os.open(path, os.O_RDONLY)
    size = os.fstat(fd).st_size
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    # What was written at once is cached in pieces that cannot be evicted in part.
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    def read():
        for offset in range(0, size, MIB):
            if what == 'cold' or (what == 'mixed' and offset % (4 * MIB) == 0):
                os.posix_fadvise(fd, offset, MIB, os.POSIX_FADV_DONTNEED)
            os.pread(fd, MIB, offset)
    read()
    forever(read)
if what in ('dirty', 'clean'):
    fd = os.open(path, os.O_RDWR)
    def write():
        if what == 'dirty':
            os.pwrite(fd, b'x' * (4 * MIB), 0)
        time.sleep(0.01)
    os.fsync(fd)
    forever(write)
if what == 'compute':
    forever(lambda: sum(range(10000)))
if what == 'sleep':
    forever(lambda: time.sleep(60))
if what == 'mmap':
    fd = os.open(path, os.O_RDONLY)
    mapped = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
    forever(lambda: sum(mapped[at] for at in range(0, len(mapped), 4096)))
if what == 'pipe':
    out, into = os.pipe()
    def pass_on():
        os.write(into, b'x' * 65536)
        os.read(out, 65536)
    forever(pass_on)
if what == 'children':
    def start():
        with open(path) as file, open('/dev/null', 'w') as null:
            subprocess.run(['cat'], stdin=file, stdout=null)
    forever(start)
if what == 'orphans':
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    def start():
        subprocess.Popen(['sleep', '0.2'], stdin=subprocess.DEVNULL)
        time.sleep(0.3)
    forever(start)
if what == 'ends':
    ready()
    time.sleep(1)
if what == 'thread':
    threading.Thread(target=lambda: forever(lambda: time.sleep(60))).start()
"#;

/// A program that runs until this is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

/// A directory with a file of this size, and Python.
struct Stage {
    sandbox: Sandbox,
    file: PathBuf,
}

impl Stage {
    /// `None`, which is reported for `test`, without Python.
    fn with_file(test: &str, mib: usize) -> Option<Stage> {
        let python = Command::new("python3").arg("--version").stdout(Stdio::null()).status();
        if !python.is_ok_and(|status| status.success()) {
            skip(test, "python3 is not installed");
            return None;
        }
        let sandbox = Sandbox::new();
        let file = sandbox.path("data");
        let data: Vec<u8> = (0..mib << 20).map(|at| (at % 251) as u8).collect();
        std::fs::write(&file, data).unwrap();
        std::fs::File::open(&file).unwrap().sync_all().unwrap();
        Some(Stage { sandbox, file })
    }

    /// Starts a program, and waits until it has begun.
    fn start(&self, what: &str) -> Program {
        let ready = self.sandbox.path("data.ready");
        let _ = std::fs::remove_file(&ready);
        let mut command = Command::new("python3");
        command.args(["-c", PROGRAMS, what, argument(&self.file)]).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let program = Program(command.spawn().unwrap());
        wait_for("the program's beginning", || ready.exists().then_some(()));
        program
    }

    /// What is said of a program, as JSON.
    fn judge(&self, program: &Program, time: &str) -> Value {
        self.json(&["judge", "--pid", &program.pid(), "--for", time, "--json"])
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.sandbox.plainly(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        serde_json::from_str(&text(&output.stdout)).unwrap()
    }
}

fn has(json: &Value, code: &str) -> bool {
    json["findings"].as_array().unwrap().iter().any(|finding| finding["code"] == code)
}

fn bytes(json: &Value, pointer: &str) -> u64 {
    json.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer}: {json:#}"))
}

fn decision<'a>(json: &'a Value, by: &str) -> &'a str {
    let bounds = json["bounds"].as_array().unwrap();
    bounds.iter().find(|bound| bound["by"] == by).unwrap()["decision"].as_str().unwrap()
}

#[test]
fn reads_from_the_page_cache_are_told_from_reads_from_a_device() {
    let test = "reads_from_the_page_cache_are_told_from_reads_from_a_device";
    let Some(stage) = Stage::with_file(test, 16) else { return };
    if !stage.sandbox.is_on_disk(test) {
        return;
    }
    tried(|| {
        let json = stage.judge(&stage.start("warm"), "1s");
        assert_eq!(json["reads"]["by"], "no-device", "{json:#}");
        assert!(json["reads"]["cached_share_least"].as_f64().unwrap() >= 0.99, "{json:#}");
        assert!(bytes(&json, "/reads/asked_bytes") >= 16 << 20);
        assert!(!has(&json, "AskedUnknown") && !has(&json, "OtherSources"), "{json:#}");
        let file = &json["open"]["files"][0];
        assert_eq!(file["path"]["text"], argument(&stage.file));
        assert_eq!(file["after"]["cached"], 4096, "{json:#}");
    });
    tried(|| {
        let json = stage.judge(&stage.start("cold"), "1s");
        let (asked, device) =
            (bytes(&json, "/reads/asked_bytes"), bytes(&json, "/reads/device_bytes"));
        assert!(device as f64 >= 0.99 * asked as f64, "{device} of {asked}: {json:#}");
        assert_eq!(json["reads"]["by"], "device", "{json:#}");
        assert!(!has(&json, "CountersDisagree"), "{json:#}");
    });
    tried(|| {
        let json = stage.judge(&stage.start("mixed"), "2s");
        assert_eq!(json["reads"]["by"], "some-device", "{json:#}");
        let share = json["reads"]["cached_share_least"].as_f64().unwrap();
        assert!((0.65..0.85).contains(&share), "3 of 4 are cached: {share}");
    });
}

/// Where the OS counts waits for devices; restored on drop.
const COUNTS: &str = "/proc/sys/kernel/task_delayacct";

/// A setting of the OS that was changed.
struct Changed(String);

impl Drop for Changed {
    fn drop(&mut self) {
        let _ = std::fs::write(COUNTS, &self.0);
    }
}

/// A program that began before the OS was told to count has no count: its waits are unknown, not 0.
#[test]
fn waits_for_devices_are_told_of_programs_that_the_os_counts() {
    let test = "waits_for_devices_are_told_of_programs_that_the_os_counts";
    let Some(stage) = Stage::with_file(test, 16) else { return };
    if !stage.sandbox.is_on_disk(test) {
        return;
    }
    let before = std::fs::read_to_string(COUNTS).unwrap_or_default();
    if before.trim() != "0" {
        skip(test, &format!("{COUNTS} is '{}', not 0", before.trim()));
        return;
    }
    let early = stage.start("cold");
    let changed = Changed(before);
    if let Err(error) = std::fs::write(COUNTS, "1") {
        skip(test, &format!("{COUNTS}: {error}"));
        return;
    }
    let waits = |program: &Program| {
        let json = stage.judge(program, "2s");
        assert!(bytes(&json, "/whole/read_bytes") > 0, "{json:#}");
        assert_eq!(json["counts_device_waits"], true, "{json:#}");
        (json["whole"]["device_wait_ns"].clone(), json["time"]["device_waiters"].clone())
    };
    assert_eq!(waits(&early), (Value::Null, Value::Null));
    tried(|| {
        let (wait_ns, waiters) = waits(&stage.start("cold"));
        assert!(wait_ns.as_u64() > Some(0) && waiters.as_f64() > Some(0.0), "{wait_ns}");
    });
    drop(changed);
    let json = stage.judge(&stage.start("cold"), "500ms");
    assert_eq!(
        (&json["counts_device_waits"], &json["time"]["device_waiters"]),
        (&false.into(), &Value::Null)
    );
}

#[test]
fn dirty_pages_of_open_files_are_seen() {
    let test = "dirty_pages_of_open_files_are_seen";
    let Some(stage) = Stage::with_file(test, 4) else { return };
    if !stage.sandbox.is_on_disk(test) {
        return;
    }
    tried(|| {
        let json = stage.judge(&stage.start("dirty"), "500ms");
        assert!(has(&json, "DirtyFiles"), "{json:#}");
        assert!(bytes(&json, "/dirty_bytes") >= 1 << 20, "{json:#}");
        assert!(bytes(&json, "/whole/write_call_bytes") >= 4 << 20, "{json:#}");
    });
    tried(|| {
        std::fs::File::open(&stage.file).unwrap().sync_all().unwrap();
        let json = stage.judge(&stage.start("clean"), "500ms");
        assert!(!has(&json, "DirtyFiles"), "{json:#}");
        assert_eq!(json["dirty_bytes"], 0, "{json:#}");
    });
}

/// On a busy machine, who computes does not get a processor: then others bound it.
#[test]
fn computing_is_told_from_sleeping() {
    let test = "computing_is_told_from_sleeping";
    let Some(stage) = Stage::with_file(test, 1) else { return };
    tried(|| {
        let json = stage.judge(&stage.start("compute"), "2s");
        let decisions = ["computing", "other-programs"].map(|by| decision(&json, by));
        assert!(decisions.contains(&"yes"), "{json:#}");
        assert_ne!(decision(&json, "device"), "yes");
        assert_eq!(json["reads"]["by"], "nothing");
    });
    let sleeper = stage.start("sleep");
    let json = stage.judge(&sleeper, "2s");
    let bounds = json["bounds"].as_array().unwrap();
    assert!(bounds.iter().all(|bound| bound["decision"] == "no"), "{json:#}");
    assert_eq!(json["time"]["asleep"], 1.0, "{json:#}");
    let said = stage.sandbox.says(&["judge", "--pid", &sleeper.pid(), "--for", "1s"]);
    assert!(said.contains("which is unknown"), "{said}");
}

#[test]
fn what_calls_do_not_count_leaves_the_bytes_asked_for_unknown() {
    let test = "what_calls_do_not_count_leaves_the_bytes_asked_for_unknown";
    let Some(stage) = Stage::with_file(test, 16) else { return };
    let json = stage.judge(&stage.start("mmap"), "500ms");
    assert!(has(&json, "AskedUnknown"), "{json:#}");
    assert_eq!(json["open"]["files"][0]["mapped"], true, "{json:#}");
    assert_eq!(
        (&json["reads"]["asked_bytes"], &json["reads"]["cached_share_least"]),
        (&Value::Null, &Value::Null)
    );
    let json = stage.judge(&stage.start("pipe"), "500ms");
    assert!(has(&json, "OtherSources") && !has(&json, "AskedUnknown"), "{json:#}");
    assert_eq!(json["reads"]["cached_share_least"], Value::Null);
}

#[test]
fn rings_and_asynchronous_reads_of_fio_are_seen() {
    let test = "rings_and_asynchronous_reads_of_fio_are_seen";
    let Some(stage) = Stage::with_file(test, 16) else { return };
    if Command::new("fio").arg("--version").stdout(Stdio::null()).status().is_err() {
        return skip(test, "fio is not installed");
    }
    for (engine, field) in [("io_uring", "rings"), ("libaio", "aio")] {
        let mut fio = stage.sandbox.start("fio");
        fio.args(["--name=x", "--rw=read", "--bs=64k", "--time_based", "--runtime=600"]);
        // A job that is a process would outlive the one that is killed.
        fio.args([
            "--thread",
            &format!("--ioengine={engine}"),
            &format!("--filename={}", argument(&stage.file)),
        ]);
        let mut fio = Program(fio.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        // Its job starts later, if it can: some sandboxes have no rings.
        let open = wait_for("the file's opening", || {
            if fio.0.try_wait().unwrap().is_some() {
                return Some(None);
            }
            let json = stage.judge(&fio, "200ms");
            let files = json["open"]["files"].as_array().unwrap();
            let is_open = files.iter().any(|file| file["path"]["text"] == argument(&stage.file));
            is_open.then_some(Some(json))
        });
        let Some(_) = open else {
            skip(test, &format!("fio cannot use {engine} here"));
            continue;
        };
        let json = stage.judge(&fio, "1s");
        assert!(bytes(&json, &format!("/open/{field}")) > 0, "{json:#}");
        assert!(has(&json, "AskedUnknown"), "{json:#}");
        assert_eq!(json["reads"]["asked_bytes"], Value::Null);
    }
}

#[test]
fn the_bytes_of_children_that_ended_are_counted_or_said_to_be_lost() {
    let test = "the_bytes_of_children_that_ended_are_counted_or_said_to_be_lost";
    let Some(stage) = Stage::with_file(test, 16) else { return };
    let json = stage.judge(&stage.start("children"), "3s");
    assert_eq!(json["whole"]["lost"], 0, "{json:#}");
    assert!(!has(&json, "BytesLost"));
    assert!(bytes(&json, "/whole/read_call_bytes") >= 16 << 20, "{json:#}");
    let json = stage.judge(&stage.start("orphans"), "3s");
    assert!(has(&json, "BytesLost"), "{json:#}");
    assert_eq!(json["reads"]["by"], "unseen", "{json:#}");
}

#[test]
fn a_program_that_ends_is_reported_until_then() {
    let Some(stage) = Stage::with_file("a_program_that_ends_is_reported_until_then", 1) else {
        return;
    };
    let program = stage.start("ends");
    let json = stage.judge(&program, "600s");
    assert_eq!(json["ending"], "ended");
    assert!(bytes(&json, "/whole/at_ns") < 600_000_000_000);
    // It has ended, but nobody has waited for it.
    let args = ["judge", "--pid", &program.pid()];
    check_refusal(&stage.sandbox.plainly(&args), &["has ended already"]);
}

#[test]
fn what_cannot_be_watched_is_refused_with_what_to_do() {
    let test = "what_cannot_be_watched_is_refused_with_what_to_do";
    let Some(stage) = Stage::with_file(test, 1) else { return };
    let sandbox = &stage.sandbox;
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    sandbox.refuses(&["judge", "--pid", &gone.id().to_string()], &["no process", "ps -e"]);
    sandbox.refuses(&["judge", "--pid", "0"], &["--pid"]);
    let program = stage.start("thread");
    let tasks = std::fs::read_dir(format!("/proc/{}/task", program.pid())).unwrap();
    let mut tasks = tasks.map(|task| task.unwrap().file_name().into_string().unwrap());
    let thread = tasks.find(|task| *task != program.pid()).unwrap();
    let of = format!("is a thread of process {}", program.pid());
    sandbox.refuses(&["judge", "--pid", &thread], &[&of]);
    let pid = program.pid();
    sandbox.refuses(&["judge", "--pid", &pid, "--cache", "warm"], &["--cache"]);
    sandbox.refuses(&["judge", "--pid", &pid, "--rounds", "3"], &["--rounds"]);
    sandbox.refuses(&["judge", "--pid", &pid, "--csv"], &["--csv", "--json"]);
    sandbox.refuses(&["judge", "--pid", &pid, "--for", "1ms"], &["100ms"]);
    sandbox.refuses(&["judge", "--pid", &pid, "--cgroup", "x"], &["--cgroup"]);
    for of_commands in ["--fail-if=time > 5%", "--resume=x", "--every=1s"] {
        sandbox.refuses(&["judge", "--pid", &pid, of_commands], &["cannot be used with"]);
    }
    let own = format!("exec {PROGRAM} judge --pid $$");
    let output = sandbox.start("sh").args(["-c", &own]).output().unwrap();
    check_refusal(&output, &["is ioassay itself"]);
    if !std::path::Path::new("/sys/fs/cgroup").exists() {
        return skip(test, "no control groups are mounted");
    }
    sandbox.refuses(&["judge", "--cgroup", "no-such-unit"], &["control group"]);
}

/// Process 1 is on every machine, and belongs to root.
#[test]
fn what_belongs_to_another_user_is_said_to_be_hidden() {
    let test = "what_belongs_to_another_user_is_said_to_be_hidden";
    let Some(stage) = Stage::with_file(test, 1) else { return };
    let output = stage.sandbox.plainly(&["judge", "--pid", "1", "--for", "200ms", "--json"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    if !rustix::process::geteuid().is_root() {
        return skip(test, "only root can start a program as nobody");
    }
    let program = stage.start("warm");
    let copy = tempfile::Builder::new().tempdir_in("/tmp").unwrap();
    let place = copy.path().join("ioassay");
    install_copy(Path::new(PROGRAM), &place);
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(copy.path(), open).unwrap();
    let mut nobody = Command::new("setpriv");
    nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(place);
    nobody.args(["judge", "--pid", &program.pid(), "--for", "300ms", "--json"]);
    let Ok(output) = nobody.current_dir("/").output() else {
        return skip(test, "setpriv is not installed");
    };
    check_reason(&output, 1, "hidden");
    let json: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(json["reads"]["by"], "unseen", "{json:#}");
    assert_eq!(json["whole"]["read_bytes"], Value::Null, "{json:#}");
    assert!(has(&json, "BytesHidden") && !json["time"]["processors"].is_null(), "{json:#}");
    assert_eq!(json["subject"]["process"]["other_user"], "user 0");
}

#[test]
fn a_record_shows_the_same_again() {
    let Some(stage) = Stage::with_file("a_record_shows_the_same_again", 1) else { return };
    let program = stage.start("warm");
    let record = stage.sandbox.path("r.jsonl");
    let args = ["judge", "--pid", &program.pid(), "--for", "1s", "--json", "--record", "r.jsonl"];
    let json = stage.json(&args);
    assert_eq!(stage.json(&["report", argument(&record), "--json"]), json);
    let page = stage.sandbox.path("page.html");
    let args = ["report", "r.jsonl", "--html", argument(&page)];
    assert!(stage.sandbox.says(&args).contains("that its calls read"));
    assert!(std::fs::read_to_string(&page).unwrap().contains("running-over-time"));
    check_refusal(
        &stage.sandbox.plainly(&["judge", "--pid", &program.pid(), "--record", "r.jsonl"]),
        &["r.jsonl"],
    );
}

/// A control group is found by its name, and has the processes below it.
#[test]
fn a_control_group_is_found_by_its_name() {
    let test = "a_control_group_is_found_by_its_name";
    let Some(stage) = Stage::with_file(test, 4) else { return };
    let program = stage.start("warm");
    let name = format!("ioassay-test-{}", program.pid());
    let points =
        ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/blkio"].map(PathBuf::from);
    let made = points.iter().map(|point| point.join(&name)).find(|group| {
        let has_procs = || group.join("cgroup.procs").exists();
        std::fs::create_dir(group).is_ok() && has_procs()
    });
    let Some(group) = made else { return skip(test, "no control group can be made here") };
    std::fs::write(group.join("cgroup.procs"), program.pid()).unwrap();
    let json = stage.json(&["judge", "--cgroup", &name, "--for", "500ms", "--json"]);
    let by_path = stage.json(&["judge", "--cgroup", argument(&group), "--for", "200ms", "--json"]);
    drop(program);
    let empty = stage.sandbox.plainly(&["judge", "--cgroup", &name]);
    wait_for("the group's end", || std::fs::remove_dir(&group).is_ok().then_some(()));
    assert_eq!(json["subject"]["group"]["path"], format!("/{name}"), "{json:#}");
    assert_eq!(json["whole"]["processes"], 1, "{json:#}");
    assert_eq!(by_path["subject"], json["subject"]);
    assert!(bytes(&json, "/whole/read_call_bytes") >= 4 << 20, "{json:#}");
    check_refusal(&empty, &["no process is in the control group"]);
}

/// PostgreSQL as the user `postgres`, in a folder of its own.
struct Server {
    folder: tempfile::TempDir,
    programs: PathBuf,
}

impl Server {
    /// `None`, which is reported for `test`, without root or PostgreSQL.
    fn start(test: &str) -> Option<Server> {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut all = versions.map(|version| version.path().join("bin"));
        let programs = all.find(|it| it.join("initdb").exists() && it.join("pgbench").exists());
        let (Some(programs), true) = (programs, rustix::process::geteuid().is_root()) else {
            skip(test, "it needs root, and PostgreSQL with pgbench");
            return None;
        };
        let folder = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap();
        let server = Server { folder, programs };
        let at = argument(server.folder.path());
        let owned = Command::new("chown").args(["postgres", at]).status().unwrap();
        assert!(owned.success());
        server.run("initdb", &["-D", &format!("{at}/db"), "-A", "trust"]);
        let options = format!("-k {at} -c listen_addresses= -c shared_buffers=1MB");
        let (data, log) = (format!("{at}/db"), format!("{at}/log"));
        server.run("pg_ctl", &["-D", &data, "-o", &options, "-l", &log, "-w", "start"]);
        server.run("createdb", &["b"]);
        server.run("pgbench", &["-i", "-q", "-s", "1", "b"]);
        Some(server)
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
        command.arg(self.programs.join(program)).args(args).current_dir("/");
        command.env("PGHOST", self.folder.path()).env("PGUSER", "postgres");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn run(&self, program: &str, args: &[&str]) -> String {
        let output = self.command(program, args).stdout(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{program} {args:?}: {output:?}");
        text(&output.stdout)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.folder.path().join("db");
        let args = ["-D", argument(&data), "-m", "immediate", "stop"];
        let _ = self.command("pg_ctl", &args).stdout(Stdio::null()).status();
    }
}

/// PostgreSQL's own hit ratio says nothing of the page cache below it: what it calls reads come
/// from there.
#[test]
fn what_postgresql_calls_reads_may_come_from_no_device() {
    let test = "what_postgresql_calls_reads_may_come_from_no_device";
    let Some(stage) = Stage::with_file(test, 1) else { return };
    let Some(server) = Server::start(test) else { return };
    let pid = std::fs::read_to_string(server.folder.path().join("db/postmaster.pid")).unwrap();
    let pid = pid.lines().next().unwrap();
    let args = ["-S", "-n", "-c", "2", "-T", "600", "b"];
    let _load = Program(server.command("pgbench", &args).spawn().unwrap());
    tried(|| {
        let json = stage.json(&["judge", "--pid", pid, "--for", "3s", "--json"]);
        assert!(bytes(&json, "/whole/processes") >= 4, "{json:#}");
        assert!(bytes(&json, "/reads/asked_bytes") >= 1 << 20, "{json:#}");
        assert_eq!(json["reads"]["by"], "no-device", "{json:#}");
        assert!(has(&json, "OtherSources"), "its clients' sockets: {json:#}");
        let files = json["open"]["files"].as_array().unwrap();
        let is_table = |file: &&Value| file["path"]["text"].as_str().unwrap().contains("/base/");
        let table = files.iter().find(is_table).unwrap();
        assert_eq!(table["after"]["cached"], table["after"]["pages"], "{table}");
    });
    let asks = "select blks_read from pg_stat_database where datname = 'b'";
    let read = wait_for("PostgreSQL's own count", || {
        let count: u64 = server.run("psql", &["-d", "b", "-Atc", asks]).trim().parse().unwrap();
        (count > 1000).then_some(count)
    });
    assert!(read > 1000, "it calls them reads");
}

/// Ctrl-C ends the watching, and never the program.
#[test]
fn what_was_seen_until_a_signal_is_told() {
    let Some(stage) = Stage::with_file("what_was_seen_until_a_signal_is_told", 1) else { return };
    let mut program = stage.start("sleep");
    let record = stage.sandbox.path("r.jsonl");
    let mut command = stage.sandbox.start(PROGRAM);
    command.args(["judge", "--pid", &program.pid(), "--json", "--for", "600s"]);
    command.args(["--record", argument(&record)]).stdout(Stdio::piped());
    let watching = command.spawn().unwrap();
    // It has its first interval, and so its handlers.
    let has_begun = || std::fs::read_to_string(&record).is_ok_and(|it| it.contains("interval"));
    wait_for("the first interval", || has_begun().then_some(()));
    let pid = rustix::process::Pid::from_raw(watching.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = watching.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let json: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(json["ending"], "stopped");
    assert!(program.0.try_wait().unwrap().is_none(), "the program goes on");
}
