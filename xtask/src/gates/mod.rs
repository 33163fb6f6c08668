//! How often a gate fails where nothing changed, and how often where a loss is planted.
//!
//! The two sides are programs of one peer: twice the same one, or one whose reads are made slower
//! by a ninth of the time that each took.

use crate::document::{self, Part};
use crate::extent::Extent;
use crate::options::at_least;
use crate::stage::Experiment;
use crate::unable::Unable;
use crate::{install, programs};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;
use std::fs;

/// The recipe that the gate measures.
const RECIPE: &str = include_str!("recipe.toml");

/// What makes reads slower.
const SLOW: &str = include_str!("slow.c");

/// What builds the peer.
const COMPILER: &str = "gcc";

/// The document, relative to the workspace, and its part with the table.
const DOCUMENT: &str = "docs/ci.md";
const PART: Part = Part::Marked("gates");

/// The gate of the program `reader` against itself or against a slow one, as a table of peers says.
const GATE: &str = "ioassay gate FOLDER/gates.toml FOLDER --against=FOLDER/reader \
                    --peers=FOLDER/SIDE.toml --record=FOLDER/records/ --quiet --json";

/// What the smoke form adds to it: a gate needs three invocations.
const SMALL: &str = " --rounds=3 --invocations=3 --time=10ms --size=4MiB";

/// The command's options.
#[derive(Debug, PartialEq, Args)]
pub(crate) struct Options {
    /// Number of gates of each kind
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least::<1>)]
    #[arg(conflicts_with = "is_smoke")]
    runs: usize,
    #[command(flatten)]
    pub(crate) extent: Extent,
}

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
pub(crate) fn run(options: &Options) -> Result<()> {
    if !install::is_there(COMPILER) {
        return Err(Unable::error(format!("{COMPILER} is missing")));
    }
    let stage = Experiment::new(&crate::target(), "gates", options.extent)?;
    prepare(&stage)?;
    let line = GATE.to_owned() + options.extent.pick("", SMALL);
    let mut counts = [GateCounts::default(), GateCounts::default()];
    for number in 1..=options.extent.pick(options.runs, 1) {
        for (side, counts) in SIDES.iter().zip(&mut counts) {
            let outcome = counts.add(&stage.json(&line, &stage.words().and("SIDE", side))?)?;
            println!("{number} {side}: {outcome}");
        }
    }
    let text = stage.circumstances(&[])?.text() + &table(&counts);
    println!("{text}");
    stage.put(DOCUMENT, &[(PART, text)])
}

/// The other sides of gates, each of which is a table of peers.
const SIDES: [&str; 2] = ["same", "slow"];

/// Builds the peer, what slows it down, and the two tables that name it.
fn prepare(stage: &Experiment) -> Result<()> {
    fs::write(stage.path("gates.toml"), RECIPE)?;
    fs::write(stage.path("slow.c"), SLOW)?;
    let words = stage.words().and("SOURCE", crate::root().join("peers/c/peer.c"));
    for line in [
        "gcc -std=c11 -O2 -pthread -o FOLDER/reader SOURCE",
        "gcc -O2 -shared -fPIC -o FOLDER/slow.so FOLDER/slow.c -ldl",
    ] {
        programs::read(stage.command(&stage.split(line, &words)), 0..=0)?;
    }
    stage.script("slow", &words.put("LD_PRELOAD='FOLDER/slow.so' exec 'FOLDER/reader'"))?;
    for (side, program) in SIDES.iter().zip(["reader", "slow"]) {
        let row = format!(
            "[[peer]]\nname = \"reader\"\nrun = [\"{{folder}}/{program}\"]\nengines = [\"pread\"]\n"
        );
        fs::write(stage.path(&format!("{side}.toml")), row)?;
    }
    Ok(())
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
    let rows = KINDS.iter().zip(counts).map(|(side, counts)| {
        let GateCounts { exceeded, within, open, .. } = counts;
        let (gates, (low, high)) = (counts.ratios.len(), counts.range());
        format!("| {side} | {gates} | {exceeded} | {within} | {open} | {low:.3} to {high:.3} |")
    });
    let head = "| the other side | gates | fails | passes | cannot tell | B/A, nine of ten |";
    document::table(head, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options;
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
        let part = document::part(DOCUMENT, PART);
        assert_eq!(document::rows(&part), KINDS);
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
