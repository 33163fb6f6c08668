//! One small function for each finding on a case, and the table of them.

mod context;
mod names;
mod cache;
mod direct;
mod sharing;
mod origin;
mod neighbors;
mod unseen;
mod effort;
mod schedule;
mod depth;
mod pages;
mod writing;
mod throttled;
mod above;
mod caches;
mod host;
mod limits;
mod loops;
mod environment;
mod course;
mod placement;
mod nodes;

use context::Draft;
pub(crate) use context::{Context, Overhead};
pub(crate) use schedule::Generators;

use crate::ceiling::RowCeilings;
use crate::finding::{Code, Finding, Severity};
use crate::row::Row;
use crate::summary::ServedBy;
use model::host::Storage;
use std::collections::BTreeSet;

type FindingRule = fn(&Context) -> Option<Draft>;

/// The rule of each finding on a case.
const RULES: [(Code, FindingRule); 48] = [
    (Code::CacheLeak, cache::cache_leak),
    (Code::NotWarm, cache::not_warm),
    (Code::DirectIgnored, direct::direct_ignored),
    (Code::CacheKept, cache::cache_kept),
    (Code::FileInUse, direct::file_in_use),
    (Code::PartlyCached, cache::partly_cached),
    (Code::CacheUnseen, cache::cache_unseen),
    (Code::OverRead, cache::over_read),
    (Code::NoIo, origin::no_io),
    (Code::Ram, origin::ram),
    (Code::Unverified, unseen::unverified),
    (Code::CountersUnseen, unseen::counters_unseen),
    (Code::LoopCached, loops::loop_cached),
    (Code::DigestMismatch, origin::digest_mismatch),
    (Code::BytesUnchecked, origin::bytes_unchecked),
    (Code::TornPages, sharing::torn_pages),
    (Code::OverlapUnseen, sharing::overlap_unseen),
    (Code::NotDurable, writing::not_durable),
    (Code::AcknowledgedOnly, writing::acknowledged_only),
    (Code::DirtyStart, writing::dirty_start),
    (Code::Compressed, writing::compressed),
    (Code::NearlyFull, writing::nearly_full),
    (Code::Allocating, writing::allocating),
    (Code::InodesHeld, names::inodes_held),
    (Code::ThrottledWriteback, throttled::throttled_writeback),
    (Code::PageSize, pages::page_size),
    (Code::OverheadBound, effort::overhead_bound),
    (Code::LoadNotHeld, schedule::load_not_held),
    (Code::DepthNotReached, depth::depth_not_reached),
    (Code::CpuBound, effort::cpu_bound),
    (Code::Throttled, environment::throttled),
    (Code::Contended, environment::contended),
    (Code::Swapped, environment::swapped),
    (Code::Foreign, neighbors::foreign),
    (Code::SharedDevice, neighbors::shared_device),
    (Code::Steal, environment::steal),
    (Code::Excluded, environment::excluded),
    (Code::TooFew, effort::too_few),
    (Code::WideInterval, effort::wide_interval),
    (Code::FailedTrials, effort::failed_trials),
    (Code::TooShort, effort::too_short),
    (Code::Imbalanced, effort::imbalanced),
    (Code::Stalled, course::stalled),
    (Code::Transient, course::transient),
    (Code::StepChange, course::step_change),
    (Code::Drifting, course::drifting),
    (Code::CpuLevels, placement::cpu_levels),
    (Code::RemotePages, nodes::remote_pages),
];

/// All findings on a case; none without a trial.
pub(crate) fn find(context: &Context) -> Vec<Finding> {
    if context.measured.n() == 0 {
        return Vec::new();
    }
    let apply = |(code, rule): &(Code, FindingRule)| Some(rule(context)?.named(*code));
    RULES.iter().filter_map(apply).collect()
}

/// The findings on a row compared with others, which were judged before: void ones bound nothing.
pub(crate) fn find_among(
    row: &Row,
    rows: &[Row],
    generators: &Generators,
    bounds: &RowCeilings,
) -> Vec<Finding> {
    let above = above::above_ceiling(row, bounds).map(|fault| fault.named(Code::AboveCeiling));
    let host = host::host_cache(row, rows).map(|fault| fault.named(Code::HostCache));
    let behind = schedule::generator_behind(row, generators);
    let behind = behind.map(|fault| fault.named(Code::GeneratorBehind));
    let unknown = caches::cache_size_unknown(row);
    let unknown = unknown.map(|fault| fault.named(Code::CacheSizeUnknown));
    unknown.into_iter().chain(above).chain(host).chain(behind).collect()
}

/// The one finding about the whole run: a hypervisor presents the device that served a case
/// (docs/method). `served` are the sources of all cases.
pub(crate) fn virtual_device(
    storage: Option<&Storage>,
    mut served: impl Iterator<Item = ServedBy>,
) -> Option<Finding> {
    let disks = storage?.disks().into_iter();
    let devices: BTreeSet<&str> =
        disks.filter(|disk| disk.is_virtual).map(|disk| disk.name.as_str()).collect();
    let matters = served.any(|by| matches!(by, ServedBy::Device | ServedBy::Mixed));
    (matters && !devices.is_empty()).then(|| Finding {
        code: Code::VirtualDevice,
        severity: Severity::Note,
        size: None,
        message: format!(
            "a hypervisor presents {}: this machine cannot see what is below, such as the host's \
             caches",
            Vec::from_iter(devices).join(", ")
        ),
        remedy: "read 'device' as 'this virtual device'; to know the disk, measure on the host"
            .to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_rule() {
        for code in Code::ALL {
            let rules = RULES.iter().filter(|(known, _)| known == code).count();
            // These are about the run, and about a row among others.
            let is_apart = matches!(
                code,
                Code::VirtualDevice
                    | Code::CacheSizeUnknown
                    | Code::AboveCeiling
                    | Code::HostCache
                    | Code::GeneratorBehind
            );
            let is_of_control = *code == Code::ControlDiffers;
            let expected = usize::from(!is_apart && !is_of_control);
            assert_eq!(rules, expected, "{code}");
        }
    }
}
