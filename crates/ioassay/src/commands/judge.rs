//! `ioassay judge`: what is made of the runs of commands: a report, a gate, or a trend.

use super::kept::{Kept, tell_how_to_go_on, tell_kept};
use super::measure::both::check_invocations;
use super::measure::judge::{self, Asked, JudgeTask, RECIPE};
use super::reference::ReferenceRecord;
use super::{compare, form, running, say, tell, watch};
use crate::args::judge::JudgeArgs;
use crate::resume::Interrupted;
use crate::status::Status;
use crate::stop::{Stop, keep_children};
use crate::store::{self, Place};
use anyhow::{Context, Result, bail};
use assess::gate::gate;
use assess::records::{Judged, RecordComparison};
use model::command::JudgedCommand;
use model::list::listed;
use model::record::Header;
use model::units;
use report::Style;
use std::path::Path;

/// Measures the commands and judges them. With a limit, the exit status is that of a gate.
///
/// # Errors
/// If a command is not understood, or nothing can be measured.
pub fn execute(args: &JudgeArgs, style: &Style) -> Result<Status> {
    if args.pid.is_some() || args.cgroup.is_some() {
        return running::execute(args, style);
    }
    if !args.fail_if.is_empty() && matches!(Place::of(args.record.as_deref()), Place::Stdout) {
        bail!("--record - writes the record to stdout, where the checks go, too: name a file");
    }
    let interrupted = args.resume.as_deref().map(Interrupted::open).transpose()?;
    let reference = args.against.as_deref().map(|path| reference(args, path)).transpose()?;
    let asked = Asked::of(args)?;
    if !args.fail_if.is_empty() && reference.is_none() {
        check_gate(&asked)?;
    }
    let stop = Stop::on_signals().context("failed to listen for signals")?;
    keep_children().context("failed to handle SIGCHLD")?;
    let output = judge::output_of(args);
    let export = args.export_json.as_deref();
    let task = JudgeTask { asked: &asked, output: &output, export, check: &|_| Ok(()) };
    if let Some(interval) = &args.interval {
        let interval = units::parse_time(interval)?;
        watch::check_folder(&output)?;
        let measure = || judge::keep(&task, None, &stop);
        return stop.status(watch::repeat(
            measure,
            (interval, args.count),
            (&output, args.strict),
            &stop,
            style,
        ));
    }
    stop.status(match args.fail_if.is_empty() {
        true => judge::judge(&task, interrupted, &stop, style),
        false => gated(args, task, (reference, interrupted), &stop, style),
    })
}

/// Measures the commands, and applies the limits.
fn gated(
    args: &JudgeArgs,
    task: JudgeTask,
    (reference, interrupted): (Option<ReferenceRecord>, Option<Interrupted>),
    stop: &Stop,
    style: &Style,
) -> Result<Status> {
    let output = task.output;
    let check = |header: &Header| reference.as_ref().map_or(Ok(()), |it| it.check(header));
    let task = JudgeTask { check: &check, ..task };
    let Some(kept) = judge::keep(&task, interrupted, stop)? else { return Ok(Status::DONE) };
    judge::export(&task, &kept)?;
    if stop.is_asked() {
        tell_kept(&kept, output)?;
        tell_stopped(output.quiet)?;
        if kept.record.is_kept() {
            tell_how_to_go_on(kept.record.path(), output)?;
        }
        return Ok(Status::DONE);
    }
    if let Some(path) = &args.form.openmetrics {
        let assessment = assess::assess(&store::read(kept.record.path())?);
        store::keep_report(path, &report::openmetrics(&assessment))?;
    }
    let status = match reference {
        Some(it) => held_against(args, it, &kept, style),
        None => held_against_first(args, &kept, style),
    };
    // Whatever the outcome, the record exists.
    tell_kept(&kept, output)?;
    status
}

/// The record that the commands are held against.
fn reference<'a>(args: &'a JudgeArgs, path: &'a Path) -> Result<ReferenceRecord<'a>> {
    let record = store::read(path).context("--against names a record of judge")?;
    if record.header.plan.recipe != RECIPE {
        bail!(
            "'{}' is no record of commands: 'ioassay gate {} --against' takes it",
            path.display(),
            record.header.plan.recipe
        );
    }
    Ok(ReferenceRecord { path, record, limits: &args.fail_if, folder: args.record.as_deref() })
}

/// Refuses a gate without another command, or with so few invocations that it decides nothing.
///
/// # Errors
/// If it is one.
pub(super) fn check_gate(asked: &Asked) -> Result<()> {
    check_invocations(asked.invocations)?;
    match names(asked.of_host.commands.iter())[..] {
        [one] => bail!(
            "--fail-if holds commands against the first one, and there is only '{one}': give \
             another command, or a record with --against"
        ),
        _ => Ok(()),
    }
}

/// The commands, each once, whatever the values of its parameters.
fn names<'a>(commands: impl Iterator<Item = &'a JudgedCommand>) -> Vec<&'a str> {
    let mut names: Vec<&str> = commands.map(|command| command.name.as_str()).collect();
    names.dedup();
    names
}

/// Says that a gate that was stopped has no outcome.
///
/// # Errors
/// If stderr cannot be written.
pub(super) fn tell_stopped(is_quiet: bool) -> Result<()> {
    if is_quiet { Ok(()) } else { tell("the run was stopped before its end, so nothing is judged") }
}

/// Holds the other commands of a record against its first one.
fn held_against_first(args: &JudgeArgs, kept: &Kept, style: &Style) -> Result<Status> {
    let record = store::read(kept.record.path())?;
    hand_out_among(args, &record.header, &assess::compare_commands(&record), style)
}

/// Applies the limits to the commands of a record with this header, of which the first is what the
/// others are held against.
///
/// # Errors
/// If there is nothing to compare, or the report cannot be written.
pub(super) fn hand_out_among(
    args: &JudgeArgs,
    header: &Header,
    versus: &RecordComparison,
    style: &Style,
) -> Result<Status> {
    let names = names(header.plan.judged_commands());
    let (first, others) = names.split_first().context("the record has no commands")?;
    hand_out(args, (versus, [first, &listed(others)]), style)
}

/// Holds the commands against those of another record.
fn held_against(
    args: &JudgeArgs,
    reference: ReferenceRecord,
    kept: &Kept,
    style: &Style,
) -> Result<Status> {
    let paths = [reference.path, kept.record.path()];
    let versus = compare::against(Judged::of(reference.record), paths, assess::compare)?;
    let paths = paths.map(compare::shown);
    hand_out(args, (&versus, paths.each_ref().map(String::as_str)), style)
}

/// Applies the limits, and prints what they decide.
///
/// # Errors
/// If there is nothing to compare, or the report cannot be written.
pub(super) fn hand_out(
    args: &JudgeArgs,
    (versus, sides): (&RecordComparison, [&str; 2]),
    style: &Style,
) -> Result<Status> {
    compare::check_gate(versus, sides)?;
    let gate = gate(versus, &args.fail_if);
    let form = &args.form;
    let json = || say(report::json_of_gate(versus, &gate, sides).trim_end());
    let document = || report::gate_run(versus, &gate, sides);
    form::hand_out(document, &form.document, style, form.json.then_some(json))?;
    if !args.quiet {
        form::tell_files(form)?;
    }
    Ok(compare::status_of(versus, &gate, args.strict))
}
