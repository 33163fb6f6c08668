//! The directory for test files: held open, with a private folder for the run.
//!
//! A run takes minutes, and meanwhile the path may come to lead elsewhere: another directory may
//! take the name, or a file system may be unmounted. So a descriptor holds the directory, and all
//! files are created below it.
//!
//! Files that are synced have names, in a folder that only this user can enter. Some file systems
//! sync unnamed files differently: btrfs commits its whole tree instead of writing its log, and
//! f2fs may not flush. The folder is removed with its content at the end of the run. After a
//! SIGKILL, the next run here removes it: the kernel has released its lock then.

mod owner;
mod remains;

use anyhow::{Context, Result, bail};
use owner::Owner;
use remains::{clear, remove_canary, remove_cleared, remove_directory, remove_folder};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use witness::CANARY_NAME;

/// The prefix of a run's folder.
pub const FOLDER: &str = "ioassay-run-";

/// The file in it that stays locked during the run.
const LOCK: &str = "lock";

/// The suffix of every other file in it.
pub const DATA: &str = ".data";

/// Maximum number of existing folders with this process's PID, left by other machines.
const FOLDERS_MAX: u32 = 1000;

/// Maximum wait for the lock: another run holds it briefly to check whether this one is alive.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// A directory held open.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    held: OwnedFd,
    folder: OnceCell<Folder>,
}

/// What another run left.
#[derive(Debug, PartialEq, Eq)]
pub struct Remains {
    /// The path.
    pub path: PathBuf,
    /// What became of it.
    pub fate: RemainsFate,
}

/// What became of what another run made.
#[derive(Debug, PartialEq, Eq)]
pub enum RemainsFate {
    /// Its run has ended, and it is removed with files of this size in bytes.
    Removed(u64),
    /// It stays: it is another user's, or its run goes on.
    Stays,
    /// It stays, because nothing proves that its run on the machine of this name has ended.
    Unknown(String),
}

