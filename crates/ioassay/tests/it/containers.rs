//! Containers: under the restrictions of Docker and Podman, runs go to their end and say what they
//! could not see.
//!
//! bubblewrap makes the containers: namespaces, a user without a name, a read-only root, no home,
//! masked files and a filter of system calls.

use crate::honesty::plant::{Group, Limit, tried};
use crate::mounts::{self, Mounted};
use crate::sandbox::{PROGRAM, Sandbox, argument, check_refusal, skip, text};
use libc::c_long;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// What Docker's default profile forbids without capabilities, and ioassay or a library might call
/// (<https://github.com/moby/profiles/blob/main/seccomp/default.json>).
const FORBIDDEN: [c_long; 35] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    SYS_CACHESTAT,
    libc::SYS_get_mempolicy,
    libc::SYS_set_mempolicy,
    libc::SYS_mbind,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_perf_event_open,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_sethostname,
    libc::SYS_syslog,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_clock_settime,
    libc::SYS_reboot,
];

/// cachestat(2), which profiles do not know yet. Its number is the same on all architectures.
const SYS_CACHESTAT: c_long = 451;

/// A container, and what a survey says in it.
struct Shape {
    name: &'static str,
    /// The answer to a forbidden system call: Docker's is `EPERM`. runc and crun answer `ENOSYS` to
    /// calls that are newer than the profile.
    answer: i32,
    /// What is forbidden besides.
    also: &'static [c_long],
    /// Options of bwrap that differ from [`USUAL`], and come after them.
    options: &'static [&'static str],
    /// What is mounted at `/data`, which is measured.
    data: Data,
    /// What serves cases of a cache state; one that is not listed must be skipped.
    served: &'static [(&'static str, &'static str)],
    /// What is said, besides that the record is not kept.
    says: &'static [&'static str],
}

#[derive(Clone, Copy)]
enum Data {
    /// A directory of a disk of the host.
    Volume,
    /// The container's own layer, an overlay.
    Layer,
    /// A file system in memory.
    Memory,
}

/// Docker's defaults and a volume. The other rows say what differs.
const DOCKER: Shape = Shape {
    name: "Docker",
    answer: libc::EPERM,
    also: &[],
    options: &[],
    data: Data::Volume,
    served: &[("warm", "page-cache"), ("cold", "device"), ("direct", "device")],
    says: &[
        "io_uring is refused here (io_uring_setup: Operation not permitted",
        "threads of pread measure the device",
        "cachestat is refused (Operation not permitted (os error 1)): using mincore",
    ],
};

/// One row for each thing that a container may hide or forbid.
const SHAPES: [Shape; 9] = [
    DOCKER,
    Shape {
        // It also masks the list of block devices by number.
        name: "Podman",
        answer: libc::ENOSYS,
        options: &["--tmpfs", "/sys/dev/block"],
        says: &[
            "io_uring is refused here (io_uring_setup: Function not implemented",
            "cachestat is refused (Function not implemented (os error 38)): using mincore",
        ],
        ..DOCKER
    },
    Shape {
        name: "nothing tells what is cached",
        also: &[libc::SYS_mincore],
        served: &[("direct", "device")],
        says: &["mincore is refused", "what is cached is unknown", "'warm' cannot be proved"],
        ..DOCKER
    },
    Shape {
        name: "no control groups",
        options: &["--tmpfs", "/sys/fs/cgroup"],
        says: &["may limit its CPU time, memory or I/O: ioassay assumes that none does"],
        ..DOCKER
    },
    Shape {
        name: "no devices",
        options: &["--tmpfs", "/sys"],
        served: &[("warm", "page-cache"), ("cold", "unverified"), ("direct", "unverified")],
        says: &[
            "its devices cannot be found in /sys",
            "the OS reports no cache size",
            "may limit its CPU time",
        ],
        ..DOCKER
    },
    Shape {
        name: "no counters",
        options: &[
            "--dev-bind",
            "/dev/null",
            "/proc/stat",
            "--dev-bind",
            "/dev/null",
            "/proc/vmstat",
            "--dev-bind",
            "/dev/null",
            "/proc/meminfo",
            "--tmpfs",
            "/proc/pressure",
        ],
        says: &["hidden here: /proc/stat (", ", /proc/vmstat (", " and /proc/meminfo ("],
        ..DOCKER
    },
    Shape {
        name: "the container's own layer",
        data: Data::Layer,
        served: &[("warm", "page-cache"), ("cold", "unverified"), ("direct", "unverified")],
        says: &["overlay: ioassay cannot reach its layers"],
        ..DOCKER
    },
    Shape {
        name: "a volume in memory",
        data: Data::Memory,
        served: &[("warm", "ram"), ("direct", "ram")],
        says: &["keeps its files in memory"],
        ..DOCKER
    },
    Shape {
        name: "root, as far as a container goes",
        options: &["--uid", "0", "--gid", "0", "--cap-add", "ALL"],
        ..DOCKER
    },
];

