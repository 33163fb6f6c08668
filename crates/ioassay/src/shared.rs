//! Files of a run on several hosts that are not one host's own: those that all share, and those
//! that another host wrote.
//!
//! One agent creates a file, in its folder of the run. The others open it by name, through their
//! own mount of the directory, and refuse what is not that file. They never create or truncate one.

use crate::directory::{DATA, Directory, FOLDER, OwnName, open_folder};
use crate::fixture::{TestFile, write_range};
use crate::progress::Progress;
use crate::stop::Stop;
use anyhow::{Context, Result, bail};
use model::case::{Allocation, Op, Work};
use model::content::{Content, STAMP_PAGE};
use model::part::{Part, Whose};
use model::plan::Plan;
use model::rank::Rank;
use model::units;
use rustix::fs::{CWD, FallocateFlags, FileType, Mode, OFlags, Stat};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The use of a shared file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SharedUse {
    /// It is read.
    Read,
    /// It is overwritten.
    Overwrite,
    /// It is emptied before each trial that writes it.
    Fill,
}

impl SharedUse {
    /// The use of the shared file of this work, if it has one.
    fn of(work: &Work) -> Option<(SharedUse, u64)> {
        let found = match work {
            Work::Read(work) => (work.io, SharedUse::Read),
            Work::Write(work) if work.op == Op::Write => match work.allocation {
                Allocation::Overwrite => (work.io, SharedUse::Overwrite),
                Allocation::None | Allocation::Fallocate | Allocation::Append => {
                    (work.io, SharedUse::Fill)
                }
            },
            Work::Write(_) | Work::Memory(_) | Work::Metadata(_) | Work::Command(_) => {
                return None;
            }
        };
        let (io, used) = found;
        (io.files == Whose::Shared).then_some((used, io.size))
    }

    /// The name of its file of `size` bytes.
    fn name(self, size: u64) -> String {
        let word = match self {
            SharedUse::Read => "read",
            SharedUse::Overwrite => "overwrite",
            SharedUse::Fill => "fill",
        };
        format!("shared-{word}-{}", units::bytes(size))
    }
}

/// The files of a run that are not this host's own.
#[derive(Debug, Default)]
pub struct SharedFiles {
    /// Those of all hosts.
    all: BTreeMap<(SharedUse, u64), TestFile>,
    /// Those that the next host wrote, for this one to read, by size.
    next: BTreeMap<u64, TestFile>,
}

/// Where the files of other hosts are.
#[derive(Debug, Clone, Copy)]
pub struct Meeting<'a> {
    /// The number of the host whose files this one reads, and its folder.
    pub next: (u32, Option<&'a str>),
    /// The folder of the host that created the shared files; `None` if it is lost.
    pub shared: Option<&'a str>,
    /// This host's part of their content.
    pub segment: Part,
}

impl SharedFiles {
    /// Creates the files that the hosts of `plan` share, if this host is the one that does. Each
    /// has its size, and its first page.
    ///
    /// # Errors
    /// If one cannot be created.
    pub fn create(plan: &Plan, directory: &Directory) -> Result<SharedFiles> {
        let mut files = SharedFiles::default();
        let Some(rank) = plan.rank.filter(|rank| rank.number == 0 && rank.shares) else {
            return Ok(files);
        };
        for (used, size) in needed(plan) {
            let (file, name) = directory.create(&used.name(size))?;
            let content = content(plan, &rank, size);
            begin(&file, content)
                .with_context(|| format!("failed to write '{}'", name.path().display()))?;
            files.all.insert((used, size), created(file, name, content));
        }
        Ok(files)
    }

    /// Opens the files of other hosts that the cases of `plan` use, of which `read` are the sizes
    /// of those that each host has for reading. Writes this host's part of the shared ones.
    ///
    /// # Errors
    /// If one is not the file that the other host created, or cannot be written.
    pub fn meet(
        &mut self,
        (plan, rank): (&Plan, &Rank),
        directory: &Directory,
        read: &[u64],
        meeting: Meeting,
        watch: (&Progress, &Stop),
    ) -> Result<()> {
        let (number, folder) = meeting.next;
        for &size in read.iter().filter(|_| number != rank.number) {
            let folder = folder.context("the next host has no folder")?;
            let content =
                Content { seed: Rank::seed_of(rank.seed, number), size, kind: plan.content };
            let name = name_to_read(size);
            let file = open(directory, (folder, &name), content, OFlags::RDONLY)?;
            self.next.insert(size, file);
        }
        let Some(folder) = meeting.shared else { return Ok(()) };
        for (used, size) in needed(plan) {
            let content = content(plan, rank, size);
            let file = match self.all.entry((used, size)) {
                Entry::Occupied(created) => created.into_mut(),
                Entry::Vacant(free) => {
                    let name = used.name(size);
                    free.insert(open(directory, (folder, &name), content, OFlags::RDWR)?)
                }
            };
            if used != SharedUse::Fill {
                write_range(file.file(), content, segment(size, meeting.segment), watch)
                    .with_context(|| {
                        format!("failed to write to '{}'", file.fixture().path.display())
                    })?;
            }
        }
        Ok(())
    }

