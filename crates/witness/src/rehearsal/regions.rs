//! The files in the address space of a task.

use crate::mounts;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A mapped range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) start: u64,
    end: u64,
    /// `PROT_` bits.
    pub(crate) protection: i32,
    /// `MAP_SHARED` or `MAP_PRIVATE`.
    pub(crate) sharing: i32,
    /// The file; only files that still have their name.
    pub(crate) path: PathBuf,
}

/// The file that is mapped at an address.
pub(crate) fn file_at_address(task: i32, address: u64) -> Option<PathBuf> {
    let mut all = regions(task).into_iter();
    all.find(|region| (region.start..region.end).contains(&address)).map(|region| region.path)
}

/// The mapped files of a task.
pub(crate) fn regions(task: i32) -> Vec<Region> {
    let text = std::fs::read(format!("/proc/{task}/maps")).unwrap_or_default();
    text.split(|byte| *byte == b'\n').filter_map(parse).collect()
}

/// Parses a line like `7f00-7f10 r-xp 00000000 fe:00 1234   /usr/lib/a`.
fn parse(line: &[u8]) -> Option<Region> {
    let at = line.iter().position(|byte| *byte == b'/')?;
    let (numbers, name) = (std::str::from_utf8(&line[..at]).ok()?, &line[at..]);
    let mut fields = numbers.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let rights = fields.next()?.as_bytes();
    let right =
        |place: usize, letter, bit| if rights.get(place) == Some(&letter) { bit } else { 0 };
    let is_gone = name.ends_with(b" (deleted)");
    let is_shared = rights.get(3) == Some(&b's');
    (!is_gone).then_some(Region {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        protection: right(0, b'r', libc::PROT_READ)
            | right(1, b'w', libc::PROT_WRITE)
            | right(2, b'x', libc::PROT_EXEC),
        sharing: if is_shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE },
        path: unescaped(name),
    })
}

/// The OS writes a newline in a name as `\012`, and nothing else so.
fn unescaped(name: &[u8]) -> PathBuf {
    match name.windows(4).any(|part| part == b"\\012") {
        true => mounts::path(name),
        false => Path::new(std::ffi::OsStr::from_bytes(name)).to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_files_are_read_and_others_are_not() {
        let line = b"7f00-7f10 rw-s 00001000 fe:00 1234                 /data/a b";
        let region = parse(line).unwrap();
        assert_eq!((region.start, region.end), (0x7f00, 0x7f10));
        assert_eq!(region.protection, libc::PROT_READ | libc::PROT_WRITE);
        assert_eq!(region.sharing, libc::MAP_SHARED);
        assert_eq!(region.path, Path::new("/data/a b"));
        for other in [&b"7f00-7f10 r-xp 0 0:0 0  [vdso]"[..], b"", b"7-8 r 0 0:0 1 /a (deleted)"] {
            assert_eq!(parse(other), None);
        }
    }
}
