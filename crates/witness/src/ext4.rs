//! What an ext4 tells of its journal.

use crate::mounts::Mount;
use crate::root::Root;
use crate::sysfs;
use rustix::fs::IFlags;
use std::fs::File;

/// The mode in which ext4 writes the data of files to its journal first.
const DATA_IN_JOURNAL: &str = "data=journal";

/// The options of an ext4 that are in effect: those of the mount, and the defaults, which
/// `tune2fs -o` changes. `None` if it lists nothing, and for other file systems.
pub(crate) fn options(root: &Root, mount: &Mount) -> Option<String> {
    if mount.file_system != "ext4" {
        return None;
    }
    let node = std::fs::canonicalize(sysfs::block(root, &mount.device)).ok()?;
    let options = root.at("/proc/fs/ext4").join(node.file_name()?).join("options");
    std::fs::read_to_string(options).ok()
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
