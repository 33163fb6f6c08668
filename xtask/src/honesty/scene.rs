//! A planted fault, and the tools that run on it.

use super::fault::{Above, Fault, FileContent, FilePlace, Meanwhile, Preparation};
use super::guards::Neighbours;
use super::said::{self, Said, WarningSign};
use super::small;
use crate::fixture::{self, Mounted, Setup, Zram};
use crate::limit::Group;
use crate::stage::Experiment;
use crate::unable::Unable;
use crate::words::Words;
use crate::{install, programs};
use anyhow::{Context, Result, ensure};
use rustix::process::geteuid;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

/// The time limit of a tool, in seconds.
const PATIENCE: &str = "120";

/// Sizes of a loop device's image and of a RAM disk, in bytes.
const IMAGE_BYTES: u64 = 640 << 20;
const ZRAM_BYTES: u64 = 160 << 20;

/// The recipe that writes.
pub(super) const WRITE_RECIPE: &str = include_str!("write.toml");

/// The tools, in the order they are run.
pub(super) const TOOLS: [&str; 3] = ["ioassay", "fio", "dd"];

/// A tool's result for a fault.
#[derive(Debug, Clone)]
pub(super) struct ToolResult {
    pub(super) tool: &'static str,
    /// Percentage of the file in the page cache beforehand, according to fincore; `None` without a
    /// file or fincore.
    pub(super) cached_percent: Option<f64>,
    /// Bytes that the device moved meanwhile; `None` without a device.
    pub(super) device_bytes: Option<u64>,
    pub(super) said: Said,
}

impl ToolResult {
    /// Fails if the tool refused its command: then what it said is no answer. A fault that makes
    /// reads fail leaves fio and dd without a figure, but not ioassay.
    pub(super) fn check(&self, fault: &Fault) -> Result<()> {
        let may_fail = fault.signs.contains(&WarningSign::Failure);
        let answered = self.said.is_answer
            || (self.tool != TOOLS[0] && (may_fail || !install::is_there(self.tool)));
        let ToolResult { tool, said, .. } = self;
        ensure!(
            answered,
            "{tool} gave no figure: {}",
            said.warning.as_deref().unwrap_or("nothing")
        );
        Ok(())
    }
}

/// Plants `fault` and runs all tools on it.
///
/// # Errors
/// Why it cannot be planted here, or what went wrong.
pub(super) fn play(fault: &Fault, stage: &Experiment) -> Result<Vec<ToolResult>> {
    if !geteuid().is_root() {
        return Err(Unable::error("it needs root"));
    }
    let scene = Scene::plant(fault, stage)?;
    let mut all = Vec::new();
    for (place, tool) in TOOLS.into_iter().enumerate() {
        stage.go_on()?;
        scene.prepare().with_context(|| format!("before {tool}"))?;
        all.push(scene.run(place, tool)?);
    }
    stage.go_on()?;
    Ok(all)
}

/// A planted fault. The order of the fields is the order of unmounting.
struct Scene<'a> {
    fault: &'a Fault,
    stage: &'a Experiment,
    file: PathBuf,
    /// Its name in `/sys/block`.
    device: Option<String>,
    group: Option<Arc<Group>>,
    /// The topmost mount first.
    _mounted: Vec<Mounted>,
    _zram: Option<Zram>,
    _folder: Option<TempDir>,
}

