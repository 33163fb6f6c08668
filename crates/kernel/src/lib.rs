//! Loops over memory, written for each instruction set.
//!
//! The table [`KERNELS`] has one row for each kernel and instruction set. A row gives its loop
//! out only on a processor that can run it, as a plain safe function: the question is asked once,
//! before the timed loop, never in it. Every row is tested against a naive loop.
//!
//! This crate calls no OS and allocates nothing that grows with its data.
//!
//! ```
//! use kernel::{Run, variant};
//! use model::case::{Isa, Kernel};
//!
//! let read = variant(Kernel::Read, kernel::best()).expect("every isa has a read");
//! let Run::Read(sum) = read.run() else { unreachable!() };
//! assert_eq!(sum(&[1, 2, 3]), 6);
//! assert!(variant(Kernel::Chase, Isa::Avx2).is_none(), "a chase uses no vectors");
//! ```

mod run;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(test)]
mod tests;

pub use run::{Digest, Run};
pub use scalar::cycle;

use model::case::{Isa, Kernel};

/// One row of the table: a kernel written for an instruction set.
#[derive(Debug)]
pub struct Variant {
    kernel: Kernel,
    isa: Isa,
    /// Asks the processor; `None` if it lacks the isa.
    select: fn() -> Option<Run>,
}

/// Every kernel for every instruction set it is written for.
pub static KERNELS: &[Variant] = &[
    Variant { kernel: Kernel::Read, isa: Isa::Scalar, select: || Some(Run::Read(scalar::read)) },
    Variant { kernel: Kernel::Copy, isa: Isa::Scalar, select: || Some(Run::Copy(scalar::copy)) },
    Variant { kernel: Kernel::Chase, isa: Isa::Scalar, select: || Some(Run::Chase(scalar::chase)) },
    #[cfg(target_arch = "x86_64")]
    Variant { kernel: Kernel::Read, isa: Isa::Avx2, select: x86_64::read },
    #[cfg(target_arch = "x86_64")]
    Variant { kernel: Kernel::Copy, isa: Isa::Avx2, select: x86_64::copy },
];

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
        (self.select)().is_some()
    }

    /// The loop itself.
    ///
    /// # Panics
    /// If the running processor cannot run it; [`variant`] gives out no such row.
    pub fn run(&self) -> Run {
        (self.select)().expect("a loop is given out only on a processor that can run it")
    }
}

/// The row of `kernel` and `isa`; `None` if there is none or the running processor cannot run it.
pub fn variant(kernel: Kernel, isa: Isa) -> Option<&'static Variant> {
    let mut rows = KERNELS.iter();
    rows.find(|row| row.kernel == kernel && row.isa == isa && row.is_available())
}

/// The digest written for `isa`; `None` if the running processor cannot run it.
///
/// The scalar one is portable code, which the compiler may turn into the vectors that every
/// processor of the target has: it checks data, it is not a kernel to compare with.
pub fn digest(isa: Isa) -> Option<Digest> {
    match isa {
        Isa::Scalar => Some(scalar::digest),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => x86_64::digest(),
        _ => None,
    }
}

/// The instruction sets that the running processor has, the best last. Never empty.
pub fn available() -> Vec<Isa> {
    Isa::ALL.iter().copied().filter(|isa| digest(*isa).is_some()).collect()
}

/// The widest instruction set that the running processor has.
pub fn best() -> Isa {
    available().last().copied().expect("every processor has the scalar isa")
}
