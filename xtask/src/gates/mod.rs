//! How often a gate fails where nothing changed, and how often where a loss is planted.
//!
//! The two sides are programs of one peer: twice the same one, or one whose reads are made slower
//! by a ninth of the time that each took.

use crate::extent::Extent;
use crate::options::at_least;
use crate::stage::ProgramFolder;
use crate::{generated, install, programs};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The recipe that the gate measures.
const RECIPE: &str = include_str!("recipe.toml");

/// What makes reads slower.
const SLOW: &str = include_str!("slow.c");

/// What builds the peer.
const COMPILER: &str = "gcc";

/// The document with the table, relative to the workspace.
const DOCUMENT: &str = "docs/ci.md";

/// The command's options.
#[derive(Debug, PartialEq, Args)]
pub(crate) struct Options {
    /// Number of gates of each kind
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least::<1>)]
    #[arg(conflicts_with = "is_smoke")]
    runs: usize,
    #[command(flatten)]
    extent: Extent,
}

/// The options of the smoke form's gates: a gate needs three invocations.
const SMALL: [&str; 4] = ["--rounds=3", "--invocations=3", "--time=10ms", "--size=4MiB"];

/// What gates of one kind came to.
#[derive(Debug, Default)]
struct GateCounts {
    exceeded: usize,
    within: usize,
    open: usize,
    /// B over A, of each.
    ratios: Vec<f64>,
}

/// Runs both kinds of gates, one after the other in turn, and writes the table into the document.
///
/// # Errors
/// If a gate cannot be run, or the user interrupts it.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let extent = options.extent;
    if extent.is_smoke() && !install::is_there(COMPILER) {
        println!("skipped: gates ({COMPILER} is missing)");
        return Ok(());
    }
    let stage = ProgramFolder::new(root, &crate::target(), "gates", extent.build())?;
    prepare(root, &stage)?;
    let mut counts = [GateCounts::default(), GateCounts::default()];
    for number in 1..=extent.pick(options.runs, 1) {
        for (side, counts) in ["same", "slow"].iter().zip(&mut counts) {
            let outcome = counts.add(&gate(&stage, side, extent.pick(&[], &SMALL))?)?;
            println!("{number} {side}: {outcome}");
        }
    }
    let text = stage.circumstances(root)?.text() + &table(&counts);
    println!("{text}");
    generated::put(&root.join(DOCUMENT), "gates", &text, extent.purpose())
}

/// Builds the peer, what slows it down, and the two tables that name it.
fn prepare(root: &Path, stage: &ProgramFolder) -> Result<()> {
    let path = |name: &str| stage.path(name).display().to_string();
    let source = root.join("peers/c/peer.c").display().to_string();
    let flags = ["-std=c11", "-O2", "-pthread"];
    compile(&[&flags[..], &["-o", &path("reader"), &source]].concat())?;
    fs::write(stage.path("slow.c"), SLOW)?;
    compile(&["-O2", "-shared", "-fPIC", "-o", &path("slow.so"), &path("slow.c"), "-ldl"])?;
    let script = format!("#!/bin/sh\nLD_PRELOAD='{}' exec '{}'\n", path("slow.so"), path("reader"));
    fs::write(stage.path("slow"), script)?;
    fs::set_permissions(stage.path("slow"), fs::Permissions::from_mode(0o755))?;
    fs::write(stage.path("gates.toml"), RECIPE)?;
    for (table, program) in [("same", "reader"), ("slow", "slow")] {
        let row = format!(
            "[[peer]]\nname = \"reader\"\nrun = [\"{{folder}}/{program}\"]\nengines = [\"pread\"]\n"
        );
        fs::write(stage.path(&format!("{table}.toml")), row)?;
    }
    Ok(())
}

fn compile(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(COMPILER);
    command.args(arguments);
    programs::read(command, 0..=0).map(drop)
}

