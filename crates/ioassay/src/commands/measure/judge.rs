//! `judge`: runs any command as it is, and says of it what is said of our own figures.

mod bounding;
mod hyperfine;
mod parse;
mod rehearse;
mod storages;

use super::{Destination, PreparedRun, carry_out, header_of};
use crate::args::OutputArgs;
use crate::args::judge::JudgeArgs;
use crate::commands::kept::Kept;
use crate::commands::{form, running, tell};
use crate::data_files;
use crate::files::{Files, Maker, Target};
use crate::fixture::Stay;
use crate::keeper::{self, LeftServers};
use crate::machine::this_host;
use crate::orphans;
use crate::progress::Progress;
use crate::recipe::repetitions::{USUAL, settle};
use crate::status::Status;
use crate::stop::{Stop, keep_children};
use crate::store::{self, Place};
use crate::worker_process;
use anyhow::{Context, Result, anyhow};
use model::axis::Axis;
use model::case::{Cache, Case, Work};
use model::command::{CommandOutput, JudgedCommand};
use model::environment::Environment;
use model::plan::{Plan, Role, Skip};
use model::rehearsal::FactSheet;
use model::view::{Heading, Question, View};
use parse::Asked;
use report::Style;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use storages::WatchedStorages;

/// `ioassay judge`.
///
/// # Errors
/// If a command is not understood, or nothing can be measured.
pub fn judge(args: &JudgeArgs, style: &Style) -> Result<Status> {
    if args.pid.is_some() || args.cgroup.is_some() {
        return running::execute(args, style);
    }
    let asked = Asked::of(args)?;
    let stop = Stop::on_signals().context("failed to listen for signals")?;
    keep_children().context("failed to handle SIGCHLD")?;
    let output = output_of(args);
    let export = args.export_json.as_deref();
    stop.status(keep(&asked, &output, export, &stop).and_then(|kept| match kept {
        None => Ok(Status::DONE),
        Some(kept) => {
            let status = super::judge(&kept, &output, style)?;
            export.map_or(Ok(()), |path| export_to(path, &kept))?;
            Ok(status)
        }
    }))
}

/// Writes the times for scripts that read those of hyperfine.
fn export_to(path: &Path, kept: &Kept) -> Result<()> {
    let record = store::read(kept.record.path())?;
    store::keep_report(path, &hyperfine::export(&record, &assess::assess(&record)))
}

/// What `judge` has of the options of all runs.
fn output_of(args: &JudgeArgs) -> OutputArgs {
    OutputArgs {
        form: args.form.clone(),
        record: args.record.clone(),
        quiet: args.quiet,
        ..OutputArgs::default()
    }
}

/// Measures the commands, and keeps the record; none if stopped before the first run.
fn keep(
    asked: &Asked,
    output: &OutputArgs,
    export: Option<&Path>,
    stop: &Stop,
) -> Result<Option<Kept>> {
    orphans::adopt();
    let place = Place::of(output.record.as_deref());
    place.check()?;
    export.iter().try_for_each(|path| store::check_report(path))?;
    if asked.commands.iter().any(|command| command.output == CommandOutput::Inherit) {
        worker_process::pass_on_streams().context("failed to pass on stdout and stderr")?;
    }
    form::check(&output.form, &place)?;
    let servers = set_up(asked, stop);
    let kept = match &servers {
        Ok(_) => measure(asked, place, output, stop),
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

fn measure(asked: &Asked, place: Place, output: &OutputArgs, stop: &Stop) -> Result<Option<Kept>> {
    let (commands, rehearsals) = match rehearse::all(asked, output.quiet, stop) {
        Ok(rehearsed) => rehearsed,
        Err(error) if stop.explains(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let host = this_host();
    let storages = WatchedStorages::of(&commands)?;
    let storage = storages.first.clone();
    let environment =
        &Environment { host: &host, storage: storage.as_ref(), source: None, peers: &[] };
    let mut plan = plan_of(asked, (commands, &rehearsals), environment)?;
    tell_time(&plan, &rehearsals, output.quiet)?;
    bounding::add_start(&mut plan, environment);
    let target = match &storages.largest {
        Some(largest) => bounding::add_device(&mut plan, &rehearsals, environment, largest),
        None => Target::Memory,
    };
    let progress = &Progress::unless(output.quiet);
    let made = maker_of(&plan, &target, environment).make((progress, stop));
    let (files, target) = match made {
        Ok(files) => (files, target),
        Err(error) if stop.explains(&error) => return Ok(None),
        Err(error) => {
            tell(&format!("warning: what the device gives is not measured: {error:#}"))?;
            bounding::remove_device(&mut plan);
            (Files::default(), Target::Memory)
        }
    };
    let maker = &maker_of(&plan, &target, environment);
    let mut header = header_of(&plan, environment, Vec::new())?;
    header.rehearsals = rehearsals;
    storages.note_in(&mut header);
    let worker = |_: &str| worker_process::own_command();
    let made = PreparedRun { maker, files, worker: &worker, memory: None };
    let into = Destination::New { place, header };
    let (record, _) = carry_out(made, into, progress, stop)?;
    Ok(Some(Kept { record, files: Vec::new() }))
}

fn maker_of<'a>(plan: &'a Plan, target: &'a Target, environment: &'a Environment) -> Maker<'a> {
    Maker { plan, target, source: None, environment, stay: Stay::Removed }
}

/// Files from this size on are worth a cache state of their own.
const DATA_LEAST: u64 = 1 << 20;

fn plan_of(
    asked: &Asked,
    (commands, rehearsals): (Vec<JudgedCommand>, &[FactSheet]),
    environment: &Environment,
) -> Result<Plan> {
    let (rounds, invocations) = settle(asked.rounds, asked.invocations, USUAL)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let mut plan = Plan::new("judge", rounds, 0.0, now as u64);
    plan.invocations = invocations;
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
    match command.reads.iter().any(|path| size(path) >= DATA_LEAST) {
        true => vec![Cache::AsIs, Cache::Warm, Cache::Cold],
        false => vec![Cache::AsIs],
    }
}

/// How the report shows these commands.
fn view(commands: &[JudgedCommand]) -> View {
    let group = Axis::named("command").map(Heading::Axis);
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    let mut columns: Vec<String> =
        names(&["time", "cpu_time", "asked", "from_devices", "served_by"]);
    let syncs = commands.iter().any(|command| command.until_durable);
    columns.extend(syncs.then(|| "durable_after".to_string()));
    let has_figure = commands.iter().any(|command| command.figure.is_some());
    columns.extend(has_figure.then(|| "says".to_string()));
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
    let runs = plan.cases.len() as u64 * u64::from(plan.rounds);
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
