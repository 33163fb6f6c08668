//! Whether the packages could be published, and what is in them compiles.
//!
//! `cargo publish --dry-run` would compile each package with all its dependencies from nothing,
//! which takes minutes. So it only makes the packages here. They are unpacked into a workspace of
//! their own and checked there, with the dependencies that the tests have compiled. Nothing of the
//! repository is near them, so a file that a package lacks is missed.

use crate::files;
use crate::programs::own_cargo;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use xshell::{Shell, cmd};

/// The largest package that crates.io accepts, in bytes.
const PACKAGE_BYTES_MAX: u64 = 10 << 20;

/// What each package has besides its code.
const IN_EACH: [&str; 4] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Does all that publishing does, except for the upload.
pub(crate) fn try_to_publish() -> Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(crate::root());
    cmd!(shell, "cargo publish --workspace --dry-run").run()?;
    Ok(())
}

/// Makes all packages of the workspace, and checks what is in them.
pub(crate) fn check() -> Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(crate::root());
    let target = crate::target();
    let made = target.join("package");
    fs::create_dir_all(&made)?;
    for old in files::in_folder(&made, "crate")? {
        fs::remove_file(old)?;
    }
    let cargo = own_cargo();
    // The first also asks what only publishing asks, and the second also keeps the packages.
    for line in ["publish --workspace --dry-run", "package --workspace --exclude xtask"] {
        println!("cargo {line} --no-verify --allow-dirty");
        let options = ["--quiet", "--no-verify", "--allow-dirty"];
        let command = shell.cmd(&cargo).args(line.split(' ')).args(options);
        let output = command.arg("--target-dir").arg(&target).quiet().ignore_status().output()?;
        // A dry run says of each package that it is not uploaded: only a failure is of interest.
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cargo cannot make the packages:\n{said}");
    }
    // Always the same folder: cargo would keep what it compiled for each other one.
    let folder = target.join("unpacked");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let mut names = Vec::new();
    for package in files::in_folder(&made, "crate")? {
        names.push(unpack(&shell, &package, &folder)?);
    }
    ensure!(!names.is_empty(), "cargo made no package in {}", made.display());
    write_workspace(crate::root(), &folder, &names)?;
    println!("cargo check, of {} unpacked packages", names.len());
    let _there = shell.push_dir(&folder);
    let _target = shell.push_env("CARGO_TARGET_DIR", &target);
    cmd!(shell, "{cargo} check --quiet --workspace").quiet().run()?;
    Ok(())
}

/// Unpacks a package below `folder`. Returns the name of its own folder.
fn unpack(shell: &Shell, package: &Path, folder: &Path) -> Result<String> {
    let bytes = fs::metadata(package)?.len();
    let shown = package.display();
    ensure!(bytes <= PACKAGE_BYTES_MAX, "{shown} is too large for crates.io: {bytes} bytes");
    // Files of a package all have the same old date, by which cargo would take them for those that
    // it compiled the last time.
    cmd!(shell, "tar --extract --touch --gzip --file {package} --directory {folder}")
        .quiet()
        .run()?;
    let name = package.file_stem().context("a package has a name")?.to_string_lossy().into_owned();
    let inside = folder.join(&name);
    for file in IN_EACH {
        // A link would lead out of the package.
        let is_file = inside.join(file).symlink_metadata().is_ok_and(|found| found.is_file());
        ensure!(is_file, "{shown} lacks {file}");
    }
    Ok(name)
}

/// Makes a workspace of the packages in `folder`, with the profiles and locked versions of the one
/// at `root`, so that its dependencies are those that are compiled already.
fn write_workspace(root: &Path, folder: &Path, names: &[String]) -> Result<()> {
    let manifest: toml::Table = fs::read_to_string(root.join("Cargo.toml"))?.parse()?;
    let mut patches = toml::Table::new();
    for name in names {
        let (package, _) = name.rsplit_once('-').context("a package's name ends in its version")?;
        let place = toml::Table::from_iter([("path".to_string(), name.as_str().into())]);
        patches.insert(package.to_string(), place.into());
    }
    let members: Vec<toml::Value> = names.iter().map(|name| name.as_str().into()).collect();
    let mut profile = toml::Table::new();
    profile.insert("dev".to_string(), manifest["profile"]["dev"].clone());
    let workspace: [(&str, toml::Value); 2] =
        [("resolver", "3".into()), ("members", members.into())];
    let workspace = toml::Table::from_iter(workspace.map(|(key, it)| (key.to_string(), it)));
    let patch = toml::Table::from_iter([("crates-io".to_string(), patches.into())]);
    let all = [("workspace", workspace), ("profile", profile), ("patch", patch)];
    let all = toml::Table::from_iter(all.map(|(key, table)| (key.to_string(), table.into())));
    fs::write(folder.join("Cargo.toml"), all.to_string())?;
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(())
}
