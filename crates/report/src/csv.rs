//! Each trial of a run as a row of a table for other programs: tidy CSV (RFC 4180) with units in
//! the names of columns, which docs/formats.md defines.
//!
//! What is not known, or does not apply, is an empty field, never 0.

use crate::style::printable;
use crate::words::fate;
use ::csv::Writer;
use assess::Assessment;
use assess::summary::Summary;
use assess::trials::{Figures, TrialFigures};
use model::evidence::{Evidence, Residency};
use model::units;

/// What a row is of.
struct Row<'a> {
    assessment: &'a Assessment,
    summary: &'a Summary,
    /// The axes of its case by name.
    axes: &'a [(&'static str, String)],
    trial: &'a TrialFigures,
}

/// What is in a field.
enum Field {
    /// Nothing is known, or nothing applies.
    Empty,
    Number(String),
    /// What this program or a record says: it may be anything.
    Text(String),
}

/// A column: its name, and what is in its field.
type Column = (&'static str, fn(&Row) -> Field);

/// What a row is of: the same in all rows of a run.
const OF_RUN: &[Column] = &[
    ("recipe", |row| text(&row.assessment.recipe)),
    ("began", |row| text(&row.assessment.began)),
    ("host", |row| text(&row.assessment.host.name)),
    ("directory", |row| {
        let storage = row.assessment.storage.as_ref();
        storage.map_or(Field::Empty, |storage| text(&storage.directory.display().to_string()))
    }),
    ("file_system", |row| {
        let storage = row.assessment.storage.as_ref();
        storage.map_or(Field::Empty, |storage| text(&storage.file_system))
    }),
    ("tool_version", |row| text(&row.assessment.tool.version)),
    ("seed", |row| number(Some(row.assessment.seed))),
    ("invocations", |row| number(Some(row.assessment.repetition.invocations))),
];

/// The same in all rows of a case.
const OF_CASE: &[Column] = &[
    ("case", |row| text(&row.summary.id)),
    ("role", |row| text(row.summary.role.name())),
    ("verdict", |row| text(row.summary.verdict.name())),
    ("served_by", |row| row.summary.served_by.map_or(Field::Empty, |by| text(by.name()))),
    ("peer", |row| row.word("peer")),
    ("op", |row| row.word("op")),
    ("engine", |row| row.word("engine")),
    ("kernel", |row| row.word("kernel")),
    ("cache", |row| row.word("cache")),
    ("pattern", |row| row.word("pattern")),
    ("stride_blocks", |row| row.whole("stride")),
    ("size_bytes", |row| row.bytes("size")),
    ("working_set_bytes", |row| row.bytes("working_set")),
    ("block_bytes", |row| row.bytes("block")),
    ("depth", |row| row.whole("depth")),
    ("threads", |row| row.whole("threads")),
    ("share", |row| row.word("share")),
    ("touch", |row| row.word("touch")),
    ("isa", |row| row.word("isa")),
    ("pages", |row| row.word("pages")),
    ("step_bytes", |row| row.bytes("step")),
    ("advice", |row| row.word("advice")),
    ("submission", |row| row.word("submission")),
    ("sync", |row| row.word("sync")),
    ("every_blocks", |row| row.whole("every")),
    ("allocation", |row| row.word("allocation")),
    ("fill", |row| row.word("fill")),
    ("ops_limit", |row| row.whole("ops")),
    ("time_limit_seconds", |row| row.seconds("time")),
];

/// What a trial came to.
const OF_TRIAL: &[Column] = &[
    ("invocation", |row| number(Some(row.trial.invocation))),
    ("round", |row| number(Some(row.trial.round))),
    ("fate", |row| text(fate(&row.trial.fate).0)),
    ("reason", |row| fate(&row.trial.fate).1.map_or(Field::Empty, text)),
    ("bytes", |row| row.figure(|figures| Some(figures.bytes))),
    ("operations", |row| row.figure(|figures| Some(figures.ops))),
    ("elapsed_ns", |row| row.figure(|figures| Some(figures.elapsed_ns))),
    ("synced_ns", |row| row.figure(|figures| figures.synced_ns)),
    ("throughput_bytes_per_second", |row| row.figure(|figures| figures.throughput)),
    ("accepted_bytes_per_second", |row| row.figure(|figures| figures.accepted)),
    ("durable_bytes_per_second", |row| row.figure(|figures| figures.durable)),
    ("operations_per_second", |row| row.figure(|figures| figures.iops)),
    ("p50_ns", |row| row.figure(|figures| figures.p50_ns)),
    ("p99_ns", |row| row.figure(|figures| figures.p99_ns)),
    ("p99_9_ns", |row| row.figure(|figures| figures.p99_9_ns)),
    ("max_ns", |row| row.figure(|figures| figures.max_ns)),
];

/// What the OS counted around a trial.
const OF_EVIDENCE: &[Column] = &[
    ("window_ns", |row| row.counter(|evidence| Some(evidence.window_ns))),
    ("file_pages", |row| row.counter(|evidence| Some(evidence.residency_before?.pages))),
    ("cached_pages_before", |row| row.counter(|evidence| cached(evidence.residency_before))),
    ("cached_pages_after", |row| row.counter(|evidence| cached(evidence.residency_after))),
    ("task_read_bytes", |row| row.counter(|evidence| evidence.task_read_bytes)),
    ("task_write_bytes", |row| row.counter(|evidence| evidence.task_write_bytes)),
    ("device_read_bytes", |row| row.counter(|evidence| evidence.device_read_bytes)),
    ("device_reads", |row| row.counter(|evidence| evidence.device_reads)),
    ("device_write_bytes", |row| row.counter(|evidence| evidence.device_write_bytes)),
    ("device_writes", |row| row.counter(|evidence| evidence.device_writes)),
    ("device_flushes", |row| row.counter(|evidence| evidence.device_flushes)),
    ("dirty_before_bytes", |row| row.counter(|evidence| evidence.dirty_before)),
    ("dirty_after_bytes", |row| row.counter(|evidence| evidence.dirty_after)),
    ("dirty_limit_bytes", |row| row.counter(|evidence| evidence.dirty_limit)),
    ("cpu_ns", |row| row.counter(|evidence| evidence.cpu_ns)),
    ("cpu_user_ns", |row| row.counter(|evidence| evidence.cpu_user_ns)),
    ("cpu_system_ns", |row| row.counter(|evidence| evidence.cpu_system_ns)),
    ("minor_faults", |row| row.counter(|evidence| evidence.minor_faults)),
    ("major_faults", |row| row.counter(|evidence| evidence.major_faults)),
    ("switches_voluntary", |row| row.counter(|evidence| evidence.switches_voluntary)),
    ("switches_involuntary", |row| row.counter(|evidence| evidence.switches_involuntary)),
    ("run_delay_ns", |row| row.counter(|evidence| evidence.run_delay_ns)),
    ("steal_ns", |row| row.counter(|evidence| evidence.steal_ns)),
    ("machine_cpu_ns", |row| row.counter(|evidence| evidence.machine_cpu_ns)),
    ("pressure_cpu_ns", |row| row.counter(|evidence| evidence.pressure_cpu_ns)),
    ("pressure_io_ns", |row| row.counter(|evidence| evidence.pressure_io_ns)),
    ("pressure_memory_ns", |row| row.counter(|evidence| evidence.pressure_memory_ns)),
    ("swapped_bytes", |row| row.counter(|evidence| evidence.swapped_bytes)),
    ("huge_bytes", |row| row.counter(|evidence| evidence.huge_bytes)),
    ("throttled_ns", |row| row.counter(|evidence| evidence.throttled_ns)),
];

fn columns() -> impl Iterator<Item = &'static Column> {
    [OF_RUN, OF_CASE, OF_TRIAL, OF_EVIDENCE].into_iter().flatten()
}

