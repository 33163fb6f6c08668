//! fio's job files as recipes.
//!
//! `ioassay import fio JOB` prints a recipe that asks what the job asks, and `ioassay run JOB.fio`
//! runs it. Each option of fio has a row in a table: it has a counterpart, changes nothing that is
//! measured, is left out with a warning, or is refused with the reason. Nothing of a job file is
//! carried out: ioassay starts none of its programs, and writes to none of its files.

mod here;
mod quantity;
mod job_file;
mod note;
mod options;
mod asked;
mod order;
mod blocks;
mod engines;
mod facts;
mod extent;
mod writes;
mod work;
mod traps;
mod stages;
mod recipe_text;

use anyhow::{Result, bail};
use asked::Asked;
pub use here::Here;
use job_file::Section;
use note::sentences;
pub use note::{Note, NoteKind};
use recipe_text::{Remarks, comment};
use stages::Job;
use std::path::{Path, PathBuf};

/// A job file as a recipe.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedJobs {
    /// The recipe, as TOML with comments.
    pub text: String,
    /// What its author should know before running it, each in a sentence.
    pub warnings: Vec<String>,
    /// Where fio would run it.
    pub place: JobPlace,
}

/// Where a job file is to be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobPlace {
    /// It does not say: in the current directory, as with fio.
    Anywhere,
    /// In this directory.
    Directory(PathBuf),
    /// It names what ioassay cannot measure in, or several places.
    Unclear(String),
}

/// The recipe of the job file `text`, whose file is called `name`.
///
/// # Errors
/// If it is not a job file, or none of its jobs can be taken.
pub fn import(text: &str, name: &str, here: &Here) -> Result<ImportedJobs> {
    let sections = job_file::jobs(text, here)?;
    let read = Reading::of(&sections, here);
    let refused = sentences(&read.notes, NoteKind::Refused);
    if read.jobs.is_empty() {
        bail!("ioassay cannot take any of its jobs:\n  {}", refused.join("\n  "));
    }
    let groups = stages::groups(&read.jobs, &read.lost);
    let apart: Vec<String> = groups.apart.iter().map(said_apart).collect();
    let fooled = sentences(&read.notes, NoteKind::Fooled);
    let instead = sentences(&read.notes, NoteKind::Instead);
    let place = place_of(&read.places);
    let mut top = comment(&format!("What fio's job file {name} asks, as a recipe of ioassay."), "");
    top += &comment(&how_to_run(name, &place), "");
    top += "#\n";
    top += &comment(
        "Each case is measured in ten trials over five fresh starts. A trial takes a tenth of \
         fio's runtime, or 10 s without one, unless it is through with its file before.",
        "",
    );
    let quiet = quietly(&read.quiet);
    top += &recipe_text::remarks(&[
        Remarks { heading: "Not taken:", sentences: &refused },
        Remarks { heading: "Not at the same time, as in fio, but each alone:", sentences: &apart },
        Remarks { heading: "What might have fooled you:", sentences: &fooled },
        Remarks { heading: "What ioassay does otherwise:", sentences: &instead },
        Remarks { heading: "What changes nothing that is measured:", sentences: &quiet },
    ]);
    let question = read.question.unwrap_or_else(|| format!("What does fio's job file {name} ask?"));
    let text = format!("{top}\n{}", recipe_text::recipe(&stem(name), &question, &groups));
    let refused = refused.into_iter().map(|it| format!("not taken: {it}"));
    let apart = apart.into_iter().map(|it| format!("not at the same time: {it}"));
    let warnings = refused.chain(apart).chain(fooled).chain(instead).collect();
    Ok(ImportedJobs { text, warnings, place })
}

/// What was read of all jobs.
#[derive(Default)]
struct Reading {
    jobs: Vec<Job>,
    /// Jobs that cannot be taken, and their stages.
    lost: Vec<(String, u32)>,
    notes: Vec<Note>,
    quiet: Vec<String>,
    /// Where each job runs.
    places: Vec<JobPlace>,
    question: Option<String>,
}

