//! Documents that commands write: a section at a time, in Markdown.

use anyhow::{Context, Result};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Line width of paragraphs.
const COLUMNS: usize = 100;

/// Rewrites the sections of these titles, with their new texts, in the document at `path`.
///
/// # Errors
/// If the document lacks one of them.
pub(crate) fn rewrite(path: &Path, sections: &[(&str, String)]) -> Result<()> {
    let mut document = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    for (title, text) in sections {
        document = with_section(&document, title, text)?;
    }
    write(path, &document)
}

/// `document` with `text` in the section of this title.
fn with_section(document: &str, title: &str, text: &str) -> Result<String> {
    let heading = format!("\n## {title}\n");
    let found = document.split_once(&heading);
    let (before, after) = found.with_context(|| format!("the document has no '## {title}'"))?;
    let rest = after.find("\n## ").map_or("", |next| &after[next..]);
    Ok(format!("{before}{heading}\n{}\n{rest}", text.trim()))
}

/// Writes a file and reports its path.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| path.display().to_string())?;
    println!("wrote {}", path.display());
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
pub(crate) use tests::check_sections;

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
