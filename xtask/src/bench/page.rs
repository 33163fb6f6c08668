//! The result as a document.

use super::duels::{Duel, Peer};
use super::figure::{Goal, Row, estimate};
use super::fio;
use super::stage::FILE_BYTES;
use assess::stats::Estimate;
use serde_json::Value;
use std::fmt::Write;
use std::time::Duration;

/// What is said of a run beside its rows.
#[derive(Debug)]
pub(super) struct Circumstances {
    /// What `ioassay host` says.
    pub(super) host: Value,
    pub(super) date: String,
    pub(super) ioassay: String,
    pub(super) fio: String,
    pub(super) pairs: usize,
    pub(super) time: Duration,
}

/// The document.
pub(super) fn markdown(circumstances: &Circumstances, rows: &[Row], duels: &[Duel]) -> String {
    let Circumstances { host, date, ioassay, fio, pairs, time } = circumstances;
    let seconds = time.as_secs_f64();
    let mut page = format!(
        "# Benchmarks\n\n\
         Written by `cargo xtask bench`, which takes about six minutes; do not edit it.\n\n\
         - Host: {}\n\
         - Date: {date}\n\
         - Versions: {ioassay}; {fio}\n\n\
         ## How it is measured\n\n\
         Each row has {pairs} pairs of trials of {seconds} s: one of ioassay's worker, \
         one of its peer, at\n\
         once after each other, in an order that a coin decides. Both read the same file \
         of 1 GiB in the\n\
         same state: in the page cache as a whole (warm), or not at all (direct). Each \
         pair gives a ratio,\n\
         ioassay to peer. The table has the median of each side, and the median of the \
         ratios with its\n\
         exact 95 % order-statistic interval, which fewer than 6 pairs do not have. CPU \
         time is user and\n\
         system time of the whole process, from `/proc/PID/stat` and from fio's `usr_cpu` \
         and `sys_cpu`.\n\
         ioassay times every operation and keeps the latency of each; so does fio as it \
         is called here.\n\
         Where the OS gives them, ioassay's buffers are huge pages, and fio's are not: with \
         blocks of 1 MiB\n\
         the device then gets fewer and longer pieces, which can be most of the difference.\n\n\
         ## Results\n\n\
         | row | ioassay | peer | ratio, or the figure itself | wanted | |\n\
         |---|---|---|---|---|---|\n",
        describe(host)
    );
    for row in rows {
        page += &line(row);
    }
    page += "\n## Calls of fio\n\n`FILE` stands for the test file.\n\n```sh\n";
    for duel in duels {
        if let Peer::Fio(own) = duel.peer {
            page += &fio::command_line(own, FILE_BYTES, *time);
            page.push('\n');
        }
    }
    page + "```\n\n## Missed\n\n" + &missed(rows)
}

/// The machine in one line.
fn describe(facts: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
    let (host, storage) = (&facts["host"], &facts["storage"]);
    let gib = host["memory"].as_f64().unwrap_or_default() / f64::from(1 << 30);
    let mut line = format!(
        "{}, {} cores, {gib:.0} GiB of memory, {}",
        text(&host["cpu"]),
        host["cores"],
        text(&host["os"])
    );
    if let Some(hypervisor) = host["hypervisor"].as_str() {
        let _ = write!(line, ", virtual ({hypervisor})");
    }
    let _ = write!(line, "; {}", text(&storage["file_system"]));
    for device in storage["devices"].as_array().into_iter().flatten() {
        let _ = write!(line, " on {}", text(&device["name"]));
        if let Some(model) = device["model"].as_str() {
            let _ = write!(line, " ({model})");
        } else if device["is_virtual"] == Value::Bool(true) {
            line += " (a virtual disk)";
        }
    }
    line
}

/// A row of the table.
pub(super) fn line(row: &Row) -> String {
    let question = &row.question;
    let ours = question.unit.show(estimate(&row.ours).median);
    let theirs = question.peer.map_or("–".to_owned(), |peer| {
        format!("{peer}: {}", question.unit.show(estimate(&row.theirs).median))
    });
    let verdict = if row.is_met() { "met" } else { "**missed**" };
    let judged = show_judged(row);
    format!("| {} | {ours} | {theirs} | {judged} | {} | {verdict} |\n", question.name, wanted(row))
}

