//! The separate sync calls of a thread.

use super::{Syncing, ThreadPlan};
use crate::meter::Meter;

/// One thread's separate sync calls.
#[derive(Debug, Default)]
pub(super) struct Syncs {
    pub(super) meter: Meter,
    pub(super) total_ns: u64,
    pub(super) last: Option<Synced>,
}

/// A completed sync call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Synced {
    /// Operations completed before it.
    pub(super) ops: u64,
    /// When the last of them was acknowledged.
    pub(super) accepted_ns: u64,
    /// When the sync returned.
    pub(super) synced_ns: u64,
}

impl Syncs {
    /// The operation count at which the next sync is due. If there is only one sync, at the end,
    /// this never comes due.
    #[inline(always)]
    pub(super) fn due(&self, plan: &ThreadPlan) -> u64 {
        match plan.syncing {
            Syncing::Never | Syncing::Writes => u64::MAX,
            Syncing::Calls { every } => self.last.map_or(0, |last| last.ops).saturating_add(every),
        }
    }
}
