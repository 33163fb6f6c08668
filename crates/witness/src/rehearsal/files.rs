//! The files that a command used, each once, under whatever names and descriptors.

use super::identity::{self, FileSystems, Found, Identity, Kind};
use super::role::{Places, role};
use model::file_path::FilePath;
use model::rehearsal::{FILES_MAX, FileUse};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The most names that are kept of a file.
const NAMES_MAX: usize = 8;

/// What a descriptor or path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A listed file.
    File(usize),
    /// A file for which the list has no room.
    Unlisted,
    /// No file with stored bytes.
    Other,
    /// It could not be looked at.
    Unreadable,
}

/// What a call's arguments say of a file before the call.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Before {
    /// Whether the call created the file.
    pub(crate) is_new: bool,
    /// Its size in bytes, if the call may change it.
    pub(crate) bytes: Option<u64>,
}

#[derive(Debug)]
struct Entry {
    facts: FileUse,
    identity: Identity,
    /// Where it can be found; the first is its latest.
    names: Vec<PathBuf>,
}

/// All files.
#[derive(Debug, Default)]
pub(crate) struct Files {
    entries: Vec<Entry>,
    places: HashMap<Identity, usize>,
    unlisted: HashSet<Identity>,
    file_systems: FileSystems,
}

impl Files {
    /// The facts of a listed file.
    pub(crate) fn facts(&mut self, place: usize) -> &mut FileUse {
        &mut self.entries[place].facts
    }

    /// The file behind a link of `/proc`, such as a descriptor, which a task uses.
    pub(crate) fn see(&mut self, link: &Path, task: i32, before: Before) -> Seen {
        let found = match identity::look(link) {
            Ok(Kind::File(found)) => found,
            Ok(Kind::Other) => return Seen::Other,
            Err(answer) => {
                log::debug!("failed to look at '{}': {answer}", link.display());
                return Seen::Unreadable;
            }
        };
        // The file that once had this identity is gone.
        if before.is_new {
            self.places.remove(&found.identity);
        }
        if let Some(place) = self.places.get(&found.identity) {
            return Seen::File(*place);
        }
        let file_system = self.file_systems.of(&found, task).map(str::to_string);
        if !found.is_block_device && file_system.as_deref().is_some_and(identity::is_window) {
            return Seen::Other;
        }
        let Some(path) = name_of(link, &found) else { return Seen::Other };
        if self.entries.len() >= FILES_MAX {
            self.unlisted.insert(found.identity);
            return Seen::Unlisted;
        }
        self.add(found, path, file_system, before)
    }

    fn add(
        &mut self,
        found: Found,
        path: PathBuf,
        file_system: Option<String>,
        before: Before,
    ) -> Seen {
        let facts = FileUse {
            path: FilePath::from(&*path),
            device: found.identity.device,
            inode: found.identity.inode,
            file_system: file_system.filter(|_| !found.is_block_device),
            is_block_device: found.is_block_device,
            bytes_before: before.bytes.or((!before.is_new).then_some(found.bytes)),
            created: before.is_new,
            ..FileUse::default()
        };
        let names = if found.has_name { vec![path] } else { Vec::new() };
        self.entries.push(Entry { facts, identity: found.identity, names });
        let place = self.entries.len() - 1;
        self.places.insert(found.identity, place);
        Seen::File(place)
    }

    /// A file, or a directory with files in it, has a new name instead of its old one.
    pub(crate) fn renamed(&mut self, from: &Path, to: &Path) {
        for entry in &mut self.entries {
            for name in &mut entry.names {
                if let Ok(rest) = name.strip_prefix(from) {
                    *name = if rest.as_os_str().is_empty() { to.into() } else { to.join(rest) };
                }
            }
        }
    }

    /// A file has one more name.
    pub(crate) fn linked(&mut self, to: &Path) {
        let place = identity::file_at(to).and_then(|found| self.places.get(&found.identity));
        if let Some(place) = place {
            let names = &mut self.entries[*place].names;
            if names.len() < NAMES_MAX {
                names.push(to.to_path_buf());
            }
        }
    }

    /// The facts of all files at the end, and how many more there were.
    pub(crate) fn finish(self, places: &Places) -> (Vec<FileUse>, u64) {
        let unlisted = self.unlisted.len() as u64;
        let finished = self.entries.into_iter().map(|entry| entry.finish(places)).collect();
        (finished, unlisted)
    }
}

impl Entry {
    fn finish(self, places: &Places) -> FileUse {
        let Entry { mut facts, identity, names } = self;
        let first = facts.path.to_path();
        let is_it = |found: &Found| found.identity == identity;
        let at = |name: &PathBuf| identity::file_at(name).filter(is_it);
        let now = names.iter().find_map(|name| Some((name, at(name)?)));
        facts.removed = now.is_none();
        facts.bytes_after = now.map(|(_, found)| found.bytes);
        let is_elsewhere = |name: &&PathBuf| **name != first;
        facts.renamed =
            now.map(|(name, _)| name).filter(is_elsewhere).map(|name| FilePath::from(&**name));
        let last = facts.renamed.as_ref().map(FilePath::to_path);
        facts.named = places.is_named(&first) || last.is_some_and(|last| places.is_named(&last));
        facts.role = role(&facts, &first, places);
        facts
    }
}

/// The absolute path of an open file; `None` for a file that only memory holds.
fn name_of(link: &Path, found: &Found) -> Option<PathBuf> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let path = std::fs::read_link(link).ok()?;
    if found.has_name {
        return Some(path);
    }
    let bytes = path.as_os_str().as_bytes();
    let name = bytes.strip_suffix(b" (deleted)").unwrap_or(bytes);
    let is_memory = name.starts_with(b"/memfd:") || name.starts_with(b"/SYSV");
    (!is_memory).then(|| PathBuf::from(std::ffi::OsString::from_vec(name.to_vec())))
}
