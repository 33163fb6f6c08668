//! Finds the fastest shape of the loops of a run, before it begins (docs/method, Shapes of
//! loops).

use crate::stop::Stop;
use crate::worker_process::{PATIENCE, WorkerProcess};
use model::case::{Case, Kernel, Pages};
use model::host::Host;
use model::plan::Plan;
use model::shape::{Calibrate, Calibrated, Walk};
use std::process::Command;
use std::time::Duration;

/// The most time for all loops over arrays that exceed the caches, without that for making them.
const TIME_OF_ALL: Duration = Duration::from_secs(2);
/// The most time for one of them.
const TIME_MOST: Duration = Duration::from_millis(200);
/// The time for a loop over arrays in the caches, where a pass takes less than a millisecond.
const TIME_SMALL: Duration = Duration::from_millis(20);

/// Arrays of a thread from this size on are measured like those in memory, in bytes.
const LARGE_LEAST: u64 = 1 << 20;
/// Size of an array in a thread's own caches, in bytes.
const SMALL_ARRAY: u64 = 32 << 10;
/// Size of an array in memory where the caches are smaller, in bytes.
const LARGE_ARRAY: u64 = 128 << 20;
/// The most that a thread makes of an array, in bytes: making it takes time, too.
const LARGE_ARRAY_MOST: u64 = 256 << 20;

/// What to measure for the loops of `plans` on `host`: those of one thread and those of the most
/// threads, in each kind of pages, in the caches and in memory.
pub fn requests(plans: &[&Plan], host: &Host) -> Vec<Calibrate> {
    let cases = plans.iter().flat_map(|plan| {
        let actors = plan.actors.iter().map(|actor| &actor.case);
        plan.cases.iter().map(|planned| &planned.case).chain(actors)
    });
    let walks: Vec<Walk> = cases.filter_map(Case::walk).collect();
    let mut requests = Vec::new();
    for pages in Pages::ALL.iter().rev().copied() {
        for (is_many, is_large) in [(false, true), (true, true), (false, false), (true, false)] {
            let is_like = |walk: &&Walk| {
                walk.pages == pages
                    && (walk.threads > 1) == is_many
                    && is_large_in(walk) == is_large
            };
            let like = || walks.iter().filter(is_like);
            let Some(threads) = like().map(|walk| walk.threads).max() else { continue };
            let has = |kernel: &Kernel| like().any(|walk| walk.kernel == *kernel);
            let kernels = Kernel::ALL.iter().copied().filter(has).collect();
            let sizes = like().map(|walk| walk.working_set / walk.kernel.arrays());
            let array = match is_large {
                true => sizes.max().unwrap_or(0).min(array_most(host, threads)),
                false => SMALL_ARRAY.saturating_mul(threads.into()),
            };
            requests.push(Calibrate { kernels, pages, threads, array, time: TIME_SMALL });
        }
    }
    let is_large = |it: &Calibrate| it.array / u64::from(it.threads) > SMALL_ARRAY;
    let loops: usize = requests.iter().filter(|it| is_large(it)).map(|it| it.kernels.len()).sum();
    let share = TIME_OF_ALL.checked_div(loops as u32).unwrap_or(TIME_MOST).min(TIME_MOST);
    requests.iter_mut().filter(|it| is_large(it)).for_each(|it| it.time = share);
    requests
}

/// Whether the arrays of a thread are larger than its own caches may be.
fn is_large_in(walk: &Walk) -> bool {
    walk.working_set / u64::from(walk.threads.max(1)) >= LARGE_LEAST
}

/// The largest array for `threads` threads that is worth making: four times the caches, like the
/// arrays of cases, if that does not take too long, and an eighth of the available memory.
fn array_most(host: &Host, threads: u32) -> u64 {
    let beyond = host.last_level_cache.map_or(LARGE_ARRAY, |bytes| bytes.saturating_mul(4));
    let most = beyond.min(LARGE_ARRAY_MOST.saturating_mul(threads.into())).max(LARGE_ARRAY);
    host.memory_available.map_or(most, |bytes| most.min(bytes / 8))
}

