//! Rust source as seen by the checks.
//!
//! There is no parser: rustfmt formats the tree, so indentation shows the structure. The checks
//! only need to distinguish code from comments and literals.

use proc_macro2::{TokenStream, TokenTree};
use std::ops::Range;
use std::str::FromStr;

/// A Rust source file: three views of its text with the same lines.
#[derive(Debug)]
pub(crate) struct Rust<'a> {
    /// Path from the root of the workspace.
    pub(crate) path: &'a str,
    /// The original lines.
    pub(crate) lines: Vec<&'a str>,
    /// Without the content of literals.
    pub(crate) prose: Vec<String>,
    /// Without the content of literals and comments.
    pub(crate) code: Vec<String>,
    /// Whether each line is part of a test.
    pub(crate) tested: Vec<bool>,
}

impl<'a> Rust<'a> {
    /// Parses `text`, the content of the file at `path`.
    pub(crate) fn new(path: &'a str, text: &'a str) -> Rust<'a> {
        let (prose, code) = views(text);
        let code: Vec<String> = code.lines().map(|line| line.trim_end().to_owned()).collect();
        let tested = if is_test_file(path) { vec![true; code.len()] } else { test_lines(&code) };
        Rust {
            path,
            lines: text.lines().collect(),
            prose: prose.lines().map(str::to_owned).collect(),
            code,
            tested,
        }
    }

    /// The lines of `view` that are not part of a test, counted from 1.
    pub(crate) fn untested<'v, S: AsRef<str>>(
        &self,
        view: &'v [S],
    ) -> impl Iterator<Item = (usize, &'v str)> {
        let lines = view.iter().zip(&self.tested).enumerate();
        lines.filter(|(_, (_, tested))| !**tested).map(|(i, (line, _))| (i + 1, line.as_ref()))
    }
}

/// Whether the file contains only tests.
pub(crate) fn is_test_file(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// The words of `line`: maximal runs of letters, digits and `_`.
pub(crate) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Marks inline modules under `#[cfg(test)]` at the outermost level.
fn test_lines(code: &[String]) -> Vec<bool> {
    let mut tested = vec![false; code.len()];
    let mut rest = 0;
    while let Some(start) = (rest..code.len()).find(|&i| code[i] == "#[cfg(test)]") {
        // Further attributes may follow, over several lines.
        let item = (start + 1..code.len()).find(|&i| {
            let begins = code[i].chars().next();
            begins.is_some_and(|c| c.is_alphabetic())
        });
        rest = start + 1;
        let Some(item) = item else { break };
        if words(&code[item]).any(|word| word == "mod") && code[item].ends_with('{') {
            let end = (item..code.len()).find(|&i| code[i] == "}").unwrap_or(code.len() - 1);
            tested[start..=end].fill(true);
            rest = end + 1;
        }
    }
    tested
}

/// The text without the content of literals, and also without comments. What is no Rust has no
/// code: the compiler rejects it.
fn views(text: &str) -> (String, String) {
    let mut tokens = Vec::new();
    flatten(TokenStream::from_str(text).unwrap_or_default(), &mut tokens);
    let (mut prose, mut code) = (String::with_capacity(text.len()), String::new());
    let comment = |text: &str, prose: &mut String, code: &mut String| {
        prose.push_str(text);
        code.extend(text.chars().filter(|c| c.is_whitespace()));
    };
    let mut last = 0;
    for (range, is_literal) in tokens {
        // A documentation comment is several tokens in one place.
        let Some(before) = text.get(last..range.start) else { continue };
        comment(before, &mut prose, &mut code);
        last = range.end;
        let token = &text[range];
        if token.starts_with("//") || token.starts_with("/*") {
            comment(token, &mut prose, &mut code);
        } else if is_literal && token.contains(['"', '\'']) {
            let literal = format!("\"{}\"", "\n".repeat(token.matches('\n').count()));
            prose += &literal;
            code += &literal;
        } else {
            prose += token;
            code += token;
        }
    }
    comment(&text[last..], &mut prose, &mut code);
    (prose, code)
}

/// Adds the places of all tokens, and whether each is a literal.
fn flatten(tokens: TokenStream, places: &mut Vec<(Range<usize>, bool)>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                places.push((group.span_open().byte_range(), false));
                flatten(group.stream(), places);
                places.push((group.span_close().byte_range(), false));
            }
            token => {
                let is_literal = matches!(token, TokenTree::Literal(_));
                places.push((token.span().byte_range(), is_literal));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, prose: &str, code: &str) {
        let rust = Rust::new("crates/model/src/a.rs", text);
        assert_eq!((rust.prose.join("\n"), rust.code.join("\n")), (prose.into(), code.into()));
    }

    #[test]
    fn comments_and_literals_are_told_from_code() {
        check("a // b\nc", "a // b\nc", "a\nc");
        check("a /* b /* c */ d\n */ e", "a /* b /* c */ d\n */ e", "a\n  e");
        check("/// a \"b\"\nc", "/// a \"b\"\nc", "\nc");
        check(r#"f("a // \" b") // c"#, r#"f("") // c"#, r#"f("")"#);
        check("f(\"a\nb\")", "f(\"\n\")", "f(\"\n\")");
        check("r#\"a \"b\" c\"# + d", "\"\" + d", "\"\" + d");
        check("br\"a\\\" + d", "\"\" + d", "\"\" + d");
        check("'\"' + '\\'' + '{'", "\"\" + \"\" + \"\"", "\"\" + \"\" + \"\"");
        check("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)");
    }

    #[test]
    fn what_is_no_rust_has_no_code() {
        check("a /* b", "a /* b", "");
        check("a \"b", "a \"b", "");
    }

    #[test]
    fn test_modules_are_no_part_of_the_code() {
        let text =
            "a\n#[cfg(test)]\n#[expect(\n    x,\n)]\nmod tests {\n    b\n    \"\n}\n\"\n}\nc\n";
        let rust = Rust::new("crates/model/src/a.rs", text);
        let kept: Vec<_> = rust.untested(&rust.lines).collect();
        assert_eq!(kept, [(1, "a"), (12, "c")]);
    }

    #[test]
    fn a_test_module_in_its_own_file_ends_at_its_declaration() {
        let text = "#[cfg(test)]\nmod tests;\nfn f() {\n}\n";
        let rust = Rust::new("crates/model/src/lib.rs", text);
        assert_eq!(rust.untested(&rust.lines).count(), 4);
        let rust = Rust::new("crates/model/src/tests.rs", text);
        assert_eq!(rust.untested(&rust.lines).count(), 0);
    }
}
