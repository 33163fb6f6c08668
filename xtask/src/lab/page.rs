//! The part of the document that lists what was asserted on each machine.

use super::guest::{Booted, Ran};
use super::scenario::{Machine, Scenario};
use crate::document::{cell, paragraph};
use std::fmt::Write;

/// Formats all scenarios with their results.
pub(super) fn rows(machines: &[Machine], done: &[Booted], date: &str, version: &str) -> String {
    let rows = machines.iter().zip(done).flat_map(|(machine, booted)| {
        let ran = machine.scenario.iter().zip(&booted.ran);
        ran.map(move |(scenario, ran)| (machine, &booted.release, scenario, ran))
    });
    let rows: Vec<(&Machine, &String, &Scenario, &Ran)> = rows.collect();
    let asserted: usize = rows.iter().map(|(.., ran)| ran.asserted).sum();
    let passed = rows.iter().filter(|(.., ran)| ran.wrong.is_empty()).count();
    let summary = format!(
        "On {date}, with {version}: {passed} of {} rows passed ({asserted} assertions in \
         {} machines).",
        rows.len(),
        machines.len()
    );
    let mut text = paragraph(&summary);
    text += "| row | kernel | processor | what | asserted | |\n|---|---|---|---|---|---|\n";
    for (Machine { cpu, processors, memory, .. }, release, scenario, ran) in rows {
        let Scenario { name, about, quick, .. } = scenario;
        let end = if ran.wrong.is_empty() { "passed" } else { "FAILED" };
        let quick = if *quick { ", *quick*" } else { "" };
        let (about, asserts) = (cell(about), cell(&scenario.asserts()));
        let _ = writeln!(
            text,
            "| {name} | {release} | {processors} × {cpu}, {memory} MiB | {about} | {asserts} | \
             {end}{quick} |"
        );
    }
    text
}
