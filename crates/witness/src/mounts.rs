//! Mounts, and which one a file is on.

use crate::error::{Error, descriptor_path};
use crate::root::Root;
use model::watched::{barrier_option, unflushed};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

const MOUNTINFO: &str = "/proc/self/mountinfo";

/// One line of `/proc/self/mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// The mount ID, unique while it is mounted.
    pub(crate) id: u64,
    /// The device as `major:minor`; major 0 means none.
    pub(crate) device: String,
    /// The directory of the file system that is visible at the mount point.
    pub(crate) root: PathBuf,
    /// The mount point.
    pub(crate) point: PathBuf,
    /// `ext4`, `fuse.sshfs` …
    pub(crate) file_system: String,
    /// The source: a device node, a server's export, or any name.
    pub(crate) source: PathBuf,
    /// The mount's options, then the file system's, each once.
    pub(crate) options: Vec<String>,
}

impl Mount {
    /// The values of option `name` in order: some, like `lowerdir+`, can be repeated.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.options.iter().filter_map(move |option| option.strip_prefix(name)?.strip_prefix('='))
    }

    /// A note if a mount option prevents a sync from flushing the devices' caches.
    pub(crate) fn barriers_off(&self) -> Option<String> {
        let option = barrier_option(self.options.iter().map(String::as_str))?;
        Some(unflushed(&self.file_system, &self.point, option))
    }

    /// Whether option `name` is set, with or without a value.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|option| option.split('=').next() == Some(name))
    }
}

/// All mounts that are visible to this process.
pub(crate) fn all(root: &Root) -> Result<Vec<Mount>, Error> {
    let path = root.at(MOUNTINFO);
    let text = std::fs::read(&path).map_err(Error::refused("read", &path))?;
    Ok(parse(&text))
}

/// The mounts that show control groups.
///
/// They are needed around each trial, and the list of all mounts is long where containers run: on
/// this machine, it is read again only once the OS says that it has changed.
pub(crate) fn of_groups(root: &Root) -> Arc<[Mount]> {
    static KEPT: Mutex<Option<KeptMounts>> = Mutex::new(None);
    let read = || all(root).unwrap_or_default();
    if !root.is_machine() {
        return only_groups(read());
    }
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.as_ref().is_none_or(KeptMounts::have_changed) {
        // Opened first, it also tells of changes while the list is read.
        let list = File::open(root.at(MOUNTINFO));
        let groups = only_groups(read());
        *kept = list.ok().map(|list| KeptMounts { list, groups: Arc::clone(&groups) });
        return groups;
    }
    kept.as_ref().map(|kept| Arc::clone(&kept.groups)).unwrap_or_default()
}

fn only_groups(mounts: Vec<Mount>) -> Arc<[Mount]> {
    let shows = |mount: &Mount| matches!(mount.file_system.as_str(), "cgroup" | "cgroup2");
    mounts.into_iter().filter(shows).collect()
}

/// Mounts as they were when they were read.
struct KeptMounts {
    /// The list of all, which is ready with an error once it has changed.
    list: File,
    groups: Arc<[Mount]>,
}

impl KeptMounts {
    /// Whether mounts have changed, or the OS does not tell.
    fn have_changed(&self) -> bool {
        let mut polled = [PollFd::new(&self.list, PollFlags::PRI)];
        let answer = poll(&mut polled, Some(&Timespec::default()));
        answer.is_err() || polled[0].revents().intersects(PollFlags::PRI | PollFlags::ERR)
    }
}

/// The mount that `path` is on. Needs no read permission.
pub(crate) fn mount_of_path(root: &Root, path: &Path) -> Option<Mount> {
    if root.is_machine() {
        let file = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        return mount_of(&File::from(file)).ok();
    }
    // Of the mounts on one point, the last covers the others.
    let above = all(root).ok()?.into_iter().filter(|mount| path.starts_with(&mount.point));
    above.max_by_key(|mount| mount.point.components().count())
}

/// The mount that `file` is on, by mount ID: on btrfs and overlayfs, `st_dev` differs from the
/// device in mountinfo (docs/method).
pub(crate) fn mount_of(file: &File) -> Result<Mount, Error> {
    let id = mount_id(file)?;
    let unlisted = || {
        std::io::Error::other(format!(
            "mount {id} is not listed in {MOUNTINFO}. In a chroot whose root is not a mount point, \
             bind-mount that root onto itself first, or measure a file system that is mounted in it"
        ))
    };
    let found = all(&Root::machine())?.into_iter().find(|mount| mount.id == id);
    found.ok_or_else(|| Error::refused_on("find the mount of", file)(unlisted()))
}

/// The mount ID from fdinfo (Linux 3.15). It equals statx's `stx_mnt_id`, which needs Linux 5.8.
fn mount_id(file: &File) -> Result<u64, Error> {
    let path = PathBuf::from(descriptor_path(file).to_string_lossy().replace("/fd/", "/fdinfo/"));
    let text = std::fs::read_to_string(&path).map_err(|answer| {
        match Path::new("/proc/self").exists() {
            true => Error::refused("read", &path)(answer),
            false => Error::NoProc,
        }
    })?;
    parse_mount_id(&text).ok_or_else(|| {
        Error::refused("find 'mnt_id' in", &path)(std::io::Error::other("no such line"))
    })
}

