//! Detects a change of a user's own file by a peer, which may only read it.

use crate::fixture::TestFile;
use rustix::fs::{Stat, fstat};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The state of a user's file before a peer had access to it.
#[derive(Debug)]
pub struct Guard {
    path: PathBuf,
    seen: FileMetadata,
}

/// Metadata that writing, moving or replacing a file changes, but reading does not.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileMetadata {
    size: i64,
    /// What it has on its storage, in units of 512 bytes.
    blocks: i64,
    modified: (i64, u64),
    changed: (i64, u64),
    /// Device and inode of the name's target.
    named: Option<(u64, u64)>,
}

impl Guard {
    /// A guard for `file`; `None` if it is one of our own test files, or cannot be inspected, or if
    /// other programs write to it anyway, such as to a log: then a change says nothing of peers.
    pub fn of(file: &TestFile) -> Option<Guard> {
        if file.is_in_use() {
            return None;
        }
        let path = file.fixture().path.clone();
        let seen = file.content().is_none().then(|| FileMetadata::of(file)).flatten()?;
        Some(Guard { path, seen })
    }

    /// Whether the file was only written to, or not changed at all. Whoever did that has written
    /// bytes, which the OS counts; it counts none of those that cut a file or punch holes into it.
    pub fn was_only_written(&self, file: &TestFile) -> bool {
        FileMetadata::of(file).is_some_and(|now| {
            now.size >= self.seen.size
                && now.blocks >= self.seen.blocks
                && now.named == self.seen.named
                && (now.modified != self.seen.modified || now == self.seen)
        })
    }

    /// How the file changed, if it did, while the `peers` had it open.
    pub fn complaint(&self, file: &TestFile, peers: &str) -> Option<String> {
        let now = FileMetadata::of(file)?;
        let what = match () {
            () if now == self.seen => return None,
            () if now.size != self.seen.size => {
                format!("it had {} bytes and now has {}", self.seen.size, now.size)
            }
            () if now.modified != self.seen.modified => "it was written to".to_string(),
            () if now.named != self.seen.named => {
                "its name leads elsewhere, or nowhere".to_string()
            }
            () => "its change time differs".to_string(),
        };
        Some(format!(
            "your file '{}' changed while a peer, which may only read it, had it open: {what}; \
             {peers}, or another program, changed it: check the file before you continue",
            self.path.display()
        ))
    }
}

impl FileMetadata {
    fn of(file: &TestFile) -> Option<FileMetadata> {
        let Stat { st_size, st_blocks, st_mtime, st_mtime_nsec, st_ctime, st_ctime_nsec, .. } =
            fstat(file.file()).ok()?;
        let named = file.fixture().path.metadata().ok();
        Some(FileMetadata {
            size: st_size,
            blocks: st_blocks,
            modified: (st_mtime, st_mtime_nsec),
            changed: (st_ctime, st_ctime_nsec),
            named: named.map(|named| (named.dev(), named.ino())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::OwnFile;
    use rustix::fs::{FallocateFlags, fallocate};
    use std::fs::{File, Permissions};
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn opened(path: &Path) -> TestFile {
        let own = OwnFile::of(path).unwrap();
        TestFile::open(&own, 0..own.size).unwrap()
    }

    /// The complaint about a file of 5 bytes after `act`.
    fn after(act: impl Fn(&Path)) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "bytes").unwrap();
        let file = opened(&path);
        let guard = Guard::of(&file).unwrap();
        // File times are as coarse as the OS's clock.
        std::thread::sleep(std::time::Duration::from_millis(20));
        act(&path);
        guard.complaint(&file, "the peer zebra")
    }

    #[test]
    fn a_file_that_others_write_to_has_no_guard() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "bytes").unwrap();
        let file = opened(&path);
        assert!(Guard::of(&file).is_some());
        std::thread::sleep(std::time::Duration::from_millis(20));
        File::options().append(true).open(&path).unwrap().write_all(b"more").unwrap();
        assert!(Guard::of(&file).is_none());
    }

    #[track_caller]
    fn check(act: impl Fn(&Path), expected: &str) {
        let said = after(act).expect(expected);
        assert!(
            said.contains(expected) && said.contains("the peer zebra, or another program"),
            "{said}"
        );
    }

    #[test]
    fn what_is_done_to_a_file_is_told() {
        let open = |path: &Path| File::options().write(true).open(path).unwrap();
        check(|path| open(path).set_len(0).unwrap(), "it had 5 bytes and now has 0");
        check(|path| open(path).write_all(b"BYTES").unwrap(), "it was written to");
        let back = |path: &Path| {
            let modified = path.metadata().unwrap().modified().unwrap();
            open(path).write_all(b"BYTES").unwrap();
            open(path).set_modified(modified).unwrap();
        };
        check(back, "its change time differs");
        check(|path| std::fs::remove_file(path).unwrap(), "its name leads elsewhere");
        let mode = |path: &Path| std::fs::set_permissions(path, Permissions::from_mode(0o600));
        check(|path| mode(path).unwrap(), "its change time differs");
    }

    #[test]
    fn only_what_the_os_counts_as_written_is_such() {
        let check = |act: &dyn Fn(&Path), expected: bool| {
            let folder = tempfile::tempdir_in(".").unwrap();
            let path = folder.path().join("file");
            std::fs::write(&path, vec![7; 1 << 16]).unwrap();
            let file = opened(&path);
            let guard = Guard::of(&file).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
            act(&path);
            assert_eq!(guard.was_only_written(&file), expected);
        };
        let open = |path: &Path| File::options().write(true).open(path).unwrap();
        check(&|_| (), true);
        check(&|path| open(path).write_all(b"BYTES").unwrap(), true);
        let append = |path: &Path| File::options().append(true).open(path).unwrap();
        check(&|path| append(path).write_all(b"more").unwrap(), true);
        check(&|path| open(path).set_len(5).unwrap(), false);
        let punch = |path: &Path| {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fallocate(open(path), flags, 0, 1 << 15).unwrap();
        };
        check(&punch, false);
        check(&|path| std::fs::remove_file(path).unwrap(), false);
        let mode = |path: &Path| std::fs::set_permissions(path, Permissions::from_mode(0o600));
        check(&|path| mode(path).unwrap(), false);
    }

    #[test]
    fn reading_changes_nothing() {
        let read = |path: &Path| {
            File::open(path).unwrap().read_to_end(&mut Vec::new()).unwrap();
        };
        assert_eq!(after(read), None);
    }
}
