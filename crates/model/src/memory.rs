//! Work on memory: loops over arrays.

use crate::content::{Content, ContentKind};
use crate::named;
use crate::random::mix;
use crate::sample::{Sample, Span};
use std::time::Duration;

named! {
    /// A loop over memory.
    Kernel "kernel" {
        /// Adds up every word of an array.
        Read "read",
        /// Fills an array with one word.
        Write "write",
        /// The same with non-temporal stores, which bypass the caches.
        WriteNt "write-nt",
        /// Copies one array into another.
        Copy "copy",
        /// The same with non-temporal stores.
        CopyNt "copy-nt",
        /// STREAM's triad: `a = b + 3·c`, in doubles.
        Triad "triad",
        /// The same with non-temporal stores.
        TriadNt "triad-nt",
        /// Counts the 4-byte value 10.
        Count "count",
        /// Follows a random cycle of pointers, one per cache line.
        Chase "chase",
        /// Writes one word of every page.
        TouchPages "touch-pages",
        /// The same in fresh memory: the OS finds and clears each page.
        FirstTouch "first-touch",
        /// Reads one word of every page.
        ReadPages "read-pages",
    }
}

named! {
    /// The instruction set of a loop.
    Isa "isa" {
        /// The peer's choice: the fastest shape of any instruction set for this program's own
        /// worker, found by measuring ([`crate::shape`]); for other peers, whatever the compiler
        /// makes of a plain loop.
        Auto "auto",
        /// General 64-bit registers.
        Scalar "scalar",
        /// 128-bit vectors, on every x86-64 processor.
        Sse2 "sse2",
        /// 256-bit vectors.
        Avx2 "avx2",
        /// 512-bit vectors: AVX-512 F and BW.
        Avx512 "avx512",
        /// 128-bit vectors, on every 64-bit ARM processor.
        Neon "neon",
    }
}

named! {
    /// The size of pages for arrays.
    Pages "pages" {
        /// The processor's base pages: 4 KiB on x86.
        Base "base",
        /// Huge pages: 2 MiB on x86.
        Huge "huge",
    }
}

/// The triad's factor.
pub const TRIAD_FACTOR: f64 = 3.0;

impl Kernel {
    /// Number of arrays, all of the same length.
    pub fn arrays(self) -> u64 {
        match self {
            Kernel::Triad | Kernel::TriadNt => 3,
            Kernel::Copy | Kernel::CopyNt => 2,
            _ => 1,
        }
    }

    /// Whether its figure is bytes per second; otherwise it is the time of an operation.
    pub fn is_bulk(self) -> bool {
        !matches!(self, Kernel::Chase) && !self.touches_pages()
    }

    /// The same loop with non-temporal stores; `None` if it has no stores that could be.
    pub fn non_temporal(self) -> Option<Kernel> {
        match self {
            Kernel::Write => Some(Kernel::WriteNt),
            Kernel::Copy => Some(Kernel::CopyNt),
            Kernel::Triad => Some(Kernel::TriadNt),
            _ => None,
        }
    }

    /// Whether its stores bypass the caches.
    pub fn is_non_temporal(self) -> bool {
        matches!(self, Kernel::WriteNt | Kernel::CopyNt | Kernel::TriadNt)
    }

    /// Whether it accesses only one word per page.
    pub fn touches_pages(self) -> bool {
        matches!(self, Kernel::TouchPages | Kernel::FirstTouch | Kernel::ReadPages)
    }

    /// How many arrays the memory bus carries in a pass over [`Kernel::arrays`] if nothing stays in
    /// a cache. An ordinary store first fetches its line, a non-temporal one does not ("Bus bytes"
    /// in docs/method). `None` if it is not bulk.
    pub fn bus_arrays(self) -> Option<u64> {
        match self {
            Kernel::Read | Kernel::Count | Kernel::WriteNt => Some(1),
            Kernel::Write | Kernel::CopyNt => Some(2),
            Kernel::Copy | Kernel::TriadNt => Some(3),
            Kernel::Triad => Some(4),
            Kernel::Chase | Kernel::TouchPages | Kernel::FirstTouch | Kernel::ReadPages => None,
        }
    }

