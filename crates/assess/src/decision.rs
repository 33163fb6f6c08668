//! The one gate for conclusions. A report words its outcomes and concludes nothing itself.
//!
//! The interval of the paired rounds, the smallest effect of interest and every row's verdict
//! decide a question about rows. It has three outcomes. One is "undecided": whatever is missing or
//! doubtful leads there.

use crate::comparison::{Comparison, Difference, compare_rounds};
use crate::finding::{Code, Severity, Verdict};
use crate::form::FormOf;
use crate::invocations::{TwoLevel, exchangeable};
use crate::measured::Rounds;
use crate::ratio::{Ratio, log_ratios};
use crate::row::Row;
use crate::significance::{LEVEL, median_test, wholly_apart};
use crate::stats::Estimate;
use crate::summary::Summary;
use model::named;
use schemars::JsonSchema;
use serde::Serialize;

named! {
    /// The outcome of a question about rows.
    Decision "decision" {
        /// Yes.
        Yes "yes",
        /// No, by the smallest effect of interest.
        No "no",
        /// Neither: an interval is too wide or missing, or a row is doubtful by more than how it
        /// varies from round to round.
        Undecided "undecided",
    }
}

/// *Yes* if all are, *no* if any is not.
pub(crate) fn together(all: impl IntoIterator<Item = Decision>) -> Decision {
    let worst = |so_far, next| match (so_far, next) {
        (Decision::No, _) | (_, Decision::No) => Decision::No,
        (Decision::Undecided, _) | (_, Decision::Undecided) => Decision::Undecided,
        (Decision::Yes, Decision::Yes) => Decision::Yes,
    };
    all.into_iter().fold(Decision::Yes, worst)
}

/// A row that a sentence names, with its doubts. A void row is never named.
///
/// Published as the id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Named {
    /// Its case id.
    pub id: String,
    /// Sound or doubtful.
    #[serde(skip)]
    pub verdict: Verdict,
    /// The findings that make it doubtful.
    #[serde(skip)]
    pub doubts: Vec<Code>,
}

impl Named {
    /// None for a void row, which answers nothing.
    pub fn of(summary: &Summary) -> Option<Named> {
        let is_doubt = |severity| severity >= Severity::Doubt;
        let doubts = summary.findings.iter().filter(|finding| is_doubt(finding.severity));
        summary.verdict.stands().then(|| Named {
            id: summary.id.clone(),
            verdict: summary.verdict,
            doubts: doubts.map(|finding| finding.code).collect(),
        })
    }

    /// Whether its figure is doubtful.
    pub fn is_doubtful(&self) -> bool {
        self.verdict != Verdict::Sound
    }
}

/// A row with one of its rates.
#[derive(Debug, Clone, PartialEq)]
pub struct Rated {
    /// The row.
    pub row: Named,
    /// Bytes per second.
    pub rate: Estimate,
}

impl Rated {
    /// None for a void row.
    pub fn of(summary: &Summary, rate: Estimate) -> Option<Rated> {
        Some(Rated { row: Named::of(summary)?, rate })
    }
}

/// A decided question about two rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    decision: Decision,
    comparison: Comparison,
    rows: [Named; 2],
    rivals: Option<Rivals>,
}

/// The many rows among which one comparison would have to find a difference, and cannot.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rivals {
    rows: usize,
    needs: Option<usize>,
}

/// Why a question is undecided, which says what would decide it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// A figure is doubtful.
    InDoubt,
    /// No round measured both rows.
    Apart,
    /// The interval is missing or too wide; the number of rounds or invocations that would do, if
    /// known.
    Wide(Repeats, Option<usize>),
    /// The interval is narrow enough for one question, but not for the best of many rows.
    Rivals {
        /// What there was.
        repeats: Repeats,
        /// The number of rows that the best is compared with.
        rows: usize,
        /// About how many invocations would do, if known.
        needs: Option<usize>,
    },
}

/// How often two rows were measured together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// In this many rounds of one invocation.
    Rounds(usize),
    /// In this many invocations.
    Invocations(usize),
}

