//! All files of a run: those that are read, those that are written over, and where others are made.

use crate::device::Disk;
use crate::directory::{Directory, Removed};
use crate::fixture::{Purpose, Stay, TestFile, check_space};
use crate::progress::Progress;
use crate::scratch::Scratch;
use crate::stop::Stop;
use anyhow::{Result, bail};
use model::case::{Allocation, Case, Op, Work, WriteEngine, WriteWork};
use model::content::Content;
use model::host::Storage;
use model::plan::{Place, Plan};
use report::Room;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

/// What is measured.
#[derive(Debug)]
pub enum Target {
    /// Memory: no file is used.
    Memory,
    /// Test files in this directory.
    Directory(Rc<Directory>),
    /// A user's own file, which is only read.
    File(PathBuf),
    /// A block device, all of whose content may be lost.
    Device(Disk),
}

/// The files of a run.
#[derive(Debug, Default)]
pub struct Files {
    /// Those that are read, by size.
    read: BTreeMap<u64, TestFile>,
    /// Those that are copied, by size, if they are on a storage of their own.
    sources: BTreeMap<u64, TestFile>,
    /// Those that are written over, by size.
    kept: BTreeMap<u64, TestFile>,
    /// Where files are made that a trial writes.
    directory: Option<Rc<Directory>>,
}

/// All by which the files of a run are made, and made anew.
#[derive(Debug)]
pub struct Maker<'a> {
    /// What needs them.
    pub plan: &'a Plan,
    /// What is measured.
    pub target: &'a Target,
    /// Where the file is made that copies read, if that is another directory.
    pub source: Option<&'a Source>,
    /// The machine and the storage of the directory.
    pub place: &'a Place<'a>,
    /// Whether what is read stays when the run is over.
    pub stay: Stay,
}

impl Maker<'_> {
    /// Makes all files that the plan needs from its beginning.
    ///
    /// # Errors
    /// When there is no room for them, now or later, or the OS refuses.
    pub fn make(&self, (progress, stop): (&Progress, &Stop)) -> Result<Files> {
        let Maker { plan, source, place, stay, .. } = *self;
        let directory = match self.target {
            Target::Memory => return Ok(Files::default()),
            Target::File(path) => {
                let file = TestFile::open(path)?;
                let read = [(file.fixture().size, file)].into();
                return Ok(Files { read, ..Files::default() });
            }
            Target::Device(disk) => {
                let mut kept = BTreeMap::new();
                for size in Needs::of(plan).kept {
                    let content = Content { seed: plan.seed, size, kind: plan.content };
                    kept.insert(size, TestFile::on_device(disk, content, (progress, stop))?);
                }
                return Ok(Files { kept, ..Files::default() });
            }
            Target::Directory(directory) => directory,
        };
        let mut needs = Needs::of(plan);
        if source.is_none() {
            needs.read.extend(&needs.copied);
        }
        if let Some(storage) = place.storage {
            check_space(storage, place.host, &needs.of_target())?;
        }
        let mut files = Files { directory: Some(Rc::clone(directory)), ..Files::default() };
        let content = |size| Content { seed: plan.seed, size, kind: plan.content };
        let watch = (progress, stop);
        for &size in &needs.read {
            let file = TestFile::create(directory, Purpose::Read, content(size), stay, watch)?;
            files.read.insert(size, file);
        }
        for &size in &needs.copied {
            let Some(source) = source else { break };
            check_space(&source.storage, place.host, &[size])?;
            let file =
                TestFile::create(&source.directory, Purpose::Source, content(size), stay, watch)?;
            files.sources.insert(size, file);
        }
        for &size in &needs.kept {
            let file =
                TestFile::create(directory, Purpose::Write, content(size), Stay::Removed, watch)?;
            files.kept.insert(size, file);
        }
        Ok(files)
    }

    /// Removes `old`, so that there is room, and makes all files anew. A user's own file and a
    /// device stay as they are.
    ///
    /// # Errors
    /// As for [`Maker::make`]; and when a file that has a name cannot be removed.
    pub fn make_anew(&self, old: Files, watch: (&Progress, &Stop)) -> Result<Files> {
        if !self.makes_anew() {
            return Ok(old);
        }
        if self.stay == Stay::Kept {
            let Files { read, sources, .. } = old;
            read.into_values().chain(sources.into_values()).try_for_each(TestFile::remove)?;
        } else {
            drop(old);
        }
        self.make(watch)
    }

    /// Removes what runs left that were killed where files are made.
    pub fn remove_dead(&self) -> Vec<Removed> {
        let here = match self.target {
            Target::Directory(directory) => Some(&**directory),
            Target::Memory | Target::File(_) | Target::Device(_) => None,
        };
        let all = here.into_iter().chain(self.source.map(|source| &source.directory));
        all.flat_map(Directory::remove_dead).collect()
    }

    /// Bytes that can be written now where files are made; none where none is, and where the file
    /// system has no size.
    ///
    /// # Errors
    /// What the OS answered.
    pub fn free(&self) -> Result<Option<u64>> {
        match self.target {
            Target::Directory(directory) => {
                Ok(witness::space(&directory.held())?.map(|space| space.free))
            }
            Target::Memory | Target::File(_) | Target::Device(_) => Ok(None),
        }
    }

    /// Whether files are made that can be made anew.
    pub fn makes_anew(&self) -> bool {
        matches!(self.target, Target::Directory(_))
    }
}

