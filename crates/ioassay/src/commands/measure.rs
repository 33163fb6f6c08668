//! `survey`, `run` and `plan`: from a question to its answer.

use super::{DONE, form, say, tell};
use crate::args::{OutputArgs, RunArgs};
use crate::courier::PATIENCE;
use crate::device;
use crate::files::{Files, Source, Target};
use crate::fixture::{self, Stay};
use crate::group::{self, Values};
use crate::peers::{Peers, Program};
use crate::progress::Progress;
use crate::recipe::{self, Changes, Recipe};
use crate::run::Run;
use crate::stop::Stop;
use crate::store::{self, Store};
use crate::workshop::{self, Ready};
use anyhow::{Context, Result, bail};
use model::case::{Case, Op, Work, WriteWork};
use model::host::{Host, Storage};
use model::peer::Peer;
use model::plan::{Place, Plan, Role, Skip};
use model::record::{Header, Record, Tool};
use model::units;
use report::Style;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use witness::MemoryGroup;

/// What was asked, understood.
#[derive(Debug)]
pub struct Question {
    /// The recipe.
    pub recipe: Recipe,
    /// What the command line says instead of it.
    pub changes: Changes,
    /// Of what.
    pub target: Target,
    /// Where the file that is copied is made, if elsewhere.
    pub source: Option<PathBuf>,
    /// How long each case goes on until its rate is steady, if it is to.
    pub sustain: Option<Duration>,
    /// Whether some cases are measured a second time.
    pub is_controlled: bool,
    /// Bytes of memory that workers are given, if there is a limit.
    pub memory: Option<u64>,
    /// Programs that can measure.
    pub peers: Peers,
}

/// `ioassay run`.
///
/// # Errors
/// When the question is not understood or cannot be asked here.
pub fn run(args: &RunArgs, style: &Style) -> Result<u8> {
    measure(&understand(args)?, &args.output, style)
}

/// `ioassay plan`.
///
/// # Errors
/// As for [`run`].
pub fn plan(args: &RunArgs, style: &Style) -> Result<u8> {
    let question = understand(args)?;
    let host = host_of(&question);
    let storage = storage_of(&question.target)?;
    let peers = question.peers.facts();
    let place = Place { host: &host, storage: storage.as_ref(), peers: &peers };
    let source = source_of(&question)?;
    let plan = plan_of(&question, source.as_ref(), &place)?;
    say(&report::plan(&plan, style))?;
    Ok(DONE)
}

fn understand(args: &RunArgs) -> Result<Question> {
    let recipe = recipe::find(&args.recipe)?;
    let mut axes = group::Axes::new();
    for (axis, values) in args.axes.given() {
        axes.insert(axis.to_string(), Values::from_texts(values.clone()));
    }
    let target = target_of(args, &recipe, &mut axes)?;
    let changes = Changes { axes, rounds: args.rounds, seed: args.seed };
    Ok(Question {
        recipe,
        changes,
        target,
        source: args.source.clone(),
        sustain: args.sustain.as_deref().map(units::parse_time).transpose()?,
        is_controlled: args.output.control,
        memory: args.memory.as_deref().map(units::parse_bytes).transpose()?,
        peers: Peers::load(args.peers.as_deref())?,
    })
}

fn target_of(args: &RunArgs, recipe: &Recipe, axes: &mut group::Axes) -> Result<Target> {
    let uses_files = recipe.uses_files();
    let has_place = args.file.is_some() || args.directory.is_some() || args.device.is_some();
    if has_place && !uses_files {
        bail!("the recipe '{}' uses no file: leave out where", recipe.name);
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
        Some(directory) => Target::Directory(directory.clone()),
        None if uses_files => Target::Directory(PathBuf::from(".")),
        None => Target::Memory,
    })
}

