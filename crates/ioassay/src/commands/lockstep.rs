//! `run` on several hosts, in lockstep.

use super::candidate::CandidateHost;
use super::dry;
use super::hosts::{
    HOSTS, absolute, check_form, late, place_of, refuse_given, refuse_output, refuse_run,
};
use super::hosts::{tell_unkept, way_of};
use super::joint_destination::JointDestination;
use super::joint_report::{Shown, show};
use super::kept::tell_how_to_go_on;
use super::measure::tool;
use super::question::{budget_of, changes_of, recipe_of, refuse, set_ends};
use super::question::{check_any_asked, check_no_idle};
use super::tell;
use crate::args::{OutputArgs, RunArgs};
use crate::hosts::access::{Agents, HostAccess};
use crate::hosts::interrupted::{InterruptedRun, JointBefore};
use crate::hosts::late::LateHosts;
use crate::hosts::lockstep::Lockstep;
use crate::hosts::mark::who_sees;
use crate::hosts::meeting::{Made, orders};
use crate::hosts::member::{Lacking, Member};
use crate::hosts::view::HostsView;
use crate::nodelist::some;
use crate::orphans;
use crate::progress::Progress;
use crate::recipe::{self, Changes, hosts as of_hosts};
use crate::resume::{self, Interrupted};
use crate::status::Status;
use crate::stop::Stop;
use crate::store::{self, JointPlace};
use anyhow::{Context, Result, bail};
use model::agent::Order;
use model::case::Case;
use model::goal::Goal;
use model::plan::Plan;
use model::rank::{Members, Rank};
use model::record::{Invocation, Resumed};
use report::Style;
use std::iter::repeat;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

/// `ioassay run` on several hosts, in lockstep.
///
/// # Errors
/// If a host cannot be used, the question cannot be answered there, or the run to go on with was
/// another one.
pub fn run(args: &RunArgs, style: &Style) -> Result<Status> {
    refuse_run(args, HOSTS)?;
    refuse_given(&[("--length", args.length.is_some())], HOSTS)?;
    refuse_output(&args.output, HOSTS)?;
    check_form(&args.output.form, args.output.dry_run)?;
    let way = way_of(&args.hosts)?;
    let recipe = recipe_of(&args.recipe)?;
    recipe.check_takes_turns("a run on several hosts")?;
    let directory = absolute(recipe.directory(args.directory()?)?)?;
    let place = || place_of(&args.output, &recipe.name);
    let into = JointDestination::of(args.output.resume.as_deref(), &way.names(), place)?;
    let stop = Stop::on_signals().context("failed to listen for signals")?;
    stop.status(measure(args, (&way, &directory), into, &stop, style))
}

fn measure(
    args: &RunArgs,
    (way, directory): (&HostAccess, &Path),
    into: JointDestination<'_>,
    stop: &Stop,
    style: &Style,
) -> Result<Status> {
    orphans::adopt();
    let Agents { each, refused, hold: _hold } = way.start(stop)?;
    refused.iter().try_for_each(|refused| tell(&format!("note: {refused}")))?;
    let mut guests = CandidateHost::look_all(each, repeat(directory), Order::look_at_directory)?;
    tell_doubts(&guests)?;
    let apart = apart(&mut guests, directory)?;
    let refusal = |case: &Case| of_hosts::refusal(case, guests.len() as u32, &apart);
    let company = Company { shares: apart.is_empty(), members: Members::Hosts, refusal: &refusal };
    let plan = plan_of(args, changes_of(args), &guests, &company, into.resumed())?;
    measure_plan(args, plan, guests, into, stop, style)
}

/// Measures a plan, or shows it in a dry run.
///
/// # Errors
/// As [`JointRun::carry_out`].
pub(super) fn measure_plan(
    args: &RunArgs,
    plan: Plan,
    guests: Vec<CandidateHost>,
    into: JointDestination<'_>,
    stop: &Stop,
    style: &Style,
) -> Result<Status> {
    let is_quiet = args.output.quiet;
    let (plan, before) = into.go_on(plan, &guests)?;
    let storage = guests.first().and_then(|guest| guest.storage.as_ref());
    let storage = storage.context("no host takes part")?;
    if args.output.dry_run {
        let called: Vec<String> = guests.iter().map(|guest| guest.called.clone()).collect();
        dry::show_on_hosts(&plan, (&called, storage), args.output.form.json, style)?;
        return Ok(Status::DONE);
    }
    if !is_quiet {
        dry::tell_time_on_hosts(&plan, storage)?;
    }
    let shown = Shown { form: &args.output.form, is_quiet, goals: &[], is_strict: args.strict };
    let deliver = &|records: &[PathBuf]| show(records, &shown, style);
    JointRun { plan, guests, into, before, output: &args.output, deliver }.carry_out(stop)
}

