//! Who uses a block device.

use crate::error::Error;
use crate::loops::{self, Identity, Loop};
use crate::mounts::{self, Mount};
use crate::root::Root;
use crate::sysfs::{self, entries, file_name, text};
use std::path::{Path, PathBuf};

/// Swap devices and files.
fn swaps() -> Vec<Identity> {
    let text = std::fs::read("/proc/swaps").unwrap_or_default();
    parse_swaps(&text).iter().filter_map(|path| Identity::at(path)).collect()
}

/// The first field of every line except the heading.
fn parse_swaps(text: &[u8]) -> Vec<PathBuf> {
    let lines = text.split(|&byte| byte == b'\n').skip(1);
    lines
        .filter_map(|line| line.split(|byte| byte.is_ascii_whitespace()).next())
        .filter(|field| !field.is_empty())
        .map(mounts::path)
        .collect()
}

/// A device and those that share bytes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SharingDevices {
    pub(super) itself: SharingDevice,
    /// Its partitions, or the disk that contains it.
    relatives: Vec<SharingDevice>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SharingDevice {
    pub(super) name: String,
    number: String,
    /// Its directory in sysfs.
    path: PathBuf,
}

impl SharingDevice {
    fn at(path: PathBuf) -> Option<SharingDevice> {
        Some(SharingDevice { name: file_name(&path), number: text(&path.join("dev"))?, path })
    }
}

impl SharingDevices {
    /// The family of device `number`, if sysfs has it.
    pub(super) fn of(root: &Root, number: &str) -> Option<SharingDevices> {
        let itself = std::fs::canonicalize(sysfs::block(root, number)).ok()?;
        let is_partition = |path: &Path| path.join("partition").exists();
        let relatives: Vec<PathBuf> = match itself.parent().filter(|_| is_partition(&itself)) {
            Some(disk) => vec![disk.to_path_buf()],
            None => entries(&itself).filter(|path| is_partition(path)).collect(),
        };
        let relatives = relatives.into_iter().filter_map(SharingDevice::at).collect();
        Some(SharingDevices { itself: SharingDevice::at(itself)?, relatives })
    }

    fn all(&self) -> impl Iterator<Item = &SharingDevice> {
        std::iter::once(&self.itself).chain(&self.relatives)
    }
}

/// Everything that can use a device.
pub(super) struct Users {
    root: Root,
    mounts: Vec<Mount>,
    swaps: Vec<Identity>,
    loops: Vec<Loop>,
}

/// Maximum nesting followed, for loop devices on loop devices.
const DEPTH: usize = 8;

impl Users {
    pub(super) fn of_machine(root: &Root) -> Result<Users, Error> {
        Ok(Users {
            root: root.clone(),
            mounts: mounts::all(root)?,
            swaps: swaps(),
            loops: loops::all(root),
        })
    }

    /// Why a device of this family must not be written to. `by` is the loop device through which it
    /// would be written, if that is another one.
    pub(super) fn of(&self, family: &SharingDevices, by: Option<&str>) -> Vec<String> {
        self.within(family, by, DEPTH)
    }

    /// Who else reads or writes a device of this family, or one that is made of it. Empty if nobody
    /// is known to.
    pub(super) fn uses(&self, family: &SharingDevices) -> Vec<String> {
        self.uses_within(family, DEPTH)
    }

    fn uses_within(&self, family: &SharingDevices, depth: usize) -> Vec<String> {
        let mut uses = Vec::new();
        for device in family.all() {
            uses.extend(self.uses_of(device, None));
            let above = entries(&device.path.join("holders")).filter(|_| depth > 0);
            let numbers = above.filter_map(|holder| text(&holder.join("dev")));
            let families = numbers.filter_map(|number| SharingDevices::of(&self.root, &number));
            uses.extend(families.flat_map(|family| self.uses_within(&family, depth - 1)));
        }
        uses
    }

