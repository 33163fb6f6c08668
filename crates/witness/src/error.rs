//! Errors of the OS, with remedies.

use model::evidence::Residency;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Something that the OS refused, or that was tried and could not be proved.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A step was refused.
    #[error("failed to {attempt} '{}': {answer}", path.display())]
    Refused {
        /// The OS's answer.
        attempt: &'static str,
        /// On what.
        path: PathBuf,
        /// What the OS answered.
        answer: io::Error,
    },
    /// No file can be made in a directory.
    #[error(
        "failed to create a file in '{}': {answer}: name a directory that this user can write to",
        directory.display()
    )]
    NotWritable {
        /// Where it was tried.
        directory: PathBuf,
        /// What the OS answered.
        answer: io::Error,
    },
    /// A path that names something other than a file with bytes.
    #[error("'{}' is not a regular file: name one", path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// A path that names something other than a block device.
    #[error("'{}' is not a block device: name one, such as '/dev/loop0'", path.display())]
    NotADisk {
        /// What was named.
        path: PathBuf,
    },
    /// Pages of a file could not be evicted.
    #[error(
        "{} of {} pages stayed in the page cache: {cause}",
        residency.cached,
        residency.pages
    )]
    Stayed {
        /// The last result of the probe.
        residency: Residency,
        /// The cause, as far as known, and what may help.
        cause: &'static str,
    },
    /// A file that was read whole is not in the page cache.
    #[error(
        "only {} of {} pages are in the page cache after {passes} reads of the file: memory is too \
         small for it, or its file system does not cache: choose a smaller file",
        residency.cached,
        residency.pages
    )]
    NotWarm {
        /// The last result of the probe.
        residency: Residency,
        /// How often the file was read.
        passes: u32,
    },
    /// A control group that limits memory could not be had.
    #[error(
        "failed to {attempt} '{}': {answer}: to limit memory, a control group needs root, or a \
         group delegated to this user",
        path.display()
    )]
    NoMemoryGroup {
        /// The attempt.
        attempt: &'static str,
        /// On what.
        path: PathBuf,
        /// What the OS answered.
        answer: io::Error,
    },
    /// The whole page cache could not be emptied.
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
    /// The error for an `attempt` on `path`, to be given what the OS answered.
    pub(crate) fn refused<A: Into<io::Error>>(
        attempt: &'static str,
        path: &Path,
    ) -> impl FnOnce(A) -> Error {
        move |answer| Error::Refused { attempt, path: path.to_path_buf(), answer: answer.into() }
    }

    /// The same for an open file, whose path the OS reports.
    pub(crate) fn refused_on<A: Into<io::Error>>(
        attempt: &'static str,
        file: &File,
    ) -> impl FnOnce(A) -> Error {
        let link = descriptor_path(file);
        let path = std::fs::read_link(&link).unwrap_or(link);
        move |answer| Error::Refused { attempt, path, answer: answer.into() }
    }
}

/// A path that leads to the very file that is open, even if it has no name.
pub(crate) fn descriptor_path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
