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
//! An actor has one value for each axis, and a file of its own. With `file = "case"`, it uses that
//! of the case beside which it runs. An actor with a `kernel` runs over memory, as much of the time
//! as its `duty` says.

use super::{Changes, Recipe, fallback};
use crate::group::{self, AxisGrid, ValueList, check_axes};
use anyhow::{Context, Result, bail};
use model::actor::{self, Duty};
use model::axis::Axis;
use model::case::Case;
use model::company;
use model::environment::Environment;
use model::plan::{Actor, ActorFile, Plan, Skip};
use model::sharing;
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
        let names = Axis::all_of(group::kind(axes)).map(|axis| axis.name);
        let known: Vec<&str> = names.filter(|n| *n != "beside").chain([FILE, DUTY]).collect();
        check_axes(axes, &known).with_context(of_actor)?;
        file_of(axes).with_context(of_actor)?;
        duty_of(axes).with_context(of_actor)?;
    }
    Ok(())
}

/// The key of an actor that is not one of its axes: which file it uses.
const FILE: &str = "file";

/// The file of an actor with these axes.
///
/// # Errors
/// If its value is unknown.
fn file_of(axes: &AxisGrid) -> Result<ActorFile> {
    match axes.get(FILE).map(ValueList::texts).as_deref() {
        None => Ok(ActorFile::Own),
        Some([text]) => Ok(text.parse()?),
        Some(_) => bail!("'{FILE}' takes one value"),
    }
}

/// The key of how much of the time an actor runs over memory: `"50%"`.
const DUTY: &str = "duty";

/// The duty of an actor with these axes.
///
/// # Errors
/// If its value is no percentage.
fn duty_of(axes: &AxisGrid) -> Result<Duty> {
    match axes.get(DUTY).map(ValueList::texts).as_deref() {
        None => Ok(Duty::WHOLE),
        Some([text]) => Ok(text.parse()?),
        Some(_) => bail!("'{DUTY}' takes one value"),
    }
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
        let mut actor = define(recipe, name, changes, environment)?;
        if recipe.falls_back(changes) {
            // Its work is not a row of its own, so nothing is skipped.
            fallback::replace([&mut actor.case], environment.host);
        }
        let there = || Some(format!("the actor '{name}': {}", environment.refusal(&actor.case)?));
        match actor.refusal().or_else(there) {
            Some(reason) => refusals.push((name.clone(), reason)),
            None => plan.actors.push(actor),
        }
    }
    let refusal = |plan: &Plan, case: &Case| {
        let refused = refusals.iter().find(|(name, _)| case.beside.contains(name));
        let refused = refused.map(|(_, reason)| reason.clone());
        refused
            .or_else(|| sharing::refusal(case, plan.beside(case)))
            .or_else(|| company::refusal(case, plan.beside(case), environment))
    };
    for case in std::mem::take(cases) {
        match refusal(plan, &case) {
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
    Ok(Actor { file: file_of(axes)?, duty: duty_of(axes)?, ..Actor::own(name, case) })
}
