//! Records, written line by line and never over other files, and reports.

mod folders;
mod dated;
mod reports;
mod several;
mod place;
mod joint;
mod newest;
mod kept;

pub use dated::{date, dated_path, folder};
pub use folders::{Readable, folders_of, records_of};
pub use joint::{JointPlace, ReadableRecord};
pub use kept::kept;
pub use newest::newest;
pub use place::Place;
pub use reports::{check_report, keep_page, keep_report};
use several::Lines;
pub use several::{expand, header, lines_of};

use crate::input;
use crate::recipe;
use crate::stop::EvenIfStopped;
use anyhow::{Context, Result, bail};
use model::record::{Header, Reader, Record, RecordLine, VERSION};
use model::units;
use rustix::fs::{AtFlags, CWD, FlockOperation, MemfdFlags, OFlags};
use rustix::fs::{flock, linkat, memfd_create};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A record being written. It is locked, so that no other run resumes it.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    /// The bytes of what it has: lines, and the end that a crash cut off before it was reopened.
    bytes: u64,
    /// Whether a crash cut off its last line.
    is_cut: bool,
    /// Whether an append failed, which may have left a part of its line.
    has_failed: bool,
    fate: RecordFate,
}

/// What becomes of a record that is being written.
#[derive(Debug)]
pub enum RecordFate {
    /// It stays at its path.
    Kept,
    /// Its lines also go to stdout. The file is in memory, to judge the run.
    Printed,
    /// It is lost with this process, for this reason. The file is in memory, to judge the run.
    Lost(String),
    /// Only this process reads it. The file is in memory.
    Passing,
}

