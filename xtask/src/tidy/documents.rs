//! Checks of documents, and of files that must agree with them.

use super::source::{Violation, WorkspaceFile};
use std::collections::BTreeMap;

/// The pages whose sections define the findings.
const DEFINITIONS: &str = "docs/method/findings/";
const FINDINGS: &str = "crates/assess/src/finding.rs";
const README: &str = "README.md";
const CI: &str = ".ci/run";

/// The command that CI runs and the README shows.
const TEST_COMMAND: &str = "cargo xtask test";

/// A document has exactly one title.
pub(super) fn check_title(path: &str, text: &str) -> Vec<Violation> {
    let titles: Vec<usize> =
        prose(text).filter(|(_, line)| line.starts_with("# ")).map(|(number, _)| number).collect();
    match titles[..] {
        [_] => Vec::new(),
        [] => vec![Violation::in_file(path, "no title: add one line that begins with `# `")],
        [_, ref more @ ..] => {
            let text = "a second title: make it a section, `## `";
            more.iter().map(|number| Violation::at(path, *number, text)).collect()
        }
    }
}

/// Links to files must resolve; `exists` takes a path relative to the workspace.
pub(super) fn check_links(path: &str, text: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (number, line) in prose(text) {
        // Text in backquotes contains no links.
        let outside: String = line.split('`').step_by(2).collect();
        for (_, after) in outside.match_indices("](").map(|(at, _)| outside.split_at(at + 2)) {
            let target = after.split([')', ' ']).next().expect("a split has a first part");
            let file = target.split('#').next().expect("a split has a first part");
            if file.is_empty() || file.contains("://") || file.starts_with("mailto:") {
                continue;
            }
            let resolved = resolve(path, file);
            if !resolved.as_deref().is_some_and(exists) {
                let text = format!("the link to `{file}` leads nowhere: correct its path");
                violations.push(Violation::at(path, number, text));
            }
        }
    }
    violations
}

/// The lines outside fenced blocks, counted from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(i, line)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (!fenced && !is_fence).then_some((i + 1, line))
    })
}

/// The destination of link `target` in the file at `path`; `None` if it is outside the workspace.
fn resolve(path: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Every finding has one section, `## Code`, in the pages of findings, and every section there has
/// a finding.
pub(super) fn check_findings(sources: &BTreeMap<&str, &WorkspaceFile>) -> Vec<Violation> {
    let Some(findings) = sources.get(FINDINGS) else {
        return vec![Violation::in_file(FINDINGS, "missing: it names the findings")];
    };
    let codes = codes(&findings.text);
    let pages = sources.iter().filter(|(path, _)| path.starts_with(DEFINITIONS));
    let sections: Vec<(&str, usize, &str)> = pages
        .flat_map(|(path, page)| {
            sections(&page.text).map(move |(number, section)| (*path, number, section))
        })
        .collect();
    let mut violations = Vec::new();
    if codes.is_empty() {
        let text = "no codes found: list them in a block `named! { Code \"finding\" { … } }`";
        violations.push(Violation::in_file(FINDINGS, text));
    }
    for (number, code) in &codes {
        let count = sections.iter().filter(|(_, _, section)| section == code).count();
        if count != 1 {
            let text = format!("`{code}` has {count} sections `## {code}` in {DEFINITIONS}, not 1");
            violations.push(Violation::at(FINDINGS, *number, text));
        }
    }
    for (path, number, section) in &sections {
        if !codes.iter().any(|(_, code)| code == section) {
            let text = format!(
                "section `## {section}` matches no finding: correct its name, or remove it \
                 (sections of these pages are for findings)"
            );
            violations.push(Violation::at(path, *number, text));
        }
    }
    violations
}

/// The names in the `named!` block that lists the codes, each with its line.
fn codes(text: &str) -> Vec<(usize, &str)> {
    let lines = text.lines().enumerate().skip_while(|(_, line)| !line.contains("Code \"finding\""));
    let block = lines.skip(1).take_while(|(_, line)| line.trim() != "}");
    let quoted = block.filter(|(_, line)| !line.trim_start().starts_with("//"));
    quoted.filter_map(|(i, line)| Some((i + 1, line.split('"').nth(1)?))).collect()
}

fn sections(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).filter_map(|(i, line)| Some((i, line.strip_prefix("## ")?.trim())))
}

/// CI runs the README's test command and nothing else.
pub(super) fn check_ci(sources: &BTreeMap<&str, &WorkspaceFile>) -> Vec<Violation> {
    let lines = |path| sources.get(path).map_or("", |source| source.text.as_str()).lines();
    let mut violations = Vec::new();
    if !lines(README).any(|line| line.split('#').next().map(str::trim) == Some(TEST_COMMAND)) {
        let text = format!("no line `{TEST_COMMAND}`: tell a reader how to test");
        violations.push(Violation::in_file(README, text));
    }
    let is_command = |line: &&str| !line.starts_with('#') && !line.trim().is_empty();
    let mut commands = lines(CI).filter(is_command).skip_while(|line| {
        let setting = ["set ", "cd "];
        setting.iter().any(|start| line.starts_with(start))
    });
    if commands.next() != Some(TEST_COMMAND) || commands.next().is_some() {
        let text = format!("runs something other than `{TEST_COMMAND}`: put it in that command");
        violations.push(Violation::in_file(CI, text));
    }
    violations
}

