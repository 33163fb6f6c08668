//! Checks the rules of docs/style.md that a program can check.
//!
//! Each check is a function of a path and a text. All checks run, and all violations are printed.

mod source;
mod rust;
mod layers;
mod shape;
mod vocabulary;
mod documents;

use anyhow::{Result, ensure};
use rust::Rust;
use source::{Violation, WorkspaceFile};
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::path::Path;

/// Checks the workspace at `root` and prints the violations.
pub(crate) fn run(root: &Path) -> Result<()> {
    let violations = check(&source::read_all(root)?);
    for violation in &violations {
        println!("{violation}");
    }
    ensure!(violations.is_empty(), "{} places break a rule of docs/style.md", violations.len());
    Ok(())
}

/// All violations in `sources`, ordered by path.
fn check(sources: &[WorkspaceFile]) -> Vec<Violation> {
    let by_path: BTreeMap<&str, &WorkspaceFile> =
        sources.iter().map(|source| (source.path.as_str(), source)).collect();
    let known = with_folders(by_path.keys().copied());
    let exists = |path: &str| known.contains(path);

    let mut violations = Vec::new();
    violations.extend(documents::check_findings(&by_path));
    violations.extend(documents::check_ci(&by_path));
    for source in sources {
        let WorkspaceFile { path, text, .. } = source;
        violations.extend(shape::check_bytes(source));
        violations.extend(layers::check_manifest(path, text));
        if path.ends_with(".md") {
            violations.extend(documents::check_title(path, text));
            violations.extend(documents::check_links(path, text, &exists));
        } else if path.ends_with(".snap") {
            violations.extend(documents::check_snapshot(path, text, &exists));
        }
    }

    let is_rust = |source: &&WorkspaceFile| source.path.ends_with(".rs");
    let parsed = sources.iter().filter(is_rust).map(|file| Rust::new(&file.path, &file.text));
    let files: Vec<Rust<'_>> = parsed.collect();
    violations.extend(layers::check_modules(&files));
    for rust in &files {
        violations.extend(layers::check_unsafe(rust));
        violations.extend(shape::check_lines(rust));
        violations.extend(shape::check_file(rust));
        violations.extend(shape::check_functions(rust));
        violations.extend(vocabulary::check_unfinished(rust));
        violations.extend(vocabulary::check_name(rust.path));
        violations.extend(vocabulary::check_languages(rust));
    }
    violations.sort();
    violations
}

/// The links in those files that are there which lead to none of these, in lines.
#[cfg(test)]
pub(crate) fn broken_links(root: &Path, is_there: &dyn Fn(&str) -> bool) -> Result<Vec<String>> {
    let mut sources = source::read_all(root)?;
    sources.retain(|source| is_there(&source.path));
    let known = with_folders(sources.iter().map(|source| source.path.as_str()));
    let exists = |path: &str| known.contains(path);
    let documents = sources.iter().filter(|source| source.path.ends_with(".md"));
    let broken = documents.flat_map(|it| documents::check_links(&it.path, &it.text, &exists));
    Ok(broken.map(|violation| violation.to_string()).collect())
}

/// The paths and all their parent folders; the root is the empty path.
fn with_folders<'p>(paths: impl Iterator<Item = &'p str>) -> BTreeSet<&'p str> {
    let parent = |path: &&'p str| path.rsplit_once('/').map(|(folder, _)| folder);
    let chain = |path| iter::successors(Some(path), parent);
    paths.flat_map(chain).chain([""]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_tidy() {
        let sources = source::read_all(crate::root()).expect("the workspace can be read");
        let told: Vec<_> = check(&sources).iter().map(Violation::to_string).collect();
        assert!(told.is_empty(), "\n{}\n", told.join("\n"));
    }

    #[test]
    fn folders_are_known_by_their_files() {
        let known = with_folders(["a/b/c.rs", "d"].into_iter());
        assert_eq!(known.into_iter().collect::<Vec<_>>(), ["", "a", "a/b", "a/b/c.rs", "d"]);
    }
}