/// A run in lockstep that can begin.
pub(super) struct JointRun<'a> {
    /// The plan for all hosts.
    pub(super) plan: Plan,
    pub(super) guests: Vec<CandidateHost>,
    pub(super) into: JointDestination<'a>,
    pub(super) before: JointBefore,
    pub(super) output: &'a OutputArgs,
    /// What is made of the records.
    pub(super) deliver: &'a dyn Fn(&[PathBuf]) -> Result<Status>,
}

impl JointRun<'_> {
    /// Measures on all hosts, and reports what they did together.
    ///
    /// # Errors
    /// If a host has no files, a record cannot be written, or no host is left.
    pub(super) fn carry_out(self, stop: &Stop) -> Result<Status> {
        let JointRun { plan, guests, into, before, output, deliver } = self;
        let is_quiet = output.quiet;
        let progress = &Progress::unless(is_quiet);
        let (late, folder) = (late(is_quiet, progress), into.folder());
        let members = members(guests, &plan, into, (&late, progress))?;
        let folder = folder.filter(|_| members.iter().all(|member| member.store.is_kept()));
        let written = members.iter().map(|it| it.store.written()).collect::<Result<Vec<_>>>()?;
        let paths: Vec<PathBuf> = written.iter().map(|it| it.path().to_path_buf()).collect();
        if !is_quiet {
            let names: Vec<&str> = members.iter().map(|member| member.called.as_str()).collect();
            progress.aside(|| {
                let (count, members) = (names.len(), dry::members_of(&plan).plural());
                tell(&format!("{count} {members} in lockstep: {}", names.join(", ")))?;
                tell_before(&before)
            })?;
        }
        let view = HostsView::together(progress);
        let all = Lockstep::new(&plan, members, before, stop, (&late, view));
        let carried_out = all.carry_out();
        progress.end();
        if let Some(folder) = folder.as_ref().filter(|_| !is_quiet) {
            tell(&format!("records: {}", folder.display()))?;
        }
        let Lacking { lost, uncleaned } = carried_out?;
        lost.iter().try_for_each(|reason| tell(&format!("note: {reason}")))?;
        let shown = deliver(&paths);
        if let Some(folder) = folder.filter(|_| stop.is_asked() && can_go_on(&paths)) {
            tell_how_to_go_on(&folder, output)?;
        }
        match uncleaned.first() {
            Some(reason) => bail!(reason.clone()),
            None => Ok(status_of_lost(&lost).or_worse(shown?)),
        }
    }
}

/// Whether the run with these records can be resumed.
fn can_go_on(records: &[PathBuf]) -> bool {
    let can = |path: &PathBuf| store::read(path).is_ok_and(|record| resume::can_go_on(&record));
    records.iter().all(can)
}

/// Says where a run goes on.
fn tell_before(JointBefore { known, again, .. }: &JointBefore) -> Result<()> {
    if !known.is_empty() {
        tell(&format!("resumed: trials that all have: {}", known.len()))?;
    }
    if !again.is_empty() {
        tell(&format!(
            "note: trials that are measured again, because not all have them: {}",
            again.len()
        ))?;
    }
    Ok(())
}

/// The status of a run that lost hosts for these reasons.
pub(super) fn status_of_lost(lost: &[String]) -> Status {
    match lost {
        [] => Status::DONE,
        [reason] => Status::not_all(reason.as_str()),
        [first, ..] => Status::not_all(format!("{} hosts were lost; {first}", lost.len())),
    }
}

/// Says what makes figures of these hosts less than what they look like.
pub(super) fn tell_doubts(guests: &[CandidateHost]) -> Result<()> {
    for called in CandidateHost::of_one_machine(guests) {
        tell(&format!(
            "note: {} are one machine (same name, same start): they share its processors and disks",
            some(&called)
        ))?;
    }
    let others = CandidateHost::of_other_builds(guests);
    if others.is_empty() {
        return Ok(());
    }
    tell(&format!(
        "note: the program on {} was built from another commit than this one, and may measure \
         differently: install one build on all",
        some(&others)
    ))
}

/// The hosts that do not see in `directory` what the first one creates there.
fn apart(guests: &mut [CandidateHost], directory: &Path) -> Result<Vec<String>> {
    let called: Vec<String> = guests.iter().map(|guest| guest.called.clone()).collect();
    let Some((first, others)) = guests.split_first_mut() else { return Ok(Vec::new()) };
    let lost = |called: &str| format!("{called} cannot take part");
    let others = (1..).zip(others).map(|(number, guest)| (number, &mut guest.agent)).collect();
    let mut seen =
        who_sees(directory, &mut first.agent, others).with_context(|| lost(&called[0]))?;
    seen.sort_by_key(|(number, _)| *number);
    let mut apart = Vec::new();
    for (number, sees) in seen {
        if !sees.with_context(|| lost(&called[number]))? {
            apart.push(called[number].clone());
        }
    }
    Ok(apart)
}

