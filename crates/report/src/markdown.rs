//! A judgement to paste into an issue or a README: Markdown with the tables of GitHub.

use crate::command;
use crate::conclusion;
use crate::control;
use crate::frame;
use crate::grid::{Cell, Column, Grid, left, right};
use crate::labels::Labels;
use crate::markup::{block, fenced, inline};
use crate::missed;
use crate::records;
use crate::style::Paint;
use crate::versus;
use crate::words::{self, figure, sentence};
use crate::writes;
use assess::Assessment;
use assess::finding::Verdict;
use assess::percentile::Percentile;
use assess::records::Versus;
use assess::summary::{Latency, Summary};
use model::case::{Op, WriteWork};
use model::plan::Role;

/// A run as Markdown.
pub fn markdown(assessment: &Assessment) -> String {
    let labels = conclusion::labels(assessment);
    let name = |id: &str| labels.name(id);
    let mut page = Page::titled(&frame::title(assessment));
    page.list(&frame::surroundings(assessment));
    page.warnings(&frame::missing(assessment));
    page.paragraphs(&conclusion::answer(assessment));
    tables(&mut page, assessment, &labels);
    let control =
        assessment.control.as_ref().map(|control| control::said(assessment, control, &name));
    page.paragraphs(control.as_slice());
    if !assessment.comparisons.is_empty() {
        page.table(&versus::grid(assessment, &labels));
        page.paragraphs(versus::unlisted(&assessment.comparisons).as_slice());
    }
    let findings = assessment.findings.iter().map(|found| {
        let severity = found.finding.severity;
        format!("**{severity}** {}", inline(&frame::said_finding(found, &name)))
    });
    page.section("Findings", findings.collect());
    page.section("Failed or unavailable", said(&missed::said_failures(assessment, &name)));
    page.section("Not measured", said(&frame::said_skips(&assessment.skips, &name)));
    page.section("Notes", said(&frame::notes(assessment)));
    page.paragraph("Measured by:");
    page.part(&fenced(&command::again(assessment), "sh"));
    page.text
}

/// Two records compared, as Markdown; `paths` are where they are.
pub fn markdown_of_records(versus: &Versus, paths: [&str; 2]) -> String {
    let tool = &versus.a.tool.name;
    let mut page = Page::titled(&format!("{tool} · {} · B compared with A", versus.a.recipe));
    let [a, b] = records::origins(versus, paths);
    page.list(&[format!("A: {a}"), format!("B: {b}")]);
    page.warnings(&records::obstacles(versus));
    page.paragraph(&records::closing(versus));
    page.common(&records::names(versus).said_once());
    page.table(&records::table(versus));
    page.section("Also not the same", said(&records::others(versus)));
    page.section("Left out", said(&records::left_out(&versus.left_out)));
    page.text
}

/// Lines of a list, as sentences.
fn said(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| block(&sentence(line))).collect()
}

/// Markdown in the making: blocks with an empty line between them.
struct Page {
    text: String,
}

impl Page {
    fn titled(title: &str) -> Page {
        Page { text: format!("## {}\n", inline(title)) }
    }

    fn part(&mut self, markdown: &str) {
        self.text.push_str(&format!("\n{markdown}"));
    }

    fn paragraph(&mut self, text: &str) {
        self.part(&format!("{}\n", block(text)));
    }

    fn paragraphs(&mut self, texts: &[String]) {
        texts.iter().for_each(|text| self.paragraph(text));
    }

    fn list(&mut self, lines: &[String]) {
        self.part(&lines.iter().map(|line| format!("- {}\n", block(line))).collect::<String>());
    }

    /// What a reader has to know before the figures.
    fn warnings(&mut self, lines: &[String]) {
        for line in said(lines) {
            self.part(&format!("> **Note:** {line}\n"));
        }
    }

    fn table(&mut self, grid: &Grid) {
        self.part(&grid.markdown());
    }

    /// A list of Markdown under its title; nothing where it has no lines.
    fn section(&mut self, title: &str, lines: Vec<String>) {
        if !lines.is_empty() {
            let list: String = lines.iter().map(|line| format!("- {line}\n")).collect();
            self.part(&format!("**{title}**\n\n{list}"));
        }
    }

    fn common(&mut self, common: &str) {
        if !common.is_empty() {
            self.paragraph(&format!("Common to all rows: {common}."));
        }
    }
}

