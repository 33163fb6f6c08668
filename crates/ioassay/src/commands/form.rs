//! A report in the requested form.

use super::{say, tell};
use crate::args::form::{DocumentArgs, FormArgs};
use crate::status::Status;
use crate::store::{self, Place};
use anyhow::{Context, Result, bail};
use assess::Assessment;
use model::record::End;
use report::{Document, Style};
use std::path::Path;

/// Refuses report files that could not be written later, before measuring anything.
///
/// # Errors
/// If such a path has another file, or cannot be written; or if both the record and a form go to
/// stdout.
pub fn check(form: &FormArgs, record: &Place) -> Result<()> {
    let printed = [
        ("--json", form.json),
        ("--markdown", form.document.markdown),
        ("--csv", form.csv),
        ("--svg", form.document.svg.is_some()),
    ];
    if let (Place::Stdout, Some((flag, _))) = (record, printed.iter().find(|(_, is)| *is)) {
        bail!(
            "--record - writes the record to stdout, where {flag} goes, too: leave one of them \
             out, or name a file for the record"
        );
    }
    form.openmetrics.iter().try_for_each(|path| store::check_report(path))?;
    check_files(&form.document)
}

/// The same of the files of a document.
///
/// # Errors
/// If such a path has another file, or cannot be written.
pub fn check_files(form: &DocumentArgs) -> Result<()> {
    form.svg_dir.iter().try_for_each(|folder| make_folder(folder))?;
    form.html.iter().try_for_each(|path| store::check_report(path))
}

/// Prints the report of a run, which has the form for people that `make` makes, and writes the
/// requested files. Returns the exit status.
///
/// # Errors
/// If stdout or a file cannot be written.
pub fn deliver<'a>(
    assessment: &Assessment,
    make: impl FnOnce() -> Document<'a>,
    form: &FormArgs,
    style: &Style,
) -> Result<Status> {
    let metrics = keep_metrics(assessment, form);
    let for_programs = || {
        if form.json {
            return say(&report::json(assessment));
        }
        say(&report::csv(assessment))?;
        tell_missing(assessment)
    };
    let for_programs = form.is_for_programs().then_some(for_programs);
    hand_out(make, &form.document, style, for_programs)?;
    metrics?;
    Ok(Status::of(assessment))
}

/// Writes the requested files, and prints nothing. Returns the exit status.
///
/// # Errors
/// If one cannot be written.
pub fn write_files<'a>(
    assessment: &Assessment,
    make: impl FnOnce() -> Document<'a>,
    form: &FormArgs,
) -> Result<Status> {
    if form.document.has_files() {
        keep(&make(), &form.document)?;
    }
    keep_metrics(assessment, form)?;
    Ok(Status::of(assessment))
}

fn keep_metrics(assessment: &Assessment, form: &FormArgs) -> Result<()> {
    match &form.openmetrics {
        Some(path) => store::keep_report(path, &report::openmetrics(assessment)),
        None => Ok(()),
    }
}

/// Prints a report, for programs if there is such a form to print, and writes its page and its
/// pictures. Neither is lost because the other fails, and the document is made only if one of them
/// shows it.
///
/// # Errors
/// If stdout or a file cannot be written.
pub fn hand_out<'a>(
    make: impl FnOnce() -> Document<'a>,
    form: &DocumentArgs,
    style: &Style,
    for_programs: Option<impl FnOnce() -> Result<()>>,
) -> Result<()> {
    let Some(for_programs) = for_programs else {
        let document = if form.all { make().with_all_findings() } else { make() };
        let kept = keep(&document, form);
        print(&document, form, style)?;
        return kept;
    };
    let kept = if form.has_files() { keep(&make(), form) } else { Ok(()) };
    for_programs()?;
    kept
}

/// Prints a document in the requested form.
///
/// # Errors
/// If it has no such picture, or stdout cannot be written.
fn print(document: &Document, form: &DocumentArgs, style: &Style) -> Result<()> {
    say(match form {
        DocumentArgs { markdown: true, .. } => document.markdown(),
        DocumentArgs { svg: Some(name), .. } => picture(document, name, style)?,
        _ => document.text(style),
    }
    .trim_end())
}

/// Writes the requested page and pictures of a document.
///
/// # Errors
/// If one cannot be written.
fn keep(document: &Document, form: &DocumentArgs) -> Result<()> {
    if let Some(path) = &form.html {
        store::keep_report(path, &document.page())?;
    }
    if let Some(folder) = &form.svg_dir {
        make_folder(folder)?;
        for report::Picture { name, .. } in document.pictures() {
            let picture = document.picture_alone(name)?;
            store::keep_report(&folder.join(format!("{name}.svg")), &picture)?;
        }
    }
    Ok(())
}

/// Says where the requested files are.
///
/// # Errors
/// If stderr cannot be written.
pub fn tell_files(form: &FormArgs) -> Result<()> {
    tell_document(&form.document)?;
    match &form.openmetrics {
        Some(path) => tell(&format!("metrics: {}", path.display())),
        None => Ok(()),
    }
}

/// Says where the page and the pictures are.
///
/// # Errors
/// If stderr cannot be written.
pub fn tell_document(form: &DocumentArgs) -> Result<()> {
    let places = [("page", &form.html), ("pictures", &form.svg_dir)];
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

fn picture(document: &Document, name: &str, style: &Style) -> Result<String> {
    let pictures: Vec<&report::Picture> = document.pictures().collect();
    if pictures.is_empty() {
        bail!("--svg {name}: this report has nothing to draw");
    }
    if name == "list" {
        let widest = pictures.iter().map(|it| it.name.chars().count()).max().unwrap_or(0);
        let entry = |it: &&report::Picture| report::entry(&it.name, widest, &it.title, style);
        return Ok(pictures.iter().map(entry).collect());
    }
    Ok(document.picture_alone(name)?)
}
