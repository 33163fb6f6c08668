//! The file systems that a process sees, and which of them the OS's counters show.

use crate::mounts::{self, Mount};
use model::running::OpenMedium;
use model::watched::COUNTED_FILE_SYSTEMS;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Those that keep files in memory only.
const IN_MEMORY: [&str; 4] = ["tmpfs", "ramfs", "hugetlbfs", "devtmpfs"];
/// Those whose files are not data.
const OF_SYSTEM: [&str; 16] = [
    "proc",
    "sysfs",
    "cgroup",
    "cgroup2",
    "debugfs",
    "tracefs",
    "securityfs",
    "selinuxfs",
    "bpf",
    "configfs",
    "devpts",
    "mqueue",
    "pstore",
    "efivarfs",
    "nsfs",
    "binfmt_misc",
];

/// The mounts of processes, one list for each namespace of mounts.
#[derive(Debug, Default)]
pub(super) struct Mounted {
    of_namespace: BTreeMap<PathBuf, Vec<Mount>>,
}

/// Where a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MountPlace {
    pub(super) file_system: Option<String>,
    pub(super) medium: OpenMedium,
    /// Whether its files are the OS's answers, not data.
    pub(super) is_of_system: bool,
}

impl MountPlace {
    fn of(mount: Option<&Mount>) -> MountPlace {
        let Some(mount) = mount else {
            return MountPlace {
                file_system: None,
                medium: OpenMedium::Unseen,
                is_of_system: false,
            };
        };
        let name = mount.file_system.as_str();
        let has_device = !mount.device.starts_with("0:");
        let medium = match () {
            () if COUNTED_FILE_SYSTEMS.contains(&name) && has_device => OpenMedium::Device,
            () if IN_MEMORY.contains(&name) => OpenMedium::Memory,
            () => OpenMedium::Unseen,
        };
        let is_of_system = OF_SYSTEM.contains(&name);
        MountPlace { file_system: Some(name.to_string()), medium, is_of_system }
    }
}

impl Mounted {
    /// The place of a file of process `pid` on the mount with this number.
    pub(super) fn by_id(&mut self, pid: u32, id: u64) -> MountPlace {
        MountPlace::of(self.of(pid).iter().find(|mount| mount.id == id))
    }

    /// The place of the file that process `pid` has mapped, from `major:minor` and its path.
    pub(super) fn by_device(&mut self, pid: u32, device: &str, path: &Path) -> MountPlace {
        let mounts = self.of(pid);
        let above = mounts.iter().filter(|mount| path.starts_with(&mount.point));
        // The last mount on a point covers the others.
        let deepest = above.max_by_key(|mount| mount.point.components().count());
        let same = mounts.iter().find(|mount| mount.device == device && !device.starts_with("0:"));
        MountPlace::of(same.or(deepest))
    }

    fn of(&mut self, pid: u32) -> &[Mount] {
        let namespace = fs::read_link(format!("/proc/{pid}/ns/mnt")).unwrap_or_default();
        self.of_namespace.entry(namespace).or_insert_with(|| {
            mounts::parse(&fs::read(format!("/proc/{pid}/mountinfo")).unwrap_or_default())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_proven_file_systems_on_devices_are_counted() {
        let text = b"1 0 254:0 / / rw - ext4 /dev/vda rw\n2 1 0:41 / /n rw - nfs4 h:/x rw\n\
                     3 1 0:42 / /t rw - tmpfs t rw\n4 1 0:5 / /proc rw - proc p rw\n\
                     5 1 0:50 / /b rw - btrfs /dev/vdb rw\n";
        let mut mounted = Mounted::default();
        mounted.of_namespace.insert(PathBuf::new(), mounts::parse(text));
        // No process has this number, so its namespace has no name.
        let pid = u32::MAX;
        let medium = |mounted: &mut Mounted, id| mounted.by_id(pid, id).medium;
        assert_eq!(medium(&mut mounted, 1), OpenMedium::Device);
        assert_eq!(medium(&mut mounted, 2), OpenMedium::Unseen);
        assert_eq!(medium(&mut mounted, 3), OpenMedium::Memory);
        assert!(mounted.by_id(pid, 4).is_of_system);
        assert_eq!(medium(&mut mounted, 5), OpenMedium::Unseen);
        assert_eq!(medium(&mut mounted, 9), OpenMedium::Unseen);
        let by_device = |mounted: &mut Mounted, device: &str, path: &str| {
            mounted.by_device(pid, device, Path::new(path)).medium
        };
        assert_eq!(by_device(&mut mounted, "254:0", "/x"), OpenMedium::Device);
        assert_eq!(by_device(&mut mounted, "0:50", "/b/x"), OpenMedium::Unseen);
        assert_eq!(by_device(&mut mounted, "0:42", "/t/x"), OpenMedium::Memory);
    }
}
