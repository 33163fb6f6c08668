//! How much of what the links on the path to its device carry a row gets. Unlike a ceiling, that is
//! arithmetic: nobody measured it.

use crate::measured::Measured;
use crate::path::{Allowance, allowed};
use crate::served_by::ServedBy;
use crate::stats::Estimate;
use model::case::Cache;
use model::host::{Medium, Storage};
use model::path::{Hop, HopKind, MappedMaker};
use schemars::JsonSchema;
use serde::Serialize;

/// A row that gets this share of its links is bound by them. The rest is their protocol: headers
/// and acknowledgments take 10 to 20 % of a PCIe link (docs/method).
const BOUND_LEAST: f64 = 0.80;

/// What the links carry at most, and how much of that a row got.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LinkUse {
    /// What they carry, and which they are.
    #[serde(flatten)]
    pub allows: Allowance,
    /// The row's throughput divided by that.
    pub share: f64,
    /// The lower end of its 95 % interval; null without one.
    pub share_low: Option<f64>,
}

impl LinkUse {
    /// The use of a row that `by` served, if its bytes must pass the links, all in one direction.
    pub(crate) fn of(
        measured: &Measured,
        by: Option<ServedBy>,
        throughput: Option<Estimate>,
    ) -> Option<LinkUse> {
        let storage = measured.storage.filter(|storage| storage.cached_loop().is_none())?;
        let top = storage.path.as_deref()?;
        if !(is_one_way(measured, top) && must_pass(measured, storage, by?)) {
            return None;
        }
        let allows = allowed(top, measured.host.hypervisor.is_some())?;
        let Estimate { median, low, .. } = throughput?;
        let share = |rate: f64| rate / allows.bytes_per_second;
        Some(LinkUse { share: share(median), share_low: low.map(share), allows })
    }

    /// Whether the links certainly bound the row.
    pub fn bounds(&self) -> bool {
        self.share_low.is_some_and(|least| (BOUND_LEAST..=1.0).contains(&least))
    }

    /// Whether the row is certainly faster than its links, which nothing can be.
    pub fn is_exceeded(&self) -> bool {
        self.share_low.is_some_and(|least| least > 1.0)
    }
}

/// Whether all bytes of the row go the same way, each once. A mirror sends what is written over
/// several links, and parity goes over them too, so nobody knows what is left for the file.
fn is_one_way(measured: &Measured, top: &Hop) -> bool {
    let writes_once = || measured.write().is_some() && top.all().into_iter().all(sends_once);
    !measured.case.is_mixed() && (measured.read().is_some() || writes_once())
}

fn sends_once(hop: &Hop) -> bool {
    match &hop.kind {
        HopKind::Array(array) => matches!(array.level.as_deref(), Some("raid0" | "linear")),
        HopKind::Mapped(mapped) => mapped.maker != MappedMaker::Raid,
        // A file system on several disks chooses itself how many copies it keeps.
        HopKind::FileSystem(_) => hop.below.len() <= 1,
        _ => true,
    }
}

/// Whether a device served the bytes or, if nothing shows what is below, the row claims that no
/// cache of this machine did.
fn must_pass(measured: &Measured, storage: &Storage, by: ServedBy) -> bool {
    let is_past_cache =
        || measured.read().is_some_and(|work| matches!(work.io.cache, Cache::Direct | Cache::Cold));
    match by {
        ServedBy::Device => true,
        ServedBy::Unverified => storage.medium == Medium::Unseen && is_past_cache(),
        _ => false,
    }
}
