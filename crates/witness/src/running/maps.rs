//! The files that a process has mapped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Mappings of fewer bytes in all are of no weight, such as a runtime's own counters.
const MAPPED_LEAST: u64 = 1 << 20;

/// Folders of programs, libraries and settings.
pub(super) const SYSTEM: [&str; 6] = ["/usr/", "/lib", "/bin/", "/sbin/", "/etc/", "/opt/"];

/// Names of what has no file on a storage.
const IN_MEMORY: [&str; 5] = ["/memfd:", "/SYSV", "/dev/zero", "/dev/shm/", "/anon_hugepage"];

/// What the maps of a process show.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SeenMappings {
    /// Data files.
    pub(super) files: Vec<MappedFile>,
    /// Contexts of asynchronous I/O.
    pub(super) aio: u64,
}

/// A mapped data file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MappedFile {
    pub(super) path: PathBuf,
    /// The device as `major:minor`.
    pub(super) device: String,
    pub(super) inode: u64,
    pub(super) is_removed: bool,
    pub(super) is_writable: bool,
}

/// Those of process `pid`; `None` if this user may not see them.
pub(super) fn of(pid: u32) -> Option<SeenMappings> {
    Some(parse(&fs::read(format!("/proc/{pid}/maps")).ok()?))
}

/// A file with what all its mappings have.
struct Mapped {
    file: MappedFile,
    bytes: u64,
    is_program: bool,
}

fn parse(maps: &[u8]) -> SeenMappings {
    let mut found: BTreeMap<(String, u64), Mapped> = BTreeMap::new();
    let mut aio = 0;
    for line in maps.split(|byte| *byte == b'\n') {
        let Some(line) = Line::parse(&String::from_utf8_lossy(line)) else { continue };
        aio += u64::from(line.path.starts_with("/[aio]"));
        let (path, is_removed) = match line.path.strip_suffix(" (deleted)") {
            Some(path) => (path, true),
            None => (line.path.as_str(), false),
        };
        let is_in_memory = IN_MEMORY.iter().any(|start| path.starts_with(start));
        if line.inode == 0 || !path.starts_with('/') || path.starts_with("/[") || is_in_memory {
            continue;
        }
        let is_shared = line.rights.ends_with('s');
        let mapped = found.entry((line.device.clone(), line.inode)).or_insert(Mapped {
            file: MappedFile {
                path: Path::new(path).to_path_buf(),
                device: line.device,
                inode: line.inode,
                is_removed,
                is_writable: false,
            },
            bytes: 0,
            is_program: false,
        });
        mapped.bytes = mapped.bytes.saturating_add(line.bytes);
        mapped.is_program |= line.rights.contains('x');
        mapped.file.is_writable |= is_shared && line.rights.contains('w');
    }
    let is_system = |path: &Path| SYSTEM.iter().any(|start| is_below(path, start));
    let data = found.into_values().filter(|it| !it.is_program && it.bytes >= MAPPED_LEAST);
    let files = data.map(|it| it.file).filter(|it| it.is_writable || !is_system(&it.path));
    SeenMappings { files: files.collect(), aio }
}

/// Whether a path begins with these letters.
pub(super) fn is_below(path: &Path, start: &str) -> bool {
    path.to_str().is_some_and(|path| path.starts_with(start))
}

/// `7f00-7f10 r--p 00000000 fe:00 123   /path`.
struct Line {
    bytes: u64,
    rights: String,
    device: String,
    inode: u64,
    path: String,
}

impl Line {
    fn parse(line: &str) -> Option<Line> {
        let mut words = line.splitn(6, ' ');
        let (range, rights, _) = (words.next()?, words.next()?, words.next()?);
        let (device, inode) = (words.next()?, words.next()?.parse().ok()?);
        let (from, to) = range.split_once('-')?;
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        let (major, minor) = device.split_once(':')?;
        Some(Line {
            bytes: hex(to)?.checked_sub(hex(from)?)?,
            rights: rights.to_string(),
            device: format!("{}:{}", hex(major)?, hex(minor)?),
            inode,
            path: words.next().unwrap_or_default().trim_start().to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_files_are_told_from_programs_and_memory() {
        let maps = b"\
10000000-20000000 r--s 00000000 fe:00 11                   /data/a table
20000000-20001000 r--p 00000000 fe:00 12                   /data/small
30000000-30100000 r--p 00000000 fe:00 13                   /home/x/lib.so
30100000-30200000 r-xp 00100000 fe:00 13                   /home/x/lib.so
40000000-41000000 r--p 00000000 fe:00 14                   /usr/lib/locale/locale-archive
50000000-51000000 rw-s 00000000 00:01 15                   /memfd:x (deleted)
60000000-61000000 rw-s 00000000 fe:00 16                   /data/gone (deleted)
70000000-70010000 rw-s 00000000 00:0f 17                   /[aio] (deleted)
80000000-81000000 rw-p 00000000 00:00 0                    [heap]
";
        let seen = parse(maps);
        assert_eq!(seen.aio, 1);
        let paths: Vec<&str> = seen.files.iter().map(|it| it.path.to_str().unwrap()).collect();
        assert_eq!(paths, ["/data/a table", "/data/gone"]);
        assert_eq!((seen.files[0].device.as_str(), seen.files[0].inode), ("254:0", 11));
        assert!(!seen.files[0].is_writable && !seen.files[0].is_removed);
        assert!(seen.files[1].is_writable && seen.files[1].is_removed);
        assert_eq!(parse(b"not a line\n"), SeenMappings::default());
    }
}
