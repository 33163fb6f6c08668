//! `judge` on several hosts, in lockstep: each sets up, rehearses and cleans up its own commands,
//! and all begin each run at the same moment.

use super::candidate::CandidateHost;
use super::hosts::{check_form, late, place_of, refuse_given, refuse_output, way_of};
use super::lockstep::{JointDestination, JointRun, tell_doubts};
use super::measure::judge::{Asked, output_of, plan_of, tell_time};
use super::question::check_any_asked;
use super::tell;
use crate::args::OutputArgs;
use crate::args::judge::JudgeArgs;
use crate::hosts::access::{Agents, HostAccess};
use crate::hosts::interrupted::JointBefore;
use crate::orphans;
use crate::progress::Progress;
use crate::recipe::seed_of_now;
use crate::status::Status;
use crate::stop::Stop;
use crate::store::JointPlace;
use anyhow::{Context, Result, bail};
use model::judging::ReadyCommands;
use model::plan::Plan;
use model::printable::printable;
use model::rank::Rank;
use report::Style;
use std::path::Path;

/// `ioassay judge --hosts`.
///
/// # Errors
/// If a host cannot be used, or a command cannot be run on one.
pub fn judge(args: &JudgeArgs, style: &Style) -> Result<Status> {
    refuse_given(&[
        ("--export-json", args.export_json.is_some()),
        ("--fail-if", !args.fail_if.is_empty()),
        ("--against", args.against.is_some()),
        ("--resume", args.resume.is_some()),
        ("--every", args.interval.is_some()),
        ("--for", args.budget.is_some()),
    ])?;
    if !matches!(args.output.as_str(), "null" | "pipe") {
        bail!(
            "--output '{}' does not go with --hosts, as a command has no terminal or file of this \
             host there: use null or pipe",
            printable(&args.output)
        );
    }
    let asked = Asked::of(args)?;
    let output = output_of(args);
    refuse_output(&output)?;
    check_form(&output.form, false)?;
    let way = way_of(&args.hosts)?;
    let place = place_of(&output, "judge")?;
    let directory = std::env::current_dir().context("the current directory is not known")?;
    let stop = Stop::on_signals().context("failed to listen for signals")?;
    let measured = measure(&asked, &output, (&way, &directory), place, &stop, style);
    stop.status(measured)
}

fn measure(
    asked: &Asked,
    output: &OutputArgs,
    (way, directory): (&HostAccess, &Path),
    place: JointPlace,
    stop: &Stop,
    style: &Style,
) -> Result<Status> {
    orphans::adopt();
    let Agents { each, refused, hold: _hold } = way.start(stop)?;
    refused.iter().try_for_each(|refused| tell(&format!("note: {refused}")))?;
    let mut guests = CandidateHost::look_all(each, directory)?;
    tell_doubts(&guests)?;
    rehearse(&mut guests, asked, directory, output.quiet)?;
    let plan = plan_on(&guests, asked, output.quiet)?;
    let (into, before) = (JointDestination::New(place), JointBefore::default());
    JointRun { plan, guests, directory, into, before, output }.carry_out(stop, style)
}

/// Lets all hosts rehearse the commands, and says what the user should know of that.
fn rehearse(
    guests: &mut [CandidateHost],
    asked: &Asked,
    directory: &Path,
    is_quiet: bool,
) -> Result<()> {
    if !is_quiet && asked.of_host.rehearses {
        tell(&format!("rehearsing on {} hosts", guests.len()))?;
    }
    let progress = Progress::unless(is_quiet);
    CandidateHost::rehearse_all(guests, &asked.of_host, directory, &late(is_quiet, &progress))?;
    let ready = guests.iter().filter_map(|guest| Some((&guest.called, guest.ready.as_ref()?)));
    let mut warnings = ready.flat_map(|(called, ready)| {
        ready.warnings.iter().map(move |warning| format!("warning: on {called}: {warning}"))
    });
    warnings.try_for_each(|warning| tell(&warning))
}

/// The plan for all hosts. Each has the same cases, and its own files.
fn plan_on(guests: &[CandidateHost], asked: &Asked, is_quiet: bool) -> Result<Plan> {
    let hosts = guests.iter().map(ready_on).collect::<Result<Vec<_>>>()?;
    let first = guests.first().context("no host takes part")?;
    let mut plan = plan_of(asked, &hosts, &first.environment(), seed_of_now())?;
    plan.commands = hosts[0].1.commands.iter().map(|it| it.command.clone()).collect();
    plan.rank = Some(Rank {
        number: 0,
        of: guests.len() as u32,
        seed: plan.seed,
        // What commands share is their own business.
        shares: false,
        neighbor: None,
    });
    check_any_asked(&plan)?;
    let all: Vec<&ReadyCommands> = hosts.iter().map(|(_, ready)| *ready).collect();
    tell_time(&plan, &all, is_quiet)?;
    Ok(plan)
}

/// What a host is called, and its commands.
fn ready_on(guest: &CandidateHost) -> Result<(&str, &ReadyCommands)> {
    let ready = guest.ready.as_ref().context("a host has not rehearsed its commands")?;
    Ok((&guest.called, ready))
}
