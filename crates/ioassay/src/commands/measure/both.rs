//! Measures both sides of a gate in one run, whose rounds alternate.

use super::super::question::{RunQuestion, Setting};
use super::shapes::shapes_of;
use super::{Destination, header_of, pinned_command, ready_peers, tell_remains};
use crate::alternation::alternate;
use crate::builder::Ready;
use crate::commands::dry;
use crate::files::Maker;
use crate::fixture::Stay;
use crate::numbering::numbered;
use crate::orphans;
use crate::progress::Progress;
use crate::resume::gate::InterruptedGate;
use crate::schedule::Run;
use crate::site::Site;
use crate::stop::Stop;
use crate::store::{Place, Store};
use anyhow::{Context, Result, bail};
use assess::invocations::INVOCATIONS_LEAST;
use model::case::OWN_PEER;
use model::host::Medium;
use model::list::listed;
use model::random::mix;
use model::record::{End, Header, Side};
use std::collections::BTreeMap;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// One side before its files are created.
struct SideSetup<'q> {
    question: &'q RunQuestion,
    setting: Setting,
    ready: BTreeMap<String, Ready>,
    header: Header,
}

/// What a gate has measured.
#[derive(Debug)]
pub struct MeasuredGate {
    /// The records, that of the reference first.
    pub records: [Store; 2],
    /// How both ended.
    pub end: End,
}

/// Measures the two questions, or what is left of an interrupted gate, and keeps their records at
/// `place`, the first question's first; none if stopped before the first trial.
///
/// # Errors
/// If one of them could not be measured, or the interrupted gate was another one.
pub fn keep_both(
    questions: [&RunQuestion; 2],
    interrupted: Option<InterruptedGate>,
    (place, is_quiet): (&Place, bool),
    stop: &Stop,
) -> Result<Option<MeasuredGate>> {
    orphans::adopt();
    place.check()?;
    let progress = &Progress::unless(is_quiet);
    let side = |question| SideSetup::of(question, progress, stop);
    let mut sides = [side(questions[0])?, side(questions[1])?];
    prepare(&mut sides, interrupted.as_ref(), is_quiet, stop)?;
    let environments = sides.each_ref().map(|side| side.setting.environment());
    let maker = |index: usize| Maker {
        plan: &sides[index].setting.plan,
        target: &sides[index].question.target,
        source: None,
        environment: &environments[index],
        stay: Stay::Removed,
    };
    let makers = [maker(0), maker(1)];
    for remains in makers.iter().flat_map(Maker::remove_dead) {
        tell_remains(&remains, is_quiet)?;
    }
    makers[1].check_beside(&makers[0])?;
    let make = |index: usize| {
        let since = Instant::now();
        let files = makers[index].make((progress, stop))?;
        Ok((files, since.elapsed()))
    };
    let [(files_a, made_a), (files_b, made_b)] = match make(0).and_then(|a| Ok([a, make(1)?])) {
        // Nothing was measured: there is no record.
        Err(error) if stop.explains(&error) => return Ok(None),
        other => other?,
    };
    let [a, b] = interrupted.map_or([None, None], |InterruptedGate(both)| both.map(Some));
    let [header_a, header_b] = sides.each_ref().map(|side| side.header.clone());
    let into_a = Destination::of(a, place.clone(), header_a, made_a);
    let into_b = Destination::of(b, place.clone(), header_b, made_b);
    let (mut store_a, before_a) = into_a.begin(&files_a)?;
    let (mut store_b, before_b) = into_b.begin(&files_b)?;
    let workers = sides.each_ref().map(|side| {
        let is_pinned = side.header.plan.bound.pin.is_some();
        move |peer: &str| pinned_command(peer, &side.ready, is_pinned)
    });
    let site = |index: usize| Site {
        plan: &sides[index].header.plan,
        calibrated: &sides[index].header.calibrated,
        ..Site::new(&makers[index], &workers[index], progress, stop)
    };
    let runs = [
        Run::new((site(0), files_a), &mut store_a, before_a.as_ref()).as_side(Side::A),
        Run::new((site(1), files_b), &mut store_b, before_b.as_ref()).as_side(Side::B),
    ];
    let ended = alternate(runs);
    let records = [store_a, store_b];
    let end = ended.with_context(|| {
        let kept = listed(&records.each_ref().map(Store::whereabouts));
        format!("the run ended early; completed trials are {kept}")
    })?;
    Ok(Some(MeasuredGate { records, end }))
}

