//! Measures the candidates of loops over memory. Their passes are interleaved, so that whatever
//! disturbs the machine disturbs all of them.

use crate::clock::os_now_ns;
use crate::engine::Obstacle;
use crate::gate::Start;
use crate::memory::Memory;
use crate::team::{self, Conductor, TeamMember, ThreadCounters};
use kernel::{Loop, Variant, candidates};
use model::content::{COUNTED, WORD_BYTES};
use model::memory::{ARRAY_GRANULE, Kernel, TRIAD_FACTOR};
use model::sample::Usage;
use model::shape::{Calibrate, ShapePasses};
use std::ops::Range;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of each array that a thread walks over in a pass: less than a millisecond, so that there
/// are many passes and a disturbance meets those of all candidates. It is enough for loops that
/// walk in several streams, which smaller arrays do not have. The passes walk through arrays that
/// are longer, so they find little in the caches.
const PART_BYTES: usize = 8 << 20;

/// Rounds of passes, however long they take. The first only warms up.
const ROUNDS_LEAST: usize = 6;

/// Rounds of passes at most. More tell nothing new.
const ROUNDS_MOST: usize = 129;

/// Measures the candidates of each kernel.
///
/// # Errors
/// If there is no memory for the arrays, or no thread.
pub fn calibrate(asked: &Calibrate) -> Result<Vec<(Kernel, Vec<ShapePasses>)>, Obstacle> {
    let kernels: Vec<Candidates> = asked.kernels.iter().copied().map(Candidates::of).collect();
    let barrier = Barrier::new(asked.threads as usize);
    let prepare = |thread| PassRunner::new(asked, thread, (&kernels, &barrier));
    let mut collect = Collect(Ok(Vec::new()));
    team::run(asked.threads, prepare, &mut collect);
    let threads = collect.0?;
    let places = || kernels.iter().enumerate();
    Ok(places().map(|(place, it)| (it.kernel, it.timed(place, &threads))).collect())
}

/// The candidates of a kernel.
struct Candidates {
    kernel: Kernel,
    all: Vec<Variant>,
    /// Whether their time is up.
    is_over: AtomicBool,
}

/// A pass of a candidate in one thread.
#[derive(Debug, Clone, Copy)]
struct Pass {
    /// The place of the kernel, and that of the candidate.
    of: (usize, usize),
    round: usize,
    start_ns: u64,
    end_ns: u64,
    bytes: u64,
}

impl Candidates {
    fn of(kernel: Kernel) -> Candidates {
        Candidates { kernel, all: candidates(kernel), is_over: AtomicBool::new(false) }
    }

    /// How long the passes of each candidate took, from the first thread's start to the last one's
    /// end. `place` is that of the kernel; each of the threads has the same passes.
    fn timed(&self, place: usize, threads: &[Vec<Pass>]) -> Vec<ShapePasses> {
        let of_candidate = |(candidate, variant): (usize, &Variant)| {
            let mut timed = ShapePasses { shape: variant.shape, bytes: 0, pass_ns: Vec::new() };
            for (index, pass) in threads.first().into_iter().flatten().enumerate() {
                if pass.of != (place, candidate) || pass.round == 0 {
                    continue;
                }
                let same = || threads.iter().map(|passes| passes[index]);
                let (start, end) = (same().map(|it| it.start_ns).min(), same().map(|it| it.end_ns));
                timed.bytes = same().map(|it| it.bytes).sum();
                timed.pass_ns.push(end.max().zip(start).map_or(0, |(end, start)| end - start));
            }
            timed
        };
        self.all.iter().enumerate().map(of_candidate).collect()
    }
}

/// A team member that runs the passes of all candidates.
struct PassRunner<'a> {
    thread: u32,
    time_ns: u64,
    kernels: &'a [Candidates],
    barrier: &'a Barrier,
    arrays: [Option<Memory>; 3],
    /// With room for all passes: nothing is allocated while they are timed.
    passes: Vec<Pass>,
}

