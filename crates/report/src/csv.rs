//! Each trial of a run as a row of tidy CSV (RFC 4180), with units in the column names;
//! docs/formats.md defines the columns.
//!
//! Unknown and inapplicable values are empty fields, never 0.

use crate::goals;
use crate::metric::{self, Metric, Unit, Value};
use crate::style::printable;
use crate::words::fate;
use ::csv::Writer;
use assess::Assessment;
use assess::summary::Summary;
use assess::together::{JointRound, Together};
use assess::trials::TrialFigures;
use model::axis::{AXES, Axis, Domain, Quantity};
use model::record::Header;
use model::units::NS_PER_SECOND;
use std::collections::BTreeSet;

/// The data of a row.
struct CsvRow<'a> {
    assessment: &'a Assessment,
    summary: &'a Summary,
    trial: &'a TrialFigures,
    lockstep: Option<LockstepTrial>,
}

/// What is known of a trial from the records of all hosts that ran it in lockstep.
#[derive(Clone, Copy)]
struct LockstepTrial {
    /// Bytes per second of all hosts in its round, or names of calls on names.
    together: Option<f64>,
    /// How much later than the first host this one began.
    start_ns: u64,
}

/// The content of a field.
enum Field {
    /// Unknown or not applicable.
    Empty,
    Number(String),
    /// Text from this program or from a record; it can contain anything.
    Text(String),
}

/// A column that is neither an axis nor a metric.
struct CsvColumn {
    name: &'static str,
    kind: &'static str,
    meaning: &'static str,
    field: fn(&CsvRow) -> Field,
}

const fn column(name: &'static str, kind: &'static str, field: fn(&CsvRow) -> Field) -> CsvColumn {
    CsvColumn { name, kind, meaning: "", field }
}

impl CsvColumn {
    const fn meaning(self, meaning: &'static str) -> CsvColumn {
        CsvColumn { meaning, ..self }
    }
}

/// Columns that have the same value in all rows of a run.
const OF_RUN: &[CsvColumn] = &[
    column("recipe", "text", |row| text(&row.assessment.header.plan.recipe))
        .meaning("name of the recipe"),
    column("began", "text", |row| text(&row.assessment.header.began))
        .meaning("start of the run: RFC 3339, UTC"),
    column("host", "text", |row| text(&row.assessment.header.host.name))
        .meaning("name of the machine; in a table of several records, what the user called it"),
    column("side", "text", |row| maybe(row.assessment.header.side.map(|side| side.name())))
        .meaning("of a gate: a, or what was held against it, b; else empty"),
    column("of_hosts", "number", |row| number(row.assessment.one_host.as_ref().map(|one| one.of)))
        .meaning(
            "of a record of one of several hosts in lockstep: how many there were; else empty",
        ),
    column("directory", "text", |row| {
        let storage = row.assessment.header.storage.as_ref();
        storage.map_or(Field::Empty, |storage| text(&storage.directory.display().to_string()))
    })
    .meaning("the measured directory; empty if the run used no file"),
    column("file_system", "text", |row| {
        let storage = row.assessment.header.storage.as_ref();
        maybe(storage.map(|storage| storage.file_system.as_str()))
    })
    .meaning("for example ext4 or tmpfs"),
    column("tool_version", "text", |row| text(&row.assessment.header.tool.version))
        .meaning("version that made the record"),
    column("seed", "number", |row| number(Some(row.assessment.header.plan.seed)))
        .meaning("determines the data and every order"),
    column("invocations", "number", |row| number(Some(row.assessment.repetition.invocations)))
        .meaning("fresh starts in the run; with 1, intervals hold within this run only"),
];

/// Columns that have the same value in all rows of a case, besides its axes.
const OF_CASE: &[CsvColumn] = &[
    column("case", "text", |row| text(&row.summary.id)).meaning("short name, unique in the run"),
    column("role", "text", |row| text(row.summary.role.name())).meaning("asked, baseline or twin"),
    column("verdict", "text", |row| text(row.summary.verdict.name()))
        .meaning("of the case: sound, doubtful, void, failed, unavailable or not run"),
    column("served_by", "text", |row| maybe(row.summary.served_by.map(|by| by.name())))
        .meaning("of the case: what served the bytes, by the evidence"),
    column("level", "number", |row| number(row.summary.level))
        .meaning("of the case: the level of the processor's caches that served, from 1"),
    column("fit", "text", |row| {
        let fit = row.assessment.conclusions.fit.as_ref();
        maybe(fit.and_then(|fit| fit.of_case(&row.summary.id)).map(goals::outcome))
    })
    .meaning("of the case: fit, not fit or cannot tell, by its goals; empty if it has none"),
    column("links_bytes_per_second", "bytes per second", |row| {
        let most = row.summary.link.as_ref().map(|link| link.allows.bytes_per_second);
        number(most)
    })
    .meaning(
        "of the case: what the links on the path to its device, or to the files of a command, \
         carry at most in one direction; empty if unknown",
    ),
];

