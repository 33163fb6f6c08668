//! A question from the command line: its subject, its place, and the plan that answers it.

use super::this_host;
use crate::args::{RunArgs, SurveyArgs};
use crate::bind;
use crate::device;
use crate::directory::Directory;
use crate::files::{Source, Target};
use crate::fixture;
use crate::group::{self, Values};
use crate::peers::Peers;
use crate::recipe::{self, Changes, Recipe, Relative};
use anyhow::{Context, Result, bail};
use model::axis;
use model::case::{Case, Op, Work, WriteWork};
use model::environment::Environment;
use model::goal::Goal;
use model::host::{Affinity, Host, Storage};
use model::peer::Peer;
use model::plan::{Plan, Role, Skip};
use model::units;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// The parsed question.
#[derive(Debug)]
pub struct Question {
    /// The recipe.
    pub recipe: Recipe,
    /// The command line's changes to the recipe.
    pub changes: Changes,
    /// What is measured.
    pub target: Target,
    /// Where to create the source of copies, if elsewhere.
    pub source: Option<PathBuf>,
    /// The time limit of `--sustain` for each case, if given.
    pub sustain: Option<Duration>,
    /// The time that the run is given (`--for`).
    pub budget: Option<Duration>,
    /// Whether some cases are measured twice (`--control`).
    pub is_controlled: bool,
    /// The limit of the workers' memory in bytes, if any.
    pub memory: Option<u64>,
    /// The CPUs for threads, as typed.
    pub pin: Option<String>,
    /// The NUMA node for processors and memory.
    pub node: Option<u32>,
    /// What the response times of a load must keep to.
    pub goals: Vec<Goal>,
    /// The operations per second at which they must be met.
    pub at_least: Option<u64>,
    /// Programs that can measure.
    pub peers: Peers,
}

/// Where a question is to be answered, and the plan for it.
#[derive(Debug)]
pub struct Setting {
    /// The machine; its available memory is at most the workers' limit.
    pub host: Host,
    /// The storage to measure; `None` if no file is used.
    pub storage: Option<Storage>,
    /// Where to create the source of copies, if elsewhere.
    pub source: Option<Source>,
    /// Programs that can measure.
    pub peers: Vec<Peer>,
    /// The cases to measure, and the skipped ones. Of cases with relative rates, it has only the
    /// closed loops until [`Setting::add_loads`].
    pub plan: Plan,
    /// Cases whose rates are shares of what a closed loop does.
    pub loads: Vec<Relative>,
}

impl Setting {
    /// Inspects the place of `question` and makes its plan.
    ///
    /// # Errors
    /// If the place does not exist, or the plan cannot be made.
    pub fn of(question: &Question) -> Result<Setting> {
        let pin = bind::bind(question.pin.as_deref(), question.node)?;
        let host = host_of(question);
        let storage = storage_of(&question.target)?;
        let source = source_of(question)?;
        let peers = question.peers.facts();
        let environment = Environment { host: &host, storage: storage.as_ref(), peers: &peers };
        let loads = question.recipe.relatives(&question.changes, &environment)?;
        let mut plan = plan_of(question, &question.changes, source.as_ref(), &environment)?;
        plan.bound = Affinity { pin, node: question.node };
        check_goals(&plan, !loads.is_empty())?;
        Ok(Setting { host, storage, source, peers, plan, loads })
    }

    /// Adds cases with rates that were found for the relative ones.
    ///
    /// # Errors
    /// If the plan cannot be made.
    pub fn add_loads(&mut self, question: &Question, loads: Vec<Case>) -> Result<()> {
        let changes = Changes { loads, seed: Some(self.plan.seed), ..question.changes.clone() };
        let plan = plan_of(question, &changes, self.source.as_ref(), &self.environment())?;
        self.plan = Plan { bound: self.plan.bound.clone(), ..plan };
        Ok(())
    }

    /// Where the plan runs.
    pub fn environment(&self) -> Environment<'_> {
        Environment { host: &self.host, storage: self.storage.as_ref(), peers: &self.peers }
    }

    /// Fails if there is nothing to measure: the run would succeed without measuring anything.
    ///
    /// # Errors
    /// If no requested case can be measured.
    pub fn check_any_asked(&self) -> Result<()> {
        let plan = &self.plan;
        if plan.cases.iter().any(|planned| planned.role == Role::Asked) {
            return Ok(());
        }
        let reason = plan.skips.first();
        let reason = reason.map_or("the recipe has no cases", |skip| skip.reason.as_str());
        bail!(
            "nothing to measure: all {} cases are skipped, the first because {reason}; 'ioassay \
             plan' shows each reason",
            plan.skips.len()
        )
    }
}