/// The usual options of a container. Those whose path this machine lacks are left out.
const USUAL: [&[&str]; 24] = [
    &["--unshare-user"],
    &["--unshare-pid"],
    &["--unshare-ipc"],
    &["--unshare-uts"],
    &["--unshare-net"],
    &["--die-with-parent"],
    &["--new-session"],
    &["--uid", "12345"],
    &["--gid", "12345"],
    &["--clearenv"],
    &["--setenv", "PATH", "/usr/bin"],
    &["--ro-bind", "/usr", "/usr"],
    &["--ro-bind", "/lib", "/lib"],
    &["--ro-bind", "/lib64", "/lib64"],
    &["--proc", "/proc"],
    &["--dev", "/dev"],
    &["--ro-bind", "/sys", "/sys"],
    &["--ro-bind", "/proc/sys", "/proc/sys"],
    &["--dev-bind", "/dev/null", "/proc/kcore"],
    &["--dev-bind", "/dev/null", "/proc/keys"],
    &["--dev-bind", "/dev/null", "/proc/timer_list"],
    &["--tmpfs", "/proc/acpi"],
    &["--tmpfs", "/sys/firmware"],
    &["--ro-bind", PROGRAM, "/ioassay"],
];

/// A filter in the form of bwrap's `--seccomp`: instructions of classic BPF, which answer `answer`
/// to each of `calls`. Docker answers `ENOSYS` to clone3, so that libraries try clone.
fn filter(calls: impl Iterator<Item = c_long>, answer: i32) -> Vec<u8> {
    // From linux/filter.h and linux/seccomp.h.
    const LOAD: u16 = 0x20;
    const SKIP_UNLESS: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ERROR: u32 = 0x0005_0000;
    const ALLOW: u32 = 0x7fff_0000;
    let line = |code: u16, unless: u8, value: u32| {
        [&code.to_ne_bytes()[..], &[0, unless], &value.to_ne_bytes()].concat()
    };
    let refuse = |(call, answer): (c_long, i32)| {
        let call = u32::try_from(call).expect("numbers of calls are small");
        [line(SKIP_UNLESS, 1, call), line(RETURN, 0, ERROR | answer.cast_unsigned())].concat()
    };
    let calls = calls.map(|call| (call, answer)).chain([(libc::SYS_clone3, libc::ENOSYS)]);
    // The number of the call comes first in what a filter sees.
    let mut program = line(LOAD, 0, 0);
    program.extend(calls.flat_map(refuse));
    program.extend(line(RETURN, 0, ALLOW));
    program
}

/// A container that can be run, and the directory at its `/data`.
struct Container {
    sandbox: Sandbox,
    layer: Option<Mounted>,
    options: Vec<String>,
}

