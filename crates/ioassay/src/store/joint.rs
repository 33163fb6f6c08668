//! The records of a run on several hosts: a folder with all of them.

use super::dated::dated_path;
use super::{RecordFate, Store};
use anyhow::Result;
use model::record::Header;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Where the records of several hosts go. If it cannot be written, they are not kept.
#[derive(Debug)]
pub struct JointPlace(Result<PathBuf, String>);

impl JointPlace {
    /// The folder that `--record` names, or a dated one in the state folder.
    pub fn of(asked: Option<&Path>, recipe: &str) -> JointPlace {
        let dated = || Ok(dated_path(recipe, SystemTime::now())?.with_extension(""));
        let folder = asked.map_or_else(dated, |folder| Ok(folder.to_path_buf()));
        JointPlace(folder.map_err(|reason: anyhow::Error| format!("{reason:#}")))
    }

    /// The folder, if there can be one.
    pub fn folder(&self) -> Option<&Path> {
        self.0.as_deref().ok()
    }

    /// Begins these records, each with the name of its file: all are kept or, if one cannot be
    /// written, none. Then nothing stays there, not even the folder.
    ///
    /// # Errors
    /// If there is no memory for records that are not kept.
    pub fn begin(&self, records: Vec<(String, Header)>) -> Result<Vec<Store>> {
        let kept = self.0.clone().and_then(|folder| {
            create_all(&folder, &records).map_err(|reason| format!("{reason:#}"))
        });
        kept.or_else(|reason| {
            let lost = |(_, header)| Store::in_memory(header, RecordFate::Lost(reason.clone()));
            records.into_iter().map(lost).collect()
        })
    }
}

fn create_all(folder: &Path, records: &[(String, Header)]) -> Result<Vec<Store>> {
    let is_missing = |path: &&Path| path.symlink_metadata().is_err();
    let missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
    let mut stores: Vec<Store> = Vec::with_capacity(records.len());
    for (name, header) in records {
        match Store::create(&folder.join(name), header.clone()) {
            Ok(store) => stores.push(store),
            Err(error) => {
                // What cannot be removed has become somebody else's meanwhile.
                stores.iter().for_each(|store| drop(std::fs::remove_file(store.path())));
                missing.into_iter().for_each(|folder| drop(std::fs::remove_dir(folder)));
                return Err(error);
            }
        }
    }
    Ok(stores)
}

/// Where a file in memory can be read.
pub(super) fn in_memory(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// A record that can be read once nobody writes it any more.
#[derive(Debug)]
pub struct ReadableRecord {
    path: PathBuf,
    /// What holds it, if it is in memory.
    _held: Option<File>,
}

impl ReadableRecord {
    pub(super) fn at(path: PathBuf, held: Option<File>) -> ReadableRecord {
        ReadableRecord { path, _held: held }
    }

    /// Its path, for as long as this lives.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store;
    use model::record::RecordLine;

    fn two() -> Vec<(String, Header)> {
        ["1-a.jsonl", "2-b.jsonl"].map(|name| (name.to_owned(), model::zoo::record().header)).into()
    }

    #[test]
    fn all_records_of_a_run_are_kept_or_none() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("new/run");
        let place = JointPlace::of(Some(&folder), "cluster");
        // The second file cannot be written.
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("2-b.jsonl"), "years of work").unwrap();
        let stores = place.begin(two()).unwrap();
        assert!(stores.iter().all(|store| !store.is_kept()));
        assert_eq!(store::records_of(&folder).unwrap(), [folder.join("2-b.jsonl")]);
        std::fs::remove_file(folder.join("2-b.jsonl")).unwrap();
        let stores = place.begin(two()).unwrap();
        assert!(stores.iter().all(Store::is_kept));
        assert_eq!(store::records_of(&folder).unwrap().len(), 2);
    }

    #[test]
    fn nothing_stays_where_no_record_can_be() {
        let parent = tempfile::tempdir().unwrap();
        // A file system allows no such name; the folders could be made.
        let mut records = two();
        records[0].0 = "x".repeat(300);
        let folder = parent.path().join("new/run");
        let stores = JointPlace::of(Some(&folder), "cluster").begin(records).unwrap();
        assert!(stores[0].why_unkept().unwrap().contains("failed to create"), "{stores:?}");
        assert!(!parent.path().join("new").exists());
        std::fs::write(parent.path().join("file"), "years of work").unwrap();
        let inside = JointPlace::of(Some(&parent.path().join("file/run")), "cluster");
        let stores = inside.begin(two()).unwrap();
        assert!(stores[1].why_unkept().unwrap().contains("the folder"), "{stores:?}");
    }

    #[test]
    fn a_record_in_memory_can_be_read_after_its_run() {
        let place = JointPlace(Err("no home".to_owned()));
        let record = model::zoo::record();
        let mut store = place.begin(two()).unwrap().remove(0);
        let written = store.written().unwrap();
        store.append(&RecordLine::Trial(record.trials[0].clone())).unwrap();
        drop(store);
        assert_eq!(store::read(written.path()).unwrap().trials, record.trials[..1]);
    }
}
