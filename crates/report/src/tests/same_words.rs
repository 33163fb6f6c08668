//! All forms of a document say the same: the law that one document for all of them is for.

use super::one_value::{record, works};
use super::{all, two_records};
use crate::document::{Block, FindingBlock, Section, Table};
use crate::grid::GridLine;
use crate::tests::GITHUB;
use crate::{Document, HostCheck, Listed, Style};
use assess::fleet::FleetRecords;
use assess::gate::gate;
use assess::trend::Trends;
use model::plan::{Plan, Planned, Role, Skip};
use model::zoo;
use pulldown_cmark::{Event, Parser};
use std::convert::Infallible;

/// So wide that no column is omitted.
const WIDE: Style = Style { colour: false, width: 100_000 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Terminal,
    Markdown,
    Page,
}

/// The words and numbers of a text, without what is between them.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '×' && c != '%');
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The words that a form of a document should have, by its definition.
fn expected(document: &Document, form: Form) -> Vec<String> {
    let mut said = vec![document.title.clone()];
    if document.title.is_empty() && form == Form::Page {
        said.push("ioassay".to_string());
    }
    said.extend(document.about.iter().map(ToString::to_string));
    for warning in &document.warnings {
        let lead = if form == Form::Markdown { "Note: " } else { "" };
        said.push(format!("{lead}{warning}"));
    }
    let answer: Vec<String> =
        document.answer.iter().map(|paragraph| paragraph.text.to_string()).collect();
    if form != Form::Terminal {
        let title = (form == Form::Page && !answer.is_empty()).then(|| "Answer".to_string());
        said.extend(title.into_iter().chain(answer.clone()));
    }
    let folded = document.parts.iter().filter(|part| part.is_on_page_only);
    for part in document.parts.iter().filter(|part| !part.is_on_page_only) {
        said.extend((form != Form::Terminal).then(|| part.title.to_string()));
        part.blocks.iter().for_each(|block| said.extend(of_block(block, part, form)));
    }
    let named: Vec<String> = folded.map(|part| part.title.to_lowercase()).collect();
    if form != Form::Page && !named.is_empty() {
        let lead = if form == Form::Terminal { "more in" } else { "In" };
        said.push(format!("{lead} the page (--html): {}", named.join("; ")));
    }
    if form == Form::Terminal {
        said.extend(answer);
    }
    words(&said.join(" "))
}

fn of_block(block: &Block, part: &Section, form: Form) -> Vec<String> {
    match block {
        Block::Paragraph(paragraph) => vec![paragraph.text.to_string()],
        Block::Aside(text) => vec![text.to_string()],
        Block::Table(table) => of_table(table),
        Block::List(list) => {
            let items = list.items.iter().map(ToString::to_string);
            [list.heading.text.to_string()].into_iter().chain(items).collect()
        }
        Block::Findings(all) => of_findings(all, form),
        Block::Shades { what, all } if form == Form::Page => {
            let shades = all.iter().map(|(text, _)| text.clone());
            [what.to_string()].into_iter().chain(shades).collect()
        }
        Block::Shades { .. } => Vec::new(),
        Block::Code(command) => {
            let lead =
                if form == Form::Terminal { part.title.to_lowercase() } else { String::new() };
            vec![lead, command.clone()]
        }
        Block::Facts(facts) => facts.iter().map(|(what, is)| format!("{what}: {is}")).collect(),
        Block::Pictures(_) | Block::Folded(_) => {
            panic!("{block:?} is in a part that is not folded")
        }
    }
}

fn of_table(Table { title, grid, legend }: &Table) -> Vec<String> {
    let shown = grid.with_content();
    let mut said = vec![title.clone()];
    said.extend(grid.titles().iter().map(ToString::to_string));
    for line in grid.lines() {
        match line {
            GridLine::Heading(text) => said.push(text.clone()),
            GridLine::Cells(cells) => said.extend(shown.iter().map(|at| cells[*at].text.clone())),
        }
    }
    let titles = grid.titles();
    let is_of = |columns: &[&str]| {
        columns.is_empty() || columns.iter().any(|column| titles.contains(column))
    };
    let notes = legend.iter().filter(|note| is_of(&note.columns));
    said.into_iter().chain(notes.map(|note| note.text.clone())).collect()
}

