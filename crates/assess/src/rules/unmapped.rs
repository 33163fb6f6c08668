//! Whether a device may have read blocks from nowhere.

use super::context::{Context, Draft, RuleTable};
use crate::finding::{Code, Severity};
use crate::served::SHARE_NOISE;
use crate::summary::ServedBy;
use model::case::Cache;
use model::host::{Storage, ZeroBlocks};
use model::units::percent;

/// The rules of this module.
pub(super) const RULES: RuleTable = &[(Code::MaybeUnmapped, maybe_unmapped)];

/// Blocks of a device are zeros, as those are that were never written or were discarded. Which of
/// them cost a read is not known: data can be zeros, too.
fn maybe_unmapped(context: &Context) -> Option<Draft> {
    let work = context.read()?;
    // A device that reads them from nowhere may look like one whose cache has them.
    let claims_device = matches!(work.io.cache, Cache::Direct | Cache::Cold | Cache::DontCache);
    if !claims_device && !context.is_served(&[ServedBy::Device, ServedBy::Mixed]) {
        return None;
    }
    let storage = context.measured.storage.filter(|storage| storage.is_raw())?;
    let ZeroBlocks { looked, zeros } = context.measured.fixture?.zeros?;
    let whose = may_read_from_nowhere(storage).filter(|_| zeros > 0 && looked > 0)?;
    let share = zeros as f64 / looked as f64;
    let severity = if share > SHARE_NOISE { Severity::Doubt } else { Severity::Note };
    let message = format!(
        "{zeros} of {looked} blocks of 4 KiB in random places are zeros ({}), as are those that \
         were never written or were discarded. {whose} may read such blocks from nowhere, so the \
         figure may not be that of stored data",
        percent(share)
    );
    let remedy = "read a part that is full of data (--offset, --length), or a file on the device";
    Draft::sized(share, severity, message, remedy)
}

/// What of the storage may keep no blocks where nothing is stored.
fn may_read_from_nowhere(storage: &Storage) -> Option<&'static str> {
    match storage.discards {
        Some(true) => Some("A device that can discard blocks"),
        _ if storage.disks().iter().any(|disk| disk.is_virtual) => Some("A hypervisor"),
        _ => None,
    }
}
