//! A report as a document: what is said, in which order and with which weight, but not how it
//! looks. Builders make it of judgments and know no form; the forms here show any document, and
//! know no judgment.

mod terminal;
mod markdown;
mod page;

use crate::busy::beginning;
use crate::drawing::Picture;
use crate::grid::Grid;
use crate::style::{Paint, Style};
use crate::text::{Text, command, text};
use crate::words::NONE;
use model::units::{self, ParseError};
use std::cell::LazyCell;

/// A report. What only a page shows is made when a page is.
#[derive(Debug, Default)]
pub struct Document<'a> {
    /// May be empty: what is only a list needs none on a terminal.
    pub(crate) title: String,
    /// Where and how it was measured, in lines.
    pub(crate) about: Vec<Text>,
    /// What a reader must know before any figure, in lines.
    pub(crate) warnings: Vec<Text>,
    /// The answer: last on a terminal, where the eye is when it ends, and first elsewhere.
    pub(crate) answer: Vec<Paragraph>,
    /// All else, in the same order in every form.
    pub(crate) parts: Vec<Section<'a>>,
    /// What a picture in a file of its own says of where it is from.
    pub(crate) origin: String,
    /// The same in few lines, which Markdown shows unless all is asked for.
    pub(crate) card: Option<Card<'a>>,
    /// Whether text and Markdown have all findings in full, and not only the most severe.
    pub(crate) has_all_findings: bool,
}

/// A document that is made when a form first shows it.
pub(crate) type Card<'a> = Box<LazyCell<Document<'a>, Box<dyn FnOnce() -> Document<'a> + 'a>>>;

pub(crate) fn made_later<'a>(make: impl FnOnce() -> Document<'a> + 'a) -> Card<'a> {
    Box::new(LazyCell::new(Box::new(make)))
}

/// A paragraph and its weight.
#[derive(Debug, Clone)]
pub(crate) struct Paragraph {
    pub(crate) text: Text,
    pub(crate) paint: Paint,
}

impl Paragraph {
    pub(crate) fn plain(text: impl Into<Text>) -> Paragraph {
        Paragraph { text: text.into(), paint: Paint::Plain }
    }

    pub(crate) fn strong(text: impl Into<Text>) -> Paragraph {
        Paragraph { text: text.into(), paint: Paint::Strong }
    }
}

/// Blocks with a title. A terminal shows no titles, because their order and their tables tell.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    pub(crate) title: &'static str,
    /// Made when a form first shows them.
    pub(crate) blocks: LazyCell<Vec<Block>, Box<dyn FnOnce() -> Vec<Block> + 'a>>,
    /// Only a page has room for it; the other forms name it in a line.
    pub(crate) is_on_page_only: bool,
}

impl<'a> Section<'a> {
    /// A part that `make` makes. Of very long tables it keeps the first rows, and says so.
    fn made_by(title: &'static str, make: impl FnOnce() -> Vec<Block> + 'a) -> Section<'a> {
        let make = || make().into_iter().flat_map(bounded).collect();
        Section { title, blocks: LazyCell::new(Box::new(make)), is_on_page_only: false }
    }

    pub(crate) fn new(title: &'static str, blocks: impl IntoIterator<Item = Block>) -> Section<'a> {
        let blocks: Vec<Block> = blocks.into_iter().collect();
        Section::made_by(title, || blocks)
    }
}

/// A piece of a document.
#[derive(Debug, Clone)]
pub(crate) enum Block {
    Paragraph(Paragraph),
    /// A remark on what is above it, such as the legend of a table.
    Aside(Text),
    Table(Table),
    List(List),
    Findings(Vec<FindingBlock>),
    /// Only on a page.
    Pictures(Vec<Picture>),
    /// What colors of cells tell; shown only in color.
    Shades {
        what: &'static str,
        all: Vec<(String, u8)>,
    },
    /// Names with their values; those without a value are left out.
    Facts(Vec<(&'static str, String)>),
    /// A command that can be typed.
    Code(String),
    /// Only on a page.
    Folded(Folded),
}

impl Block {
    pub(crate) fn plain(text: impl Into<Text>) -> Block {
        Block::Paragraph(Paragraph::plain(text))
    }

    pub(crate) fn aside(text: impl Into<Text>) -> Block {
        Block::Aside(text.into())
    }

    /// A table without a title, and what explains it.
    pub(crate) fn table(grid: Grid, legend: impl IntoIterator<Item = Remark>) -> Block {
        let legend = legend.into_iter().collect();
        Block::Table(Table { title: String::new(), grid, legend })
    }

    /// Items below a heading.
    pub(crate) fn list<T: Into<Text>>(
        heading: Paragraph,
        items: impl IntoIterator<Item = T>,
    ) -> Block {
        let items = items.into_iter().map(Into::into).collect();
        Block::List(List { heading, items, is_apart: false })
    }

    /// The same, parted from a list above as sections are.
    pub(crate) fn list_apart<T: Into<Text>>(
        heading: &str,
        items: impl IntoIterator<Item = T>,
    ) -> Block {
        let (heading, items) = (Paragraph::strong(heading), items.into_iter().map(Into::into));
        Block::List(List { heading, items: items.collect(), is_apart: true })
    }

    /// All of this; nothing, if there is none.
    pub(crate) fn findings(all: Vec<FindingBlock>) -> Option<Block> {
        (!all.is_empty()).then_some(Block::Findings(all))
    }
}

/// A table with what explains it.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    /// Its title, where a part has several.
    pub(crate) title: String,
    pub(crate) grid: Grid,
    pub(crate) legend: Vec<Remark>,
}

/// An explanation of columns; shown where one of them is, and always if it names none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remark {
    pub(crate) text: String,
    pub(crate) columns: Vec<&'static str>,
}

