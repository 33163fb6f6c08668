//! Loop devices, and what each is made of.

use crate::root::Root;
use crate::sysfs::{entries, file_name, text};
use rustix::io::{self, Errno};
use rustix::ioctl::{Getter, Opcode};
use std::fs::File;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// `LOOP_GET_STATUS64` of `linux/loop.h`.
const LOOP_GET_STATUS64: Opcode = 0x4C05;

/// `struct loop_info64` of the same: 232 bytes, of which the first three words are the file's
/// device, its inode, and the device that it is, if it is one.
type LoopInfo = [u64; 29];

/// A file as the OS knows it, whatever its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    /// The device that it is, if it is a node of one.
    node: Option<u64>,
}

impl Identity {
    /// Of what is at `path` now.
    pub(crate) fn at(path: &Path) -> Option<Identity> {
        let found = path.metadata().ok()?;
        let is_node = found.file_type().is_block_device();
        let node = is_node.then(|| found.rdev());
        Some(Identity { device: found.dev(), inode: found.ino(), node })
    }

    /// Whether both are the same bytes: nodes of one device may be several files.
    pub(crate) fn is_same(&self, other: &Identity) -> bool {
        match (self.node, other.node) {
            (Some(one), Some(two)) => one == two,
            (None, None) => (self.device, self.inode) == (other.device, other.inode),
            _ => false,
        }
    }

    /// The `major:minor` of the device that it is, if it is one.
    pub(crate) fn number(&self) -> Option<String> {
        let node = self.node?;
        Some(format!("{}:{}", rustix::fs::major(node), rustix::fs::minor(node)))
    }
}

/// A loop device with a file behind it.
#[derive(Debug, Clone)]
pub(crate) struct Loop {
    /// Its name: `loop0`.
    pub(crate) name: String,
    /// The path that the file had when it was attached, maybe in another container.
    pub(crate) path: String,
    /// The file, if known.
    pub(crate) file: Option<Identity>,
}

/// All loop devices that have a file.
pub(crate) fn all(root: &Root) -> Vec<Loop> {
    let disks = entries(&root.at("/sys/block"));
    let of_disk = |disk: std::path::PathBuf| {
        let path = text(&disk.join("loop/backing_file")).filter(|path| !path.is_empty())?;
        let name = file_name(&disk);
        let file = match File::open(root.at("/dev").join(&name)).and_then(|node| Ok(ask(&node)?)) {
            Ok(file) => Some(file),
            // It was detached meanwhile.
            Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => return None,
            // Without permission to ask. The path may lead to another file by now, but there is
            // nothing better.
            Err(_) => Identity::at(Path::new(&path)),
        };
        Some(Loop { name, path, file })
    };
    disks.filter_map(of_disk).collect()
}

/// The file behind a loop device, as the OS reports it.
fn ask(node: &File) -> io::Result<Identity> {
    // SAFETY: for this number the kernel writes a `struct loop_info64`, which `LoopInfo` has the
    // size and at least the alignment of, or nothing and an error.
    let info = unsafe { rustix::ioctl::ioctl(node, Getter::<LOOP_GET_STATUS64, LoopInfo>::new())? };
    let [device, inode, node, ..] = info;
    Ok(Identity { device, inode, node: (node != 0).then_some(node) })
}

#[cfg(test)]
impl Identity {
    /// Of a node of the device `major:minor`.
    pub(crate) fn of_node(major: u32, minor: u32) -> Identity {
        Identity { device: 0, inode: 0, node: Some(rustix::fs::makedev(major, minor)) }
    }
}
