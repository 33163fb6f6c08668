//! Kept runs that show how much runs of one question differ.

use crate::assessment::rows;
use crate::invocations::exchangeable;
use crate::row::Row;
use crate::stats::median;
use crate::surroundings::storage_facts;
use model::case::Case;
use model::record::{Header, Record};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Use only the latest kept runs, because they show today's spread.
const EARLIER_MOST: usize = 40;

/// The last [`EARLIER_MOST`] records that began before the later of the two, in order of their
/// start. They have the same recipe, machine, place and bounds, and exclude both records and
/// copies. The date format sorts chronologically.
pub fn earlier<'k>(a: &Header, b: &Header, kept: &'k [Record]) -> Vec<&'k Record> {
    let later = a.began.as_str().max(&b.began);
    let is_alike = |record: &Record| {
        let (ours, other) = (b, &record.header);
        let is_same = |header: &Header| header.began == other.began;
        ours.plan.recipe == other.plan.recipe
            && ours.host.name == other.host.name
            && storage_facts(ours) == storage_facts(other)
            && place(ours) == place(other)
            && ours.plan.bound == other.plan.bound
            && other.began.as_str() < later
            && !is_same(a)
            && !is_same(b)
    };
    let mut earlier: Vec<&Record> = kept.iter().filter(|record| is_alike(record)).collect();
    earlier.sort_by(|one, other| one.header.began.cmp(&other.header.began));
    // A copy of a record, or a folder with two names, is not a second run.
    earlier.dedup_by(|one, other| one.header.began == other.header.began);
    earlier.drain(..earlier.len().saturating_sub(EARLIER_MOST));
    earlier
}

/// The location of the files: two disks of one kind are different locations.
fn place(header: &Header) -> Option<(&Path, Vec<&str>)> {
    let storage = header.storage.as_ref()?;
    let devices = storage.devices.iter().map(|device| device.name.as_str()).collect();
    Some((&storage.mount_point, devices))
}

/// The figures of each case in kept runs, without void ones.
pub(crate) type Earlier<'k> = HashMap<&'k Case, Vec<f64>>;

pub(crate) fn figures<'k>(earlier: &[&'k Record]) -> Earlier<'k> {
    let mut figures = Earlier::new();
    for record in earlier {
        let rows = rows(record);
        // A twin repeats the case of an earlier row, which is the one that counts.
        let mut known = HashSet::new();
        let mut is_new = |row: &&Row<'k>| row.stands() && known.insert(row.measured.case);
        for row in rows.iter().filter(&mut is_new) {
            if let Some(figure) = median(&exchangeable(&row.measured.rates())) {
                figures.entry(row.measured.case).or_default().push(figure);
            }
        }
    }
    figures
}
