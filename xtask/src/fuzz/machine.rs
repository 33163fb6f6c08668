//! A machine's files from a text of `crates/witness/tests/trees`, however it was changed.
//!
//! The text is not trusted: files are first placed in a tree in memory, in which nothing is below a
//! file or a link and no name leads upward. So all that is written is below one folder. A link gets
//! the whole path of its target, which has no `..` either, so no chain of links leaves that folder.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The most files of a machine; what a text has beyond that is left out.
const FILES_MOST: usize = 2_000;

/// The longest name that any file system takes.
const NAME_BYTES_MOST: usize = 255;

enum FileEntry {
    Bytes(Vec<u8>),
    Link(Vec<String>),
}

/// The files of a machine by the names that lead to them.
#[derive(Default)]
pub(super) struct MachineFiles {
    files: BTreeMap<Vec<String>, FileEntry>,
    /// The directories that they are in.
    folders: BTreeSet<Vec<String>>,
}

impl MachineFiles {
    /// Reads a text; what it cannot be is left out.
    pub(super) fn of(text: &str) -> MachineFiles {
        let mut machine = MachineFiles::default();
        let mut folders = Vec::new();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let entry = line.trim();
            if entry.is_empty() || entry.starts_with('#') {
                continue;
            }
            if !line.starts_with(' ') {
                folders = vec![String::new()];
            }
            if let Some(folder) = entry.strip_suffix('/') {
                folders = all(folder);
            } else if let Some(name) = entry.strip_suffix(':') {
                let mut content = String::new();
                while let Some(next) = lines.peek().and_then(|next| next.trim().strip_prefix('|')) {
                    content += &format!("{}\n", next.strip_prefix(' ').unwrap_or(next));
                    lines.next();
                }
                match name.strip_suffix(" hex") {
                    Some(name) => machine.add_bytes(&folders, name, &bytes(&content)),
                    None => machine.add_bytes(&folders, name, content.as_bytes()),
                }
            } else if let Some((name, target)) = entry.split_once(" -> ") {
                machine.add_links(&folders, name, target);
            } else if let Some((name, content)) = entry.split_once(" =") {
                let content = format!("{}\n", content.trim());
                machine.add_bytes(&folders, name, content.as_bytes());
            }
        }
        machine.register();
        machine
    }

    fn add_bytes(&mut self, folders: &[String], name: &str, content: &[u8]) {
        for folder in folders {
            if let Some(path) = names(&[], &format!("{folder}/{name}")) {
                self.add(path, FileEntry::Bytes(content.to_vec()));
            }
        }
    }

    fn add_links(&mut self, folders: &[String], name: &str, target: &str) {
        for folder in folders {
            let Some(path) = names(&[], &format!("{folder}/{name}")) else { continue };
            let from = match target.starts_with('/') {
                true => &[][..],
                false => path.split_last().map_or(&[][..], |(_, folder)| folder),
            };
            if let Some(target) = names(from, target) {
                self.add(path, FileEntry::Link(target));
            }
        }
    }

    /// Adds a file, unless it is in or instead of another one, or is a directory already.
    fn add(&mut self, path: Vec<String>, entry: FileEntry) {
        let is_below_file = (1..=path.len()).any(|end| self.files.contains_key(&path[..end]));
        let is_new = !is_below_file && !self.folders.contains(&path) && !path.is_empty();
        if is_new && self.files.len() < FILES_MOST {
            self.folders.extend((1..path.len()).map(|end| path[..end].to_vec()));
            self.files.insert(path, entry);
        }
    }

    /// Adds the OS's links to all block devices.
    fn register(&mut self) {
        let devices: Vec<(Vec<String>, String)> = self
            .files
            .iter()
            .filter_map(|(path, entry)| match (path.split_last()?, entry) {
                ((last, folder), FileEntry::Bytes(number)) if last == "dev" => {
                    let number = String::from_utf8_lossy(number);
                    Some((folder.to_vec(), number.trim().to_string()))
                }
                _ => None,
            })
            .collect();
        for (folder, number) in devices {
            let Some(name) = folder.last().cloned() else { continue };
            let partition = [&folder[..], &["partition".to_string()]].concat();
            let mut links =
                vec![format!("sys/dev/block/{number}"), format!("sys/class/block/{name}")];
            if !self.files.contains_key(&partition) {
                links.push(format!("sys/block/{name}"));
            }
            for link in links {
                if let Some(path) = names(&[], &link) {
                    self.add(path, FileEntry::Link(folder.clone()));
                }
            }
        }
    }

    /// Writes all of them below `folder`, which is empty.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let at = |names: &[String]| folder.join(names.iter().collect::<PathBuf>());
        for names in &self.folders {
            // Shorter paths come first.
            fs::create_dir(at(names))?;
        }
        for (names, entry) in &self.files {
            match entry {
                FileEntry::Bytes(content) => fs::write(at(names), content)?,
                FileEntry::Link(target) => symlink(at(target), at(names))?,
            }
        }
        Ok(())
    }
}

