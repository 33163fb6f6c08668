//! Measures both sides of a gate in one run, whose rounds alternate.

use super::super::question::{RunQuestion, Setting};
use super::shapes::shapes_of;
use super::{Destination, header_of, pinned_command, ready_peers, site, tell_remains};
use crate::alternation::alternate;
use crate::builder::Ready;
use crate::commands::dry;
use crate::files::Maker;
use crate::fixture::Stay;
use crate::orphans;
use crate::progress::Progress;
use crate::resume::Interrupted;
use crate::resume::gate::InterruptedGate;
use crate::schedule::Run;
use crate::site::Site;
use crate::stop::Stop;
use crate::store::{Place, Store};
use anyhow::{Context, Result, bail};
use assess::invocations::INVOCATIONS_LEAST;
use model::case::{Case, OWN_PEER, Populated};
use model::host::Medium;
use model::list::listed;
use model::plan::{Planned, Role};
use model::random::mix;
use model::record::{self, End, Header};
use std::collections::{BTreeMap, VecDeque};
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
    let progress = || if is_quiet { Progress::hidden() } else { Progress::new() };
    let mut progress = [progress(), progress()];
    let side = |index: usize| SideSetup::of(questions[index], &progress[index], stop);
    let mut sides = [side(0)?, side(1)?];
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
    let since = Instant::now();
    let made = |index: usize| makers[index].make((&progress[index], stop));
    let files = match made(0).and_then(|files| Ok([files, made(1)?])) {
        // Nothing was measured: there is no record.
        Err(_) if stop.is_asked() => return Ok(None),
        other => other?,
    };
    let [one, other] = interrupted.map_or([None, None], |InterruptedGate(both)| both.map(Some));
    let begin = |index: usize, interrupted: Option<Interrupted>| {
        let header = sides[index].header.clone();
        let into = Destination::of(interrupted, place.clone(), header, since.elapsed());
        into.begin(&files[index])
    };
    let [(mut store_a, before_a), (mut store_b, before_b)] = [begin(0, one)?, begin(1, other)?];
    let workers = sides.each_ref().map(|side| {
        let is_pinned = side.header.plan.bound.pin.is_some();
        move |peer: &str| pinned_command(peer, &side.ready, is_pinned)
    });
    let [of_a, of_b] = &mut progress;
    let site = |index: usize, progress| Site {
        plan: &sides[index].header.plan,
        calibrated: &sides[index].header.calibrated,
        ..site(&makers[index], &workers[index], progress, stop)
    };
    let runs = [
        Run::new(site(0, of_a), &mut store_a, before_a.as_ref()),
        Run::new(site(1, of_b), &mut store_b, before_b.as_ref()).as_side(1),
    ];
    let ended = alternate(runs, files);
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
    for (SideSetup { header, .. }, which) in sides.iter_mut().zip(record::Side::ALL) {
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

/// The cases of both sides, each with the same number as its partner. What is kept in memory can be
/// there in one way only, so its partner may be cached in another way.
fn numbered([a, b]: [&[Planned]; 2], is_any_in_memory: bool) -> [Vec<Planned>; 2] {
    let mut left: VecDeque<&Planned> = b.iter().collect();
    // A case and its twin are the same case.
    let mut take = |role: Role, is_it: &dyn Fn(&Case) -> bool| {
        let are_twins = |other: Role| (other == Role::Twin) == (role == Role::Twin);
        let place = left.iter().position(|it| are_twins(it.role) && is_it(&it.case));
        place.and_then(|at| left.remove(at))
    };
    let mut partners: Vec<_> =
        a.iter().map(|it| take(it.role, &|other| *other == it.case)).collect();
    for (it, partner) in a.iter().zip(&mut partners).filter(|_| is_any_in_memory) {
        let case = cached_anyhow(&it.case);
        *partner = partner.or_else(|| take(it.role, &|other| cached_anyhow(other) == case));
    }
    let elsewhere = |it: &Planned| Planned { role: Role::Elsewhere, case: it.case.clone() };
    let of_b =
        a.iter().zip(partners).map(|(it, partner)| partner.cloned().unwrap_or(elsewhere(it)));
    let of_b: Vec<Planned> = of_b.chain(left.iter().map(|it| (*it).clone())).collect();
    let of_a = a.iter().cloned().chain(left.into_iter().map(elsewhere)).collect();
    [of_a, of_b]
}

/// A case whatever way its file is cached in.
fn cached_anyhow(case: &Case) -> Case {
    let mut case = case.clone();
    case.io_mut().into_iter().for_each(|io| io.populated = Populated::Unknown);
    case
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Io, ReadWork, Work};
    use model::zoo;

    #[test]
    fn a_case_has_the_same_number_on_both_sides_whatever_only_one_of_them_can_do() {
        let read = |block, populated| {
            let io = Io { block, populated, ..zoo::plain().io };
            Planned {
                case: Case::own(Work::Read(ReadWork { io, ..zoo::plain() })),
                role: Role::Asked,
            }
        };
        let of = |all: &[(u64, Populated)]| -> Vec<Planned> {
            all.iter().map(|(block, populated)| read(*block, *populated)).collect()
        };
        let (ahead, written) = (Populated::ReadAhead, Populated::Written);
        let check = |a: &[Planned], b: &[Planned], is_any_in_memory, expected: [&[&str]; 2]| {
            let numbered = numbered([a, b], is_any_in_memory);
            let said = numbered.map(|cases| -> Vec<String> {
                let said = |it: &Planned| {
                    let io = it.case.io().unwrap();
                    let here = if it.role == Role::Elsewhere { "elsewhere" } else { "" };
                    format!("{} {} {here}", io.block, io.populated)
                };
                cases.iter().map(|it| said(it).trim_end().to_string()).collect()
            });
            assert_eq!(said.each_ref().map(Vec::as_slice), expected);
        };
        let both = of(&[(1, ahead), (2, ahead), (2, written)]);
        let all = &["1 readahead", "2 readahead", "2 written"][..];
        check(&both, &both, false, [all, all]);
        check(&both, &both, true, [all, all]);
        let (a, b) = (of(&[(1, ahead), (2, ahead)]), of(&[(3, ahead), (1, ahead)]));
        let of_a = &["1 readahead", "2 readahead", "3 readahead elsewhere"][..];
        let of_b = &["1 readahead", "2 readahead elsewhere", "3 readahead"][..];
        check(&a, &b, false, [of_a, of_b]);
        // In memory, it can be there in one way only.
        let (a, b) = (of(&[(1, written), (2, written)]), of(&[(1, ahead), (2, ahead)]));
        let of_a = &["1 written", "2 written"][..];
        check(&a, &b, true, [of_a, &["1 readahead", "2 readahead"]]);
        let alone = ["1 readahead", "2 readahead"].map(|it| format!("{it} elsewhere"));
        let of_a = [of_a, &alone.each_ref().map(String::as_str)].concat();
        let of_b = ["1 written elsewhere", "2 written elsewhere", "1 readahead", "2 readahead"];
        check(&a, &b, false, [&of_a, &of_b]);
        // A twin is no partner of a case that was asked for.
        let twins = [read(1, ahead), Planned { role: Role::Twin, ..read(1, ahead) }];
        let apart = ["1 readahead", "1 readahead elsewhere"];
        check(&twins[..1], &twins[1..], false, [&apart, &["1 readahead elsewhere", "1 readahead"]]);
        check(&twins, &twins, false, [&["1 readahead"; 2], &["1 readahead"; 2]]);
    }
}
