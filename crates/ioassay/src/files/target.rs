//! What is measured, and its storage.

use crate::device::ExclusiveDisk;
use crate::directory::Directory;
use crate::fixture::OwnFile;
use anyhow::{Context, Result};
use model::host::Storage;
use std::path::Path;
use std::rc::Rc;

/// The target of the measurement.
#[derive(Debug)]
pub enum Target {
    /// Memory: no file is used.
    Memory,
    /// Test files in this directory.
    Directory(Rc<Directory>),
    /// A user's own file, which is never written.
    File(OwnFile),
    /// A block device, whose entire content may be lost.
    Device(ExclusiveDisk),
}

impl Target {
    /// Test files in the directory at `path`.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn directory(path: &Path) -> Result<Target> {
        Ok(Target::Directory(Rc::new(Directory::open(path)?)))
    }

    /// Its storage; `None` if no file is used.
    ///
    /// # Errors
    /// If it cannot be inspected.
    pub fn storage(&self) -> Result<Option<Storage>> {
        let storage = match self {
            Target::Memory => return Ok(None),
            Target::Directory(directory) => storage_in(directory),
            Target::File(own) if own.is_device => witness::storage_of_read_disk(&own.path)
                .with_context(|| format!("failed to inspect the device '{}'", own.path.display())),
            Target::File(own) => witness::storage_of(&own.path).with_context(|| {
                format!("failed to inspect the storage of '{}'", own.path.display())
            }),
            Target::Device(disk) => witness::storage_of_disk(&disk.path)
                .with_context(|| format!("failed to inspect the device '{}'", disk.path.display())),
        };
        storage.map(Some)
    }
}

/// The storage of `directory`. Inspects it by path and checks that the path still leads to it.
///
/// # Errors
/// If it cannot be inspected, or became another one.
pub fn storage_in(directory: &Directory) -> Result<Storage> {
    let path = directory.path();
    let storage = witness::storage(path)
        .with_context(|| format!("failed to inspect the storage of '{}'", path.display()))?;
    directory.check_same()?;
    Ok(storage)
}