impl Remark {
    /// An explanation of the whole table.
    pub(crate) fn of_all(text: impl Into<String>) -> Remark {
        Remark { text: text.into(), columns: Vec::new() }
    }

    /// Whether it explains something in a table with these columns.
    fn is_of(&self, shown: &[&str]) -> bool {
        self.columns.is_empty() || self.columns.iter().any(|column| shown.contains(column))
    }
}

/// The explanations that a table with these columns needs, in a line; empty if it needs none.
fn legend(notes: &[Remark], shown: &[&str]) -> String {
    let needed = notes.iter().filter(|note| note.is_of(shown));
    needed.map(|note| note.text.as_str()).collect::<Vec<_>>().join("; ")
}

/// If a table has more rows, only the first are shown.
const ROWS_MAX: usize = 400;

/// A table without the rows that are too many, and what tells of them; none without rows.
fn bounded(block: Block) -> Vec<Block> {
    let Block::Table(mut table) = block else { return vec![block] };
    let all = table.grid.truncate(ROWS_MAX);
    let said = format!("The first {ROWS_MAX} of {all} rows: --json has all of them.");
    let more = (all > ROWS_MAX).then(|| Block::aside(said));
    let table = (!table.grid.is_empty()).then_some(Block::Table(table));
    table.into_iter().chain(more).collect()
}

/// The facts with a value.
fn known<'a>(
    facts: &'a [(&'static str, String)],
) -> impl Iterator<Item = &'a (&'static str, String)> {
    facts.iter().filter(|(_, value)| !value.is_empty() && value != NONE)
}

/// Items below a heading, which may be empty.
#[derive(Debug, Clone)]
pub(crate) struct List {
    pub(crate) heading: Paragraph,
    pub(crate) items: Vec<Text>,
    /// Whether a blank line parts it from a list above, as sections are.
    pub(crate) is_apart: bool,
}

/// Something that was found, with how grave it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct FindingBlock {
    /// A word for its kind, such as `doubt` or `skip`.
    pub(crate) kind: &'static str,
    pub(crate) paint: Paint,
    /// Its code, if it has one; several if they are one.
    pub(crate) code: Option<String>,
    /// The rows that it concerns, the same in a few words, and the ids and names of all of them.
    pub(crate) rows: Text,
    pub(crate) brief_rows: Text,
    pub(crate) cases: Vec<(String, String)>,
    pub(crate) text: Text,
    pub(crate) remedy: Option<Text>,
    /// Whether the header says it, too, as it is so in every run.
    pub(crate) is_in_header: bool,
}

impl FindingBlock {
    /// One without a code and rows.
    pub(crate) fn of_kind(kind: &'static str, paint: Paint, text: impl Into<Text>) -> FindingBlock {
        FindingBlock { kind, paint, text: text.into(), ..FindingBlock::default() }
    }

    /// Whether it speaks of figures; others, such as notes, are a line or two anyway.
    fn is_of_figures(&self) -> bool {
        self.code.is_some() || self.paint == Paint::Void
    }

    /// What was found, without its explanation.
    fn brief(&self) -> Text {
        let text = Text::from(beginning(&self.text.to_string())).sentence();
        match &self.code {
            Some(code) if self.brief_rows.is_empty() => text!("{}: {}", code, text),
            Some(code) => text!("{} ({}): {}", code, &self.brief_rows, text),
            None => text,
        }
    }

