//! A control group that limits the memory of processes, including their page cache.

use crate::cgroup;
use crate::error::Error;
use crate::processes::descendants;
use crate::root::Root;
use crate::sysfs;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often to reclaim: names that were used since the last time are kept once.
const RECLAIMS: u32 = 3;

/// The prefix of these groups' names, followed by the PID of their creator.
const PREFIX: &str = "ioassay-";
/// Attempts to remove a group that still has members.
const REMOVALS: u32 = 50;
/// Groups to search for those that were left; a large machine has thousands.
const GROUPS_MAX: u32 = 100_000;
/// Pause between attempts; all of them together take a second.
const REMOVAL_PAUSE: Duration = Duration::from_millis(20);

/// A control group that limits memory. Dropping it kills its members and removes it. A process can
/// have one at a time, and must not be a member itself.
///
/// Memory that members allocate counts, and so do pages that they bring into the page cache. Pages
/// cached by other processes do not, so evict files first.
#[derive(Debug)]
pub struct MemoryGroup {
    directory: PathBuf,
    limit: u64,
    /// Locked as long as its creator lives, also for processes that do not see its PID.
    _held: File,
}

/// The names of the limits in a version of control groups.
#[derive(Debug, Clone, Copy)]
struct GroupVersion {
    limit: &'static str,
    /// Missing if the OS does not account for swap.
    swap: &'static str,
    /// The limit on swap for a given limit on memory, chosen to prevent swapping.
    swap_limit: fn(u64) -> u64,
}

/// Version 1's second limit covers memory and swap together.
const V1: GroupVersion = GroupVersion {
    limit: "memory.limit_in_bytes",
    swap: "memory.memsw.limit_in_bytes",
    swap_limit: |limit| limit,
};

const V2: GroupVersion =
    GroupVersion { limit: "memory.max", swap: "memory.swap.max", swap_limit: |_| 0 };

impl MemoryGroup {
    /// Creates a group whose members together may use `limit_bytes` of memory and no swap.
    ///
    /// In version 1, the group is a child of this process's group. In version 2, a group with
    /// members cannot have children that limit memory. The new group is then a sibling, or as close
    /// to that as possible.
    ///
    /// # Errors
    /// [`Error::NoMemoryGroup`] with the refused step: this needs root, or a group delegated to
    /// this user.
    pub fn create(limit_bytes: u64) -> Result<MemoryGroup, Error> {
        let directories = cgroup::directories(&Root::machine(), "self", "memory");
        let found = directories.iter().find_map(|group| Some((group, version_below(group)?)));
        let Some((parent, version)) = found else {
            let answer = io::Error::other("no control group can limit memory");
            let path = Path::new("/proc/self/cgroup");
            return Err(refused("find a group to make one below in", path)(answer));
        };
        create_below(parent, version, limit_bytes)
    }

