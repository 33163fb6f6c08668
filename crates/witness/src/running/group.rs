//! Control groups by name: their directories, processes and counters.

use super::Refusal;
use super::disks::Disks;
use crate::cgroup::value_of;
use crate::limits::{of_device, value};
use crate::mounts;
use crate::root::Root;
use crate::sysfs::{self, entries, file_name};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The most groups that are looked through for a name, and below a group.
const GROUPS_MAX: usize = 20_000;
/// How deep names are looked for.
const DEPTH_MAX: usize = 12;
/// The most processes of a group that are followed.
const PROCESSES_MAX: usize = 4096;

/// A group: its path, and its directory in each hierarchy that has one with the same processes.
#[derive(Debug)]
pub(super) struct ControlGroup {
    pub(super) path: PathBuf,
    directories: Vec<PathBuf>,
    /// The places where the hierarchies are mounted.
    points: Vec<PathBuf>,
}

impl ControlGroup {
    /// The group that `text` names: a directory, a path below the root of all groups, or the name
    /// of a unit such as `postgresql.service`.
    pub(super) fn find(text: &str) -> Result<ControlGroup, Refusal> {
        let mounts = mounts::of_groups(&Root::machine());
        let mut points: Vec<PathBuf> = mounts.iter().map(|mount| mount.point.clone()).collect();
        points.retain(|point| point.join("cgroup.procs").exists());
        if points.is_empty() {
            return Err(Refusal("no control groups are mounted here".to_string()));
        }
        let path = path_of(text, &points)?;
        ControlGroup::at(path, points, text)
    }

    fn at(path: PathBuf, points: Vec<PathBuf>, text: &str) -> Result<ControlGroup, Refusal> {
        let there = points.iter().map(|point| point.join(&path));
        let there: Vec<PathBuf> = there.filter(|it| it.join("cgroup.procs").exists()).collect();
        let found = there.iter().map(|it| processes(it)).max_by_key(Vec::len);
        let all = found
            .filter(|all| !all.is_empty())
            .ok_or_else(|| Refusal(format!("no process is in the control group '{text}'")))?;
        if all.len() > PROCESSES_MAX {
            let (found, text) = (all.len(), text.to_string());
            return Err(Refusal(format!(
                "more than {PROCESSES_MAX} processes ({found}) are in the control group '{text}': \
                 name one below it"
            )));
        }
        let all: BTreeSet<u32> = all.into_iter().collect();
        // Another hierarchy may use the name for others.
        let is_same = |it: &PathBuf| {
            let there: BTreeSet<u32> = processes(it).into_iter().collect();
            there.intersection(&all).count() * 2 > all.len()
        };
        let directories = there.into_iter().filter(is_same).collect();
        Ok(ControlGroup { path, directories, points })
    }

    /// The directory whose processes are followed.
    pub(super) fn directory(&self) -> &Path {
        let most = self.directories.iter().max_by_key(|it| processes(it).len());
        most.map_or(Path::new("/"), PathBuf::as_path)
    }

    /// The `cpu.stat` files of the group and of all above.
    pub(super) fn cpu_stats(&self) -> Vec<PathBuf> {
        let is_inside = |it: &&Path| self.points.iter().any(|point| it.starts_with(point));
        let up = self.directories.iter().flat_map(|it| it.ancestors().take_while(is_inside));
        let files = up.map(|it| it.join("cpu.stat")).filter(|file| file.exists());
        files.collect::<BTreeSet<PathBuf>>().into_iter().collect()
    }

    /// Bytes that the disks read and wrote for it.
    pub(super) fn moved(&self, disks: &Disks) -> Option<(u64, u64)> {
        self.directories.iter().find_map(|it| {
            if let Ok(text) = std::fs::read_to_string(it.join("io.stat")) {
                return Some(parse_io(&text, disks));
            }
            let text = it.join("blkio.throttle.io_service_bytes_recursive");
            Some(parse_blkio(&std::fs::read_to_string(text).ok()?, disks))
        })
    }

    /// Dirty bytes of it, with those that are being written back.
    pub(super) fn dirty(&self) -> Option<u64> {
        self.directories
            .iter()
            .find_map(|it| parse_dirty(&std::fs::read_to_string(it.join("memory.stat")).ok()?))
    }
}

