//! A document as one HTML file: no network, no script; light and dark, for screen and print.
//!
//! Made with maud, whose templates escape their input and cannot leave a tag open: a record may
//! come from anyone.

use super::{
    Block, Document, FindingBlock, Folded, IN_FULL, List, Paragraph, Section, Table, known, legend,
};
use crate::MARK;
use crate::concerned::NAMED_MOST;
use crate::drawing::{Picture, scheme_css};
use crate::grid::{Align, GridCell, GridLine};
use crate::style::Paint;
use crate::text::{Text, TextSpan};
use crate::words::count;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::collections::HashMap;

/// The style of all pages.
const CSS: &str = include_str!("page.css");

/// No scripts and no external content: even if a record injected a tag, it would do nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The document, the answer first.
pub(super) fn page(document: &Document) -> String {
    let links = Links::of(document);
    let answer = document.answer.iter().enumerate();
    let answer = html! { @for (index, line) in answer { (links.answer(line, index == 0)) } };
    let mut sections = vec![("Answer", answer)];
    sections.extend(document.parts.iter().map(|part| (part.title, links.part(part))));
    sections.retain(|(_, body)| !body.0.is_empty());
    let version = env!("CARGO_PKG_VERSION");
    let title = Some(document.title.as_str()).filter(|title| !title.is_empty());
    let title = title.unwrap_or("ioassay");
    // It tells pages of several machines apart.
    let full_title = if document.origin.is_empty() { title } else { &document.origin };
    let page = html! {
        (DOCTYPE)
        (PreEscaped(format!("<!-- {MARK} {version} -->\n")))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (full_title) }
                style { (PreEscaped(CSS)) (PreEscaped(scheme_css())) }
            }
            body {
                a.skip href="#main" { "Skip to the answer" }
                (head(title, document, &links))
                nav aria-label="Contents" {
                    ul {
                        @for (title, _) in &sections {
                            li { a href={ "#" (anchor(title)) } { (title) } }
                        }
                    }
                }
                main #main { @for (title, body) in &sections { (section(title, body)) } }
                footer { p { "Made by ioassay " (version) " from records, and from nothing else: "
                    "the same records give the same page." } }
            }
        }
    };
    harmless(&page.0)
}

fn head(title: &str, document: &Document, links: &Links) -> Markup {
    html! {
        header {
            h1 { (title) }
            @for line in &document.about { p.about { (links.text(line)) } }
            @if !document.warnings.is_empty() {
                div.warning role="note" {
                    @for line in &document.warnings { p { (links.text(&line.clone().sentence())) } }
                }
            }
        }
    }
}

fn section(title: &str, body: &Markup) -> Markup {
    let (anchor, heading) = (anchor(title), format!("{}-title", anchor(title)));
    html! {
        section id=(anchor) aria-labelledby=(heading) {
            h2 id=(heading) { (title) }
            (body)
        }
    }
}

/// The lower-case letters of a title, with dashes between its words.
fn anchor(title: &str) -> String {
    let words = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

/// Removes characters that are invisible but change what a reader sees. Of such characters, pages
/// themselves use only line ends.
fn harmless(page: &str) -> String {
    let lines: Vec<_> = page.split('\n').map(model::printable::printable).collect();
    lines.join("\n")
}

/// Longer lists are cut off, with a count of the rest.
const LISTED_MAX: usize = 100;

/// The maximum size of all pictures together; the others are omitted, and named.
const PICTURES_BYTES_MAX: usize = 1 << 20;

/// Where the page has more about a case: the number of its fold.
struct Links<'a>(HashMap<&'a str, usize>);