/// The question of `run`, `plan` and `watch`.
///
/// # Errors
/// If the question is not understood or cannot be answered here.
pub fn of_run(args: &RunArgs) -> Result<Question> {
    let recipe = recipe::find(&args.recipe)?;
    let mut axes = group::Axes::new();
    for (axis, values) in &args.axes.0 {
        axes.insert(axis.to_string(), Values::from_texts(values.clone()));
    }
    let target = target_of(args, &recipe, &mut axes)?;
    let RunArgs { rounds, invocations, seed, no_ceilings, .. } = *args;
    let changes = Changes { axes, rounds, invocations, seed, no_ceilings, loads: Vec::new() };
    Ok(Question {
        recipe,
        changes,
        target,
        source: args.source.clone(),
        sustain: args.sustain.as_deref().map(units::parse_time).transpose()?,
        budget: args.output.budget.as_deref().map(units::parse_time).transpose()?,
        is_controlled: args.output.control,
        memory: args.memory.as_deref().map(units::parse_bytes).transpose()?,
        pin: args.output.pin.clone(),
        node: args.output.node,
        goals: goals_of(args)?,
        at_least: args.at_least.as_deref().map(least_of).transpose()?,
        peers: Peers::load(args.peers.as_deref())?,
    })
}

/// Sets the time of a run. Only several invocations show which intervals are wide.
fn give_time(plan: &mut Plan, budget: Option<Duration>) -> Result<()> {
    if budget.is_some() && plan.invocations < INVOCATIONS_LEAST {
        bail!("--for needs at least {INVOCATIONS_LEAST} invocations: they show what varies most");
    }
    if budget.is_some() && !plan.goals.is_empty() {
        bail!(
            "--for narrows the intervals of rates, and --hold judges response times: use --rounds \
             instead"
        );
    }
    plan.budget = budget;
    Ok(())
}

/// The least number of invocations of a run that is given a time.
const INVOCATIONS_LEAST: u32 = 3;

/// The goals of `--hold`.
fn goals_of(args: &RunArgs) -> Result<Vec<Goal>> {
    Ok(args.hold.iter().map(|goal| goal.parse()).collect::<Result<_, _>>()?)
}

/// The rate of `--at-least`.
fn least_of(text: &str) -> Result<u64> {
    match axis::parse_rate(text)? {
        0 => bail!("--at-least needs a rate, such as 40k"),
        rate => Ok(rate),
    }
}

/// Refuses goals for cases without rates.
fn check_goals(plan: &Plan, is_relative: bool) -> Result<()> {
    let has_rates = plan.cases.iter().any(|planned| planned.case.is_open());
    if !plan.goals.is_empty() && !has_rates && !is_relative {
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

fn target_of(args: &RunArgs, recipe: &Recipe, axes: &mut group::Axes) -> Result<Target> {
    let uses_files = recipe.uses_files();
    let has_place = args.file.is_some() || args.directory.is_some() || args.device.is_some();
    if has_place && !uses_files {
        bail!("the recipe '{}' uses no files: leave out the directory", recipe.name);
    }
    if let Some(file) = &args.file {
        let size = units::bytes(fixture::size_of(file)?);
        axes.insert("size".to_string(), Values::from_texts(vec![size]));
        return Ok(Target::File(file.clone()));
    }
    if let Some(device) = &args.device {
        let disk = device::claim(device, args.destroy.as_deref())?;
        let one = |text: &str| Values::from_texts(vec![text.to_string()]);
        axes.entry("allocation".to_string()).or_insert_with(|| one("overwrite"));
        return Ok(Target::Device(disk));
    }
    Ok(match &args.directory {
        Some(directory) => Target::Directory(Rc::new(Directory::open(directory)?)),
        None if uses_files => Target::Directory(Rc::new(Directory::open(Path::new("."))?)),
        None => Target::Memory,
    })
}

/// The plan for a question at a place.
fn plan_of(
    question: &Question,
    changes: &Changes,
    source: Option<&Source>,
    environment: &Environment,
) -> Result<Plan> {
    let Question { recipe, target, sustain, memory, .. } = question;
    let mut plan = recipe.plan(changes, environment)?;
    plan.memory_limit = *memory;
    plan.goals = question.goals.clone();
    plan.at_least = question.at_least;
    if !matches!(target, Target::Directory(_)) {
        let reason = "actors need a directory, in which each gets a file of its own";
        refuse(&mut plan, |case| (!case.beside.is_empty()).then(|| reason.to_string()));
    }
    match target {
        // A user's own file is never written, and a file to read has only one size.
        Target::File(_) => refuse(&mut plan, |case| {
            case.write().map(|_| {
                "your own file is only read, never written: name a directory for \
                                  the test files"
                    .to_string()
            })
        }),
        Target::Device(disk) => refuse(&mut plan, |case| device::refusal(case, disk)),
        Target::Memory | Target::Directory(_) => {}
    }
    if let Some(source) = source {
        let environment = Environment {
            host: environment.host,
            storage: Some(&source.storage),
            peers: environment.peers,
        };
        let copies = |case: &Case| case.write().is_some_and(|work| work.op == Op::Copy);
        refuse(&mut plan, |case| {
            let reason = environment.refusal(case).filter(|_| copies(case))?;
            Some(format!("the source in '{}': {reason}", source.directory.path().display()))
        });
    }
    if let Some(budget) = *sustain {
        sustain_plan(&mut plan, budget)?;
    }
    give_time(&mut plan, question.budget)?;
    if question.is_controlled {
        plan.add_twins();
    }
    Ok(plan)
}

/// Turns the cases for which `reason` returns one into skips.
fn refuse(plan: &mut Plan, reason: impl Fn(&Case) -> Option<String>) {
    for planned in std::mem::take(&mut plan.cases) {
        match reason(&planned.case) {
            Some(reason) => plan.skips.push(Skip { case: planned.case, reason }),
            None => plan.cases.push(planned),
        }
    }
}

/// Duration of a trial if trials follow each other.
const SUSTAINED_TRIAL: Duration = Duration::from_secs(10);

/// Maximum time for a case: all its trials must be judgeable ([`model::record::TRIALS_MAX`]).
const SUSTAINED_MOST: Duration = Duration::from_secs(48 * 60 * 60);

/// Changes a plan so that trials follow each other, for all cases that support it.
fn sustain_plan(plan: &mut Plan, budget: Duration) -> Result<()> {
    if budget < SUSTAINED_TRIAL {
        bail!("--sustain needs at least {}", units::time(SUSTAINED_TRIAL));
    }
    if budget > SUSTAINED_MOST {
        bail!("--sustain takes at most {}", units::time(SUSTAINED_MOST));
    }
    let asked = plan.cases.iter().filter(|planned| planned.role == Role::Asked);
    let skipped = plan.skips.iter().map(|skip| &skip.case);
    if asked.map(|planned| &planned.case).chain(skipped).all(|case| case.write().is_none()) {
        bail!("--sustain keeps writing, and '{}' writes nothing: leave it out", plan.recipe);
    }
    plan.sustain = Some(budget);
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
                "--sustain writes the same file again and again: use --allocation overwrite --ops 0"
            }
        };
        (!goes_on).then(|| reason.to_string())
    });
    for planned in &mut plan.cases {
        if let Work::Write(work) = &mut planned.case.work {
            work.io.time = SUSTAINED_TRIAL;
        }
    }
    Ok(())
}

