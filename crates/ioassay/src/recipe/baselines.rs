//! The baselines of a recipe: its ceilings.

use super::{Changes, parse};
use anyhow::Result;
use model::case::WriteWork;
use model::case::{Cache, Case, Engine, Io, Op, ReadWork, Work};
use model::environment::Environment;
use model::plan::Plan;
use model::units;
use std::collections::HashSet;
use std::time::Duration;

/// The baselines of every recipe that reads files.
const BASELINES: &str = include_str!("../../../../recipes/baselines.toml");

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
    let claims_device = asked()
        .filter_map(Case::read)
        .any(|work| matches!(work.io.cache, Cache::Direct | Cache::Cold));
    let is_wanted = |case: &Case| match &case.work {
        Work::Memory(_) => true,
        Work::Write(_) => writes,
        Work::Read(work) if work.io.cache == Cache::Direct => claims_device,
        Work::Read(_) => reads,
    };
    let mut cases = baselines.cases(&Changes::default(), environment)?;
    cases.retain(is_wanted);
    let time = units::parse_time(&baselines.time)?;
    cases.extend(asked().filter_map(Case::write).filter_map(|work| read_beside(work, time)));
    let is_asked: HashSet<Case> = asked().map(without_time).collect();
    cases.retain(|case| !is_asked.contains(&without_time(case)));
    Ok(cases)
}

/// A case without its time limit.
fn without_time(case: &Case) -> Case {
    let mut case = case.clone();
    *case.time_mut() = Duration::ZERO;
    case
}

/// Direct reads of the same blocks that `work` writes directly. Writes cannot be twice as fast
/// unless a cache takes them (METHODOLOGY.md, HostCache).
fn read_beside(work: &WriteWork, time: Duration) -> Option<Case> {
    let is_plain = work.op == Op::Write && work.io.cache == Cache::Direct;
    is_plain.then(|| {
        let engine = if work.io.depth == 1 { Engine::Pread } else { Engine::Uring };
        let io = Io { ops: 0, time, ..work.io };
        Case::own(Work::Read(ReadWork { io, engine, ..ReadWork::default() }))
    })
}
