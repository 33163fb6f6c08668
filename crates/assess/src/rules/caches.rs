//! Whether arrays are known to be in memory, not in a cache.

use super::context::Draft;
use crate::finding::Severity;
use crate::row::Row;
use model::case::Kernel;
use model::units::bytes_rounded;

/// A working set at least this large claims to be in memory: no recipe uses smaller arrays for it.
const CLAIM_LEAST: u64 = 64 << 20;

/// Arrays that claim to be in memory, on a machine that reports no cache size (docs/method).
pub(super) fn cache_size_unknown(row: &Row) -> Option<Draft> {
    let work = row.measured.case.memory().filter(|_| row.stands())?;
    let is_of_memory = work.kernel.is_bulk() || work.kernel == Kernel::Chase;
    let claims = is_of_memory && work.working_set >= CLAIM_LEAST;
    if !claims || row.measured.caches.are_known() {
        return None;
    }
    let message = format!(
        "the OS reports no cache size, and no pointer chase shows one: a cache may have served \
         part of these {}, and no row gives a ceiling of memory",
        bytes_rounded(work.working_set)
    );
    let remedy = "measure the levels in the same run: 'ioassay run memory' does if 8 GiB of memory \
                  are available";
    Draft::new(Severity::Doubt, message, remedy)
}