/// Columns that identify and describe the trial.
const OF_TRIAL: &[CsvColumn] = &[
    column("invocation", "number", |row| number(Some(row.trial.invocation))).meaning("from 0"),
    column("round", "number", |row| number(Some(row.trial.round)))
        .meaning("from 0, numbered across invocations"),
    column("fate", "text", |row| text(fate(&row.trial.fate).0))
        .meaning("of the trial: counted, excluded, unavailable or failed"),
    column("reason", "text", |row| maybe(fate(&row.trial.fate).1))
        .meaning("why the trial does not count; for excluded trials, the gate"),
    column("together_bytes_per_second", "bytes per second", |row| {
        number(row.lockstep.and_then(|it| it.together))
    })
    .meaning(
        "of hosts in lockstep: of all in this round, from the first start to the last end; names \
         per second of calls on names",
    ),
    column("start_seconds", "seconds", |row| {
        number(row.lockstep.map(|it| it.start_ns as f64 / NS_PER_SECOND))
    })
    .meaning("of hosts in lockstep: how much later than the first host this one began"),
];

/// The name of each column, in order, with the type of its fields and its meaning.
pub fn csv_columns() -> Vec<[String; 3]> {
    let fixed = |column: &CsvColumn| [column.name, column.kind, column.meaning].map(str::to_string);
    let axis = |axis: &Axis| {
        let (first, rest) = axis.meaning.split_at(1);
        [axis.column().into_owned(), kind(axis).to_string(), first.to_lowercase() + rest]
    };
    let metric =
        |metric: &Metric| [metric.column, metric.unit.name(), metric.meaning].map(str::to_string);
    let of_run = OF_RUN.iter().chain(OF_CASE).map(fixed);
    let of_case = of_run.chain(AXES.iter().map(axis));
    of_case.chain(OF_TRIAL.iter().map(fixed)).chain(metric::of_trials().map(metric)).collect()
}

/// The type of an axis's fields.
fn kind(axis: &Axis) -> &'static str {
    match axis.domain {
        Domain::Other | Domain::Names(_) | Domain::Hosts => Unit::Text.name(),
        Domain::Bytes | Domain::Blocks => Unit::Bytes.name(),
        Domain::Count(_) | Domain::Exponent => Unit::Number.name(),
        Domain::Rate => Unit::PerSecond.name(),
        Domain::Time => "seconds",
    }
}

/// A header, and a row for each trial of each case; only the header if the record has no trials.
/// Commands have more columns: one for each of their parameters, and the figure that they print.
pub fn csv(assessment: &Assessment) -> String {
    let mut more = CommandColumns::default();
    more.add(&assessment.header);
    csv_head(&more) + &csv_rows(assessment, &more)
}

/// The columns after the others of a table with records of commands.
#[derive(Debug, Default)]
pub struct CommandColumns {
    /// The names of all parameters.
    parameters: BTreeSet<String>,
    /// Whether a number is looked for in what they print.
    has_figure: bool,
}

impl CommandColumns {
    /// Adds those that a record needs.
    pub fn add(&mut self, header: &Header) {
        for command in &header.plan.commands {
            self.parameters.extend(command.parameters.keys().cloned());
            self.has_figure |= command.figure.is_some();
        }
    }

    fn names(&self) -> impl Iterator<Item = String> {
        let parameters = self.parameters.iter().map(|name| format!("parameter_{name}"));
        let figure = if self.has_figure { &["figure", "figure_unit"][..] } else { &[] };
        parameters.chain(figure.iter().map(|name| name.to_string()))
    }

    fn fields(&self, row: &CsvRow) -> Vec<Field> {
        let CsvRow { summary, trial, .. } = row;
        let command = row.assessment.header.plan.command(&summary.case);
        let value =
            |name: &String| maybe(command.and_then(|it| Some(it.parameters.get(name)?.as_str())));
        let mut fields: Vec<Field> = self.parameters.iter().map(value).collect();
        if self.has_figure {
            let told = summary.told.as_ref();
            let round = told.and_then(|told| {
                let at = (trial.invocation, trial.round);
                told.rounds.iter().find(|round| (round.invocation, round.round) == at)
            });
            fields.push(number(round.map(|round| round.value)));
            fields.push(maybe(told.filter(|_| round.is_some()).and_then(|it| it.unit.as_deref())));
        }
        fields
    }
}

/// The header alone.
pub fn csv_head(more: &CommandColumns) -> String {
    let mut table = Writer::from_writer(Vec::new());
    let names = csv_columns().into_iter().map(|[name, ..]| name).chain(more.names());
    table.write_record(names).expect(TAKEN);
    let head = table.into_inner().expect(TAKEN);
    String::from_utf8(head).expect("only valid UTF-8 was written")
}

/// The rows alone, to follow those of another record.
pub fn csv_rows(assessment: &Assessment, more: &CommandColumns) -> String {
    rows(assessment, more, &|_, _| None)
}

/// The same of a host in a `run` of several, which has the name there that the user calls it.
pub fn csv_rows_of_host(assessment: &Assessment, run: &Together, more: &CommandColumns) -> String {
    rows(assessment, more, &|summary, trial| {
        let joint = run.cases.iter().find(|joint| joint.id == summary.id)?;
        let host = joint.hosts.iter().position(|host| *host == assessment.header.host.name)?;
        let is_same =
            |it: &&JointRound| (it.invocation, it.round) == (trial.invocation, trial.round);
        let round = joint.rounds.iter().find(is_same)?;
        Some(LockstepTrial { together: round.rate, start_ns: *round.starts_ns.get(host)? })
    })
}