impl<'a> Links<'a> {
    fn of(document: &'a Document<'_>) -> Links<'a> {
        let blocks = document.parts.iter().flat_map(|part| part.blocks.iter());
        let cases = blocks.filter_map(|block| match block {
            Block::Folded(Folded { case, .. }) => case.as_deref(),
            _ => None,
        });
        let mut links = HashMap::new();
        for (number, id) in cases.enumerate() {
            links.entry(id).or_insert(number);
        }
        Links(links)
    }

    fn answer(&self, Paragraph { text, paint }: &Paragraph, is_first: bool) -> Markup {
        let hero = if is_first { "hero " } else { "" };
        html! { p class={ "answer " (hero) (class_of(*paint)) } { (self.text(text)) } }
    }

    fn part(&self, part: &Section) -> Markup {
        html! { @for block in part.blocks.iter() { (self.block(block)) } }
    }

    fn block(&self, block: &Block) -> Markup {
        match block {
            Block::Paragraph(paragraph) => self.paragraph(paragraph),
            Block::Aside(text) => html! { p.hint { (self.text(text)) } },
            Block::Table(table) => self.table(table),
            Block::List(List { heading, items, .. }) => html! {
                @if !heading.text.is_empty() {
                    h3 class=(class_of(heading.paint)) { (self.text(&heading.text)) }
                }
                @if !items.is_empty() { ul { @for item in items { li { (self.text(item)) } } } }
            },
            Block::Findings(all) => self.findings(all),
            Block::Pictures(all) => pictures(all),
            Block::Shades { what, all } => html! {
                p.hint {
                    (what) ": "
                    @for (text, shade) in all {
                        span.shade.(class_of(Paint::Shade(*shade))) { (text) } " "
                    }
                }
            },
            Block::Facts(facts) => html! {
                dl { @for (what, is) in known(facts) { div { dt { (what) } dd { (is) } } } }
            },
            Block::Code(command) => html! { pre tabindex="0" { code { (command) } } },
            Block::Folded(folded) => self.folded(folded),
        }
    }

    fn text(&self, text: &Text) -> Markup {
        html! {
            @for span in text.spans() {
                @match span {
                    TextSpan::Words(words) => (words),
                    TextSpan::Figure(figure) => strong { (figure) },
                    TextSpan::Case { id, name } => (self.case(id, name)),
                    TextSpan::Command(command) => code { (command) },
                }
            }
        }
    }

    /// The name of a case; a link, if the page has more about it.
    fn case(&self, id: &str, name: &str) -> Markup {
        match self.0.get(id) {
            Some(number) => html! { a href={ "#case-" (number) } { (name) } },
            None => html! { (name) },
        }
    }

    fn paragraph(&self, Paragraph { text, paint }: &Paragraph) -> Markup {
        html! {
            p class=(class_of(*paint)) {
                @let text = self.text(text);
                @if *paint == Paint::Strong { strong { (text) } } @else { (text) }
            }
        }
    }

    fn folded(&self, Folded { title, case, blocks }: &Folded) -> Markup {
        let number = case.as_deref().and_then(|id| self.0.get(id));
        html! {
            details.case id=[number.map(|number| format!("case-{number}"))] {
                // A link within would fold and follow at once.
                summary { (Links(HashMap::new()).text(title)) }
                @for block in blocks { (self.block(block)) }
            }
        }
    }

    /// A table that scrolls if it is wider than the window.
    fn table(&self, Table { title, grid, legend: notes }: &Table) -> Markup {
        let columns = grid.with_content();
        let sides: Vec<Align> = columns.iter().map(|&column| grid.side(column)).collect();
        let titles = grid.titles();
        let legend = legend(notes, &titles);
        html! {
            @if !title.is_empty() { h3 { (title) } }
            @let label = (!title.is_empty()).then_some(title);
            div.scroll tabindex="0" role="region" aria-label=[label] {
                table {
                    thead {
                        tr {
                            @for (title, side) in titles.iter().zip(&sides) {
                                th.t[*side == Align::Left] scope="col" { (title) }
                            }
                        }
                    }
                    tbody {
                        @for line in grid.lines() {
                            @match line {
                                GridLine::Heading(text) => tr {
                                    th.group scope="rowgroup" colspan=(columns.len()) { (text) }
                                },
                                GridLine::Cells(cells) => (self.row(cells, &columns, &sides)),
                            }
                        }
                    }
                }
            }
            @if !legend.is_empty() { p.hint { (legend) "." } }
        }
    }

    fn row(&self, cells: &[GridCell], columns: &[usize], sides: &[Align]) -> Markup {
        html! {
            tr {
                @for (index, (&column, side)) in columns.iter().zip(sides).enumerate() {
                    @let cell = &cells[column];
                    @let left = if *side == Align::Left { "t " } else { "" };
                    @let class = format!("{left}{}", class_of(cell.paint));
                    @let text = match &cell.case {
                        Some(id) => self.case(id, cell.text.trim()),
                        None => html! { (cell.text.trim()) },
                    };
                    @if index == 0 { th class=(class) scope="row" { (text) } }
                    @else { td class=(class) { (text) } }
                }
            }
        }
    }

    /// The most severe, and the others to unfold.
    fn findings(&self, all: &[FindingBlock]) -> Markup {
        let (first, others) = all.split_at(all.len().min(IN_FULL));
        html! {
            @for finding in first { (self.finding(finding)) }
            @if !others.is_empty() {
                details {
                    summary { (others.len()) " more" }
                    @for finding in others { (self.finding(finding)) }
                }
            }
        }
    }

    fn finding(&self, finding: &FindingBlock) -> Markup {
        let FindingBlock { kind, paint, code, rows, cases, text, remedy, .. } = finding;
        let class = class_of(*paint);
        let link = |(id, name): &(String, String)| self.case(id, name);
        html! {
            article.finding.(class) {
                p {
                    span.badge.(class) { (kind) } " "
                    @if let Some(code) = code { strong { (code) } " " }
                    @if !rows.is_empty() { "(" (self.text(rows)) "): " }
                    (self.text(&text.clone().sentence()))
                }
                @if let Some(remedy) = remedy {
                    p { strong { "Remedy: " } (self.text(&remedy.clone().sentence())) }
                }
                @if cases.len() > NAMED_MOST {
                    details {
                        summary { (count(cases.len(), "case")) }
                        (list(cases, &link))
                    }
                }
            }
        }
    }
}

