//! An assessment as GitHub Markdown, to paste into an issue or a README.

use crate::answer;
use crate::command;
use crate::concerned::concerned;
use crate::control;
use crate::fleet;
use crate::frame;
use crate::gate;
use crate::grid::{Cell, Grid, left};
use crate::labels::Labels;
use crate::markup::{block, fenced, inline};
use crate::metric::{self, Metric, Small};
use crate::missed;
use crate::records;
use crate::style::Paint;
use crate::text::Text;
use crate::together;
use crate::versus;
use crate::words::{NONE, UNITS, capital, sentence};
use assess::Assessment;
use assess::finding::Verdict;
use assess::fleet::Fleet;
use assess::gate::Gate;
use assess::records::RecordComparison;
use assess::summary::Summary;
use assess::together::Together;
use model::plan::Role;

/// A run as Markdown.
pub fn markdown(assessment: &Assessment) -> String {
    let labels = answer::labels(assessment);
    let name = |id: &str| labels.name(id);
    let mut page = Page::titled(&frame::title(assessment));
    page.list(&frame::surroundings(assessment));
    page.warnings(&frame::missing(assessment));
    let answer: Vec<String> = answer::answer(assessment).iter().map(Text::to_string).collect();
    page.paragraphs(&answer);
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
        let rows = concerned(found, assessment, &name);
        format!("**{severity}** {}", inline(&frame::said_finding(found, &rows)))
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
    page.warnings(&records::missing(versus));
    page.warnings(&records::obstacles(&versus.obstacles));
    page.paragraph(&records::closing(versus));
    page.common(&records::names(versus));
    page.table(&records::table(versus));
    page.section("Also not the same", said(&records::others(versus)));
    page.section("Left out", said(&records::left_out(&versus.left_out)));
    page.text
}

/// A gate's checks as Markdown, beneath a comparison of the two records.
pub fn markdown_of_gate(versus: &RecordComparison, gate: &Gate) -> String {
    let mut page = Page::titled(gate::title(gate));
    page.paragraph(&gate::closing(versus, gate));
    page.checks(versus, gate);
    page.text
}

/// A gate as Markdown, for a pull request: the answer first, then both records and the checks.
pub fn markdown_of_gate_run(versus: &RecordComparison, gate: &Gate, paths: [&str; 2]) -> String {
    let mut page = Page::titled(gate::title(gate));
    page.paragraph(&gate::closing(versus, gate));
    page.warnings(&records::missing(versus));
    page.warnings(&records::obstacles(&versus.obstacles));
    let [a, b] = records::origins(versus, paths);
    page.list(&[format!("A: {a}"), format!("B: {b}")]);
    page.common(&records::names(versus));
    page.checks(versus, gate);
    page.section("Also not the same", said(&records::others(versus)));
    page.section("Left out", said(&records::left_out(&versus.left_out)));
    page.text
}

/// Several hosts as Markdown.
pub fn markdown_of_fleet(hosts: &Fleet) -> String {
    let labels = fleet::labels(hosts);
    let mut page = Page::titled(&fleet::title(hosts));
    page.paragraph(&fleet::alike(hosts));
    page.paragraphs(&fleet::conclusions(hosts, &labels));
    page.common(&labels);
    page.table(&fleet::cases(hosts, &labels));
    page.table(&fleet::hosts(hosts, 0, hosts.cases.len()));
    page.paragraph(fleet::LEGEND);
    page.section("Not alike on all hosts", said(&fleet::differing(hosts)));
    page.section("Notes", said(&fleet::notes(hosts)));
    page.text
}

/// What several hosts did together, as Markdown.
pub fn markdown_of_together(run: &Together) -> String {
    let labels = Labels::of(&run.first);
    let mut page = Page::titled(&frame::title(&run.first));
    page.list(&together::heads(run));
    page.table(&together::table(run, &labels));
    page.paragraphs(&together::conclusions(run, &labels));
    let findings = run.findings.iter().map(|found| {
        let severity = found.found.finding.severity;
        format!("**{severity}** {}", inline(&together::said_finding(found, &labels)))
    });
    page.section("Findings", findings.collect());
    let skips = frame::said_skips(&run.first.skips, &|id| labels.name(id));
    page.section("Not measured", said(&skips));
    page.section("Notes", said(&together::notes(run)));
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

    /// The table of a gate's checks; omitted if there are none.
    fn checks(&mut self, versus: &RecordComparison, gate: &Gate) {
        if !gate.checks.is_empty() {
            self.table(&gate::table(versus, gate));
        }
    }

    /// A titled list; omitted if it has no lines.
    fn section(&mut self, title: &str, lines: Vec<String>) {
        if !lines.is_empty() {
            let list: String = lines.iter().map(|line| format!("- {line}\n")).collect();
            self.part(&format!("**{title}**\n\n{list}"));
        }
    }

    fn common(&mut self, labels: &Labels) {
        let common = labels.common_to_all("rows");
        if !common.is_empty() {
            self.paragraph(&format!("{}.", capital(&common)));
        }
    }
}