/// A snapshot's `source` names the file of an existing test.
pub(super) fn check_snapshot(
    path: &str,
    text: &str,
    exists: &dyn Fn(&str) -> bool,
) -> Vec<Violation> {
    let source = text.lines().find_map(|line| line.strip_prefix("source: "));
    let text = match source {
        Some(source) if exists(source.trim_matches('"')) => return Vec::new(),
        Some(source) => format!("a snapshot of `{source}`, which no longer exists: delete it"),
        None => "a snapshot without a `source`: let insta write it".to_owned(),
    };
    vec![Violation::in_file(path, text)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(violations: &[Violation], starts: &[&str]) {
        let told: Vec<_> = violations.iter().map(Violation::to_string).collect();
        let as_expected = told.iter().zip(starts).all(|(told, start)| told.starts_with(start));
        assert!(told.len() == starts.len() && as_expected, "{told:#?}, not {starts:#?}");
    }

    fn exists(path: &str) -> bool {
        ["README.md", "peers/README.md", "peers"].contains(&path)
    }

    /// Runs a check of several files on `files`, given as paths and texts.
    fn with(
        files: &[(&str, &str)],
        check: fn(&BTreeMap<&str, &WorkspaceFile>) -> Vec<Violation>,
    ) -> Vec<Violation> {
        let source = |(path, text): &(&str, &str)| WorkspaceFile {
            path: (*path).to_owned(),
            bytes: text.len() as u64,
            text: (*text).to_owned(),
        };
        let sources: Vec<WorkspaceFile> = files.iter().map(source).collect();
        check(&sources.iter().map(|source| (source.path.as_str(), source)).collect())
    }

    #[test]
    fn a_document_has_one_title() {
        check(&check_title("a.md", "# A\n\n# B\n"), &["a.md:3: a second"]);
        check(&check_title("a.md", "A\n"), &["a.md:1: no title"]);
        check(&check_title("a.md", "# A\n```sh\n# a comment\n```\n## B\n"), &[]);
    }

    #[test]
    fn links_lead_somewhere() {
        let text = "[a](../README.md#top) [b](./c.md)\n[d](../../README.md)\n";
        let expected = ["peers/README.md:1: the link to `./c.md`", "peers/README.md:2: "];
        check(&check_links("peers/README.md", text, &exists), &expected);
        let text = "[a](peers/) [b](#c) [d](https://e.org/f) `[g](h)`\n```\n[i](j)\n```\n";
        check(&check_links("README.md", text, &exists), &[]);
    }

    const CODES: &str = r#"named! {
    /// What.
    Code "finding" {
        /// "A".
        Ram "Ram",
        Steal "Steal",
    }
}
"#;

    #[test]
    fn every_finding_is_defined_once() {
        let [one, other] = ["a.md", "b.md"].map(|name| [DEFINITIONS, name].concat());
        let (one, other) = ((&*one, "# M\n## Ram\n"), (&*other, "# N\n## Ram\n## Foreign\n"));
        let files = [(FINDINGS, CODES), one, other];
        let expected = [
            "crates/assess/src/finding.rs:5: `Ram` has 2",
            "crates/assess/src/finding.rs:6: `Steal` has 0",
            "docs/method/findings/b.md:3: section `## Foreign`",
        ];
        check(&with(&files, check_findings), &expected);
        let files = [(FINDINGS, CODES), one, (other.0, "# N\n## Steal\n")];
        check(&with(&files, check_findings), &[]);
    }

    #[test]
    fn findings_and_their_definitions_are_there() {
        check(
            &with(&[(README, "# M\n")], check_findings),
            &["crates/assess/src/finding.rs:1: missing: it names"],
        );
        let files = [(FINDINGS, "enum Code {}\n"), (README, "# M\n")];
        check(&with(&files, check_findings), &["crates/assess/src/finding.rs:1: no codes"]);
    }

    #[test]
    fn ci_runs_the_command_of_the_readme() {
        let script = "#!/bin/bash\n# CI.\nset -e\ncd x\n\ncargo xtask test\n";
        let readme = "# A\n```\ncargo xtask test   # all tests\n```\n";
        check(&with(&[(README, readme), (CI, script)], check_ci), &[]);
        let more = format!("{script}rm x\n");
        check(&with(&[(README, readme), (CI, &more)], check_ci), &[".ci/run:1: runs something"]);
        check(&with(&[(README, "# A\n"), (CI, script)], check_ci), &["README.md:1: no line"]);
        check(&with(&[(README, readme)], check_ci), &[".ci/run:1: runs something"]);
    }

    #[test]
    fn a_snapshot_belongs_to_a_test() {
        let text = "---\nsource: peers/README.md\nexpression: x\n---\n";
        check(&check_snapshot("a.snap", text, &exists), &[]);
        let text = "---\nsource: peers/gone.rs\n---\n";
        check(
            &check_snapshot("a.snap", text, &exists),
            &["a.snap:1: a snapshot of `peers/gone.rs`"],
        );
        check(&check_snapshot("a.snap", "---\n---\n", &exists), &["a.snap:1: a snapshot without"]);
    }
}
