//! The recipes of the program, and those in files.

use super::jobs::{is_job_file, of_jobs};
use super::{Recipe, file, parse};
use anyhow::{Context, Result, bail};
use model::plan::Plan;
use model::units;
use model::view::View;
use std::path::Path;

/// The built-in recipes.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("survey", include_str!("../../recipes/survey.toml")),
    ("page-latency", include_str!("../../recipes/page-latency.toml")),
    ("read-methods", include_str!("../../recipes/read-methods.toml")),
    ("uring-ladder", include_str!("../../recipes/uring-ladder.toml")),
    ("memory", include_str!("../../recipes/memory.toml")),
    ("loaded-latency", include_str!("../../recipes/loaded-latency.toml")),
    ("count-tens", include_str!("../../recipes/count-tens.toml")),
    ("compilers", include_str!("../../recipes/compilers.toml")),
    ("write-strategies", include_str!("../../recipes/write-strategies.toml")),
    ("touch-pages", include_str!("../../recipes/touch-pages.toml")),
    ("sync-latency", include_str!("../../recipes/sync-latency.toml")),
    ("load", include_str!("../../recipes/load.toml")),
    ("depth", include_str!("../../recipes/depth.toml")),
    ("steady", include_str!("../../recipes/steady.toml")),
    ("interference", include_str!("../../recipes/interference.toml")),
    ("oltp", include_str!("../../recipes/oltp.toml")),
    ("lsm", include_str!("../../recipes/lsm.toml")),
    ("mixed", include_str!("../../recipes/mixed.toml")),
    ("cluster", include_str!("../../recipes/cluster.toml")),
    ("metadata", include_str!("../../recipes/metadata.toml")),
    ("etcd", include_str!("../../recipes/etcd.toml")),
    ("postgres", include_str!("../../recipes/postgres.toml")),
    ("sqlite", include_str!("../../recipes/sqlite.toml")),
    ("kafka", include_str!("../../recipes/kafka.toml")),
    ("vm-image", include_str!("../../recipes/vm-image.toml")),
    ("checkpoint", include_str!("../../recipes/checkpoint.toml")),
    ("dataset", include_str!("../../recipes/dataset.toml")),
    ("stream", include_str!("../../recipes/stream.toml")),
    ("model-load", include_str!("../../recipes/model-load.toml")),
];

/// The built-in recipe with this name, or the recipe in the file at this path, or that of fio's job
/// file there.
///
/// # Errors
/// If there is none, or it is invalid. The error names the place in the TOML.
pub fn find(name: &str) -> Result<Recipe> {
    if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return parse(text).with_context(|| format!("built-in recipe '{name}'"));
    }
    if is_job_file(name) {
        return of_jobs(name);
    }
    if !name.ends_with(".toml") && !Path::new(name).exists() {
        let hint = match name {
            // A command, and the name of the recipe in its records.
            "judge" => "'ioassay judge COMMAND --every TIME' repeats commands",
            _ => "a path to a TOML file works too",
        };
        bail!("{} ({hint})", unknown(name));
    }
    parse(&file::read(name)?).with_context(|| format!("the recipe '{name}' is broken"))
}

/// The text of a built-in recipe.
///
/// # Errors
/// If no built-in recipe has this name.
pub fn text(name: &str) -> Result<&'static str> {
    let found = BUILT_IN.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text).ok_or_else(|| unknown(name).into())
}

/// The view of a plan, or that of the built-in recipe with its name if an older program wrote the
/// plan without one.
pub fn view_of(plan: &Plan) -> View {
    let built_in = || Some(parse(text(&plan.recipe).ok()?).ok()?.view);
    plan.view.clone().or_else(built_in).unwrap_or_default()
}

/// The error for a name that no recipe has.
fn unknown(name: &str) -> units::ParseError {
    let known: Vec<&str> = BUILT_IN.iter().map(|(known, _)| *known).collect();
    units::unknown_name("recipe", name, &known)
}
