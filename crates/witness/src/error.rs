//! Errors with remedies.

use model::evidence::Residency;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// An operation that the OS refused, or an effect that could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The OS refused a step.
    #[error("failed to {attempt} '{}': {answer}", path.display())]
    Refused {
        /// What was tried.
        attempt: &'static str,
        /// The file or device.
        path: PathBuf,
        /// What the OS answered.
        answer: io::Error,
    },
    /// No file can be created in a directory.
    #[error(
        "failed to create a file in '{}': {answer}: name a directory that this user can write to",
        directory.display()
    )]
    NotWritable {
        /// The directory.
        directory: PathBuf,
        /// What the OS answered.
        answer: io::Error,
    },
    /// A path that names something other than a file with bytes.
    #[error("'{}' is not a regular file: name one", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A path that names something other than a block device.
    #[error("'{}' is not a block device: name one, such as '/dev/loop0'", path.display())]
    NotADisk {
        /// The path.
        path: PathBuf,
    },
    /// The OS's files about processes are not there.
    #[error(
        "/proc is not mounted: ioassay opens files and reads counters through it: mount it, as \
         container runtimes do"
    )]
    NoProc,
    /// Pages of a file could not be evicted.
    #[error(
        "{} of {} pages stayed in the page cache: {cause}",
        residency.cached,
        residency.pages
    )]
    Stayed {
        /// The probe's last result.
        residency: Residency,
        /// The likely cause, and what may help.
        cause: &'static str,
    },
    /// A file is not cached after being read completely.
    #[error(
        "only {} of {} pages are in the page cache after {passes} reads of the file: memory is too \
         small for it, or its file system does not cache: choose a smaller file",
        residency.cached,
        residency.pages
    )]
    NotWarm {
        /// The probe's last result.
        residency: Residency,
        /// How many times the file was read.
        passes: u32,
    },
    /// No control group could be set up to limit memory.
    #[error(
        "failed to {attempt} '{}': {answer}: to limit memory, a control group needs root, or a \
         group delegated to this user",
        path.display()
    )]
    NoMemoryGroup {
        /// What was tried.
        attempt: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the OS answered.
        answer: io::Error,
    },
    /// The page cache could not be dropped.
    #[error(
        "failed to write to '/proc/sys/vm/drop_caches': {answer}: this needs root, on the machine \
         itself and not in a container; 'ioassay cache evict FILE' needs neither"
    )]
    NotDropped {
        /// What the OS answered.
        answer: io::Error,
    },
}

impl Error {
    /// The error for an `attempt` on `path`; takes the OS's answer.
    pub(crate) fn refused<A: Into<io::Error>>(
        attempt: &'static str,
        path: &Path,
    ) -> impl FnOnce(A) -> Error {
        move |answer| Error::Refused { attempt, path: path.to_path_buf(), answer: answer.into() }
    }

    /// The same for an open file; the OS provides its path.
    pub(crate) fn refused_on<A: Into<io::Error>>(
        attempt: &'static str,
        file: &File,
    ) -> impl FnOnce(A) -> Error {
        let link = descriptor_path(file);
        let path = std::fs::read_link(&link).unwrap_or(link);
        move |answer| Error::Refused { attempt, path, answer: answer.into() }
    }
}

/// A path to the open file itself, even if it has no name.
pub(crate) fn descriptor_path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
