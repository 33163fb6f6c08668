//! Loops over memory, written for each instruction set.
//!
//! The table [`KERNELS`] has one row per kernel and instruction set. A row returns its loop, a
//! plain safe function, only on a processor that can run it. That is checked once, before the timed
//! loop. A test compares every row with a naive loop.
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
//! use kernel::{Run, variant};
//! use model::memory::{Isa, Kernel};
//!
//! let read = variant(Kernel::Read, Isa::Auto).expect("every processor has a read");
//! assert_eq!(read.isa(), kernel::best());
//! let Run::Read(sum) = read.run() else { unreachable!() };
//! assert_eq!(sum(&[1, 2, 3]), 6);
//! assert!(variant(Kernel::Chase, Isa::Avx2).is_none(), "a chase uses no vectors");
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
pub use run::{Count, Digest, Run};

#[cfg(target_arch = "aarch64")]
use aarch64::neon;
use model::memory::{Isa, Kernel};
#[cfg(target_arch = "x86_64")]
use x86_64::{avx2, avx512, sse2};

/// A row of the table: a kernel for one instruction set.
#[derive(Debug)]
pub struct Variant {
    kernel: Kernel,
    isa: Isa,
    /// Detects the processor's features; `None` if it lacks the isa.
    select: fn(Kernel) -> Option<Run>,
}

macro_rules! table {
    ($(#[$cfg:meta] $isa:ident $module:ident: $($kernel:ident)*;)*) => {
        &[$($(
            #[$cfg]
            Variant { kernel: Kernel::$kernel, isa: Isa::$isa, select: $module::run },
        )*)*]
    };
}

/// All kernels, for every instruction set they are written for.
///
/// A row with non-temporal stores exists only if the instruction set has them. x86-64 even has them
/// for general registers.
#[rustfmt::skip]
pub static KERNELS: &[Variant] = table! {
    #[cfg(all())]
    Scalar latency: Chase TouchPages FirstTouch ReadPages;
    #[cfg(all())]
    Scalar scalar: Read Write Copy Triad Count;
    #[cfg(target_arch = "x86_64")]
    Scalar scalar: WriteNt CopyNt TriadNt;
    #[cfg(target_arch = "x86_64")]
    Sse2 sse2: Read Write WriteNt Copy CopyNt Triad TriadNt Count;
    #[cfg(target_arch = "x86_64")]
    Avx2 avx2: Read Write WriteNt Copy CopyNt Triad TriadNt Count;
    #[cfg(target_arch = "x86_64")]
    Avx512 avx512: Read Write WriteNt Copy CopyNt Triad TriadNt Count;
    #[cfg(target_arch = "aarch64")]
    Neon neon: Read Write WriteNt Copy CopyNt Triad TriadNt Count;
};

impl Variant {
    /// The kernel.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// The instruction set that it is written for.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Whether this processor can run it.
    pub fn is_available(&self) -> bool {
        (self.select)(self.kernel).is_some()
    }

    /// The loop.
    ///
    /// # Panics
    /// If this processor cannot run it; [`variant`] never returns such a row.
    pub fn run(&self) -> Run {
        (self.select)(self.kernel).expect("a loop is given out only on a processor that can run it")
    }
}

/// The row for `kernel` and `isa`; `None` if there is none or this processor cannot run it.
/// [`Isa::Auto`] selects the widest available.
pub fn variant(kernel: Kernel, isa: Isa) -> Option<&'static Variant> {
    let is_asked = |row: &&Variant| row.kernel == kernel && (row.isa == isa || isa == Isa::Auto);
    KERNELS.iter().filter(is_asked).filter(|row| row.is_available()).max_by_key(|row| row.isa)
}

/// The digest for `isa`; `None` if this processor cannot run it. [`Isa::Auto`] selects the widest
/// available.
pub fn digest(isa: Isa) -> Option<Digest> {
    match isa {
        Isa::Auto => digest(best()),
        Isa::Scalar => scalar::digest(),
        #[cfg(target_arch = "x86_64")]
        Isa::Sse2 => sse2::digest(),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => avx2::digest(),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => avx512::digest(),
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => neon::digest(),
        _ => None,
    }
}

/// The count for `isa`; `None` if this processor cannot run it. [`Isa::Auto`] selects the widest
/// available.
pub fn count(isa: Isa) -> Option<Count> {
    match variant(Kernel::Count, isa)?.run() {
        Run::Count(count) => Some(count),
        other => unreachable!("the row of the count holds {other:?}"),
    }
}

/// The instruction sets that this processor has, the best last, without [`Isa::Auto`]. Never empty.
pub fn available() -> Vec<Isa> {
    let reads = KERNELS.iter().filter(|row| row.kernel == Kernel::Read && row.is_available());
    reads.map(|row| row.isa).collect()
}

/// The widest instruction set that this processor has.
pub fn best() -> Isa {
    available().last().copied().expect("every processor has the scalar isa")
}
