//! All files of a run: those it reads, those it overwrites, and where it creates others.

mod needs;
mod target;

pub use target::{Target, storage_in};

use self::needs::{FileNeeds, needed_actors, read_parts_of};
use crate::directory::{Directory, Remains};
use crate::fixture::{FilePurpose, Stay, TestFile};
use crate::names::NameFolders;
use crate::progress::Progress;
use crate::scratch::Scratch;
use crate::shared::{self, Meeting, SharedFiles};
use crate::space::{are_subvolumes, check_inodes, check_memory, check_space, reserve, sum};
use crate::stop::Stop;
use anyhow::{Context, Result, bail};
use model::case::{Allocation, Case, Op, Work, WriteWork};
use model::content::Content;
use model::environment::Environment;
use model::host::{Medium, Storage};
use model::part::Whose;
use model::plan::Plan;
use report::SpaceNeed;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

/// The files of a run.
#[derive(Debug, Default)]
pub struct Files {
    /// Files that are read, by what is read of them.
    read: BTreeMap<(u64, u64), TestFile>,
    /// Files that are copied, by size, if they are on a separate storage.
    sources: BTreeMap<u64, TestFile>,
    /// Files that cases or their actors overwrite, by size.
    kept: BTreeMap<u64, TestFile>,
    /// Files of actors, by name.
    beside: BTreeMap<String, TestFile>,
    /// Those that several hosts use.
    shared: SharedFiles,
    /// The directories for names.
    names: Option<NameFolders>,
    /// Where trials create the files they write.
    directory: Option<Rc<Directory>>,
}

/// Everything needed to create the files of a run, and to recreate them.
#[derive(Debug)]
pub struct Maker<'a> {
    /// The plan that needs them.
    pub plan: &'a Plan,
    /// The target.
    pub target: &'a Target,
    /// Where the source of copies is created, if in a different directory.
    pub source: Option<&'a CopySource>,
    /// The machine and the storage of the directory.
    pub environment: &'a Environment<'a>,
    /// Whether the files for reading stay after the run.
    pub stay: Stay,
}

