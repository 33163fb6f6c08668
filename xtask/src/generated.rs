//! Parts of a document that a command writes, between two lines that name it.

use anyhow::{Context, Result};

/// `document` with what stands between `<!-- NAME -->` and `<!-- end NAME -->` replaced by `text`.
///
/// # Errors
/// When one of the two lines is missing.
pub(crate) fn replace(document: &str, name: &str, text: &str) -> Result<String> {
    let (before, after) = parts(document, name)?;
    Ok(format!("{before}\n{}\n\n{after}", text.trim()))
}

/// What is before such a part, its first line included, and what is after it.
fn parts<'a>(document: &'a str, name: &str) -> Result<(&'a str, &'a str)> {
    let lines = [format!("<!-- {name} -->\n"), format!("<!-- end {name} -->\n")];
    let [first, last] = lines.each_ref().map(|line| {
        document.find(line).with_context(|| format!("the document has no line '{}'", line.trim()))
    });
    let (first, last) = (first? + lines[0].len(), last?);
    Ok((&document[..first], document.get(last..).expect("it was found there")))
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
        assert!(replace(document, "y", "new").is_err());
    }
}
