//! Opens files that users name, without ever blocking on one; `-` is stdin.

use anyhow::{Context, Result, bail};
use model::units;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// What users call stdin.
const STDIN: &str = "-";

/// Opens a regular file for reading. A pipe without a writer would block forever, and a device has
/// no end.
///
/// # Errors
/// If it cannot be opened, or is not a regular file.
pub fn regular(path: &Path) -> Result<File> {
    let file = open(path)?;
    if !file.metadata()?.is_file() {
        bail!("it is not a regular file");
    }
    Ok(file)
}

/// Opens a file, or a pipe with a writer (`/dev/stdin`, `<(command)`), to read its lines.
///
/// # Errors
/// If it cannot be opened, or is neither.
pub fn lines(path: &Path) -> Result<impl BufRead + use<>> {
    let mut file = open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        bail!("it is a directory");
    }
    if !kind.is_file() && !kind.is_fifo() {
        bail!("it is neither a file nor a pipe");
    }
    // A non-blocking pipe without a writer is at its end immediately.
    let mut first = [0];
    let begun = match kind.is_fifo().then(|| file.read(&mut first)) {
        None => 0,
        Some(Ok(0)) => bail!("it is a pipe without a writer"),
        Some(Ok(count)) => count,
        Some(Err(error)) if error.kind() == ErrorKind::WouldBlock => 0,
        Some(Err(error)) => return Err(error.into()),
    };
    fcntl_setfl(&file, fcntl_getfl(&file)?.difference(OFlags::NONBLOCK))?;
    let first = first[..begun].to_vec();
    Ok(BufReader::new(std::io::Cursor::new(first).chain(file)))
}

fn open(path: &Path) -> Result<File> {
    let path = if path == Path::new(STDIN) { Path::new("/dev/stdin") } else { path };
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    Ok(OpenOptions::new().read(true).custom_flags(flags).open(path)?)
}

/// The whole text of a file of at most `bytes_max` bytes.
///
/// # Errors
/// If it cannot be read, is larger, or is not text.
pub fn text(path: &Path, bytes_max: u64) -> Result<String> {
    let mut bytes = Vec::new();
    lines(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        bail!("it is larger than {}", units::bytes(bytes_max));
    }
    String::from_utf8(bytes).ok().context("it is not text")
}

/// The next line without its newline, of at most `bytes_max` bytes; `None` after the last. Replaces
/// invalid UTF-8, such as a truncated character.
///
/// # Errors
/// If it cannot be read, or is longer.
pub fn line(read: &mut impl BufRead, bytes_max: usize) -> Result<Option<String>> {
    let mut bytes = Vec::new();
    let count = read.take(bytes_max as u64 + 2).read_until(b'\n', &mut bytes)?;
    if count == 0 {
        return Ok(None);
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    if bytes.len() > bytes_max {
        bail!("a line is longer than {}", units::bytes(bytes_max as u64));
    }
    let lossy = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Some(String::from_utf8(bytes).unwrap_or_else(|error| lossy(error.into_bytes()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::io::Write;

    #[test]
    fn what_has_no_end_or_no_writer_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::from_bits_truncate(0o600), 0).unwrap();
        let refused = |path: &Path| match lines(path) {
            Ok(_) => panic!("{} was opened", path.display()),
            Err(error) => error.to_string(),
        };
        assert_eq!(refused(&pipe), "it is a pipe without a writer");
        assert_eq!(refused(Path::new("/dev/zero")), "it is neither a file nor a pipe");
        assert_eq!(refused(folder.path()), "it is a directory");
        for none in [&pipe, Path::new("/dev/zero"), folder.path()] {
            assert_eq!(regular(none).unwrap_err().to_string(), "it is not a regular file");
        }
        // A pipe opened for both directions has a writer.
        let mut writer = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        writer.write_all(b"one\ntwo\n").unwrap();
        let mut lines = lines(&pipe).unwrap();
        assert_eq!(line(&mut lines, 3).unwrap().as_deref(), Some("one"));
        assert_eq!(line(&mut lines, 3).unwrap().as_deref(), Some("two"));
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 40).unwrap();
        let error = text(file.path(), 1 << 20).unwrap_err().to_string();
        assert_eq!(error, "it is larger than 1MiB");
        let error = line(&mut lines(file.path()).unwrap(), 1 << 20).unwrap_err().to_string();
        assert_eq!(error, "a line is longer than 1MiB");
        let mut read = "a\n\u{e9}".as_bytes();
        let mut cut = read.take(3);
        assert_eq!(line(&mut cut, 9).unwrap().as_deref(), Some("a"));
        assert_eq!(line(&mut cut, 9).unwrap().as_deref(), Some("\u{FFFD}"));
        assert_eq!(line(&mut cut, 9).unwrap(), None);
        read = &[];
        assert_eq!(line(&mut read, 9).unwrap(), None);
    }
}
