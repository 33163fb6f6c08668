//! The document: what was planted, and how each tool responded.

use super::fault::{Fault, Meanwhile};
use super::scene::{self, TOOLS, ToolResult, WRITE_RECIPE};
use crate::document::{cell, commands, paragraph, table};
use crate::limit::PlantedLimit;
use crate::stage::Circumstances;
use model::units;
use std::fmt::Write;

/// A fault and the tools' results, or why it could not be planted.
pub(super) type Played<'a> = (&'a Fault, Result<Vec<ToolResult>, String>);

/// The section on faults.
pub(super) fn faults(circumstances: &Circumstances, all: &[Played<'_>]) -> String {
    let row = |(fault, played): &Played<'_>| {
        let cells = match played {
            Ok(all) => all.iter().map(|ran| word(fault, ran)).collect::<Vec<_>>().join(" | "),
            Err(_) => TOOLS.map(|_| "not planted").join(" | "),
        };
        format!("| {} | {cells} |", fault.name)
    };
    let mut text = circumstances.text()
        + &paragraph(
            "The tables quote each tool. For fio, this is the line with its rate, as printed by \
             default, and its disk statistics; for dd, its line with bytes and time; for ioassay, \
             the median of its figure, what served the bytes, the verdict, and the codes of its \
             findings. A tool warned if its output mentions the fault. For fio and dd, every \
             complaint and every count of missing bytes counts; for ioassay, a finding that names \
             the fault, or the right name of what served the bytes. A tool avoided the fault if \
             its defaults keep it from being fooled. The file was in the same state before each \
             tool ran. `fincore` says how much of it was then in the page cache, and the kernel's \
             counters of the device say what it moved while the tool ran. ioassay moves more, \
             because it runs several trials and baseline rows.",
        )
        + &table("| fault | ioassay | fio | dd |", all.iter().map(row));
    for played in all {
        text = format!("{}\n\n{}", text.trim_end(), part(played));
    }
    format!("{}\n\n### Commands\n\n{}", text.trim_end(), commands_of(all))
}

/// A tool's response to a fault, in a word.
fn word(fault: &Fault, ran: &ToolResult) -> &'static str {
    match ran.said.warning {
        Some(_) => "**warned**",
        None if fault.avoided.iter().any(|tool| tool == ran.tool) => "avoided",
        None => "silent",
    }
}

/// The subsection on a fault.
fn part((fault, played): &Played<'_>) -> String {
    let Fault { name, planted, truth, aside, .. } = fault;
    let text =
        format!("### {name}\n\n") + &paragraph(&format!("{planted} The truth: {truth} {aside}"));
    text + &match played {
        Ok(all) => {
            let head = "| tool | what it printed | cached before | device moved | warned |";
            table(head, all.iter().map(line))
        }
        Err(reason) => paragraph(&format!("Not planted here: {reason}")),
    }
}

/// A row of a fault's table.
fn line(ToolResult { tool, cached_percent, device_bytes, said }: &ToolResult) -> String {
    let cached = cached_percent.map_or("–".to_owned(), |percent| format!("{percent:.0} %"));
    let moved = device_bytes.map_or("–".to_owned(), units::bytes_rounded);
    let quote = |text: &str| format!("`{}`", cell(&text.replace('`', "'")));
    let beside = said.beside.as_deref().map(|text| format!("; {}", quote(text)));
    let headline = quote(&said.headline) + &beside.unwrap_or_default();
    let warning = match &said.warning {
        Some(text) => format!("**yes**: {}", quote(text)),
        None => "no".to_owned(),
    };
    format!("| {tool} | {headline} | {cached} | {moved} | {warning} |")
}