    fn within(&self, family: &SharingDevices, by: Option<&str>, depth: usize) -> Vec<String> {
        let mut objections = Vec::new();
        for device in family.all() {
            let SharingDevice { name, path, .. } = device;
            objections.extend(self.uses_of(device, by));
            if let Some(twin) = self.twin_of(name, path) {
                objections.push(format!("{name} is the same disk as {twin}"));
            }
            if let Some(itself) = self.loops.iter().find(|known| known.name == *name) {
                objections.extend(self.of_file(itself, depth));
            }
        }
        // A read-only partition does not make its siblings read-only.
        if text(&family.itself.path.join("ro")).is_some_and(|ro| ro == "1") {
            objections.push(format!("{} is read-only", family.itself.name));
        }
        objections
    }

    /// How a device is used, as sentence parts.
    fn uses_of(&self, device: &SharingDevice, by: Option<&str>) -> Vec<String> {
        let SharingDevice { name, number, path } = device;
        let mut uses = Vec::new();
        let mut used = |how: String| uses.push(format!("{name} {how}"));
        if let Some(mount) = self.mounts.iter().find(|mount| mount.device == *number) {
            used(format!("is mounted at '{}'", mount.point.display()));
        }
        if self.is_in_btrfs(name) {
            used("is a member of a btrfs that is mounted".to_string());
        }
        if self.swaps.iter().any(|swap| swap.number().as_ref() == Some(number)) {
            used("is used for swap".to_string());
        }
        for holder in entries(&path.join("holders")) {
            used(format!("is part of {}", file_name(&holder)));
        }
        let is_of_it = |of: &&Loop| {
            by != Some(of.name.as_str())
                && of.file.and_then(|f| f.number()).as_ref() == Some(number)
        };
        if let Some(of_it) = self.loops.iter().find(is_of_it) {
            used(format!("backs {}", of_it.name));
        }
        uses
    }

    /// Why the backing file of a loop device must not be written to.
    fn of_file(&self, itself: &Loop, depth: usize) -> Vec<String> {
        let Loop { name, path, file } = itself;
        let mut objections = Vec::new();
        for other in self.loops.iter().filter(|other| other.name != *name) {
            let is_same = file.zip(other.file).map(|(one, two)| one.is_same(&two));
            let at = format!("'{}'", other.path);
            match is_same.or((*path == other.path).then_some(true)) {
                Some(false) => {}
                Some(true) => objections
                    .push(format!("{name} and {} are made of the same file {at}", other.name)),
                None => objections.push(format!(
                    "{name} and {} (of {at}) may be made of the same file",
                    other.name
                )),
            }
        }
        let Some(file) = file else { return objections };
        if self.swaps.iter().any(|swap| swap.is_same(file)) {
            objections.push(format!("{name} is made of '{path}', which is used for swap"));
        }
        let below = file.number().and_then(|number| SharingDevices::of(&self.root, &number));
        if let Some(below) = below.filter(|_| depth > 0) {
            let of_below = self.within(&below, Some(name), depth - 1);
            objections
                .extend(of_below.iter().map(|what| format!("{name} is made of '{path}': {what}")));
        }
        objections
    }

    /// Another device that is the same disk on another path, according to the disk's identifier.
    fn twin_of(&self, name: &str, path: &Path) -> Option<String> {
        let told = |path: &Path| {
            let files = [path.join("wwid"), path.join("device/wwid")];
            files.iter().find_map(|file| text(file)).filter(|wwid| !wwid.is_empty())
        };
        let own = told(path)?;
        // The paths to a multipath NVMe disk are hidden and cannot be opened.
        let is_hidden =
            |disk: &Path| text(&disk.join("hidden")).is_some_and(|hidden| hidden == "1");
        let is_twin = |disk: &PathBuf| {
            file_name(disk) != name && !is_hidden(disk) && told(disk).as_ref() == Some(&own)
        };
        entries(&self.root.at("/sys/block")).find(is_twin).map(|disk| file_name(&disk))
    }

