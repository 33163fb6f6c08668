//! Allowed dependencies: of crates by their manifests, of modules by their order.

use super::rust::{Rust, words};
use super::source::Violation;
use std::collections::BTreeMap;

/// Each crate, and our crates that it may import.
const CRATES: [(&str, &[&str]); 8] = [
    ("model", &[]),
    ("kernel", &["model"]),
    ("witness", &["model"]),
    ("assess", &["model"]),
    ("worker", &["model", "kernel", "witness"]),
    ("report", &["model", "assess"]),
    ("ioassay", &["model", "kernel", "witness", "assess", "worker", "report"]),
    ("xtask", &["model", "witness", "assess", "report", "ioassay"]),
];

/// The crates that may contain `unsafe`.
const UNSAFE_CRATES: [&str; 3] = ["kernel", "witness", "worker"];

/// The crate of the file at `path`, and its path within that crate.
fn split(path: &str) -> Option<(&str, &str)> {
    match path.strip_prefix("crates/") {
        Some(inside) => inside.split_once('/'),
        None => path.split_once('/').filter(|(name, _)| *name == "xtask"),
    }
}

/// A crate's manifest names only crates below it.
pub(super) fn check_manifest(path: &str, text: &str) -> Vec<Violation> {
    let Some((name, "Cargo.toml")) = split(path) else { return Vec::new() };
    let Some((_, below)) = CRATES.iter().find(|(known, _)| *known == name) else {
        let text = format!("crate `{name}` has no layer: give it one in xtask's CRATES");
        return vec![Violation::in_file(path, text)];
    };
    let mut violations = Vec::new();
    let mut lists_dependencies = false;
    for (i, line) in text.lines().enumerate() {
        let imported = if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            lists_dependencies = table.ends_with("dependencies");
            let one = table.rsplit_once('.').filter(|(list, _)| list.ends_with("dependencies"));
            one.map(|(_, imported)| imported)
        } else if lists_dependencies {
            line.split(['.', '=', ' ']).next()
        } else {
            None
        };
        let is_ours = |name: &str| CRATES.iter().any(|(ours, _)| *ours == name);
        if let Some(above) = imported.filter(|name| is_ours(name) && !below.contains(name)) {
            let text = format!(
                "`{name}` may not import `{above}`: move the shared code to a layer \
                                below both"
            );
            violations.push(Violation::at(path, i + 1, text));
        }
    }
    violations
}

/// Only few crates contain `unsafe`; the others forbid it.
pub(super) fn check_unsafe(rust: &Rust<'_>) -> Vec<Violation> {
    let Some((name, inside)) = split(rust.path) else { return Vec::new() };
    if UNSAFE_CRATES.contains(&name) {
        return Vec::new();
    }
    let mut violations = Vec::new();
    let is_root = matches!(inside, "src/lib.rs" | "src/main.rs");
    if is_root && !rust.code.iter().any(|line| line == "#![forbid(unsafe_code)]") {
        let text = "no `#![forbid(unsafe_code)]`: add it at the root of this crate";
        violations.push(Violation::in_file(rust.path, text));
    }
    for (i, line) in rust.code.iter().enumerate() {
        if words(line).any(|word| word == "unsafe") {
            let text = format!("`unsafe` in `{name}`: only {} may", UNSAFE_CRATES.join(", "));
            violations.push(Violation::at(rust.path, i + 1, text));
        }
    }
    violations
}

/// A module's path from the root of its crate.
type Module = Vec<String>;

/// The modules of one crate, from its files.
#[derive(Default)]
struct Listing {
    /// The position of each listed module in its parent's file.
    places: BTreeMap<Module, usize>,
    /// For each name that a parent re-exports, the child module that it comes from.
    shown: BTreeMap<Module, Module>,
}

