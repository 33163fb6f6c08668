//! A question from the command line: its subject, its place, and the plan that answers it.

use crate::args::{RunArgs, SurveyArgs};
use crate::bind;
use crate::device;
use crate::directory::Directory;
use crate::files::{Source, Target};
use crate::fixture;
use crate::group::{self, Values};
use crate::peers::Peers;
use crate::recipe::{self, Changes, Recipe};
use anyhow::{Context, Result, bail};
use model::case::{Case, Op, Work, WriteWork};
use model::environment::Environment;
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
    /// Whether some cases are measured twice (`--control`).
    pub is_controlled: bool,
    /// The limit of the workers' memory in bytes, if any.
    pub memory: Option<u64>,
    /// The CPUs for threads, as typed.
    pub pin: Option<String>,
    /// The NUMA node for processors and memory.
    pub node: Option<u32>,
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
    /// The cases to measure, and the skipped ones.
    pub plan: Plan,
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
        let mut plan = plan_of(question, source.as_ref(), &environment)?;
        plan.bound = Affinity { pin, node: question.node };
        Ok(Setting { host, storage, source, peers, plan })
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
    let changes = Changes { axes, rounds, invocations, seed, no_ceilings };
    Ok(Question {
        recipe,
        changes,
        target,
        source: args.source.clone(),
        sustain: args.sustain.as_deref().map(units::parse_time).transpose()?,
        is_controlled: args.output.control,
        memory: args.memory.as_deref().map(units::parse_bytes).transpose()?,
        pin: args.output.pin.clone(),
        node: args.output.node,
        peers: Peers::load(args.peers.as_deref())?,
    })
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
    source: Option<&Source>,
    environment: &Environment,
) -> Result<Plan> {
    let Question { recipe, changes, target, sustain, memory, .. } = question;
    let mut plan = recipe.plan(changes, environment)?;
    plan.memory_limit = *memory;
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
    plan.sustain = Some(budget);
    plan.invocations = 1;
    plan.cases.retain(|planned| planned.role == Role::Asked);
    refuse(plan, |case| {
        let goes_on = case.write().is_some_and(WriteWork::repeats);
        (!goes_on).then(|| {
            "--sustain writes the same file again and again: use --allocation overwrite --ops 0"
                .to_string()
        })
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
        is_controlled: args.output.control,
        memory: None,
        pin: args.output.pin.clone(),
        node: args.output.node,
        peers: Peers::load(None)?,
    })
}

/// This machine; its available memory is at most the workers' limit.
fn host_of(question: &Question) -> Host {
    let host = witness::host(kernel::available());
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
