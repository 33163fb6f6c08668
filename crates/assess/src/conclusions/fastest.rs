//! The fastest of the cases that a source of bytes served.

use crate::decision::{Contestant, Lead, lead};
use crate::row::Row;
use crate::summary::ServedBy;
use model::plan::Role;

/// The fastest requested case for each source of the bytes.
pub(crate) fn fastest(rows: &[Row]) -> Vec<(ServedBy, Lead)> {
    ServedBy::ALL.iter().filter_map(|by| Some((*by, fastest_of(rows, *by)?))).collect()
}

fn fastest_of(rows: &[Row], by: ServedBy) -> Option<Lead> {
    let is_asked = |row: &&Row| row.measured.role == Role::Asked && row.is_served(by);
    let served: Vec<Contestant> = rows.iter().filter(is_asked).filter_map(Contestant::of).collect();
    Some(lead(&served)?.1)
}
