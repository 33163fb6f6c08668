//! The files that a command used, each once, under whatever names and descriptors.

use super::identity::{self, FileIdentity, FileKind, FileSystems, FoundFile, OtherSource};
use super::role::{CommandPlaces, role};
use model::file_path::FilePath;
use model::rehearsal::{FILES_MAX, FileUse};
use std::collections::{HashMap, HashSet, hash_map};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The most names that are kept of a file.
const NAMES_MAX: usize = 8;

/// What a descriptor or path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeenFile {
    /// A listed file.
    File(usize),
    /// A file for which the list has no room.
    Unlisted,
    /// No file with stored bytes: `None` if it has none to read.
    Other(Option<OtherSource>),
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
struct ListedFile {
    facts: FileUse,
    identity: FileIdentity,
    /// Where it can be found; the first is its latest.
    names: Vec<PathBuf>,
}

/// All files.
#[derive(Debug, Default)]
pub(crate) struct UsedFiles {
    entries: Vec<ListedFile>,
    places: HashMap<FileIdentity, usize>,
    /// The latest file that the command created under a path.
    created: HashMap<PathBuf, usize>,
    unlisted: HashSet<FileIdentity>,
    file_systems: FileSystems,
}

impl UsedFiles {
    /// The facts of a listed file.
    pub(crate) fn facts(&mut self, place: usize) -> &mut FileUse {
        &mut self.entries[place].facts
    }

    /// The file behind a link of `/proc`, such as a descriptor, which a task uses.
    pub(crate) fn see(&mut self, link: &Path, task: i32, before: Before) -> SeenFile {
        let found = match identity::look(link) {
            Ok(FileKind::File(found)) => found,
            Ok(FileKind::Other(source)) => return SeenFile::Other(source),
            Err(answer) => {
                log::debug!("failed to look at '{}': {answer}", link.display());
                return SeenFile::Unreadable;
            }
        };
        // The file that once had this identity is gone.
        if before.is_new {
            self.places.remove(&found.identity);
        }
        if let Some(place) = self.places.get(&found.identity) {
            return SeenFile::File(*place);
        }
        let file_system = self.file_systems.of(&found, task).map(str::to_string);
        if !found.is_block_device && file_system.as_deref().is_some_and(identity::is_window) {
            return SeenFile::Other(Some(OtherSource::KernelFile));
        }
        let Some(path) = name_of(link, &found) else {
            return SeenFile::Other(Some(OtherSource::MemoryFile));
        };
        if before.is_new
            && let Some(place) = self.replaced(&path)
        {
            self.entries[place].become_new(&found, path);
            self.places.insert(found.identity, place);
            return SeenFile::File(place);
        }
        if self.entries.len() >= FILES_MAX {
            self.unlisted.insert(found.identity);
            return SeenFile::Unlisted;
        }
        self.add(found, path, file_system, before)
    }

    /// The file that the command created under this path before, if it is gone: programs create
    /// and remove a journal or a temporary file again and again.
    fn replaced(&self, path: &Path) -> Option<usize> {
        let place = *self.created.get(path)?;
        let entry = &self.entries[place];
        let mut others = entry.names.iter().filter(|name| **name != path);
        let is_it = |found: FoundFile| found.identity == entry.identity;
        let is_elsewhere = others.any(|name| identity::file_at(name).is_some_and(is_it));
        (!is_elsewhere && !entry.names.is_empty()).then_some(place)
    }

    fn add(
        &mut self,
        found: FoundFile,
        path: PathBuf,
        file_system: Option<String>,
        before: Before,
    ) -> SeenFile {
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
        let place = self.entries.len();
        if before.is_new {
            self.created.insert(path.clone(), place);
        }
        let names = if found.has_name { vec![path] } else { Vec::new() };
        self.entries.push(ListedFile { facts, identity: found.identity, names });
        self.places.insert(found.identity, place);
        SeenFile::File(place)
    }

    /// A file, or a directory with files in it, has a new name instead of its old one.
    pub(crate) fn renamed(&mut self, from: &Path, to: &Path) {
        match identity::file_at(to) {
            Some(found) => {
                let place = self.places.get(&found.identity);
                place.into_iter().for_each(|place| self.entries[*place].rename(from, to));
            }
            None => self.entries.iter_mut().for_each(|entry| entry.rename(from, to)),
        }
    }

    /// Two files, or directories with files in them, have the name of each other.
    pub(crate) fn swapped(&mut self, one: &Path, other: &Path) {
        // A name that no file has: no name contains a zero.
        let between = Path::new(OsStr::from_bytes(b"\0"));
        for (from, to) in [(one, between), (other, one), (between, other)] {
            self.entries.iter_mut().for_each(|entry| entry.rename(from, to));
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
    pub(crate) fn finish(self, places: &CommandPlaces) -> (Vec<FileUse>, u64) {
        let unlisted = self.unlisted.len() as u64;
        let finished = self.entries.into_iter().map(|entry| entry.finish(places));
        (without_repetition(finished), unlisted)
    }
}

/// Joins the files that the command created under one path and that are gone. Those that were
/// renamed before the next one was created are known to be gone only now.
fn without_repetition(files: impl Iterator<Item = FileUse>) -> Vec<FileUse> {
    let mut kept: Vec<FileUse> = Vec::new();
    let mut gone: HashMap<PathBuf, usize> = HashMap::new();
    for file in files {
        if !(file.created && file.removed) {
            kept.push(file);
            continue;
        }
        match gone.entry(file.path.to_path()) {
            hash_map::Entry::Occupied(place) => join(&mut kept[*place.get()], &file),
            hash_map::Entry::Vacant(place) => {
                place.insert(kept.len());
                kept.push(file);
            }
        }
    }
    kept
}

fn join(file: &mut FileUse, other: &FileUse) {
    file.replacements += other.replacements + 1;
    file.opens.add(other.opens);
    file.mappings.add(other.mappings);
    file.copies.add(other.copies);
    file.hints.add(other.hints);
    file.syncs.add(other.syncs);
    file.allocations += other.allocations;
    file.named |= other.named;
    file.executed |= other.executed;
}

impl ListedFile {
    fn rename(&mut self, from: &Path, to: &Path) {
        for name in &mut self.names {
            if let Ok(rest) = name.strip_prefix(from) {
                *name = if rest.as_os_str().is_empty() { to.into() } else { to.join(rest) };
            }
        }
    }

    /// Another file takes its place, under the same path.
    fn become_new(&mut self, found: &FoundFile, path: PathBuf) {
        self.identity = found.identity;
        self.facts.device = found.identity.device;
        self.facts.inode = found.identity.inode;
        self.facts.replacements += 1;
        self.names = vec![path];
    }

    fn finish(self, places: &CommandPlaces) -> FileUse {
        let ListedFile { mut facts, identity, names } = self;
        let first = facts.path.to_path();
        let is_it = |found: &FoundFile| found.identity == identity;
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
fn name_of(link: &Path, found: &FoundFile) -> Option<PathBuf> {
    let path = std::fs::read_link(link).ok()?;
    if found.has_name {
        return Some(path);
    }
    let bytes = path.as_os_str().as_bytes();
    let name = bytes.strip_suffix(b" (deleted)").unwrap_or(bytes);
    let is_memory = name.starts_with(b"/memfd:") || name.starts_with(b"/SYSV");
    (!is_memory).then(|| PathBuf::from(OsString::from_vec(name.to_vec())))
}
