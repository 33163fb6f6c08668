//! The directory that contains the OS's files: `/`, or a tree copied from another machine.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Links that a path may lead over, as in Linux.
const LINKS_MOST: u32 = 40;

/// The directory in which to look for `/sys`, `/proc` and mount points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    directory: PathBuf,
}

impl Root {
    /// This machine's root.
    pub(crate) fn machine() -> Root {
        Root { directory: PathBuf::from("/") }
    }

    /// The actual path of a file with the absolute path `path` on that machine.
    pub(crate) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.directory.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The absolute path on that machine of a file that is at `path` here.
    pub(crate) fn inside(&self, path: &Path) -> PathBuf {
        let inside = path.strip_prefix(&self.directory).unwrap_or(path);
        Path::new("/").join(inside)
    }

    /// Where a path on that machine leads, as far as its links are there: a link's absolute target
    /// is one of that machine.
    pub(crate) fn resolved(&self, path: &Path) -> PathBuf {
        let parts = |path: &Path| -> Vec<OsString> {
            path.components().rev().map(|part| part.as_os_str().to_os_string()).collect()
        };
        let mut left = parts(path);
        let (mut found, mut links) = (PathBuf::from("/"), 0);
        while let Some(part) = left.pop() {
            if part == "." {
                continue;
            }
            if part == ".." {
                found.pop();
                continue;
            }
            let next = found.join(&part);
            match fs::read_link(self.at(&next)) {
                Ok(target) if links < LINKS_MOST => {
                    links += 1;
                    left.extend(parts(&self.inside_if_absolute(target)));
                }
                _ => found = next,
            }
        }
        found
    }

    fn inside_if_absolute(&self, target: PathBuf) -> PathBuf {
        if target.is_absolute() { self.inside(&target) } else { target }
    }

    /// Whether this is the machine that the program runs on: system calls describe no other.
    pub(crate) fn is_machine(&self) -> bool {
        self.directory == Path::new("/")
    }
}

impl Root {
    /// A machine whose files are below `directory`.
    pub(crate) fn of(directory: &Path) -> Root {
        // Links in it are compared with where they lead.
        let directory = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_path_buf());
        Root { directory }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_leads_to_a_path_of_its_own_machine() {
        let place = tempfile::tempdir().unwrap();
        let root = Root::of(place.path());
        fs::create_dir_all(place.path().join("dev/mapper")).unwrap();
        let link = |target: &str, name: &str| symlink(target, place.path().join(name)).unwrap();
        link("../dm-0", "dev/mapper/vg-lv");
        link("/dev/mapper/vg-lv", "db");
        link(place.path().join("db").to_str().unwrap(), "copied");
        link("turn", "turn");
        link("../../../../db", "out");
        for (path, expected) in [
            ("/dev/mapper/vg-lv", "/dev/dm-0"),
            ("/db", "/dev/dm-0"),
            ("/copied", "/dev/dm-0"),
            ("/out", "/dev/dm-0"),
            ("/dev/../db", "/dev/dm-0"),
            ("/nowhere/x", "/nowhere/x"),
            ("/dev/./x", "/dev/x"),
            ("/turn", "/turn"),
        ] {
            assert_eq!(root.resolved(Path::new(path)), Path::new(expected), "{path}");
        }
    }
}
