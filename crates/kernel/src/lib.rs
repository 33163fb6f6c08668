//! Loops over memory, written for each instruction set.
//!
//! The table [`KERNELS`] has one row for each kernel and instruction set. A row returns its loop,
//! as a plain safe function, only on a processor that can run it: that is checked once, before the
//! timed loop. Every row is tested against a naive loop.
//!
//! This crate calls no OS and allocates nothing that grows with its data.
//!
//! That the loops are what they claim was seen in the disassembly of a release build by Rust
//! 1.95, to be repeated when the compiler changes:
//! `objdump -d -C --no-show-raw-insn BINARY | awk '/<kernel::.*avx2::copy_nt>:$/,/^$/'`. Each
//! generic loop and operation was inlined; the only calls are of panics. In the loop of streams
//! there is nothing but these, for 24 vectors, the steps of its counters and pointers, and, in the
//! loops that write, one check of an index a turn:
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
//! Each loop with non-temporal stores ends with one `sfence`. Only the scalar triads use `xmm`
//! among the scalar loops. A touch of pages is one `mov` to memory a page, a read of them one `add`
//! from memory. On 64-bit ARM the scalar loops use no vector but the low doubles of a
//! triad, and the non-temporal stores of NEON are `stnp` of two `q` registers.
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

/// One row of the table: a kernel written for an instruction set.
#[derive(Debug)]
pub struct Variant {
    kernel: Kernel,
    isa: Isa,
    /// Asks the processor; `None` if it lacks the isa.
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

/// Every kernel for every instruction set it is written for.
///
/// A row with a non-temporal store is there only where the instruction set has one: in the
/// general registers x86-64 has.
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
    /// What it does.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// The instruction set it is written for.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Whether the running processor can run it.
    pub fn is_available(&self) -> bool {
        (self.select)(self.kernel).is_some()
    }

    /// The loop itself.
    ///
    /// # Panics
    /// If the running processor cannot run it; [`variant`] gives out no such row.
    pub fn run(&self) -> Run {
        (self.select)(self.kernel).expect("a loop is given out only on a processor that can run it")
    }
}

/// The row of `kernel` and `isa`; `None` if there is none or the running processor cannot run it.
/// [`Isa::Auto`] is the widest that there is.
pub fn variant(kernel: Kernel, isa: Isa) -> Option<&'static Variant> {
    let is_asked = |row: &&Variant| row.kernel == kernel && (row.isa == isa || isa == Isa::Auto);
    KERNELS.iter().filter(is_asked).filter(|row| row.is_available()).max_by_key(|row| row.isa)
}

/// The digest written for `isa`; `None` if the running processor cannot run it. [`Isa::Auto`] is
/// the widest that there is.
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

/// The count written for `isa`; `None` if the running processor cannot run it. [`Isa::Auto`] is
/// the widest that there is.
pub fn count(isa: Isa) -> Option<Count> {
    match variant(Kernel::Count, isa)?.run() {
        Run::Count(count) => Some(count),
        other => unreachable!("the row of the count holds {other:?}"),
    }
}

/// The instruction sets that the running processor has, the best last, without [`Isa::Auto`].
/// Never empty.
pub fn available() -> Vec<Isa> {
    let reads = KERNELS.iter().filter(|row| row.kernel == Kernel::Read && row.is_available());
    reads.map(|row| row.isa).collect()
}

/// The widest instruction set that the running processor has.
pub fn best() -> Isa {
    available().last().copied().expect("every processor has the scalar isa")
}