/// The asked cases: those that read, and those that write, with what was accepted and what was
/// durable apart.
fn tables(page: &mut Page, assessment: &Assessment, labels: &Labels) {
    let asked = assessment.cases.iter().filter(|summary| summary.role == Role::Asked);
    let (written, read): (Vec<&Summary>, Vec<&Summary>) =
        asked.partition(|summary| summary.case.write().is_some());
    if written.is_empty() && read.is_empty() {
        page.paragraph("No case was measured.");
        return;
    }
    page.common(&labels.said_once());
    let name = &|id: &str| labels.name(id);
    if !read.is_empty() {
        page.table(&read_table(assessment, &read, name));
    }
    if !written.is_empty() {
        page.table(&write_table(assessment, &written, name));
    }
    page.paragraph(&legend(assessment, &read, &written));
}

/// What has to be known to read the tables, as far as it is in them.
fn legend(assessment: &Assessment, read: &[&Summary], written: &[&Summary]) -> String {
    let all = || read.iter().chain(written);
    let mut said = vec![match assessment.repetition.invocations {
        1 => {
            format!("Medians of up to {} rounds, with intervals within this run", assessment.rounds)
        }
        invocations => format!("Medians of {invocations} invocations, with their intervals"),
    }];
    if !written.is_empty() {
        let rates = "accepted: until the last write had returned; durable: throughput including \
                     the final sync, unless contradicted";
        said.push(rates.to_string());
    }
    let waits = || written.iter().filter_map(|summary| waited(summary)).map(|latency| latency.p50);
    if waits().flatten().next().is_some() {
        let syncs = "p50 and p99 of what writes are of the sync where one is called";
        said.push(syncs.to_string());
    }
    let latencies = all().filter_map(|summary| waited(summary));
    let told: Vec<Percentile> =
        latencies.flat_map(|latency| [latency.p50, latency.p99]).flatten().collect();
    if !told.is_empty() {
        said.push("p50 and p99: service time (closed loop) at the row's depth".to_string());
    }
    if told.iter().any(|percentile| !percentile.solid) {
        said.push("~: fewer than 100 took longer than this".to_string());
    }
    if all().any(|summary| summary.verdict == Verdict::Void && summary.n > 0) {
        said.push("in brackets: void, not what it claims to be".to_string());
    }
    said.push("MB is 10⁶ bytes, MiB is 2²⁰".to_string());
    sentence(&said.join("; "))
}

/// A table of cases with these `rates`, and what all cases have.
fn grid(rates: Vec<Column>) -> Grid {
    let worth = [
        right("p50", 1),
        right("p99", 1),
        right("of ceiling", 1),
        left("served by", 0),
        left("verdict", 0),
    ];
    Grid::new([left("case", 0)].into_iter().chain(rates).chain(worth).collect())
}

fn read_table(assessment: &Assessment, cases: &[&Summary], name: &dyn Fn(&str) -> String) -> Grid {
    let mut grid = grid(vec![right("throughput", 0), left("95 % CI", 0)]);
    for summary in cases {
        let (median, interval) = words::main_figure(summary);
        let mut texts = vec![median, interval];
        texts.extend(percentiles(Some(&summary.latency)));
        grid.row(row(assessment, summary, name, texts));
    }
    grid
}

fn write_table(assessment: &Assessment, cases: &[&Summary], name: &dyn Fn(&str) -> String) -> Grid {
    let mut grid = grid(vec![
        right("accepted", 0),
        left("95 % CI", 0),
        right("durable", 0),
        left("95 % CI", 0),
    ]);
    for summary in cases {
        let (accepted, accepted_ci) = writes::accepted(summary.writing.as_ref());
        let (durable, durable_ci) = writes::durable(summary);
        let mut texts = vec![accepted, accepted_ci, durable, durable_ci];
        texts.extend(percentiles(waited(summary)));
        grid.row(row(assessment, summary, name, texts));
    }
    grid
}

/// The latency of what ends a write: of the sync, where one is called.
fn waited(summary: &Summary) -> Option<&Latency> {
    let calls_sync = |work: &WriteWork| work.sync.is_call() || work.op == Op::Sync;
    match summary.case.write() {
        Some(work) if calls_sync(work) => Some(&summary.writing.as_ref()?.sync),
        _ => Some(&summary.latency),
    }
}

fn percentiles(latency: Option<&Latency>) -> [String; 2] {
    [latency.and_then(|all| all.p50), latency.and_then(|all| all.p99)].map(words::percentile)
}

/// A row: the case, its `figures`, and what they are worth.
fn row(
    assessment: &Assessment,
    summary: &Summary,
    name: &dyn Fn(&str) -> String,
    figures: Vec<String>,
) -> Vec<Cell> {
    let ceiling = words::ceiling(summary);
    let figures = figures.into_iter().chain([ceiling]).map(|text| figure(summary, text));
    [name(&summary.id)]
        .into_iter()
        .chain(figures)
        .chain([words::served_by(summary, assessment.storage.as_ref())])
        .chain([words::verdict(summary).to_string()])
        .map(|text| Cell::new(text, Paint::Plain))
        .collect()
}
