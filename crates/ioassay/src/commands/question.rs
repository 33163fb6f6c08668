//! A question from the command line: its subject, its place, and the plan that answers it.

pub mod fit;
mod options;
mod place;
mod target;

use super::tell;
use crate::args::gate::GateArgs;
use crate::args::{RunArgs, SurveyArgs};
use crate::bind;
use crate::device;
use crate::directory::Directory;
use crate::files::{CopySource, Target};
use crate::peers::Peers;
use crate::recipe::{self, Changes, Recipe, Relative};
use crate::resume::Interrupted;
use anyhow::{Result, bail};
use fit::largest_that_fits;
use model::case::Case;
use model::environment::Environment;
use model::goal::{Goal, Requirement};
use model::host::{Affinity, Host, Storage};
use model::peer::Peer;
use model::plan::{Plan, Role, Skip};
use model::units;
pub(super) use options::check_no_idle;
use options::{SustainedTime, axes_of, check_goals, hold_of, least_of, sustain_of, sustain_plan};
pub(super) use options::{budget_of, changes_of, check_budget, set_ends};
use place::{host_of, source_of};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
pub(super) use target::{check_place, read_parts};
use target::{in_directory, target_of};

/// The parsed question.
#[derive(Debug)]
pub struct RunQuestion {
    /// The recipe.
    pub recipe: Recipe,
    /// The command line's changes to the recipe.
    pub changes: Changes,
    /// What is measured.
    pub target: Target,
    /// Where to create the source of copies, if elsewhere.
    pub source: Option<PathBuf>,
    /// How long the trials of a case follow each other, if they do.
    pub sustain: Option<SustainedTime>,
    /// The time that the run is given (`--for`).
    pub budget: Option<Duration>,
    /// Whether axes on which throughput no longer grows are pruned (`--prune`).
    pub prune: bool,
    /// Whether some cases are measured twice (`--control`).
    pub is_controlled: bool,
    /// The limit of the workers' memory in bytes, if any.
    pub memory: Option<u64>,
    /// The CPUs for threads, as typed.
    pub pin: Option<String>,
    /// The NUMA node for processors and memory.
    pub node: Option<u32>,
    /// What the response times of a load must keep to.
    pub hold: Vec<Requirement>,
    /// The operations per second at which they must be met.
    pub at_least: Option<u64>,
    /// What the figures of its cases must be, besides the recipe's own goals.
    pub goals: Vec<Goal>,
    /// Whether to fail if it cannot be told whether the goals are met.
    pub is_strict: bool,
    /// Whether its files may be smaller than the recipe's, to fit.
    pub takes_what_fits: bool,
    /// Programs that can measure.
    pub peers: Peers,
}

/// Where a question is to be answered, and the plan for it.
#[derive(Debug)]
pub struct Setting {
    /// The recipe, with files that fit.
    pub recipe: Recipe,
    /// The machine; its available memory is at most the workers' limit.
    pub host: Host,
    /// The storage to measure; `None` if no file is used.
    pub storage: Option<Storage>,
    /// Where to create the source of copies, if elsewhere.
    pub source: Option<CopySource>,
    /// Programs that can measure.
    pub peers: Vec<Peer>,
    /// The cases to measure, and the skipped ones. Of cases with relative rates, it has only the
    /// closed loops until [`Setting::add_loads`].
    pub plan: Plan,
    /// Cases whose rates are shares of what a closed loop does.
    pub loads: Vec<Relative>,
}

impl RunQuestion {
    /// Reads as much of the user's own file as the interrupted run did.
    ///
    /// # Errors
    /// If it was less than what is to be read now.
    pub fn read_as_then(&mut self, interrupted: &Interrupted) -> Result<()> {
        if let Target::File(own) = &mut self.target {
            *own = interrupted.as_then(own.clone());
            read_parts(&mut self.changes, own)?;
        }
        Ok(())
    }

    /// The question as it is without options.
    fn of(recipe: Recipe, changes: Changes, target: Target, peers: Peers) -> RunQuestion {
        RunQuestion {
            recipe,
            changes,
            target,
            source: None,
            sustain: None,
            budget: None,
            prune: false,
            is_controlled: false,
            memory: None,
            pin: None,
            node: None,
            hold: Vec::new(),
            at_least: None,
            goals: Vec::new(),
            is_strict: false,
            takes_what_fits: false,
            peers,
        }
    }
}

/// Fresh starts of each side of a gate: with as many, a loss of 10 % shows beside a limit of 5 %.
pub(super) const GATE_INVOCATIONS: u32 = 10;

