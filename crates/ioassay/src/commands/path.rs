//! `ioassay path`: the way from a file down to its medium. Nothing is measured.

use super::{form, say};
use crate::args::tools::PathArgs;
use crate::status::Status;
use anyhow::{Context, Result};
use assess::path::{JudgedPath, judge_path};
use model::path::MediumPath;
use report::Style;
use std::path::PathBuf;

/// Shows the paths that are asked for.
///
/// # Errors
/// If one of them cannot be looked at, or the report cannot be written.
pub(super) fn execute(args: &PathArgs, style: &Style) -> Result<Status> {
    form::check_files(&args.document)?;
    // Asked twice, a path would share all with itself.
    let is_new = |(place, path): &(usize, &PathBuf)| !args.asked[..*place].contains(path);
    let asked = args.asked.iter().enumerate().filter(is_new).map(|(_, asked)| asked);
    let judged = asked.map(|asked| {
        let path = match &args.root {
            Some(root) => witness::path_of_machine(root, asked),
            None => witness::path(asked),
        };
        let path =
            path.with_context(|| format!("failed to find the path of '{}'", asked.display()))?;
        let judged = judge_path(&path.top, path.hypervisor.is_some());
        Ok((path, judged))
    });
    let paths = judged.collect::<Result<Vec<(MediumPath, JudgedPath)>>>()?;
    let for_programs = args.json.then_some(|| say(&report::json_of_paths(&paths)));
    form::hand_out(|| report::paths(&paths), &args.document, style, for_programs)?;
    Ok(Status::DONE)
}
