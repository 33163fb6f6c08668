//! The sections of the document, one per part of the benchmark.

use super::figure::BenchRow;
use crate::document::{cell, paragraph, table};
use crate::stage::Circumstances;
use std::fmt::Write;

/// The titles of all sections, in order.
pub(super) const SECTIONS: [&str; 6] =
    ["Files", "Load", "Memory", "Writing", COMMANDS, "The program"];
/// The section that is about judging commands.
pub(super) const COMMANDS: &str = "Commands";

/// Formats a section.
pub(super) fn section(circumstances: &Circumstances, method: &str, rows: &[BenchRow]) -> String {
    let head = "| row | ioassay | peer | ratio, or the figure itself | target | | evidence |";
    let (rows, missed) = (table(head, rows.iter().map(line)), missed(rows));
    circumstances.text() + &paragraph(method) + &rows + "\n### Missed\n\n" + &missed
}

/// Formats a row of the table.
pub(super) fn line(row: &BenchRow) -> String {
    let verdict = match (&row.figure, row.goal.is_none(), row.is_met()) {
        (Err(_), ..) => "**not measured**",
        (Ok(_), true, _) => "",
        (Ok(_), _, true) => "met",
        (Ok(_), _, false) => "**missed**",
    };
    let BenchRow { name, ours, theirs, evidence, .. } = row;
    // A reason may span several lines and contain bars.
    let shown = cell(&row.show());
    let target = row.target();
    format!("| {name} | {ours} | {theirs} | {shown} | {target} | {verdict} | {evidence} |")
}

/// The rows that missed their target, with the distance and why the target is hard, and the rows
/// that were not measured.
fn missed(rows: &[BenchRow]) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|row| !row.is_met()) {
        let (name, shown) = (&row.name, row.show());
        let Ok(found) = &row.figure else {
            let _ = writeln!(text, "- **{name}**: not measured. {}", cell(&shown));
            continue;
        };
        let percent = row.goal.distance(found.median) * 100.0;
        let decided = match found.interval.map(|(low, high)| row.goal.is_decided_by(low, high)) {
            Some(true) => "",
            Some(false) => "; the interval reaches the target",
            None => "; there is no interval",
        };
        let (target, why) = (row.target(), &row.why);
        let _ = writeln!(
            text,
            "- **{name}**: {shown}, target {target}, off by {percent:.1} %{decided}. {why}"
        );
    }
    if text.is_empty() { "Nothing.\n".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::super::figure::{Absent, Figure, RowTarget, RowUnit};
    use super::*;

    fn row(median: f64, least: f64) -> BenchRow {
        let goal = RowTarget { least: Some(least), most: None };
        let figure = Ok(Figure { median, interval: Some((0.9, 1.3)) });
        let alone = BenchRow::alone("warm pread", RowUnit::Ratio, goal, "It is hard.", &[median]);
        BenchRow { figure, theirs: "fio: 9".to_owned(), evidence: "device".to_owned(), ..alone }
    }

    #[test]
    fn a_row_says_whether_its_target_is_met() {
        let expected = "| warm pread | 1.20 | fio: 9 | 1.20 [0.90, 1.30] | ≥ 1.00 | met | device |";
        assert_eq!(line(&row(1.2, 1.0)), expected);
        assert!(line(&row(1.2, 1.3)).contains("| **missed** |"));
        let absent = BenchRow { figure: Err(Absent::Here("a|b\nc".to_owned())), ..row(1.2, 1.0) };
        assert!(line(&absent).contains("| a\\|b c | ≥ 1.00 | **not measured** |"));
    }

    #[test]
    fn what_is_missed_is_listed_with_what_makes_it_hard() {
        assert_eq!(missed(&[row(1.2, 1.0)]), "Nothing.\n");
        let expected = "- **warm pread**: 1.20 [0.90, 1.30], target ≥ 1.25, off by 4.0 %; the \
                        interval reaches the target. It is hard.\n";
        assert_eq!(missed(&[row(1.2, 1.25)]), expected);
    }
}