impl Store {
    /// Creates the record at `path` with its header, or fails and creates nothing.
    ///
    /// # Errors
    /// If something exists at `path`, or it cannot be written.
    pub fn create(path: &Path, header: Header) -> Result<Store> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("failed to create the folder '{}'", folder.display()))?;
        }
        let header = RecordLine::Header { version: VERSION, header }.encode() + "\n";
        let file = create_whole(path, &header).with_context(|| not_created(path))?;
        let is_alone = lock(&file).inspect_err(|_| drop(std::fs::remove_file(path)));
        let is_alone = is_alone.with_context(|| format!("failed to lock '{}'", path.display()))?;
        if !is_alone {
            bail!("another run has begun to resume the record '{}'", path.display());
        }
        Ok(Store::new(path.to_path_buf(), file, header.len() as u64, RecordFate::Kept))
    }

    /// The record at `path`, whose `file` has so many bytes.
    fn new(path: PathBuf, file: File, bytes: u64, fate: RecordFate) -> Store {
        Store { path, file, bytes, is_cut: false, has_failed: false, fate }
    }

    /// A record in memory, which judges the run, whatever its fate is for others.
    ///
    /// # Errors
    /// If there is no memory for it, or stdout cannot be written.
    pub fn in_memory(header: Header, fate: RecordFate) -> Result<Store> {
        let file = memfd_create("ioassay-record", MemfdFlags::CLOEXEC);
        let file = File::from(file.context("failed to create a file in memory")?);
        let mut store = Store::new(joint::in_memory(&file), file, 0, fate);
        store.append(&RecordLine::Header { version: VERSION, header })?;
        Ok(store)
    }

    /// Opens an earlier record to append to it; returns what it says, too. Changes nothing yet.
    ///
    /// # Errors
    /// If it is not a record, is in use by a run, or cannot be written.
    pub fn reopen(path: &Path) -> Result<(Store, Record)> {
        let failed = || format!("failed to open the record '{}' to resume it", path.display());
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let mut options = OpenOptions::new();
        let options = options.read(true).append(true).custom_flags(flags);
        let file = options.open(path).with_context(failed)?;
        let size = file.metadata().with_context(failed)?;
        if !size.is_file() {
            bail!("'{}' is not a regular file: only a file can be resumed", path.display());
        }
        if !lock(&file).with_context(failed)? {
            bail!("a run is writing the record '{}': wait until it has ended", path.display());
        }
        let mut lines = Lines::new(BufReader::new(file.try_clone().with_context(failed)?));
        let first = several::first_of(&mut lines, path)?;
        let record = read_rest(&first, lines, path)?;
        let mut last = [0];
        file.read_exact_at(&mut last, size.len().saturating_sub(1)).with_context(failed)?;
        let store = Store::new(path.to_path_buf(), file, size.len(), RecordFate::Kept);
        Ok((Store { is_cut: last != *b"\n", ..store }, record))
    }

    /// Appends a line. It has reached the OS when this returns, so a crash of this program loses
    /// nothing.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn append(&mut self, line: &RecordLine) -> Result<()> {
        let end = if self.is_cut { "\n" } else { "" };
        let text = format!("{end}{}\n", line.encode());
        self.write(text.as_bytes()).with_context(|| {
            EvenIfStopped(format!("failed to write the record '{}'", self.path.display()))
        })?;
        if let RecordFate::Printed = self.fate {
            let mut out = io::stdout().lock();
            let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            let failed = "failed to write the record to stdout";
            // Who has closed a pipe wants no more.
            return match written {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    Err(error).context(EvenIfStopped(failed.to_string()))
                }
                written => written.context(failed),
            };
        }
        Ok(())
    }

    /// Writes a line behind what the file has. What is left of one that could not be written, on a
    /// full disk, is cut off first: the next line would stick to it, and both would be lost.
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.has_failed {
            self.file.set_len(self.bytes)?;
            self.file.seek(SeekFrom::Start(self.bytes))?;
        }
        self.has_failed = true;
        self.file.write_all(line)?;
        self.bytes += line.len() as u64;
        (self.is_cut, self.has_failed) = (false, false);
        Ok(())
    }

    /// Its path: where it can be read while this exists, and afterwards if it is kept.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same for afterwards, whether it is kept or not.
    ///
    /// # Errors
    /// If the OS refuses to hold it.
    pub fn written(&self) -> Result<ReadableRecord> {
        if self.is_kept() {
            return Ok(ReadableRecord::at(self.path.clone(), None));
        }
        let held = self.file.try_clone().context("failed to hold a record in memory")?;
        Ok(ReadableRecord::at(joint::in_memory(&held), Some(held)))
    }

    /// Whether it stays at its path.
    pub fn is_kept(&self) -> bool {
        matches!(self.fate, RecordFate::Kept)
    }

    /// Whether it is printed, so that nothing else may be.
    pub fn is_printed(&self) -> bool {
        matches!(self.fate, RecordFate::Printed)
    }

    /// The reason why it is not kept.
    pub fn why_unkept(&self) -> Option<&str> {
        match &self.fate {
            RecordFate::Lost(reason) => Some(reason),
            RecordFate::Kept | RecordFate::Printed | RecordFate::Passing => None,
        }
    }

    /// Where it is, for people.
    pub fn whereabouts(&self) -> String {
        match self.fate {
            RecordFate::Kept => format!("in '{}'", self.path.display()),
            RecordFate::Printed => "on stdout, as far as they were read".to_string(),
            RecordFate::Lost(_) | RecordFate::Passing => "nowhere".to_string(),
        }
    }
}

/// Locks a record until this process ends. Returns whether no other process has locked it for 200
/// ms: one that is just being started shares its parent's. Some network file systems have no locks.
fn lock(file: &File) -> io::Result<bool> {
    for _ in 0..20 {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) | Err(Errno::NOSYS | Errno::NOTSUP | Errno::NOLCK) => return Ok(true),
            Err(Errno::WOULDBLOCK) => thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(false)
}

