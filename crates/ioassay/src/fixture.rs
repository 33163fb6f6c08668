//! A file that lasts for the whole run: created, brought into a case's cache state, and removed.
//!
//! A test file that is only read has no name, if the file system supports that: however this
//! process ends, nothing remains. Others, and those that another host reads, have names in the
//! run's folder ([`crate::directory`]), or in the directory itself if they are to be kept. Workers
//! open them through `/proc`.

mod caching;
mod own;

use self::caching::CachedBy;
pub use self::own::{OwnFile, is_block_device};
use crate::device::ExclusiveDisk;
use crate::directory::{Directory, OwnName};
use crate::progress::Progress;
use crate::stop::Stop;
use anyhow::{Context, Result, bail};
use model::case::Touch;
use model::content::{Content, DigestTable, PartFunction};
use model::host::{FileLayout, Fixture};
use model::units;
use std::cell::OnceCell;
use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Size of a write in bytes.
const CHUNK: usize = 4 << 20;

/// A file for cases to use.
#[derive(Debug)]
pub struct TestFile {
    fixture: Fixture,
    file: File,
    /// Its name, if this program gave it one.
    name: Option<OwnName>,
    /// The path through which workers open it.
    path: PathBuf,
    /// Its content; unknown for a user's own file.
    content: Option<Content>,
    digests: OnceCell<DigestTable>,
    counts: OnceCell<DigestTable>,
    cached: CachedBy,
    /// When a user's own file had last been written as it was named.
    modified: Option<SystemTime>,
    /// The blocks that it had when it was opened.
    blocks: u64,
}

/// Whether a test file stays after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// It is removed.
    Removed,
    /// It is kept, and its path is printed.
    Kept,
}

/// The use of a test file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilePurpose<'a> {
    /// It is read.
    Read,
    /// Another host reads it.
    Shown,
    /// It is the source of copies.
    Source,
    /// It is overwritten.
    Write,
    /// The actor with this name reads or overwrites it.
    Beside(&'a str),
}

impl FilePurpose<'_> {
    /// The part of the file's name for this purpose.
    fn word(self) -> String {
        match self {
            FilePurpose::Read | FilePurpose::Shown => "read".to_string(),
            FilePurpose::Source => "source".to_string(),
            FilePurpose::Write => "overwrite".to_string(),
            FilePurpose::Beside(actor) => format!("beside-{actor}"),
        }
    }
}

impl TestFile {
    /// Writes a file of `content` into `directory` for `purpose`.
    ///
    /// # Errors
    /// If it cannot be written, or the run is stopped meanwhile. Nothing of it remains then.
    pub fn create(
        directory: &Directory,
        purpose: FilePurpose,
        content: Content,
        stay: Stay,
        watch: (&Progress, &Stop),
    ) -> Result<TestFile> {
        let size = content.size;
        let (word, pid) = (purpose.word(), std::process::id());
        let own = format!("{word}-{}", units::bytes(size));
        let visible = format!("ioassay-{own}-{pid}");
        let nameless = match (stay, purpose) {
            (Stay::Removed, FilePurpose::Read | FilePurpose::Source) => directory.create_nameless(),
            _ => None,
        };
        let (file, mut name) = match (nameless, stay) {
            (Some(file), _) => (file, None),
            (None, Stay::Removed) => and_its_name(directory.create(&own)?),
            (None, Stay::Kept) => and_its_name(directory.create_visible(&visible)?),
        };
        let there = name.as_ref().map(|name| name.path().to_path_buf());
        let there = there.unwrap_or_else(|| directory.path().join(visible));
        write_range(&file, content, 0..size, watch)
            .with_context(|| format!("failed to write the test file '{}'", there.display()))?;
        if let (Stay::Kept, Some(name)) = (stay, &mut name) {
            name.keep();
        }
        let layout = layout_of(&file, 0..size, &there)?;
        let fixture = Fixture { layout, ..fixture_of(there, content) };
        Ok(TestFile { name, ..TestFile::new(fixture, file, Some(content)) })
    }

