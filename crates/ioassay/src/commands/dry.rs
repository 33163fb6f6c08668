//! `ioassay plan` and `--dry-run`: what a run would measure, and what it needs.

mod time;

use self::time::{expected, expected_on_hosts, first_round, spins, trial};
use super::question::fit::tell_smaller;
use super::question::{RunQuestion, Setting, refuse};
use super::{command_line, say, tell};
use crate::args::OutputArgs;
use crate::args::form::FormArgs;
use crate::files;
use crate::load::{self, Search, short_time};
use crate::recipe::{Relative, fallback};
use crate::status::Status;
use crate::store::{self, Place};
use anyhow::{Result, bail};
use model::advice;
use model::case::{BlockPlace, Cache, Case, Work};
use model::host::Storage;
use model::metadata::NAME_BYTES;
use model::plan::Plan;
use model::rank::Members;
use model::units;
use report::{PlanNeeds, Style};
use std::path::PathBuf;
use std::time::Duration;

/// Prints the cases, the skips and the requirements of a run. It measures nothing and creates no
/// file, except for an unnamed 1 MiB canary that probes the storage.
///
/// # Errors
/// If the place does not exist, the plan is impossible, or the name of the record is taken.
pub fn show(question: &RunQuestion, output: &OutputArgs, style: &Style) -> Result<Status> {
    let mut setting = Setting::of(question)?;
    leave_out_io_uring(&mut setting);
    tell_smaller(question, &setting)?;
    let loads = setting.loads.clone();
    let mut asked = setting.plan.clone();
    let typed = command_line();
    let command = advice::command_of(&typed).unwrap_or_default();
    asked.skips.iter_mut().for_each(|skip| skip.reason = advice::fitted(&skip.reason, command));
    let searching = add_nominal(question, &mut setting)?;
    leave_out_io_uring(&mut setting);
    // A folder would be created to check it, and a plan writes nothing.
    if let Place::File(path) = Place::of(output.record.as_deref()) {
        store::check_free(&path)?;
    }
    let needs = PlanNeeds {
        expected: expected(&[(question, &setting)]).map(|run| run.saturating_add(searching)),
        ..needs(question, &setting, output)?
    };
    let text = if output.form.json {
        let loads: Vec<_> = loads.iter().map(shares).collect();
        let plan = serde_json::json!({"plan": asked, "loads": loads, "needs": needs});
        serde_json::to_string_pretty(&plan)?
    } else {
        report::plan(&asked, &[], said_loads(&loads, &asked), Some(&needs)).text(style)
    };
    say(&text)?;
    Ok(Status::DONE)
}

/// What a run on several hosts would measure, and how long that takes where the storage of all is
/// as that of the first.
///
/// # Errors
/// If stdout cannot be written.
pub fn show_on_hosts(
    plan: &Plan,
    (hosts, storage): (&[String], &Storage),
    is_json: bool,
    style: &Style,
) -> Result<()> {
    let time = expected_on_hosts(plan, storage);
    if is_json {
        let seconds = plan.budget.or(time).map(|time| time.as_secs_f64());
        let said = serde_json::json!({"plan": plan, "hosts": hosts, "expected_s": seconds});
        return say(&serde_json::to_string_pretty(&said)?);
    }
    let time = match (plan.budget, time) {
        (Some(budget), _) => format!("time: {}, as --for gives it", units::time(budget)),
        (None, Some(time)) => format!("time: {} on typical machines", report::about(time)),
        (None, None) => "time: unknown".to_string(),
    };
    let notes = vec![(members_of(plan).plural(), vec![hosts.join(", "), time])];
    say(&report::plan(plan, hosts, notes, None).text(style))
}

/// What those who take part in a plan are.
pub fn members_of(plan: &Plan) -> Members {
    Members::of(plan.rank)
}

/// Says how long a run on several hosts will take, if that is long.
///
/// # Errors
/// If stderr cannot be written.
pub fn tell_time_on_hosts(plan: &Plan, storage: &Storage) -> Result<()> {
    match expected_on_hosts(plan, storage).filter(|time| *time >= LONG) {
        Some(time) if plan.budget.is_none() => {
            tell(&format!("time: {} on typical machines", report::about(time)))
        }
        _ => Ok(()),
    }
}

/// Takes out the cases of io_uring that its OS refuses: a run tries them, and they have no figure.
fn leave_out_io_uring(setting: &mut Setting) {
    let Some(reason) = fallback::refused(&setting.host) else { return };
    refuse(&mut setting.plan, |case| case.is_queued().then(|| reason.clone()));
}

