//! Loop devices and their backing files.

use crate::root::Root;
use crate::sysfs::{entries, file_name, text};
use rustix::io::{self, Errno};
use rustix::ioctl::{Getter, Opcode};
use std::fs::File;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// `LOOP_GET_STATUS64` of `linux/loop.h`.
const LOOP_GET_STATUS64: Opcode = 0x4C05;

/// `struct loop_info64` of the same header: 232 bytes. The first three words are the file's device,
/// its inode, and the device number if the file is a device node.
type LoopInfo = [u64; 29];

/// A file's identity, independent of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    /// The device number, if the file is a device node.
    node: Option<u64>,
}

impl Identity {
    /// The identity of the file now at `path`.
    pub(crate) fn at(path: &Path) -> Option<Identity> {
        let found = path.metadata().ok()?;
        let is_node = found.file_type().is_block_device();
        let node = is_node.then(|| found.rdev());
        Some(Identity { device: found.dev(), inode: found.ino(), node })
    }

    /// Whether both have the same content. One device may have several nodes.
    pub(crate) fn is_same(&self, other: &Identity) -> bool {
        match (self.node, other.node) {
            (Some(one), Some(two)) => one == two,
            (None, None) => (self.device, self.inode) == (other.device, other.inode),
            _ => false,
        }
    }

    /// The `major:minor`, if this is a device node.
    pub(crate) fn number(&self) -> Option<String> {
        let node = self.node?;
        Some(format!("{}:{}", rustix::fs::major(node), rustix::fs::minor(node)))
    }
}

/// A loop device with a backing file.
#[derive(Debug, Clone)]
pub(crate) struct Loop {
    /// Its name: `loop0`.
    pub(crate) name: String,
    /// The file's path when it was attached, possibly in another container.
    pub(crate) path: String,
    /// The file, if known.
    pub(crate) file: Option<Identity>,
}

/// All loop devices with a backing file.
pub(crate) fn all(root: &Root) -> Vec<Loop> {
    let disks = entries(&root.at("/sys/block"));
    let of_disk = |disk: std::path::PathBuf| {
        let path = text(&disk.join("loop/backing_file")).filter(|path| !path.is_empty())?;
        let name = file_name(&disk);
        let file = match File::open(root.at("/dev").join(&name)).and_then(|node| Ok(ask(&node)?)) {
            Ok(file) => Some(file),
            // The device was detached meanwhile.
            Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => return None,
            // Asking is not permitted. The path may lead to another file by now, but there is no
            // better source.
            Err(_) => Identity::at(Path::new(&path)),
        };
        Some(Loop { name, path, file })
    };
    disks.filter_map(of_disk).collect()
}

/// The backing file of a loop device, as the OS reports it.
fn ask(node: &File) -> io::Result<Identity> {
    // SAFETY: for this request, the kernel writes a `struct loop_info64`, or fails and writes
    // nothing. `LoopInfo` has its size and at least its alignment.
    let info = unsafe { rustix::ioctl::ioctl(node, Getter::<LOOP_GET_STATUS64, LoopInfo>::new())? };
    let [device, inode, node, ..] = info;
    Ok(Identity { device, inode, node: (node != 0).then_some(node) })
}

#[cfg(test)]
impl Identity {
    /// The identity of a node of the device `major:minor`.
    pub(crate) fn of_node(major: u32, minor: u32) -> Identity {
        Identity { device: 0, inode: 0, node: Some(rustix::fs::makedev(major, minor)) }
    }
}
