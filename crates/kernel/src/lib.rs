//! Loops over memory, written for each instruction set.
//!
//! The table [`FORMS`] has one row per shape: an instruction set, and how the loops are written for
//! it. A row returns its loops, plain safe functions, only on a processor that can run them. That
//! is checked once, before the timed loop. A test compares every loop with a naive one.
//!
//! This crate makes no system calls and allocates nothing in proportion to its data.
//!
//! The disassembly of a release build by Rust 1.95 confirms that the loops are what they claim.
//! Repeat this when the compiler changes:
//! `objdump -d -C --no-show-raw-insn BINARY | awk '/<kernel::.*avx2::copy_nt>:$/,/^$/'`.
//! Each generic loop and operation was inlined, and only panics are called. The loop of streams
//! contains only the instructions below for 24 vectors, and updates of its counters and pointers.
//! Loops that write also check one index per turn.
//!
//! | | general registers | SSE2 | AVX2 | AVX-512 |
//! |-|-|-|-|-|
//! | read | `add` from memory | `paddq` | `vpaddq ymm` from memory | `vpaddq zmm` from memory |
//! | count | `cmp`, `sete`, `add` | `pcmpeqd`, `psubd` | same, `ymm` | a mask, `vpsubd zmm` |
//! | write | `mov` | `movdqa` | `vmovdqa` | `vmovdqa64` |
//! | copy | `mov`, `mov` | `movups`, `movaps` | same, `ymm` | same, `zmm` |
//! | triad | `mulsd`, `addsd`, `movsd` | `mulpd`, `addpd`, `movapd` | same, `ymm` | same, `zmm` |
//! | `-nt` | `movnti` | `movntdq` | `vmovntdq ymm` | `vmovntdq zmm` |
//!
//! Each loop with non-temporal stores ends with one `sfence`. Among the scalar loops, only the
//! triads use `xmm` registers. Touching pages takes one `mov` to memory per page, and reading them
//! one `add` from memory. On 64-bit ARM, the scalar loops use no vectors except for a triad's
//! doubles. NEON's non-temporal stores are `stnp` of two `q` registers.
//!
//! ```
//! use kernel::{Loop, variant};
//! use model::memory::{Isa, Kernel};
//!
//! let read = variant(Kernel::Read, Isa::Auto, None).expect("every processor has a read");
//! assert_eq!(read.shape.isa, kernel::widest());
//! let Loop::Read(sum) = read.run else { unreachable!() };
//! assert_eq!(sum(&[1, 2, 3]), 6);
//! assert!(variant(Kernel::Chase, Isa::Avx2, None).is_none(), "a chase uses no vectors");
//! ```

mod run;
mod lanes;
mod latency;
mod fold;
mod map;
mod isa;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(test)]
mod tests;

pub use latency::cycle;
pub use run::{Count, Digest, Loop};

#[cfg(target_arch = "aarch64")]
use aarch64::neon;
use model::memory::{Isa, Kernel};
use model::shape::LoopShape;
#[cfg(target_arch = "x86_64")]
use x86_64::{avx2, avx512, sse2};

/// A row of the table: the loops of one shape.
#[derive(Debug)]
pub struct Form {
    /// The shape.
    pub shape: LoopShape,
    /// The loop of a kernel; `None` if the shape has none, or the processor lacks the isa.
    run: fn(Kernel) -> Option<Loop>,
    /// The digest; `None` if the shape has none, or the processor lacks the isa.
    digest: fn() -> Option<Digest>,
}

/// A kernel in one shape, which this processor can run.
#[derive(Debug, Clone, Copy)]
pub struct Variant {
    /// The kernel.
    pub kernel: Kernel,
    /// The shape of the loop.
    pub shape: LoopShape,
    /// The loop.
    pub run: Loop,
}

