//! Tells the program its commit, that commit's date, its target and the version of Rust.
//!
//! A package from crates.io has its commit in a file of cargo, and no date. A checkout has both. An
//! archive without git has neither: then they are unknown. `SOURCE_DATE_EPOCH` replaces the date.
//! Nothing comes from the clock, so that two builds of one commit are equal.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

/// Paths below the root that decide what is built.
const SOURCES: [&str; 5] = ["Cargo.lock", "Cargo.toml", "docs/method/findings", "peers", "recipes"];

/// The file in which cargo keeps the commit that a package was made from.
const OF_PACKAGE: &str = ".cargo_vcs_info.json";

/// The first moment whose year has five digits.
const YEAR_10000: Duration = Duration::from_secs(253_402_300_800);

/// What is known of the source.
#[derive(Default)]
struct SourceState {
    commit: Option<String>,
    date: Option<String>,
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=SOURCE_DATE_EPOCH");
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let source = of_package(&manifest).or_else(|| of_checkout(&manifest)).unwrap_or_default();
    let date = env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| date(&text)).or(source.date);
    let all = [("COMMIT", source.commit), ("DATE", date), ("TARGET", target()), ("RUST", rust())];
    for (name, value) in all {
        println!("cargo:rustc-env=IOASSAY_{name}={}", value.unwrap_or_default());
    }
}

fn target() -> Option<String> {
    env::var("TARGET").ok()
}

/// The version of Rust that compiles this, without which nobody could build the same again.
fn rust() -> Option<String> {
    let output = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_whitespace().nth(1).map(str::to_string)
}

/// The source of a package, which has a commit but no date.
fn of_package(manifest: &Path) -> Option<SourceState> {
    let text = fs::read_to_string(manifest.join(OF_PACKAGE)).ok()?;
    let (_, after) = text.split_once("\"sha1\"")?;
    let commit = after.split('"').nth(1)?;
    let is_changed = text.contains("\"dirty\": true");
    Some(SourceState { commit: Some(named(commit, is_changed)?), date: None })
}

/// The source of a checkout of this project. A copy inside another project's checkout is not one:
/// its commit would be that project's.
fn of_checkout(manifest: &Path) -> Option<SourceState> {
    let root = manifest.join("../..").canonicalize().ok()?;
    let git = |line: &[&str]| {
        let output = Command::new("git").arg("-C").arg(&root).args(line).env("TZ", "UTC").output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_string())
    };
    let top = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != root {
        return None;
    }
    rerun_at_next_commit(&root, &git);
    let sources = sources(&root);
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    let sources: Vec<&str> = status.into_iter().chain(sources.iter().map(String::as_str)).collect();
    let is_changed = !git(&sources)?.is_empty();
    let shown = git(&["log", "-1", "--date=format-local:%Y-%m-%d", "--format=%H %cd"])?;
    let (commit, date) = shown.split_once(' ')?;
    Some(SourceState { commit: Some(named(commit, is_changed)?), date: Some(date.to_string()) })
}

/// Asks cargo to run this again once the commit or a source has changed.
fn rerun_at_next_commit(root: &Path, git: &dyn Fn(&[&str]) -> Option<String>) {
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        let path = git(&["rev-parse", "--git-path", name]).map(|path| root.join(path));
        // Cargo takes a file that is missing for one that has just changed.
        if let Some(path) = path.filter(|path| path.exists()) {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
    for path in sources(root) {
        println!("cargo:rerun-if-changed={}", root.join(path).display());
    }
}

/// The files and folders of the checkout that decide what is built.
fn sources(root: &Path) -> Vec<String> {
    let crates = fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    let names = crates.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let folders = names.map(|name| format!("crates/{name}/src"));
    let mut all: Vec<String> = SOURCES.into_iter().map(str::to_string).chain(folders).collect();
    all.retain(|path| root.join(path).exists());
    all.sort();
    all
}

/// The short name of a commit; `None` if that is not what it is.
fn named(commit: &str, is_changed: bool) -> Option<String> {
    let is_hash = commit.len() >= 9 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    let short = is_hash.then(|| &commit[..9])?;
    Some(if is_changed { format!("{short}-changed") } else { short.to_string() })
}

/// The date of a number of seconds since 1970, in UTC; `None` if it has none.
fn date(seconds: &str) -> Option<String> {
    let since = Duration::from_secs(seconds.trim().parse().ok()?);
    let moment = UNIX_EPOCH.checked_add(since).filter(|_| since < YEAR_10000)?;
    #[expect(clippy::disallowed_methods, reason = "inputs that panic were just refused")]
    let text = humantime::format_rfc3339_seconds(moment).to_string();
    text.get(..10).map(str::to_string)
}
