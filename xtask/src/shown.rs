//! What documents show of records: a block of text below a line that names its record is what
//! `ioassay report` says of it.

use crate::programs;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The documents that show records, in the folder of the workspace.
const DOCUMENTS: [&str; 2] = ["README.md", "docs/tutorial.md"];

/// What begins the line that names a record.
const MARK: &str = "<!-- records/";

/// Writes what the documents at `root` show anew.
///
/// # Errors
/// When a record that they name cannot be read, or a block is missing.
pub(crate) fn run(root: &Path) -> Result<()> {
    println!("building");
    let program = programs::build(root, &["--package=ioassay", "--bin=ioassay"])?;
    let report = |record: &str| {
        let mut command = Command::new(&program);
        command.arg("report").arg(root.join("records").join(record));
        programs::read(command, 0..=1)
    };
    for name in DOCUMENTS {
        let path = root.join(name);
        let old = fs::read_to_string(&path).context(name)?;
        fs::write(&path, with_blocks(&old, &report).context(name)?)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// `document` with the block of each record that it names replaced by what `report` says of that.
fn with_blocks(document: &str, report: &dyn Fn(&str) -> Result<String>) -> Result<String> {
    let (before, rest) = document.split_once(MARK).context("it shows no record")?;
    let mut new = before.to_owned();
    for part in rest.split(MARK) {
        let no_block = || format!("no block of text is below '{MARK}{}'", first_line(part));
        let (name, rest) = part.split_once(" -->\n```text\n").with_context(no_block)?;
        let (_, after) = rest.split_once("\n```\n").with_context(no_block)?;
        let text = report(name)?;
        new += &format!("{MARK}{name} -->\n```text\n{}\n```\n{after}", text.trim_end());
    }
    Ok(new)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_is_what_is_said_of_its_record() {
        let report = |record: &str| Ok(format!("of {record}\n\n"));
        let document = "a\n<!-- records/x -->\n```text\nold\n```\nb\n<!-- records/y -->\n\
                        ```text\nolder\nstill\n```\nc ``` d\n";
        let new = with_blocks(document, &report).expect("it is whole");
        let expected = "a\n<!-- records/x -->\n```text\nof x\n```\nb\n<!-- records/y -->\n\
                        ```text\nof y\n```\nc ``` d\n";
        assert_eq!(new, expected);
        for broken in ["a", "<!-- records/x -->\n", "<!-- records/x -->\n```text\nold\n"] {
            assert!(with_blocks(broken, &report).is_err(), "{broken}");
        }
    }
}
