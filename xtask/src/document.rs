//! Documents that commands write: a section at a time, in Markdown.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;

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

/// Replaces the sections of these titles by their new texts in the document at `path`.
///
/// # Errors
/// If the document lacks one of them.
pub(crate) fn rewrite(path: &Path, sections: &[(&str, String)], purpose: Purpose) -> Result<()> {
    let mut document = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    for (title, text) in sections {
        document = with_section(&document, title, text)?;
    }
    put(path, &document, purpose)
}

/// `document` with `text` in the section of this title.
fn with_section(document: &str, title: &str, text: &str) -> Result<String> {
    let [before, _, rest] = split(document, title)?;
    Ok(format!("{before}\n{}\n{rest}", text.trim()))
}

/// What precedes the text of a section, that text, and what follows it.
fn split<'a>(document: &'a str, title: &str) -> Result<[&'a str; 3]> {
    let heading = format!("\n## {title}\n");
    let found = document.find(&heading);
    let found = found.with_context(|| format!("the document has no '## {title}'"))?;
    let (before, after) = document.split_at(found + heading.len());
    let (text, rest) = after.split_at(after.find("\n## ").unwrap_or(after.len()));
    Ok([before, text, rest])
}

/// Does with the new text of the file at `path` what it is for, and reports what that was.
///
/// # Errors
/// If it cannot be written, or is to be compared and differs.
pub(crate) fn put(path: &Path, text: &str, purpose: Purpose) -> Result<()> {
    let shown = path.display();
    match purpose {
        Purpose::Write => {
            fs::write(path, text).with_context(|| shown.to_string())?;
            println!("wrote {shown}");
        }
        Purpose::Try => println!("did not write {shown}"),
        Purpose::Compare => {
            let old = fs::read_to_string(path).with_context(|| shown.to_string())?;
            ensure!(old == text, "{shown} differs from what its command writes today");
            println!("{shown} is up to date");
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
pub(crate) use tests::{check_sections, rows, section};

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the document at `path`, relative to the workspace, has these sections.
    #[track_caller]
    pub(crate) fn check_sections(path: &str, titles: &[&str]) {
        let document = fs::read_to_string(crate::root().join(path)).expect("it is ours");
        for title in titles {
            assert!(with_section(&document, title, "").is_ok(), "{path}: {title}");
        }
    }

    /// The text of a section of the document at `path`, relative to the workspace.
    #[track_caller]
    pub(crate) fn section(path: &str, title: &str) -> String {
        let document = fs::read_to_string(crate::root().join(path)).expect("it is ours");
        let [_, text, _] = split(&document, title).expect("it has the section");
        text.to_owned()
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
    fn a_row_is_known_by_its_first_cell() {
        let table = "text\n\n| a | b |\n|---|---|\n| c d | e |\n| f | |\n\n| g |\n";
        assert_eq!(rows(table), ["c d", "f", "g |"]);
    }

    #[test]
    fn a_text_is_written_or_compared_or_only_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.md");
        fs::write(&path, "old").expect("it is a new file");
        put(&path, "new", Purpose::Try).expect("nothing can go wrong");
        put(&path, "old", Purpose::Compare).expect("it is the same");
        assert!(put(&path, "new", Purpose::Compare).is_err());
        put(&path, "new", Purpose::Write).expect("it can be written");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "new");
    }

    #[test]
    fn a_section_is_that_of_its_title() {
        let old = "# T\n\nhead\n\n## A\n\na\n\n### more\n\n## B\n\nb\n";
        let check = |title, text, expected| {
            assert_eq!(with_section(old, title, text).expect("it is there"), expected);
        };
        check("A", "a\n\n### more\n\n", old);
        check("A", "new\n\n", "# T\n\nhead\n\n## A\n\nnew\n\n## B\n\nb\n");
        check("B", "new", "# T\n\nhead\n\n## A\n\na\n\n### more\n\n## B\n\nnew\n");
        assert!(with_section(old, "C", "").is_err());
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
