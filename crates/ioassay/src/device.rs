//! A block device that is written itself, without a file system: only one that nobody uses, and
//! whose name the user has repeated.

use anyhow::{Context, Result, bail};
use model::case::{Allocation, Cache, Case, Op, Work};
use model::units;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A device that is this run's alone.
#[derive(Debug)]
pub struct Disk {
    /// Its node.
    pub path: PathBuf,
    /// Its name: `loop0`.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Open for this run alone (`O_EXCL`): the OS lets nobody mount it meanwhile.
    pub file: File,
}

/// Claims the block device at `path`, whose name must be `repeated`.
///
/// # Errors
/// When it is none, the name is another, or anybody uses it: it was not touched.
pub fn claim(path: &Path, repeated: Option<&str>) -> Result<Disk> {
    let shown = path.display();
    // What a link leads to may change: from here on it is the node itself.
    let path = &path.canonicalize().with_context(|| format!("failed to find '{shown}'"))?;
    let seen = path.metadata().with_context(|| format!("failed to look at '{shown}'"))?;
    let disk = witness::disk(path).with_context(|| format!("failed to look at '{shown}'"))?;
    if repeated != Some(disk.name.as_str()) {
        bail!(
            "all that is on '{shown}' would be lost: to agree, repeat its name: --destroy {}",
            disk.name
        );
    }
    if !disk.objections.is_empty() {
        bail!("'{shown}' is in use and is not written: {}", disk.objections.join("; "));
    }
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags((OFlags::EXCL | OFlags::NOFOLLOW).bits() as i32)
        .open(path)
        .with_context(|| format!("failed to open '{shown}' for this run alone"))?;
    let opened = file.metadata()?;
    if !opened.file_type().is_block_device() || opened.rdev() != seen.rdev() {
        bail!("'{shown}' became another device while it was looked at");
    }
    Ok(Disk { path: path.to_path_buf(), name: disk.name, size: disk.size, file })
}

/// Why `case` cannot be done to `disk`.
pub fn refusal(case: &Case, disk: &Disk) -> Option<String> {
    let work = match &case.work {
        Work::Memory(_) => return None,
        Work::Read(_) => {
            return Some("a device is written here: name a directory to read files".to_string());
        }
        Work::Write(work) => work,
    };
    if work.op == Op::Copy {
        return Some("a file is not copied to a device".to_string());
    }
    if work.io.cache == Cache::Warm {
        return Some("to warm a device would read all of it: cache as-is, cold or direct".into());
    }
    if work.allocation != Allocation::Overwrite {
        return Some("a device has all its blocks: allocation overwrite".to_string());
    }
    (work.io.size > disk.size).then(|| {
        let (size, name) = (units::bytes(work.io.size), &disk.name);
        format!("{size} are more than {name} has: {}", units::bytes(disk.size))
    })
}
