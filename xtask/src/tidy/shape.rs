//! Limits on lines, functions and files, and rules on whitespace.

use super::rust::{Rust, is_test_file};
use super::source::{FILE_BYTES_MAX, Violation, WorkspaceFile};

/// Maximum line width, as in rustfmt, which cannot break comments and literals.
const LINE_COLUMNS_MAX: usize = 100;

/// Maximum lines in a file, without its tests.
const FILE_LINES_MAX: usize = 400;

/// Maximum lines in a function, from `fn` to its closing brace: what fits on a screen.
const FUNCTION_LINES_MAX: usize = 70;

/// Files are not too large and end with a newline; lines have no trailing spaces.
///
/// Snapshots hold output verbatim, so they may have trailing spaces.
pub(super) fn check_bytes(source: &WorkspaceFile) -> Vec<Violation> {
    let WorkspaceFile { path, bytes, text } = source;
    let mut violations = Vec::new();
    if *bytes > FILE_BYTES_MAX {
        let text = format!("{bytes} bytes, more than {FILE_BYTES_MAX}: keep it elsewhere");
        violations.push(Violation::in_file(path, text));
    }
    if !text.is_empty() && !text.ends_with('\n') {
        let last = text.lines().count();
        violations.push(Violation::at(path, last, "no newline at the end: add it"));
    }
    if path.ends_with(".snap") {
        return violations;
    }
    for (i, line) in text.lines().enumerate() {
        if line.ends_with([' ', '\t', '\r']) {
            violations.push(Violation::at(path, i + 1, "a trailing space: remove it"));
        }
        if path.ends_with(".rs") && line.contains('\t') {
            violations.push(Violation::at(path, i + 1, "a tab: write spaces, or \\t"));
        }
    }
    violations
}

/// Lines are not too long, except because of an address.
pub(super) fn check_lines(rust: &Rust<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (i, line) in rust.lines.iter().enumerate() {
        let columns = line.chars().count();
        if columns > LINE_COLUMNS_MAX && !line.contains("://") {
            let text = format!("{columns} columns: break the line at {LINE_COLUMNS_MAX}");
            violations.push(Violation::at(rust.path, i + 1, text));
        }
    }
    violations
}

/// Files are not too long without their tests.
pub(super) fn check_file(rust: &Rust<'_>) -> Vec<Violation> {
    let lines = rust.untested(&rust.lines).count();
    if lines <= FILE_LINES_MAX || is_test_file(rust.path) {
        return Vec::new();
    }
    let text = format!(
        "{lines} lines without tests, more than {FILE_LINES_MAX}: it has two subjects, split it"
    );
    vec![Violation::in_file(rust.path, text)]
}

/// Functions are not too long. Tests may be, because they are lists of cases.
pub(super) fn check_functions(rust: &Rust<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (number, line) in rust.untested(&rust.code) {
        let Some(name) = function(line) else { continue };
        let lines = function_lines(&rust.code[number - 1..]);
        if lines > FUNCTION_LINES_MAX {
            let text = format!(
                "`{name}` has {lines} lines, more than {FUNCTION_LINES_MAX}: extract a named part"
            );
            violations.push(Violation::at(rust.path, number, text));
        }
    }
    violations
}

/// The name of the function that starts on this line.
fn function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let qualifiers = ["pub", "const", "async", "unsafe", "extern", "crate", "super", ""];
    let begins =
        before.split(|c: char| !c.is_alphanumeric()).all(|word| qualifiers.contains(&word));
    let name = after.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (begins && !name.is_empty()).then_some(name)
}

/// The length of the function that starts on the first line of `code`, by indentation.
fn function_lines(code: &[String]) -> usize {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let own = indentation(&code[0]);
    let is_last = |line: &&String| {
        let line = line.as_str();
        indentation(line) == own && line.trim_end().ends_with(['}', ';']) && !line.trim().is_empty()
    };
    code.iter().position(|line| is_last(&line)).map_or(1, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(violations: &[Violation], expected: &[&str]) {
        let told: Vec<_> = violations.iter().map(Violation::to_string).collect();
        assert_eq!(told, expected);
    }

    fn source(path: &str, text: &str) -> WorkspaceFile {
        WorkspaceFile { path: path.to_owned(), bytes: text.len() as u64, text: text.to_owned() }
    }

    #[test]
    fn files_end_with_a_newline_and_lines_without_blanks() {
        check(
            &check_bytes(&source("a.md", "a \nb\n\nc")),
            &["a.md:4: no newline at the end: add it", "a.md:1: a trailing space: remove it"],
        );
        check(&check_bytes(&source("a.md", "a\n\n\tb\n")), &[]);
        check(&check_bytes(&source("a.snap", "a \n")), &[]);
        check(&check_bytes(&source("a.rs", "\tb\n")), &["a.rs:1: a tab: write spaces, or \\t"]);
    }

    #[test]
    fn files_are_small() {
        let file = |bytes| WorkspaceFile { path: "a.png".to_owned(), bytes, text: String::new() };
        let told = "a.png:1: 1048577 bytes, more than 1048576: keep it elsewhere";
        check(&check_bytes(&file(FILE_BYTES_MAX + 1)), &[told]);
        check(&check_bytes(&file(FILE_BYTES_MAX)), &[]);
    }

    #[test]
    fn lines_have_a_hundred_columns() {
        let at = |columns: usize| format!("// {}", "ä".repeat(columns - 3));
        let told = "a.rs:1: 101 columns: break the line at 100";
        check(&check_lines(&Rust::new("a.rs", &at(101))), &[told]);
        check(&check_lines(&Rust::new("a.rs", &at(100))), &[]);
        let address = format!("// https://{}", "a".repeat(100));
        check(&check_lines(&Rust::new("a.rs", &address)), &[]);
    }

    #[test]
    fn files_have_four_hundred_lines_without_tests() {
        let code = "//\n".repeat(400);
        let tests = format!("{code}#[cfg(test)]\nmod tests {{\n{code}}}\n");
        check(&check_file(&Rust::new("a.rs", &tests)), &[]);
        let long = format!("//\n{code}");
        let told = "a.rs:1: 401 lines without tests, more than 400: it has two subjects, split it";
        check(&check_file(&Rust::new("a.rs", &long)), &[told]);
        check(&check_file(&Rust::new("crates/a/src/tests.rs", &long)), &[]);
    }

    /// An impl with a function of `lines` lines, after a declaration without a body.
    fn functions(lines: usize) -> String {
        let body = "        g();\n".repeat(lines - 5);
        let head = "    pub(crate) const fn long(\n        a: u8,\n    ) -> u8 {\n";
        format!("impl A {{\n    fn none(a: u8);\n\n{head}{body}        {{}}\n    }}\n}}\n")
    }

    #[test]
    fn functions_have_seventy_lines() {
        let told = "a.rs:4: `long` has 71 lines, more than 70: extract a named part";
        check(&check_functions(&Rust::new("a.rs", &functions(71))), &[told]);
        check(&check_functions(&Rust::new("a.rs", &functions(70))), &[]);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", functions(71));
        check(&check_functions(&Rust::new("a.rs", &tests)), &[]);
    }

    #[test]
    fn types_of_functions_are_no_functions() {
        assert_eq!(function("    select: fn() -> Run,"), None);
        assert_eq!(function("    unsafe extern \"\" fn f() {"), Some("f"));
        assert_eq!(function("type F = fn (u8);"), None);
    }
}
