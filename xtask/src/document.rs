//! Documents that commands write: a section at a time, in Markdown.

use crate::json::list;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fmt::Write;
use std::fs;

/// Line width of paragraphs.
const COLUMNS: usize = 100;

/// What to do with the new text of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Write it.
    Write,
    /// Nothing: that it can be made is all that matters.
    Try,
    /// Fail if the document has another one.
    Compare,
}

/// A part of a document, by what encloses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The section of this title.
    Section(&'static str),
    /// What is between `<!-- NAME -->` and `<!-- end NAME -->`.
    Marked(&'static str),
}

impl Part {
    /// What precedes this part of `document`, the part itself, and what follows it.
    fn split(self, document: &str) -> Result<[&str; 3]> {
        let (start, end) = match self {
            Part::Section(title) => (format!("\n## {title}\n"), "\n## ".to_owned()),
            Part::Marked(name) => {
                (format!("<!-- {name} -->\n"), format!("\n<!-- end {name} -->\n"))
            }
        };
        let lacks = |line: &str| format!("the document has no line '{}'", line.trim());
        let found = document.find(&start).with_context(|| lacks(&start))?;
        let (before, after) = document.split_at(found + start.len());
        // Nothing need follow the last section.
        let last = matches!(self, Part::Section(_)).then_some(after.len());
        let (part, rest) = after.split_at(after.find(&end).or(last).with_context(|| lacks(&end))?);
        Ok([before, part, rest])
    }

    /// This part of `document`.
    ///
    /// # Errors
    /// If the document lacks it.
    pub(crate) fn of(self, document: &str) -> Result<&str> {
        let [_, part, _] = self.split(document)?;
        Ok(part)
    }

    /// `document` with `text` in this part.
    fn replaced(self, document: &str, text: &str) -> Result<String> {
        let [before, _, rest] = self.split(document)?;
        Ok(format!("{before}\n{}\n{rest}", text.trim()))
    }
}

/// The document at `path`, relative to the workspace.
pub(crate) fn read(path: &str) -> Result<String> {
    fs::read_to_string(crate::root().join(path)).with_context(|| path.to_owned())
}

/// Replaces parts of the document at `path`, relative to the workspace, by their new texts.
///
/// # Errors
/// If the document lacks one of them.
pub(crate) fn rewrite(path: &str, parts: &[(Part, String)], purpose: Purpose) -> Result<()> {
    let mut document = read(path)?;
    for (part, text) in parts {
        document = part.replaced(&document, text)?;
    }
    put(path, &document, purpose)
}

/// Does with the new text of the file at `path`, relative to the workspace, what it is for, and
/// reports what that was.
///
/// # Errors
/// If it cannot be written, or is to be compared and differs.
pub(crate) fn put(path: &str, text: &str, purpose: Purpose) -> Result<()> {
    match purpose {
        Purpose::Write => {
            fs::write(crate::root().join(path), text).with_context(|| path.to_owned())?;
            println!("wrote {path}");
        }
        Purpose::Try => println!("did not write {path}"),
        Purpose::Compare => {
            ensure!(read(path)? == text, "{path} differs from what its command writes today");
            println!("{path} is up to date");
        }
    }
    Ok(())
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

/// A table: its first line, and its rows.
pub(crate) fn table(head: &str, rows: impl IntoIterator<Item = String>) -> String {
    let rule = "|---".repeat(head.matches('|').count() - 1);
    let rows: String = rows.into_iter().map(|row| row + "\n").collect();
    format!("{head}\n{rule}|\n{rows}")
}

/// A fenced block of shell commands.
pub(crate) fn commands(lines: &[String]) -> String {
    format!("```sh\n{}\n```\n", lines.join("\n"))
}

/// Describes the machine in one line, from the output of `ioassay host`.
pub(crate) fn describe(facts: &Value) -> String {
    let host = &facts["host"];
    let gib = host["memory"].as_f64().unwrap_or_default() / f64::from(1 << 30);
    let (cpu, os) = (known(&host["cpu"]), known(&host["os"]));
    let hypervisor = host["hypervisor"].as_str();
    let hypervisor = hypervisor.map(|name| format!(", virtual ({name})")).unwrap_or_default();
    let (cores, storage) = (&host["cores"], describe_storage(facts));
    format!("{cpu}, {cores} cores, {gib:.0} GiB of memory, {os}{hypervisor}; {storage}")
}

/// Describes the storage in one line, from the same.
pub(crate) fn describe_storage(facts: &Value) -> String {
    let mut line = known(&facts["storage"]["file_system"]).to_owned();
    for device in list(&facts["storage"]["devices"]) {
        let _ = write!(line, " on {}", known(&device["name"]));
        if let Some(model) = device["model"].as_str() {
            let _ = write!(line, " ({model})");
        } else if device["is_virtual"] == Value::Bool(true) {
            line += " (a virtual disk)";
        }
    }
    line
}

fn known(value: &Value) -> &str {
    value.as_str().unwrap_or("unknown")
}

#[cfg(test)]
pub(crate) use tests::{part, rows};

#[cfg(test)]
mod tests {
    use super::*;

    /// A part of the document at `path`, relative to the workspace.
    #[track_caller]
    pub(crate) fn part(path: &str, part: Part) -> String {
        part.of(&read(path).expect("it is ours")).expect("it has the part").to_owned()
    }

    /// The first cell of each row of the tables in `text`.
    pub(crate) fn rows(text: &str) -> Vec<&str> {
        let lines: Vec<&str> = text.lines().collect();
        let is_rule = |line: &str| line.starts_with("|---");
        let is_head = |at: usize| lines.get(at + 1).is_some_and(|next| is_rule(next));
        let rows = lines.iter().enumerate().filter(|(at, line)| !is_head(*at) && !is_rule(line));
        rows.filter_map(|(_, line)| line.strip_prefix("| ")?.split(" | ").next()).collect()
    }

    #[test]
    fn a_table_has_a_rule_below_its_head() {
        let rows = ["| 1 | 2 |", "| 3 | 4 |"].map(str::to_owned);
        assert_eq!(table("| a | |", rows), "| a | |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n");
    }

    #[test]
    fn a_row_is_known_by_its_first_cell() {
        let table = "text\n\n| a | b |\n|---|---|\n| c d | e |\n| f | |\n\n| g |\n";
        assert_eq!(rows(table), ["c d", "f", "g |"]);
    }

    #[test]
    fn a_text_is_written_or_compared_or_only_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.md").display().to_string();
        fs::write(&path, "old").expect("it is a new file");
        put(&path, "new", Purpose::Try).expect("nothing can go wrong");
        put(&path, "old", Purpose::Compare).expect("it is the same");
        assert!(put(&path, "new", Purpose::Compare).is_err());
        put(&path, "new", Purpose::Write).expect("it can be written");
        assert_eq!(read(&path).expect("it is there"), "new");
    }

    #[test]
    fn a_section_is_that_of_its_title() {
        let old = "# T\n\nhead\n\n## A\n\na\n\n### more\n\n## B\n\nb\n";
        let check = |title, text, expected| {
            assert_eq!(Part::Section(title).replaced(old, text).expect("it is there"), expected);
        };
        check("A", "a\n\n### more\n\n", old);
        check("A", "new\n\n", "# T\n\nhead\n\n## A\n\nnew\n\n## B\n\nb\n");
        check("B", "new", "# T\n\nhead\n\n## A\n\na\n\n### more\n\n## B\n\nnew\n");
        assert!(Part::Section("C").replaced(old, "").is_err());
    }

    #[test]
    fn only_what_is_between_the_marks_is_written_anew() {
        let (x, document) = (Part::Marked("x"), "a\n<!-- x -->\n\nold\n\n<!-- end x -->\nb\n");
        let new = x.replaced(document, "new\n\n").expect("it has both lines");
        assert_eq!(new, "a\n<!-- x -->\n\nnew\n\n<!-- end x -->\nb\n");
        assert_eq!(x.replaced(&new, "new").expect("it has both lines"), new);
        assert_eq!(x.of(document).expect("it has both lines"), "\nold\n");
        assert!(Part::Marked("y").replaced(document, "new").is_err());
        assert!(x.of("<!-- end x -->\n<!-- x -->\n").is_err());
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
