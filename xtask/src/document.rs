//! Documents written by commands: a head, and sections that can be rewritten one at a time.

use anyhow::{Context, Result};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Line width of paragraphs.
const COLUMNS: usize = 100;

/// The fixed parts of a document.
#[derive(Debug)]
pub(crate) struct Outline {
    pub(crate) title: &'static str,
    /// The paragraphs before all sections.
    pub(crate) head: &'static [&'static str],
    /// The titles of all sections, in order.
    pub(crate) sections: &'static [&'static str],
}

impl Outline {
    /// Writes the `fresh` sections into the document at `path`, which need not exist yet.
    pub(crate) fn write(&self, path: &Path, fresh: &[(&str, String)]) -> Result<()> {
        let old = fs::read_to_string(path).unwrap_or_default();
        write(path, &self.document(&old, fresh))
    }

    /// The document with the `fresh` sections, given as title and text. The other sections come
    /// from `old`, the previous document.
    pub(crate) fn document(&self, old: &str, fresh: &[(&str, String)]) -> String {
        let head: String = self.head.iter().map(|text| paragraph(text)).collect();
        let mut document = format!("# {}\n\n{}\n", self.title, head.trim_end());
        for title in self.sections {
            let fresh = fresh.iter().find(|(known, _)| known == title);
            let fresh = fresh.map(|(_, text)| text.as_str());
            if let Some(text) = fresh.or_else(|| section_of(old, title)) {
                let _ = write!(document, "\n## {title}\n\n{}\n", text.trim());
            }
        }
        document
    }
}

/// Writes a file and reports its path.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| path.display().to_string())?;
    println!("wrote {}", path.display());
    Ok(())
}

/// The text of a section without its title.
fn section_of<'a>(document: &'a str, title: &str) -> Option<&'a str> {
    let (_, after) = document.split_once(&format!("\n## {title}\n"))?;
    Some(after.split("\n## ").next().expect("a split has a first part"))
}

/// Wraps `text` into lines, followed by a blank line. Whitespace between words is normalized.
pub(crate) fn paragraph(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line from the start");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= COLUMNS {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join("\n") + "\n\n"
}

/// Escapes `text` for a table cell: no line breaks and no bare bars.
pub(crate) fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// A fenced block of shell commands.
pub(crate) fn commands(lines: &[String]) -> String {
    format!("```sh\n{}\n```\n", lines.join("\n"))
}

/// Describes the machine in one line, from the output of `ioassay host`.
pub(crate) fn describe(facts: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
    let (host, storage) = (&facts["host"], &facts["storage"]);
    let gib = host["memory"].as_f64().unwrap_or_default() / f64::from(1 << 30);
    let mut line = format!(
        "{}, {} cores, {gib:.0} GiB of memory, {}",
        text(&host["cpu"]),
        host["cores"],
        text(&host["os"])
    );
    if let Some(hypervisor) = host["hypervisor"].as_str() {
        let _ = write!(line, ", virtual ({hypervisor})");
    }
    let _ = write!(line, "; {}", text(&storage["file_system"]));
    for device in storage["devices"].as_array().into_iter().flatten() {
        let _ = write!(line, " on {}", text(&device["name"]));
        if let Some(model) = device["model"].as_str() {
            let _ = write!(line, " ({model})");
        } else if device["is_virtual"] == Value::Bool(true) {
            line += " (a virtual disk)";
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_that_of_its_title() {
        let outline = Outline { title: "T", head: &["head"], sections: &["A", "B"] };
        let old = "# T\n\nhead\n\n## A\n\na\n\n### more\n\n## B\n\nb\n";
        assert_eq!(outline.document(old, &[]), old);
        let new = outline.document(old, &[("A", "new\n\n".to_owned())]);
        assert_eq!(new, "# T\n\nhead\n\n## A\n\nnew\n\n## B\n\nb\n");
        assert_eq!(outline.document("", &[]), "# T\n\nhead\n");
    }

    #[test]
    fn a_paragraph_is_broken_between_words() {
        let text = paragraph(&format!("{} {}\n  b", "a ".repeat(49), "é".repeat(3)));
        assert_eq!(text, format!("{}\n{} b\n\n", "a ".repeat(49).trim(), "é".repeat(3)));
        assert_eq!(paragraph("short"), "short\n\n");
    }

    #[test]
    fn a_cell_is_one_line() {
        assert_eq!(cell("a|b\nc"), "a\\|b c");
    }
}
