//! Where records are kept: written a line at a time, never over something else.

use anyhow::{Context, Result};
use model::record::{Header, Line, Record, VERSION};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A record that is being written.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
}

impl Store {
    /// Creates the record at `path` and writes its header.
    ///
    /// # Errors
    /// When there is something at `path` already, or it cannot be written.
    pub fn create(path: &Path, header: Header) -> Result<Store> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("failed to make the folder '{}'", folder.display()))?;
        }
        let file =
            OpenOptions::new().write(true).create_new(true).open(path).with_context(|| {
                format!(
                    "failed to create the record '{}': name another with --record FILE",
                    path.display()
                )
            })?;
        let mut store = Store { path: path.to_path_buf(), file };
        store.append(&Line::Header { version: VERSION, header })?;
        Ok(store)
    }

    /// Appends a line. It is with the OS when this returns: a crash of this program loses nothing.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&mut self, line: &Line) -> Result<()> {
        let text = line.encode() + "\n";
        self.file
            .write_all(text.as_bytes())
            .with_context(|| format!("failed to write the record '{}'", self.path.display()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Refuses a path for a record at which there is something already. [`Store::create`] does so too,
/// but only when the test files are written.
///
/// # Errors
/// When there is something.
pub fn check_free(path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Ok(_) => Err(io::Error::from(Errno::EXIST)).with_context(|| not_created(path)),
        Err(_) => Ok(()),
    }
}

fn not_created(path: &Path) -> String {
    let path = path.display();
    format!("failed to create the record '{path}': name another with --record FILE")
}

/// Reads a record.
///
/// # Errors
/// When the file cannot be read or is no record.
pub fn read(path: &Path) -> Result<Record> {
    let bytes = std::fs::read(path)
        .with_context(|| format!("failed to read the record '{}'", path.display()))?;
    // A record that was cut off may end within a character.
    let text = String::from_utf8_lossy(&bytes);
    Record::decode(&text).with_context(|| format!("'{}' is no record", path.display()))
}

/// The file for a record that nobody named: dated, under the XDG state folder.
///
/// # Errors
/// When there is no such folder, for want of a home.
pub fn dated_path(recipe: &str, began: SystemTime) -> Result<PathBuf> {
    let folder = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::home_dir().map(|home| home.join(".local/state")))
        .context("there is no home to keep the record in: name a file with --record FILE")?;
    let date = date(began).replace(':', "-");
    // A process identifier keeps two runs of one second apart.
    let name = format!("{date}-{recipe}-{}.jsonl", std::process::id());
    Ok(folder.join("ioassay").join(name))
}

/// A moment as RFC 3339, in UTC and whole seconds.
pub fn date(moment: SystemTime) -> String {
    humantime::format_rfc3339_seconds(moment).to_string()
}
