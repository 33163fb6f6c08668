//! Where the record of a run goes.

use super::dated::{dated_in, dated_path};
use super::{RecordFate, Store, check_free};
use anyhow::{Context, Result};
use model::record::Header;
use rustix::fs::{Access, access};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The place for a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A dated file in the state folder. If that cannot be written, the record is not kept.
    Usual,
    /// A dated file in this folder.
    Folder(PathBuf),
    /// This file.
    File(PathBuf),
    /// Stdout, which then has nothing else.
    Stdout,
}

impl Place {
    /// The place that `--record` names: `-` is stdout, and what is a folder, or ends like one, is a
    /// folder.
    pub fn of(asked: Option<&Path>) -> Place {
        let Some(path) = asked else { return Place::Usual };
        if path == OsStr::new("-") {
            Place::Stdout
        } else if path.as_os_str().as_bytes().ends_with(b"/") || path.is_dir() {
            Place::Folder(path.to_path_buf())
        } else {
            Place::File(path.to_path_buf())
        }
    }

    /// Refuses a place that cannot take a record, before anything is measured.
    ///
    /// # Errors
    /// If something exists at a named file, or a named folder cannot be written.
    pub fn check(&self) -> Result<()> {
        match self {
            Place::Usual | Place::Stdout => Ok(()),
            Place::File(path) => check_free(path),
            Place::Folder(folder) => std::fs::create_dir_all(folder)
                .and_then(|()| Ok(access(folder, Access::WRITE_OK)?))
                .with_context(|| format!("failed to write to the folder '{}'", folder.display())),
        }
    }

    /// Begins the record of a run.
    ///
    /// # Errors
    /// If a named place cannot be written.
    pub fn create(&self, header: Header, began: SystemTime) -> Result<Store> {
        let recipe = &header.plan.recipe;
        // The two of a gate are told apart, and in their order.
        let name = header.side.map_or(recipe.clone(), |side| format!("{recipe}-{side}"));
        match self {
            Place::Stdout => Store::in_memory(header, RecordFate::Printed),
            Place::File(path) => Store::create(path, header),
            Place::Folder(folder) => Store::create(&dated_in(folder, &name, began)?, header),
            Place::Usual => {
                let path = dated_path(&name, began);
                match path.and_then(|path| Store::create(&path, header.clone())) {
                    Ok(store) => Ok(store),
                    Err(reason) => {
                        Store::in_memory(header, RecordFate::Lost(format!("{reason:#}")))
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store;

    #[test]
    fn a_folder_is_one_or_ends_like_one() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().to_path_buf();
        let check = |path: &Path, expected: Place| assert_eq!(Place::of(Some(path)), expected);
        assert_eq!(Place::of(None), Place::Usual);
        check(Path::new("-"), Place::Stdout);
        check(Path::new("./-"), Place::File("./-".into()));
        check(&there, Place::Folder(there.clone()));
        check(&there.join("new/"), Place::Folder(there.join("new/")));
        check(&there.join("new"), Place::File(there.join("new")));
    }

    #[test]
    fn a_folder_gets_a_file_for_each_run() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::Folder(folder.path().join("runs/"));
        place.check().unwrap();
        let header = model::zoo::record().header;
        let began = SystemTime::UNIX_EPOCH;
        let create = || place.create(header.clone(), began).unwrap().path().to_path_buf();
        let (one, other) = (create(), create());
        assert_ne!(one, other);
        for path in [one, other] {
            assert_eq!(path.parent(), Some(folder.path().join("runs").as_path()));
            assert_eq!(store::read(&path).unwrap().header.plan.cases, header.plan.cases);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "years of work").unwrap();
        let inside = Place::Folder(folder.path().join("file/runs/"));
        let error = format!("{:#}", inside.check().unwrap_err());
        assert!(error.contains("failed to write to the folder"), "{error}");
    }

    #[test]
    fn a_record_that_is_not_kept_can_be_read_until_it_is_dropped() {
        let record = model::zoo::record();
        let mut store =
            Store::in_memory(record.header.clone(), RecordFate::Lost("no home".to_string()))
                .unwrap();
        store.append(&model::record::RecordLine::Trial(record.trials[0].clone())).unwrap();
        let read = store::read(store.path()).unwrap();
        assert_eq!(read.trials, record.trials[..1]);
        assert_eq!(store.why_unkept(), Some("no home"));
    }
}
