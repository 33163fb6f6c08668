//! Checksums, and by them whether two builds are equal.

use anyhow::Result;
use std::path::Path;
use xshell::{Shell, cmd};

/// The file with the checksums of all others.
pub(super) const NAME: &str = "SHA256SUMS";

/// Writes the checksums of all files in `folder` into a file there, as sha256sum reads it.
pub(super) fn write(shell: &Shell, folder: &Path) -> Result<()> {
    let _there = shell.push_dir(folder);
    let mut names: Vec<_> = shell.read_dir(".")?;
    names.sort();
    let names = names.iter().filter_map(|path| path.file_name());
    let sums = cmd!(shell, "sha256sum -- {names...}").quiet().read()?;
    shell.write_file(NAME, sums + "\n")?;
    Ok(())
}

/// The names of files whose checksums differ, or that only one of both lists has.
pub(super) fn differing(one: &str, other: &str) -> Vec<String> {
    let lacks = |list: &str, line: &str| !list.lines().any(|it| it == line);
    let only = |of: &str, than: &str| -> Vec<String> {
        let lines = of.lines().filter(|line| lacks(than, line));
        lines.map(|line| line.split_whitespace().last().unwrap_or_default().to_owned()).collect()
    };
    let mut names = [only(one, other), only(other, one)].concat();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    #[test]
    fn files_that_differ_are_named() {
        let check = |one: &str, other: &str, expected: &[&str]| {
            assert_eq!(differing(one, other), expected, "{one} {other}");
        };
        check("1  a\n2  b\n", "1  a\n2  b\n", &[]);
        check("1  a\n2  b\n", "1  a\n3  b\n", &["b"]);
        check("1  a\n", "1  a\n3  c\n", &["c"]);
        check("", "", &[]);
    }

    #[test]
    fn checksums_are_those_that_sha256sum_checks() {
        let shell = Shell::new().expect("there is a folder");
        let folder = TempDir::new().expect("a folder can be made");
        fs::write(folder.path().join("b"), "b").expect("it is new");
        fs::write(folder.path().join("a"), "a").expect("it is new");
        write(&shell, folder.path()).expect("sha256sum is there");
        let sums = fs::read_to_string(folder.path().join(NAME)).expect("it was written");
        assert!(sums.lines().map(|line| &line[64..]).eq(["  a", "  b"]), "{sums}");
        let _there = shell.push_dir(folder.path());
        assert!(cmd!(shell, "sha256sum --check --status {NAME}").quiet().run().is_ok(), "{sums}");
        fs::write(folder.path().join("a"), "changed").expect("it is ours");
        let changed = cmd!(shell, "sha256sum --check --status {NAME}").quiet().run();
        assert!(changed.is_err(), "{sums}");
    }
}
