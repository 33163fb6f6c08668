//! The memory loop: runs passes of a kernel over the thread's own arrays until the time is up.

use crate::clock::os_now_ns;
use crate::gate::Start;
use crate::memory::Memory;
use crate::pace::{PACED_BYTES, Pace};
use crate::progress::ProgressLog;
use kernel::{Count, Loop};
use model::case::{Kernel, MemoryWork, Pages};
use model::content::{COUNTED, Content, WORD_BYTES};
use model::memory::TRIAD_FACTOR;
use model::sample::Span;
use std::io;

/// A cache line, in words. A chase has one pointer per line, and bulk kernels count lines, too.
const LINE_WORDS: usize = 8;
const LINE_BYTES: u64 = LINE_WORDS as u64 * WORD_BYTES;

/// Loads per pass of a chase, which continues where the last pass ended.
const CHASE_STEPS: u64 = 1000;

/// Passes between two clock readings are doubled until they take this long. A reading takes about
/// 30 ns, as do the kernel's call and first loads; a pass over 4 KiB takes little more.
const LOOK_NS: u64 = 100_000;

/// One thread's arrays, and what it does with them.
#[derive(Debug)]
pub struct Arrays {
    task: ArrayTask,
    /// Size of one array in bytes.
    size: u64,
    /// Words touched per pass, for kernels that touch only some.
    touches: u64,
    time_ns: u64,
    progress: ProgressLog,
}

/// A kernel with its arrays.
#[derive(Debug)]
enum ArrayTask {
    Read { read: fn(&[u64]) -> u64, source: Memory },
    Write { write: fn(&mut [u64], u64), target: Memory, word: u64 },
    Copy { copy: fn(&mut [u64], &[u64]), target: Memory, source: Memory },
    Triad { triad: fn(&mut [f64], &[f64], &[f64], f64), target: Memory, sources: [Memory; 2] },
    Count { count: Count, source: Memory },
    Chase { chase: fn(&[u64], u64, u64) -> u64, cycle: Memory, place: u64 },
    TouchPages { touch: fn(&mut [u64], usize, u64), step: usize, target: Memory, word: u64 },
    FirstTouch(FirstTouch),
    ReadPages { read: fn(&[u64], usize) -> u64, step: usize, source: Memory },
}

/// Touches fresh memory in each pass. It never maps more than one pass's memory.
///
/// The time includes what a program pays to allocate and free memory. A pass unmaps the previous
/// pass's memory, maps its own and touches each page, which the OS must find and clear. Time spent
/// mapping and unmapping is reported separately, as [`Span::load_ns`]. The first pass also has
/// memory to unmap, so that all passes are alike.
#[derive(Debug)]
struct FirstTouch {
    touch: fn(&mut [u64], usize, u64),
    /// Words between two touches.
    step: usize,
    /// The last pass's memory; before the first pass, memory written during preparation. `None`
    /// only between two mappings.
    target: Option<Memory>,
    size: usize,
    pages: Pages,
    word: u64,
    /// Time spent mapping and unmapping in all passes.
    load_ns: u64,
}

