//! Archives: one folder with the program and what belongs to it, for any Linux.

use super::source::SourceClone;
use super::staged::COMPLETIONS;
use super::{notices, program};
use crate::arch::Arch;
use anyhow::{Context, Result};
use std::path::Path;
use xshell::{Shell, cmd};

/// Files of the root that an archive has, by their endings: the documents and the licenses. With
/// the folders, their links lead somewhere without a network.
const FILES: [&str; 3] = [".md", "-MIT", "-APACHE"];

/// Folders of the root that an archive has.
const FOLDERS: [&str; 3] = ["docs", "peers", "records"];

/// The name of an archive, without the ending, and of the folder in it.
pub(super) fn name(version: &str, arch: Arch) -> String {
    format!("ioassay-{version}-{}", arch.target())
}

/// Makes the archive for `arch` in the folder `out`.
pub(super) fn make(source: &SourceClone, arch: Arch, out: &Path) -> Result<()> {
    let shell = &source.shell;
    let folder = source.target.join("archive").join(name(&source.version, arch));
    shell.remove_path(&folder)?;
    for inside in ["", "man", "complete"] {
        shell.create_dir(folder.join(inside))?;
    }
    shell.copy_file(program::path(source, arch), &folder)?;
    shell.copy_file(notices::path(source), &folder)?;
    for file in shell.read_dir(".")?.iter().filter(|path| is_document(path)) {
        shell.copy_file(file, &folder)?;
    }
    cmd!(shell, "cp --recursive {FOLDERS...} {folder}").quiet().run()?;
    for page in shell.read_dir(source.staged().join("man"))? {
        shell.copy_file(page, folder.join("man"))?;
    }
    for (_, name) in COMPLETIONS {
        shell.copy_file(source.staged().join("complete").join(name), folder.join("complete"))?;
    }
    pack(shell, &folder, out, &source.seconds)
}

/// Whether an archive has this file of the root.
fn is_document(path: &Path) -> bool {
    FILES.iter().any(|end| path.to_string_lossy().ends_with(end))
}

/// Packs `folder` into an archive of its name in the folder `out`. The archive depends on names,
/// contents and who may execute, and not on owners, times or the order in which files were made.
fn pack(shell: &Shell, folder: &Path, out: &Path, seconds: &str) -> Result<()> {
    let name = folder.file_name().context("it has a name")?.to_string_lossy().into_owned();
    let parent = folder.parent().context("it has a parent")?;
    let archive = out.join(format!("{name}.tar"));
    let mut options = vec!["--create", "--sort=name", "--format=ustar", "--numeric-owner"];
    let time = format!("--mtime=@{seconds}");
    options.extend(["--owner=0", "--group=0", "--mode=u=rwX,go=rX", &time]);
    let tar = cmd!(shell, "tar {options...} --file {archive} --directory {parent} {name}");
    tar.quiet().run()?;
    cmd!(shell, "gzip --no-name --best --force {archive}").quiet().run()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use tempfile::TempDir;

    /// An archive of files with these names, contents and modes, made in this order.
    fn archive(files: &[(&str, &str, u32)]) -> Vec<u8> {
        let shell = Shell::new().expect("there is a folder");
        let place = TempDir::new().expect("a folder can be made");
        let folder = place.path().join("it");
        fs::create_dir(&folder).expect("it is new");
        for (name, text, mode) in files {
            let path = folder.join(name);
            fs::write(&path, text).expect("it is new");
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).expect("it is ours");
        }
        pack(&shell, &folder, place.path(), "1700000000").expect("tar and gzip are there");
        fs::read(place.path().join("it.tar.gz")).expect("it was just made")
    }

    #[test]
    fn links_lead_to_what_an_archive_has() {
        let is_packed = |path: &str| match path.split_once('/') {
            Some((folder, _)) => FOLDERS.contains(&folder),
            None => is_document(Path::new(path)),
        };
        assert!(is_packed("README.md") && is_packed("docs/use.md") && !is_packed("xtask/src"));
        let broken = |is_there: &dyn Fn(&str) -> bool| {
            crate::tidy::broken_links(crate::root(), is_there).expect("git lists the files")
        };
        assert_eq!(broken(&is_packed), [""; 0]);
        let without = broken(&|path| is_packed(path) && !path.starts_with("records/"));
        assert!(without.iter().any(|link| link.starts_with("docs/tutorial.md:")), "{without:?}");
    }

    #[test]
    fn an_archive_depends_on_nothing_but_names_contents_and_who_may_execute() {
        let made = archive(&[("a", "one", 0o755), ("b", "two", 0o644)]);
        assert!(made == archive(&[("b", "two", 0o600), ("a", "one", 0o700)]), "order and umask");
        assert!(made != archive(&[("a", "one", 0o644), ("b", "two", 0o644)]), "who may execute");
        assert!(made != archive(&[("a", "one", 0o755), ("b", "2wo", 0o644)]), "a content");
        assert!(made != archive(&[("a", "one", 0o755), ("c", "two", 0o644)]), "a name");
    }
}
