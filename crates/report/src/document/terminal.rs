//! A document as text for a terminal.

use super::{Block, Document, FindingLines, Paragraph, Table, finding_lines, legend};
use crate::style::{Paint, Style, fold, printable};

/// The document, the answer last.
pub(super) fn text(document: &Document, style: &Style) -> String {
    let has_all_findings = document.has_all_findings;
    let mut out =
        Output { text: String::new(), style, last: None, is_new: false, has_all_findings };
    if !document.title.is_empty() {
        out.line(Paint::Strong, &document.title);
    }
    document.about.iter().for_each(|line| out.line(Paint::Plain, &line.to_string()));
    for line in &document.warnings {
        out.led("! ", Paint::Doubt, &line.clone().sentence().to_string());
    }
    for part in document.parts.iter().filter(|part| !part.is_on_page_only) {
        out.is_new = true;
        part.blocks.iter().for_each(|block| out.block(block, part.title));
    }
    if let Some(elsewhere) = document.elsewhere() {
        out.led(&lead("more"), Paint::Faint, &elsewhere);
    }
    out.is_new = true;
    document.answer.iter().for_each(|line| out.answer(line));
    out.text
}

/// The beginning of a line of this kind.
fn lead(kind: &str) -> String {
    format!("{kind:<6} ")
}

/// The kinds of blocks that a blank line may separate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Table,
    Text,
    List,
    Findings,
}

struct Output<'a> {
    text: String,
    style: &'a Style,
    /// The last block.
    last: Option<BlockKind>,
    /// Whether a part begins.
    is_new: bool,
    has_all_findings: bool,
}

impl Output<'_> {
    fn block(&mut self, block: &Block, title: &str) {
        match block {
            Block::Paragraph(paragraph) => self.paragraph(paragraph),
            Block::Aside(text) => self.line(Paint::Faint, &text.to_string()),
            Block::Table(table) => self.table(table),
            Block::List(list) => {
                self.is_new |= list.is_apart;
                self.begin(BlockKind::List);
                self.heading(&list.heading);
                list.items.iter().for_each(|item| self.led("  ", Paint::Plain, &item.to_string()));
            }
            Block::Findings(all) => {
                self.begin(BlockKind::Findings);
                let FindingLines { all, more } = finding_lines(all, self.has_all_findings);
                for (kind, paint, text) in all {
                    self.led(&lead(kind), paint, &text.to_string());
                }
                if let Some(more) = more {
                    self.led(&lead("more"), Paint::Faint, &more.to_string());
                }
            }
            Block::Shades { what, all } if self.style.colour => {
                let shade = |(text, shade): &(String, u8)| {
                    self.style.paint(&format!(" {text} "), Paint::Shade(*shade))
                };
                let all: String = all.iter().map(shade).collect();
                self.text.push_str(&format!("{what}: {all}\n"));
            }
            Block::Shades { .. } => {}
            Block::Facts(facts) => {
                self.begin(BlockKind::List);
                let known = super::known(facts);
                known.for_each(|(what, is)| self.led("  ", Paint::Plain, &format!("{what}: {is}")));
            }
            Block::Code(command) => {
                self.begin(BlockKind::Findings);
                // On one line, however long, so that it can be copied.
                let lead = self.style.paint(&lead(&title.to_lowercase()), Paint::Faint);
                self.text.push_str(&format!("{lead}{}\n", printable(command)));
            }
            Block::Pictures(_) | Block::Folded(_) => {}
        }
    }

    /// Adds a blank line where a block of this kind needs one.
    fn begin(&mut self, kind: BlockKind) {
        let is_apart = match (self.last, kind) {
            (Some(BlockKind::Findings), BlockKind::Findings) => false,
            _ if self.is_new => true,
            (last, BlockKind::Text | BlockKind::List) => last.is_some_and(|last| last != kind),
            (_, BlockKind::Table) => true,
            (_, BlockKind::Findings) => true,
        };
        if is_apart && !self.text.is_empty() {
            self.text.push('\n');
        }
        (self.last, self.is_new) = (Some(kind), false);
    }

    /// Adds lines that begin with `lead`, in that color.
    fn led(&mut self, lead: &str, paint: Paint, text: &str) {
        self.text.push_str(&self.style.wrap(lead, paint, text));
    }

    /// Adds lines of one color.
    fn line(&mut self, paint: Paint, text: &str) {
        self.text.push_str(&self.style.painted(text, paint));
    }

    /// Adds a heading, which may be none. If it is long, its further lines are indented.
    fn heading(&mut self, Paragraph { text, paint }: &Paragraph) {
        let text = text.to_string();
        let lines = fold(&text, self.style.width.saturating_sub(2).max(20));
        for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
            let indent = if index == 0 { "" } else { "  " };
            self.text.push_str(&format!("{indent}{}\n", self.style.paint(line, *paint)));
        }
    }

    /// Adds a line of the answer. Its further lines are indented, so that each begins visibly.
    fn answer(&mut self, line: &Paragraph) {
        self.begin(BlockKind::Text);
        self.heading(line);
    }

    fn paragraph(&mut self, paragraph: &Paragraph) {
        self.begin(BlockKind::Text);
        self.line(paragraph.paint, &paragraph.text.to_string());
    }

    fn table(&mut self, table: &Table) {
        self.begin(BlockKind::Table);
        if !table.title.is_empty() {
            self.line(Paint::Strong, &table.title);
        }
        let (text, shown) = table.grid.render(self.style);
        self.text.push_str(&text);
        let legend = legend(&table.legend, &shown);
        if !legend.is_empty() {
            self.line(Paint::Faint, &legend);
        }
    }
}