impl<'a> Scene<'a> {
    fn plant(fault: &'a Fault, stage: &'a Experiment) -> Result<Scene<'a>> {
        let mut scene = Scene {
            fault,
            stage,
            file: PathBuf::new(),
            device: None,
            group: None,
            _mounted: Vec::new(),
            _zram: None,
            _folder: None,
        };
        let directory = scene.mount().map_err(Unable::error)?;
        scene.file = directory.join("data");
        scene.fill()?;
        if let Some(limit) = fault.limit {
            let group = Group::new(&[limit], scene.device.as_deref())?;
            scene.group = Some(Arc::new(group));
        }
        Ok(scene)
    }

    /// Sets up the mounts and returns the directory for the file.
    fn mount(&mut self) -> Result<PathBuf, String> {
        let stage = self.stage;
        let folder = || TempDir::new_in(stage.folder()).map_err(|error| error.to_string());
        let directory = match &self.fault.place {
            FilePlace::Memory => {
                let folder = TempDir::new_in("/dev/shm").map_err(|e| format!("/dev/shm: {e}"))?;
                let path = folder.path().to_owned();
                self._folder = Some(folder);
                path
            }
            FilePlace::Zram => {
                let zram = Zram::new(ZRAM_BYTES)?;
                let node = zram.node();
                self.device = node.strip_prefix("/dev/").map(str::to_owned);
                self._zram = Some(zram);
                let mounted = Mounted::new(folder()?, "ext4", &node, "rw", None)?;
                self.keep(mounted)
            }
            FilePlace::Loop { kind, mount, below } => {
                let setup = Setup { size: IMAGE_BYTES, losetup: &[below.as_str()], mount };
                let mounted = Mounted::on_loop(folder()?, kind, &setup)?;
                self.device = Some(mounted.loop_name().to_owned());
                self.keep(mounted)
            }
        };
        let Some(above) = self.fault.above else { return Ok(directory) };
        let layers = TempDir::new_in(directory).map_err(|error| error.to_string())?;
        let mounted = match above {
            Above::Overlay => Mounted::overlay(layers, "rw")?,
            Above::Bindfs => Mounted::pass_through(layers, &[])?,
        };
        Ok(self.keep(mounted))
    }

    /// Keeps a mount on top of the earlier ones and returns its mount point.
    fn keep(&mut self, mounted: Mounted) -> PathBuf {
        let point = mounted.point.clone();
        self._mounted.insert(0, mounted);
        point
    }

    /// Writes the file and syncs it to its device.
    fn fill(&self) -> Result<()> {
        let Fault { content, size, meanwhile, .. } = self.fault;
        let create = |path: &str| {
            let line = format!("ioassay data create {path} --size {size}");
            self.stage.ioassay(&line, &self.words())
        };
        match content {
            FileContent::Random => drop(create("FILE")?),
            FileContent::Zeros => fs::write(&self.file, vec![0; usize::try_from(*size)?])?,
            FileContent::Sparse => File::create(&self.file)?.set_len(*size)?,
            FileContent::Allocated => {
                let file = File::create(&self.file)?;
                rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, *size)?;
            }
            FileContent::Absent => {}
        }
        if let Some(Meanwhile::Readers) = meanwhile {
            create("DIR/other")?;
        }
        self.sync()
    }

    fn sync(&self) -> Result<()> {
        Ok(rustix::fs::syncfs(File::open(self.directory())?)?)
    }

    fn directory(&self) -> &Path {
        self.file.parent().expect("the file is in a directory")
    }

    /// What stands for what in the tools' commands.
    fn words(&self) -> Words {
        let words = self.stage.words().and("FILE", &self.file).and("DIR", self.directory());
        words.and("WRITE", self.stage.path("write.toml"))
    }

    /// Prepares the same initial state for each tool.
    fn prepare(&self) -> Result<()> {
        self.set_limit()?;
        let evict = || self.stage.ioassay("ioassay cache evict FILE", &self.words());
        let warm = || self.stage.ioassay("ioassay cache warm FILE", &self.words());
        let half = self.fault.size / 2;
        match self.fault.before {
            Preparation::Evict => drop(evict()?),
            Preparation::Warm => drop(warm()?),
            Preparation::HalfWarm => {
                warm()?;
                let file = File::open(&self.file)?;
                let advice = rustix::fs::Advice::DontNeed;
                rustix::fs::fadvise(file, half, None, advice)?;
            }
            Preparation::ReadAhead => {
                evict()?;
                let device = self.device.as_deref().context("there is no device to read ahead")?;
                let path = format!("/sys/block/{device}/queue/read_ahead_kb");
                fs::write(&path, "8192").context(path)?;
                let line = format!("dd if=FILE of=/dev/null bs=1M count={}", half >> 20);
                let words = self.stage.split(&line, &self.words());
                programs::output(self.stage.command(&words), 0..=0)?;
            }
            Preparation::Remove => {
                if self.file.exists() {
                    fs::remove_file(&self.file)?;
                }
                self.sync()?;
            }
        }
        Ok(())
    }

    /// Restores the limit, which may have changed during the previous tool.
    fn set_limit(&self) -> Result<()> {
        if let Some((group, limit)) = self.group.as_ref().zip(self.fault.limit) {
            group.set(limit)?;
        }
        Ok(())
    }

    /// Runs the tool at index `place`.
    fn run(&self, place: usize, tool: &'static str) -> Result<ToolResult> {
        let mut command = self.command(place);
        let cached_percent = cached_percent(&self.file, self.fault.size);
        let before = self.device.as_deref().map(moved);
        let neighbours = self.neighbours(place)?;
        // A tool may fail: its error message is part of the result.
        let output = command.output().with_context(|| format!("starting {command:?}"))?;
        drop(neighbours);
        let device_bytes = before.zip(self.device.as_deref().map(moved));
        let device_bytes = device_bytes.map(|(before, after)| after.saturating_sub(before));
        let mut said = match tool {
            "ioassay" => said::of_ioassay(&output, &self.fault.signs),
            "fio" => said::of_fio(&output),
            _ => said::of_dd(&output),
        };
        for text in [&mut said.warning, &mut said.beside].into_iter().flatten() {
            *text = self.anonymous(text);
        }
        Ok(ToolResult { tool, cached_percent, device_bytes, said })
    }

    /// `text` with placeholders for the temporary paths.
    fn anonymous(&self, text: &str) -> String {
        let text = text.replace(&self.file.display().to_string(), "FILE");
        let text = text.replace(&self.directory().display().to_string(), "DIR");
        match &self.group {
            Some(group) => text.replace(&group.path().display().to_string(), "GROUP"),
            None => text,
        }
    }

    fn command(&self, place: usize) -> Command {
        let Fault { ioassay, fio, dd, inject, .. } = self.fault;
        let line = [ioassay, fio, dd][place];
        let line = self.stage.extent.pick(line.clone(), small::command(line));
        let split = |line: &str| self.stage.split(line, &self.words());
        let mut words = split(&format!("timeout {PATIENCE}"));
        words.extend(self.group.iter().flat_map(|group| group.enter()));
        words.extend(inject.iter().flat_map(|inject| split(&strace(inject, &line))));
        words.extend(split(&line));
        let mut command = self.stage.command(&words);
        command.env("LC_ALL", "C").current_dir(self.stage.folder());
        command
    }

    fn neighbours(&self, place: usize) -> Result<Option<Neighbours>> {
        let Some(meanwhile) = &self.fault.meanwhile else { return Ok(None) };
        Ok(Some(match meanwhile {
            Meanwhile::Busy => Neighbours::busy(),
            Meanwhile::Readers => Neighbours::readers(&self.directory().join("other"))?,
            Meanwhile::Change { after_mib, limit } => {
                let (bytes, limit) = (after_mib[place] << 20, *limit);
                let device = self.device.clone().context("there is no device to limit")?;
                let group = self.group.as_ref().context("there is no limit to change")?;
                let group = Arc::clone(group);
                let change = move || {
                    if let Err(error) = group.set(limit) {
                        eprintln!("cannot change the limit: {error:#}");
                    }
                };
                Neighbours::watch(move || moved(&device), bytes, change)
            }
        }))
    }
}

/// A prefix for the command `line` that makes strace apply `inject` to reads of the file. A command
/// without `FILE` creates its own file and reads only that with `pread`.
pub(super) fn strace(inject: &str, line: &str) -> String {
    let (path, calls) =
        if line.contains("FILE") { (" -P FILE", "read,pread64") } else { ("", "pread64") };
    format!("strace -f -qq -o /dev/null{path} -e trace={calls} -e inject={calls}:{inject}")
}

/// Bytes that a device has read and written since it was created, from the kernel's count of
/// 512-byte sectors.
fn moved(device: &str) -> u64 {
    let text = fs::read_to_string(format!("/sys/block/{device}/stat")).unwrap_or_default();
    let fields: Vec<u64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    [2, 6].iter().filter_map(|field| fields.get(*field)).sum::<u64>() * 512
}

/// Percentage of the file at `path` in the page cache, according to util-linux's fincore.
fn cached_percent(path: &Path, size: u64) -> Option<f64> {
    let path = path.exists().then(|| path.display().to_string())?;
    let text = fixture::run("fincore", &["--bytes", "--noheadings", "--output", "RES", &path]);
    let bytes: f64 = text.ok()?.trim().parse().ok()?;
    Some(bytes / size as f64 * 100.0)
}