/// The shares of a closed loop, for programs.
fn shares(load: &Relative) -> serde_json::Value {
    serde_json::json!({"closed": load.closed().id(), "rates_percent": load.percents})
}

/// What a closed loop may do, in operations per second.
const NOMINAL: u64 = 100_000;

/// Cases at rates that may be those of a run: as many as it will have.
fn nominal(setting: &Setting) -> Vec<Case> {
    let search = Search::of(&setting.plan);
    let of = |load: &Relative| {
        let mut half = |rate: u64| Ok(rate <= NOMINAL / 2);
        search.cases(load, NOMINAL as f64, &mut half).unwrap_or_default()
    };
    setting.loads.iter().flat_map(of).collect()
}

/// The rates that are found by short trials first, below their heading.
fn said_loads(loads: &[Relative], plan: &Plan) -> Vec<(&'static str, Vec<String>)> {
    let Some(load) = loads.first() else { return Vec::new() };
    let shares: Vec<String> = load.percents.iter().map(|it| format!("{it} %")).collect();
    let mut lines = vec![format!("{} of what each closed loop does", shares.join(", "))];
    if !plan.hold.is_empty() {
        let goals: Vec<String> = plan.hold.iter().map(ToString::to_string).collect();
        lines.push(format!("4 rates around the one at which {} ceases", goals.join(", ")));
    }
    lines.extend(plan.at_least.map(|rate| format!("{rate} operations per second")));
    vec![("measured too, at rates that short trials find first", lines)]
}

/// Refuses forms of results, which a plan does not have. A whole command that ends with `--dry-run`
/// may name them.
///
/// # Errors
/// If one is given.
pub fn check_form(form: &FormArgs) -> Result<()> {
    let forms = [
        ("--markdown", form.document.markdown),
        ("--csv", form.csv),
        ("--svg", form.document.svg.is_some()),
        ("--svg-dir", form.document.svg_dir.is_some()),
        ("--html", form.document.html.is_some()),
        ("--openmetrics", form.openmetrics.is_some()),
    ];
    match forms.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => bail!("{flag} is for results, and a plan has none: leave it out"),
        None => Ok(()),
    }
}

fn needs(question: &RunQuestion, setting: &Setting, output: &OutputArgs) -> Result<PlanNeeds> {
    let Setting { host, storage, source, plan, .. } = setting;
    let cases = || plan.cases.iter().map(|planned| &planned.case);
    let is_warm = |case: &&Case| case.cache() == Some(Cache::Warm);
    let (record, record_is_named) = match Place::of(output.record.as_deref()) {
        Place::File(path) => (path, true),
        Place::Folder(folder) => (folder, false),
        Place::Stdout => (PathBuf::from("stdout"), true),
        // Such a run is not refused either: its record is not kept.
        Place::Usual => match store::folder() {
            Ok(folder) => (folder, false),
            Err(_) => (PathBuf::from("none: there is no home folder"), true),
        },
    };
    let huge = host.huge_page_bytes();
    Ok(PlanNeeds {
        trials: plan.sustain.is_none().then(|| u64::from(plan.rounds) * plan.cases.len() as u64),
        expected: None,
        round: first_round(plan, storage.as_ref()),
        budget: plan.budget,
        measuring: measuring(plan),
        ends_by_operations: cases().any(is_counted),
        disk: files::room(plan, &question.target, storage.as_ref(), source.as_ref())?,
        memory_bytes: cases().map(|case| memory_in_all(plan, case, huge)).max().unwrap_or(0),
        page_cache_bytes: cases().filter(is_warm).filter_map(Case::file_size).max().unwrap_or(0),
        available_bytes: host.memory_available,
        record,
        record_is_named,
    })
}

/// The maximum time of all trials, if no case ends early.
fn measuring(plan: &Plan) -> Duration {
    let each = |case: &Case| match plan.sustain {
        Some(budget) => budget.saturating_add(case.time()),
        None => case.time().saturating_mul(plan.rounds),
    };
    let times = plan.cases.iter().map(|planned| each(&planned.case));
    times.fold(Duration::ZERO, Duration::saturating_add)
}

/// Adds cases at rates that may be those of the run. The rates are not known yet, but their number
/// is, and so is what they need. Returns how long short trials take to find them.
fn add_nominal(question: &RunQuestion, setting: &mut Setting) -> Result<Duration> {
    let is_slow = spins(setting.storage.as_ref());
    let search = Search::of(&setting.plan);
    let of = |relative: &Relative| {
        let mut short = relative.at(NOMINAL);
        short.set_time(short_time(NOMINAL, search.goals, short.time()));
        let tries = trial(&short, is_slow).saturating_mul(search.tries());
        trial(&relative.closed(), is_slow).saturating_add(tries).saturating_mul(load::ROUNDS)
    };
    let time = setting.loads.iter().map(of).fold(Duration::ZERO, Duration::saturating_add);
    setting.add_loads(question, nominal(setting))?;
    Ok(time)
}

