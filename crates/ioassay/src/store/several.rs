//! Files with several records: those of other machines, one after the other.
//!
//! Each record begins with its header, so concatenated records stay readable. `FILE#2` is the
//! second record of a file.

use super::RECORD_BYTES_MAX;
use super::folders::Readable;
use crate::input;
use anyhow::{Context, Result, bail};
use model::record::{Header, LINE_BYTES_MAX, Reader, RecordError};
use std::ffi::OsStr;
use std::io::BufRead;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Maximum number of records in a file.
const RECORDS_MAX: usize = 10_000;

/// How a header begins. Inside a line, its quotes would be escaped.
const HEADER: &str = "{\"header\":";

/// The lines of a file of records. The last line of a record that was cut off may have no end: the
/// header that follows in it is a line of its own.
pub(super) struct Lines<R> {
    read: R,
    next: Option<String>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(read: R) -> Lines<R> {
        Lines { read, next: None }
    }

    /// The next line; `None` after the last.
    pub(super) fn line(&mut self) -> Result<Option<String>> {
        let next = match self.next.take() {
            Some(line) => Some(line),
            None => input::line(&mut self.read, LINE_BYTES_MAX)?,
        };
        Ok(next.map(|mut line| {
            let last = line.match_indices(HEADER).map(|(at, _)| at).find(|at| *at > 0);
            self.next = last.map(|at| line.split_off(at));
            line
        }))
    }
}

/// Whether a line begins another record than that of `header`: the program writes no other line
/// like that. The same header again is damage.
pub(super) fn is_next(line: &str, header: &str) -> bool {
    line.starts_with(HEADER) && line != header
}

/// A file and the number of a record in it, from 1, if `path` is written like that and is not the
/// name of a file.
pub(super) fn numbered(path: &Path) -> Option<(PathBuf, usize)> {
    let bytes = path.as_os_str().as_bytes();
    let at = bytes.iter().rposition(|byte| *byte == b'#')?;
    let number = std::str::from_utf8(&bytes[at + 1..]).ok()?.parse().ok()?;
    let is_number = (1..=RECORDS_MAX).contains(&number) && path.symlink_metadata().is_err();
    is_number.then(|| (Path::new(OsStr::from_bytes(&bytes[..at])).to_path_buf(), number))
}

/// The name of a record in a file.
pub(super) fn name(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned().into_vec();
    name.extend(format!("#{number}").bytes());
    PathBuf::from(std::ffi::OsString::from_vec(name))
}

/// Skips the records before the one with this `number`. Returns its header.
pub(super) fn skip_to(lines: &mut Lines<impl BufRead>, number: usize) -> Result<String> {
    let (mut found, mut header) = (0, String::new());
    while let Some(line) = lines.line()? {
        if is_next(&line, &header) {
            (found, header) = (found + 1, line);
        }
        if found == number {
            return Ok(header);
        }
    }
    bail!("it has {found} records, and number {number} was asked for")
}

/// The records in files: a file with several of them becomes `FILE#1`, `FILE#2` and so on, and a
/// folder, as a run of several hosts has it, its records. What is not a file with several records
/// stays as it is, and is judged where it is read.
///
/// # Errors
/// If a file has more records than any command reads, or a folder has none that can be read.
pub fn expand(paths: &[PathBuf]) -> Result<Readable> {
    let Readable { paths: mut all, mut unreadable } = Readable::default();
    for path in paths {
        if path.is_dir() {
            let found = Readable::of(path)?;
            match (found.paths.is_empty(), found.unreadable.first()) {
                (true, Some(reason)) => bail!("{reason}"),
                (true, None) => bail!(
                    "the folder '{}' has no records (*.jsonl): name one of a run",
                    path.display()
                ),
                (false, _) => {}
            }
            all.extend(found.paths);
            unreadable.extend(found.unreadable);
            continue;
        }
        match count(path).with_context(|| format!("failed to read '{}'", path.display()))? {
            0 | 1 => all.push(path.clone()),
            several => all.extend((1..=several).map(|number| name(path, number))),
        }
    }
    Ok(Readable { paths: all, unreadable })
}

/// The number of records in a regular file; 0 in anything else, because it can be read only once.
fn count(path: &Path) -> Result<usize> {
    let Ok(file) = input::regular(path) else { return Ok(0) };
    let mut lines = Lines::new(std::io::BufReader::new(file));
    let (mut found, mut header) = (0, String::new());
    // A line that is too long is told where the record is read.
    while let Ok(Some(line)) = lines.line() {
        if is_next(&line, &header) {
            (found, header) = (found + 1, line);
        }
        if found > RECORDS_MAX {
            bail!("it has more than {RECORDS_MAX} records: split it");
        }
    }
    Ok(found)
}

/// The lines of the record at `path`, as they are.
///
/// # Errors
/// If it cannot be read, or is larger than any run makes.
pub fn lines_of(path: &Path) -> Result<Vec<String>> {
    let (first, mut lines) = begun(path)?;
    let (mut all, mut bytes) = (vec![first], 0);
    while let Some(line) = lines.line()? {
        if is_next(&line, &all[0]) {
            break;
        }
        bytes += line.len() as u64;
        if bytes > RECORD_BYTES_MAX {
            bail!("it is larger than any run makes");
        }
        all.push(line);
    }
    Ok(all)
}

/// Reads the header of a record in a file.
///
/// # Errors
/// If it cannot be read, or is not a record.
pub fn header(path: &Path) -> Result<Header> {
    let (first, _) = begun(path)?;
    let reader = Reader::begin(&first);
    Ok(reader.with_context(|| format!("'{}' is not a record", path.display()))?.end().header)
}

/// The first line of the record at `path`, and the lines that follow.
///
/// # Errors
/// If it cannot be read, or is not a record.
pub(super) fn begun(path: &Path) -> Result<(String, Lines<impl BufRead>)> {
    let failed = || format!("failed to read the record '{}'", path.display());
    let Some((file, number)) = numbered(path) else {
        let mut lines = Lines::new(input::lines(path).with_context(failed)?);
        return Ok((first_of(&mut lines, path)?, lines));
    };
    let mut lines = Lines::new(input::lines(&file).with_context(failed)?);
    Ok((skip_to(&mut lines, number).with_context(failed)?, lines))
}

/// The first line of the only record of a file.
pub(super) fn first_of(lines: &mut Lines<impl BufRead>, path: &Path) -> Result<String> {
    let first = lines.line().and_then(|first| Ok(first.ok_or(RecordError::Empty)?));
    first.with_context(|| format!("'{}' is not a record", path.display()))
}
