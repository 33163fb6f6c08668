//! Hosts that rehearse commands, and what they can be asked of these.

use super::candidate::CandidateHost;
use super::hosts::{HOSTS, refuse_given};
use super::measure::judge::{Asked, plan_of};
use super::question::check_any_asked;
use super::tell;
use crate::args::judge::JudgeArgs;
use crate::hosts::late::LateHosts;
use crate::progress::Progress;
use crate::resume::Interrupted;
use anyhow::{Context, Result, bail};
use model::judging::ReadyCommands;
use model::plan::Plan;
use model::printable::printable;
use std::path::Path;

/// Refuses what commands on hosts do not have.
///
/// # Errors
/// If it is asked for.
pub(super) fn refuse(args: &JudgeArgs) -> Result<()> {
    let given =
        [("--export-json", args.export_json.is_some()), ("--every", args.interval.is_some())];
    refuse_given(&given, HOSTS)?;
    if args.each && !args.fail_if.is_empty() {
        bail!(
            "--fail-if does not go with --each: a limit is for the time of all hosts, which begin \
             each run at the same moment; leave --each out, or begin 'ioassay judge --fail-if' on \
             each host"
        );
    }
    if args.each && args.resume.is_some() {
        bail!(
            "--resume does not go with --each, as each host has a run of its own: judge the hosts \
             that lack a record again, and give all records to 'ioassay report'"
        );
    }
    if !matches!(args.output.as_str(), "null" | "pipe") {
        bail!(
            "--output '{}' does not go with --hosts, as a command has no terminal or file of this \
             host there: use null or pipe",
            printable(&args.output)
        );
    }
    Ok(())
}

/// Lets hosts rehearse the commands, unless the records `then` of a run that goes on know them, and
/// says what the user should know of that.
///
/// # Errors
/// If one cannot run them.
pub(super) fn rehearse(
    guests: &mut [CandidateHost],
    asked: &Asked,
    directory: &Path,
    then: &[Interrupted],
    (late, progress): (&LateHosts, &Progress),
) -> Result<()> {
    CandidateHost::rehearse_all(guests, &asked.of_host, directory, then, late)?;
    let ready = guests.iter().filter_map(|guest| Some((&guest.called, guest.ready.as_ref()?)));
    let mut warnings = ready.flat_map(|(called, ready)| {
        ready.warnings.iter().map(move |warning| format!("warning: on {called}: {warning}"))
    });
    progress.aside(|| warnings.try_for_each(|warning| tell(&warning)))
}

/// The plan of hosts that have rehearsed their commands. Each has the same cases, and its own
/// files.
///
/// # Errors
/// If there is nothing to measure.
pub(super) fn plan_on(guests: &[CandidateHost], asked: &Asked, seed: u64) -> Result<Plan> {
    let hosts = guests.iter().map(ready_on).collect::<Result<Vec<_>>>()?;
    let first = guests.first().context("no host takes part")?;
    let mut plan = plan_of(asked, &hosts, &first.environment(), seed)?;
    plan.commands = hosts[0].1.commands.iter().map(|it| it.command.clone()).collect();
    check_any_asked(&plan)?;
    Ok(plan)
}

/// What a host is called, and its commands.
fn ready_on(guest: &CandidateHost) -> Result<(&str, &ReadyCommands)> {
    let ready = guest.ready.as_ref().context("a host has not rehearsed its commands")?;
    Ok((&guest.called, ready))
}
