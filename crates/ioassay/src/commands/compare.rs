//! `ioassay compare`: two records beside each other.

use super::{DONE, say};
use crate::args::CompareArgs;
use crate::store;
use anyhow::{Result, bail};
use assess::records::{LeftOut, Versus};
use model::printable::printable;
use report::Style;
use std::path::PathBuf;

/// Compares two records. The exit status is 0 whatever comes of it.
///
/// # Errors
/// When one is no record, when they do not measure the same and nobody insists, or when nothing of
/// them can be compared.
pub fn execute(args: &CompareArgs, style: &Style) -> Result<u8> {
    let (a, b) = (store::read(&args.a)?, store::read(&args.b)?);
    let kept = store::kept(&folders(args)?, &b.header.plan.recipe);
    let versus = assess::compare(&a, &b, &kept);
    let paths = [&args.a, &args.b].map(|path| printable(&path.display().to_string()).into_owned());
    let [path_a, path_b] = paths.each_ref().map(String::as_str);
    if !args.anyway && !versus.obstacles.is_empty() {
        let obstacles = report::obstacles(&versus).join("\n  ");
        bail!(
            "'{path_a}' (A) and '{path_b}' (B) do not measure the same; --anyway compares them all \
             the same:\n  {obstacles}"
        );
    }
    if versus.pairs.is_empty() {
        bail!("nothing of '{path_a}' (A) and '{path_b}' (B) can be compared{}", why(&versus));
    }
    let text = if args.json {
        report::json_of_records(&versus, [path_a, path_b])
    } else if args.markdown {
        report::markdown_of_records(&versus, [path_a, path_b])
    } else {
        report::records(&versus, [path_a, path_b], style)
    };
    say(&text)?;
    if let Some(path) = &args.html {
        store::keep_report(path, &report::page_of_records(&versus, [path_a, path_b]))?;
    }
    Ok(DONE)
}

/// Where runs may be kept that tell how far runs are apart: the state folder, and where the two
/// records are.
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

/// Why each case is left out, on a line of its own.
fn why(versus: &Versus) -> String {
    let say = |LeftOut { id, reason }: &LeftOut| format!("\n  {id}: {reason}");
    let all: String = versus.left_out.iter().map(say).collect();
    if all.is_empty() { ": no case is asked in them".to_string() } else { format!(":{all}") }
}
