//! `ioassay compare`: compares two records, or more of hosts that should be alike.

use super::fleet;
use super::form;
use super::{Terminal, readable, say};
use crate::args::form::FormArgs;
use crate::args::kept::CompareArgs;
use crate::status::Status;
use crate::store;
use anyhow::{Result, bail};
use assess::decision::Decision;
use assess::gate::{Gate, gate};
use assess::records::{Judged, LeftOut, RecordComparison};
use model::printable::printable;
use model::record::Record;
use report::Style;
use std::path::{Path, PathBuf};

/// Compares two records. Without a limit, the exit status is 0 whatever the result.
///
/// # Errors
/// If one is not a record, or they have nothing to compare; without `--anyway`, because each case
/// measures different things.
pub fn execute(args: &CompareArgs, style: &Style) -> Result<Status> {
    if !args.more.is_empty() {
        return compare_many(args, style);
    }
    let how = if args.anyway { assess::compare_anyway } else { assess::compare };
    let versus = read([&args.a, &args.b], how)?;
    let paths = [&args.a, &args.b].map(|path| shown(path));
    let [path_a, path_b] = paths.each_ref().map(String::as_str);
    let is_question = versus.is_paired() && !args.fail_if.is_empty();
    if versus.pairs.is_empty() && versus.left_out.iter().any(LeftOut::is_apart) {
        let obstacles = report::obstacles(&versus.obstacles).join("\n  ");
        bail!(
            "'{path_a}' (A) and '{path_b}' (B) measure different things; to compare them anyway, \
             use --anyway:\n  {obstacles}"
        );
    }
    match args.fail_if.is_empty() {
        true => check_pairs(&versus, [path_a, path_b])?,
        false => check_gate(&versus, [path_a, path_b])?,
    }
    let gate = (!args.fail_if.is_empty()).then(|| gate(&versus, &args.fail_if));
    let paths = [path_a, path_b];
    // Two sides that were measured in one run are no two runs: that would be another answer.
    let document = || match &gate {
        Some(gate) if is_question => report::gate_run(&versus, gate, paths),
        gate => report::records(&versus, gate.as_ref(), paths),
    };
    let json = || match &gate {
        None => Ok(report::json_of_records(&versus, paths, Terminal::default())?),
        // Stdout has one document: that of the checks.
        Some(gate) => say(report::json_of_gate(&versus, gate, paths).trim_end()),
    };
    form::hand_out(document, &args.document, style, args.json.then_some(json))?;
    form::tell_document(&args.document)?;
    Ok(gate.map_or(Status::DONE, |gate| status_of(&versus, &gate, args.strict)))
}

/// How two judged records are compared, with the kept ones.
pub(super) type Compare = fn(Judged, Judged, &[Record]) -> RecordComparison;

/// The comparison of two records.
///
/// # Errors
/// If one is not a record.
pub(super) fn read([a, b]: [&Path; 2], how: Compare) -> Result<RecordComparison> {
    // Each record is judged and dropped before the next is read.
    against(Judged::of(store::read(a)?), [a, b], how)
}

/// The comparison of a record that was read with that at the second path.
///
/// # Errors
/// If that is not a record.
pub(super) fn against(
    judged: Judged,
    [a, b]: [&Path; 2],
    how: Compare,
) -> Result<RecordComparison> {
    let other = Judged::of(store::read(b)?);
    let kept = store::kept(&folders([a, b]), &other.header().plan.recipe);
    Ok(how(judged, other, &kept))
}

/// Refuses what no gate can judge: one record twice, the two of a gate in reverse, and two that
/// share no figure, unless because all fail in B, which is an answer.
pub(super) fn check_gate(versus: &RecordComparison, [a, b]: [&str; 2]) -> Result<()> {
    if versus.is_same {
        bail!("'{a}' (A) and '{b}' (B) are one record: a gate needs two runs");
    }
    if versus.is_reversed() {
        bail!(
            "'{a}' (A) and '{b}' (B) are of one gate, in which '{b}' was what the other was held \
             against: name it first"
        );
    }
    if versus.broken() == 0 { check_pairs(versus, [a, b]) } else { Ok(()) }
}

/// Refuses two records that share no figure.
fn check_pairs(versus: &RecordComparison, [a, b]: [&str; 2]) -> Result<()> {
    if versus.pairs.is_empty() {
        bail!("'{a}' (A) and '{b}' (B) have nothing to compare{}", why(versus));
    }
    Ok(())
}

/// A path as it is shown.
pub(super) fn shown(path: &Path) -> String {
    printable(&path.display().to_string()).into_owned()
}

/// The exit status that a gate's checks come to.
pub(super) fn status_of(versus: &RecordComparison, gate: &Gate, is_strict: bool) -> Status {
    let why = || report::shortfall_of_gate(versus, gate);
    match gate.within {
        Decision::No => Status::not_all(why()),
        Decision::Undecided if is_strict => Status::open(why()),
        Decision::Undecided | Decision::Yes => Status::DONE,
    }
}

/// Compares more than two records: hosts that should be alike.
fn compare_many(args: &CompareArgs, style: &Style) -> Result<Status> {
    let (json, document) = (args.json, args.document.clone());
    let form = FormArgs { json, document, ..FormArgs::default() };
    let all: Vec<PathBuf> = [&args.a, &args.b].into_iter().chain(&args.more).cloned().collect();
    let (paths, status) = readable(&all)?;
    // Nothing else is asked of them: a case without a figure is a result.
    let _ = fleet::show(&paths, &form, style)?;
    Ok(status)
}

/// The folders that may hold kept runs: the state folder, and those of the two records.
pub(super) fn folders(records: [&Path; 2]) -> Vec<PathBuf> {
    let beside = records.map(|path| match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => PathBuf::from("."),
        Some(folder) => folder.to_path_buf(),
        None => PathBuf::from("."),
    });
    // Without a home, only those beside the two records are known.
    let mut folders: Vec<PathBuf> = store::folder().into_iter().chain(beside).collect();
    folders.sort();
    folders.dedup();
    folders
}

/// The reason for each left-out case, one per line.
fn why(versus: &RecordComparison) -> String {
    let say = |LeftOut { id, reason, .. }: &LeftOut| format!("\n  {id}: {reason}");
    let missing = report::missing(versus).into_iter().map(|text| format!("\n  {text}"));
    let all: String = versus.left_out.iter().map(say).chain(missing).collect();
    if all.is_empty() { ": they have no requested case".to_string() } else { format!(":{all}") }
}
