//! `survey`, `run` and `plan`: from a question to its answer.

use super::{DONE, say};
use crate::args::{OutputArgs, RunArgs};
use crate::courier::PATIENCE;
use crate::fixture::{self, Stay, TestFile};
use crate::peers::{Peers, Program};
use crate::progress::Progress;
use crate::recipe::{self, Changes, Recipe, Values};
use crate::run::Run;
use crate::stop::Stop;
use crate::store::{self, Store};
use crate::workshop::{self, Ready};
use anyhow::{Context, Result, bail};
use model::content::Content;
use model::host::Storage;
use model::peer::Peer;
use model::plan::{Place, Plan, Role};
use model::record::{Header, Record, Tool};
use model::units;
use report::Style;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// What is measured.
#[derive(Debug, Clone)]
pub enum Target {
    /// Memory: no file is read.
    Memory,
    /// A test file in this directory.
    Directory(PathBuf),
    /// A user's own file, which is only read.
    File(PathBuf),
}

/// What was asked, understood.
#[derive(Debug)]
pub struct Question {
    /// The recipe.
    pub recipe: Recipe,
    /// What the command line says instead of it.
    pub changes: Changes,
    /// Of what.
    pub target: Target,
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
    let host = witness::host(kernel::available());
    let storage = storage_of(&question.target)?;
    let peers = question.peers.facts();
    let place = Place { host: &host, storage: storage.as_ref(), peers: &peers };
    let plan = question.recipe.plan(&question.changes, &place)?;
    say(&report::plan(&plan, style))?;
    Ok(DONE)
}

fn understand(args: &RunArgs) -> Result<Question> {
    let recipe = recipe::find(&args.recipe)?;
    let mut axes = recipe::Axes::new();
    for (axis, values) in args.axes.given() {
        axes.insert(axis.to_string(), Values::from_texts(values.clone()));
    }
    let target = match (&args.file, &args.directory) {
        (Some(_), _) | (_, Some(_)) if !recipe.reads_files() => {
            bail!("the recipe '{}' reads no file: leave out where", recipe.name)
        }
        (Some(file), _) => {
            let size = units::bytes(fixture::size_of(file)?);
            axes.insert("size".to_string(), Values::from_texts(vec![size]));
            Target::File(file.clone())
        }
        (None, Some(directory)) => Target::Directory(directory.clone()),
        (None, None) if recipe.reads_files() => Target::Directory(PathBuf::from(".")),
        (None, None) => Target::Memory,
    };
    let changes = Changes { axes, rounds: args.rounds, seed: args.seed };
    Ok(Question { recipe, changes, target, peers: Peers::load(args.peers.as_deref())? })
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
    };
    storage.map(Some)
}

/// Measures what is asked, keeps the record and says the judgement. Answers the exit status.
///
/// # Errors
/// When nothing could be measured: a place that is not there, not writable or too small.
pub fn measure(question: &Question, output: &OutputArgs, style: &Style) -> Result<u8> {
    let Question { recipe, changes, target, peers } = question;
    let stop = &Stop::on_signals().context("failed to listen for signals")?;
    let host = witness::host(kernel::available());
    let storage = storage_of(target)?;
    let facts = peers.facts();
    let place = Place { host: &host, storage: storage.as_ref(), peers: &facts };
    let plan = recipe.plan(changes, &place)?;
    check_any_asked(&plan)?;
    output.record.as_deref().map_or(Ok(()), store::check_free)?;
    let mut progress = if output.json { Progress::hidden() } else { Progress::new() };
    let ready = ready_peers(peers, &plan, &progress, stop)?;
    let stay = if output.keep { Stay::Kept } else { Stay::Removed };
    let files = match files_of(&plan, target, &place, stay, (&progress, stop)) {
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
    };
    let path = carry_out(made, output.record.as_deref(), &mut progress, stop)?;
    let code = judge(&path, output, style)?;
    if output.keep {
        for file in files.values() {
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
    let files = files_of(plan, target, place, Stay::Removed, (&progress, stop))?;
    let made = Made { plan, place, files: &files, peers: place.peers.to_vec(), worker };
    store::read(&carry_out(made, None, &mut progress, stop)?)
}

/// All that is ready for a run.
struct Made<'a> {
    plan: &'a Plan,
    place: &'a Place<'a>,
    files: &'a BTreeMap<u64, TestFile>,
    peers: Vec<Peer>,
    worker: &'a dyn Fn(&str) -> Result<Command, String>,
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
        source_storage: None,
        fixtures: made.files.values().map(|file| file.fixture().clone()).collect(),
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
    let assessment = assess::assess(&store::read(path)?);
    let text =
        if output.json { report::json(&assessment) } else { report::text(&assessment, style) };
    say(&text)?;
    tell(&format!("record: {}", path.display()))?;
    Ok(report::exit_code(&assessment))
}

/// Writes a line beside the result, where it does not disturb who reads that.
fn tell(text: &str) -> Result<()> {
    writeln!(io::stderr().lock(), "{text}").context("failed to write to stderr")
}

/// The files that the plan's cases read, by size.
fn files_of(
    plan: &Plan,
    target: &Target,
    place: &Place,
    stay: Stay,
    watch: (&Progress, &Stop),
) -> Result<BTreeMap<u64, TestFile>> {
    let cases = plan.cases.iter().filter_map(|planned| planned.case.file());
    let mut sizes: Vec<u64> = cases.map(|work| work.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let directory = match target {
        Target::Memory => return Ok(BTreeMap::new()),
        Target::File(path) => {
            let file = TestFile::open(path)?;
            return Ok([(file.fixture().size, file)].into());
        }
        Target::Directory(directory) => directory,
    };
    if let Some(storage) = place.storage {
        fixture::check_space(storage, place.host, &sizes)?;
    }
    let mut files = BTreeMap::new();
    for size in sizes {
        let content = Content { seed: plan.seed, size, kind: plan.content };
        files.insert(size, TestFile::create(directory, content, stay, watch)?);
    }
    Ok(files)
}

fn tool() -> Tool {
    Tool {
        name: "ioassay".to_string(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        command: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
    }
}