impl Decided {
    /// Whether the case is faster than its base. *No*: not by the smallest effect of interest. Of a
    /// doubtful row, which varies too much for so fine a limit, the interval must exclude 1, unless
    /// the two are equivalent. None if a row is void.
    pub fn is_faster(comparison: Comparison, rows: [&Summary; 2]) -> Option<Decided> {
        let are_sound = rows.iter().all(|row| row.verdict == Verdict::Sound);
        let is_no = |found: &Comparison, high: f64| match found.difference {
            Difference::Inconclusive if !are_sound => high < 1.0,
            _ => high <= 1.0 + found.interest,
        };
        Decided::of(comparison, rows, |found| match found.difference {
            Difference::InDoubt => Decision::Undecided,
            Difference::Different if found.ratio > 1.0 => Decision::Yes,
            _ if found.high.is_some_and(|high| is_no(found, high)) => Decision::No,
            _ => Decision::Undecided,
        })
    }

    /// Whether the two differ. *No*: they are equivalent. None if a row is void.
    pub fn differs(comparison: Comparison, rows: [&Summary; 2]) -> Option<Decided> {
        Decided::of(comparison, rows, |found| match found.difference {
            Difference::Different => Decision::Yes,
            Difference::Equivalent => Decision::No,
            Difference::Inconclusive | Difference::InDoubt => Decision::Undecided,
        })
    }

    fn of(
        comparison: Comparison,
        [case, base]: [&Summary; 2],
        decide: impl FnOnce(&Comparison) -> Decision,
    ) -> Option<Decided> {
        let rows = [Named::of(case)?, Named::of(base)?];
        let comparison = comparison.judged([case, base]);
        let decision = decide(&comparison);
        Some(Decided { decision, comparison, rows, rivals: None })
    }

    /// The outcome.
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// The comparison that it is based on.
    pub fn comparison(&self) -> &Comparison {
        &self.comparison
    }

    /// The ratio with its interval.
    pub fn ratio(&self) -> Ratio {
        let Comparison { pairs, invocations, ratio, low, high, .. } = self.comparison;
        Ratio { pairs, invocations, median: ratio, low, high }
    }

    /// The rows it names: the case and its base.
    pub fn rows(&self) -> &[Named; 2] {
        &self.rows
    }

    /// Why it is undecided; `None` if it is decided.
    pub fn open(&self) -> Option<Open> {
        let Comparison { difference, pairs, invocations, needs, .. } = self.comparison;
        let repeats = match invocations {
            0 | 1 => Repeats::Rounds(pairs),
            several => Repeats::Invocations(several),
        };
        match (self.decision, difference, self.rivals) {
            (Decision::Yes | Decision::No, ..) => None,
            (_, Difference::InDoubt, _) => Some(Open::InDoubt),
            (.., Some(Rivals { rows, needs })) => Some(Open::Rivals { repeats, rows, needs }),
            _ if pairs == 0 => Some(Open::Apart),
            _ => Some(Open::Wide(repeats, needs)),
        }
    }
}

impl FormOf<Decided> for Ratio {
    fn of(decided: &Decided) -> Ratio {
        decided.ratio()
    }
}

/// No question is undecided.
impl FormOf<Option<Decided>> for Decision {
    fn of(decided: &Option<Decided>) -> Decision {
        decided.as_ref().map_or(Decision::Undecided, Decided::decision)
    }
}

/// Whether `row` is faster than `base`, by their main rates.
pub(crate) fn is_faster(row: &Row, base: &Row) -> Option<Decided> {
    let rates = [row, base].map(|row| row.measured.rates());
    is_faster_by([row, base], [&rates[0], &rates[1]], None)
}

/// The same by these rates and, if given, this smallest effect of interest.
pub(crate) fn is_faster_by(
    [row, base]: [&Row; 2],
    rates: [&Rounds; 2],
    interest: Option<f64>,
) -> Option<Decided> {
    let found = compare_rounds([row, base], rates, interest)?;
    Decided::is_faster(found, [&row.summary, &base.summary])
}

/// Whether two rows differ, by these rates.
pub(crate) fn differs_by([row, base]: [&Row; 2], rates: [&Rounds; 2]) -> Option<Decided> {
    let found = compare_rounds([row, base], rates, None)?;
    Decided::differs(found, [&row.summary, &base.summary])
}

/// The fastest of some rows, as far as the data shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Lead {
    best: Rated,
    against: Vec<Decided>,
    alike: Vec<Named>,
    decision: Decision,
    left_out: usize,
}

