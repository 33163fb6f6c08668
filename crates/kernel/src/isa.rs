//! Generates the loops of one instruction set.

/// Generates a function for every bulk loop over the vectors `$lanes`, with the target feature
/// `$feature`, and for any shape of `W` ways and `S` streams that prefetches `A` bytes ahead. Also
/// generates `run` and `digest`, which return them where `$has` is true; those with non-temporal
/// stores only where `$streams` is, too.
///
/// The generic loops are always inlined into these functions. The vector operations, functions with
/// the same feature, can then be inlined, too. The functions themselves are never inlined, so a
/// disassembly shows them by name.
macro_rules! instructions {
    ($lanes:ty, if $has:expr, nt if $streams:expr $(, #[$feature:meta])?) => {
        #[inline(never)]
        $(#[$feature])?
        unsafe fn read<const W: usize, const S: usize, const A: usize>(words: &[u64]) -> u64 {
            // SAFETY: the caller vouches for the instruction set, here and below.
            unsafe { $crate::fold::read::<$lanes, W, S, A>(words) }
        }

        #[inline(never)]
        $(#[$feature])?
        unsafe fn count<const W: usize, const S: usize, const A: usize>(
            bytes: &[u8],
            value: u32,
        ) -> u64 {
            // SAFETY: see `read`.
            unsafe { $crate::fold::count::<$lanes, W, S, A>(bytes, value) }
        }

        #[inline(never)]
        $(#[$feature])?
        unsafe fn digest_of<const W: usize, const S: usize, const A: usize>(
            offset: u64,
            bytes: &[u8],
        ) -> u64 {
            // SAFETY: see `read`.
            unsafe { $crate::fold::digest::<$lanes, W, S, A>(offset, bytes) }
        }

        #[inline(never)]
        $(#[$feature])?
        unsafe fn write<const W: usize, const S: usize, const A: usize>(
            target: &mut [u64],
            word: u64,
        ) {
            // SAFETY: see `read`.
            unsafe { $crate::map::write::<$lanes, $crate::map::PlainStores, W, S, A>(target, word) }
        }

        #[inline(never)]
        $(#[$feature])?
        unsafe fn write_nt<const W: usize, const S: usize, const A: usize>(
            target: &mut [u64],
            word: u64,
        ) {
            // SAFETY: see `read`.
            unsafe { $crate::map::write::<$lanes, $crate::map::NonTemporal, W, S, A>(target, word) }
        }

        #[inline(never)]
        $(#[$feature])?
        unsafe fn copy<const W: usize, const S: usize, const A: usize>(
            target: &mut [u64],
            source: &[u64],
        ) {
            // SAFETY: see `read`.
            unsafe {
                $crate::map::copy::<$lanes, $crate::map::PlainStores, W, S, A>(target, source)
            }
        }

        #[inline(never)]
        $(#[$feature])?
        unsafe fn copy_nt<const W: usize, const S: usize, const A: usize>(
            target: &mut [u64],
            source: &[u64],
        ) {
            use $crate::map::{NonTemporal, copy};
            // SAFETY: see `read`.
            unsafe { copy::<$lanes, NonTemporal, W, S, A>(target, source) }
        }

        #[inline(never)]
        $(#[$feature])?
        unsafe fn triad<const W: usize, const S: usize, const A: usize>(
            target: &mut [f64],
            b: &[f64],
            c: &[f64],
            factor: f64,
        ) {
            use $crate::map::{PlainStores, triad};
            // SAFETY: see `read`.
            unsafe { triad::<$lanes, PlainStores, W, S, A>(target, b, c, factor) }
        }

        #[inline(never)]
        $(#[$feature])?
        unsafe fn triad_nt<const W: usize, const S: usize, const A: usize>(
            target: &mut [f64],
            b: &[f64],
            c: &[f64],
            factor: f64,
        ) {
            use $crate::map::{NonTemporal, triad};
            // SAFETY: see `read`.
            unsafe { triad::<$lanes, NonTemporal, W, S, A>(target, b, c, factor) }
        }

        /// The loop of `kernel`; `None` if it is not a bulk kernel or the processor lacks the
        /// instruction set.
        pub(crate) fn run<const W: usize, const S: usize, const A: usize>(
            kernel: model::memory::Kernel) -> Option<$crate::run::Loop> {
            use $crate::run::Loop;
            use model::memory::Kernel;
            if matches!(kernel, Kernel::WriteNt | Kernel::CopyNt | Kernel::TriadNt) && !$streams {
                return None;
            }
            // SAFETY of each closure: `run` returns it only if the processor has the instruction
            // set.
            let run = match kernel {
                // SAFETY: see above.
                Kernel::Read => Loop::Read(|words| unsafe { read::<W, S, A>(words) }),
                // SAFETY: see above.
                Kernel::Count => Loop::Count(|a, int| unsafe { count::<W, S, A>(a, int) }),
                // SAFETY: see above.
                Kernel::Write => Loop::Write(|a, word| unsafe { write::<W, S, A>(a, word) }),
                // SAFETY: see above.
                Kernel::WriteNt => Loop::Write(|a, w| unsafe { write_nt::<W, S, A>(a, w) }),
                // SAFETY: see above.
                Kernel::Copy => Loop::Copy(|a, b| unsafe { copy::<W, S, A>(a, b) }),
                // SAFETY: see above.
                Kernel::CopyNt => Loop::Copy(|a, b| unsafe { copy_nt::<W, S, A>(a, b) }),
                // SAFETY: see above.
                Kernel::Triad => Loop::Triad(|a, b, c, f| unsafe { triad::<W, S, A>(a, b, c, f) }),
                // SAFETY: see above.
                Kernel::TriadNt => {
                    // SAFETY: see above.
                    Loop::Triad(|a, b, c, x| unsafe { triad_nt::<W, S, A>(a, b, c, x) })
                }
                Kernel::Chase
                | Kernel::TouchPages
                | Kernel::FirstTouch
                | Kernel::ReadPages => return None,
            };
            $has.then_some(run)
        }

        /// The digest; `None` if the processor lacks the instruction set.
        pub(crate) fn digest<const W: usize, const S: usize, const A: usize>(
        ) -> Option<$crate::run::Digest> {
            let digest: $crate::run::Digest = |offset, bytes| {
                // SAFETY: as for the loops.
                unsafe { digest_of::<W, S, A>(offset, bytes) }
            };
            $has.then_some(digest)
        }
    };
}
pub(crate) use instructions;