impl<'a> PassRunner<'a> {
    fn new(
        asked: &Calibrate,
        thread: u32,
        (kernels, barrier): (&'a [Candidates], &'a Barrier),
    ) -> Result<PassRunner<'a>, Obstacle> {
        let share = (asked.array / u64::from(asked.threads)).max(1);
        let size = share.next_multiple_of(ARRAY_GRANULE) as usize;
        let count = kernels.iter().map(|it| it.kernel.arrays() as usize).max().unwrap_or(0);
        let mut arrays = [None, None, None];
        for array in arrays.iter_mut().take(count) {
            let memory = Memory::resident(size, asked.pages).map_err(|error| {
                Obstacle::Failed(format!("preparing the arrays of a calibration: {error}"))
            })?;
            *array = Some(memory);
        }
        let most = kernels.iter().map(|it| it.all.len() * ROUNDS_MOST).sum();
        let time_ns = u64::try_from(asked.time.as_nanos()).unwrap_or(u64::MAX);
        Ok(PassRunner {
            thread,
            time_ns,
            kernels,
            barrier,
            arrays,
            passes: Vec::with_capacity(most),
        })
    }

    /// The passes of a kernel, until its time is up. One thread decides that for all.
    fn walk(&mut self, place: usize) {
        let Candidates { kernel, all, is_over } = &self.kernels[place];
        let bytes = self.arrays[0].as_ref().map_or(0, |array| array.bytes().len());
        let mut places = Places::new(bytes, kernel.arrays() as usize);
        let began_ns = os_now_ns();
        for round in 0..ROUNDS_MOST {
            for turn in 0..all.len() {
                // Each candidate has each part of the arrays.
                let candidate = (turn + round) % all.len();
                let (range, times) = places.next();
                self.barrier.wait();
                let start_ns = os_now_ns();
                run(all[candidate].run, &mut self.arrays, range, times);
                let end_ns = os_now_ns();
                let (of, bytes) = ((place, candidate), places.bytes());
                self.passes.push(Pass { of, round, start_ns, end_ns, bytes });
            }
            let is_up = os_now_ns() - began_ns >= self.time_ns && round + 1 >= ROUNDS_LEAST;
            if self.thread == 0 && is_up {
                is_over.store(true, Ordering::Release);
            }
            self.barrier.wait();
            if is_over.load(Ordering::Acquire) {
                break;
            }
        }
    }
}

/// The parts of arrays that passes walk over, one after another.
struct Places {
    /// Words of an array.
    array: usize,
    /// Words of a part, and how often a pass walks over it.
    part: usize,
    times: usize,
    arrays: usize,
    next: usize,
}

impl Places {
    fn new(bytes: usize, arrays: usize) -> Places {
        let array = bytes / WORD_BYTES as usize;
        let wanted = PART_BYTES / WORD_BYTES as usize;
        let part = wanted.min(array).max(1);
        Places { array, part, times: wanted / part, arrays, next: 0 }
    }

    fn next(&mut self) -> (Range<usize>, usize) {
        if self.next + self.part > self.array {
            self.next = 0;
        }
        let range = self.next..(self.next + self.part).min(self.array);
        self.next = range.end;
        (range, self.times)
    }

    /// Bytes that a pass moves.
    fn bytes(&self) -> u64 {
        (self.part * self.times * self.arrays) as u64 * WORD_BYTES
    }
}

