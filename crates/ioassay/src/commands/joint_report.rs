//! The report of what several hosts did together, from the records of all.

use super::Terminal;
use super::form;
use super::hosts::{check_form, csv};
use super::question::check_no_idle;
use crate::args::ReportArgs;
use crate::args::form::FormArgs;
use crate::status::Status;
use crate::store;
use anyhow::{Context, Result};
use assess::together::RunIdentity;
use model::goal::Goal;
use model::record::Record;
use report::Style;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The records, in the order of the hosts, if they are those of one run in lockstep. They are read
/// several times, which a pipe cannot be.
///
/// # Errors
/// If one is not a record.
pub(super) fn of_one_run(records: &[PathBuf]) -> Result<Option<Vec<PathBuf>>> {
    if !records.iter().all(|path| path.is_file()) {
        return Ok(None);
    }
    let mut places = BTreeMap::new();
    let mut known = None;
    for path in records {
        let header = store::header(path)?;
        let (run, rank) = (RunIdentity::of(&header), header.plan.rank);
        let is_same = known.get_or_insert_with(|| run.clone()) == &run;
        let Some(rank) = rank.filter(|_| is_same) else { return Ok(None) };
        // Copies are those of hosts that should be alike.
        if places.insert(rank.number, path.clone()).is_some() {
            return Ok(None);
        }
    }
    Ok(Some(places.into_values().collect()))
}

/// `ioassay report` of the records of a run in lockstep.
///
/// # Errors
/// If one is not a record, or the form is one of a single record.
pub(super) fn report(records: &[PathBuf], args: &ReportArgs, style: &Style) -> Result<Status> {
    let ReportArgs { form, goal, strict, .. } = args;
    check_form(form, false)?;
    let goals: Vec<Goal> = goal.iter().copied().map(Goal::typed).collect();
    let shown = Shown { form, is_quiet: false, goals: &goals, is_strict: *strict };
    show(records, &shown, style)
}

/// How the report of several hosts is shown.
pub(super) struct Shown<'a> {
    pub(super) form: &'a FormArgs,
    pub(super) is_quiet: bool,
    /// Goals besides those of the run.
    pub(super) goals: &'a [Goal],
    /// Whether to fail if it cannot be told whether the goals are met.
    pub(super) is_strict: bool,
}

/// Prints what hosts did together.
///
/// # Errors
/// If a record cannot be read, or the report not be written.
pub(super) fn show(records: &[PathBuf], shown: &Shown<'_>, style: &Style) -> Result<Status> {
    let Shown { form, is_quiet, goals, is_strict } = *shown;
    let read = |host: usize| -> Result<Record> {
        let mut record = store::read(&records[host])?;
        record.header.plan.goals.extend_from_slice(goals);
        check_no_idle(&record.header.plan, &[])?;
        Ok(record)
    };
    let run = assess::together(records.len(), read)?.context("no host took part")?;
    let for_programs = || {
        if form.json {
            return Ok(report::json_of_together(&run, Terminal::default())?);
        }
        let called = run.hosts.iter().map(|host| host.called.as_str());
        csv(called.zip(records), |host, more| report::csv_rows_of_host(host, &run, more))
    };
    let for_programs = form.is_for_programs().then_some(for_programs);
    form::hand_out(|| report::together(&run), &form.document, style, for_programs)?;
    if !is_quiet {
        form::tell_document(&form.document)?;
    }
    let status = report::shortfall_of_together(&run).map_or(Status::DONE, Status::not_all);
    Ok(status.or_open_together(&run, is_strict))
}
