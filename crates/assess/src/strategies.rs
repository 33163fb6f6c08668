//! Which way to write is fastest: until it is accepted, and until it is durable.

use crate::finding::Verdict;
use crate::ratio::Ratio;
use crate::row::Row;
use crate::stats::Estimate;
use crate::touching::writes_pages;
use crate::writing::{Writing, accepted_rates, durable_rates};
use model::case::{Fill, Op, WriteEngine, WriteWork};
use model::plan::Role;

/// A case with one of its rates.
#[derive(Debug, Clone, PartialEq)]
pub struct Rated {
    /// Id of the case.
    pub id: String,
    /// Bytes a second.
    pub rate: Estimate,
    /// What the case is worth: sound or doubtful.
    pub verdict: Verdict,
}

/// The closing answer of a run that writes.
#[derive(Debug, Clone, PartialEq)]
pub struct WritingAnswer {
    /// The highest accepted rate: what a program sees that does not wait.
    pub accepted: Option<Rated>,
    /// The highest durable rate.
    pub durable: Option<Rated>,
    /// What is left of the rate of the case that is `accepted` once it is to be durable: its own
    /// durable rate over its accepted rate, of the same trials, where it has both. Else the rate
    /// of `durable` over that of `accepted`, by paired rounds. None if either is.
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
    let accepted = fastest(&standing, |writing| writing.accepted);
    let durable = fastest(&standing, |writing| writing.durable);
    let cost = accepted.as_ref().zip(durable.as_ref()).and_then(|(accepted, durable)| {
        let has_both = accepted.0.summary.writing.as_ref()?.durable.is_some();
        let row = if has_both { accepted.0 } else { durable.0 };
        Ratio::of_any(&durable_rates(&row.measured), &accepted_rates(&accepted.0.measured))
    });
    Some(WritingAnswer {
        accepted: accepted.map(|(_, rated)| rated),
        durable: durable.map(|(_, rated)| rated),
        cost,
    })
}

fn is_asked(row: &Row) -> bool {
    let page = row.measured.host.page;
    let writes = |work: &WriteWork| {
        work.op == Op::Write && work.engine != WriteEngine::Null && !writes_pages(work, page)
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
    Some((row, Rated { id: row.summary.id.clone(), rate, verdict: row.summary.verdict }))
}

fn fill(row: &Row) -> Option<Fill> {
    Some(row.measured.case.write()?.fill)
}