/// Refuses a path for a record if something exists there. [`Store::create`] does too, but only
/// after the test files are written.
///
/// # Errors
/// If something exists there.
pub fn check_free(path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Ok(_) => Err(io::Error::from(Errno::EXIST)).with_context(|| not_created(path)),
        Err(_) => Ok(()),
    }
}

/// Writes merged records to a new file, completely or not at all.
///
/// # Errors
/// If something exists at `path`, or it cannot be written.
pub fn write_merged(path: &Path, text: &str) -> Result<()> {
    create_whole(path, text).map(drop).with_context(|| not_created(path))
}

fn not_created(path: &Path) -> String {
    let path = path.display();
    format!("failed to create the record '{path}': name another file with --record FILE")
}

/// Maximum size of a record to read: 400 times that of a survey.
const RECORD_BYTES_MAX: u64 = 256 << 20;

/// Reads a record from a file or pipe.
///
/// # Errors
/// If it cannot be read, is not a record, or is larger than any run makes.
pub fn read(path: &Path) -> Result<Record> {
    let (first, lines) = several::begun(path)?;
    read_rest(&first, lines, path)
}

/// The record at `path` with this first line.
fn read_rest(header: &str, mut lines: Lines<impl BufRead>, path: &Path) -> Result<Record> {
    let no_record = || format!("'{}' is not a record", path.display());
    let mut reader = Reader::begin(header).with_context(no_record)?;
    let mut bytes = 0;
    while let Some(line) = lines.line().with_context(no_record)? {
        bytes += line.len() as u64;
        if bytes > RECORD_BYTES_MAX {
            bail!(
                "'{}' is not a record: it is larger than {}",
                path.display(),
                units::bytes(RECORD_BYTES_MAX)
            );
        }
        match several::is_next(&line, header) {
            false => reader.line(&line).with_context(no_record)?,
            // The record of a number was asked for, and it ends here.
            true if several::numbered(path).is_some() => break,
            true if input::regular(path).is_err() => bail!(
                "'{}' is a pipe with several records, and a pipe is read once: save them in a file",
                path.display()
            ),
            true => bail!(
                "'{0}' has several records: name one of them, such as '{0}#1'. 'ioassay report' \
                 takes them all",
                path.display()
            ),
        }
    }
    let mut record = reader.end();
    record.header.plan.view = Some(recipe::view_of(&record.header.plan));
    Ok(record)
}

/// Creates a file with this text, or none.
fn create_new(path: &Path, text: &str) -> io::Result<File> {
    create_with(path, text, FOR_ALL)
}

/// The permissions of a file that others may read, if the umask lets them, and of one for the user
/// alone.
const FOR_ALL: u32 = 0o666;
const FOR_USER: u32 = 0o600;

fn create_with(path: &Path, text: &str, permissions: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(permissions).open(path)?;
    file.write_all(text.as_bytes()).inspect_err(|_| drop(std::fs::remove_file(path)))?;
    Ok(file)
}

