//! A report in the requested form.

use super::{say, tell};
use crate::args::form::FormArgs;
use crate::status::Status;
use crate::store::{self, Place};
use anyhow::{Context, Result, bail};
use assess::Assessment;
use model::record::End;
use report::Style;
use std::path::Path;

/// Refuses report files that could not be written later, before measuring anything.
///
/// # Errors
/// If such a path has another file, or cannot be written; or if both the record and a form go to
/// stdout.
pub fn check(form: &FormArgs, record: &Place) -> Result<()> {
    let printed = [
        ("--json", form.json),
        ("--markdown", form.markdown),
        ("--csv", form.csv),
        ("--svg", form.svg.is_some()),
    ];
    if let (Place::Stdout, Some((flag, _))) = (record, printed.iter().find(|(_, is)| *is)) {
        bail!(
            "--record - writes the record to stdout, where {flag} goes, too: leave one of them \
             out, or name a file for the record"
        );
    }
    form.svg_dir.iter().try_for_each(|folder| make_folder(folder))?;
    form.html.iter().chain(&form.openmetrics).try_for_each(|path| store::check_report(path))
}

/// Prints the report and writes the requested files. Returns the exit status.
///
/// # Errors
/// If stdout or a file cannot be written.
pub fn deliver(assessment: &Assessment, form: &FormArgs, style: &Style) -> Result<Status> {
    deliver_as(assessment, form, style, || report::text(assessment, style))
}

/// The same, with another `table` on the terminal.
///
/// # Errors
/// As for [`deliver`].
pub fn deliver_as(
    assessment: &Assessment,
    form: &FormArgs,
    style: &Style,
    table: impl FnOnce() -> String,
) -> Result<Status> {
    let text = match form {
        FormArgs { json: true, .. } => report::json(assessment),
        FormArgs { markdown: true, .. } => report::markdown(assessment),
        FormArgs { csv: true, .. } => report::csv(assessment),
        FormArgs { svg: Some(name), .. } => picture(assessment, name, style)?,
        _ => table(),
    };
    say(&text)?;
    if form.csv {
        tell_missing(assessment)?;
    }
    write_files(assessment, form)
}

/// Writes the requested files, and prints nothing. Returns the exit status.
///
/// # Errors
/// If one cannot be written.
pub fn write_files(assessment: &Assessment, form: &FormArgs) -> Result<Status> {
    if let Some(path) = &form.html {
        store::keep_report(path, &report::page(assessment))?;
    }
    if let Some(folder) = &form.svg_dir {
        keep_pictures(assessment, folder)?;
    }
    if let Some(path) = &form.openmetrics {
        store::keep_report(path, &report::openmetrics(assessment))?;
    }
    Ok(Status::of(assessment))
}

/// Says where the requested files are.
///
/// # Errors
/// If stderr cannot be written.
pub fn tell_files(form: &FormArgs) -> Result<()> {
    let places =
        [("page", &form.html), ("pictures", &form.svg_dir), ("metrics", &form.openmetrics)];
    let places = places.into_iter().filter_map(|(what, place)| Some((what, place.as_ref()?)));
    for (what, place) in places {
        tell(&format!("{what}: {}", place.display()))?;
    }
    Ok(())
}

fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| {
        format!("failed to create the folder '{}' for the pictures", folder.display())
    })
}

/// Writes every picture to `folder`, each as `NAME.svg`.
fn keep_pictures(assessment: &Assessment, folder: &Path) -> Result<()> {
    make_folder(folder)?;
    for report::Picture { name, .. } in report::pictures(assessment) {
        let picture = report::picture_alone(assessment, &name)?;
        store::keep_report(&folder.join(format!("{name}.svg")), &picture)?;
    }
    Ok(())
}

/// Prints what a table of trials cannot show: that the record is incomplete or has no trials.
fn tell_missing(assessment: &Assessment) -> Result<()> {
    match &assessment.end {
        End::Complete => {}
        End::Lost { .. } => tell("note: this host was lost before the run was complete")?,
        End::Interrupted => tell("note: the run was stopped before it was complete")?,
        End::Missing => tell("note: the record has no end: the run was cut off, or still runs")?,
    }
    for problem in &assessment.damage {
        tell(&format!("note: {problem}"))?;
    }
    if assessment.measured().all(|summary| summary.trials.is_empty()) {
        tell("note: the record has no trials, so the table has no rows")?;
    }
    Ok(())
}

fn picture(assessment: &Assessment, name: &str, style: &Style) -> Result<String> {
    let pictures = report::pictures(assessment);
    if pictures.is_empty() {
        bail!("there is no picture '{name}': this record has nothing to draw");
    }
    if name == "list" {
        let widest = pictures.iter().map(|it| it.name.chars().count()).max().unwrap_or(0);
        let entry = |it: &report::Picture| report::entry(&it.name, widest, &it.title, style);
        return Ok(pictures.iter().map(entry).collect());
    }
    Ok(report::picture_alone(assessment, name)?)
}