    /// Writes `content` to the start of a device.
    ///
    /// # Errors
    /// If it cannot be written, or the run is stopped meanwhile.
    pub fn on_device(
        disk: &ExclusiveDisk,
        content: Content,
        watch: (&Progress, &Stop),
    ) -> Result<TestFile> {
        let failed = || format!("failed to write to '{}'", disk.path.display());
        let file = disk.file.try_clone().with_context(failed)?;
        write_range(&file, content, 0..content.size, watch).with_context(failed)?;
        Ok(TestFile::new(fixture_of(disk.path.clone(), content), file, Some(content)))
    }

    /// A file of several hosts that has `content`, or will have it.
    pub fn of_hosts(
        path: PathBuf,
        file: File,
        name: Option<OwnName>,
        content: Content,
    ) -> TestFile {
        // The others may still write to it, so how it is stored is not known.
        TestFile { name, ..TestFile::new(fixture_of(path, content), file, Some(content)) }
    }

    /// Whether this process created it, with a name.
    pub fn is_created_here(&self) -> bool {
        self.name.is_some()
    }

    /// Writes its content again, after trials that overwrote it.
    ///
    /// # Errors
    /// If it cannot be written, or the run is stopped meanwhile.
    pub fn restore(&self, watch: (&Progress, &Stop)) -> Result<()> {
        let content = self.content.context("a file of unknown content cannot be restored")?;
        self.write_anew(content, watch)
    }

    /// Overwrites it with `content`, for a trial in which another content is written over that.
    ///
    /// # Errors
    /// As for [`TestFile::restore`].
    pub fn write_anew(&self, content: Content, watch: (&Progress, &Stop)) -> Result<()> {
        let failed = || format!("failed to write '{}' anew", self.fixture.path.display());
        write_range(&self.file, content, 0..content.size, watch).with_context(failed)
    }

    fn new(fixture: Fixture, file: File, content: Option<Content>) -> TestFile {
        let (digests, counts) = (OnceCell::new(), OnceCell::new());
        let path = through_proc(&file);
        let cached = CachedBy::default();
        let (name, modified, blocks) = (None, None, 0);
        TestFile { fixture, file, name, path, content, digests, counts, cached, modified, blocks }
    }

    /// Removes it, even if it is to be kept.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(self) -> Result<()> {
        self.name.map_or(Ok(()), OwnName::remove)
    }

    /// `words` with its name in place of the path through which workers open it.
    pub fn named(&self, words: &str) -> String {
        with_name(words, &self.path, &self.fixture.path)
    }

    /// Its entry in the record.
    pub fn fixture(&self) -> &Fixture {
        &self.fixture
    }

    /// The bytes of it that are used.
    pub fn range(&self) -> Range<u64> {
        self.fixture.range()
    }

    /// The path through which workers open it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its content; `None` for a user's own file. An overwritten file had it initially.
    pub fn content(&self) -> Option<Content> {
        self.content
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The expected results of `touch` on its parts; `None` for a user's own file, or if `touch`
    /// computes nothing. The first call takes about a second for 4 GiB.
    pub fn answers(&self, touch: Touch) -> Option<&DigestTable> {
        let content = self.content?;
        let (cell, function): (_, PartFunction) = match touch {
            Touch::None | Touch::Page => return None,
            Touch::Sum => (&self.digests, Content::digest),
            Touch::Count => (&self.counts, Content::count),
        };
        Some(cell.get_or_init(|| DigestTable::new(content, function)))
    }
}

/// The entry in the record of a file with this content.
fn fixture_of(path: PathBuf, Content { seed, size, .. }: Content) -> Fixture {
    let (part, zeros) = (None, None);
    Fixture { path, size, part, seed: Some(seed), identity: None, zeros, layout: None }
}

fn and_its_name((file, name): (File, OwnName)) -> (File, Option<OwnName>) {
    (file, Some(name))
}

/// A path through which another process opens exactly this file, wherever its name leads.
pub fn through_proc(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()))
}

/// `words` with `name` in place of `path`.
pub fn with_name(words: &str, path: &Path, name: &Path) -> String {
    let (path, name) = (path.to_string_lossy(), name.to_string_lossy());
    let mut parts = words.split(&*path);
    let mut named = parts.next().unwrap_or_default().to_string();
    for part in parts {
        // That of another descriptor may begin alike.
        let is_longer = part.starts_with(|c: char| c.is_ascii_digit());
        named.push_str(if is_longer { &path } else { &name });
        named.push_str(part);
    }
    named
}

/// Creates a new file that only its owner can read, without following links.
pub fn create_new(path: &Path) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("failed to create '{}'", path.display()))
}