impl Container {
    /// Returns `None`, and reports the skipped test, where it is impossible.
    fn new(test: &str, shape: &Shape) -> Option<Container> {
        let sandbox = Sandbox::new();
        if matches!(shape.data, Data::Volume) && !sandbox.is_on_disk(test) {
            return None;
        }
        let calls = FORBIDDEN.iter().chain(shape.also).copied();
        std::fs::write(sandbox.state().join("filter"), filter(calls, shape.answer)).unwrap();
        let mut layer = None;
        let data = match shape.data {
            Data::Volume => vec!["--bind", argument(sandbox.directory()), "/data"],
            Data::Memory => vec!["--tmpfs", "/data"],
            Data::Layer => {
                let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
                let is_root = mounts::is_root(test);
                let mounted = is_root.then(|| Mounted::overlay(directory, "rw"))?;
                let mounted = mounted.inspect_err(|reason| skip(test, reason)).ok()?;
                vec!["--bind", argument(&layer.insert(mounted).point), "/data"]
            }
        };
        let is_here = |option: &&&[&str]| match option[..] {
            [kind, path] | [kind, _, path] if kind != "--setenv" && path != "/ioassay" => {
                !path.starts_with('/') || Path::new(path).exists()
            }
            _ => true,
        };
        let usual = USUAL.iter().filter(is_here).flat_map(|option| option.iter());
        let last = ["--remount-ro", "/", "--chdir", "/data"];
        let options = usual.chain(shape.options).chain(&data).chain(&last);
        let options = options.map(|option| (*option).to_owned()).collect();
        let container = Container { sandbox, layer, options };
        let tried = container.command().arg("--version").output().unwrap();
        if !tried.status.success() {
            skip(test, &format!("bwrap: {}", text(&tried.stderr)));
            return None;
        }
        Some(container)
    }

    /// The program in the container.
    fn command(&self) -> Command {
        self.command_after("true")
    }

    /// The same, after `script` in the process that becomes the container.
    fn command_after(&self, script: &str) -> Command {
        let mut command = self.sandbox.start("sh");
        let script = format!("{script} && exec bwrap --seccomp 9 \"$@\" 9<\"$0\"");
        command.args(["-c", &script]).arg(self.sandbox.state().join("filter"));
        command.args(&self.options).arg("/ioassay");
        command
    }

    /// What is in the directory that was measured.
    fn left(&self) -> usize {
        let directory = self.layer.as_ref().map_or(self.sandbox.directory(), |it| &it.point);
        std::fs::read_dir(directory).unwrap().count()
    }
}

/// A survey of a few milliseconds a case. Its arrays are in a processor's caches, which judges no
/// memory.
const SHORT: [&str; 9] = [
    "run",
    "survey",
    ".",
    "--json",
    "--size=16MiB",
    "--time=50ms",
    "--rounds=1",
    "--invocations=1",
    "--working-set=64KiB",
];

/// The report of a run in a container: it must have gone to its end, with nothing left behind.
fn report(container: &Container, output: &Output, name: &str) -> Value {
    let errors = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{name}: {output:?}");
    assert!(!errors.contains("panicked"), "{name}: {errors}");
    assert!(errors.contains("the record of this run will not be kept"), "{name}: {errors}");
    assert_eq!(container.left(), 0, "{name}: files are left");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["end"], &report["damage"]), (&json!("complete"), &json!([])), "{name}");
    report
}

/// All notes and reasons of a report.
fn said(report: &Value) -> String {
    let lists = [&report["host"]["notes"], &report["storage"]["notes"], &report["skips"]];
    let lines = lists.iter().flat_map(|list| list.as_array().unwrap());
    lines.map(|line| line["reason"].as_str().or(line.as_str()).unwrap().to_owned() + "\n").collect()
}

/// Runs a short survey in a container of this shape.
fn check(shape: &Shape) {
    let Some(container) = Container::new(shape.name, shape) else { return };
    let output = container.command().args(SHORT).output().unwrap();
    check_report(&report(&container, &output, shape.name), shape);
}