/// Text and Markdown have the most severe findings in full, and of others what was found; a page
/// has all of them.
fn of_findings(all: &[FindingBlock], form: Form) -> Vec<String> {
    if form == Form::Page {
        let more = (all.len() > 5).then(|| format!("{} more", all.len() - 5));
        let said = all.iter().map(|finding| of_finding(finding, form));
        let (first, others): (Vec<_>, Vec<_>) = said.enumerate().partition(|(at, _)| *at < 5);
        let said = |all: Vec<(usize, Vec<String>)>| all.into_iter().flat_map(|(_, said)| said);
        return said(first).chain(more).chain(said(others)).collect();
    }
    let of_figures =
        |it: &&FindingBlock| it.code.is_some() || ["failed", "unavailable"].contains(&it.kind);
    let (mut said, mut brief, mut full) = (Vec::new(), 0, 0);
    for finding in all.iter().filter(|finding| !finding.is_in_header) {
        full += usize::from(of_figures(&finding));
        if of_figures(&finding) && full > 5 {
            brief += 1;
            let code = finding.code.clone().unwrap_or_default();
            let text = finding.text.to_string();
            let ends = [": ", "; ", ". ", " ("].iter().filter_map(|end| text.find(end));
            let seen = &text[..ends.min().unwrap_or(text.len())];
            said.push(format!("{} {code} {} {seen}", finding.kind, finding.brief_rows));
        } else {
            said.extend(of_finding(finding, form));
        }
    }
    let more = "more {} in brief: --all prints all in full, ioassay explain NAME explains one";
    said.extend((brief > 0).then(|| more.replace("{}", &brief.to_string())));
    said
}

fn of_finding(finding: &FindingBlock, form: Form) -> Vec<String> {
    let mut said = vec![finding.kind.to_string()];
    if let Some(code) = &finding.code {
        said.push(format!("{code} {}", finding.rows));
    }
    said.push(finding.text.to_string());
    said.extend(finding.remedy.iter().map(|remedy| format!("Remedy: {remedy}")));
    if form == Form::Page && finding.cases.len() > 3 {
        said.push(format!("{} cases", finding.cases.len()));
        said.extend(finding.cases.iter().map(|(_, name)| name.clone()));
    }
    said
}

/// What a parser of Markdown reads.
fn read_markdown(markdown: &str) -> String {
    let text = |event: Event| match event {
        Event::Text(text) | Event::Code(text) => text.to_string(),
        Event::SoftBreak | Event::HardBreak => " ".to_string(),
        Event::End(end) if !is_inline(end) => " ".to_string(),
        _ => String::new(),
    };
    Parser::new_ext(markdown, GITHUB).map(text).collect()
}

fn is_inline(end: pulldown_cmark::TagEnd) -> bool {
    matches!(end, pulldown_cmark::TagEnd::Strong | pulldown_cmark::TagEnd::Emphasis)
}

/// What is read on a page, without its contents, its foot, and the sections with these titles.
fn read_page(page: &str, folded: &[&str]) -> String {
    let (_, head) = page.split_once("<header>").expect("a page has a head");
    let (head, rest) = head.split_once("</header>").expect("it ends");
    let sections = rest.split("<section ").skip(1).filter(|section| {
        let (_, title) = section.split_once("<h2").expect("a section has a title");
        let (title, _) = title.split_once("</h2>").expect("it ends");
        let (_, title) = title.split_once('>').expect("its tag ends");
        !folded.contains(&title)
    });
    let sections = sections.map(|section| {
        let section = section.split("</section>").next().expect("a split has a first part");
        section.split_once('>').expect("its tag ends").1
    });
    let html = [head].into_iter().chain(sections).collect::<Vec<_>>().join(" ");
    let mut text = String::new();
    for part in html.split('<') {
        let (tag, words) = part.split_once('>').unwrap_or(("", part));
        let tag = tag.trim_start_matches('/').split(' ').next().unwrap_or_default();
        let gap = if ["strong", "a", "code"].contains(&tag) { "" } else { " " };
        text.push_str(&format!("{gap}{words}"));
    }
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
    named.iter().fold(text, |text, (name, is)| text.replace(name, is))
}

