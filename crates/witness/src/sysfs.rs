//! Small files and directories of sysfs.

use crate::root::Root;
use std::path::{Path, PathBuf};

/// The content of a file, without surrounding whitespace.
pub(crate) fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

/// The number in a file.
pub(crate) fn number(path: &Path) -> Option<u64> {
    text(path)?.parse().ok()
}

/// Whether the number in a file is 1, and not 0.
pub(crate) fn flag(path: &Path) -> Option<bool> {
    match number(path) {
        Some(0) => Some(false),
        Some(1) => Some(true),
        _ => None,
    }
}

/// The active choice in a list such as `none [mq-deadline] kyber`. A single choice may have no
/// brackets.
pub(crate) fn chosen(text: &str) -> Option<String> {
    let words = || text.split_ascii_whitespace();
    let marked = words().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    let alone = words().next().filter(|_| words().count() == 1);
    marked.or(alone).map(str::to_string)
}

/// The entries of a directory, sorted by name; empty if it does not exist.
pub(crate) fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter()
}

/// The directory of the block device `major:minor`. Podman masks the list by number, but not the
/// one by name.
pub(crate) fn block(root: &Root, number: &str) -> PathBuf {
    let listed = root.at("/sys/dev/block").join(number);
    if listed.exists() {
        return listed;
    }
    let is_it = |path: &PathBuf| text(&path.join("dev")).as_deref() == Some(number);
    entries(&root.at("/sys/class/block")).find(is_it).unwrap_or(listed)
}

/// The directory of the block device whose node has this name, in a machine whose nodes are not
/// there: by the kernel's name, or by that of the device mapper.
pub(crate) fn block_of_node(root: &Root, node: &Path) -> Option<PathBuf> {
    let below = node.strip_prefix("/dev").ok()?;
    // A slash in the name of a device is an exclamation mark in /sys.
    let name = below.to_string_lossy().replace('/', "!");
    let plain = root.at("/sys/class/block").join(&name);
    let is_name = !name.is_empty() && !name.starts_with('.');
    let mapped = || {
        let mapped = mapped_name(below)?;
        let is_it = |it: &PathBuf| text(&it.join("dm/name")).as_deref() == Some(&mapped);
        entries(&root.at("/sys/class/block")).find(is_it)
    };
    Some(plain).filter(|block| is_name && block.exists()).or_else(mapped)
}

/// The name that the device mapper has for the node below `/dev`: of `mapper/NAME`, or of LVM's
/// `GROUP/VOLUME`, whose hyphens it doubles.
fn mapped_name(node: &Path) -> Option<String> {
    let parts: Vec<String> = node.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    match &parts[..] {
        [mapper, name] if mapper == "mapper" => Some(name.clone()),
        [group, volume] => {
            Some(format!("{}-{}", group.replace('-', "--"), volume.replace('-', "--")))
        }
        _ => None,
    }
}

/// A device's name, from its directory.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Whether `name` is `kind` followed by a number: `ram0` is of kind `ram`, `ramdisk` is not.
pub(crate) fn is_numbered(name: &str, kind: &str) -> bool {
    name.strip_prefix(kind).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    /// A handmade sysfs, for hardware that this machine lacks.
    pub(crate) struct Sys(TempDir);

    impl Sys {
        pub(crate) fn new() -> Sys {
            let sys = Sys(TempDir::new().unwrap());
            for directory in ["devices", "dev/block", "class/block", "block", "fs/btrfs"] {
                fs::create_dir_all(sys.path().join(directory)).unwrap();
            }
            sys
        }

        /// The mount point of sysfs.
        pub(crate) fn path(&self) -> PathBuf {
            self.0.path().join("sys")
        }

        pub(crate) fn root(&self) -> Root {
            Root::of(self.0.path())
        }

        /// Creates a block device with number 8:`minor` at `path` below `devices`.
        pub(crate) fn block(&self, path: &str, minor: u32, files: &[(&str, &str)]) -> PathBuf {
            let block = self.path().join("devices").join(path);
            fs::create_dir_all(&block).unwrap();
            let number = format!("8:{minor}");
            for (name, text) in files.iter().chain(&[("dev", number.as_str())]) {
                let file = block.join(name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, format!("{text}\n")).unwrap();
            }
            symlink(&block, self.path().join("dev/block").join(&number)).unwrap();
            symlink(&block, self.path().join("class/block").join(file_name(&block))).unwrap();
            if !block.join("partition").exists() {
                symlink(&block, self.path().join("block").join(file_name(&block))).unwrap();
            }
            block
        }

        /// Makes `disk` a component of the device at `of`.
        pub(crate) fn slave(&self, of: &Path, disk: &Path) {
            for (directory, target) in [(of.join("slaves"), disk), (disk.join("holders"), of)] {
                fs::create_dir_all(&directory).unwrap();
                symlink(target, directory.join(file_name(target))).unwrap();
            }
        }
    }

    #[test]
    fn the_choice_in_force_is_marked_or_alone() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("none").as_deref(), Some("none"));
        assert_eq!(chosen("none mq-deadline"), None);
        assert_eq!(chosen(""), None);
    }

    #[test]
    fn a_device_is_found_where_the_list_by_number_is_masked() {
        let sys = Sys::new();
        let (sda, sdb) = (sys.block("sda", 0, &[]), sys.block("sdb", 16, &[]));
        let found = |number: &str| fs::canonicalize(block(&sys.root(), number)).ok();
        let [of_sda, of_sdb] = [&sda, &sdb].map(|disk| fs::canonicalize(disk).ok());
        for is_masked in [false, true] {
            if is_masked {
                fs::remove_dir_all(sys.path().join("dev/block")).unwrap();
            }
            assert_eq!([found("8:0"), found("8:16")], [of_sda.clone(), of_sdb.clone()]);
            assert_eq!(found("8:1"), None);
        }
    }

    #[test]
    fn what_is_not_there_is_none() {
        let sys = Sys::new();
        let disk = sys.block("sda", 0, &[("size", " 42 "), ("model", "X Y")]);
        assert_eq!(number(&disk.join("size")), Some(42));
        assert_eq!(text(&disk.join("model")).as_deref(), Some("X Y"));
        assert_eq!(number(&disk.join("model")), None);
        assert_eq!(text(&disk.join("missing")), None);
        let names: Vec<String> = entries(&disk).map(|path| file_name(&path)).collect();
        assert_eq!(names, ["dev", "model", "size"]);
        assert_eq!(entries(&disk.join("missing")).count(), 0);
    }
}
