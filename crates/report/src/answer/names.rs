//! How many names a second each call creates, finds or removes.

use crate::labels::CaseLabels;
use crate::pivot::servers;
use crate::sentence::{Sentence, figure_in, missing};
use crate::text::{Text, case, joined, text};
use crate::words::{count, per_second};
use assess::Assessment;
use assess::summary::Summary;
use model::case::{Cache, MetadataWork};
use model::metadata::{Directories, NameSync};
use model::plan::Role;

/// A row with its work and its calls a second.
struct NameRow<'a> {
    work: &'a MetadataWork,
    summary: &'a Summary,
    rate: f64,
}

/// What a line of the answer is about.
struct CallKind {
    title: &'static str,
    has: fn(&MetadataWork) -> bool,
}

/// What a program waits for differs: the OS, the storage, a cache, or what is below that.
const KINDS: [CallKind; 4] = [
    CallKind {
        title: "Acknowledged changes",
        has: |work| work.call.changes() && work.sync == NameSync::None,
    },
    CallKind {
        title: "Durable changes",
        has: |work| work.call.changes() && work.sync == NameSync::Fsync,
    },
    CallKind {
        title: "Lookups in the OS's caches",
        has: |work| !work.call.changes() && work.cache != Cache::Cold,
    },
    CallKind {
        title: "Lookups of cold names",
        has: |work| !work.call.changes() && work.cache == Cache::Cold,
    },
];

/// A line for each kind of call, where the first row's threads work; then what more threads change
/// in the last row's place, and the slowest call.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Vec<Sentence> {
    let asked = assessment.cases.iter().filter(|summary| summary.role == Role::Asked);
    let rows = asked.filter(|summary| summary.verdict.stands()).filter_map(|summary| {
        Some(NameRow {
            work: summary.case.metadata()?,
            summary,
            rate: summary.iops.as_ref()?.median,
        })
    });
    let rows: Vec<NameRow> = rows.collect();
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return missing("No call has a valid rate.");
    };
    let place = |row: &NameRow| (row.work.place, row.work.threads, row.work.entries);
    let has_sizes = rows.iter().any(|row| row.work.entries != first.work.entries);
    let title_in_place = |title: &str, row: &NameRow| {
        let names =
            if has_sizes { format!(" with {} names", row.work.entries) } else { String::new() };
        format!("{title} by {}{names}", said_place(row.work))
    };
    let in_place_of = |of: &NameRow, kind: &CallKind| -> Vec<&NameRow> {
        let is_one = |row: &&NameRow| place(row) == place(of) && (kind.has)(row.work);
        rows.iter().filter(is_one).collect()
    };
    let kinds = KINDS.iter().map(|kind| (kind.title, in_place_of(first, kind)));
    let kinds = kinds.filter(|(_, rows)| !rows.is_empty());
    // The lines after it are of the same place.
    let lines = kinds.enumerate().map(|(index, (title, rows))| match index {
        0 => said(assessment, &title_in_place(title, first), &rows),
        _ => said(assessment, title, &rows),
    });
    let [changes, ..] = &KINDS;
    let elsewhere = Some(in_place_of(last, changes)).filter(|rows| !rows.is_empty());
    let elsewhere = elsewhere.filter(|_| place(first) != place(last));
    let elsewhere =
        elsewhere.map(|rows| said(assessment, &title_in_place(changes.title, last), &rows));
    lines.chain(elsewhere).chain(slowest(&rows, labels)).collect()
}

/// `1 thread in a directory of its own`.
fn said_place(work: &MetadataWork) -> String {
    let threads = count(work.threads as usize, "thread");
    match (work.place, work.threads) {
        (Directories::Own, 1) => format!("{threads} in a directory of its own"),
        (Directories::Own, _) => format!("{threads} in directories of their own"),
        (Directories::Shared, _) => format!("{threads} in a shared directory"),
    }
}

/// `Lookups of cold names: stat 130 k/s, open 99.2 k/s, served by page-cache.`
fn said(assessment: &Assessment, title: &str, rows: &[&NameRow]) -> Sentence {
    let rate = |row: &&NameRow| {
        text!("{} {}", row.work.call.name(), figure_in(per_second(row.rate), row.summary))
    };
    let rates: Vec<Text> = rows.iter().map(rate).collect();
    let by = servers(rows.iter().map(|row| row.summary), assessment);
    let text = text!("{}: {}, served by {}.", title, joined(&rates, ", "), by);
    Sentence::of_summaries(text, rows.iter().map(|row| row.summary))
}

