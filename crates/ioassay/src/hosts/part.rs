//! An agent's part in a run: it keeps the files, and does its trials when all hosts do.

use super::link::AgentLink;
use crate::barrier::Barrier;
use crate::calibration::{calibrate, requests};
use crate::clock;
use crate::directory::{Remains, RemainsFate};
use crate::file_storages::NO_NUMBERS;
use crate::files::{Files, Maker, Target};
use crate::fixture::{OwnFile, Stay, is_block_device};
use crate::machine::this_host;
use crate::orphans;
use crate::progress::Progress;
use crate::shared::Meeting;
use crate::site::{Carryover, Site, Turn};
use crate::worker_process::own_command;
use anyhow::{Result, bail};
use model::agent::{Answer, Order, Unproved};
use model::case::OWN_PEER;
use model::environment::Environment;
use model::host::Storage;
use model::plan::Plan;
use model::shape::Calibrated;
use model::trial::Trial;
use std::io::Write;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// How far ahead a trial may begin. All hosts are ready when it is told, so it takes milliseconds.
const AHEAD_MAX: Duration = Duration::from_secs(10);

/// What the trials of a part use.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ground<'a> {
    /// Files in this directory; or this block device, which is only read.
    Place(&'a Path),
    /// Files of commands, on this storage and on others, with their numbers by devices.
    Commands {
        storage: Option<&'a Storage>,
        further: &'a [Storage],
        numbers: &'a BTreeMap<u64, usize>,
    },
}

impl Ground<'_> {
    /// What is measured, and its storage.
    ///
    /// # Errors
    /// If one cannot be opened or inspected.
    fn open(self) -> Result<(Target, Option<Storage>)> {
        let target = match self {
            Ground::Commands { storage, .. } => return Ok((Target::Memory, storage.cloned())),
            Ground::Place(place) if is_block_device(place) => Target::File(OwnFile::of(place)?),
            Ground::Place(place) => Target::directory(place)?,
        };
        let storage = target.storage()?;
        Ok((target, storage))
    }

    /// More storages that hold data files of commands, and the numbers of all by devices.
    fn further(&self) -> (&[Storage], &BTreeMap<u64, usize>) {
        match self {
            Ground::Commands { further, numbers, .. } => (further, numbers),
            Ground::Place(_) => (&[], &NO_NUMBERS),
        }
    }
}

/// Takes part in `plan`, which uses `ground`, until an order ends it or the link closes. The
/// shapes of its loops are `calibrated`, or are measured first.
///
/// # Errors
/// If the link fails. What fails otherwise is answered.
pub(super) fn take<W: Write>(
    link: &AgentLink<W>,
    plan: &Plan,
    ground: Ground<'_>,
    calibrated: Option<Vec<Calibrated>>,
) -> Result<AfterPart> {
    orphans::adopt();
    match run(link, plan, ground, calibrated) {
        Ok(after) => Ok(after),
        Err(PartEnd::Failed(error)) => link.answer(Err(error)).map(|()| AfterPart::Orders),
        Err(PartEnd::Unlinked(error)) => Err(error),
    }
}

/// What follows a part that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterPart {
    /// Whatever is ordered.
    Orders,
    /// What is to run after its commands.
    CleanUp,
}

/// Why a part ends early.
enum PartEnd {
    /// It cannot go on; the coordinator is told.
    Failed(anyhow::Error),
    /// The coordinator cannot be told.
    Unlinked(anyhow::Error),
}

impl From<anyhow::Error> for PartEnd {
    fn from(error: anyhow::Error) -> PartEnd {
        PartEnd::Failed(error)
    }
}