impl Directory {
    /// Opens the directory at `path`.
    ///
    /// # Errors
    /// If there is no such directory.
    pub fn open(path: &Path) -> Result<Directory> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(held) => Ok(Directory { path: path.to_path_buf(), held, folder: OnceCell::new() }),
            Err(Errno::NOENT) => {
                bail!("there is no directory '{}': create it, or name another", path.display())
            }
            Err(Errno::NOTDIR) => bail!("{}", other_kind(path)),
            Err(answer) => Err(io::Error::from(answer))
                .with_context(|| format!("failed to open the directory '{}'", path.display())),
        }
    }

    /// The path at which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path that leads to it regardless of its name.
    pub fn held(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.held.as_raw_fd()))
    }

    /// The number of its file system.
    ///
    /// # Errors
    /// The OS's error.
    pub fn file_system(&self) -> Result<u64> {
        let stat = rustix::fs::fstat(&self.held).with_context(|| {
            format!("failed to find the file system of '{}'", self.path.display())
        })?;
        Ok(stat.st_dev)
    }

    /// Checks that its path still leads to it.
    ///
    /// # Errors
    /// If it leads elsewhere.
    pub fn check_same(&self) -> Result<()> {
        let (own, named) = (rustix::fs::fstat(&self.held), rustix::fs::stat(&self.path));
        if let (Ok(own), Ok(named)) = (own, named)
            && identity(&own) == identity(&named)
        {
            return Ok(());
        }
        bail!(
            "'{}' became another directory while ioassay checked it: try again",
            self.path.display()
        )
    }

    /// Creates the file `name` in the run's folder. Its name is removed when the [`Name`] is
    /// dropped.
    ///
    /// # Errors
    /// If the folder or the file cannot be created.
    pub fn create(&self, name: &str) -> Result<(File, OwnName)> {
        let folder = self.folder()?;
        create_in(folder.held.as_fd(), &folder.path, &format!("{name}{DATA}"))
    }

    /// Creates directories for names in the run's folder, in place of any with the same names.
    /// Returns the folder's path.
    ///
    /// # Errors
    /// If the folder or one of them cannot be created.
    pub fn create_directories<'n>(
        &self,
        names: impl IntoIterator<Item = &'n String>,
    ) -> Result<PathBuf> {
        let folder = self.folder()?;
        for name in names {
            let create = || rustix::fs::mkdirat(&folder.held, name, Mode::RWXU);
            let made = match create() {
                Err(Errno::EXIST) => remove_directory(folder.held.as_fd(), OsStr::new(name))
                    .and_then(|()| Ok(create()?)),
                made => made.map_err(io::Error::from),
            };
            made.with_context(|| {
                format!("failed to create '{}'", folder.path.join(name).display())
            })?;
        }
        Ok(folder.path.clone())
    }

    /// The path of the folder `name` that the run of another host has here.
    ///
    /// # Errors
    /// If no run has a folder with such a name.
    pub fn folder_of_other(&self, name: &str) -> Result<PathBuf> {
        let rest = name.strip_prefix(FOLDER);
        if !rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '-')) {
            bail!("'{name}' is no name of a run's folder");
        }
        Ok(self.path.join(name))
    }

    /// Creates the file `name` in the directory itself, where users can find it.
    ///
    /// # Errors
    /// If the name is taken, or the OS refuses.
    pub fn create_visible(&self, name: &str) -> Result<(File, OwnName)> {
        create_in(self.held.as_fd(), &self.path, &format!("{name}{DATA}"))
    }

    /// Creates an unnamed file. `None` if the file system does not support that, as on NFS and
    /// FUSE.
    ///
    /// Use it only for files that are never synced in a trial.
    pub fn create_nameless(&self) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        rustix::fs::openat(&self.held, ".", flags, Mode::RUSR | Mode::WUSR)
            .inspect_err(|error| log::debug!("cannot create an unnamed file: {error}"))
            .ok()
            .map(File::from)
    }

    /// Removes files left by this user's runs that have ended for certain, as far as possible.
    /// Returns them, and others whose runs may have ended.
    pub fn remove_dead(&self) -> Vec<Remains> {
        let entries = std::fs::read_dir(self.held());
        let entries = entries.inspect_err(|error| {
            log::debug!("cannot look for files of dead runs: {error}");
        });
        let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
        let remove = |name: OsString| {
            let path = self.path.join(&name);
            let fate = match name.as_encoded_bytes() {
                bytes if bytes.starts_with(FOLDER.as_bytes()) => remove_folder(&self.held, &name),
                bytes if bytes.starts_with(CANARY_NAME.as_bytes()) => {
                    remove_canary(&self.held, &name)
                }
                _ => return None,
            };
            let fate = fate
                .inspect_err(|error| log::warn!("cannot remove '{}': {error}", path.display()))
                .ok()
                .filter(|fate| *fate != RemainsFate::Stays)?;
            Some(Remains { path, fate })
        };
        names.filter_map(remove).collect()
    }

    fn folder(&self) -> Result<&Folder> {
        if self.folder.get().is_none() {
            let made = Folder::create(self).with_context(|| {
                format!("failed to create a folder for test files in '{}'", self.path.display())
            })?;
            return Ok(self.folder.get_or_init(|| made));
        }
        Ok(self.folder.get().expect("it was just checked"))
    }
}

/// A run's folder. It is removed with its content when this is dropped.
#[derive(Debug)]
struct Folder {
    /// The directory that contains it.
    parent: OwnedFd,
    held: OwnedFd,
    name: String,
    path: PathBuf,
    /// Locked while open; `None` when the folder is being removed.
    lock: Option<File>,
}

impl Folder {
    fn create(directory: &Directory) -> Result<Folder> {
        let parent = directory.held.try_clone()?;
        let pid = std::process::id();
        for number in 0..FOLDERS_MAX {
            let name = format!("{FOLDER}{pid}-{number}");
            match rustix::fs::mkdirat(&parent, &name, Mode::RWXU) {
                Err(Errno::EXIST) => continue,
                made => made.map_err(io::Error::from)?,
            }
            let held = open_folder(parent.as_fd(), OsStr::new(&name))?;
            let lock = lock(&held)?;
            let path = directory.path.join(&name);
            return Ok(Folder { parent, held, name, path, lock: Some(lock) });
        }
        bail!("there are {FOLDERS_MAX} folders '{FOLDER}{pid}-*': remove them");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let cleared = clear(self.held.as_fd());
        drop(self.lock.take());
        let removed = cleared.and_then(|_| remove_cleared(&self.parent, OsStr::new(&self.name)));
        if let Err(error) = removed {
            log::warn!("cannot remove the folder '{}': {error}", self.path.display());
        }
    }
}

