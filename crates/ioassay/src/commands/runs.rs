//! `ioassay runs`: the kept records.

use super::{joint_report, say};
use crate::args::kept::RunsArgs;
use crate::status::Status;
use crate::store::{self, Readable};
use anyhow::{Context, Result};
use report::{Listed, Style};
use std::io::ErrorKind;
use std::path::Path;

/// Lists the records in the state folder and in the given folders, newest first, like `last` and
/// `git log`.
///
/// # Errors
/// If a folder cannot be read.
pub fn execute(args: &RunsArgs, style: &Style) -> Result<Status> {
    let state = store::folder()?;
    let mut paths = store::records_of(&state).or_else(|error| match error.kind() {
        // The first record creates the folder.
        ErrorKind::NotFound => Ok(Vec::new()),
        _ => Err(error).with_context(|| format!("failed to read '{}'", state.display())),
    })?;
    for folder in &args.folders {
        let found = store::records_of(folder);
        paths.extend(found.with_context(|| format!("failed to read '{}'", folder.display()))?);
    }
    let (mut listed, mut unreadable) = (Vec::new(), Vec::new());
    for path in paths {
        match entry(&path) {
            Ok(entry) => listed.push(entry),
            Err(error) => unreadable.push(format!("{error:#}")),
        }
    }
    let folders = std::iter::once(&state).chain(&args.folders);
    for folder in folders.flat_map(|folder| store::folders_of(folder)) {
        match of_hosts(&folder) {
            Ok((entries, bad)) => {
                listed.extend(entries);
                unreadable.extend(bad);
            }
            Err(error) => unreadable.push(format!("{error:#}")),
        }
    }
    let all = listed.len();
    listed.retain(|record| is_wanted(record, args));
    // The text form of dates sorts chronologically.
    listed.sort_by(|a, b| (&b.began, &b.path).cmp(&(&a.began, &a.path)));
    let text = if args.json {
        serde_json::to_string_pretty(&serde_json::json!({
            "records": listed, "unreadable": unreadable,
        }))?
    } else if all == 0 && unreadable.is_empty() {
        format!("no records in '{}' yet: 'ioassay survey' makes the first", state.display())
    } else if listed.is_empty() && unreadable.is_empty() {
        format!("none of {all} records has that recipe and machine: 'ioassay runs' lists them all")
    } else {
        report::runs(&listed, &unreadable).text(style)
    };
    say(&text)?;
    Ok(Status::DONE)
}

/// The record at `path`.
fn entry(path: &Path) -> Result<Listed> {
    Ok(Listed::of(path.display().to_string(), &assess::assess(&store::read(path)?)))
}

/// The run of several hosts whose records are in `folder`, or the records one by one, if they are
/// not of one run; and why files cannot be read.
fn of_hosts(folder: &Path) -> Result<(Vec<Listed>, Vec<String>)> {
    let Readable { paths: records, unreadable } = Readable::of(folder)?;
    let Some(records) = joint_report::of_one_run(&records)?.filter(|it| !it.is_empty()) else {
        let entries = records.iter().map(|path| entry(path)).collect::<Result<_>>()?;
        return Ok((entries, unreadable));
    };
    let run = assess::together(records.len(), |host| store::read(&records[host]))?;
    let of_run = |run| Listed::of_hosts(folder.display().to_string(), &run);
    Ok((run.map(of_run).into_iter().collect(), unreadable))
}

fn is_wanted(record: &Listed, args: &RunsArgs) -> bool {
    args.recipe.as_ref().is_none_or(|recipe| *recipe == record.recipe)
        && args.host.as_ref().is_none_or(|host| *host == record.host)
}
