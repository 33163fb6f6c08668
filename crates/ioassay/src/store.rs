//! Records, written line by line and never over other files, and reports.

use crate::input;
use crate::recipe;
use anyhow::{Context, Result, bail};
use model::record::{Header, LINE_BYTES_MAX, Line, Reader, Record, RecordError, VERSION};
use model::units;
use rustix::fs::{AtFlags, CWD, FlockOperation, OFlags, RenameFlags};
use rustix::fs::{flock, linkat, renameat_with};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A record being written. It is locked, so that no other run resumes it.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    /// Whether a crash cut off its last line.
    is_cut: bool,
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
        let header = Line::Header { version: VERSION, header }.encode() + "\n";
        let file = create_whole(path, &header).with_context(|| not_created(path))?;
        let is_alone =
            lock(&file).with_context(|| format!("failed to lock '{}'", path.display()))?;
        if !is_alone {
            bail!("another run has begun to resume the record '{}'", path.display());
        }
        Ok(Store { path: path.to_path_buf(), file, is_cut: false })
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
        let record = read_lines(BufReader::new(file.try_clone().with_context(failed)?), path)?;
        let mut last = [0];
        file.read_exact_at(&mut last, size.len().saturating_sub(1)).with_context(failed)?;
        Ok((Store { path: path.to_path_buf(), file, is_cut: last != *b"\n" }, record))
    }

    /// Appends a line. It has reached the OS when this returns, so a crash of this program loses
    /// nothing.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn append(&mut self, line: &Line) -> Result<()> {
        let end = if self.is_cut { "\n" } else { "" };
        let text = format!("{end}{}\n", line.encode());
        self.file
            .write_all(text.as_bytes())
            .with_context(|| format!("failed to write the record '{}'", self.path.display()))?;
        self.is_cut = false;
        Ok(())
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Locks a record until this process ends. Returns whether no other process has locked it. Some
/// network file systems have no locks.
fn lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) | Err(Errno::NOSYS | Errno::NOTSUP | Errno::NOLCK) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
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
    let failed = || format!("failed to read the record '{}'", path.display());
    read_lines(input::lines(path).with_context(failed)?, path)
}

fn read_lines(lines: impl BufRead, path: &Path) -> Result<Record> {
    let no_record = || format!("'{}' is not a record", path.display());
    let mut lines = lines.take(RECORD_BYTES_MAX + 1);
    let mut next = || input::line(&mut lines, LINE_BYTES_MAX).with_context(no_record);
    let first = next()?.ok_or(RecordError::Empty).with_context(no_record)?;
    let mut reader = Reader::begin(&first).with_context(no_record)?;
    drop(first);
    while let Some(line) = next()? {
        reader.line(&line).with_context(no_record)?;
    }
    if lines.limit() == 0 {
        bail!(
            "'{}' is not a record: it is larger than {}",
            path.display(),
            units::bytes(RECORD_BYTES_MAX)
        );
    }
    let mut record = reader.end();
    record.header.plan.view = Some(recipe::view_of(&record.header.plan));
    Ok(record)
}

/// The files in a folder whose names mark them as records.
///
/// # Errors
/// If the folder cannot be read.
pub fn records_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Maximum number of kept records to read: the first by name.
const KEPT_MOST: usize = 1_000;

/// Maximum size of all kept records; each may take at most a thirtieth of it. Those with the last
/// names are read, and names are dates by default.
const KEPT_BYTES_MAX: u64 = 60 << 20;

/// The records of a recipe in `folders`. Those that cannot be read are skipped.
pub fn kept(folders: &[PathBuf], recipe: &str) -> Vec<Record> {
    let mut paths: Vec<PathBuf> =
        folders.iter().flat_map(|folder| records_of(folder).unwrap_or_default()).collect();
    paths.truncate(KEPT_MOST);
    paths.sort_by(|one, other| other.file_name().cmp(&one.file_name()));
    let wanted = format!("\"recipe\":{}", serde_json::Value::from(recipe));
    let is_of_recipe = |path: &PathBuf| {
        let header = input::lines(path).and_then(|mut read| input::line(&mut read, LINE_BYTES_MAX));
        header.is_ok_and(|header| header.is_some_and(|header| header.contains(&wanted)))
    };
    let mut bytes = 0;
    let fits = |path: &PathBuf| {
        let size = path.metadata().map_or(u64::MAX, |found| found.len());
        let fits = size <= KEPT_BYTES_MAX / 30 && bytes + size <= KEPT_BYTES_MAX;
        bytes += if fits { size } else { 0 };
        fits
    };
    let few = paths.into_iter().filter(is_of_recipe).filter(fits);
    few.filter_map(|path| read(&path).ok()).collect()
}

/// A report has its mark ([`report::MARK`]) within this many bytes: a picture, after its names.
const MARK_WITHIN: u64 = 1024;

/// Refuses a path at which [`keep_report`] could not write a report.
///
/// # Errors
/// If another file exists at `path`, or it cannot be written.
pub fn check_report(path: &Path) -> Result<()> {
    check_no_other(path)?;
    let beside = beside(path);
    create_new(&beside, "").with_context(|| not_written(path))?;
    std::fs::remove_file(&beside).with_context(|| not_written(path))
}