/// A file uses only modules listed above its own, and every file is listed.
///
/// A parent may use its children, and a child may use what its parent itself defines.
pub(super) fn check_modules(files: &[Rust<'_>]) -> Vec<Violation> {
    let mut crates: BTreeMap<&str, Vec<(Module, &Rust<'_>)>> = BTreeMap::new();
    for rust in files {
        let Some((name, inside)) = split(rust.path) else { continue };
        let Some(inside) = inside.strip_prefix("src/") else { continue };
        let beside_library = inside == "main.rs"
            && files.iter().any(|other| other.path == format!("crates/{name}/src/lib.rs"));
        if !beside_library {
            crates.entry(name).or_default().push((module_of(inside), rust));
        }
    }
    let mut violations = Vec::new();
    for modules in crates.values() {
        let mut listing = Listing::default();
        for (module, rust) in modules {
            listing.add(module, rust);
        }
        for (module, rust) in modules {
            violations.extend(listing.check(module, rust));
        }
    }
    violations
}

/// The module in the file at `inside`, a path below `src/`.
fn module_of(inside: &str) -> Module {
    let stem = inside.strip_suffix(".rs").unwrap_or(inside);
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    if matches!(stem, "lib" | "main") {
        return Module::new();
    }
    stem.split('/').map(str::to_owned).collect()
}

impl Listing {
    /// Adds what the file of `parent` lists and re-exports.
    fn add(&mut self, parent: &Module, rust: &Rust<'_>) {
        let child = |name: &str| [parent.as_slice(), &[name.to_owned()]].concat();
        for (i, line) in rust.code.iter().enumerate() {
            let is_listed = ["mod ", "pub mod ", "pub(crate) mod ", "pub(super) mod "]
                .iter()
                .any(|start| line.starts_with(start));
            if is_listed && line.ends_with(';') {
                let name = words(line).last().expect("`mod` has a name");
                self.places.insert(child(name), i);
            }
        }
        let code = rust.code.join("\n");
        let shows = ["pub use ", "pub(crate) use ", "pub(super) use "];
        for (at, start) in shows.iter().flat_map(|start| code.match_indices(start)) {
            let used = expand(&code[at + start.len()..]);
            for path in used.iter().filter(|path| path.len() >= 2) {
                let source = child(&path[0]);
                let name = path.last().expect("it has two names");
                if self.places.contains_key(&source) {
                    self.shown.insert(child(name), source);
                }
            }
        }
    }

    /// Checks the file of `module`.
    fn check(&self, module: &Module, rust: &Rust<'_>) -> Vec<Violation> {
        let mut violations = Vec::new();
        if !module.is_empty() && !self.places.contains_key(module) {
            let text = "no file lists this module: list it where it belongs, or delete it";
            violations.push(Violation::in_file(rust.path, text));
        }
        for (line, used) in uses(module, rust) {
            if let Some(above) = self.above(module, &used) {
                let text = format!(
                    "uses `{}`, which is listed below `{}`: a file uses only modules listed \
                     above its own; move the item down, or the module up",
                    above.join("::"),
                    module.join("::"),
                );
                violations.push(Violation::at(rust.path, line, text));
            }
        }
        violations
    }

    /// The module that contains `used`, if `module` must not use it.
    fn above(&self, module: &Module, used: &Module) -> Option<Module> {
        let shared = module.iter().zip(used).take_while(|(a, b)| a == b).count();
        if shared == module.len() || shared == used.len() {
            return None;
        }
        let other = &used[..=shared];
        let other = self.shown.get(other).map_or(other, Vec::as_slice);
        let own_place = self.places.get(&module[..=shared])?;
        let is_above = self.places.get(other)? > own_place;
        is_above.then(|| other.to_vec())
    }
}

/// What the non-test code of `module` uses from its own crate, with line numbers.
fn uses(module: &Module, rust: &Rust<'_>) -> Vec<(usize, Module)> {
    let mut code = rust.code.clone();
    for (line, _) in code.iter_mut().zip(&rust.tested).filter(|(_, tested)| **tested) {
        line.clear();
    }
    let text = code.join("\n");
    let mut uses = Vec::new();
    for (at, _) in text.match_indices("crate::").chain(text.match_indices("super::")) {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':')) {
            continue;
        }
        let line = text[..at].matches('\n').count();
        let scope = scope(module, &code[..line]);
        let found = expand(&text[at..]).into_iter().filter_map(|path| absolute(&scope, &path));
        uses.extend(found.map(|path| (line + 1, path)));
    }
    uses
}

