//! Which jobs of a file run at the same time, and what that is in ioassay.

use super::asked::Asked;
use super::extent::Extent;
use super::facts::{Axes, Value};
use super::work::Work;
use model::actor;
use model::units;

/// A job that ioassay can do.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// Its name in the job file.
    pub name: String,
    /// Its line.
    pub line: usize,
    /// What it asks.
    pub work: Work,
    /// The file that it names.
    pub file: Option<String>,
    /// The jobs of one stage run at the same time.
    pub stage: u32,
}

/// A group of cases of the recipe.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    /// The jobs that it stands for.
    pub jobs: Vec<(String, usize)>,
    /// Its axes.
    pub axes: Axes,
}

/// The cases of the recipe, and what runs beside them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Groups {
    /// Groups of cases.
    pub cases: Vec<Group>,
    /// Actors by name.
    pub actors: Vec<(String, Axes)>,
    /// What the recipe cannot do at the same time: the jobs, and why.
    pub apart: Vec<(Vec<(String, usize)>, String)>,
}

/// The stage of a job, after those of the jobs before it.
pub(super) fn stage_of(asked: &Asked, before: &[(String, u32)], base: &mut u32) -> u32 {
    if asked.flag("stonewall") == Some(true) {
        *base = before.iter().map(|(_, stage)| stage + 1).max().unwrap_or(0);
    }
    let awaited = asked.text("wait_for");
    let awaited = awaited.and_then(|name| before.iter().find(|(job, _)| job == name));
    awaited.map_or(*base, |(_, stage)| (stage + 1).max(*base))
}

/// The groups of all jobs.
pub(super) fn groups(jobs: &[Job], lost: &[(String, u32)]) -> Groups {
    let mut groups = Groups::default();
    let last = jobs.iter().map(|job| job.stage).max();
    for stage in 0..=last.unwrap_or(0) {
        let at_once: Vec<&Job> = jobs.iter().filter(|job| job.stage == stage).collect();
        let lost: Vec<&str> =
            lost.iter().filter(|(_, at)| *at == stage).map(|(name, _)| name.as_str()).collect();
        add_stage(&mut groups, &at_once, &lost);
    }
    groups
}

/// Jobs that ask the same with files of their own are one job with more copies.
fn merged(at_once: &[&Job]) -> Vec<(Vec<(String, usize)>, Job)> {
    let mut merged: Vec<(Vec<(String, usize)>, Job)> = Vec::new();
    for job in at_once {
        let place = (job.name.clone(), job.line);
        let same = merged.iter_mut().find(|(_, other)| {
            other.file == job.file
                && Work { copies: 0, ..other.work.clone() }
                    == Work { copies: 0, ..job.work.clone() }
        });
        match same {
            Some((places, other)) => {
                places.push(place);
                other.work.copies += job.work.copies;
            }
            None => merged.push((vec![place], (*job).clone())),
        }
    }
    merged
}

/// Adds the jobs of one stage.
fn add_stage(groups: &mut Groups, at_once: &[&Job], lost: &[&str]) {
    let merged = merged(at_once);
    let places = || merged.iter().flat_map(|(places, _)| places.clone()).collect::<Vec<_>>();
    if !lost.is_empty() && !merged.is_empty() {
        let reason = format!("{} would run beside, and is not taken", named(lost));
        groups.apart.push((places(), reason));
    }
    let alone = |(places, job): &(Vec<(String, usize)>, Job)| Group {
        jobs: places.clone(),
        axes: whole_axes(&job.work),
    };
    if merged.len() < 2 {
        groups.cases.extend(merged.iter().map(alone));
        return;
    }
    let actors = actors(&merged, groups.actors.len());
    let actors = match actors {
        Ok(actors) => actors,
        Err(reason) => {
            groups.apart.push((places(), reason));
            groups.cases.extend(merged.iter().map(alone));
            return;
        }
    };
    for (index, job) in merged.iter().enumerate() {
        let others = actors.iter().enumerate().filter(|(other, _)| *other != index);
        let others: Vec<&str> = others.map(|(_, (name, _))| name.as_str()).collect();
        let mut group = alone(job);
        if actors[index].1.contains_key("file") {
            share_file(&mut group.axes);
        }
        // Actors are not ended by work, so neither is the case beside them.
        group.axes.remove("ops");
        group.axes.insert("beside", Value::Text(others.join(actor::SEPARATOR)));
        groups.cases.push(group);
    }
    groups.actors.extend(actors);
}

