//! Control groups with limits.

use crate::unable::Unable;
use crate::waiting::within;
use anyhow::{Context, Result, ensure};
use model::units;
use serde::{Deserialize, Deserializer, de};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where control groups of both versions are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// A limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PlantedLimit {
    /// Bytes per second read from the scene's device.
    ReadBytes(#[serde(deserialize_with = "bytes")] u64),
    /// Bytes per second written to that device.
    WriteBytes(#[serde(deserialize_with = "bytes")] u64),
    /// Reads per second from that device.
    ReadOps(u64),
    /// Bytes of memory, including page cache.
    Memory(#[serde(deserialize_with = "bytes")] u64),
    /// Percent of one CPU.
    Cpu(u32),
}

/// Reads a number of bytes, such as `64MiB`.
pub(crate) fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    units::parse_bytes(&String::deserialize(from)?).map_err(de::Error::custom)
}

/// The scheduling period of a CPU quota, in microseconds.
const PERIOD_US: u32 = 100_000;

impl PlantedLimit {
    /// Its file and what that has to contain, in versions 1 and 2; `device` is `MAJOR:MINOR`.
    fn files(self, device: &str) -> [(&'static str, String); 2] {
        let of_device = |first, key: &str, n: u64| {
            [(first, format!("{device} {n}")), ("io.max", format!("{device} {key}={n}"))]
        };
        match self {
            PlantedLimit::ReadBytes(n) => of_device("blkio.throttle.read_bps_device", "rbps", n),
            PlantedLimit::WriteBytes(n) => of_device("blkio.throttle.write_bps_device", "wbps", n),
            PlantedLimit::ReadOps(n) => of_device("blkio.throttle.read_iops_device", "riops", n),
            PlantedLimit::Memory(bytes) => {
                ["memory.limit_in_bytes", "memory.max"].map(|file| (file, bytes.to_string()))
            }
            PlantedLimit::Cpu(percent) => {
                let quota_us = (PERIOD_US / 100 * percent).to_string();
                let of_period = format!("{quota_us} {PERIOD_US}");
                [("cpu.cfs_quota_us", quota_us), ("cpu.max", of_period)]
            }
        }
    }

    /// The names of its controller in versions 1 and 2, with which those of files begin.
    fn controllers(self) -> [&'static str; 2] {
        self.files("").map(|(file, _)| file.split('.').next().expect("a split has a first part"))
    }
}

/// A control group with limits; removed when dropped, once it has no members.
#[derive(Debug)]
pub(crate) struct Group {
    directory: PathBuf,
    is_second: bool,
    device: String,
}

impl Group {
    /// A group with `limits`; `device` is the name of the limited device in `/sys/block`, if any.
    ///
    /// # Errors
    /// Why this machine cannot have one.
    pub(crate) fn new(limits: &[PlantedLimit], device: Option<&str>) -> Result<Group> {
        let device = device.map(number).transpose()?.unwrap_or_default();
        Group::create(limits, device).map_err(|error| Unable::error(format!("{error:#}")))
    }

    fn create(limits: &[PlantedLimit], device: String) -> Result<Group> {
        let first = limits.first().context("there is no limit")?;
        let [first, second] = first.controllers();
        let root = Path::new(ROOT);
        let is_second = !root.join(first).join("cgroup.procs").exists();
        let parent = if is_second { root.to_owned() } else { root.join(first) };
        if is_second {
            let there = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
            let is_there = there.split_whitespace().any(|name| name == second);
            ensure!(is_there, "there is no control group with the controller '{second}'");
            write(&root.join("cgroup.subtree_control"), &format!("+{second}"))?;
        }
        let name = format!("ioassay-xtask-{}-{}", std::process::id(), device.replace(':', "-"));
        let directory = parent.join(name);
        fs::create_dir(&directory).with_context(|| format!("'{}'", directory.display()))?;
        let group = Group { directory, is_second, device };
        limits.iter().try_for_each(|limit| group.set(*limit))?;
        Ok(group)
    }

    /// Sets another limit, or changes one of its kind.
    pub(crate) fn set(&self, limit: PlantedLimit) -> Result<()> {
        let (name, text) = &limit.files(&self.device)[usize::from(self.is_second)];
        write(&self.directory.join(name), text)
    }

    /// The group's directory.
    pub(crate) fn path(&self) -> &Path {
        &self.directory
    }

    /// A prefix for a command that starts it in the group.
    pub(crate) fn enter(&self) -> Vec<String> {
        let processes = self.directory.join("cgroup.procs").display().to_string();
        let script = r#"echo $$ > "$0" && exec "$@""#;
        ["sh", "-c", script, &processes].map(str::to_owned).to_vec()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its members have ended, but the OS may need a moment to notice.
        let removed = || fs::remove_dir(&self.directory).ok();
        if within(Duration::from_secs(1), removed).is_none() {
            eprintln!("'{}' stays", self.directory.display());
        }
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("'{}'", path.display()))
}

/// The `MAJOR:MINOR` of a device.
fn number(device: &str) -> Result<String> {
    let path = format!("/sys/block/{device}/dev");
    Ok(fs::read_to_string(&path).context(path)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_told_the_same() {
        let check = |limit: PlantedLimit, first: (&str, &str), second: (&str, &str)| {
            let files = limit.files("7:3");
            assert_eq!(
                files.each_ref().map(|(name, text)| (*name, text.as_str())),
                [first, second]
            );
        };
        check(
            PlantedLimit::ReadBytes(20),
            ("blkio.throttle.read_bps_device", "7:3 20"),
            ("io.max", "7:3 rbps=20"),
        );
        check(
            PlantedLimit::WriteBytes(8),
            ("blkio.throttle.write_bps_device", "7:3 8"),
            ("io.max", "7:3 wbps=8"),
        );
        check(
            PlantedLimit::ReadOps(9),
            ("blkio.throttle.read_iops_device", "7:3 9"),
            ("io.max", "7:3 riops=9"),
        );
        check(PlantedLimit::Memory(5), ("memory.limit_in_bytes", "5"), ("memory.max", "5"));
        check(PlantedLimit::Cpu(20), ("cpu.cfs_quota_us", "20000"), ("cpu.max", "20000 100000"));
    }
}