/// Writes a report to a new file, or replaces an earlier report, which is recognized by its mark.
/// Concurrent readers see either the earlier report or the new one, complete.
///
/// # Errors
/// If another file exists at `path`, or it cannot be written.
///
/// # Panics
/// If the report does not start with its mark: it could not be replaced later.
pub fn keep_report(path: &Path, report: &str) -> Result<()> {
    let is_marked = is_report(&mut report.as_bytes()).expect("memory can be read");
    assert!(is_marked, "a report begins with its mark");
    let is_there = check_no_other(path)?;
    let beside = beside(path);
    create_new(&beside, report).with_context(|| not_written(path))?;
    let moved = match is_there {
        true => std::fs::rename(&beside, path),
        false => rename_to_nothing(&beside, path),
    };
    moved.inspect_err(|_| drop(std::fs::remove_file(&beside))).with_context(|| not_written(path))
}

/// Renames a file without overwriting one created meanwhile. Not all file systems support that in
/// one step.
fn rename_to_nothing(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => std::fs::rename(from, to),
        other => Ok(other?),
    }
}

fn not_written(path: &Path) -> String {
    format!(
        "failed to write the report '{}': name a file in a folder that you can write to",
        path.display()
    )
}

/// A unique name in the same folder.
fn beside(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    PathBuf::from(beside)
}

/// Refuses a path with anything but a report of ioassay. Returns whether there is one.
fn check_no_other(path: &Path) -> Result<bool> {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error).with_context(|| not_written(path)),
    };
    let is_own = || is_report(&mut File::open(path)?);
    if !found.is_file() || !is_own().with_context(|| not_written(path))? {
        bail!(
            "failed to write the report '{}': that file exists and is not a report of ioassay: \
             name another file",
            path.display()
        );
    }
    Ok(true)
}

/// Creates a file with this text, or none.
fn create_new(path: &Path, text: &str) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
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

/// Whether `read` starts like a report.
fn is_report(read: &mut dyn Read) -> io::Result<bool> {
    let mut start = Vec::new();
    read.take(MARK_WITHIN).read_to_end(&mut start)?;
    Ok(String::from_utf8_lossy(&start).contains(report::MARK))
}

/// The folder for unnamed records, below the XDG state folder. It need not exist.
///
/// # Errors
/// If there is no such folder because there is no home.
pub fn folder() -> Result<PathBuf> {
    let folder = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::home_dir().map(|home| home.join(".local/state")))
        .context("there is no home folder for the record: name a file with --record FILE")?;
    Ok(folder.join("ioassay"))
}

/// Maximum number of runs that one process can finish in a second.
const RUNS_A_SECOND: u32 = 10_000;

/// The dated file for an unnamed record, below the XDG state folder.
///
/// # Errors
/// If there is no such folder because there is no home, or the clock has no valid date.
pub fn dated_path(recipe: &str, began: SystemTime) -> Result<PathBuf> {
    let date = date(began)?.replace(':', "-");
    // The PID separates programs within the same second, and a number separates the runs of one
    // program.
    let stem = format!("{date}-{recipe}-{}", std::process::id());
    let folder = folder()?;
    let first = [folder.join(format!("{stem}.jsonl"))];
    let others = (2..RUNS_A_SECOND).map(|number| folder.join(format!("{stem}-{number}.jsonl")));
    let free = first.into_iter().chain(others).find(|path| path.symlink_metadata().is_err());
    free.with_context(|| format!("there are already {RUNS_A_SECOND} records '{stem}'"))
}

/// Seconds from 1970 to the year 10000, which does not fit into four digits.
const DATED_SECONDS: u64 = 253_402_300_800;

/// Formats a time as in RFC 3339, in UTC and whole seconds.
///
/// # Errors
/// If the year has no such date.
pub fn date(moment: SystemTime) -> Result<String> {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).ok();
    if since.is_none_or(|since| since.as_secs() >= DATED_SECONDS) {
        bail!("this machine's clock is outside the years 1970 to 9999: set it");
    }
    #[expect(clippy::disallowed_methods, reason = "inputs that panic were just refused")]
    let date = humantime::format_rfc3339_seconds(moment);
    Ok(date.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn report(text: &str) -> String {
        format!("<!-- {} 0.1.0 -->\n{text}", report::MARK)
    }

    #[test]
    fn a_moment_without_a_date_is_refused() {
        let epoch = SystemTime::UNIX_EPOCH;
        let after = |seconds| date(epoch + Duration::from_secs(seconds));
        assert_eq!(after(0).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(after(DATED_SECONDS - 1).unwrap(), "9999-12-31T23:59:59Z");
        for refused in [after(DATED_SECONDS), date(epoch - Duration::from_nanos(1))] {
            assert!(refused.unwrap_err().to_string().contains("1970 to 9999: set it"));
        }
    }

    #[test]
    fn what_is_appended_does_not_stick_to_a_line_that_was_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        let record = model::zoo::record();
        let trial = Line::Trial(record.trials[0].clone());
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
        assert_eq!(read_lines(&bytes[..], &path).unwrap().trials.len(), 1);
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

    #[test]
    fn a_report_replaces_a_report_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        for text in [report("one"), report("two")] {
            keep_report(&path, &text).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let other = folder.path().join("thesis.html");
        std::fs::write(&other, "years of work").unwrap();
        for taken in [&link, &other, &folder.path().to_path_buf()] {
            let error = keep_report(taken, &report("three")).unwrap_err().to_string();
            assert!(error.contains("is not a report of ioassay: name another file"), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "years of work");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), report("two"));
        let nowhere = folder.path().join("none/report.html");
        let error = format!("{:#}", keep_report(&nowhere, &report("four")).unwrap_err());
        assert!(error.contains("failed to write the report") && error.contains("No such file"));
        for refused in [&link, &other, &folder.path().to_path_buf(), &nowhere] {
            check_report(refused).unwrap_err();
        }
        check_report(&path).unwrap();
        check_report(&folder.path().join("new.html")).unwrap();
        let names = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names, 3, "nothing is left beside them");
    }
}
