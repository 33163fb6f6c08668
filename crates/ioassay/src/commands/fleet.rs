//! Several hosts that should be alike: measured each by itself, and judged together. The same table
//! comes from records that were made apart.

use super::candidate::CandidateHost;
use super::form;
use super::hosts::{
    HOSTS, absolute, check_form, csv, late, place_of, refuse_given, refuse_output, refuse_run,
    tell_unkept, way_of,
};
use super::lockstep::status_of_lost;
use super::measure::judge::{Asked, RECIPE, output_of};
use super::question::check_any_asked;
use super::question::{budget_of, changes_of, recipe_of, refuse, set_ends};
use super::rehearsing_hosts::{self, plan_on, rehearse};
use super::{Terminal, tell};
use crate::args::form::FormArgs;
use crate::args::hosts::HostArgs;
use crate::args::judge::JudgeArgs;
use crate::args::{OutputArgs, RunArgs, SurveyArgs};
use crate::hosts::access::{Agents, HostAccess};
use crate::hosts::interrupted::JointBefore;
use crate::hosts::late::LateHosts;
use crate::hosts::lockstep::Lockstep;
use crate::hosts::remote::Remote;
use crate::hosts::view::HostsView;
use crate::orphans;
use crate::progress::Progress;
use crate::recipe::hosts::refusal_alone;
use crate::recipe::{self, Changes, Recipe, seed_of_now};
use crate::status::Status;
use crate::stop::{EvenIfStopped, Stop};
use crate::store::{self, JointPlace, ReadableRecord};
use anyhow::{Context, Result, anyhow, bail};
use assess::fleet::FleetRecords;
use model::plan::Plan;
use model::printable::printable;
use report::Style;
use std::path::{Path, PathBuf};
use std::thread::{self, ScopedJoinHandle};
use std::time::SystemTime;

/// `ioassay survey --hosts`.
///
/// # Errors
/// If the hosts are not named properly, no host can be measured, or a record cannot be written.
pub fn survey(args: &SurveyArgs, style: &Style) -> Result<Status> {
    let mut recipe = recipe::find("survey")?;
    if args.quick {
        recipe = recipe.quick()?;
    }
    let changes = Changes { seed: args.seed, ..Changes::default() };
    let SurveyArgs { directory, hosts, output, at_once, .. } = args;
    let work = FleetWork::Recipe { recipe, changes, prunes: false };
    measure(&FleetTask { work, directory, hosts, output, at_once: *at_once }, style)
}

/// `ioassay run --hosts --each`.
///
/// # Errors
/// As for [`survey`].
pub fn run(args: &RunArgs, style: &Style) -> Result<Status> {
    refuse_run(args, HOSTS)?;
    refuse_given(&[("--length", args.length.is_some())], HOSTS)?;
    let goals = [("--goal", !args.goal.is_empty()), ("--strict", args.strict)];
    refuse_given(&goals, "--each")?;
    let (recipe, changes) = (recipe_of(&args.recipe)?, changes_of(args));
    recipe.check_takes_turns("a run on several hosts")?;
    let directory = &recipe.directory(args.directory()?)?.to_path_buf();
    let RunArgs { hosts, output, at_once, prune, .. } = args;
    let work = FleetWork::Recipe { recipe, changes, prunes: *prune };
    measure(&FleetTask { work, directory, hosts, output, at_once: *at_once }, style)
}

/// `ioassay judge --hosts --each`.
///
/// # Errors
/// As for [`survey`].
pub fn judge(args: &JudgeArgs, style: &Style) -> Result<Status> {
    rehearsing_hosts::refuse(args)?;
    let (asked, output) = (&Asked::of(args)?, &output_of(args));
    let JudgeArgs { hosts, at_once, .. } = args;
    let (work, directory) = (FleetWork::Commands(asked), Path::new("."));
    measure(&FleetTask { work, directory, hosts, output, at_once: *at_once }, style)
}

/// What a host is to measure.
#[expect(clippy::large_enum_variant, reason = "a run has one")]
enum FleetWork<'a> {
    Recipe {
        recipe: Recipe,
        changes: Changes,
        /// Whether axes are pruned.
        prunes: bool,
    },
    Commands(&'a Asked),
}

impl FleetWork<'_> {
    /// The recipe of its records.
    fn name(&self) -> &str {
        match self {
            FleetWork::Recipe { recipe, .. } => &recipe.name,
            FleetWork::Commands(_) => RECIPE,
        }
    }
}

/// What each host is to measure, and where.
struct FleetTask<'a> {
    work: FleetWork<'a>,
    directory: &'a Path,
    hosts: &'a HostArgs,
    output: &'a OutputArgs,
    /// Whether all measure at the same time.
    at_once: bool,
}

