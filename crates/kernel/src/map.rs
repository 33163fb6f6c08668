//! The loops that write: write, copy and triad, with ordinary or non-temporal stores.

use crate::lanes::{Lanes, Unaligned, prefetch, store, stream_turns};

/// Computes what a loop writes from the vectors of its sources.
pub(crate) trait Map<const SOURCES: usize> {
    /// The vector to write.
    ///
    /// # Safety
    /// The processor must support the instruction set.
    unsafe fn apply<L: Lanes>(&self, vectors: [L; SOURCES]) -> L;
}

/// Writes the same word everywhere.
struct ConstantFill(u64);

/// Writes the source's content.
struct Same;

/// Writes `b + factor·c`.
struct Triad(f64);

impl Map<0> for ConstantFill {
    #[inline(always)]
    unsafe fn apply<L: Lanes>(&self, _: [L; 0]) -> L {
        // SAFETY: the caller vouches for the instruction set.
        unsafe { L::splat(self.0) }
    }
}

impl Map<1> for Same {
    #[inline(always)]
    unsafe fn apply<L: Lanes>(&self, [vector]: [L; 1]) -> L {
        vector
    }
}

impl Map<2> for Triad {
    #[inline(always)]
    unsafe fn apply<L: Lanes>(&self, [b, c]: [L; 2]) -> L {
        // SAFETY: the caller vouches for the instruction set.
        unsafe { L::triad(b, c, L::splat(self.0.to_bits())) }
    }
}

/// How vectors are stored.
pub(crate) trait Stores {
    /// Stores two vectors.
    ///
    /// # Safety
    /// The processor must support the instruction set.
    unsafe fn put<L: Lanes>(to: &mut [L; 2], vectors: [L; 2]);

    /// Ends a loop: orders its stores before everything that follows.
    fn end();
}

/// Through the caches, like a normal program's stores.
pub(crate) struct PlainStores;

/// Past the caches.
pub(crate) struct NonTemporal;

impl Stores for PlainStores {
    #[inline(always)]
    unsafe fn put<L: Lanes>([first, second]: &mut [L; 2], vectors: [L; 2]) {
        store(first, vectors[0]);
        store(second, vectors[1]);
    }

    #[inline(always)]
    fn end() {}
}

impl Stores for NonTemporal {
    #[inline(always)]
    unsafe fn put<L: Lanes>(to: &mut [L; 2], vectors: [L; 2]) {
        // SAFETY: the caller vouches for the instruction set.
        unsafe { L::stream(to, vectors) }
    }

    #[inline(always)]
    fn end() {
        // Later ordinary stores must not overtake these: x86 orders all stores except non-temporal
        // ones.
        // SAFETY: every x86-64 processor has this instruction.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
    }
}

/// Fills `target` with `word`.
///
/// # Safety
/// The processor must support the instruction set of `L`.
#[inline(always)]
pub(crate) unsafe fn write<
    L: Lanes,
    W: Stores,
    const WAYS: usize,
    const STREAMS: usize,
    const AHEAD: usize,
>(
    target: &mut [u64],
    word: u64,
) {
    // SAFETY: the caller vouches for the instruction set.
    unsafe { map::<L, W, WAYS, STREAMS, AHEAD, 0>(target, [], &ConstantFill(word)) }
}

/// Copies `source` into `target`, which has the same length.
///
/// # Safety
/// The processor must support the instruction set of `L`.
#[inline(always)]
pub(crate) unsafe fn copy<
    L: Lanes,
    W: Stores,
    const WAYS: usize,
    const STREAMS: usize,
    const AHEAD: usize,
>(
    target: &mut [u64],
    source: &[u64],
) {
    // SAFETY: the caller vouches for the instruction set.
    unsafe { map::<L, W, WAYS, STREAMS, AHEAD, 1>(target, [source], &Same) }
}

/// Computes `target = b + factor·c`; all have the same length.
///
/// # Safety
/// The processor must support the instruction set of `L`.
#[inline(always)]
pub(crate) unsafe fn triad<
    L: Lanes,
    W: Stores,
    const WAYS: usize,
    const STREAMS: usize,
    const AHEAD: usize,
>(
    target: &mut [f64],
    b: &[f64],
    c: &[f64],
    factor: f64,
) {
    // SAFETY: this is the same memory, viewed as words of the same size and alignment. Any double
    // is a valid word, and any word a valid double.
    let target =
        unsafe { std::slice::from_raw_parts_mut(target.as_mut_ptr().cast(), target.len()) };
    // SAFETY: as above.
    let sources =
        [b, c].map(|s| unsafe { std::slice::from_raw_parts(s.as_ptr().cast::<u64>(), s.len()) });
    // SAFETY: the caller vouches for the instruction set.
    unsafe { map::<L, W, WAYS, STREAMS, AHEAD, 2>(target, sources, &Triad(factor)) }
}

/// A cache line of most processors. Vectors are written as whole lines, because a partial
/// non-temporal store would have to wait for the rest of its line.
#[repr(C, align(64))]
struct CacheLine([u64; 8]);

