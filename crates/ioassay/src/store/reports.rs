//! Reports in files: they replace earlier reports, and nothing else.

use super::{FOR_ALL, FOR_USER, create_new, create_with, folder};
use anyhow::{Context, Result, bail};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs::{DirBuilder, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A report has its mark ([`report::MARK`]) within this many bytes: a picture, after its names.
const MARK_WITHIN: u64 = 1024;

/// Maximum number of letters that the name of a page takes from its record: file systems allow 255
/// bytes.
const NAME_MOST: usize = 100;

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
    keep(path, report, FOR_ALL)
}

/// Writes the page of the record at `record` for its user alone, into a folder beside the records.
/// A later page of the same path replaces it. Returns where it is.
///
/// # Errors
/// If there is no home folder, or it cannot be written.
///
/// # Panics
/// As for [`keep_report`].
pub fn keep_page(record: &Path, page: &str) -> Result<PathBuf> {
    let elsewhere = || {
        let record = record.display();
        format!(
            "failed to write the page of '{record}': 'ioassay report {record} --html FILE' writes \
             it to another place"
        )
    };
    let folder = folder().and_then(|folder| Ok(std::path::absolute(folder)?.join("pages")));
    let folder = folder.with_context(elsewhere)?;
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("failed to create the folder '{}'", folder.display()))
        .with_context(elsewhere)?;
    let path = folder.join(page_name(record)?);
    keep(&path, page, FOR_USER).with_context(elsewhere)?;
    Ok(path)
}

/// A name for the page of a record: records of one name in several folders have several pages.
fn page_name(record: &Path) -> Result<String> {
    let record = std::path::absolute(record)
        .with_context(|| format!("failed to find the folder of '{}'", record.display()))?;
    let mut hasher = DefaultHasher::new();
    record.hash(&mut hasher);
    let stem = record.file_stem().unwrap_or_default().to_string_lossy();
    // A browser or a shell reads other letters as something else than a name.
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(c);
    let stem: String = stem.chars().filter(is_plain).take(NAME_MOST).collect();
    Ok(format!("{stem}-{:016x}.html", hasher.finish()))
}

fn keep(path: &Path, report: &str, permissions: u32) -> Result<()> {
    let is_marked = is_report(&mut report.as_bytes()).expect("memory can be read");
    assert!(is_marked, "a report begins with its mark");
    let is_there = check_no_other(path)?;
    let beside = beside(path);
    create_with(&beside, report, permissions).with_context(|| not_written(path))?;
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
    if path == Path::new("-") {
        bail!(
            "a report that is written to a file does not go to stdout: name a file instead of '-'"
        );
    }
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

/// Whether `read` starts like a report.
fn is_report(read: &mut dyn Read) -> io::Result<bool> {
    let mut start = Vec::new();
    read.take(MARK_WITHIN).read_to_end(&mut start)?;
    Ok(String::from_utf8_lossy(&start).contains(report::MARK))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(text: &str) -> String {
        format!("<!-- {} 0.1.0 -->\n{text}", report::MARK)
    }

    #[test]
    fn records_of_one_name_have_pages_of_their_own() {
        let name = |path: &str| page_name(Path::new(path)).unwrap();
        assert_eq!(name("/a/run.jsonl"), name("/a/run.jsonl"));
        assert_ne!(name("/a/run.jsonl"), name("/b/run.jsonl"));
        assert!(name("/a/run.jsonl").starts_with("run-"), "{}", name("/a/run.jsonl"));
        let odd = name("/a/<b> #1\u{1b}?ü.jsonl");
        assert!(odd.starts_with("b1-") && odd.ends_with(".html"), "{odd}");
        assert!(name(&format!("/{}", "x".repeat(250))).len() < 130);
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
        // Users who mean stdout must not find a file of that name.
        let error = check_report(Path::new("-")).unwrap_err().to_string();
        assert!(error.contains("name a file instead of '-'"), "{error}");
        check_report(&path).unwrap();
        check_report(&folder.path().join("new.html")).unwrap();
        let names = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names, 3, "nothing is left beside them");
    }
}
