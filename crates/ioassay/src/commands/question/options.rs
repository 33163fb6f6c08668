//! What options that are no axes change in a plan, and when they are refused.

use super::refuse;
use crate::args::axes::AxisArgs;
use crate::args::{OutputArgs, RunArgs};
use crate::group::{self, ValueList};
use crate::recipe::{Changes, Recipe, Relative};
use anyhow::{Result, bail};
use assess::prune;
use assess::stats::LOOKS;
use model::axis;
use model::case::{Case, Work, WriteWork};
use model::goal::Requirement;
use model::plan::{Plan, Role};
use model::units;
use std::time::Duration;

/// What the command line changes in the recipe.
pub(crate) fn changes_of(args: &RunArgs) -> Changes {
    let RunArgs { rounds, invocations, seed, no_ceilings, .. } = *args;
    let axes = axes_of(&args.axes);
    Changes { axes, rounds, invocations, seed, no_ceilings, ..Changes::default() }
}

pub(super) fn axes_of(args: &AxisArgs) -> group::AxisGrid {
    let values = args.0.iter();
    values.map(|(axis, texts)| (axis.to_string(), ValueList::from_texts(texts.clone()))).collect()
}

/// The goals of `--hold`, which are about response times.
pub(super) fn hold_of(args: &RunArgs) -> Result<Vec<Requirement>> {
    if let Some(other) = args.hold.iter().find(|goal| goal.of_responses().is_none()) {
        bail!(
            "--hold finds the rates at which response times meet goals such as p99<1ms, and \
             '{other}' is not about response times: use --goal '{other}'"
        );
    }
    Ok(args.hold.clone())
}

/// The rate of `--at-least`.
pub(super) fn least_of(text: &str) -> Result<u64> {
    match axis::parse_rate(text)? {
        0 => bail!("--at-least needs a rate, such as 40k"),
        rate => Ok(rate),
    }
}

/// The time that a run is given.
///
/// # Errors
/// If it is no time.
pub(crate) fn budget_of(output: &OutputArgs) -> Result<Option<Duration>> {
    Ok(output.budget.as_deref().map(units::parse_time).transpose()?)
}

/// Sets what ends a run before or after the planned rounds: the time that it is given, and pruning.
///
/// # Errors
/// If the plan is too small for that.
pub(crate) fn set_ends(plan: &mut Plan, budget: Option<Duration>, prunes: bool) -> Result<()> {
    give_time(plan, budget)?;
    if prunes { prune_plan(plan) } else { Ok(()) }
}

/// Sets the time of a run. Only several invocations show which intervals are wide.
fn give_time(plan: &mut Plan, budget: Option<Duration>) -> Result<()> {
    check_budget(plan.invocations, budget)?;
    if budget.is_some() && !plan.hold.is_empty() {
        bail!(
            "--for narrows the intervals of rates, and --hold judges response times: use --rounds \
             instead"
        );
    }
    plan.budget = budget;
    Ok(())
}

/// Refuses a time for so few invocations.
///
/// # Errors
/// If there are.
pub(crate) fn check_budget(invocations: u32, budget: Option<Duration>) -> Result<()> {
    if budget.is_some() && invocations < INVOCATIONS_LEAST {
        bail!("--for needs at least {INVOCATIONS_LEAST} invocations: they show what varies most");
    }
    Ok(())
}

/// The least number of invocations of a run that is given a time.
const INVOCATIONS_LEAST: u32 = 3;

/// Prunes axes on which throughput no longer grows.
fn prune_plan(plan: &mut Plan) -> Result<()> {
    if !prune::is_possible(plan) {
        bail!(
            "--prune needs four or more values of --threads, --depth or --block, without a rate: \
             '{}' has fewer",
            plan.recipe
        );
    }
    // An invocation after the third, or a round after the first look.
    let has_rest = match plan.invocations {
        0 | 1 => plan.rounds > LOOKS[0],
        invocations => invocations > INVOCATIONS_LEAST || plan.budget.is_some(),
    };
    if !has_rest {
        bail!(
            "--prune decides after {INVOCATIONS_LEAST} invocations, or after {} rounds of one, and \
             this run has no more: use --rounds, --invocations or --for",
            LOOKS[0]
        );
    }
    plan.prune = true;
    Ok(())
}

/// Refuses goals that no case of a plan, nor one of `loads`, can meet or miss.
///
/// # Errors
/// If there is one.
pub(in crate::commands) fn check_no_idle(plan: &Plan, loads: &[Case]) -> Result<()> {
    let asked = plan.cases.iter().filter(|planned| planned.role == Role::Asked);
    let skipped = plan.skips.iter().map(|skip| &skip.case);
    let cases: Vec<&Case> = asked.map(|it| &it.case).chain(skipped).chain(loads).collect();
    if let Some(idle) = plan.goals.iter().find(|goal| !cases.iter().any(|case| goal.is_about(case)))
    {
        let of = idle.of.iter().map(|(axis, value)| format!(" {axis} {value}"));
        bail!(
            "the goal '{}' is about no case of '{}'{}: none has such a figure",
            idle.must,
            plan.recipe,
            of.collect::<String>()
        );
    }
    Ok(())
}