impl Lead {
    /// `against`: is the best faster than each other sound row? `left_out`: the number of doubtful
    /// others.
    pub fn of(best: Rated, against: Vec<Decided>, left_out: usize) -> Lead {
        let open = against.iter().filter(|decided| decided.decision != Decision::Yes);
        let alike: Vec<Named> = open.clone().map(|decided| decided.rows[1].clone()).collect();
        let are_equal = open.clone().all(|decided| decided.decision == Decision::No);
        let decision = match (best.row.is_doubtful(), alike.is_empty()) {
            (true, _) => Decision::Undecided,
            (false, true) => Decision::Yes,
            (false, false) if are_equal => Decision::No,
            (false, false) => Decision::Undecided,
        };
        Lead { best, against, alike, decision, left_out }
    }

    /// The row with the highest median. If it is doubtful, nothing is decided.
    pub fn best(&self) -> &Rated {
        &self.best
    }

    /// Whether it is faster than each other sound row.
    pub fn against(&self) -> &[Decided] {
        &self.against
    }

    /// The other rows that the data cannot distinguish from it.
    pub fn alike(&self) -> &[Named] {
        &self.alike
    }

    /// Whether the best is faster than each other; *no* if some are as fast.
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// How many rows took part.
    pub fn of_rows(&self) -> usize {
        self.against.len() + 1
    }

    /// The number of others left out as doubtful.
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

/// A row that may be the fastest, by one of its rates.
#[derive(Debug)]
pub(crate) struct Contestant<'a, 'r> {
    pub(crate) row: &'a Row<'r>,
    pub(crate) rate: Estimate,
    pub(crate) rounds: Rounds,
}

impl<'a, 'r> Contestant<'a, 'r> {
    /// By its main rate; none for a row without one, and for one whose rate is that of a schedule.
    pub(crate) fn of(row: &'a Row<'r>) -> Option<Contestant<'a, 'r>> {
        let rate = row.summary.throughput.filter(|_| row.has_own_rate())?;
        Some(Contestant { row, rate, rounds: row.measured.rates() })
    }
}

/// The fastest of `all`, compared with each other sound row.
///
/// The best was picked for being the best, from many: the paired interval alone does not tell it
/// apart (docs/method).
pub(crate) fn lead<'a, 'r>(all: &[Contestant<'a, 'r>]) -> Option<(&'a Row<'r>, Lead)> {
    let best = all.iter().max_by(|a, b| a.rate.median.total_cmp(&b.rate.median))?;
    let is_sound = |one: &&Contestant| one.row.summary.verdict == Verdict::Sound;
    let others = || all.iter().filter(|other| !std::ptr::eq(*other, best));
    let sound = others().filter(is_sound).count();
    let against = others().filter(is_sound).filter_map(|other| told_apart(best, other, sound));
    let against: Vec<Decided> = against.collect();
    let rated = Rated::of(&best.row.summary, best.rate)?;
    Some((best.row, Lead::of(rated, against, others().count() - sound)))
}

/// Whether the best is faster than another. For one pair, their comparison decides; for many, the
/// probability must also be small enough for their number.
fn told_apart(best: &Contestant, other: &Contestant, rivals: usize) -> Option<Decided> {
    let rounds = [&best.rounds, &other.rounds];
    let mut decided = is_faster_by([best.row, other.row], rounds, None)?;
    let level = LEVEL / rivals as f64;
    if decided.decision == Decision::Yes && rivals > 1 && !is_apart(rounds, level) {
        let of_invocations = TwoLevel::of_logs(&log_ratios(rounds[0], rounds[1]));
        let needs = of_invocations.and_then(|ratios| ratios.needed(level));
        decided.decision = Decision::Undecided;
        decided.rivals = Some(Rivals { rows: rivals, needs });
    }
    Some(decided)
}

/// Whether chance alone makes two rows as different with at most the probability `level`: of
/// several invocations by t of their paired ratios; of the rounds of one by the exact median test
/// of all, for the order of few pairs cannot tell enough.
fn is_apart([ours, others]: [&Rounds; 2], level: f64) -> bool {
    if let Some(ratios) = TwoLevel::of_logs(&log_ratios(ours, others)) {
        return ratios.p() <= level;
    }
    let [ours, others] = [ours, others].map(|rounds| exchangeable(rounds));
    // Of very many rows few rounds cannot reach the level: being wholly apart must do.
    median_test(&ours, &others) <= level.max(wholly_apart(ours.len(), others.len()))
}
