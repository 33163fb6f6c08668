//! A process's control groups and their limits.

use crate::mounts::{self, Mount};
use crate::root::Root;
use crate::sysfs;
use procfs::{FromRead, ProcessCGroup, ProcessCGroups};
use std::path::{Component, Path, PathBuf};

/// Bytes of memory that this process's control groups still allow: the tightest limit on the path.
/// `None` if no group limits memory.
pub(crate) fn memory_left(root: &Root) -> Option<u64> {
    directories(root, "self", "memory").iter().filter_map(|group| left_in(group)).min()
}

/// Bytes of memory, page cache included, that this process's control groups allow: the tightest
/// limit on the path. `None` if no group has one below `all`, the machine's memory.
pub(crate) fn memory_quota(root: &Root, all: Option<u64>) -> Option<u64> {
    let limits = directories(root, "self", "memory").into_iter().filter_map(|it| limit_of(&it));
    limits.min().filter(|limit| all.is_none_or(|all| *limit < all))
}

/// Dirty bytes at which the control groups of process `pid`, its own and all above, make it wait:
/// the least on the path. `None` if no group limits memory.
///
/// Version 2 gives each group its part of the machine's `vm.dirty_ratio`. Version 1 does not: a
/// writer waits when its group is full of pages that are not written yet.
pub(crate) fn dirty_quota(root: &Root, pid: u32) -> Option<u64> {
    let ratio = sysfs::number(&root.at("/proc/sys/vm/dirty_ratio"));
    // 0 means that `vm.dirty_bytes` is used instead; then the group's limit is an upper bound.
    let ratio = ratio.filter(|percent| (1..=100).contains(percent)).unwrap_or(100);
    let groups = directories(root, &pid.to_string(), "memory");
    let of_group = |group: PathBuf| {
        let limit = limit_of(&group)?;
        let is_whole = group.join("memory.limit_in_bytes").exists();
        Some(if is_whole { limit } else { (u128::from(limit) * u128::from(ratio) / 100) as u64 })
    };
    groups.into_iter().filter_map(of_group).min()
}

/// What control groups can limit, and the controller that does (in version 2, a group has all).
const LIMITED: [(&str, &str); 3] = [("CPU time", "cpu"), ("memory", "memory"), ("I/O", "blkio")];

/// What this process's control groups may limit unseen: it is in groups that no mount shows, as in
/// a container without `/sys/fs/cgroup`.
pub(crate) fn hidden(root: &Root) -> Vec<&'static str> {
    let groups = groups(root, "self");
    let mounts = mounts::of_groups(root);
    let is_hidden = |controller: &str| {
        let of_version_1 = groups.iter().find(|group| acts(group, controller));
        let group = of_version_1.or_else(|| groups.iter().find(|group| group.hierarchy == 0));
        group.is_some_and(|group| {
            let mount = mount_of(&mounts, group, controller);
            let own = mount.and_then(|it| Some(it.point.join(inside(it, &group.pathname)?)));
            // Another mount may cover it.
            own.is_none_or(|own| !root.at(own.join("cgroup.procs")).exists())
        })
    };
    LIMITED.iter().filter(|(_, it)| is_hidden(it)).map(|(what, _)| *what).collect()
}

/// The `cpu.stat` files of process `pid`'s groups. [`parse_throttled`] extracts from them how long
/// a CPU quota throttled the group.
pub(crate) fn cpu_stats(pid: u32) -> Vec<PathBuf> {
    let pid = pid.to_string();
    directories(&Root::machine(), &pid, "cpu").iter().map(|group| group.join("cpu.stat")).collect()
}

/// How many processors' time this process's control groups allow: the tightest quota on the path.
/// `None` if no group has one.
pub(crate) fn cpu_quota(root: &Root) -> Option<f64> {
    let groups = directories(root, "self", "cpu");
    groups.iter().filter_map(|group| quota_of(group)).reduce(f64::min)
}

/// Quota divided by period: version 2 has both in `cpu.max`, version 1 in two files.
fn quota_of(group: &Path) -> Option<f64> {
    let read = |name: &str| sysfs::text(&group.join(name));
    let (quota, period) = match read("cpu.max") {
        Some(text) => {
            let (quota, period) = text.split_once(' ')?;
            (quota.to_string(), period.to_string())
        }
        None => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
    };
    // `max` and -1 mean no quota.
    let [quota, period] = [quota, period].map(|text| text.trim().parse::<u64>().ok());
    let (quota, period) = (quota?, period.filter(|period| *period > 0)?);
    Some(quota as f64 / period as f64)
}

