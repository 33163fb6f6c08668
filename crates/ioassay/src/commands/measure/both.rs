//! Measures both sides of a gate in one run, whose rounds alternate.

use super::super::question::{RunQuestion, Setting};
use super::shapes::shapes_of;
use super::{begin_record, header_of, pinned_command, ready_peers, site, tell_remains};
use crate::alternation::alternate;
use crate::builder::Ready;
use crate::commands::dry;
use crate::files::Maker;
use crate::fixture::Stay;
use crate::orphans;
use crate::progress::Progress;
use crate::schedule::Run;
use crate::site::Site;
use crate::stop::Stop;
use crate::store::{Place, Store};
use anyhow::{Context, Result, bail};
use assess::invocations::INVOCATIONS_LEAST;
use model::case::OWN_PEER;
use model::list::listed;
use model::random::mix;
use model::record::{self, Header};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// One side before its files are created.
struct SideSetup<'q> {
    question: &'q RunQuestion,
    setting: Setting,
    ready: BTreeMap<String, Ready>,
    header: Header,
}

/// Measures the two questions, and keeps their records at `place`, the first question's first;
/// none if stopped before the first trial.
///
/// # Errors
/// If one of them could not be measured.
pub fn keep_both(
    questions: [&RunQuestion; 2],
    place: &Place,
    is_quiet: bool,
    stop: &Stop,
) -> Result<Option<[Store; 2]>> {
    orphans::adopt();
    place.check()?;
    let progress = || if is_quiet { Progress::hidden() } else { Progress::new() };
    let mut progress = [progress(), progress()];
    let side = |index: usize| SideSetup::of(questions[index], &progress[index], stop);
    let mut sides = [side(0)?, side(1)?];
    let name = Some(name_of_pair(sides[0].header.plan.seed));
    for (SideSetup { header, .. }, which) in sides.iter_mut().zip(record::Side::ALL) {
        (header.alternates, header.side) = (name.clone(), Some(*which));
    }
    if !is_quiet {
        dry::tell_time(&sides.each_ref().map(|side| (side.question, &side.setting)))?;
    }
    // Both sides have the same loops, so that nothing but the question tells them apart.
    let headers = sides.each_ref().map(|side| &side.header);
    let is_pinned = headers[0].plan.bound.pin.is_some();
    let worker = pinned_command(OWN_PEER, &sides[0].ready, is_pinned);
    let calibrated = shapes_of(None, &headers, worker, stop)?;
    sides.iter_mut().for_each(|side| side.header.calibrated.clone_from(&calibrated));
    let environments = sides.each_ref().map(|side| side.setting.environment());
    let maker = |index: usize| Maker {
        plan: &sides[index].header.plan,
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
    let made = |index: usize| makers[index].make((&progress[index], stop));
    let files = match made(0).and_then(|files| Ok([files, made(1)?])) {
        // Nothing was measured: there is no record.
        Err(_) if stop.is_asked() => return Ok(None),
        other => other?,
    };
    let mut stores = Vec::new();
    for (side, files) in sides.iter().zip(&files) {
        stores.push(begin_record(place, side.header.clone(), files)?);
    }
    let workers = sides.each_ref().map(|side| {
        let is_pinned = side.header.plan.bound.pin.is_some();
        move |peer: &str| pinned_command(peer, &side.ready, is_pinned)
    });
    let [of_a, of_b] = &mut progress;
    let [store_a, store_b] = &mut stores[..] else { unreachable!("each side has one") };
    let run = |index: usize, progress, store| Run {
        site: Site {
            calibrated: &calibrated,
            ..site(&makers[index], &workers[index], progress, stop)
        },
        store,
        before: None,
    };
    let runs = [run(0, of_a, store_a), run(1, of_b, store_b)];
    alternate(runs, files).with_context(|| {
        let kept = listed(&stores.iter().map(Store::whereabouts).collect::<Vec<_>>());
        format!("the run ended early; completed trials are {kept}")
    })?;
    let [a, b] = <[Store; 2]>::try_from(stores).unwrap_or_else(|_| unreachable!("they are two"));
    Ok(Some([a, b]))
}

impl<'q> SideSetup<'q> {
    fn of(question: &'q RunQuestion, progress: &Progress, stop: &Stop) -> Result<SideSetup<'q>> {
        let setting = Setting::of(question)?;
        setting.check_any_asked()?;
        check_invocations(setting.plan.invocations)?;
        check_rates(question, &setting)?;
        let ready = ready_peers(&question.peers, &setting.plan, progress, stop);
        let peers = ready.values().map(|ready| ready.peer.clone()).collect();
        let header = header_of(&setting.plan, &setting.environment(), None, peers)?;
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
fn check_invocations(invocations: u32) -> Result<()> {
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