fn rows(
    assessment: &Assessment,
    more: &CommandColumns,
    lockstep: &dyn Fn(&Summary, &TrialFigures) -> Option<LockstepTrial>,
) -> String {
    let mut table = Writer::from_writer(Vec::new());
    for summary in assessment.measured() {
        let axes: Vec<Field> = AXES.iter().map(|axis| of_axis(axis, summary)).collect();
        for trial in &summary.trials {
            let row = CsvRow { assessment, summary, trial, lockstep: lockstep(summary, trial) };
            let of = |columns: &[CsvColumn]| {
                columns.iter().map(|column| (column.field)(&row).written()).collect::<Vec<_>>()
            };
            let fields = of(OF_RUN).into_iter().chain(of(OF_CASE));
            let fields = fields.chain(axes.iter().map(Field::written)).chain(of(OF_TRIAL));
            let metrics = metric::of_trials().map(|metric| of_metric(metric, trial).written());
            let more = more.fields(&row).iter().map(Field::written).collect::<Vec<_>>();
            table.write_record(fields.chain(metrics).chain(more)).expect(TAKEN);
        }
    }
    let bytes = table.into_inner().expect(TAKEN);
    String::from_utf8(bytes).expect("only valid UTF-8 was written")
}

fn of_axis(axis: &Axis, summary: &Summary) -> Field {
    match axis.quantity(&summary.case) {
        None => Field::Empty,
        Some(Quantity::Text(name)) => text(&name),
        Some(Quantity::Whole(whole)) => number(Some(whole)),
        Some(Quantity::Real(real)) => number(Some(real)),
    }
}

fn of_metric(metric: &Metric, trial: &TrialFigures) -> Field {
    match trial.figures.as_ref().and_then(|figures| metric.of_trial(figures)) {
        None => Field::Empty,
        Some(Value::Whole(whole)) => number(Some(whole)),
        Some(Value::Real(real)) => number(Some(real)),
        Some(Value::Nodes(nodes)) => {
            let parts = nodes.iter().map(|(node, bytes)| format!("{node}:{bytes}"));
            text(&parts.collect::<Vec<_>>().join(" "))
        }
    }
}

const TAKEN: &str = "all rows have the same number of fields, and memory accepts them";

/// The characters that start a formula in some spreadsheet.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

impl Field {
    /// Control characters become spaces, so that each row is one line. Text that a spreadsheet
    /// would take for a formula gets a leading apostrophe, as OWASP advises ("CSV Injection").
    fn written(&self) -> String {
        match self {
            Field::Empty => String::new(),
            Field::Number(number) => number.clone(),
            Field::Text(text) if text.starts_with(FORMULA) => format!("'{}", printable(text)),
            Field::Text(text) => printable(text),
        }
    }
}

fn text(text: &str) -> Field {
    Field::Text(text.to_string())
}

fn maybe(value: Option<&str>) -> Field {
    value.map_or(Field::Empty, text)
}

fn number(value: Option<impl ToString>) -> Field {
    value.map_or(Field::Empty, |value| Field::Number(value.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::zoo;
    use std::collections::{BTreeSet, HashMap};

    #[test]
    fn each_axis_of_each_case_has_its_value_in_its_column() {
        let mut assessment = assess::assess(&zoo::record());
        for case in zoo::cases() {
            assessment.cases.truncate(1);
            assessment.cases[0].case = case.clone();
            let table = csv(&assessment);
            let mut reader = ::csv::Reader::from_reader(table.as_bytes());
            let row: HashMap<String, String> =
                reader.deserialize().next().expect("a trial has a row").expect("the row is valid");
            for (name, value) in case.axes() {
                let axis = Axis::named(name).expect("the name comes from an axis");
                let field = &row[axis.column().as_ref()];
                let is_number = field.parse::<f64>().is_ok();
                let is_text = matches!(axis.domain, Domain::Other | Domain::Names(_));
                // A number of hosts, or which one; a size, or several.
                let is_either = matches!(axis.domain, Domain::Hosts | Domain::Blocks);
                assert!(is_either || is_number != is_text, "{name} {value}: {field}");
                assert!(!field.is_empty(), "{name} {value}");
            }
        }
    }

    #[test]
    fn no_column_has_the_name_of_another() {
        let names: Vec<String> = csv_columns().into_iter().map(|[name, ..]| name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }

    #[test]
    fn text_is_text() {
        for (given, written) in [
            ("=1+1", "'=1+1"),
            ("@host", "'@host"),
            ("-rf", "'-rf"),
            ("+1", "'+1"),
            ("\t=1", "' =1"),
            ("a=1", "a=1"),
            ("a\r\nb\x1b[2J", "a  b\u{fffd}[2J"),
            ("a,\"b\"", "a,\"b\""),
        ] {
            assert_eq!(text(given).written(), written);
        }
    }
}
