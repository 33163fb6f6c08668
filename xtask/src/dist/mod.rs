//! The packages of a release, and whether they work.
//!
//! They are made of the commit, in a clone, and a second time in another clone: both must be equal,
//! byte by byte. Then each is tried as a new user would. docs/release.md describes them.
//!
//! The modules are listed from lowest to highest; a module uses only those listed above it.

mod needs;
mod source;
mod program;
mod staged;
mod notices;
mod archive;
mod package;
mod bill;
mod sums;
mod room;
mod emulated;
mod tried;

use crate::arch::{self, Arch};
use anyhow::{Context, Result, ensure};
use clap::Args;
use needs::Tools;
use source::SourceClone;
use std::fs;
use std::path::{Path, PathBuf};
use xshell::Shell;

/// The folder of packages, relative to the workspace.
const FOLDER: &str = "dist";

/// The folders of the two builds. Their names differ in length and depth, as may those of others.
const PLACES: [&str; 2] = ["one", "the/other one"];

/// The command's options.
#[derive(Debug, PartialEq, Args)]
pub(crate) struct Options {
    /// Build once, and nothing more: compare dist/SHA256SUMS with those of a release
    #[arg(long = "once", conflicts_with = "is_kept")]
    is_once: bool,
    /// Build nothing, and try the packages that dist/ has
    #[arg(long = "kept")]
    is_kept: bool,
}

/// Makes the packages of the commit at `root`, and tries them.
///
/// # Errors
/// If one cannot be made, differs from build to build, or does not work.
pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let shell = Shell::new()?;
    let (out, place) = (root.join(FOLDER), crate::target().join("dist"));
    if options.is_once {
        return make_all(&shell, root, &place, options);
    }
    // It is better to miss something now than after two builds.
    needs::for_trying()?;
    if !options.is_kept {
        make_all(&shell, root, &place, options)?;
    }
    ensure!(out.join(sums::NAME).is_file(), "{} has no packages", out.display());
    tried::all(&shell, &out, &place.join("tried"))
}

/// Makes the packages in `place`, and puts them into the folder for them.
fn make_all(shell: &Shell, root: &Path, place: &Path, options: &Options) -> Result<()> {
    if source::has_changes(shell, root)? {
        println!("uncommitted changes are not in these packages");
    }
    // Another commit may be checked out before the second build begins.
    let commit = source::commit(shell, root)?;
    let tools = needs::tools(shell, &place.join("tools"))?;
    let [one, other] = PLACES.map(|name| place.join(name));
    let made = make(root, &commit, &one, &tools)?;
    if !options.is_once {
        let again = make(root, &commit, &other, &tools)?;
        let sums = |folder: &Path| shell.read_file(folder.join(sums::NAME));
        let differing = sums::differing(&sums(&made)?, &sums(&again)?);
        ensure!(
            differing.is_empty(),
            "two builds differ in {}: compare {} and {}",
            differing.join(", "),
            made.display(),
            again.display()
        );
        println!("two builds, in two folders, are equal");
    }
    let out = root.join(FOLDER);
    shell.remove_path(&out)?;
    shell.create_dir(&out)?;
    for file in shell.read_dir(&made)? {
        let bytes = fs::metadata(&file).with_context(|| file.display().to_string())?.len();
        println!("{bytes:>9} bytes  {}", file.file_name().unwrap_or_default().to_string_lossy());
        shell.copy_file(file, &out)?;
    }
    Ok(())
}

