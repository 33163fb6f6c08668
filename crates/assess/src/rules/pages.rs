//! Whether memory lay in the pages that were asked for.

use super::context::{Context, Fault};
use crate::finding::Severity;
use crate::stats::median;
use model::case::{Advice, Engine, Pages, Work};
use model::units::{bytes_rounded, percent};

/// Asked for huge pages, but less than this lies in them (METHODOLOGY.md).
const HUGE_LEAST: f64 = 0.90;
/// Asked for base pages, but more than this lies in huge ones (METHODOLOGY.md).
const BASE_MOST: f64 = 0.10;

/// The worker's memory did not lie in the pages that were asked for (METHODOLOGY.md).
///
/// What is known is how much memory of the whole worker is in huge pages when a trial ends. That
/// may be more than its arrays, and a single trial may be unlucky, so the median counts.
pub(super) fn page_size(context: &Context) -> Option<Fault> {
    // Where nobody knows how large a huge page is, nobody knows what could lie in one.
    let huge_page = context.measured.host.huge_page_bytes()?;
    let (asked, bytes) = match &context.measured.case.work {
        Work::Memory(work) => {
            let arrays = work.kernel.arrays().saturating_mul(work.threads.into());
            (work.pages, in_huge_pages(work.content(0, 0).size, arrays, huge_page)?)
        }
        Work::Read(work) if work.engine == Engine::Load && work.advice == Advice::HugePage => {
            let threads = u64::from(work.io.threads.max(1));
            (Pages::Huge, in_huge_pages(work.io.size / threads, threads, huge_page)?)
        }
        Work::Read(_) | Work::Write(_) => return None,
    };
    let huge = median(&context.measured.values(|t| Some(t.evidence.huge_bytes? as f64)))?;
    let share = huge / bytes as f64;
    let (seen, remedy) = match asked {
        Pages::Huge if share < HUGE_LEAST => (
            format!("asked for huge pages, but only {} of", percent(share)),
            "let the OS give huge pages (/sys/kernel/mm/transparent_hugepage/enabled: madvise), \
             or free memory",
        ),
        Pages::Base if share > BASE_MOST => (
            format!("asked for base pages, but as much as {} of", percent(share)),
            "set /sys/kernel/mm/transparent_hugepage/enabled to madvise",
        ),
        Pages::Huge | Pages::Base => return None,
    };
    let message = format!(
        "{seen} its {} lay in huge ones when a trial ended: the figure is that of other pages",
        bytes_rounded(bytes)
    );
    Fault::new(Severity::Doubt, message, remedy)
}

/// The bytes of `arrays` of `size` bytes each that huge pages can hold; none if an array is smaller
/// than one.
fn in_huge_pages(size: u64, arrays: u64, huge_page: u64) -> Option<u64> {
    (size >= huge_page).then(|| (size / huge_page * huge_page).saturating_mul(arrays))
}
