//! A machine's files, described as text, for tests: of this crate, and of those above.
//!
//! Each `crates/witness/tests/trees/NAME.txt` describes one machine. Its lines are:
//!
//! ```text
//! # a comment
//! /sys/devices/…/sda/          what follows, indented, is in this directory
//!   size = 42                  a file of one line; `name =` is an empty one
//!   device -> ../../0:0:0:0    a link; an absolute target is of this machine, not of the host
//!   md/uevent:                 a file of the lines that follow
//!     | MAJOR=9
//!   tables/DMI hex:            a file of the bytes that follow
//!     | 7f 04 00 00
//! /sys/…/cpu{0..3,8..11}/      as many directories with the same files
//! ```
//!
//! A file `dev` makes its directory a block device. As in the real sysfs, `/sys/dev/block` and
//! `/sys/class/block` link to it, and `/sys/block` does if it is not a partition.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Writes the files of the machine that `text` describes below `directory`.
///
/// # Panics
/// If the text is not as above, or a file cannot be written.
pub(crate) fn unpack(text: &str, directory: &Path) {
    let tree = MachineTree { directory };
    let mut directories = vec![String::new()];
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let entry = line.trim();
        if entry.is_empty() || entry.starts_with('#') {
            continue;
        }
        if !line.starts_with(' ') {
            directories = vec![String::new()];
        }
        if let Some(directory) = entry.strip_suffix('/') {
            directories = all(directory);
        } else if let Some(name) = entry.strip_suffix(':') {
            let mut content = String::new();
            while let Some(next) = lines.peek().and_then(|next| next.trim().strip_prefix('|')) {
                content += &format!("{}\n", next.strip_prefix(' ').unwrap_or(next));
                lines.next();
            }
            let (name, content) = match name.strip_suffix(" hex") {
                Some(name) => (name, bytes(&content)),
                None => (name, content.into_bytes()),
            };
            directories.iter().for_each(|directory| tree.write(directory, name, &content));
        } else if let Some((name, target)) = entry.split_once(" -> ") {
            directories.iter().for_each(|directory| tree.link(directory, name, target));
        } else {
            let (name, content) = entry.split_once(" =").expect(entry);
            let content = format!("{}\n", content.trim());
            let content = content.as_bytes();
            directories.iter().for_each(|directory| tree.write(directory, name, content));
        }
    }
    tree.register();
}

/// A machine's files.
struct MachineTree<'d> {
    directory: &'d Path,
}

impl MachineTree<'_> {
    fn at(&self, path: &str) -> PathBuf {
        self.directory.join(path.trim_start_matches('/'))
    }

    fn new_path(&self, directory: &str, name: &str) -> PathBuf {
        let path = self.at(&format!("{directory}/{name}"));
        fs::create_dir_all(path.parent().expect("it is in a directory")).expect("it can be made");
        path
    }

    fn write(&self, directory: &str, name: &str, content: &[u8]) {
        fs::write(self.new_path(directory, name), content).expect("it can be written");
    }

    fn link(&self, directory: &str, name: &str, target: &str) {
        let target = match target.starts_with('/') {
            true => self.at(target),
            false => PathBuf::from(target),
        };
        symlink(target, self.new_path(directory, name)).expect("it can be made");
    }

    /// Creates the OS's links to all block devices.
    fn register(&self) {
        let mut directories = vec![self.at("/sys/devices")];
        while let Some(directory) = directories.pop() {
            let is_directory =
                |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
            let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
            directories.extend(entries.map(|entry| entry.path()).filter(is_directory));
            let Ok(number) = fs::read_to_string(directory.join("dev")) else { continue };
            let name = directory.file_name().expect("it has a name").to_string_lossy();
            let link = |of: &str, name: &str| {
                symlink(&directory, self.new_path(of, name)).expect("it can be made");
            };
            link("/sys/dev/block", number.trim());
            link("/sys/class/block", &name);
            if !directory.join("partition").exists() {
                link("/sys/block", &name);
            }
        }
    }
}

/// The bytes that hexadecimal numbers name: `7f 04`.
fn bytes(text: &str) -> Vec<u8> {
    let numbers = text.split_ascii_whitespace();
    numbers.map(|number| u8::from_str_radix(number, 16).expect(text)).collect()
}

/// Expands ranges: `cpu{0..1,4..4}` becomes `cpu0`, `cpu1` and `cpu4`.
fn all(text: &str) -> Vec<String> {
    let Some((before, rest)) = text.split_once('{') else { return vec![text.to_string()] };
    let (ranges, after) = rest.split_once('}').expect(text);
    let numbers = ranges.split(',').flat_map(|range| {
        let (first, last) = range.split_once("..").expect(text);
        first.parse::<u32>().expect(text)..=last.parse().expect(text)
    });
    numbers.map(|number| format!("{before}{number}{after}")).collect()
}