    /// Whether it can use vectors at all.
    pub fn has_vectors(self) -> bool {
        self.is_bulk()
    }
}

/// Runs a loop over memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MemoryWork {
    /// The loop.
    pub kernel: Kernel,
    /// Its instruction set.
    pub isa: Isa,
    /// Total size in bytes of all threads' arrays.
    pub working_set: u64,
    /// The arrays' pages.
    pub pages: Pages,
    /// Bytes between touches, for kernels that touch pages: the machine's page size, if each touch
    /// is to be one fault. Other kernels ignore it and use [`STEP`].
    pub step: u64,
    /// Number of threads.
    pub threads: u32,
    /// The maximum duration of a trial.
    pub time: Duration,
}

/// The default step of a touch, and that of all records of the first version.
pub const STEP: u64 = 4096;
/// Array sizes are multiples of this, for all peers and regardless of the page size.
pub const ARRAY_GRANULE: u64 = 4096;
/// A cache line: the unit of an operation, except with pages.
pub const LINE: u64 = 64;

/// The smallest huge pages of any supported machine, in bytes.
pub const HUGE_PAGE_LEAST: u64 = 2 << 20;

/// Bytes to map in huge pages of `huge` bytes for an array of `size` bytes.
///
/// Small huge pages cover the whole array, however short. Large ones, such as ARM's 512 MiB with
/// pages of 64 KiB, would waste too much on the tail of each array.
pub fn huge_span(size: u64, huge: u64) -> Option<u64> {
    if huge <= HUGE_PAGE_LEAST { size.max(1).checked_next_multiple_of(huge) } else { Some(size) }
}

impl Default for MemoryWork {
    fn default() -> MemoryWork {
        MemoryWork {
            kernel: Kernel::Read,
            isa: Isa::Auto,
            working_set: 0,
            pages: Pages::Huge,
            step: STEP,
            threads: 1,
            time: Duration::ZERO,
        }
    }
}

impl MemoryWork {
    /// The content of `thread`'s array in a trial with `seed`. Its size is the thread's part of the
    /// working set divided by the number of arrays, rounded up to a multiple of 4 KiB.
    pub fn content(&self, thread: u32, seed: u64) -> Content {
        let share = self.working_set / u64::from(self.threads) / self.kernel.arrays();
        let size = share.next_multiple_of(ARRAY_GRANULE).max(ARRAY_GRANULE);
        let kind =
            if self.kernel == Kernel::Count { ContentKind::Ints(20) } else { ContentKind::Random };
        Content { seed: mix(seed ^ u64::from(thread)), size, kind }
    }

    /// The content of a triad's second source.
    pub fn second_content(&self, thread: u32, seed: u64) -> Content {
        let first = self.content(thread, seed);
        Content { seed: mix(first.seed), ..first }
    }

    /// The triad's operand for a `word` of content: an integer below 2²⁰, so no order of operations
    /// and no fused operation rounds.
    pub fn operand(word: u64) -> f64 {
        (word >> 44) as f64
    }

    /// The word that `thread` writes in kernels that only write.
    pub fn written(&self, thread: u32, seed: u64) -> u64 {
        self.content(thread, seed).word(0)
    }

    /// The digest that a `sample` of this work must have; `None` for a chase, which sums nothing.
    ///
    /// Kernels that read sum or count in every pass. For kernels that write, the digest is the sum
    /// of the words left at the end.
    pub fn expected_digest(&self, seed: u64, sample: &Sample) -> Option<u64> {
        let spans = sample.spans.iter();
        let mut digests = spans.map(|span| self.expected_of(seed, span));
        digests.try_fold(0u64, |sum, digest| Some(sum.wrapping_add(digest?)))
    }

