//! The memory loop: passes of a kernel over arrays of its thread's own, until the time is over.

use crate::buffer::resident_memory;
use crate::clock::os_now_ns;
use kernel::Run;
use memmap2::MmapMut;
use model::case::MemoryWork;
use model::content::WORD_BYTES;
use model::sample::Span;
use std::io;

/// One cache line, in words. A chase has one pointer in each; reads and copies count lines too.
const LINE_WORDS: usize = 8;
const LINE_BYTES: u64 = LINE_WORDS as u64 * WORD_BYTES;

/// Loads of a chase between two looks at the clock: about 10 ms from memory.
const CHASE_STEPS: u64 = 100_000;

/// The arrays of one thread.
#[derive(Debug)]
pub struct Arrays {
    run: Run,
    /// Source of the kernel: words of [`MemoryWork::content`], or a cycle of pointers.
    source: MmapMut,
    /// Target of a copy; else empty.
    target: MmapMut,
    time_ns: u64,
}

impl Arrays {
    /// Allocates and fills the arrays of `thread`. The thread that will use them must call this:
    /// the OS places a page where it is first written.
    pub fn new(work: &MemoryWork, run: Run, thread: u32, seed: u64) -> io::Result<Arrays> {
        let content = work.content(thread, seed);
        let mut source = resident_memory(content.size as usize)?;
        match run {
            Run::Chase(_) => kernel::cycle(words_mut(&mut source), LINE_WORDS, content.seed),
            Run::Read(_) | Run::Copy(_) => content.fill(0, &mut source),
        }
        let target = match run {
            Run::Copy(_) => resident_memory(content.size as usize)?,
            Run::Read(_) | Run::Chase(_) => MmapMut::map_anon(1)?,
        };
        let time_ns = u64::try_from(work.time.as_nanos()).unwrap_or(u64::MAX);
        Ok(Arrays { run, source, target, time_ns })
    }

    /// Runs whole passes until the time is over; at least one. The span's digest is the sum of
    /// all words a read has read, or, for a copy, of the words it left in the target.
    pub fn drive(&mut self) -> Span {
        let (mut passes, mut digest, mut place) = (0u64, 0u64, 0u64);
        let source = words(&self.source);
        let start_ns = os_now_ns();
        let mut end_ns = start_ns;
        while passes == 0 || end_ns - start_ns < self.time_ns {
            match self.run {
                Run::Read(read) => digest = digest.wrapping_add(read(source)),
                Run::Copy(copy) => copy(words_mut(&mut self.target), source),
                Run::Chase(chase) => place = chase(source, place, CHASE_STEPS),
            }
            end_ns = os_now_ns();
            passes += 1;
        }
        let array_bytes = self.source.len() as u64;
        let (bytes, ops) = match self.run {
            Run::Read(_) => (passes * array_bytes, passes * array_bytes / LINE_BYTES),
            // As STREAM counts: what is read and what is written.
            Run::Copy(_) => (2 * passes * array_bytes, passes * array_bytes / LINE_BYTES),
            Run::Chase(_) => (passes * CHASE_STEPS * LINE_BYTES, passes * CHASE_STEPS),
        };
        if let Run::Copy(_) = self.run {
            digest = words(&self.target).iter().fold(0, |sum, word| sum.wrapping_add(*word));
        }
        std::hint::black_box(place);
        Span { thread: 0, start_ns, end_ns, bytes, ops, digest, load_ns: 0 }
    }
}

/// A mapping as words.
fn words(memory: &MmapMut) -> &[u64] {
    // SAFETY: any bytes are valid words, and the prefix is empty, for a mapping begins at a page.
    let (before, words, _) = unsafe { memory.align_to::<u64>() };
    assert!(before.is_empty(), "a mapping begins at a page");
    words
}

/// A mapping as words, to write to.
fn words_mut(memory: &mut MmapMut) -> &mut [u64] {
    // SAFETY: as for `words`; the borrow is exclusive.
    let (before, words, _) = unsafe { memory.align_to_mut::<u64>() };
    assert!(before.is_empty(), "a mapping begins at a page");
    words
}
