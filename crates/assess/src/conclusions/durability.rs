//! The fastest way to write: acknowledged, and durable.

use super::touches::writes_pages;
use crate::decision::{Contestant, Decided, Decision, Lead, Named, Rated, differs_by, lead};
use crate::finding::Verdict;
use crate::form::{As, FormOf};
use crate::measured::{Measured, Rounds};
use crate::ratio::Ratio;
use crate::row::Row;
use crate::stats::Estimate;
use crate::writing::{Writing, acknowledged_rates, durable_rates};
use model::case::{Fill, Op, WriteEngine, WriteWork};
use model::plan::Role;
use schemars::JsonSchema;
use serde::Serialize;

/// The closing answer of a run that writes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WritingAnswer {
    /// The highest acknowledged rate: what a program that does not wait sees.
    #[serde(with = "As::<Option<FastestWrites>>")]
    pub acknowledged: Option<Lead>,
    /// The highest durable rate.
    #[serde(with = "As::<Option<FastestWrites>>")]
    pub durable: Option<Lead>,
    /// The cost of durability: the durable rate of the `acknowledged` case divided by its
    /// acknowledged rate in the same trials, if it has both. Otherwise the rate of `durable`
    /// divided by that of `acknowledged`, from paired rounds. Null if either is missing.
    #[serde(with = "As::<Option<Ratio>>")]
    pub cost: Option<Decided>,
}

/// The fastest row by one of its rates.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FastestWrite")]
struct FastestWrites {
    /// Its id.
    id: Named,
    /// Bytes per second.
    rate: Estimate,
    /// How far to trust it.
    verdict: Verdict,
    /// Whether it is faster than each other sound row.
    is_fastest: Decision,
    /// Ids of the other rows that the data cannot distinguish from it.
    alike: Vec<Named>,
}

impl FormOf<Lead> for FastestWrites {
    fn of(lead: &Lead) -> FastestWrites {
        let Rated { row, rate } = lead.best();
        FastestWrites {
            id: row.clone(),
            rate: *rate,
            verdict: row.verdict,
            is_fastest: lead.decision(),
            alike: lead.alike().to_vec(),
        }
    }
}

/// The answer, if our own worker was asked to write data. Excludes cases that only touch pages, and
/// copies, unless it was only asked to copy.
///
/// Data filled with one byte may have been compressed, so it takes part only if no other case has
/// such a rate.
pub(crate) fn writing_answer(rows: &[Row]) -> Option<WritingAnswer> {
    let asked = |op| rows.iter().filter(|row| is_asked(row, op)).collect::<Vec<&Row>>();
    let writes = asked(Op::Write);
    let asked = if writes.is_empty() { asked(Op::Copy) } else { writes };
    if asked.is_empty() {
        return None;
    }
    let standing: Vec<&Row> = asked.into_iter().filter(|row| row.has_own_rate()).collect();
    let acknowledged = fastest(&standing, |writing| writing.acknowledged, acknowledged_rates);
    let durable = fastest(&standing, |writing| writing.durable, durable_rates);
    let cost = acknowledged.as_ref().zip(durable.as_ref()).and_then(|(acknowledged, durable)| {
        let has_both = acknowledged.0.summary.writing.as_ref()?.durable.is_some();
        let row = if has_both { acknowledged.0 } else { durable.0 };
        let rates = [durable_rates(&row.measured), acknowledged_rates(&acknowledged.0.measured)];
        differs_by([row, acknowledged.0], [&rates[0], &rates[1]])
    });
    Some(WritingAnswer {
        acknowledged: acknowledged.map(|(_, lead)| lead),
        durable: durable.map(|(_, lead)| lead),
        cost,
    })
}

fn is_asked(row: &Row, op: Op) -> bool {
    let page = row.measured.host.page;
    let writes = |work: &WriteWork| {
        work.op == op && work.engine != WriteEngine::Null && !writes_pages(work, page)
    };
    row.is_own()
        && row.measured.role == Role::Asked
        && row.measured.case.write().is_some_and(writes)
}

/// The fastest row by this rate, if any has it. Rows with incompressible data take precedence,
/// however fast others are.
fn fastest<'a, 'r>(
    rows: &[&'a Row<'r>],
    rate: impl Fn(&Writing) -> Option<Estimate>,
    rounds: impl Fn(&Measured) -> Rounds,
) -> Option<(&'a Row<'r>, Lead)> {
    let contestant = |row: &&'a Row<'r>| {
        let rate = rate(row.summary.writing.as_ref()?)?;
        Some(Contestant { row, rate, rounds: rounds(&row.measured) })
    };
    let mut all: Vec<Contestant> = rows.iter().filter_map(contestant).collect();
    let does_not_compress = |one: &Contestant| fill(one.row) == Some(Fill::Random);
    if all.iter().any(does_not_compress) {
        all.retain(does_not_compress);
    }
    lead(&all)
}

fn fill(row: &Row) -> Option<Fill> {
    Some(row.measured.case.write()?.fill)
}
