//! What pairs of records of one question came to.

use crate::document::{cell, paragraph};
use anyhow::{Context, Result};
use serde_json::Value;
use std::fmt::Write;

/// What all pairs came to.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tally {
    pairs: usize,
    /// Pairs of records of which at least one case is called different.
    wrong: usize,
    cases: Vec<Case>,
}

/// What one case came to in all pairs.
#[derive(Debug, Default, PartialEq)]
struct Case {
    id: String,
    /// Pairs in which it was compared.
    pairs: usize,
    /// Those in which it was called different, and equivalent.
    different: usize,
    equivalent: usize,
    /// Pairs in which the earlier figure has an interval.
    intervals: usize,
    /// Those of which the interval holds the later figure.
    held: usize,
    /// Half the width of each such interval, as a share of its figure.
    half_widths: Vec<f64>,
    /// The figure in each later record.
    figures: Vec<f64>,
}

impl Tally {
    /// Adds what `ioassay compare --json` says of a pair.
    pub(super) fn add(&mut self, compared: &Value) -> Result<()> {
        let pairs = compared["pairs"].as_array().context("two records compared have no pairs")?;
        let mut is_wrong = false;
        for pair in pairs {
            let id = pair["a"]["id"].as_str().context("a case has no id")?;
            let index = self.cases.iter().position(|case| case.id == id).unwrap_or_else(|| {
                self.cases.push(Case { id: id.to_owned(), ..Case::default() });
                self.cases.len() - 1
            });
            is_wrong |= self.cases[index].add(pair)?;
        }
        self.pairs += 1;
        self.wrong += usize::from(is_wrong);
        Ok(())
    }

    /// The verdict in words, and the table.
    pub(super) fn text(&self) -> String {
        let sum = |of: fn(&Case) -> usize| self.cases.iter().map(of).sum::<usize>();
        let (held, intervals) = (sum(|case| case.held), sum(|case| case.intervals));
        let mut text = paragraph(&format!(
            "{} of {} pairs had a case called different, wrongly. The interval of the earlier \
             record held the figure of the later one in {held} of {intervals} cases ({}).",
            self.wrong,
            self.pairs,
            percent(held, intervals),
        ));
        text += "| case | pairs | different | equivalent | held | half-width | from record to \
                 record |\n|---|---|---|---|---|---|---|\n";
        for case in &self.cases {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} |",
                cell(&case.id),
                case.pairs,
                case.different,
                case.equivalent,
                percent(case.held, case.intervals),
                share(median(&case.half_widths)),
                share(spread(&case.figures)),
            );
        }
        text
    }
}

impl Case {
    /// Adds a pair; whether it is called different.
    fn add(&mut self, pair: &Value) -> Result<bool> {
        let difference = pair["comparison"]["difference"].as_str().context("no difference")?;
        self.pairs += 1;
        self.different += usize::from(difference == "different");
        self.equivalent += usize::from(difference == "equivalent");
        let (earlier, later) = (figure(&pair["a"]), figure(&pair["b"]));
        let later = later["median"].as_f64().context("a figure has no median")?;
        self.figures.push(later);
        let ends = earlier["low"].as_f64().zip(earlier["high"].as_f64());
        if let Some((low, high)) = ends {
            self.intervals += 1;
            self.held += usize::from((low..=high).contains(&later));
            let earlier = earlier["median"].as_f64().context("a figure has no median")?;
            self.half_widths.push((high - low) / 2.0 / earlier);
        }
        Ok(difference == "different")
    }
}

/// What is compared of a case: its throughput, or operations a second where it moves no bytes.
fn figure(case: &Value) -> &Value {
    if case["throughput"].is_null() { &case["iops"] } else { &case["throughput"] }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// The standard deviation of the logarithms: how much the figure varies from record to record.
fn spread(figures: &[f64]) -> Option<f64> {
    let logs: Vec<f64> = figures.iter().map(|figure| figure.ln()).collect();
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    (logs.len() > 1).then(|| (squares / (n - 1.0)).sqrt())
}

fn percent(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.0} %", part as f64 / whole as f64 * 100.0)
}

fn share(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{:.1} %", value * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pair(id: &str, interval: Option<(f64, f64)>, later: f64, difference: &str) -> Value {
        let (low, high) = interval.unzip();
        let earlier = json!({ "median": 100.0, "low": low, "high": high });
        json!({
            "a": { "id": id, "throughput": earlier, "iops": null },
            "b": { "id": id, "throughput": null, "iops": { "median": later } },
            "comparison": { "difference": difference },
        })
    }

    #[test]
    fn pairs_are_counted_by_case_and_together() {
        let mut tally = Tally::default();
        let all = [
            json!([
                pair("x", Some((90.0, 110.0)), 105.0, "equivalent"),
                pair("y", None, 50.0, "inconclusive")
            ]),
            json!([
                pair("x", Some((95.0, 105.0)), 120.0, "different"),
                pair("y", None, 50.0, "different")
            ]),
        ];
        for pairs in all {
            tally.add(&json!({ "pairs": pairs })).expect("it is whole");
        }
        let text = tally.text();
        for expected in [
            "1 of 2 pairs had a case called different",
            "in 1 of 2 cases (50 %)",
            "| x | 2 | 1 | 1 | 50 % | 10.0 % | 9.4 % |",
            "| y | 2 | 1 | 0 | - | - | 0.0 % |",
        ] {
            assert!(text.replace('\n', " ").contains(expected), "'{expected}' is not in {text}");
        }
    }

    #[test]
    fn what_is_no_comparison_is_an_error() {
        let mut tally = Tally::default();
        for wrong in [json!({}), json!({ "pairs": [{}] })] {
            assert!(tally.add(&wrong).is_err(), "{wrong}");
        }
    }
}
