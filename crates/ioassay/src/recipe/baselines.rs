//! The baselines of a recipe: its ceilings.

use super::{Changes, fallback, parse};
use anyhow::Result;
use model::case::WriteWork;
use model::case::{BufferPages, Cache, Case, Engine, Io, Op, ReadWork, Touch, Work};
use model::environment::Environment;
use model::host::Host;
use model::pattern::Pattern;
use model::plan::Plan;
use model::units;
use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

/// The baselines of every recipe that reads files.
const BASELINES: &str = include_str!("../../recipes/baselines.toml");

/// The ceilings of `plan`: memory with one thread and with all, direct reads of the device, and the
/// tool's own overhead. Empty if the plan uses no file.
pub(super) fn of(plan: &Plan, environment: &Environment) -> Result<Vec<Case>> {
    let asked = || plan.cases.iter().map(|planned| &planned.case);
    let Some(largest) = asked().filter_map(Case::file_size).max() else {
        return Ok(Vec::new());
    };
    let mut baselines = parse(BASELINES)?;
    baselines.size = units::bytes(largest);
    let (reads, writes) =
        (asked().any(|case| case.read().is_some()), asked().any(|case| case.write().is_some()));
    let claims_device =
        |work: &&ReadWork| matches!(work.io.cache, Cache::Direct | Cache::Cold | Cache::DontCache);
    let from_device = asked().filter_map(Case::read).filter(claims_device);
    let pages: HashSet<BufferPages> =
        from_device.map(|work| pages_of_ceiling(work, environment.host)).collect();
    let bounds_rates = bounds_rates(plan);
    let is_wanted = |case: &Case| match &case.work {
        Work::Metadata(_) | Work::Command(_) => false,
        Work::Memory(_) => !bounds_rates,
        Work::Write(_) => writes,
        Work::Read(work) if work.io.cache == Cache::Direct => !bounds_rates,
        Work::Read(_) => reads,
    };
    let mut cases = baselines.cases(&Changes::default(), environment)?;
    cases.retain(is_wanted);
    cases = cases.into_iter().flat_map(|case| in_pages(case, &pages)).collect();
    let offsets: BTreeSet<u64> =
        asked().filter_map(Case::read).map(|work| work.io.offset).collect();
    cases = cases.into_iter().flat_map(|case| in_parts(case, &offsets)).collect();
    let time = units::parse_time(&baselines.time)?;
    cases.extend(asked().filter_map(Case::write).filter_map(|work| read_beside(work, time)));
    cases.extend(asked().filter_map(generator));
    // Nobody asked for their engine: it only has to show what the device gives.
    fallback::replace(&mut cases, environment.host);
    let is_asked: HashSet<Case> = asked().map(without_time).collect();
    cases.retain(|case| !is_asked.contains(&without_time(case)));
    Ok(cases)
}

/// The pages in which a device can be read at least as fast as `work` reads it. A request can cover
/// more of huge ones. Those of the page cache can be large, too.
fn pages_of_ceiling(work: &ReadWork, host: &Host) -> BufferPages {
    let is_direct = work.io.cache == Cache::Direct;
    if is_direct || !host.setup.gives_huge_pages() { work.io.pages } else { BufferPages::Huge }
}

/// The ceiling `case`, in each of these pages if it is one of the device.
fn in_pages(case: Case, pages: &HashSet<BufferPages>) -> Vec<Case> {
    if case.cache() != Some(Cache::Direct) {
        return vec![case];
    }
    let with = |pages: BufferPages| {
        let mut case = case.clone();
        case.io_mut().into_iter().for_each(|io| io.pages = pages);
        case
    };
    let all = BufferPages::ALL.iter().copied();
    all.filter(|it| pages.contains(it)).map(with).collect()
}

/// The ceiling `case`, in each part of the file that is read if it reads any.
fn in_parts(case: Case, offsets: &BTreeSet<u64>) -> Vec<Case> {
    if case.read().is_none() {
        return vec![case];
    }
    let most = if case.is_null() { 1 } else { offsets.len() };
    let from = |offset: &u64| {
        let mut case = case.clone();
        case.io_mut().into_iter().for_each(|io| io.offset = *offset);
        case
    };
    // A plan that only writes reads from the start.
    let start = BTreeSet::from([0]);
    let offsets = if offsets.is_empty() { &start } else { offsets };
    offsets.iter().take(most.max(1)).map(from).collect()
}

/// Whether the plan has rates, and asks for the closed loop of each, which bounds it. Rates that
/// are shares do.
fn bounds_rates(plan: &Plan) -> bool {
    let asked = || plan.cases.iter().map(|planned| &planned.case);
    let closed: HashSet<Case> = asked().filter(|case| !case.is_open()).map(without_time).collect();
    let is_bounded = |open: &Case| {
        let alone = open.at_rate(0).alone();
        [open.at_rate(0), alone].iter().any(|case| closed.contains(&without_time(case)))
    };
    asked().any(Case::is_open) && asked().filter(|case| case.is_open()).all(is_bounded)
}

/// A case without its time limit.
fn without_time(case: &Case) -> Case {
    let mut case = case.clone();
    case.set_time(Duration::ZERO);
    case
}

/// A schedule's baseline is this long, if its cases are not shorter.
const GENERATOR_MOST: Duration = Duration::from_millis(250);

/// The schedule of `case` without any I/O, which shows the generator's own delay (docs/method,
/// GeneratorBehind).
fn generator(case: &Case) -> Option<Case> {
    let io = case.io().filter(|_| case.is_open() && !case.is_null())?;
    let time = io.time.min(GENERATOR_MOST);
    let pattern = Pattern::Random;
    let pages = BufferPages::Base;
    let io = Io { cache: Cache::AsIs, pattern, depth: 1, pages, ops: 0, time, ..*io };
    let (engine, touch) = (Engine::Null, Touch::None);
    Some(Case::own(Work::Read(ReadWork { io, engine, touch, ..ReadWork::default() })))
}

/// Direct reads of the same blocks that `work` writes directly. Writes cannot be twice as fast
/// unless a cache takes them (docs/method, HostCache).
fn read_beside(work: &WriteWork, time: Duration) -> Option<Case> {
    let is_plain = work.op == Op::Write && work.io.cache == Cache::Direct;
    is_plain.then(|| {
        let engine = if work.io.depth == 1 { Engine::Pread } else { Engine::Uring };
        let io = Io { ops: 0, time, ..work.io };
        Case::own(Work::Read(ReadWork { io, engine, ..ReadWork::default() }))
    })
}
