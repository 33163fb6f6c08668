//! What an ext4 tells of its journal.

use crate::mounts::Mount;
use crate::root::Root;
use crate::sysfs::{self, entries, file_name};
use rustix::fs::IFlags;
use std::fs::File;
use std::path::PathBuf;

/// The mode in which ext4 writes the data of files to its journal first.
const DATA_IN_JOURNAL: &str = "data=journal";

/// The options of an ext4 that are in effect: those of the mount, and the defaults, which
/// `tune2fs -o` changes. `None` if it lists nothing, and for other file systems.
pub(crate) fn options(root: &Root, mount: &Mount) -> Option<String> {
    if mount.file_system != "ext4" {
        return None;
    }
    options_of(root, mount)
}

fn options_of(root: &Root, mount: &Mount) -> Option<String> {
    let node = std::fs::canonicalize(sysfs::block(root, &mount.device)).ok()?;
    let options = root.at("/proc/fs/ext4").join(node.file_name()?).join("options");
    std::fs::read_to_string(options).ok()
}

/// Where a file system has its journal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Journal {
    /// On its own device, or it has none.
    Own,
    /// On the device at this directory of sysfs.
    On(PathBuf),
    /// It is unknown where.
    Unseen,
}

/// Where an ext4 or ext3 has its journal. No mount option tells it, but jbd2 lists all journals:
/// one in a file as `DEVICE-INODE`, another as `DEVICE`, without the file system that uses it.
pub(crate) fn journal(root: &Root, mount: &Mount) -> Journal {
    if !["ext3", "ext4"].contains(&mount.file_system.as_str()) {
        return Journal::Own;
    }
    let Ok(node) = std::fs::canonicalize(sysfs::block(root, &mount.device)) else {
        return Journal::Unseen;
    };
    let listed: Vec<String> =
        entries(&root.at("/proc/fs/jbd2")).map(|path| file_name(&path)).collect();
    let own = format!("{}-", file_name(&node));
    let is_inode = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_own = |name: &String| name.strip_prefix(&own).is_some_and(is_inode);
    let has_none = || options_of(root, mount).is_some_and(|options| !has_journal(&options));
    if listed.iter().any(is_own) || has_none() {
        return Journal::Own;
    }
    let blocks = listed.iter().map(|name| root.at("/sys/class/block").join(name));
    match &blocks.filter(|block| block.exists()).collect::<Vec<PathBuf>>()[..] {
        [one] => Journal::On(one.clone()),
        _ => Journal::Unseen,
    }
}

/// Whether an ext4 with these options has a journal: then it lists a mode for it.
pub(crate) fn has_journal(options: &str) -> bool {
    options.lines().any(|option| option.starts_with("data="))
}

/// Whether the data of `file` goes to the journal of an ext4 first, because of these options in
/// effect or of the file's own flag (`chattr +j`), which new files have from their directory. The
/// flag does nothing without a journal, or with delayed allocation, which is the default
/// (`ext4_inode_journal_mode` in `fs/ext4/ext4_jbd2.c`).
pub(crate) fn journals_data(options: &str, file: &File) -> Option<bool> {
    let has = |wanted: &str| options.lines().any(|option| option == wanted);
    if has(DATA_IN_JOURNAL) || !has_journal(options) || has("delalloc") {
        return Some(has(DATA_IN_JOURNAL));
    }
    let flags = rustix::fs::ioctl_getflags(file).ok()?;
    Some(flags.contains(IFlags::JOURNALING))
}