/// Creates a folder's lock and takes it. The holder writes into it who it is, because others may
/// not see the lock: on a network file system, or through FUSE.
///
/// If this file system does not support locks here, it may elsewhere: a server's own disk does, and
/// a client of it without a lock manager does not.
fn lock(folder: &OwnedFd) -> Result<File> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mode = Mode::RUSR | Mode::WUSR;
    let mut lock =
        File::from(rustix::fs::openat(folder, LOCK, flags, mode).map_err(io::Error::from)?);
    let began = Instant::now();
    let is_locked = loop {
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break true,
            Err(Errno::WOULDBLOCK) if began.elapsed() < LOCK_WAIT => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) => {
                log::warn!("cannot lock the folder of this run: {error}");
                break false;
            }
        }
    };
    // Without a lock, the name alone tells others that this run is there.
    let owner = Owner::here(folder).with_lock(is_locked);
    lock.write_all(owner.to_text().as_bytes())?;
    Ok(lock)
}

/// Opens the directory at `path`, below `parent` unless it is absolute. Its last part may not be a
/// link.
pub fn open_folder(parent: BorrowedFd, path: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(rustix::fs::openat(parent, path, flags, Mode::empty())?)
}

/// Creates a new file that only its owner can read, without following links.
fn create_in(held: BorrowedFd, path: &Path, name: &str) -> Result<(File, OwnName)> {
    let path = path.join(name);
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::openat(held, name, flags, Mode::RUSR | Mode::WUSR)
        .map_err(io::Error::from)
        .with_context(|| format!("failed to create '{}'", path.display()))?;
    let identity = identity(&rustix::fs::fstat(&file)?);
    let name = name.to_string();
    let name = OwnName { at: held.try_clone_to_owned()?, name, path, identity, stays: false };
    Ok((File::from(file), name))
}

/// The device and inode of a `stat`.
fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// What is at `path`, which is no directory, and what to do.
fn other_kind(path: &Path) -> String {
    let shown = path.display();
    match fs::metadata(path) {
        Ok(at) if at.is_file() => {
            format!("'{shown}' is a file: name a directory, or read the file with 'run --file'")
        }
        Ok(at) if at.file_type().is_block_device() => format!(
            "'{shown}' is a block device: name a directory on it, or see 'run --device', which \
             destroys what is on it"
        ),
        Ok(_) => format!("'{shown}' is no directory: name one"),
        Err(_) => format!("a part of '{shown}' is a file: name a directory"),
    }
}

/// The name of a run's own file. It is removed when this is dropped, unless it is to stay.
#[derive(Debug)]
pub struct OwnName {
    at: OwnedFd,
    name: String,
    path: PathBuf,
    identity: (u64, u64),
    stays: bool,
}

impl OwnName {
    /// The path at which it was created.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it stay.
    pub fn keep(&mut self) {
        self.stays = true;
    }

    /// Removes it, unless it now belongs to another file.
    ///
    /// # Errors
    /// The OS's error.
    pub fn remove(mut self) -> Result<()> {
        self.stays = true;
        self.unlink().with_context(|| format!("failed to remove '{}'", self.path.display()))
    }

