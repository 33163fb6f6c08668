//! Canary files: small files for testing what works before a run.

use crate::error::{Error, descriptor_path};
use crate::mounts::{Mount, mount_of};
use model::content::{Content, ContentKind};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Size of the canary file in bytes.
pub(crate) const CANARY: u64 = 1 << 20;

/// Prefix of its name, if it has one.
pub const CANARY_NAME: &str = ".ioassay-canary-";

/// A temporary test file. It has no name, or its name is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Canary {
    pub(crate) file: File,
    name: Option<PathBuf>,
}

impl Canary {
    /// Writes the file with incompressible data and syncs it to its device.
    pub(crate) fn create(directory: &Path) -> Result<Canary, Error> {
        Canary::open(directory)?.written(directory)
    }

    /// Like [`Canary::create`], but the file has a name until it is dropped: some file systems do
    /// not sync unnamed files.
    pub(crate) fn create_named(directory: &Path) -> Result<Canary, Error> {
        Canary::open_named(directory)?.written(directory)
    }

    fn written(self, directory: &Path) -> Result<Canary, Error> {
        let mut data = vec![0; CANARY as usize];
        content().fill(0, &mut data);
        let written = self.file.write_all_at(&data, 0).and_then(|()| self.sync());
        written.map_err(Error::refused("write a canary file in", directory))?;
        Ok(self)
    }

    /// Syncs with the raw system call, which a preloaded library cannot intercept.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.file)?)
    }

    /// Writes the same data again with O_DIRECT, which reaches the devices without a sync.
    pub(crate) fn write_directly(&self) -> io::Result<()> {
        let writer = OpenOptions::new()
            .write(true)
            .custom_flags(OFlags::DIRECT.bits() as i32)
            .open(descriptor_path(&self.file))?;
        let mut block = Box::new(Aligned([0; DIRECT_BLOCK]));
        for offset in (0..CANARY).step_by(DIRECT_BLOCK) {
            content().fill(offset, &mut block.0);
            writer.write_all_at(&block.0, offset)?;
        }
        Ok(())
    }

    fn open(directory: &Path) -> Result<Canary, Error> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        if let Ok(file) = rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR) {
            return Ok(Canary { file: File::from(file), name: None });
        }
        Canary::open_named(directory)
    }

    fn open_named(directory: &Path) -> Result<Canary, Error> {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let unique = format!("{}-{}-{}", std::process::id(), now.tv_sec, now.tv_nsec);
        let path = directory.join(format!("{CANARY_NAME}{unique}"));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits() as i32)
            .open(&path);
        match file {
            Ok(file) => Ok(Canary { file, name: Some(path) }),
            Err(answer) if is_forbidden(&answer) => {
                Err(Error::NotWritable { directory: directory.to_path_buf(), answer })
            }
            Err(answer) => Err(Error::refused("create a canary file in", directory)(answer)),
        }
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        if let Some(name) = &self.name
            && let Err(error) = std::fs::remove_file(name)
        {
            log::warn!("failed to remove the canary file '{}': {error}", name.display());
        }
    }
}

/// Incompressible data, of which no two files at a time have the same.
fn content() -> Content {
    let seed = u64::from(std::process::id());
    Content { seed, size: CANARY, kind: ContentKind::Random }
}

fn is_forbidden(answer: &io::Error) -> bool {
    // The last is the answer of procfs, of a directory that is there.
    let forbidden = [Errno::ACCESS, Errno::PERM, Errno::ROFS, Errno::NOENT];
    Errno::from_io_error(answer).is_some_and(|errno| forbidden.contains(&errno))
}

/// The largest alignment that O_DIRECT is expected to need, and the size of such reads.
pub(crate) const DIRECT_BLOCK: usize = 1 << 16;

/// A buffer aligned for O_DIRECT.
#[repr(align(65536))]
pub(crate) struct Aligned(pub(crate) [u8; DIRECT_BLOCK]);

/// Opens the same file again with O_DIRECT.
pub(crate) fn open_direct(file: &File) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::DIRECT.bits() as i32)
        .open(descriptor_path(file))
}

/// A canary in `directory`, if files there are on the same mount: a single file may be mounted.
pub(crate) fn beside(directory: &Path, mount: &Mount) -> Result<Canary, Error> {
    let canary = Canary::create(directory)?;
    if mount_of(&canary.file)?.id == mount.id {
        return Ok(canary);
    }
    Err(elsewhere("the file is on another mount than its directory", directory))
}

/// Why a canary beside a file would be on another storage.
pub(crate) fn elsewhere(reason: &str, directory: &Path) -> Error {
    Error::refused("create a canary file in", directory)(io::Error::other(reason))
}
