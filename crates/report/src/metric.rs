//! Metrics of cases and of trials: one table.
//!
//! Text tables, the page, Markdown, CSV, the trials in JSON and OpenMetrics all take their figures
//! from it.

mod families;
mod counters;
mod table;
mod open;
mod mixed;
mod commands;
mod cases;
mod intervals;
mod legend;

use crate::grid::{GridColumn, left, right};
use crate::style::Paint;
use crate::words::{self, NONE};
use assess::Assessment;
use assess::latency::UNSENT_NS;
use assess::percentile::Percentile;
use assess::stats::Estimate;
use assess::summary::Summary;
use assess::trials::Figures;
use model::units::{self, ParseError};
use model::view::View;
use std::borrow::Cow;
use std::collections::BTreeMap;

pub(crate) use families::FAMILIES;
use families::percentile_labels;
pub(crate) use intervals::interval_of;
pub(crate) use legend::legend;
pub(crate) use table::until_durable;

/// A metric.
pub(crate) struct Metric {
    /// Its unique name in the program.
    pub(crate) name: &'static str,
    /// Its heading in tables for people.
    pub(crate) title: &'static str,
    pub(crate) unit: Unit,
    pub(crate) meaning: &'static str,
    /// Its explanation below a table, if it needs one.
    pub(crate) legend: &'static str,
    /// How to get it for a case.
    case: CaseMetric,
    /// How to get it for a trial.
    trial: TrialMetric,
    /// Its column in CSV, if trials have it.
    pub(crate) column: &'static str,
    /// Its place in the JSON of a trial: the object, or empty if none, and the key.
    pub(crate) json: (&'static str, &'static str),
    /// Its text, if it is not just the figure.
    said: Option<fn(&Summary) -> String>,
    /// The same for the narrow columns of a terminal, if it is shorter there.
    short: Option<fn(&Summary) -> String>,
    /// Its OpenMetrics family, and its labels besides those of the case; `None` if it is not
    /// exported.
    pub(crate) gauge: Option<CaseGauge>,
}

/// The beginning of a row of the table; without a title if only trials have the metric.
const fn metric(name: &'static str, title: &'static str, unit: Unit) -> Metric {
    let (case, trial) = (CaseMetric::Nothing, TrialMetric::Nothing);
    let (meaning, legend, column, json) = ("", "", "", ("", ""));
    let (said, short, gauge) = (None, None, None);
    Metric { name, title, unit, meaning, legend, case, trial, column, json, said, short, gauge }
}

/// The same of a percentile of a latency, which is also exported: of what, and which.
const fn percentile(
    name: &'static str,
    title: &'static str,
    (what, which): (&'static str, &'static str),
    of: fn(&Summary) -> Option<Percentile>,
) -> Metric {
    let gauge = Some((families::LATENCY, SampleLabels::Percentile(what, which)));
    Metric { gauge, ..metric(name, title, Unit::Nanoseconds).case(CaseMetric::Percentile(of)) }
}

/// The rest of a row.
impl Metric {
    const fn meaning(self, meaning: &'static str) -> Metric {
        Metric { meaning, ..self }
    }

    const fn legend(self, legend: &'static str) -> Metric {
        Metric { legend, ..self }
    }

    /// Its meaning is its legend.
    const fn explained(self) -> Metric {
        Metric { legend: self.meaning, ..self }
    }

    const fn case(self, case: CaseMetric) -> Metric {
        Metric { case, ..self }
    }

    const fn trial(
        self,
        column: &'static str,
        json: (&'static str, &'static str),
        trial: TrialMetric,
    ) -> Metric {
        Metric { column, json, trial, ..self }
    }

    const fn said(self, say: fn(&Summary) -> String) -> Metric {
        Metric { said: Some(say), ..self }
    }

    const fn short(self, say: fn(&Summary) -> String) -> Metric {
        Metric { short: Some(say), ..self }
    }

    const fn gauge(self, family: Family, labels: fn(&Summary) -> Option<GaugeLabels>) -> Metric {
        Metric { gauge: Some((family, SampleLabels::OfCase(labels))), ..self }
    }
}

/// The unit of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Words, without a unit.
    Text,
    Number,
    Percent,
    Bytes,
    Pages,
    Nanoseconds,
    BytesPerSecond,
    PerSecond,
}

/// How to get a metric for a case.
enum CaseMetric {
    /// Only trials have it.
    Nothing,
    Estimate(fn(&Summary) -> Option<Estimate>),
    Percentile(fn(&Summary) -> Option<Percentile>),
    /// A number without an interval.
    Plain(fn(&Summary) -> Option<f64>),
    /// Words beside the figures, in void cases too.
    Words(fn(&Summary, &Assessment) -> String),
}