/// The choice for each loop of `requests`, by a worker that `command` starts.
///
/// # Errors
/// Why the worker could not measure them.
pub fn calibrate(
    requests: &[Calibrate],
    command: Result<Command, String>,
    stop: &Stop,
) -> Result<Vec<Calibrated>, String> {
    if requests.is_empty() {
        return Ok(Vec::new());
    }
    let started = WorkerProcess::start(command?, stop, PATIENCE);
    let mut worker = started.map_err(|error| format!("{error:#}"))?;
    let mut all = Vec::new();
    for asked in requests {
        all.extend(worker.calibrate(asked)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Isa, MemoryWork, OWN_PEER, ReadWork, Touch, Work};
    use model::plan::{Planned, Role};
    use model::zoo;

    fn work(kernel: Kernel, threads: u32, working_set: u64) -> MemoryWork {
        MemoryWork { kernel, threads, working_set, ..MemoryWork::default() }
    }

    fn memory(kernel: Kernel, threads: u32, working_set: u64) -> Case {
        Case::own(Work::Memory(work(kernel, threads, working_set)))
    }

    /// The requests for these cases, without their times.
    fn check(cases: Vec<Case>, expected: &[(&[Kernel], Pages, u32, u64)]) -> Vec<Calibrate> {
        let mut plan = zoo::record().header.plan;
        plan.cases = cases.into_iter().map(|case| Planned { case, role: Role::Asked }).collect();
        let requests = requests(&[&plan], &zoo::host());
        let told: Vec<_> =
            requests.iter().map(|it| (&it.kernels[..], it.pages, it.threads, it.array)).collect();
        assert_eq!(told, expected);
        requests
    }

    #[test]
    fn only_loops_that_the_plan_uses_are_measured() {
        use Kernel::{Chase, Copy, Count, Read, Triad};
        check(Vec::new(), &[]);
        let explicit = MemoryWork { isa: Isa::Avx2, ..work(Read, 1, 1 << 30) };
        let explicit = Case::own(Work::Memory(explicit));
        check(vec![explicit, memory(Chase, 1, 1 << 30)], &[]);
        let mut other = memory(Read, 1, 1 << 30);
        other.peer = "zebra".to_string();
        check(vec![other], &[]);
        let sizes = vec![
            memory(Triad, 1, 48 << 20),
            memory(Read, 1, 1 << 30),
            memory(Read, 2, 1 << 30),
            memory(Copy, 4, 1 << 30),
            memory(Read, 1, 8 << 10),
        ];
        let requests = check(
            sizes,
            &[
                (&[Read, Triad], Pages::Huge, 1, 128 << 20),
                (&[Read, Copy], Pages::Huge, 4, 128 << 20),
                (&[Read], Pages::Huge, 1, 32 << 10),
            ],
        );
        let times: Vec<Duration> = requests.iter().map(|it| it.time).collect();
        assert_eq!(times, [TIME_MOST, TIME_MOST, TIME_SMALL]);
        // No larger than what the plan uses.
        check(vec![memory(Copy, 1, 16 << 20)], &[(&[Copy], Pages::Huge, 1, 8 << 20)]);
        let counting = ReadWork { touch: Touch::Count, ..zoo::plain() };
        let block = counting.io.block;
        let small = (&[Count][..], Pages::Base, 1, if block < 1 << 20 { 32 << 10 } else { block });
        check(vec![Case::own(Work::Read(counting))], &[small]);
        let untouched = ReadWork { touch: Touch::None, ..zoo::plain() };
        check(vec![Case::own(Work::Read(untouched))], &[]);
        assert_eq!(zoo::record().header.plan.cases[0].case.peer, OWN_PEER);
    }

    #[test]
    fn all_loops_share_the_time() {
        let kernels = Kernel::ALL.iter().copied().filter(|kernel| kernel.has_vectors());
        let cases = kernels.flat_map(|kernel| {
            [1, 4].into_iter().flat_map(move |threads| {
                [Pages::Base, Pages::Huge].map(|pages| {
                    Case::own(Work::Memory(MemoryWork { pages, ..work(kernel, threads, 1 << 30) }))
                })
            })
        });
        let mut plan = zoo::record().header.plan;
        plan.cases = cases.map(|case| Planned { case, role: Role::Asked }).collect();
        let requests = requests(&[&plan], &zoo::host());
        let time = |it: &Calibrate| it.time.as_millis() as usize * it.kernels.len();
        let all: usize = requests.iter().map(time).sum();
        assert!(all <= 2_000 && all > 1_900, "{all} ms");
    }
}