    /// A btrfs has its own device number, but lists its members while mounted.
    fn is_in_btrfs(&self, name: &str) -> bool {
        entries(&self.root.at("/sys/fs/btrfs"))
            .any(|known| known.join("devices").join(name).exists())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::tests::Sys;
    use std::fs;

    fn mount(device: &str, point: &str) -> Mount {
        Mount {
            id: 1,
            device: device.to_string(),
            root: "/".into(),
            point: point.into(),
            file_system: "ext4".to_string(),
            source: "/dev/x".into(),
            options: Vec::new(),
        }
    }

    /// A disk `sda` with two partitions, and a disk `sdb`.
    fn disks() -> Sys {
        let sys = Sys::new();
        sys.block("sda", 0, &[("ro", "0"), ("queue/rotational", "0")]);
        sys.block("sda/sda1", 1, &[("partition", "1"), ("ro", "0")]);
        sys.block("sda/sda2", 2, &[("partition", "2"), ("ro", "0")]);
        sys.block("sdb", 16, &[("ro", "0")]);
        sys
    }

    #[track_caller]
    fn check(sys: &Sys, users: (&[Mount], &[u32]), minor: u32, expected: &[&str]) {
        let root = sys.root();
        let swaps = users.1.iter().map(|minor| Identity::of_node(8, *minor)).collect();
        let loops = loops::all(&root);
        let users = Users { root, mounts: users.0.to_vec(), swaps, loops };
        let family = SharingDevices::of(&users.root, &format!("8:{minor}")).unwrap();
        assert_eq!(users.of(&family, None), expected, "{family:#?}");
    }

    #[test]
    fn a_disk_that_nobody_uses_may_be_written() {
        let sys = disks();
        let elsewhere = [mount("8:99", "/"), mount("0:1", "/proc")];
        for minor in [0, 1, 2, 16] {
            check(&sys, (&elsewhere, &[98]), minor, &[]);
        }
    }

    #[test]
    fn a_mount_forbids_its_partition_and_the_disk_but_no_other_partition() {
        let sys = disks();
        let of_partition: &[Mount] = &[mount("8:1", "/home/a b"), mount("8:1", "/again")];
        for minor in [0, 1] {
            check(&sys, (of_partition, &[]), minor, &["sda1 is mounted at '/home/a b'"]);
        }
        for minor in [2, 16] {
            check(&sys, (of_partition, &[]), minor, &[]);
        }
        // A mount of the whole disk also uses each partition.
        for minor in [0, 1, 2] {
            check(&sys, (&[mount("8:0", "/")], &[]), minor, &["sda is mounted at '/'"]);
        }
    }

    #[test]
    fn swap_other_devices_and_btrfs_forbid_as_well() {
        let sys = disks();
        check(&sys, (&[], &[2]), 2, &["sda2 is used for swap"]);
        check(&sys, (&[], &[2]), 0, &["sda2 is used for swap"]);
        check(&sys, (&[], &[2]), 1, &[]);
        let mapped = sys.block("dm-0", 32, &[]);
        sys.slave(&mapped, &sys.path().join("devices/sdb"));
        check(&sys, (&[], &[]), 16, &["sdb is part of dm-0"]);
        check(&sys, (&[], &[]), 32, &[]);
        let members = sys.path().join("fs/btrfs/some-uuid/devices");
        fs::create_dir_all(&members).unwrap();
        fs::create_dir(sys.path().join("fs/btrfs/features")).unwrap();
        fs::write(members.join("sda1"), "").unwrap();
        let expected = ["sda1 is a member of a btrfs that is mounted"];
        check(&sys, (&[], &[]), 0, &expected);
        check(&sys, (&[mount("8:1", "/a")], &[]), 1, &["sda1 is mounted at '/a'", expected[0]]);
    }

    #[test]
    fn a_file_that_another_loop_device_is_made_of_forbids_as_well() {
        let sys = disks();
        let path = |name: &str| sys.path().join(name).display().to_string();
        fs::write(path("image"), "").unwrap();
        fs::hard_link(path("image"), path("link")).unwrap();
        fs::write(path("other"), "").unwrap();
        let files = ["image", "link", "other", "gone", "gone"].map(path);
        for (minor, file) in (40..).zip(&files) {
            sys.block(&format!("loop{minor}"), minor, &[("loop/backing_file", file)]);
        }
        let same = format!("loop40 and loop41 are made of the same file '{}'", files[1]);
        let unknown = |name: &str, other: u32, file: &str| {
            format!("{name} and loop{other} (of '{file}') may be made of the same file")
        };
        let of_gone = [43, 44].map(|other| unknown("loop40", other, &files[3]));
        check(&sys, (&[], &[]), 40, &[&same, &of_gone[0], &of_gone[1]]);
        let of_other = [43, 44].map(|other| unknown("loop42", other, &files[3]));
        check(&sys, (&[], &[]), 42, &[&of_other[0], &of_other[1]]);
        for gone in ["loop43", "loop44"] {
            fs::remove_dir_all(sys.path().join("devices").join(gone).join("loop")).unwrap();
        }
        check(&sys, (&[], &[]), 40, &[&same]);
        check(&sys, (&[], &[]), 42, &[]);
        check(&sys, (&[], &[]), 16, &[]);
    }

    #[test]
    fn another_way_to_the_same_disk_is_told() {
        let sys = disks();
        for (disk, minor) in [("sdc", 48), ("sdd", 49)] {
            sys.block(disk, minor, &[("device/wwid", "naa.5000")]);
        }
        sys.block("nvme0c0n1", 50, &[("device/wwid", "naa.5000"), ("hidden", "1")]);
        check(&sys, (&[], &[]), 48, &["sdc is the same disk as sdd"]);
    }

    #[test]
    fn who_uses_a_device_that_is_read_is_told_through_what_is_made_of_it() {
        let sys = disks();
        let mapped = sys.block("dm-0", 32, &[]);
        let above = sys.block("dm-1", 33, &[]);
        sys.slave(&mapped, &sys.path().join("devices/sda/sda2"));
        sys.slave(&above, &mapped);
        let uses = |mounts: &[Mount], minor: u32| {
            let root = sys.root();
            let loops = loops::all(&root);
            let users = Users { root, mounts: mounts.to_vec(), swaps: Vec::new(), loops };
            let family = SharingDevices::of(&users.root, &format!("8:{minor}")).unwrap();
            users.uses(&family)
        };
        let volume = [mount("8:33", "/srv")];
        let parts = ["sda2 is part of dm-0", "dm-0 is part of dm-1", "dm-1 is mounted at '/srv'"];
        for minor in [0, 2] {
            assert_eq!(uses(&volume, minor), parts);
        }
        assert_eq!(uses(&volume, 32), parts[1..]);
        assert_eq!(uses(&[], 33), [""; 0]);
        // Another partition, another disk, and a device that is only read-only.
        assert_eq!(uses(&volume, 1), [""; 0]);
        fs::write(sys.path().join("devices/sdb/ro"), "1\n").unwrap();
        assert_eq!(uses(&volume, 16), [""; 0]);
    }

    #[test]
    fn what_is_read_only_is_told_of_the_device_itself() {
        let sys = disks();
        fs::write(sys.path().join("devices/sda/sda1/ro"), "1\n").unwrap();
        check(&sys, (&[], &[]), 1, &["sda1 is read-only"]);
        check(&sys, (&[], &[]), 0, &[]);
    }

    #[test]
    fn swap_devices_are_the_first_fields_and_may_have_blanks() {
        let text = b"Filename\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
                     /dev/vda2                               partition\t1048572\t0\t-2\n\
                     /a\\040file                               file\t8\t0\t-3\n";
        assert_eq!(parse_swaps(text), ["/dev/vda2", "/a file"].map(PathBuf::from));
        assert_eq!(parse_swaps(b"Filename Type Size Used Priority\n"), [] as [PathBuf; 0]);
        assert_eq!(parse_swaps(b""), [] as [PathBuf; 0]);
    }
}
