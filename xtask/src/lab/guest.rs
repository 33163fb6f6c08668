//! One emulated machine: it starts, runs the scenario, and hands back what came of it.

use super::image::{Images, Serial};
use super::scenario::{Checked, Scenario};
use anyhow::{Context, Result, bail};
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

/// A guest that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(900);
/// MiB of what a guest hands back.
const OUT: u64 = 64;

/// What came of a scenario.
#[derive(Debug)]
pub(super) struct Ran {
    /// How much was asserted.
    pub(super) asserted: usize,
    /// What was not as it must be.
    pub(super) wrong: Vec<String>,
    /// How long the machine ran.
    pub(super) seconds: f64,
}

/// Runs `scenario`, and keeps what the guest printed and handed back in `out`.
///
/// # Errors
/// When the machine cannot be started, hangs or hands nothing back.
pub(super) fn run(scenario: &Scenario, images: &Images, program: &Path, out: &Path) -> Result<Ran> {
    let _ = fs::remove_dir_all(out);
    fs::create_dir_all(out)?;
    let work = TempDir::new_in(&images.folder)?;
    pack(scenario, images, program, work.path())?;
    let began = Instant::now();
    let mut qemu = command(scenario, images, work.path(), out)?;
    let log = File::create(out.join("qemu.txt"))?;
    qemu.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    wait(qemu.spawn().context("starting QEMU")?)?;
    let seconds = began.elapsed().as_secs_f64();
    let shell = Shell::new()?;
    let image = work.path().join("out.img");
    let unpacked = cmd!(shell, "tar -xf {image} -C {out}").quiet().ignore_stderr().run();
    unpacked.with_context(|| {
        format!("the guest handed nothing back: see {}", out.join("console.txt").display())
    })?;
    let Checked { asserted, wrong } = judge(scenario, out);
    Ok(Ran { asserted, wrong, seconds })
}

/// Holds what was handed back against what must be said.
fn judge(scenario: &Scenario, out: &Path) -> Checked {
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_default();
    let report: Value = serde_json::from_str(&read("report.json")).unwrap_or(Value::Null);
    let mut checked = scenario.check(&report);
    let (status, expected) = (read("status"), scenario.status.to_string());
    checked.hold(status.trim() == expected, || {
        format!("the exit status is {}, not {expected}: {}", status.trim(), read("errors").trim())
    });
    checked
}

/// Waits for the end of the guest, which switches itself off.
fn wait(mut qemu: Child) -> Result<()> {
    let began = Instant::now();
    loop {
        match qemu.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => bail!("QEMU ended with {status}"),
            None if began.elapsed() > LONGEST => {
                qemu.kill()?;
                qemu.wait()?;
                bail!("the guest did not end in {} s", LONGEST.as_secs());
            }
            None => std::thread::sleep(Duration::from_millis(200)),
        }
    }
}

/// Puts the program and the scenario behind the kernel's own initramfs.
fn pack(scenario: &Scenario, images: &Images, program: &Path, work: &Path) -> Result<()> {
    let job = work.join("job");
    fs::create_dir(&job)?;
    fs::copy(program, job.join("ioassay"))?;
    fs::write(work.join("init"), INIT)?;
    fs::write(job.join("start"), START)?;
    fs::write(job.join("small.toml"), SMALL)?;
    fs::write(job.join("prepare"), &scenario.prepare)?;
    fs::write(job.join("modules"), scenario.modules.join("\n"))?;
    fs::write(job.join("run"), &scenario.run)?;
    let shell = Shell::new()?;
    shell.change_dir(work);
    let initrd = images.initrd(&scenario.kernel);
    let script = "chmod +x init job/*; cp \"$1\" initrd; \
                  find init job | busybox cpio -o -H newc 2>/dev/null | gzip -1 >> initrd";
    cmd!(shell, "bash -e -o pipefail -c {script} pack {initrd}").quiet().run()?;
    Ok(())
}

/// QEMU's command line. Without KVM, which not every machine has, and which would be one kind of
/// processor only.
fn command(scenario: &Scenario, images: &Images, work: &Path, out: &Path) -> Result<Command> {
    let mut qemu = Command::new("qemu-system-x86_64");
    qemu.current_dir(work);
    qemu.args(["-nodefaults", "-no-reboot", "-display", "none", "-M", "q35"]);
    qemu.args(["-accel", "tcg,thread=multi", "-cpu", &scenario.cpu]);
    qemu.args(["-smp", &scenario.processors.to_string(), "-m", &scenario.memory.to_string()]);
    qemu.arg("-kernel").arg(images.kernel(&scenario.kernel)).args(["-initrd", "initrd"]);
    qemu.args(["-append", "console=ttyS0 quiet panic=-1 loglevel=4"]);
    qemu.arg("-serial").arg(format!("file:{}", out.join("console.txt").display()));
    let results = work.join("out.img");
    File::create(&results)?.set_len(OUT << 20)?;
    let modules = images.modules(&scenario.kernel);
    let own = [(images.root(), true), (modules, true), (results, false)];
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
    for (index, size) in scenario.disks.iter().enumerate() {
        let path = work.join(format!("disk{index}.img"));
        File::create(&path)?.set_len(u64::from(*size) << 20)?;
        let path = path.display();
        qemu.arg("-drive").arg(format!("if=none,id=disk{index},file={path},format=raw"));
    }
    for device in &scenario.devices {
        qemu.args(["-device", device]);
    }
    qemu.args(&scenario.qemu);
    Ok(qemu)
}