    /// The group's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Bytes that its members may use: the requested limit rounded to pages, as reported by the OS.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Moves process `pid`, all its threads and its descendants into the group. Memory that they
    /// already use does not count.
    ///
    /// # Errors
    /// [`Error::NoMemoryGroup`] with the OS's answer.
    pub fn add(&self, pid: u32) -> Result<(), Error> {
        let path = self.directory.join("cgroup.procs");
        let enter = |pid: u32| write(&path, &pid.to_string());
        enter(pid).map_err(refused("add a process to", &path))?;
        // Later descendants are members from their start. One that has ended needs no limit.
        for descendant in descendants(pid).unwrap_or_default() {
            match enter(descendant) {
                Err(error) if error.raw_os_error() != Some(Errno::SRCH.raw_os_error()) => {
                    return Err(refused("add a process to", &path)(error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Has the OS free what its members left in caches, as far as it can: names and inodes that
    /// they created or looked up, and pages of files that they used.
    ///
    /// # Errors
    /// [`Error::NoMemoryGroup`] with the OS's answer.
    pub fn reclaim(&self) -> Result<(), Error> {
        let old = self.directory.join("memory.force_empty");
        // Names that were just used get a second chance.
        for _ in 0..RECLAIMS {
            if old.exists() {
                write(&old, "0").map_err(refused("reclaim the memory of", &old))?;
                continue;
            }
            let path = self.directory.join("memory.reclaim");
            let used = std::fs::read_to_string(self.directory.join("memory.current"));
            let used = used.map_err(refused("read the memory of", &self.directory))?;
            match write(&path, used.trim()) {
                // Not all of it could be freed.
                Err(answer) if answer.raw_os_error() == Some(Errno::AGAIN.raw_os_error()) => {}
                outcome => outcome.map_err(refused("reclaim the memory of", &path))?,
            }
        }
        Ok(())
    }

    /// Kills all members, including processes that members started and left behind.
    fn end_members(&self) {
        // Needs Linux 5.14 and version 2; also catches processes that are just being started.
        if write(&self.directory.join("cgroup.kill"), "1").is_ok() {
            return;
        }
        let members = std::fs::read_to_string(self.directory.join("cgroup.procs"));
        for member in members.unwrap_or_default().split_ascii_whitespace() {
            // Processes in another namespace appear as 0.
            let pid = member.parse().ok().and_then(Pid::from_raw);
            if let Some(Err(error)) = pid.map(|pid| kill_process(pid, Signal::KILL)) {
                log::debug!("cannot kill process {member} of a control group: {error}");
            }
        }
    }

    /// Sets the limits and verifies them.
    fn set(&mut self, version: GroupVersion, limit: u64) -> Result<(), Error> {
        let path = self.directory.join(version.limit);
        write(&path, &limit.to_string()).map_err(refused("set the limit", &path))?;
        let told = std::fs::read_to_string(&path).map_err(refused("read the limit", &path))?;
        self.limit = confirmed(&told, limit).map_err(refused("prove the limit", &path))?;
        let path = self.directory.join(version.swap);
        let limit = (version.swap_limit)(self.limit);
        match write(&path, &limit.to_string()) {
            Err(answer) if answer.kind() == io::ErrorKind::NotFound => {
                log::debug!("'{}' does not exist: swap is not limited", path.display());
                Ok(())
            }
            outcome => outcome.map_err(refused("set the limit of swap", &path)),
        }
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.directory, || self.end_members()) {
            log::warn!("cannot remove the control group '{}': {error}", self.directory.display());
        }
    }
}

/// Removes a group once it is empty, at each attempt after it `ends` members: a process that has
/// ended stays in its group for a moment.
fn remove(directory: &Path, ends: impl Fn()) -> io::Result<()> {
    for _ in 1..REMOVALS {
        ends();
        match std::fs::remove_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                std::thread::sleep(REMOVAL_PAUSE);
            }
            outcome => return outcome,
        }
    }
    ends();
    std::fs::remove_dir(directory)
}

fn refused(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |answer| Error::NoMemoryGroup { attempt, path: path.to_path_buf(), answer }
}

/// The version of a group created below `group`; `None` if it could not limit memory.
fn version_below(group: &Path) -> Option<GroupVersion> {
    if group.join(V1.limit).exists() {
        return Some(V1);
    }
    let controllers = std::fs::read_to_string(group.join("cgroup.subtree_control")).ok()?;
    controllers.split_ascii_whitespace().any(|name| name == "memory").then_some(V2)
}

fn create_below(parent: &Path, version: GroupVersion, limit: u64) -> Result<MemoryGroup, Error> {
    let directory = parent.join(format!("{PREFIX}{}", std::process::id()));
    let mut made = std::fs::create_dir(&directory);
    if made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
        // An earlier process had the same PID, or one in another namespace has it, which holds the
        // lock.
        lock(&directory)
            .and_then(|_| std::fs::remove_dir(&directory))
            .map_err(refused("remove the old group", &directory))?;
        made = std::fs::create_dir(&directory);
    }
    made.map_err(refused("make the control group", &directory))?;
    let held = lock(&directory).map_err(refused("lock the control group", &directory))?;
    let mut group = MemoryGroup { directory, limit: 0, _held: held };
    group.set(version, limit)?;
    Ok(group)
}

/// Removes groups that killed processes left, anywhere in the visible hierarchies: the next run may
/// be in another group. Only an empty group can be removed, and only one whose creator is no more
/// is.
pub fn remove_left_groups() {
    let directories = cgroup::directories(&Root::machine(), "self", "memory");
    let is_top = |group: &&PathBuf| {
        !directories.iter().any(|other| other != *group && group.starts_with(other))
    };
    directories.iter().filter(is_top).for_each(|top| remove_left(top, &has_our_limits));
}

/// The same below the group `top`.
fn remove_left(top: &Path, is_ours: &dyn Fn(&Path) -> bool) {
    let mut groups = vec![top.to_path_buf()];
    for _ in 0..GROUPS_MAX {
        let Some(group) = groups.pop() else { return };
        for entry in std::fs::read_dir(&group).into_iter().flatten().flatten() {
            // Not through links.
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let path = entry.path();
            match entry.file_name().to_str().and_then(maker_of) {
                None => groups.push(path),
                Some(maker) if is_alive(maker) || !is_ours(&path) => {}
                // The workers of a run that was just killed end by themselves.
                Some(_) => match lock(&path).and_then(|_| remove(&path, || {})) {
                    Ok(()) => log::info!("removed the old control group '{}'", path.display()),
                    Err(error) => {
                        log::info!("the old control group '{}' stays: {error}", path.display());
                    }
                },
            }
        }
    }
}

/// Whether a group limits memory and swap as groups of this program do. Somebody else may give one
/// such a name.
fn has_our_limits(group: &Path) -> bool {
    let number = |file: &str| sysfs::number(&group.join(file));
    // Version 1 has a number for no limit, too: the largest multiple of a page.
    let is_limit = |limit: &u64| *limit < (i64::MAX as u64) >> 1;
    [V1, V2].iter().any(|version| {
        let limit = number(version.limit).filter(is_limit);
        let has_swap = group.join(version.swap).exists();
        limit.is_some_and(|limit| {
            !has_swap || number(version.swap) == Some((version.swap_limit)(limit))
        })
    })
}

/// Whether a process exists, of any user, and has not ended: its parent may not have asked yet how
/// (a zombie). In another namespace of PIDs, it may seem not to exist.
fn is_alive(pid: u32) -> bool {
    let told = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let has_ended = told.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X']));
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    !has_ended && pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// Locks a group, unless its creator still holds it.
fn lock(directory: &Path) -> io::Result<File> {
    let held = File::open(directory)?;
    flock(&held, FlockOperation::NonBlockingLockExclusive)?;
    Ok(held)
}

/// The PID in a group's name; `None` if the name has another form.
fn maker_of(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.parse().ok()
}

/// The limit that the OS reports, if it equals the requested one rounded to pages.
fn confirmed(told: &str, asked: u64) -> io::Result<u64> {
    let page = rustix::param::page_size() as u64;
    let limit = told.trim().parse::<u64>().ok();
    limit
        .filter(|&limit| limit.abs_diff(asked) < page)
        .ok_or_else(|| io::Error::other(format!("wrote {asked}, but it reads '{}'", told.trim())))
}

/// Writes to an existing file.
fn write(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_told_by_their_name() {
        for (name, expected) in [
            ("ioassay-17", Some(17)),
            ("ioassay-", None),
            ("ioassay-17x", None),
            ("other-17", None),
            ("17", None),
        ] {
            assert_eq!(maker_of(name), expected, "{name}");
        }
    }

    #[test]
    fn a_limit_is_believed_only_if_it_reads_as_it_was_written() {
        let page = rustix::param::page_size() as u64;
        let asked = 10 * page + 1;
        for limit in [10 * page, asked, 11 * page] {
            assert_eq!(confirmed(&format!("{limit}\n"), asked).unwrap(), limit);
        }
        for told in ["max\n".to_string(), String::new(), format!("{}", 12 * page)] {
            let error = confirmed(&told, asked).unwrap_err().to_string();
            assert!(error.contains(&asked.to_string()) && error.contains(told.trim()), "{error}");
        }
    }

    #[test]
    fn a_group_below_limits_memory_where_the_controller_is_handed_down() {
        let group = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(group.path().join(name), text).unwrap();
        let version = || version_below(group.path()).map(|version| version.limit);
        assert_eq!(version(), None);
        write("cgroup.subtree_control", "cpu io memory_x\n");
        assert_eq!(version(), None);
        write("cgroup.subtree_control", "cpu memory io\n");
        assert_eq!(version(), Some("memory.max"));
        write("memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(version(), Some("memory.limit_in_bytes"));
    }

    #[test]
    fn a_group_that_cannot_be_limited_is_not_left_behind() {
        let parent = tempfile::tempdir().unwrap();
        let error = create_below(parent.path(), V2, 1 << 20).unwrap_err().to_string();
        assert!(error.contains("set the limit") && error.contains("memory.max"), "{error}");
        assert!(error.contains("os error 2") && error.contains("root"), "{error}");
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn who_was_killed_is_not_alive_even_if_its_parent_has_not_asked() {
        let mut killed = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(is_alive(killed.id()));
        killed.kill().unwrap();
        let ends = (0..REMOVALS).any(|_| {
            std::thread::sleep(REMOVAL_PAUSE);
            !is_alive(killed.id())
        });
        assert!(ends, "it is a zombie until somebody waits for it");
        killed.wait().unwrap();
    }

    #[test]
    fn only_groups_of_makers_that_are_no_more_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let living = format!("ioassay-{}", std::process::id());
        // No process has such a high PID.
        for name in ["ioassay-4194305", "other-4194305", living.as_str()] {
            std::fs::create_dir(parent.path().join(name)).unwrap();
        }
        // Its creator is in another namespace, where it has this PID.
        let hidden = parent.path().join("ioassay-4194306");
        std::fs::create_dir(&hidden).unwrap();
        let held = lock(&hidden).unwrap();
        // A run in another group finds what was left in this one. A group with members cannot be
        // removed, as a directory with a file cannot.
        let deep = parent.path().join("other-4194305/ioassay-4194307");
        std::fs::create_dir(&deep).unwrap();
        let used = parent.path().join("ioassay-4194308");
        std::fs::create_dir(&used).unwrap();
        std::fs::write(used.join("member"), "").unwrap();
        remove_left(parent.path(), &|_| true);
        let exists = |name: &str| parent.path().join(name).exists();
        assert!(!exists("ioassay-4194305") && exists("other-4194305") && exists(&living));
        assert!(hidden.exists() && !deep.exists() && used.exists());
        drop(held);
        // A process that another test is starting may share the lock for a moment.
        for _ in 0..REMOVALS {
            remove_left(parent.path(), &|_| true);
            if !hidden.exists() {
                return;
            }
            std::thread::sleep(REMOVAL_PAUSE);
        }
        panic!("nobody holds it any more, and it stays");
    }

    #[test]
    fn a_group_with_other_limits_is_somebody_elses() {
        let group = tempfile::tempdir().unwrap();
        let has = |files: &[(&str, &str)]| {
            for (name, text) in files {
                std::fs::write(group.path().join(name), text).unwrap();
            }
            has_our_limits(group.path())
        };
        assert!(!has(&[]), "no limit can be read");
        assert!(!has(&[("memory.limit_in_bytes", "9223372036854771712\n")]), "no limit is set");
        assert!(has(&[("memory.limit_in_bytes", "67108864\n")]), "swap is not accounted for");
        let memsw = "memory.memsw.limit_in_bytes";
        assert!(!has(&[(memsw, "134217728\n")]) && has(&[(memsw, "67108864\n")]));
        std::fs::remove_file(group.path().join("memory.limit_in_bytes")).unwrap();
        assert!(!has(&[("memory.max", "max\n"), ("memory.swap.max", "0\n")]));
        assert!(has(&[("memory.max", "67108864\n")]));
        assert!(!has(&[("memory.swap.max", "max\n")]));
    }
}
