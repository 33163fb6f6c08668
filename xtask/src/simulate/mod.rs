//! Simulations for docs/method. They apply the program's own rules to data with a known truth,
//! and write tables between two markers of the document.

mod noise;
mod table;
mod record;
mod rounds;
mod invocations;
mod rules;
mod prunes;
mod fleets;
mod latencies;

use crate::at_once::at_once;
use crate::document::{self, Part, Purpose};
use anyhow::{Result, ensure};
use table::MarkdownTable;

/// The document, relative to the workspace, and its part with the tables.
const DOCUMENT: &str = "docs/method/simulations.md";
const PART: Part = Part::Marked("simulations");

/// Sessions per share in the document.
const SESSIONS: usize = 2_000;
/// Sessions per share when only checking.
const SESSIONS_CHECKED: usize = 150;

/// Fewer sessions are not informative.
const SESSIONS_LEAST: usize = 40;

/// A simulation: the title of its table, what divides the number of sessions because it is slow,
/// and how it runs that many.
type Simulation = (&'static str, usize, fn(usize) -> MarkdownTable);

static ALL: [Simulation; 14] = [
    ("An interval holds the machine's median, by rounds:", 1, rounds::coverage),
    ("The interval of one run holds the median of all, by rounds:", 1, rounds::runs),
    ("The interval of invocations × rounds holds the median of all:", 1, invocations::coverage),
    ("It holds the figure of another run:", 1, invocations::later),
    ("`WideInterval` is reported:", 1, invocations::wide),
    ("Two equal runs are called different:", 4, invocations::alike),
    (
        "The interval of a percentile holds the true one, by percentile and rounds:",
        10,
        latencies::coverage,
    ),
    ("Steps and drifts, by rounds:", 2, rules::series),
    ("Steady windows:", 1, rules::steady),
    ("Comparisons, by rounds:", 4, rules::compared),
    ("The fastest of equal cases, by rounds:", 10, rules::fastest),
    ("Steps between runs:", 4, rules::trends),
    ("An axis is pruned, by invocations × rounds and noise:", 4, prunes::pruned),
    ("The odd hosts of a fleet are named, and no others:", 4, fleets::odd_hosts),
];

/// Runs the simulations and writes their tables into the document.
pub(crate) fn run() -> Result<()> {
    let tables = sections(SESSIONS).concat();
    document::rewrite(DOCUMENT, &[(PART, tables)], Purpose::Write)
}

/// Checks that the document's tables agree with a smaller simulation, apart from chance.
pub(crate) fn check() -> Result<()> {
    let document = document::read(DOCUMENT)?;
    let kept: Vec<&str> = PART.of(&document)?.trim().split("\n\n").collect();
    let (texts, expected) = (kept.len(), 2 * ALL.len());
    ensure!(texts == expected, "{DOCUMENT} has {texts} titles and tables, not {expected}");
    let mut found = Vec::new();
    let fresh = sections(SESSIONS_CHECKED);
    for (((_, part, _), kept), fresh) in ALL.iter().zip(kept.chunks(2)).zip(fresh) {
        let sessions = [SESSIONS, SESSIONS_CHECKED].map(|sessions| sessions_of(*part, sessions));
        found.extend(table::differences(&kept.join("\n\n"), fresh.trim(), sessions));
    }
    ensure!(
        found.is_empty(),
        "the tables of {DOCUMENT} differ from the simulations: run cargo xtask simulate\n{}",
        found.join("\n")
    );
    Ok(())
}

/// The number of sessions for a simulation of this part.
fn sessions_of(part: usize, sessions: usize) -> usize {
    (sessions / part).max(SESSIONS_LEAST)
}

/// The text of each simulation, all of which run at the same time.
fn sections(sessions: usize) -> Vec<String> {
    at_once(&ALL, ALL.len(), |(title, part, run)| {
        let table = run(sessions_of(*part, sessions));
        format!("\n{title}\n\n{}", table.text())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_a_table_for_each_simulation() {
        let part = document::part(DOCUMENT, PART);
        let texts = part.lines().filter(|line| !line.is_empty() && !line.starts_with('|'));
        assert_eq!(texts.collect::<Vec<_>>(), ALL.each_ref().map(|(title, ..)| *title));
    }
}
