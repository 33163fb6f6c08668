//! An emulated machine: starts it, runs its scenarios and collects their results.

use super::image::{Images, SERIALS};
use super::kernel;
use super::scenario::{Machine, Scenario, ScenarioResult};
use crate::arch::Arch;
use crate::programs::{Running, last_lines, lossy};
use crate::waiting::within;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use xshell::{Shell, cmd};

/// The guest's first process.
const INIT: &str = include_str!("init.sh");
/// The script that it runs on the root image.
const START: &str = include_str!("start.sh");
/// The recipe that covers everything: warm, cold, direct and durable.
const SMALL: &str = include_str!("small.toml");

/// The survey: small, because an emulated machine is slow, but of as many rounds as an interval
/// needs, without which nothing is known to bound the disk.
const SURVEY: &str = "run survey . --size 8MiB --rounds 7 --invocations 1 --time 20ms";

/// A scenario, or a survey in it, that takes longer counts as hung.
const LONGEST: Duration = Duration::from_secs(300);
/// A kernel prints something within seconds, even on a busy host.
const SILENT: Duration = Duration::from_secs(120);
/// How long a helper may take to start.
const HELPER: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);
/// How often a machine that did not boot is started again.
const RETRIES: u32 = 2;
/// How many lines of its console are printed then.
const CONSOLE_LINES: usize = 12;
/// Size of the disk for results, in MiB.
const OUT: u64 = 64;

/// The result of a machine.
#[derive(Debug)]
pub(super) struct Booted {
    /// Its kernel's release.
    pub(super) release: String,
    /// How long it ran, in seconds.
    pub(super) seconds: f64,
    /// The results of its scenarios, in order.
    pub(super) ran: Vec<ScenarioResult>,
}

impl Booted {
    /// The result of a machine that returned nothing: all its scenarios fail.
    pub(super) fn failed(machine: &Machine, error: &anyhow::Error) -> Booted {
        let failed =
            |_: &Scenario| ScenarioResult { asserted: 0, wrong: vec![format!("{error:#}")] };
        Booted {
            release: machine.kernel.clone(),
            seconds: 0.0,
            ran: machine.scenario.iter().map(failed).collect(),
        }
    }
}

/// Runs the scenarios of `machine`. Keeps the guest's console and results in `out`.
///
/// # Errors
/// If the machine cannot start, hangs or returns nothing.
pub(super) fn run(
    machine: &Machine,
    images: &Images,
    program: &Path,
    out: &Path,
) -> Result<Booted> {
    // About one in a hundred emulators hangs before its kernel prints, or the kernel panics during
    // boot. Retry twice: a kernel that ioassay broke would fail again.
    let mut tries = 0;
    loop {
        match run_once(machine, images, program, out) {
            Err(error) if tries < RETRIES => {
                tries += 1;
                let console = fs::read(out.join("console.txt")).unwrap_or_default();
                let last = last_lines(&lossy(&console), CONSOLE_LINES);
                println!("{}: retrying: {error:#}\n{last}", machine.scenario[0].name);
            }
            booted => return booted,
        }
    }
}

fn run_once(machine: &Machine, images: &Images, program: &Path, out: &Path) -> Result<Booted> {
    let _ = fs::remove_dir_all(out);
    fs::create_dir_all(out)?;
    let work = TempDir::new_in(&images.folder)?;
    fs::create_dir(work.path().join("share"))?;
    pack(machine, images, program, work.path())?;
    let began = Instant::now();
    let log = File::create(out.join("qemu.txt"))?;
    let helper = helper(machine, work.path(), &log)?;
    let mut qemu = command(machine, images, work.path(), out)?;
    qemu.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    let qemu = Running::start(qemu)?;
    let surveys = machine.scenario.iter().filter(|one| !one.bottleneck.is_empty()).count();
    let longest = LONGEST * u32::try_from(machine.scenario.len() + surveys)?;
    let waited = wait(qemu, longest, &out.join("console.txt"));
    drop(helper);
    let seconds = began.elapsed().as_secs_f64();
    waited?;
    let shell = Shell::new()?;
    let image = work.path().join("out.img");
    let unpacked = cmd!(shell, "tar -xf {image} -C {out}").quiet().ignore_stderr().run();
    unpacked.with_context(|| {
        format!("the guest returned no results: see {}", out.join("console.txt").display())
    })?;
    let release =
        fs::read_to_string(out.join("release")).context("the guest did not report its kernel")?;
    let ran = machine.scenario.iter().map(|scenario| judge(scenario, &out.join(&scenario.name)));
    Ok(Booted { release: release.trim().to_owned(), seconds, ran: ran.collect() })
}

/// Compares the results with the expectations.
fn judge(scenario: &Scenario, out: &Path) -> ScenarioResult {
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_default();
    let report: Value = serde_json::from_str(&read("report.json")).unwrap_or(Value::Null);
    let errors = read("errors");
    let mut checked = scenario.check(&report, &errors);
    let said: Vec<String> = (0..scenario.tools.len()).map(|index| read(&tool(index))).collect();
    scenario.check_tools(&report, &said, &mut checked);
    scenario.check_survey(&read("survey"), &mut checked);
    let (status, expected) = (read("status"), scenario.status.to_string());
    checked.hold(status.trim() == expected, || {
        format!("the exit status is {}, not {expected}: {}", status.trim(), errors.trim())
    });
    checked
}

/// The name of the file of another tool's command, and of what it printed.
fn tool(index: usize) -> String {
    format!("tool-{index}")
}

