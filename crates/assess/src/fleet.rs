//! Several hosts that should be alike, each measured by itself: which of them are odd, in what, and
//! how their machines differ.
//!
//! Records are added one at a time, and only their figures are kept.

mod facts;

use crate::assessment::rows;
use crate::comparison::least_of_interest;
use crate::finding::{Code, Severity, Verdict};
use crate::matching::{MatchKey, key};
use crate::middle::{median, variance};
use crate::odd::{CaseLevels, HOSTS_LEAST, HostLevel, Odd, odd};
use crate::row::Row;
use crate::stats::Estimate;
use crate::summary::{ServedBy, Summary};
use crate::surroundings::Fact;
use crate::tally::Tally;
use crate::trend::{FigureUnit, main_estimate};
use facts::{differing, facts_of, own};
use model::axis;
use model::case::Case;
use model::plan::Role;
use model::record::{End, Header, Record};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

pub use facts::{Differing, OwnFact, Valued};

/// The maximum number of figures, of all hosts together.
pub const FIGURES_MAX: usize = 1_000_000;

/// Several hosts, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Fleet {
    /// The hosts, in the order given.
    pub hosts: Vec<FleetHost>,
    /// The requested cases that at least two hosts have.
    pub cases: Vec<Common>,
    /// Those that one host has.
    pub alone: Vec<Alone>,
    /// What is not alike on all hosts: facts about the machines, the storage and the run.
    pub differing: Vec<Differing>,
    /// Records that were given twice, and count once.
    pub copies: Vec<String>,
}

/// A host.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetHost {
    /// What it is called here: its name, if that is unique.
    pub called: String,
    /// The path of its record.
    pub record: String,
    /// The header of its record without its plan's cases.
    pub header: Header,
    /// How its run ended.
    pub end: End,
    /// The parts of its record that could not be read.
    pub damage: Vec<String>,
    /// The number of its requested cases by verdict.
    pub tally: Tally,
    /// What it has and most others have not: these may be why it is odd.
    pub own: Vec<OwnFact>,
}

/// A requested case that one host has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Alone {
    /// The case's id.
    pub id: String,
    /// The host, by its place in `hosts`.
    pub host: usize,
}

/// A case on several hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Common {
    /// Its id.
    pub id: String,
    /// Its axes.
    pub case: Case,
    /// The unit of its figures.
    pub quantity: FigureUnit,
    /// How many hosts have a figure that counts: one that is not void, of two or more rounds.
    pub n: usize,
    /// The median of their figures; none if there is none.
    pub median: Option<f64>,
    /// The standard deviation of the logarithm over the hosts that are not odd; none of one.
    pub spread: Option<f64>,
    /// A host would be odd if its rate were below this share of the others'; none if they are too
    /// few.
    pub odd_below: Option<f64>,
    /// The figure of each host, in the order of `hosts`; none where it has not this case.
    pub figures: Vec<Option<HostFigure>>,
}

impl Common {
    /// Whether there are enough hosts to tell which are odd.
    pub fn is_told(&self) -> bool {
        self.n >= HOSTS_LEAST
    }

    /// The odd hosts, by their place in `hosts`.
    pub fn odd(&self) -> impl Iterator<Item = (usize, &HostFigure, &Odd)> {
        let of = self.figures.iter().enumerate();
        of.filter_map(|(host, figure)| {
            let figure = figure.as_ref()?;
            Some((host, figure, figure.odd.as_ref()?))
        })
    }
}

/// The figure of a case on a host.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HostFigure {
    /// The verdict of the host's own evidence.
    pub verdict: Verdict,
    /// The source that served the bytes, by the evidence.
    pub served_by: Option<ServedBy>,
    /// Of a command: bytes that devices read for it, median of the rounds.
    pub device_read_bytes: Option<u64>,
    /// Completed trials that count.
    pub n: usize,
    /// Bytes per second, or nanoseconds per operation; null without a figure.
    pub estimate: Option<Estimate>,
    /// The 99th percentile of the latencies in nanoseconds.
    pub p99_ns: Option<u64>,
    /// Its rate divided by the median of all hosts; null if it does not count: void figures, and
    /// those of a single round.
    pub ratio: Option<f64>,
    /// How far it is from the other hosts, if it is odd; otherwise null.
    pub odd: Option<Odd>,
    /// The findings that speak against it.
    pub doubts: Vec<Code>,
    /// Those of them that most other hosts have not.
    pub own_doubts: Vec<Code>,
    #[serde(skip)]
    level: Option<HostLevel>,
    #[serde(skip)]
    interest: f64,
}

