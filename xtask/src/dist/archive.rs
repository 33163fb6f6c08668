//! Archives: one folder with the program and what belongs to it, for any Linux.

use super::arch::Arch;
use super::source::Source;
use super::staged::COMPLETIONS;
use super::{notices, program};
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
pub(super) fn make(source: &Source, arch: Arch, out: &Path) -> Result<()> {
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
    use std::path::{Component, PathBuf};
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

    /// The targets of the links in `document` to other files of the workspace.
    fn targets(document: &Path) -> Vec<PathBuf> {
        let text = fs::read_to_string(crate::root().join(document)).expect("it is there");
        let folder = document.parent().expect("it is a file");
        let targets = text.split("](").skip(1).filter_map(|after| after.split([')', '#']).next());
        let inside = targets.filter(|target| !target.is_empty() && !target.contains("://"));
        inside.map(|target| normal(&folder.join(target))).collect()
    }

    /// The path without `.` and `..`.
    fn normal(path: &Path) -> PathBuf {
        path.components().fold(PathBuf::new(), |mut normal, part| {
            match part {
                Component::CurDir => {}
                Component::ParentDir => drop(normal.pop()),
                part => normal.push(part),
            }
            normal
        })
    }

    /// The files of `folder` and of the folders in it.
    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("it is there");
        let paths = entries.map(|entry| entry.expect("it can be read").path());
        paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn links_lead_to_what_an_archive_has() {
        let root = crate::root();
        let is_packed = |path: &Path| {
            let is_inside = FOLDERS.iter().any(|folder| path.starts_with(folder));
            (is_inside || is_document(path) && path.iter().count() == 1) && root.join(path).exists()
        };
        let is_there = |path: &str| is_packed(Path::new(path));
        assert!(is_there("docs/use.md") && !is_there("docs/gone.md") && !is_there("xtask/src"));
        let of_root = fs::read_dir(root).expect("it is there");
        let of_root = of_root.map(|entry| entry.expect("it can be read").path());
        let inside = FOLDERS.iter().flat_map(|folder| files(&root.join(folder)));
        let inside = of_root.chain(inside).filter(|path| path.extension() == Some("md".as_ref()));
        let inside = inside.map(|path| path.strip_prefix(root).expect("it is in it").to_owned());
        let packed: Vec<PathBuf> = inside.filter(|path| is_packed(path)).collect();
        assert!(packed.iter().any(|path| path.starts_with("docs/recipes")), "{packed:?}");
        for document in packed {
            for target in targets(&document) {
                assert!(is_packed(&target), "{document:?}: an archive has no {target:?}");
            }
        }
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
