//! Which way to read is the fastest, for cases that differ only in their engine.

use crate::comparison::at_usual;
use crate::decision::{Contestant, Lead, lead};
use crate::row::{Row, grouped};
use model::plan::Role;

/// The fastest engine for each kind of read that several of this program's own engines did, where
/// the same source served the bytes.
pub(crate) fn engines(rows: &[Row]) -> Vec<Lead> {
    let is_asked = |row: &&Row| row.measured.role == Role::Asked && row.stands() && row.is_own();
    let alike = grouped(rows.iter().filter(is_asked), |row| {
        row.read()?;
        Some((at_usual(row, "engine")?, row.summary.served_by))
    });
    let several = alike.iter().filter(|members| members.len() > 1);
    let lead_of = |members: &Vec<&Row>| {
        let all: Vec<Contestant> = members.iter().filter_map(|row| Contestant::of(row)).collect();
        lead(&all).map(|(_, lead)| lead)
    };
    several.filter_map(lead_of).collect()
}
