//! `hosts check`, and what all commands on several hosts share.

use super::form;
use super::{say, tell};
use crate::args::form::FormArgs;
use crate::args::hosts::{HostArgs, HostsCommand};
use crate::args::{OutputArgs, RunArgs};
use crate::hosts::access::{Agents, HostAccess, own_program};
use crate::hosts::check::check;
use crate::hosts::late::LateHosts;
use crate::launch::{Hosts, Launcher, check_is_first};
use crate::progress::Progress;
use crate::status::Status;
use crate::stop::Stop;
use crate::store::{self, JointPlace, Place, Store};
use anyhow::{Context, Result, bail};
use assess::Assessment;
use report::CommandColumns;
use report::Style;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// `ioassay hosts`.
///
/// # Errors
/// If the hosts are not named properly, or the report cannot be written.
pub fn execute(command: &HostsCommand, style: &Style) -> Result<Status> {
    let HostsCommand::Check { directory, hosts, json } = command;
    let way = way_of(hosts)?;
    let stop = Stop::on_signals().context("failed to listen for signals")?;
    let directory = absolute(directory)?;
    stop.status((|| {
        let Agents { each, refused, hold } = way.start(&stop)?;
        refused.iter().try_for_each(|refused| tell(&format!("note: {refused}")))?;
        let checked = check(each, &directory)?;
        drop(hold);
        let text = match json {
            true => serde_json::to_string_pretty(&checked)?,
            false => report::hosts(&checked).text(style),
        };
        say(text.trim_end())?;
        let lost = checked.iter().filter(|each| each.found.is_none());
        let lost: Vec<&str> = lost.map(|each| each.called.as_str()).collect();
        Ok(match lost.as_slice() {
            [] => Status::DONE,
            lost => Status::not_all(format!("cannot be used: {}", lost.join(", "))),
        })
    })())
}

/// The hosts, and the way there. In an allocation, Slurm knows both.
pub(super) fn way_of(args: &HostArgs) -> Result<HostAccess> {
    check_is_first(|name| std::env::var(name).ok())?;
    let default = match args.hosts.as_deref() {
        Some("slurm") => "srun",
        _ => "ssh",
    };
    let launcher = args.launcher.as_deref().unwrap_or(default);
    let launcher = Launcher::load(launcher, args.launchers.as_deref())?;
    let hosts = match args.hosts.as_deref() {
        Some(list) => Hosts::load(list)?,
        None if launcher.knows_hosts() => Hosts::of_allocation()?,
        None => bail!("no host is named: use --hosts a,b"),
    };
    if args.listen.is_some() && !launcher.starts_all() {
        bail!(
            "--listen does not go with the launcher '{}': its agents do not connect back",
            launcher.name()
        );
    }
    let program = match &args.program {
        Some(program) => program.clone().into(),
        None if launcher.is_here() => own_program()?,
        None => OsString::from("ioassay"),
    };
    Ok(HostAccess { hosts, launcher, program, listen: args.listen.clone() })
}

/// Says on stderr which hosts are waited for, unless the user wants nothing there.
pub(super) fn late(is_quiet: bool, progress: &Progress) -> LateHosts<'_> {
    LateHosts::new(move |text| {
        let tell = || progress.aside(|| tell(&format!("note: {text}")));
        if !is_quiet && let Err(error) = tell() {
            log::debug!("nobody was told: {error:#}");
        }
    })
}

/// A directory as all hosts find it, wherever an agent starts.
pub(super) fn absolute(directory: &Path) -> Result<PathBuf> {
    std::path::absolute(directory)
        .with_context(|| format!("failed to find '{}'", directory.display()))
}

/// Refuses options that a run on several hosts, or whatever it is `with`, does not have.
///
/// # Errors
/// If one is given.
pub(super) fn refuse_run(args: &RunArgs, with: &str) -> Result<()> {
    let given = [
        ("--file", args.file.is_some()),
        ("--device", args.device.is_some()),
        ("--source", args.source.is_some()),
        ("--sustain", args.sustain.is_some()),
        ("--hold", !args.hold.is_empty()),
        ("--memory", args.memory.is_some()),
        ("--peers", args.peers.is_some()),
    ];
    refuse_given(&given, with)
}

/// The same for those that all runs share.
///
/// # Errors
/// If one is given.
pub(super) fn refuse_output(output: &OutputArgs, with: &str) -> Result<()> {
    let given = [
        ("--control", output.control),
        ("--pin", output.pin.is_some()),
        ("--node", output.node.is_some()),
        ("--keep", output.keep),
        ("--record -", Place::of(output.record.as_deref()) == Place::Stdout),
    ];
    refuse_given(&given, with)
}

/// What options do not go with.
pub(super) const HOSTS: &str = "--hosts";

/// Refuses options if they are given, since they do not go `with` something.
///
/// # Errors
/// If one is.
pub(super) fn refuse_given(given: &[(&str, bool)], with: &str) -> Result<()> {
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => bail!("{flag} does not go with {with} yet: leave one of them out"),
        None => Ok(()),
    }
}

/// The place for the records.
///
/// # Errors
/// If it exists.
pub(super) fn place_of(output: &OutputArgs, recipe: &str) -> Result<JointPlace> {
    let place = JointPlace::of(output.record.as_deref(), recipe);
    if let Some(folder) = place.folder().filter(|folder| folder.symlink_metadata().is_ok()) {
        bail!("'{}' exists: name a new folder for the hosts' records", folder.display());
    }
    Ok(place)
}

/// Warns if a record, or those of a run, will not be kept: all are or none is.
///
/// # Errors
/// If stderr cannot be written.
pub(super) fn tell_unkept(whose: &str, stores: &[Store]) -> Result<()> {
    let Some(reason) = stores.iter().find_map(Store::why_unkept) else { return Ok(()) };
    tell(&format!(
        "warning: {whose} will not be kept: {reason}. --record names a folder for the records of \
         all hosts"
    ))
}

/// Refuses the form that only a single record has, and files that could not be written later. A dry
/// run writes none.
///
/// # Errors
/// If there is one.
pub(super) fn check_form(form: &FormArgs, is_dry_run: bool) -> Result<()> {
    if form.openmetrics.is_some() {
        bail!("--openmetrics is for one record: leave it out, or report each record by itself");
    }
    if is_dry_run { Ok(()) } else { form::check_files(&form.document) }
}

/// A row for each trial, as `rows` writes those of a host. The column `host` has the names of this
/// report, which are unique.
///
/// # Errors
/// If a record cannot be read.
pub(super) fn csv<'a>(
    hosts: impl Iterator<Item = (&'a str, &'a PathBuf)>,
    rows: impl Fn(&Assessment, &CommandColumns) -> String,
) -> Result<()> {
    let hosts: Vec<_> = hosts.collect();
    let mut columns = CommandColumns::default();
    for (_, path) in &hosts {
        columns.add(&store::header(path)?);
    }
    say(&report::csv_head(&columns))?;
    for (called, path) in hosts {
        let mut assessment = assess::assess(&store::read(path)?);
        called.clone_into(&mut assessment.header.host.name);
        let text = rows(&assessment, &columns);
        if !text.is_empty() {
            say(&text)?;
        }
    }
    Ok(())
}
