//! Rust source as seen by the checks.
//!
//! There is no parser: rustfmt formats the tree, so indentation shows the structure. The checks
//! only need to distinguish code from comments and literals.

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
        let code: Vec<String> = code.lines().map(str::to_owned).collect();
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

/// The text without the content of literals, and also without comments.
fn views(text: &str) -> (String, String) {
    let mut prose = String::with_capacity(text.len());
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let before = code.chars().next_back();
        let (length, kind) = next_piece(rest, before);
        let (piece, after) = rest.split_at(length);
        match kind {
            Piece::Code => {
                prose.push_str(piece);
                code.push_str(piece);
            }
            Piece::Comment => {
                prose.push_str(piece);
                code.extend(piece.chars().filter(|c| *c == '\n'));
            }
            Piece::Literal => {
                prose.push('"');
                code.push('"');
                prose.extend(piece.chars().filter(|c| *c == '\n'));
                code.extend(piece.chars().filter(|c| *c == '\n'));
                prose.push('"');
                code.push('"');
            }
        }
        rest = after;
    }
    (prose, code)
}

enum Piece {
    Code,
    Comment,
    Literal,
}

/// The length in bytes and the kind of the first piece of `rest`; `before` is the preceding code
/// character.
fn next_piece(rest: &str, before: Option<char>) -> (usize, Piece) {
    let first = rest.chars().next().expect("there is a rest").len_utf8();
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if rest.starts_with("//") {
        (rest.find('\n').unwrap_or(rest.len()), Piece::Comment)
    } else if rest.starts_with("/*") {
        (block_comment(rest), Piece::Comment)
    } else if rest.starts_with('"') {
        (quoted(rest, '"'), Piece::Literal)
    } else if let Some(length) = raw_string(rest).filter(|_| !in_word) {
        (length, Piece::Literal)
    } else if is_character(rest) {
        (quoted(rest, '\''), Piece::Literal)
    } else {
        (first, Piece::Code)
    }
}

/// The length of a `/* */` comment, which may contain others.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of a literal delimited by `quote`, with `\` as the escape.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a string such as `r#"…"#`, if `rest` starts with one.
fn raw_string(rest: &str) -> Option<usize> {
    let after_r = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let opening = after_r.trim_start_matches('#');
    let hashes = after_r.len() - opening.len();
    let content = opening.strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(hashes));
    let end = content.find(&closing).map_or(content.len(), |at| at + closing.len());
    Some(rest.len() - content.len() + end)
}

/// Whether `rest` starts with a character literal rather than a lifetime.
fn is_character(rest: &str) -> bool {
    let mut chars = rest.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some('\''), Some('\\'), _) => true,
        (Some('\''), Some(_), third) => third == Some('\''),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, prose: &str, code: &str) {
        assert_eq!(views(text), (prose.to_owned(), code.to_owned()), "{text}");
    }

    #[test]
    fn comments_and_literals_are_told_from_code() {
        check("a // b\nc", "a // b\nc", "a \nc");
        check("a /* b /* c */ d\n */ e", "a /* b /* c */ d\n */ e", "a \n e");
        check(r#"f("a // \" b") // c"#, r#"f("") // c"#, r#"f("") "#);
        check("f(\"a\nb\")", "f(\"\n\")", "f(\"\n\")");
        check("r#\"a \"b\" c\"# + d", "\"\" + d", "\"\" + d");
        check("br\"a\\\" + d", "\"\" + d", "\"\" + d");
        check("var\"a\"", "var\"\"", "var\"\"");
        check("'\"' + '\\'' + '{'", "\"\" + \"\" + \"\"", "\"\" + \"\" + \"\"");
        check("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)");
    }

    #[test]
    fn an_open_comment_or_literal_ends_with_the_file() {
        check("a /* b", "a /* b", "a ");
        check("a \"b", "a \"\"", "a \"\"");
        check("a r#\"b", "a \"\"", "a \"\"");
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
