//! The document that lists what was asserted on each machine.

use super::guest::{Booted, Ran};
use super::scenario::{Absent, Machine, Scenario};
use crate::document::{cell, paragraph};
use std::fmt::Write;

const HEAD: &str = "\
ioassay in emulated machines (QEMU without KVM) with a variety of kernels, devices and file \
systems. Each row asserts the names of the storage and devices, the source that served each case, \
and present and absent findings, but never a speed. `cargo xtask lab` writes this page. The rows \
marked *quick* run with `--quick` and with `cargo xtask test`.";

/// Formats all scenarios with their results.
pub(super) fn document(
    machines: &[Machine],
    done: &[Booted],
    absent: &[Absent],
    date: &str,
    version: &str,
) -> String {
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
    let mut text = format!("# The laboratory\n\n{}{}", paragraph(HEAD), paragraph(&summary));
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
    text += "\n## What is not emulated here\n\n";
    for Absent { what, why } in absent {
        text += &paragraph(&format!("**{what}**: {why}"));
    }
    text
}
