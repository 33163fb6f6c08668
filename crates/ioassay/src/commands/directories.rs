//! `run` in several directories or on several block devices of this machine: each alone and all at
//! once, in lockstep.

use super::candidate::CandidateHost;
use super::hosts::{absolute, check_form, place_of, refuse_given, refuse_output, refuse_run};
use super::joint_destination::JointDestination;
use super::lockstep::{Company, measure_plan, plan_of};
use super::question::{changes_of, check_place, read_parts, recipe_of};
use crate::args::RunArgs;
use crate::fixture::{OwnFile, is_block_device};
use crate::group::ValueList;
use crate::hosts::access::Agents;
use crate::orphans;
use crate::recipe::Changes;
use crate::recipe::hosts::refusal;
use crate::status::Status;
use crate::stop::Stop;
use anyhow::{Context, Result, bail};
use model::agent::Order;
use model::case::Case;
use model::part::Whose;
use model::rank::Members;
use model::units;
use report::Style;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What options do not go with.
const SEVERAL: &str = "several directories";

/// Several block devices.
#[derive(Debug)]
struct Devices {
    each: Vec<OwnFile>,
}

/// `ioassay run` in several directories, or on several block devices, which are only read.
///
/// # Errors
/// If one of them cannot be used, the question cannot be answered there, or the run to go on with
/// was another one.
pub fn run(args: &RunArgs, style: &Style) -> Result<Status> {
    refuse_run(args, SEVERAL)?;
    refuse_output(&args.output, SEVERAL)?;
    check_form(&args.output.form, args.output.dry_run)?;
    let recipe = recipe_of(&args.recipe)?;
    check_place(&recipe, true)?;
    recipe.check_takes_turns("a run in several directories")?;
    let called = called(&args.directories)?;
    let place = || place_of(&args.output, &recipe.name);
    let into = JointDestination::of(args.output.resume.as_deref(), &called, place)?;
    let stop = Stop::on_signals().context("failed to listen for signals")?;
    stop.status(measure(args, &called, into, &stop, style))
}

fn measure(
    args: &RunArgs,
    called: &[String],
    into: JointDestination<'_>,
    stop: &Stop,
    style: &Style,
) -> Result<Status> {
    orphans::adopt();
    let Agents { each, hold: _hold, .. } = Agents::here(called, stop)?;
    let absolute = args.directories.iter().map(|it| absolute(it));
    let absolute: Vec<PathBuf> = absolute.collect::<Result<_>>()?;
    let devices = Devices::of(&args.directories)?;
    let look = if devices.is_some() { Order::look_at_device } else { Order::look_at_directory };
    let guests = CandidateHost::look_all(each, absolute.iter().map(PathBuf::as_path), look)?;
    let of_devices = |case: &Case| devices.as_ref().and_then(|devices| devices.refusal(case));
    let refusal = |case: &Case| refusal_in(case, guests.len() as u32).or_else(|| of_devices(case));
    let members = if devices.is_some() { Members::Devices } else { Members::Directories };
    let company = Company { shares: false, members, refusal: &refusal };
    let mut changes = changes_of(args);
    match &devices {
        Some(devices) => devices.change(&mut changes, args.length.as_deref())?,
        None => refuse_given(&[("--length", args.length.is_some())], SEVERAL)?,
    }
    // What bounds one of them alone is no bound of all.
    changes.no_ceilings = true;
    let usual = || ValueList::from_texts(["each", "all"].map(str::to_string).to_vec());
    changes.axes.entry("hosts".to_string()).or_insert_with(usual);
    let plan = plan_of(args, changes, &guests, &company, into.resumed())?;
    measure_plan(args, plan, guests, into, stop, style)
}

impl Devices {
    /// The block devices at these paths; `None` if these are directories.
    ///
    /// # Errors
    /// If some are one and some the other, or a device cannot be read.
    fn of(paths: &[PathBuf]) -> Result<Option<Devices>> {
        let (devices, directories): (Vec<&PathBuf>, Vec<&PathBuf>) =
            paths.iter().partition(|path| is_block_device(path));
        match (devices.first(), directories.first()) {
            (None, _) => Ok(None),
            (Some(device), Some(directory)) => bail!(
                "'{}' is a block device, which is only read, and '{}' is not: name directories, or \
                 block devices, but not both",
                device.display(),
                directory.display()
            ),
            (Some(_), None) => {
                let each = devices.into_iter().map(|path| OwnFile::of(path));
                Ok(Some(Devices { each: each.collect::<Result<_>>()? }))
            }
        }
    }

    /// Reads as much of each as the smallest has, or `length` bytes of each.
    ///
    /// # Errors
    /// If the length is no size, or the smallest has nothing there.
    fn change(&self, changes: &mut Changes, length: Option<&str>) -> Result<()> {
        let length = length.map(units::parse_bytes).transpose()?;
        if let Some(smallest) = self.each.iter().min_by_key(|own| own.size) {
            read_parts(changes, &OwnFile { length, ..smallest.clone() })?;
            changes.is_own_file = true;
        }
        Ok(())
    }

    /// Why `case` cannot be measured on one of them.
    fn refusal(&self, case: &Case) -> Option<String> {
        self.each.iter().find_map(|own| own.refusal(case))
    }
}

/// What the user calls the directories or the devices.
///
/// # Errors
/// If two are one.
fn called(directories: &[PathBuf]) -> Result<Vec<String>> {
    let mut known: BTreeMap<PathBuf, &Path> = BTreeMap::new();
    for directory in directories {
        let path = directory
            .canonicalize()
            .with_context(|| format!("failed to find '{}'", directory.display()))?;
        if let Some(first) = known.insert(path, directory) {
            bail!("'{}' and '{}' are one: name each once", first.display(), directory.display());
        }
    }
    Ok(directories.iter().map(|directory| directory.display().to_string()).collect())
}

/// Why `case` cannot be measured in so many directories, if it cannot.
fn refusal_in(case: &Case, directories: u32) -> Option<String> {
    if case.io().is_none() && case.metadata().is_none() {
        return Some("it uses no directory: measure it without one".to_string());
    }
    if case.io().is_some_and(|io| io.files == Whose::Shared) {
        return Some("several directories have no file in common: use own files".to_string());
    }
    refusal(case, directories, &[])
}
