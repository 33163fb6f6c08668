//! Notices a change of a user's own file under a peer, which is told to read it and no more.

use crate::fixture::TestFile;
use rustix::fs::{Stat, fstat};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A user's file as it was before a peer had it.
#[derive(Debug)]
pub struct Guard {
    path: PathBuf,
    seen: Seen,
}

/// What changes when a file is written to, moved or replaced, and not when it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    size: i64,
    modified: (i64, u64),
    changed: (i64, u64),
    /// Device and inode of what the name leads to.
    named: Option<(u64, u64)>,
}

impl Guard {
    /// A guard of `file`; none if it is one of this program's own, or cannot be looked at.
    pub fn of(file: &TestFile) -> Option<Guard> {
        let path = file.fixture().path.clone();
        let seen = file.content().is_none().then(|| Seen::of(file)).flatten()?;
        Some(Guard { path, seen })
    }

    /// What is another about the file now, if anything is: the `peers` had it meanwhile.
    pub fn complaint(&self, file: &TestFile, peers: &str) -> Option<String> {
        let now = Seen::of(file)?;
        let what = match () {
            () if now == self.seen => return None,
            () if now.size != self.seen.size => {
                format!("it had {} bytes and has {}", self.seen.size, now.size)
            }
            () if now.modified != self.seen.modified => "it was written to".to_string(),
            () if now.named != self.seen.named => {
                "its name leads to something else, or nowhere".to_string()
            }
            () => "its time of change is another".to_string(),
        };
        Some(format!(
            "your file '{}' was changed while a peer had it, which may only read it: {what}: \
             {peers} did so, or somebody else: look at the file before you go on",
            self.path.display()
        ))
    }
}

impl Seen {
    fn of(file: &TestFile) -> Option<Seen> {
        let Stat { st_size, st_mtime, st_mtime_nsec, st_ctime, st_ctime_nsec, .. } =
            fstat(file.file()).ok()?;
        let named = file.fixture().path.metadata().ok();
        Some(Seen {
            size: st_size,
            modified: (st_mtime, st_mtime_nsec),
            changed: (st_ctime, st_ctime_nsec),
            named: named.map(|named| (named.dev(), named.ino())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, Permissions};
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    /// What is said of a file of 5 bytes after `act`.
    fn after(act: impl Fn(&Path)) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "bytes").unwrap();
        let file = TestFile::open(&path).unwrap();
        let guard = Guard::of(&file).unwrap();
        // Times of files are as coarse as the OS's clock.
        std::thread::sleep(std::time::Duration::from_millis(20));
        act(&path);
        guard.complaint(&file, "the peer zebra")
    }

    #[track_caller]
    fn check(act: impl Fn(&Path), expected: &str) {
        let said = after(act).expect(expected);
        assert!(said.contains(expected) && said.contains("the peer zebra did so"), "{said}");
    }

    #[test]
    fn what_is_done_to_a_file_is_told() {
        let open = |path: &Path| File::options().write(true).open(path).unwrap();
        check(|path| open(path).set_len(0).unwrap(), "it had 5 bytes and has 0");
        check(|path| open(path).write_all(b"BYTES").unwrap(), "it was written to");
        let back = |path: &Path| {
            let modified = path.metadata().unwrap().modified().unwrap();
            open(path).write_all(b"BYTES").unwrap();
            open(path).set_modified(modified).unwrap();
        };
        check(back, "its time of change is another");
        check(|path| std::fs::remove_file(path).unwrap(), "its name leads to something else");
        let mode = |path: &Path| std::fs::set_permissions(path, Permissions::from_mode(0o600));
        check(|path| mode(path).unwrap(), "its time of change is another");
    }

    #[test]
    fn reading_changes_nothing() {
        let read = |path: &Path| {
            File::open(path).unwrap().read_to_end(&mut Vec::new()).unwrap();
        };
        assert_eq!(after(read), None);
    }
}