/// The module that a line belongs to: its file's, or an inline one at the outermost level. `before`
/// has the preceding lines.
fn scope(module: &Module, before: &[String]) -> Module {
    let mut scope = module.clone();
    let outermost = before.iter().rev().find(|line| line.starts_with(|c: char| !c.is_whitespace()));
    let Some(opening) = outermost else { return scope };
    let mut names = words(opening).skip_while(|word| *word != "mod").skip(1);
    if let Some(name) = names.next().filter(|_| opening.ends_with('{')) {
        scope.push(name.to_owned());
    }
    scope
}

/// Resolves `path`, which starts with `crate` or `super` in `scope`, to a path from the crate's
/// root.
fn absolute(scope: &Module, path: &Module) -> Option<Module> {
    if path[0] == "crate" {
        return Some(path[1..].to_vec());
    }
    let ups = path.iter().take_while(|name| *name == "super").count();
    let base = scope.get(..scope.len().checked_sub(ups)?)?;
    Some([base, &path[ups..]].concat())
}

/// The paths at the start of `text`: `a::{b, c::d}` gives `a::b` and `a::c::d`.
fn expand(text: &str) -> Vec<Module> {
    let mut paths = Vec::new();
    expand_into(text, &Module::new(), &mut paths);
    paths
}

/// Adds the paths at the start of `text` to `paths`, prefixed with `prefix`. Returns the rest.
fn expand_into<'t>(text: &'t str, prefix: &Module, paths: &mut Vec<Module>) -> &'t str {
    let text = text.trim_start();
    if let Some(mut group) = text.strip_prefix('{') {
        loop {
            group = expand_into(group, prefix, paths);
            // An alias may precede the comma.
            let Some(end) = group.find([',', '}']) else { return "" };
            let is_last = group[end..].starts_with('}');
            group = &group[end + 1..];
            if is_last {
                return group;
            }
        }
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.is_empty() {
        paths.extend((!prefix.is_empty()).then(|| prefix.clone()));
        return rest;
    }
    let path = [prefix.as_slice(), &[name.to_owned()]].concat();
    match rest.strip_prefix("::") {
        Some(more) => expand_into(more, &path, paths),
        None => {
            paths.push(path);
            rest
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The violations as text.
    fn told(violations: &[Violation]) -> Vec<String> {
        violations.iter().map(Violation::to_string).collect()
    }

    #[track_caller]
    fn check_one(violations: &[Violation], start: &str) {
        let told = told(violations);
        assert!(told.len() == 1 && told[0].starts_with(start), "{told:#?}, not {start}");
    }

    fn modules(files: &[(&str, &str)]) -> Vec<Violation> {
        let files: Vec<_> = files.iter().map(|(path, text)| Rust::new(path, text)).collect();
        check_modules(&files)
    }

    const LISTING: (&str, &str) =
        ("crates/worker/src/lib.rs", "mod clock;\npub mod engine;\n\npub use engine::Engine;\n");
    const ENGINE: (&str, &str) =
        ("crates/worker/src/engine/mod.rs", "mod null;\nmod read;\nuse null::Null;\n");

    #[test]
    fn a_crate_imports_only_crates_below_it() {
        let manifest = "[dependencies]\nmodel.workspace = true\nassess = { path = \"x\" }\n";
        check_one(
            &check_manifest("crates/kernel/Cargo.toml", manifest),
            "crates/kernel/Cargo.toml:3: ",
        );
        assert_eq!(check_manifest("crates/report/Cargo.toml", manifest), []);
        let tested = "[dev-dependencies]\nworker.workspace = true\n";
        check_one(
            &check_manifest("crates/report/Cargo.toml", tested),
            "crates/report/Cargo.toml:2: ",
        );
        let table = "[target.'cfg(unix)'.dependencies.worker]\nworkspace = true\n";
        check_one(&check_manifest("xtask/Cargo.toml", table), "xtask/Cargo.toml:1: `xtask`");
        let others =
            "[package]\nworker = 1\n[dependencies]\nserde = \"1\"\n[features]\nworker = []\n";
        assert_eq!(check_manifest("xtask/Cargo.toml", others), []);
    }

    #[test]
    fn a_new_crate_needs_a_layer() {
        check_one(&check_manifest("crates/new/Cargo.toml", ""), "crates/new/Cargo.toml:1: ");
        assert_eq!(check_manifest("Cargo.toml", "[dependencies]\nmodel = 1\n"), []);
    }

    #[test]
    fn unsafe_is_for_few_crates() {
        let rust = Rust::new("crates/report/src/table.rs", "fn f() {\n    unsafe { g() }\n}\n");
        check_one(&check_unsafe(&rust), "crates/report/src/table.rs:2: ");
        let rust = Rust::new("crates/worker/src/lib.rs", "fn f() {\n    unsafe { g() }\n}\n");
        assert_eq!(check_unsafe(&rust), []);
        let rust = Rust::new("crates/report/src/table.rs", "// unsafe\n#![forbid(unsafe_code)]\n");
        assert_eq!(check_unsafe(&rust), []);
    }

    #[test]
    fn the_other_crates_forbid_unsafe() {
        let rust = Rust::new("crates/ioassay/src/main.rs", "fn main() {}\n");
        check_one(&check_unsafe(&rust), "crates/ioassay/src/main.rs:1: ");
        let rust = Rust::new("crates/ioassay/src/main.rs", "#![forbid(unsafe_code)]\n");
        assert_eq!(check_unsafe(&rust), []);
    }

    #[test]
    fn a_module_uses_only_those_listed_above_it() {
        let clock = ("crates/worker/src/clock.rs", "fn f() {\n    crate::engine::open();\n}\n");
        check_one(
            &modules(&[LISTING, ENGINE, clock]),
            "crates/worker/src/clock.rs:2: uses `engine`",
        );
        let null = ("crates/worker/src/engine/null.rs", "use crate::clock::now;\n");
        assert_eq!(modules(&[LISTING, ENGINE, null]), []);
    }

    #[test]
    fn the_order_holds_among_the_children_of_a_module() {
        for path in ["super::read::Read", "crate::engine::read", "crate::{clock, engine::{read}}"] {
            let text = format!("use {path};\n");
            let null = ("crates/worker/src/engine/null.rs", text.as_str());
            let start = "crates/worker/src/engine/null.rs:1: uses `engine::read`";
            check_one(&modules(&[LISTING, ENGINE, null]), start);
        }
        let text =
            "use super::{BlockIo, null};\nuse super::super::clock;\nuse crate::engine::open;\n";
        let read = ("crates/worker/src/engine/read.rs", text);
        assert_eq!(modules(&[LISTING, ENGINE, read]), []);
    }

    #[test]
    fn what_a_parent_shows_belongs_to_its_module() {
        let clock = ("crates/worker/src/clock.rs", "use crate::Engine;\n");
        check_one(&modules(&[LISTING, clock]), "crates/worker/src/clock.rs:1: uses `engine`");
        let clock = ("crates/worker/src/clock.rs", "use crate::Digest;\n");
        assert_eq!(modules(&[LISTING, clock]), []);
    }

    #[test]
    fn tests_and_comments_may_use_all() {
        let text =
            "//! See [`crate::engine`].\n#[cfg(test)]\nmod tests {\n    use crate::engine;\n}\n";
        assert_eq!(modules(&[LISTING, ("crates/worker/src/clock.rs", text)]), []);
    }

    #[test]
    fn a_module_written_in_a_file_is_part_of_it() {
        let text = "mod tsc {\n    use super::engine;\n    use super::super::engine::open;\n}\n";
        let clock = ("crates/worker/src/clock.rs", text);
        check_one(&modules(&[LISTING, clock]), "crates/worker/src/clock.rs:3: uses `engine`");
    }

    #[test]
    fn every_file_is_listed() {
        let stray = ("crates/worker/src/stray.rs", "");
        check_one(&modules(&[LISTING, stray]), "crates/worker/src/stray.rs:1: ");
        assert_eq!(modules(&[LISTING, ENGINE]), []);
    }

    #[test]
    fn a_binary_beside_a_library_is_above_it() {
        let main = ("crates/worker/src/main.rs", "mod clock;\nuse crate::clock;\n");
        assert_eq!(modules(&[LISTING, main]), []);
    }
}
