//! Actors of a recipe: what runs beside the cases that name them.
//!
//! ```toml
//! [actors.writer]
//! op = "write"
//! cache = "direct"
//! allocation = "overwrite"
//!
//! [[cases]]
//! beside = ["none", "writer"]
//! ```
//! An actor has one value for each axis, and a file of its own.

use super::{Changes, Recipe, check_axes};
use crate::group;
use anyhow::{Context, Result, bail};
use model::actor;
use model::axis::Axis;
use model::case::Case;
use model::environment::Environment;
use model::plan::{Actor, Plan, Skip};
use model::sweep::product;
use model::units;

/// Checks the actors of a recipe.
///
/// # Errors
/// If a name or an axis of one is unknown.
pub(super) fn check(recipe: &Recipe) -> Result<()> {
    for (name, axes) in &recipe.actors {
        let of_actor = || format!("the actor '{}'", name.escape_debug());
        if !actor::is_name(name) {
            bail!("{}: a name has up to 32 letters, digits and -", of_actor());
        }
        let known: Vec<&str> = Axis::all_of(group::kind(axes))
            .map(|axis| axis.name)
            .filter(|n| *n != "beside")
            .collect();
        check_axes(axes, &known).with_context(of_actor)?;
    }
    Ok(())
}

/// Gives `plan` the actors that `cases` name. Cases with one that cannot run here become skips.
///
/// # Errors
/// If an actor is unknown, or has no single value for an axis.
pub(super) fn add(
    recipe: &Recipe,
    plan: &mut Plan,
    cases: &mut Vec<Case>,
    changes: &Changes,
    environment: &Environment,
) -> Result<()> {
    let mut refusals: Vec<(String, String)> = Vec::new();
    for name in cases.iter().flat_map(|case| &case.beside) {
        let is_known = plan.actors.iter().any(|actor| actor.name == *name);
        if is_known || refusals.iter().any(|(refused, _)| refused == name) {
            continue;
        }
        let actor = define(recipe, name, changes, environment)?;
        let there = || Some(format!("the actor '{name}': {}", environment.refusal(&actor.case)?));
        match actor.refusal().or_else(there) {
            Some(reason) => refusals.push((name.clone(), reason)),
            None => plan.actors.push(actor),
        }
    }
    let refusal = |case: &Case| {
        let refused = refusals.iter().find(|(name, _)| case.beside.contains(name));
        refused.map(|(_, reason)| reason.clone())
    };
    for case in std::mem::take(cases) {
        match refusal(&case) {
            Some(reason) => plan.skips.push(Skip { case, reason }),
            None => cases.push(case),
        }
    }
    Ok(())
}

/// The actor with this name. Of the command line, only a size changes it.
fn define(
    recipe: &Recipe,
    name: &str,
    changes: &Changes,
    environment: &Environment,
) -> Result<Actor> {
    let known: Vec<&str> = recipe.actors.keys().map(String::as_str).collect();
    let Some(axes) = recipe.actors.get(name) else {
        if known.is_empty() {
            bail!("the recipe '{}' has no actors, so nothing runs beside its cases", recipe.name);
        }
        bail!(units::unknown_name("actor", name, &known));
    };
    let mut only_size = Changes::default();
    only_size.axes.extend(changes.axes.get_key_value("size").map(|(k, v)| (k.clone(), v.clone())));
    let mut sweep = recipe.sweep(axes, &only_size, environment)?;
    // The recipe's axes for all groups may say what runs beside its cases.
    sweep.retain(|(axis, _)| axis != "beside");
    if let Some((axis, _)) = sweep.iter().find(|(_, values)| values.len() != 1) {
        bail!("the actor '{name}' needs one value for the axis '{axis}'");
    }
    let case = product(&sweep).with_context(|| format!("the actor '{name}'"))?.pop();
    let case = case.with_context(|| format!("the actor '{name}' does nothing"))?;
    Ok(Actor { name: name.to_string(), case })
}