/// Why a record was not added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the records have more than {FIGURES_MAX} figures together, which is the maximum of a report: \
     give fewer records at a time"
)]
pub struct TooMany;

/// Records of hosts, added one at a time.
#[derive(Debug, Default)]
pub struct FleetRecords {
    hosts: Vec<RecordSummary>,
    /// Each different case, in order of first appearance.
    cases: Vec<Case>,
    /// A case's index, by what makes it the same and its number among equals of one record.
    places: HashMap<(MatchKey, usize), usize>,
    copies: Vec<String>,
    figures: usize,
}

/// What is kept of a record.
#[derive(Debug)]
struct RecordSummary {
    member: FleetHost,
    facts: Vec<Fact>,
    /// The figures, with the index of their case.
    figures: Vec<(usize, HostFigure)>,
}

impl FleetRecords {
    /// Judges the record at `path` and adds its figures, unless it is a copy of one that is there.
    /// Returns whether it was added.
    ///
    /// # Errors
    /// If there are too many.
    pub fn add(&mut self, record: &Record, path: &str) -> Result<bool, TooMany> {
        let header = &record.header;
        let mut bare = header.clone();
        (bare.plan.cases, bare.plan.skips) = (Vec::new(), Vec::new());
        // Also of one run, the two sides of a gate have headers of their own.
        if self.hosts.iter().any(|other| other.member.header == bare) {
            self.copies.push(path.to_string());
            return Ok(false);
        }
        let rows = rows(record);
        let asked = || rows.iter().filter(|row| row.measured.role == Role::Asked);
        let tally = Tally::of(asked().map(|row| row.summary.verdict));
        let mut figures = Vec::new();
        let mut among: HashMap<MatchKey, usize> = HashMap::new();
        for row in asked() {
            let key = key(&row.summary);
            let number = among.entry(key.clone()).or_default();
            let next = self.cases.len();
            let case = *self.places.entry((key, *number)).or_insert(next);
            if case == next {
                self.cases.push(row.summary.case.clone());
            }
            *number += 1;
            figures.push((case, HostFigure::of(row)));
        }
        self.figures += figures.len();
        if self.figures > FIGURES_MAX {
            return Err(TooMany);
        }
        let member = FleetHost {
            called: header.called.clone().unwrap_or_else(|| header.host.name.clone()),
            record: path.to_string(),
            header: bare,
            end: record.end.clone(),
            damage: record.damage.clone(),
            tally,
            own: Vec::new(),
        };
        let facts = facts_of(header);
        self.hosts.push(RecordSummary { member, facts, figures });
        Ok(true)
    }

    /// Judges all hosts together.
    pub fn judge(self) -> Fleet {
        let names = names(&self.hosts);
        let facts: Vec<&[Fact]> = self.hosts.iter().map(|host| &host.facts[..]).collect();
        let differing = differing(&facts);
        let ids = axis::ids(self.cases.iter());
        let mut figures: Vec<Vec<Option<HostFigure>>> = vec![Vec::new(); self.cases.len()];
        let mut hosts = Vec::with_capacity(self.hosts.len());
        for ((place, host), called) in self.hosts.into_iter().enumerate().zip(names) {
            for (case, figure) in host.figures {
                figures[case].resize(place, None);
                figures[case].push(Some(figure));
            }
            hosts.push(FleetHost { called, own: own(&differing, place), ..host.member });
        }
        let (mut cases, mut alone) = (Vec::new(), Vec::new());
        for ((id, case), mut figures) in ids.into_iter().zip(self.cases).zip(figures) {
            figures.resize(hosts.len(), None);
            let mut with = figures.iter().enumerate().filter(|(_, figure)| figure.is_some());
            match (with.next(), with.next()) {
                (Some((host, _)), None) if hosts.len() > 1 => alone.push(Alone { id, host }),
                _ => cases.push(Common::of(id, case, figures)),
            }
        }
        tell_odd(&mut cases);
        Fleet { hosts, cases, alone, differing, copies: self.copies }
    }
}

impl HostFigure {
    fn of(row: &Row) -> HostFigure {
        let summary = &row.summary;
        let estimate = main_estimate(summary).map(|(estimate, _)| estimate);
        let is_against = summary.findings.iter().filter(|it| it.severity >= Severity::Doubt);
        HostFigure {
            verdict: summary.verdict,
            served_by: summary.served_by,
            device_read_bytes: summary.command.as_ref().and_then(|it| it.device_read_bytes),
            n: summary.n,
            estimate,
            p99_ns: summary.latency.p99.map(|p99| p99.ns),
            ratio: None,
            odd: None,
            doubts: is_against.map(|finding| finding.code).collect(),
            own_doubts: Vec::new(),
            level: estimate.filter(|_| counts(summary)).and_then(|_| level(row)),
            interest: least_of_interest(summary),
        }
    }
}