impl Files {
    /// The file that `case` reads: also one that it copies.
    pub fn to_read(&self, case: &Case) -> Option<&TestFile> {
        match &case.work {
            Work::Read(work) => self.read.get(&work.io.size),
            Work::Write(work) if work.op == Op::Copy => {
                self.sources.get(&work.io.size).or(self.read.get(&work.io.size))
            }
            Work::Write(_) | Work::Memory(_) => None,
        }
    }

    /// A file for a trial that writes, in the state that `work` asks for.
    ///
    /// # Errors
    /// What was tried and what the OS answered.
    pub fn to_write(&self, work: &WriteWork) -> Result<Scratch<'_>> {
        match (&self.directory, self.kept.get(&work.io.size)) {
            (_, Some(kept)) if work.allocation == Allocation::Overwrite => Ok(Scratch::Kept(kept)),
            (Some(directory), _) => Scratch::new(directory, work),
            (None, _) => bail!("only an existing file can be written here"),
        }
    }

    /// All that stay through the run.
    pub fn all(&self) -> impl Iterator<Item = &TestFile> {
        self.read.values().chain(self.sources.values()).chain(self.kept.values())
    }

    /// Those that are read.
    pub fn read(&self) -> impl Iterator<Item = &TestFile> {
        self.read.values().chain(self.sources.values())
    }
}

/// How much room the files of `plan` take at most, and where.
pub fn room(
    plan: &Plan,
    target: &Target,
    storage: Option<&Storage>,
    source: Option<&Source>,
) -> Vec<Room> {
    let Target::Directory(directory) = target else { return Vec::new() };
    let mut needs = Needs::of(plan);
    if source.is_none() {
        needs.read.append(&mut needs.copied);
    }
    let sum = |sizes: &[u64]| sizes.iter().fold(0u64, |sum, size| sum.saturating_add(*size));
    let free = storage.and_then(|storage| storage.free);
    let bytes = sum(&needs.of_target());
    let here = Room { directory: directory.path().to_path_buf(), bytes, free };
    let there = source.map(|source| Room {
        directory: source.directory.path().to_path_buf(),
        bytes: sum(&needs.copied.into_iter().collect::<Vec<_>>()),
        free: source.storage.free,
    });
    [here].into_iter().chain(there).filter(|room| room.bytes > 0).collect()
}

/// Where the source of copies is.
#[derive(Debug)]
pub struct Source {
    /// The directory.
    pub directory: Directory,
    /// The storage of it.
    pub storage: Storage,
}

/// Sizes of the files that a plan needs.
#[derive(Debug, Default)]
struct Needs {
    read: BTreeSet<u64>,
    /// Those that are copied.
    copied: BTreeSet<u64>,
    kept: BTreeSet<u64>,
    /// The largest file that a trial makes for itself.
    made: u64,
}

impl Needs {
    fn of(plan: &Plan) -> Needs {
        let mut needs = Needs::default();
        for planned in &plan.cases {
            match &planned.case.work {
                Work::Memory(_) => {}
                Work::Write(work) if work.engine == WriteEngine::Null => {}
                Work::Read(work) => {
                    needs.read.insert(work.io.size);
                }
                Work::Write(work) => {
                    if work.op == Op::Copy {
                        needs.copied.insert(work.io.size);
                    }
                    if work.allocation == Allocation::Overwrite {
                        needs.kept.insert(work.io.size);
                    } else {
                        needs.made = needs.made.max(work.io.size);
                    }
                }
            }
        }
        needs
    }

    /// Sizes of all files that are in the directory at once.
    fn of_target(&self) -> Vec<u64> {
        self.read.iter().chain(&self.kept).copied().chain([self.made]).collect()
    }
}
