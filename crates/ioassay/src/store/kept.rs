//! The records of earlier runs of a recipe, which show how much its figures vary from run to run.

use super::{read, records_of};
use crate::input;
use model::record::{LINE_BYTES_MAX, Record};
use std::path::PathBuf;

/// Maximum number of kept records to read, of all recipes: those with the last names.
const KEPT_MOST: usize = 1_000;

/// Maximum size of all kept records; each may take at most a thirtieth of it. Those with the last
/// names are read, and names are dates by default.
const KEPT_BYTES_MAX: u64 = 60 << 20;

/// The records of a recipe in `folders`. Those that cannot be read are skipped.
pub fn kept(folders: &[PathBuf], recipe: &str) -> Vec<Record> {
    let mut paths: Vec<PathBuf> =
        folders.iter().flat_map(|folder| records_of(folder).unwrap_or_default()).collect();
    paths.sort_by(|one, other| other.file_name().cmp(&one.file_name()));
    paths.truncate(KEPT_MOST);
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