macro_rules! forms {
    ($(#[$cfg:meta] $isa:ident $module:ident: $($ways:literal $streams:literal $ahead:literal),*;)*)
    => {
        &[
            Form {
                shape: LoopShape { isa: Isa::Scalar, ways: 1, streams: 1, ahead: 0 },
                run: latency::run,
                digest: || None,
            },
            $($(
                #[$cfg]
                Form {
                    shape: LoopShape {
                        isa: Isa::$isa, ways: $ways, streams: $streams, ahead: $ahead
                    },
                    run: $module::run::<$ways, $streams, $ahead>,
                    digest: $module::digest::<$ways, $streams, $ahead>,
                },
            )*)*
        ]
    };
}

/// All shapes. The first of an instruction set is its usual one. Wider vectors come last.
///
/// Measured on Zen 4, no shape is the fastest everywhere. Copies in huge pages are 1.15 times as
/// fast with SSE2 and one stream as with AVX2 and three; reads and copies in base pages are the
/// fastest with three streams of AVX2; a prefetch gains 7 % in non-temporal copies. Other
/// distances, 4 and 32 ways, and prefetches beside AVX-512 won nowhere.
#[rustfmt::skip]
pub static FORMS: &[Form] = forms! {
    #[cfg(all())]
    Scalar scalar: 8 3 0;
    #[cfg(target_arch = "x86_64")]
    Sse2 sse2: 8 3 0, 8 1 0;
    #[cfg(target_arch = "x86_64")]
    Avx2 avx2: 8 3 0, 16 3 0, 16 1 0, 8 1 2048;
    #[cfg(target_arch = "x86_64")]
    Avx512 avx512: 8 3 0, 8 1 0;
    #[cfg(target_arch = "aarch64")]
    Neon neon: 8 3 0, 8 1 0, 16 3 0, 16 1 0, 8 1 2048;
};

/// Everything that this processor can run, wider vectors last.
pub fn variants() -> impl Iterator<Item = Variant> {
    let of = |form: &'static Form| {
        let variant = |kernel: &Kernel| {
            Some(Variant { kernel: *kernel, shape: form.shape, run: (form.run)(*kernel)? })
        };
        Kernel::ALL.iter().filter_map(variant)
    };
    FORMS.iter().flat_map(of)
}

/// The loop of `kernel` in `shape`, or in the usual shape for `isa`. [`Isa::Auto`] selects the
/// widest available. `None` if there is no such loop or this processor cannot run it.
pub fn variant(kernel: Kernel, isa: Isa, shape: Option<LoopShape>) -> Option<Variant> {
    let of_kernel = || variants().filter(|it| it.kernel == kernel);
    if let Some(shape) = shape {
        return of_kernel().find(|it| it.shape == shape);
    }
    let isa = match isa {
        Isa::Auto => of_kernel().map(|it| it.shape.isa).max()?,
        isa => isa,
    };
    of_kernel().find(|it| it.shape.isa == isa)
}

/// The shapes among which the fastest is sought for `kernel`, in the order of preference: the usual
/// one of the widest vectors first. Without vectors, there is only the scalar one.
pub fn candidates(kernel: Kernel) -> Vec<Variant> {
    let mut all: Vec<Variant> = variants().filter(|it| it.kernel == kernel).collect();
    if all.iter().any(|it| it.shape.isa != Isa::Scalar) {
        all.retain(|it| it.shape.isa != Isa::Scalar);
    }
    // The sort is stable: shapes of one isa keep their order.
    all.sort_by_key(|it| std::cmp::Reverse(it.shape.isa));
    all
}

/// The digest in `shape`, or in the usual one for `isa`. [`Isa::Auto`] selects the widest
/// available. `None` if this processor cannot run it.
pub fn digest(isa: Isa, shape: Option<LoopShape>) -> Option<Digest> {
    let shape = variant(Kernel::Read, isa, shape)?.shape;
    FORMS.iter().find(|form| form.shape == shape).and_then(|form| (form.digest)())
}

/// The count in `shape`, or in the usual one for `isa`. [`Isa::Auto`] selects the widest available.
/// `None` if this processor cannot run it.
pub fn count(isa: Isa, shape: Option<LoopShape>) -> Option<Count> {
    match variant(Kernel::Count, isa, shape)?.run {
        Loop::Count(count) => Some(count),
        other => unreachable!("the row of the count holds {other:?}"),
    }
}

/// The instruction sets that this processor has, the widest last, without [`Isa::Auto`]. Never
/// empty.
pub fn available() -> Vec<Isa> {
    let reads = variants().filter(|it| it.kernel == Kernel::Read);
    let mut isas: Vec<Isa> = reads.map(|it| it.shape.isa).collect();
    isas.dedup();
    isas
}

/// The widest instruction set that this processor has.
pub fn widest() -> Isa {
    available().last().copied().expect("every processor has the scalar isa")
}
