//! Which file a path of `/proc` leads to, without opening it.

use crate::mounts;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, makedev, statx};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A file. A file system may give the number of a removed file to a new one, but not its birth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileIdentity {
    /// The device; of a block device, its own.
    pub(crate) device: u64,
    /// The inode; 0 for a block device.
    pub(crate) inode: u64,
    born: Option<(i64, u32)>,
}

/// What the OS tells of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundFile {
    pub(crate) identity: FileIdentity,
    /// Size in bytes. That of a block device is in `/sys`.
    pub(crate) bytes: u64,
    pub(crate) is_block_device: bool,
    pub(crate) has_name: bool,
    pub(crate) mode: u32,
    pub(crate) owner: u32,
    pub(crate) group: u32,
    mount: Option<u64>,
}

/// What is at a path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FileKind {
    /// A regular file or a block device.
    File(FoundFile),
    /// Anything else, that can be read: `None` for a directory, `/dev/null` and the like.
    Other(Option<OtherSource>),
}

/// What can be read, and is no file with stored bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherSource {
    Pipe,
    Socket,
    Terminal,
    Device,
    MemoryFile,
    /// A file of `/proc`, `/sys` and the like.
    KernelFile,
}

/// The device number of `/dev/null`, which is always at its end.
const NULL: (u32, u32) = (1, 3);
/// Numbers of the devices of terminals: consoles and serial lines, `/dev/tty`, and those of
/// `/dev/pts`.
const TERMINALS: [std::ops::RangeInclusive<u32>; 2] = [4..=5, 136..=143];

/// What a character device with this number is.
fn source_of(device: (u32, u32)) -> Option<OtherSource> {
    let is_terminal = TERMINALS.iter().any(|majors| majors.contains(&device.0));
    match device {
        NULL => None,
        _ if is_terminal => Some(OtherSource::Terminal),
        _ => Some(OtherSource::Device),
    }
}

/// What is at a path; links are followed.
pub(crate) fn look(path: &Path) -> rustix::io::Result<FileKind> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME | StatxFlags::MNT_ID;
    let told = statx(CWD, path, AtFlags::empty(), wanted)?;
    let told_of = |flag: StatxFlags| told.stx_mask & flag.bits() != 0;
    let kind = FileType::from_raw_mode(told.stx_mode.into());
    let born =
        told_of(StatxFlags::BTIME).then_some((told.stx_btime.tv_sec, told.stx_btime.tv_nsec));
    let identity = match kind {
        FileType::RegularFile => FileIdentity {
            device: makedev(told.stx_dev_major, told.stx_dev_minor),
            inode: told.stx_ino,
            born,
        },
        FileType::BlockDevice => FileIdentity {
            device: makedev(told.stx_rdev_major, told.stx_rdev_minor),
            inode: 0,
            born: None,
        },
        FileType::Fifo => return Ok(FileKind::Other(Some(OtherSource::Pipe))),
        FileType::Socket => return Ok(FileKind::Other(Some(OtherSource::Socket))),
        FileType::CharacterDevice => {
            return Ok(FileKind::Other(source_of((told.stx_rdev_major, told.stx_rdev_minor))));
        }
        _ => return Ok(FileKind::Other(None)),
    };
    let is_block_device = kind == FileType::BlockDevice;
    let of_device = || device_bytes(told.stx_rdev_major, told.stx_rdev_minor);
    Ok(FileKind::File(FoundFile {
        identity,
        bytes: if is_block_device { of_device().unwrap_or(0) } else { told.stx_size },
        is_block_device,
        has_name: told.stx_nlink > 0,
        mode: told.stx_mode.into(),
        owner: told.stx_uid,
        group: told.stx_gid,
        mount: told_of(StatxFlags::MNT_ID).then_some(told.stx_mnt_id),
    }))
}

/// What is at a path, if it is a file.
pub(crate) fn file_at(path: &Path) -> Option<FoundFile> {
    match look(path) {
        Ok(FileKind::File(found)) => Some(found),
        _ => None,
    }
}

fn device_bytes(major: u32, minor: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/size")).ok()?;
    text.trim().parse::<u64>().ok()?.checked_mul(512)
}

/// File systems whose files are windows to the kernel: nothing that they serve is storage.
const WINDOWS: [&str; 17] = [
    "autofs",
    "bdev",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "efivarfs",
    "fusectl",
    "mqueue",
    "proc",
    "pstore",
    "securityfs",
    "sysfs",
    "tracefs",
];

/// Whether files of this type of file system are windows to the kernel.
pub(crate) fn is_window(file_system: &str) -> bool {
    WINDOWS.contains(&file_system)
}

/// Types of file systems by the numbers of their mounts.
///
/// A mount tells the type in full, as in `fuse.sshfs`; the number that statfs returns is the same
/// for ext2 and ext4, and for all of FUSE.
#[derive(Debug, Default)]
pub(crate) struct FileSystems(HashMap<u64, Option<String>>);

impl FileSystems {
    /// The type of the file system of a file that a task uses.
    pub(crate) fn of(&mut self, found: &FoundFile, task: i32) -> Option<&str> {
        let mount = found.mount?;
        if !self.0.contains_key(&mount) {
            // The task may have mounts of its own.
            for whose in [task.to_string(), "self".to_string()] {
                let text = std::fs::read(format!("/proc/{whose}/mountinfo")).unwrap_or_default();
                let known = mounts::parse(&text).into_iter();
                self.0.extend(known.map(|mount| (mount.id, Some(mount.file_system))));
            }
            self.0.entry(mount).or_insert(None);
        }
        self.0.get(&mount)?.as_deref()
    }
}

/// An open file of a task.
pub(crate) fn descriptor(task: i32, number: i32) -> PathBuf {
    PathBuf::from(format!("/proc/{task}/fd/{number}"))
}

/// The absolute path of the file that a task names relative to a directory that it has open, or to
/// its working directory. Links in all but the last name are followed.
pub(crate) fn absolute(task: i32, directory: i32, name: &Path) -> Option<PathBuf> {
    let (base, rest) = match (name.strip_prefix("/"), directory) {
        // The task may have another root.
        (Ok(rest), _) => (PathBuf::from(format!("/proc/{task}/root")), rest),
        (Err(_), libc::AT_FDCWD) => (PathBuf::from(format!("/proc/{task}/cwd")), name),
        (Err(_), number) => (descriptor(task, number), name),
    };
    let whole = base.join(rest);
    let parent = std::fs::canonicalize(whole.parent()?).ok()?;
    Some(parent.join(whole.file_name()?))
}
