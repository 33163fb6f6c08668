//! The document: a head, and a section for each part of the benchmark.

use super::figure::{Figures, Goal, Row, estimate};
use crate::document::{Outline, cell, describe};
use assess::stats::Estimate;
use serde_json::Value;
use std::fmt::Write;
use std::time::Duration;

/// The titles of all sections, in their order.
pub(super) const SECTIONS: [&str; 4] = ["Files", "Memory", "Writing", "The program"];

/// The document without its sections.
pub(super) const OUTLINE: Outline =
    Outline { title: "Benchmarks", head: &HEAD, sections: &SECTIONS };

const HEAD: [&str; 2] = [
    "Written by `cargo xtask bench`, which takes about three quarters of an hour; do not edit it. \
     With `--only files`, `memory`, `writing` or `program` it writes one of the four sections \
     anew.",
    "A figure is compared within pairs of trials: one of ioassay's worker, one of its peer, one \
     after the other in an order that chance decides. Each pair gives a ratio, ioassay to peer. \
     The tables have the median of each side, and the median of the ratios with its exact 95 % \
     order-statistic interval, which fewer than 6 pairs do not have. Whether a target was met or \
     missed is about the median alone. A row of which nothing is wanted is told for comparison.",
];

/// What is said of a part beside its rows.
#[derive(Debug)]
pub(super) struct Circumstances {
    /// What `ioassay host` says.
    pub(super) host: Value,
    pub(super) date: String,
    /// Of all programs that took part.
    pub(super) versions: Vec<String>,
    pub(super) pairs: usize,
    pub(super) time: Duration,
}

/// The text of a section: `method` and `details` are Markdown of its own, before and behind the
/// table of its rows.
pub(super) fn section(
    circumstances: &Circumstances,
    method: &str,
    rows: &[Row],
    details: &str,
) -> String {
    let Circumstances { host, date, versions, .. } = circumstances;
    let mut text = format!(
        "- Host: {}\n- Date: {date}\n- Versions: {}\n\n{method}\
         | row | ioassay | peer | ratio, or the figure itself | wanted | |\n\
         |---|---|---|---|---|---|\n",
        describe(host),
        versions.join("; ")
    );
    for row in rows {
        text += &line(row);
    }
    text + "\n" + details + "\n### Missed\n\n" + &missed(rows)
}

/// A row of the table.
pub(super) fn line(row: &Row) -> String {
    let question = &row.question;
    let verdict = match (&row.answer, question.goal, row.is_met()) {
        (Err(_), ..) => "**not measured**",
        (Ok(_), Goal::Nothing, _) => "",
        (Ok(_), _, true) => "met",
        (Ok(_), _, false) => "**missed**",
    };
    let (ours, theirs) = match &row.answer {
        Ok(Figures { ours, theirs }) => {
            let show = |figures: &[f64]| question.unit.show(estimate(figures).median);
            let theirs = question.peer.as_ref().map(|peer| format!("{peer}: {}", show(theirs)));
            (show(ours), theirs.unwrap_or_else(|| "–".to_owned()))
        }
        Err(_) => ("–".to_owned(), question.peer.as_deref().unwrap_or("–").to_owned()),
    };
    let judged = match &row.answer {
        Ok(_) => show_judged(row),
        // A reason may be of several lines, and have bars in it.
        Err(reason) => cell(reason),
    };
    let (name, wanted) = (&question.name, wanted(row));
    format!("| {name} | {ours} | {theirs} | {judged} | {wanted} | {verdict} |\n")
}

/// What is judged, with its interval; nothing of a row that was not measured.
fn show_judged(row: &Row) -> String {
    let Some(Estimate { median, low, high, .. }) = row.judged() else { return String::new() };
    let interval =
        low.zip(high).map(|(low, high)| format!(" [{}, {}]", show(row, low), show(row, high)));
    show(row, median) + &interval.unwrap_or_default()
}

/// What is wanted of the median, in words.
fn wanted(row: &Row) -> String {
    match row.question.goal {
        Goal::AtLeast(least) => format!("≥ {}", show(row, least)),
        Goal::AtMost(most) => format!("≤ {}", show(row, most)),
        Goal::Within(least, most) => format!("{} to {}", show(row, least), show(row, most)),
        Goal::Nothing => "–".to_owned(),
    }
}

/// A figure that is judged: a ratio, or one with the row's unit.
fn show(row: &Row, value: f64) -> String {
    match row.question.peer {
        // Two digits would be none of a small share.
        Some(_) if value.abs() < 0.1 => format!("{value:.3}"),
        Some(_) => format!("{value:.2}"),
        None => row.question.unit.show(value),
    }
}

