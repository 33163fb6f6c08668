//! Whether memory was in the requested pages.

use super::context::{Context, Draft, RuleTable};
use crate::finding::{Code, Severity};
use crate::stats::median;
use model::case::{Advice, BlockPlace, BufferPages, OWN_PEER, Pages, ReadWork, Work, WriteWork};
use model::setup::Setup;
use model::units::{bytes_rounded, percent};

/// The rules of this module.
pub(super) const RULES: RuleTable = &[(Code::PageSize, page_size)];

/// Minimum share in huge pages if those were requested (docs/method).
const HUGE_LEAST: f64 = 0.90;
/// Maximum share in huge pages if base pages were requested (docs/method).
const BASE_MOST: f64 = 0.10;

/// The worker's memory was not in the requested pages (docs/method).
///
/// The OS reports how much of the whole worker's memory is in huge pages when a trial ends. That
/// may be more than its arrays, and a single trial may be unlucky, so the median counts.
fn page_size(context: &Context) -> Option<Draft> {
    // Without the size of a huge page, it is unknown what fits into one.
    let huge_page = context.measured.host.huge_page_bytes()?;
    let (asked, bytes) = match &context.measured.case.work {
        Work::Memory(work) => {
            let arrays = work.kernel.arrays().saturating_mul(work.threads.into());
            (work.pages, in_huge_pages(work.content(0, 0).size, arrays, huge_page)?)
        }
        Work::Read(work)
            if work.engine.place() == BlockPlace::Memory && work.advice == Advice::HugePage =>
        {
            let threads = u64::from(work.io.threads.max(1));
            (Pages::Huge, in_huge_pages(work.io.size / threads, threads, huge_page)?)
        }
        Work::Read(ReadWork { io, .. }) | Work::Write(WriteWork { io, .. })
            if io.pages == BufferPages::Huge && context.measured.case.peer == OWN_PEER =>
        {
            (Pages::Huge, context.measured.case.buffer_bytes(Some(huge_page)))
        }
        // What else the worker holds may be larger than base pages of buffers, and be huge. A tool
        // that a peer ran has ended with its buffers: the peer refuses what it did not get.
        Work::Read(_) | Work::Write(_) | Work::Metadata(_) | Work::Command(_) => return None,
    };
    let huge = median(&context.measured.values(|t| Some(t.evidence.huge_bytes? as f64)))?;
    let share = huge / bytes as f64;
    let (wrong, seen) = match asked {
        Pages::Huge if share < HUGE_LEAST => {
            (1.0 - share, format!("the case asks for huge pages, but only {} of", percent(share)))
        }
        Pages::Base if share > BASE_MOST => {
            (share, format!("the case asks for base pages, but {} of", percent(share)))
        }
        Pages::Huge | Pages::Base => return None,
    };
    let message = format!(
        "{seen} its {} lay in huge ones when a trial ended: the figure is that of other pages",
        bytes_rounded(bytes)
    );
    let remedy = remedy(&context.measured.host.setup, asked);
    Draft::sized(wrong, Severity::Doubt, message, remedy)
}

/// What to do where the OS gave other pages than `asked`, by its settings.
fn remedy(setup: &Setup, asked: Pages) -> &'static str {
    match (asked, setup.huge_pages.as_deref(), setup.huge_pages_allowed) {
        (Pages::Huge, _, Some(false)) => {
            "the program that started ioassay turned huge pages off for it (THP_enabled in \
             /proc/self/status is 0): start it from another"
        }
        (Pages::Huge, Some("always" | "madvise"), _) => {
            "the OS may use huge pages here, but found none free: free memory, or compact it \
             (echo 1 > /proc/sys/vm/compact_memory, as root)"
        }
        (Pages::Huge, ..) => {
            "let the OS use huge pages (/sys/kernel/mm/transparent_hugepage/enabled: madvise), or \
             free memory"
        }
        (Pages::Base, Some("madvise"), _) => {
            "set /sys/kernel/mm/transparent_hugepage/enabled to never while you measure"
        }
        (Pages::Base, ..) => "set /sys/kernel/mm/transparent_hugepage/enabled to madvise",
    }
}

/// The bytes of `arrays` arrays of `size` bytes that huge pages can hold; `None` if an array is
/// smaller than a huge page.
fn in_huge_pages(size: u64, arrays: u64, huge_page: u64) -> Option<u64> {
    (size >= huge_page).then(|| (size / huge_page * huge_page).saturating_mul(arrays))
}