fn storage_of(target: &Target) -> Result<Option<Storage>> {
    let storage = match target {
        Target::Memory => return Ok(None),
        Target::Directory(directory) => storage_in(directory),
        Target::File(file) => witness::storage_of(file)
            .with_context(|| format!("failed to inspect the storage of '{}'", file.display())),
        Target::Device(disk) => witness::storage_of_disk(&disk.path)
            .with_context(|| format!("failed to inspect the device '{}'", disk.path.display())),
    };
    storage.map(Some)
}

/// The storage of `directory`. Inspects it by path and checks that the path still leads to it.
fn storage_in(directory: &Directory) -> Result<Storage> {
    let path = directory.path();
    let storage = witness::storage(path)
        .with_context(|| format!("failed to inspect the storage of '{}'", path.display()))?;
    directory.check_same()?;
    Ok(storage)
}

/// The question of `survey`.
///
/// # Errors
/// As for [`of_run`].
pub fn of_survey(args: &SurveyArgs) -> Result<Question> {
    let mut recipe = recipe::find("survey")?;
    if args.quick {
        recipe = recipe.quick()?;
    }
    Ok(Question {
        recipe,
        changes: Changes { seed: args.seed, ..Changes::default() },
        target: Target::Directory(Rc::new(Directory::open(&args.directory)?)),
        source: None,
        sustain: None,
        budget: args.output.budget.as_deref().map(units::parse_time).transpose()?,
        is_controlled: args.output.control,
        memory: None,
        pin: args.output.pin.clone(),
        node: args.output.node,
        goals: Vec::new(),
        at_least: None,
        peers: Peers::load(None)?,
    })
}

/// This machine; its available memory is at most the workers' limit.
fn host_of(question: &Question) -> Host {
    let host = this_host();
    let bounds = [host.memory_available, question.memory];
    Host { memory_available: bounds.into_iter().flatten().min(), ..host }
}

/// Where to create the source of copies, if elsewhere.
fn source_of(question: &Question) -> Result<Option<Source>> {
    let Some(directory) = &question.source else { return Ok(None) };
    let is_copied = |values: &Values| values.texts().iter().any(|op| op == "copy");
    if !question.recipe.cases.iter().any(|group| group.get("op").is_some_and(is_copied)) {
        bail!("the recipe '{}' copies no files: leave out --source", question.recipe.name);
    }
    let directory = Directory::open(directory)?;
    let storage = storage_in(&directory)?;
    Ok(Some(Source { directory, storage }))
}
