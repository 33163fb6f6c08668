//! A machine's files, described as text.
//!
//! Each `crates/witness/tests/trees/NAME.txt` describes one machine. Its lines are:
//!
//! ```text
//! # a comment
//! /sys/devices/…/sda/          what follows, indented, is in this directory
//!   size = 42                  a file of one line; `name =` is an empty one
//!   device -> ../../0:0:0:0    a link; an absolute target is of this machine, not of the host
//!   md/uevent:                 a file of the lines that follow
//!     | MAJOR=9
//! /sys/…/cpu{0..3,8..11}/      as many directories with the same files
//! ```
//!
//! A file `dev` makes its directory a block device. As in the real sysfs, `/sys/dev/block` and
//! `/sys/class/block` link to it, and `/sys/block` does if it is not a partition.

use crate::root::Root;
use crate::sysfs;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A machine's files, written to a temporary directory.
pub(super) struct Tree {
    directory: TempDir,
}

impl Tree {
    /// The machine that `tests/trees/NAME.txt` describes.
    #[track_caller]
    pub(super) fn of(name: &str) -> Tree {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees").join(name);
        let path = path.with_extension("txt");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Tree::unpack(&text)
    }

    /// The machine that `text` describes.
    pub(super) fn unpack(text: &str) -> Tree {
        let tree = Tree { directory: TempDir::new().unwrap() };
        let mut directories = vec![String::new()];
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let entry = line.trim();
            if entry.is_empty() || entry.starts_with('#') {
                continue;
            }
            if !line.starts_with(' ') {
                directories = vec![String::new()];
            }
            if let Some(directory) = entry.strip_suffix('/') {
                directories = all(directory);
            } else if let Some(name) = entry.strip_suffix(':') {
                let mut content = String::new();
                while let Some(next) = lines.peek().and_then(|next| next.trim().strip_prefix('|')) {
                    content += &format!("{}\n", next.strip_prefix(' ').unwrap_or(next));
                    lines.next();
                }
                directories.iter().for_each(|directory| tree.write(directory, name, &content));
            } else if let Some((name, target)) = entry.split_once(" -> ") {
                directories.iter().for_each(|directory| tree.link(directory, name, target));
            } else {
                let (name, content) = entry.split_once(" =").expect(entry);
                let content = format!("{}\n", content.trim());
                directories.iter().for_each(|directory| tree.write(directory, name, &content));
            }
        }
        tree.register();
        tree
    }

    pub(super) fn root(&self) -> Root {
        Root::of(self.directory.path())
    }

    fn new_path(&self, directory: &str, name: &str) -> PathBuf {
        let path = self.root().at(format!("{directory}/{name}"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn write(&self, directory: &str, name: &str, content: &str) {
        fs::write(self.new_path(directory, name), content).unwrap();
    }

    fn link(&self, directory: &str, name: &str, target: &str) {
        let target = match target.starts_with('/') {
            true => self.root().at(target),
            false => PathBuf::from(target),
        };
        symlink(target, self.new_path(directory, name)).unwrap();
    }

    /// Creates the OS's links to all block devices.
    fn register(&self) {
        let mut directories = vec![self.root().at("/sys/devices")];
        while let Some(directory) = directories.pop() {
            directories.extend(
                sysfs::entries(&directory).filter(|path| {
                    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
                }),
            );
            let Some(number) = sysfs::text(&directory.join("dev")) else { continue };
            let name = sysfs::file_name(&directory);
            let target = directory.to_str().unwrap();
            let link = |of: &str, name: &str| {
                symlink(target, self.new_path(of, name)).unwrap();
            };
            link("/sys/dev/block", &number);
            link("/sys/class/block", &name);
            if !directory.join("partition").exists() {
                link("/sys/block", &name);
            }
        }
    }
}

/// Expands ranges: `cpu{0..1,4..4}` becomes `cpu0`, `cpu1` and `cpu4`.
fn all(text: &str) -> Vec<String> {
    let Some((before, rest)) = text.split_once('{') else { return vec![text.to_string()] };
    let (ranges, after) = rest.split_once('}').expect(text);
    let numbers = ranges.split(',').flat_map(|range| {
        let (first, last) = range.split_once("..").expect(text);
        first.parse::<u32>().unwrap()..=last.parse().unwrap()
    });
    numbers.map(|number| format!("{before}{number}{after}")).collect()
}

#[test]
fn a_tree_is_unpacked_as_the_os_would_lay_it_out() {
    let tree = Tree::unpack(
        "\
# a machine
/sys/devices/pci/sda/
  dev = 8:0
  device -> ../0:0:0:0

  uevent:
    | MAJOR=8
    | MINOR=0
/sys/devices/pci/sda/sda1/
  dev = 8:1
  partition = 1
/sys/devices/pci/0:0:0:0/
  model = DISK
/dev/mapper/
  x -> /dev/sda
/dev/
  sda =
/sys/devices/system/cpu/cpu{0..1,4..4}/
  online = 1
",
    );
    let root = tree.root();
    let text = |path: &str| sysfs::text(&root.at(path));
    assert_eq!(text("/sys/block/sda/device/model").as_deref(), Some("DISK"));
    assert_eq!(text("/sys/dev/block/8:1/partition").as_deref(), Some("1"));
    assert_eq!(text("/sys/class/block/sda/uevent").as_deref(), Some("MAJOR=8\nMINOR=0"));
    assert_eq!(text("/dev/mapper/x").as_deref(), Some(""));
    assert_eq!(text("/sys/devices/system/cpu/cpu4/online").as_deref(), Some("1"));
    assert_eq!(text("/sys/block/sda1/dev"), None);
}
