//! `judge`: runs any command as it is, and says of it what is said of our own figures.

mod bounding;
mod hyperfine;
mod parse;
mod rehearse;
mod storages;

pub use parse::Asked;

use super::{Destination, PreparedRun, carry_out, header_of};
use crate::args::OutputArgs;
use crate::args::judge::JudgeArgs;
use crate::commands::kept::Kept;
use crate::commands::question::set_ends;
use crate::commands::{form, tell};
use crate::data_files;
use crate::files::{Files, Maker, Target};
use crate::fixture::Stay;
use crate::keeper::{self, LeftServers};
use crate::machine::this_host;
use crate::orphans;
use crate::progress::Progress;
use crate::recipe::seed_of_now;
use crate::resume::Interrupted;
use crate::status::Status;
use crate::stop::Stop;
use crate::store::{self, Place};
use crate::worker_process;
use anyhow::{Context, Result, anyhow};
use model::axis::Axis;
use model::case::{Cache, Case, Work};
use model::command::{CommandOutput, JudgedCommand};
use model::environment::Environment;
use model::host::Medium;
use model::plan::{Plan, Role, Skip};
use model::record::Header;
use model::rehearsal::FactSheet;
use model::view::{Heading, Question, View};
use report::Style;
use std::path::{Path, PathBuf};
use std::time::Duration;
use storages::WatchedStorages;

/// What is to be measured, and how it is kept.
pub struct JudgeTask<'a> {
    /// The commands.
    pub asked: &'a Asked,
    /// Where the record and the reports go.
    pub output: &'a OutputArgs,
    /// Where the times go for scripts that read those of hyperfine.
    pub export: Option<&'a Path>,
    /// Refuses the run with this header before its first trial.
    pub check: &'a dyn Fn(&Header) -> Result<()>,
}

/// Measures the commands, or what is left of an interrupted run, and prints the report.
///
/// # Errors
/// As for [`keep`], or if the report cannot be written.
pub fn judge(
    task: &JudgeTask,
    interrupted: Option<Interrupted>,
    stop: &Stop,
    style: &Style,
) -> Result<Status> {
    let Some(kept) = keep(task, interrupted, stop)? else { return Ok(Status::DONE) };
    let status = super::judge(&kept, task.output, style)?;
    export(task, &kept)?;
    Ok(status)
}

/// Writes the times for scripts that read those of hyperfine, if they are asked for.
///
/// # Errors
/// If the record cannot be read, or the file not be written.
pub fn export(task: &JudgeTask, kept: &Kept) -> Result<()> {
    let Some(path) = task.export else { return Ok(()) };
    let record = store::read(kept.record.path())?;
    store::keep_report(path, &hyperfine::export(&record, &assess::assess(&record)))
}

/// What `judge` has of the options of all runs.
pub fn output_of(args: &JudgeArgs) -> OutputArgs {
    OutputArgs {
        form: args.form.clone(),
        record: args.record.clone(),
        quiet: args.quiet,
        ..OutputArgs::default()
    }
}

/// Measures the commands, or what is left of an interrupted run, and keeps the record; none if
/// stopped before the first run.
///
/// # Errors
/// If a command cannot be run, nothing can be measured, or the interrupted run was another one.
pub fn keep(
    task: &JudgeTask,
    interrupted: Option<Interrupted>,
    stop: &Stop,
) -> Result<Option<Kept>> {
    orphans::adopt();
    let asked = task.asked;
    let place = Place::of(task.output.record.as_deref());
    place.check()?;
    task.export.iter().try_for_each(|path| store::check_report(path))?;
    if asked.commands.iter().any(|command| command.output == CommandOutput::Inherit) {
        worker_process::pass_on_streams().context("failed to pass on stdout and stderr")?;
    }
    form::check(&task.output.form, &place)?;
    let servers = set_up(asked, stop);
    let kept = match &servers {
        Ok(_) => measure(task, interrupted, place, stop),
        Err(_) => Ok(None),
    };
    let stopped = stop.take();
    let cleaned = clean_up(asked, stop);
    stop.give_back(stopped);
    servers?;
    let kept = kept?;
    cleaned?;
    Ok(kept)
}

