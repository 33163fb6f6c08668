//! `judge`: runs any command as it is, and says of it what is said of our own figures.

mod bounding;
mod hyperfine;
mod parse;

pub use parse::Asked;

use super::shapes::shapes_of;
use super::{Destination, PreparedRun, carry_out, header_of};
use crate::args::OutputArgs;
use crate::args::judge::JudgeArgs;
use crate::commands::kept::Kept;
use crate::commands::question::{check_any_asked, set_ends};
use crate::commands::{form, tell};
use crate::judging;
use crate::machine::this_host;
use crate::orphans;
use crate::progress::Progress;
use crate::recipe::seed_of_now;
use crate::resume::Interrupted;
use crate::status::Status;
use crate::stop::Stop;
use crate::store::{self, Place};
use crate::worker_process;
use anyhow::{Context, Result};
use bounding::{Beside, maker_of, only_loops};
use model::axis::Axis;
use model::case::{Cache, Case, Work};
use model::command::{CommandOutput, JudgedCommand};
use model::environment::Environment;
use model::judging::{AskedCommands, ReadyCommand, ReadyCommands};
use model::plan::{AroundCommands, Plan, Role, Skip};
use model::record::Header;
use model::view::{Heading, Question, View};
use report::Style;
use std::path::Path;
use std::time::Duration;

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
    let status = super::judge(&kept, task.asked.is_strict, task.output, style)?;
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
    if asked.of_host.commands.iter().any(|command| command.output == CommandOutput::Inherit) {
        worker_process::pass_on_streams().context("failed to pass on stdout and stderr")?;
    }
    form::check(&task.output.form, &place)?;
    let servers = judging::set_up(&asked.of_host, stop);
    let kept = match &servers {
        Ok(_) => measure(task, interrupted, place, stop),
        Err(_) => Ok(None),
    };
    let cleaned = judging::clean_up(&asked.of_host, stop);
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
    let note = tell_unless(output.quiet);
    let tell_name = |name: &str| note(&format!("rehearsing {name}"));
    let rehearsed = match then {
        Some(then) => judging::as_then(&asked.of_host, then, (&tell_name, &note), stop),
        None => judging::rehearse(&asked.of_host, &tell_name, stop),
    };
    let (ready, storages) = match rehearsed {
        Ok(rehearsed) => rehearsed,
        Err(error) if stop.explains(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    ready.warnings.iter().try_for_each(|warning| tell(&format!("warning: {warning}")))?;
    let host = this_host();
    let environment =
        &Environment { host: &host, storage: ready.storage.as_ref(), source: None, peers: &[] };
    let seed = then.map_or_else(seed_of_now, |then| then.plan.seed);
    let mut plan = plan_of(asked, &[("", &ready)], environment, seed)?;
    check_any_asked(&plan)?;
    plan.commands = ready.commands.iter().map(|it| it.command.clone()).collect();
    let progress = &Progress::unless(output.quiet);
    let largest = storages.largest.as_deref();
    let is_quiet = output.quiet;
    let beside = Beside { rehearsals: &ready.rehearsals, largest, then, is_quiet };
    let Some((plan, target, files)) = beside.add(plan, environment, (progress, stop))? else {
        return Ok(None);
    };
    let mut header = header_of(&plan, environment, Vec::new())?;
    ready.note_in(&mut header);
    let loops = Header { plan: only_loops(&plan), ..header.clone() };
    let shapes = then.map(|then| &then.calibrated);
    header.calibrated = shapes_of(shapes, &[&loops], worker_process::own_command(), stop)?;
    match &interrupted {
        Some(interrupted) => interrupted.check(&header, None)?,
        None => tell_time(&plan, &[&ready], output.quiet)?,
    }
    check(&header)?;
    // The order of its cases is that of the record.
    let plan = interrupted.as_ref().map_or(plan, |it| it.record.header.plan.clone());
    let maker = &maker_of(&plan, &target, environment);
    let worker = |_: &str| worker_process::own_command();
    let numbers = ready.numbers_as_in(interrupted.as_ref().map(|it| &it.record.header));
    let made = PreparedRun { numbers, ..PreparedRun::of(maker, files, &worker) };
    let into = Destination::of(interrupted, place, header, Duration::ZERO);
    let (record, _) = carry_out(made, into, progress, stop)?;
    Ok(Some(Kept { record, files: Vec::new() }))
}

/// The recipe of all records of commands.
pub const RECIPE: &str = "judge";

/// Says something, unless the user wants nothing there.
fn tell_unless(is_quiet: bool) -> impl Fn(&str) -> Result<()> {
    move |text| if is_quiet { Ok(()) } else { tell(text) }
}

/// The plan of what the user asks of commands that are ready on these hosts, each with its name.
/// What one host cannot do, none does.
///
/// # Errors
/// If rounds and the time do not fit.
pub fn plan_of(
    asked: &Asked,
    hosts: &[(&str, &ReadyCommands)],
    environment: &Environment,
    seed: u64,
) -> Result<Plan> {
    let mut plan = Plan::new(RECIPE, asked.rounds, 0.0, seed);
    plan.invocations = asked.invocations;
    plan.goals = asked.goals.clone();
    set_ends(&mut plan, asked.budget, false)?;
    plan.view = Some(view(&asked.of_host.commands));
    let AskedCommands { setups, cleanups, .. } = asked.of_host.clone();
    plan.around_commands = Some(AroundCommands { setups, cleanups });
    for (index, command) in asked.of_host.commands.iter().enumerate() {
        let ready: Vec<(&str, &ReadyCommand)> =
            hosts.iter().map(|(called, ready)| (*called, &ready.commands[index])).collect();
        for cache in states(asked, &ready) {
            let case = Case::own(Work::Command(command.work(cache)));
            let refused = ready.iter().find_map(|(called, it)| Some((called, it.refusal(cache)?)));
            match refused {
                Some((&"", reason)) => plan.skips.push(Skip { case, reason: reason.to_string() }),
                Some((called, reason)) => {
                    let reason = format!("the host {called}: {reason}");
                    plan.skips.push(Skip { case, reason });
                }
                None => plan.add([case], Role::Asked, environment),
            }
        }
    }
    Ok(plan)
}

/// The cache states in which a command is run.
fn states(asked: &Asked, ready: &[(&str, &ReadyCommand)]) -> Vec<Cache> {
    if !asked.caches.is_empty() {
        return asked.caches.clone();
    }
    match ready.iter().any(|(_, it)| it.reads_data) {
        true => vec![Cache::AsIs, Cache::Warm, Cache::Cold],
        false => vec![Cache::AsIs],
    }
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

/// Says how long the run will take, by the rehearsals of the slowest of these hosts.
///
/// # Errors
/// If stderr cannot be written.
pub fn tell_time(plan: &Plan, hosts: &[&ReadyCommands], is_quiet: bool) -> Result<()> {
    if is_quiet {
        return Ok(());
    }
    let commands = plan.cases.iter().filter(|planned| planned.role == Role::Asked);
    let runs = commands.count() as u64 * u64::from(plan.rounds);
    let each = hosts.iter().filter_map(|it| judging::expected_ns(&it.rehearsals, runs));
    let about = each.max().map_or(String::new(), |ns| {
        format!(", about {} by the rehearsal", model::units::nanoseconds(ns as f64))
    });
    tell(&format!("{runs} runs in {} rounds{about}", plan.rounds))
}