impl Arrays {
    /// Allocates and fills `thread`'s arrays. The thread that will use them must call this, because
    /// the OS places a page near the thread that first writes it.
    ///
    /// # Errors
    /// If the OS cannot allocate an array; the error states its size.
    pub fn new(work: &MemoryWork, run: Loop, thread: u32, seed: u64) -> io::Result<Arrays> {
        let content = work.content(thread, seed);
        let array = || Memory::resident(content.size as usize, work.pages);
        let filled = || {
            let mut source = array()?;
            content.fill(0, source.bytes_mut());
            io::Result::Ok(source)
        };
        let operands = |content: Content| {
            let mut source = array()?;
            for (double, index) in source.doubles_mut().iter_mut().zip(0..) {
                *double = MemoryWork::operand(content.word(index));
            }
            io::Result::Ok(source)
        };
        let word = work.written(thread, seed);
        let step = (work.step / WORD_BYTES) as usize;
        let task = match run {
            Loop::Read(read) => ArrayTask::Read { read, source: filled()? },
            Loop::Write(write) => ArrayTask::Write { write, target: array()?, word },
            Loop::Copy(copy) => ArrayTask::Copy { copy, target: array()?, source: filled()? },
            Loop::Triad(triad) => {
                let second = work.second_content(thread, seed);
                let sources = [operands(content)?, operands(second)?];
                ArrayTask::Triad { triad, target: array()?, sources }
            }
            Loop::Count(count) => ArrayTask::Count { count, source: filled()? },
            Loop::Chase(chase) => {
                let mut cycle = array()?;
                kernel::cycle(cycle.words_mut(), LINE_WORDS, content.seed);
                ArrayTask::Chase { chase, cycle, place: 0 }
            }
            Loop::TouchPages(touch) if work.kernel == Kernel::FirstTouch => {
                let (target, size, pages) = (Some(array()?), content.size as usize, work.pages);
                ArrayTask::FirstTouch(FirstTouch {
                    touch,
                    step,
                    target,
                    size,
                    pages,
                    word,
                    load_ns: 0,
                })
            }
            Loop::TouchPages(touch) => {
                ArrayTask::TouchPages { touch, step, target: array()?, word }
            }
            Loop::ReadPages(read) => ArrayTask::ReadPages { read, step, source: filled()? },
        };
        let time_ns = u64::try_from(work.time.as_nanos()).unwrap_or(u64::MAX);
        let progress = ProgressLog::new(work.time, work.threads);
        Ok(Arrays { task, size: content.size, touches: work.touches(), time_ns, progress })
    }

    /// Runs whole passes, at least one, until the time is up, counted from the `start` of the first
    /// thread.
    ///
    /// The span's digest is the sum over all passes of what they read or counted; for kernels that
    /// write, it comes from [`Arrays::left`]: see [`MemoryWork::expected_digest`]. An operation is
    /// a cache line, a load of a chase, or a page. [`Arrays::progress`] returns the span's
    /// progress.
    pub fn drive(&mut self, start: &Start) -> Span {
        let (ops, bytes) = self.moved();
        let (mut passes, mut batch, mut digest) = (0u64, 1u64, 0u64);
        let start_ns = os_now_ns();
        let mut end_ns = start_ns;
        let time_ns = self.time_ns.saturating_sub(start.late_ns(start_ns));
        self.progress.start(start_ns);
        while passes == 0 || end_ns - start_ns < time_ns {
            digest = digest.wrapping_add(self.task.run(batch));
            let now_ns = os_now_ns();
            self.progress.reach(now_ns, passes * bytes);
            passes += batch;
            if now_ns - end_ns < LOOK_NS {
                batch *= 2;
            }
            end_ns = now_ns;
        }
        Span {
            start_ns,
            end_ns,
            bytes: passes * bytes,
            ops: passes * ops,
            digest: Some(digest),
            load_ns: self.task.load_ns(),
            ..Span::default()
        }
    }

    /// The same with a pause after each block, for loops that move bytes; `now_ns` reads the clock
    /// of the blocks. Once the time is up, the rest of the pass has no pauses.
    ///
    /// A digest is that of whole passes, which at a low duty take long: so progress counts the
    /// bytes of each block when it completes.
    pub fn drive_paced(&mut self, start: &Start, pace: Pace, now_ns: impl Fn() -> u64) -> Span {
        let (ops, bytes) = self.moved();
        let (mut passes, mut moved, mut digest) = (0u64, 0u64, 0u64);
        let start_ns = os_now_ns();
        let begun_ns = now_ns();
        let time_ns = self.time_ns.saturating_sub(start.late_ns(start_ns));
        let up_ns = begun_ns.saturating_add(time_ns);
        self.progress.start(begun_ns);
        let mut at_ns = begun_ns;
        while passes == 0 || at_ns < up_ns {
            let mut place = 0;
            while place < self.size {
                let end = self.size.min(place + PACED_BYTES);
                digest = digest.wrapping_add(self.task.run_part(place, end));
                let done_ns = now_ns();
                self.progress.reach(done_ns, moved);
                moved += bytes / self.size * (end - place);
                place = end;
                let pause_ns = if done_ns < up_ns { pace.pause_ns(done_ns - at_ns) } else { 0 };
                at_ns = done_ns;
                while at_ns - done_ns < pause_ns {
                    std::hint::spin_loop();
                    at_ns = now_ns();
                }
            }
            passes += 1;
        }
        let (end_ns, digest) = (os_now_ns(), Some(digest));
        let (bytes, ops) = (passes * bytes, passes * ops);
        Span { start_ns, end_ns, bytes, ops, digest, ..Span::default() }
    }