    /// The shared file of this work, if it has one.
    ///
    /// # Errors
    /// If it should have one, and the host that created it is lost.
    pub fn of(&self, work: &Work) -> Result<Option<&TestFile>> {
        let Some(found) = SharedUse::of(work) else { return Ok(None) };
        let file = self.all.get(&found);
        file.map(Some).context("the host that created the shared file was lost")
    }

    /// The same for a trial that writes it, in the state that `work` requests. The host that
    /// created it is the one that empties it.
    ///
    /// # Errors
    /// The failed step and the OS's error.
    pub fn to_write(&self, work: &Work) -> Result<Option<&TestFile>> {
        let Some(file) = self.of(work)? else { return Ok(None) };
        if let (Work::Write(work), Some((SharedUse::Fill, size))) = (work, SharedUse::of(work))
            && file.is_created_here()
        {
            let path = file.fixture().path.display();
            let is_given = work.allocation == Allocation::Fallocate;
            empty(file.file(), is_given.then_some(size))
                .with_context(|| format!("failed to empty '{path}'"))?;
        }
        Ok(Some(file))
    }

    /// The file of `size` bytes that the next host wrote, if this one reads it.
    pub fn of_next(&self, size: u64) -> Option<&TestFile> {
        self.next.get(&size)
    }

    /// All files.
    pub fn iter(&self) -> impl Iterator<Item = &TestFile> {
        self.next.values().chain(self.all.values())
    }
}

/// The name of the file of `size` bytes that a host has for reading.
fn name_to_read(size: u64) -> String {
    format!("read-{}", units::bytes(size))
}

/// The sizes of the shared files of `plan`, for each use.
pub fn needed(plan: &Plan) -> BTreeSet<(SharedUse, u64)> {
    plan.cases.iter().filter_map(|planned| SharedUse::of(&planned.case.work)).collect()
}

fn content(plan: &Plan, rank: &Rank, size: u64) -> Content {
    Content { seed: rank.shared_seed(), size, kind: plan.content }
}

/// Makes a new file as large as its content, with the first page of it.
fn begin(file: &File, content: Content) -> io::Result<()> {
    file.set_len(content.size)?;
    file.write_all_at(&first_page(content), 0)?;
    file.sync_all()
}

fn first_page(content: Content) -> Vec<u8> {
    let mut page = vec![0; content.size.min(STAMP_PAGE) as usize];
    content.fill(0, &mut page);
    page
}

fn created(file: File, name: OwnName, content: Content) -> TestFile {
    let path = name.path().to_path_buf();
    TestFile::of_hosts(path, file, Some(name), content)
}

/// Empties a file, and allocates `size` bytes if given.
fn empty(file: &File, size: Option<u64>) -> io::Result<()> {
    file.set_len(0)?;
    if let Some(size) = size {
        rustix::fs::fallocate(file, FallocateFlags::empty(), 0, size)?;
    }
    file.sync_all()
}

/// The bytes of a part: whole pages, except at the end.
fn segment(size: u64, part: Part) -> Range<u64> {
    let pages = size.div_ceil(STAMP_PAGE);
    let border = |number: u32| {
        let page = u128::from(pages) * u128::from(number) / u128::from(part.of);
        (page as u64).saturating_mul(STAMP_PAGE).min(size)
    };
    border(part.number)..border(part.number + 1)
}

/// Opens the file `name` that another host created with `content` in its `folder` of `directory`.
fn open(
    directory: &Directory,
    (folder, name): (&str, &str),
    content: Content,
    access: OFlags,
) -> Result<TestFile> {
    let name = format!("{name}{DATA}");
    let path = directory.folder_of_other(folder)?.join(&name);
    let failed = || {
        format!(
            "failed to open '{}', which another host created: do all hosts have the same \
             directory there?",
            path.display()
        )
    };
    let held = open_folder(CWD, directory.held().join(folder).as_os_str()).with_context(failed)?;
    // Opening something other than a regular file must not block.
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&held, &name, flags, Mode::empty())
        .map(File::from)
        .map_err(io::Error::from)
        .with_context(failed)?;
    check_same(&file, content).with_context(|| {
        format!("'{}' is not the file that another host created", path.display())
    })?;
    Ok(TestFile::of_hosts(path, file, None, content))
}

