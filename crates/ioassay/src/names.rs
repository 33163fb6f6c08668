//! The directories for names of files, and the names in them.
//!
//! This program's own worker creates the names that a trial uses, by the call `create`. This
//! process checks afterwards which names there are, and removes them.

use crate::directory::{Directory, open_folder};
use crate::shared::{Meeting, folder_of};
use anyhow::{Context, Result, bail};
use model::case::{Call, Case, Directories, MetadataWork};
use model::metadata::{EntryName, Letter, NAME_BYTES};
use model::plan::Plan;
use model::rank::Rank;
use model::sample::{Sample, Span};
use model::trial::ReadBack;
use rustix::fs::{AtFlags, CWD};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Where the directories for names are: in this host's folder and, in a run of several hosts, in
/// those of two others.
#[derive(Debug)]
pub struct NameFolders {
    own: PathBuf,
    /// That of the host whose names this one uses if they are to be cold, with its number.
    next: Option<(u32, PathBuf)>,
    /// That of the first host, which has the directory that all share.
    first: Option<PathBuf>,
}

impl NameFolders {
    /// Creates the directories that cases of `plan` use; none if there is no such case.
    ///
    /// # Errors
    /// If one cannot be created.
    pub fn create(plan: &Plan, directory: &Directory) -> Result<Option<NameFolders>> {
        let works = plan.cases.iter().filter_map(|planned| planned.case.metadata());
        let of_work = |work: &MetadataWork| {
            (0..work.threads).map(|thread| work.directory(thread)).collect::<Vec<_>>()
        };
        let needed: BTreeSet<String> = works.flat_map(of_work).collect();
        if needed.is_empty() {
            return Ok(None);
        }
        let own = directory.create_directories(&needed)?;
        Ok(Some(NameFolders { own, next: None, first: None }))
    }

    /// Notes where the directories of other hosts are.
    ///
    /// # Errors
    /// If another host's folder has no such name.
    pub fn meet(&mut self, directory: &Directory, meeting: &Meeting) -> Result<()> {
        let (number, folder) = meeting.next;
        let path = |folder: &str| directory.folder_of_other(folder);
        self.next = folder.map(path).transpose()?.map(|path| (number, path));
        self.first = meeting.shared.map(path).transpose()?;
        Ok(())
    }

    /// The name of this host's folder.
    pub fn name(&self) -> Option<String> {
        folder_of(&self.own.join("names"))
    }

    /// The folder with the directories that host `maker` makes names in.
    fn of(&self, work: &MetadataWork, rank: Option<&Rank>, maker: u32) -> Result<PathBuf> {
        let own = rank.map_or(0, |rank| rank.number);
        let is_shared = work.place == Directories::Shared && rank.is_some_and(|rank| rank.shares);
        let lost = "the host whose names this one uses was lost";
        match &self.next {
            _ if is_shared || maker != own && maker == 0 => {
                if own == 0 {
                    Ok(self.own.clone())
                } else {
                    self.first.clone().context(lost)
                }
            }
            _ if maker == own => Ok(self.own.clone()),
            Some((next, folder)) if *next == maker => Ok(folder.clone()),
            _ => bail!(lost),
        }
    }

    /// What a trial of `case` makes, with `seed` or that of another host, and what it uses.
    ///
    /// # Errors
    /// If the host whose names it uses was lost, or the directory cannot be opened.
    pub fn of_trial(
        &self,
        plan: &Plan,
        case: &Case,
        seed_of: impl Fn(u32) -> u64,
    ) -> Result<(NamesInUse, NamesInUse)> {
        let work = case.metadata().context("the case uses no names")?;
        let work = MetadataWork { part: plan.part(case), ..*work };
        let rank = plan.rank.as_ref();
        let own = rank.map_or(0, |rank| rank.number);
        let maker = rank.map_or(own, |rank| rank.maker(case));
        let others: Vec<u64> = (0..work.part.of)
            .filter(|host| {
                *host != maker && work.place == Directories::Shared && !work.part.is_whole()
            })
            .map(&seed_of)
            .collect();
        let of = |maker| NamesInUse::new(work, seed_of(maker), self.of(&work, rank, maker)?);
        let (made, used) = (of(own)?, of(maker)?);
        Ok((made, NamesInUse { others, ..used }))
    }
}

/// The names that a trial uses.
#[derive(Debug)]
pub struct NamesInUse {
    work: MetadataWork,
    seed: u64,
    folder: PathBuf,
    /// The first thread's directory.
    directory: File,
    /// The seeds of names that other hosts have in the same directory.
    others: Vec<u64>,
}

impl NamesInUse {
    fn new(work: MetadataWork, seed: u64, folder: PathBuf) -> Result<NamesInUse> {
        let directory = File::from(open(&folder.join(work.directory(0)))?);
        Ok(NamesInUse { work, seed, folder, directory, others: Vec::new() })
    }

    /// The work.
    pub fn work(&self) -> &MetadataWork {
        &self.work
    }

    /// The seed that determines them.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The folder with their directories.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The directory of the first thread.
    pub fn directory(&self) -> &File {
        &self.directory
    }

    /// Number of names.
    pub fn count(&self) -> u64 {
        self.work.entries * u64::from(self.work.threads)
    }

    /// Looks up all of them, so that the OS has them in its caches.
    ///
    /// # Errors
    /// If one is not there.
    pub fn warm(&self) -> Result<()> {
        for thread in 0..self.work.threads {
            self.inodes(thread)?;
        }
        Ok(())
    }

