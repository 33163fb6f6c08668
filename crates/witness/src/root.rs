//! The directory that contains the OS's files: `/`, or a tree copied from another machine.

use std::fs;
use std::path::{Path, PathBuf};

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
