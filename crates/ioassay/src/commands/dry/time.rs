//! How long a run takes on a typical machine. Trials end when their work is done, and each needs
//! setup, so the times that the cases ask for say little.

use crate::beside::time_beside;
use crate::calibration;
use crate::commands::question::{RunQuestion, Setting};
use crate::crew::PAUSE;
use crate::files;
use crate::load::GAP;
use model::case::{Cache, Case, Op, Populated, Sync, Work};
use model::host::{Device, Storage};
use model::metadata::Call;
use model::pattern::Pattern;
use model::plan::Plan;
use model::shape::Calibrate;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use witness::page_cache;

/// The time of a run, or of the two of a gate, whose rounds alternate. `None` for a sustained run.
pub(super) fn expected(sides: &[(&RunQuestion, &Setting)]) -> Option<Duration> {
    let time = |(question, setting): &(&RunQuestion, &Setting)| {
        let Setting { plan, storage, .. } = setting;
        let bytes = files::written_before_trials(plan, &question.target, setting.source.is_some());
        without_pauses(plan, storage.as_ref(), bytes)
    };
    let times: Option<Vec<Duration>> = sides.iter().map(time).collect();
    // They pause at the same time.
    let pause = sides.iter().map(|(_, side)| pauses(&side.plan)).max().unwrap_or_default();
    let once = pause.saturating_add(calibrating(sides));
    times.map(|times| times.into_iter().fold(once, Duration::saturating_add))
}

/// How long it takes to find the fastest loops, which both sides of a gate share.
fn calibrating(sides: &[(&RunQuestion, &Setting)]) -> Duration {
    let Some((_, first)) = sides.first() else { return Duration::ZERO };
    let plans: Vec<&Plan> = sides.iter().map(|(_, side)| &side.plan).collect();
    let loops = calibration::requests(&plans, &first.host);
    let of = |asked: &Calibrate| asked.time.saturating_mul(asked.kernels.len() as u32);
    let measured = loops.iter().map(of).fold(Duration::ZERO, Duration::saturating_add);
    let starting = if loops.is_empty() { Duration::ZERO } else { STARTING };
    measured.saturating_add(starting)
}

/// The time of a run on several hosts with such a storage, which do everything at the same time.
pub(super) fn expected_on_hosts(plan: &Plan, storage: &Storage) -> Option<Duration> {
    let bytes = files::written_in_directory(plan, false);
    Some(without_pauses(plan, Some(storage), bytes)?.saturating_add(pauses(plan)))
}

/// Between invocations.
fn pauses(plan: &Plan) -> Duration {
    PAUSE.saturating_mul(plan.invocations.saturating_sub(1))
}

/// The time of a run that writes so many bytes before its trials.
fn without_pauses(plan: &Plan, storage: Option<&Storage>, bytes: u64) -> Option<Duration> {
    let rounds = round(plan, storage)?.saturating_mul(plan.rounds);
    let written = bytes as f64 / device(spins(storage)).bytes;
    let written = Duration::try_from_secs_f64(written).unwrap_or(Duration::MAX);
    let once = caching(plan, spins(storage)).once;
    let started = STARTING.saturating_add(once).saturating_mul(plan.invocations);
    Some(rounds.saturating_add(started).saturating_add(written))
}

/// The time of the first round, whose files and workers are made before it.
pub(super) fn first_round(plan: &Plan, storage: Option<&Storage>) -> Option<Duration> {
    Some(round(plan, storage)?.saturating_add(caching(plan, spins(storage)).once))
}

/// The time of a round.
fn round(plan: &Plan, storage: Option<&Storage>) -> Option<Duration> {
    let is_slow = spins(storage);
    let trials = plan.cases.iter().map(|planned| trial(&planned.case, is_slow));
    let anew = caching(plan, is_slow).each_round;
    plan.sustain.is_none().then(|| trials.fold(anew, Duration::saturating_add))
}

/// How long it takes to cache warm files before trials.
#[derive(Debug, Default, PartialEq)]
struct Caching {
    /// In each round: of files that other cases evict, or cache in another way.
    each_round: Duration,
    /// In each invocation: of the others.
    once: Duration,
}

