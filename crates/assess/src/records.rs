//! Compares two records: their common cases, and the obstacles.

use crate::assessment::{Assessment, assessment, rows};
use crate::commands_apart::facts_of_commands;
use crate::comparison::{self, Comparison, Difference};
use crate::earlier::{Earlier, earlier, figures};
use crate::figureless::{fails, without_figure};
use crate::invocations::{Round, RunToRun, TwoLevel, Welch};
use crate::invocations::{exchangeable, run_to_run};
use crate::matching::{Match, across, matches, same, taken};
use crate::row::Row;
use crate::significance::{LEVEL, holm};
use crate::stats::median;
use crate::summary::Summary;
use crate::surroundings::{
    facts, note, note_facts, note_known, note_load, note_loops, settings, storage_facts,
};
use model::axis::Across;
use model::plan::Role;
use model::record::{Header, Record, Side};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

pub use crate::surroundings::{RecordDifference, apart};

/// A judged record, with what a comparison needs beyond its assessment. It holds no trials, so only
/// one of two large records is in memory at a time.
#[derive(Debug)]
pub struct Judged {
    header: Header,
    assessment: Assessment,
    /// The logarithms of the rates of each requested case; these cases come first.
    logs: Vec<Vec<Round>>,
}

impl Judged {
    /// Judges a record.
    pub fn of(record: Record) -> Judged {
        let rows = rows(&record);
        let asked = rows.partition_point(|row| row.measured.role == Role::Asked);
        let logs = rows[..asked].iter().map(logs).collect();
        let assessment = assessment(&record, rows);
        Judged { header: record.header, assessment, logs }
    }

    /// The header of the record.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The same with what others know of each requested case.
    pub(crate) fn with(mut self, change: impl Fn(&mut Summary)) -> Judged {
        let asked = self.logs.len();
        self.assessment.cases[..asked].iter_mut().for_each(change);
        self
    }

    /// The requested cases.
    pub(crate) fn asked(&self) -> &[Summary] {
        &self.assessment.cases[..self.logs.len()]
    }
}

/// A comparison of two records.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordComparison {
    /// The headers of both records, the baseline first.
    pub headers: [Header; 2],
    /// The assessment of the first record, the baseline.
    pub a: Assessment,
    /// The assessment of the second record.
    pub b: Assessment,
    /// Whether both are the same record.
    pub is_same: bool,
    /// Differences that make figures incomparable.
    pub obstacles: Vec<RecordDifference>,
    /// Other differences, which may be the question.
    pub others: Vec<RecordDifference>,
    /// The cases in both records, compared.
    pub pairs: Vec<CasePair>,
    /// Requested cases that are not compared.
    pub left_out: Vec<LeftOut>,
}

/// A case in both records.
#[derive(Debug, Clone, PartialEq)]
pub struct CasePair {
    /// Its index in the first record.
    a: usize,
    /// Its index in the second record.
    b: usize,
    /// The second record relative to the first.
    pub comparison: Comparison,
    /// The p value of the t test, corrected over all pairs; `None` if undecidable.
    pub p: Option<f64>,
    /// The basis of the comparison.
    pub basis: Basis,
}

/// The basis of a comparison of two runs: variation within one run does not show that between runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Basis {
    /// The invocations of both runs, and the spread of kept runs if it is known and smaller.
    Invocations(Option<RunToRun>),
    /// The spread of kept runs, which is larger than that of the invocations.
    RunToRun(RunToRun),
    /// None: the runs have too few invocations, or only one each and no earlier runs are known.
    Nothing,
}

/// A requested case that is not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// The case's id.
    pub id: String,
    /// The reason.
    pub reason: String,
    /// Whether it works in A, and fails or brings wrong data in B: that fails a gate.
    pub is_broken: bool,
}

/// Why a case is not compared that one record lacks.
const ONLY_A: &str = "only A has it";
const ONLY_B: &str = "only B has it";
/// Why a case is not compared that measures different things in both.
const APART: &str = "A and B differ (";

impl LeftOut {
    /// Whether one record lacks it.
    pub fn is_alone(&self) -> bool {
        [ONLY_A, ONLY_B].contains(&self.reason.as_str())
    }

    /// Whether it measures different things in both: it can be compared anyway.
    pub fn is_apart(&self) -> bool {
        self.reason.starts_with(APART)
    }
}

impl RecordComparison {
    /// The number of cases that work in A, and fail or bring wrong data in B.
    pub fn broken(&self) -> usize {
        self.left_out.iter().filter(|case| case.is_broken).count()
    }

    /// Whether the rounds of both records alternated in one run.
    pub fn is_paired(&self) -> bool {
        let [a, b] = &self.headers;
        alternate(a, b)
    }

    /// Whether both are of one gate, and the first is not what it was held against.
    pub fn is_reversed(&self) -> bool {
        self.is_paired() && self.headers[0].side == Some(Side::B)
    }