/// The requested cases in tables: reads and memory; writes with their acknowledged and durable
/// rates; and mixes with both, and with the rate of all their operations.
fn tables(page: &mut Page, assessment: &Assessment, labels: &Labels) {
    let asked = assessment.cases.iter().filter(|summary| summary.role == Role::Asked);
    let (mixed, others): (Vec<&Summary>, Vec<&Summary>) =
        asked.partition(|summary| summary.case.is_mixed());
    let (written, read): (Vec<&Summary>, Vec<&Summary>) =
        others.into_iter().partition(|summary| summary.case.write().is_some());
    if mixed.is_empty() && written.is_empty() && read.is_empty() {
        page.paragraph("No case was measured.");
        return;
    }
    page.common(labels);
    let name = &|id: &str| labels.name(id);
    let all = [(&READ[..], read), (&WRITTEN[..], written), (&MIXED[..], mixed)].into_iter();
    let tables: Vec<Table> = all
        .filter(|(_, cases)| !cases.is_empty())
        .map(|(names, cases)| (columns(assessment, &cases, names), cases))
        .collect();
    for table in &tables {
        page.table(&grid(assessment, table, name));
    }
    page.paragraph(&legend(assessment, &tables));
}

/// The columns of a table, and its cases.
type Table<'a> = (Vec<&'static Metric>, Vec<&'a Summary>);

/// What a reader must know about the columns that the tables have.
fn legend(assessment: &Assessment, tables: &[Table]) -> String {
    let mut said = vec![match assessment.repetition.invocations {
        1 => {
            format!("Medians of up to {} rounds, with intervals within this run", assessment.rounds)
        }
        invocations => format!("Medians of {invocations} invocations, with their intervals"),
    }];
    for (shown, cases) in tables {
        let measured: Vec<&Summary> = cases.iter().copied().filter(|it| it.n > 0).collect();
        let explained = metric::legend(shown, &measured, assessment);
        said.extend(explained.into_iter().filter(|text| !said.contains(text)).collect::<Vec<_>>());
    }
    let mut all = tables.iter().flat_map(|(_, cases)| cases);
    if all.any(|summary| summary.verdict == Verdict::Void) {
        said.push("in brackets: void, not what it claims to be".to_string());
    }
    said.push(UNITS.to_string());
    sentence(&said.join("; "))
}

/// The rates of reads and memory loops.
const READ: [&str; 2] = ["throughput", "interval"];

/// The rates of writes.
const WRITTEN: [&str; 4] = ["acknowledged", "acknowledged_interval", "durable", "durable_interval"];

/// The rates of mixes.
const MIXED: [&str; 6] = [
    "throughput",
    "interval",
    "acknowledged",
    "acknowledged_interval",
    "durable",
    "durable_interval",
];

/// Columns that are omitted if empty.
const OPTIONAL: [&str; 10] = [
    "offered",
    "begun",
    "iops",
    "response_p50",
    "response_p99",
    "p50",
    "p99",
    "sync_p50",
    "sync_p99",
    "ceiling",
];

/// The metrics of a table whose rates are `rates`.
fn columns(assessment: &Assessment, cases: &[&Summary], rates: &[&str]) -> Vec<&'static Metric> {
    let shows_iops = metric::small_blocks(cases.iter().copied()) != Small::None;
    let is_filled = |name: &&str| {
        let metric = Metric::named(name);
        (*name != "iops" || shows_iops)
            && cases.iter().any(|summary| metric.cell(summary, assessment) != NONE)
    };
    let optional = OPTIONAL.iter().filter(|name| is_filled(name));
    let all = rates.iter().chain(optional).chain(&["served_by", "verdict"]);
    all.map(|name| Metric::named(name)).collect()
}

fn grid(assessment: &Assessment, (shown, cases): &Table, name: &dyn Fn(&str) -> String) -> Grid {
    let columns = shown.iter().map(|metric| metric.in_grid(0));
    let mut grid = Grid::new([left("case", 0)].into_iter().chain(columns).collect());
    for summary in cases {
        let cells = shown.iter().map(|metric| metric.cell(summary, assessment));
        let texts = [name(&summary.id)].into_iter().chain(cells);
        grid.row(texts.map(|text| Cell::new(text, Paint::Plain)).collect());
    }
    grid
}
