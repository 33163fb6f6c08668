//! A block device that is written directly, without a file system: only an unused one whose name
//! the user has repeated.

use anyhow::{Context, Result, bail};
use model::case::{Allocation, Cache, Case, Op, Work};
use model::units;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A device that only this run uses.
#[derive(Debug)]
pub struct ExclusiveDisk {
    /// Its node.
    pub path: PathBuf,
    /// Its name: `loop0`.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// Opened exclusively (`O_EXCL`): the OS lets no other program mount it.
    pub file: File,
}

/// Claims the block device at `path`; the user must have `repeated` its name.
///
/// # Errors
/// If it is not a block device, the name differs, or the device is in use. The device is then
/// untouched.
pub fn claim(path: &Path, repeated: Option<&str>) -> Result<ExclusiveDisk> {
    let shown = path.display();
    // A link's target may change, so use the node itself from here on.
    let path = &path.canonicalize().with_context(|| format!("failed to find '{shown}'"))?;
    let seen = path.metadata().with_context(|| format!("failed to inspect '{shown}'"))?;
    let disk = witness::disk(path).with_context(|| format!("failed to inspect '{shown}'"))?;
    if repeated != Some(disk.name.as_str()) {
        bail!(
            "this would destroy all data on '{shown}': to confirm, repeat its name: --destroy {}",
            disk.name
        );
    }
    if !disk.objections.is_empty() {
        bail!("'{shown}' is in use, so ioassay does not write it: {}", disk.objections.join("; "));
    }
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags((OFlags::EXCL | OFlags::NOFOLLOW).bits() as i32)
        .open(path)
        .with_context(|| format!("failed to open '{shown}' exclusively"))?;
    let opened = file.metadata()?;
    if !opened.file_type().is_block_device() || opened.rdev() != seen.rdev() {
        bail!("'{shown}' became another device while ioassay checked it: try again");
    }
    Ok(ExclusiveDisk { path: path.to_path_buf(), name: disk.name, size: disk.size, file })
}

/// Why `case` cannot run on `disk`.
pub fn refusal(case: &Case, disk: &ExclusiveDisk) -> Option<String> {
    let work = match &case.work {
        Work::Memory(_) | Work::Command(_) => return None,
        Work::Metadata(_) => {
            return Some("a device has no names: name a directory".to_string());
        }
        Work::Read(_) => {
            return Some(
                "this recipe reads files, and a device can only be written: name a \
                         directory"
                    .to_string(),
            );
        }
        Work::Write(work) => work,
    };
    if work.op == Op::Copy {
        return Some("op copy can't write to a device: name a directory".to_string());
    }
    if work.atomic.journal().is_some() {
        return Some("a device has no room for a rollback journal: name a directory".to_string());
    }
    if work.io.cache == Cache::Warm {
        return Some(
            "warming a device would read all of it: use cache as-is, cold or direct".into(),
        );
    }
    if work.allocation != Allocation::Overwrite {
        return Some("a device has all its blocks: use allocation overwrite".to_string());
    }
    (work.io.size > disk.size).then(|| {
        let (size, name) = (units::bytes(work.io.size), &disk.name);
        format!(
            "{size} are more than {name} has ({}): use a smaller --size",
            units::bytes(disk.size)
        )
    })
}