    /// The two summaries of a pair.
    pub fn of(&self, pair: &CasePair) -> [&Summary; 2] {
        [&self.a.cases[pair.a], &self.b.cases[pair.b]]
    }
}

/// Compares two records. A case that measures different things in both is left out, and so named;
/// in the two runs of a gate, it is what was asked about. The spread from run to run comes from
/// `kept` records that began before the later of the two. They must have the same recipe, machine
/// and storage.
pub fn compare(a: Judged, b: Judged, kept: &[Record]) -> RecordComparison {
    let is_asked_about = alternate(&a.header, &b.header);
    compared(a, b, kept, is_asked_about)
}

/// The same, with the cases that measure different things.
pub fn compare_anyway(a: Judged, b: Judged, kept: &[Record]) -> RecordComparison {
    compared(a, b, kept, true)
}

fn compared(a: Judged, b: Judged, kept: &[Record], is_anyway: bool) -> RecordComparison {
    let earlier = figures(&earlier(&a.header, &b.header, kept));
    // Both sides of a gate were asked the same: a case that only one of them could do has no other
    // that it may be held against.
    let is_matched = if alternate(&a.header, &b.header) { same } else { matches };
    let matches = is_matched(a.asked(), b.asked());
    compared_by(&matches, [a, b], &earlier, is_anyway)
}

/// The comparison of these pairs of cases.
pub(crate) fn compared_by(
    matches: &[Match],
    [a, b]: [Judged; 2],
    earlier: &Earlier,
    is_anyway: bool,
) -> RecordComparison {
    let (asked_a, asked_b) = (a.asked(), b.asked());
    let mut storages = Vec::new();
    note_facts(&mut storages, &storage_facts(&a.header), &storage_facts(&b.header));
    let uses_storage = |found: &Match| asked_a[found.a].case.cache().is_some();
    let mut obstacles = Vec::new();
    if matches.iter().any(uses_storage) {
        obstacles.clone_from(&storages);
    }
    let mut others = Vec::new();
    note_facts(&mut others, &facts(&a.header), &facts(&b.header));
    note_known(&mut others, &settings(&a.header), &settings(&b.header));
    note_loops(&mut others, &a.header, &b.header);
    note_known(&mut others, &facts_of_commands(&a.header), &facts_of_commands(&b.header));
    note_load(&mut others, &a.header, &b.header);
    let mut left_out = alone(asked_a, asked_b, matches);
    let mut pairs = Vec::new();
    for found in matches {
        let (case_a, case_b) = (&asked_a[found.a], &asked_b[found.b]);
        let mut against = if uses_storage(found) { storages.clone() } else { Vec::new() };
        for (axis, in_a, in_b) in &found.apart {
            if across(axis) == Across::Same {
                note(&mut others, axis, in_a, in_b);
            } else {
                note(&mut obstacles, axis, in_a, in_b);
                note(&mut against, axis, in_a, in_b);
            }
        }
        let pair = pair(&a, &b, found, earlier);
        if pair.is_ok() {
            let [in_a, in_b] =
                [case_a, case_b].map(|case| case.served_by.map_or("nothing", |by| by.name()));
            note(&mut obstacles, "served by", in_a, in_b);
            note(&mut against, "served by", in_a, in_b);
        }
        let pair = if is_anyway || against.is_empty() { pair } else { Err(apart_by(&against)) };
        match pair {
            Ok(pair) => pairs.push(pair),
            Err(reason) => left_out.push(LeftOut {
                id: case_a.id.clone(),
                reason,
                is_broken: case_a.verdict.stands() && fails(case_b),
            }),
        }
    }
    let is_same = a.header == b.header && a.assessment == b.assessment;
    let pairs = match is_same {
        true => pairs.into_iter().map(itself).collect(),
        false => judged(corrected(pairs), [asked_a, asked_b]),
    };
    RecordComparison {
        headers: [a.header, b.header],
        a: a.assessment,
        b: b.assessment,
        is_same,
        obstacles,
        others,
        pairs,
        left_out,
    }
}

/// Why a case is left out for these differences: `A and B differ (block 4KiB in A, 8KiB in B)`.
fn apart_by(against: &[RecordDifference]) -> String {
    let each = against.iter().map(|it| format!("{} {} in A, {} in B", it.what, it.a, it.b));
    format!("{APART}{})", each.collect::<Vec<_>>().join("; "))
}

/// Doubtful figures decide nothing, whatever their interval says.
fn judged(pairs: Vec<CasePair>, [asked_a, asked_b]: [&[Summary]; 2]) -> Vec<CasePair> {
    let judged = |pair: CasePair| {
        let comparison = pair.comparison.judged([&asked_b[pair.b], &asked_a[pair.a]]);
        CasePair { comparison, ..pair }
    };
    pairs.into_iter().map(judged).collect()
}

fn alternate(a: &Header, b: &Header) -> bool {
    a.alternates.is_some() && a.alternates == b.alternates
}