/// Which rows were missed, by how much, and what makes them hard; and which were not measured.
fn missed(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|row| !row.is_met()) {
        let Row { question, answer } = row;
        let name = &question.name;
        let Some(judged) = row.judged() else {
            let reason = answer.as_ref().err().map_or("", String::as_str);
            let _ = writeln!(text, "- **{name}**: not measured. {reason}");
            continue;
        };
        let percent = question.goal.distance(judged.median) * 100.0;
        let decided = match row.is_decided() {
            Some(true) => "",
            Some(false) => "; the interval reaches the target",
            None => "; with so few pairs there is no interval",
        };
        let (judged, wanted, why) = (show_judged(row), wanted(row), question.why);
        let _ = writeln!(
            text,
            "- **{name}**: {judged} where {wanted} is wanted, off by {percent:.1} %{decided}. {why}"
        );
    }
    if text.is_empty() { "Nothing.\n".to_owned() } else { text }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::figure::tests::{absent, alone, row};
    use super::*;
    use serde_json::json;

    /// Circumstances of seven pairs of 2 s.
    pub(in crate::bench) fn circumstances() -> Circumstances {
        let device = json!({ "name": "vda", "model": null, "is_virtual": true });
        let host = json!({
            "host": { "cpu": "AMD EPYC", "cores": 2, "memory": 25276514304u64, "os": "Linux 6.18",
                      "hypervisor": "kvm" },
            "storage": { "file_system": "ext4", "devices": [device] },
        });
        Circumstances {
            host,
            date: "2026-01-02 03:04 UTC".to_owned(),
            versions: vec!["ioassay 0.1.0 (abc)".to_owned(), "fio-3.33".to_owned()],
            pairs: 7,
            time: Duration::from_secs(2),
        }
    }

    fn text(rows: &[Row]) -> String {
        section(&circumstances(), "How.\n\n", rows, "More.\n")
    }

    const OURS: [f64; 7] = [120.0, 90.0, 130.0, 110.0, 140.0, 115.0, 125.0];

    #[test]
    fn a_row_that_was_met_is_a_line_of_the_table() {
        let text = text(&[row(OURS, Goal::AtLeast(1.15))]);
        let expected =
            "| warm pread | 120 /s | fio psync: 100 /s | 1.20 [0.90, 1.40] | ≥ 1.15 | met |\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.ends_with("More.\n\n### Missed\n\nNothing.\n"), "{text}");
    }

    #[test]
    fn a_row_that_was_missed_says_by_how_much_and_why() {
        for (goal, expected) in [
            (
                Goal::AtLeast(1.5),
                "- **warm pread**: 1.20 [0.90, 1.40] where ≥ 1.50 is wanted, off by 20.0 %. It is \
                 hard.\n",
            ),
            (
                Goal::AtMost(1.0),
                "- **warm pread**: 1.20 [0.90, 1.40] where ≤ 1.00 is wanted, off by 20.0 %; the \
                 interval reaches the target. It is hard.\n",
            ),
            (
                Goal::Within(0.95, 1.0),
                "- **warm pread**: 1.20 [0.90, 1.40] where 0.95 to 1.00 is wanted, off by 20.0 %; \
                 the interval reaches the target. It is hard.\n",
            ),
        ] {
            let text = text(&[row(OURS, goal)]);
            assert!(text.contains("| **missed** |") && text.ends_with(expected), "{text}");
        }
    }

    #[test]
    fn too_few_pairs_have_no_interval() {
        let question = row(OURS, Goal::AtLeast(1.5)).question;
        let text = text(&[Row::measured(question, vec![120.0; 5], vec![100.0; 5])]);
        assert!(
            text.ends_with("off by 20.0 %; with so few pairs there is no interval. It is hard.\n")
        );
    }

    #[test]
    fn a_row_of_which_nothing_is_wanted_is_neither_met_nor_missed() {
        let text = text(&[row(OURS, Goal::Nothing)]);
        assert!(text.contains("| 1.20 [0.90, 1.40] | – |  |\n"), "{text}");
        assert!(text.ends_with("Nothing.\n"), "{text}");
    }

    #[test]
    fn a_row_that_was_not_measured_says_so() {
        for goal in [Goal::AtLeast(1.0), Goal::Nothing] {
            let text = text(&[absent(goal)]);
            assert!(text.contains("| warm pread | – | fio psync | fio is missing | "), "{text}");
            assert!(text.contains(" | **not measured** |\n"), "{text}");
            assert!(text.ends_with("- **warm pread**: not measured. fio is missing\n"), "{text}");
        }
    }

    #[test]
    fn a_row_without_a_peer_has_its_unit() {
        let expected = "| warm pread | 120 /s | – | 120 /s [90 /s, 140 /s] | ≤ 150 /s | met |\n";
        assert_eq!(line(&alone(OURS, Goal::AtMost(150.0))), expected);
    }

    #[test]
    fn a_small_share_has_three_digits() {
        let line = line(&row([0.7; 7], Goal::AtMost(0.03)));
        assert!(line.ends_with("| 0.007 [0.007, 0.007] | ≤ 0.030 | met |\n"), "{line}");
    }

    #[test]
    fn the_circumstances_are_told() {
        let text = text(&[]);
        for expected in [
            "- Host: AMD EPYC, 2 cores, 24 GiB of memory, Linux 6.18, virtual (kvm); ext4 on vda \
             (a virtual disk)\n",
            "- Date: 2026-01-02 03:04 UTC\n",
            "- Versions: ioassay 0.1.0 (abc); fio-3.33\n",
        ] {
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn a_section_that_is_not_fresh_stays() {
        let old = OUTLINE
            .document("", &[("Files", "old files\n".into()), ("Memory", "old memory".into())]);
        assert!(old.ends_with("\n## Files\n\nold files\n\n## Memory\n\nold memory\n"), "{old}");
        for (title, expected) in [
            ("Files", "\n## Files\n\nnew\n\n## Memory\n\nold memory\n"),
            ("Memory", "\n## Files\n\nold files\n\n## Memory\n\nnew\n"),
            ("Writing", "\n## Memory\n\nold memory\n\n## Writing\n\nnew\n"),
        ] {
            let document = OUTLINE.document(&old, &[(title, "new".into())]);
            assert!(document.ends_with(expected), "{document}");
            assert!(document.starts_with("# Benchmarks\n"), "{document}");
        }
        let alone = OUTLINE.document("# Something else\n", &[("Memory", "new".into())]);
        assert!(alone.ends_with("for comparison.\n\n## Memory\n\nnew\n"), "{alone}");
    }
}
