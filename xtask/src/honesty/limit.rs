//! Limits that a control group sets to those in it.

use super::guards::soon;
use std::fs;
use std::path::{Path, PathBuf};

/// Where control groups of both versions are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// Bytes a second that are read from the device of the place.
    ReadBytes(u64),
    /// Reads a second of that device.
    ReadOps(u64),
    /// Bytes of memory, page cache included.
    Memory(u64),
    /// Percent of one CPU.
    Cpu(u32),
}

/// The microseconds that a share of a CPU is given out in.
const PERIOD_US: u32 = 100_000;

impl Limit {
    /// The controller that sets it, by its name in versions 1 and 2.
    fn controllers(self) -> [&'static str; 2] {
        match self {
            Limit::ReadBytes(_) | Limit::ReadOps(_) => ["blkio", "io"],
            Limit::Memory(_) => ["memory", "memory"],
            Limit::Cpu(_) => ["cpu", "cpu"],
        }
    }

    /// The file of a group of version 1 and its text; `device` is `MAJOR:MINOR`.
    fn first(self, device: &str) -> (&'static str, String) {
        match self {
            Limit::ReadBytes(n) => ("blkio.throttle.read_bps_device", format!("{device} {n}")),
            Limit::ReadOps(n) => ("blkio.throttle.read_iops_device", format!("{device} {n}")),
            Limit::Memory(bytes) => ("memory.limit_in_bytes", bytes.to_string()),
            Limit::Cpu(percent) => ("cpu.cfs_quota_us", (PERIOD_US / 100 * percent).to_string()),
        }
    }

    /// The same of version 2.
    fn second(self, device: &str) -> (&'static str, String) {
        match self {
            Limit::ReadBytes(n) => ("io.max", format!("{device} rbps={n}")),
            Limit::ReadOps(n) => ("io.max", format!("{device} riops={n}")),
            Limit::Memory(bytes) => ("memory.max", bytes.to_string()),
            Limit::Cpu(percent) => {
                ("cpu.max", format!("{} {PERIOD_US}", PERIOD_US / 100 * percent))
            }
        }
    }
}

/// A control group with one limit; removed when dropped, once nobody is in it.
#[derive(Debug)]
pub(super) struct Group {
    directory: PathBuf,
    is_second: bool,
    device: String,
}

impl Group {
    /// A group with `limit`, which is about the device `MAJOR:MINOR` if it is about one.
    ///
    /// # Errors
    /// Why there is none on this machine.
    pub(super) fn new(limit: Limit, device: &str) -> Result<Group, String> {
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
        let directory = parent.join(format!("ioassay-honesty-{}", std::process::id()));
        fs::create_dir(&directory).map_err(|e| format!("'{}': {e}", directory.display()))?;
        let group = Group { directory, is_second, device: device.to_owned() };
        group.set(limit)?;
        Ok(group)
    }

    /// Sets the limit anew.
    pub(super) fn set(&self, limit: Limit) -> Result<(), String> {
        let device = &self.device;
        let (name, text) = if self.is_second { limit.second(device) } else { limit.first(device) };
        write(&self.directory.join(name), &text)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.directory
    }

    /// What is put before a command, so that it is started in the group.
    pub(super) fn enter(&self) -> Vec<String> {
        let processes = self.directory.join("cgroup.procs").display().to_string();
        let script = r#"echo $$ > "$0" && exec "$@""#;
        ["sh", "-c", script, &processes].map(str::to_owned).to_vec()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Who was in it has ended, but the OS may need a moment to see that.
        let is_gone = soon(|| fs::remove_dir(&self.directory).is_ok());
        if !is_gone {
            eprintln!("'{}' stays", self.directory.display());
        }
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("'{}': {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_told_the_same() {
        let check = |limit: Limit, first: (&str, &str), second: (&str, &str)| {
            let (name, text) = limit.first("7:3");
            assert_eq!((name, text.as_str()), first);
            let (name, text) = limit.second("7:3");
            assert_eq!((name, text.as_str()), second);
        };
        check(
            Limit::ReadBytes(20),
            ("blkio.throttle.read_bps_device", "7:3 20"),
            ("io.max", "7:3 rbps=20"),
        );
        check(
            Limit::ReadOps(9),
            ("blkio.throttle.read_iops_device", "7:3 9"),
            ("io.max", "7:3 riops=9"),
        );
        check(Limit::Memory(5), ("memory.limit_in_bytes", "5"), ("memory.max", "5"));
        check(Limit::Cpu(20), ("cpu.cfs_quota_us", "20000"), ("cpu.max", "20000 100000"));
    }
}