/// Makes all packages in a folder of `place`, which is returned.
fn make(root: &Path, commit: &str, place: &Path, tools: &Tools) -> Result<PathBuf> {
    let source = SourceClone::clone_of(root, commit, place, tools)?;
    let out = place.join("packages");
    source.shell.remove_path(&out)?;
    source.shell.create_dir(&out)?;
    for arch in arch::ALL {
        program::build(&source, arch)?;
    }
    staged::write(&source, &program::path(&source, Arch::of_this_machine()?))?;
    notices::write(&source)?;
    for arch in arch::ALL {
        archive::make(&source, arch, &out)?;
        package::make_deb(&source, arch, &out)?;
        package::make_rpm(&source, arch, &out)?;
        bill::make(&source, arch, &out)?;
        package::make_wheel(&source, tools, arch, &out)?;
    }
    sums::write(&source.shell, &out)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{check, refused};
    use std::collections::BTreeSet;

    fn read(path: &str) -> String {
        fs::read_to_string(crate::root().join(path)).unwrap_or_else(|error| {
            panic!("{path}: {error}");
        })
    }

    #[test]
    fn options_are_understood() {
        check("", &Options { is_once: false, is_kept: false });
        check("--once", &Options { is_once: true, is_kept: false });
        check("--kept", &Options { is_once: false, is_kept: true });
        refused::<Options>(&["--once --kept"]);
    }

    /// The sources and destinations of a package's files, as its metadata lists them.
    fn files(list: &toml::Value) -> BTreeSet<(String, String)> {
        let text = |value: &toml::Value| value.as_str().expect("it is text").to_owned();
        let absolute = |path: String| format!("/{}", path.trim_start_matches('/'));
        let file = |entry: &toml::Value| match entry {
            toml::Value::Array(parts) => (text(&parts[0]), absolute(text(&parts[1]))),
            table => (text(&table["source"]), absolute(text(&table["dest"]))),
        };
        list.as_array().expect("it is a list").iter().map(file).collect()
    }

    #[test]
    fn both_kinds_of_packages_have_the_same_files_but_for_their_systems_customs() {
        let manifest: toml::Table = read("crates/ioassay/Cargo.toml").parse().expect("it is whole");
        let metadata = &manifest["package"]["metadata"];
        let deb = files(&metadata["deb"]["assets"]);
        let rpm = files(&metadata["generate-rpm"]["assets"]);
        let customs = ["zsh/", "lintian/", "licenses/", "doc/"];
        let plain = |files: &BTreeSet<(String, String)>| -> BTreeSet<(String, String)> {
            let is_plain = |(_, to): &&(String, String)| !customs.iter().any(|it| to.contains(it));
            files.iter().filter(is_plain).cloned().collect()
        };
        assert_eq!(plain(&deb), plain(&rpm));
        for name in ["zsh/", "doc/"] {
            for files in [&deb, &rpm] {
                assert!(files.iter().any(|(_, to)| to.contains(name)), "{name}: {files:?}");
            }
        }
        let here = crate::root().join("crates/ioassay");
        for (from, _) in deb.union(&rpm) {
            let is_made = from.starts_with("target/release/") || from.starts_with("staged/");
            let is_there = match from.strip_suffix("/*") {
                Some(folder) => here.join(folder).is_dir(),
                None => here.join(from).is_file(),
            };
            assert!(is_made || is_there, "{from}");
        }
    }

    #[test]
    fn other_files_name_the_packages_as_they_are() {
        let container = read("Containerfile");
        for arch in arch::ALL {
            let archive = format!("{FOLDER}/{}.tar.gz", archive::name("*", arch));
            assert!(container.contains(&format!("MACHINE={}", arch.name())), "{container}");
            let of_arch = container.replace("${MACHINE}", arch.name());
            assert!(of_arch.contains(&format!("ADD {archive} /\n")), "{archive}\n{container}");
            assert!(read("docs/release.md").contains(&archive::name("VERSION", arch)), "{arch:?}");
        }
        assert!(read(".github/workflows/release.yml").contains("cargo xtask dist"));
        let project: toml::Table = read("pyproject.toml").parse().expect("it is whole");
        assert_eq!(project["tool"]["maturin"]["bindings"].as_str(), Some("bin"));
    }

    /// Each exception has a comment before it.
    #[test]
    fn exceptions_to_debians_rules_have_a_reason() {
        let text = read("xtask/dist/lintian-overrides");
        let mut before = "";
        for line in text.lines() {
            let is_exception = line.starts_with("ioassay: ") || line.starts_with("ioassay [");
            assert!(is_exception || line.starts_with("# "), "{line}");
            assert!(!is_exception || before.starts_with("# "), "no reason: {line}");
            before = line;
        }
    }
}
