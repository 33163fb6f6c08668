//! Which way to write is fastest: until it is accepted, and until it is durable.

use crate::ratio::Ratio;
use crate::row::Row;
use crate::stats::Estimate;
use crate::touching::writes_pages;
use crate::writing::{Writing, accepted_rates, durable_rates};
use model::case::{Fill, Op, Sync, WriteEngine, WriteWork};
use model::plan::Role;

/// A case with one of its rates.
#[derive(Debug, Clone, PartialEq)]
pub struct Rated {
    /// Id of the case.
    pub id: String,
    /// Bytes a second.
    pub rate: Estimate,
}

/// The closing answer of a run that writes.
#[derive(Debug, Clone, PartialEq)]
pub struct WritingAnswer {
    /// The highest accepted rate: what a program sees that does not wait.
    pub accepted: Option<Rated>,
    /// The highest durable rate.
    pub durable: Option<Rated>,
    /// What durability costs the case that is `durable`: its durable rate over its accepted rate,
    /// of the same trials, where it is synced at its end. Where it is synced on the way, its
    /// accepted rate has paid already: then over the accepted rate of the case that differs in
    /// its syncs only and has none before its end. None if that was not measured.
    pub cost: Option<Ratio>,
}

/// The answer, where any case of this program's own worker was asked to write data of its own.
/// Copies are left out, and so is what touches pages only.
///
/// What was filled with one byte may have been compressed: it takes part only if nothing else
/// has such a rate.
pub(crate) fn writing_answer(rows: &[Row]) -> Option<WritingAnswer> {
    let asked: Vec<&Row> = rows.iter().filter(|row| is_asked(row)).collect();
    if asked.is_empty() {
        return None;
    }
    let standing: Vec<&Row> = asked.into_iter().filter(|row| row.stands()).collect();
    let durable = fastest(&standing, |writing| writing.durable);
    Some(WritingAnswer {
        accepted: fastest(&standing, |writing| writing.accepted).map(|(_, rated)| rated),
        cost: durable.as_ref().and_then(|(row, _)| cost(row, &standing)),
        durable: durable.map(|(_, rated)| rated),
    })
}

fn is_asked(row: &Row) -> bool {
    let writes = |work: &WriteWork| {
        work.op == Op::Write && work.engine != WriteEngine::Null && !writes_pages(work)
    };
    row.is_own()
        && row.measured.role == Role::Asked
        && row.measured.case.write().is_some_and(writes)
}

/// The row that is the fastest by this rate, if any has it.
fn fastest<'a, 'r>(
    rows: &[&'a Row<'r>],
    rate: impl Fn(&Writing) -> Option<Estimate>,
) -> Option<(&'a Row<'r>, Rated)> {
    let rate_of = |row: &&'a Row<'r>| Some((*row, rate(row.summary.writing.as_ref()?)?));
    let does_not_compress = |row: &Row| fill(row) == Some(Fill::Random);
    // A fill that does not compress goes before all others, however fast those are.
    let by_fill_and_rate = |a: &(&Row, Estimate), b: &(&Row, Estimate)| {
        let by_fill = does_not_compress(a.0).cmp(&does_not_compress(b.0));
        by_fill.then(a.1.median.total_cmp(&b.1.median))
    };
    let (row, rate) = rows.iter().filter_map(rate_of).max_by(by_fill_and_rate)?;
    Some((row, Rated { id: row.summary.id.clone(), rate }))
}

fn fill(row: &Row) -> Option<Fill> {
    Some(row.measured.case.write()?.fill)
}

/// What durability costs this row.
fn cost(durable: &Row, rows: &[&Row]) -> Option<Ratio> {
    let work = durable.measured.case.write()?;
    let base = if has_paid(work) { accepted_alike(work, rows)? } else { durable };
    Ratio::of_any(&durable_rates(&durable.measured), &accepted_rates(&base.measured))
}

/// Whether syncs before the end are in the accepted rate.
fn has_paid(work: &WriteWork) -> bool {
    work.sync == Sync::Dsync || work.every > 0
}

/// The row of the highest accepted rate that differs from `work` in its syncs only, and has none
/// before its end.
fn accepted_alike<'a, 'r>(work: &WriteWork, rows: &[&'a Row<'r>]) -> Option<&'a Row<'r>> {
    let without_syncs = |work: &WriteWork| WriteWork { sync: Sync::None, every: 0, ..work.clone() };
    let is_alike =
        |other: &WriteWork| !has_paid(other) && without_syncs(other) == without_syncs(work);
    let alike = rows.iter().filter(|row| row.measured.case.write().is_some_and(is_alike));
    let alike: Vec<&Row> = alike.copied().collect();
    Some(fastest(&alike, |writing| writing.accepted)?.0)
}