fn run<W: Write>(
    link: &AgentLink<W>,
    plan: &Plan,
    ground: Ground<'_>,
    calibrated: Option<Vec<Calibrated>>,
) -> Result<AfterPart, PartEnd> {
    let (target, storage) = ground.open()?;
    let host = this_host();
    let environment =
        &Environment { host: &host, storage: storage.as_ref(), source: None, peers: &[] };
    let maker = &Maker { plan, target: &target, source: None, environment, stay: Stay::Removed };
    let unproved = maker.remove_dead().into_iter().filter_map(unproved).collect();
    // Without them, the run has the widest vectors.
    let measured = || calibrate(&requests(&[plan], &host), own_command(), link.stop());
    let calibrated = calibrated.unwrap_or_else(|| {
        measured().inspect_err(|reason| log::warn!("{reason}")).unwrap_or_default()
    });
    let progress = &Progress::hidden();
    let mut files = maker.make((progress, link.stop()))?;
    link.say(&made(&files, &calibrated, unproved)).map_err(PartEnd::Unlinked)?;
    let site = Site::new(maker, &own_worker, progress, link.trial());
    let (further, numbers) = ground.further();
    let site = Site { barrier: Some(link), calibrated: &calibrated, further, numbers, ..site };
    let mut left = Carryover::default();
    while let Some(order) = link.next().map_err(PartEnd::Unlinked)? {
        let answer = match order {
            Order::Ping => Answer::Clocks(clock::now()),
            Order::Anew => {
                left = Carryover::of_invocation_before();
                files = maker.make_anew(files, (site.progress, link.stop()))?;
                made(&files, &calibrated, Vec::new())
            }
            Order::Meet { next, folder, shared, segment } => {
                let (folder, shared) = (folder.as_deref(), shared.as_deref());
                let meeting = Meeting { next: (next, folder), shared, segment };
                maker.meet(&mut files, meeting, (site.progress, link.stop()))?;
                made(&files, &calibrated, Vec::new())
            }
            Order::Vitals => Answer::Vitals(Box::new(site.vitals(0))),
            Order::Trial { case, invocation, round, at_ms } => {
                let turn = Turn { case, invocation, round, at_ms };
                Answer::Trial(Box::new(trial(&site, &mut left, (turn, &files))?))
            }
            // Its trial is over.
            Order::Cancel { .. } => continue,
            Order::CleanUp => return Ok(AfterPart::CleanUp),
            Order::End => {
                link.say(&Answer::Done).map_err(PartEnd::Unlinked)?;
                return Ok(AfterPart::Orders);
            }
            other => return Err(anyhow::anyhow!("it is no time for the order {other:?}").into()),
        };
        link.say(&answer).map_err(PartEnd::Unlinked)?;
    }
    Ok(AfterPart::Orders)
}

/// The files and the loops that this host uses, and what others left that stays.
fn made(files: &Files, calibrated: &[Calibrated], unproved: Vec<Unproved>) -> Answer {
    let fixtures = files.all().map(|file| file.fixture().clone()).collect();
    Answer::Made { fixtures, folder: files.folder(), calibrated: calibrated.to_vec(), unproved }
}

/// What stays of another run because nothing proves that it has ended.
fn unproved(Remains { path, fate }: Remains) -> Option<Unproved> {
    match fate {
        RemainsFate::Unknown(node) => Some(Unproved { path: path.display().to_string(), node }),
        RemainsFate::Removed(_) | RemainsFate::Stays => None,
    }
}

/// Runs a trial, whose worker waits for the others.
fn trial(site: &Site, left: &mut Carryover, (turn, files): (Turn, &Files)) -> Result<Trial> {
    if turn.case >= site.plan.cases.len() {
        bail!("the plan has no case {}", turn.case);
    }
    site.trial(left, (turn, files), None)
}

impl<W: Write> Barrier for AgentLink<W> {
    fn begin(&self) -> Result<u64, String> {
        match ordered(self, &Answer::Ready)? {
            Order::Go { begins_ns } => near(begins_ns),
            Order::Cancel { reason } => Err(reason),
            other => Err(format!("it is no time for the order {other:?}")),
        }
    }

    fn end(&self) -> Result<(), String> {
        match ordered(self, &Answer::Over)? {
            Order::Close => Ok(()),
            Order::Cancel { reason } => Err(reason),
            other => Err(format!("it is no time for the order {other:?}")),
        }
    }
}

/// Says how far a trial is, and returns the order that follows, other than pings.
fn ordered<W: Write>(link: &AgentLink<W>, said: &Answer) -> Result<Order, String> {
    let text = |error: anyhow::Error| format!("{error:#}");
    link.say(said).map_err(text)?;
    loop {
        match link.next().map_err(text)? {
            Some(Order::Ping) => link.say(&Answer::Clocks(clock::now())).map_err(text)?,
            Some(order) => return Ok(order),
            None => return Err("the coordinator is gone".to_owned()),
        }
    }
}

/// The moment at which a trial begins, unless it is so far away that clocks cannot be right.
fn near(begins_ns: u64) -> Result<u64, String> {
    let wait = Duration::from_nanos(begins_ns.saturating_sub(clock::now().monotonic_ns));
    if wait > AHEAD_MAX {
        return Err(format!(
            "it was told to begin in {wait:.0?}: its clock, or the coordinator's, was set anew"
        ));
    }
    Ok(begins_ns)
}

/// The command that starts a worker. Only this program's own is on every host.
fn own_worker(peer: &str) -> Result<Command, String> {
    match peer {
        OWN_PEER => own_command(),
        _ => Err("peers do not measure on several hosts".to_owned()),
    }
}
