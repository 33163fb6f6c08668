//! `survey`, `run` and `plan`: from a question to its answer.

use super::{DONE, say};
use crate::args::{OutputArgs, RunArgs};
use crate::courier::PATIENCE;
use crate::fixture::{self, Stay, TestFile};
use crate::progress::Progress;
use crate::recipe::{self, Changes, Recipe, Values};
use crate::run::Run;
use crate::stop::Stop;
use crate::store::{self, Store};
use anyhow::{Context, Result, bail};
use model::content::Content;
use model::host::{Host, Storage};
use model::plan::{Place, Plan, Role};
use model::record::{Header, Tool};
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
    /// A test file in this directory.
    Directory(PathBuf),
    /// A user's own file, which is only read.
    File(PathBuf),
}

/// `ioassay run`.
///
/// # Errors
/// When the question is not understood or cannot be asked here.
pub fn run(args: &RunArgs, style: &Style) -> Result<u8> {
    let (recipe, changes, target) = understand(args)?;
    measure(&recipe, &changes, &target, &args.output, style)
}

/// `ioassay plan`.
///
/// # Errors
/// As for [`run`].
pub fn plan(args: &RunArgs, style: &Style) -> Result<u8> {
    let (recipe, changes, target) = understand(args)?;
    let host = witness::host(kernel::available());
    let storage = storage_of(&target)?;
    let plan =
        recipe.plan(&changes, &Place { host: &host, storage: Some(&storage), peers: &[] })?;
    say(&report::plan(&plan, style))?;
    Ok(DONE)
}

fn understand(args: &RunArgs) -> Result<(Recipe, Changes, Target)> {
    let recipe = recipe::find(&args.recipe)?;
    let mut axes = recipe::Axes::new();
    for (axis, values) in args.axes.given() {
        axes.insert(axis.to_string(), Values::from_texts(values.clone()));
    }
    let target = match &args.file {
        Some(file) => {
            let size = units::bytes(fixture::size_of(file)?);
            axes.insert("size".to_string(), Values::from_texts(vec![size]));
            Target::File(file.clone())
        }
        None => Target::Directory(args.directory.clone()),
    };
    let changes = Changes { axes, rounds: args.rounds, seed: args.seed };
    Ok((recipe, changes, target))
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

fn storage_of(target: &Target) -> Result<Storage> {
    match target {
        Target::Directory(directory) if !directory.is_dir() => {
            bail!("there is no directory '{}': make it, or name another", directory.display())
        }
        Target::Directory(directory) => witness::storage(directory)
            .with_context(|| format!("failed to look at the storage of '{}'", directory.display())),
        Target::File(file) => witness::storage_of(file)
            .with_context(|| format!("failed to look at the storage of '{}'", file.display())),
    }
}

/// Measures what `recipe` asks, keeps the record and says the judgement. Answers the exit status.
///
/// # Errors
/// When nothing could be measured: a place that is not there, not writable or too small.
pub fn measure(
    recipe: &Recipe,
    changes: &Changes,
    target: &Target,
    output: &OutputArgs,
    style: &Style,
) -> Result<u8> {
    let stop = &Stop::on_signals().context("failed to listen for signals")?;
    let host = witness::host(kernel::available());
    let storage = storage_of(target)?;
    let plan = recipe.plan(changes, &Place { host: &host, storage: Some(&storage), peers: &[] })?;
    check_any_asked(&plan)?;
    output.record.as_deref().map_or(Ok(()), store::check_free)?;
    let mut progress = if output.json { Progress::hidden() } else { Progress::new() };
    let stay = if output.keep { Stay::Kept } else { Stay::Removed };
    let files = files_of(&plan, target, (&host, &storage), stay, (&progress, stop));
    let files = match files {
        // Nothing was measured yet: there is no record to end.
        Err(_) if stop.is_asked() => return Ok(stop.exit_code().unwrap_or(DONE)),
        other => other?,
    };
    let began = SystemTime::now();
    let path = match &output.record {
        Some(path) => path.clone(),
        None => store::dated_path(&plan.recipe, began)?,
    };
    let header = Header {
        tool: tool(),
        began: store::date(began),
        host,
        storage: Some(storage.clone()),
        fixtures: files.values().map(|file| file.fixture().clone()).collect(),
        peers: Vec::new(),
        plan: plan.clone(),
    };
    let mut store = Store::create(&path, header)?;
    let worker = worker_command()?;
    let run = Run {
        plan: &plan,
        files: &files,
        storage: Some(&storage),
        store: &mut store,
        progress: &mut progress,
        stop,
        worker: &worker,
        patience: PATIENCE,
    };
    run.carry_out()?;
    let code = judge(&path, output, style)?;
    if output.keep {
        for file in files.values() {
            tell(&format!("kept: {}", file.fixture().path.display()))?;
        }
    }
    Ok(stop.exit_code().unwrap_or(code))
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
    (host, storage): (&Host, &Storage),
    stay: Stay,
    watch: (&Progress, &Stop),
) -> Result<BTreeMap<u64, TestFile>> {
    let cases = plan.cases.iter().filter_map(|planned| planned.case.file());
    let mut sizes: Vec<u64> = cases.map(|work| work.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let directory = match target {
        Target::File(path) => {
            let file = TestFile::open(path)?;
            return Ok([(file.fixture().size, file)].into());
        }
        Target::Directory(directory) => directory,
    };
    fixture::check_space(storage, host, &sizes)?;
    let mut files = BTreeMap::new();
    for size in sizes {
        let content = Content { seed: plan.seed, size, kind: plan.content };
        files.insert(size, TestFile::create(directory, content, stay, watch)?);
    }
    Ok(files)
}

/// How a worker of this program's own is started.
fn worker_command() -> Result<impl Fn() -> Command> {
    let program = std::env::current_exe().context("failed to find this program's own file")?;
    Ok(move || {
        let mut command = Command::new(&program);
        command.arg("worker");
        command
    })
}

fn tool() -> Tool {
    Tool {
        name: "ioassay".to_string(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        command: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
    }
}
