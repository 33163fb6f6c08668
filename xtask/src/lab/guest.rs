//! One emulated machine: it starts, runs its scenarios, and hands back what came of them.

use super::image::{Images, Serial};
use super::kernel::{self, Arch};
use super::scenario::{Checked, Machine, Scenario};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use xshell::{Shell, cmd};

/// The first process of the guest.
const INIT: &str = include_str!("init.sh");
/// What it starts on the root image.
const START: &str = include_str!("start.sh");
/// The recipe that sees all: warm, cold, direct and durable.
const SMALL: &str = include_str!("small.toml");

/// A scenario that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(300);
/// A kernel prints within seconds, on a busy host too.
const SILENT: Duration = Duration::from_secs(120);
/// How long a helper may take to begin.
const HELPER: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);
/// MiB of what a guest hands back.
const OUT: u64 = 64;

/// What came of a scenario.
#[derive(Debug)]
pub(super) struct Ran {
    /// How much was asserted.
    pub(super) asserted: usize,
    /// What was not as it must be.
    pub(super) wrong: Vec<String>,
}

/// What came of a machine.
#[derive(Debug)]
pub(super) struct Booted {
    /// The release of its kernel.
    pub(super) release: String,
    /// How long it ran.
    pub(super) seconds: f64,
    /// What came of its scenarios, in their order.
    pub(super) ran: Vec<Ran>,
}

impl Booted {
    /// A machine that handed nothing back: none of its scenarios is as it must be.
    pub(super) fn failed(machine: &Machine, error: &anyhow::Error) -> Booted {
        let failed = |_: &Scenario| Ran { asserted: 0, wrong: vec![format!("{error:#}")] };
        Booted {
            release: machine.kernel.clone(),
            seconds: 0.0,
            ran: machine.scenario.iter().map(failed).collect(),
        }
    }
}

/// Runs the scenarios of `machine`, and keeps what the guest printed and handed back in `out`.
///
/// # Errors
/// When the machine cannot be started, hangs or hands nothing back.
pub(super) fn run(
    machine: &Machine,
    images: &Images,
    program: &Path,
    out: &Path,
) -> Result<Booted> {
    // One in some hundred emulators hangs before its kernel prints a word, or the kernel panics as
    // it boots. What ioassay did to a kernel it does again.
    run_once(machine, images, program, out).or_else(|error| {
        println!("{}: started again: {error:#}", machine.scenario[0].name);
        run_once(machine, images, program, out)
    })
}

fn run_once(machine: &Machine, images: &Images, program: &Path, out: &Path) -> Result<Booted> {
    let _ = fs::remove_dir_all(out);
    fs::create_dir_all(out)?;
    let work = TempDir::new_in(&images.folder)?;
    fs::create_dir(work.path().join("share"))?;
    pack(machine, images, program, work.path())?;
    let began = Instant::now();
    let log = File::create(out.join("qemu.txt"))?;
    let helper = Ended(helper(machine, work.path(), &log)?);
    let mut qemu = command(machine, images, work.path(), out)?;
    qemu.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    let qemu = Ended(Some(qemu.spawn().context("starting QEMU")?));
    let longest = LONGEST * u32::try_from(machine.scenario.len())?;
    let waited = wait(qemu, longest, &out.join("console.txt"));
    drop(helper);
    let seconds = began.elapsed().as_secs_f64();
    waited?;
    let shell = Shell::new()?;
    let image = work.path().join("out.img");
    let unpacked = cmd!(shell, "tar -xf {image} -C {out}").quiet().ignore_stderr().run();
    unpacked.with_context(|| {
        format!("the guest handed nothing back: see {}", out.join("console.txt").display())
    })?;
    let release = fs::read_to_string(out.join("release")).context("the guest names no kernel")?;
    let ran = machine.scenario.iter().map(|scenario| judge(scenario, &out.join(&scenario.name)));
    Ok(Booted { release: release.trim().to_owned(), seconds, ran: ran.collect() })
}

/// A process that is ended when this is dropped, whichever way its user leaves.
struct Ended(Option<Child>);

