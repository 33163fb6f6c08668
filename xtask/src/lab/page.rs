//! The document that tells what was asserted of each machine.

use super::guest::Ran;
use super::scenario::Scenario;
use crate::document::{cell, paragraph};
use std::fmt::Write;

const HEAD: &str = "\
ioassay in emulated machines (QEMU without KVM) with other kernels, devices and file systems than \
those of the machine that it is built on. Each asserts what storage and devices are called, what \
served each row, and which findings are and are not there; never a speed. `cargo xtask lab` writes \
this page.";

/// All scenarios with what came of them.
pub(super) fn document(
    scenarios: &[&Scenario],
    done: &[(&str, Ran)],
    date: &str,
    version: &str,
) -> String {
    let asserted: usize = done.iter().map(|(_, ran)| ran.asserted).sum();
    let passed = done.iter().filter(|(_, ran)| ran.wrong.is_empty()).count();
    let summary = format!(
        "On {date}, with {version}: {passed} of {} machines are as they must be ({asserted} \
         assertions).",
        done.len()
    );
    let mut text = format!("# The laboratory\n\n{}{}", paragraph(HEAD), paragraph(&summary));
    text += "| machine | kernel | what | asserted | |\n|---|---|---|---|---|\n";
    for (scenario, (_, ran)) in scenarios.iter().zip(done) {
        let Scenario { name, kernel, about, .. } = scenario;
        let end = if ran.wrong.is_empty() { "passed" } else { "FAILED" };
        let asserts = cell(&scenario.asserts());
        let _ = writeln!(text, "| {name} | {kernel} | {} | {asserts} | {end} |", cell(about));
    }
    text
}