/// Completes the headers of both sides. Says how long a new gate takes, and refuses another one
/// than that which goes on.
fn prepare(
    sides: &mut [SideSetup; 2],
    interrupted: Option<&InterruptedGate>,
    is_quiet: bool,
    stop: &Stop,
) -> Result<()> {
    number_alike(sides);
    let name = Some(name_of_pair(sides[0].header.plan.seed));
    for (SideSetup { header, .. }, which) in sides.iter_mut().zip(Side::ALL) {
        (header.alternates, header.side) = (name.clone(), Some(*which));
    }
    if interrupted.is_none() && !is_quiet {
        dry::tell_time(&sides.each_ref().map(|side| (side.question, &side.setting)))?;
    }
    // Both sides have the same loops, so that nothing but the question tells them apart.
    let headers = sides.each_ref().map(|side| &side.header);
    let is_pinned = headers[0].plan.bound.pin.is_some();
    let worker = pinned_command(OWN_PEER, &sides[0].ready, is_pinned);
    let then = interrupted.map(|InterruptedGate([a, _])| &a.record.header.calibrated);
    let calibrated = shapes_of(then, &headers, worker, stop)?;
    for (index, SideSetup { header, .. }) in sides.iter_mut().enumerate() {
        header.calibrated.clone_from(&calibrated);
        if let Some(InterruptedGate(both)) = interrupted {
            both[index].check(header, None)?;
            // The order of its cases is that of the record.
            header.plan.clone_from(&both[index].record.header.plan);
        }
    }
    Ok(())
}

/// Gives each case the same number on both sides. What only one of them can measure, the other
/// leaves to it.
fn number_alike(sides: &mut [SideSetup; 2]) {
    let [a, b] = sides.each_ref().map(|side| side.setting.plan.cases.clone());
    let is_in_memory = |side: &SideSetup| {
        side.setting.storage.as_ref().is_some_and(|storage| storage.medium == Medium::Ram)
    };
    let is_any_in_memory = sides.iter().any(is_in_memory);
    for (side, cases) in sides.iter_mut().zip(numbered([&a, &b], is_any_in_memory)) {
        side.header.plan.cases = cases;
    }
}

impl<'q> SideSetup<'q> {
    fn of(question: &'q RunQuestion, progress: &Progress, stop: &Stop) -> Result<SideSetup<'q>> {
        let setting = Setting::of(question)?;
        setting.check_any_asked()?;
        check_invocations(setting.plan.invocations)?;
        check_rates(question, &setting)?;
        let ready = ready_peers(&question.peers, &setting.plan, progress, stop);
        let peers = ready.values().map(|ready| ready.peer.clone()).collect();
        let header = header_of(&setting.plan, &setting.environment(), peers)?;
        Ok(SideSetup { question, setting, ready, header })
    }
}

/// Refuses rates that a run finds for itself.
///
/// # Errors
/// If there are any.
pub fn check_rates(question: &RunQuestion, setting: &Setting) -> Result<()> {
    if !setting.loads.is_empty() {
        bail!(
            "the rates of the recipe '{}' are found anew for each side, which would be asked for \
             different ones: give --rate operations a second",
            question.recipe.name
        );
    }
    Ok(())
}

/// Refuses so few invocations that nothing could be decided.
///
/// # Errors
/// If there are.
pub fn check_invocations(invocations: u32) -> Result<()> {
    if (invocations as usize) < INVOCATIONS_LEAST {
        bail!(
            "a gate needs {INVOCATIONS_LEAST} or more invocations of each side, with a round each, \
             not {invocations}: with fewer, it decides nothing"
        );
    }
    Ok(())
}

/// A name that no other pair of runs has.
fn name_of_pair(seed: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
    format!("{:016x}", mix(seed ^ mix(now ^ u64::from(std::process::id()).rotate_left(32))))
}