impl Drop for Ended {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Holds what was handed back against what must be said.
fn judge(scenario: &Scenario, out: &Path) -> Ran {
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_default();
    let report: Value = serde_json::from_str(&read("report.json")).unwrap_or(Value::Null);
    let errors = read("errors");
    let mut checked = scenario.check(&report, &errors);
    let (status, expected) = (read("status"), scenario.status.to_string());
    checked.hold(status.trim() == expected, || {
        format!("the exit status is {}, not {expected}: {}", status.trim(), errors.trim())
    });
    let Checked { asserted, wrong } = checked;
    Ran { asserted, wrong }
}

/// Starts what serves the machine, and waits for its socket.
fn helper(machine: &Machine, work: &Path, log: &File) -> Result<Option<Child>> {
    let [program, arguments @ ..] = &machine.helper[..] else { return Ok(None) };
    let folder = work.display().to_string();
    let arguments = arguments.iter().map(|word| word.replace("{folder}", &folder));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(work).stdin(Stdio::null());
    command.stdout(log.try_clone()?).stderr(log.try_clone()?);
    let mut helper = Ended(Some(command.spawn().with_context(|| format!("starting {program}"))?));
    let began = Instant::now();
    while !work.join("helper.sock").exists() {
        ensure!(began.elapsed() < HELPER, "{program} makes no socket");
        std::thread::sleep(PAUSE);
    }
    Ok(helper.0.take())
}

/// Waits for the end of the guest, which switches itself off.
fn wait(mut qemu: Ended, longest: Duration, console: &Path) -> Result<()> {
    let began = Instant::now();
    let is_silent = || fs::metadata(console).is_ok_and(|console| console.len() == 0);
    let child = qemu.0.as_mut().context("it was started")?;
    loop {
        match child.try_wait()? {
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

/// Puts the program and the scenarios behind the kernel's own initramfs.
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
    }
    let shell = Shell::new()?;
    shell.change_dir(work);
    let initrd = images.initrd(&machine.kernel);
    let script = "chmod +x init job/start job/ioassay; cp \"$1\" initrd; \
                  find init job | busybox cpio -o -H newc 2>/dev/null >> initrd";
    cmd!(shell, "bash -e -o pipefail -c {script} pack {initrd}").quiet().run()?;
    Ok(())
}

/// QEMU's command line. Without KVM, which not every machine has, and which would be one kind of
/// processor only.
fn command(machine: &Machine, images: &Images, work: &Path, out: &Path) -> Result<Command> {
    let kernel = kernel::named(&machine.kernel).context("the kernel is known")?;
    let (program, board, console) = match kernel.arch {
        Arch::Amd64 => ("qemu-system-x86_64", "q35", "ttyS0"),
        Arch::Arm64 => ("qemu-system-aarch64", "virt,gic-version=3", "ttyAMA0"),
    };
    let mut qemu = Command::new(program);
    qemu.current_dir(work);
    qemu.args(["-nodefaults", "-no-reboot", "-display", "none", "-M", board]);
    qemu.args(["-accel", "tcg,thread=multi", "-cpu", &machine.cpu]);
    qemu.args(["-smp", &machine.processors.to_string(), "-m", &machine.memory.to_string()]);
    qemu.arg("-kernel").arg(images.kernel(&machine.kernel)).args(["-initrd", "initrd"]);
    // On a busy host the timer ticks late, and without this the kernel would give up for it.
    let usual = format!("console={console} quiet panic=-1 loglevel=4 no_timer_check");
    qemu.args(["-append", &format!("{usual} {}", machine.append)]);
    qemu.arg("-serial").arg(format!("file:{}", out.join("console.txt").display()));
    let results = work.join("out.img");
    File::create(&results)?.set_len(OUT << 20)?;
    let modules = images.modules(&machine.kernel);
    let own = [(images.root(kernel.arch), true), (modules, true), (results, false)];
    for (index, ((path, is_read), serial)) in own.iter().zip(Serial::ALL).enumerate() {
        let read_only = if *is_read { "on" } else { "off" };
        qemu.arg("-drive").arg(format!(
            "if=none,id=own{index},file={},format=raw,readonly={read_only},file.locking=off",
            path.display()
        ));
        let slot = 0x10 + index;
        qemu.arg("-device").arg(format!(
            "virtio-blk-pci,drive=own{index},serial={},bus=pcie.0,addr=0x{slot:x}",
            serial.name()
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