    /// The steps of [`Span::progress`] for the completed `span`. The bytes of a pass, or of a paced
    /// block, count when it completes.
    pub fn progress(&self, span: &Span) -> Vec<u64> {
        self.progress.steps(span.end_ns - span.start_ns, span.bytes)
    }

    /// For kernels that write, the sum of the words in the target: the span's digest. It reads the
    /// arrays, so call it only when all threads are done.
    pub fn left(&self) -> Option<u64> {
        self.task.left()
    }

    /// Operations and bytes of one pass. Like STREAM, it counts the bytes of all arrays, both read
    /// and written.
    fn moved(&self) -> (u64, u64) {
        let arrays = match self.task {
            ArrayTask::Read { .. } | ArrayTask::Count { .. } | ArrayTask::Write { .. } => 1,
            ArrayTask::Copy { .. } => 2,
            ArrayTask::Triad { .. } => 3,
            ArrayTask::Chase { .. } => return (CHASE_STEPS, CHASE_STEPS * LINE_BYTES),
            ArrayTask::TouchPages { .. }
            | ArrayTask::FirstTouch(_)
            | ArrayTask::ReadPages { .. } => {
                return (self.touches, self.touches * LINE_BYTES);
            }
        };
        (self.size / LINE_BYTES, arrays * self.size)
    }
}

impl ArrayTask {
    /// Runs `passes` passes. Returns the sum of what they read or counted; 0 for kernels that only
    /// write or follow pointers.
    fn run(&mut self, passes: u64) -> u64 {
        let mut sum = 0u64;
        match self {
            ArrayTask::Read { read, source } => {
                let words = source.words();
                (0..passes).for_each(|_| sum = sum.wrapping_add(read(words)));
            }
            ArrayTask::Write { write, target, word } => {
                let words = target.words_mut();
                (0..passes).for_each(|_| write(words, *word));
            }
            ArrayTask::Copy { copy, target, source } => {
                let (target, source) = (target.words_mut(), source.words());
                (0..passes).for_each(|_| copy(target, source));
            }
            ArrayTask::Triad { triad, target, sources: [b, c] } => {
                let (a, b, c) = (target.doubles_mut(), b.doubles(), c.doubles());
                (0..passes).for_each(|_| triad(a, b, c, TRIAD_FACTOR));
            }
            ArrayTask::Count { count, source } => {
                let bytes = source.bytes();
                (0..passes).for_each(|_| sum = sum.wrapping_add(count(bytes, COUNTED)));
            }
            ArrayTask::Chase { chase, cycle, place } => {
                *place = chase(cycle.words(), *place, passes * CHASE_STEPS);
            }
            ArrayTask::TouchPages { touch, step, target, word } => {
                let words = target.words_mut();
                (0..passes).for_each(|_| touch(words, *step, *word));
            }
            ArrayTask::FirstTouch(first) => (0..passes).for_each(|_| first.run()),
            ArrayTask::ReadPages { read, step, source } => {
                let words = source.words();
                (0..passes).for_each(|_| sum = sum.wrapping_add(read(words, *step)));
            }
        }
        sum
    }

    /// Runs the part of a pass over each array from byte `place` to `end`, both of which are
    /// multiples of a cache line. Returns as [`ArrayTask::run`]. Only loops that move bytes have
    /// parts.
    #[inline]
    fn run_part(&mut self, place: u64, end: u64) -> u64 {
        let bytes = place as usize..end as usize;
        let part = bytes.start / WORD_BYTES as usize..bytes.end / WORD_BYTES as usize;
        match self {
            ArrayTask::Read { read, source } => read(&source.words()[part]),
            ArrayTask::Count { count, source } => count(&source.bytes()[bytes], COUNTED),
            ArrayTask::Write { write, target, word } => {
                write(&mut target.words_mut()[part], *word);
                0
            }
            ArrayTask::Copy { copy, target, source } => {
                copy(&mut target.words_mut()[part.clone()], &source.words()[part]);
                0
            }
            ArrayTask::Triad { triad, target, sources: [b, c] } => {
                let [b, c] = [b, c].map(|source| &source.doubles()[part.clone()]);
                triad(&mut target.doubles_mut()[part], b, c, TRIAD_FACTOR);
                0
            }
            ArrayTask::Chase { .. }
            | ArrayTask::TouchPages { .. }
            | ArrayTask::FirstTouch(_)
            | ArrayTask::ReadPages { .. } => self.run(1),
        }
    }

