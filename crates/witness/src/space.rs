//! The capacity and free space of a file system.

use crate::error::Error;
use rustix::fs::StatVfs;
use std::path::Path;

/// The size of a file system in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Total capacity.
    pub capacity: u64,
    /// What this user can still write (`f_bavail`), which excludes the space reserved for root.
    pub free: u64,
    /// How many files can still be created (`f_favail`); `None` if it creates inodes as needed.
    pub free_inodes: Option<u64>,
}

/// The current space of the file system of `directory`; `None` if it reports no size. Tests nothing
/// there.
///
/// # Errors
/// The OS's error.
pub fn space(directory: &Path) -> Result<Option<Space>, Error> {
    let answer = rustix::fs::statvfs(directory);
    answer.map(Space::from_statvfs).map_err(Error::refused("ask for the space of", directory))
}

impl Space {
    /// A file system that reports no blocks does not count them, like ramfs.
    pub(crate) fn from_statvfs(answer: StatVfs) -> Option<Space> {
        (answer.f_blocks > 0).then(|| Space {
            capacity: answer.f_blocks.saturating_mul(answer.f_frsize),
            free: answer.f_bavail.saturating_mul(answer.f_frsize),
            free_inodes: (answer.f_files > 0).then_some(answer.f_favail),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_counted_in_fragments_and_those_of_root_are_not_free() {
        let directory = tempfile::tempdir().unwrap();
        let answer = rustix::fs::statvfs(directory.path()).unwrap();
        let made = StatVfs {
            f_bsize: 4096,
            f_frsize: 1024,
            f_blocks: 1000,
            f_bfree: 300,
            f_bavail: 250,
            ..answer
        };
        let free_inodes = Some(answer.f_favail);
        let expected = Space { capacity: 1_024_000, free: 256_000, free_inodes };
        assert_eq!(Space::from_statvfs(made), Some(expected));
        let endless = StatVfs { f_blocks: u64::MAX, f_frsize: 4096, ..answer };
        assert_eq!(Space::from_statvfs(endless).map(|space| space.capacity), Some(u64::MAX));
        let sizeless = StatVfs { f_blocks: 0, f_bavail: 0, ..answer };
        assert_eq!(Space::from_statvfs(sizeless), None);
    }

    #[test]
    fn a_directory_has_space_and_a_missing_one_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let found = space(directory.path()).unwrap().expect("it has a size");
        assert!(found.free <= found.capacity && found.capacity > 0, "{found:?}");
        let error = space(&directory.path().join("missing")).unwrap_err().to_string();
        assert!(error.contains("missing") && error.contains("No such file"), "{error}");
    }
}