/// Checks that a file is the one that has `content`.
fn check_same(file: &File, content: Content) -> Result<()> {
    let stat: Stat = rustix::fs::fstat(file).map_err(io::Error::from)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        bail!("it is not a regular file");
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        bail!("it belongs to another user");
    }
    if stat.st_nlink != 1 {
        bail!("it has {} names", stat.st_nlink);
    }
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if size != content.size {
        let sizes = [size, content.size].map(units::bytes);
        bail!("it has {} in place of {}", sizes[0], sizes[1]);
    }
    let expected = first_page(content);
    let mut page = vec![0; expected.len()];
    file.read_exact_at(&mut page, 0).context("failed to read its first page")?;
    if page != expected {
        bail!("its first page has other content");
    }
    Ok(())
}

/// The folder of the run in which the file at `path` is.
pub fn folder_of(path: &Path) -> Option<String> {
    let folder = path.parent()?.file_name()?.to_str()?;
    folder.starts_with(FOLDER).then(|| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::content::ContentKind;
    use std::os::unix::fs::symlink;

    fn content(seed: u64) -> Content {
        Content { seed, size: 10_000, kind: ContentKind::Random }
    }

    /// What another host says about a file that `plant` put beside one that was created.
    fn check(plant: impl FnOnce(&Path)) -> Result<TestFile> {
        let folder = tempfile::tempdir_in(".").expect("the crate's folder is writable");
        let directory = Directory::open(folder.path()).expect("it is there");
        let (file, name) = directory.create("shared-read-1").expect("there is room");
        begin(&file, content(1)).expect("there is room");
        plant(name.path());
        let own = folder_of(name.path()).expect("it is in a folder");
        let other = Directory::open(folder.path()).expect("it is there");
        open(&other, (&own, "shared-read-1"), content(1), OFlags::RDWR)
    }

    #[test]
    fn the_file_of_another_host_is_opened() {
        let file = check(|_| ()).expect("it is the one");
        assert!(!file.is_created_here());
        assert_eq!(file.file().metadata().expect("it is open").len(), 10_000);
    }

    #[test]
    fn what_is_not_that_file_is_refused() {
        let replace = |path: &Path, bytes: &[u8]| {
            std::fs::remove_file(path).expect("it is there");
            std::fs::write(path, bytes).expect("there is room");
        };
        let error =
            |plant: &dyn Fn(&Path)| format!("{:#}", check(plant).expect_err("it is another"));
        let other = error(&|path| replace(path, &[7; 10_000]));
        assert!(other.contains("its first page has other content"), "{other}");
        let short = error(&|path| replace(path, &[7; 100]));
        assert!(short.contains("it has 100B in place of 10000B"), "{short}");
        let linked = error(&|path| {
            let moved = path.with_extension("moved");
            std::fs::rename(path, &moved).expect("it is there");
            symlink(moved, path).expect("links can be made");
        });
        assert!(linked.contains("failed to open"), "{linked}");
        let twice = error(&|path| {
            std::fs::hard_link(path, path.with_extension("again")).expect("it is there");
        });
        assert!(twice.contains("it has 2 names"), "{twice}");
        let gone = error(&|path| std::fs::remove_file(path).expect("it is there"));
        assert!(gone.contains("do all hosts have the same directory there?"), "{gone}");
        let directory = Directory::open(Path::new(".")).expect("it is there");
        for folder in ["..", "/tmp", "ioassay-run-1/..", "src"] {
            let error = open(&directory, (folder, "x"), content(1), OFlags::RDONLY);
            let error = error.expect_err(folder).to_string();
            assert!(error.contains("is no name of a run's folder"), "{error}");
        }
    }

    #[test]
    fn segments_are_whole_pages_and_all_of_the_file() {
        for size in [1, 4096, 4097, 1 << 20, 1_000_003] {
            for of in 1..6 {
                let all = (0..of).map(|number| segment(size, Part { number, of }));
                let end = all.fold(0, |end, part| {
                    assert!(
                        part.start == end && part.start.is_multiple_of(STAMP_PAGE)
                            || part.is_empty()
                    );
                    part.end
                });
                assert_eq!(end, size);
            }
        }
    }
}
