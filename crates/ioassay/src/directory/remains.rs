//! What killed runs left: folders with their files, and canaries.

use super::owner::Owner;
use super::{DATA, LOCK, RemainsFate, open_folder};
use model::case::MetadataWork;
use model::metadata;
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant, SystemTime};

/// An upper bound for the size of a lock file.
const WRITTEN_MAX: u64 = 1 << 10;

/// A folder with an empty lock is still being created, unless it is older than this.
const YOUNG: Duration = Duration::from_secs(60);

/// A canary file exists for moments. An older one was left by a killed run.
pub(super) const CANARY_AGE: Duration = Duration::from_secs(3600);

/// The maximum wait for files to be closed.
const CLOSING_WAIT: Duration = Duration::from_secs(1);

/// Removes the folder `name` of `parent` if its run has ended for certain.
pub(super) fn remove_folder(parent: &OwnedFd, name: &OsStr) -> io::Result<RemainsFate> {
    let folder = open_folder(parent.as_fd(), name)?;
    let stat = rustix::fs::fstat(&folder)?;
    if !is_own(&stat) || Mode::from_raw_mode(stat.st_mode).intersects(Mode::RWXG | Mode::RWXO) {
        return Ok(RemainsFate::Stays);
    }
    // Opening something other than a regular file must not block.
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut written = String::new();
    let locked = match rustix::fs::openat(&folder, LOCK, flags, Mode::empty()) {
        Ok(lock) if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() => {
            return Ok(RemainsFate::Stays);
        }
        Ok(lock) => {
            let lock = File::from(lock);
            (&lock).take(WRITTEN_MAX).read_to_string(&mut written)?;
            Some(lock)
        }
        Err(Errno::NOENT) => None,
        Err(error) => return Err(error.into()),
    };
    let owner = Owner::of_text(&written);
    let has_ended = !written.is_empty() && owner.has_ended(&Owner::here(&folder));
    match is_older(&stat, YOUNG) {
        // Hosts that share a directory find each other's folders, as soon as these are made.
        false if !has_ended => return Ok(RemainsFate::Stays),
        true if !has_ended && !written.is_empty() => return Ok(RemainsFate::Unknown(owner.node)),
        _ => {}
    }
    let bytes = clear(folder.as_fd())?;
    drop(locked);
    remove_cleared(parent, name)?;
    Ok(RemainsFate::Removed(bytes))
}

/// Removes the folder `name` of `parent`, which was cleared.
///
/// FUSE and NFS keep a file that is removed while it is open, under another name in the same
/// folder, until it is closed. So no file in it may be open here, not even the lock. FUSE closes
/// files a moment later.
pub(super) fn remove_cleared(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let began = Instant::now();
    loop {
        match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY) if began.elapsed() < CLOSING_WAIT => {
                std::thread::sleep(Duration::from_millis(10));
            }
            // Another run took it for that of a killed one.
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Removes the canary file `name` of `parent` if it is too old to be in use.
pub(super) fn remove_canary(parent: &OwnedFd, name: &OsStr) -> io::Result<RemainsFate> {
    let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !is_file || !is_own(&stat) || !is_older(&stat, CANARY_AGE) {
        return Ok(RemainsFate::Stays);
    }
    rustix::fs::unlinkat(parent, name, AtFlags::empty())?;
    Ok(RemainsFate::Removed(u64::try_from(stat.st_size).unwrap_or(0)))
}

fn is_own(stat: &Stat) -> bool {
    stat.st_uid == rustix::process::geteuid().as_raw()
}

fn is_older(stat: &Stat, age: Duration) -> bool {
    let changed = u64::try_from(stat.st_mtime).unwrap_or(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(Duration::from_secs(changed)) > age
}

/// Removes only the files and directories that a run creates in its folder. Returns the size of the
/// files in bytes.
pub(super) fn clear(folder: BorrowedFd) -> io::Result<u64> {
    let mut bytes = 0;
    let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
    for entry in std::fs::read_dir(path)? {
        let name = entry?.file_name();
        let is_ours = name == LOCK || name.as_encoded_bytes().ends_with(DATA.as_bytes());
        let stat = rustix::fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        if is_ours && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
            bytes += if name == LOCK { 0 } else { u64::try_from(stat.st_size).unwrap_or(0) };
            rustix::fs::unlinkat(folder, &name, AtFlags::empty())?;
        }
        let has_names = name.as_encoded_bytes().ends_with(metadata::DIRECTORY.as_bytes());
        if has_names && FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            remove_directory(folder, &name)?;
        }
    }
    Ok(bytes)
}

/// Removes the directory `name` of `folder`, and the files in it that have names of a metadata
/// case.
pub(super) fn remove_directory(folder: BorrowedFd, name: &OsStr) -> io::Result<()> {
    let directory = open_folder(folder, name)?;
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        if MetadataWork::is_name(name.as_encoded_bytes()) && entry.file_type()?.is_file() {
            rustix::fs::unlinkat(&directory, &name, AtFlags::empty())?;
        }
    }
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}
