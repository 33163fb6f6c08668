//! The simulations behind the figures of METHODOLOGY.md, each of the program's own rules on data
//! whose truth is known; and their tables, which stand there between two marks.

mod noise;
mod table;
mod record;
mod rounds;
mod invocations;
mod rules;
mod latencies;

use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::Path;
use table::Table;

const DOCUMENT: &str = "METHODOLOGY.md";
const BEGIN: &str = "<!-- cargo xtask simulate -->\n";
const END: &str = "<!-- end of cargo xtask simulate -->";
/// Sessions of a share in the document.
const SESSIONS: usize = 2_000;
/// Sessions where it is only checked.
const SESSIONS_CHECKED: usize = 150;

/// Fewer sessions say nothing.
const SESSIONS_LEAST: usize = 40;

/// A table and what it is about.
struct Simulation {
    title: &'static str,
    /// One in so many sessions is made, for those take long.
    part: usize,
    run: fn(usize) -> Table,
}

const ALL: [Simulation; 10] = [
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
    Simulation { title: "Two equal runs are called different:", part: 4, run: invocations::alike },
    Simulation {
        title: "The interval of a percentile holds the true one, by percentile and rounds:",
        part: 10,
        run: latencies::coverage,
    },
    Simulation {
        title: "Steps and drifts, by the number of rounds or steps of a course:",
        part: 2,
        run: rules::series,
    },
    Simulation { title: "Steady windows:", part: 1, run: rules::steady },
    Simulation { title: "Comparisons, by rounds:", part: 4, run: rules::compared },
    Simulation { title: "Steps between runs:", part: 4, run: rules::trends },
];

/// Runs the simulations, and writes their tables into the document at `root`.
pub(crate) fn run(root: &Path, options: &[&str]) -> Result<()> {
    match options {
        [] => {
            let path = root.join(DOCUMENT);
            let document = fs::read_to_string(&path).context(DOCUMENT)?;
            let (before, _, after) = parts(&document)?;
            let tables = tables(SESSIONS);
            Ok(fs::write(path, format!("{before}{BEGIN}{tables}{END}{after}"))?)
        }
        ["--check"] => check(root),
        _ => bail!("simulate takes --check or nothing, not `{}`", options.join(" ")),
    }
}

/// Whether the tables of the document are what fewer sessions come to, but for chance.
pub(crate) fn check(root: &Path) -> Result<()> {
    let document = fs::read_to_string(root.join(DOCUMENT)).context(DOCUMENT)?;
    let (_, mut kept, _) = parts(&document)?;
    let mut found = Vec::new();
    for (simulation, next) in ALL.iter().zip(ALL.iter().skip(1).map(Some).chain([None])) {
        let (own, rest) = match next.and_then(|next| kept.find(&format!("\n{}", next.title))) {
            Some(at) => kept.split_at(at),
            None => (kept.trim_end_matches('\n'), ""),
        };
        let fresh = simulation.section(SESSIONS_CHECKED);
        let sessions = [SESSIONS, SESSIONS_CHECKED].map(|sessions| simulation.sessions(sessions));
        found.extend(table::differences(own, &fresh, sessions));
        kept = rest;
    }
    ensure!(
        found.is_empty(),
        "{DOCUMENT} does not say what the simulations come to; run cargo xtask simulate\n{}",
        found.join("\n")
    );
    Ok(())
}

impl Simulation {
    /// How many sessions it has of so many.
    fn sessions(&self, sessions: usize) -> usize {
        (sessions / self.part).max(SESSIONS_LEAST)
    }

    fn section(&self, sessions: usize) -> String {
        let table = (self.run)(self.sessions(sessions));
        format!("\n{}\n\n{}", self.title, table.text())
    }
}

fn tables(sessions: usize) -> String {
    ALL.iter().map(|simulation| simulation.section(sessions)).collect::<String>() + "\n"
}

/// What stands before the mark, between the marks and after them.
fn parts(document: &str) -> Result<(&str, &str, &str)> {
    let (before, rest) = document.split_once(BEGIN).context("the first mark is missing")?;
    let (kept, after) = rest.split_once(END).context("the last mark is missing")?;
    Ok((before, kept, after))
}
