//! The limits of control groups on devices, and what each group did there.

use crate::cgroup;
use crate::root::Root;
use crate::sysfs;
use model::evidence::{GroupTraffic, Limit, Limited};
use std::path::{Path, PathBuf};

/// The files of version 1 with what a group did on each device.
const BYTES: &str = "blkio.throttle.io_service_bytes";
const REQUESTS: &str = "blkio.throttle.io_serviced";

/// The limits of this process's control groups on each of the devices `nodes`. The tightest need
/// not be the one that holds a case back: others may use most of another group's.
pub(crate) fn limits<'a>(root: &Root, nodes: impl Iterator<Item = &'a str>) -> Vec<Limit> {
    let groups = cgroup::limiting_devices(root);
    let of_node = |node: &str| Some(on_device(&groups, node, &number_of(root, node)?));
    nodes.filter_map(of_node).flatten().collect()
}

/// The limits of `groups` on the device `name` with this number.
pub(crate) fn on_device(groups: &[PathBuf], name: &str, number: &str) -> Vec<Limit> {
    groups.iter().flat_map(|group| limits_in(group, name, number)).collect()
}

fn number_of(root: &Root, device: &str) -> Option<String> {
    sysfs::text(&root.at("/sys/class/block").join(device).join("dev"))
}

/// The limits that `group` sets on the device `number`.
fn limits_in(group: &Path, device: &str, number: &str) -> Vec<Limit> {
    let of = |what: &Limited| {
        let a_second = limit_in(group, number, *what)?;
        let (device, group) = (device.to_string(), group.display().to_string());
        Some(Limit { device, what: *what, a_second, group })
    };
    Limited::ALL.iter().filter_map(of).collect()
}

/// The limit of `group` on the device `number`. Version 2 has all limits in `io.max`, as in `7:0
/// rbps=max wbps=max riops=200 wiops=max`; version 1 has one file per limit, as in `7:0 200`.
fn limit_in(group: &Path, number: &str, what: Limited) -> Option<u64> {
    let (key, file) = match what {
        Limited::ReadBytes => ("rbps", "blkio.throttle.read_bps_device"),
        Limited::WriteBytes => ("wbps", "blkio.throttle.write_bps_device"),
        Limited::Reads => ("riops", "blkio.throttle.read_iops_device"),
        Limited::Writes => ("wiops", "blkio.throttle.write_iops_device"),
    };
    let in_file = |name: &str| sysfs::text(&group.join(name));
    let of_version_2 = || value(of_device(&in_file("io.max")?, number).next()?, key);
    let of_version_1 = || of_device(&in_file(file)?, number).next()?.parse().ok();
    of_version_2().or_else(of_version_1)
}

/// What follows the number of a device, in each of its lines.
pub(crate) fn of_device<'a>(text: &'a str, number: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| line.strip_prefix(number)?.strip_prefix(' '))
}

/// The value of `key` in `rbytes=4096 wbytes=0`.
pub(crate) fn value(line: &str, key: &str) -> Option<u64> {
    let mut values = line.split(' ').filter_map(|part| part.split_once('='));
    values.find(|(found, _)| *found == key)?.1.parse().ok()
}

/// The limits before and after, each once; `None` unless both are known.
pub(crate) fn of_both(before: Option<&[Limit]>, after: Option<&[Limit]>) -> Option<Vec<Limit>> {
    let (before, after) = (before?, after?);
    let new = after.iter().filter(|limit| !before.contains(limit));
    Some(before.iter().chain(new).cloned().collect())
}

/// The counters of a group on a device that it limits.
#[derive(Debug)]
pub(crate) struct GroupCounters {
    directory: PathBuf,
    number: String,
    /// What they are of, with amounts of 0.
    of: GroupTraffic,
}

impl GroupCounters {
    /// Those of each group and device in `limits`, once.
    pub(crate) fn of(root: &Root, limits: &[Limit]) -> Vec<GroupCounters> {
        let mut all: Vec<GroupCounters> = Vec::new();
        for Limit { device, group, .. } in limits {
            let is_known = |it: &GroupCounters| it.of.group == *group && it.of.device == *device;
            let Some(number) = number_of(root, device).filter(|_| !all.iter().any(is_known)) else {
                continue;
            };
            let of = GroupTraffic {
                group: group.clone(),
                device: device.clone(),
                ..GroupTraffic::default()
            };
            all.push(GroupCounters { directory: group.into(), number, of });
        }
        all
    }

    /// What they show now; `None` where the group does not count. A device without a line is one
    /// that the group has not used.
    pub(crate) fn read(&self) -> Option<GroupTraffic> {
        let (number, of) = (&self.number, self.of.clone());
        let in_file = |name: &str| sysfs::text(&self.directory.join(name));
        if let Some(text) = in_file("io.stat") {
            let line = of_device(&text, number).next().unwrap_or_default();
            let [read_bytes, write_bytes, reads, writes] =
                ["rbytes", "wbytes", "rios", "wios"].map(|key| value(line, key).unwrap_or(0));
            return Some(GroupTraffic { read_bytes, write_bytes, reads, writes, ..of });
        }
        let (bytes, requests) = (in_file(BYTES)?, in_file(REQUESTS)?);
        let amount = |text: &str, way: &str| {
            let words = of_device(text, number).filter_map(|line| line.split_once(' '));
            let mut of_way = words.filter(|(found, _)| *found == way);
            of_way.next().map_or(Some(0), |(_, amount)| amount.parse().ok())
        };
        Some(GroupTraffic {
            read_bytes: amount(&bytes, "Read")?,
            write_bytes: amount(&bytes, "Write")?,
            reads: amount(&requests, "Read")?,
            writes: amount(&requests, "Write")?,
            ..of
        })
    }
}

