//! A machine's files, unpacked to a temporary directory.

use super::machine_tree::unpack;
use crate::root::Root;
use crate::sysfs;
use std::path::Path;
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
        let text = std::fs::read_to_string(&path);
        Tree::unpack(&text.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }

    /// The machine that `text` describes.
    pub(super) fn unpack(text: &str) -> Tree {
        let tree = Tree { directory: TempDir::new().unwrap() };
        unpack(text, tree.directory.path());
        tree
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn root(&self) -> Root {
        Root::of(self.directory.path())
    }
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
