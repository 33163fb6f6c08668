//! An assessment as GitHub Markdown, to paste into an issue or a README.

use crate::answer;
use crate::command;
use crate::control;
use crate::frame;
use crate::grid::{Cell, Grid, left};
use crate::labels::Labels;
use crate::markup::{block, fenced, inline};
use crate::metric::{self, Metric, Small};
use crate::missed;
use crate::records;
use crate::style::Paint;
use crate::versus;
use crate::words::sentence;
use assess::Assessment;
use assess::finding::Verdict;
use assess::percentile::Percentile;
use assess::records::RecordComparison;
use assess::summary::Summary;
use model::plan::Role;

/// A run as Markdown.
pub fn markdown(assessment: &Assessment) -> String {
    let labels = answer::labels(assessment);
    let name = |id: &str| labels.name(id);
    let mut page = Page::titled(&frame::title(assessment));
    page.list(&frame::surroundings(assessment));
    page.warnings(&frame::missing(assessment));
    page.paragraphs(&answer::answer(assessment));
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

/// A comparison of two records as Markdown; `paths` are the records' paths.
pub fn markdown_of_records(versus: &RecordComparison, paths: [&str; 2]) -> String {
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

/// Turns lines into sentences.
fn said(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| block(&sentence(line))).collect()
}

/// Builds a Markdown page of blocks with blank lines between them.
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

    /// Warnings that a reader must see before the figures.
    fn warnings(&mut self, lines: &[String]) {
        for line in said(lines) {
            self.part(&format!("> **Note:** {line}\n"));
        }
    }

    fn table(&mut self, grid: &Grid) {
        self.part(&grid.markdown());
    }

    /// A titled list; omitted if it has no lines.
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

/// The requested cases in two tables: reads and memory, and writes with their acknowledged and
/// durable rates.
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
        page.table(&grid(assessment, &read, &READ, name));
    }
    if !written.is_empty() {
        page.table(&grid(assessment, &written, &WRITTEN, name));
    }
    page.paragraph(&legend(assessment, &read, &written));
}

/// What a reader must know about the columns that the tables have.
fn legend(assessment: &Assessment, read: &[&Summary], written: &[&Summary]) -> String {
    let all = || read.iter().chain(written);
    let syncs = || written.iter().filter_map(|summary| Some(&summary.writing.as_ref()?.sync));
    let mut said = vec![match assessment.repetition.invocations {
        1 => {
            format!("Medians of up to {} rounds, with intervals within this run", assessment.rounds)
        }
        invocations => format!("Medians of {invocations} invocations, with their intervals"),
    }];
    if !written.is_empty() {
        let rates = "acknowledged: until the last write had returned; durable: throughput \
                     including the final sync, unless contradicted";
        said.push(rates.to_string());
    }
    if syncs().any(|latency| latency.p50.is_some()) {
        said.push("sync p50 and sync p99: of the syncs that were calls of their own".to_string());
    }
    let latencies = all().map(|summary| &summary.latency).chain(syncs());
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

/// The metrics of reads and memory loops.
const READ: [&str; 8] =
    ["throughput", "interval", "iops", "p50", "p99", "ceiling", "served_by", "verdict"];

/// The metrics of writes.
const WRITTEN: [&str; 12] = [
    "acknowledged",
    "acknowledged_interval",
    "durable",
    "durable_interval",
    "iops",
    "p50",
    "p99",
    "sync_p50",
    "sync_p99",
    "ceiling",
    "served_by",
    "verdict",
];

/// Columns that are omitted if empty.
const OPTIONAL: [&str; 6] = ["iops", "p50", "p99", "sync_p50", "sync_p99", "ceiling"];

fn grid(
    assessment: &Assessment,
    cases: &[&Summary],
    shown: &[&str],
    name: &dyn Fn(&str) -> String,
) -> Grid {
    let shows_iops = metric::small_blocks(cases.iter().copied()) != Small::None;
    let is_shown = |name: &&&str| **name != "iops" || shows_iops;
    let shown: Vec<&Metric> =
        shown.iter().filter(is_shown).map(|name| Metric::named(name)).collect();
    let columns =
        shown.iter().map(|metric| metric.in_grid(u8::from(OPTIONAL.contains(&metric.name))));
    let mut grid = Grid::new([left("case", 0)].into_iter().chain(columns).collect());
    for summary in cases {
        let cells = shown.iter().map(|metric| metric.cell(summary, assessment));
        let texts = [name(&summary.id)].into_iter().chain(cells);
        grid.row(texts.map(|text| Cell::new(text, Paint::Plain)).collect());
    }
    grid
}