/// What a group did between two readings; `None` if its counters went backwards, as when they were
/// reset.
pub(crate) fn between(before: &GroupTraffic, after: &GroupTraffic) -> Option<GroupTraffic> {
    Some(GroupTraffic {
        read_bytes: after.read_bytes.checked_sub(before.read_bytes)?,
        write_bytes: after.write_bytes.checked_sub(before.write_bytes)?,
        reads: after.reads.checked_sub(before.reads)?,
        writes: after.writes.checked_sub(before.writes)?,
        ..after.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(group: &Path, name: &str, text: &str) {
        std::fs::write(group.join(name), text).unwrap();
    }

    #[test]
    fn each_limit_of_a_device_is_found_whatever_the_version() {
        let group = tempfile::tempdir().unwrap();
        let limits = || -> Vec<(Limited, u64)> {
            let found = limits_in(group.path(), "loop0", "7:0");
            assert!(found.iter().all(|limit| limit.device == "loop0"));
            found.iter().map(|limit| (limit.what, limit.a_second)).collect()
        };
        assert_eq!(limits(), []);
        write(group.path(), "blkio.throttle.read_bps_device", "8:0 5\n7:0 800\n");
        write(group.path(), "blkio.throttle.write_iops_device", "7:0 3\n");
        assert_eq!(limits(), [(Limited::ReadBytes, 800), (Limited::Writes, 3)]);
        let group = tempfile::tempdir().unwrap();
        let text = "7:01 rbps=1 wbps=1\n7:0 rbps=900 wbps=max riops=200 wiops=max\n";
        write(group.path(), "io.max", text);
        let found = limits_in(group.path(), "loop0", "7:0");
        let found: Vec<_> = found.iter().map(|limit| (limit.what, limit.a_second)).collect();
        assert_eq!(found, [(Limited::ReadBytes, 900), (Limited::Reads, 200)]);
    }

    #[test]
    fn a_limit_that_is_changed_is_known_before_and_after() {
        let of = |a_second| {
            let (device, group) = ("loop0".to_string(), "/g".to_string());
            Limit { device, what: Limited::Reads, a_second, group }
        };
        let check = |before: &[Limit], after: &[Limit], expected: &[Limit]| {
            assert_eq!(of_both(Some(before), Some(after)), Some(expected.to_vec()));
        };
        check(&[of(1)], &[of(1)], &[of(1)]);
        check(&[of(1)], &[of(2)], &[of(1), of(2)]);
        check(&[], &[of(2)], &[of(2)]);
        check(&[of(1)], &[], &[of(1)]);
        assert_eq!(of_both(None, Some(&[of(1)])), None);
    }

    /// What each version writes: the lines of 6.18 for two devices, and those of version 2, which
    /// omits devices that a group has not used.
    #[test]
    fn what_a_group_did_on_a_device_is_counted_whatever_the_version() {
        let check = |files: &[(&str, &str)], expected: Option<[u64; 4]>| {
            let group = tempfile::tempdir().unwrap();
            files.iter().for_each(|(name, text)| write(group.path(), name, text));
            let (directory, number) = (group.path().to_path_buf(), "7:0".to_string());
            let found = GroupCounters { directory, number, of: GroupTraffic::default() }.read();
            let amounts = |it: GroupTraffic| [it.read_bytes, it.write_bytes, it.reads, it.writes];
            assert_eq!(found.map(amounts), expected, "{files:?}");
        };
        let of_version_1 = |amounts: [u64; 2]| {
            let [read, written] = amounts;
            format!(
                "254:0 Read 9\n254:0 Write 9\n254:0 Total 18\n7:0 Read {read}\n7:0 Write \
                 {written}\n7:0 Sync 7\n7:0 Async 0\n7:0 Discard 0\n7:0 Total 7\nTotal 25\n"
            )
        };
        let (bytes, requests) = (of_version_1([8192, 4096]), of_version_1([2, 1]));
        check(&[(BYTES, &bytes), (REQUESTS, &requests)], Some([8192, 4096, 2, 1]));
        check(&[(BYTES, &bytes)], None);
        check(&[(BYTES, "Total 0\n"), (REQUESTS, "Total 0\n")], Some([0; 4]));
        check(&[(BYTES, "7:0 Read x\n"), (REQUESTS, "Total 0\n")], None);
        let text = "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n\
                    7:0 rbytes=8192 wbytes=4096 rios=2 wios=1 dbytes=0 dios=0\n";
        check(&[("io.stat", text)], Some([8192, 4096, 2, 1]));
        check(&[("io.stat", "")], Some([0; 4]));
        check(&[], None);
    }
}