    /// The inode of each name of `thread`.
    fn inodes(&self, thread: u32) -> Result<Vec<u64>> {
        let directory = self.open(thread)?;
        let inode = |index| -> Result<u64> {
            let name = MetadataWork::name(thread, index, Letter::A, self.seed);
            let stat = rustix::fs::statat(&directory, &name[..], AtFlags::SYMLINK_NOFOLLOW);
            let stat = stat.map_err(io::Error::from);
            let path = || {
                let name = String::from_utf8_lossy(&name).into_owned();
                self.folder.join(self.work.directory(thread)).join(name)
            };
            Ok(stat.with_context(|| format!("failed to look up '{}'", path().display()))?.st_ino)
        };
        (0..self.work.entries).map(inode).collect()
    }

    fn open(&self, thread: u32) -> Result<OwnedFd> {
        open(&self.folder.join(self.work.directory(thread)))
    }

    /// The digest that a trial with this `sample` must have; `None` if a name is not there.
    pub fn expected_digest(&self, sample: &Sample) -> Option<u64> {
        let mut sum = 0u64;
        for span in &sample.spans {
            let digest = match self.work.call {
                Call::Stat => {
                    let inodes = self.inodes(span.thread).ok()?;
                    let inode = |index| inodes.get(index as usize).copied();
                    self.work.expected_digest(self.seed, span, inode)?
                }
                Call::Readdir => self.listed(span),
                _ => 0,
            };
            sum = sum.wrapping_add(digest);
        }
        Some(sum)
    }

    /// The digest of all listings of a thread.
    fn listed(&self, span: &Span) -> u64 {
        let threads = match self.work.place {
            Directories::Own => span.thread..span.thread + 1,
            Directories::Shared => 0..self.work.threads,
        };
        let seeds = [self.seed].into_iter().chain(self.others.iter().copied());
        let mut digest = 0u64;
        for seed in seeds {
            for thread in threads.clone() {
                for index in 0..self.work.entries {
                    let name = MetadataWork::name(thread, index, Letter::A, seed);
                    digest = digest.wrapping_add(MetadataWork::name_digest(&name));
                }
            }
        }
        digest.wrapping_mul(span.ops)
    }

    /// Reads the directories, and compares their names with those that a trial with this `sample`
    /// must leave.
    ///
    /// # Errors
    /// If a directory cannot be read.
    pub fn read_back(&self, sample: &Sample) -> Result<ReadBack> {
        let mut expected = 0u64;
        for span in &sample.spans {
            for (index, letter) in self.work.left(span.thread, self.seed, span.ops) {
                let name = MetadataWork::name(span.thread, index, letter, self.seed);
                expected = expected.wrapping_add(MetadataWork::name_digest(&name));
            }
        }
        let (mut digest, mut bytes) = (0u64, 0u64);
        for name in self.there()?.into_values().flatten() {
            digest = digest.wrapping_add(MetadataWork::name_digest(&name));
            bytes += NAME_BYTES as u64;
        }
        Ok(ReadBack { bytes, digest, expected, is_past_cache: false })
    }

    /// The names that are there, by directory. In one that hosts share, only those with this seed.
    fn there(&self) -> Result<BTreeMap<String, Vec<EntryName>>> {
        let is_shared = self.work.place == Directories::Shared;
        let own: HashSet<EntryName> = if is_shared { self.all().collect() } else { HashSet::new() };
        let directories: BTreeSet<String> =
            (0..self.work.threads).map(|thread| self.work.directory(thread)).collect();
        let mut there = BTreeMap::new();
        for directory in directories {
            let path = self.folder.join(&directory);
            let mut names =
                list(&path).with_context(|| format!("failed to list '{}'", path.display()))?;
            names.retain(|name| !is_shared || own.contains(name));
            there.insert(directory, names);
        }
        Ok(there)
    }

    /// All names, as they are created and as they are renamed.
    fn all(&self) -> impl Iterator<Item = EntryName> {
        let threads = 0..self.work.threads;
        threads.flat_map(move |thread| {
            (0..self.work.entries).flat_map(move |index| {
                [Letter::A, Letter::B]
                    .map(|letter| MetadataWork::name(thread, index, letter, self.seed))
            })
        })
    }

    /// Removes all names that are there.
    pub fn clear(&self) {
        if let Err(error) = self.try_clear() {
            log::warn!("cannot remove the names in '{}': {error:#}", self.folder.display());
        }
    }

    fn try_clear(&self) -> Result<()> {
        for (directory, names) in self.there()? {
            let directory = open(&self.folder.join(directory))?;
            for name in names {
                match rustix::fs::unlinkat(&directory, &name[..], AtFlags::empty()) {
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(error) => return Err(io::Error::from(error).into()),
                }
            }
        }
        Ok(())
    }
}

/// The names of a trial that goes on. They are removed when this is dropped.
#[derive(Debug)]
pub struct Lent(NamesInUse);

impl Lent {
    /// Names that were made, here or by another host.
    pub fn new(names: NamesInUse) -> Lent {
        Lent(names)
    }
}

impl Deref for Lent {
    type Target = NamesInUse;

    fn deref(&self) -> &NamesInUse {
        &self.0
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.0.clear();
    }
}

fn open(path: &Path) -> Result<OwnedFd> {
    open_folder(CWD, path.as_os_str())
        .with_context(|| format!("failed to open '{}'", path.display()))
}

/// The names of a metadata case in a directory. Others are not a run's.
fn list(path: &Path) -> Result<Vec<EntryName>> {
    let held = open(path)?;
    let mut names = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/self/fd/{}", held.as_raw_fd()))? {
        let name = entry?.file_name();
        let name = name.as_encoded_bytes();
        if MetadataWork::is_name(name) {
            names.extend(EntryName::try_from(name));
        }
    }
    Ok(names)
}
