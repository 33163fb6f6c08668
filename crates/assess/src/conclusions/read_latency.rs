//! Whether a figure depends on how long it was measured.

use crate::decision::{Decided, differs_by};
use crate::row::{Row, grouped};
use model::case::{Io, ReadWork};
use model::plan::Role;

/// For rows that differ only in their number of operations: the most compared with the fewest.
pub(crate) fn read_latency(rows: &[Row]) -> Vec<Decided> {
    let asked = rows.iter().filter(|row| row.measured.role == Role::Asked && row.stands());
    let alike = grouped(asked, |row| {
        let work = ReadWork { io: Io { ops: 0, ..row.read()?.io }, ..*row.read()? };
        Some((work, row.measured.case.peer.clone()))
    });
    alike.iter().filter_map(|members| change(members)).collect()
}

fn change(members: &[&Row]) -> Option<Decided> {
    // 0 means no limit, which is more than any number.
    let ops = |row: &&&Row| row.read().map(|work| work.io.ops.wrapping_sub(1));
    let (few, many) = (members.iter().min_by_key(ops)?, members.iter().max_by_key(ops)?);
    if std::ptr::eq(*few, *many) {
        return None;
    }
    let rates = [many, few].map(|row| row.measured.rates());
    differs_by([many, few], [&rates[0], &rates[1]])
}