    /// Time spent mapping memory, for kernels whose passes do that.
    fn load_ns(&self) -> u64 {
        match self {
            ArrayTask::FirstTouch(first) => first.load_ns,
            _ => 0,
        }
    }

    /// The sum of the words that the kernel should have written to its target; `None` if it has no
    /// target.
    fn left(&self) -> Option<u64> {
        let (target, stride) = match self {
            ArrayTask::Write { target, .. } | ArrayTask::Copy { target, .. } => (target, 1),
            // A double contributes its bits.
            ArrayTask::Triad { target, .. } => (target, 1),
            ArrayTask::TouchPages { target, step, .. } => (target, *step),
            ArrayTask::FirstTouch(first) => (first.target.as_ref()?, first.step),
            ArrayTask::Read { .. }
            | ArrayTask::Count { .. }
            | ArrayTask::Chase { .. }
            | ArrayTask::ReadPages { .. } => return None,
        };
        let words = target.words().iter().step_by(stride);
        Some(words.fold(0, |sum, word| sum.wrapping_add(*word)))
    }
}

impl FirstTouch {
    /// Runs one pass.
    fn run(&mut self) {
        let start_ns = os_now_ns();
        self.target = None;
        let target = Memory::map(self.size, Some(self.pages))
            .expect("as much as was unmapped just now can be mapped again");
        self.load_ns += os_now_ns() - start_ns;
        (self.touch)(self.target.insert(target).words_mut(), self.step, self.word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::actor::Duty;
    use model::case::Isa;
    use model::sample::{PROGRESS_NS, Sample};
    use std::cell::Cell;
    use std::time::Duration;

    /// Runs `kernel`, checks its span and returns the span and the arrays.
    fn check(kernel: Kernel, working_set: u64, step: u64, pages: Pages) -> (Arrays, Span) {
        let time = Duration::from_millis(2);
        let work =
            MemoryWork { kernel, isa: Isa::Auto, working_set, pages, step, threads: 1, time };
        let run = kernel::variant(kernel, Isa::Auto, None).expect("every processor has it").run;
        let mut arrays = Arrays::new(&work, run, 0, 7).expect("there is room for little");
        let span = arrays.drive(&Start::default());
        let (digest, progress) = (arrays.left().or(span.digest), arrays.progress(&span));
        let span = Span { digest, progress, ..span };
        assert_eq!(work.expected_bytes(&span), Some(span.bytes), "{kernel}");
        assert!(
            span.ops > 0 && span.ops.is_multiple_of(arrays.size.div_ceil(step)),
            "{kernel}: {span:?}"
        );
        let span_ns = span.end_ns - span.start_ns;
        assert!(span.load_ns <= span_ns && span_ns >= 2_000_000, "{kernel}: {span:?}");
        assert_eq!(span.load_ns > 0, kernel == Kernel::FirstTouch, "{kernel}: {span:?}");
        let steps = span_ns / PROGRESS_NS + 1;
        assert_eq!(span.progress.len() as u64, steps, "{kernel}: {span:?}");
        assert_eq!(span.progress.iter().sum::<u64>(), span.bytes, "{kernel}: {span:?}");
        let sample = Sample { spans: vec![span.clone()], ..Sample::default() };
        assert_eq!(work.expected_digest(7, &sample), span.digest, "{kernel}");
        (arrays, span)
    }

    /// The span of a `kernel` with this percentage of duty, on a clock that each look moves on.
    fn paced(kernel: Kernel, working_set: u64, percent: u8, look_ns: u64) -> (MemoryWork, Span) {
        let time = Duration::from_millis(2);
        let pages = Pages::Base;
        let work = MemoryWork { kernel, working_set, pages, time, ..MemoryWork::default() };
        let run = kernel::variant(kernel, Isa::Auto, None).expect("every processor has it").run;
        let mut arrays = Arrays::new(&work, run, 0, 7).expect("there is room for little");
        let pace = Pace::of(Duty::try_from(percent).expect("it is one")).expect("it pauses");
        let now_ns = Cell::new(5);
        let clock = || {
            now_ns.set(now_ns.get() + look_ns);
            now_ns.get()
        };
        let span = arrays.drive_paced(&Start::default(), pace, clock);
        let digest = arrays.left().or(span.digest);
        (work, Span { digest, ..span })
    }

    #[test]
    fn a_duty_is_the_share_of_the_time_in_which_blocks_are_moved() {
        // A look takes 100 ns, in 2 ms.
        let blocks = |percent| paced(Kernel::Read, PACED_BYTES, percent, 100).1.bytes / PACED_BYTES;
        assert_eq!([10, 20, 25, 50].map(blocks), [2_000, 4_000, 5_000, 10_000]);
        let all: Vec<u64> = (1..100).map(blocks).collect();
        assert!(all.is_sorted(), "{all:?}");
        assert!(all.iter().zip(1..).all(|(blocks, percent)| *blocks <= 200 * percent + 1));
    }

    #[test]
    fn paced_loops_do_whole_passes_of_the_same_work() {
        let bulk = Kernel::ALL.iter().copied().filter(|kernel| kernel.is_bulk());
        for kernel in bulk {
            // A part of a block at the end, and one block only.
            for working_set in [3 * 20_480, 3 * 4096] {
                let (work, span) = paced(kernel, working_set, 30, 10_000);
                assert_eq!(work.expected_bytes(&span), Some(span.bytes), "{kernel}: {span:?}");
                let sample = Sample { spans: vec![span.clone()], ..Sample::default() };
                assert_eq!(work.expected_digest(7, &sample), span.digest, "{kernel}");
            }
        }
    }

    /// A pass takes 8 blocks, and the pauses of 99 µs for each fill more than the time.
    #[test]
    fn the_rest_of_a_pass_has_no_pauses_once_the_time_is_up() {
        let looks = Cell::new(0u64);
        let time = Duration::from_micros(300);
        let work = MemoryWork { working_set: 8 * PACED_BYTES, time, ..MemoryWork::default() };
        let run = kernel::variant(Kernel::Read, Isa::Auto, None).expect("there is one").run;
        let mut arrays = Arrays::new(&work, run, 0, 7).expect("there is room for little");
        let pace = Pace::of("1%".parse().expect("it is one")).expect("it pauses");
        let clock = || {
            looks.set(looks.get() + 1);
            looks.get() * 1_000
        };
        let span = arrays.drive_paced(&Start::default(), pace, clock);
        assert_eq!(span.bytes, 8 * PACED_BYTES);
        // Three blocks with pauses, which fill the time, and five without.
        assert_eq!(looks.get(), 1 + 3 * 100 + 5, "{span:?}");
    }

    #[test]
    fn pages_are_touched_and_read_as_they_should_be() {
        for kernel in [Kernel::TouchPages, Kernel::FirstTouch, Kernel::ReadPages] {
            for pages in Pages::ALL.iter().copied() {
                for working_set in [4096, 20 << 10, (2 << 20) + 4096] {
                    for step in [4096, 64 << 10] {
                        check(kernel, working_set, step, pages);
                    }
                }
            }
        }
    }

    #[test]
    fn a_first_touch_is_of_memory_that_nobody_wrote() {
        let steps = [4096, 16 << 10].into_iter();
        for (pages, bytes) in Pages::ALL.iter().flat_map(|pages| steps.clone().map(|s| (*pages, s)))
        {
            let (arrays, span) = check(Kernel::FirstTouch, 1 << 20, bytes, pages);
            let ArrayTask::FirstTouch(FirstTouch { target: Some(target), word, step, .. }) =
                arrays.task
            else {
                panic!("{span:?} left no memory")
            };
            for (place, left) in target.words().iter().enumerate() {
                let naive = if place.is_multiple_of(step) { word } else { 0 };
                assert_eq!(*left, naive, "word {place}, {pages}, a step of {bytes}");
            }
        }
    }
}