/// The names on the way that a path leads from the folder `from`; `None` if it leads out of the
/// machine, or no file can have such a name.
fn names(from: &[String], path: &str) -> Option<Vec<String>> {
    let mut names = from.to_vec();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name if name.len() > NAME_BYTES_MOST || name.contains('\0') => return None,
            name => names.push(name.to_string()),
        }
    }
    // A path of the OS has at most 4096 bytes, with those of the folder.
    let bytes: usize = names.iter().map(|name| name.len() + 1).sum();
    (bytes < 2_000).then_some(names)
}

/// The bytes that hexadecimal numbers name: `7f 04`. What is none is left out.
fn bytes(text: &str) -> Vec<u8> {
    let numbers = text.split_ascii_whitespace();
    numbers.filter_map(|number| u8::from_str_radix(number, 16).ok()).collect()
}

/// Expands a range: `cpu{0..1,4..4}` becomes `cpu0`, `cpu1` and `cpu4`. One that is too large, or
/// none, stays as it is.
fn all(text: &str) -> Vec<String> {
    let expanded = || {
        let (before, rest) = text.split_once('{')?;
        let (ranges, after) = rest.split_once('}')?;
        let mut numbers = Vec::new();
        for range in ranges.split(',') {
            let (first, last) = range.split_once("..")?;
            let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
            if last.saturating_sub(first) > 200 {
                return None;
            }
            numbers.extend(first..=last);
        }
        Some(numbers.into_iter().map(|number| format!("{before}{number}{after}")).collect())
    };
    expanded().unwrap_or_else(|| vec![text.to_string()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                found.push(entry.path());
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                }
            }
        }
        found
    }

    #[test]
    fn nothing_is_written_elsewhere_and_no_link_leaves_the_folder() {
        let text = "/../up/\n  a = 1\n/sys/x/\n  ../../../../up = 1\n  out -> /tmp\n  \
                    far -> ../../../../../etc\n  self -> .\n  out/file = 1\n  out/../in = 2\n\
                    /sys/devices/sda/\n  dev = ../../../8:0\n  size = 3\n/sys/x/out/y/\n  z = 1\n";
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("machine");
        fs::create_dir(&folder).unwrap();
        MachineFiles::of(text).write(&folder).unwrap();
        assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1);
        let found = entries(&folder);
        for path in &found {
            let Ok(target) = fs::read_link(path) else { continue };
            assert!(
                target.starts_with(&folder),
                "{} leads to {}",
                path.display(),
                target.display()
            );
            assert!(!target.components().any(|part| part.as_os_str() == ".."), "{target:?}");
        }
        let has = |name: &str| found.contains(&folder.join(name));
        assert!(has("sys/x/out") && has("sys/x/in") && has("sys/x/self") && has("sys/block/sda"));
        assert!(!has("sys/x/far") && !has("tmp") && !has("sys/x/out/file"));
    }

    #[test]
    fn too_large_a_range_is_no_range() {
        assert_eq!(all("cpu{0..1,4..4}/x"), ["cpu0/x", "cpu1/x", "cpu4/x"]);
        assert_eq!(all("cpu{0..4294967295}"), ["cpu{0..4294967295}"]);
        assert_eq!(all("cpu{0.."), ["cpu{0.."]);
    }
}