/// Writes a part of the content and syncs it.
///
/// # Errors
/// If the OS refuses a write, or the run is stopped.
pub fn write_range(
    file: &File,
    content: Content,
    Range { start: mut offset, end }: Range<u64>,
    (progress, stop): (&Progress, &Stop),
) -> Result<()> {
    let mut chunk = vec![0; CHUNK];
    while offset < end {
        if stop.is_asked() {
            bail!("the run was stopped");
        }
        let length = (end - offset).min(CHUNK as u64) as usize;
        content.fill(offset, &mut chunk[..length]);
        file.write_all_at(&chunk[..length], offset)?;
        offset += length as u64;
        progress.writing(offset, content.size);
    }
    file.sync_all()?;
    Ok(())
}

fn layout_of(file: &File, range: Range<u64>, path: &Path) -> Result<Option<FileLayout>> {
    witness::layout(file, range)
        .with_context(|| format!("failed to read the layout of '{}' on its device", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::content::ContentKind;

    /// The name in `/proc` of a file with this purpose, and the number of entries in its directory.
    fn check(purpose: FilePurpose) -> (String, usize) {
        let folder = tempfile::tempdir_in(".").expect("the crate's folder is writable");
        let directory = Directory::open(folder.path()).expect("it is there");
        let content = Content { seed: 1, size: 8192, kind: ContentKind::Random };
        let watch = (&Progress::hidden(), &Stop::default());
        let file = TestFile::create(&directory, purpose, content, Stay::Removed, watch)
            .expect("there is room for little");
        let mut bytes = vec![0; 8192];
        content.fill(0, &mut bytes);
        assert_eq!(std::fs::read(file.path()).expect("workers open it so"), bytes);
        let name = std::fs::read_link(file.path()).expect("it is open");
        let entries = std::fs::read_dir(folder.path()).expect("it is there").count();
        (name.to_string_lossy().into_owned(), entries)
    }

    #[test]
    fn a_failure_names_the_file_and_no_descriptor() {
        let (path, name) = (Path::new("/proc/7/fd/3"), Path::new("/data/file"));
        let words = "opening '/proc/7/fd/3' failed, '/proc/7/fd/31' did not";
        let expected = "opening '/data/file' failed, '/proc/7/fd/31' did not";
        assert_eq!(with_name(words, path, name), expected);
    }

    #[test]
    fn what_is_written_has_a_name_and_what_is_only_read_has_none() {
        let (name, entries) = check(FilePurpose::Write);
        assert!(name.ends_with("/overwrite-8KiB.data") && entries == 1, "{name}");
        let folder = tempfile::tempdir_in(".").expect("the crate's folder is writable");
        let directory = Directory::open(folder.path()).expect("it is there");
        let has_nameless = directory.create_nameless().is_some();
        for purpose in [FilePurpose::Read, FilePurpose::Source] {
            let (name, entries) = check(purpose);
            assert_eq!(name.contains(".data"), !has_nameless, "{name}");
            assert_eq!(entries, usize::from(!has_nameless));
        }
    }

    #[test]
    fn a_file_that_is_kept_stays_and_one_that_cannot_be_written_does_not() {
        let folder = tempfile::tempdir_in(".").expect("the crate's folder is writable");
        let directory = Directory::open(folder.path()).expect("it is there");
        let content = Content { seed: 1, size: 8192, kind: ContentKind::Random };
        let entries = || std::fs::read_dir(folder.path()).expect("it is there").count();
        let create = |content, stop: &Stop| {
            let watch = (&Progress::hidden(), stop);
            TestFile::create(&directory, FilePurpose::Read, content, Stay::Kept, watch)
        };
        let kept = create(content, &Stop::default()).expect("there is room for little");
        let path = kept.fixture().path.clone();
        assert_eq!((path.parent(), path.exists()), (Some(folder.path()), true));
        kept.remove().expect("it is there");
        assert_eq!(entries(), 0);
        // No file system has that much space.
        let endless = Content { size: u64::MAX, ..content };
        drop(create(content, &Stop::default()).expect("there is room for little"));
        assert_eq!(entries(), 1);
        let stopped = Stop::default();
        stopped.ask();
        create(endless, &stopped).expect_err("it is stopped");
        assert_eq!(entries(), 1);
    }
}