impl Setting {
    /// Inspects the place of `question` and makes its plan.
    ///
    /// # Errors
    /// If the place does not exist, or the plan cannot be made.
    pub fn of(question: &RunQuestion) -> Result<Setting> {
        let pin = bind::bind(question.pin.as_deref(), question.node)?;
        let host = host_of(question);
        let storage = question.target.storage()?;
        let source = source_of(question)?;
        let peers = question.peers.facts();
        let of_source = source.as_ref().map(|source: &CopySource| &source.storage);
        let environment = Environment {
            host: &host,
            storage: storage.as_ref(),
            source: of_source,
            peers: &peers,
        };
        let loads = question.recipe.relatives(&question.changes, &environment)?;
        let recipe = if question.takes_what_fits {
            largest_that_fits(question, &environment)?
        } else {
            question.recipe.clone()
        };
        let mut plan = plan_of(&recipe, question, &question.changes, &environment)?;
        plan.bound = Affinity { pin, node: question.node };
        check_goals(&plan, &loads)?;
        Ok(Setting { recipe, host, storage, source, peers, plan, loads })
    }

    /// Adds cases with rates that were found for the relative ones.
    ///
    /// # Errors
    /// If the plan cannot be made.
    pub fn add_loads(&mut self, question: &RunQuestion, loads: Vec<Case>) -> Result<()> {
        let changes = Changes { loads, seed: Some(self.plan.seed), ..question.changes.clone() };
        let plan = plan_of(&self.recipe, question, &changes, &self.environment())?;
        self.plan = Plan { bound: self.plan.bound.clone(), ..plan };
        Ok(())
    }

    /// Where the plan runs.
    pub fn environment(&self) -> Environment<'_> {
        Environment {
            host: &self.host,
            storage: self.storage.as_ref(),
            source: self.source.as_ref().map(|source| &source.storage),
            peers: &self.peers,
        }
    }

    /// Fails if there is nothing to measure: the run would succeed without a figure.
    ///
    /// # Errors
    /// If no requested case can be measured.
    pub fn check_any_asked(&self) -> Result<()> {
        let plan = &self.plan;
        if plan.cases.iter().any(|planned| planned.role == Role::Asked) {
            return Ok(());
        }
        let reason = plan.skips.first().map_or("it has no cases", |skip| skip.reason.as_str());
        bail!(
            "nothing to measure: all {} cases are skipped, the first because {reason}; 'ioassay \
             plan' shows each reason",
            plan.skips.len()
        )
    }
}

/// The same of any plan.
///
/// # Errors
/// If no requested case can be measured.
pub(super) fn check_any_asked(plan: &Plan) -> Result<()> {
    if plan.cases.iter().any(|planned| planned.role == Role::Asked) {
        return Ok(());
    }
    let reason = plan.skips.first().map_or("it has no cases", |skip| skip.reason.as_str());
    bail!("nothing to measure: all cases are skipped, the first because {reason}")
}

/// The question of `run`, `plan` and `watch`.
///
/// # Errors
/// If the question is not understood or cannot be answered here.
pub fn of_run(args: &RunArgs) -> Result<RunQuestion> {
    if args.hosts.are_named() {
        bail!("only 'run' and 'survey' measure on other hosts: leave out --hosts here");
    }
    let recipe = recipe_of(&args.recipe)?;
    let mut changes = changes_of(args);
    let target = target_of(args, &recipe, &mut changes)?;
    let sustain = sustain_of(args, &recipe)?;
    Ok(RunQuestion {
        recipe,
        changes,
        target,
        source: args.source.clone(),
        sustain,
        budget: budget_of(&args.output)?.filter(|_| sustain.is_none()),
        prune: args.prune,
        is_controlled: args.output.control,
        memory: args.memory.as_deref().map(units::parse_bytes).transpose()?,
        pin: args.output.pin.clone(),
        node: args.output.node,
        hold: hold_of(args)?,
        at_least: args.at_least.as_deref().map(least_of).transpose()?,
        goals: args.goal.iter().copied().map(Goal::typed).collect(),
        is_strict: args.strict,
        takes_what_fits: false,
        peers: Peers::load(args.peers.as_deref())?,
    })
}

/// The recipe with this name or path, after saying what its author should know.
///
/// # Errors
/// If there is none, or it is invalid.
pub(super) fn recipe_of(name: &str) -> Result<Recipe> {
    let recipe = recipe::find(name)?;
    warn(&recipe)?;
    Ok(recipe)
}