/// Writes the result of `map` on `sources` to `target`. Words outside the target's whole lines are
/// written one by one, through the caches.
///
/// # Safety
/// The processor must support the instruction set of `L`.
#[inline(always)]
unsafe fn map<
    L: Lanes,
    W: Stores,
    const WAYS: usize,
    const STREAMS: usize,
    const AHEAD: usize,
    const SOURCES: usize,
>(
    target: &mut [u64],
    sources: [&[u64]; SOURCES],
    map: &impl Map<SOURCES>,
) {
    for source in sources {
        assert_eq!(target.len(), source.len(), "a target is as long as its sources");
    }
    // SAFETY: any words are a valid line, and any line is valid words.
    let (head, lines, tail) = unsafe { target.align_to_mut::<CacheLine>() };
    let (tail_start, line_words) = (head.len() + 8 * lines.len(), 8 * lines.len());
    let bodies = sources.map(|source| &source[head.len()..][..line_words]);
    // SAFETY: a line is a whole number of vectors (guaranteed by `Lanes`) and aligned for each. The
    // caller vouches for the instruction set.
    unsafe {
        let count = size_of_val(lines) / size_of::<L>();
        let vectors = std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast::<L>(), count);
        map_words(head, sources, map);
        map_vectors::<L, W, WAYS, STREAMS, AHEAD, SOURCES>(vectors, bodies, map);
        map_words(tail, sources.map(|source| &source[tail_start..]), map);
    }
    W::end();
}

/// Writes `target` word by word; the sources are at least as long.
///
/// # Safety
/// No requirement: every processor has words.
#[inline(always)]
unsafe fn map_words<const SOURCES: usize>(
    target: &mut [u64],
    sources: [&[u64]; SOURCES],
    map: &impl Map<SOURCES>,
) {
    for (place, target) in target.iter_mut().enumerate() {
        // SAFETY: every processor has words.
        store(target, unsafe { map.apply(sources.map(|source| source[place])) });
    }
}

/// Writes `target` vector by vector; the sources are as long.
///
/// # Safety
/// The processor must support the instruction set of `L`.
#[inline(always)]
unsafe fn map_vectors<
    L: Lanes,
    W: Stores,
    const WAYS: usize,
    const STREAMS: usize,
    const AHEAD: usize,
    const SOURCES: usize,
>(
    target: &mut [L],
    sources: [&[u64]; SOURCES],
    map: &impl Map<SOURCES>,
) {
    // SAFETY: this is the same memory, viewed as unaligned vectors; its length is a whole number of
    // them.
    let sources = sources.map(|source| unsafe {
        let count = size_of_val(source) / size_of::<L>();
        std::slice::from_raw_parts(source.as_ptr().cast::<Unaligned<L>>(), count)
    });
    let (turns, vectors_left) = target.as_chunks_mut::<WAYS>();
    let source_turns = sources.map(|source| &source.as_chunks::<WAYS>().0[..turns.len()]);
    let sources_left = sources.map(|source| source.as_chunks::<WAYS>().1);
    let length = stream_turns::<L, WAYS>();
    let blocks = turns.len() / (STREAMS * length);
    let turns_left = blocks * STREAMS * length..turns.len();
    // SAFETY: the caller vouches for the instruction set.
    unsafe {
        for block in 0..blocks {
            for place in 0..length {
                for stream in 0..STREAMS {
                    let place = (block * STREAMS + stream) * length + place;
                    let sources = source_turns.map(|source| &source[place]);
                    map_turn::<L, W, WAYS, AHEAD, SOURCES>(&mut turns[place], sources, map);
                }
            }
        }
        for place in turns_left {
            let sources = source_turns.map(|source| &source[place]);
            map_turn::<L, W, WAYS, AHEAD, SOURCES>(&mut turns[place], sources, map);
        }
        for (place, target) in vectors_left.iter_mut().enumerate() {
            store(target, map.apply(sources_left.map(|source| L::load(&source[place]))));
        }
    }
}

/// Writes one turn.
///
/// # Safety
/// The processor must support the instruction set of `L`.
#[inline(always)]
unsafe fn map_turn<
    L: Lanes,
    W: Stores,
    const WAYS: usize,
    const AHEAD: usize,
    const SOURCES: usize,
>(
    target: &mut [L; WAYS],
    sources: [&[Unaligned<L>; WAYS]; SOURCES],
    map: &impl Map<SOURCES>,
) {
    sources.iter().for_each(|source| prefetch::<L, WAYS, AHEAD>(source));
    for (pair, target) in target.as_chunks_mut().0.iter_mut().enumerate() {
        // SAFETY: the caller vouches for the instruction set.
        unsafe {
            let first = map.apply(sources.map(|source| L::load(&source[2 * pair])));
            let second = map.apply(sources.map(|source| L::load(&source[2 * pair + 1])));
            W::put(target, [first, second]);
        }
    }
}