/// How to get a metric for a trial.
enum TrialMetric {
    /// Only cases have it.
    Nothing,
    /// Every successful trial has it.
    Always(fn(&Figures) -> u64),
    Whole(fn(&Figures) -> Option<u64>),
    Real(fn(&Figures) -> Option<f64>),
    Nodes(fn(&Figures) -> Option<&BTreeMap<u32, u64>>),
}

/// The labels of a sample: names and values.
pub(crate) type GaugeLabels = Vec<(Cow<'static, str>, String)>;

pub(crate) fn label(name: &'static str, value: impl Into<String>) -> (Cow<'static, str>, String) {
    (name.into(), value.into())
}

/// OpenMetrics metrics that differ in labels only: name (without prefix) and help, for the figure,
/// and if it has an interval, for its lower and upper end.
pub(crate) type Family = &'static [(&'static str, &'static str)];

/// A family, and the labels of its sample for a case.
type CaseGauge = (Family, SampleLabels);

/// The labels of a sample, besides those of the case.
#[derive(Clone, Copy)]
pub(crate) enum SampleLabels {
    OfCase(fn(&Summary) -> Option<GaugeLabels>),
    /// What a latency is of, and the percentile.
    Percentile(&'static str, &'static str),
}

impl SampleLabels {
    /// Those of this case; `None` if it has no such sample.
    pub(crate) fn of(self, summary: &Summary) -> Option<GaugeLabels> {
        match self {
            SampleLabels::OfCase(of) => of(summary),
            SampleLabels::Percentile(of, percentile) => percentile_labels(of, percentile),
        }
    }
}

/// A trial's value of a metric.
#[derive(Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Whole(u64),
    Real(f64),
    /// Bytes of each NUMA node.
    Nodes(&'a BTreeMap<u32, u64>),
}

impl Unit {
    /// Its name in the documentation.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Text => "text",
            Unit::Number => "number",
            Unit::Percent => "%",
            Unit::Bytes => "bytes",
            Unit::Pages => "pages",
            Unit::Nanoseconds => "nanoseconds",
            Unit::BytesPerSecond => "bytes/s",
            Unit::PerSecond => "1/s",
        }
    }

    /// Formats a quantity for people.
    fn said(self, value: f64) -> String {
        match self {
            Unit::Text | Unit::Number | Unit::Pages => value.to_string(),
            Unit::Percent => words::percent(value),
            Unit::Bytes => units::bytes_rounded(value as u64),
            Unit::Nanoseconds => units::nanoseconds(value),
            Unit::BytesPerSecond => units::rate(value),
            Unit::PerSecond => words::per_second(value),
        }
    }

    /// The divisor that converts to OpenMetrics's base unit.
    fn base(self) -> f64 {
        if self == Unit::Nanoseconds { 1e9 } else { 1.0 }
    }
}