/// Checks what a survey says, and what it says of its cases.
fn check_report(report: &Value, shape: &Shape) {
    let name = shape.name;
    let said = said(report);
    for expected in shape.says {
        assert!(said.contains(expected), "{name} does not say '{expected}': {said}");
    }
    let says = |part: &str| shape.says.iter().any(|it| it.contains(part));
    for part in ["may limit its", "hidden here", "cannot be found", "what is cached is unknown"] {
        assert!(says(part) || !said.contains(part), "{name} says '{part}': {said}");
    }
    let cases = report["cases"].as_array().unwrap();
    for case in cases {
        assert_eq!((&case["failures"], &case["n"]), (&json!([]), &json!(1)), "{name}: {case:#}");
        // Others that use the disk void a case truly.
        let is_shared = case["findings"].to_string().contains("\"Foreign\"");
        assert!(case["verdict"] != "void" || is_shared, "{name}: {case:#}");
        let cache = case["case"]["cache"].as_str().unwrap_or_default();
        if case["case"]["op"].is_null() && ["warm", "cold", "direct"].contains(&cache) {
            let found = shape.served.iter().find(|(state, _)| *state == cache);
            let (_, by) = found.unwrap_or_else(|| panic!("{name} measures {cache}: {case:#}"));
            assert_eq!(case["served_by"], *by, "{name}: {case:#}");
        }
    }
    for (cache, _) in shape.served {
        let is_measured = cases.iter().any(|case| case["case"]["cache"] == *cache);
        // Linux before 6.6 has no O_DIRECT on tmpfs.
        let is_refused = *cache == "direct" && said.contains("refuses O_DIRECT");
        assert!(is_measured || is_refused, "{name} lacks {cache}: {said}");
    }
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_survey_answers_in_containers_and_says_what_they_hide() {
    // What is beside it on the disk may serve bytes, too.
    SHAPES.iter().for_each(|shape| tried(|| check(shape)));
}

/// Half of a minute, as a user would start it.
pub(crate) fn check_quick_survey(test: &str) {
    let Some(container) = Container::new(test, &DOCKER) else { return };
    let output = container.command().args(["survey", "--quick", ".", "--json"]).output().unwrap();
    let report = report(&container, &output, DOCKER.name);
    assert_ne!(report["answer"], Value::Null, "{report:#}");
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn other_recipes_go_to_their_end_in_a_container() {
    let Some(container) = Container::new("other_recipes_go_to_their_end", &DOCKER) else { return };
    for args in [
        &["run", "read-methods", ".", "--size=1MiB", "--time=5ms"][..],
        &["run", "metadata", ".", "--entries=50", "--time=5ms"],
        // Its short trials before the run need no folder for temporary files.
        &["run", "load", ".", "--size=16MiB", "--rate=50%", "--time=300ms"],
    ] {
        let more = ["--json", "--rounds=1", "--invocations=1", "--no-ceilings"];
        let output = container.command().args(args).args(more).output().unwrap();
        report(&container, &output, args[1]);
    }
}

/// A pod's limits of one processor and 160 MiB, which count if they can be seen.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn the_limits_of_a_pod_count_and_hidden_ones_are_told() {
    let test = "the_limits_of_a_pod_count";
    const GIVEN: u64 = 160 << 20;
    let Some(cpu) = Group::new(test, Limit::Cpu(100)) else { return };
    let Some(memory) = Group::new(test, Limit::Memory(GIVEN)) else { return };
    let join = [&cpu, &memory].map(|group| format!("echo $$ >'{}'", group.procs().display()));
    let join = join.join(" && ");
    let hidden: &[&str] = &["--tmpfs", "/sys/fs/cgroup"];
    for options in [&[], hidden] {
        let Some(container) = Container::new(test, &Shape { options, ..DOCKER }) else { return };
        let is_hidden = !options.is_empty();
        let output = container.command_after(&join).args(SHORT).output().unwrap();
        let report = report(&container, &output, test);
        let host = &report["host"];
        let allowed = [&host["cpu_quota"], &host["memory_quota"], &host["parallelism"]];
        if is_hidden {
            assert_eq!(allowed, [&Value::Null, &Value::Null, &host["cores"]]);
        } else {
            assert_eq!(allowed, [&json!(1.0), &json!(GIVEN), &json!(1)]);
        }
        assert_eq!(said(&report).contains("may limit its CPU time, memory"), is_hidden);
        // What a survey of the usual size would do there.
        let plan = ["plan", "survey", ".", "--json"];
        let plan = container.command_after(&join).args(plan).output().unwrap();
        let plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
        let skips = plan["plan"]["skips"].to_string();
        let note = "a file of 256MiB cannot be warm: this control group has";
        assert_eq!(skips.contains(note), !is_hidden, "{skips}");
        assert_eq!(skips.contains("a working set of 128MiB does not fit"), !is_hidden, "{skips}");
    }
}

#[test]
fn what_a_container_forbids_is_refused_with_what_to_do() {
    let test = "what_a_container_forbids_is_refused";
    let refuse = |options, args: &[&str], expected: &[&str]| {
        let Some(container) = Container::new(test, &Shape { options, ..DOCKER }) else { return };
        let output = container.command().args(args).output().unwrap();
        check_refusal(&output, expected);
        assert_eq!(container.left(), 0);
    };
    refuse(&["--tmpfs", "/proc"], &SHORT, &["/proc is not mounted", "mount it"]);
    refuse(&[], &[&SHORT[..], &["--memory=1GiB"]].concat(), &["limit memory", "needs root"]);
    refuse(&[], &["cache", "drop"], &["not in a container", "ioassay cache evict FILE"]);
    if Path::new("/sys/devices/system/node/node0").exists() {
        let args = [&SHORT[..], &["--node=0"]].concat();
        refuse(&[], &args, &["bind memory to node 0", "--cap-add SYS_NICE"]);
    }
}

/// Podman itself, with limits. Its file system is empty: the program and its libraries are mounted.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_survey_answers_under_podman() {
    let test = "a_survey_answers_under_podman";
    if !mounts::is_root(test) {
        return;
    }
    let container = Container { sandbox: Sandbox::new(), layer: None, options: Vec::new() };
    let sandbox = &container.sandbox;
    if !sandbox.is_on_disk(test) {
        return;
    }
    let place = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = |name: &str| {
        let path = place.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path.display().to_string()
    };
    let [root, run, empty] = ["root", "run", "empty"].map(folder);
    let all = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(sandbox.directory(), all).unwrap();
    let podman = || {
        let mut command = sandbox.start("podman");
        command.args(["--root", &root, "--runroot", &run, "--storage-driver", "vfs"]);
        // crun refuses machines with both versions of control groups.
        command.args(["--cgroup-manager", "cgroupfs", "--runtime", "runc", "run", "--rm"]);
        command.args(["--network", "none", "--read-only", "--user", "12345"]);
        // Others may be more than this machine allows.
        command.args(["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"]);
        command.args(["--memory", "512m", "--cpus", "1", "-v", "/usr:/usr:ro"]);
        command.args(["-v", "/usr/lib:/lib:ro", "-v", "/usr/lib64:/lib64:ro"]);
        command.arg("-v").arg(format!("{PROGRAM}:/ioassay:ro"));
        command.arg("-v").arg(format!("{}:/data", sandbox.directory().display()));
        // By default, it is the working directory.
        command.args(["--env", "HOME=/", "--workdir", "/data"]);
        command.args(["--rootfs", &empty, "/ioassay"]);
        command
    };
    match podman().arg("--version").output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => return skip(test, &text(&output.stderr)),
        Err(error) => return skip(test, &format!("podman: {error}")),
    }
    tried(|| {
        let output = podman().args(SHORT).output().unwrap();
        let report = report(&container, &output, test);
        let says = &["io_uring is refused here", "threads of pread", "using mincore"];
        check_report(&report, &Shape { name: "podman", says, ..DOCKER });
        let host = &report["host"];
        let allowed = [&host["cpu_quota"], &host["memory_quota"], &host["parallelism"]];
        assert_eq!(allowed, [&json!(1.0), &json!(512 << 20), &json!(1)]);
    });
}