/// The row with the lowest rate, if there are several.
fn slowest(rows: &[NameRow], labels: &CaseLabels) -> Option<Sentence> {
    let slowest =
        rows.iter().min_by(|a, b| a.rate.total_cmp(&b.rate)).filter(|_| rows.len() > 1)?;
    let text = text!(
        "The dearest: {} at {}, the lowest rate measured.",
        case(&slowest.summary.id, &|id| labels.name(id)),
        figure_in(per_second(slowest.rate), slowest.summary)
    );
    Some(Sentence::of_summaries(text, [slowest.summary]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sentence::lines;
    use crate::tests::build;
    use assess::summary::ServedBy;
    use model::case::{Call, Case, Engine, Work};
    use model::pattern::Pattern;
    use model::zoo;

    fn row(work: MetadataWork, by: ServedBy, rate: f64) -> Summary {
        let file = build::file(Engine::Pread, Cache::Warm, Pattern::Random, 4096);
        let case = Case::own(Work::Metadata(MetadataWork { threads: 1, ..work }));
        let iops = Some(build::estimate(rate));
        Summary { id: case.id(), case, iops, ..build::measured(file, by, 1e9) }
    }

    fn said(cases: Vec<Summary>) -> Vec<String> {
        let assessment = build::assessment("metadata", cases);
        let labels = CaseLabels::of(&assessment);
        lines(&answer(&assessment, &labels)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_kind_of_call_has_a_line_and_the_slowest_row_another() {
        let own = zoo::plain_metadata();
        let created = MetadataWork { call: Call::Create, ..own };
        let synced = MetadataWork { sync: NameSync::Fsync, ..created };
        let looked_up = MetadataWork { call: Call::Stat, ..own };
        let cold = MetadataWork { cache: Cache::Cold, ..looked_up };
        let shared = MetadataWork { place: Directories::Shared, ..created };
        let said = said(vec![
            row(created, ServedBy::PageCache, 54.2e3),
            row(synced, ServedBy::Device, 334.0),
            row(looked_up, ServedBy::NameCache, 544e3),
            row(MetadataWork { call: Call::Open, ..looked_up }, ServedBy::NameCache, 304e3),
            row(cold, ServedBy::PageCache, 130e3),
            row(shared, ServedBy::PageCache, 48.3e3),
        ]);
        let expected = [
            "Acknowledged changes by 1 thread in a directory of its own: create 54.2 k/s, served \
             by page-cache.",
            "Durable changes: create 334/s, served by device.",
            "Lookups in the OS's caches: stat 544 k/s, open 304 k/s, served by name-cache.",
            "Lookups of cold names: stat 130 k/s, served by page-cache.",
            "Acknowledged changes by 1 thread in a shared directory: create 48.3 k/s, served by \
             page-cache.",
        ];
        assert_eq!(said[..5], expected);
        assert!(said[5].starts_with("The dearest: ") && said[5].contains("fsync"), "{}", said[5]);
        assert!(said[5].ends_with(" at 334/s, the lowest rate measured."), "{}", said[5]);
    }

    #[test]
    fn directories_of_other_sizes_are_told_apart() {
        let few = MetadataWork { call: Call::Create, ..zoo::plain_metadata() };
        let many = MetadataWork { entries: 10 * few.entries, ..few };
        let rows = [(few, 54.2e3), (many, 31.0e3)];
        let said = said(rows.map(|(work, rate)| row(work, ServedBy::PageCache, rate)).into());
        let with = |work: MetadataWork| format!("own with {} names: create ", work.entries);
        assert!(said[0].contains(&(with(few) + "54.2 k/s,")), "{}", said[0]);
        assert!(said[1].contains(&(with(many) + "31.0 k/s,")), "{}", said[1]);
    }

    #[test]
    fn without_a_rate_there_is_no_answer() {
        assert_eq!(said(Vec::new()), ["No call has a valid rate."]);
    }
}