/// The directories of the groups whose limits on devices hold for this process. Of version 2, these
/// are its own and all above; of version 1 only its own, because blk-throttle ignores the hierarchy
/// there (`throtl_pd_init` in `block/blk-throttle.c`).
pub(crate) fn limiting_devices(root: &Root) -> Vec<PathBuf> {
    let mounts = mounts::of_groups(root);
    let of_group = |group: ProcessCGroup| {
        let is_alone = acts(&group, "blkio");
        let found = mount_of(&mounts, &group, "blkio").filter(|_| is_alone || group.hierarchy == 0);
        let up = found.map(|mount| path_up(mount, &group.pathname)).unwrap_or_default();
        let most = if is_alone { 1 } else { up.len() };
        up.into_iter().take(most).map(|directory| root.at(directory)).collect::<Vec<_>>()
    };
    groups(root, "self").into_iter().flat_map(of_group).collect()
}

/// The directories of the groups of `process` (a PID or `self`) that `controller` acts on, from its
/// own up to the topmost visible one. Covers both versions, because a machine may use both.
pub(crate) fn directories(root: &Root, process: &str, controller: &str) -> Vec<PathBuf> {
    let mounts = mounts::of_groups(root);
    let mut directories = Vec::new();
    for group in groups(root, process) {
        let found = mount_of(&mounts, &group, controller);
        let up = found.map(|mount| path_up(mount, &group.pathname)).unwrap_or_default();
        directories.extend(up.iter().map(|directory| root.at(directory)));
    }
    directories
}

/// The groups of `process`, one for each hierarchy; none if the OS has no control groups.
fn groups(root: &Root, process: &str) -> Vec<ProcessCGroup> {
    let text = std::fs::read(root.at(format!("/proc/{process}/cgroup"))).unwrap_or_default();
    ProcessCGroups::from_read(&text[..]).map(|groups| groups.0).unwrap_or_default()
}

/// The mount that shows the hierarchy of `group`, and the group itself if any does. `None` if
/// `controller` does not act there.
fn mount_of<'a>(mounts: &'a [Mount], group: &ProcessCGroup, controller: &str) -> Option<&'a Mount> {
    let mut found = mounts.iter().filter(|mount| match mount.file_system.as_str() {
        "cgroup2" => group.hierarchy == 0,
        "cgroup" => mount.has(controller) && acts(group, controller),
        _ => false,
    });
    let shows = |mount: &&Mount| inside(mount, &group.pathname).is_some();
    found.clone().find(shows).or_else(|| found.next())
}

/// Whether `controller` acts on the hierarchy of version 1 that `group` is in.
fn acts(group: &ProcessCGroup, controller: &str) -> bool {
    group.controllers.iter().any(|name| name == controller)
}

/// The directories of group `name` and its ancestors, up to the mount point.
///
/// In a container, the mount may show only a part of the tree, and `name` starts with the hidden
/// part. A name outside the visible part gives the mount point.
fn path_up(mount: &Mount, name: &str) -> Vec<PathBuf> {
    let inside = inside(mount, name).unwrap_or(Path::new(""));
    // `ancestors` ends with the empty path, which stands for the mount point. Joining that would
    // add a trailing slash.
    inside
        .ancestors()
        .map(|part| match part.as_os_str().is_empty() {
            true => mount.point.clone(),
            false => mount.point.join(part),
        })
        .collect()
}

/// The path of group `name` below the mount point; `None` if the mount shows another part of the
/// tree. In a namespace of control groups, names begin at its root, and `..` leads out of it.
fn inside<'a>(mount: &Mount, name: &'a str) -> Option<&'a Path> {
    let inside = Path::new(name).strip_prefix(&mount.root).ok()?;
    let is_outside = inside.components().any(|part| part == Component::ParentDir);
    (!is_outside).then_some(inside)
}