    /// All of it in a line.
    fn line(&self) -> Text {
        let mut line = Text::default();
        if let Some(code) = &self.code {
            line.push(code);
            if !self.rows.is_empty() {
                line.push(text!(" ({})", &self.rows));
            }
            line.push(": ");
        }
        line.push(self.text.clone().sentence());
        if let Some(remedy) = &self.remedy {
            line.push(" Remedy: ");
            line.push(remedy.clone().sentence());
        }
        line
    }
}

/// So many findings, the most severe, are told in full, unless all are asked for.
const IN_FULL: usize = 5;

/// The findings that text and Markdown show, in their order.
struct FindingLines {
    /// Each with its kind, its color and its line.
    all: Vec<(&'static str, Paint, Text)>,
    /// That some are told in brief, and where more is.
    more: Option<Text>,
}

/// What text and Markdown show of findings: all of it, or that of the most severe.
fn finding_lines(findings: &[FindingBlock], are_all_in_full: bool) -> FindingLines {
    let room = if are_all_in_full { findings.len() } else { IN_FULL };
    let (mut in_full, mut in_brief) = (0, 0);
    let shown = findings.iter().filter(|it| are_all_in_full || !it.is_in_header);
    let line = |finding: &FindingBlock| {
        in_full += usize::from(finding.is_of_figures());
        let is_brief = finding.is_of_figures() && in_full > room;
        in_brief += usize::from(is_brief);
        (finding.kind, finding.paint, if is_brief { finding.brief() } else { finding.line() })
    };
    let all = shown.map(line).collect();
    let more = (in_brief > 0).then(|| {
        text!(
            "{} in brief: {} prints all in full, {} explains one.",
            in_brief,
            command("--all"),
            command("ioassay explain NAME")
        )
    });
    FindingLines { all, more }
}

/// Blocks below a title that a reader may unfold.
#[derive(Debug, Clone)]
pub(crate) struct Folded {
    pub(crate) title: Text,
    /// The id of the case that this is about: elsewhere its name is a link to here.
    pub(crate) case: Option<String>,
    pub(crate) blocks: Vec<Block>,
}

impl<'a> Document<'a> {
    /// The same with all findings in full, and no card.
    pub fn with_all_findings(self) -> Document<'a> {
        Document { has_all_findings: true, card: None, ..self }
    }

    /// As text for a terminal.
    pub fn text(&self, style: &Style) -> String {
        terminal::text(self, style)
    }

    /// As GitHub Markdown, to paste into an issue or a README.
    pub fn markdown(&self) -> String {
        markdown::markdown(self.short())
    }

    /// Its card, if it has one.
    pub(crate) fn short(&self) -> &Document<'a> {
        self.card.as_ref().map_or(self, |card| card)
    }

    /// As an HTML file that needs no network and no script. The same document gives the same bytes.
    pub fn page(&self) -> String {
        page::page(self)
    }

    /// Its pictures, most important first.
    pub fn pictures(&self) -> impl Iterator<Item = &Picture> {
        let blocks = self.parts.iter().flat_map(|part| part.blocks.iter());
        blocks.flat_map(|block| match block {
            Block::Pictures(all) => all.as_slice(),
            _ => &[],
        })
    }

    /// A picture as a separate file: with a background, its title and its source.
    ///
    /// # Errors
    /// If the document has no picture of that name.
    pub fn picture_alone(&self, name: &str) -> Result<String, ParseError> {
        let Some(picture) = self.pictures().find(|picture| picture.name == name) else {
            let known: Vec<&str> = self.pictures().map(|picture| picture.name.as_str()).collect();
            return Err(units::unknown_name("figure", name, &known));
        };
        Ok(picture.alone(&self.origin))
    }

    /// Adds a part, unless it is empty.
    pub(crate) fn part(&mut self, part: Section<'a>) {
        if !part.blocks.is_empty() {
            self.parts.push(part);
        }
    }

    /// Adds a part that only a page shows, if `is_there`, which the other forms say of it.
    pub(crate) fn on_page(
        &mut self,
        title: &'static str,
        is_there: bool,
        make: impl FnOnce() -> Vec<Block> + 'a,
    ) {
        let part = Section { is_on_page_only: true, ..Section::made_by(title, make) };
        self.parts.extend(is_there.then_some(part));
    }

    /// Adds the pictures, if they `are_there`.
    pub(crate) fn draw(&mut self, are_there: bool, make: impl FnOnce() -> Vec<Picture> + 'a) {
        self.on_page("Pictures", are_there, || vec![Block::Pictures(make())]);
    }

    /// What else there is, for forms that do not show it.
    fn elsewhere(&self) -> Option<String> {
        let named = self.parts.iter().filter(|part| part.is_on_page_only);
        let named: Vec<String> = named.map(|part| part.title.to_lowercase()).collect();
        (!named.is_empty()).then(|| format!("in the page (--html): {}", named.join("; ")))
    }
}