/// The JSON of a gate whose other side is `side`, with the options `more`.
fn gate(stage: &ProgramFolder, side: &str, more: &[&str]) -> Result<Value> {
    let path = |name: &str| stage.path(name).display().to_string();
    let peers = format!("--peers={}", path(&format!("{side}.toml")));
    let (against, record) =
        (format!("--against={}", path("reader")), format!("--record={}/", path("records")));
    let (recipe, folder) = (path("gates.toml"), path(""));
    let words = ["gate", &recipe, &folder, &against, &peers, &record, "--quiet", "--json"];
    let printed = stage.ioassay(&[&words, more].concat())?;
    Ok(serde_json::from_str(&printed)?)
}

impl GateCounts {
    /// Counts a gate, and returns what it came to.
    fn add(&mut self, gate: &Value) -> Result<String> {
        let ratio = gate["checks"][0]["ratio"].as_f64().context("the gate checked nothing")?;
        self.ratios.push(ratio);
        let outcome = gate["outcome"].as_str().unwrap_or_default();
        match outcome {
            "exceeded" => self.exceeded += 1,
            "within" => self.within += 1,
            "cannot tell" => self.open += 1,
            other => bail!("'{other}' is no outcome"),
        }
        Ok(format!("{outcome}, {ratio:.3}"))
    }

    /// The middle nine tenths of the ratios.
    fn range(&self) -> (f64, f64) {
        let mut ratios = self.ratios.clone();
        ratios.sort_by(f64::total_cmp);
        let last = ratios.len() - 1;
        let place = |share: f64| ratios[(share * last as f64).round() as usize];
        (place(0.05), place(0.95))
    }
}

/// The kinds of gates, as the table calls them.
const KINDS: [&str; 2] = ["the same program", "reads 10 % slower"];

fn table(counts: &[GateCounts; 2]) -> String {
    let mut out = String::from(
        "| the other side | gates | fails | passes | cannot tell | B/A, nine of ten |\n\
         |---|---|---|---|---|---|\n",
    );
    for (side, counts) in KINDS.iter().zip(counts) {
        let GateCounts { exceeded, within, open, .. } = counts;
        let (gates, (low, high)) = (counts.ratios.len(), counts.range());
        let _ = writeln!(
            out,
            "| {side} | {gates} | {exceeded} | {within} | {open} | {low:.3} to {high:.3} |"
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{document, options};
    use serde_json::json;

    #[test]
    fn options_are_read() {
        options::check("", &Options { runs: 100, extent: Extent::default() });
        options::check("--runs 3", &Options { runs: 3, extent: Extent::default() });
        options::check("--smoke", &Options { runs: 100, extent: Extent::SMOKE });
        options::refused::<Options>(&["--runs 0", "--runs x", "--smoke --runs 3"]);
    }

    #[test]
    fn the_document_has_a_row_for_each_kind_of_gate() {
        let document = fs::read_to_string(crate::root().join(DOCUMENT)).expect("it is ours");
        let part = generated::part(&document, "gates").expect("it has both lines");
        assert_eq!(document::rows(part), KINDS);
    }

    #[test]
    fn outcomes_are_counted() {
        let gate =
            |outcome: &str, ratio: f64| json!({"outcome": outcome, "checks": [{"ratio": ratio}]});
        let mut counts = [GateCounts::default(), GateCounts::default()];
        for ratio in [1.01, 0.99, 1.0] {
            counts[0].add(&gate("within", ratio)).expect("it is an outcome");
        }
        counts[1].add(&gate("exceeded", 0.9)).expect("it is an outcome");
        counts[1].add(&gate("cannot tell", 0.92)).expect("it is an outcome");
        let text = table(&counts);
        assert!(text.contains("| the same program | 3 | 0 | 3 | 0 | 0.990 to 1.010 |"), "{text}");
        assert!(text.contains("| reads 10 % slower | 2 | 1 | 0 | 1 | 0.900 to 0.920 |"), "{text}");
        assert!(counts[0].add(&gate("maybe", 1.0)).is_err());
        assert!(counts[0].add(&json!({"outcome": "within", "checks": []})).is_err());
    }
}
