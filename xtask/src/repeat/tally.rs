//! The results for all pairs of records.

use crate::document::{cell, paragraph, table};
use anyhow::{Context, Result};
use assess::stats::Estimate;
use serde_json::Value;

/// The output of `ioassay compare --json` for a pair of records.
pub(super) struct PairComparison {
    /// For a user who has only the two records.
    pub(super) alone: Value,
    /// For a user who has also kept the earlier records of the question.
    pub(super) among: Value,
}

/// The totals over all pairs.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RepeatTally {
    pairs: usize,
    /// Pairs of records with at least one case called different: alone, and among others.
    wrong: [usize; 2],
    cases: Vec<CaseTotals>,
}

/// The totals of one case over all pairs.
#[derive(Debug, Default, PartialEq)]
struct CaseTotals {
    id: String,
    /// Pairs in which it was called equivalent, among others.
    equivalent: usize,
    /// Pairs whose earlier figure has an interval.
    intervals: usize,
    /// Pairs in which that interval contains the later figure.
    held: usize,
    /// Half the width of each such interval, relative to its figure.
    half_widths: Vec<f64>,
    /// The figure in each later record.
    figures: Vec<f64>,
}

impl RepeatTally {
    /// Adds the comparisons of a pair.
    pub(super) fn add(&mut self, seen: PairComparison) -> Result<()> {
        let mut is_wrong = [false; 2];
        for (index, said) in [&seen.alone, &seen.among].into_iter().enumerate() {
            for pair in said["pairs"].as_array().context("two records compared have no pairs")? {
                let difference = pair["comparison"]["difference"].as_str();
                is_wrong[index] |= difference.context("no difference")? == "different";
            }
        }
        for pair in seen.among["pairs"].as_array().into_iter().flatten() {
            self.case(pair)?.add(pair)?;
        }
        self.pairs += 1;
        for (wrong, is_wrong) in self.wrong.iter_mut().zip(is_wrong) {
            *wrong += usize::from(is_wrong);
        }
        Ok(())
    }

    /// The entry for a pair's case.
    fn case(&mut self, pair: &Value) -> Result<&mut CaseTotals> {
        let id = pair["a"]["id"].as_str().context("a case has no id")?;
        let index = self.cases.iter().position(|case| case.id == id).unwrap_or_else(|| {
            self.cases.push(CaseTotals { id: id.to_owned(), ..CaseTotals::default() });
            self.cases.len() - 1
        });
        Ok(&mut self.cases[index])
    }

    /// The conclusion as text, and the table.
    pub(super) fn text(&self) -> String {
        let sum = |of: fn(&CaseTotals) -> usize| self.cases.iter().map(of).sum::<usize>();
        let (held, intervals) = (sum(|case| case.held), sum(|case| case.intervals));
        let [alone, among] = self.wrong;
        let text = paragraph(&format!(
            "Of {} pairs, {alone} had a case wrongly called different when `compare` had only the \
             two records, and {among} when it had the earlier ones too. The interval of the \
             earlier record held the figure of the later one in {held} of {intervals} cases ({}). \
             {} were called equivalent.",
            self.pairs,
            percent(held, intervals),
            sum(|case| case.equivalent),
        ));
        let rows = self.cases.iter().map(|case| {
            format!(
                "| {} | {} | {} | {} |",
                cell(&case.id),
                percent(case.held, case.intervals),
                share(Estimate::of(&case.half_widths).map(|widths| widths.median)),
                share(spread(&case.figures)),
            )
        });
        let head = "| case | held | half-width | from record to record |";
        text + &table(head, rows)
    }
}

impl CaseTotals {
    /// Adds a comparison.
    fn add(&mut self, pair: &Value) -> Result<()> {
        self.equivalent += usize::from(pair["comparison"]["difference"] == "equivalent");
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
        Ok(())
    }
}

/// The compared figure of a case: its throughput, or its IOPS if it moves no bytes.
fn figure(case: &Value) -> &Value {
    if case["throughput"].is_null() { &case["iops"] } else { &case["throughput"] }
}

/// The standard deviation of the logarithms: how much the figure varies between records.
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
        let mut tally = RepeatTally::default();
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
        for among in all {
            let mut alone = among.clone();
            alone[0]["comparison"]["difference"] = "different".into();
            let [alone, among] = [alone, among].map(|pairs| json!({ "pairs": pairs }));
            tally.add(PairComparison { alone, among }).expect("it is whole");
        }
        let text = tally.text();
        for expected in [
            "Of 2 pairs, 2 had a case wrongly called different when `compare` had only the two \
             records, and 1 when",
            "in 1 of 2 cases (50 %). 1 were called equivalent.",
            "| x | 50 % | 7.5 % | 9.4 % |",
            "| y | - | - | 0.0 % |",
        ] {
            assert!(text.replace('\n', " ").contains(expected), "'{expected}' is not in {text}");
        }
    }

    #[test]
    fn what_is_no_comparison_is_an_error() {
        let mut tally = RepeatTally::default();
        for wrong in [json!({}), json!({ "pairs": [{}] })] {
            let seen = PairComparison { alone: wrong.clone(), among: wrong.clone() };
            assert!(tally.add(seen).is_err(), "{wrong}");
        }
    }
}