fn measure(
    JudgeTask { asked, output, check, .. }: &JudgeTask,
    interrupted: Option<Interrupted>,
    place: Place,
    stop: &Stop,
) -> Result<Option<Kept>> {
    let then = interrupted.as_ref().map(|it| &it.record.header);
    let rehearsed = match then {
        Some(then) => rehearse::as_then(asked, then, output.quiet, stop),
        None => rehearse::all(asked, output.quiet, stop),
    };
    let (commands, rehearsals) = match rehearsed {
        Ok(rehearsed) => rehearsed,
        Err(error) if stop.explains(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let host = this_host();
    let storages = WatchedStorages::of(&commands)?;
    let storage = storages.first.clone();
    let environment =
        &Environment { host: &host, storage: storage.as_ref(), source: None, peers: &[] };
    let seed = then.map_or_else(seed_of_now, |then| then.plan.seed);
    let plan = plan_of(asked, (commands, &rehearsals), environment, seed)?;
    let progress = &Progress::unless(output.quiet);
    let beside = Beside { rehearsals: &rehearsals, largest: storages.largest.as_deref(), then };
    let Some((plan, target, files)) = beside.add(plan, environment, (progress, stop))? else {
        return Ok(None);
    };
    let mut header = header_of(&plan, environment, Vec::new())?;
    header.rehearsals = rehearsals;
    storages.note_in(&mut header);
    match &interrupted {
        Some(interrupted) => interrupted.check(&header, None)?,
        None => tell_time(&plan, &header.rehearsals, output.quiet)?,
    }
    check(&header)?;
    // The order of its cases is that of the record.
    let plan = interrupted.as_ref().map_or(plan, |it| it.record.header.plan.clone());
    let maker = &maker_of(&plan, &target, environment);
    let worker = |_: &str| worker_process::own_command();
    let made = PreparedRun { maker, files, worker: &worker, memory: None };
    let into = Destination::of(interrupted, place, header, Duration::ZERO);
    let (record, _) = carry_out(made, into, progress, stop)?;
    Ok(Some(Kept { record, files: Vec::new() }))
}

fn maker_of<'a>(plan: &'a Plan, target: &'a Target, environment: &'a Environment) -> Maker<'a> {
    Maker { plan, target, source: None, environment, stay: Stay::Removed }
}

/// What decides what is measured beside commands because it bounds them.
struct Beside<'a> {
    rehearsals: &'a [FactSheet],
    largest: Option<&'a Path>,
    /// The header of the run that goes on.
    then: Option<&'a Header>,
}

impl Beside<'_> {
    /// Adds that to `plan`, and makes its test file. None if stopped.
    fn add(
        &self,
        mut plan: Plan,
        environment: &Environment,
        told: (&Progress, &Stop),
    ) -> Result<Option<(Plan, Target, Files)>> {
        bounding::add_start(&mut plan, environment);
        let measures = self.then.is_none_or(|then| bounding::has_device(&then.plan));
        let target = match self.largest.filter(|_| measures) {
            Some(largest) => bounding::add_device(&mut plan, self.rehearsals, environment, largest),
            None => Target::Memory,
        };
        let made = maker_of(&plan, &target, environment).make(told);
        match made {
            Ok(files) => Ok(Some((plan, target, files))),
            Err(error) if told.1.explains(&error) => Ok(None),
            Err(error) => {
                tell(&format!("warning: what the device gives is not measured: {error:#}"))?;
                bounding::remove_device(&mut plan);
                Ok(Some((plan, Target::Memory, Files::default())))
            }
        }
    }
}

/// The recipe of all records of commands.
pub const RECIPE: &str = "judge";

/// Files from this size on are worth a cache state of their own.
const DATA_LEAST: u64 = 1 << 20;