/// What holds for all who take part.
pub(super) struct Company<'a> {
    /// Whether they have one directory.
    pub(super) shares: bool,
    pub(super) members: Members,
    /// Why they cannot measure a case, if they cannot.
    pub(super) refusal: &'a dyn Fn(&Case) -> Option<String>,
}

/// The plan for all hosts. Symbols such as `cores` are those of the first. What one host cannot do,
/// none does. A run that goes on keeps its seed.
pub(super) fn plan_of(
    args: &RunArgs,
    changes: Changes,
    guests: &[CandidateHost],
    company: &Company<'_>,
    resumed: Option<&InterruptedRun>,
) -> Result<Plan> {
    let hosts = guests.len() as u32;
    let recipe = recipe::find(&args.recipe)?.on_hosts(hosts);
    let mut changes = changes.on_hosts(hosts);
    // By default it comes from the clock, which would give another plan.
    let seed = resumed.and_then(|run| Some(run.plan().rank?.seed));
    changes.seed = changes.seed.or(seed);
    let first = guests.first().context("no host takes part")?;
    let mut plan = first.plan(&recipe, &changes)?;
    for guest in guests {
        let refusal = |case: &Case| {
            let reason = guest.environment().refusal(case)?;
            Some(format!("{}: {reason}", guest.called))
        };
        refuse(&mut plan, refusal);
    }
    refuse(&mut plan, company.refusal);
    plan.goals.extend(args.goal.iter().copied().map(Goal::typed));
    check_no_idle(&plan, &[])?;
    let Company { shares, members, .. } = *company;
    let (of, seed, neighbor) = (hosts, plan.seed, None);
    plan.rank = Some(Rank { number: 0, of, seed, shares, neighbor, members });
    set_ends(&mut plan, budget_of(&args.output)?, args.prune)?;
    check_any_asked(&plan)?;
    Ok(plan)
}

/// Lets every host write its files, and begins its record, or goes on with it.
fn members(
    guests: Vec<CandidateHost>,
    plan: &Plan,
    into: JointDestination<'_>,
    (late, progress): (&LateHosts, &Progress),
) -> Result<Vec<Member>> {
    let since = Instant::now();
    HostsView::together(progress).making(guests.len());
    let hosts: Vec<String> = guests.iter().map(|guest| guest.called.clone()).collect();
    // All begin before the first is waited for.
    let places = (0..).zip(CandidateHost::neighbors(&guests));
    let begin = |(place, guest): ((u32, Option<u32>), CandidateHost)| {
        let record = into.resumed().and_then(|run| run.records.get(place.0 as usize));
        let calibrated = record.map(|it| it.record.header.calibrated.clone());
        guest.begin(place, plan, calibrated)
    };
    let mut begun = places.zip(guests).map(begin).collect::<Result<Vec<_>>>()?;
    let mut made = CandidateHost::all_made(&mut begun, late)?;
    if plan.rank.is_some_and(|rank| rank.shares) {
        let there: Vec<_> = made.into_iter().map(|made| made.folder).enumerate().collect();
        for ((_, order), (guest, _)) in orders(&there).iter().zip(&mut begun) {
            guest.tell(order)?;
        }
        made = CandidateHost::all_made(&mut begun, late)?;
    }
    let began = store::date(SystemTime::now())?;
    let InterruptedRun { records, before, .. } = match into {
        JointDestination::Resumed(_, run) => run,
        JointDestination::New(place) => {
            return entered(begun, made, (&place, progress), (&hosts, &began));
        }
    };
    let anew = Invocation {
        number: before.invocation,
        at_ms: before.lasted.as_millis() as u64,
        made_ms: since.elapsed().as_millis() as u64,
        fixtures: Vec::new(),
        resumed: Some(Resumed { began, tool: tool() }),
        again: before.again.into_iter().collect(),
    };
    let all = begun.into_iter().zip(made).zip(records);
    let go_on = |(((guest, _), made), record): (((CandidateHost, Plan), Made), Interrupted)| {
        guest.go_on(record.store, Invocation { fixtures: made.fixtures, ..anew.clone() })
    };
    all.map(go_on).collect()
}

/// Hosts of a new run, with their records.
fn entered(
    begun: Vec<(CandidateHost, Plan)>,
    made: Vec<Made>,
    (place, progress): (&JointPlace, &Progress),
    run: (&[String], &str),
) -> Result<Vec<Member>> {
    let (guests, plans): (Vec<CandidateHost>, Vec<Plan>) = begun.into_iter().unzip();
    let each = guests.iter().zip(plans.iter().zip(made)).enumerate();
    let entries = each.map(|(number, (guest, (plan, made)))| guest.entry(number, plan, made, run));
    let stores = place.begin(entries.collect::<Result<_>>()?)?;
    progress.aside(|| tell_unkept("the records of this run", &stores))?;
    Ok(guests.into_iter().zip(stores).map(|(guest, store)| guest.enter(store)).collect())
}