impl Maker<'_> {
    /// Creates all files that the plan needs at the start.
    ///
    /// # Errors
    /// If they do not fit, now or later, or the OS fails.
    pub fn make(&self, (progress, stop): (&Progress, &Stop)) -> Result<Files> {
        let Maker { plan, source, environment, stay, .. } = *self;
        let directory = match self.target {
            Target::Memory => return Ok(Files::default()),
            Target::File(own) => {
                let mut files = Files::default();
                for range in read_parts_of(plan) {
                    files.read.insert((range.start, range.end), TestFile::open(own, range)?);
                }
                return Ok(files);
            }
            Target::Device(disk) => {
                let mut kept = BTreeMap::new();
                for size in self.needs().kept {
                    let content = Content { seed: plan.seed, size, kind: plan.content };
                    kept.insert(size, TestFile::on_device(disk, content, (progress, stop))?);
                }
                return Ok(Files { kept, ..Files::default() });
            }
            Target::Directory(directory) => directory,
        };
        let needs = self.needs();
        check_fit(plan, environment)?;
        check_inodes(free_inodes(directory)?, needs.names)?;
        let mut files = Files { directory: Some(Rc::clone(directory)), ..Files::default() };
        files.shared = SharedFiles::create(plan, directory)?;
        files.names = NameFolders::create(plan, directory)?;
        let content = |size| Content { seed: plan.seed, size, kind: plan.content };
        let watch = (progress, stop);
        let is_shown = plan.rank.is_some_and(|rank| rank.is_shifted());
        let purpose = if is_shown { FilePurpose::Shown } else { FilePurpose::Read };
        for &size in &needs.read {
            let file = TestFile::create(directory, purpose, content(size), stay, watch)?;
            if plan.memory_limit.is_some() {
                // What this process cached by writing does not count as the workers' memory.
                let probe = environment.storage.and_then(|storage| storage.residency_probe);
                file.evict_if_possible(probe);
            }
            files.read.insert((0, size), file);
        }
        for &size in &needs.copied {
            let Some(source) = source else { break };
            check_space(&source.storage, environment.host, &[size])?;
            let file = TestFile::create(
                &source.directory,
                FilePurpose::Source,
                content(size),
                stay,
                watch,
            )?;
            files.sources.insert(size, file);
        }
        for &size in &needs.kept {
            let file = TestFile::create(
                directory,
                FilePurpose::Write,
                content(size),
                Stay::Removed,
                watch,
            )?;
            files.kept.insert(size, file);
        }
        for (actor, size) in needed_actors(plan) {
            let purpose = FilePurpose::Beside(&actor.name);
            let file = TestFile::create(directory, purpose, content(size), Stay::Removed, watch)?;
            files.beside.insert(actor.name.clone(), file);
        }
        Ok(files)
    }

    /// Opens the files of other hosts, and writes this host's part of the shared ones.
    ///
    /// # Errors
    /// If one is not the file that the other host created, or cannot be written.
    pub fn meet(
        &self,
        files: &mut Files,
        meeting: Meeting,
        watch: (&Progress, &Stop),
    ) -> Result<()> {
        let rank = self.plan.rank.as_ref().context("this run has one host only")?;
        let Target::Directory(directory) = self.target else {
            bail!("hosts share files in a directory only");
        };
        if let Some(names) = &mut files.names {
            names.meet(directory, &meeting)?;
        }
        let read: Vec<u64> = files.read.keys().map(|(_, end)| *end).collect();
        files.shared.meet((self.plan, rank), directory, &read, meeting, watch)
    }

    /// Deletes `old` to make room, and recreates all files. A user's own file and a device stay
    /// unchanged.
    ///
    /// # Errors
    /// As for [`Maker::make`], or if a named file cannot be deleted.
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

    /// Deletes the remains of killed runs: from the directories for files, and the control groups
    /// of runs anywhere.
    pub fn remove_dead(&self) -> Vec<Remains> {
        witness::remove_left_groups();
        let here = match self.target {
            Target::Directory(directory) => Some(&**directory),
            Target::Memory | Target::File(_) | Target::Device(_) => None,
        };
        let all = here.into_iter().chain(self.source.map(|source| &source.directory));
        all.flat_map(Directory::remove_dead).collect()
    }

    fn needs(&self) -> FileNeeds {
        FileNeeds::of(self.plan, self.source.is_some())
    }

    /// Checks that the files of both runs fit at the same time, if they share a file system or are
    /// in memory.
    ///
    /// # Errors
    /// If they do not.
    pub fn check_beside(&self, other: &Maker) -> Result<()> {
        let (Target::Directory(here), Target::Directory(there)) = (self.target, other.target)
        else {
            return Ok(());
        };
        let storages = self.environment.storage.zip(other.environment.storage);
        let Some((storage, of_other)) = storages else { return Ok(()) };
        let (host, is_in_memory) = (self.environment.host, of_other.medium == Medium::Ram);
        // Trials take turns, so only one of the files that they make exists at a time.
        let (mut own, mut others) = (self.needs(), other.needs());
        own.made = own.made.max(std::mem::take(&mut others.made));
        let sizes = [own.of_target(), others.of_target()].concat();
        let is_one = here.file_system()? == there.file_system()?;
        if is_one || are_subvolumes(storage, of_other) {
            return check_space(storage, host, &sizes);
        }
        if is_in_memory { check_memory(storage, host, &sizes) } else { Ok(()) }
    }

    /// The free bytes where files are created. `None` if no files are created, or the file system
    /// has no size.
    ///
    /// # Errors
    /// The OS's error.
    pub fn free(&self) -> Result<Option<u64>> {
        match self.target {
            Target::Directory(directory) => {
                Ok(witness::space(&directory.held())?.map(|space| space.free))
            }
            Target::Memory | Target::File(_) | Target::Device(_) => Ok(None),
        }
    }

    /// Whether the files can be recreated.
    pub fn makes_anew(&self) -> bool {
        matches!(self.target, Target::Directory(_))
    }
}

impl Files {
    /// The file that `case` reads or copies: of several hosts, one that another host wrote.
    pub fn to_read(&self, case: &Case) -> Option<&TestFile> {
        match &case.work {
            Work::Read(work) if work.io.files == Whose::Shared => {
                self.shared.of(&case.work).ok().flatten()
            }
            Work::Read(work) => {
                let part = work.io.range();
                self.shared.of_next(work.io.size).or(self.read.get(&(part.start, part.end)))
            }
            Work::Write(work) if work.op == Op::Copy => {
                self.sources.get(&work.io.size).or(self.read.get(&(0, work.io.size)))
            }
            Work::Write(_) | Work::Memory(_) | Work::Metadata(_) | Work::Command(_) => None,
        }
    }