fn plan_of(
    asked: &Asked,
    (commands, rehearsals): (Vec<JudgedCommand>, &[FactSheet]),
    environment: &Environment,
    seed: u64,
) -> Result<Plan> {
    let mut plan = Plan::new(RECIPE, asked.rounds, 0.0, seed);
    plan.invocations = asked.invocations;
    set_ends(&mut plan, asked.budget, false)?;
    plan.view = Some(view(&commands));
    for (number, command) in commands.iter().enumerate() {
        let known = (environment.storage, rehearsals.get(number));
        for cache in states(asked, command) {
            let case = Case::own(Work::Command(command.work(cache)));
            match data_files::refusal(command, cache, known, asked.evicts_others) {
                Some(reason) => plan.skips.push(Skip { case, reason }),
                None => plan.add([case], Role::Asked, environment),
            }
        }
    }
    plan.commands = commands;
    Ok(plan)
}

/// The cache states in which `command` is run.
fn states(asked: &Asked, command: &JudgedCommand) -> Vec<Cache> {
    if !asked.caches.is_empty() {
        return asked.caches.clone();
    }
    let size = |path: &PathBuf| path.metadata().map_or(0, |found| found.len());
    let is_large = |path: &PathBuf| size(path) >= DATA_LEAST && !is_in_memory(path);
    match command.reads.iter().any(is_large) {
        true => vec![Cache::AsIs, Cache::Warm, Cache::Cold],
        false => vec![Cache::AsIs],
    }
}

/// Whether a file is only in memory: then it is always cached, and never cold.
fn is_in_memory(path: &Path) -> bool {
    witness::storage_of(path).is_ok_and(|storage| storage.medium == Medium::Ram)
}

/// How the report shows these commands.
fn view(commands: &[JudgedCommand]) -> View {
    let group = Axis::named("command").map(Heading::Axis);
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    // The last columns are left out where a terminal is narrow: what was asked for comes first.
    let mut columns: Vec<String> = names(&["time"]);
    let syncs = commands.iter().any(|command| command.until_durable);
    columns.extend(syncs.then(|| "durable_after".to_string()));
    let has_figure = commands.iter().any(|command| command.figure.is_some());
    columns.extend(has_figure.then(|| "says".to_string()));
    columns.extend(names(&["cpu_time", "asked", "from_devices", "served_by"]));
    View {
        group: group.into_iter().collect(),
        columns,
        more: vec![names(&[
            "user",
            "system",
            "waited",
            "read_call",
            "write_call",
            "peak",
            "dirtied",
            "still_dirty",
            "flushes",
        ])],
        answer: vec![Question::Commands],
        ..View::default()
    }
}

/// Says how long the run will take, by the rehearsals.
fn tell_time(plan: &Plan, rehearsals: &[FactSheet], is_quiet: bool) -> Result<()> {
    if is_quiet {
        return Ok(());
    }
    let commands = plan.cases.iter().filter(|planned| planned.role == Role::Asked);
    let runs = commands.count() as u64 * u64::from(plan.rounds);
    let times = rehearsals.iter().filter_map(|facts| Some(facts.totals?.wall_ns));
    let (sum, count) = times.fold((0u64, 0u64), |(sum, count), ns| (sum + ns, count + 1));
    let about = sum.checked_div(count).map(|each| Duration::from_nanos(each.saturating_mul(runs)));
    let about = about.map_or(String::new(), |time| {
        format!(", about {} by the rehearsal", model::units::nanoseconds(time.as_nanos() as f64))
    });
    tell(&format!("{runs} runs in {} rounds{about}", plan.rounds))
}

/// Runs what `--setup` asks for. What it leaves running lives as long as the result.
fn set_up(asked: &Asked, stop: &Stop) -> Result<Vec<LeftServers>> {
    let start = |words: &Vec<String>| {
        let started = keeper::start(words, stop);
        started.map_err(|reason| anyhow!("--setup '{}': {reason}", words.join(" ")))
    };
    asked.setups.iter().map(start).collect()
}

/// Runs what `--cleanup` asks for, also after a signal; another one stops it.
fn clean_up(asked: &Asked, stop: &Stop) -> Result<()> {
    for words in &asked.cleanups {
        keeper::run(words, stop)
            .map_err(|reason| anyhow!("--cleanup '{}': {reason}", words.join(" ")))?;
    }
    Ok(())
}
