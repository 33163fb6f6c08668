//! Control groups with limits.

use model::units;
use serde::{Deserialize, Deserializer, de};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
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
    /// The names of its controller in versions 1 and 2.
    fn controllers(self) -> [&'static str; 2] {
        match self {
            PlantedLimit::ReadBytes(_) | PlantedLimit::WriteBytes(_) | PlantedLimit::ReadOps(_) => {
                ["blkio", "io"]
            }
            PlantedLimit::Memory(_) => ["memory", "memory"],
            PlantedLimit::Cpu(_) => ["cpu", "cpu"],
        }
    }

    /// The version 1 file and its content; `device` is `MAJOR:MINOR`.
    fn first(self, device: &str) -> (&'static str, String) {
        match self {
            PlantedLimit::ReadBytes(n) => {
                ("blkio.throttle.read_bps_device", format!("{device} {n}"))
            }
            PlantedLimit::WriteBytes(n) => {
                ("blkio.throttle.write_bps_device", format!("{device} {n}"))
            }
            PlantedLimit::ReadOps(n) => {
                ("blkio.throttle.read_iops_device", format!("{device} {n}"))
            }
            PlantedLimit::Memory(bytes) => ("memory.limit_in_bytes", bytes.to_string()),
            PlantedLimit::Cpu(percent) => {
                ("cpu.cfs_quota_us", (PERIOD_US / 100 * percent).to_string())
            }
        }
    }

    /// The same for version 2.
    fn second(self, device: &str) -> (&'static str, String) {
        match self {
            PlantedLimit::ReadBytes(n) => ("io.max", format!("{device} rbps={n}")),
            PlantedLimit::WriteBytes(n) => ("io.max", format!("{device} wbps={n}")),
            PlantedLimit::ReadOps(n) => ("io.max", format!("{device} riops={n}")),
            PlantedLimit::Memory(bytes) => ("memory.max", bytes.to_string()),
            PlantedLimit::Cpu(percent) => {
                ("cpu.max", format!("{} {PERIOD_US}", PERIOD_US / 100 * percent))
            }
        }
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
    /// A group with `limit`; `device` is `MAJOR:MINOR`, for limits on a device.
    ///
    /// # Errors
    /// Why this machine cannot have one.
    pub(crate) fn new(limit: PlantedLimit, device: &str) -> Result<Group, String> {
        let [first, second] = limit.controllers();
        let root = Path::new(ROOT);
        let is_second = !root.join(first).join("cgroup.procs").exists();
        let parent = if is_second { root.to_owned() } else { root.join(first) };
        if is_second {
            let there = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
            if !there.split_whitespace().any(|name| name == second) {
                return Err(format!("there is no control group with the controller '{second}'"));
            }
            write(&root.join("cgroup.subtree_control"), &format!("+{second}"))?;
        }
        let of_device = device.replace(':', "-");
        let name = format!("ioassay-xtask-{}-{of_device}", std::process::id());
        let directory = parent.join(name);
        fs::create_dir(&directory).map_err(|e| format!("'{}': {e}", directory.display()))?;
        let group = Group { directory, is_second, device: device.to_owned() };
        group.set(limit)?;
        Ok(group)
    }

    /// Sets another limit, or changes one of its kind.
    pub(crate) fn set(&self, limit: PlantedLimit) -> Result<(), String> {
        let device = &self.device;
        let (name, text) = if self.is_second { limit.second(device) } else { limit.first(device) };
        write(&self.directory.join(name), &text)
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
        let is_gone = soon(|| fs::remove_dir(&self.directory).is_ok());
        if !is_gone {
            eprintln!("'{}' stays", self.directory.display());
        }
    }
}

/// Retries for a second. Returns whether it succeeded.
fn soon(try_it: impl Fn() -> bool) -> bool {
    for _ in 0..50 {
        if try_it() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("'{}': {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_told_the_same() {
        let check = |limit: PlantedLimit, first: (&str, &str), second: (&str, &str)| {
            let (name, text) = limit.first("7:3");
            assert_eq!((name, text.as_str()), first);
            let (name, text) = limit.second("7:3");
            assert_eq!((name, text.as_str()), second);
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