/// Whether a case's figure is one of the machine. A doubtful one is: where a limit or other work
/// holds a host back, that is its doubt.
fn counts(summary: &Summary) -> bool {
    summary.verdict.stands()
}

fn level(row: &Row) -> Option<HostLevel> {
    let rates = row.measured.rates();
    let logs: Vec<_> = rates.iter().map(|round| round.with(round.value.ln())).collect();
    HostLevel::of_logs(&logs).filter(|level| level.log.is_finite() && level.error.is_finite())
}

impl Common {
    fn of(id: String, case: Case, mut figures: Vec<Option<HostFigure>>) -> Common {
        let levels = || figures.iter().flatten().filter_map(|it| Some((it.level?, it.estimate?)));
        let logs: Vec<f64> = levels().map(|(level, _)| level.log).collect();
        let medians: Vec<f64> = levels().map(|(_, estimate)| estimate.median).collect();
        if let Some(middle) = median(&logs) {
            for figure in figures.iter_mut().flatten() {
                figure.ratio = figure.level.map(|level| (level.log - middle).exp());
            }
        }
        let quantity = FigureUnit::of(&case);
        let median = median(&medians);
        Common { id, case, quantity, n: logs.len(), median, spread: None, odd_below: None, figures }
    }

    /// The standard deviation over the hosts that are not odd.
    fn spread(&self) -> Option<f64> {
        let alike = self.figures.iter().flatten().filter(|figure| figure.odd.is_none());
        let logs: Vec<f64> = alike.filter_map(|figure| Some(figure.level?.log)).collect();
        (logs.len() > 1).then(|| variance(&logs).sqrt())
    }
}

/// Finds the odd hosts of all cases.
fn tell_odd(cases: &mut [Common]) {
    let levels = |case: &Common| {
        let of = case.figures.iter().map(|figure| figure.as_ref()?.level).collect();
        let interest = case.figures.iter().flatten().map(|figure| figure.interest);
        CaseLevels { of, interest: interest.fold(0.0, f64::max) }
    };
    let all: Vec<CaseLevels> = cases.iter().map(levels).collect();
    for (case, told) in cases.iter_mut().zip(odd(&all)) {
        case.odd_below = told.odd_below;
        for (host, odd) in told.odd {
            if let Some(figure) = &mut case.figures[host] {
                figure.odd = Some(odd);
            }
        }
        case.spread = case.spread();
        tell_own_doubts(&mut case.figures);
    }
}

/// Tells which doubts at most half of the other hosts share.
fn tell_own_doubts(figures: &mut [Option<HostFigure>]) {
    let mut often: HashMap<Code, usize> = HashMap::new();
    for code in figures.iter().flatten().flat_map(|figure| &figure.doubts) {
        *often.entry(*code).or_default() += 1;
    }
    let others = figures.iter().flatten().count().saturating_sub(1);
    for figure in figures.iter_mut().flatten() {
        let is_own = |code: &&Code| often.get(code).is_none_or(|hosts| 2 * (hosts - 1) <= others);
        figure.own_doubts = figure.doubts.iter().filter(is_own).copied().collect();
    }
}

/// What each host is called: what the user calls it, or its own name. Where several have one name,
/// the name of its record is added.
fn names(hosts: &[RecordSummary]) -> Vec<String> {
    let own = |host: &RecordSummary| host.member.called.clone();
    let file = |host: &RecordSummary| {
        let path = &host.member.record;
        let file = path.rsplit('/').next().unwrap_or(path);
        format!("{} ({})", own(host), file.strip_suffix(".jsonl").unwrap_or(file))
    };
    let path = |host: &RecordSummary| format!("{} ({})", own(host), host.member.record);
    let of = |name: &dyn Fn(&RecordSummary) -> String| hosts.iter().map(name).collect::<Vec<_>>();
    let mut names = of(&own);
    for longer in [of(&file), of(&path)] {
        let mut often: HashMap<String, usize> = HashMap::new();
        names.iter().for_each(|name| *often.entry(name.clone()).or_default() += 1);
        for (name, longer) in names.iter_mut().zip(longer) {
            if often.get(name).is_some_and(|times| *times > 1) {
                *name = longer;
            }
        }
    }
    names
}