/// The plan of a question, for a place.
fn plan_of(question: &Question, source: Option<&Source>, place: &Place) -> Result<Plan> {
    let Question { recipe, changes, target, sustain, memory, .. } = question;
    let mut plan = recipe.plan(changes, place)?;
    plan.memory_limit = *memory;
    match target {
        // What is the user's own is never written, and a file that is read has one size.
        Target::File(_) => refuse(&mut plan, |case| {
            case.write().map(|_| "a file of your own is only read: name a directory".to_string())
        }),
        Target::Device(disk) => refuse(&mut plan, |case| device::refusal(case, disk)),
        Target::Memory | Target::Directory(_) => {}
    }
    if let Some(source) = source {
        let place = Place { host: place.host, storage: Some(&source.storage), peers: place.peers };
        let copies = |case: &Case| case.write().is_some_and(|work| work.op == Op::Copy);
        refuse(&mut plan, |case| {
            let reason = place.refusal(case).filter(|_| copies(case))?;
            Some(format!("of the source in '{}': {reason}", source.directory.display()))
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

/// Makes skips of the cases for which there is a reason.
fn refuse(plan: &mut Plan, reason: impl Fn(&Case) -> Option<String>) {
    for planned in std::mem::take(&mut plan.cases) {
        match reason(&planned.case) {
            Some(reason) => plan.skips.push(Skip { case: planned.case, reason }),
            None => plan.cases.push(planned),
        }
    }
}

/// How long a trial is of which one follows the other.
const SUSTAINED_TRIAL: Duration = Duration::from_secs(10);

/// Makes a plan of trials that follow each other, of all cases that can go on.
fn sustain_plan(plan: &mut Plan, budget: Duration) -> Result<()> {
    if budget < SUSTAINED_TRIAL {
        bail!("--sustain needs at least {}", units::time(SUSTAINED_TRIAL));
    }
    plan.sustain = Some(budget);
    plan.cases.retain(|planned| planned.role == Role::Asked);
    refuse(plan, |case| {
        let goes_on = case.write().is_some_and(WriteWork::repeats);
        (!goes_on).then(|| {
            "only a file that is written over, again and again, can be written on and on: \
             --allocation overwrite --ops 0"
                .to_string()
        })
    });
    for planned in &mut plan.cases {
        if let Work::Write(work) = &mut planned.case.work {
            work.time = SUSTAINED_TRIAL;
        }
    }
    Ok(())
}

/// A run without a case would be a success that measured nothing.
fn check_any_asked(plan: &Plan) -> Result<()> {
    if plan.cases.iter().any(|planned| planned.role == Role::Asked) {
        return Ok(());
    }
    let reason = plan.skips.first().map_or("the recipe has no case", |skip| skip.reason.as_str());
    bail!(
        "nothing can be measured: all of the {} cases are refused, the first because {reason}; \
         'ioassay plan' tells the reason of each",
        plan.skips.len()
    )
}

fn storage_of(target: &Target) -> Result<Option<Storage>> {
    let storage = match target {
        Target::Memory => return Ok(None),
        Target::Directory(directory) if !directory.is_dir() => {
            bail!("there is no directory '{}': make it, or name another", directory.display())
        }
        Target::Directory(directory) => witness::storage(directory)
            .with_context(|| format!("failed to look at the storage of '{}'", directory.display())),
        Target::File(file) => witness::storage_of(file)
            .with_context(|| format!("failed to look at the storage of '{}'", file.display())),
        Target::Device(disk) => witness::storage_of_disk(&disk.path)
            .with_context(|| format!("failed to look at the device '{}'", disk.path.display())),
    };
    storage.map(Some)
}

/// Measures what is asked, keeps the record and says the judgement. Answers the exit status.
///
/// # Errors
/// When nothing could be measured: a place that is not there, not writable or too small.
pub fn measure(question: &Question, output: &OutputArgs, style: &Style) -> Result<u8> {
    let Question { target, peers, .. } = question;
    let stop = &Stop::on_signals().context("failed to listen for signals")?;
    let host = host_of(question);
    let storage = storage_of(target)?;
    let source = source_of(question)?;
    let facts = peers.facts();
    let place = Place { host: &host, storage: storage.as_ref(), peers: &facts };
    let plan = plan_of(question, source.as_ref(), &place)?;
    check_any_asked(&plan)?;
    let memory = question.memory.map(MemoryGroup::create).transpose()?;
    output.record.as_deref().map_or(Ok(()), store::check_free)?;
    form::check(&output.form)?;
    let is_hidden = form::is_for_programs(&output.form);
    let mut progress = if is_hidden { Progress::hidden() } else { Progress::new() };
    let ready = ready_peers(peers, &plan, &progress, stop)?;
    let stay = if output.keep { Stay::Kept } else { Stay::Removed };
    let made = Files::make(&plan, target, source.as_ref(), &place, (stay, &progress, stop));
    let files = match made {
        // Nothing was measured yet: there is no record to end.
        Err(_) if stop.is_asked() => return Ok(stop.exit_code().unwrap_or(DONE)),
        other => other?,
    };
    let made = Made {
        plan: &plan,
        place: &place,
        files: &files,
        peers: ready.values().map(|ready| ready.peer.clone()).collect(),
        worker: &|peer| worker_command(peer, &ready),
        source: source.as_ref(),
        memory: memory.as_ref(),
    };
    let path = carry_out(made, output.record.as_deref(), &mut progress, stop)?;
    let code = judge(&path, output, style)?;
    if output.keep {
        for file in files.read() {
            tell(&format!("kept: {}", file.fixture().path.display()))?;
        }
    }
    Ok(stop.exit_code().unwrap_or(code))
}

/// Carries out `plan` with workers that `worker` starts, and answers the record, which is kept.
///
/// # Errors
/// As for [`measure`].
pub fn measure_record(
    plan: &Plan,
    target: &Target,
    place: &Place,
    worker: &dyn Fn(&str) -> Result<Command, String>,
    stop: &Stop,
) -> Result<Record> {
    let mut progress = Progress::new();
    let files = Files::make(plan, target, None, place, (Stay::Removed, &progress, stop))?;
    let peers = place.peers.to_vec();
    let made = Made { plan, place, files: &files, peers, worker, source: None, memory: None };
    store::read(&carry_out(made, None, &mut progress, stop)?)
}

/// All that is ready for a run.
struct Made<'a> {
    plan: &'a Plan,
    place: &'a Place<'a>,
    files: &'a Files,
    peers: Vec<Peer>,
    worker: &'a dyn Fn(&str) -> Result<Command, String>,
    source: Option<&'a Source>,
    memory: Option<&'a MemoryGroup>,
}

/// Runs it, and answers where the record is: at `record`, or at a dated path.
fn carry_out(
    made: Made,
    record: Option<&Path>,
    progress: &mut Progress,
    stop: &Stop,
) -> Result<PathBuf> {
    let began = SystemTime::now();
    let path = match record {
        Some(path) => path.to_path_buf(),
        None => store::dated_path(&made.plan.recipe, began)?,
    };
    let header = Header {
        tool: tool(),
        began: store::date(began),
        host: made.place.host.clone(),
        storage: made.place.storage.cloned(),
        source_storage: made.source.map(|source| source.storage.clone()),
        fixtures: made.files.all().map(|file| file.fixture().clone()).collect(),
        plan: made.plan.clone(),
        peers: made.peers,
    };
    let run = Run {
        plan: made.plan,
        files: made.files,
        storage: made.place.storage,
        store: &mut Store::create(&path, header)?,
        progress,
        stop,
        worker: made.worker,
        memory: made.memory,
        source: made.source.map(|source| &source.storage),
        patience: PATIENCE,
    };
    run.carry_out()?;
    Ok(path)
}

/// Builds the peers that `plan` asks for.
fn ready_peers(
    peers: &Peers,
    plan: &Plan,
    progress: &Progress,
    stop: &Stop,
) -> Result<BTreeMap<String, Ready>> {
    let is_asked = |program: &&Program| plan.cases.iter().any(|p| p.case.peer == program.peer.name);
    let asked: Vec<&Program> = peers.programs().iter().filter(is_asked).collect();
    let mut ready = BTreeMap::new();
    for (done, program) in asked.iter().enumerate().take_while(|_| !stop.is_asked()) {
        let name = &program.peer.name;
        progress.building(done, asked.len(), name);
        ready.insert(name.clone(), workshop::ready(program)?);
    }
    Ok(ready)
}

/// How the worker of `peer` is started: this program again, or the one that was built.
///
/// # Errors
/// The reason why it cannot be.
pub fn worker_command(peer: &str, ready: &BTreeMap<String, Ready>) -> Result<Command, String> {
    if let Some(ready) = ready.get(peer) {
        return ready.command();
    }
    let program = std::env::current_exe()
        .map_err(|error| format!("finding this program's own file failed: {error}"))?;
    let mut command = Command::new(program);
    command.arg("worker");
    Ok(command)
}

/// Reads the record as anyone later would, judges it and says the judgement.
fn judge(path: &Path, output: &OutputArgs, style: &Style) -> Result<u8> {
    let delivered = form::deliver(&assess::assess(&store::read(path)?), &output.form, style);
    // Whatever becomes of the judgement, the record is there.
    tell(&format!("record: {}", path.display()))?;
    delivered
}

/// This machine, with no more memory to be had than the workers are given.
fn host_of(question: &Question) -> Host {
    let host = witness::host(kernel::available());
    let given = question.memory.unwrap_or(u64::MAX);
    Host { memory_available: host.memory_available.min(given), ..host }
}

/// Where the file that is copied is made, if elsewhere.
fn source_of(question: &Question) -> Result<Option<Source>> {
    let Some(directory) = &question.source else { return Ok(None) };
    let is_copied = |values: &Values| values.texts().iter().any(|op| op == "copy");
    if !question.recipe.cases.iter().any(|group| group.get("op").is_some_and(is_copied)) {
        bail!("the recipe '{}' copies no file: leave out --source", question.recipe.name);
    }
    let storage = storage_of(&Target::Directory(directory.clone()))?;
    Ok(storage.map(|storage| Source { directory: directory.clone(), storage }))
}

fn tool() -> Tool {
    Tool {
        name: "ioassay".to_string(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        command: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
    }
}
