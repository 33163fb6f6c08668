//! `ioassay compare`: compares two records.

use super::{DONE, Terminal, say};
use crate::args::CompareArgs;
use crate::store;
use anyhow::{Result, bail};
use assess::records::{Judged, LeftOut, RecordComparison};
use model::printable::printable;
use report::Style;
use std::path::PathBuf;

/// Compares two records. The exit status is 0 whatever the result.
///
/// # Errors
/// If one is not a record, they measure different things without `--anyway`, or they have
/// nothing to compare.
pub fn execute(args: &CompareArgs, style: &Style) -> Result<u8> {
    let a = Judged::of(&store::read(&args.a)?);
    let b = Judged::of(&store::read(&args.b)?);
    let kept = store::kept(&folders(args)?, &b.header().plan.recipe);
    let versus = assess::compare(a, b, &kept);
    let paths = [&args.a, &args.b].map(|path| printable(&path.display().to_string()).into_owned());
    let [path_a, path_b] = paths.each_ref().map(String::as_str);
    if !args.anyway && !versus.obstacles.is_empty() {
        let obstacles = report::obstacles(&versus).join("\n  ");
        bail!(
            "'{path_a}' (A) and '{path_b}' (B) measure different things; to compare them anyway, \
             use --anyway:\n  {obstacles}"
        );
    }
    if versus.pairs.is_empty() {
        bail!("'{path_a}' (A) and '{path_b}' (B) have nothing to compare{}", why(&versus));
    }
    if args.json {
        report::json_of_records(&versus, [path_a, path_b], Terminal::default())?;
    } else if args.markdown {
        say(&report::markdown_of_records(&versus, [path_a, path_b]))?;
    } else {
        say(&report::records(&versus, [path_a, path_b], style))?;
    }
    if let Some(path) = &args.html {
        store::keep_report(path, &report::page_of_records(&versus, [path_a, path_b]))?;
    }
    Ok(DONE)
}

/// The folders that may hold kept runs: the state folder, and those of the two records.
fn folders(args: &CompareArgs) -> Result<Vec<PathBuf>> {
    let beside = [&args.a, &args.b].map(|path| match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => PathBuf::from("."),
        Some(folder) => folder.to_path_buf(),
        None => PathBuf::from("."),
    });
    let mut folders: Vec<PathBuf> = [store::folder()?].into_iter().chain(beside).collect();
    folders.sort();
    folders.dedup();
    Ok(folders)
}

/// The reason for each left-out case, one per line.
fn why(versus: &RecordComparison) -> String {
    let say = |LeftOut { id, reason }: &LeftOut| format!("\n  {id}: {reason}");
    let all: String = versus.left_out.iter().map(say).collect();
    if all.is_empty() { ": they have no requested case".to_string() } else { format!(":{all}") }
}