    /// The bytes that a thread must report after `span.ops` operations: a line of one array each,
    /// in whole passes over all arrays. For a chase and for pages, it is one line each. `None` if
    /// the passes are not whole.
    pub fn expected_bytes(&self, span: &Span) -> Option<u64> {
        let lines = self.content(span.thread, 0).size / LINE;
        let arrays = if self.kernel.is_bulk() { self.kernel.arrays() } else { 1 };
        let is_whole = !self.kernel.is_bulk() || span.ops.is_multiple_of(lines);
        if is_whole { span.ops.checked_mul(LINE)?.checked_mul(arrays) } else { None }
    }

    /// Bytes that all threads' arrays occupy, in whole pages: of `page` bytes, or of `huge` bytes
    /// if the work uses huge pages and their size is known.
    pub fn footprint(&self, page: u64, huge: Option<u64>) -> u64 {
        let size = self.content(0, 0).size;
        let huge = huge.filter(|_| self.pages == Pages::Huge);
        let mapped = huge.map_or(Some(size), |huge| huge_span(size, huge));
        let array = mapped.and_then(|bytes| bytes.checked_next_multiple_of(page.max(1)));
        array
            .unwrap_or(u64::MAX)
            .saturating_mul(self.kernel.arrays())
            .saturating_mul(self.threads.into())
    }

    /// Words touched per array: the first of each step.
    pub fn touches(&self) -> u64 {
        self.content(0, 0).size.div_ceil(self.step)
    }