/// Starts the machine's helper and waits for its socket.
fn helper(machine: &Machine, work: &Path, log: &File) -> Result<Option<Running>> {
    let [program, arguments @ ..] = &machine.helper[..] else { return Ok(None) };
    let folder = work.display().to_string();
    let arguments = arguments.iter().map(|word| word.replace("{folder}", &folder));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(work).stdin(Stdio::null());
    command.stdout(log.try_clone()?).stderr(log.try_clone()?);
    let helper = Running::start(command)?;
    let started = within(HELPER, || work.join("helper.sock").exists().then_some(()));
    started.with_context(|| format!("{program} did not create its socket"))?;
    Ok(Some(helper))
}

/// Waits until the guest powers off.
fn wait(mut qemu: Running, longest: Duration, console: &Path) -> Result<()> {
    let began = Instant::now();
    let is_silent = || fs::metadata(console).is_ok_and(|console| console.len() == 0);
    loop {
        match qemu.0.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => bail!("QEMU ended with {status}"),
            None if began.elapsed() > SILENT && is_silent() => {
                bail!("the guest printed nothing in {} s", SILENT.as_secs())
            }
            None if began.elapsed() > longest => {
                bail!("the guest did not end in {} s: see {}", longest.as_secs(), console.display())
            }
            None => std::thread::sleep(PAUSE),
        }
    }
}

/// Appends the program and the scenarios to the kernel's initramfs.
fn pack(machine: &Machine, images: &Images, program: &Path, work: &Path) -> Result<()> {
    let job = work.join("job");
    fs::create_dir(&job)?;
    fs::copy(program, job.join("ioassay"))?;
    fs::write(work.join("init"), INIT)?;
    fs::write(job.join("start"), START)?;
    fs::write(job.join("small.toml"), SMALL)?;
    fs::write(job.join("modules"), machine.modules.join("\n"))?;
    let names = machine.scenario.iter().map(|scenario| scenario.name.as_str());
    fs::write(job.join("scenarios"), names.collect::<Vec<&str>>().join("\n"))?;
    for scenario in &machine.scenario {
        let own = job.join(&scenario.name);
        fs::create_dir(&own)?;
        fs::write(own.join("prepare"), &scenario.prepare)?;
        fs::write(own.join("run"), &scenario.run)?;
        if !scenario.bottleneck.is_empty() {
            fs::write(own.join("survey"), SURVEY)?;
        }
        fs::create_dir(own.join("tools"))?;
        for (index, command) in scenario.tools.values().enumerate() {
            fs::write(own.join("tools").join(tool(index)), command)?;
        }
    }
    let shell = Shell::new()?;
    shell.change_dir(work);
    let initrd = images.initrd(&machine.kernel);
    let script = "chmod +x init job/start job/ioassay; cp \"$1\" initrd; \
                  find init job | busybox cpio -o -H newc 2>/dev/null >> initrd";
    cmd!(shell, "bash -e -o pipefail -c {script} pack {initrd}").quiet().run()?;
    Ok(())
}

/// QEMU's command line. It does not use KVM, which not every machine has and which would limit it
/// to one processor architecture.
fn command(machine: &Machine, images: &Images, work: &Path, out: &Path) -> Result<Command> {
    let kernel = kernel::named(&machine.kernel).context("the kernel is known")?;
    let (board, console) = match kernel.arch {
        Arch::Amd64 => ("q35", "ttyS0"),
        Arch::Arm64 => ("virt,gic-version=3", "ttyAMA0"),
    };
    let mut qemu = Command::new(format!("qemu-system-{}", kernel.arch.name()));
    qemu.current_dir(work);
    qemu.args(["-nodefaults", "-no-reboot", "-display", "none", "-M", board]);
    qemu.args(["-accel", "tcg,thread=multi", "-cpu", &machine.cpu]);
    qemu.args(["-smp", &machine.processors.to_string(), "-m", &machine.memory.to_string()]);
    qemu.arg("-kernel").arg(images.kernel(&machine.kernel)).args(["-initrd", "initrd"]);
    // On a busy host the timer ticks late, and without this option the kernel would panic.
    let usual = format!("console={console} quiet panic=-1 loglevel=4 no_timer_check");
    qemu.args(["-append", &format!("{usual} {}", machine.append)]);
    qemu.arg("-serial").arg(format!("file:{}", out.join("console.txt").display()));
    let results = work.join("out.img");
    File::create(&results)?.set_len(OUT << 20)?;
    let modules = images.modules(&machine.kernel);
    let own = [(images.root(kernel.arch), true), (modules, true), (results, false)];
    for (index, ((path, is_read), serial)) in own.iter().zip(SERIALS).enumerate() {
        let read_only = if *is_read { "on" } else { "off" };
        qemu.arg("-drive").arg(format!(
            "if=none,id=own{index},file={},format=raw,readonly={read_only},file.locking=off",
            path.display()
        ));
        let slot = 0x10 + index;
        qemu.arg("-device").arg(format!(
            "virtio-blk-pci,drive=own{index},serial={},bus=pcie.0,addr=0x{slot:x}",
            serial
        ));
    }
    for (index, size) in machine.disks.iter().enumerate() {
        let path = work.join(format!("disk{index}.img"));
        File::create(&path)?.set_len(u64::from(*size) << 20)?;
        let path = path.display();
        qemu.arg("-drive").arg(format!("if=none,id=disk{index},file={path},format=raw"));
    }
    for device in &machine.devices {
        qemu.args(["-device", device]);
    }
    qemu.args(&machine.qemu);
    Ok(qemu)
}
