//! The data files that processes have open or mapped, and how much of each is cached.
//!
//! A file is opened anew for reading only to ask for its cached pages, and only on file systems
//! that answer by themselves: a server that is gone would hold this program up.

use super::maps::{self, MappedFile};
use super::mounted::{MountPlace, Mounted};
use crate::page_cache;
use model::evidence::Probe;
use model::file_path::FilePath;
use model::running::{CachedPages, FILES_MAX, OpenFile, OpenFiles, OpenMedium};
use rustix::fs::{FileType, Mode, OFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most open descriptors of all processes that one look reads.
const DESCRIPTORS_MAX: usize = 65_536;

/// What tells files apart: the device and the inode, or the name, where nothing is asked of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum FileKey {
    Inode(u64, u64),
    Name(PathBuf),
}

/// A file with the path in `/proc` at which it was last seen.
#[derive(Debug)]
struct KnownFile {
    file: OpenFile,
    at: PathBuf,
}

/// What was seen so far.
#[derive(Debug, Default)]
pub(super) struct OpenFileSurvey {
    files: BTreeMap<FileKey, KnownFile>,
    mounted: Mounted,
    /// Descriptors that were seen: process, number and what it leads to.
    seen: BTreeSet<(u32, u32, PathBuf)>,
    unseen_processes: BTreeSet<u32>,
    rings: BTreeSet<(u32, u32)>,
    aio: BTreeMap<u32, u64>,
    sources: BTreeSet<PathBuf>,
    unlisted: u64,
}

/// What `/proc/PID/fdinfo/N` says of a descriptor.
struct Descriptor {
    flags: u32,
    mount: u64,
}

impl Descriptor {
    fn of(pid: u32, number: u32) -> Option<Descriptor> {
        let text = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).ok()?;
        let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let flags = u32::from_str_radix(value("flags:")?.trim(), 8).ok()?;
        Some(Descriptor { flags, mount: value("mnt_id:")?.trim().parse().ok()? })
    }

    fn reads(&self) -> bool {
        self.flags & 3 != 1
    }

    fn writes(&self) -> bool {
        self.flags & 3 != 0
    }

    fn has(&self, flag: OFlags) -> bool {
        self.flags & flag.bits() != 0
    }
}