/// Measures on all hosts, and reports what is known of them.
fn measure(errand: &FleetTask, style: &Style) -> Result<Status> {
    refuse_output(errand.output, HOSTS)?;
    refuse_given(&[("--resume", errand.output.resume.is_some())], HOSTS)?;
    if errand.output.dry_run {
        bail!("--dry-run does not go with hosts that measure each by itself yet: leave it out");
    }
    check_form(&errand.output.form, false)?;
    let way = way_of(errand.hosts)?;
    let place = place_of(errand.output, errand.work.name())?;
    let directory = absolute(errand.directory)?;
    let stop = Stop::on_signals().context("failed to listen for signals")?;
    orphans::adopt();
    let tour = FleetRun { errand, directory: &directory, place: &place, stop: &stop };
    stop.status(tour.deliver(&way, style))
}

/// The way through all hosts.
struct FleetRun<'a> {
    errand: &'a FleetTask<'a>,
    directory: &'a Path,
    place: &'a JointPlace,
    stop: &'a Stop,
}

/// A host's record, which may be in memory.
struct HostRecord {
    written: ReadableRecord,
    is_kept: bool,
}

/// A host that was to be measured.
struct MeasuredHost {
    called: String,
    /// Its record, if it has one.
    record: Option<HostRecord>,
    /// Why it was not measured, or not completely.
    lost: Option<anyhow::Error>,
}

impl FleetRun<'_> {
    fn deliver(&self, way: &HostAccess, style: &Style) -> Result<Status> {
        // Those whose turn is later only say that they are there.
        let Agents { each: hosts, refused, hold: _hold } = way.start(self.stop)?;
        refused.iter().try_for_each(|refused| tell(&format!("note: {refused}")))?;
        let progress = &Progress::unless(self.errand.output.quiet).of_fleet(hosts.len());
        let visited = match self.errand.at_once {
            true => self.at_once(hosts, progress),
            false => self.in_turn(hosts, progress)?,
        };
        progress.end();
        let lost: Vec<String> = visited.iter().filter_map(MeasuredHost::said).collect();
        lost.iter().try_for_each(|reason| tell(&format!("note: {reason}")))?;
        let mut gathered = FleetReport::default();
        for MeasuredHost { record, .. } in &visited {
            record.iter().try_for_each(|record| gathered.add(record.written.path()))?;
        }
        if gathered.paths.is_empty() {
            bail!("no host was measured: see the notes above");
        }
        let is_kept = visited.iter().flat_map(|it| &it.record).any(|record| record.is_kept);
        if let Some(folder) = self.place.folder().filter(|_| is_kept && !self.errand.output.quiet) {
            tell(&format!("records: {}", folder.display()))?;
        }
        let output = self.errand.output;
        let status = gathered.deliver((&output.form, output.quiet), style)?;
        let lost_for = visited.into_iter().filter_map(|it| it.lost);
        // What is said of a run even after a signal is said of a host, too.
        match lost_for.into_iter().find(|reason| reason.is::<EvenIfStopped>()) {
            Some(reason) => Err(reason),
            None => Ok(status_of_lost(&lost).or_worse(status)),
        }
    }

    /// One host after the other. After a signal, the others are not begun.
    fn in_turn(
        &self,
        hosts: Vec<(String, Result<Remote>)>,
        progress: &Progress,
    ) -> Result<Vec<MeasuredHost>> {
        let all = hosts.len();
        let mut visited = Vec::with_capacity(all);
        for (number, (called, agent)) in hosts.into_iter().enumerate() {
            if self.stop.is_asked() {
                break;
            }
            if !self.errand.output.quiet {
                progress.aside(|| tell(&format!("host {} of {all}: {called}", number + 1)))?;
            }
            visited.push(self.visit(number, called, agent, progress));
        }
        Ok(visited)
    }

    /// All hosts at the same time, each by a thread of its own, which waits for it.
    fn at_once(
        &self,
        hosts: Vec<(String, Result<Remote>)>,
        progress: &Progress,
    ) -> Vec<MeasuredHost> {
        thread::scope(|scope| {
            let start = |(number, (called, agent)): (usize, (String, Result<Remote>))| {
                let name = called.clone();
                let visit = move || self.visit(number, called, agent, progress);
                (name, thread::Builder::new().spawn_scoped(scope, visit))
            };
            let started: Vec<_> = hosts.into_iter().enumerate().map(start).collect();
            let end = |(called, started): (
                String,
                std::io::Result<ScopedJoinHandle<'_, MeasuredHost>>,
            )| {
                let failed = |lost| MeasuredHost { called, record: None, lost: Some(lost) };
                match started.map(ScopedJoinHandle::join) {
                    Ok(Ok(visited)) => visited,
                    Ok(Err(_)) => failed(anyhow!("the thread that waited for it panicked")),
                    Err(error) => {
                        failed(anyhow!(error).context("failed to start a thread that waits for it"))
                    }
                }
            };
            started.into_iter().map(end).collect()
        })
    }

    /// Measures on a host. What goes wrong there ends no other host's measurement.
    fn visit(
        &self,
        number: usize,
        called: String,
        agent: Result<Remote>,
        progress: &Progress,
    ) -> MeasuredHost {
        let mut record = None;
        let lost = self.run((number, &called), agent, progress, &mut record).err();
        let view = HostsView::alone(progress, number, &called);
        match lost {
            None => view.over(),
            Some(_) => view.lose(&called),
        }
        MeasuredHost { called, record, lost }
    }

    /// A host's own plan is made for what the host is like, and its run waits for no other.
    fn run(
        &self,
        (number, called): (usize, &str),
        agent: Result<Remote>,
        progress: &Progress,
        record: &mut Option<HostRecord>,
    ) -> Result<()> {
        let guest = CandidateHost::look(called.to_owned(), agent, self.directory)?;
        let late = late(self.errand.output.quiet, progress);
        let (guest, plan) = self.planned(guest, &late, progress)?;
        let mut begun = [guest.begin((number as u32, None), &plan, None)?];
        let view = HostsView::alone(progress, number, called);
        view.making(1);
        let made = CandidateHost::all_made(&mut begun, &late)?.pop().context("it made nothing")?;
        let [(guest, plan)] = begun;
        let began = store::date(SystemTime::now())?;
        let entry = guest.entry(number, &plan, made, (&[], &began))?;
        let stores = self.place.begin(vec![entry])?;
        progress.aside(|| tell_unkept(&format!("the record of {called}"), &stores))?;
        let store = stores.into_iter().next().context("it has no record")?;
        *record = Some(HostRecord { written: store.written()?, is_kept: store.is_kept() });
        let (members, before) = (vec![guest.enter(store)], JointBefore::default());
        let run = Lockstep::new(&plan, members, before, self.stop, (&late, view));
        match run.carry_out()?.uncleaned.pop() {
            Some(reason) => bail!(reason),
            None => Ok(()),
        }
    }

    /// A host with its own plan. Commands are rehearsed there for it.
    fn planned(
        &self,
        guest: CandidateHost,
        late: &LateHosts,
        progress: &Progress,
    ) -> Result<(CandidateHost, Plan)> {
        let (recipe, changes, prunes) = match &self.errand.work {
            FleetWork::Recipe { recipe, changes, prunes } => (recipe, changes, *prunes),
            FleetWork::Commands(asked) => {
                let mut guests = [guest];
                rehearse(&mut guests, asked, self.directory, &[], (late, progress))?;
                let plan = plan_on(&guests, asked, seed_of_now())?;
                let [guest] = guests;
                return Ok((guest, plan));
            }
        };
        let mut plan = guest.plan(recipe, changes)?;
        // Each host is measured by itself.
        refuse(&mut plan, |case| {
            refusal_alone(case).map(|reason| format!("{reason}, and leave out --each"))
        });
        set_ends(&mut plan, budget_of(self.errand.output)?, prunes)?;
        check_any_asked(&plan)?;
        Ok((guest, plan))
    }
}