/// The names of all columns, in their order.
pub fn csv_columns() -> Vec<&'static str> {
    columns().map(|(name, _)| *name).collect()
}

/// A row for each trial of each case, below the names of the columns; of a record without a trial
/// those names alone.
pub fn csv(assessment: &Assessment) -> String {
    let mut table = Writer::from_writer(Vec::new());
    table.write_record(csv_columns()).expect(TAKEN);
    for summary in assessment.measured() {
        let axes = summary.case.axes();
        for trial in &summary.trials {
            let row = Row { assessment, summary, axes: &axes, trial };
            let fields = columns().map(|(_, field)| field(&row).written());
            table.write_record(fields.collect::<Vec<String>>()).expect(TAKEN);
        }
    }
    let bytes = table.into_inner().expect(TAKEN);
    String::from_utf8(bytes).expect("whole texts were written")
}

const TAKEN: &str = "all rows have as many fields, and memory takes them";

/// What begins a formula in one spreadsheet or another.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

impl Field {
    /// Control characters become spaces, so that each row is one line. A text that a spreadsheet
    /// would take for a formula has an apostrophe before it, as OWASP advises ("CSV Injection").
    fn written(self) -> String {
        match self {
            Field::Empty => String::new(),
            Field::Number(number) => number,
            Field::Text(text) if text.starts_with(FORMULA) => format!("'{}", printable(&text)),
            Field::Text(text) => printable(&text),
        }
    }
}

