//! Whether it is known that arrays lie in memory and not in a cache.

use super::context::Fault;
use crate::finding::Severity;
use crate::row::Row;
use model::case::Kernel;
use model::units::bytes_rounded;

/// A working set from this on says that it is memory's: no recipe makes arrays for memory that are
/// smaller.
const CLAIM_LEAST: u64 = 64 << 20;

/// Arrays for memory, on a machine that tells no size of its caches (METHODOLOGY.md).
pub(super) fn cache_size_unknown(row: &Row) -> Option<Fault> {
    let work = row.measured.case.memory().filter(|_| row.stands())?;
    let is_of_memory = work.kernel.is_bulk() || work.kernel == Kernel::Chase;
    let claims = is_of_memory && work.working_set >= CLAIM_LEAST;
    if !claims || row.measured.caches.are_known() {
        return None;
    }
    let message = format!(
        "the OS does not tell how large the caches are, and no chase shows it: a cache may have \
         served a part of these {}, and nothing is held against what memory gives",
        bytes_rounded(work.working_set)
    );
    let remedy = "measure the levels in the same run: 'ioassay run memory' does, where 8 GiB of \
                  memory are available";
    Fault::new(Severity::Doubt, message, remedy)
}
