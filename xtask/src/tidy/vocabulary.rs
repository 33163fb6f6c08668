//! Forbidden words and names.

use super::rust::{Rust, words};
use super::source::Violation;

/// Markers of unfinished work, in code or comments.
const UNFINISHED: [&str; 3] = ["FIXME", "TODO", "XXX"];

/// Macros for unfinished work.
const UNFINISHED_MACROS: [&str; 3] = ["dbg!", "todo!", "unimplemented!"];

/// Module names that do not describe their content.
const EMPTY_NAMES: [&str; 7] = ["util", "utils", "common", "helper", "helpers", "misc", "prelude"];

/// Languages that a peer may be written in.
const PEER_LANGUAGES: [&str; 2] = ["java", "python"];

/// The source contains no unfinished work.
pub(super) fn check_unfinished(rust: &Rust<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (i, (prose, code)) in rust.prose.iter().zip(&rust.code).enumerate() {
        let marks = UNFINISHED.iter().filter(|mark| words(prose).any(|word| word == **mark));
        let macros = UNFINISHED_MACROS.iter().filter(|name| calls(code, name));
        for found in marks.chain(macros) {
            let text = format!("{found}: do it now, or describe it as a limit");
            violations.push(Violation::at(rust.path, i + 1, text));
        }
    }
    violations
}

/// Whether `code` calls the macro `name`, which ends with `!`.
fn calls(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
    })
}

/// No module has an empty name.
pub(super) fn check_name(path: &str) -> Vec<Violation> {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    let empty = stem.split('/').find(|name| EMPTY_NAMES.contains(name));
    let text = |name| format!("module `{name}`: name it by its subject");
    empty.map(|name| Violation::in_file(path, text(name))).into_iter().collect()
}

/// Code that runs peers does not name their language: a peer is a program that speaks the protocol.
pub(super) fn check_languages(rust: &Rust<'_>) -> Vec<Violation> {
    if !rust.path.starts_with("crates/") {
        return Vec::new();
    }
    let mut violations = Vec::new();
    for (number, line) in rust.untested(&rust.lines) {
        let is_language = |word: &&str| PEER_LANGUAGES.contains(&word.to_lowercase().as_str());
        if let Some(language) = words(line).find(is_language) {
            let text =
                format!("`{language}`: this code must not depend on a peer's language: say peer");
            violations.push(Violation::at(rust.path, number, text));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(violations: &[Violation], lines: &[&str]) {
        let told: Vec<_> = violations.iter().map(Violation::to_string).collect();
        let as_expected = told.iter().zip(lines).all(|(told, start)| told.starts_with(start));
        assert!(told.len() == lines.len() && as_expected, "{told:#?}, not {lines:#?}");
    }

    #[test]
    fn nothing_is_left_for_later() {
        let text = "// TODO: more\nfn f() {\n    dbg!(1); // FIXME\n    todo!()\n}\n";
        let expected = ["a.rs:1: TODO", "a.rs:3: FIXME", "a.rs:3: dbg!", "a.rs:4: todo!"];
        check(&check_unfinished(&Rust::new("a.rs", text)), &expected);
        let text = "// TODOs, dbg!\nf(\"XXX\");\nmy_todo!();\nlet path = \"fooXXXXXX\";\n";
        check(&check_unfinished(&Rust::new("a.rs", text)), &[]);
    }

    #[test]
    fn modules_are_named_by_their_subject() {
        check(&check_name("crates/model/src/util.rs"), &["crates/model/src/util.rs:1: "]);
        check(&check_name("crates/a/common/mod.rs"), &["crates/a/common/mod.rs:1: "]);
        check(&check_name("crates/model/src/utility.rs"), &[]);
    }

    #[test]
    fn no_language_of_a_peer_is_named() {
        let text = "// Like Java.\nf(\"python\");\n";
        let path = "crates/model/src/a.rs";
        let expected = ["crates/model/src/a.rs:1: ", "crates/model/src/a.rs:2: "];
        check(&check_languages(&Rust::new(path, text)), &expected);
        check(&check_languages(&Rust::new("xtask/src/a.rs", text)), &[]);
        let text = "// javascript, Rust\n#[cfg(test)]\nmod tests {\n    // Java\n}\n";
        check(&check_languages(&Rust::new(path, text)), &[]);
    }
}