    fn unlink(&self) -> io::Result<()> {
        match rustix::fs::statat(&self.at, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if identity(&stat) == self.identity => {
                Ok(rustix::fs::unlinkat(&self.at, &self.name, AtFlags::empty())?)
            }
            // Another process removed it, or put something else there, which we must not remove.
            Ok(_) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for OwnName {
    fn drop(&mut self) {
        if self.stays {
            return;
        }
        if let Err(error) = self.unlink() {
            log::warn!("cannot remove '{}': {error}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::remains::CANARY_AGE;
    use super::*;
    use std::fs;
    use std::os::unix::fs::{DirBuilderExt, symlink};
    use std::time::SystemTime;
    use tempfile::TempDir;

    #[test]
    fn directories_of_names_are_removed_with_the_names_in_them() {
        let (folder, directory) = directory();
        let own = "own-0.names".to_string();
        let path = directory.create_directories([&own]).expect("there is room");
        let name = format!("{:016x}.a", 7);
        fs::write(path.join(&own).join(name), []).expect("there is room");
        directory.create_directories([&own]).expect("it is replaced");
        assert_eq!(names(&path.join(&own)), [""; 0]);
        let name = format!("{:016x}.b", 7);
        fs::write(path.join(&own).join(name), []).expect("there is room");
        drop(directory);
        assert_eq!(names(folder.path()), [""; 0]);
        // What somebody else put there stays.
        let directory = Directory::open(folder.path()).expect("it is there");
        let path = directory.create_directories([&own]).expect("there is room");
        fs::write(path.join(&own).join("theirs"), []).expect("there is room");
        drop(directory);
        assert_eq!(names(&path.join(&own)), ["theirs"]);
    }

    #[test]
    fn folders_of_others_have_names_of_runs() {
        let (folder, directory) = directory();
        let path = directory.folder_of_other("ioassay-run-7-0").expect("it is such a name");
        assert_eq!(path, folder.path().join("ioassay-run-7-0"));
        for name in ["..", "/tmp", "ioassay-run-1/..", "src", ""] {
            let error = directory.folder_of_other(name).expect_err(name).to_string();
            assert!(error.contains("is no name of a run's folder"), "{error}");
        }
    }

    fn directory() -> (TempDir, Directory) {
        let folder = tempfile::tempdir_in(".").expect("the crate's folder is writable");
        let directory = Directory::open(folder.path()).expect("it is there");
        (folder, directory)
    }

    fn names(of: &Path) -> Vec<String> {
        let entries = fs::read_dir(of).expect("it is there").flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Creates a run's folder with files, and with a lock that contains `written`, if any.
    fn plant(at: &Path, mode: u32, written: Option<&str>, files: &[&str]) -> PathBuf {
        let folder = at.join(format!("{FOLDER}1-{mode:o}-{}", names(at).len()));
        fs::DirBuilder::new().mode(mode).create(&folder).expect("it is new");
        if let Some(written) = written {
            fs::write(folder.join(LOCK), written).expect("there is room");
        }
        for file in files {
            fs::write(folder.join(file), [0; 1000]).expect("there is room");
        }
        folder
    }

    #[test]
    fn all_that_a_run_made_is_gone_with_it() {
        let (folder, directory) = directory();
        let (file, name) = directory.create("write-1MiB").expect("there is room");
        let run = names(folder.path());
        assert_eq!(run, [format!("{FOLDER}{}-0", std::process::id())]);
        assert_eq!(names(&folder.path().join(&run[0])), [LOCK, "write-1MiB.data"]);
        let again = directory.create("write-1MiB").expect_err("it is there").to_string();
        assert!(again.contains("write-1MiB.data"), "{again}");
        drop((file, name));
        assert_eq!(names(&folder.path().join(&run[0])), [LOCK]);
        let (_file, _name) = directory.create("write-1MiB").expect("there is room");
        drop(directory);
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[test]
    fn what_dead_runs_left_is_removed_and_nothing_else() {
        let (folder, directory) = directory();
        let at = folder.path();
        let own = owner::ended().to_text();
        let dead = plant(at, 0o700, Some(&own), &["write-1MiB.data", "overwrite-2MiB.data"]);
        let elsewhere = plant(at, 0o700, Some("other\nboot\n"), &["write-1MiB.data"]);
        let open_to_all = plant(at, 0o755, Some(&own), &["write-1MiB.data"]);
        let fresh = plant(at, 0o700, None, &[]);
        let with_more = plant(at, 0o700, Some(&own), &["precious"]);
        fs::write(at.join("ioassay-run-file"), "text").expect("there is room");
        symlink("..", at.join("ioassay-run-link")).expect("links can be made");
        fs::write(at.join(format!("{CANARY_NAME}young")), "text").expect("there is room");
        // This run is alive.
        let (_file, _name) = directory.create("write-1MiB").expect("there is room");

        let removed = Directory::open(at).expect("it is there").remove_dead();
        assert_eq!(removed, [Remains { path: dead.clone(), fate: RemainsFate::Removed(2000) }]);
        assert!(!dead.exists());
        for stays in [&elsewhere, &open_to_all] {
            assert_eq!(names(stays), [LOCK, "write-1MiB.data"]);
        }
        assert!(fresh.exists());
        assert_eq!(names(&with_more), ["precious"]);
        assert_eq!(names(at).len(), 8);
        assert_eq!(directory.remove_dead(), []);
    }

    /// A neighbor whose lock nobody sees may be alive. Once its folder is older than a run's start,
    /// it is named.
    #[test]
    fn a_folder_whose_run_may_go_on_stays() {
        let (folder, directory) = directory();
        let at = folder.path();
        let path = plant(at, 0o700, Some("other\nboot\n"), &["write-1MiB.data"]);
        let name = path.file_name().expect("it has one").to_owned();
        let fate = || remove_folder(&directory.held, &name).expect("it can be read");
        assert_eq!(fate(), RemainsFate::Stays);
        let past = SystemTime::now() - Duration::from_secs(120);
        File::open(&path).and_then(|file| file.set_modified(past)).expect("it is ours");
        assert_eq!(fate(), RemainsFate::Unknown("other".to_string()));
        assert_eq!(directory.remove_dead(), [Remains { path: path.clone(), fate: fate() }]);
        assert_eq!(names(&path), [LOCK, "write-1MiB.data"]);
    }

    /// A run that got no lock is there all the same, whoever else gets one.
    #[test]
    fn a_run_without_a_lock_is_not_taken_for_a_dead_one() {
        let (folder, directory) = directory();
        let unlocked = Owner::here(&directory.held).with_lock(false).to_text();
        let path = plant(folder.path(), 0o700, Some(&unlocked), &["write-1MiB.data"]);
        let past = SystemTime::now() - Duration::from_secs(120);
        File::open(&path).and_then(|file| file.set_modified(past)).expect("it is ours");
        let found = directory.remove_dead();
        assert!(matches!(found[..], [Remains { fate: RemainsFate::Unknown(_), .. }]), "{found:?}");
        assert_eq!(names(&path), [LOCK, "write-1MiB.data"]);
    }

    #[test]
    fn what_is_old_and_has_no_holder_is_removed() {
        let (folder, directory) = directory();
        let at = folder.path();
        let unlocked = plant(at, 0o700, None, &[]);
        let canary = at.join(format!("{CANARY_NAME}old"));
        fs::write(&canary, "text").expect("there is room");
        let past = SystemTime::now() - CANARY_AGE - Duration::from_secs(2);
        for path in [&unlocked, &canary] {
            File::open(path).and_then(|file| file.set_modified(past)).expect("it is ours");
        }
        let mut removed = directory.remove_dead();
        removed.sort_by_key(|remains| remains.fate == RemainsFate::Removed(4));
        let expected = [(unlocked, RemainsFate::Removed(0)), (canary, RemainsFate::Removed(4))];
        let expected = expected.map(|(path, fate)| Remains { path, fate });
        assert_eq!(removed, expected);
        assert_eq!(names(at), [""; 0]);
    }

    #[test]
    fn what_takes_the_place_of_a_name_stays() {
        let (folder, directory) = directory();
        let (file, name) = directory.create_visible("ioassay-read").expect("there is room");
        let path = name.path().to_path_buf();
        fs::rename(&path, folder.path().join("moved")).expect("it is there");
        fs::write(&path, "precious").expect("there is room");
        name.remove().expect("there is nothing to do");
        drop(file);
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "precious");
    }

    #[test]
    fn files_are_made_in_the_directory_that_is_held_whatever_its_name_leads_to() {
        let (folder, _) = directory();
        let (place, moved) = (folder.path().join("place"), folder.path().join("moved"));
        fs::create_dir(&place).expect("there is room");
        let directory = Directory::open(&place).expect("it is there");
        directory.check_same().expect("nothing happened");
        fs::rename(&place, &moved).expect("it is there");
        directory.check_same().expect_err("its name leads nowhere");
        fs::create_dir(&place).expect("there is room");
        directory.check_same().expect_err("its name leads elsewhere");
        let (_file, _name) = directory.create("write-1MiB").expect("there is room");
        assert_eq!((names(&place).len(), names(&moved).len()), (0, 1));
    }

    #[test]
    fn only_a_directory_is_opened() {
        for (path, expected) in [
            ("Cargo.toml", "'Cargo.toml' is a file"),
            ("Cargo.toml/x", "a part of 'Cargo.toml/x' is a file"),
            ("/dev/null", "'/dev/null' is no directory"),
            ("nowhere", "no directory 'nowhere'"),
        ] {
            let error = Directory::open(Path::new(path)).expect_err("it is none").to_string();
            assert!(error.contains(expected), "{error}");
        }
        let directory = Directory::open(Path::new(".")).expect("it is there");
        assert!(!names(&directory.held()).is_empty());
        // It does not support unnamed files.
        let proc = Directory::open(Path::new("/proc")).expect("it is there");
        assert!(proc.create_nameless().is_none());
    }
}