fn caching(plan: &Plan, is_slow: bool) -> Caching {
    let mut states: BTreeMap<u64, HashSet<(Cache, Option<Populated>)>> = BTreeMap::new();
    for planned in plan.cases.iter().filter(|planned| planned.case.uses_storage()) {
        let case = &planned.case;
        let is_written = case.write().is_some_and(|work| work.op != Op::Copy);
        if let Some(io) = case.io().filter(|_| !is_written) {
            states.entry(io.size).or_default().insert((io.cache, case.populated()));
        }
    }
    let mut caching = Caching::default();
    for (size, states) in states {
        let ways = states.iter().filter_map(|(_, populated)| *populated);
        let time = ways
            .map(|populated| populating(size, populated, is_slow))
            .fold(Duration::ZERO, Duration::saturating_add);
        let of = if states.len() > 1 { &mut caching.each_round } else { &mut caching.once };
        *of = of.saturating_add(time);
    }
    caching
}

/// The time to evict a file of `size` bytes and to cache it in this way.
fn populating(size: u64, populated: Populated, is_slow: bool) -> Duration {
    let Speed { bytes, op_s } = device(is_slow);
    let seconds = match populated {
        Populated::Others | Populated::Unknown => 0.0,
        Populated::ReadAhead | Populated::Written => size as f64 / bytes,
        // Several pages are read at once.
        Populated::Random => (size / PAGE) as f64 * op_s / READERS,
    };
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// Bytes of a page, on most machines.
const PAGE: u64 = 4096;
/// The reads in flight that make random ones this much faster.
const READERS: f64 = page_cache::READERS as f64;

pub(super) fn spins(storage: Option<&Storage>) -> bool {
    // A hypervisor reports its disks as rotational regardless of their type.
    let spins = |device: &Device| device.rotational == Some(true) && !device.is_virtual;
    storage.is_some_and(|storage| storage.disks().into_iter().any(spins))
}

/// The bytes per second of a typical device, page cache or memory, and the time per operation.
#[derive(Clone, Copy)]
struct Speed {
    bytes: f64,
    op_s: f64,
}

const MEMORY: Speed = Speed { bytes: 4e9, op_s: 1e-6 };
const FLASH: Speed = Speed { bytes: 8e8, op_s: 1e-4 };
const DISK: Speed = Speed { bytes: 1.2e8, op_s: 8e-3 };

fn device(is_slow: bool) -> Speed {
    if is_slow { DISK } else { FLASH }
}

/// The start of an invocation's workers.
const STARTING: Duration = Duration::from_millis(300);
/// The time beside a trial that writes, or beside which others work: making the file, and waiting
/// for quiet devices.
const QUIETING: Duration = Duration::from_millis(300);
/// The same of one that only reads: keeping the file in the cache or out of it.
const CACHING: Duration = Duration::from_millis(50);
/// The same in memory: filling the arrays.
const FILLING: Duration = Duration::from_millis(100);
/// Making and removing a name that is to be found.
const NAMING: Duration = Duration::from_micros(200);

/// The time of a trial, and of what is done before and after it.
pub(super) fn trial(case: &Case, is_slow: bool) -> Duration {
    let (timed, beside) = match &case.work {
        _ if case.is_null() => (timed(case, is_slow), Duration::ZERO),
        Work::Memory(_) if !case.beside.is_empty() => (time_beside(case.time()), FILLING),
        Work::Read(_) | Work::Write(_) if !case.beside.is_empty() => {
            (time_beside(case.time()), QUIETING)
        }
        Work::Memory(work) => (work.time, FILLING),
        Work::Metadata(work) if work.call == Call::Create => (work.time, QUIETING),
        Work::Metadata(work) => {
            let names = work.entries.saturating_mul(work.threads.into());
            let names = u32::try_from(names).unwrap_or(u32::MAX);
            (work.time, QUIETING.saturating_add(NAMING.saturating_mul(names)))
        }
        // How long it takes is what is asked.
        Work::Command(_) => (Duration::ZERO, QUIETING),
        Work::Read(_) => (timed(case, is_slow), CACHING),
        Work::Write(_) => (timed(case, is_slow), QUIETING),
    };
    // The file is written anew before each trial of a mix.
    let mixes = case.write().is_some_and(|work| work.read_share > 0) && !case.is_null();
    let anew = if mixes { case.file_size().unwrap_or(0) } else { 0 };
    let anew = Duration::try_from_secs_f64(anew as f64 / device(is_slow).bytes);
    // A file that was written is read back from below the page cache.
    let is_overwritten = case.write().is_some_and(|work| work.op != Op::Copy);
    let cached = case.populated().filter(|_| is_overwritten);
    let cached =
        cached.zip(case.file_size()).map(|(populated, size)| populating(size, populated, is_slow));
    let gap = if case.is_open() && !case.is_null() { GAP } else { Duration::ZERO };
    let parts = [beside, anew.unwrap_or(Duration::MAX), cached.unwrap_or_default(), gap];
    parts.into_iter().fold(timed, Duration::saturating_add)
}

/// The timed part of a trial on files.
fn timed(case: &Case, is_slow: bool) -> Duration {
    let Some(io) = case.io() else { return case.time() };
    let is_cached = io.cache == Cache::Warm && case.write().is_none();
    let speed = if is_cached { MEMORY } else { device(is_slow) };
    let ops = io.operations();
    let in_flight = f64::from(io.depth).max(1.0) * f64::from(io.threads).max(1.0);
    let in_order = io.pattern == Pattern::Sequential && !is_synced_often(case);
    let each = if in_order { 0.0 } else { ops as f64 * speed.op_s / in_flight };
    let moved = ops as f64 * io.mean_block() / speed.bytes;
    let done = Duration::try_from_secs_f64(each + moved).unwrap_or(Duration::MAX);
    if case.repeats() { io.time } else { done.min(io.time) }
}

fn is_synced_often(case: &Case) -> bool {
    case.write().is_some_and(|work| work.every > 0 || work.sync == Sync::Dsync)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Io, ReadWork};
    use model::metadata::MetadataWork;
    use model::plan::{Planned, Role};
    use model::zoo;

    fn reading(size: u64) -> Case {
        Case::own(Work::Read(ReadWork { io: Io { size, ..zoo::plain().io }, ..zoo::plain() }))
    }

    #[test]
    fn more_names_take_longer_to_make_unless_making_them_is_measured() {
        let of = |call, entries| {
            let time = Duration::from_millis(500);
            let work = MetadataWork { call, entries, threads: 2, time, ..MetadataWork::default() };
            trial(&Case::own(Work::Metadata(work)), false)
        };
        assert_eq!(of(Call::Create, 10), of(Call::Create, 10_000));
        assert!(of(Call::Stat, 10_000) > of(Call::Stat, 10) + Duration::from_secs(3));
    }

    #[test]
    fn a_warm_file_is_cached_once_unless_another_case_disturbs_it() {
        let caching_of = |states: &[(Cache, Populated)]| {
            let mut plan = Plan::new("test", 10, 0.025, 1);
            plan.cases = states
                .iter()
                .map(|(cache, populated)| {
                    let mut case = reading(800_000_000);
                    let io = case.io_mut().expect("it reads");
                    (io.cache, io.populated) = (*cache, *populated);
                    Planned { case, role: Role::Asked }
                })
                .collect();
            let Caching { each_round, once } = caching(&plan, false);
            (each_round.as_millis(), once.as_millis())
        };
        let (ahead, random) = (Populated::ReadAhead, Populated::Random);
        assert_eq!(caching_of(&[(Cache::Warm, ahead)]), (0, 1000));
        assert_eq!(caching_of(&[(Cache::Warm, ahead), (Cache::Direct, ahead)]), (1000, 0));
        assert_eq!(caching_of(&[(Cache::Warm, ahead), (Cache::Warm, random)]), (2220, 0));
        assert_eq!(caching_of(&[(Cache::Warm, Populated::Others)]), (0, 0));
        assert_eq!(caching_of(&[(Cache::Cold, ahead)]), (0, 0));
    }

    #[test]
    fn the_null_engine_takes_its_time_and_no_more() {
        let mut case = reading(1 << 20);
        let Work::Read(work) = &mut case.work else { unreachable!("it reads") };
        work.engine = model::case::Engine::Null;
        assert_eq!(trial(&case, true), timed(&case, true));
        // It mixes nothing into a file.
        let work = model::case::WriteWork {
            io: Io { size: 1 << 30, ..zoo::plain().io },
            engine: model::case::WriteEngine::Null,
            read_share: 50,
            ..zoo::plain_write()
        };
        let case = Case::own(Work::Write(work));
        assert_eq!(trial(&case, true), timed(&case, true));
    }
}
