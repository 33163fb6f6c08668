//! What other work on the same storage does to a case.

use crate::actors::ActorFigures;
use crate::counted::Counted;
use crate::decision::{Decided, Decision, Named, is_faster, is_faster_by};
use crate::form::As;
use crate::latency::{Latency, UNSENT_NS};
use crate::measured::Rounds;
use crate::open_loop;
use crate::percentile::{Percentile, percentile_ns};
use crate::ratio::Ratio;
use crate::row::{Row, grouped};
use model::case::Case;
use model::named;
use model::plan::Role;
use model::sample::Latencies;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;

named! {
    /// The time that an operation takes for whoever asks for it.
    LatencyKind "timed" {
        /// From when it was due, for a case with a rate.
        Response "response",
        /// That of the sync that makes it durable.
        Sync "sync",
        /// From its start to its completion.
        Service "service",
    }
}

impl LatencyKind {
    /// How long the operations of `case` take, whatever syncs them.
    pub(super) fn of_operations(case: &Case) -> LatencyKind {
        if case.is_open() { LatencyKind::Response } else { LatencyKind::Service }
    }

    /// All of these in a trial.
    pub(super) fn times<'a>(self, trial: &Counted<'a>) -> Cow<'a, Latencies> {
        match self {
            LatencyKind::Response => Cow::Owned(open_loop::responses(trial.sample)),
            LatencyKind::Sync => Cow::Borrowed(&trial.sample.syncs),
            LatencyKind::Service => Cow::Borrowed(&trial.sample.latencies),
        }
    }
}

/// A case alone and beside actors.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Interference {
    /// What the percentiles are of.
    pub timed: LatencyKind,
    /// The case alone.
    pub alone: InterferenceSide,
    /// The same case beside each set of actors.
    pub beside: Vec<Disturbed>,
}

/// One of the compared cases.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Side")]
pub struct InterferenceSide {
    /// The case.
    pub case: Named,
    /// Operations per second, median of the rounds.
    pub iops: f64,
    /// The median time in nanoseconds; null if unknown.
    pub p50_ns: Option<u64>,
    /// The 99th percentile of the times; 18446744073709551615 if the operation had not begun when
    /// the time was up.
    pub p99_ns: Option<u64>,
}

/// A case beside actors, compared with the case alone, in the same rounds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Disturbed {
    /// The figures.
    #[serde(flatten)]
    pub side: InterferenceSide,
    /// What the actors did.
    pub actors: Vec<ActorFigures>,
    /// How many times as long the p99 is, from paired rounds; null if a round has too few
    /// operations, or if operations never began.
    #[serde(with = "As::<Option<Ratio>>")]
    pub p99: Option<Decided>,
    /// How many times as fast the case is alone; null for a case with a rate.
    #[serde(with = "As::<Option<Ratio>>")]
    pub rate: Option<Decided>,
}

/// The cases that were measured alone and beside actors.
pub(crate) fn interferences(rows: &[Row]) -> Vec<Interference> {
    let asked = rows.iter().filter(|row| row.measured.role == Role::Asked && row.stands());
    let same = grouped(asked, |row| {
        let case = row.measured.case;
        case.uses_storage().then(|| case.alone())
    });
    same.iter().filter_map(|rows| of(rows)).collect()
}

fn of(rows: &[&Row]) -> Option<Interference> {
    let is_alone = |row: &&&Row| row.measured.case.beside.is_empty();
    let alone = rows.iter().find(is_alone)?;
    let timed = timed(alone);
    let others = rows.iter().filter(|row| !is_alone(row));
    let beside: Vec<Disturbed> = others.filter_map(|row| disturbed(row, alone, timed)).collect();
    let alone = side(alone, timed)?;
    (!beside.is_empty()).then_some(Interference { timed, alone, beside })
}

fn timed(row: &Row) -> LatencyKind {
    match &row.summary.writing {
        _ if row.measured.case.is_open() => LatencyKind::Response,
        Some(writing) if writing.sync.count > 0 => LatencyKind::Sync,
        _ => LatencyKind::Service,
    }
}

fn side(row: &Row, timed: LatencyKind) -> Option<InterferenceSide> {
    let summary = &row.summary;
    let latency: &Latency = match timed {
        LatencyKind::Response => &summary.open.as_ref()?.response,
        LatencyKind::Sync => &summary.writing.as_ref()?.sync,
        LatencyKind::Service => &summary.latency,
    };
    let ns = |percentile: Option<Percentile>| percentile.map(|it| it.ns);
    Some(InterferenceSide {
        case: Named::of(summary)?,
        iops: summary.iops?.median,
        p50_ns: ns(latency.p50),
        p99_ns: ns(latency.p99),
    })
}

fn disturbed(row: &Row, alone: &Row, timed: LatencyKind) -> Option<Disturbed> {
    let is_closed = timed != LatencyKind::Response;
    let speeds = [alone, row].map(|row| speeds(row, timed));
    let p99 = speeds[0].as_ref().zip(speeds[1].as_ref());
    Some(Disturbed {
        side: side(row, timed)?,
        actors: row.summary.beside.clone(),
        p99: p99.and_then(|(alone_s, rows)| is_faster_by([alone, row], [alone_s, rows], None)),
        rate: is_faster(alone, row).filter(|_| is_closed),
    })
}

/// The reciprocal of each round's p99: a case is faster if it is larger. `None` unless all rounds
/// have one.
fn speeds(row: &Row, timed: LatencyKind) -> Option<Rounds> {
    let speed = |trial: &Counted| {
        let ns = percentile_ns(&timed.times(trial), 100)?;
        (ns > 0 && ns != UNSENT_NS).then(|| trial.at(1.0 / ns as f64))
    };
    row.measured.trials.iter().map(speed).collect()
}

impl Disturbed {
    /// Whether the p99 is longer than alone.
    pub fn is_longer(&self) -> Decision {
        self.p99.as_ref().map_or(Decision::Undecided, Decided::decision)
    }
}
