//! Where the files that the OS answers with are: below `/`, or below a tree of another machine's.

use std::path::{Path, PathBuf};

/// The directory that `/sys`, `/proc` and mount points are looked for in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    directory: PathBuf,
}

impl Root {
    /// Of this machine.
    pub(crate) fn machine() -> Root {
        Root { directory: PathBuf::from("/") }
    }

    /// Where the file is that the machine knows by the absolute path `path`.
    pub(crate) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.directory.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Whether this is the machine that the program runs on: system calls tell of no other.
    pub(crate) fn is_machine(&self) -> bool {
        self.directory == Path::new("/")
    }
}

#[cfg(test)]
impl Root {
    /// Of a machine whose files are below `directory`.
    pub(crate) fn of(directory: &Path) -> Root {
        Root { directory: directory.to_path_buf() }
    }
}