impl Reading {
    fn of(sections: &[Section], here: &Here) -> Reading {
        let mut read = Reading::default();
        let mut stages: Vec<(String, u32)> = Vec::new();
        let mut base = 0;
        for section in sections {
            let asked = Asked::of(section);
            let stage = stages::stage_of(&asked, &stages, &mut base);
            stages.push((section.name.clone(), stage));
            let found = work::work(&asked);
            if let Some((_, Some(facts))) = &found {
                traps::tell(&asked, facts, here);
            }
            read.question = read.question.or(asked.text("description").map(str::to_string));
            let file = asked.text("filename").map(str::to_string);
            let place = job_place(asked.text("directory"), asked.text("filename"));
            match found.filter(|_| !asked.is_refused()) {
                Some((work, _)) => {
                    let (name, line) = (section.name.clone(), section.line);
                    read.jobs.push(Job { name, line, work, file, stage });
                    read.places.push(place);
                }
                None => read.lost.push((section.name.clone(), stage)),
            }
            let is_lost = read.lost.last().is_some_and(|(name, _)| *name == section.name);
            let (notes, quiet) = asked.into_notes();
            // What is said of a job that is not taken is only why.
            read.notes
                .extend(notes.into_iter().filter(|it| !is_lost || it.kind == NoteKind::Refused));
            read.quiet.extend(quiet);
        }
        read
    }
}

/// Where a job with this directory and file runs.
fn job_place(directory: Option<&str>, file: Option<&str>) -> JobPlace {
    let first = |names: &str| names.split(':').next().unwrap_or_default().to_string();
    let directory = directory.map(first).filter(|name| !name.is_empty());
    let file = file.map(first).filter(|name| !name.is_empty());
    if let Some(device) = file.as_deref().filter(|name| name.starts_with("/dev/")) {
        return JobPlace::Unclear(format!("the device {device}"));
    }
    let file = file.as_deref().map(Path::new);
    let of_file = file.and_then(Path::parent).filter(|parent| !parent.as_os_str().is_empty());
    match (directory, of_file) {
        (Some(directory), Some(below)) if below.is_relative() => {
            JobPlace::Directory(Path::new(&directory).join(below))
        }
        (Some(directory), _) => JobPlace::Directory(directory.into()),
        (None, Some(parent)) => JobPlace::Directory(parent.to_path_buf()),
        (None, None) => JobPlace::Anywhere,
    }
}

/// The place of all jobs.
fn place_of(places: &[JobPlace]) -> JobPlace {
    let first = places.first().cloned().unwrap_or(JobPlace::Anywhere);
    match places.iter().find(|place| **place != first) {
        Some(_) => JobPlace::Unclear("several places".to_string()),
        None => first,
    }
}

fn how_to_run(name: &str, place: &JobPlace) -> String {
    let run = format!("ioassay run {}.toml", stem(name));
    match place {
        JobPlace::Anywhere => {
            format!("Run it with '{run}' in the directory to measure, or name one: '{run} DIR'.")
        }
        JobPlace::Directory(directory) => {
            format!("Run it with '{run} {}', where fio would.", directory.display())
        }
        JobPlace::Unclear(what) => format!(
            "The job uses {what}, and ioassay measures with files of its own in one directory: \
             '{run} DIR'."
        ),
    }
}

/// A name for the recipe.
fn stem(name: &str) -> String {
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or("jobs");
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    stem.chars().map(plain).collect()
}

fn said_apart((jobs, reason): &(Vec<(String, usize)>, String)) -> String {
    let named = jobs.iter().map(|(job, line)| format!("[{job}] in line {line}"));
    format!("{}: {reason}. This changes the meaning", named.collect::<Vec<_>>().join(", "))
}

/// The names of options in one sentence, each once.
fn quietly(names: &[String]) -> Vec<String> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() { Vec::new() } else { vec![names.join(", ")] }
}

#[cfg(test)]
mod tests;