impl Metric {
    /// The metric with this name.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn named(name: &str) -> &'static Metric {
        Metric::known(name).expect("the name is one of a metric")
    }

    /// The metric that a view names; `None` if it is unknown, as in a damaged record.
    pub(crate) fn known(name: &str) -> Option<&'static Metric> {
        all().find(|metric| metric.name == name)
    }

    /// Whether its cells are words, which are aligned left, or figures.
    pub(crate) fn is_text(&self) -> bool {
        self.unit == Unit::Text
    }

    /// Whether it is a percentile, which may be based on few operations.
    pub(crate) fn is_percentile(&self) -> bool {
        matches!(self.case, CaseMetric::Percentile(_))
    }

    /// Its column in a table of cases; the column with the highest rank is omitted first.
    pub(crate) fn in_grid(&self, rank: u8) -> GridColumn {
        if self.is_text() { left(self.title, rank) } else { right(self.title, rank) }
    }

    /// The color of its cell: figures have the color of their verdict.
    pub(crate) fn paint(&self, summary: &Summary) -> Paint {
        match (&self.case, words::verdict_paint(summary.verdict)) {
            (CaseMetric::Words(_), _) if self.name != "verdict" => Paint::Plain,
            (CaseMetric::Percentile(of), Paint::Plain)
                if of(summary).is_some_and(|it| !it.solid) =>
            {
                Paint::Faint
            }
            (_, paint) => paint,
        }
    }

    /// Its text in a table of cases; figures of void cases are in brackets.
    pub(crate) fn cell(&self, summary: &Summary, assessment: &Assessment) -> String {
        let text = self.text(summary, assessment);
        if matches!(self.case, CaseMetric::Words(_)) { text } else { words::figure(summary, text) }
    }

    /// Its text.
    pub(crate) fn text(&self, summary: &Summary, assessment: &Assessment) -> String {
        let said =
            |value: Option<f64>| value.map_or(NONE.to_string(), |value| self.unit.said(value));
        match (self.said, &self.case) {
            (_, CaseMetric::Words(words)) => words(summary, assessment),
            (Some(say), _) => say(summary),
            (None, CaseMetric::Nothing) => NONE.to_string(),
            (None, CaseMetric::Plain(of)) => said(of(summary)),
            (None, CaseMetric::Estimate(of)) => said(of(summary).map(|estimate| estimate.median)),
            (None, CaseMetric::Percentile(of)) => words::percentile(of(summary)),
        }
    }

    /// The same on a terminal.
    pub(crate) fn short_cell(&self, summary: &Summary, assessment: &Assessment) -> String {
        match self.short {
            Some(say) => words::figure(summary, say(summary)),
            None => self.cell(summary, assessment),
        }
    }

    /// A case's figure in the base unit, and the ends of its interval. The response time of an
    /// operation that had not begun is infinite.
    pub(crate) fn based(&self, summary: &Summary) -> [Option<f64>; 3] {
        let all = match self.case {
            CaseMetric::Estimate(of) => match of(summary) {
                Some(all) => [Some(all.median), all.low, all.high],
                None => [None; 3],
            },
            CaseMetric::Percentile(of) => [of(summary).map(|p| p.ns as f64), None, None],
            CaseMetric::Plain(of) => [of(summary), None, None],
            CaseMetric::Nothing | CaseMetric::Words(_) => [None; 3],
        };
        all.map(|value| match value? {
            value if self.unit == Unit::Nanoseconds && value >= UNSENT_NS as f64 => {
                Some(f64::INFINITY)
            }
            value => Some(value / self.unit.base()),
        })
    }

    /// A trial's value.
    pub(crate) fn of_trial<'a>(&self, figures: &'a Figures) -> Option<Value<'a>> {
        match self.trial {
            TrialMetric::Nothing => None,
            TrialMetric::Always(of) => Some(Value::Whole(of(figures))),
            TrialMetric::Whole(of) => of(figures).map(Value::Whole),
            TrialMetric::Real(of) => of(figures).map(Value::Real),
            TrialMetric::Nodes(of) => of(figures).map(Value::Nodes),
        }
    }

    /// Whether its values for trials are whole numbers.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.trial, TrialMetric::Whole(_) | TrialMetric::Always(_))
            && !self.is_in_seconds()
    }

    /// Whether every successful trial has it.
    pub(crate) fn is_always(&self) -> bool {
        matches!(self.trial, TrialMetric::Always(_))
    }

    /// Whether it is bytes per NUMA node.
    pub(crate) fn is_of_nodes(&self) -> bool {
        matches!(self.trial, TrialMetric::Nodes(_))
    }

    /// Whether the JSON of a trial has it in seconds.
    pub(crate) fn is_in_seconds(&self) -> bool {
        self.json.1.ends_with("_s")
    }
}

/// The names of all metrics that a table of cases can have as columns.
pub fn table_columns() -> Vec<&'static str> {
    let is_of_trials = |it: &Metric| matches!(it.case, CaseMetric::Nothing) && it.said.is_none();
    let of_cases = all().filter(|metric| !is_of_trials(metric));
    of_cases.map(|metric| metric.name).filter(|name| !intervals::is_one(name)).collect()
}

/// Checks the columns and the lines of cells that a view names.
///
/// # Errors
/// If one is not the name of a metric that a table of cases can have.
pub fn check_columns(view: &View) -> Result<(), ParseError> {
    let known = table_columns();
    let mut named = view.columns.iter().chain(&view.cells).chain(view.more.iter().flatten());
    match named.find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(units::unknown_name("column", name, &known)),
        None => Ok(()),
    }
}

/// All metrics.
pub(crate) fn all() -> impl Iterator<Item = &'static Metric> {
    let figures = table::FIGURES.iter().chain(open::OPEN).chain(mixed::MIXED).chain(mixed::SHARED);
    let figures = figures.chain(commands::OF_COMMANDS).chain(cases::OF_CASES);
    figures.chain(counters::COUNTERS)
}

/// The metrics of trials.
pub(crate) fn of_trials() -> impl Iterator<Item = &'static Metric> {
    all().filter(|metric| !matches!(metric.trial, TrialMetric::Nothing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_row_has_a_name_and_keys_of_its_own() {
        let distinct = |names: Vec<String>| {
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        };
        distinct(all().map(|metric| metric.name.to_string()).collect());
        distinct(of_trials().map(|metric| metric.column.to_string()).collect());
        distinct(of_trials().map(|metric| format!("{:?}", metric.json)).collect());
        for metric in of_trials() {
            assert!(!metric.column.is_empty() && !metric.json.1.is_empty(), "{}", metric.name);
            assert!(!metric.meaning.is_empty(), "{}", metric.name);
        }
    }
}