/// Refuses goals that no case can meet or miss, and those of `--hold` for cases without rates.
pub(super) fn check_goals(plan: &Plan, loads: &[Relative]) -> Result<()> {
    let is_relative = !loads.is_empty();
    check_no_idle(plan, &loads.iter().map(|load| load.at(1)).collect::<Vec<_>>())?;
    let has_rates = plan.cases.iter().any(|planned| planned.case.is_open());
    if !plan.hold.is_empty() && !has_rates && !is_relative {
        bail!(
            "--hold is about rates, and '{}' has none: run the recipe load, or add --rate 10%,50%",
            plan.recipe
        );
    }
    if plan.at_least.is_some() && !is_relative {
        bail!(
            "--at-least needs rates that are shares of what a closed loop does: run the recipe \
             load, or add --rate 10%,50%"
        );
    }
    Ok(())
}

/// Duration of a trial if trials follow each other.
const SUSTAINED_TRIAL: Duration = Duration::from_secs(10);

/// The least time of a run that goes on for all of it: ten steps of progress.
const WHOLE_LEAST: Duration = Duration::from_secs(1);

/// Maximum time for a case: all its trials must be judgeable ([`model::record::TRIALS_MAX`]).
const SUSTAINED_MOST: Duration = Duration::from_secs(48 * 60 * 60);

/// How long the trials of a case follow each other.
#[derive(Debug, Clone, Copy)]
pub struct SustainedTime {
    /// The option that sets it.
    option: &'static str,
    /// The time for each case.
    time: Duration,
    /// Whether they go on although the rate is steady.
    is_whole: bool,
}

/// How long the trials of a case follow each other, if they do: until the rate is steady with
/// `--sustain`, or for the whole time of a recipe that says so, or that `--for` gives it.
pub(super) fn sustain_of(args: &RunArgs, recipe: &Recipe) -> Result<Option<SustainedTime>> {
    if let Some(time) = &args.sustain {
        let time = units::parse_time(time)?;
        return Ok(Some(SustainedTime { option: "--sustain", time, is_whole: false }));
    }
    let Some(usual) = &recipe.sustain else { return Ok(None) };
    let given = [
        ("--rounds", args.rounds.is_some()),
        ("--invocations", args.invocations.is_some()),
        ("--prune", args.prune),
        ("--control", args.output.control),
        ("--hold", !args.hold.is_empty()),
        ("--goal", !args.goal.is_empty()),
    ];
    if let Some((flag, _)) = given.iter().find(|(_, is_given)| *is_given) {
        bail!(
            "'{}' follows one rate over time, so it has no rounds that {flag} could apply to: \
             leave it out",
            recipe.name
        );
    }
    let time = units::parse_time(args.output.budget.as_deref().unwrap_or(usual))?;
    Ok(Some(SustainedTime { option: "--for", time, is_whole: true }))
}

/// Changes a plan so that trials follow each other, for all cases that support it.
pub(super) fn sustain_plan(plan: &mut Plan, sustained: SustainedTime) -> Result<()> {
    let SustainedTime { option, time, is_whole } = sustained;
    let least = if is_whole { WHOLE_LEAST } else { SUSTAINED_TRIAL };
    if time < least {
        bail!("{option} needs at least {}", units::time(least));
    }
    if time > SUSTAINED_MOST {
        bail!("{option} takes at most {}", units::time(SUSTAINED_MOST));
    }
    let asked = plan.cases.iter().filter(|planned| planned.role == Role::Asked);
    let skipped = plan.skips.iter().map(|skip| &skip.case);
    if asked.map(|planned| &planned.case).chain(skipped).all(|case| case.write().is_none()) {
        bail!("--sustain keeps writing, and '{}' writes nothing: leave it out", plan.recipe);
    }
    (plan.sustain, plan.whole_time) = (Some(time), is_whole);
    plan.invocations = 1;
    plan.cases.retain(|planned| planned.role == Role::Asked);
    refuse(plan, |case| {
        if !case.beside.is_empty() {
            return Some("--sustain measures a case alone: use --beside none".to_string());
        }
        let goes_on = case.write().is_some_and(WriteWork::repeats);
        let reason = match case.write() {
            None => "--sustain keeps writing, and this case writes nothing",
            Some(_) => {
                "--sustain writes the same file again and again: use --allocation overwrite --ops \
                 0, and a sync every so many blocks (such as --sync-every 8), or none"
            }
        };
        (!goes_on).then(|| reason.to_string())
    });
    for planned in &mut plan.cases {
        if let Work::Write(work) = &mut planned.case.work {
            work.io.time = SUSTAINED_TRIAL.min(time);
        }
    }
    Ok(())
}
