//! Generated parts of a document: the text between `<!-- NAME -->` and `<!-- end NAME -->`.

use crate::document::{self, Purpose};
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Replaces the part `name` by `text` in the document at `path`.
///
/// # Errors
/// If either marker is missing.
pub(crate) fn put(path: &Path, name: &str, text: &str, purpose: Purpose) -> Result<()> {
    let old = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    document::put(path, &replace(&old, name, text)?, purpose)
}

fn replace(document: &str, name: &str, text: &str) -> Result<String> {
    let Split { before, after, .. } = split(document, name)?;
    Ok(format!("{before}\n{}\n\n{after}", text.trim()))
}

/// The part `name` without its markers.
///
/// # Errors
/// If either marker is missing.
pub(crate) fn part<'a>(document: &'a str, name: &str) -> Result<&'a str> {
    Ok(split(document, name)?.part)
}

/// A document in three pieces; the markers are outside `part`.
struct Split<'a> {
    before: &'a str,
    part: &'a str,
    after: &'a str,
}

fn split<'a>(document: &'a str, name: &str) -> Result<Split<'a>> {
    let lines = [format!("<!-- {name} -->\n"), format!("<!-- end {name} -->\n")];
    let find = |text: &str, line: &str| {
        text.find(line).with_context(|| format!("the document has no line '{}'", line.trim()))
    };
    let (before, rest) = document.split_at(find(document, &lines[0])? + lines[0].len());
    let (part, after) = rest.split_at(find(rest, &lines[1])?);
    Ok(Split { before, part, after })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_lines_is_written_anew() {
        let document = "a\n<!-- x -->\n\nold\n\n<!-- end x -->\nb\n";
        let new = replace(document, "x", "new\n\n").expect("it has both lines");
        assert_eq!(new, "a\n<!-- x -->\n\nnew\n\n<!-- end x -->\nb\n");
        assert_eq!(replace(&new, "x", "new").expect("it has both lines"), new);
        assert_eq!(part(document, "x").expect("it has both lines"), "\nold\n\n");
        assert!(replace(document, "y", "new").is_err());
        assert!(part("<!-- end x -->\n<!-- x -->\n", "x").is_err());
    }
}