fn text(text: &str) -> Field {
    Field::Text(text.to_string())
}

fn number(value: Option<impl ToString>) -> Field {
    value.map_or(Field::Empty, |value| Field::Number(value.to_string()))
}

fn cached(residency: Option<Residency>) -> Option<u64> {
    Some(residency?.cached)
}

impl Row<'_> {
    /// The text of an axis, if the case has it.
    fn axis(&self, name: &str) -> Option<&str> {
        self.axes.iter().find(|(axis, _)| *axis == name).map(|(_, text)| text.as_str())
    }

    fn word(&self, axis: &str) -> Field {
        self.axis(axis).map_or(Field::Empty, text)
    }

    fn whole(&self, axis: &str) -> Field {
        number(self.axis(axis))
    }

    fn bytes(&self, axis: &str) -> Field {
        number(self.axis(axis).and_then(|text| units::parse_bytes(text).ok()))
    }

    fn seconds(&self, axis: &str) -> Field {
        let time = self.axis(axis).and_then(|text| units::parse_time(text).ok());
        number(time.map(|time| time.as_secs_f64()))
    }

    fn figure<T: ToString>(&self, of: impl Fn(&Figures) -> Option<T>) -> Field {
        number(self.trial.figures.as_ref().and_then(of))
    }

    fn counter(&self, of: impl Fn(&Evidence) -> Option<u64>) -> Field {
        self.figure(|figures| of(&figures.evidence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::zoo;
    use std::collections::BTreeSet;

    /// The axes that a column says otherwise than by its name.
    const RENAMED: [(&str, &str); 8] = [
        ("stride", "stride_blocks"),
        ("size", "size_bytes"),
        ("working_set", "working_set_bytes"),
        ("block", "block_bytes"),
        ("step", "step_bytes"),
        ("every", "every_blocks"),
        ("ops", "ops_limit"),
        ("time", "time_limit_seconds"),
    ];

    #[test]
    fn every_axis_of_every_case_is_a_column_and_has_its_value_there() {
        let record = assess::assess(&zoo::record());
        for case in zoo::cases() {
            let axes = case.axes();
            let (summary, trial) = (&record.cases[0], &record.cases[0].trials[0]);
            let row = Row { assessment: &record, summary, axes: &axes, trial };
            for (axis, value) in &axes {
                let renamed = RENAMED.iter().find(|(known, _)| known == axis);
                let name = renamed.map_or(*axis, |(_, column)| column);
                let (_, field) = columns().find(|(known, _)| *known == name).expect(axis);
                let written = field(&row).written();
                assert!(!written.is_empty(), "{axis} {value} of {} is lost", case.id());
            }
        }
    }

    #[test]
    fn no_column_has_the_name_of_another() {
        let names = csv_columns();
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