    /// The file that `case` uses if it is overwritten while others read it.
    pub fn overwritten(&self, case: &Case) -> Option<&TestFile> {
        self.kept.get(&case.file_size()?)
    }

    /// The same, if the case is one that reads it.
    pub fn shared(&self, case: &Case) -> Option<&TestFile> {
        self.overwritten(case).filter(|_| case.write().is_none())
    }

    /// A file for a write trial, in the state that `work` requests.
    ///
    /// # Errors
    /// The failed step and the OS's error.
    pub fn to_write(&self, work: &WriteWork) -> Result<Scratch<'_>> {
        if let Some(shared) = self.shared.to_write(&Work::Write(*work))? {
            return Ok(Scratch::Kept(shared));
        }
        match (&self.directory, self.kept.get(&work.io.size)) {
            (_, Some(kept)) if work.allocation == Allocation::Overwrite => Ok(Scratch::Kept(kept)),
            (Some(directory), _) => Scratch::new(directory, work),
            (None, _) => bail!("only an existing file can be written here"),
        }
    }

    /// The folder in which `case` creates its rollback journal, if it has one.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn folder_of_journal(&self, case: &Case) -> Result<Option<PathBuf>> {
        let is_journaled = case.write().is_some_and(|work| work.atomic.journal().is_some());
        let directory = self.directory.as_ref().filter(|_| is_journaled);
        directory.map(|directory| directory.create_directories([])).transpose()
    }

    /// The file of the actor with this name.
    pub fn of_actor(&self, name: &str) -> Option<&TestFile> {
        self.beside.get(name)
    }

    /// All files of cases that stay during the run: those of another host in place of this one's
    /// that it reads.
    pub fn all(&self) -> impl Iterator<Item = &TestFile> {
        let read = self.read.iter().filter(|((_, end), _)| self.shared.of_next(*end).is_none());
        let own = read.map(|(_, file)| file).chain(self.sources.values());
        own.chain(self.kept.values()).chain(self.shared.iter())
    }

    /// The name of this host's folder, if it has one that others are to see.
    pub fn folder(&self) -> Option<String> {
        let named = self.shared.iter().chain(self.read.values());
        let mut created = named.filter(|file| file.is_created_here());
        let of_files = created.find_map(|file| shared::folder_of(&file.fixture().path));
        of_files.or_else(|| self.names.as_ref()?.name())
    }

    /// The directories for names, if any case uses names.
    pub fn names(&self) -> Option<&NameFolders> {
        self.names.as_ref()
    }

    /// The files for reading.
    pub fn read(&self) -> impl Iterator<Item = &TestFile> {
        self.read.values().chain(self.sources.values())
    }
}

/// The bytes that a run of `plan` writes before trials: files that each invocation makes anew, or
/// once what a device has. Copies have a file of their own if their source is elsewhere.
pub fn written_before_trials(plan: &Plan, target: &Target, has_source: bool) -> u64 {
    match target {
        Target::Memory | Target::File(_) => 0,
        Target::Device(_) => sum(&FileNeeds::of(plan, has_source).kept),
        Target::Directory(_) => written_in_directory(plan, has_source),
    }
}

/// The same of a run in a directory.
pub fn written_in_directory(plan: &Plan, has_source: bool) -> u64 {
    let FileNeeds { read, copied, kept, beside, shared, made: _, names: _ } =
        FileNeeds::of(plan, has_source);
    let all = kept.iter().chain(&read).chain(&copied).chain(&beside).chain(&shared);
    sum(all).saturating_mul(plan.invocations.into())
}

/// How many files can be created in `directory`; `None` if nothing limits that.
fn free_inodes(directory: &Directory) -> Result<Option<u64>> {
    Ok(witness::space(&directory.held())?.and_then(|space| space.free_inodes))
}

/// The maximum space for the files of `plan`, and where.
///
/// # Errors
/// The OS's error.
pub fn room(
    plan: &Plan,
    target: &Target,
    storage: Option<&Storage>,
    source: Option<&CopySource>,
) -> Result<Vec<SpaceNeed>> {
    let Target::Directory(directory) = target else { return Ok(Vec::new()) };
    let needs = FileNeeds::of(plan, source.is_some());
    let free = storage.and_then(|storage| storage.free);
    let bytes = sum(&needs.of_target());
    let here = SpaceNeed {
        directory: directory.path().to_path_buf(),
        bytes,
        free,
        names: needs.names,
        free_inodes: free_inodes(directory)?,
    };
    let there = source.map(|source| SpaceNeed {
        directory: source.directory.path().to_path_buf(),
        bytes: sum(&needs.copied),
        free: source.storage.free,
        names: 0,
        free_inodes: None,
    });
    let rooms = [here].into_iter().chain(there);
    Ok(rooms.filter(|room| room.bytes > 0 || room.names > 0).collect())
}