    fn expected_of(&self, seed: u64, span: &Span) -> Option<u64> {
        let content = self.content(span.thread, seed);
        let (whole, words) = (0..content.size, content.size / 8);
        let passes = span.bytes / content.size;
        let written = || self.written(span.thread, seed);
        Some(match self.kernel {
            Kernel::Chase => return None,
            Kernel::Read => content.sum(whole).wrapping_mul(passes),
            Kernel::Count => content.count(whole).wrapping_mul(passes),
            Kernel::Write | Kernel::WriteNt => written().wrapping_mul(words),
            Kernel::TouchPages | Kernel::FirstTouch => written().wrapping_mul(self.touches()),
            Kernel::ReadPages => {
                let words = (0..words).step_by((self.step / 8) as usize);
                let sum = words.fold(0u64, |sum, index| sum.wrapping_add(content.word(index)));
                sum.wrapping_mul(span.ops / self.touches())
            }
            Kernel::Copy | Kernel::CopyNt => content.sum(whole),
            Kernel::Triad | Kernel::TriadNt => {
                let second = self.second_content(span.thread, seed);
                let [b, c] = [content, second]
                    .map(|content| move |index| MemoryWork::operand(content.word(index)));
                let sums = (0..words).map(|index| (b(index) + TRIAD_FACTOR * c(index)).to_bits());
                sums.fold(0, u64::wrapping_add)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kernel: Kernel, passes: u64) -> Option<u64> {
        let work = MemoryWork {
            kernel,
            isa: Isa::Auto,
            working_set: 24 << 10,
            pages: Pages::Base,
            step: STEP,
            threads: 1,
            time: Duration::from_millis(1),
        };
        let bytes = work.content(0, 7).size * passes;
        let span = Span { bytes, ..Span::default() };
        let sample = Sample { spans: vec![span], ..Sample::default() };
        work.expected_digest(7, &sample)
    }

    #[test]
    fn what_is_read_counts_in_each_pass_and_what_is_written_once() {
        for kernel in [Kernel::Read, Kernel::Count] {
            let once = check(kernel, 1).expect("it reads");
            assert_eq!(check(kernel, 3), Some(once.wrapping_mul(3)), "{kernel}");
        }
        for kernel in [Kernel::Write, Kernel::CopyNt, Kernel::Triad, Kernel::TouchPages] {
            assert_eq!(check(kernel, 3), check(kernel, 1), "{kernel}");
        }
        assert_eq!(check(Kernel::Chase, 1), None);
    }

    #[test]
    fn a_touch_is_of_the_first_word_of_each_step() {
        let of = |kernel, step| {
            let pages = Pages::Base;
            let (isa, time) = (Isa::Auto, Duration::from_millis(1));
            let work =
                MemoryWork { kernel, isa, working_set: 136 << 10, pages, step, threads: 1, time };
            let content = work.content(0, 7);
            let naive: Vec<u64> =
                (0..content.size / 8).step_by(step as usize / 8).map(|i| content.word(i)).collect();
            assert_eq!(work.touches(), naive.len() as u64, "{step}");
            let span = Span { ops: 3 * work.touches(), ..Span::default() };
            let sample = Sample { spans: vec![span], ..Sample::default() };
            let read = naive.iter().fold(0u64, |sum, word| sum.wrapping_add(*word));
            let expected = match kernel {
                Kernel::ReadPages => read.wrapping_mul(3),
                _ => work.written(0, 7).wrapping_mul(naive.len() as u64),
            };
            assert_eq!(work.expected_digest(7, &sample), Some(expected), "{kernel} {step}");
        };
        for kernel in [Kernel::ReadPages, Kernel::TouchPages, Kernel::FirstTouch] {
            for step in [4096, 16 << 10, 64 << 10, 1 << 20] {
                of(kernel, step);
            }
        }
    }

    #[test]
    fn only_small_huge_pages_are_spent_on_short_arrays() {
        assert_eq!(huge_span(1, 2 << 20), Some(2 << 20));
        assert_eq!(huge_span(3 << 20, 2 << 20), Some(4 << 20));
        assert_eq!(huge_span(64 << 20, 512 << 20), Some(64 << 20));
        assert_eq!(huge_span(700 << 20, 512 << 20), Some(700 << 20));
        assert_eq!(huge_span(u64::MAX, 2 << 20), None);
    }

    #[test]
    fn bytes_are_those_of_whole_passes() {
        let work = |kernel, pages| MemoryWork {
            kernel,
            isa: Isa::Auto,
            working_set: 24 << 10,
            pages,
            step: STEP,
            threads: 2,
            time: Duration::from_millis(1),
        };
        let bytes = |kernel, ops| {
            let span = Span { ops, ..Span::default() };
            work(kernel, Pages::Base).expected_bytes(&span)
        };
        assert_eq!(bytes(Kernel::Read, 192), Some(12 << 10));
        assert_eq!(bytes(Kernel::Read, 191), None);
        // Two threads with three arrays each, of one page.
        assert_eq!(bytes(Kernel::Triad, 64), Some(12 << 10));
        assert_eq!(bytes(Kernel::Chase, 7), Some(448));
        assert_eq!(work(Kernel::Triad, Pages::Base).footprint(4096, Some(2 << 20)), 24 << 10);
        assert_eq!(work(Kernel::Triad, Pages::Huge).footprint(4096, Some(2 << 20)), 12 << 20);
        // On ARM with 64 KiB pages and 512 MiB huge pages, and without huge pages.
        let large = work(Kernel::Triad, Pages::Huge).footprint(64 << 10, Some(512 << 20));
        assert_eq!(large, 6 * (64 << 10));
        assert_eq!(work(Kernel::Triad, Pages::Huge).footprint(64 << 10, None), large);
    }

    #[test]
    fn a_twentieth_of_the_ints_are_tens() {
        let ints = 24 << 10 >> 2;
        let tens = check(Kernel::Count, 1).expect("it counts");
        assert!((ints / 30..ints / 14).contains(&tens), "{tens} of {ints}");
    }

    #[test]
    fn the_bus_carries_no_less_than_is_counted() {
        for kernel in Kernel::ALL.iter().filter(|kernel| kernel.is_bulk()) {
            let bus = kernel.bus_arrays().expect("bulk goes over the bus");
            assert!(bus >= kernel.arrays(), "{kernel}");
        }
    }
}
