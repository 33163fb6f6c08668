//! `ioassay watch`: repeats a recipe.

use super::kept::{Kept, tell_kept};
use super::question;
use super::{dry, form, measure, say};
use crate::args::{OutputArgs, WatchArgs};
use crate::status::Status;
use crate::stop::Stop;
use crate::store::{self, Place};
use anyhow::{Context, Result, bail};
use assess::trend::Trends;
use model::units;
use report::Style;
use std::time::{Duration, Instant};

/// Repeats the recipe until the last run, or until a signal. Each run has its own record, and the
/// trend is printed after each. Returns the most severe exit status of the runs.
///
/// # Errors
/// If the question is not understood, or the first run fails. If a later run fails, that is
/// printed, and the next one follows.
pub fn execute(args: &WatchArgs, style: &Style) -> Result<Status> {
    let interval = units::parse_time(&args.interval)?;
    let question = question::of_run(&args.run)?;
    let output = &args.run.output;
    check_folder(output)?;
    if output.dry_run {
        return dry::show(&question, output, style);
    }
    let stop = Stop::on_signals().context("failed to listen for signals")?;
    let measure = || measure::keep(&question, None, output, &stop);
    let strict = question.is_strict;
    stop.status(repeat(measure, (interval, args.count), (output, strict), &stop, style))
}

/// Refuses to keep the records of all runs in one file.
///
/// # Errors
/// If `--record` names one.
pub(super) fn check_folder(output: &OutputArgs) -> Result<()> {
    if let Place::File(_) | Place::Stdout = Place::of(output.record.as_deref()) {
        bail!("--record names a folder for the records of a watch, which has a file for each run");
    }
    Ok(())
}

/// Repeats what `measure` does, so often or until a signal. If it `is_strict`, goals must be met
/// for sure.
///
/// # Errors
/// As for [`execute`].
pub(super) fn repeat(
    measure: impl Fn() -> Result<Option<Kept>>,
    (interval, count): (Duration, Option<u32>),
    (output, is_strict): (&OutputArgs, bool),
    stop: &Stop,
    style: &Style,
) -> Result<Status> {
    let mut trends = Trends::default();
    let mut status = Status::DONE;
    for number in 1.. {
        let began = Instant::now();
        match measure() {
            Ok(None) => break,
            Ok(Some(kept)) => {
                let told = tell(&kept, &mut trends, number, (output, is_strict), style)?;
                status = status.or_worse(told);
            }
            Err(error) if number == 1 || stop.is_asked() => return Err(error),
            Err(error) => {
                let why = format!("run {number} failed: {error:#}");
                super::tell(&why)?;
                trends.add_failed();
                status = status.or_worse(Status::not_all(why));
            }
        }
        if stop.is_asked() || count.is_some_and(|count| number >= count as usize) {
            break;
        }
        wait(began, interval, output, stop)?;
        if stop.is_asked() {
            break;
        }
    }
    Ok(status)
}

/// Judges a run and prints the trend, or the report in the requested form.
fn tell(
    kept: &Kept,
    trends: &mut Trends,
    number: usize,
    (output, is_strict): (&OutputArgs, bool),
    style: &Style,
) -> Result<Status> {
    let assessment = assess::assess(&store::read(kept.record.path())?);
    trends.add(&assessment);
    // Separates runs with a blank line.
    let form = &output.form;
    if number > 1 && !form.is_for_programs() && form.document.svg.is_none() {
        say("")?;
    }
    let document = || report::trend(trends, &assessment, number);
    let status = form::deliver(&assessment, document, form, style)?;
    let status = status.or_open(&assessment, is_strict);
    tell_kept(kept, output)?;
    if !output.quiet {
        form::tell_files(&output.form)?;
    }
    Ok(status)
}

/// Waits until `interval` has passed since `began`, or until a signal.
fn wait(began: Instant, interval: Duration, output: &OutputArgs, stop: &Stop) -> Result<()> {
    let taken = began.elapsed();
    if taken > interval && !output.quiet {
        let taken = units::time(Duration::from_secs(taken.as_secs().max(1)));
        let interval = units::time(interval);
        super::tell(&format!(
            "the run took {taken}, longer than {interval}: the next one begins at once"
        ))?;
    }
    stop.wait(interval.saturating_sub(taken));
    Ok(())
}