/// Checks that the files of `plan` fit into its directory.
///
/// # Errors
/// If they do not fit.
pub fn check_fit(plan: &Plan, environment: &Environment) -> Result<()> {
    let Some(storage) = environment.storage else { return Ok(()) };
    check_space(storage, environment.host, &FileNeeds::of(plan, false).of_target())
}

/// The free bytes that `storage` must have for the files of `plan`.
pub fn needed_free(plan: &Plan, storage: &Storage) -> u64 {
    let reserve = storage.capacity.map_or(0, reserve);
    sum(&FileNeeds::of(plan, false).of_target()).saturating_add(reserve)
}

/// The location of the source of copies.
#[derive(Debug)]
pub struct CopySource {
    /// The directory.
    pub directory: Directory,
    /// Its storage.
    pub storage: Storage,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::OwnFile;
    use model::host::Host;
    use model::plan::Role;
    use model::zoo;

    /// Whether both sides of a gate, each of which writes anew a file of 1 MiB and overwrites
    /// another, are allowed this many free bytes.
    fn fit(free: u64, host: &Host) -> bool {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let directory = Rc::new(Directory::open(folder.path()).expect("it is there"));
        let storage = Storage { free: Some(free), ..zoo::storage() };
        let environment = Environment { host, storage: Some(&storage), source: None, peers: &[] };
        let mut plan = Plan::new("zoo", 2, 0.025, 1);
        let write = |allocation| {
            let io = model::case::Io { size: 1 << 20, ..zoo::plain().io };
            Case::own(Work::Write(WriteWork { io, allocation, ..zoo::plain_write() }))
        };
        let cases = [Allocation::None, Allocation::Overwrite].map(write).to_vec();
        plan.add(cases, Role::Asked, &environment);
        assert_eq!(plan.cases.len(), 2);
        let target = Target::Directory(directory);
        let stay = Stay::Removed;
        let maker = || Maker {
            plan: &plan,
            target: &target,
            source: None,
            environment: &environment,
            stay,
        };
        maker().check_beside(&maker()).is_ok()
    }

    #[test]
    fn own_files_are_not_written_and_devices_once() {
        let (host, storage) = (zoo::host(), zoo::storage());
        let environment =
            Environment { host: &host, storage: Some(&storage), source: None, peers: &[] };
        let mut plan = Plan::new("zoo", 2, 0.025, 1);
        let io = model::case::Io { size: 1 << 20, ..zoo::plain().io };
        let read = Case::own(Work::Read(model::case::ReadWork { io, ..zoo::plain() }));
        let copy = Case::own(Work::Write(WriteWork {
            io,
            op: Op::Copy,
            engine: model::case::WriteEngine::Sendfile,
            ..zoo::plain_write()
        }));
        plan.add(vec![read, copy], Role::Asked, &environment);
        assert_eq!(plan.cases.len(), 2, "{:?}", plan.skips);
        plan.invocations = 2;
        let folder = tempfile::tempdir().expect("a folder can be made");
        let directory = Rc::new(Directory::open(folder.path()).expect("it is there"));
        let directory = Target::Directory(directory);
        let written =
            |target: &Target, has_source| written_before_trials(&plan, target, has_source);
        assert_eq!(written(&directory, false), 2 << 20, "one file serves both");
        assert_eq!(written(&directory, true), 4 << 20);
        let own = OwnFile {
            path: "/own".into(),
            size: 1 << 20,
            identity: String::new(),
            modified: None,
            is_device: false,
            length: None,
        };
        assert_eq!(written(&Target::File(own), false), 0);
    }

    #[test]
    fn of_the_files_that_trials_of_both_sides_make_one_exists_at_a_time() {
        let host = zoo::host();
        // Each side overwrites a file of its own, and 1 GiB or less stays free for others.
        let reserve = (zoo::storage().capacity.expect("it has one") / 20).min(1 << 30);
        assert!(fit(reserve + (3 << 20), &host));
        assert!(!fit(reserve + (3 << 20) - 1, &host));
    }
}