/// A list; if it is long, only its first entries and a count of the rest.
fn list<T>(entries: &[T], show: &dyn Fn(&T) -> Markup) -> Markup {
    let more = entries.len().saturating_sub(LISTED_MAX);
    html! {
        ul {
            @for entry in entries.iter().take(LISTED_MAX) { li { (show(entry)) } }
            @if more > 0 { li { "and " (more) " more" } }
        }
    }
}

/// The pictures, with their titles.
fn pictures(all: &[Picture]) -> Markup {
    let mut room = PICTURES_BYTES_MAX;
    let (shown, left_out): (Vec<&Picture>, Vec<&Picture>) = all.iter().partition(|picture| {
        let rest = room.checked_sub(picture.bytes());
        room = rest.unwrap_or(room);
        rest.is_some()
    });
    html! {
        @if !shown.is_empty() {
            div.pictures {
                @for picture in &shown {
                    figure {
                        figcaption { (picture.title) }
                        (PreEscaped(picture.svg()))
                    }
                }
            }
        }
        @if !left_out.is_empty() {
            p.hint { "Left out, for of so many cases they are too large:" }
            (list(&left_out, &|picture| html! { (picture.title) }))
        }
    }
}

const SHADES: [&str; 5] = ["shade-0", "shade-1", "shade-2", "shade-3", "shade-4"];

/// The CSS class of a color.
fn class_of(paint: Paint) -> &'static str {
    match paint {
        Paint::Plain => "plain",
        Paint::Strong => "strong",
        Paint::Faint => "note",
        Paint::Doubt => "doubtful",
        Paint::Void => "void",
        Paint::Shade(shade) => SHADES[usize::from(shade).min(SHADES.len() - 1)],
    }
}
