//! `judge` on several hosts, in lockstep: each sets up, rehearses and cleans up its own commands,
//! and all begin each run at the same moment.

mod reference;

use super::candidate::CandidateHost;
use super::hosts::{HOSTS, check_form, late, place_of, refuse_output, way_of};
use super::joint_destination::JointDestination;
use super::joint_report::{Shown, show};
use super::lockstep::{JointRun, tell_doubts};
use super::measure::judge::{Asked, RECIPE, output_of, tell_time};
use super::rehearsing_hosts::{plan_on, refuse, rehearse};
use super::{judge, tell};
use crate::args::OutputArgs;
use crate::args::judge::JudgeArgs;
use crate::hosts::access::{Agents, HostAccess};
use crate::launch::HostName;
use crate::orphans;
use crate::progress::Progress;
use crate::recipe::seed_of_now;
use crate::status::Status;
use crate::stop::Stop;
use crate::store;
use anyhow::{Context, Result};
use model::agent::Order;
use model::judging::ReadyCommands;
use model::plan::Plan;
use model::rank::{Members, Rank};
use reference::JointReference;
use report::Style;
use std::iter::repeat;
use std::path::{Path, PathBuf};

/// `ioassay judge --hosts`.
///
/// # Errors
/// If a host cannot be used, or a command cannot be run on one.
pub fn judge(args: &JudgeArgs, style: &Style) -> Result<Status> {
    refuse(args)?;
    let asked = Asked::of(args)?;
    if !args.fail_if.is_empty() && args.against.is_none() {
        judge::check_gate(&asked)?;
    }
    let output = output_of(args);
    refuse_output(&output, HOSTS)?;
    check_form(&output.form, false)?;
    let way = way_of(&args.hosts)?;
    let into =
        JointDestination::of(args.resume.as_deref(), &way.names(), || place_of(&output, RECIPE))?;
    let names: Vec<&str> = way.hosts.all().iter().map(HostName::name).collect();
    let against = args.against.as_deref();
    let reference = against.map(|folder| JointReference::open(folder, &names)).transpose()?;
    let directory = std::env::current_dir().context("the current directory is not known")?;
    let stop = Stop::on_signals().context("failed to listen for signals")?;
    let is_quiet = output.quiet;
    let shown = Shown { form: &output.form, is_quiet, goals: &[], is_strict: args.strict };
    let deliver = &|records: &[PathBuf]| match &reference {
        _ if args.fail_if.is_empty() => show(records, &shown, style),
        _ if stop.is_asked() => judge::tell_stopped(output.quiet).map(|()| Status::DONE),
        Some(reference) => reference.hold(args, records, style),
        None => hold(args, records, style),
    };
    let task = JointTask { asked: &asked, output: &output, reference: reference.as_ref() };
    stop.status(task.measure((&way, &directory), into, deliver, &stop))
}

/// What hosts do together.
struct JointTask<'a> {
    asked: &'a Asked,
    output: &'a OutputArgs,
    /// What it is held against, if that is another run.
    reference: Option<&'a JointReference<'a>>,
}

impl JointTask<'_> {
    fn measure(
        &self,
        (way, directory): (&HostAccess, &Path),
        into: JointDestination<'_>,
        deliver: &dyn Fn(&[PathBuf]) -> Result<Status>,
        stop: &Stop,
    ) -> Result<Status> {
        let JointTask { asked, output, reference } = self;
        orphans::adopt();
        let Agents { each, refused, hold: _hold } = way.start(stop)?;
        refused.iter().try_for_each(|refused| tell(&format!("note: {refused}")))?;
        let mut guests =
            CandidateHost::look_all(each, repeat(directory), Order::look_at_directory)?;
        tell_doubts(&guests)?;
        let then = into.resumed().map_or(&[][..], |run| &run.records);
        if !output.quiet && asked.of_host.rehearses && then.is_empty() {
            tell(&format!("rehearsing on {} hosts", guests.len()))?;
        }
        let progress = &Progress::unless(output.quiet);
        let told = (&late(output.quiet, progress), progress);
        rehearse(&mut guests, asked, directory, then, told)?;
        let plan = self.plan(&guests, &into)?;
        let (plan, before) = into.go_on(plan, &guests)?;
        if let Some(reference) = reference {
            reference.check(&guests, &plan)?;
        }
        JointRun { plan, guests, into, before, output, deliver }.carry_out(stop)
    }

    /// The plan for all hosts. A run that goes on keeps its seed.
    fn plan(&self, guests: &[CandidateHost], into: &JointDestination) -> Result<Plan> {
        let then = into.resumed().and_then(|run| run.plan().rank);
        let seed = then.map_or_else(seed_of_now, |rank| rank.seed);
        let mut plan = plan_on(guests, self.asked, seed)?;
        plan.rank = Some(Rank {
            number: 0,
            of: guests.len() as u32,
            seed,
            // What commands share is their own business.
            shares: false,
            neighbor: None,
            members: Members::Hosts,
        });
        if then.is_none() {
            let all: Vec<&ReadyCommands> =
                guests.iter().filter_map(|guest| guest.ready.as_ref()).collect();
            tell_time(&plan, &all, self.output.quiet)?;
        }
        Ok(plan)
    }
}

/// Holds the other commands of these records of one run against its first one.
fn hold(args: &JudgeArgs, records: &[PathBuf], style: &Style) -> Result<Status> {
    let read = |host: usize| store::read(&records[host]);
    let versus = assess::compare_commands_of_hosts(records.len(), read)?;
    let versus = versus.context("no host took part")?;
    judge::hand_out_among(args, &versus.headers[0], &versus, style)
}
