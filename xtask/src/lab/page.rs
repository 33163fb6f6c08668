//! The part of the document that lists what was asserted on each machine.

use super::guest::Booted;
use super::scenario::{Machine, Scenario, ScenarioResult};
use crate::document::{cell, paragraph};
use anyhow::{Context, Result};
use std::collections::BTreeMap;

/// The head of the table.
const HEAD: &str = "| row | kernel | processor | what | asserted | |\n|---|---|---|---|---|---|\n";

/// The rows of scenarios that have just run.
#[derive(Debug)]
pub(super) struct Fresh {
    /// When, with what, and how many passed; without the final period.
    summary: String,
    /// The name of each scenario, and its line.
    rows: Vec<(String, String)>,
}

impl Fresh {
    /// The results of all scenarios of `machines`.
    pub(super) fn new(machines: &[Machine], done: &[Booted], date: &str, version: &str) -> Fresh {
        let rows = machines.iter().zip(done).flat_map(|(machine, booted)| {
            let ran = machine.scenario.iter().zip(&booted.ran);
            ran.map(move |(scenario, ran)| (machine, &booted.release, scenario, ran))
        });
        let rows: Vec<(&Machine, &String, &Scenario, &ScenarioResult)> = rows.collect();
        let asserted: usize = rows.iter().map(|(.., ran)| ran.asserted).sum();
        let passed = rows.iter().filter(|(.., ran)| ran.wrong.is_empty()).count();
        let plural = if machines.len() == 1 { "" } else { "s" };
        let summary = format!(
            "On {date}, with {version}: {passed} of {} rows passed ({asserted} assertions in {} \
             machine{plural})",
            rows.len(),
            machines.len()
        );
        let rows = rows.into_iter().map(|(machine, release, scenario, ran)| {
            (scenario.name.clone(), line(machine, release, scenario, ran))
        });
        Fresh { summary, rows: rows.collect() }
    }

    /// A part with these rows alone.
    pub(super) fn alone(&self) -> String {
        let lines = self.rows.iter().map(|(_, line)| line.as_str());
        paragraph(&format!("{}.", self.summary)) + HEAD + &lines.collect::<String>()
    }

    /// The part `old` with these rows in place of those of the same names, and of the others those
    /// that are still in `names`, in that order. Its summaries stay, and one names these rows.
    ///
    /// # Errors
    /// If the part has no table.
    pub(super) fn among(&self, old: &str, names: &[&str]) -> Result<String> {
        let (summaries, lines) = old.split_once(HEAD).context("the document has no table")?;
        let name_of = |line: &str| line.split('|').nth(1).map(|name| name.trim().to_owned());
        let mut all: BTreeMap<String, String> =
            lines.lines().filter_map(|line| Some((name_of(line)?, format!("{line}\n")))).collect();
        all.extend(self.rows.iter().cloned());
        let own: Vec<&str> = self.rows.iter().map(|(name, _)| name.as_str()).collect();
        let summary = paragraph(&format!("{}: {}.", self.summary, own.join(", ")));
        let lines = names.iter().filter_map(|name| all.remove(*name)).collect::<String>();
        Ok(format!("{}\n\n{summary}{HEAD}{lines}", summaries.trim()))
    }
}

/// The line of a scenario.
fn line(machine: &Machine, release: &str, scenario: &Scenario, ran: &ScenarioResult) -> String {
    let Machine { cpu, processors, memory, .. } = machine;
    let Scenario { name, about, quick, .. } = scenario;
    let end = if ran.wrong.is_empty() { "passed" } else { "FAILED" };
    let quick = if *quick { ", *quick*" } else { "" };
    let (about, asserts) = (cell(about), cell(&scenario.asserts()));
    format!(
        "| {name} | {release} | {processors} × {cpu}, {memory} MiB | {about} | {asserts} | \
         {end}{quick} |\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(day: u32, names: &[&str]) -> Fresh {
        let row = |name: &&str| (name.to_string(), format!("| {name} | on day {day} |\n"));
        Fresh { summary: format!("On day {day}"), rows: names.iter().map(row).collect() }
    }

    #[test]
    fn rows_are_replaced_and_the_others_stay() {
        let old = fresh(1, &["a", "gone", "c"]).alone();
        let new = fresh(2, &["b", "c"]).among(&format!("\n{old}\n"), &["a", "b", "c", "d"]);
        let new = new.expect("there is a table");
        let (summaries, rows) = new.split_once(HEAD).expect("there is a table");
        assert_eq!(summaries, "On day 1.\n\nOn day 2: b, c.\n\n");
        assert_eq!(rows, "| a | on day 1 |\n| b | on day 2 |\n| c | on day 2 |\n");
        assert!(fresh(2, &["b"]).among("nothing", &["b"]).is_err());
    }
}