impl OpenFileSurvey {
    /// Looks at what these processes have open now.
    pub(super) fn look(&mut self, pids: impl Iterator<Item = u32>) {
        let mut left = DESCRIPTORS_MAX;
        for pid in pids {
            let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
                // One that has ended is not hidden.
                let is_there = Path::new(&format!("/proc/{pid}/fd")).exists();
                self.unseen_processes.extend(is_there.then_some(pid));
                continue;
            };
            for entry in entries.flatten().take(left) {
                left -= 1;
                let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
                let link = fs::read_link(entry.path());
                if let (Some(number), Ok(link)) = (number, link) {
                    self.descriptor(pid, number, link);
                }
            }
        }
    }

    /// Looks at what these processes have mapped now, which takes longer.
    pub(super) fn look_at_maps(&mut self, pids: impl Iterator<Item = u32>) {
        for pid in pids {
            let Some(seen) = maps::of(pid) else { continue };
            if seen.aio > 0 {
                let most = self.aio.entry(pid).or_default();
                *most = seen.aio.max(*most);
            }
            seen.files.into_iter().for_each(|file| self.mapping(pid, file));
        }
    }

    fn descriptor(&mut self, pid: u32, number: u32, link: PathBuf) {
        if !self.seen.insert((pid, number, link.clone())) {
            return;
        }
        let Some(info) = Descriptor::of(pid, number) else { return };
        let name = link.to_string_lossy();
        match () {
            () if name.starts_with("anon_inode:[io_uring]") => {
                self.rings.insert((pid, number));
            }
            () if name.starts_with("anon_inode:") || name.starts_with("/memfd:") => {}
            () if name.starts_with("socket:") || name.starts_with("pipe:") => {
                self.sources.extend(info.reads().then_some(link));
            }
            () if name.starts_with('/') => {
                let place = self.mounted.by_id(pid, info.mount);
                self.named(pid, number, &link, &info, place);
            }
            () => {}
        }
    }

    /// A descriptor of something with a path.
    fn named(&mut self, pid: u32, number: u32, link: &Path, info: &Descriptor, place: MountPlace) {
        let name = link.to_string_lossy();
        let is_device = name.starts_with("/dev/") && !name.starts_with("/dev/shm/");
        if place.is_of_system || is_device {
            let is_terminal = is_device && name != "/dev/null";
            self.sources.extend((is_terminal && info.reads()).then(|| link.to_path_buf()));
            return;
        }
        if !info.writes() && maps::SYSTEM.iter().any(|start| maps::is_below(link, start)) {
            return;
        }
        let at = PathBuf::from(format!("/proc/{pid}/fd/{number}"));
        let key = match place.medium {
            OpenMedium::Unseen => FileKey::Name(link.to_path_buf()),
            OpenMedium::Device | OpenMedium::Memory => match identity(&at) {
                Some((FileType::RegularFile, device, inode)) => FileKey::Inode(device, inode),
                Some((FileType::Fifo, ..)) => {
                    self.sources.extend(info.reads().then(|| link.to_path_buf()));
                    return;
                }
                _ => return,
            },
        };
        let Some(file) = self.known(key, link, &at, place) else { return };
        file.reading |= info.reads();
        file.writing |= info.writes();
        file.direct |= info.has(OFlags::DIRECT);
        file.sync |= info.has(OFlags::DSYNC);
    }

    fn mapping(&mut self, pid: u32, mapped: MappedFile) {
        let place = self.mounted.by_device(pid, &mapped.device, &mapped.path);
        if place.is_of_system || place.medium == OpenMedium::Memory {
            return;
        }
        let inside = mapped.path.strip_prefix("/").unwrap_or(&mapped.path);
        let at = Path::new(&format!("/proc/{pid}/root")).join(inside);
        let number = mapped.device.split_once(':').and_then(|(major, minor)| {
            Some(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
        });
        let key = match (place.medium, number) {
            (OpenMedium::Device, Some(number)) => FileKey::Inode(number, mapped.inode),
            _ => FileKey::Name(mapped.path.clone()),
        };
        let is_removed = mapped.is_removed;
        let Some(file) = self.known(key, &mapped.path, &at, place) else { return };
        file.mapped = true;
        file.reading = true;
        file.writing |= mapped.is_writable;
        file.removed |= is_removed;
    }

    /// The entry of a file, which is new if it was not seen before; `None` if there are too many.
    fn known(
        &mut self,
        key: FileKey,
        path: &Path,
        at: &Path,
        place: MountPlace,
    ) -> Option<&mut OpenFile> {
        if !self.files.contains_key(&key) {
            if self.files.len() >= FILES_MAX {
                self.unlisted += 1;
                return None;
            }
            self.files
                .insert(key.clone(), KnownFile { file: new(path, place), at: at.to_path_buf() });
            let known = self.files.get_mut(&key)?;
            let (bytes, pages) = ask(&key, known);
            (known.file.bytes, known.file.before, known.file.after) = (bytes, pages, pages);
        }
        let known = self.files.get_mut(&key)?;
        known.at = at.to_path_buf();
        Some(&mut known.file)
    }

    /// Looks at the files a last time.
    pub(super) fn end(mut self) -> OpenFiles {
        for (key, known) in &mut self.files {
            let (bytes, pages) = ask(key, known);
            known.file.bytes = bytes.or(known.file.bytes);
            known.file.after = pages.or(known.file.after);
        }
        let mut files: Vec<OpenFile> = self.files.into_values().map(|known| known.file).collect();
        files.sort_by_key(|file| std::cmp::Reverse(file.bytes));
        OpenFiles {
            files,
            unlisted: self.unlisted,
            unseen_processes: self.unseen_processes.len() as u64,
            rings: self.rings.len() as u64,
            aio: self.aio.values().sum(),
            other_sources: self.sources.len() as u64,
        }
    }
}

fn new(path: &Path, place: MountPlace) -> OpenFile {
    let text = path.to_string_lossy();
    let (path, removed) = match text.strip_suffix(" (deleted)") {
        Some(before) => (Path::new(before), true),
        None => (path, false),
    };
    OpenFile {
        path: FilePath::from(path),
        removed,
        bytes: None,
        file_system: place.file_system,
        medium: place.medium,
        reading: false,
        writing: false,
        mapped: false,
        direct: false,
        sync: false,
        before: None,
        after: None,
    }
}

/// A handle that neither reads nor opens what is at a path of `/proc`.
fn handle(at: &Path) -> Option<File> {
    rustix::fs::open(at, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok().map(File::from)
}

fn identity(at: &Path) -> Option<(FileType, u64, u64)> {
    let stat = rustix::fs::fstat(&handle(at)?).ok()?;
    Some((FileType::from_raw_mode(stat.st_mode), stat.st_dev, stat.st_ino))
}

/// The size of a file, and its cached pages, as far as they may be asked for.
fn ask(key: &FileKey, known: &KnownFile) -> (Option<u64>, Option<CachedPages>) {
    let FileKey::Inode(device, inode) = key else { return (None, None) };
    // The descriptor may have been closed, or be another file by now.
    let path = known.file.path.to_path();
    let places = [known.at.as_path(), path.as_path()];
    let found = places.iter().find_map(|at| {
        let handle = handle(at)?;
        let found = handle.metadata().ok()?;
        let is_it = found.is_file() && (found.dev(), found.ino()) == (*device, *inode);
        is_it.then_some((handle, found.len()))
    });
    let Some((handle, bytes)) = found else { return (None, None) };
    let reopened = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(&reopened, flags, Mode::empty()).map(File::from) else {
        return (Some(bytes), None);
    };
    let pages = page_cache::residency(&file, Probe::Cachestat).ok();
    (Some(bytes), pages.map(CachedPages::from))
}
