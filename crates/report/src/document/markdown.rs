//! A document as GitHub Markdown, to paste into an issue or a README.

use super::{Block, Document, FindingLines, List, Paragraph, Table, finding_lines, legend};
use crate::markup::{block, fenced, inline, one_line};
use crate::style::Paint;
use crate::text::{Text, TextSpan};
use crate::words::capital;

/// The document, the answer first.
pub(super) fn markdown(document: &Document) -> String {
    let mut page = Page { text: String::new(), has_all_findings: document.has_all_findings };
    if !document.title.is_empty() {
        page.part(&format!("## {}\n", inline(&document.title)));
    }
    match document.about.as_slice() {
        [one] => page.line(one),
        lines => page.list(lines),
    }
    for line in &document.warnings {
        page.part(&format!("> **Note:** {}\n", inline_text(&line.clone().sentence())));
    }
    match document.answer.as_slice() {
        [one] => page.paragraph(one),
        lines => {
            page.part(&lines.iter().map(|line| format!("- {}", line_of(line))).collect::<String>())
        }
    }
    for part in document.parts.iter().filter(|part| !part.is_on_page_only) {
        if !part.title.is_empty() {
            page.part(&format!("**{}**\n", inline(part.title)));
        }
        part.blocks.iter().for_each(|block| page.block(block));
    }
    page.part(&document.elsewhere().map_or(String::new(), |it| format!("{}\n", capital(&it))));
    page.text
}

/// Builds Markdown of blocks with blank lines between them.
struct Page {
    text: String,
    has_all_findings: bool,
}

impl Page {
    fn part(&mut self, markdown: &str) {
        if !markdown.is_empty() {
            let gap = if self.text.is_empty() { "" } else { "\n" };
            self.text.push_str(&format!("{gap}{markdown}"));
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Paragraph(paragraph) => self.paragraph(paragraph),
            Block::Aside(text) => self.line(text),
            Block::Table(table) => self.table(table),
            Block::List(List { heading, items, .. }) => {
                if !heading.text.is_empty() {
                    self.paragraph(heading);
                }
                self.list(items);
            }
            Block::Findings(all) => {
                let FindingLines { all, more } = finding_lines(all, self.has_all_findings);
                let found = all.iter().map(|(kind, _, text)| (*kind, text));
                let found = found.chain(more.iter().map(|more| ("more", more)));
                let line = |(kind, text)| format!("- **{kind}** {}\n", inline_text(text));
                self.part(&found.map(line).collect::<String>());
            }
            Block::Shades { .. } => {}
            Block::Facts(facts) => {
                let known = super::known(facts);
                self.list(
                    &known.map(|(what, is)| format!("{what}: {is}").into()).collect::<Vec<_>>(),
                );
            }
            Block::Code(command) => self.part(&fenced(command, "sh")),
            Block::Pictures(_) | Block::Folded(_) => {}
        }
    }

    fn line(&mut self, text: &Text) {
        self.part(&format!("{}\n", block_text(text)));
    }

    fn paragraph(&mut self, paragraph: &Paragraph) {
        self.part(&line_of(paragraph));
    }

    fn list(&mut self, lines: &[Text]) {
        self.part(
            &lines.iter().map(|line| format!("- {}\n", block_text(line))).collect::<String>(),
        );
    }

    fn table(&mut self, table: &Table) {
        if !table.title.is_empty() {
            self.part(&format!("**{}**\n", inline(&table.title)));
        }
        self.part(&table.grid.markdown());
        let legend = legend(&table.legend, &table.grid.titles());
        if !legend.is_empty() {
            self.line(&Text::from(legend).sentence());
        }
    }
}

fn line_of(Paragraph { text, paint }: &Paragraph) -> String {
    match paint {
        Paint::Strong => format!("**{}**\n", inline_text(text)),
        _ => format!("{}\n", block_text(text)),
    }
}

/// A text at the start of a block, where more characters have a meaning.
fn block_text(text: &Text) -> String {
    let all = text.spans().iter().enumerate();
    all.map(|(index, span)| if index == 0 { shown(span, block) } else { shown(span, inline) })
        .collect()
}

fn inline_text(text: &Text) -> String {
    text.spans().iter().map(|span| shown(span, inline)).collect()
}

/// A span, its words escaped. Spaces at its ends part it from its neighbors.
fn shown(span: &TextSpan, escaped: fn(&str) -> String) -> String {
    let words = span.words();
    let space = |is_there: bool| if is_there { " " } else { "" };
    let before = space(words.starts_with(char::is_whitespace));
    match span {
        TextSpan::Command(command) => code(command),
        _ if words.trim().is_empty() => before.to_string(),
        _ => {
            let after = space(words.ends_with(char::is_whitespace));
            format!("{before}{}{after}", escaped(words))
        }
    }
}

/// A command within a line; in quotes if it has a backtick itself.
fn code(command: &str) -> String {
    let command = &one_line(command);
    if command.contains('`') { inline(&format!("'{command}'")) } else { format!("`{command}`") }
}
