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

use crate::document::{self, Part, Purpose};
use anyhow::{Result, ensure};
use std::thread;
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

/// A table and its simulation.
struct Simulation {
    title: &'static str,
    /// Divides the number of sessions, for slow simulations.
    part: usize,
    run: fn(usize) -> MarkdownTable,
}

static ALL: [Simulation; 14] = [
    Simulation {
        title: "The interval of a figure holds the machine's median, by rounds:",
        part: 1,
        run: rounds::coverage,
    },
    Simulation {
        title: "The interval of one run holds the median of all runs, by rounds:",
        part: 1,
        run: rounds::runs,
    },
    Simulation {
        title: "The interval of several invocations holds the median of all:",
        part: 1,
        run: invocations::coverage,
    },
    Simulation { title: "It holds the figure of another run:", part: 1, run: invocations::later },
    Simulation { title: "`WideInterval` is reported:", part: 1, run: invocations::wide },
    Simulation { title: "Two equal runs are called different:", part: 4, run: invocations::alike },
    Simulation {
        title: "The interval of a percentile holds the true one, by percentile and rounds:",
        part: 10,
        run: latencies::coverage,
    },
    Simulation {
        title: "Steps and drifts, by the number of rounds or steps of a time series:",
        part: 2,
        run: rules::series,
    },
    Simulation { title: "Steady windows:", part: 1, run: rules::steady },
    Simulation { title: "Comparisons, by rounds:", part: 4, run: rules::compared },
    Simulation { title: "The fastest of equal cases, by rounds:", part: 10, run: rules::fastest },
    Simulation { title: "Steps between runs:", part: 4, run: rules::trends },
    Simulation {
        title: "An axis of seven values is pruned, by invocations × rounds and noise:",
        part: 4,
        run: prunes::pruned,
    },
    Simulation {
        title: "The odd hosts of a fleet are named, and no others, or any if all are alike:",
        part: 4,
        run: fleets::odd_hosts,
    },
];

/// Runs the simulations and writes their tables into the document.
pub(crate) fn run() -> Result<()> {
    document::rewrite(DOCUMENT, &[(PART, tables(SESSIONS))], Purpose::Write)
}

/// Checks that the document's tables agree with a smaller simulation, apart from chance.
pub(crate) fn check() -> Result<()> {
    let document = document::read(DOCUMENT)?;
    let mut kept = PART.of(&document)?;
    let mut found = Vec::new();
    let nexts = ALL.iter().skip(1).map(Some).chain([None]);
    for ((simulation, next), fresh) in ALL.iter().zip(nexts).zip(sections(SESSIONS_CHECKED)) {
        let (own, rest) = match next.and_then(|next| kept.find(&format!("\n{}", next.title))) {
            Some(at) => kept.split_at(at),
            None => (kept.trim_end_matches('\n'), ""),
        };
        let sessions = [SESSIONS, SESSIONS_CHECKED].map(|sessions| simulation.sessions(sessions));
        found.extend(table::differences(own, &fresh, sessions));
        kept = rest;
    }
    ensure!(
        found.is_empty(),
        "the tables of {DOCUMENT} differ from the simulations: run cargo xtask simulate\n{}",
        found.join("\n")
    );
    Ok(())
}

impl Simulation {
    /// The number of sessions for this simulation.
    fn sessions(&self, sessions: usize) -> usize {
        (sessions / self.part).max(SESSIONS_LEAST)
    }

    fn section(&self, sessions: usize) -> String {
        let table = (self.run)(self.sessions(sessions));
        format!("\n{}\n\n{}", self.title, table.text())
    }
}

fn tables(sessions: usize) -> String {
    sections(sessions).concat()
}

/// The text of each simulation, all of which run at the same time.
fn sections(sessions: usize) -> Vec<String> {
    thread::scope(|scope| {
        let start = |simulation: &'static Simulation| scope.spawn(|| simulation.section(sessions));
        let started: Vec<_> = ALL.iter().map(start).collect();
        started.into_iter().map(|section| section.join().expect("no simulation panics")).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_a_table_for_each_simulation() {
        let part = document::part(DOCUMENT, PART);
        let texts = part.lines().filter(|line| !line.is_empty() && !line.starts_with('|'));
        assert_eq!(texts.collect::<Vec<_>>(), ALL.each_ref().map(|simulation| simulation.title));
    }
}
