//! A question for all tools, and what they answered.

use crate::document;
use crate::words::Words;
use anyhow::{Context, Result};
use assess::stats::Estimate;
use serde::Deserialize;

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
    fn rows(&self) -> impl Iterator<Item = String> {
        let mut ended: Vec<&str> = self.ended_by.iter().map(String::as_str).collect();
        ended.sort_unstable();
        ended.dedup();
        let ended = ended.join(", ");
        self.others.iter().map(move |(tool, rates)| {
            let ratios = self.ioassay.iter().zip(rates).map(|(ours, theirs)| ours / theirs);
            let ratios = of(&ratios.collect::<Vec<f64>>());
            let (ours, theirs) = (self.show(&self.ioassay), self.show(rates));
            format!(
                "| {} | {ended} | {ours} | {tool}: {theirs} | {:.3} ({:.3}-{:.3}) |",
                self.question, ratios.median, ratios.min, ratios.max
            )
        })
    }

    fn show(&self, rates: &[f64]) -> String {
        let rate = of(rates).median;
        match self.is_of_names {
            true => format!("{:.1} k/s", rate / 1e3),
            false => format!("{:.1} MiB/s", rate / f64::from(1 << 20)),
        }
    }
}

fn of(values: &[f64]) -> Estimate {
    Estimate::of(values).expect("each tool was asked in each turn")
}

/// The document's table.
pub(super) fn table(all: &[ToolAnswers]) -> String {
    let head = "| all hosts | ended by | ioassay | the other | ratio of turns, and its range |";
    document::table(head, all.iter().flat_map(ToolAnswers::rows))
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
        let words = Words::default().and("ENTRIES", "5");
        for row in all().expect("the table is right") {
            assert!(row.ior.is_some() || row.mdtest.is_some(), "{}", row.question);
            let recipe = row.recipe(&words).expect("it is TOML");
            assert!(recipe.contains("[[cases]]"), "{recipe}");
        }
    }
}