#[track_caller]
fn check(what: &str, document: Document) {
    let folded: Vec<&str> =
        document.parts.iter().filter(|part| part.is_on_page_only).map(|part| part.title).collect();
    let card = document.short();
    says(what, Form::Markdown, card, &read_markdown(&document.markdown()));
    says(what, Form::Terminal, &document, &document.text(&WIDE));
    says(what, Form::Page, &document, &read_page(&document.page(), &folded));
    let whole = Document { card: None, ..document };
    says(what, Form::Markdown, &whole, &read_markdown(&whole.markdown()));
}

/// A form of a document has its words, in their order.
#[track_caller]
fn says(what: &str, form: Form, document: &Document, text: &str) {
    let (said, expected) = (words(text), expected(document, form));
    let apart = said.iter().zip(&expected).position(|(one, other)| one != other);
    let at = apart.unwrap_or(said.len().min(expected.len()));
    let near = |words: &[String]| words[at.saturating_sub(5)..words.len().min(at + 8)].join(" ");
    assert!(
        said == expected,
        "{what} as {form:?} says …{}… instead of …{}…",
        near(&said),
        near(&expected)
    );
}

#[test]
fn a_run_says_the_same_in_every_form() {
    for assessment in all() {
        check(&assessment.header.plan.recipe, crate::run(&assessment));
    }
}

#[test]
fn two_records_and_a_gate_say_the_same_in_every_form() {
    let (a, b) = two_records(1.25);
    let versus = super::compare(&a, &b);
    let rules = ["slower > 0.1%", "p99 > 10%"].map(|rule| rule.parse().expect("it is a rule"));
    let (gate, paths) = (gate(&versus, &rules), ["a.jsonl", "b.jsonl"]);
    check("compare", crate::records(&versus, None, paths));
    check("compare with limits", crate::records(&versus, Some(&gate), paths));
    check("gate", crate::gate_run(&versus, &gate, paths));
}

#[test]
fn hosts_say_the_same_in_every_form() {
    for work in works() {
        let mut gathering = FleetRecords::default();
        for host in ["a", "b", "c", "d", "e"] {
            gathering.add(&record(&work, host), &format!("{host}.jsonl")).expect("they are few");
        }
        check("a fleet", crate::fleet(&gathering.judge()));
        let read = |host: usize| Ok::<_, Infallible>(record(&work, &format!("host-{host}")));
        let run = assess::together(3, read).expect("memory is read").expect("there are hosts");
        check("hosts together", crate::together(&run));
    }
}

#[test]
fn a_trend_a_plan_and_lists_say_the_same_in_every_form() {
    for assessment in all() {
        let mut trends = Trends::default();
        trends.add(&assessment);
        check("watch", crate::trend(&trends, &assessment, 1));
        let listed = Listed::of("a.jsonl".to_string(), &assessment);
        check("runs", crate::runs(&[listed], &["'b' is no record".to_string()]));
    }
    let cases = || works().into_iter().map(model::case::Case::own);
    let planned = cases().map(|case| Planned { case, role: Role::Asked }).collect();
    let skips = cases().map(|case| Skip { case, reason: "of a reason".to_string() }).collect();
    let plan = Plan { cases: planned, skips, ..zoo::record().header.plan };
    let notes = vec![("measured too", vec!["90 % of what it does".to_string()])];
    check("a plan", crate::plan(&plan, &[], notes, None));
    let lost = ["a", "b"].map(|called| HostCheck {
        called: called.to_string(),
        found: None,
        reason: Some("it is down".to_string()),
    });
    check("hosts checked", crate::hosts(&lost));
}