/// Runs a loop as often over a part of the arrays.
#[inline(never)]
fn run(run: Loop, arrays: &mut [Option<Memory>; 3], range: Range<usize>, times: usize) {
    let [first, second, third] = arrays;
    let Some(first) = first else { return };
    let bytes = range.start * WORD_BYTES as usize..range.end * WORD_BYTES as usize;
    // What it returns is not used, but the loop must run.
    let mut sum = 0u64;
    match (run, second, third) {
        (Loop::Read(read), ..) => {
            let words = &first.words()[range];
            (0..times).for_each(|_| sum = sum.wrapping_add(read(words)));
        }
        (Loop::Count(count), ..) => {
            let bytes = &first.bytes()[bytes];
            (0..times).for_each(|_| sum = sum.wrapping_add(count(bytes, COUNTED)));
        }
        (Loop::Write(write), ..) => {
            let words = &mut first.words_mut()[range];
            (0..times).for_each(|_| write(words, 1));
        }
        (Loop::Copy(copy), Some(source), _) => {
            let (target, source) = (&mut first.words_mut()[range.clone()], &source.words()[range]);
            (0..times).for_each(|_| copy(target, source));
        }
        (Loop::Triad(triad), Some(b), Some(c)) => {
            let (a, b) = (&mut first.doubles_mut()[range.clone()], &b.doubles()[range.clone()]);
            let c = &c.doubles()[range];
            (0..times).for_each(|_| triad(a, b, c, TRIAD_FACTOR));
        }
        // The others have no candidates.
        _ => {}
    }
    std::hint::black_box(sum);
}

impl TeamMember for PassRunner<'_> {
    type Timed = ();
    type Report = Vec<Pass>;

    fn perform(&mut self, _: &Start) {
        (0..self.kernels.len()).for_each(|place| self.walk(place));
    }

    fn tell(&mut self, (): (), _: ThreadCounters) -> Result<Vec<Pass>, Obstacle> {
        Ok(std::mem::take(&mut self.passes))
    }
}

/// Takes what the threads measured.
struct Collect(Result<Vec<Vec<Pass>>, Obstacle>);

impl Conductor<Vec<Pass>> for Collect {
    fn begin(&mut self) -> bool {
        true
    }

    fn end(&mut self, results: Result<Vec<Vec<Pass>>, Obstacle>, _: Usage) {
        self.0 = results;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::Pages;
    use std::time::Duration;

    #[test]
    fn each_candidate_has_as_many_passes_over_as_many_bytes() {
        for (threads, array) in [(1, 64 << 10), (3, 1 << 20), (2, 80 << 20)] {
            for pages in Pages::ALL.iter().copied() {
                let kernels = vec![Kernel::Read, Kernel::TriadNt, Kernel::CopyNt];
                let time = Duration::ZERO;
                let asked = Calibrate { kernels, pages, threads, array, time };
                let measured = calibrate(&asked).expect("there is room for little");
                assert_eq!(measured.len(), 3);
                for (kernel, timed) in measured {
                    let shapes: Vec<_> = timed.iter().map(|it| it.shape).collect();
                    let expected: Vec<_> = candidates(kernel).iter().map(|it| it.shape).collect();
                    assert_eq!(shapes, expected, "{kernel}");
                    for it in &timed {
                        assert_eq!(it.pass_ns.len(), ROUNDS_LEAST - 1, "{kernel} {}", it.shape);
                        assert_eq!(it.bytes, timed[0].bytes, "{kernel} {}", it.shape);
                        let whole = u64::from(threads) * kernel.arrays() * PART_BYTES as u64;
                        assert!((whole / 2..=whole).contains(&it.bytes), "{kernel} {it:?}");
                        assert!(it.pass_ns.iter().all(|ns| *ns > 0), "{kernel} {}", it.shape);
                    }
                }
            }
        }
    }

    #[test]
    fn passes_walk_through_all_of_the_arrays() {
        let mut places = Places::new(25 << 20, 1);
        let starts: Vec<usize> = (0..4).map(|_| places.next().0.start >> 20).collect();
        assert_eq!(starts, [0, 1, 2, 0]);
        let mut small = Places::new(64 << 10, 2);
        assert_eq!((small.next(), small.bytes()), ((0..8192, 128), 16 << 20));
    }
}