/// The requested cases that only one record has.
fn alone(asked_a: &[Summary], asked_b: &[Summary], matches: &[Match]) -> Vec<LeftOut> {
    let left_out = |cases: &[Summary], taken: BTreeSet<usize>, reason: &str| -> Vec<LeftOut> {
        let free = cases.iter().enumerate().filter(|(index, _)| !taken.contains(index));
        free.map(|(_, case)| LeftOut {
            id: case.id.clone(),
            reason: reason.to_string(),
            is_broken: false,
        })
        .collect()
    };
    let (taken_a, taken_b) = taken(matches);
    let mut all = left_out(asked_a, taken_a, ONLY_A);
    all.extend(left_out(asked_b, taken_b, ONLY_B));
    all
}

/// Compares two matching cases, or returns why they cannot be compared.
fn pair(a: &Judged, b: &Judged, found: &Match, earlier: &Earlier) -> Result<CasePair, String> {
    let (case_a, case_b) = (&a.asked()[found.a], &b.asked()[found.b]);
    let without = [(case_a, "A"), (case_b, "B")].map(|(case, side)| without_figure(case, side));
    if without.iter().any(Option::is_some) {
        return Err(without.into_iter().flatten().collect::<Vec<_>>().join("; "));
    }
    let spread = earlier.get(&case_b.case).and_then(|figures| run_to_run(figures));
    let (of_a, of_b) = (&a.logs[found.a], &b.logs[found.b]);
    let middle = |logs: &[Round]| median(&exchangeable(logs)).ok_or("no round counts");
    let log_ratio = middle(of_b)? - middle(of_a)?;
    let (welch, basis) = match (TwoLevel::of_enough(of_a).zip(TwoLevel::of_enough(of_b)), spread) {
        (Some((two_a, two_b)), spread) => {
            let welch = Welch::of(&two_b, &two_a, spread);
            let basis = match spread.filter(|_| welch.is_by_runs) {
                Some(spread) => Basis::RunToRun(spread),
                None => Basis::Invocations(spread),
            };
            (Some(welch), basis)
        }
        (None, Some(spread)) => {
            (Some(Welch::of_single(log_ratio, spread)), Basis::RunToRun(spread))
        }
        (None, None) => (None, Basis::Nothing),
    };
    let interest = comparison::least_of_interest(case_a);
    let interval = welch
        .map(|welch| ((log_ratio - welch.half_width).exp(), (log_ratio + welch.half_width).exp()));
    let difference = comparison::difference(log_ratio.exp(), interval, interest);
    let is_open = difference == Difference::Inconclusive && matches!(basis, Basis::Invocations(_));
    let count = |logs: &[Round]| TwoLevel::of_logs(logs).map_or(1, |two| two.logs.len());
    Ok(CasePair {
        a: found.a,
        b: found.b,
        comparison: Comparison {
            case: case_b.id.clone(),
            base: case_a.id.clone(),
            pairs: 0,
            invocations: count(of_a).min(count(of_b)),
            ratio: log_ratio.exp(),
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            difference,
            interest,
            needs: None,
        },
        p: welch.map(|welch| welch.p),
        basis,
    })
    .map(|pair| if is_open { with_needs(pair, [of_a, of_b]) } else { pair })
}

/// The logarithms of the rates of a row.
fn logs(row: &Row) -> Vec<Round> {
    row.measured.rates().iter().map(|round| round.with(round.value.ln())).collect()
}

/// Adds the number of invocations that a decision needs.
fn with_needs(mut pair: CasePair, both: [&[Round]; 2]) -> CasePair {
    let found = &mut pair.comparison;
    let variance = both.iter().filter_map(|logs| TwoLevel::of_logs(logs)).map(|two| two.variance());
    let needed = comparison::invocations_needed(variance.sum(), found.interest);
    found.needs = Some(needed.max(found.invocations + 1));
    pair
}

/// A case compared with itself: no difference, whatever its variation.
fn itself(mut pair: CasePair) -> CasePair {
    let found = &mut pair.comparison;
    (found.low, found.high, found.needs) = (Some(1.0), Some(1.0), None);
    found.difference = Difference::Equivalent;
    pair.p = Some(1.0);
    pair
}

/// Corrects the p values over all pairs. A pair that differs by its interval, but not after the
/// correction, is inconclusive.
fn corrected(mut pairs: Vec<CasePair>) -> Vec<CasePair> {
    let all: Vec<f64> = pairs.iter().filter_map(|pair| pair.p).collect();
    let mut corrected = holm(&all).into_iter();
    for pair in &mut pairs {
        pair.p = pair.p.and_then(|_| corrected.next());
        let found = &mut pair.comparison;
        if found.difference == Difference::Different && pair.p.is_none_or(|p| p > LEVEL) {
            found.difference = Difference::Inconclusive;
            found.needs =
                matches!(pair.basis, Basis::Invocations(_)).then_some(found.invocations + 1);
        }
    }
    pairs
}