/// Changes a case so that others can use its file meanwhile.
fn share_file(axes: &mut Axes) {
    if axes.contains_key("op") {
        axes.insert("allocation", "overwrite".into());
    }
    if axes.get("cache") == Some(&"cold".into()) {
        axes.insert("cache", "as-is".into());
    }
}

fn named(names: &[&str]) -> String {
    names.iter().map(|name| format!("[{name}]")).collect::<Vec<_>>().join(", ")
}

/// The axes of work with all its copies.
fn whole_axes(work: &Work) -> Axes {
    let Work { axes, extent, rate, copies, has_own_files } = work;
    let mut axes = axes.clone();
    if *copies > 1 {
        axes.insert("threads", Value::Number(*copies));
    }
    if let Some(rate) = rate {
        axes.insert("rate", Value::Number(rate.saturating_mul(*copies)));
    }
    let Extent { bytes, ops } = extent;
    if *bytes > 0 {
        let parts = if *has_own_files { *copies } else { 1 };
        axes.insert("size", Value::Text(units::bytes(bytes.saturating_mul(parts))));
        if let Some(ops) = ops {
            let most = if *has_own_files { *copies } else { 1 };
            axes.insert("ops", Value::Number(ops.saturating_mul(most)));
        }
    }
    axes
}

/// Each job as an actor beside the others.
///
/// # Errors
/// Why they cannot be actors.
fn actors(
    merged: &[(Vec<(String, usize)>, Job)],
    before: usize,
) -> Result<Vec<(String, Axes)>, String> {
    if merged.len() > actor::MOST + 1 {
        return Err(format!("ioassay runs up to {} jobs beside one", actor::MOST));
    }
    let file = &merged[0].1.file;
    let share = file.is_some() && merged.iter().all(|(_, job)| job.file == *file);
    let some_share = merged.iter().enumerate().any(|(index, (_, job))| {
        job.file.is_some() && merged[..index].iter().any(|(_, other)| other.file == job.file)
    });
    if some_share && !share {
        return Err("some of them use one file, and others files of their own".to_string());
    }
    let mut actors = Vec::new();
    for (index, (_, job)) in merged.iter().enumerate() {
        let mut axes = actor_axes(job)?;
        if share {
            if axes.get("size") != whole_axes(&merged[0].1.work).get("size") {
                return Err("they use one file, but not as much of it".to_string());
            }
            axes.insert("file", "case".into());
        }
        actors.push((actor_name(&job.name, before + index), axes));
    }
    if share && merged.iter().filter(|(_, job)| job.work.axes.contains_key("op")).count() > 1 {
        return Err("several of them write one file, and nobody knows what that leaves".to_string());
    }
    Ok(actors)
}

/// The axes of a job as an actor, which goes on for as long as the case does.
fn actor_axes(job: &Job) -> Result<Axes, String> {
    let mut axes = whole_axes(&job.work);
    let is = |axis: &str, value: &str| job.work.axes.get(axis) == Some(&value.into());
    if axes.contains_key("call") || is("engine", "null") {
        return Err(format!("[{}] reads and writes no file beside others", job.name));
    }
    if axes.contains_key("read_share") {
        return Err(format!(
            "[{}] mixes reads and writes, which nothing beside others does",
            job.name
        ));
    }
    if matches!(axes.get("block"), Some(Value::Texts(_))) {
        return Err(format!("[{}] has several sizes of blocks", job.name));
    }
    if axes.contains_key("op") {
        let is_ended = ["fsync", "fdatasync", "msync"].iter().any(|sync| is("sync", sync));
        if is_ended && !axes.contains_key("every") {
            return Err(format!("[{}] would end with its sync, long before the others", job.name));
        }
        axes.insert("allocation", "overwrite".into());
    }
    axes.remove("ops");
    axes.remove("time");
    if is("cache", "cold") || is("cache", "warm") {
        axes.insert("cache", "as-is".into());
    }
    Ok(axes)
}

/// A name for an actor: that of the job, as far as an actor can have it.
fn actor_name(job: &str, number: usize) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = job.chars().map(plain).take(24).collect();
    format!("{}-{}", name.trim_matches('-'), number + 1).trim_start_matches('-').to_string()
}