/// The commands for all faults.
fn commands_of(all: &[Played<'_>]) -> String {
    let mut lines = Vec::new();
    for (fault, _) in all {
        lines.push(format!("# {}{}", fault.name, circumstance(fault)));
        for line in [&fault.ioassay, &fault.fio, &fault.dd] {
            let inject = fault.inject.as_deref();
            let strace = inject.map(|inject| scene::strace(inject, line) + " ");
            lines.push(strace.unwrap_or_default() + line);
        }
    }
    paragraph(
        "`FILE` is the file, `DIR` its directory, and `WRITE` the recipe below. All ran with \
         `LC_ALL=C` and, if a limit is named, in a control group with that limit.",
    ) + &commands(&lines)
        + "\n```toml\n"
        + WRITE_RECIPE
        + "```\n"
}

/// What surrounds a fault's commands.
fn circumstance(fault: &Fault) -> String {
    let limit = |limit| match limit {
        PlantedLimit::ReadBytes(n) => format!("limit: read {n} bytes a second"),
        PlantedLimit::WriteBytes(n) => format!("limit: write {n} bytes a second"),
        PlantedLimit::ReadOps(n) => format!("limit: read {n} times a second"),
        PlantedLimit::Memory(n) => format!("limit: {n} bytes of memory"),
        PlantedLimit::Cpu(percent) => format!("limit: {percent} % of a CPU"),
    };
    let mut text = fault.limit.map(|is| format!(" ({})", limit(is))).unwrap_or_default();
    if let Some(Meanwhile::Change { after_mib, limit: then }) = &fault.meanwhile {
        let mib = after_mib.map(|n| n.to_string()).join(", ");
        let _ = write!(text, " (after {mib} MiB: {})", limit(*then));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::said::Said;
    use super::super::{DOCUMENT, HonestySection, fault};
    use super::*;
    use crate::document::{self, Part};
    use crate::stage::circumstances;

    fn known() -> Vec<Fault> {
        fault::all().expect("it is whole")
    }

    fn ran(tool: &'static str, warning: Option<&str>) -> ToolResult {
        let said = Said {
            headline: "read: IOPS=604".to_owned(),
            is_answer: true,
            beside: Some("vda: ios=557/0".to_owned()),
            warning: warning.map(str::to_owned),
        };
        ToolResult { tool, cached_percent: Some(49.99), device_bytes: Some(32 << 20), said }
    }

    #[test]
    fn a_fault_has_a_row_and_a_part() {
        let all = vec![ran("ioassay", Some("Ram: it is | memory")), ran("fio", None)];
        let text = faults(&circumstances(), &[(&known()[0], Ok(all))]);
        for expected in [
            "- Date: 2026-01-02 03:04 UTC\n- Versions: ioassay 0.1.0 (abc); fio-3.33\n",
            "\n| A limit of bytes | **warned** | silent |\n",
            "\n### A limit of bytes\n\nA control group may read 20 MiB a second",
            "| ioassay | `read: IOPS=604`; `vda: ios=557/0` | 50 % | 32.0 MiB | **yes**: `Ram: it \
             is \\| memory` |\n",
            "| fio | `read: IOPS=604`; `vda: ios=557/0` | 50 % | 32.0 MiB | no |\n",
            "\n# A limit of bytes (limit: read 20971520 bytes a second)\nioassay run",
            "\n[[cases]]\nop = \"write\"\n",
        ] {
            assert!(text.contains(expected), "'{expected}' is not in {text}");
        }
    }

    #[test]
    fn the_document_has_each_fault_and_a_row_of_it() {
        let table = known();
        let names: Vec<&str> = table.iter().map(|fault| fault.name.as_str()).collect();
        let text = document::part(DOCUMENT, Part::Section(HonestySection::Faults.title()));
        let (overview, parts) = text.split_once("\n### ").expect("it has parts");
        assert_eq!(document::rows(overview), names);
        let titles = parts.split("\n### ").map(|part| part.lines().next().unwrap_or_default());
        let titles: Vec<&str> = titles.filter(|title| *title != "Commands").collect();
        assert_eq!(titles, names);
    }

    #[test]
    fn a_tool_that_is_not_fooled_is_not_called_silent() {
        let table = known();
        let avoided = table.iter().find(|fault| fault.avoided == ["fio"]).expect("there are some");
        let check =
            |tool, warning, expected| assert_eq!(word(avoided, &ran(tool, warning)), expected);
        check("fio", None, "avoided");
        check("fio", Some("it says so"), "**warned**");
        check("dd", None, "silent");
    }

    #[test]
    fn a_fault_that_was_not_planted_says_so() {
        let text = faults(&circumstances(), &[(&known()[1], Err("it needs root".to_owned()))]);
        let row = "| A limit of operations | not planted | not planted | not planted |\n";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("\n\nNot planted here: it needs root\n\n"), "{text}");
    }

    #[test]
    fn every_fault_is_told_and_asked_of_all_tools() {
        let table = known();
        let mut names: Vec<&str> = table.iter().map(|fault| fault.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), table.len(), "two faults have one name");
        for fault in &table {
            assert!(fault.planted.ends_with('.') && fault.truth.ends_with('.'), "{}", fault.name);
            assert!(!fault.signs.is_empty(), "{}", fault.name);
            for (line, tool) in [&fault.ioassay, &fault.fio, &fault.dd].into_iter().zip(TOOLS) {
                assert!(line.starts_with(&format!("{tool} ")), "{line}");
                assert!(line.contains("FILE") || line.contains(" DIR "), "{line}");
                assert!(!line.contains("  "), "{line}");
            }
        }
    }
}