impl MeasuredHost {
    /// What went wrong.
    fn said(&self) -> Option<String> {
        let (called, lost) = (&self.called, self.lost.as_ref()?);
        Some(match self.record {
            Some(_) => format!("the run on {called} ended early: {lost:#}"),
            None => format!("the host {called} was not measured: {lost:#}"),
        })
    }
}

/// `ioassay report` of several records.
///
/// # Errors
/// If one is not a record, or the form is one of a single record.
pub fn report(records: &[PathBuf], form: &FormArgs, style: &Style) -> Result<Status> {
    check_form(form, false)?;
    show(records, form, style)
}

/// The same in a form.
///
/// # Errors
/// If one is not a record.
pub fn show(records: &[PathBuf], form: &FormArgs, style: &Style) -> Result<Status> {
    let mut gathered = FleetReport::default();
    records.iter().try_for_each(|record| gathered.add(record))?;
    gathered.deliver((form, false), style)
}

/// Records that are read one at a time: a large one does not stay in memory.
#[derive(Default)]
struct FleetReport {
    gathering: FleetRecords,
    /// The records, without copies.
    paths: Vec<PathBuf>,
}

impl FleetReport {
    fn add(&mut self, path: &Path) -> Result<()> {
        let record = store::read(path)?;
        let shown = printable(&path.display().to_string()).into_owned();
        if self.gathering.add(&record, &shown)? {
            self.paths.push(path.to_path_buf());
        }
        Ok(())
    }

    fn deliver(self, (form, is_quiet): (&FormArgs, bool), style: &Style) -> Result<Status> {
        let fleet = self.gathering.judge();
        let for_programs = || {
            if form.json {
                return Ok(report::json_of_fleet(&fleet, Terminal::default())?);
            }
            let called = fleet
                .hosts
                .iter()
                .map(|host| host.header.called.as_deref().unwrap_or(&host.header.host.name));
            csv(called.zip(&self.paths), report::csv_rows)?;
            // The table has no place for it.
            report::copies(&fleet).try_for_each(|copy| tell(&format!("note: {copy}")))
        };
        let for_programs = form.is_for_programs().then_some(for_programs);
        form::hand_out(|| report::fleet(&fleet), &form.document, style, for_programs)?;
        if !is_quiet {
            form::tell_document(&form.document)?;
        }
        Ok(report::shortfall_of_fleet(&fleet).map_or(Status::DONE, Status::not_all))
    }
}