/// The path of the group that `text` names, below the root of all.
fn path_of(text: &str, points: &[PathBuf]) -> Result<PathBuf, Refusal> {
    let missing = || {
        Refusal(format!(
            "there is no control group '{text}': give its path, or the name of a unit, such as \
             postgresql.service ('systemd-cgls' shows them)"
        ))
    };
    let given = Path::new(text);
    if let Some(inside) = points.iter().find_map(|point| given.strip_prefix(point).ok()) {
        return Ok(inside.to_path_buf());
    }
    if text.contains('/') {
        let inside = given.strip_prefix("/").unwrap_or(given);
        let is_there = |point: &PathBuf| point.join(inside).join("cgroup.procs").exists();
        return points.iter().any(is_there).then(|| inside.to_path_buf()).ok_or_else(missing);
    }
    let mut found = BTreeSet::new();
    for point in points {
        named(point, text, &mut found);
    }
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (None, _) => Err(missing()),
        (Some(one), None) => Ok(one),
        (Some(one), Some(other)) => Err(Refusal(format!(
            "several control groups are called '{text}', such as '/{}' and '/{}': give the path of \
             one",
            one.display(),
            other.display()
        ))),
    }
}

/// The paths below `point` of groups with this name, or of units of it.
fn named(point: &Path, name: &str, found: &mut BTreeSet<PathBuf>) {
    let names = ["", ".service", ".scope", ".slice"].map(|end| format!("{name}{end}"));
    let mut left = vec![(point.to_path_buf(), 0)];
    let mut seen = 0usize;
    while let Some((directory, depth)) = left.pop() {
        for below in entries(&directory).filter(|it| it.is_dir()) {
            seen += 1;
            if seen > GROUPS_MAX || depth >= DEPTH_MAX {
                return;
            }
            if names.contains(&file_name(&below)) {
                found.extend(below.strip_prefix(point).map(Path::to_path_buf));
            }
            left.push((below, depth + 1));
        }
    }
}

/// The processes in a group and in all below it.
pub(super) fn processes(directory: &Path) -> Vec<u32> {
    let mut found = Vec::new();
    let mut left = vec![directory.to_path_buf()];
    let mut seen = 0usize;
    while let Some(directory) = left.pop() {
        let text = sysfs::text(&directory.join("cgroup.procs")).unwrap_or_default();
        found.extend(text.lines().flat_map(str::parse::<u32>));
        seen += 1;
        if seen > GROUPS_MAX {
            break;
        }
        left.extend(entries(&directory).filter(|it| it.is_dir()));
    }
    found
}

/// Sums of lines like `254:0 rbytes=1 wbytes=2 rios=3 ...`, of disks that move bytes themselves.
fn parse_io(text: &str, disks: &Disks) -> (u64, u64) {
    let sum = |key: &str| {
        let lines = disks.numbers().flat_map(|number| of_device(text, number));
        lines.filter_map(|line| value(line, key)).fold(0, u64::saturating_add)
    };
    (sum("rbytes"), sum("wbytes"))
}

/// Sums of lines like `254:0 Read 1`, of disks that move bytes themselves.
fn parse_blkio(text: &str, disks: &Disks) -> (u64, u64) {
    let sum = |way: &str| {
        let lines = disks.numbers().flat_map(|number| of_device(text, number));
        let of_way = lines.filter_map(|line| line.strip_prefix(way)?.trim().parse().ok());
        of_way.fold(0, u64::saturating_add)
    };
    (sum("Read "), sum("Write "))
}

/// Version 2 has bytes of the group with all below it; version 1 says those with `total_`.
fn parse_dirty(text: &str) -> Option<u64> {
    let sum = |dirty: &str, writeback: &str| {
        value_of(text, dirty)?.checked_add(value_of(text, writeback)?)
    };
    sum("file_dirty", "file_writeback").or_else(|| sum("total_dirty", "total_writeback"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_bytes_are_told_whatever_the_version() {
        let of_version_2 = "anon 1\nfile_mapped 9\nfile_dirty 4096\nfile_writeback 8192\n";
        assert_eq!(parse_dirty(of_version_2), Some(12288));
        let of_version_1 = "dirty 1\nwriteback 1\ntotal_dirty 10\ntotal_writeback 20\n";
        assert_eq!(parse_dirty(of_version_1), Some(30));
        assert_eq!(parse_dirty("anon 1\n"), None);
    }

    #[test]
    fn a_name_is_found_at_any_depth_and_once() {
        let tree = tempfile::tempdir().unwrap();
        for group in ["system.slice/a.service", "user.slice/1/b.scope", "user.slice/2/b.scope"] {
            std::fs::create_dir_all(tree.path().join(group)).unwrap();
        }
        let points = [tree.path().to_path_buf()];
        let found = |name: &str| path_of(name, &points).map_err(|refusal| refusal.to_string());
        for name in ["a", "a.service"] {
            assert_eq!(found(name).unwrap(), Path::new("system.slice/a.service"));
        }
        assert!(found("b").unwrap_err().contains("several"), "{:?}", found("b"));
        assert!(found("c").unwrap_err().contains("there is no"), "{:?}", found("c"));
    }
}