fn parse_mount_id(fdinfo: &str) -> Option<u64> {
    fdinfo.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok())
}

/// The mounts in the text of a `mountinfo`.
pub(crate) fn parse(text: &[u8]) -> Vec<Mount> {
    text.split(|&byte| byte == b'\n').filter_map(parse_line).collect()
}

/// Parses a line like `27 1 254:0 / /home rw,relatime shared:1 - ext4 /dev/vda rw,discard`. The
/// number of fields before the lone dash varies.
fn parse_line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&byte| byte == b' ');
    let id = text(fields.next()?).parse().ok()?;
    let device = text(fields.nth(1)?);
    let (root, point) = (path(fields.next()?), path(fields.next()?));
    let of_mount = text(fields.next()?);
    fields.find(|&field| field == b"-")?;
    let file_system = text(fields.next()?);
    let source = path(fields.next()?);
    let of_file_system = text(fields.next()?);
    let mut options: Vec<String> = Vec::new();
    for option in of_mount.split(',').chain(of_file_system.split(',')) {
        if !options.iter().any(|known| known == option) {
            options.push(option.to_string());
        }
    }
    Some(Mount { id, device, root, point, file_system, source, options })
}

fn text(field: &[u8]) -> String {
    path(field).to_string_lossy().into_owned()
}

/// Decodes a path: the OS writes space, tab, newline and backslash as octal, as in `\040`.
pub(crate) fn path(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|digits| digits.iter().all(|d| (b'0'..b'8').contains(d)));
        match octal {
            Some(digits) if first == b'\\' => {
                let value = digits.iter().fold(0u32, |value, d| value * 8 + u32::from(d - b'0'));
                bytes.push(value as u8);
                rest = &after[3..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    const TEXT: &[u8] = b"\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard,resuid=65534
40 27 0:41 /s\\040d /mnt/a\\040space\\011and\\134tab rw shared:5 master:1 - fuse.sshfs me@host:/x rw
50 27 0:50 / /merged ro,relatime - overlay none rw,lowerdir=/a:/b,upperdir=/up\\040per,workdir=/w
not a line
";

    #[test]
    fn a_line_of_mountinfo_is_read_whole() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.iter().map(|mount| mount.id).collect::<Vec<_>>(), [27, 40, 50]);
        assert_eq!(mounts[0].device, "254:0");
        assert_eq!(mounts[0].source, Path::new("/dev/vda"));
        assert_eq!(mounts[0].options.join(","), "rw,relatime,discard,resuid=65534");
        assert_eq!(mounts[1].root, Path::new("/s d"));
        assert_eq!(mounts[1].point, Path::new("/mnt/a space\tand\\tab"));
        assert_eq!(mounts[1].file_system, "fuse.sshfs");
        assert_eq!(mounts[2].values("upperdir").collect::<Vec<_>>(), ["/up per"]);
        assert!(mounts[2].has("lowerdir") && !mounts[2].has("lower"));
    }

    #[test]
    fn a_backslash_that_is_no_escape_stays() {
        for (field, expected) in [("a\\", "a\\"), ("a\\04", "a\\04"), ("\\0409", " 9")] {
            assert_eq!(path(field.as_bytes()), Path::new(expected), "{field}");
        }
    }

    #[test]
    fn the_mount_number_is_found_in_fdinfo() {
        let fdinfo = "pos:\t0\nflags:\t0100000\nmnt_id:\t27\nino:\t9\n";
        assert_eq!(parse_mount_id(fdinfo), Some(27));
        assert_eq!(parse_mount_id("pos:\t0\n"), None);
    }

    #[test]
    fn the_mount_of_a_file_is_the_one_of_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let file = File::create(directory.path().join("file")).unwrap();
        let mount = mount_of(&file).unwrap();
        assert!(directory.path().starts_with(&mount.point), "{mount:?}");
    }

    /// A mount that the test ends.
    struct Mounted(PathBuf);

    impl Drop for Mounted {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(&self.0).status();
        }
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
    fn a_mount_of_groups_that_comes_or_goes_is_seen() {
        let place = tempfile::tempdir().unwrap();
        let is_listed = || {
            let groups = of_groups(&Root::machine());
            groups.iter().any(|mount| mount.point == place.path())
        };
        assert!(!is_listed());
        let mut mount = Command::new("mount");
        mount.args(["-t", "cgroup2", "none"]).arg(place.path()).stderr(Stdio::null());
        if !mount.status().is_ok_and(|status| status.success()) {
            eprintln!("skipped a_mount_of_groups_that_comes_or_goes_is_seen: no right to mount");
            return;
        }
        let mounted = Mounted(place.path().to_path_buf());
        assert!(is_listed() && is_listed());
        drop(mounted);
        assert!(!is_listed());
    }
}
