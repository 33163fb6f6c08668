//! Generates the loops of one instruction set.

/// Generates a function for every bulk loop over the vectors `$lanes`, with the target feature
/// `$feature`. Also generates `run` and `digest`, which return them where `$has` is true.
///
/// The generic loops are always inlined into these functions. The vector operations, functions with
/// the same feature, can then be inlined, too. The functions themselves are never inlined, so a
/// disassembly shows them by name.
macro_rules! instructions {
    ($lanes:ty, if $has:expr $(, #[$feature:meta])?) => {
        #[inline(never)]
        $(#[$feature])?
        unsafe fn read(words: &[u64]) -> u64 {
            // SAFETY: the caller vouches for the instruction set, here and below.
            unsafe { $crate::fold::read::<$lanes>(words) }
        }

        #[inline(never)]
        $(#[$feature])?
        unsafe fn count(bytes: &[u8], value: u32) -> u64 {
            // SAFETY: see `read`.
            unsafe { $crate::fold::count::<$lanes>(bytes, value) }
        }

        #[inline(never)]
        $(#[$feature])?
        unsafe fn digest_of(offset: u64, bytes: &[u8]) -> u64 {
            // SAFETY: see `read`.
            unsafe { $crate::fold::digest::<$lanes>(offset, bytes) }
        }

        #[inline(never)]
        $(#[$feature])?
        unsafe fn write(target: &mut [u64], word: u64) {
            // SAFETY: see `read`.
            unsafe { $crate::map::write::<$lanes, $crate::map::Cached>(target, word) }
        }

        #[inline(never)]
        $(#[$feature])?
        unsafe fn write_nt(target: &mut [u64], word: u64) {
            // SAFETY: see `read`.
            unsafe { $crate::map::write::<$lanes, $crate::map::NonTemporal>(target, word) }
        }

        #[inline(never)]
        $(#[$feature])?
        unsafe fn copy(target: &mut [u64], source: &[u64]) {
            // SAFETY: see `read`.
            unsafe { $crate::map::copy::<$lanes, $crate::map::Cached>(target, source) }
        }

        #[inline(never)]
        $(#[$feature])?
        unsafe fn copy_nt(target: &mut [u64], source: &[u64]) {
            // SAFETY: see `read`.
            unsafe { $crate::map::copy::<$lanes, $crate::map::NonTemporal>(target, source) }
        }

        #[inline(never)]
        $(#[$feature])?
        unsafe fn triad(target: &mut [f64], b: &[f64], c: &[f64], factor: f64) {
            // SAFETY: see `read`.
            unsafe { $crate::map::triad::<$lanes, $crate::map::Cached>(target, b, c, factor) }
        }

        #[inline(never)]
        $(#[$feature])?
        unsafe fn triad_nt(target: &mut [f64], b: &[f64], c: &[f64], factor: f64) {
            // SAFETY: see `read`.
            unsafe { $crate::map::triad::<$lanes, $crate::map::NonTemporal>(target, b, c, factor) }
        }

        /// The loop of `kernel`; `None` if it is not a bulk kernel or the processor lacks the
        /// instruction set.
        pub(crate) fn run(kernel: model::memory::Kernel) -> Option<$crate::run::Run> {
            use $crate::run::Run;
            use model::memory::Kernel;
            // SAFETY of each closure: `run` returns it only if the processor has the instruction
            // set.
            let run = match kernel {
                // SAFETY: see above.
                Kernel::Read => Run::Read(|words| unsafe { read(words) }),
                // SAFETY: see above.
                Kernel::Count => Run::Count(|bytes, value| unsafe { count(bytes, value) }),
                // SAFETY: see above.
                Kernel::Write => Run::Write(|a, word| unsafe { write(a, word) }),
                // SAFETY: see above.
                Kernel::WriteNt => Run::Write(|a, word| unsafe { write_nt(a, word) }),
                // SAFETY: see above.
                Kernel::Copy => Run::Copy(|a, b| unsafe { copy(a, b) }),
                // SAFETY: see above.
                Kernel::CopyNt => Run::Copy(|a, b| unsafe { copy_nt(a, b) }),
                // SAFETY: see above.
                Kernel::Triad => Run::Triad(|a, b, c, by| unsafe { triad(a, b, c, by) }),
                // SAFETY: see above.
                Kernel::TriadNt => Run::Triad(|a, b, c, by| unsafe { triad_nt(a, b, c, by) }),
                Kernel::Chase
                | Kernel::TouchPages
                | Kernel::FirstTouch
                | Kernel::ReadPages => return None,
            };
            $has.then_some(run)
        }

        /// The digest; `None` if the processor lacks the instruction set.
        pub(crate) fn digest() -> Option<$crate::run::Digest> {
            let digest: $crate::run::Digest = |offset, bytes| {
                // SAFETY: as for the loops.
                unsafe { digest_of(offset, bytes) }
            };
            $has.then_some(digest)
        }
    };
}
pub(crate) use instructions;