/// Says what fio's jobs do not ask as their author may think.
pub(super) fn warn(recipe: &Recipe) -> Result<()> {
    let mut warnings = recipe.imported.iter().flat_map(|jobs| &jobs.warnings);
    warnings.try_for_each(|warning| tell(&format!("warning: {warning}")))
}

/// The question of `gate` in `directory`, or in the current one. Its sides are held against each
/// other, not against a ceiling.
///
/// # Errors
/// If the question is not understood or cannot be answered here.
pub fn of_gate(args: &GateArgs, directory: Option<&Path>, seed: u64) -> Result<RunQuestion> {
    let recipe = recipe::find(&args.recipe)?;
    recipe.check_takes_turns("gate")?;
    let changes = Changes {
        axes: axes_of(&args.axes),
        rounds: args.rounds,
        // Each has a round or more.
        invocations: args
            .invocations
            .or(Some(GATE_INVOCATIONS.min(args.rounds.unwrap_or(u32::MAX)))),
        seed: Some(seed),
        no_ceilings: true,
        ..Changes::default()
    };
    check_place(&recipe, directory.is_some())?;
    let target = in_directory(&recipe, directory)?;
    let peers = Peers::load(args.peers.as_deref())?;
    Ok(RunQuestion {
        budget: args.budget.as_deref().map(units::parse_time).transpose()?,
        prune: args.prune,
        pin: args.pin.clone(),
        node: args.node,
        ..RunQuestion::of(recipe, changes, target, peers)
    })
}

/// The plan for a question at a place.
fn plan_of(
    recipe: &Recipe,
    question: &RunQuestion,
    changes: &Changes,
    environment: &Environment,
) -> Result<Plan> {
    let RunQuestion { target, sustain, memory, .. } = question;
    let mut plan = recipe.plan(changes, environment)?;
    refuse(&mut plan, recipe::hosts::refusal_alone);
    plan.memory_limit = *memory;
    plan.hold = question.hold.clone();
    plan.at_least = question.at_least;
    plan.goals.extend(question.goals.iter().cloned());
    if !matches!(target, Target::Directory(_)) {
        let reason = "actors need a directory, in which each gets a file of its own";
        let is_refused = |case: &Case| case.uses_storage() && !case.beside.is_empty();
        refuse(&mut plan, |case| is_refused(case).then(|| reason.to_string()));
    }
    match target {
        Target::File(own) => refuse(&mut plan, |case| {
            // Pages of a file may count as the memory of others; those of a device, too, but few
            // have the memory for a disk.
            let remedy = "use cache 'direct', or read a part of it (--offset, --length)";
            let too_large = || environment.warm_refusal(case, remedy).filter(|_| own.is_device);
            own.refusal(case).or_else(too_large)
        }),
        Target::Device(disk) => refuse(&mut plan, |case| device::refusal(case, disk)),
        Target::Directory(_) => {
            refuse(&mut plan, |case| environment.warm_refusal(case, "choose a smaller --size"))
        }
        Target::Memory => {}
    }
    if let Some(sustained) = *sustain {
        sustain_plan(&mut plan, sustained)?;
    }
    set_ends(&mut plan, question.budget, question.prune)?;
    if question.is_controlled {
        plan.add_twins();
    }
    Ok(plan)
}

/// Turns the cases for which `reason` returns one into skips.
pub(super) fn refuse(plan: &mut Plan, reason: impl Fn(&Case) -> Option<String>) {
    for planned in std::mem::take(&mut plan.cases) {
        match reason(&planned.case) {
            Some(reason) => plan.skips.push(Skip { case: planned.case, reason }),
            None => plan.cases.push(planned),
        }
    }
}

/// The question of `survey`.
///
/// # Errors
/// As for [`of_run`].
pub fn of_survey(args: &SurveyArgs) -> Result<RunQuestion> {
    let mut recipe = recipe::find("survey")?;
    if args.quick {
        recipe = recipe.quick()?;
    }
    let changes = Changes { seed: args.seed, ..Changes::default() };
    let target = Target::Directory(Rc::new(Directory::open(&args.directory)?));
    Ok(RunQuestion {
        budget: budget_of(&args.output)?,
        is_controlled: args.output.control,
        pin: args.output.pin.clone(),
        node: args.output.node,
        takes_what_fits: true,
        ..RunQuestion::of(recipe, changes, target, Peers::load(None)?)
    })
}
