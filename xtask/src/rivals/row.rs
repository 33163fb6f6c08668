//! A question for all tools, and what they answered.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::fmt::Write;

/// The table's text.
const TABLE: &str = include_str!("rows.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RivalTable {
    row: Vec<RivalRow>,
}

/// A question.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RivalRow {
    pub(super) question: String,
    /// The case of ioassay's recipe.
    ioassay: toml::Table,
    size: Option<String>,
    time: String,
    /// Options of IOR.
    pub(super) ior: Option<String>,
    /// Options of mdtest, and the line of its summary.
    pub(super) mdtest: Option<[String; 2]>,
    /// Settings of a job of fio.
    pub(super) fio: Option<String>,
}

/// What the words in capital letters stand for.
#[derive(Debug, Clone)]
pub(super) struct Words(pub(super) Vec<(&'static str, String)>);

impl Words {
    /// `text` with what its words stand for.
    pub(super) fn put(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (word, value)| text.replace(word, value))
    }
}

/// All questions.
pub(super) fn all() -> Result<Vec<RivalRow>> {
    let table: RivalTable = toml::from_str(TABLE).context("the table of questions")?;
    Ok(table.row)
}

impl RivalRow {
    /// Whether it is about calls on names and not about bytes.
    pub(super) fn is_of_names(&self) -> bool {
        self.ioassay.contains_key("call")
    }

    /// ioassay's recipe.
    pub(super) fn recipe(&self, words: &Words) -> Result<String> {
        let mut recipe = toml::Table::new();
        let mut put = |key: &str, value: toml::Value| recipe.insert(key.to_owned(), value);
        put("name", "rivals".into());
        put("question", format!("{}?", self.question).into());
        put("time", self.time.clone().into());
        put("ceilings", false.into());
        if let Some(size) = &self.size {
            put("size", size.clone().into());
        }
        let mut case = self.ioassay.clone();
        case.insert("hosts".to_owned(), "all".into());
        put("cases", vec![toml::Value::Table(case)].into());
        Ok(words.put(&toml::to_string(&recipe)?))
    }
}

/// The answers to a question, one of each tool in each turn.
#[derive(Debug, Default)]
pub(super) struct ToolAnswers {
    pub(super) question: String,
    pub(super) is_of_names: bool,
    pub(super) ended_by: Vec<String>,
    pub(super) ioassay: Vec<f64>,
    /// The other tools' names and answers.
    pub(super) others: Vec<(&'static str, Vec<f64>)>,
}

impl ToolAnswers {
    /// A row of the document's table for each other tool.
    fn text(&self, to: &mut String) {
        let rate = |rates: &[f64]| self.show(median(rates));
        let mut ended: Vec<&str> = self.ended_by.iter().map(String::as_str).collect();
        ended.sort_unstable();
        ended.dedup();
        for (tool, rates) in &self.others {
            let mut ratios: Vec<f64> =
                self.ioassay.iter().zip(rates).map(|(ours, theirs)| ours / theirs).collect();
            ratios.sort_by(f64::total_cmp);
            let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
            let _ = writeln!(
                to,
                "| {} | {} | {} | {tool}: {} | {:.3} ({low:.3}-{high:.3}) |",
                self.question,
                ended.join(", "),
                rate(&self.ioassay),
                rate(rates),
                median(&ratios),
            );
        }
    }

    fn show(&self, rate: f64) -> String {
        match self.is_of_names {
            true => format!("{:.1} k/s", rate / 1e3),
            false => format!("{:.1} MiB/s", rate / f64::from(1 << 20)),
        }
    }
}

/// The document's table.
pub(super) fn table(all: &[ToolAnswers]) -> String {
    let mut text = String::from(
        "| all hosts | ended by | ioassay | the other | ratio of turns, and its range |\n\
         |---|---|---|---|---|\n",
    );
    all.iter().for_each(|answers| answers.text(&mut text));
    text
}

/// The middle one of `rates`, or the mean of the middle two.
fn median(rates: &[f64]) -> f64 {
    let mut rates = rates.to_vec();
    rates.sort_by(f64::total_cmp);
    let half = rates.len() / 2;
    if rates.len() % 2 == 1 { rates[half] } else { f64::midpoint(rates[half - 1], rates[half]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_each_other_tool_with_its_ratios_by_turn() {
        let answers = ToolAnswers {
            question: "q".to_owned(),
            ended_by: vec!["time".to_owned(), "time".to_owned()],
            ioassay: vec![2e6, 4e6],
            others: vec![("IOR", vec![2e6, 2e6])],
            ..ToolAnswers::default()
        };
        let row = "| q | time | 2.9 MiB/s | IOR: 1.9 MiB/s | 1.500 (1.000-2.000) |\n";
        assert!(table(&[answers]).ends_with(row));
    }

    #[test]
    fn every_question_has_a_case_and_another_tool() {
        let words = Words(vec![("ENTRIES", "5".to_owned())]);
        for row in all().expect("the table is right") {
            assert!(row.ior.is_some() || row.mdtest.is_some(), "{}", row.question);
            let recipe = row.recipe(&words).expect("it is TOML");
            assert!(recipe.contains("[[cases]]"), "{recipe}");
        }
    }
}