fn show_judged(row: &Row) -> String {
    let Estimate { median, low, high, .. } = row.judged();
    let interval =
        low.zip(high).map(|(low, high)| format!(" [{}, {}]", show(row, low), show(row, high)));
    show(row, median) + &interval.unwrap_or_default()
}

/// What is wanted of the median, in words.
fn wanted(row: &Row) -> String {
    match row.question.goal {
        Goal::AtLeast(least) => format!("≥ {}", show(row, least)),
        Goal::AtMost(most) => format!("≤ {}", show(row, most)),
    }
}

/// A figure that is judged: a ratio, or one with the row's unit.
fn show(row: &Row, value: f64) -> String {
    match row.question.peer {
        Some(_) => format!("{value:.2}"),
        None => row.question.unit.show(value),
    }
}

/// Which rows were missed, by how much, and what makes them hard.
fn missed(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|row| !row.is_met()) {
        let Row { question, .. } = row;
        let percent = question.goal.distance(row.judged().median) * 100.0;
        let decided = if row.is_decided() { "" } else { "; the interval reaches the target" };
        let (wanted, why) = (wanted(row), question.why);
        let judged = show_judged(row);
        let name = question.name;
        let _ = writeln!(
            text,
            "- **{name}**: {judged} where {wanted} is wanted, off by {percent:.1} %{decided}. {why}"
        );
    }
    if text.is_empty() { "Nothing.\n".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::super::duels::DUELS;
    use super::super::figure::tests::row;
    use super::*;
    use serde_json::json;

    fn page(rows: &[Row]) -> String {
        let device = json!({ "name": "vda", "model": null, "is_virtual": true });
        let host = json!({
            "host": { "cpu": "AMD EPYC", "cores": 2, "memory": 25276514304u64, "os": "Linux 6.18",
                      "hypervisor": "kvm" },
            "storage": { "file_system": "ext4", "devices": [device] },
        });
        let circumstances = Circumstances {
            host,
            date: "2026-01-02 03:04 UTC".to_owned(),
            ioassay: "ioassay 0.1.0 (abc)".to_owned(),
            fio: "fio-3.33".to_owned(),
            pairs: 7,
            time: Duration::from_secs(2),
        };
        markdown(&circumstances, rows, DUELS)
    }

    const OURS: [f64; 7] = [120.0, 90.0, 130.0, 110.0, 140.0, 115.0, 125.0];

    #[test]
    fn a_row_that_was_met_is_a_line_of_the_table() {
        let page = page(&[row(OURS, Goal::AtLeast(1.15))]);
        let expected =
            "| warm pread | 120 /s | fio psync: 100 /s | 1.20 [0.90, 1.40] | ≥ 1.15 | met |\n";
        assert!(page.contains(expected), "{page}");
        assert!(page.ends_with("## Missed\n\nNothing.\n"), "{page}");
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
        ] {
            let page = page(&[row(OURS, goal)]);
            assert!(page.contains("| **missed** |") && page.ends_with(expected), "{page}");
        }
    }

    #[test]
    fn a_row_without_a_peer_has_its_unit() {
        let mut row = row(OURS, Goal::AtMost(150.0));
        (row.question.peer, row.theirs) = (None, Vec::new());
        let expected = "| warm pread | 120 /s | – | 120 /s [90 /s, 140 /s] | ≤ 150 /s | met |\n";
        assert_eq!(line(&row), expected);
    }

    #[test]
    fn the_circumstances_are_told() {
        let page = page(&[]);
        for expected in [
            "- Host: AMD EPYC, 2 cores, 24 GiB of memory, Linux 6.18, virtual (kvm); ext4 on vda \
             (a virtual disk)\n",
            "- Date: 2026-01-02 03:04 UTC\n",
            "- Versions: ioassay 0.1.0 (abc); fio-3.33\n",
            "--ioengine=psync --rw=randread --bs=4k\n",
        ] {
            assert!(page.contains(expected), "{page}");
        }
    }
}