/// The memory that a group has left, if it has a limit. The OS counts cached pages as used, but can
/// reclaim them.
fn left_in(group: &Path) -> Option<u64> {
    let read = |name: &str| std::fs::read_to_string(group.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let limit = limit_of(group)?;
    let usage = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
    let reclaimable = read("memory.stat").map_or(0, |text| parse_reclaimable(&text));
    Some(limit.saturating_sub(usage.saturating_sub(reclaimable)))
}

/// From this number of bytes on, a group of version 1 has no limit: it says the greatest number of
/// whole pages.
const NO_LIMIT: u64 = 1 << 62;

/// The memory that a group may use: version 2 has two limits, of which the lower slows the group
/// down. Version 1 writes a huge number where there is none.
fn limit_of(group: &Path) -> Option<u64> {
    let names = ["memory.max", "memory.high", "memory.limit_in_bytes"];
    let limits = names.iter().filter_map(|name| sysfs::number(&group.join(name)));
    limits.filter(|limit| *limit < NO_LIMIT).min()
}

/// Bytes of cached files in a group and its descendants, from its `memory.stat`.
fn parse_reclaimable(memory_stat: &str) -> u64 {
    // In version 1, only the names with `total_` include descendants.
    let names = match value_of(memory_stat, "total_inactive_file") {
        Some(_) => ["total_inactive_file", "total_active_file"],
        None => ["inactive_file", "active_file"],
    };
    names.iter().filter_map(|name| value_of(memory_stat, name)).sum()
}

/// How long a group was throttled, in nanoseconds, from its `cpu.stat`. Version 2 counts
/// microseconds, version 1 nanoseconds. `None` if the group has no quota.
pub(crate) fn parse_throttled(cpu_stat: &str) -> Option<u64> {
    let microseconds = value_of(cpu_stat, "throttled_usec");
    microseconds.map(|us| us.saturating_mul(1000)).or_else(|| value_of(cpu_stat, "throttled_time"))
}

/// The number after `name` in lines of `name number`.
pub(crate) fn value_of(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(' ')?;
        (found == name).then(|| value.trim().parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Version 1 says the greatest number of whole pages, of 4 KiB or of 64 KiB.
    #[test]
    fn the_greatest_number_of_pages_is_no_limit() {
        let group = tempfile::tempdir().unwrap();
        let limit = |text: &str| {
            std::fs::write(group.path().join("memory.limit_in_bytes"), text).unwrap();
            limit_of(group.path())
        };
        assert_eq!(limit("9223372036854771712\n"), None);
        assert_eq!(limit("9223372036854710272\n"), None);
        assert_eq!(limit("268435456\n"), Some(256 << 20));
    }

    #[test]
    fn throttling_is_in_nanoseconds_whatever_the_version() {
        let of_version_2 = "usage_usec 5\nnr_throttled 26\nthrottled_usec 1234\n";
        let of_version_1 = "nr_periods 30\nnr_throttled 26\nthrottled_time 1234567\n";
        assert_eq!(parse_throttled(of_version_2), Some(1_234_000));
        assert_eq!(parse_throttled(of_version_1), Some(1_234_567));
        assert_eq!(parse_throttled("usage_usec 5\nuser_usec 3\n"), None);
    }

    #[test]
    fn a_quota_is_told_in_processors_whatever_the_version() {
        let check = |files: &[(&str, &str)], expected| {
            let group = tempfile::tempdir().unwrap();
            for (name, text) in files {
                std::fs::write(group.path().join(name), text).unwrap();
            }
            assert_eq!(quota_of(group.path()), expected, "{files:?}");
        };
        check(&[("cpu.max", "20000 100000\n")], Some(0.2));
        check(&[("cpu.max", "max 100000\n")], None);
        check(&[("cpu.cfs_quota_us", "150000\n"), ("cpu.cfs_period_us", "100000\n")], Some(1.5));
        check(&[("cpu.cfs_quota_us", "-1\n"), ("cpu.cfs_period_us", "100000\n")], None);
        check(&[], None);
    }

    #[test]
    fn cached_files_give_way() {
        let of_version_1 = "cache 9\ninactive_file 1\nactive_file 2\ntotal_inactive_file 30\n\
                            total_active_file 40\n";
        assert_eq!(parse_reclaimable(of_version_1), 70);
        assert_eq!(parse_reclaimable("anon 5\ninactive_file 1\nactive_file 2\n"), 3);
        assert_eq!(parse_reclaimable(""), 0);
    }

    #[test]
    fn a_group_leaves_its_tightest_limit_less_what_cannot_give_way() {
        let group = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(group.path().join(name), text).unwrap();
        assert_eq!(left_in(group.path()), None);
        write("memory.max", "max\n");
        write("memory.current", "700\n");
        assert_eq!(left_in(group.path()), None);
        write("memory.high", "1000\n");
        assert_eq!(left_in(group.path()), Some(300));
        write("memory.stat", "inactive_file 200\nactive_file 100\n");
        assert_eq!(left_in(group.path()), Some(600));
        write("memory.max", "500\n");
        assert_eq!(left_in(group.path()), Some(100));
    }

    #[test]
    fn the_path_of_a_group_is_followed_up_to_the_mount() {
        let mount = |root: &str| Mount {
            id: 1,
            device: "0:1".to_string(),
            root: root.into(),
            point: "/cg".into(),
            file_system: "cgroup2".to_string(),
            source: "cgroup2".into(),
            options: Vec::new(),
        };
        let check = |root, name, expected: &[&str]| {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(path_up(&mount(root), name), expected, "{name} seen from {root}");
        };
        check("/", "/a/b", &["/cg/a/b", "/cg/a", "/cg"]);
        check("/", "/", &["/cg"]);
        check("/a", "/a/b", &["/cg/b", "/cg"]);
        check("/other", "/a/b", &["/cg"]);
        check("/", "/../a", &["/cg"]);
    }
}