/// The same, but if the file system supports unnamed files, the file gets its name only once it is
/// complete. Whatever happens before then leaves nothing behind.
fn create_whole(path: &Path, text: &str) -> io::Result<File> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut nameless = OpenOptions::new();
    nameless.write(true).custom_flags(OFlags::TMPFILE.bits() as i32);
    let Ok(mut file) = nameless.open(folder) else { return create_new(path, text) };
    file.write_all(text.as_bytes())?;
    let number = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    match linkat(CWD, &number, CWD, path, AtFlags::SYMLINK_FOLLOW) {
        Ok(()) => Ok(file),
        Err(Errno::EXIST) => Err(Errno::EXIST.into()),
        // Some file systems support unnamed files but cannot name them later.
        Err(_) => create_new(path, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `cat` joins them, the header of the second is in the last line of the first.
    #[test]
    fn a_record_that_was_cut_off_does_not_swallow_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("both");
        let record = model::zoo::record();
        let text = |name: &str| {
            let mut header = record.header.clone();
            header.host.name = name.to_string();
            let lines = [
                RecordLine::Header { version: VERSION, header },
                RecordLine::Trial(record.trials[0].clone()),
                RecordLine::Trial(record.trials[1].clone()),
            ];
            lines.iter().map(|line| format!("{}\n", line.encode())).collect::<String>()
        };
        let (first, second) = (text("one"), text("other"));
        std::fs::write(&path, format!("{}{second}", &first[..first.len() - 40])).unwrap();
        let both = expand(&[path]).unwrap().paths;
        let read = both.iter().map(|path| read(path).unwrap()).collect::<Vec<_>>();
        let [one, other] = &read[..] else { panic!("{both:?}") };
        assert_eq!((one.header.host.name.as_str(), one.trials.len()), ("one", 1));
        assert_eq!((other.header.host.name.as_str(), other.trials.len()), ("other", 2));
        assert_eq!((one.damage.len(), other.damage.len()), (1, 0));
        assert_eq!(lines_of(&both[1]).unwrap().len(), 3);
    }

    #[test]
    fn what_is_appended_does_not_stick_to_a_line_that_was_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        let record = model::zoo::record();
        let trial = RecordLine::Trial(record.trials[0].clone());
        let mut first = Store::create(&path, record.header.clone()).unwrap();
        first.append(&trial).unwrap();
        let used = Store::reopen(&path).unwrap_err().to_string();
        assert!(used.contains("a run is writing the record"), "{used}");
        drop(first);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.truncate(bytes.len() - 20);
        std::fs::write(&path, &bytes).unwrap();
        let (mut again, read) = Store::reopen(&path).unwrap();
        assert_eq!((read.trials.len(), read.damage.len()), (0, 1));
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "nothing is changed yet");
        again.append(&trial).unwrap();
        again.append(&trial).unwrap();
        bytes.extend(format!("\n{0}\n{0}\n", trial.encode()).as_bytes());
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        drop(again);
        assert_eq!(super::read(&path).unwrap().trials.len(), 1);
    }

    /// A disk that is full takes a part of a line.
    #[test]
    fn what_could_not_be_appended_does_not_damage_what_follows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        let record = model::zoo::record();
        let line = |number: usize| RecordLine::Trial(record.trials[number].clone());
        let fail = |store: &mut Store, left: &str| {
            let unwritable = File::open(&path).unwrap();
            let file = std::mem::replace(&mut store.file, unwritable);
            let error = store.append(&line(9)).unwrap_err();
            assert!(error.is::<EvenIfStopped>(), "{error:#}");
            store.file = file;
            let mut full = OpenOptions::new().append(true).open(&path).unwrap();
            full.write_all(left.as_bytes()).unwrap();
        };
        let mut store = Store::create(&path, record.header.clone()).unwrap();
        store.append(&line(0)).unwrap();
        fail(&mut store, &line(9).encode()[..500]);
        store.append(&line(1)).unwrap();
        drop(store);
        let (mut store, read) = Store::reopen(&path).unwrap();
        assert_eq!((&read.trials[..], &read.damage[..]), (&record.trials[..2], &[][..]));
        fail(&mut store, &line(9).encode()[..7]);
        fail(&mut store, "");
        store.append(&RecordLine::End(model::record::End::Interrupted)).unwrap();
        let read = super::read(&path).unwrap();
        assert_eq!((&read.trials[..], &read.damage[..]), (&record.trials[..2], &[][..]));
        assert_eq!(read.end, model::record::End::Interrupted);
    }

    #[test]
    fn only_a_record_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("thesis");
        let check = |expected: &str| {
            let error = format!("{:#}", Store::reopen(&path).unwrap_err());
            assert!(error.contains(expected), "{error}");
        };
        check("No such file");
        std::fs::write(&path, "years of work").unwrap();
        check("thesis' is not a record");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "years of work");
        std::fs::write(&path, "").unwrap();
        check("it is empty");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        check("Is a directory");
    }
}