/// A run that takes longer says so before it begins: any survey does.
const LONG: Duration = Duration::from_secs(20);

/// Says how long a run will take, with each of its sides, if that is long or if its rates are found
/// first.
///
/// # Errors
/// If stderr cannot be written.
pub fn tell_time(sides: &[(&RunQuestion, &Setting)]) -> Result<()> {
    let are_found = sides.iter().any(|(_, setting)| !setting.loads.is_empty());
    let has_budget = sides.iter().any(|(_, setting)| setting.plan.budget.is_some());
    match expected(sides).filter(|time| *time >= LONG || are_found) {
        Some(time) if !has_budget => {
            tell(&format!("time: {} on a typical machine", report::about(time)))
        }
        _ => Ok(()),
    }
}

/// Says how long finding the rates of a run will take, and the run after it. Short trials of low
/// rates take longer than this, and the time of the run follows when its rates are known.
///
/// # Errors
/// If the plan cannot be made, or stderr cannot be written.
pub fn tell_time_of_search(question: &RunQuestion, setting: &mut Setting) -> Result<()> {
    let asked = setting.plan.clone();
    let searching = add_nominal(question, setting)?;
    let run = expected(&[(question, setting)]);
    setting.plan = asked;
    let Some(run) = run else { return Ok(()) };
    tell(&format!(
        "time: {} to find the rates, then {} to measure them; longer if the storage does few \
         operations a second",
        report::about(searching),
        report::about(run)
    ))
}

fn is_counted(case: &Case) -> bool {
    case.io().is_some_and(|io| io.ops > 0)
}

/// The memory of a case and of what runs beside it.
fn memory_in_all(plan: &Plan, case: &Case, huge: Option<u64>) -> u64 {
    let actors = plan.beside(case).map(|actor| &actor.case);
    let each = actors.chain([case]).map(|case| memory_bytes(case, huge));
    each.fold(0, u64::saturating_add)
}

/// The memory of a worker: its arrays, a loaded file, or its buffers, in huge pages of `huge` bytes
/// if the case asks for those.
fn memory_bytes(case: &Case, huge: Option<u64>) -> u64 {
    match &case.work {
        Work::Memory(work) => work.working_set,
        Work::Metadata(work) => {
            let letters = 2 * (NAME_BYTES as u64 + 1);
            work.entries.saturating_mul(work.threads.into()).saturating_mul(letters)
        }
        Work::Read(work) if work.engine.place() == BlockPlace::Memory => work.io.size,
        Work::Read(_) | Work::Write(_) => case.buffer_bytes(huge),
        // What it takes is its own affair.
        Work::Command(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{BufferPages, Engine, Io};
    use model::environment::Environment;
    use model::plan::Role;
    use model::zoo;

    #[test]
    fn trials_last_at_most_so_long() {
        let (host, storage) = (zoo::host(), zoo::storage());
        let environment =
            Environment { host: &host, storage: Some(&storage), source: None, peers: &[] };
        let mut plan = Plan::new("zoo", 10, 0.025, 1);
        // A command takes the time that it takes.
        let timed = zoo::cases().into_iter().filter(|case| case.command().is_none());
        plan.add(timed, Role::Asked, &environment);
        let trial: Duration = plan.cases.iter().map(|planned| planned.case.time()).sum();
        assert!(trial > Duration::ZERO);
        assert_eq!(measuring(&plan), trial * 10);
        plan.sustain = Some(Duration::from_secs(60));
        let cases = plan.cases.len() as u32;
        assert_eq!(measuring(&plan), trial + Duration::from_secs(60) * cases);
    }

    #[test]
    fn what_is_loaded_takes_memory_and_what_is_mapped_none() {
        let in_pages = |engine, pages| {
            let work = model::case::ReadWork {
                io: Io { block: 4096, depth: 8, threads: 3, pages, ..zoo::plain().io },
                engine,
                ..zoo::plain()
            };
            memory_bytes(&Case::own(Work::Read(work)), Some(2 << 20))
        };
        let of = |engine| in_pages(engine, BufferPages::Base);
        assert_eq!(of(Engine::Load), zoo::plain().io.size);
        assert_eq!(of(Engine::Mmap), 0);
        assert_eq!(of(Engine::Uring), 3 * 8 * 4096);
        assert_eq!(in_pages(Engine::Uring, BufferPages::Huge), 3 * (2 << 20));
    }
}
